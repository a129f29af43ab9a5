"""The exact method for storage chains: a convex value function instead of a linear programme."""

from engiagent.solvers.chain.solving import NAME, solve_chain

__all__ = ["NAME", "solve_chain"]
