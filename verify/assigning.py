"""Columns become series of quantities: names, units, signs, time sets, elements of variables."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from engiagent.blueprint.document import VariableDef
from engiagent.blueprint.sets import IndexSet
from engiagent.errors import InputError
from engiagent.units.headers import split_header
from engiagent.units.unit import Unit, UnitError, parse_unit
from engiagent.units.words import resolve_unit
from engiagent.verify.alignment import Wanted, align, fits
from engiagent.verify.foreign import Reading
from engiagent.verify.naming import Known, net_parts, proposed_map, sources, squeezed_name
from engiagent.verify.reading import Column, Content
from engiagent.verify.series import TIMED, Series
from engiagent.verify.vocabulary import declared_unit, is_state


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
    work = _Assigning(content, known, reading)
    taken = set()
    elements: dict[str, Column] = {}
    for source in sources(reading, content):
        taken.add(source.column)
        column = content.columns[source.column]
        if source.turned:
            column = replace(column, data=-column.data)
        parts = net_parts(source.target)
        if parts is not None:
            work.add_net(source.target, column, parts)
        elif "[" in source.target and source.target not in known.names:
            elements[source.target] = column
        else:
            work.add(known.full_name(source.target), column)
    work.mapped = set(work.series)
    for name, fault in content.faults.items():
        if name not in taken and known.full_name(name) in known.names:
            raise fault
    rest = {n: c for n, c in content.columns.items() if n not in taken} | elements
    rest = work.add_elements(rest)
    for name, column in rest.items():
        work.add_by_name(name, column)
    work.report_unused(set(rest))
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

    def add_by_name(self, name: str, column: Column) -> None:
        """Enter a column under what its name stands for."""
        target = column.quantity or self.known.full_name(name)
        header = split_header(name)
        if target not in self.known.names and header.unit is not None:
            # Columns that differ in the unit alone have it in their names.
            bare = self.known.full_name(header.name)
            target = bare if bare in self.known.names else target
        if name in self.known.variables:
            target = name
        if target in self.mapped:
            return
        if target not in (name, column.quantity) and target.rpartition(".")[2] != name:
            self.notes.append(f"the column {name} is taken as {target}")
        external = not column.own or not self.known.variables
        if target not in self.known.names and external and self.known.names:
            # Nothing is asked of it; it may run over anything.
            column = replace(column, stamps={})
        self.add(target, column)

    def add(self, name: str, column: Column) -> None:
        """Enter a column under its variable and its quantity, aligned with its time set."""
        definition = self.known.definition(name)
        quantity = (definition.quantity if definition is not None else None) or column.quantity
        expected = None
        if definition is not None and definition.unit is not None:
            expected = parse_unit(definition.unit)
        own = self.known.units.get(quantity or name)
        expected = expected or (declared_unit(quantity or name) if own is None else parse_unit(own))
        unit = self.unit(name, column, expected)
        column = self.on_time(quantity or name, column, definition, unit)
        found = Series(name, column.data, unit, column.dims, column.coordinates, column.zoned)
        for key in sorted({name, definition.name if definition else name, quantity or name}):
            self._refuse_second(key, found, column)
            self.series[key] = found

    def _refuse_second(self, key: str, found: Series, column: Column) -> None:
        """Refuse a second column of one quantity with other numbers.

        Raises
        ------
        InputError
            With both: which of them is checked must not depend on their order.
        """
        known = self.series.get(key)
        if known is None or key in self.mapped:
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

    def add_net(self, target: str, column: Column, parts: tuple[str, str]) -> None:
        """Take a signed column apart.

        Raises
        ------
        InputError
            When the sign changes inside a period, so that its mean says neither.
        """
        into, out = parts
        words = [part.rpartition(".")[2] for part in parts]
        self.notes.append(
            f"{target}: positive values are read as {words[0]}, negative ones as {words[1]}"
        )
        for name, sign in ((into, 1.0), (out, -1.0)):
            data = np.maximum(sign * column.data, 0.0)
            self.add(self.known.full_name(name), replace(column, data=data))
        both = [self.series[self.known.full_name(name)].data for name in parts]
        if both[0].shape == both[1].shape and bool(((both[0] > 0) & (both[1] > 0)).any()):
            raise InputError(
                f"{target} changes its sign inside a period of the problem",
                column.file,
                expected=f"{into} and {out} in columns of their own, or the problem's step",
            )

    # -- units ----------------------------------------------------------------------------------

    def unit(self, name: str, column: Column, expected: Unit | None) -> Unit:
        """Return the unit of a column: given by the user, written, expected, or none.

        Raises
        ------
        InputError
            For an unknown unit and one of something else.
        """
        written = self._given(name, column) or column.unit
        if column.guessed and written == column.unit:
            guess = parse_unit(str(written))
            if expected is not None and not expected.same_dimension(guess):
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
        clash = expected is not None and not expected.same_dimension(unit)
        if clash and not (unit.is_dimensionless and is_state(name)):
            kilowatts, energy = parse_unit("kW"), parse_unit("kWh")
            per_step = expected is not None and expected.same_dimension(kilowatts)
            hint = "; energy in each period is no power: divide it by the step"
            raise InputError(
                f"{name} measures something else"
                + (hint if per_step and unit.same_dimension(energy) else ""),
                column.file,
                column.line,
                found=str(unit),
                expected=str(expected),
            )
        return unit

    def _given(self, name: str, column: Column) -> str | None:
        """Return the unit that the user gives for a quantity or for its column."""
        definition = self.known.definition(name)
        mapped = [
            (target, title.removeprefix("-").strip())
            for target, title in self.reading.mapping.items()
            if self.known.full_name(target) == name or name in (net_parts(target) or ())
        ]
        titles = [n for n, c in self.content.columns.items() if c.data is column.data]
        others = [] if definition is None else [definition.name, definition.quantity or ""]
        keys = (name, *(key for pair in mapped for key in pair), *titles, *others)
        return next((self.reading.units[k] for k in keys if k in self.reading.units), None)

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
                moments = np.rint(stamps.seconds * 1e3).astype("datetime64[ms]")
                marks[dim] = moments.astype("datetime64[ns]")
                column = replace(column, coordinates=marks, zoned=stamps.zoned)
                continue
            found = align(np.moveaxis(column.data, axis, 0), stamps, wanted, self.reading)
            if found.moments is not None:
                marks[dim] = found.moments
            if found.note is not None:
                self.notes.append(f"{name}: {found.note}")
            data = np.moveaxis(found.data, 0, axis)
            column = replace(column, data=data, coordinates=marks, zoned=found.zoned)
        return column

    def _differs(self, column: Column) -> bool:
        """Whether nothing but an alignment could make a dataset fit: ours fits as it is."""
        sets = self.known.time_sets()
        sizes = {size for s in sets for size in (s.size, s.size + 1)}
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

    def add_elements(self, columns: Mapping[str, Column]) -> dict[str, Column]:
        """Join columns such as ``p[G1]`` and ``p_G2`` into one variable; return the others.

        Arrays over labels get the names of the variable's sets.
        """
        rest = dict(columns)
        for definition in self.known.variables.values():
            names = [n for n in (definition.name, definition.quantity) if n]
            dims = self.known.dims(definition)
            across = [k for k, d in enumerate(dims) if d.root.kind not in TIMED]
            timed = [d.name for d in dims if d.root.kind in TIMED]
            for title in rest:
                if self.known.full_name(title) in names and len(rest[title].dims) > 1:
                    rest[title] = _renamed(rest[title], "time", timed)
            if any(n in self.series or self._titles(n, rest) for n in names):
                continue
            if len(across) != 1 or len(dims) > 2 or not dims[across[0]].size:
                continue
            found = self._elements(names, dims[across[0]], rest)
            if found:
                self._join(definition, dims, across[0], [rest.pop(title) for title in found])
        return rest

    def _titles(self, name: str, columns: Mapping[str, Column]) -> list[str]:
        return [title for title in columns if self.known.full_name(title) == name]

    def _elements(
        self, names: list[str], labels: IndexSet, columns: dict[str, Column]
    ) -> list[str]:
        """Return the column of every label, in their order; empty unless there is one for each.

        Raises
        ------
        InputError
            For two columns of one element.
        """
        spelt: dict[str, list[str]] = {}
        for title in columns:
            if self.known.full_name(title) not in self.known.names:
                spelt.setdefault(squeezed_name(title), []).append(title)
        texts = [",".join(map(str, x)) if isinstance(x, tuple) else str(x) for x in labels.labels]
        distinct = len({squeezed_name(text) for text in texts}) == len(texts)
        found = []
        for text in texts:
            own = [t for n in names for t in (f"{n}[{text}]", f"{n}.{text}") if t in columns]
            if not own and distinct:
                own = [t for n in names for t in spelt.get(squeezed_name(n + text), [])]
            if not own:
                return []
            if len(set(own)) > 1:
                what = f"two columns of the schedule are {names[0]}[{text}]"
                raise InputError(what, columns[own[0]].file, found=" and ".join(own))
            if split_header(own[0]).unit_text == text:
                columns[own[0]] = replace(columns[own[0]], unit=None)  # the label in brackets
            found.append(own[0])
        return found

    def _join(
        self,
        definition: VariableDef,
        dims: tuple[IndexSet, ...],
        across: int,
        columns: list[Column],
    ) -> None:
        expected = parse_unit(definition.unit) if definition.unit is not None else None
        parts = []
        for column in columns:
            unit = self.unit(definition.name, column, expected)
            column = self.on_time(definition.quantity or definition.name, column, definition, unit)
            data = column.data
            if len(dims) == 1 and data.size == 1:
                data = data.reshape(())
            parts.append(
                Series(definition.name, data, unit, column.dims, column.coordinates, column.zoned)
            )
        first = parts[0]
        shapes = {part.data.shape for part in parts}
        if len(shapes) > 1 or first.data.ndim != len(dims) - 1:
            raise InputError(f"the columns of {definition.name} differ in length", columns[0].file)
        data = np.stack([part.converted(first.unit) for part in parts], axis=across)
        names = tuple(d.name for d in dims)
        along = [name for k, name in enumerate(names) if k != across and first.data.ndim]
        marks = dict(zip(along, first.coordinates.values(), strict=False))
        joined = Series(definition.name, data, first.unit, names, marks, first.zoned)
        for key in {definition.name, definition.quantity or definition.name}:
            self.series[key] = joined

    # -- what is left ---------------------------------------------------------------------------

    def report_unused(self, unmapped: set[str]) -> None:
        """Note which columns are not used, and the map that would use them.

        Raises
        ------
        InputError
            When the schedule has columns and not one of them is known.
        """
        known, columns = self.known.names, self.content.columns
        for name in sorted(self.content.faults):
            self.notes.append(f"the column {name} holds no numbers and is not used")
        if not known:
            return
        unused = {n for n in unmapped & set(self.series) - known if not columns[n].own}
        unused |= set(self.content.faults)
        variables = [v.quantity or n for n, v in self.known.variables.items()]
        wanted = [*variables, *sorted(self.known.quantities - set(variables))]
        absent = [name for name in wanted if name not in self.series]
        absent.sort(key=is_state)  # which follow from the others
        if unused and not any(name in self.series for name in known):
            raise InputError(
                "no column of the schedule is a quantity of the problem",
                "the schedule",
                found=", ".join(sorted(unused)[:12]),
                expected=f"{', '.join(absent[:12])}, or a map: {proposed_map(unused, absent)}",
            )
        if unused and absent:
            self.notes.append(
                f"not used: {', '.join(sorted(unused)[:12])}; a map gives what is absent: "
                f"{proposed_map(unused, absent)}"
            )


def _renamed(column: Column, old: str, new: list[str]) -> Column:
    """Return a column with the name of its time set on its axis of stamps."""
    if old not in column.dims or len(new) != 1:
        return column
    dims = tuple(new[0] if dim == old else dim for dim in column.dims)
    coordinates = {new[0] if dim == old else dim: c for dim, c in column.coordinates.items()}
    stamps = {new[0] if dim == old else dim: s for dim, s in column.stamps.items()}
    return replace(column, dims=dims, coordinates=coordinates, stamps=stamps)
