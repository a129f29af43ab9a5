"""Structure in programs, recognised from their arrays alone, never from names."""

from engiagent.solvers.structure.chain import StorageChain, find_chain

__all__ = ["StorageChain", "find_chain"]
