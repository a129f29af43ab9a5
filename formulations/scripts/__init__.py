"""Programs as standalone scripts: the compiled rows, said with whole arrays."""
