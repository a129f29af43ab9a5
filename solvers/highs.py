"""Running HiGHS: linear and mixed-integer linear programs.

The arrays go in by one call. HiGHS always minimises here (costs of a maximisation change sign), so
that its duals have one sign convention, ∂objective/∂right-hand side, before they are turned back
into the objective's own sense.
"""

import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Any, Final

import numpy as np

from engiagent.errors import EngiagentError
from engiagent.formulations.program import Program, row_sums
from engiagent.solvers.adapter import Watch
from engiagent.solvers.result import Floats, Progress, SolveOptions
from engiagent.solvers.validate import SMALLEST_COEFFICIENT

NAME: Final = "HiGHS"

LIMITS: Final = {
    "kTimeLimit": "time limit",
    "kIterationLimit": "iteration limit",
    "kSolutionLimit": "limit on the number of solutions",
    "kMemoryLimit": "memory limit",
}
INTERRUPTED: Final = ("kInterrupt", "kHighsInterrupt")
AMBIGUOUS: Final = "kUnboundedOrInfeasible"
DOUBTFUL: Final = (AMBIGUOUS, "kUnknown", "kNotset", "kPresolveError", "kSolveError")
PLAIN_SIMPLEX: Final = {"presolve": "off", "solver": "simplex"}
KEEN: Final = {"dual_feasibility_tolerance": 1e-10}
"""The least reduced cost that HiGHS can be made to see."""
TIGHT: Final = {
    "presolve": "off",
    "mip_feasibility_tolerance": 1e-9,
    "primal_feasibility_tolerance": 1e-9,
}
SEEN: Final = 1e-12
"""Reduced costs of the wrong sign up to this are rounding."""
ROWWISE: Final = 2
MINIMISE: Final = 1
FEASIBLE_POINT: Final = 2


def numbers(listed: Sequence[float]) -> Floats:
    """Return what HiGHS gives as a list, faster than ``np.array`` does it."""
    return np.fromiter(listed, np.float64, len(listed))


@dataclass(frozen=True)
class Run:
    """A finished run of HiGHS, which minimised ``scale`` times the objective."""

    highs: Any
    status: str
    scale: float
    plain: bool

    @property
    def version(self) -> str:
        """Version of the HiGHS library."""
        return str(self.highs.version())

    @property
    def iterations(self) -> int:
        """Iterations of simplex and interior-point methods."""
        info = self.highs.getInfo()
        return sum(max(0, int(n)) for n in (info.simplex_iteration_count, info.ipm_iteration_count))

    @property
    def nodes(self) -> int:
        """Branch-and-bound nodes."""
        return max(0, int(self.highs.getInfo().mip_node_count))

    def point(self) -> Floats | None:
        """Return the point if it is feasible and finite."""
        solution, info = self.highs.getSolution(), self.highs.getInfo()
        if not solution.value_valid or info.primal_solution_status != FEASIBLE_POINT:
            return None
        x = numbers(solution.col_value)
        return x if bool(np.all(np.isfinite(x))) else None

    def duals(self) -> tuple[Floats, Floats]:
        """Return row duals and reduced costs in the objective's own sense; no negative zeros."""
        solution = self.highs.getSolution()
        rows, columns = numbers(solution.row_dual), numbers(solution.col_dual)
        return rows / self.scale + 0.0, columns / self.scale + 0.0

    @property
    def dual_error(self) -> float:
        """Largest reduced cost or multiplier of the wrong sign, as HiGHS minimises."""
        return float(self.highs.getInfoValue("max_dual_infeasibility")[1])

    def again(self, settings: Mapping[str, Any]) -> "Run":
        """Return a run with other settings that starts from where this one ended."""
        for name, value in settings.items():
            self.highs.setOptionValue(name, value)
        self.highs.run()
        return replace(self, status=self.highs.getModelStatus().name)

    def bound(self) -> float | None:
        """Return the proven bound of a mixed-integer run in the objective's own sense."""
        value = float(self.highs.getInfo().mip_dual_bound)
        return value / self.scale if np.isfinite(value) else None

    def dual_ray(self) -> Floats | None:
        """Return the multipliers that came with infeasibility, shape (m,), if any did."""
        _, exists, values = self.highs.getDualRay()
        return np.array(values, dtype=np.float64) if exists else None

    def primal_ray(self) -> Floats | None:
        """Return the direction of unbounded improvement, scaled to size 1, shape (n,), if any."""
        _, exists, values = self.highs.getPrimalRay()
        ray = np.array(values, dtype=np.float64)
        size = float(np.max(np.abs(ray), initial=0.0)) if exists else 0.0
        return ray / size if np.isfinite(size) and size > 0 else None


