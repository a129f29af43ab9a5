"""All the structure that is looked for in a program, with sizes to print."""

from dataclasses import dataclass

from engiagent.formulations.program import Program
from engiagent.solvers.exclusivity import Exclusivity, find_exclusivity
from engiagent.solvers.structure.chain import StorageChain, find_chain
from engiagent.solvers.structure.graphs import Blocks, Network, find_blocks, find_network


@dataclass(frozen=True, eq=False)
class Structure:
    """What was recognised in a program; None where it was not.

    Attributes
    ----------
    chain
        The whole program is storage chains, so that the exact method applies.
    exclusivity
        Pairs of columns that exclude each other through binaries.
    network
        The whole program is a network.
    blocks
        The program falls into blocks.
    """

    chain: StorageChain | None = None
    exclusivity: Exclusivity | None = None
    network: Network | None = None
    blocks: Blocks | None = None

    def lines(self) -> tuple[str, ...]:
        """Return one line for each structure, as ``1 storage chain, 24 steps``."""
        parts = (self.chain, self.exclusivity, self.network, self.blocks)
        return tuple(str(part) for part in parts if part is not None)


def recognise(program: Program, *, for_solving: bool = False) -> Structure:
    """Return the structure of a program, from its arrays alone.

    Parameters
    ----------
    program
        Any program.
    for_solving
        Look only for what a special method can use.
    """
    chain, pairs = find_chain(program), find_exclusivity(program)
    if for_solving:
        return Structure(chain=chain, exclusivity=pairs)
    return Structure(chain, pairs, find_network(program), find_blocks(program))
