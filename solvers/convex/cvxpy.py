"""Convex linear and quadratic programs through CVXPY: Clarabel, OSQP and SCS.

Rows stay ranged as two constraints; convex quadratic rows become sums of squares by a factor.

Sources: P. J. Goulart, Y. Chen, Clarabel: an interior-point solver for conic programs with
quadratic objectives, arXiv:2405.12762; B. O'Donoghue, E. Chu, N. Parikh, S. Boyd, Conic
optimization via operator splitting and homogeneous self-dual embedding,
doi:10.1007/s10957-016-0892-3; B. Stellato, G. Banjac, P. Goulart, A. Bemporad, S. Boyd, OSQP: an
operator splitting solver for quadratic programs, doi:10.1007/s12532-020-00179-2; A. Agrawal, R.
Verschueren, S. Diamond, S. Boyd, A rewriting system for convex optimization problems,
doi:10.1080/23307706.2017.1397554.
"""

import time
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final

import numpy as np

from engiagent.errors import EngiagentError
from engiagent.formulations.classify import ProblemClass, has_convex_products
from engiagent.formulations.program import Program
from engiagent.formulations.values import Floats
from engiagent.solvers.adapter import Adapter, Feature, Need, Watch, distribution_version
from engiagent.solvers.convex.curvature import of_objective, sums_of_squares
from engiagent.solvers.convex.optimality import matrix
from engiagent.solvers.convex.outcome import Ending, conclude, discrete_refusal
from engiagent.solvers.result import SolveOptions, SolverResult

CONES: Final[dict[ProblemClass, Need]] = dict.fromkeys(("LP", "QP", "SOCP"), "convex")
QUADRATIC: Final[dict[ProblemClass, Need]] = dict.fromkeys(("LP", "QP"), "convex")
FEATURES: Final[frozenset[Feature]] = frozenset({"duals", "farkas", "global"})


@dataclass(frozen=True)
class Solver:
    """One of CVXPY's solvers: CVXPY's choice is never used, its tolerances for no named one."""

    name: str
    settings: Mapping[str, Any]  # its options, tolerances above all
    # how it honours ``SolveOptions``: the name of its own option, or what else happens
    options: Mapping[str, str]
    classes: Mapping[ProblemClass, Need]  # what it takes


COMMON: Final = {
    "gap": "convex programs are solved to 1e-9 whatever it says",
    "seed": "makes no random choices",
}
ONE_THREAD: Final = {**COMMON, "threads": "runs on one thread"}
_CLARABEL: Final = ("tol_gap_abs", "tol_gap_rel", "tol_feas", "tol_infeas_abs", "tol_infeas_rel")
_OSQP: Final = ("eps_abs", "eps_rel", "eps_prim_inf", "eps_dual_inf")
_SCS: Final = ("eps_abs", "eps_rel", "eps_infeas")
SOLVERS: Final = {
    "clarabel": Solver(
        "Clarabel",
        {**dict.fromkeys(_CLARABEL, 1e-10), "max_iter": 300},
        {**COMMON, "time_limit": "`time_limit`", "threads": "`max_threads`"},
        CONES,
    ),
    "osqp": Solver(
        "OSQP",
        {**dict.fromkeys(_OSQP, 1e-9), "max_iter": 200_000, "polishing": True},
        {**ONE_THREAD, "time_limit": "`time_limit`"},
        QUADRATIC,
    ),
    "scs": Solver(
        "SCS",
        {**dict.fromkeys(_SCS, 1e-9), "max_iters": 500_000},
        {**ONE_THREAD, "time_limit": "`time_limit_secs`", "log": "`log_csv_filename`"},
        CONES,
    ),
}
KINDS: Final = {
    "optimal": "solved",
    "optimal_inaccurate": "solved",
    "infeasible": "infeasible",
    "infeasible_inaccurate": "infeasible",
    "unbounded": "unbounded",
    "unbounded_inaccurate": "unbounded",
    "user_limit": "limit",
}


