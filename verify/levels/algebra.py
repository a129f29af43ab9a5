"""Level 2: whether the requirements hold, row by row, on the numbers of the schedule."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from engiagent.blueprint.document import Core, VariableDef
from engiagent.blueprint.units import Unit, UnitError, parse_unit
from engiagent.verify import values
from engiagent.verify.documents import Bench
from engiagent.verify.findings import Violation, finite_or_none
from engiagent.verify.frames import Bools, EvaluationError, Frame, whole_grid
from engiagent.verify.requirements import Goal, Requirements
from engiagent.verify.series import bind
from engiagent.verify.tolerances import TOLERANCES, floor_of, row_tolerance
from engiagent.verify.values import Floats, Value

Worst = tuple[float, float, int, float]
"""How far inside its tolerance, slack, row and tolerance of the worst row of a check."""


@dataclass(frozen=True)
class Rule:
    """A comparison that has to hold on every row."""

    id: str
    expression: str
    name: str | None = None
    quote: str | None = None
    forall: tuple[str, ...] = ()
    where: str | None = None
    tolerance: str | None = None
    hard: bool = True


@dataclass(frozen=True)
class Outcome:
    """How one rule came out."""

    record: Mapping[str, Any]
    violation: Violation | None = None

    @property
    def status(self) -> str:
        """``pass``, ``fail``, ``unchecked``, or ``soft`` for a broken rule that may be broken."""
        return str(self.record["status"])


def rules_of(requirements: Requirements) -> list[Rule]:
    """Return the annotated requirements as rules."""
    return [
        Rule(r.id, r.expression, r.name, r.quote, r.forall, r.where, r.tolerance)
        for r in requirements.requirements
    ]


def rules_of_core(core: Core) -> list[Rule]:
    """Return the constraints of a blueprint as rules."""
    return [
        Rule(
            c.constraint_id,
            c.expression,
            c.name,
            _quote(c.source_reference),
            c.forall,
            c.where,
            hard=c.hard is not False,
        )
        for c in core.constraints
    ]


def _quote(source: Any) -> str | None:
    return source.get("quote") if isinstance(source, Mapping) else None


def check_rules(bench: Bench, rules: Sequence[Rule], level: str = "algebra") -> list[Outcome]:
    """Return the outcome of every rule, in the order given."""
    return [_check(bench, rule, level) for rule in rules]


def _check(bench: Bench, rule: Rule, level: str) -> Outcome:
    try:
        frame = bench.evaluator.frame(rule.forall, rule.where)
        ops, sides = bench.evaluator.sides(rule.expression, frame)
        stated = _stated(bench, rule, sides[0].unit)
    except EvaluationError as error:
        return Outcome(_record(rule, "unchecked", note=str(error)))
    found: list[Worst] = []
    telling: list[Worst] = []
    for op, left, right in zip(ops, sides, sides[1:], strict=False):
        one = _worst(_slack(op, left, right), row_tolerance(left, right, stated))
        if one is not None:
            found.append(one)
            if left.data.any() and right.data.any():
                telling.append(one)
    return _outcome(rule, level, frame, sides, _most_telling(found, telling))


def _most_telling(found: list[Worst], telling: list[Worst]) -> Worst | None:
    """Return the worst that was found; when all holds, a plain sign condition is no news.

    Of ``0 <= power <= 8 MW`` people want to know how close the 8 MW are, not that the power was 0.
    """
    broken = [one for one in found if not one[0] >= 0]  # true for NaN
    candidates = broken or telling or found
    nan = [one for one in candidates if one[0] != one[0]]
    return nan[0] if nan else min(candidates, key=lambda one: one[0], default=None)


def _slack(op: str, left: Value, right: Value) -> Floats:
    difference = right.data - left.data
    if op == "==":
        return -np.abs(difference)
    return difference if op == "<=" else -difference


def _worst(slack: Floats, tolerance: Floats) -> Worst | None:
    """Return (how far inside its tolerance, slack, row, tolerance) of the worst row."""
    if not slack.size:
        return None
    margin = slack + tolerance
    bad = ~np.isfinite(margin)
    # Anything that is not finite is the worst there is; it passes no comparison below.
    row = int(np.argmax(bad)) if bad.any() else int(np.argmin(margin))
    worst = float("nan") if bad.any() else float(margin[row])
    return worst, float(slack[row]), row, float(tolerance[row])


def _outcome(
    rule: Rule,
    level: str,
    frame: Frame,
    sides: list[Value],
    worst: Worst | None,
) -> Outcome:
    if worst is None:
        return Outcome(_record(rule, "pass", rows=0))
    margin, slack, row, tolerance = worst
    unit = sides[0].unit.difference()
    factor = float(unit.factor)
    where = frame.labels(row)
    holds = margin >= 0  # false for NaN
    status = "pass" if holds else "fail" if rule.hard else "soft"
    record = _record(
        rule,
        status,
        rows=frame.size,
        worst={"where": where, "slack": finite_or_none(slack / factor), "unit": str(unit)},
        tolerance=finite_or_none(tolerance / factor),
    )
    if status != "fail":
        return Outcome(record)
    amount = -slack / factor
    place = "".join(f" at {name} = {label}" for name, label in where.items())
    shown = f"{amount:.6g} {unit}" if np.isfinite(amount) else "a value that is no finite number"
    text = f"{rule.id} ({rule.expression}) is broken by {shown}{place}"
    return Outcome(
        record,
        Violation(
            level, rule.id, rule.name or rule.id, text, where, amount, str(unit), tolerance / factor
        ),
    )


def _record(rule: Rule, status: str, **more: Any) -> dict[str, Any]:
    record = {"id": rule.id, "name": rule.name, "text": rule.expression, "quote": rule.quote}
    record |= {"rows": None, "worst": None, "tolerance": None, "status": status}
    record |= more
    return record


def _stated(bench: Bench, rule: Rule, unit: Unit) -> float | None:
    """Return the absolute tolerance that a rule states, in SI."""
    if rule.tolerance is None:
        return None
    value = values.adopt(bench.evaluator.evaluate(rule.tolerance), unit.difference())
    if value.unit.dimension != unit.dimension or value.unit.is_point:
        raise EvaluationError(f"the tolerance of {rule.id} is in {value.unit}, not in {unit}")
    return float(value.data[0])


# --- bounds and integrality --------------------------------------------------------------------


@dataclass(frozen=True)
class Bounds:
    """Bounds of one variable over its grid, in SI; ``exists`` marks where it is."""

    lower: Floats
    upper: Floats
    exists: Bools


def bounds_of(bench: Bench, definition: VariableDef) -> Bounds:
    """Return the bounds of a variable; infinite where none is declared."""
    dims, names = bench.declarations.dims(definition.index)
    frame = whole_grid(dims, names)
    unit = parse_unit(definition.unit or "1")
    lower = _bound(bench, definition.lower, frame, unit, -np.inf)
    upper = _bound(bench, definition.upper, frame, unit, np.inf)
    if definition.type == "binary":
        lower, upper = np.maximum(lower, 0.0), np.minimum(upper, 1.0)
    mask = bench.mask(definition)
    return Bounds(lower, upper, np.ones(frame.size, dtype=bool) if mask is None else mask)


def _bound(bench: Bench, text: Any, frame: Frame, unit: Unit, default: float) -> Floats:
    if text is None:
        return np.full(frame.size, default)
    if isinstance(text, int | float):
        return values.constant(np.full(frame.size, float(text)), unit).data
    value = values.adopt(bench.evaluator.evaluate(str(text), frame), unit)
    if value.unit.dimension != unit.dimension or value.degree:
        raise EvaluationError(f"the bound {text!r} is {value.unit}, the variable {unit}")
    return value.data


def check_variables(bench: Bench, core: Core, level: str = "algebra") -> Iterator[Outcome]:
    """Yield the outcome for the bounds and the integrality of every variable."""
    for definition in core.decision_variables:
        rule = Rule(
            f"bounds:{definition.name}",
            f"{definition.lower} <= {definition.name} <= {definition.upper}",
            f"bounds of {definition.name}",
        )
        try:
            symbol = bench.evaluator.environment.symbol(definition.name)
            bounds = bounds_of(bench, definition)
        except EvaluationError as error:
            yield Outcome(_record(rule, "unchecked", note=str(error)))
            continue
        assert symbol.value is not None
        yield _check_bounds(bench, definition, rule, symbol.value, bounds, level)
        if definition.type != "continuous":
            yield _check_whole(bench, definition, symbol.value, bounds, level)


def _check_bounds(
    bench: Bench, definition: VariableDef, rule: Rule, value: Value, bounds: Bounds, level: str
) -> Outcome:
    frame = whole_grid(*bench.declarations.dims(definition.index))
    tolerance = row_tolerance(value, values.constant(np.zeros(frame.size), value.unit), None)
    found: list[Worst] = []
    telling: list[Worst] = []
    for side, slack in (
        (bounds.lower, value.data - bounds.lower),
        (bounds.upper, bounds.upper - value.data),
    ):
        rows = np.flatnonzero(bounds.exists & ~np.isposinf(slack))
        one = _worst(slack[rows], tolerance[rows])
        if one is not None:
            found.append((one[0], one[1], int(rows[one[2]]), one[3]))
            if side[rows].any():
                telling.append(found[-1])
    if not found:
        return Outcome(_record(rule, "pass", rows=frame.size))
    return _outcome(rule, level, frame, [value], _most_telling(found, telling))


def _check_whole(
    bench: Bench, definition: VariableDef, value: Value, bounds: Bounds, level: str
) -> Outcome:
    rule = Rule(
        f"integer:{definition.name}",
        f"{definition.name} is whole",
        f"{definition.name} is a whole number",
    )
    frame = whole_grid(*bench.declarations.dims(definition.index))
    shown = value.data / float(value.unit.factor)
    slack = np.where(bounds.exists, -np.abs(shown - np.rint(shown)), 0.0)
    tolerance = np.full(frame.size, TOLERANCES["integrality"])
    return _outcome(
        rule,
        level,
        frame,
        [values.constant(shown, values.ONE)],
        _worst(slack, tolerance),
    )


def check_expressions(bench: Bench, core: Core, level: str = "algebra") -> Iterator[Outcome]:
    """Yield the outcome for every named expression whose values the schedule claims."""
    for definition in core.expressions:
        series = bench.series.get(definition.name)
        if series is None and definition.quantity is not None:
            series = bench.series.get(definition.quantity)
        if series is None:
            continue
        rule = Rule(
            f"expression:{definition.name}",
            f"{definition.name} == {definition.expression}",
            f"values of {definition.name}",
        )
        try:
            dims, names = bench.declarations.dims(definition.index)
            symbol = bench.evaluator.environment.symbol(definition.name)
            assert symbol.value is not None
            claimed = values.constant(bind(series, dims, series.unit), series.unit)
            sides = values.align([claimed, symbol.value])
        except (EvaluationError, UnitError) as error:
            yield Outcome(_record(rule, "unchecked", note=str(error)))
            continue
        slack = _slack("==", sides[0], sides[1])
        if symbol.defined is not None:
            slack = np.where(symbol.defined, slack, 0.0)
        tolerance = row_tolerance(sides[1], sides[1], None)
        frame = whole_grid(dims, names)
        yield _outcome(rule, level, frame, sides, _worst(slack, tolerance))


# --- the objective -----------------------------------------------------------------------------


@dataclass(frozen=True)
class Objective:
    """An objective evaluated on the schedule."""

    value: float
    unit: str
    sense: str
    node: Value


def evaluate_objective(bench: Bench, goal: Goal) -> Objective:
    """Return the value of an objective, in the unit that it declares.

    Raises
    ------
    EvaluationError
        When it cannot be evaluated or has another dimension.
    """
    value = bench.evaluator.evaluate(goal.expression)
    unit = value.unit if goal.unit is None else parse_unit(goal.unit)
    value = values.adopt(value, unit)
    if value.unit.dimension != unit.dimension:
        raise EvaluationError(f"the objective is {value.unit}, declared is {unit}")
    shown = (float(value.data[0]) - float(unit.zero or 0)) / float(unit.factor)
    return Objective(shown, str(unit), goal.sense, value)


def compare_objectives(
    what: str, claimed: float, objective: Objective, level: str = "algebra"
) -> Iterator[Violation]:
    """Yield a violation when a claimed objective is not the evaluated one."""
    scale = max(abs(objective.value), abs(claimed))
    unit = parse_unit(objective.unit)
    tolerance = TOLERANCES["objective"] * scale + floor_of(unit) / float(unit.factor)
    difference = claimed - objective.value
    if not abs(difference) <= tolerance:  # true for NaN
        text = (
            f"{what} is {claimed!r} {objective.unit}, evaluated again it is {objective.value!r} "
            f"{objective.unit}"
        )
        yield Violation(
            level, "objective", "objective", text, {}, abs(difference), objective.unit, tolerance
        )
