"""Models from measurements: grey-box networks of a building, maps of machines."""
