"""Structure in programs, recognised from their arrays alone, never from names."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from engiagent.solvers.structure.chain import StorageChain, find_chain
    from engiagent.solvers.structure.graphs import Blocks, Network, find_blocks, find_network
    from engiagent.solvers.structure.recognition import Structure, recognise

_EXPORTS = {
    "Blocks": "graphs",
    "Network": "graphs",
    "StorageChain": "chain",
    "Structure": "recognition",
    "find_blocks": "graphs",
    "find_chain": "chain",
    "find_network": "graphs",
    "recognise": "recognition",
}

__all__ = [
    "Blocks",
    "Network",
    "StorageChain",
    "Structure",
    "find_blocks",
    "find_chain",
    "find_network",
    "recognise",
]


def __getattr__(name: str) -> Any:
    if name not in _EXPORTS:
        raise AttributeError(f"module 'engiagent.solvers.structure' has no attribute {name!r}")
    return getattr(import_module(f"engiagent.solvers.structure.{_EXPORTS[name]}"), name)
