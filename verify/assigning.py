"""Columns become series of quantities: names, units, signs, time sets, elements of variables."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from typing import Final

import numpy as np

from engiagent.blueprint.document import VariableDef
from engiagent.blueprint.sets import IndexSet
from engiagent.errors import InputError
from engiagent.units.headers import split_header
from engiagent.units.unit import Unit, UnitError, parse_unit
from engiagent.units.words import resolve_unit
from engiagent.verify.alignment import Wanted, align, fits, moments_of
from engiagent.verify.foreign import Reading
from engiagent.verify.naming import NEAREST, Known, proposed_map
from engiagent.verify.reading import Column, Content
from engiagent.verify.series import TIMED, Series, label_text
from engiagent.verify.vocabulary import declared_unit, is_state

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
    """Return series by variable name and by quantity, and what was assumed.

    Raises
    ------
    InputError
        When a column that is needed holds no numbers, measures something else or does not fit the
        time set, or when nothing in the schedule is known.
    """
    columns = {
        name: replace(column, unit=reading.units[name], guessed=False)
        if name in reading.units
        else column
        for name, column in content.columns.items()
    }
    work = _Assigning(replace(content, columns=columns), known, reading)
    taken, elements = set(), {}
    for target, title, column in work.mapped_columns():
        taken.add(title)
        if "[" in target and target not in known.names:
            elements[target] = column
        elif not work.add_net(target, column):
            work.add(known.full_name(target), column)
    work.mapped = set(work.series)
    for name, fault in content.faults.items():
        if name not in taken and known.full_name(name) in known.names:
            raise fault
    rest = {n: c for n, c in columns.items() if n not in taken} | elements
    for name, column in work.with_elements_joined(rest).items():
        work.add_by_name(name, column)
    work.report_unused({n for n in rest if not rest[n].own} | set(content.faults))
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

    def mapped_columns(self) -> Iterator[tuple[str, str, Column]]:
        """Yield what the map says: target, title and numbers, the sign turned where it says so.

        Raises
        ------
        InputError
            For a column that is not there, naming those that are and the nearest.
        """
        columns, faults = self.content.columns, self.content.faults
        for target, written in self.reading.mapping.items():
            turned = written not in columns and written.startswith("-")
            name = written[1:].strip() if turned else written
            if name in faults:
                raise faults[name]
            if name not in columns:
                near = get_close_matches(name, list(columns), 1, NEAREST)
                hint = f"; did you mean {near[0]!r}?" if near else ""
                raise InputError(
                    f"the mapping names the column {name!r}{hint}",
                    "the schedule",
                    expected=f"one of {', '.join(columns) or 'none: it has no columns'}",
                )
            column = columns[name]
            if target in self.reading.units:
                column = replace(column, unit=self.reading.units[target], guessed=False)
            yield target, name, replace(column, data=-column.data) if turned else column

    def add_by_name(self, name: str, column: Column) -> None:
        """Enter a column under what its name stands for."""
        known = self.known
        target = column.quantity or known.full_name(name)
        header = split_header(name)
        if target not in known.names and header.unit is not None:
            # Columns that differ in the unit alone have it in their names.
            bare = known.full_name(header.name)
            target = bare if bare in known.names else target
        if name in known.variables:
            target = name
        if target in self.mapped:
            return
        if target not in (name, column.quantity) and target.rpartition(".")[2] != name:
            self.notes.append(f"the column {name} is taken as {target}")
        external = not column.own or not known.variables
        if target not in known.names and external and known.names:
            # Nothing is asked of it; it may run over anything.
            column = replace(column, stamps={})
        self.add(target, column)

    def add(self, name: str, column: Column) -> None:
        """Enter a column under its variable and its quantity, aligned with its time set."""
        definition = self.known.definition(name)
        quantity = (definition.quantity if definition is not None else None) or column.quantity
        if definition is not None and definition.unit is not None:
            expected: Unit | None = parse_unit(definition.unit)
        else:
            own = self.known.units.get(quantity or name)
            expected = declared_unit(quantity or name) if own is None else parse_unit(own)
        names = {name, definition.name if definition else name, quantity or name}
        unit = self.unit(name, names, column, expected)
        column = self.on_time(quantity or name, column, definition, unit)
        found = Series(name, column.data, unit, column.dims, column.coordinates, column.zoned)
        for key in sorted(names):
            if key not in self.mapped:
                self._refuse_second(key, found, column)
            self.series[key] = found

    def _refuse_second(self, key: str, found: Series, column: Column) -> None:
        """Refuse other numbers for one quantity: which are checked must not depend on their order.

        Raises
        ------
        InputError
            With both columns.
        """
        known = self.series.get(key)
        if known is None:
            return
        factor = known.unit.scale / found.unit.scale if found.unit.scale else 1.0
        alike = (
            known.data.shape == found.data.shape
            and known.unit.dimension == found.unit.dimension
            and np.allclose(known.data * factor, found.data, rtol=1e-12, atol=0, equal_nan=True)
        )
        if not alike:
            raise InputError(
                f"two columns of the schedule are {key}, and their numbers differ",
                column.file,
                found=known.name if known.name == found.name else f"{known.name} and {found.name}",
                expected=f"{key} once, or --map {key}=COLUMN",
            )

    def add_net(self, target: str, column: Column) -> bool:
        """Take a signed column apart, as ``battery.net_charge``; return whether it is one.

        Raises
        ------
        InputError
            When the sign changes inside a period, so that its mean says neither.
        """
        owner, dot, word = target.rpartition(".")
        into = word.removeprefix("net_")
        if into == word or into not in PAIRS:
            return False
        words = into, PAIRS[into]
        names = [self.known.full_name(f"{owner}{dot}{part}") for part in words]
        self.notes.append(
            f"{target}: positive values are read as {words[0]}, negative ones as {words[1]}"
        )
        for name, sign in zip(names, (1.0, -1.0), strict=True):
            self.add(name, replace(column, data=np.maximum(sign * column.data, 0.0)))
        one, other = (self.series[name].data for name in names)
        if one.shape == other.shape and bool(((one > 0) & (other > 0)).any()):
            raise InputError(
                f"{target} changes its sign inside a period of the problem",
                column.file,
                expected=f"{' and '.join(names)} in columns of their own, or the problem's step",
            )
        return True

    # -- units ----------------------------------------------------------------------------------

    def unit(self, name: str, names: set[str], column: Column, expected: Unit | None) -> Unit:
        """Return the unit of a column: given by the user, written, expected, or none.

        Raises
        ------
        InputError
            For an unknown unit and one of something else.
        """
        given = self.reading.units
        written = next((given[key] for key in sorted(names) if key in given), column.unit)
        guess = parse_unit(str(written)) if column.guessed and written == column.unit else None
        if guess is not None and expected is not None and not expected.same_dimension(guess):
            written = None  # the ending of the name is no unit
        if written is None:
            unit = expected or parse_unit("1")
            if not column.own and (name in self.known.names or not self.known.names):
                self.notes.append(f"{name} is read in {unit}: the schedule names no unit")
            return unit
        try:
            unit = resolve_unit(written) or parse_unit(written)
        except UnitError as error:
            raise InputError(f"{name}: {error}", column.file, column.line) from None
        share = unit.is_dimensionless and is_state(name)
        if expected is not None and not expected.same_dimension(unit) and not share:
            kilowatts, energy = parse_unit("kW"), parse_unit("kWh")
            per_step = expected.same_dimension(kilowatts) and unit.same_dimension(energy)
            hint = "; energy in each period is no power: divide it by the step" if per_step else ""
            what = f"{name} measures something else{hint}"
            raise InputError(what, column.file, column.line, None, str(unit), str(expected))
        return unit

    # -- time -----------------------------------------------------------------------------------

    def on_time(
        self, name: str, column: Column, definition: VariableDef | None, unit: Unit
    ) -> Column:
        """Align a column with the time set that it belongs to, along each axis with stamps."""
        if not column.stamps or (column.own and not self._differs(column)):
            return column
        for dim, stamps in column.stamps.items():
            axis = column.dims.index(dim)
            wanted = self._wanted(name, definition, unit, column, dim)
            marks = {d: c for d, c in column.coordinates.items() if d != dim}
            if wanted is None:
                marks[dim] = moments_of(stamps.seconds)
                column = replace(column, coordinates=marks, zoned=stamps.zoned)
                continue
            turned = np.moveaxis(column.data, axis, 0)
            data, moments, note = align(turned, stamps, wanted, self.reading)
            of_set = wanted.index_set.root.axis
            zoned = moments is not None and of_set is not None and of_set.zone is not None
            if moments is not None:
                marks[dim] = moments
            if note is not None:
                self.notes.append(f"{name}: {note}")
            data = np.moveaxis(data, 0, axis)
            column = replace(column, data=data, coordinates=marks, zoned=zoned)
        return column

    def _differs(self, column: Column) -> bool:
        """Whether nothing but an alignment could make a dataset fit: ours fits as it is."""
        sizes = {size for s in self.known.time_sets() for size in (s.size, s.size + 1)}
        return any(len(stamps) not in sizes for stamps in column.stamps.values()) or (
            self.reading.labels == "end"
        )

    def _wanted(
        self, name: str, definition: VariableDef | None, unit: Unit, column: Column, dim: str
    ) -> Wanted | None:
        """Return the time set of a column and what it is wanted for; None where it has none."""
        power = unit.same_dimension(parse_unit("kW"))
        if definition is not None:
            timed = [d for d in self.known.dims(definition) if d.root.axis is not None]
            if len(timed) != 1 or timed[0].root is not timed[0]:
                return None
            own = timed[0]
            if own.kind == "instants" and own.periods_of is not None:
                return Wanted(name, own.periods_of, True, power)
            return Wanted(name, own, False, power) if own.kind == "time" else None
        sets = [s for s in self.known.time_sets() if s.root is s]
        exact = [s for s in sets if fits(column.stamps[dim], s, self.reading)]
        edges = {s.axis.edges.tobytes() for s in sets if s.axis is not None}
        chosen = exact or (sets if len(edges) == 1 else [])
        return Wanted(name, chosen[0], is_state(name), power) if chosen else None

    # -- variables over labels ------------------------------------------------------------------

    def with_elements_joined(self, columns: Mapping[str, Column]) -> dict[str, Column]:
        """Return columns, of which ``p[G1]`` and ``p[G2]`` are joined into one variable.

        Arrays over labels get the name of the variable's time set.
        """
        rest, named = dict(columns), {title: self.known.full_name(title) for title in columns}
        for definition in self.known.variables.values():
            names = [n for n in (definition.name, definition.quantity) if n]
            dims = self.known.dims(definition)
            across = [k for k, d in enumerate(dims) if d.root.kind not in TIMED]
            timed = [d.name for d in dims if d.root.kind in TIMED]
            there = [title for title in rest if named.get(title) in names]
            for title in there:
                if len(rest[title].dims) > 1 and len(timed) == 1:
                    rest[title] = _renamed(rest[title], {"time": timed[0]})
            if there or any(n in self.series for n in names):
                continue
            if len(across) != 1 or len(dims) > 2:
                continue
            titles = self._elements(names, dims[across[0]].labels, rest)
            if titles:
                parts = [rest.pop(title) for title in titles]
                rest[definition.name] = _joined(definition.name, parts, dims)
        return rest

    def _elements(
        self, names: list[str], labels: tuple[object, ...], columns: dict[str, Column]
    ) -> list[str]:
        """Return the column of every label, in their order; empty unless there is one for each.

        Raises
        ------
        InputError
            For two columns of one element.
        """
        found = []
        for text in map(label_text, labels):
            own = [t for n in names for t in (f"{n}[{text}]", f"{n}.{text}", f"{n}_{text}")]
            own = [
                t for t in own if t in columns and self.known.full_name(t) not in self.known.names
            ]
            if not own:
                return []
            if len(set(own)) > 1:
                what = f"two columns of the schedule are {names[0]}[{text}]"
                raise InputError(what, columns[own[0]].file, found=" and ".join(own))
            if split_header(own[0]).unit_text == text:
                columns[own[0]] = replace(columns[own[0]], unit=None)  # the label in brackets
            found.append(own[0])
        return found

    # -- what is left ---------------------------------------------------------------------------

    def report_unused(self, unmapped: set[str]) -> None:
        """Note which columns are not used, and the map that would use them.

        Raises
        ------
        InputError
            When the schedule has columns and not one of them is known.
        """
        known = self.known.names
        for name in sorted(self.content.faults):
            self.notes.append(f"the column {name} holds no numbers and is not used")
        unused = sorted(unmapped & ({*self.series, *self.content.faults} - known))
        if not known or not unused:
            return
        variables = [v.quantity or n for n, v in self.known.variables.items()]
        wanted = [*variables, *sorted(self.known.quantities - set(variables))]
        absent = [name for name in wanted if name not in self.series]
        absent.sort(key=is_state)  # which follow from the others
        shown = ", ".join(unused[:12]) + (f" and {len(unused) - 12} more" if unused[12:] else "")
        if not any(name in self.series for name in known):
            raise InputError(
                "no column of the schedule is a quantity of the problem",
                "the schedule",
                found=shown,
                expected=f"{', '.join(absent[:12])}, or a map: {proposed_map(unused, absent)}",
            )
        proposed = f"; a map gives what is absent: {proposed_map(unused, absent)}" if absent else ""
        self.notes.append(f"not used: {shown}{proposed}")


def _joined(name: str, parts: list[Column], dims: tuple[IndexSet, ...]) -> Column:
    """Return the columns of all elements as one array over the sets of their variable."""
    timed = [d.name for d in dims if d.root.kind in TIMED]
    if not timed:
        single = all(part.data.size == 1 for part in parts)
        parts = [replace(p, data=p.data.reshape(()), dims=()) for p in parts] if single else parts
    first, units = parts[0], {str(part.unit or "none") for part in parts}
    if len({part.data.shape for part in parts}) > 1 or first.data.ndim != len(timed):
        raise InputError(f"the columns of {name} differ in length", first.file)
    if len(units) > 1:
        what = f"the columns of {name} differ in unit"
        raise InputError(what, first.file, found=", ".join(sorted(units)))
    names = tuple(d.name for d in dims)
    across = next(k for k, one in enumerate(names) if one not in timed)
    data = np.stack([part.data for part in parts], axis=across)
    return replace(
        _renamed(first, dict(zip(first.dims, timed, strict=False))), data=data, dims=names
    )


def _renamed(column: Column, names: Mapping[str, str]) -> Column:
    """Return a column with other names of its axes."""
    return replace(
        column,
        dims=tuple(names.get(dim, dim) for dim in column.dims),
        coordinates={names.get(dim, dim): c for dim, c in column.coordinates.items()},
        stamps={names.get(dim, dim): s for dim, s in column.stamps.items()},
    )