def run_highs(
    program: Program,
    options: SolveOptions,
    watch: Watch | None,
    extra: Mapping[str, Any] | None = None,
) -> Run:
    """Run HiGHS once on a checked program; ``extra`` are options of HiGHS itself."""
    sign = -1.0 if program.sense == "maximize" else 1.0
    highs = load(program, options, sign, extra or {})
    if options.start is not None and program.is_mip:
        import highspy

        point = highspy.HighsSolution()
        point.col_value = np.asarray(options.start, dtype=np.float64).tolist()
        highs.setSolution(point)
    if watch is not None:
        _listen(highs, program, sign, watch)
    try:
        highs.run()
    finally:
        highs.disableCallbacks()
    return Run(highs, highs.getModelStatus().name, sign, extra == PLAIN_SIMPLEX)


@cache
def silent_class() -> Any:
    """Return a class of HiGHS whose instances write nothing to the console.

    From 1.16 on the first instance of a process prints a banner to standard output while it is
    made, before an option can be set; after one of this class no other instance does.
    """
    import highspy

    class Silent(highspy.Highs):
        def enableCallbacks(self) -> None:  # noqa: N802 (the name is HiGHS's)
            self.setOptionValue("log_to_console", False)
            super().enableCallbacks()  # type: ignore[no-untyped-call]

    if hasattr(os, "register_at_fork"):
        # A child has none of its parent's threads, and from 1.16 on waits for them for ever.
        os.register_at_fork(after_in_child=partial(highspy.Highs.resetGlobalScheduler, False))
    return Silent


def load(program: Program, options: SolveOptions, scale: float, extra: Mapping[str, Any]) -> Any:
    """Return HiGHS with program and options in it, to minimise ``scale`` times the cost."""
    import highspy

    if options.threads is not None:
        # The pool of threads lives as long as the process and keeps its first size.
        highspy.Highs.resetGlobalScheduler(True)
    highs = silent_class()()
    settings = {
        "output_flag": options.log is not None,
        "log_to_console": False,
        "random_seed": options.seed,
        "mip_rel_gap": options.gap,
        "small_matrix_value": SMALLEST_COEFFICIENT,
        "time_limit": None if options.time_limit is None else float(options.time_limit),
        "threads": options.threads,
        "log_file": options.log,
    }
    for name, value in {**settings, **extra}.items():
        if value is not None and highs.setOptionValue(name, value) != highspy.HighsStatus.kOk:
            raise EngiagentError(f"HiGHS does not take {name} = {value!r}")
    starts, columns, values = _without_zeros(program)
    status = highs.passModel(
        program.column_count,
        program.row_count,
        len(values),
        ROWWISE,
        MINIMISE,
        scale * program.offset,
        scale * program.cost,
        program.column_lower,
        program.column_upper,
        program.row_lower,
        program.row_upper,
        starts,
        columns,
        values,
        program.integrality.astype(np.int32),
    )
    if status != highspy.HighsStatus.kOk:
        raise EngiagentError(f"HiGHS does not take the program: it answers {status.name}")
    return highs


def _without_zeros(program: Program) -> tuple[Any, Any, Floats]:
    """Return the matrix by rows with 32-bit indices and without stored zeros."""
    starts = program.row_starts.astype(np.int32, copy=False)
    columns = program.row_columns.astype(np.int32, copy=False)
    values = program.row_values
    keep = values != 0
    if keep.all():
        return starts, columns, values
    counts = row_sums(program.row_starts, keep.astype(np.float64)).astype(np.int32)
    starts = np.concatenate([np.zeros(1, np.int32), np.cumsum(counts, dtype=np.int32)])
    return starts, columns[keep], values[keep]


def _listen(highs: Any, program: Program, sign: float, watch: Watch) -> None:
    """Subscribe the watch to the callbacks that HiGHS makes for this class of program."""
    started = time.perf_counter()
    last = [started]

    def look(event: Any) -> None:
        if watch.cancelled():
            event.interrupt()
        now = time.perf_counter()
        if watch.on_progress is not None and now - last[0] >= watch.interval:
            last[0] = now
            watch.on_progress(_progress(event.data_out, now - started, sign, program.is_mip))

    def keep(event: Any) -> None:
        if watch.on_incumbent is not None:
            watch.on_incumbent(np.array(event.data_out.mip_solution, dtype=np.float64))

    if program.is_mip:
        highs.cbMipInterrupt += look
        highs.cbMipImprovingSolution += keep
    else:
        highs.cbSimplexInterrupt += look
        highs.cbIpmInterrupt += look


def _progress(data: Any, elapsed: float, sign: float, is_mip: bool) -> Progress:
    iterations = max(0, int(data.simplex_iteration_count))
    if not is_mip:
        iterations = max(iterations, int(data.ipm_iteration_count))
        return Progress(elapsed=elapsed, iterations=iterations)

    def finite(value: float, factor: float = 1.0) -> float | None:
        return factor * float(value) if abs(value) < 1e20 and value == value else None

    return Progress(
        elapsed=elapsed,
        iterations=iterations,
        nodes=max(0, int(data.mip_node_count)),
        objective=finite(data.mip_primal_bound, sign),
        bound=finite(data.mip_dual_bound, sign),
        gap=finite(data.mip_gap),
    )
