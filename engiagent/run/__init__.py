"""The folder of a run, what goes into it, and the certificate that comes out of it."""
