"""What every variable has to keep: its bounds, whole numbers, the gap of a semicontinuous one.

Also the values that a schedule claims for named expressions.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from engiagent.blueprint.elements import Core, VariableDef
from engiagent.units.unit import Unit, UnitError, parse_unit
from engiagent.verify import arithmetic, values
from engiagent.verify.documents import Bench, bound_of, declared_value
from engiagent.verify.frames import Bools, EvaluationError
from engiagent.verify.levels.algebra import Outcome, most_telling, outcome, record, worst_of
from engiagent.verify.relations import Part, slack_of
from engiagent.verify.requirements import Counted, Rule
from engiagent.verify.series import bind
from engiagent.verify.tolerances import TOLERANCES, row_tolerance
from engiagent.verify.values import Floats, Ints, Value


@dataclass(frozen=True)
class Bounds:
    """Bounds of one variable over its grid, in SI; ``exists`` marks where it is."""

    lower: Floats
    upper: Floats
    exists: Bools

    def with_whole_ends(self, unit: Unit) -> "Bounds":
        """Return the bounds narrowed to whole numbers of the variable's own unit."""
        factor, zero = unit.scale, unit.origin
        room = TOLERANCES["integrality"]
        low = np.ceil((self.lower - zero) / factor - room)
        high = np.floor((self.upper - zero) / factor + room)
        return Bounds(low * factor + zero, high * factor + zero, self.exists)


def box_of(bench: Bench, definition: VariableDef, whole: bool = False) -> Bounds:
    """Return an interval that holds every allowed value of a variable, in SI.

    ``whole``: whether that of integers goes from one integer to another.
    """
    box, unit = bounds_of(bench, definition), parse_unit(definition.unit or "1")
    if definition.type == "semicontinuous":
        low, high = np.minimum(box.lower, unit.origin), np.maximum(box.upper, unit.origin)
        return Bounds(low, high, box.exists)
    return box.with_whole_ends(unit) if whole and definition.type != "continuous" else box


def bounds_of(bench: Bench, definition: VariableDef) -> Bounds:
    """Return the bounds of a variable; infinite where none is declared."""
    frame = bench.grid(definition.index)
    unit = parse_unit(definition.unit or "1")
    lower = bound_of(bench, definition.lower, frame, unit, -np.inf)
    upper = bound_of(bench, definition.upper, frame, unit, np.inf)
    if definition.type == "semicontinuous" and definition.lower is None:
        lower = np.full_like(lower, unit.origin)
    if definition.type == "binary":
        lower, upper = np.maximum(lower, 0.0), np.minimum(upper, 1.0)
    mask = bench.mask(definition)
    return Bounds(lower, upper, np.broadcast_to(np.True_, (frame.size,)) if mask is None else mask)


def check_variables(bench: Bench, core: Core) -> Iterator[Outcome]:
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
            yield Outcome(record(rule, "unchecked", note=str(error)))
            continue
        assert symbol.value is not None
        if definition.type == "semicontinuous":
            yield _check_gap(bench, definition, symbol.value, bounds)
            continue
        yield _check_bounds(bench, definition, rule, symbol.value, bounds)
        if definition.type != "continuous":
            yield _check_whole(bench, definition, symbol.value, bounds)


def _check_bounds(
    bench: Bench, definition: VariableDef, rule: Rule, value: Value, bounds: Bounds
) -> Outcome:
    frame = bench.grid(definition.index)
    worst = _extremes(value, bounds)
    if worst is not None:
        value = replace(value, data=value.data[worst], sizes=np.abs(value.data[worst]))
    tolerance = bound_tolerance(bench, definition.name, value, worst)
    unit = value.unit.difference()
    parts = []
    for side, sign in ((values.thin(bounds.lower), -1.0), (values.thin(bounds.upper), 1.0)):
        there = (side != sign * np.inf) & values.thin(bounds.exists)
        if not there.any():
            continue
        first, second = (value.data, side) if sign < 0 else (side, value.data)
        if there.all():
            part = Part(worst, first - second, tolerance, unit, bool(side.any()))
        else:
            rows = np.flatnonzero(np.broadcast_to(there, (frame.size,)))
            telling = bool(np.broadcast_to(side, (frame.size,))[rows].any())
            part = Part(rows, (first - second)[rows], tolerance[rows], unit, telling)
        parts.append(part)
    found = [one for one in map(worst_of, parts) if one is not None]
    if not found:
        return Outcome(record(rule, "pass", rows=frame.size))
    return outcome(rule, "algebra", frame, most_telling(found))


