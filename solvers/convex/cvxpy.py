"""Programs as CVXPY problems, to go on with by hand, and CVXPY's solvers as ``cvxpy-<solver>``.

Rows stay ranged as two constraints; convex quadratic rows become sums of squares by a factor, and
functions CVXPY's own atoms, whose rules then decide whether the problem is convex.
"""

import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final

import numpy as np

from engiagent.errors import EngiagentError
from engiagent.formulations.classify import ProblemClass
from engiagent.formulations.program import OBJECTIVE, Program
from engiagent.formulations.values import ELEMENTARY, Atom, Floats, Form, atoms
from engiagent.solvers.adapter import Adapter, Feature, Need, Watch, distribution_version
from engiagent.solvers.convex.curvature import factor, hessian
from engiagent.solvers.convex.derivatives import affine_matrix, matrix
from engiagent.solvers.convex.functions import root_of
from engiagent.solvers.convex.lifting import lifted, lowered
from engiagent.solvers.convex.outcome import Ending, conclude
from engiagent.solvers.convex.quadratic_rows import cone_of_row
from engiagent.solvers.convex.reduction import Reduction, same
from engiagent.solvers.result import SolveOptions, SolverResult
from engiagent.solvers.validate import place_of

REQUIRES: Final = ("cvxpy",)
CONES: Final[dict[ProblemClass, Need]] = {
    "LP": "convex",
    "QP": "convex",
    "SOCP": "convex",
    "NLP": "convex",
}
FEATURES: Final[frozenset[Feature]] = frozenset({"duals", "farkas", "ray", "global"})
SETTINGS: Final[dict[str, dict[str, Any]]] = {
    "clarabel": {"tol_gap_abs": 1e-10, "tol_gap_rel": 1e-10, "tol_feas": 1e-10},
    "scs": {"eps_abs": 1e-9, "eps_rel": 1e-9, "max_iters": 500_000},
}
"""Solvers offered, with tolerances: CVXPY's choice and its defaults are never used."""
TIME_LIMITS: Final = {"clarabel": "time_limit", "scs": "time_limit_secs"}
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
    """A CVXPY problem of a program.

    Attributes
    ----------
    problem
        The ``cvxpy.Problem``, ready to ``solve``; add constraints or solve as it is.
    variables
        The ``cvxpy.Variable`` of each column block by name, each of shape (size,).
    x
        All columns as one expression, shape (n,).
    lower, upper
        The constraints ``activity >= row_lower`` and ``activity <= row_upper``, None where no row
        has that side, and the numbers of the rows in them.
    """

    problem: Any
    variables: dict[str, Any]
    x: Any
    lower: tuple[Any, Any]
    upper: tuple[Any, Any]
    cones: tuple[tuple[int, float, Any], ...] = ()

    def row_dual(self, count: int, sign: float) -> Floats:
        """Return ∂objective/∂right-hand side of a solved problem, shape (count,).

        ``sign`` is -1 for a maximisation.
        """
        dual = np.zeros(count)
        for (constraint, rows), side in ((self.lower, 1.0), (self.upper, -1.0)):
            if constraint is not None and constraint.dual_value is not None:
                dual[rows] += sign * side * np.ravel(constraint.dual_value)
        for row, side, cone in self.cones:
            # The row is |F|² - v² <= 0, whose gradient is 2 v times that of |F| - v <= 0.
            height = max(float(np.ravel(cone.args[0].value)[0]), np.finfo(float).tiny)
            dual[row] = -sign * side * float(np.ravel(cone.dual_value[0])[0]) / (2.0 * height)
        return dual


def to_cvxpy(program: Program) -> tuple[Any, dict[str, Any]]:
    """Return a program as ``(problem, variables)`` of CVXPY.

    Returns
    -------
    The ``cvxpy.Problem`` and the ``cvxpy.Variable`` of each decision variable by name, with one
    element per element of its block. For example ``problem.solve(solver="HIGHS")``.

    Raises
    ------
    EngiagentError
        When rows hold conditionally, products stand where they are not convex, or a function has
        no counterpart in CVXPY.
    """
    built = build(program)
    return built.problem, built.variables


