"""Values of parameters: inline numbers, nested objects by label, and columns of data files."""

from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from engiagent.blueprint.document import FrozenMap, ParameterDef
from engiagent.blueprint.sets import IndexSet
from engiagent.blueprint.timeaxis import TimeAxis
from engiagent.blueprint.units import Unit, conversion, parse_unit
from engiagent.errors import InputError

Array = npt.NDArray[Any]


def unit_of(d: ParameterDef) -> Unit:
    """Return the unit in which a parameter's values are held: the first when there are several."""
    if d.unit_override is not None:
        return parse_unit(d.unit_override["unit"])
    if isinstance(d.unit, FrozenMap):
        if not d.unit:
            raise ValueError("'unit' by label names no unit")
        return parse_unit(next(iter(d.unit.values())))
    return parse_unit(d.unit or "1")


def inline_values(d: ParameterDef, sets: tuple[IndexSet, ...], labels: bool = False) -> Array:
    """Return the values written in the blueprint itself, shape as the sets, in :func:`unit_of`.

    One number fills the whole grid, a list follows the order of the last set, an object goes by
    label.

    Raises
    ------
    ValueError
        When an element is absent, unknown, or not of the right type.
    """
    shape = tuple(s.size for s in sets)
    result = np.empty(shape, dtype=object if labels else np.float64)
    _fill(result, d.value, sets, labels)
    if isinstance(d.unit, FrozenMap) and d.unit_override is None and not labels:
        _unify_units(result, d.unit, sets)
    return result


def _fill(target: Array, value: Any, sets: tuple[IndexSet, ...], labels: bool) -> None:
    if isinstance(value, FrozenMap):
        if not sets:
            raise ValueError("an object by label is given, but the parameter has no index")
        _fill_by_label(target, value, sets, labels)
    elif isinstance(value, tuple):
        if len(sets) != 1:
            raise ValueError(
                "a list fills one index; give an object by label for the others, as {'G1': [...]}"
            )
        if len(value) != sets[0].size:
            raise ValueError(
                f"{len(value)} values are listed, but {sets[0].name} has {sets[0].size} elements"
            )
        target[...] = [_plain(item, labels) for item in value]
    else:
        target[...] = _plain(value, labels)


def _fill_by_label(
    target: Array, value: FrozenMap, sets: tuple[IndexSet, ...], labels: bool
) -> None:
    first = sets[0]
    if first.root.factors:
        entries = list(_flatten(value, len(first.root.factors)))
        names = {tuple(str(part) for part in label): k for k, label in enumerate(first.labels)}  # type: ignore[union-attr]
    else:
        entries = [((key,), item) for key, item in value.items()]
        names = {(str(label),): k for k, label in enumerate(first.labels)}
    given = dict(entries)
    unknown = [key for key in given if key not in names]
    absent = [key for key in names if key not in given]
    if unknown:
        raise ValueError(f"{', '.join(unknown[0])} is not an element of {first.name}")
    if absent:
        raise ValueError(f"no value is given for {', '.join(absent[0])} of {first.name}")
    for key, position in names.items():
        if len(sets) == 1:
            target[position] = _plain(given[key], labels)
        else:
            _fill(target[position], given[key], sets[1:], labels)


def _flatten(value: Any, depth: int, prefix: tuple[str, ...] = ()) -> Any:
    if depth == 0:
        yield prefix, value
    elif isinstance(value, FrozenMap):
        for key, item in value.items():
            yield from _flatten(item, depth - 1, (*prefix, key))
    else:
        raise ValueError(f"an object by label is needed below {', '.join(prefix) or 'the value'}")


def _plain(value: Any, labels: bool) -> Any:
    if labels:
        if not isinstance(value, str | int):
            raise ValueError(f"{value!r} is no label")
        return value
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError(f"found {value!r}; expected a number")
    return float(value)


