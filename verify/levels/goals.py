"""The objective, evaluated again: one goal or several, scenarios, and what broken limits cost."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from engiagent.blueprint.elements import (
    ConstraintDef,
    Core,
    GoalDef,
    ObjectiveDef,
    PenaltyDef,
    RiskDef,
)
from engiagent.blueprint.grammar import parse
from engiagent.units.unit import Unit, UnitError, parse_unit
from engiagent.verify import arithmetic, values
from engiagent.verify.documents import Bench
from engiagent.verify.findings import Violation
from engiagent.verify.frames import EvaluationError, Frame
from engiagent.verify.functions import Fault
from engiagent.verify.relations import Growth
from engiagent.verify.requirements import Goal
from engiagent.verify.tolerances import TOLERANCES, floor_of
from engiagent.verify.values import ONE, Value


@dataclass(frozen=True)
class SoftCost:
    """What the broken rows of a soft constraint cost.

    ``slack`` is the sum over the rows, in ``unit``; ``cost`` is in the objective's unit.
    """

    constraint: str
    slack: float
    unit: str
    cost: float


@dataclass(frozen=True)
class Term:
    """One of several goals; ``limit`` is what it has to keep, in ``unit``."""

    name: str
    value: float
    unit: str
    sense: str
    node: Value
    limit: float | None = None


@dataclass(frozen=True)
class Scenario:
    """What the objective comes to in one scenario, in the objective's unit.

    ``probability`` is None where none is given.
    """

    name: str
    value: float
    probability: float | None


@dataclass(frozen=True)
class Objective:
    """An objective evaluated on the schedule.

    ``value``: the headline: the objective with its penalties, or the first of several goals.
    ``node``: the same as a number that knows its derivatives, in SI. ``terms``: all goals, where
    there are several. ``soft``: penalties, which are part of the value. ``scenarios``: of an
    objective over scenarios its value in each, penalties apart.
    """

    value: float
    unit: str
    sense: str
    node: Value
    terms: tuple[Term, ...] = ()
    soft: tuple[SoftCost, ...] = ()
    scenarios: tuple[Scenario, ...] = ()

    @property
    def expected(self) -> float | None:
        """The mean over the scenarios, None without their probabilities."""
        parts = [s.value * s.probability for s in self.scenarios if s.probability is not None]
        return sum(parts) if parts and len(parts) == len(self.scenarios) else None

    @property
    def worst(self) -> Scenario | None:
        """The scenario in which the plan does worst, None without scenarios."""
        sign = 1.0 if self.sense == "minimize" else -1.0
        return max(self.scenarios, key=lambda s: sign * s.value, default=None)


def evaluate_objective(bench: Bench, goal: Goal) -> Objective:
    """Return the value of a plain objective, in the unit that it declares."""
    value = bench.evaluator.evaluate(goal.expression)
    value, unit = _in_declared(value, goal.unit)
    return Objective(_shown(value, unit), str(unit), goal.sense, value)


def evaluate_declared(bench: Bench, core: Core) -> Objective:
    """Return the value of a blueprint's objective."""
    definition = core.objective_function
    if definition is None:
        raise EvaluationError("the blueprint has no objective")
    try:
        binder = definition.scenario
        frame = Frame(1) if binder is None else bench.evaluator.frame((binder,))
        if definition.combination in ("lexicographic", "epsilon", "frontier"):
            terms = tuple(_term(bench, definition, term, frame) for term in definition.terms)
            if not terms:
                raise EvaluationError("the objective has no terms")
            first = terms[0]
            return Objective(first.value, first.unit, first.sense, first.node, terms)
        return _single(bench, core, definition, frame)
    except UnitError as error:
        raise EvaluationError(f"in the objective: {error}") from None


def _single(bench: Bench, core: Core, definition: ObjectiveDef, frame: Frame) -> Objective:
    if definition.terms:
        parts = [_weighted(bench, definition, term, frame) for term in definition.terms]
        if definition.unit is not None:
            parts[0] = _in_declared(parts[0], definition.unit)[0]
        value = parts[0]
        for part in parts[1:]:
            value = arithmetic.add(value, part, 1.0)
    elif definition.expression is None:
        raise EvaluationError("the objective has neither an expression nor terms")
    else:
        value = bench.evaluator.evaluate(definition.expression, frame)
    value, unit = _in_declared(value, definition.unit)
    scenarios = tuple(_by_scenario(value, unit, frame))
    value = _over_scenarios(value, definition.risk, frame, definition.sense)
    soft = []
    for cost, entry in soft_costs(bench, core, unit):
        soft.append(entry)
        value = arithmetic.add(value, cost, 1.0 if definition.sense == "minimize" else -1.0)
    return Objective(
        _shown(value, unit), str(unit), definition.sense, value, (), tuple(soft), scenarios
    )


