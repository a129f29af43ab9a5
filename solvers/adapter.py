"""What every solver's adapter is: data at the top of a module and one function.

A module that adapts one solver has these names at its top, and :mod:`engiagent.solvers.registry`
names the module::

    NAME = "SCIP"                                  # as people write it
    CLASSES = {"LP": "convex", "MINLP": "any"}     # class → the convexity it needs
    FEATURES = frozenset({"indicators", "global"})
    OPTIONS = {"time_limit": "limits/time"}        # option → how it is honoured
    REQUIRES = ("pyscipopt",)                      # distributions

    def solve_here(program, options, watch=None) -> SolverResult: ...

A module that adapts a family of solvers, as ``pyomo:<solver>``, has ``member(name) -> Adapter``.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from typing import Final, Literal, Protocol

from engiagent.errors import EngiagentError
from engiagent.formulations.classify import ProblemClass as ProblemClass
from engiagent.formulations.program import Program
from engiagent.solvers.result import Floats, Progress, SolveOptions, SolverResult

Need = Literal["convex", "any"]
Feature = Literal[
    "indicators",  # rows that hold only where a binary has a value
    "sos1",  # groups of columns of which at most one differs from zero
    "duals",  # hands over duals and reduced costs at the optimum of continuous programs
    "farkas",  # multipliers that prove a linear program infeasible
    "ray",  # the direction in which an unbounded linear program improves
    "global",  # ``optimal`` is the best of all points, also of a nonconvex program
    "start",  # uses the start point
    "progress",  # reports progress while it runs
    "interrupt",  # hands over its best point when it is stopped
    "incumbents",  # hands over better points as it finds them
]
INSTALL: Final = "pip install 'engiagent[solvers]'"


class MissingLibraryError(EngiagentError):
    """A solver was asked for whose library is not installed."""


@dataclass(frozen=True)
class Watch:
    """Who wants to know of, or stop, a running solve; all called from the solving thread."""

    # takes a report at most every ``interval`` seconds
    on_progress: Callable[[Progress], None] | None = None
    # takes each better feasible point, shape (n,)
    on_incumbent: Callable[[Floats], None] | None = None
    # whether the solve is to stop with the best point so far
    cancelled: Callable[[], bool] = lambda: False
    interval: float = 0.2


class SolveHere(Protocol):
    """Solves a checked program in this process."""

    def __call__(
        self, program: Program, options: SolveOptions, watch: Watch | None = None, /
    ) -> SolverResult:
        """Return the result."""


@dataclass(frozen=True)
class Adapter:
    """One solver as the rest of the house sees it."""

    backend: str  # its name in options, as ``scip``
    name: str  # as people write it, as ``SCIP``
    # the classes of programs it takes, and whether they must be convex
    classes: Mapping[ProblemClass, Need]
    features: frozenset[Feature]  # what else it can do
    # the options of ``SolveOptions`` that it honours, and how. Any other is refused.
    options: Mapping[str, str]
    requires: tuple[str, ...]  # distributions that must be installed
    solve_here: SolveHere  # solves a checked program in this process
    install: str = INSTALL  # the command that installs what is required
    # the version, where it is not that of the first distribution required
    own_version: str | None = None

    def missing(self) -> tuple[str, ...]:
        """Return the distributions that are not installed."""
        return tuple(name for name in self.requires if distribution_version(name) is None)

    def version(self) -> str:
        """Return the version of the solver's library."""
        if self.own_version is not None:
            return self.own_version
        return (distribution_version(self.requires[0]) if self.requires else None) or "unknown"

    def check(self, options: SolveOptions, *, isolated: bool = True) -> None:
        """Refuse options that the solver would ignore, and a solver that is not installed."""
        missing = self.missing()
        if missing:
            raise MissingLibraryError(
                f"the backend {self.backend} needs {' and '.join(missing)}, which is not "
                f"installed; {self.install}"
            )
        for name in self.ignored(options, isolated=isolated):
            advice = "leave it out or choose a backend that does"
            if name == "time_limit":
                advice = "a process of its own can obey it: leave isolate on"
            raise EngiagentError(
                f"{self.name} does not take the option {name}; {advice} "
                f"(it takes {', '.join(sorted(self.options))})"
            )

    def ignored(self, options: SolveOptions, *, isolated: bool) -> list[str]:
        """Return the options given that the solver would ignore; a process obeys a time limit."""
        obeyed = {"time_limit"} if isolated else set()
        return [name for name in given_options(options) if name not in {*self.options, *obeyed}]


NOT_FOR_THE_SOLVER: Final = ("backend", "speed", "memory_limit_mb")
"""Options that engiagent itself obeys, the memory limit through the solver's process."""


def given_options(options: SolveOptions) -> list[str]:
    """Return the names of the options, meant for the solver, that differ from their defaults."""
    changed = []
    for part in fields(options):
        value = getattr(options, part.name)
        # A point is given or not; two of them are never compared.
        same = value is None if part.name == "start" else value == part.default
        if part.name not in NOT_FOR_THE_SOLVER and not same:
            changed.append(part.name)
    return changed


_found = cache(version)  # reading it takes a millisecond, as long as many a solve


def distribution_version(name: str) -> str | None:
    """Return the version of an installed distribution, or None."""
    try:
        return _found(name)
    except PackageNotFoundError:
        return None
