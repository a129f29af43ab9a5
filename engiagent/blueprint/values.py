"""Values of parameters: inline numbers, nested objects by label, and columns of data files."""

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from engiagent.blueprint.elements import FrozenMap, ParameterDef
from engiagent.blueprint.sets import IndexSet
from engiagent.blueprint.stamps import in_iso, is_by_day, parse_stamp, stamp_seconds
from engiagent.blueprint.timeaxis import TimeAxis
from engiagent.errors import InputError
from engiagent.io.gridfiles import as_table, read_grid
from engiagent.io.tabular import TableColumn, TableFile, read_table
from engiagent.units.unit import Unit, conversion, parse_unit

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
    """
    shape = tuple(s.size for s in sets)
    result = np.empty(shape, dtype=object if labels else np.float64)
    _fill(result, d.value, sets, labels)
    if isinstance(d.unit, FrozenMap) and d.unit_override is None and not labels:
        result = unify_units(result, d.unit, sets)
    return result


def _fill(target: Array, value: Any, sets: tuple[IndexSet, ...], labels: bool) -> None:
    if isinstance(value, FrozenMap):
        if not sets:
            raise ValueError("an object by label is given, but the parameter has no index")
        _fill_by_label(target, value, sets, labels)
    elif isinstance(value, tuple):
        if len(sets) != 1:
            text = "a list fills one index; give an object by label for the others"
            raise ValueError(f"{text}, as {{'G1': [...]}}")
        if len(value) != sets[0].size:
            only = f"{sets[0].name} has {sets[0].size} elements"
            raise ValueError(f"{len(value)} values are listed, but {only}")
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


def unify_units(values: Array, units: FrozenMap, sets: tuple[IndexSet, ...]) -> Array:
    """Return the values with rows of other units converted into the first unit of the map."""
    if not sets:
        raise ValueError("'unit' by label needs an index")
    target = parse_unit(next(iter(units.values())))
    converted = np.array(values)
    for position, label in enumerate(sets[0].labels):
        if str(label) not in units:
            raise ValueError(f"'unit' names no unit for {label}")
        factor, shift = conversion(parse_unit(units[str(label)]), target)
        converted[position] = values[position] * factor + shift
    return converted


def element_positions(labels: list[Any], target: IndexSet) -> npt.NDArray[np.int64]:
    """Return the positions of labels in a set; a number may be written as text."""
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


def stamps_of(table: TableFile) -> TableColumn | None:
    """Return the first column of time stamps of a table."""
    for column in table.columns.values():
        texts = column.texts() if column.is_text else ("",)
        try:
            texts = in_iso(texts) if is_by_day(texts[0]) else texts
        except ValueError:
            continue  # day and month cannot be told apart
        if parse_stamp(texts[0]) is not None and parse_stamp(texts[-1]) is not None:
            return column
    return None


def split_reference(reference: str) -> tuple[str, str]:
    """Return the file and the column of ``file.csv#column``."""
    file, separator, name = reference.partition("#")
    if not separator or not name or not file:
        raise InputError(f"{reference!r} names no column; write 'file.csv#column'")
    return file, name


def read_texts(folder: Path | None, reference: str) -> tuple[str, ...]:
    """Return the cells of the column that ``file.csv#column`` names as text."""
    file, name = split_reference(reference)
    if folder is None:
        raise InputError(f"{reference!r} cannot be read: the blueprint has no folder with data")
    array = file.lower().endswith(".nc")
    table = as_table(read_grid(folder, file, name)) if array else read_table(folder, file)
    return table.column(name).texts()


def check_stamps(table: TableFile, axis: TimeAxis) -> None:
    """Refuse a file whose time stamps are not those of the time set that its values are to fill.

    Stamps may name the starts of the periods or their ends, all of them in the order of the
    periods. Without a date on either side there is nothing to compare.
    """
    stamps = stamps_of(table)
    if stamps is None or not axis.dated:
        return
    seconds, zoned = stamp_seconds(in_iso(stamps.texts()))
    if zoned and axis.zone is None:
        return
    edges = axis.edges if zoned else axis.local
    off = []
    for expected in (edges[:-1], edges[1:]):
        if np.array_equal(seconds, expected):
            return
        off.append(np.flatnonzero(~(np.abs(seconds - expected) < 0.5)))
        if not len(off[-1]):
            return
    first, last = stamps.texts()[0], stamps.texts()[-1]
    ends = int(abs(seconds[0] - edges[1]) < 0.5)
    if {0, len(seconds) - 1} & set(off[ends].tolist()):
        raise ValueError(
            f"the time stamps of {stamps.file} run from {first} to {last}, "
            f"but the periods from {axis.labels[0]} to {axis.labels[-2]}"
        )
    row = int(off[ends][0])
    text = "the time stamp is not that of its period"
    raise stamps.error(row, text, expected=axis.labels[row + ends])


def as_written(values: Array, sets: tuple[IndexSet, ...], *, short: bool = True) -> Any:
    """Return values as a blueprint has them inline, if ``short`` one number where all are equal."""
    if short and values.size and bool((values == values.flat[0]).all()):
        return float(values.flat[0])
    if len(sets) > 1 and sets[0].root.factors:
        raise InputError("a parameter over pairs and another set cannot be varied by a factor")
    return _by_labels(values, sets)


def _by_labels(values: Array, sets: tuple[IndexSet, ...]) -> Any:
    if len(sets) > 1:
        return {str(x): _by_labels(values[k], sets[1:]) for k, x in enumerate(sets[0].labels)}
    if not sets[0].root.factors:
        return values.tolist()
    result: dict[str, Any] = {}
    for label, value in zip(sets[0].labels, values.tolist(), strict=True):
        inner = result
        for part in label[:-1]:  # type: ignore[index]
            inner = inner.setdefault(str(part), {})
        inner[str(label[-1])] = value  # type: ignore[index]
    return result