def _weighted(bench: Bench, definition: ObjectiveDef, term: GoalDef, frame: Frame) -> Value:
    """Return a term times its weight; one of the other sense enters with a minus."""
    value = bench.evaluator.evaluate(term.expression, frame)
    if term.weight is not None:
        weight = bench.evaluator.evaluate(str(term.weight), frame)
        value = arithmetic.multiply(weight, value)
    flipped = (term.sense or definition.sense) != definition.sense
    return arithmetic.negate(value) if flipped else value


def _term(bench: Bench, definition: ObjectiveDef, goal: GoalDef, frame: Frame) -> Term:
    sense = goal.sense or definition.sense
    value, unit = _in_declared(bench.evaluator.evaluate(goal.expression, frame), goal.unit)
    value = _over_scenarios(value, definition.risk, frame, sense)
    limit = None
    if goal.limit is not None and definition.combination == "epsilon":
        given, _ = _in_declared(bench.evaluator.evaluate(str(goal.limit)), str(unit))
        limit = _shown(given, unit)
    return Term(goal.name, _shown(value, unit), str(unit), sense, value, limit)


def _in_declared(value: Value, declared: str | None) -> tuple[Value, Unit]:
    unit = value.unit if declared is None else parse_unit(declared)
    value = arithmetic.adopt(value, unit)
    if value.unit.dimension != unit.dimension:
        raise EvaluationError(f"the objective is {value.unit}, declared is {unit}")
    return value, unit


def _shown(value: Value, unit: Unit) -> float:
    return unit.from_si(float(value.data[0]))


# --- scenarios ---------------------------------------------------------------------------------


def _by_scenario(value: Value, unit: Unit, frame: Frame) -> Iterator[Scenario]:
    """Yield the value in every scenario, before they count together."""
    if not frame.names:
        return
    (element,) = frame.names.values()
    places = element.set.in_root[element.positions]
    chances = element.set.root.probabilities
    labels = element.set.root.labels
    for place, number in zip(places.tolist(), value.data.tolist(), strict=True):
        chance = None if chances is None else float(chances[place])
        yield Scenario(str(labels[place]), unit.from_si(number), chance)


def _over_scenarios(value: Value, risk: RiskDef | None, frame: Frame, sense: str) -> Value:
    if not frame.names:
        return value
    (element,) = frame.names.values()
    rows = np.zeros(frame.size, dtype=np.int64)
    measure = "expected" if risk is None else risk.measure
    if measure == "worst":
        return arithmetic.segment_extreme(value, rows, 1, sense == "maximize")
    chances = element.set.root.probabilities
    if chances is None:
        raise EvaluationError(f"{element.set.name} has no probabilities")
    weights = np.asarray(chances[element.set.in_root[element.positions]], dtype=np.float64)
    # Weights that add up to one make a temperature of temperatures, though no sum of them is one.
    amount = replace(value, unit=value.unit.difference())
    if measure == "expected":
        parts = arithmetic.multiply(values.constant(weights, ONE), amount)
        return replace(arithmetic.segment_sum(parts, rows, 1), unit=value.unit)
    if risk is None or risk.alpha is None or not 0.0 <= risk.alpha < 1.0:
        raise EvaluationError("a conditional value at risk needs its level alpha below 1")
    mean = arithmetic.tail_mean(amount, weights, 1.0 - risk.alpha, sense == "minimize")
    return replace(mean, unit=value.unit)


# --- soft constraints --------------------------------------------------------------------------


def soft_costs(
    bench: Bench, core: Core, unit: Unit, growth: Growth | None = None
) -> Iterator[tuple[Value, SoftCost]]:
    """Yield what each soft constraint costs, in SI and for the certificate."""
    for constraint in core.constraints:
        if constraint.hard is False and constraint.penalty is not None:
            penalty = constraint.penalty
            cost, slack, measure = soft_cost(bench, constraint, penalty, unit, growth)
            shown = float(cost.data[0]) / unit.scale
            yield cost, SoftCost(constraint.constraint_id, slack, str(measure), shown)


