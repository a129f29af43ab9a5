"""The adapter of the exact method for storage chains; see :mod:`engiagent.solvers.chain`."""

from typing import Final

from engiagent import __version__
from engiagent.errors import EngiagentError
from engiagent.formulations.classify import ProblemClass
from engiagent.formulations.program import Program
from engiagent.solvers.adapter import Feature, Need, Watch
from engiagent.solvers.chain import solve_chain
from engiagent.solvers.result import SolveOptions, SolverResult
from engiagent.solvers.structure.chain import find_chain

NAME: Final = "engiagent storage chain"
CLASSES: Final[dict[ProblemClass, Need]] = {"LP": "convex"}
FEATURES: Final[frozenset[Feature]] = frozenset({"duals", "global"})
OPTIONS: Final = {
    "time_limit": "takes less than a second",
    "gap": "exact",
    "threads": "uses one",
    "seed": "makes no random choices",
}
REQUIRES: Final = ()
VERSION: Final = __version__


def solve_here(program: Program, options: SolveOptions, watch: Watch | None = None) -> SolverResult:
    """Solve a program that is a storage chain.

    Raises
    ------
    EngiagentError
        When the program is none.
    """
    result = try_chain(program, options)
    if result is None:
        raise EngiagentError(
            "the backend chain takes only a store, or several that share nothing; "
            "leave the choice of the backend open"
        )
    return result


def try_chain(program: Program, options: SolveOptions) -> SolverResult | None:
    """Return the optimum of a storage chain, or None when the program is none."""
    if not program.is_linear or program.is_mip or program.goals:
        return None
    found = find_chain(program)
    return None if found is None else solve_chain(program, found)