@dataclass(frozen=True, eq=False)
class CvxpyProblem:
    """A CVXPY problem of a program."""

    problem: Any  # the ``cvxpy.Problem``, ready to ``solve``; add constraints or solve as it is
    # the ``cvxpy.Variable`` of each column block by name, each of shape (size,)
    variables: dict[str, Any]
    x: Any  # all columns as one expression, shape (n,)
    # the constraints ``activity >= row_lower`` and ``activity <= row_upper``, None where no row has
    # that side, and the numbers of the rows in them
    sides: list[tuple[Any, Any]]

    def multipliers(self, program: Program) -> Floats:
        """Return the multipliers of a solved problem, in the program's own sense."""
        y = np.zeros(program.row_count)
        for (constraint, rows), side in zip(self.sides, (1.0, -1.0), strict=True):
            if constraint is not None and constraint.dual_value is not None:
                y[rows] += side * np.ravel(constraint.dual_value)
        return -y if program.sense == "maximize" else y


def to_cvxpy(program: Program) -> tuple[Any, dict[str, Any]]:
    """Return a program as ``(problem, variables)`` of CVXPY.

    Returns the ``cvxpy.Problem`` and the ``cvxpy.Variable`` of each decision variable by name, with
    one element per element of its block. For example ``problem.solve(solver="HIGHS")``. Raises
    EngiagentError when rows hold conditionally, products stand where they are not convex, or there
    are functions besides products.
    """
    built = build(program)
    return built.problem, built.variables


def build(program: Program) -> CvxpyProblem:
    """Return a program as a CVXPY problem with what is needed to read its answer."""
    import cvxpy

    refused = "CVXPY cannot take this program:"
    if len(program.indicators.rows) or program.sos1:
        raise EngiagentError(f"{refused} it has rows that hold conditionally")
    for part in program.nonlinear:
        place = f" in {part.atom.origin}" if part.atom.origin else ""
        what = f"the function {part.atom.function}{place} is neither linear nor quadratic"
        raise EngiagentError(f"{refused} {what}; IPOPT or SCIP take it")
    if not has_convex_products(program):
        shape = "concave" if program.sense == "maximize" else "convex"
        raise EngiagentError(f"{refused} its objective is not {shape}")
    variables = _variables(program)
    x = cvxpy.hstack(list(variables.values()))
    sign = -1.0 if program.sense == "maximize" else 1.0
    total = program.cost @ x + program.offset
    curvature = of_objective(program)
    if curvature.nnz:
        total = total + sign * cvxpy.quad_form(x, cvxpy.psd_wrap(sign * curvature)) / 2
    curved = [
        (rows, side * (_spread(number, len(rows)) @ cvxpy.square(root @ x)))
        for rows, side, root, number in sums_of_squares(program)
    ]
    sides = []
    for bounds, above in ((program.row_lower, True), (program.row_upper, False)):
        rows = np.flatnonzero(np.isfinite(bounds))
        constraint = None
        if len(rows):
            activity = _activity(program, x, rows, curved)
            constraint = activity >= bounds[rows] if above else activity <= bounds[rows]
        sides.append((constraint, rows))
    limits = [constraint for constraint, _ in sides if constraint is not None]
    low, high = (
        np.flatnonzero(np.isfinite(b)) for b in (program.column_lower, program.column_upper)
    )
    limits += [x[low] >= program.column_lower[low]] if len(low) else []
    limits += [x[high] <= program.column_upper[high]] if len(high) else []
    goal = cvxpy.Maximize(total) if sign < 0 else cvxpy.Minimize(total)
    return CvxpyProblem(cvxpy.Problem(goal, limits), variables, x, sides)


