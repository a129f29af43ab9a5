"""The adapter that solves programs with exclusive pairs by few of their binaries, on HiGHS.

See :mod:`engiagent.solvers.exclusivity`. Where there are no such pairs, or they do not help, HiGHS
gets the program as it is.
"""

from dataclasses import replace
from typing import Final

from engiagent.formulations.classify import ProblemClass
from engiagent.formulations.program import Program
from engiagent.solvers import linear
from engiagent.solvers.adapter import Feature, Need, Watch
from engiagent.solvers.exclusivity import find_exclusivity, solve_exclusive
from engiagent.solvers.result import SolveOptions, SolverResult

NAME: Final = "HiGHS with few binaries"
CLASSES: Final[dict[ProblemClass, Need]] = {"MILP": "any"}
FEATURES: Final[frozenset[Feature]] = linear.FEATURES - {"ray"}
OPTIONS: Final = {name: how for name, how in linear.OPTIONS.items() if name != "log"}
REQUIRES: Final = linear.REQUIRES

FAST_GAP: Final = 1e-3
"""The proven gap that is enough when speed is asked for."""


def solve_here(program: Program, options: SolveOptions, watch: Watch | None = None) -> SolverResult:
    """Solve a mixed-integer linear program in this process."""
    pairs = find_exclusivity(program)
    if pairs is not None:
        gap = max(options.gap, FAST_GAP) if options.speed else options.gap
        result = solve_exclusive(program, pairs, replace(options, gap=gap))
        if result is not None:
            return result
    return linear.solve_here(program, options, watch)
