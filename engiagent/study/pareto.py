"""Pareto fronts between two or three goals.

``epsilon``: the first goal, with the others held at evenly spaced limits; then, at no loss to
the first, the others as well as they go, so that every point is efficient. ``weighted``: weights
on a lattice, each goal relative to its range. ``lexicographic``: one point for each order of the
goals. ``exact``: of a linear programme with two goals all corners of the front, found by asking
between any two known ones for a better one; between neighbours the front is the straight line.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import permutations, product
from math import comb, factorial
from typing import ClassVar, Final, Literal

import numpy as np

from engiagent.blueprint.document import Blueprint, GoalDef, ObjectiveDef
from engiagent.errors import EngiagentError, InputError
from engiagent.formulations.program import OBJECTIVE, Goal, Program
from engiagent.formulations.values import Floats
from engiagent.solvers.goals import ROOM, goal_values, kept, only, solve_goals
from engiagent.solvers.result import SolverResult
from engiagent.solvers.session import Session
from engiagent.study.checkpoint import Checkpoint
from engiagent.study.live import Json, Live, Setting, failed
from engiagent.study.outcome import Begun, Row

Method = Literal["epsilon", "weighted", "lexicographic", "exact"]
METHODS: Final = ("epsilon", "weighted", "lexicographic", "exact")
SAME: Final = 1e-7
"""Goals of two points that differ by less of their range are the same."""
ALIKE: Final = 1e-6
"""The same where a point is judged: rows that keep a goal leave it a little room."""
CORNERS: Final = 2000
EXPECTED: Final = "NAME=min:EXPRESSION or NAME=max:EXPRESSION, as co2=min:emissions"
SENSES: Final = {"min": "minimize", "max": "maximize"}
MOST: Final = 3


@dataclass(frozen=True)
class Pareto:
    """The front between the goals of a blueprint and further ones."""

    goals: tuple[GoalDef, ...] = ()  # further goals, beside those of the blueprint's own objective
    method: Method = "epsilon"
    points: int = 11  # how many limits or weights along each side of the front
    kind: ClassVar[str] = "pareto"

    def to_json(self) -> Json:
        """Return it as JSON has it; the goals are in the blueprint."""
        return {"method": self.method, "points": self.points}

    def begin(self, blueprint: Blueprint, setting: Setting) -> Begun:
        """Return the front under way.

        Raises EngiagentError when the goals are not two or three linear ones, or the method does
        not fit them.
        """
        if self.points < 2:
            raise InputError("a front needs at least two points", found=str(self.points))
        live = Live(with_goals(blueprint, self.goals), (), setting)
        program = live.program
        refuse_curved(program)
        if self.method == "exact" and (
            len(program.goals) != 2 or not program.is_linear or program.is_mip
        ):
            raise InputError(
                "exact corners are those of a linear programme with two goals",
                expected="the method epsilon",
            )

        def rows(memory: Checkpoint) -> list[Row]:
            front = _Front(live, memory)
            keys = _KEYS[self.method](front, self.points) if front.ends() else [front.failed]
            records = _judged(program.goals, [memory.get(key) for key in keys])
            return [
                ({"method": key.partition(":")[0]}, record)
                for key, record in zip(keys, records, strict=True)
            ]

        return Begun(live, rows, self._count(len(program.goals)))

    def _count(self, goals: int) -> int:
        """Return how many points there are at the most; of corners nobody knows, at least two."""
        lattice = comb(self.points + goals - 2, goals - 1)
        more = {"epsilon": self.points ** (goals - 1), "weighted": lattice, "exact": 0}
        return goals + int(more.get(self.method, factorial(goals)))


@dataclass
class _Front:
    """A front under way. Every solve starts from nothing, or from the first of its own chain."""

    live: Live
    memory: Checkpoint

    def __post_init__(self) -> None:
        self.failed = ""
        self.low: list[float] = []
        self.high: list[float] = []

    @property
    def program(self) -> Program:
        program: Program = self.live.program
        return program

    @property
    def goals(self) -> tuple[Goal, ...]:
        return self.program.goals

    def ends(self) -> bool:
        """Find the best of each goal, the others as well as that leaves; False without a plan."""
        for k, key in enumerate(self.end_keys()):
            order = (self.goals[k], *(g for g in self.goals if g is not self.goals[k]))
            self.keep(key, partial(self.in_order, order))
            if "goals" not in self.memory.get(key):
                self.failed = key
                return False
        found = [list(self.memory.get(key)["goals"].values()) for key in self.end_keys()]
        columns = list(zip(*found, strict=True))
        self.low, self.high = [min(c) for c in columns], [max(c) for c in columns]
        return True

    def end_keys(self) -> list[str]:
        return [f"end:{k}" for k in range(len(self.goals))]

    def in_order(self, order: tuple[Goal, ...]) -> SolverResult:
        program = replace(self.program, method="lexicographic", goals=order)
        return solve_goals(program, self.live.setting.options, self.live.setting.solve)

    def keep(self, key: str, find: Callable[[], SolverResult]) -> None:
        """Find a point unless it is known."""
        if self.memory.get(key) is None:
            self.memory.put(key, self.record(find))

    def record(self, find: Callable[[], SolverResult]) -> Json:
        try:
            result = find()
        except EngiagentError as error:
            return failed(error)
        if result.status == "interrupted":
            raise KeyboardInterrupt
        if result.x is None:
            return {"status": result.status, "reason": result.reason}
        values = goal_values(self.program, result.x)
        bare = replace(
            result,
            objective=values[0].value,
            bound=None,
            gap=None,
            row_dual=None,
            column_dual=None,
            farkas=None,
        )
        record = self.live.record(bare, {}, self.program)
        result_goals = {goal.name for goal in self.goals}
        record["values"] = {k: v for k, v in record["values"].items() if k not in result_goals}
        record["goals"] = {v.name: v.value for v in values}
        record["goal_units"] = {v.name: v.unit for v in values}
        return {k: v for k, v in record.items() if k not in ("bound", "gap")}

    def chain(
        self, keys: Sequence[str], start: Callable[[], Callable[[str], SolverResult]]
    ) -> None:
        """Find points of which each may start where the one before ended."""

        def begin() -> Callable[[str], Json]:
            find = start()
            return lambda key: self.record(partial(find, key))

        self.memory.chain(keys, begin)

    def solver(self, program: Program) -> Callable[[], SolverResult]:
        """Return what solves a program as its arrays stand, warm for linear ones."""
        options = self.live.setting.options
        if program.is_mip or not program.is_linear or options.memory_limit_mb is not None:
            return lambda: self.live.setting.solve(program)
        return Session(program, options).solve

    def scale(self) -> list[float]:
        """Return what brings each goal to the length of its range."""
        pairs = zip(self.low, self.high, strict=True)
        return [1.0 / max(high - low, SAME * max(1.0, abs(high))) for low, high in pairs]


def _epsilon(front: _Front, points: int) -> list[str]:
    """Find points at limits of all goals but the first, and return their keys."""
    ranges = list(zip(front.low, front.high, strict=True))[1:]
    spaced = [np.linspace(low, high, points).tolist() for low, high in ranges]
    result = front.end_keys()
    for outer in product(*spaced[1:]):
        limits = {f"epsilon:{[x, *outer]}": [x, *outer] for x in spaced[0]}
        front.chain(list(limits), lambda limits=limits: _at_limits(front, limits))  # type: ignore[misc]
        result += limits
    return result


def _at_limits(front: _Front, limits: Mapping[str, list[float]]) -> Callable[[str], SolverResult]:
    """Return what finds the first goal's best at limits, then the others' at no loss to it."""
    first, others = front.goals[0], front.goals[1:]
    one = Stage.of(front.program, first, others)
    two = Stage.weighted(front.program, front.goals)
    two.weigh(front.goals, [0.0, *front.scale()[1:]])
    solve_one, solve_two = front.solver(one.program), front.solver(two.program)

    def find(key: str) -> SolverResult:
        allowed = [_allowed(goal, x) for goal, x in zip(others, limits[key], strict=True)]
        one.limit(allowed)
        found = solve_one()
        if found.x is None:
            return found
        best = _allowed(first, goal_values(front.program, found.x)[0].value)
        two.limit([best, *allowed])
        better = solve_two()
        return better if better.x is not None else found

    return find


def _allowed(goal: Goal, value: float) -> float:
    return value + sign_of(goal) * ROOM * max(1.0, abs(value))


def _weighted(front: _Front, points: int) -> list[str]:
    """Find points of weights on a lattice, all above zero, and return their keys."""
    shares = [
        parts
        for parts in product(range(1, points + 1), repeat=len(front.goals))
        if sum(parts) == points + len(front.goals) - 1
    ]
    weights = {f"weighted:{list(parts)}": [float(p) for p in parts] for parts in shares}

    def start() -> Callable[[str], SolverResult]:
        stage = Stage.weighted(front.program, ())
        solve, scale = front.solver(stage.program), front.scale()

        def find(key: str) -> SolverResult:
            both = zip(weights[key], scale, strict=True)
            stage.weigh(front.goals, [w * s / points for w, s in both])
            return solve()

        return find

    front.chain(list(weights), start)
    return [*front.end_keys(), *weights]


def _lexicographic(front: _Front, points: int) -> list[str]:
    """Find a point for each order of the goals and return their keys."""
    keys = []
    for order in permutations(range(len(front.goals))):
        key = f"lexicographic:{' > '.join(front.goals[k].name for k in order)}"
        front.keep(key, partial(front.in_order, tuple(front.goals[k] for k in order)))
        keys.append(key)
    return keys


def _exact(front: _Front, points: int) -> list[str]:
    """Find all corners of a front and return their keys, from the first goal's best on."""
    scale = front.scale()

    def place(key: str) -> Floats:
        goals = front.memory.get(key)["goals"].values()
        both = zip(front.goals, goals, scale, strict=True)
        return np.array([sign_of(goal) * value * s for goal, value, s in both])

    def between(left: str, right: str) -> list[str]:
        """Return the corners between two points: none where nothing lies below their line."""
        a, b = place(left), place(right)
        normal = np.abs(np.array([a[1] - b[1], b[0] - a[0]]))
        if normal.max() <= SAME or len(front.memory) > CORNERS:
            return []
        weights = (normal * scale).tolist()
        key = f"exact:{weights}"

        def start() -> Callable[[str], SolverResult]:
            stage = Stage.weighted(front.program, ())
            stage.weigh(front.goals, weights)
            solve = front.solver(stage.program)
            return lambda _: solve()

        front.chain([key], start)
        if "goals" not in front.memory.get(key) or normal @ (a - place(key)) <= SAME:
            return []
        return [*between(left, key), key, *between(key, right)]

    return ["end:0", *between("end:0", "end:1"), "end:1"]


