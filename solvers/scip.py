"""The adapter of SCIP: every class, to global optimality.

Whole numbers are rounded exactly; a program that is linear once they, and all conditions, are
fixed is then solved again by the simplex method, so that the point is exact and duals exist.
Infeasible linear programs come with multipliers that prove it, from the same method.
"""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np

from engiagent.formulations.classify import CLASSES as EVERY_CLASS
from engiagent.formulations.classify import ProblemClass
from engiagent.formulations.program import OBJECTIVE, Program
from engiagent.solvers import linear
from engiagent.solvers.adapter import Feature, Need, Watch, distribution_version
from engiagent.solvers.expressions import Algebra, Translator, curved_expressions, curved_rows
from engiagent.solvers.feasibility import ACCEPTED, made_whole, worst_violation
from engiagent.solvers.goals import without_objective
from engiagent.solvers.result import (
    Floats,
    Progress,
    SolveOptions,
    SolverResult,
    Status,
    relative_gap,
    remaining,
)


def _total(constant: float, children: list[Any]) -> Any:
    from pyscipopt.scip import Constant, SumExpr

    if not children:
        return Constant(constant)
    if len(children) == 1 and constant == 0.0:
        return children[0]
    total = SumExpr()
    total.children = list(children)
    total.constant = constant
    return total


ALGEBRA: Final = Algebra(
    _total,
    {
        "cos": lambda inner: inner.cos(),
        "exp": lambda inner: inner.exp(),
        "log": lambda inner: inner.log(),
        "sin": lambda inner: inner.sin(),
    },
)


@dataclass(frozen=True, eq=False)
class Built:
    """A model of SCIP and its variables, one per column of the program."""

    model: Any
    variables: list[Any]

    def point(self, solution: Any) -> Floats:
        """Return a solution as a point of the program, shape (n,)."""
        value = self.model.getSolVal
        return np.array([value(solution, variable) for variable in self.variables], np.float64)


class _Builder:
    """A model in the making, with the condition on which each row depends."""

    def __init__(self, program: Program) -> None:
        from pyscipopt import Model

        self.program = program
        self.model = Model()
        self.model.hideOutput()
        if program.sense == "maximize":
            self.model.setMaximize()
        if program.offset:
            self.model.addObjoffset(program.offset)
        whole = program.integrality
        binary = whole & (program.column_lower >= 0) & (program.column_upper <= 1)
        kinds = np.where(binary, "B", np.where(whole, "I", "C")).tolist()
        limits = _limits(program.column_lower), _limits(program.column_upper)
        columns = zip(kinds, *limits, program.cost.tolist(), strict=True)
        self.variables = [self.model.addVar(f"x{k}", *parts) for k, parts in enumerate(columns)]
        self.sides = list(zip(_limits(program.row_lower), _limits(program.row_upper), strict=True))
        given = program.indicators
        conditions = zip(given.columns.tolist(), given.active.tolist(), strict=True)
        self.conditions = dict(zip(given.rows.tolist(), conditions, strict=True))

    def linear(self, curved: list[int]) -> None:
        """Add the rows that are linear."""
        from pyscipopt.scip import Expr, ExprCons, Term

        program, terms = self.program, [Term(variable) for variable in self.variables]
        starts, columns = program.row_starts.tolist(), program.row_columns.tolist()
        values, bent = program.row_values.tolist(), set(curved)
        for row, sides in enumerate(self.sides):
            if row in bent or sides == (None, None):
                continue
            inside = slice(starts[row], starts[row + 1])
            chosen = [terms[column] for column in columns[inside]]
            expression = Expr(dict(zip(chosen, values[inside], strict=True)))
            if row in self.conditions:
                self.conditional(row, expression)
            else:
                self.model.addCons(ExprCons(expression, *sides))

    def conditional(self, row: int, expression: Any) -> None:
        """Add a linear row that holds where its binary has its value."""
        from pyscipopt.scip import Expr, ExprCons

        column, active = self.conditions[row]
        low, high = self.sides[row]
        for side in ((None, high), (low, None)):
            if side != (None, None):
                # The constraint takes the expression over and may change it.
                own = ExprCons(Expr(dict(expression.terms)), *side)
                self.model.addConsIndicator(own, self.variables[column], bool(active))

    def curved(self, curved: list[int]) -> None:
        """Add the rows with products and functions, and a variable for a curved objective."""
        from pyscipopt.scip import Expr, ExprCons, Term, VarExpr

        model = self.model
        translator = Translator([VarExpr(variable) for variable in self.variables], ALGEBRA)
        for row, expression in curved_expressions(self.program, translator, curved):
            if row == OBJECTIVE:
                value = model.addVar("objective", "C", None, None, 1.0)
                side = (None, 0.0) if self.program.sense == "minimize" else (0.0, None)
                model.addCons(ExprCons(expression + (-1.0) * value, *side))
            elif row in self.conditions:
                value = model.addVar(f"row{row}", "C", None, None, 0.0)
                model.addCons(ExprCons(expression + (-1.0) * value, 0.0, 0.0))
                self.conditional(row, Expr({Term(value): 1.0}))
            elif self.sides[row] != (None, None):
                model.addCons(ExprCons(expression, *self.sides[row]))


