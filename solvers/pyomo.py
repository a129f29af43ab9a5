"""The adapters of Pyomo's solvers: ``pyomo:highs``, ``pyomo:gurobi``, ``pyomo:ipopt`` and so on.

An option for which :data:`SOLVERS` has no name of the solver's own is refused.
"""

import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from engiagent.errors import EngiagentError
from engiagent.formulations.classify import CLASSES, ProblemClass, classify
from engiagent.formulations.program import OBJECTIVE, Program
from engiagent.formulations.values import ELEMENTARY, Floats, atoms
from engiagent.solvers import linear
from engiagent.solvers.adapter import Adapter, Feature, Need, Watch, distribution_version
from engiagent.solvers.convex.optimality import reduced_costs
from engiagent.solvers.expressions import Algebra, Translator, curved_expressions, curved_rows
from engiagent.solvers.feasibility import made_whole
from engiagent.solvers.goals import without_objective
from engiagent.solvers.result import SolveOptions, SolverResult, Status, relative_gap

ROUNDING: Final = 1e-9
"""How far, relative to its size, a constant may be from its limits."""


@dataclass(frozen=True, eq=False)
class Built:
    """A Pyomo model."""

    model: Any  # the ConcreteModel, with variables ``x`` and constraints ``c``
    variables: list[Any]  # one per column
    # by row number; rows without limits, and those that nothing can change, have none
    constraints: dict[int, Any]
    # whether all rows that nothing can change hold; if not, the program is infeasible
    holds: bool = True


def _total(constant: float, children: list[Any]) -> Any:
    import pyomo.environ as pyo

    return pyo.quicksum([*children, constant]) if children else constant


def _unary(name: str) -> Any:
    def function(inner: Any) -> Any:
        import pyomo.environ as pyo

        return getattr(pyo, name)(inner)

    return function


ALGEBRA: Final = Algebra(
    _total,  # a root is written as a power
    {n: _unary(n) for n in ELEMENTARY if n != "sqrt"},
)


def build(program: Program, *, curved_as_row: bool = False) -> Built:
    """Return the model of a program without conditions and groups.

    ``curved_as_row`` puts a curved objective under a variable of its own, for solvers that only
    take linear ones: Pyomo's own way to do so loses that the objective has no bound.
    """
    import pyomo.environ as pyo
    from pyomo.core.expr.numeric_expr import LinearExpression

    model: Any = pyo.ConcreteModel(name="engiagent")
    variables = _columns(model, program)
    curved = curved_rows(program)
    translator = Translator(variables, ALGEBRA)
    whole = dict(curved_expressions(program, translator, curved))
    sign = -1.0 if program.sense == "maximize" else 1.0
    used = np.flatnonzero(program.cost)
    cost = LinearExpression(
        constant=program.offset,
        linear_coefs=program.cost[used].tolist(),
        linear_vars=[variables[column] for column in used.tolist()],
    )
    model.objective = pyo.Objective(expr=sign * cost)
    if OBJECTIVE in whole:
        _add_curved(model, sign * whole[OBJECTIVE], as_row=curved_as_row)
    free = np.isinf(program.row_lower) & np.isinf(program.row_upper)
    # A row without terms holds (or the program is infeasible); Pyomo cannot say it.
    empty = np.diff(program.row_starts) == 0
    empty[[row for row in curved if row != OBJECTIVE]] = False
    free |= empty
    starts, columns = program.row_starts.tolist(), program.row_columns.tolist()
    values = program.row_values.tolist()
    lower, upper = _limits(program.row_lower), _limits(program.row_upper)
    model.c = pyo.Constraint(pyo.Any)
    constraints = {}
    holds = True
    for row in np.flatnonzero(~free).tolist():
        inside = slice(starts[row], starts[row + 1])
        body = (
            whole[row]
            if row in whole
            else LinearExpression(
                constant=0.0,
                linear_coefs=values[inside],
                linear_vars=[variables[column] for column in columns[inside]],
            )
        )
        if _is_constant(body):
            holds &= _is_within(body, lower[row], upper[row])
            continue
        model.c[row] = (lower[row], body, upper[row])
        constraints[row] = model.c[row]
    return Built(model, variables, constraints, holds)


def _is_constant(body: Any) -> bool:
    """Whether an expression has no variables; Pyomo refuses it as a constraint."""
    from pyomo.core.expr.numvalue import is_potentially_variable

    return not is_potentially_variable(body)