_KEYS: Final[dict[str, Callable[[_Front, int], list[str]]]] = {
    "epsilon": _epsilon,
    "weighted": _weighted,
    "lexicographic": _lexicographic,
    "exact": _exact,
}


def _judged(goals: Sequence[Goal], rows: Sequence[Json]) -> list[Json]:
    """Say of each point whether it is efficient: none is at least as good in all and new."""
    known = [k for k, row in enumerate(rows) if row.get("goals")]
    if not known:
        return list(rows)
    signs = np.array([sign_of(goal) for goal in goals])
    values = np.array([list(rows[k]["goals"].values()) for k in known]) * signs
    values = values / np.maximum(np.ptp(values, axis=0), 1e-12 + ALIKE * np.abs(values).max(axis=0))
    judged = list(rows)
    for position, k in enumerate(known):
        differences = values - values[position]
        no_worse = (differences <= ALIKE).all(axis=1)
        better = no_worse & (differences < -ALIKE).any(axis=1)
        again = no_worse[:position] & ~better[:position]
        judged[k] = {**rows[k], "efficient": not bool(better.any() or again.any())}
    return judged


def parse_goal(text: str) -> GoalDef:
    """Read ``NAME=min:EXPRESSION``; InputError when it is none."""
    name, _, rest = (part.strip() for part in text.partition("="))
    sense, _, expression = (part.strip() for part in rest.partition(":"))
    if not (name and expression) or sense not in SENSES:
        raise InputError("this is no goal", found=repr(text), expected=EXPECTED)
    return GoalDef(
        name=name, sense="minimize" if sense == "min" else "maximize", expression=expression
    )


