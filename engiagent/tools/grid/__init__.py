"""Tools of distribution and transmission grids."""
