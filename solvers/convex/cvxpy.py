"""Convex programs through CVXPY: Clarabel, OSQP and SCS, and a problem to go on with by hand.

Rows stay ranged as two constraints; convex quadratic rows become sums of squares by a factor, rows
with one negative eigenvalue second-order cones, and functions CVXPY's own atoms, whose rules then
decide whether the problem is convex.

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
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final

import numpy as np

from engiagent.errors import EngiagentError
from engiagent.formulations.classify import ProblemClass, has_convex_products
from engiagent.formulations.program import OBJECTIVE, Program
from engiagent.formulations.values import ELEMENTARY, Atom, Floats, Form, atoms
from engiagent.solvers.adapter import Adapter, Feature, Need, Watch, distribution_version
from engiagent.solvers.convex.curvature import of_objective
from engiagent.solvers.convex.derivatives import affine_matrix, matrix
from engiagent.solvers.convex.optimality import Multipliers
from engiagent.solvers.convex.outcome import Ending, conclude, discrete_refusal
from engiagent.solvers.convex.quadratic_rows import Cone, interval, quadratic_rows
from engiagent.solvers.result import SolveOptions, SolverResult

CONES: Final[dict[ProblemClass, Need]] = dict.fromkeys(("LP", "QP", "SOCP", "NLP"), "convex")
FEATURES: Final[frozenset[Feature]] = frozenset({"duals", "farkas", "ray", "global"})
QUADRATIC: Final[dict[ProblemClass, Need]] = dict.fromkeys(("LP", "QP"), "convex")
APEX: Final = 1e-6
"""Height, relative to the point, below which a cone is at its apex, where no multiplier of its row
exists: the objective changes faster than any multiple of the right-hand side."""


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
SOLVERS: Final = {
    "clarabel": Solver(
        "Clarabel",
        {
            "tol_gap_abs": 1e-10,
            "tol_gap_rel": 1e-10,
            "tol_feas": 1e-10,
            "tol_infeas_abs": 1e-10,
            "tol_infeas_rel": 1e-10,
            "max_iter": 300,
        },
        {**COMMON, "time_limit": "`time_limit`", "threads": "`max_threads`"},
        CONES,
    ),
    "osqp": Solver(
        "OSQP",
        {
            "eps_abs": 1e-9,
            "eps_rel": 1e-9,
            "eps_prim_inf": 1e-9,
            "eps_dual_inf": 1e-9,
            "max_iter": 200_000,
            "polishing": True,
        },
        {**COMMON, "time_limit": "`time_limit`", "threads": "runs on one thread"},
        QUADRATIC,
    ),
    "scs": Solver(
        "SCS",
        {"eps_abs": 1e-9, "eps_rel": 1e-9, "eps_infeas": 1e-9, "max_iters": 500_000},
        {
            **COMMON,
            "time_limit": "`time_limit_secs`",
            "threads": "runs on one thread",
            "log": "`log_csv_filename`",
        },
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
    # lower, upper: the constraints ``activity >= row_lower`` and ``activity <= row_upper``, None
    # where no row has that side, and the numbers of the rows in them
    lower: tuple[Any, Any]
    upper: tuple[Any, Any]
    # constraints of second-order cones of one size each, and the rows that they are
    cones: tuple[tuple[Any, list[Cone]], ...] = ()
    # each function with its terms in the rows, to name one that breaks CVXPY's rules
    atoms: tuple[tuple[Atom, Any], ...] = ()

    def multipliers(self, program: Program, x: Floats) -> Multipliers:
        """Return the multipliers of a solved problem, in the program's own sense."""
        sign = -1.0 if program.sense == "maximize" else 1.0
        y, pull, slack = np.zeros(program.row_count), np.zeros(len(x)), 0.0
        for (constraint, rows), side in ((self.lower, 1.0), (self.upper, -1.0)):
            if constraint is not None and constraint.dual_value is not None:
                y[rows] += side * np.ravel(constraint.dual_value)
        apex: list[int] = []
        size = max(1.0, float(np.max(np.abs(x), initial=0.0)))
        for constraint, members in self.cones:
            heads, bodies = (np.asarray(dual) for dual in constraint.dual_value)
            duals = np.vstack([heads.reshape(1, -1), bodies.reshape(-1, len(members))])
            for cone, dual in zip(members, duals.T, strict=True):
                height = float(cone.height.at(x)[0])
                if height > APEX * size:
                    # The row is |F|² - v² <= 0, whose gradient is 2 v times that of |F| - v <= 0.
                    y[cone.row] = -cone.side * dual[0] / (2.0 * height)
                    continue
                apex.append(cone.row)
                for form, weights in ((cone.height, dual[:1]), (cone.body, dual[1:])):
                    pull -= affine_matrix(form, len(x)).T @ weights
                    slack += float(weights @ form.at(x))
        return Multipliers(sign * y, pull, slack, tuple(apex))


