"""Schedules: a solution dataset, netCDF, CSV, JSON, a table or plain arrays."""

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from typing import Any, Final

import numpy as np

from engiagent.blueprint.elements import VariableDef
from engiagent.blueprint.sets import IndexSet
from engiagent.errors import InputError
from engiagent.units.headers import split_header
from engiagent.units.unit import Unit, UnitError, parse_unit
from engiagent.units.words import resolve_unit
from engiagent.verify.alignment import Stamps, align
from engiagent.verify.foreign import Reading
from engiagent.verify.naming import NEAREST, Known, proposed_map
from engiagent.verify.reading import Column, Content, read_content
from engiagent.verify.series import TIMED, Coordinate, Floats, Series
from engiagent.verify.vocabulary import declared_unit, is_state

PREFIXES = ("dual__", "reduced_cost__", "farkas__")
CLAIMS = ("status", "objective", "objective_unit", "bound", "solver", "is_mip")
"""What the checker reads of what a schedule says about itself."""


@dataclass(frozen=True)
class Multipliers:
    """Multipliers of one constraint, flat over its rows, with their unit if it is known."""

    data: Floats
    unit: Unit | None


@dataclass(frozen=True)
class Schedule:
    """What a schedule says, sorted: series by variable and by quantity, multipliers by constraint.

    ``claims`` are attributes such as status and objective; ``notes`` say what was assumed on
    reading: units, sign conventions, a first state.
    """

    series: Mapping[str, Series]
    duals: Mapping[str, Multipliers] = field(default_factory=dict)
    farkas: Mapping[str, Multipliers] = field(default_factory=dict)
    claims: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    @property
    def status(self) -> str | None:
        """The status that its maker claims."""
        status = self.claims.get("status")
        return None if status is None else str(status)

    def number(self, claim: str) -> float | None:
        """Return a numeric claim, None when it is absent; NaN stays NaN."""
        value = self.claims.get(claim)
        if value is None:
            return None
        try:
            return float(value)
        except (TypeError, ValueError):
            what = f"the {claim} is no number"
            raise InputError(what, "the schedule", found=repr(value)) from None

    def sha256(self) -> str:
        """Return the hash over what is checked: numbers, their units, axes and claims."""
        digest = hashlib.sha256()
        for group in (self.series, self.duals, self.farkas):
            for name in sorted(group):
                data = np.ascontiguousarray(group[name].data, dtype="<f8")
                digest.update(f"{name}{data.shape}{group[name].unit}".encode())
                digest.update(data.reshape(-1).view(np.uint8).data)
        for name in sorted(self.series):
            for axis, labels in sorted(self.series[name].coordinates.items()):
                if isinstance(labels, np.ndarray):
                    digest.update(axis.encode())
                    moments = np.ascontiguousarray(labels, dtype="M8[ns]")
                    digest.update(moments.reshape(-1).view(np.uint8).data)
                else:
                    digest.update(f"{axis}{labels!r}".encode())
        digest.update(repr([_plain(self.claims.get(name)) for name in CLAIMS]).encode())
        return digest.hexdigest()


def read_schedule(
    solution: Any,
    known: Known,
    reading: Reading | Mapping[str, str] | None = None,
    initial: Mapping[str, tuple[float, int]] | None = None,
) -> Schedule:
    """Return the schedule that ``solution`` holds: a path, a dataset, a table or arrays by name.

    ``initial``: by quantity the value at the first instant (SI) and the number of periods, to
    complete states that are given without their first value.
    """
    asked = Reading.of(reading)
    if isinstance(solution, Schedule):
        raise InputError("a schedule that was read already", "the schedule")
    content = read_content(solution, asked.decimal)
    multipliers: dict[str, dict[str, Multipliers]] = {"dual__": {}, "farkas__": {}}
    plain: dict[str, Column] = {}
    for name, column in content.columns.items():
        prefix = next((p for p in PREFIXES if name.startswith(p)), None)
        if prefix is None:
            plain[name] = column
        elif prefix in multipliers:
            unit = None if column.unit is None else parse_unit(column.unit)
            flat = np.asarray(column.data, dtype=np.float64).reshape(-1)
            multipliers[prefix][name.removeprefix(prefix)] = Multipliers(flat, unit)
    series, notes = name_columns(replace(content, columns=plain), known, asked)
    _complete_states(series, notes, initial or {})
    said, (duals, farkas) = tuple(dict.fromkeys(notes)), multipliers.values()
    return Schedule(series, duals, farkas, content.claims, said)