def bound_tolerance(bench: Bench, name: str, value: Value, rows: Ints | None = None) -> Floats:
    """Return by how much each element of a variable, or each of some, may exceed its bounds."""
    zero = values.constant(np.zeros(1), value.unit)

    def declared() -> tuple[Value, Value]:
        reach = declared_value(bench, name)
        return (reach if rows is None else arithmetic.gather(reach, rows)), zero

    return np.broadcast_to(row_tolerance(value, zero, None, declared), value.data.shape)


def _extremes(value: Value, bounds: Bounds) -> Ints | None:
    """Return the rows of the least and the greatest number of a variable, shape (2,).

    They are the worst where all rows have the same bounds, None where these differ by row: a
    tolerance grows by far less than what it is for, and they have the greatest size.
    """
    sides = values.thin(bounds.lower), values.thin(bounds.upper)
    alike = sides[0].size == sides[1].size == values.thin(bounds.exists).size == 1
    if value.links or not value.data.size or not alike:
        return None
    return np.array([value.data.argmin(), value.data.argmax()])


def _check_gap(bench: Bench, definition: VariableDef, value: Value, bounds: Bounds) -> Outcome:
    rule = Rule(
        f"semicontinuous:{definition.name}",
        f"{definition.name} == 0 or {definition.lower} <= {definition.name} <= {definition.upper}",
        f"{definition.name} is zero or within its bounds",
    )
    frame = bench.grid(definition.index)
    tolerance = bound_tolerance(bench, definition.name, value)
    beyond = np.maximum(bounds.lower - value.data, value.data - bounds.upper)
    off = np.abs(value.data - value.unit.origin)
    slack = -np.minimum(off, np.maximum(beyond, 0.0))
    slack = np.where(bounds.exists, slack, 0.0)
    part = Part(None, slack, tolerance, value.unit.difference())
    return outcome(rule, "algebra", frame, worst_of(part))


def _check_whole(bench: Bench, definition: VariableDef, value: Value, bounds: Bounds) -> Outcome:
    rule = Rule(
        f"integer:{definition.name}",
        f"{definition.name} is whole",
        f"{definition.name} is a whole number",
    )
    frame = bench.grid(definition.index)
    shown = value.unit.from_si(value.data)
    slack = np.where(bounds.exists, -np.abs(shown - np.rint(shown)), 0.0)
    tolerance = np.full(frame.size, TOLERANCES["integrality"])
    return outcome(rule, "algebra", frame, worst_of(Part(None, slack, tolerance, values.ONE)))


def check_counted(bench: Bench, counted: Sequence[Counted]) -> Iterator[Outcome]:
    """Yield the outcome for every quantity that requirements want whole, and yes or no."""
    for item in counted:
        try:
            symbol = bench.evaluator.environment.symbol(item.name)
        except EvaluationError as error:
            rule = Rule(f"integer:{item.name}", f"{item.name} is whole", quote=item.quote)
            yield Outcome(record(rule, "unchecked", note=str(error)))
            continue
        assert symbol.value is not None
        size = symbol.value.data.size
        binary = item.type == "binary"
        ends = (0.0, 1.0) if binary else (-np.inf, np.inf)
        low, high = (np.full(size, end) for end in ends)
        bounds = Bounds(low, high, np.ones(size, dtype=bool))
        index = tuple(dim.name for dim in symbol.dims)
        definition = VariableDef(name=item.name, index=index, type=item.type)
        yield _check_whole(bench, definition, symbol.value, bounds)
        if binary:
            text = f"0 <= {item.name} <= 1"
            rule = Rule(f"bounds:{item.name}", text, f"bounds of {item.name}", item.quote)
            yield _check_bounds(bench, definition, rule, symbol.value, bounds)


def check_expressions(bench: Bench, core: Core) -> Iterator[Outcome]:
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
            symbol = bench.evaluator.environment.symbol(definition.name)
            assert symbol.value is not None
            claimed = values.constant(bind(series, symbol.dims, series.unit), series.unit)
            sides = arithmetic.align([claimed, symbol.value])
        except (EvaluationError, UnitError) as error:
            yield Outcome(record(rule, "unchecked", note=str(error)))
            continue
        slack = slack_of("==", sides[0], sides[1])
        if symbol.defined is not None:
            slack = np.where(symbol.defined, slack, 0.0)
        declared = partial(_twice, bench, definition.name)
        tolerance = row_tolerance(sides[1], sides[1], None, declared)
        part = Part(None, slack, tolerance, sides[1].unit.difference())
        yield outcome(rule, "algebra", bench.grid(definition.index), worst_of(part))


def _twice(bench: Bench, name: str) -> tuple[Value, Value]:
    return (value := declared_value(bench, name)), value