def build(program: Program) -> CvxpyProblem:
    """Return a program as a CVXPY problem with what is needed to read its answer."""
    cvxpy = _library()

    if len(program.indicators.rows) or program.sos1:
        raise EngiagentError("CVXPY cannot take this program: it has rows that hold conditionally")
    variables = _variables(program)
    x = cvxpy.hstack(list(variables.values()))
    sign = -1.0 if program.sense == "maximize" else 1.0
    total = program.cost @ x + program.offset
    squares = factor(sign * hessian(program.products.of_objective(), program.column_count))
    if squares is None:
        raise EngiagentError("CVXPY cannot take this program: its objective is not convex")
    if squares.shape[0]:
        total = total + sign * cvxpy.sum_squares(squares @ x) / 2
    curved, cones = _quadratic_rows(program, x)
    whole = [row for row, _, _ in cones]
    for part in program.nonlinear:
        rows = part.row_numbers()
        terms = cvxpy.multiply(np.broadcast_to(part.coefficients, rows.shape), _atom(part.atom, x))
        inside = np.flatnonzero(rows != OBJECTIVE)
        if len(inside):
            curved.append((rows[inside], terms[inside]))
        goal = np.flatnonzero(rows == OBJECTIVE)
        if len(goal):
            total = total + cvxpy.sum(terms[goal])
    sides = []
    for bounds, above in ((program.row_lower, True), (program.row_upper, False)):
        rows = np.setdiff1d(np.flatnonzero(np.isfinite(bounds)), whole)
        constraint = None
        if len(rows):
            activity = _activity(program, x, rows, curved)
            constraint = activity >= bounds[rows] if above else activity <= bounds[rows]
        sides.append((constraint, rows))
    goal = cvxpy.Maximize(total) if sign < 0 else cvxpy.Minimize(total)
    constraints = [constraint for constraint, _ in sides if constraint is not None]
    limits = [*constraints, *(cone for _, _, cone in cones), *_bounds(program, x)]
    problem = cvxpy.Problem(goal, limits)
    return CvxpyProblem(problem, variables, x, sides[0], sides[1], tuple(cones))


def _variables(program: Program) -> dict[str, Any]:
    cvxpy = _library()

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


def _bounds(program: Program, x: Any) -> list[Any]:
    low = np.flatnonzero(np.isfinite(program.column_lower))
    high = np.flatnonzero(np.isfinite(program.column_upper))
    constraints = []
    if len(low):
        constraints.append(x[low] >= program.column_lower[low])
    if len(high):
        constraints.append(x[high] <= program.column_upper[high])
    return constraints


def _activity(program: Program, x: Any, rows: Any, curved: list[tuple[Any, Any]]) -> Any:
    """Return the values of some rows; CVXPY's rules want convex and concave ones apart."""
    total = matrix(program)[rows] @ x
    for numbers, terms in curved:
        inside = np.flatnonzero(np.isin(numbers, rows))
        if len(inside):
            places = np.searchsorted(rows, numbers[inside])
            total = total + _spread(places, len(rows)) @ terms[inside]
    return total


def _quadratic_rows(
    program: Program, x: Any
) -> tuple[list[tuple[Any, Any]], list[tuple[int, float, Any]]]:
    """Return rows with the sums of squares in them, and the rows that are cones."""
    cvxpy = _library()
    products = program.products.of_rows()
    curved: list[tuple[Any, Any]] = []
    cones: list[tuple[int, float, Any]] = []
    for row in np.unique(products.rows).tolist():
        chosen = products.rows == row
        mine = type(products)(
            products.rows[chosen],
            products.first[chosen],
            products.second[chosen],
            products.values[chosen],
        )
        side = 1.0 if np.isinf(program.row_lower[row]) else -1.0
        open_ended = np.isinf(program.row_lower[row]) or np.isinf(program.row_upper[row])
        squares = factor(side * hessian(mine, program.column_count) / 2)
        if squares is not None:
            square = cvxpy.reshape(side * cvxpy.sum_squares(squares @ x), (1,), order="C")
            curved.append((np.array([row]), square))
            continue
        found = cone_of_row(program, mine, row, side, Reduction(program, "CVXPY"))
        if found is None or not open_ended:
            name = place_of(program, program.rows, row)
            raise EngiagentError(
                f"CVXPY cannot take this program: the products of {name} are neither convex there "
                "nor a second-order cone"
            )
        height, body = (_form(form, x) for form in found)
        cones.append((row, side, cvxpy.SOC(height[0], body)))
    return curved, cones