def to_cvxpy(program: Program) -> tuple[Any, dict[str, Any]]:
    """Return a program as ``(problem, variables)`` of CVXPY.

    Returns the ``cvxpy.Problem`` and the ``cvxpy.Variable`` of each decision variable by name, with
    one element per element of its block. For example ``problem.solve(solver="HIGHS")``. Raises
    EngiagentError when rows hold conditionally, products stand where they are not convex, or a
    function has no counterpart in CVXPY.
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
    if not has_convex_products(program):
        shape = "concave" if sign < 0 else "convex"
        raise EngiagentError(f"CVXPY cannot take this program: its objective is not {shape}")
    curvature = of_objective(program)
    if curvature.nnz:
        total = total + sign * cvxpy.quad_form(x, cvxpy.psd_wrap(sign * curvature)) / 2
    sums, cones = quadratic_rows(program, "CVXPY")
    curved = [
        (rows, side * (_spread(number, len(rows)) @ cvxpy.square(root @ x)))
        for rows, side, root, number in sums
    ]
    atoms = []
    for part in program.nonlinear:
        rows = part.row_numbers()
        terms = cvxpy.multiply(np.broadcast_to(part.coefficients, rows.shape), _atom(part.atom, x))
        atoms.append((part.atom, terms))
        inside = np.flatnonzero(rows != OBJECTIVE)
        if len(inside):
            curved.append((rows[inside], terms[inside]))
        goal = np.flatnonzero(rows == OBJECTIVE)
        if len(goal):
            total = total + cvxpy.sum(terms[goal])
    sides = []
    for bounds, above in ((program.row_lower, True), (program.row_upper, False)):
        rows = np.setdiff1d(np.flatnonzero(np.isfinite(bounds)), [cone.row for cone in cones])
        constraint = None
        if len(rows):
            activity = _activity(program, x, rows, curved)
            constraint = activity >= bounds[rows] if above else activity <= bounds[rows]
        sides.append((constraint, rows))
    stacked = _stacked(cones, x)
    goal = cvxpy.Maximize(total) if sign < 0 else cvxpy.Minimize(total)
    constraints = [constraint for constraint, _ in sides if constraint is not None]
    limits = [*constraints, *(cone for cone, _ in stacked), *_bounds(program, x)]
    problem = cvxpy.Problem(goal, limits)
    return CvxpyProblem(problem, variables, x, sides[0], sides[1], stacked, tuple(atoms))


def _stacked(cones: list[Cone], x: Any) -> tuple[tuple[Any, list[Cone]], ...]:
    """Return the cones as one constraint for each size."""
    cvxpy = _library()
    groups: dict[int, list[Cone]] = {}
    for cone in cones:
        groups.setdefault(cone.body.size, []).append(cone)
    found = []
    for size, members in groups.items():
        heads = cvxpy.hstack([_form(cone.height, x) for cone in members])
        bodies = cvxpy.hstack([_form(cone.body, x) for cone in members])
        matrix = cvxpy.reshape(bodies, (size, len(members)), order="F")
        found.append((cvxpy.SOC(heads, matrix, axis=0), members))
    return tuple(found)


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
    if atom.function in ("sqrt", "quotient"):
        return (_sqrt if atom.function == "sqrt" else _quotient)(atom, x)
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


def root_of(atom: Atom, count: int) -> Form | None:
    """Return the affine form whose square an atom is, None when there is none."""
    if atom.function == "power" and np.all(atom.numbers[0] == 2.0) and atom.args[0].is_affine:
        return atom.args[0]
    if atom.function == "product" and same(atom.args[0], atom.args[1], count):
        return atom.args[0]
    return None


def same(first: Form, second: Form, count: int) -> bool:
    """Return whether two affine forms are equal."""
    if not (first.is_affine and second.is_affine):
        return False
    difference = affine_matrix(first, count) - affine_matrix(second, count)
    shifted = np.broadcast_to(first.constant - second.constant, (first.size,))
    return not shifted.any() and int(difference.count_nonzero()) == 0


def _width(atom: Atom) -> int:
    """Return one more than the largest column in an atom's arguments."""
    forms = [*atom.args, *(f for form in atom.args for inner in atoms(form) for f in inner.args)]
    columns = [term.columns for form in forms for term in form.terms if len(term.columns)]
    return 1 + max((int(numbers.max()) for numbers in columns), default=0)