def _complete_states(
    series: dict[str, Series], notes: list[str], initial: Mapping[str, tuple[float, int]]
) -> None:
    """Put the known first value before a state that is given at the ends of the periods only."""
    for name, (first, periods) in initial.items():
        known = series.get(name)
        if known is not None and known.data.shape == (periods,):
            start = (first - known.unit.origin) / known.unit.scale
            longer = np.concatenate(([start], known.data))
            notes.append(f"{name} has one value per period: they are read as those at its end")
            new = replace(known, data=longer, dims=("",), coordinates={})
            series.update({name: new for name, one in series.items() if one is known})


def _plain(value: Any) -> str | float | None:
    """Return a claim as text or number, whatever type a file made of it."""
    if value is None or isinstance(value, str):
        return value
    try:
        return float(value)
    except (TypeError, ValueError):
        return str(value)


# --- columns become series of quantities: names, units, signs, time sets, elements of variables -


PAIRS: Final = {
    "charge": "discharge",
    "discharge": "charge",
    "import": "export",
    "export": "import",
    "heating": "cooling",
    "cooling": "heating",
}
"""What a net power is split into: the word for positive values, and that for negative ones."""


def name_columns(
    content: Content, known: Known, reading: Reading
) -> tuple[dict[str, Series], list[str]]:
    """Return series by variable name and by quantity, and what was assumed."""
    work = _Assigning(content, known, reading)
    for target, title, column in work.mapped_columns():
        work.enter(target, title, column)
    work.mapped = {*work.series}
    for title, fault in content.faults.items():
        if known.full_name(title) in known.names - work.mapped:
            raise fault
    for title, column in content.columns.items():
        work.enter_by_name(title, column)
    work.report_unused()
    return work.series, work.notes