def _is_within(body: Any, lower: float | None, upper: float | None) -> bool:
    """Whether a constant lies between its limits, up to rounding."""
    from pyomo.core.expr.numvalue import value

    number = float(value(body))
    room = ROUNDING * max(1.0, abs(number))
    above = lower is None or number >= lower - room
    return above and (upper is None or number <= upper + room)


def _add_curved(model: Any, curved: Any, *, as_row: bool) -> None:
    import pyomo.environ as pyo

    if not as_row:
        model.objective.expr += curved
        return
    model.curved = pyo.Var()
    model.below = pyo.Constraint(expr=(None, curved - model.curved, 0.0))
    model.objective.expr += model.curved


def _columns(model: Any, program: Program) -> list[Any]:
    import pyomo.environ as pyo

    whole = program.integrality
    binary = whole & (program.column_lower >= 0) & (program.column_upper <= 1)
    kinds = np.where(binary, "Binary", np.where(whole, "Integers", "Reals")).tolist()
    domains = {"Binary": pyo.Binary, "Integers": pyo.Integers, "Reals": pyo.Reals}
    lower, upper = _limits(program.column_lower), _limits(program.column_upper)
    model.x = pyo.Var(
        range(program.column_count),
        domain=lambda _, j: domains[kinds[j]],
        bounds=lambda _, j: (lower[j], upper[j]),
    )
    return [model.x[column] for column in range(program.column_count)]


def _limits(values: Floats) -> list[float | None]:
    finite = np.isfinite(values).tolist()
    return [value if good else None for value, good in zip(values.tolist(), finite, strict=True)]


REQUIRES: Final = ("pyomo",)

LINEAR: Final[dict[ProblemClass, Need]] = {"LP": "any", "MILP": "any"}
QUADRATIC: Final[dict[ProblemClass, Need]] = {
    **LINEAR,
    **dict.fromkeys(("QP", "SOCP", "MIQP", "MISOCP"), "convex"),
}
SMOOTH: Final[dict[ProblemClass, Need]] = dict.fromkeys(("LP", "QP", "SOCP", "NLP"), "any")
ALL: Final[dict[ProblemClass, Need]] = dict.fromkeys(CLASSES, "any")


@dataclass(frozen=True)
class Known:
    """A solver that Pyomo reaches."""

    classes: Mapping[ProblemClass, Need] = field(default_factory=lambda: ALL)  # what it takes
    # its own names for the options of :data:`OPTIONS`, in their order; empty where it has none
    options: tuple[str, ...] = ()
    is_local: bool = False  # whether it proves no global optimum of a nonconvex program
    duals: bool = False  # whether multipliers come back through Pyomo
    linear_objective: bool = False  # whether a curved objective has to be put in a row


OPTIONS: Final = ("time_limit", "gap", "threads", "seed")
_GUROBI: Final = ("TimeLimit", "MIPGap", "Threads", "Seed")
_HIGHS: Final = Known(LINEAR, ("time_limit", "mip_rel_gap", "threads", "random_seed"), duals=True)
_CPLEX: Final = ("timelimit", "mip_tolerances_mipgap", "threads", "randomseed")
_XPRESS: Final = ("maxtime", "miprelstop", "threads", "randomseed")
_SCIP: Final = Known(
    ALL, ("limits/time", "limits/gap", "", "randomization/randomseedshift"), linear_objective=True
)
SOLVERS: Final[dict[str, Known]] = {
    "appsi_highs": _HIGHS,
    "baron": Known(ALL, ("MaxTime", "EpsR")),
    "bonmin": Known(ALL, ("bonmin.time_limit",), is_local=True),
    "cbc": Known(LINEAR, ("seconds", "ratioGap", "threads", "randomCbcSeed")),
    "couenne": Known(ALL, ("time_limit",)),
    "cplex": Known(QUADRATIC, _CPLEX, duals=True),
    "glpk": Known(LINEAR, ("tmlim", "mipgap"), duals=True),
    "gurobi": Known(QUADRATIC, _GUROBI, duals=True),
    "gurobi_direct": Known(LINEAR, _GUROBI, duals=True),
    "gurobi_direct_minlp": Known(ALL, _GUROBI),
    "gurobi_persistent": Known(QUADRATIC, _GUROBI, duals=True),
    "highs": _HIGHS,
    "ipopt": Known(SMOOTH, ("max_cpu_time",), is_local=True, duals=True),
    "knitro_direct": Known(ALL, ("maxtime_real",), is_local=True),
    "scip": _SCIP,
    "scip_direct": _SCIP,
    "scip_persistent": _SCIP,
    "xpress": Known(QUADRATIC, _XPRESS, duals=True),
}
"""What is known of the solvers that Pyomo reaches; one that is not here may take anything."""

