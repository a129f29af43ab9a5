"""The exact method for storage chains: a convex value function instead of a linear programme."""
