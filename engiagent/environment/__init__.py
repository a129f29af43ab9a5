"""Plants that run: sites of our own physics and FMUs, behind initialize, reset and step."""