def _limits(values: Floats) -> list[float | None]:
    """Return limits as SCIP wants them: None for infinite ones."""
    finite = np.isfinite(values).tolist()
    return [value if there else None for value, there in zip(values.tolist(), finite, strict=True)]


def build(program: Program) -> Built:
    """Return the model, complete but for settings."""
    builder, curved = _Builder(program), curved_rows(program)
    if curved:
        builder.curved(curved)
    builder.linear(curved)
    for group in program.sos1:
        builder.model.addConsSOS1([builder.variables[column] for column in group.tolist()])
    return Built(builder.model, builder.variables)


NAME: Final = "SCIP"
CLASSES: Final[dict[ProblemClass, Need]] = dict.fromkeys(EVERY_CLASS, "any")
FEATURES: Final[frozenset[Feature]] = frozenset(
    {"indicators", "sos1", "farkas", "global", "start", "progress", "interrupt", "incumbents"}
)
OPTIONS: Final = {
    "time_limit": "`limits/time`",
    "gap": "`limits/gap` and `limits/absgap`",
    "threads": "uses one",
    "seed": "`randomization/randomseedshift`",
    "log": "log file of the message handler",
    "start": "`addSol`",
}
REQUIRES: Final = ("pyscipopt",)

LIMITS: Final = {
    "timelimit": "time limit",
    "memlimit": "memory limit",
    "nodelimit": "limit on the number of nodes",
    "sollimit": "limit on the number of solutions",
}
SOLVED: Final = ("optimal", "gaplimit")
OUT_OF_MEMORY: Final = "insufficient memory"
TOLERANCE: Final = 1e-7
ENDLESS: Final = 1e15


def solve_here(program: Program, options: SolveOptions, watch: Watch | None = None) -> SolverResult:
    """Solve a checked program in this process; see :mod:`engiagent.solvers.adapter`."""
    started = time.perf_counter()
    result = _solve(program, options, watch)
    return replace(result, seconds=time.perf_counter() - started)


def _solve(program: Program, options: SolveOptions, watch: Watch | None) -> SolverResult:
    started = time.perf_counter()
    built, status = _run(program, options, watch)
    if status == "inforunbd":
        return _infeasible_or_unbounded(program, built, remaining(options, started), watch)
    if status == "infeasible":
        return _infeasible(program, built, remaining(options, started))
    if status == "unbounded":
        return _result(program, built, "unbounded", linear.unbounded_reason(program, None))
    x = _point(built)
    if x is None:
        return _stopped(program, options, built, status, None)
    left = remaining(options, started)
    whole = made_whole(program, left, x, lambda rest: _rest(rest, left))
    objective, bound = program.objective_at(whole.x), _bound(built)
    found = _result(
        program,
        built,
        "feasible",
        "",
        x=whole.x,
        objective=objective,
        bound=bound,
        gap=None if bound is None else relative_gap(objective, bound),
        row_dual=whole.row_dual,
        column_dual=whole.column_dual,
    )
    if status not in SOLVED:
        return _stopped(program, options, built, status, found)
    return _optimal(program, options, built, found)


def _rest(program: Program, options: SolveOptions) -> Floats | None:
    """Return a point of a program whose whole numbers are fixed."""
    built, _ = _run(program, replace(options, start=None), None)
    return _point(built)


def _run(program: Program, options: SolveOptions, watch: Watch | None) -> tuple[Built, str]:
    built = build(program)
    _set(built.model, options)
    built.model.setParam("numerics/feastol", TOLERANCE)
    if options.start is not None:
        _begin_at(built, options.start)
    try:
        with watched(built, watch):
            built.model.optimizeNogil()
    except Exception as error:  # its errors, of its linear solver for one, are of no other class
        if OUT_OF_MEMORY in str(error):
            raise MemoryError(str(error)) from error
        return built, f"the error {error}"
    return built, str(built.model.getStatus())


def _set(model: Any, options: SolveOptions) -> None:
    model.setParam("limits/gap", options.gap)
    model.setParam("limits/absgap", options.gap)
    model.setParam("randomization/randomseedshift", options.seed)
    if options.time_limit is not None:
        model.setParam("limits/time", float(options.time_limit))
    if options.memory_limit_mb is not None:
        model.setParam("limits/memory", float(options.memory_limit_mb))
    if options.log is not None:
        model.setLogfile(options.log)


def _begin_at(built: Built, start: Floats) -> None:
    model = built.model
    solution = model.createPartialSol()
    for variable, value in zip(built.variables, start.tolist(), strict=True):
        model.setSolVal(solution, variable, value)
    model.addSol(solution)


def _point(built: Built) -> Floats | None:
    if built.model.getNSols() == 0:
        return None
    x = built.point(built.model.getBestSol())
    return x if bool(np.all(np.isfinite(x))) else None


def _bound(built: Built) -> float | None:
    bound = float(built.model.getDualbound())
    return bound if abs(bound) < ENDLESS * 1e5 else None


