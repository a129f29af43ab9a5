"""The tests; a package of its own, since some wheels bring a top-level package of this name."""