# Pyomo's words for how a run ended.
ENDINGS: Final[dict[str, Status]] = {
    "optimal": "optimal",
    "globallyOptimal": "optimal",
    "locallyOptimal": "optimal",
    "infeasible": "infeasible",
    "unbounded": "unbounded",
    "maxTimeLimit": "limit",
    "maxIterations": "limit",
    "maxEvaluations": "limit",
    "resourceInterrupt": "limit",
    "userInterrupt": "interrupted",
}
ENDLESS: Final = 1e15
AMBIGUOUS: Final = "infeasibleOrUnbounded"


@dataclass(frozen=True, eq=False)
class Ending:
    """How a run ended; duals and bound are those of the minimisation."""

    word: str
    version: str
    x: Floats | None = None
    row_dual: Floats | None = None
    bound: float | None = None


def member(name: str) -> Adapter:
    """Return the adapter of one of Pyomo's solvers."""
    about = SOLVERS.get(name, Known())
    features: set[Feature] = set() if about.is_local else {"global"}
    if about.duals:
        features.add("duals")
    options = {option: f"`{own}`" for option, own in _named(about)}
    known, solve = frozenset(features), partial(_solve, name, about)
    called = f"Pyomo ({name})"
    return Adapter(f"pyomo:{name}", called, about.classes, known, options, REQUIRES, solve)


def _named(about: Known) -> list[tuple[str, str]]:
    return [(option, own) for option, own in zip(OPTIONS, about.options, strict=False) if own]


def _solve(
    name: str, about: Known, program: Program, options: SolveOptions, watch: Watch | None = None
) -> SolverResult:
    started = time.perf_counter()
    result = _judged(name, about, program, options, _run(name, about, program, options))
    return replace(result, seconds=time.perf_counter() - started)


def _run(name: str, about: Known, program: Program, options: SolveOptions) -> Ending:
    version = distribution_version("pyomo") or "unknown"
    # A row without terms that does not hold, Pyomo cannot say; columns without use it leaves out.
    given = np.diff(program.row_starts) > 0
    given[[row for row in curved_rows(program) if row != OBJECTIVE]] = True
    if np.any(~given & ((program.row_lower > 0) | (program.row_upper < 0))):
        return Ending("infeasible", version)
    rest = np.clip(np.zeros(program.column_count), program.column_lower, program.column_upper)
    if not _used(program).any():
        return Ending("optimal", version, rest, np.zeros(program.row_count))
    # Pyomo tells of most that goes wrong by exceptions of many kinds, which are the user's to read.
    try:
        built = build(program, curved_as_row=about.linear_objective)
        if not built.holds:
            return Ending("infeasible", version)
        return _run_built(name, about, built, program, options, rest)
    except (EngiagentError, MemoryError):
        raise
    except Exception as error:
        raise EngiagentError(
            f"Pyomo could not solve the program with {name}: {type(error).__name__}: {error}"
        ) from None


def _used(program: Program) -> npt.NDArray[np.bool_]:
    """Whether each column occurs anywhere; Pyomo leaves the others out of what it solves."""
    used: npt.NDArray[np.bool_] = program.cost != 0
    products = program.products
    chosen = [program.row_columns, products.first, products.second, program.indicators.columns]
    chosen += program.sos1
    for part in program.nonlinear:
        inner = (below for form in part.atom.args for below in atoms(form))
        forms = [form for atom in (part.atom, *inner) for form in atom.args]
        chosen += [term.columns for form in forms for term in form.terms]
    for columns in chosen:
        used[columns] = True
    return used


