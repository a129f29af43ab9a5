"""All the structure that is looked for in a program, with sizes to print."""

from dataclasses import dataclass

from engiagent.formulations.program import Program
from engiagent.solvers.exclusivity import Exclusivity, find_exclusivity
from engiagent.solvers.structure.chain import StorageChain, find_chain


@dataclass(frozen=True, eq=False)
class Structure:
    """What was recognised in a program; None where it was not."""

    # the whole program is storage chains, so that the exact method applies
    chain: StorageChain | None = None
    # pairs of columns that exclude each other through binaries
    exclusivity: Exclusivity | None = None

    def lines(self) -> tuple[str, ...]:
        """Return one line for each structure, as ``1 storage chain, 24 steps``."""
        return tuple(str(part) for part in (self.chain, self.exclusivity) if part is not None)


def recognise(program: Program) -> Structure:
    """Return the structure of a program, from its arrays alone."""
    return Structure(find_chain(program), find_exclusivity(program))