def _spread(rows: Any, count: int) -> Any:
    from scipy.sparse import coo_array

    return coo_array((np.ones(len(rows)), (rows, np.arange(len(rows)))), (count, len(rows))).tocsr()


def _form(form: Form, x: Any) -> Any:
    cvxpy = _library()

    constant = np.array(np.broadcast_to(form.constant, (form.size,)))
    total = affine_matrix(form, x.shape[0]) @ x + constant
    for part in form.parts:
        rows = part.row_numbers()
        terms = cvxpy.multiply(np.broadcast_to(part.coefficients, rows.shape), _atom(part.atom, x))
        total = total + _spread(rows, form.size) @ terms
    return total


def _atom(atom: Atom, x: Any) -> Any:
    if atom.function == "sqrt":
        return _sqrt(atom, x)
    rule = _ATOMS.get(atom.function)
    if rule is None:
        place = f" in {atom.origin}" if atom.origin else ""
        raise EngiagentError(f"CVXPY has no counterpart of {atom.function}{place}")
    return rule(atom, [_form(form, x) for form in atom.args])


def _library() -> Any:
    import cvxpy

    return cvxpy


def _of(name: str) -> Callable[[Atom, list[Any]], Any]:
    def apply(atom: Atom, inner: list[Any]) -> Any:
        return getattr(_library(), name)(inner[0])

    return apply


def _extreme(atom: Atom, inner: list[Any]) -> Any:
    cvxpy = _library()

    assert atom.groups is not None
    choose = cvxpy.max if atom.function == "max" else cvxpy.min
    groups = [np.flatnonzero(np.asarray(atom.groups) == k) for k in range(atom.size)]
    return cvxpy.hstack([choose(inner[0][members]) for members in groups])


def _sqrt(atom: Atom, x: Any) -> Any:
    """Return a norm where the argument is a sum of squares, else the concave root."""
    cvxpy = _library()
    form = atom.args[0]
    count = _width(atom)
    roots = [root_of(part.atom, count) for part in form.parts]
    constants = np.broadcast_to(form.constant, (atom.size,))
    squares = all(np.all(part.coefficients >= 0) for part in form.parts)
    if not roots or None in roots or form.terms or not squares or np.any(constants < 0):
        return cvxpy.sqrt(_form(form, x))
    members: list[tuple[Any, Any]] = [(np.arange(atom.size), np.sqrt(constants))]
    for part, root in zip(form.parts, roots, strict=True):
        assert root is not None
        weights = np.sqrt(np.broadcast_to(part.coefficients, (part.atom.size,)))
        members.append((part.row_numbers(), cvxpy.multiply(weights, _form(root, x))))
    norms = []
    for k in range(atom.size):
        mine = [values[np.flatnonzero(rows == k)] for rows, values in members]
        norms.append(cvxpy.norm(cvxpy.hstack(mine), 2))
    return cvxpy.hstack(norms)


def _power(atom: Atom, inner: list[Any]) -> Any:
    cvxpy = _library()

    exponents = np.broadcast_to(atom.numbers[0], (atom.size,))
    if np.all(exponents == exponents[0]):
        return cvxpy.power(inner[0], float(exponents[0]))
    return cvxpy.hstack([cvxpy.power(inner[0][k], float(p)) for k, p in enumerate(exponents)])


