"""Filling the slots of components: what is written becomes parameters with their sources."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Final

from engiagent.errors import InputError
from engiagent.plant.horizon import NEAR, RULES, Files, Horizon, aligned
from engiagent.plant.source import Source
from engiagent.plant.statement import Statement
from engiagent.plant.values import Column, Piece, Quantity, ValueFormError, literal, pieces
from engiagent.slots import Component, Slot
from engiagent.text.datafile import DataFile
from engiagent.text.frontmatter import Node
from engiagent.units.unit import Unit, convert, parse_unit
from engiagent.units.words import Conventions

YES_NO: Final = {"yes": True, "true": True, "no": False, "false": False}
WHOLES: Final = ("energy_capacity", "capacity", "rated_capacity", "rated_power", "power")
"""Slots of which a percentage in another slot of the same dimension is a share."""
USER: Final = {"kind": "user", "note": "given by --set"}


@dataclass
class Part:
    """A component under construction: its model, what is written, what it becomes."""

    name: str
    key: Node
    node: Node
    model: str
    known: Component
    slots: dict[str, Node]
    align: Node | None = None
    connections: dict[str, Any] = field(default_factory=dict)
    options: dict[str, Any] = field(default_factory=dict)
    parameters: dict[str, Any] = field(default_factory=dict)


@dataclass
class Filler:
    """Fills slots, and remembers in ``places`` the node behind each parameter.

    ``given`` are slots that the user sets by ``--set``, as ``battery.energy_capacity``.
    """

    source: Source
    files: Files
    horizon: Horizon
    statement: Statement
    conventions: Conventions
    places: dict[str, Node] = field(default_factory=dict)
    given: frozenset[str] = frozenset()

    def fill(self, part: Part, slot: str, node: Node) -> None:
        """Fill one slot; what is wrong with it is recorded."""
        known = part.known.slots[slot]
        try:
            value = self._value(part, slot, known.in_currency(self.statement.currency), node)
        except ValueFormError as fault:
            self.source.fault(
                node, f"{part.name}.{slot}: {fault.message}", fault.expected, at=fault.at
            )
            return
        if value is not None:
            part.parameters[slot] = value

    def _value(self, part: Part, slot: str, known: Slot, node: Node) -> Any:
        if isinstance(node.value, list):
            return self._several(part, slot, known, node)
        if not node.is_text or not node.value.strip():
            raise ValueFormError("no value", expected=known.wanted)
        text = str(node.value).strip()
        if known.unit == "1" and text.lower() in YES_NO:
            return str(YES_NO[text.lower()]).lower()
        found = pieces(text, self.conventions)
        name = f"{part.name}_{slot}_given"
        by_user = f"{part.name}.{slot}" in self.given
        source = USER if by_user else self.source.reference(node)
        self.places[name] = node
        if len(found) == 1 and isinstance(found[0], Column):
            return self._column(part, slot, known, found[0], name)
        if len(found) == 1 and isinstance(found[0], Quantity):
            return self._quantity(part, slot, known, found[0], name, source)
        text = self._expression(part, slot, known, found, node)
        index = {"index": ["t in T"]} if "[t]" in text else {}
        return self.statement.add_parameter(name, known.unit, source, value=text, **index)

    def _quantity(
        self, part: Part, slot: str, known: Slot, found: Quantity, name: str, source: Any
    ) -> str:
        """Add one quantity as a parameter and return its name."""
        if str(found.unit) == "%" and parse_unit(known.unit).dimension:
            whole = self._whole(part, slot, known)
            text = f"{found.number / 100:.15g}*{whole}"
            return self.statement.add_parameter(name, known.unit, source, value=text)
        unit = self._refused(known, found)
        return self.statement.add_parameter(name, str(unit), source, value=found.number)

    def _refused(self, known: Slot, found: Quantity) -> Unit:
        """Return the unit of a quantity that fits a slot; refuse any other."""
        wanted = parse_unit(known.unit)
        if found.unit is None:
            if wanted.dimension and found.number != 0:
                shown = f"a value in {known.unit}, as {found.number:g} {known.unit}"
                raise ValueFormError("the number has no unit", 0, shown)
            unit = wanted
        else:
            unit = found.unit
        _refuse_dimension(known, unit)
        if unit.dimension == wanted.dimension:
            number = convert(found.number, unit, wanted)
            if not known.allows(number):
                raise ValueFormError("the value is out of range", 0, known.range)
        return unit

    def _whole(self, part: Part, slot: str, known: Slot) -> str:
        wanted = parse_unit(known.unit).dimension
        for other in WHOLES:
            there = part.known.slots.get(other)
            if other != slot and there and parse_unit(there.unit).dimension == wanted:
                if other not in part.slots:
                    raise ValueFormError(f"a share of {other}, which is not given", 0, known.wanted)
                return f"{part.name}_{other}_given"
        raise ValueFormError("a percentage of what?", 0, known.wanted)

    def _several(self, part: Part, slot: str, known: Slot, node: Node) -> Any:
        """Return a list of quantities: a table, or one for each period."""
        found = []
        for child in node.value:
            try:
                item = pieces(str(child.value).strip(), self.conventions) if child.is_text else []
                if len(item) != 1 or not isinstance(item[0], Quantity):
                    raise ValueFormError("no quantity", 0, known.wanted)
                found.append(Quantity(item[0].number, self._refused(known, item[0])))
            except ValueFormError as fault:
                self.source.fault(
                    child, f"{part.name}.{slot}: {fault.message}", fault.expected, at=fault.at
                )
                return None
        periods = self.horizon.entry["periods"]
        if not known.table and (not known.series or len(found) != periods):
            expected = f"one value, or {periods} for the periods" if known.series else "one value"
            raise ValueFormError(f"{len(found)} values in a list", 0, expected)
        over = "T"
        if known.table:  # columns of one table share their set
            over = f"{part.name}_points{len(found)}"
            if all(s["name"] != over for s in self.statement.sets):
                points = {"name": over, "kind": "range", "start": 0, "stop": len(found) - 1}
                self.statement.sets.append(points)
        unit = found[0].unit
        assert unit is not None
        values = [q.number if q.unit == unit else convert(q.number, q.unit, unit) for q in found]  # type: ignore[arg-type]
        name = f"{part.name}_{slot}_given"
        self.places[name] = node
        source = [self.source.reference(child) for child in node.value]
        return self.statement.add_parameter(name, str(unit), source, index=[over], value=values)

    def _expression(
        self, part: Part, slot: str, known: Slot, found: list[Piece], node: Node
    ) -> str:
        """Return an expression over quantities and columns in the blueprint's language."""
        parts, around = [], ["", *found, ""]
        for k, piece in enumerate(found, 1):
            if isinstance(piece, Column):
                name = f"{part.name}_{slot}_column{k}".removesuffix("1" if k == 1 else "-")
                self.places[name] = node
                column = self._column(part, slot, known, piece, name, within=True)
                parts.append(f"{column}[t]")
            elif isinstance(piece, Quantity):
                beside = {around[k - 1], around[k + 1]} & {"*", "/"}
                if piece.unit is None and not beside and parse_unit(known.unit).dimension:
                    raise ValueFormError("the number has no unit", 0, f"a value in {known.unit}")
                parts.append(
                    f"{piece.number / 100:.15g}" if str(piece.unit) == "%" else literal(piece)
                )
            else:
                parts.append(f" {piece} " if piece in ("+", "-") else piece)
        for left, right in pairwise(found):
            if not isinstance(left, str) and not isinstance(right, str):
                raise ValueFormError(
                    "two values without an operator between them", 0, "+, -, * or /"
                )
        return "".join(parts).strip()

    def _column(
        self, part: Part, slot: str, known: Slot, column: Column, name: str, within: bool = False
    ) -> str | None:
        """Add a column as a parameter over the periods, aligned where its step is another."""
        if not known.series:
            raise ValueFormError("a column where one number is needed", column.at, known.wanted)
        try:
            file = self.files.file(column.file)
            found = file.column(column.name)
        except InputError as error:
            said = str(error.message) + (f" in {error.file}" if error.file else "")
            raise ValueFormError(said, column.at, error.expected) from None
        unit = self._column_unit(known, column, found.unit, found.unit_text)
        if not within:
            _refuse_dimension(known, unit, column.at)
        reference = f"{column.file}#{column.name}"
        source: dict[str, Any] = {"kind": "file", "file": column.file, "column": column.name}
        content: dict[str, Any] = {"index": ["T"], "data": reference}
        if found.unit is None and found.unit_text and unit.dimension:
            content["unit_override"] = {"unit": str(unit), "reason": "as the plant block says"}
        try:
            values = found.numbers()
            done = self._aligned(part, known, file, values, column.at)
        except InputError as error:  # it points into the file
            self.source.errors.append(error)
            return None
        if done is not None:
            rule, numbers = done
            self.source.notes.append(
                f"{part.name}.{slot}: {reference} is aligned with the periods of "
                f"{self.horizon.entry['step']} by '{rule}', {RULES[rule]}"
            )
            source["relation"] = rule
            content = {"index": ["T"], "value": [float(v) for v in numbers]}
        return self.statement.add_parameter(name, str(unit), source, **content)

    def _column_unit(self, known: Slot, column: Column, header: Unit | None, written: str) -> Unit:
        if column.unit is not None:
            if header is not None and header != column.unit:
                said = f"the header of {column.name} says {header}"
                raise ValueFormError(said, column.at, "the same unit, or none in brackets")
            return column.unit
        if header is not None:
            return header
        wanted = parse_unit(known.unit)
        if not wanted.dimension and not written:
            return wanted
        what = f"in {written!r}, which cannot be read" if written else "without a unit"
        shown = f"{column.file}#{column.name} [{known.unit}]"
        expected = f"a unit in its header or behind it, as {shown}"
        raise ValueFormError(f"the column {column.name} is {what}", column.at, expected)

    def _aligned(
        self, part: Part, known: Slot, file: DataFile, values: Any, at: int
    ) -> tuple[str, Any] | None:
        """Return the rule and the values for each period; None where the rows are the periods."""
        times, axis = self.files.times(file.name), self.horizon.axis
        count = len(axis.edges) - 1
        if times is None or not axis.dated:
            if len(values) != count:
                said = f"{file.name} has {len(values)} rows without time stamps"
                raise ValueFormError(said, at, f"{count} rows, one for each period")
            return None
        if (times.zone is None) != (axis.zone is None):
            said = f"the time stamps of {file.name} name no zone"
            raise ValueFormError(said, at, "zone in horizon")
        if len(values) == count and bool((abs(times.instants - axis.edges[:-1]) < NEAR).all()):
            return None
        step = times.step_seconds or 0
        length = float(axis.edges[1] - axis.edges[0])
        stated = None if part.align is None else str(part.align.value)
        rule = stated if stated in RULES else self.horizon.align  # an unknown one is recorded
        if rule is None:
            point = "degC" in known.unit or known.unit == "K"
            rule = "mean" if step <= length else "interpolate" if point else "hold"
        try:
            return rule, aligned(values, times, axis, rule)
        except ValueError as error:
            raise ValueFormError(f"{file.name} does not cover the horizon: {error}", at) from None


def columns_in(node: Node, conventions: Conventions) -> Iterator[Column]:
    """Yield the columns that a value names, as far as it can be read."""
    if isinstance(node.value, str):
        try:
            yield from (p for p in pieces(node.value.strip(), conventions) if isinstance(p, Column))
        except ValueFormError:
            return  # recorded where the slot is filled


def _refuse_dimension(known: Slot, unit: Unit, at: int = 0) -> None:
    """Refuse a unit of another dimension than those of a slot."""
    if known.counts(str(unit)) is None:
        raise ValueFormError(f"{unit} is a unit of another dimension", at, known.wanted)