def _quotient(atom: Atom, x: Any) -> Any:
    """Return a square over what it is divided by as such, else a product with a reciprocal."""
    cvxpy = _library()

    over = atom.args[0]
    parts = over.parts
    if len(parts) == 1 and not over.terms and not np.any(over.constant):
        rows, weights = parts[0].row_numbers(), parts[0].coefficients
        root = root_of(parts[0].atom, _width(atom))
        if root is not None and np.array_equal(rows, np.arange(atom.size)) and np.all(weights >= 0):
            scale = np.sqrt(np.broadcast_to(weights, rows.shape))
            top, under = cvxpy.multiply(scale, _form(root, x)), _form(atom.args[1], x)
            pairs = [cvxpy.quad_over_lin(top[k], under[k]) for k in range(atom.size)]
            return cvxpy.hstack(pairs)
    return cvxpy.multiply(_form(over, x), cvxpy.inv_pos(_form(atom.args[1], x)))


_ATOMS: Final[dict[str, Callable[[Atom, list[Any]], Any]]] = {
    **{name: _of(name) for name, f in ELEMENTARY.items() if f.in_cvxpy},
    "power": _power,
    "product": _product,
}


def member(solver: str) -> Adapter:
    """Return the adapter of one of CVXPY's solvers, by its name in small letters.

    One that is none of :data:`SOLVERS` runs as ``cvxpy:<solver>`` with its own defaults.
    """
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
    if reason is None:
        reason = _unknown_sign(program)
    if reason is not None:
        raise EngiagentError(f"{known.name} cannot take this program: {reason}")
    result = conclude(program, options, _run(solver, known, program, options))
    return replace(result, seconds=time.perf_counter() - started)


def _run(solver: str, known: Solver, program: Program, options: SolveOptions) -> Ending:
    cvxpy = _library()

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
    except cvxpy.error.DCPError as error:
        raise EngiagentError(
            f"{known.name} cannot take this program: {_rule_broken(program, built)}"
        ) from error
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
    value = built.x.value
    x = None if value is None else np.asarray(value, dtype=np.float64)
    return Ending(
        kind=kind,
        words=words,
        solver=known.name,
        version=version,
        iterations=int(getattr(stats, "num_iters", None) or 0),
        x=x,
        row_dual=None if x is None else built.multipliers(program, x),
    )


def _unknown_sign(program: Program) -> str | None:
    """Return which argument may be negative where CVXPY takes it for granted that it is not."""
    for part in program.nonlinear:
        inner = [part.atom, *(atom for form in part.atom.args for atom in atoms(form))]
        for atom in inner:
            form = atom.args[-1]
            if atom.function == "power":
                exponent = np.unique(atom.numbers[0])
                whole = exponent == np.round(exponent)
                fits = ~whole | ((exponent >= 0) & (exponent % 2 == 0)) | (exponent == 1)
                if fits.all():
                    continue  # roots of negative numbers do not exist, even powers are defined
            elif atom.function != "quotient" or form.is_constant:
                continue
            positive = all(
                below.atom.function in ("exp", "sqrt") and np.all(below.coefficients >= 0)
                for below in form.parts
            )
            low = interval(Form(form.size, form.constant, form.terms), program)[0]
            if not (positive and np.all(low >= 0)):
                place = f" in {atom.origin}" if atom.origin else ""
                return f"the argument of {atom.function}{place} may be negative"
    return None


def _rule_broken(program: Program, built: CvxpyProblem) -> str:
    """Return which function stands where CVXPY's rules do not allow it."""
    sign = -1.0 if program.sense == "maximize" else 1.0
    for part, (atom, terms) in zip(program.nonlinear, built.atoms, strict=True):
        rows = part.row_numbers()
        inside = rows[rows != OBJECTIVE]
        goal = len(inside) < len(rows)
        above = np.isfinite(program.row_upper[inside]).any() or (goal and sign > 0)
        below = np.isfinite(program.row_lower[inside]).any() or (goal and sign < 0)
        if (above and not terms.is_convex()) or (below and not terms.is_concave()):
            place = f" in {atom.origin}" if atom.origin else ""
            shape = "convex" if above and not terms.is_convex() else "concave"
            return (
                f"{atom.function}{place} stands where only a {shape} function may, and CVXPY's "
                "rules (DCP) do not show that it is one"
            )
    return "CVXPY's rules (DCP) do not show that it is convex"
