r"""Several goals, one after the other.

*Lexicographic*: each goal is reached as well as the earlier ones allow; a row keeps each earlier
goal within its tolerance,

.. math:: c_g^T x + c_{g0} \le f_g^* + \varepsilon_g

(``>=`` for one that is maximised). *Epsilon*: the first goal, with a row for the limit of each
other one. *Frontier*: as many points as asked for, each of which the first goal cannot improve
without the second getting worse.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from engiagent.errors import EngiagentError
from engiagent.formulations.program import OBJECTIVE, Goal, Program, RowBlock
from engiagent.formulations.values import Floats, Part
from engiagent.solvers.result import SolveOptions, SolverResult, Status, remaining


def with_linear_objective(program: Program, cost: Floats, offset: float = 0.0) -> Program:
    """Return the program with a linear objective of the same sense, and no goals."""
    return replace(
        program,
        cost=cost,
        offset=offset,
        products=program.products.of_rows(),
        nonlinear=_of_rows(program),
        goals=(),
        method=None,
    )


def without_objective(program: Program) -> Program:
    """Return the program that asks for any point at all."""
    return with_linear_objective(program, np.zeros_like(program.cost))


def _of_rows(program: Program) -> tuple[Part, ...]:
    kept = []
    for part in program.nonlinear:
        rows = part.row_numbers()
        inside = np.flatnonzero(rows != OBJECTIVE)
        if len(inside):
            weights = np.broadcast_to(part.coefficients, rows.shape)[inside]
            kept.append(Part(rows[inside], weights, part.atom.take(inside)))
    return tuple(kept)


SolveOne = Callable[[Program, SolveOptions], SolverResult]

ROOM = 1e-9
"""Room for an earlier goal besides its tolerance, relative to its size: a row without any would
leave the solver a set without interior."""
POINTS = 11


@dataclass(frozen=True)
class GoalValue:
    """What a goal is worth at a point."""

    name: str
    value: float
    unit: str


def goal_values(program: Program, x: Floats) -> tuple[GoalValue, ...]:
    """Return the values of all goals at a point of shape (n,)."""
    return tuple(GoalValue(goal.name, value_of(goal, x), goal.unit) for goal in program.goals)


def value_of(goal: Goal, x: Floats) -> float:
    """Return the value of a goal at a point of shape (n,), in the goal's unit."""
    return float(goal.cost @ x) + goal.offset


def solve_goals(program: Program, options: SolveOptions, solve: SolveOne) -> SolverResult:
    """Solve a program with several goals by its method.

    ``program``: a program with goals. ``options``: hold for each stage; a time limit is for all
    stages together. ``solve``: solves a program with one objective.

    Returns the result of the last stage, whose objective and bound are those of the first goal. For
    ``frontier`` this is the end where the first goal is best; see :func:`frontier` for the rest.
    """
    if program.method == "epsilon":
        return _told(program, solve(limited(program), options))
    return _lexicographic(program, options, solve)


def limited(program: Program) -> Program:
    """Return the program of the first goal with a row for the limit of each other goal."""
    stage = only(program, program.goals[0])
    for goal in program.goals[1:]:
        if goal.limit is None:
            raise EngiagentError(f"the goal {goal.name} needs a limit for the method epsilon")
        stage = kept(stage, goal, goal.limit)
    return stage


def only(program: Program, goal: Goal) -> Program:
    """Return the program of one goal; products and functions are the first goal's."""
    changed = program
    if goal is not program.goals[0]:
        changed = with_linear_objective(program, goal.cost, goal.offset)
    return replace(
        changed,
        sense=goal.sense,
        cost=goal.cost,
        offset=goal.offset,
        objective_name=goal.name,
        objective_unit=goal.unit,
        goals=(),
        method=None,
    )


def kept(program: Program, goal: Goal, value: float) -> Program:
    """Return the program with a row that keeps a linear goal at least as good as a value."""
    columns = np.flatnonzero(goal.cost).astype(np.int64)
    limit = value - goal.offset
    least, most = (-np.inf, limit) if goal.sense == "minimize" else (limit, np.inf)
    row = program.row_count
    block = RowBlock(
        name=f"goal {goal.name}",
        constraint_id=f"goal__{goal.name}",
        start=row,
        stop=row + 1,
        unit=goal.unit,
        generated=True,
    )
    return replace(
        program,
        row_starts=np.append(program.row_starts, program.row_starts[-1] + len(columns)),
        row_columns=np.concatenate([program.row_columns, columns]),
        row_values=np.append(program.row_values, goal.cost[columns]),
        row_lower=np.append(program.row_lower, least),
        row_upper=np.append(program.row_upper, most),
        rows=(*program.rows, block) if program.rows or not row else program.rows,
    )