def _variables(program: Program) -> dict[str, Any]:
    import cvxpy

    blocks = [(block.name, block.start, block.stop) for block in program.columns]
    covered = max((stop for _, _, stop in blocks), default=0)
    if covered < program.column_count:
        blocks.append(("added", covered, program.column_count))
    variables = {}
    for name, start, stop in blocks:
        whole = program.integrality[start:stop]
        kind: dict[str, Any] = {"integer": True} if whole.any() and whole.all() else {}
        if whole.any() and not whole.all():
            kind = {"integer": [(int(i),) for i in np.flatnonzero(whole)]}
        variables[name] = cvxpy.Variable(stop - start, name=name, **kind)
    return variables


def _activity(program: Program, x: Any, rows: Any, curved: list[tuple[Any, Any]]) -> Any:
    """Return the values of some rows; CVXPY's rules want convex and concave ones apart."""
    total = matrix(program)[rows] @ x
    for numbers, terms in curved:
        inside = np.flatnonzero(np.isin(numbers, rows))
        if len(inside):
            places = np.searchsorted(rows, numbers[inside])
            total = total + _spread(places, len(rows)) @ terms[inside]
    return total


def _spread(rows: Any, count: int) -> Any:
    from scipy.sparse import coo_array

    return coo_array((np.ones(len(rows)), (rows, np.arange(len(rows)))), (count, len(rows))).tocsr()


def member(solver: str) -> Adapter:
    """Return the adapter of one of CVXPY's solvers, by its name in small letters."""
    known, name, needs = SOLVERS.get(solver), solver, ["cvxpy", solver]
    if known is None:
        known = Solver(f"CVXPY ({solver})", {}, COMMON, CONES)
        name, needs = f"cvxpy:{solver}", ["cvxpy"]
    solve = partial(_solve, solver, known)
    return Adapter(name, known.name, known.classes, FEATURES, known.options, tuple(needs), solve)


def _solve(
    solver: str, known: Solver, program: Program, options: SolveOptions, watch: Watch | None = None
) -> SolverResult:
    """Solve a checked convex program in this process."""
    started = time.perf_counter()
    reason = discrete_refusal(program)
    if reason is not None:
        raise EngiagentError(f"{known.name} cannot take this program: {reason}")
    result = conclude(program, options, _run(solver, known, program, options))
    return replace(result, seconds=time.perf_counter() - started)


def _run(solver: str, known: Solver, program: Program, options: SolveOptions) -> Ending:
    import cvxpy

    names = {name.lower(): name for name in cvxpy.installed_solvers()}
    if solver not in names:
        found = ", ".join(sorted(names))
        raise EngiagentError(f"CVXPY finds no solver {solver!r} here; it finds {found}")
    built = build(program)
    settings = dict(known.settings)
    for name, own in known.options.items():
        value = getattr(options, name)
        if own.startswith("`") and value is not None:
            settings[own.strip("`")] = float(value) if name == "time_limit" else value
    version = distribution_version(solver) or "unknown"
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # on limits CVXPY warns; the status says it
            built.problem.solve(solver=names[solver], **settings)
    except cvxpy.error.SolverError as error:
        words = f"{known.name} gave up: {str(error)[:200]}"
        return Ending(kind="failed", words=words, solver=known.name, version=version)
    status = str(built.problem.status)
    kind = KINDS.get(status, "failed")
    stats = built.problem.solver_stats
    if options.time_limit is not None and status.endswith("_inaccurate"):
        kind = "limit" if (stats.solve_time or 0.0) >= options.time_limit else kind
    words = f"{known.name} ended with {status}"
    if kind == "limit" and options.time_limit is not None:
        words = f"time limit of {options.time_limit:g} s reached"
    elif kind == "limit":
        kind, words = "failed", f"{known.name} stopped at its maximum iterations"
    x = None if built.x.value is None else np.asarray(built.x.value, dtype=np.float64)
    return Ending(
        kind=kind,
        words=words,
        solver=known.name,
        version=version,
        iterations=int(getattr(stats, "num_iters", None) or 0),
        x=x,
        row_dual=None if x is None else built.multipliers(program),
    )
