"""Machines: what they draw, burn and give, and how they are switched."""
