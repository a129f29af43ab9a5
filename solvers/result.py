"""What is asked of a solver and what comes back, the same for every solver."""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Final, Literal

import numpy as np
import numpy.typing as npt

from engiagent.errors import EngiagentError

Floats = npt.NDArray[np.float64]

Status = Literal["optimal", "feasible", "infeasible", "unbounded", "limit", "interrupted", "error"]
"""``feasible``: a point, but no proof that it is the best; ``limit``: a limit was hit before any
point was found. Every status but ``optimal`` comes with a reason."""

DEFAULT_GAP = 1e-6
"""Relative gap of mixed-integer solves: the size of the checker's tolerances, so that a schedule
that is called optimal is so within what the certificate can tell apart."""
NO_OTHER: Final = "pip install 'engiagent[solvers]': no other solver for them is installed"
"""Said where the one solver that is there for a class of programs has failed."""


@dataclass(frozen=True, kw_only=True)
class SolveOptions:
    """Limits and settings of one solve."""

    time_limit: float | None = None  # wall-clock limit for the solver. [s]
    # what the solver may take beyond a process that has loaded it; needs ``isolate=True``. [MB]
    memory_limit_mb: float | None = None
    # relative gap between schedule and bound at which a branch and bound ends
    gap: float = DEFAULT_GAP
    threads: int | None = None  # the most threads to use; None leaves the choice to the solver
    seed: int = 0  # of the solver's random choices
    log: str | None = None  # file to which the solver writes its own log
    # the solver, by its name in :mod:`engiagent.solvers.registry`; None chooses by class, size and
    # what is installed
    backend: str | None = None
    speed: bool = False  # let a faster method answer whose gap is proven but larger than ``gap``
    start: Floats | None = field(default=None, compare=False)  # a point to start from, shape (n,)

    def __post_init__(self) -> None:
        for name in ("time_limit", "memory_limit_mb"):
            value = getattr(self, name)
            if value is not None and not (math.isfinite(value) and value > 0):
                raise EngiagentError(f"{name} is {value}; give a positive number")
        if not (math.isfinite(self.gap) and self.gap >= 0):
            raise EngiagentError(f"gap is {self.gap}; give a number of at least 0, as 1e-4")
        if self.threads is not None and self.threads < 1:
            raise EngiagentError(f"threads is {self.threads}; give at least 1")
        if self.start is not None and not bool(np.all(np.isfinite(self.start))):
            raise EngiagentError("the start point holds numbers that are not finite")
        if not 0 <= self.seed < 2**31:
            raise EngiagentError(f"seed is {self.seed}; give a whole number from 0 to 2147483647")


@dataclass(frozen=True, kw_only=True)
class Progress:
    """How far a running solve has come; bounds are in the objective's own sense."""

    elapsed: float  # time since the solver started. [s]
    # iterations, nodes: simplex or interior-point iterations, branch-and-bound nodes
    iterations: int = 0
    nodes: int = 0
    # objective, bound, gap: best point, proven bound and their relative distance, where known
    objective: float | None = None
    bound: float | None = None
    gap: float | None = None


OnProgress = Callable[[Progress], None]


@dataclass(frozen=True, eq=False, kw_only=True)
class SolverResult:
    """The solver's own account. Nothing in it counts until the checker agrees."""

    # status, reason: one word, and what led to it in words
    status: Status
    reason: str
    is_mip: bool
    solver: str
    solver_version: str
    # the point, shape (n,); whole numbers exactly whole. None when there is none.
    x: Floats | None = None
    # row_dual, column_dual: ∂objective/∂right-hand side per row (m,) and reduced cost per column
    # (n,), in the objective's own sense; for a mixed-integer program with the whole numbers fixed
    row_dual: Floats | None = None
    column_dual: Floats | None = None
    # multipliers y, shape (m,), when infeasible: with each row's lower bound where y > 0 and upper
    # bound where y < 0, the bounds' weighted sum exceeds every value that yᵀA x takes within the
    # column bounds
    farkas: Floats | None = None
    # direction, shape (n,), in which the objective improves without end, when unbounded
    ray: Floats | None = None
    # objective, bound, gap: objective at ``x``, proven bound on the best objective and their
    # relative distance
    objective: float | None = None
    bound: float | None = None
    gap: float | None = None
    seconds: float = 0.0
    iterations: int = 0
    nodes: int = 0


def remaining(options: SolveOptions, started: float, least: float = 0.01) -> SolveOptions:
    """Return the options with what is left of the time limit, ``least`` seconds at any rate."""
    if options.time_limit is None:
        return options
    left = options.time_limit - (time.perf_counter() - started)
    return replace(options, time_limit=max(least, left))


def relative_gap(objective: float, bound: float) -> float:
    """Return ``|objective - bound| / max(1, |objective|)``."""
    return abs(objective - bound) / max(1.0, abs(objective))