def _product(atom: Atom, inner: list[Any]) -> Any:
    """Return a square, an entropy, or what CVXPY makes of a product."""
    cvxpy = _library()

    first, second = atom.args
    count = _width(atom)
    for left, right, value in ((first, second, inner[0]), (second, first, inner[1])):
        logs = right.parts
        plain = right.is_affine or right.terms or np.any(right.constant) or len(logs) != 1
        if not plain and logs[0].atom.function == "log" and left.is_affine:
            argument = logs[0].atom.args[0]
            if np.all(logs[0].coefficients == 1.0) and same(argument, left, count):
                return -cvxpy.entr(value)
    if same(first, second, count):
        return cvxpy.square(inner[0])
    return cvxpy.multiply(inner[0], inner[1])


def _width(atom: Atom) -> int:
    """Return one more than the largest column in an atom's arguments."""
    forms = [*atom.args, *(f for form in atom.args for inner in atoms(form) for f in inner.args)]
    columns = [term.columns for form in forms for term in form.terms if len(term.columns)]
    return 1 + max((int(numbers.max()) for numbers in columns), default=0)


def _quotient(atom: Atom, inner: list[Any]) -> Any:
    cvxpy = _library()

    return cvxpy.multiply(inner[0], cvxpy.inv_pos(inner[1]))


_ATOMS: Final[dict[str, Callable[[Atom, list[Any]], Any]]] = {
    "abs": _of("abs"),
    **{name: _of(f.cvxpy) for name, f in ELEMENTARY.items() if f.cvxpy is not None},
    "max": _extreme,
    "min": _extreme,
    "power": _power,
    "product": _product,
    "quotient": _quotient,
}


def member(solver: str) -> Adapter:
    """Return the adapter of one of CVXPY's solvers, by its name in small letters.

    Raises
    ------
    EngiagentError
        When it is none of :data:`SETTINGS`.
    """
    if solver not in SETTINGS:
        raise EngiagentError(
            f"CVXPY's {solver!r} is not offered; choose one of {', '.join(SETTINGS)}"
        )
    options = {
        "time_limit": f"`{TIME_LIMITS[solver]}`",
        "gap": "convex programs are solved to 1e-9 whatever it says",
        "seed": "makes no random choices",
        "threads": "runs on one thread",
    }
    return Adapter(
        f"cvxpy-{solver}",
        f"{solver.upper()} of CVXPY",
        CONES,
        FEATURES,
        options,
        ("cvxpy", solver),
        partial(_solve, solver),
    )


def _solve(
    solver: str, program: Program, options: SolveOptions, watch: Watch | None = None
) -> SolverResult:
    """Solve a checked convex program in this process."""
    started = time.perf_counter()
    smooth = lifted(program)
    result = lowered(program, conclude(smooth, options, _run(solver, smooth, options)))
    return replace(result, seconds=time.perf_counter() - started)


def _run(solver: str, program: Program, options: SolveOptions) -> Ending:
    cvxpy = _library()

    built = build(program)
    settings = dict(SETTINGS[solver])
    if options.time_limit is not None:
        settings[TIME_LIMITS[solver]] = float(options.time_limit)
    name = f"{solver.upper()} of CVXPY"
    version = distribution_version("cvxpy") or "unknown"
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # on limits CVXPY warns; the status says it
            built.problem.solve(solver=solver.upper(), **settings)
    except cvxpy.error.DCPError as error:
        line = str(error).splitlines()[0]
        raise EngiagentError(f"{name} cannot take this program: {line}") from error
    except cvxpy.error.SolverError as error:
        return Ending(
            kind="failed", words=f"{name} gave up: {str(error)[:200]}", solver=name, version=version
        )
    status = str(built.problem.status)
    sign = -1.0 if program.sense == "maximize" else 1.0
    kind = KINDS.get(status, "failed")
    ready = built.x.value is not None
    words = f"{name} ended with {status}"
    if kind == "limit" and options.time_limit is not None:
        words = f"time limit of {options.time_limit:g} s reached"
    return Ending(
        kind=kind,
        words=words,
        solver=name,
        version=version,
        iterations=int(getattr(built.problem.solver_stats, "num_iters", None) or 0),
        x=np.asarray(built.x.value, dtype=np.float64) if ready else None,
        row_dual=built.row_dual(program.row_count, sign) if ready else None,
    )