def _lexicographic(program: Program, options: SolveOptions, solve: SolveOne) -> SolverResult:
    started = time.perf_counter()
    stages: list[tuple[Goal, SolverResult]] = []
    result: SolverResult | None = None
    for goal in program.goals:
        stage = only(program, goal)
        for earlier, found in stages:
            assert found.x is not None
            stage = kept(stage, earlier, _allowed(earlier, value_of(earlier, found.x)))
        start = options.start if result is None else None
        given = replace(remaining(options, started), start=start)
        found = solve(stage, given)
        if found.x is None:
            if result is None:
                return found
            # The stage before the one that gave no point.
            status: Status = "interrupted" if found.status == "interrupted" else "feasible"
            reason = f"the goal {goal.name} was not reached: {found.reason}"
            return _told(program, replace(result, status=status, reason=reason))
        if result is None:
            _refuse_curved(program)
        stages.append((goal, found))
        result = found
    first, last = stages[0][1], stages[-1][1]
    assert last.x is not None
    open_ = [found.reason for _, found in stages if found.status != "optimal"]
    joined = replace(
        last,
        status="feasible" if open_ else "optimal",
        reason="; ".join(open_) or "optimal",
        objective=value_of(program.goals[0], last.x),
        bound=first.bound,
        gap=first.gap,
        seconds=sum(found.seconds for _, found in stages),
        iterations=sum(found.iterations for _, found in stages),
        nodes=sum(found.nodes for _, found in stages),
    )
    return _told(program, joined)


def _refuse_curved(program: Program) -> None:
    """Refuse to keep a first goal by a linear row when it is not linear."""
    curved = len(program.products.of_objective().rows) > 0 or any(
        bool(np.any(part.row_numbers() < 0)) for part in program.nonlinear
    )
    if curved and len(program.goals) > 1:
        raise EngiagentError(
            f"the goal {program.goals[0].name} is not linear; put it last, or use weights"
        )


def _allowed(goal: Goal, value: float) -> float:
    room = goal.tolerance + ROOM * max(1.0, abs(value))
    return value + room if goal.sense == "minimize" else value - room


def _told(program: Program, result: SolverResult) -> SolverResult:
    """Add the values of all goals to the reason; multipliers are of another program."""
    result = replace(result, row_dual=None, column_dual=None, farkas=None)
    if result.x is None:
        return result
    values = ", ".join(
        f"{item.name} {item.value:.6g} {item.unit}" for item in goal_values(program, result.x)
    )
    return replace(result, reason=f"{result.reason} ({values})")


def frontier(
    program: Program, solve: SolveOne, options: SolveOptions | None = None, points: int = POINTS
) -> list[SolverResult]:
    """Return points of the front between the first two goals of a program.

    ``program``: a program with two goals. ``solve``: solves a program with one objective, as
    :func:`engiagent.solvers.solve`. ``options``: hold for each solve. ``points``: how many values
    of the second goal, evenly spaced between the best for each goal.

    Returns results in the order of the second goal, from where the first is best. Points where a
    solve gave none are left out; fewer than two are given when the goals do not contradict each
    other. Raises EngiagentError when there are not two goals, or fewer than two points are asked
    for.
    """
    options = options or SolveOptions()
    if len(program.goals) != 2:
        raise EngiagentError(f"a front needs two goals; the program has {len(program.goals)}")
    if points < 2:
        raise EngiagentError(f"a front needs at least two points, not {points}")
    one, two = program.goals
    ordered = replace(program, method="lexicographic")
    ends = [
        solve_goals(replace(ordered, goals=goals), options, solve)
        for goals in ((one, two), (two, one))
    ]
    if any(end.x is None for end in ends):
        return [end for end in ends if end.x is None][:1]
    worst, best = (value_of(two, end.x) for end in ends if end.x is not None)
    first = ends[0]
    if abs(worst - best) <= ROOM * max(1.0, abs(worst), abs(best)):
        return [first]
    results = [first]
    for limit in np.linspace(worst, best, points)[1:].tolist():
        stage = kept(only(program, one), two, _allowed(replace(two, tolerance=0.0), limit))
        found = solve(stage, options)
        if found.x is not None:
            results.append(_told(program, found))
    return results
