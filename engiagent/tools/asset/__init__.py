"""Tools of assets: their sensors, faults, orders of work, and what these mean for plans."""
