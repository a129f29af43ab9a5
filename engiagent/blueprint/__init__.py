"""The blueprint language."""