def _optimal(
    program: Program, options: SolveOptions, built: Built, found: SolverResult
) -> SolverResult:
    assert found.x is not None
    if bool(np.any(np.abs(found.x) > ENDLESS)) or abs(found.objective or 0.0) > ENDLESS:
        return _result(program, built, "unbounded", linear.unbounded_reason(program, None))
    worst = worst_violation(program, found.x)
    if not worst.amount <= ACCEPTED:
        return replace(
            found,
            status="error",
            reason=f"the solver's point breaks {worst.place} by {worst.amount:.2g}",
            x=None,
            objective=None,
            gap=None,
            row_dual=None,
            column_dual=None,
        )
    if found.gap is None or found.gap > max(2 * options.gap, 1e-6):
        reason = "the whole numbers were rounded exactly, which left a gap to the bound"
        return replace(found, reason=reason)
    return replace(found, status="optimal", reason="optimal")


def _infeasible(program: Program, built: Built, options: SolveOptions) -> SolverResult:
    if program.is_linear:
        relaxed = linear.solve_lp(linear.relaxation(program), options, None)
        if relaxed.status == "infeasible":
            reason = "no point satisfies all constraints"
            return _result(program, built, "infeasible", reason, farkas=relaxed.farkas)
    what = "no point with whole numbers" if program.is_mip else "no point"
    reason = f"{what} satisfies all constraints, says the branch and bound"
    return _result(program, built, "infeasible", reason)


def _infeasible_or_unbounded(
    program: Program, built: Built, options: SolveOptions, watch: Watch | None
) -> SolverResult:
    """Tell the two apart by any point at all."""
    again, status = _run(without_objective(program), options, watch)
    if status == "infeasible":
        return _infeasible(program, built, options)
    if _point(again) is None:
        return _stopped(program, options, again, status, None)
    return _result(program, built, "unbounded", linear.unbounded_reason(program, None))


def _stopped(
    program: Program, options: SolveOptions, built: Built, status: str, found: SolverResult | None
) -> SolverResult:
    """Return the result of a run that ended early, or for a cause that nobody expected."""
    done = f"after {built.model.getNTotalNodes():,} nodes".replace(",", " ")
    kept = "no schedule found" if found is None else "the best schedule so far is kept"
    word: Status = "limit" if found is None else "feasible"
    if status in LIMITS:
        name = LIMITS[status]
        if status == "timelimit" and options.time_limit is not None:
            name += f" of {options.time_limit:g} s"
        if status == "memlimit" and options.memory_limit_mb is not None:
            name += f" of {options.memory_limit_mb:g} MB"
        reason = f"{name} reached {done}, {kept}"
    elif status == "userinterrupt":
        word, reason = "interrupted", f"interrupted {done}, {kept}"
    else:
        word, reason = "error", f"the solver ended with {status} {done}, {kept}"
    if found is None:
        return _result(program, built, word, reason, bound=_bound(built))
    return replace(found, status=word, reason=reason)


def _result(
    program: Program, built: Built, status: Status, reason: str, **values: Any
) -> SolverResult:
    return SolverResult(
        status=status,
        reason=reason,
        is_mip=program.is_mip,
        solver=NAME,
        solver_version=distribution_version(REQUIRES[0]) or "unknown",
        iterations=int(built.model.getNLPIterations()),
        nodes=int(built.model.getNTotalNodes()),
        **values,
    )


POLL: Final = 0.05


@contextmanager
def watched(built: Built, watch: Watch | None) -> Iterator[None]:
    """Let a watch hear of better points of the solve that runs inside, and stop it."""
    if watch is None:
        yield
        return
    # The model keeps its handlers alive; nothing of them may be shared between models.
    built.model.includeEventhdlr(_handler(built, watch), "engiagent", "better points")
    ended = threading.Event()

    def obey() -> None:
        while not ended.wait(POLL):
            if watch.cancelled():
                built.model.interruptSolve()
                return

    thread = threading.Thread(target=obey, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def _handler(built: Built, watch: Watch) -> Any:
    """Return an event handler; its class exists only once SCIP is loaded."""
    from pyscipopt.scip import PY_SCIP_EVENTTYPE, Eventhdlr

    class Handler(Eventhdlr):
        def eventinit(self) -> None:
            self.model.catchEvent(PY_SCIP_EVENTTYPE.BESTSOLFOUND, self)

        def eventexit(self) -> None:
            self.model.dropEvent(PY_SCIP_EVENTTYPE.BESTSOLFOUND, self)

        def eventexec(self, event: Any) -> None:
            x = built.point(self.model.getBestSol())
            if watch.on_incumbent is not None:
                watch.on_incumbent(x)
            if watch.on_progress is not None:
                elapsed = float(self.model.getSolvingTime())
                best = float(self.model.getPrimalbound())
                bound = _bound(built)
                gap = None if bound is None else relative_gap(best, bound)
                nodes = int(self.model.getNTotalNodes())
                report = Progress(
                    elapsed=elapsed, nodes=nodes, objective=best, bound=bound, gap=gap
                )
                watch.on_progress(report)

    return Handler()