def _unify_units(values: Array, units: FrozenMap, sets: tuple[IndexSet, ...]) -> None:
    """Convert rows with units of their own into the first unit of the map."""
    if not sets:
        raise ValueError("'unit' by label needs an index")
    target = parse_unit(next(iter(units.values())))
    for position, label in enumerate(sets[0].labels):
        if str(label) not in units:
            raise ValueError(f"'unit' names no unit for {label}")
        factor, shift = conversion(parse_unit(units[str(label)]), target)
        values[position] = values[position] * factor + shift


def element_positions(labels: list[Any], target: IndexSet) -> npt.NDArray[np.int64]:
    """Return the positions of labels in a set; a number may be written as text.

    Raises
    ------
    ValueError
        When a label is not in the set.
    """
    lookup = {str(label): position for label, position in target.position_of.items()}
    positions = []
    for label in labels:
        position = lookup.get(str(label))
        if position is None:
            position = target.find(str(label))
        if position is None:
            raise ValueError(f"{label!r} is not an element of {target.name}")
        positions.append(position)
    return np.array(positions, dtype=np.int64)


@dataclass(frozen=True)
class FileColumn:
    """A column of a data file, with the unit that its header names, if any.

    ``stamps`` are the first and the last time stamp of the file, where it has a column of them.
    """

    reference: str
    column: Any
    stamps: tuple[datetime, datetime] | None = None

    def texts(self) -> tuple[str, ...]:
        """Return the cells as text."""
        return tuple(self.column.texts())

    def in_unit(self, unit: Unit, overridden: bool = False) -> npt.NDArray[np.float64]:
        """Return the numbers in a unit, converted from the header's own unit where it has one."""
        values: npt.NDArray[np.float64] = self.column.numbers()
        if overridden or not self.column.unit_text:
            return values
        factor, shift = conversion(parse_unit(self.column.unit_text), unit)
        if (factor, shift) == (1.0, 0.0):
            return values
        return values * factor + shift


def read_column(folder: Path | None, reference: str) -> FileColumn:
    """Return the column that ``file.csv#column`` names.

    Raises
    ------
    InputError
        When the file or the column is not there.
    """
    file, separator, name = reference.partition("#")
    if not separator or not name or not file:
        raise InputError(f"{reference!r} names no column; write 'file.csv#column'")
    if folder is None:
        raise InputError(f"{reference!r} cannot be read: the blueprint has no folder with data")
    from engiagent.tabular import read_table

    table = read_table(folder, file)
    return FileColumn(reference, table.column(name), _stamps(table))


def _stamps(table: Any) -> tuple[datetime, datetime] | None:
    """Return the first and the last time stamp of a table, from the first column that has them."""
    for column in table.columns.values():
        if column.is_text:
            try:
                first, last = (datetime.fromisoformat(column.cells[k].strip()) for k in (0, -1))
            except ValueError:
                continue
            return first, last
    return None


def check_stamps(column: FileColumn, axis: TimeAxis) -> None:
    """Refuse a file whose time stamps are not those of the time set that its values are to fill.

    Stamps may name the starts of the periods or their ends. Without a date on either side there
    is nothing to compare.

    Raises
    ------
    ValueError
        With the stamps found and those expected.
    """
    if column.stamps is None or not axis.dated:
        return
    edges = axis.local if column.stamps[0].tzinfo is None else axis.edges
    if column.stamps[0].tzinfo is not None and axis.zone is None:
        return
    found = [_seconds(stamp) for stamp in column.stamps]
    if found not in ([edges[0], edges[-2]], [edges[1], edges[-1]]):
        first, last = (stamp.isoformat(sep=" ", timespec="minutes") for stamp in column.stamps)
        raise ValueError(
            f"the time stamps of {column.reference.partition('#')[0]} run from {first} to {last}, "
            f"but the periods from {axis.labels[0]} to {axis.labels[-2]}"
        )


def _seconds(stamp: datetime) -> float:
    if stamp.tzinfo is None:
        return (stamp - datetime(1970, 1, 1)).total_seconds()
    return stamp.timestamp()