def soft_cost(
    bench: Bench,
    constraint: ConstraintDef,
    penalty: PenaltyDef,
    unit: Unit,
    growth: Growth | None = None,
) -> tuple[Value, float, Unit]:
    """Return cost in SI, the sum of the slacks, and the unit of the slacks.

    With ``growth`` every row costs what it does in its worst case.
    """
    name = constraint.constraint_id
    frame = bench.evaluator.frame(constraint.forall, constraint.where)
    pairs = bench.evaluator.chain(parse(constraint.expression), frame)
    measure = pairs[0][1].unit.difference()
    weight = bench.evaluator.evaluate(str(penalty.weight), frame)
    squared = penalty.form == "quadratic"
    per = measure * measure if squared else measure
    if weight.bare:
        weight = values.constant(weight.data, unit / per)
    if weight.degree or not (np.isfinite(weight.data) & (weight.data >= 0)).all():
        raise EvaluationError(f"the penalty of {name} is no number of at least 0")
    total: Value | None = None
    slacks = 0.0
    rows = np.zeros(frame.size, dtype=np.int64)
    for op, left, right in pairs:
        slack = _slack(op, left, right, growth)
        slacks += float(slack.data.sum()) / measure.scale
        charged = arithmetic.multiply(weight, arithmetic.power(slack, 2.0) if squared else slack)
        cost = arithmetic.segment_sum(charged, rows, 1)
        total = cost if total is None else arithmetic.add(total, cost, 1.0)
    assert total is not None
    if total.unit.dimension != unit.dimension:
        raise EvaluationError(f"the penalty of {name} is {weight.unit}, needed is {unit} per {per}")
    return total, slacks, measure


def _slack(op: str, left: Value, right: Value, growth: Growth | None) -> Value:
    """Return by how much a comparison is broken, row by row, zero where it holds."""
    over = arithmetic.add(left, right, -1.0) if op != ">=" else arithmetic.add(right, left, -1.0)
    other = arithmetic.negate(over)
    if growth is not None:
        more = growth(over)
        worse = Value(more, over.unit, np.abs(more))
        over, other = arithmetic.add(over, worse, 1.0), arithmetic.add(other, worse, 1.0)
    if op == "==":
        return arithmetic.extreme("max", [over, other])
    zero = values.constant(np.zeros(over.data.size), over.unit)
    return arithmetic.extreme("max", [over, zero])


# --- what is claimed ---------------------------------------------------------------------------


def check_objective(objective: Objective, faults: Sequence[Fault]) -> Iterator[Violation]:
    """Yield what is wrong with an objective as such: no number, or a goal beyond its limit."""
    for fault in faults:
        yield fault.violation("algebra", "objective", "objective", "the objective")
    if not np.isfinite(objective.value) and not faults:
        text = "the objective is no finite number"
        yield Violation("algebra", "objective", "objective", text, {}, None, objective.unit)
    for term in objective.terms:
        if term.limit is None:
            continue
        unit = parse_unit(term.unit)
        sign = 1.0 if term.sense == "minimize" else -1.0
        excess = sign * (term.value - term.limit)
        tolerance = (
            TOLERANCES["objective"] * max(abs(term.value), abs(term.limit))
            + floor_of(unit) / unit.scale
        )
        if not excess <= tolerance:  # true for NaN
            text = f"the goal {term.name} is {term.value!r} {term.unit}, its limit {term.limit!r}"
            yield Violation(
                "algebra", f"goal:{term.name}", term.name, text, {}, excess, term.unit, tolerance
            )


def compare_objectives(what: str, claimed: float, objective: Objective) -> Iterator[Violation]:
    """Yield a violation when a claimed objective is not the evaluated one."""
    scale = max(abs(objective.value), abs(claimed))
    unit = parse_unit(objective.unit)
    tolerance = TOLERANCES["objective"] * scale + floor_of(unit) / unit.scale
    difference = claimed - objective.value
    if not abs(difference) <= tolerance:  # true for NaN
        text = (
            f"{what} is {claimed!r} {objective.unit}, evaluated again it is {objective.value!r} "
            f"{objective.unit}"
        )
        off = abs(difference)
        yield Violation(
            "algebra", "objective", "objective", text, {}, off, objective.unit, tolerance
        )