def with_goals(blueprint: Blueprint, more: tuple[GoalDef, ...]) -> Blueprint:
    """Return a blueprint with the goals of its objective and further ones, as a front.

    Raises InputError when these are not two or three, or have one name.
    """
    objective = blueprint.core.objective_function
    goals = (*(_own(objective) if objective is not None else ()), *more)
    names = [goal.name for goal in goals]
    if not 2 <= len(goals) <= MOST:
        raise InputError(
            f"a front is between two or {MOST} goals",
            found=", ".join(names) or "none",
            expected=f"--goal {EXPECTED}",
        )
    if len(set(names)) != len(names):
        raise InputError("two goals have one name", found=", ".join(names))
    base = objective or ObjectiveDef(sense="minimize")
    changed = replace(
        base, name=names[0], expression=None, unit=None, combination="frontier", terms=goals
    )
    return blueprint.with_core(objective_function=changed)


def _own(objective: ObjectiveDef) -> tuple[GoalDef, ...]:
    """Return the goals of an objective, without their weights, limits and tolerances."""
    if objective.terms:
        return tuple(
            replace(goal, weight=None, limit=None, tolerance=None) for goal in objective.terms
        )
    if objective.expression is None:
        return ()
    return (
        GoalDef(
            name=objective.name or "objective",
            sense=objective.sense,
            expression=objective.expression,
            unit=objective.unit,
        ),
    )


