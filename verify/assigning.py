"""Columns become series of quantities: units, signs, time sets, and families over labels."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from engiagent.blueprint.document import VariableDef
from engiagent.blueprint.sets import IndexSet
from engiagent.errors import InputError
from engiagent.units.headers import split_header
from engiagent.units.unit import Unit, UnitError, parse_unit
from engiagent.units.words import resolve_unit
from engiagent.verify.alignment import Wanted, fits, lay
from engiagent.verify.foreign import Reading
from engiagent.verify.naming import Known, net_parts, sources, suggestions
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
    renamed: dict[str, Column] = {}
    for source in sources(reading, content):
        taken.add(source.column)
        column = content.columns[source.column]
        if source.turned:
            column = replace(column, data=-column.data)
        parts = net_parts(source.target, reading)
        if parts is not None:
            work.add_net(source.target, column, parts)
        elif "[" in source.target and source.target not in known.names:
            renamed[source.target] = column
        else:
            work.add(known.full_name(source.target), column)
    work.chosen = set(work.series)
    rest = {n: c for n, c in content.columns.items() if n not in taken} | renamed
    for name in content.faults:
        if name not in taken and known.full_name(name) in known.names:
            raise content.faults[name]
    rest = work.add_families(rest)
    for name, column in rest.items():
        work.add_by_name(name, column)
    work.say_unused(set(rest))
    return work.series, work.notes


@dataclass
class _Assigning:
    content: Content
    known: Known
    reading: Reading
    series: dict[str, Series] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    chosen: set[str] = field(default_factory=set)
    """Names and quantities whose column the user has named."""

    def add_by_name(self, name: str, column: Column) -> None:
        """Enter a column under the quantity that it says it is, or under its own name."""
        target = column.quantity or self.known.full_name(name)
        if name in self.known.variables:
            target = name
        if target in self.series and target in self.chosen:
            return
        if target != name and target != column.quantity and target.rpartition(".")[2] != name:
            self.notes.append(f"the column {name} is taken as {target}")
        foreign = not column.own or not self.known.variables
        if target not in self.known.names and foreign and self.known.names:
            # Nothing is asked of it; it may run over anything.
            column = replace(column, stamps={})
        self.add(target, column)

    def add(self, name: str, column: Column) -> None:
        """Enter a column under its variable and its quantity, laid onto its time set."""
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
        """Refuse a second column of one quantity that says something else.

        Raises
        ------
        InputError
            With both: which of them is checked must not depend on their order.
        """
        known = self.series.get(key)
        if known is None or key in self.chosen:
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
        written = self._given(name, column)
        if written is None and column.guessed:
            guess = parse_unit(str(column.unit))
            right = expected is None or expected.same_dimension(guess)
            return self._said(name, guess if right else expected or guess)
        written = written or column.unit
        if written is None:
            unit = expected or parse_unit("1")
            return unit if column.own else self._said(name, unit)
        try:
            unit = resolve_unit(written) or parse_unit(written)
        except UnitError as error:
            raise InputError(f"{name}: {error}", column.file, column.line) from None
        clash = expected is not None and not expected.same_dimension(unit)
        if clash and not (unit.is_dimensionless and is_state(name)):
            hour, power = parse_unit("h"), parse_unit("kW")
            per_step = (
                expected is not None
                and expected.same_dimension(power)
                and (unit.dimension == parse_unit("kWh").dimension and hour.dimension is not None)
            )
            hint = "; energy in each period is no power: divide it by the step" if per_step else ""
            raise InputError(
                f"{name} measures something else{hint}",
                column.file,
                column.line,
                found=str(unit),
                expected=str(expected),
            )
        return unit

    def _said(self, name: str, unit: Unit) -> Unit:
        if name in self.known.names or not self.known.names:
            self.notes.append(f"{name} is read in {unit}: the schedule names no unit")
        return unit

    def _given(self, name: str, column: Column) -> str | None:
        definition = self.known.definition(name)
        mapped = [c for t, c in self.reading.mapping.items() if self.known.full_name(t) == name]
        titles = [n for n, c in self.content.columns.items() if c.data is column.data]
        others = [] if definition is None else [definition.name, definition.quantity or ""]
        net = [t for t in self.reading.mapping if name in (net_parts(t, self.reading) or ())]
        for key in (name, *mapped, *titles, *others, *net, *(self.reading.mapping[t] for t in net)):
            if key in self.reading.units:
                return self.reading.units[key]
        return None

    # -- time -----------------------------------------------------------------------------------

    def on_time(
        self, name: str, column: Column, definition: VariableDef | None, unit: Unit
    ) -> Column:
        """Lay a column onto the time set that it belongs to, along each axis with stamps."""
        if not column.stamps or (column.own and not self._differs(column)):
            return column
        for dim, stamps in column.stamps.items():
            axis = column.dims.index(dim)
            found = self._wanted(name, definition, unit, column, dim)
            if found is None:
                moments = np.rint(stamps.seconds * 1e3).astype("datetime64[ms]")
                marks = {**column.coordinates, dim: moments.astype("datetime64[ns]")}
                column = replace(column, coordinates=marks, zoned=stamps.zoned)
                continue
            data = np.moveaxis(column.data, axis, 0)
            laid = lay(data, stamps, found, self.reading)
            marks = {d: c for d, c in column.coordinates.items() if d != dim}
            if laid.moments is not None:
                marks[dim] = laid.moments
            if laid.note is not None:
                self.notes.append(f"{name}: {laid.note}")
            column = replace(
                column, data=np.moveaxis(laid.data, 0, axis), coordinates=marks, zoned=laid.zoned
            )
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
        """Return the time set of a column and what it is wanted for; None where none is told."""
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

    # -- families -------------------------------------------------------------------------------

    def add_families(self, columns: Mapping[str, Column]) -> dict[str, Column]:
        """Join columns such as ``p[G1]`` and ``p[G2]`` into one variable; return the others."""
        rest = dict(columns)
        for definition in self.known.variables.values():
            names = [n for n in (definition.name, definition.quantity) if n]
            if any(n in rest or n in self.series for n in names):
                continue
            dims = self.known.dims(definition)
            across = [k for k, d in enumerate(dims) if d.root.kind not in TIMED]
            if len(across) != 1 or len(dims) > 2 or not dims[across[0]].size:
                continue
            found = self._family(names, dims[across[0]], rest)
            if found is None:
                continue
            for used in found:
                rest.pop(used)
            self._join(definition, dims, across[0], list(found.values()))
        return rest

    def _family(
        self, names: list[str], labels: IndexSet, columns: Mapping[str, Column]
    ) -> dict[str, Column] | None:
        """Return a column for every label, in their order; None unless there is one for each."""
        found: dict[str, Column] = {}
        for label in labels.labels:
            shown = ",".join(map(str, label)) if isinstance(label, tuple) else str(label)
            for name in names:
                for form in (
                    "{0}[{1}]",
                    "{0}.{1}",
                    "{0}_{1}",
                    "{0} {1}",
                    "{0}({1})",
                    "{1}.{0}",
                    "{1}_{0}",
                ):
                    title = form.format(name, shown)
                    if title in columns:
                        column = columns[title]
                        if split_header(title).unit_text == shown:
                            column = replace(column, unit=None)  # the label in square brackets
                        found.setdefault(title, column)
                        break
                else:
                    continue
                break
            else:
                return None
        return found if len(found) == labels.size else None

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
            laid = self.on_time(definition.quantity or definition.name, column, definition, unit)
            if laid.data.ndim != len(dims) - 1:
                single = laid.data.size == 1 and len(dims) == 1
                laid = replace(laid, data=laid.data.reshape(()) if single else laid.data, dims=())
            parts.append(
                Series(definition.name, laid.data, unit, laid.dims, laid.coordinates, laid.zoned)
            )
        common = parts[0].unit
        shapes = {part.data.shape for part in parts}
        if len(shapes) > 1 or len(next(iter(shapes))) != len(dims) - 1:
            raise InputError(f"the columns of {definition.name} differ in length", columns[0].file)
        data = np.stack([part.converted(common) for part in parts], axis=across)
        along = [d for k, d in enumerate(dims) if k != across]
        marks = dict(zip([d.name for d in along], parts[0].coordinates.values(), strict=False))
        joined = Series(
            definition.name, data, common, tuple(d.name for d in dims), marks, parts[0].zoned
        )
        for key in {definition.name, definition.quantity or definition.name}:
            self.series[key] = joined

    # -- what is left ---------------------------------------------------------------------------

    def say_unused(self, unmapped: set[str]) -> None:
        """Say which columns nobody asked for, and what they may be.

        Raises
        ------
        InputError
            When the schedule has columns and not one of them is known.
        """
        known = self.known.names
        foreign = (
            {
                n
                for n in unmapped
                if n in self.series and n not in known and not self.content.columns[n].own
            }
            if known
            else set()
        )
        foreign |= set(self.content.faults)
        absent = {
            definition.quantity or name
            for name, definition in self.known.variables.items()
            if name not in self.series
        } | {q for q in self.known.quantities if q not in self.series}
        said = suggestions(foreign, absent)
        if known and foreign and not any(name in self.series for name in known):
            expected = ", ".join(sorted(absent)[:12])
            raise InputError(
                "no column of the schedule is a quantity of the problem",
                "the schedule",
                None,
                None,
                ", ".join(sorted(foreign)[:12]),
                f"{expected}; perhaps {' '.join(said)}" if said else expected,
            )
        for name in sorted(self.content.faults):
            self.notes.append(f"the column {name} holds no numbers and is not used")
        if said:
            self.notes.append(f"columns that are not used may be wanted: {' '.join(said)}")
