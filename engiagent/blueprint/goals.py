"""The objective after all checks: one goal or several, scenarios, and the cost of soft limits."""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from engiagent.blueprint.checked import Constraint
from engiagent.blueprint.diagnostics import located, refused
from engiagent.blueprint.elaborate import PATH, Elaboration
from engiagent.blueprint.elements import GoalDef, ObjectiveDef, RiskDef
from engiagent.blueprint.grammar import Binary, ExpressionError, Node, Unary, parse
from engiagent.blueprint.grid import EMPTY_GRID, Grid
from engiagent.blueprint.sets import IndexSet
from engiagent.blueprint.symbols import Scope, Typed
from engiagent.blueprint.typecheck import TypeChecker
from engiagent.units.unit import Unit, conversion, parse_unit

Sense = Literal["minimize", "maximize"]
Method = Literal["lexicographic", "epsilon", "frontier"]


@dataclass(frozen=True, eq=False)
class Goal:
    """A goal with its checked expression, in ``unit``; ``tolerance`` and ``limit`` likewise."""

    name: str
    sense: Sense
    node: Node
    unit: Unit
    path: str
    tolerance: float = 0.0
    limit: float | None = None


@dataclass(frozen=True, eq=False)
class Risk:
    """How the scenarios of an objective count together; ``alpha`` is the tail's level for CVaR."""

    measure: Literal["expected", "worst", "cvar"]
    alpha: float
    scenarios: IndexSet


@dataclass(frozen=True, eq=False)
class Objective:
    """What is minimised or maximised."""

    definition: ObjectiveDef
    # one goal, or several in the order in which they count (weighted goals are one already)
    goals: tuple[Goal, ...]
    method: Method | None  # how several goals count; None for one
    grid: Grid  # the rows of the goals' expressions: one, or one for each scenario
    risk: Risk | None  # None without scenarios
    # announcements of the type checker: a path, a column and a text each
    notes: tuple[tuple[str, int, str], ...]

    @property
    def unit(self) -> Unit:
        """The unit of the first goal."""
        return self.goals[0].unit


def checked_objective(elaboration: Elaboration) -> Objective | None:
    """Return the objective, checked and converted to its declared unit; None when there is none."""
    definition = elaboration.core.objective_function
    return None if definition is None else _Reader(elaboration, definition).read()


class _Reader:
    """One objective on its way from declaration to checked trees."""

    def __init__(self, elaboration: Elaboration, definition: ObjectiveDef) -> None:
        self.elaboration, self.definition = elaboration, definition
        self.path = f"{PATH}.objective_function"
        self.notes: list[tuple[str, int, str]] = []
        self.scope: Scope = {}
        self.grid = EMPTY_GRID

    def read(self) -> Objective:
        risk = self._risk()
        method, goals = self._goals()
        return Objective(self.definition, goals, method, self.grid, risk, tuple(self.notes))

    def _risk(self) -> Risk | None:
        definition = self.definition
        if definition.scenario is None:
            if definition.risk is not None:
                self._refuse("risk", 'a risk measure needs "scenario", as "s in S"')
            return None
        with located(f"{self.path}.scenario", definition.name):
            binders = self.elaboration.binders((definition.scenario,))
            self.scope = self.elaboration.checker().scope_of(binders)
            self.grid = self.elaboration.grid(binders)
            scenarios = self.elaboration.index_set(binders[0].set)
            if scenarios.root.kind != "scenario":
                raise ValueError(f"{scenarios.name} is no scenario set")
        given = definition.risk or RiskDef(measure="expected")
        if scenarios.root.probabilities is None and given.measure != "worst":
            self._refuse("risk", f'{scenarios.name} has no probabilities; use "worst" or give them')
        if given.measure == "cvar" and given.alpha is None:
            self._refuse("risk", 'cvar needs its level, as "alpha": 0.95')
        alpha = float(given.alpha or 0.0) if given.measure == "cvar" else 0.0
        return Risk(given.measure, alpha, scenarios)

    def _goals(self) -> tuple[Method | None, tuple[Goal, ...]]:
        definition = self.definition
        combination = definition.combination or ("weighted" if definition.terms else "single")
        if combination == "single":
            if definition.expression is None or definition.terms:
                self._refuse("combination", "a single objective has one 'expression', no 'terms'")
            name = definition.name or "objective"
            goal = GoalDef(name=name, expression=str(definition.expression), unit=definition.unit)
            return None, (self._goal(self.path, goal),)
        if not definition.terms or definition.expression is not None:
            self._refuse("terms", f"a {combination} objective has 'terms' and no 'expression'")
        if combination == "weighted":
            return None, (self._weighted(),)
        terms = enumerate(definition.terms)
        goals = tuple(self._goal(f"{self.path}.terms[{k}]", goal) for k, goal in terms)
        if combination == "epsilon" and any(goal.limit is None for goal in goals[1:]):
            self._refuse("terms", "the epsilon method needs a 'limit' for each goal but the first")
        return combination, goals

    def _refuse(self, field: str, message: str) -> None:
        raise refused("EB026", f"{self.path}.{field}", message, name=self.definition.name)

    def _weighted(self) -> Goal:
        """Add the terms times their weights; one of the other sense enters with a minus."""
        definition = self.definition
        unit = parse_unit(definition.unit) if definition.unit is not None else None
        total: Node | None = None
        for position, term in enumerate(definition.terms):
            path = f"{self.path}.terms[{position}].expression"
            with located(path, term.name):
                tree = parse(term.expression)
                if term.weight is not None:
                    weight = parse(str(term.weight))
                    tree = Binary(tree.span, "*", weight, tree)
                typed = self._typed(tree, unit, path)
            unit = typed.unit
            flipped = (term.sense or definition.sense) != definition.sense
            signed = Unary(tree.span, "-", typed.node) if flipped else typed.node
            total = signed if total is None else Binary(tree.span, "+", total, signed)
        assert total is not None
        assert unit is not None
        name = definition.name or "objective"
        return Goal(name, definition.sense, total, unit, f"{self.path}.terms")

    def _goal(self, path: str, goal: GoalDef) -> Goal:
        place = f"{path}.expression"
        with located(place, goal.name):
            unit = parse_unit(goal.unit) if goal.unit is not None else None
            typed = self._typed(parse(goal.expression), unit, place)
        values: dict[str, Any] = {}
        for field in ("tolerance", "limit"):
            given = getattr(goal, field)
            if given is not None:
                with located(f"{path}.{field}", goal.name):
                    values[field] = float(self.elaboration.numbers(given, unit=typed.unit)[0])
        sense = goal.sense or self.definition.sense
        return Goal(goal.name, sense, typed.node, typed.unit, place, **values)

    def _typed(self, tree: Node, unit: Unit | None, path: str) -> Typed:
        checker = self.elaboration.checker()
        typed = checker.number(tree, self.scope, unit)
        self.notes += [(path, column, text) for column, text in checker.notes]
        return typed