def refuse_curved(program: Program) -> None:
    """Refuse a goal that is not linear: no row could keep it; InputError naming the goal."""
    curved = bool(np.any(program.products.rows == OBJECTIVE)) or any(
        bool(np.any(part.row_numbers() < 0)) for part in program.nonlinear
    )
    if curved:
        raise InputError(
            f"the goal {program.goals[0].name} is not linear",
            expected="goals that are linear in the variables; piecewise(...) bends one",
        )


@dataclass(frozen=True, eq=False)
class Stage:
    """A program of one objective with a row for each goal, whose numbers change in place."""

    program: Program
    goals: tuple[Goal, ...]  # those that a row keeps, in the order of the last rows of ``program``

    @classmethod
    def of(cls, program: Program, first: Goal, others: tuple[Goal, ...]) -> "Stage":
        """Return the program of a goal with rows for others, which hold nothing yet."""
        return cls._with_rows(only(program, first), others)

    @classmethod
    def weighted(cls, program: Program, others: tuple[Goal, ...]) -> "Stage":
        """Return a program that minimises weighted goals, with rows for some of them."""
        stage = replace(only(program, program.goals[0]), sense="minimize", offset=0.0)
        return cls._with_rows(stage, others)

    @classmethod
    def _with_rows(cls, stage: Program, others: tuple[Goal, ...]) -> "Stage":
        for goal in others:
            stage = kept(stage, goal, goal.offset)
        found = cls(_owned(stage), others)
        found.limit([np.inf if g.sense == "minimize" else -np.inf for g in others])
        return found

    def limit(self, values: list[float]) -> None:
        """Keep each goal at least as good as a value."""
        start = self.program.row_count - len(self.goals)
        for k, (goal, value) in enumerate(zip(self.goals, values, strict=True)):
            ends = self.program.row_upper if goal.sense == "minimize" else self.program.row_lower
            ends[start + k] = value - goal.offset

    def weigh(self, goals: tuple[Goal, ...], weights: list[float]) -> None:
        """Minimise the sum of goals times their weights, a maximised one with a minus."""
        cost: Floats = np.zeros_like(self.program.cost)
        for goal, weight in zip(goals, weights, strict=True):
            cost += sign_of(goal) * weight * goal.cost
        self.program.cost[:] = cost


def sign_of(goal: Goal) -> float:
    """Return what makes a goal one that is minimised."""
    return 1.0 if goal.sense == "minimize" else -1.0


def _owned(program: Program) -> Program:
    """Return a program whose changing arrays are nobody else's."""
    return replace(
        program,
        cost=program.cost.copy(),
        row_lower=program.row_lower.copy(),
        row_upper=program.row_upper.copy(),
    )
