"""Tools on a site: its configurations, simulations of them, what these say, and plans."""