@dataclass(frozen=True, eq=False)
class Penalty:
    """What a row's slack costs in the objective's unit, shape (rows,), ``squared`` or not."""

    weights: npt.NDArray[np.float64]
    squared: bool


def checked_penalty(
    elaboration: Elaboration, constraint: Constraint, objective: Objective | None
) -> Penalty | None:
    """Return the penalty of a soft constraint, None for a hard one."""
    definition = constraint.definition
    label = definition.name or definition.constraint_id
    given = definition.penalty
    if definition.hard is not False:
        if given is not None:
            text = "a hard constraint has no penalty; a soft one says hard: false"
            raise refused("EB017", f"{constraint.path}.penalty", text, name=label)
        return None
    if given is None:
        text, hint = "a soft constraint needs a penalty", 'as "penalty": {"weight": "50[EUR/kWh]"}'
        raise refused("EB017", f"{constraint.path}.hard", text, hint, label)
    if objective is None or objective.method is not None:
        text = "a penalty needs a single objective to which it is added"
        raise refused("EB017", f"{constraint.path}.penalty", text, name=label)
    squared = given.form == "quadratic"
    with located(f"{constraint.path}.penalty.weight", label):
        checker = elaboration.checker()
        scope = checker.scope_of(constraint.binders)
        typed = checker.operand(parse(str(given.weight)), scope)
        factor = _penalty_factor(checker, typed, constraint, objective.unit, squared)
        values = elaboration.evaluator.number(typed.node, constraint.grid)
        weights = np.broadcast_to(values * factor, (constraint.grid.size,))
        if not np.all(np.isfinite(weights)) or np.any(weights < 0):
            raise ValueError("a penalty is a finite number of at least 0")
    return Penalty(np.array(weights, dtype=np.float64), squared)


def _penalty_factor(
    checker: TypeChecker, typed: Typed, constraint: Constraint, unit: Unit, squared: bool
) -> float:
    """Return the factor from weight times slack to the objective's unit; bare weights fit."""
    if typed.bare:
        return 1.0
    slack = constraint.typed.unit.difference()
    cost = typed.unit * slack * slack if squared else typed.unit * slack
    if not cost.same_dimension(unit):
        wanted = f"{unit} per {slack}" + (" squared" if squared else "")
        raise ExpressionError(f"the weight is in {typed.unit}", 1, f"give it in {wanted}", "EB005")
    return conversion(cost, unit)[0]