def _run_built(
    name: str, about: Known, built: Built, program: Program, options: SolveOptions, rest: Floats
) -> Ending:
    import pyomo.environ as pyo

    solver = pyo.SolverFactory(name)
    if not solver.available(exception_flag=False):
        raise EngiagentError(
            f"Pyomo finds no solver {name} on this machine; install it, or choose another backend "
            "(highs, scip and ipopt need no programs besides engiagent's own extras)"
        )
    duals = about.duals and not program.is_mip
    if duals:
        built.model.dual = pyo.Suffix(direction=pyo.Suffix.IMPORT)
    for option, own in _named(about):
        value = getattr(options, option)
        if value is not None:
            solver.options[own] = value
    results = solver.solve(built.model, load_solutions=False)
    version = ".".join(str(part) for part in solver.version() or ())
    word = str(results.solver.termination_condition)
    if not len(results.solution) or ENDINGS.get(word, "unbounded") in ("infeasible", "unbounded"):
        return Ending(word, version)
    built.model.solutions.load_from(results)
    values = [variable.value for variable in built.variables]
    x = [at if value is None else value for value, at in zip(values, rest.tolist(), strict=True)]
    bound: Any = getattr(results.problem[0], "lower_bound", None)
    known = isinstance(bound, int | float) and bool(np.isfinite(bound))
    row_dual = None
    if duals and len(built.model.dual):
        row_dual = np.zeros(program.row_count)
        for row, constraint in built.constraints.items():
            row_dual[row] = built.model.dual[constraint]
    point = np.array(x, np.float64)
    return Ending(word, version, point, row_dual, float(bound) if known else None)


def _judged(
    name: str, about: Known, program: Program, options: SolveOptions, ending: Ending
) -> SolverResult:
    """Return what the ending means for the program in its own sense."""
    status: Status = ENDINGS.get(ending.word, "error")
    if ending.x is not None and bool(np.any(np.abs(ending.x) > ENDLESS)):
        status = "unbounded"  # a solver that takes 1e20 for infinity went there
    if ending.word == AMBIGUOUS:
        again = _run(name, about, without_objective(program), options)
        status = "infeasible" if ENDINGS.get(again.word) == "infeasible" else "unbounded"
    reason = f"the solver ended with {ending.word}"
    if status in ("limit", "interrupted"):
        reason += ", no schedule found"
    elif status == "infeasible":
        reason = "no point satisfies all constraints, says the solver"
    elif status == "unbounded":
        reason = linear.unbounded_reason(program, None)
    base = SolverResult(
        status=status,
        reason=reason,
        is_mip=program.is_mip,
        solver=f"Pyomo ({name})",
        solver_version=ending.version,
    )
    finite = ending.x is not None and bool(np.isfinite(ending.x).all())
    if finite and status not in ("infeasible", "unbounded", "error"):
        return _with_point(name, about, program, options, ending, base)
    lost = status == "optimal"
    return replace(base, status="error", reason=f"{name} returned no point") if lost else base


def _with_point(
    name: str,
    about: Known,
    program: Program,
    options: SolveOptions,
    ending: Ending,
    base: SolverResult,
) -> SolverResult:
    sign = -1.0 if program.sense == "maximize" else 1.0
    assert ending.x is not None
    whole = made_whole(program, options, ending.x, lambda rest: _run(name, about, rest, options).x)
    bound = None if ending.bound is None else sign * ending.bound
    objective = program.objective_at(whole.x)
    status, reason = base.status, "optimal"
    if status != "optimal":
        status = "interrupted" if status == "interrupted" else "feasible"
        reason = f"the solver ended with {ending.word}, the best schedule so far is kept"
    elif about.is_local and (program.is_mip or classify(program).convexity != "convex"):
        status, reason, bound = "feasible", "local optimum: nothing near it is better", None
    elif not program.is_mip:
        bound = objective if bound is None else bound
    row_dual, column_dual = whole.row_dual, whole.column_dual
    if row_dual is None and ending.row_dual is not None:
        row_dual = sign * ending.row_dual + 0.0
        column_dual = reduced_costs(program, whole.x, row_dual)
    gap = None if bound is None else relative_gap(objective, bound)
    if status == "optimal" and not (gap is not None and gap <= max(2 * options.gap, 1e-6)):
        status = "feasible"
        reason = "the solver calls it optimal but gave no bound within the gap"
    return replace(
        base,
        status=status,
        reason=reason,
        x=whole.x,
        objective=objective,
        bound=bound,
        gap=gap,
        row_dual=row_dual,
        column_dual=column_dual,
    )
