"""Times in a text: the horizon, grids, and limits that hold at some times only."""