@dataclass
class _Assigning:
    content: Content
    known: Known
    reading: Reading
    series: dict[str, Series] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    mapped: set[str] = field(default_factory=set)
    """What the user's map names, which goes before columns of that name."""
    taken: set[str] = field(default_factory=set)
    unused: list[str] = field(default_factory=list)

    def mapped_columns(self) -> Iterator[tuple[str, str, Column]]:
        """Yield what the map says: target, title and numbers, the sign turned where it says so."""
        columns, faults = self.content.columns, self.content.faults
        for target, written in self.reading.mapping.items():
            turned = self._title(written) not in columns and written.startswith("-")
            title = self._title(written[1:].strip() if turned else written)
            self.taken.add(title)
            if title in faults:
                raise faults[title]
            if title not in columns:
                near = get_close_matches(title, list(columns), 1, NEAREST)
                hint = f"; did you mean {near[0]!r}?" if near else ""
                what = f"the mapping names the column {title!r}{hint}"
                expected = f"one of {', '.join(columns) or 'none: it has no columns'}"
                raise InputError(what, "the schedule", expected=expected)
            column = columns[title]
            yield target, title, replace(column, data=-column.data) if turned else column

    def _title(self, written: str) -> str:
        """Return the name of a column whose header is written out, with its unit."""
        header = split_header(written)
        column = self.content.columns.get(header.name)
        if written in self.content.columns or column is None or column.unit is None:
            return written
        named = resolve_unit(column.unit)
        return header.name if named is not None and named == header.unit else written

    def enter_by_name(self, title: str, column: Column) -> None:
        """Enter a column that no map names under what its name stands for."""
        known = self.known
        target = title if title in known.variables else column.quantity or known.full_name(title)
        if title in self.taken:
            return
        if target in self.mapped:
            self.unused.append(title)
            return
        if target in known.names:
            if target not in (title, column.quantity):
                self.notes.append(f"the column {title} is taken as {target}")
            self.enter(target, title, column)
            return
        if not column.own:
            self.unused.append(title)  # but the model of a unit may know it
        if known.names and not (column.own and known.variables):  # it may run over anything
            marks = {dim: m for dim, m in column.marks.items() if not isinstance(m, Stamps)}
            column = replace(column, marks=marks)
        self.add(target, replace(column, unit=self.reading.units.get(title, column.unit)))

    def enter(self, target: str, title: str, column: Column) -> None:
        """Enter a column as a quantity, or taken apart by its sign."""
        name = self.known.full_name(target)
        definition = self.known.definition(name)
        also = () if definition is None else (definition.name, str(definition.quantity))
        for unit in [self.reading.units.get(n) for n in (title, *also, name, target)]:
            column = column if unit is None else replace(column, unit=unit)
        owner, dot, word = name.rpartition(".")
        into = word.removeprefix("net_")
        if name not in self.known.names and into != word and into in PAIRS:
            self.add_net(name, [f"{owner}{dot}{part}" for part in (into, PAIRS[into])], column)
        else:
            self.add(name, column)

    def add_net(self, target: str, words: list[str], column: Column) -> None:
        """Take a signed column apart into what is positive and what is negative."""
        names = [self.known.full_name(word) for word in words]
        one, other = (word.rpartition(".")[2] for word in words)
        self.notes.append(f"{target}: positive values are read as {one}, negative ones as {other}")
        for name, sign in zip(names, (1.0, -1.0), strict=True):
            self.add(name, replace(column, data=np.maximum(sign * column.data, 0.0)))
        up, down = (self.series[name].data for name in names)
        if up.shape == down.shape and bool(((up > 0) & (down > 0)).any()):
            what = f"{target} changes its sign inside a period of the problem"
            expected = f"{' and '.join(names)} in columns of their own, or the problem's step"
            raise InputError(what, column.file, expected=expected)

    def add(self, name: str, column: Column) -> None:
        """Read a column and store it under its variable and its quantity."""
        found, quantity = self.read(name, column), column.quantity
        definition = self.known.definition(name)
        also = () if definition is None else (definition.name, definition.quantity)
        for key in sorted({name, quantity or name, *filter(None, also)}):
            if key in self.series:
                what, expected = f"two columns are {key}", f"{key} once, or --map {key}=COLUMN"
                raise InputError(what, "the schedule", expected=expected)
            self.series[key] = found

    def read(self, name: str, column: Column) -> Series:
        """Return a column as a series: in its unit, aligned with the time set of its name."""
        definition = self.known.definition(name)
        quantity = (definition and definition.quantity) or column.quantity or name
        text = (definition and definition.unit) or self.known.units.get(quantity)
        expected = declared_unit(quantity) if text is None else parse_unit(text)
        found = self._on_time(quantity, definition, column, self._unit(name, column, expected))
        sets = () if definition is None else self.known.dims(definition)
        timed = [dim.name for dim in sets if dim.root.kind in TIMED]
        if len(timed) != 1 or len(found.dims) < 2:
            return found
        names = {"time": timed[0]}  # in the terms of the variable, by which its axes are ordered
        marks = {names.get(dim, dim): some for dim, some in found.coordinates.items()}
        return replace(found, dims=tuple(names.get(d, d) for d in found.dims), coordinates=marks)

    # -- units ----------------------------------------------------------------------------------

    def _unit(self, name: str, column: Column, expected: Unit | None) -> Unit:
        text = column.unit
        try:
            unit = None if text is None else resolve_unit(text) or parse_unit(text)
        except UnitError as error:
            raise InputError(f"{name}: {error}", column.file) from None
        other = unit is not None and expected is not None and not expected.same_dimension(unit)
        if unit is None:
            if not column.own and (name in self.known.names or not self.known.names):
                shown = expected or parse_unit("1")
                self.notes.append(f"{name} is read in {shown}: the schedule names no unit")
            return expected or parse_unit("1")
        if other and expected:
            power, energy = parse_unit("kW"), parse_unit("kWh")
            per_step = expected.same_dimension(power) and unit.same_dimension(energy)
            hint = "; energy in each period is no power: divide it by the step" if per_step else ""
            hint = f"; give it in {expected}" if unit.is_dimensionless else hint
            what = f"{name} measures something else{hint}"
            raise InputError(what, column.file, found=str(unit), expected=str(expected))
        return unit

    # -- time -----------------------------------------------------------------------------------

    def _wanted(self, name: str, definition: VariableDef | None) -> tuple[IndexSet, bool] | None:
        """Return the time set of a quantity and whether it is a state; None where none is clear."""
        if definition is not None:
            timed = [dim for dim in self.known.dims(definition) if dim.root.axis is not None]
            if len(timed) != 1 or timed[0].root is not timed[0]:
                return None
            state = timed[0].kind == "instants"
            sets = [dim.periods_of if state else dim for dim in timed]
        else:
            state = is_state(name)
            sets = [dim for dim in self.known.time_sets() if dim.root is dim]
        clocks = [(over, over.root.axis) for over in sets if over is not None]
        clocks = [(over, axis) for over, axis in clocks if axis and axis.step_unit == "h"]
        edges = {axis.edges.tobytes() for _, axis in clocks if axis}
        return (clocks[0][0], state) if len(edges) == 1 else None

    def _on_time(
        self, name: str, definition: VariableDef | None, column: Column, unit: Unit
    ) -> Series:
        data, dims, zoned = column.data, column.dims, False
        marks: dict[str, Coordinate] = {}
        for axis, dim in enumerate(dims):
            stamps = column.marks.get(dim)
            if not isinstance(stamps, Stamps):
                marks |= {} if stamps is None else {dim: stamps}
                continue
            fits = column.own and definition is None  # our dataset has the sets of its blueprint
            wanted = None if fits else self._wanted(name, definition)
            if wanted is None:
                marks[dim], zoned = stamps.moments, stamps.zoned
                continue
            (over, state), power = wanted, unit.same_dimension(parse_unit("kW"))
            kind = {"state": state, "power": power}
            try:
                turned, moments, note = align(
                    np.moveaxis(data, axis, 0), stamps, over, self.reading, **kind
                )
            except InputError as error:
                raise replace(error, message=f"{name}: {error.message}") from None
            data = np.moveaxis(turned, 0, axis)
            self.notes += [] if note is None else [f"{name}: {note}"]
            if moments is not None:
                marks[dim] = moments
                zoned = over.root.axis is not None and over.root.axis.zone is not None
        return Series(name, data, unit, dims, marks, zoned)

    # -- what is left ---------------------------------------------------------------------------

    def report_unused(self) -> None:
        """Note which columns are not used, and the map that would use them."""
        known, faults = self.known.names, set(self.content.faults)
        self.notes += [f"the column {n} holds no numbers and is not used" for n in sorted(faults)]
        unused = sorted({*self.unused, *faults})
        if not known or not unused:
            return
        variables = [v.quantity or n for n, v in self.known.variables.items()]
        wanted = [*variables, *sorted(self.known.quantities - set(variables))]
        absent = [name for name in wanted if name not in self.series]
        absent.sort(key=is_state)  # which follow from the others
        shown = ", ".join(unused[:12]) + (f" and {len(unused) - 12} more" if unused[12:] else "")
        if not known & set(self.series):
            what = "no column of the schedule is a quantity of the problem"
            expected = f"{', '.join(absent[:12])}, or a map: {proposed_map(unused, absent)}"
            raise InputError(what, "the schedule", found=shown, expected=expected)
        proposed = f"; a map gives what is absent: {proposed_map(unused, absent)}" if absent else ""
        self.notes.append(f"not used: {shown}{proposed}")
