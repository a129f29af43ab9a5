"""Filling the slots of components: what is written becomes parameters with their sources."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from engiagent.errors import InputError
from engiagent.plant.horizon import BY, NEAR, RULES, Horizon, aligned, usual_rule
from engiagent.plant.sizing import KEYS as SIZE
from engiagent.plant.sizing import Amount, Sizing
from engiagent.plant.source import FormError, Source
from engiagent.plant.statement import Statement
from engiagent.plant.values import Column, Piece, Quantity, each_piece, literal, pieces
from engiagent.slots import Component, Slot
from engiagent.text.datafile import Column as FileColumn
from engiagent.text.datafile import DataFile
from engiagent.text.frontmatter import Node
from engiagent.units.unit import Unit, convert, parse_unit
from engiagent.units.words import Conventions, resolve_unit

YES_NO: Final = {"yes": True, "true": True, "no": False, "false": False}
WHOLES: Final = ("energy_capacity", "capacity", "rated_capacity", "rated_power", "power")
"""Slots of which a percentage in another slot of the same dimension is a share."""
SERIES: Final = {"boundaries": "degC", "heat": "kW", "reactive": "kvar"}
"""Connections that hold values by name, which may be series, with their unit."""
FINAL: Final = "final_energy_min"
"""What the content of a store is at least in the end: no slot of its model, but a requirement."""


def final_requirement(owner: str, known: Component, value: str) -> str:
    """Return the requirement that a least final content of a store is.

    Raises FormError when a component has no content that it begins with.
    """
    states = [word for word, series in known.quantities.items() if series.unit == "kWh"]
    if "initial_energy" not in known.slots or not states:
        raise FormError(f"{owner} has no content", 0, f"{FINAL} of a battery or another store")
    share = re.fullmatch(r"([\d.]+) ?%", value.strip())
    whole = next((slot for slot in WHOLES if slot in known.slots), None)
    least = f"{float(share[1]) / 100:.15g}*{owner}.{whole}" if share and whole else value
    return f"{owner}.{states[0]}[end] >= {least}"


@dataclass
class Part:
    """A component under construction: its model, what is written, what it becomes."""

    name: str
    key: Node
    node: Node
    model: str
    known: Component
    slots: dict[str, Node] = field(default_factory=dict)
    final: tuple[Node, Node] | None = None
    align: str | None = None
    connections: dict[str, Any] = field(default_factory=dict)
    series: dict[str, Node] = field(default_factory=dict)  # of connections that hold them
    options: dict[str, Any] = field(default_factory=dict)
    parameters: dict[str, Any] = field(default_factory=dict)


@dataclass
class Filler:
    """Fills slots, and remembers in ``places`` the node behind each parameter."""

    source: Source
    horizon: Horizon
    statement: Statement
    conventions: Conventions
    places: dict[str, Node] = field(default_factory=dict)

    def fill(self, part: Part, slot: str, node: Node) -> None:
        """Fill one slot; what is wrong with it is recorded."""
        known = part.known.slots[slot].in_currency(self.statement.currency)
        value = None
        with self.source.recording(node, f"{part.name}.{slot}"):
            value = _Value(self, part, slot, known, node).filled()
        if value is not None:
            part.parameters[slot] = value

    def connect(self, part: Part, name: str, node: Node) -> None:
        """Fill the series of a connection that holds values by name."""
        known = Slot(SERIES[name], "series")
        for key, child in node.value.items():
            if isinstance(child.value, list) or any(columns_in(child, self.conventions)):
                with self.source.recording(child, f"{part.name}.{name}.{key}"):
                    value = _Value(self, part, f"{name}_{key}", known, child)
                    part.connections[name][str(key)] = value.filled()

    def patched(self, part: Part, slot: str, node: Node) -> list[dict[str, Any]]:
        """Return the operations that give a slot one other value."""
        own, trial = self.statement, Statement("", {}, self.statement.currency)
        what = replace(part, parameters={})
        replace(self, statement=trial, places={}).fill(what, slot, node)
        if slot not in what.parameters:
            return []
        core, value = "/core_model_elements", what.parameters[slot]
        sized = own.sizes.get(str(part.parameters.get(slot)))
        if sized is not None:
            places = {entry["name"]: place for place, entry in enumerate(own.decisions)}
            path = f"{core}/decision_variables/{places[sized['variable']]}"
            number = _in_unit(trial.parameters[0], own.decisions[places[sized["variable"]]]["unit"])
            ends = (f"{path}/{end}" for end in ("lower", "upper"))
            return [{"op": "replace", "path": end, "value": number} for end in ends]
        for entry in trial.parameters:
            for place, known in enumerate(own.parameters):
                if known["name"] == entry["name"] and "value" in known:
                    path, number = (
                        f"{core}/parameters/{place}/value",
                        _in_unit(entry, known["unit"]),
                    )
                    return [{"op": "replace", "path": path, "value": number}]
            value = entry["value"]
            if isinstance(value, float):
                value = literal(Quantity(value, parse_unit(entry["unit"])))
        place = [component["name"] for component in own.components].index(part.name)
        path = f"{core}/components/{place}/parameters/{slot}"
        return [{"op": "add", "path": path, "value": value}]


def _in_unit(entry: dict[str, Any], unit: str) -> Any:
    """Return the value of a parameter in a unit; an expression as it is."""
    value = entry["value"]
    if not isinstance(value, float):
        return value
    return convert(value, parse_unit(entry["unit"]), parse_unit(unit))


@dataclass(frozen=True)
class _Value:
    """What is written for a slot of a component."""

    filler: Filler
    part: Part
    slot: str
    known: Slot
    node: Node

    def filled(self) -> str | None:
        """Return what the component takes: the name of a new parameter, or true or false."""
        if isinstance(self.node.value, list):
            return self._several(self.node.value)
        if isinstance(self.node.value, dict):
            return self._size()
        text = self.node.value.strip() if self.node.is_text else ""
        if not text:
            raise FormError("no value", 0, self.known.wanted)
        if self.known.unit == "1" and text.lower() in YES_NO:
            return str(YES_NO[text.lower()]).lower()
        match pieces(text, self.filler.conventions):
            case [Column() as column]:
                return self._column(column)
            case [Quantity() as quantity]:
                return self._quantity(quantity)
            case found:
                return self._expression(found)

    def _add(
        self, unit: Unit | str, content: dict[str, Any], source: Any = None, at: str = ""
    ) -> str:
        """Add a parameter, named by the slot and what it is of it, and return its name."""
        name = f"{self.part.name}_{self.slot}_{at or 'given'}"
        self.filler.places[name] = self.node
        stated = source or self.filler.source.reference(self.node)
        return self.filler.statement.add_parameter(name, str(unit), stated, **content)

    # -- quantities -------------------------------------------------------------------------------

    def _quantity(self, found: Quantity) -> str:
        if str(found.unit) == "%" and parse_unit(self.known.unit).dimension:
            share = f"{found.number / 100:.15g}*{self._whole()}"
            return self._add(self.known.unit, {"value": share})
        return self._add(self._unit(found), {"value": found.number})

    def _unit(self, found: Quantity) -> Unit:
        """Return the unit of a quantity that fits the slot; refuse any other."""
        known, wanted = self.known, parse_unit(self.known.unit)
        if found.unit is None and wanted.dimension and found.number != 0:
            shown = f"a value in {known.unit}, as {found.number:g} {known.unit}"
            raise FormError("the number has no unit", 0, shown)
        unit = found.unit or wanted
        self._refuse_dimension(unit)
        comparable = unit.dimension == wanted.dimension
        if comparable and not known.allows(convert(found.number, unit, wanted)):
            raise FormError("the value is out of range", 0, known.range)
        return unit

    def _refuse_dimension(self, unit: Unit, at: int = 0) -> None:
        if self.known.counts(str(unit)) is None:
            raise FormError(f"{unit} is a unit of another dimension", at, self.known.wanted)
        wanted = parse_unit(self.known.unit)
        if unit.dimension == wanted.dimension and unit.is_point != wanted.is_point:
            what = "a temperature" if unit.is_point else "a difference of temperatures"
            raise FormError(f"{unit} is the unit of {what}", at, self.known.wanted)

    def _whole(self) -> str:
        """Return the parameter of which a percentage is a share."""
        wanted = parse_unit(self.known.unit).dimension
        for other in WHOLES:
            there = self.part.known.slots.get(other)
            if other != self.slot and there and parse_unit(there.unit).dimension == wanted:
                if other not in self.part.slots:
                    raise FormError(f"a share of {other}, which is not given", 0, self.known.wanted)
                return f"{self.part.name}_{other}_given"
        raise FormError("a percentage of what?", 0, self.known.wanted)

    def _several(self, nodes: list[Node]) -> str | None:
        """Add a list of quantities: a table, or one for each period."""
        known, source, statement = self.known, self.filler.source, self.filler.statement
        found = []
        for child in nodes:
            with source.recording(child, f"{self.part.name}.{self.slot}"):
                item = pieces(child.value.strip(), self.filler.conventions) if child.is_text else []
                if len(item) != 1 or not isinstance(item[0], Quantity):
                    raise FormError("no quantity", 0, known.wanted)
                found.append((item[0].number, self._unit(item[0])))
                continue
            return None  # one error of a list is enough
        periods = self.filler.horizon.entry["periods"]
        if not known.table and (not known.series or len(found) != periods):
            expected = f"one value, or {periods} for the periods" if known.series else "one value"
            raise FormError(f"{len(found)} values in a list", 0, expected)
        over = (
            statement.points(f"{self.part.name}_points{len(found)}", len(found))
            if known.table
            else "T"
        )
        unit = found[0][1]
        values = [number if own == unit else convert(number, own, unit) for number, own in found]
        references = [source.reference(child) for child in nodes]
        return self._add(unit, {"index": [over], "value": values}, references)

    def _expression(self, found: list[Piece]) -> str:
        """Add an expression over quantities and columns, in the blueprint's language."""
        written, around = [], ["", *found, ""]
        over, at = self._over
        for k, piece in enumerate(found, 1):
            if isinstance(piece, Column):
                column = self._column(piece, "column" if k == 1 else f"column{k}")
                written.append(f"{column}[{at}]")
            elif isinstance(piece, Quantity):
                beside = {around[k - 1], around[k + 1]} & {"*", "/"}
                if piece.unit is None and not beside and parse_unit(self.known.unit).dimension:
                    raise FormError("the number has no unit", 0, f"a value in {self.known.unit}")
                share = str(piece.unit) == "%"
                written.append(f"{piece.number / 100:.15g}" if share else literal(piece))
            else:
                written.append(f" {piece} " if piece in ("+", "-") else piece)
        for left, right in pairwise(found):
            if not isinstance(left, str) and not isinstance(right, str):
                said = "two values without an operator between them"
                raise FormError(said, 0, "+, -, * or /")
        text = "".join(written).strip()
        return self._add(
            self.known.unit, {"value": text} | ({"index": over} if f"[{at}]" in text else {})
        )

    @property
    def _over(self) -> tuple[list[str], str]:
        """The binders of a series, and its indices."""
        if self.filler.horizon.weights:
            return ["p in P", "t in T"], "p, t"
        return ["t in T"], "t"

    # -- sizes to be chosen -----------------------------------------------------------------------

    def _size(self) -> str | None:
        """Add a size between two ends as a decision, with what it costs."""
        if self.known.table:
            raise FormError("a table cannot be chosen", 0, self.known.wanted)
        source, faults = self.filler.source, len(self.filler.source.errors)
        entries = source.entries(self.node, f"the size {self.part.name}.{self.slot}", SIZE)
        given: dict[str, Amount | list[Amount]] = {}
        profile = None
        for key, node in entries.items():
            with source.recording(node, f"{self.part.name}.{self.slot}.{key}"):
                if key == "profile":
                    profile = self._profile(node)
                elif isinstance(node.value, list):
                    given[str(key)] = [self._amount(child) for child in node.value]
                else:
                    given[str(key)] = self._amount(node)
        if len(source.errors) > faults:
            return None
        unit, about = self.known.unit, source.reference(self.node)
        sizing = Sizing(self.filler.statement, self.part.name, self.slot, unit, given, about)
        return sizing.add(profile)

    def _amount(self, node: Node) -> Amount:
        found = pieces(node.value.strip(), self.filler.conventions) if node.is_text else []
        if len(found) != 1 or not isinstance(found[0], Quantity):
            raise FormError("no quantity", 0, "a number with its unit", node=node)
        return Amount(found[0].number, found[0].unit, self.filler.source.reference(node), node)

    def _profile(self, node: Node) -> str:
        """Add the series by which a size is multiplied, and return its parameter."""
        known = replace(self.known, unit="1", above=None, at_least=None, at_most=None)
        own = replace(self, slot=f"{self.slot}_profile", known=known, node=node)
        if not self.known.series:
            raise FormError("a profile where one number is needed", 0, self.known.wanted)
        found = own.filled()
        assert found is not None  # faults raise
        return found

    # -- columns ----------------------------------------------------------------------------------

    def _column(self, column: Column, within: str = "") -> str:
        """Add a column as a parameter over the periods, aligned where its step is another.

        ``within`` is what it is called where it is a part of an expression.
        """
        if not self.known.series:
            raise FormError("a column where one number is needed", column.at, self.known.wanted)
        horizon, reference = self.filler.horizon, f"{column.file}#{column.name}"
        try:
            file = horizon.files.file(column.file)
            found = file.column(column.name)
        except InputError as error:
            said = str(error.message) + (f" in {error.file}" if error.file else "")
            raise FormError(said, column.at, error.expected) from None
        unit = self._column_unit(column, found)
        if not within:
            self._refuse_dimension(unit, column.at)
        source = {"kind": "file", "file": column.file, "column": column.name}
        content: dict[str, Any] = {"index": ["T"], "data": reference}
        if found.unit is None and found.unit_text and unit.dimension:
            content["unit_override"] = {"unit": str(unit), "reason": "as the plant block says"}
        if horizon.weights:
            source["relation"] = f"{BY}{horizon.column}"
            content = {"index": ["P", "T"], "value": self._of_each(file, found, column.at)}
            return self._add(unit, content, source, within)
        done = self._aligned(file, found.numbers(), column.at)
        if done is not None:
            rule, numbers = done
            self.filler.source.notes.append(
                f"{self.part.name}.{self.slot}: {reference} is aligned with the periods of "
                f"{horizon.entry['step']} by '{rule}', {RULES[rule]}"
            )
            source["relation"] = rule
            content = {"index": ["T"], "value": [float(v) for v in numbers]}
        if not within:
            self._refuse_range(unit, found.numbers() if done is None else done[1], column)
        return self._add(unit, content, source, within)

    def _refuse_range(self, unit: Unit, numbers: npt.NDArray[np.float64], column: Column) -> None:
        wanted = parse_unit(self.known.unit)
        if unit.dimension == wanted.dimension:
            for number in np.unique(numbers).tolist():
                if not self.known.allows(convert(number, unit, wanted)):
                    said = f"{column.file}#{column.name} has {number:g} {unit}, out of range"
                    raise FormError(said, column.at, self.known.range)

    def _of_each(self, file: DataFile, found: FileColumn, at: int) -> dict[str, list[float]]:
        """Return the rows of each representative horizon, in their order."""
        horizon, count = self.filler.horizon, self.filler.horizon.entry["periods"]
        try:
            names = np.array(file.column(horizon.column).source.texts())
        except InputError as error:
            raise FormError(str(error.message), at, f"a column {horizon.column}") from None
        values = {}
        if others := sorted({*names} - {*map(str, horizon.weights)}):
            rest = f"rows of {file.name} with {horizon.column} {', '.join(others)} are not used"
            self.filler.source.notes.append(f"{self.part.name}.{self.slot}: {rest}")
        for name in map(str, horizon.weights):
            rows = np.flatnonzero(names == name)
            if rows.size != count:
                said = f"{file.name} has {rows.size} rows with {horizon.column} {name}"
                raise FormError(said, at, f"{count} rows, one for each period")
            values[name] = [float(v) for v in found.numbers()[rows]]
        return values

    def _column_unit(self, column: Column, found: FileColumn) -> Unit:
        """Return the unit of the header, or the one that stands behind the column's name."""
        header = found.unit or resolve_unit(found.unit_text, self.filler.conventions)
        wanted = parse_unit(self.known.unit)
        if column.unit is not None and header not in (None, column.unit):
            said = f"the header of {column.name} says {header}"
            raise FormError(said, column.at, "the same unit, or none in brackets")
        unit = column.unit or header
        if unit is None and not wanted.dimension and not found.unit_text:
            unit = wanted
        if unit is None:
            written = found.unit_text
            what = f"in {written!r}, which cannot be read" if written else "without a unit"
            shown = f"{column.file}#{column.name} [{self.known.unit}]"
            expected = f"a unit in its header or behind it, as {shown}"
            raise FormError(f"the column {column.name} is {what}", column.at, expected)
        return unit

    def _aligned(self, file: DataFile, values: Any, at: int) -> tuple[str, Any] | None:
        """Return the rule and the values for each period; None where the rows are the periods."""
        horizon = self.filler.horizon
        times, axis = horizon.files.times(file.name), horizon.axis
        count = len(axis.edges) - 1
        if times is None or not axis.dated:
            if len(values) != count:
                said = f"{file.name} has {len(values)} rows without time stamps"
                raise FormError(said, at, f"{count} rows, one for each period")
            return None
        if (times.zone is None) != (axis.zone is None):
            raise FormError(f"the time stamps of {file.name} name no zone", at, "zone in horizon")
        if len(values) == count and bool((abs(times.instants - axis.edges[:-1]) < NEAR).all()):
            return None
        rule = self.part.align or horizon.align or usual_rule(times, axis, self.known.unit)
        try:
            return rule, aligned(values, times, axis, rule)
        except ValueError as error:
            raise FormError(f"{file.name} does not cover the horizon: {error}", at) from None


def columns_in(node: Node, conventions: Conventions) -> Iterator[Column]:
    """Yield the columns that a value names, as far as it can be read."""
    if isinstance(node.value, dict):
        for child in node.value.values():
            yield from columns_in(child, conventions)
    if isinstance(node.value, str):
        try:
            found = each_piece(node.value.strip(), conventions)
            yield from (piece for piece in found if isinstance(piece, Column))
        except FormError:
            return  # recorded where the slot is filled
