"""A named series of a schedule, and how its axes meet the sets of a document."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

from engiagent.blueprint.sets import IndexSet
from engiagent.blueprint.timeaxis import TimeAxis
from engiagent.errors import InputError
from engiagent.units.unit import Unit, UnitError, conversion

Floats = npt.NDArray[np.float64]
Coordinate = npt.NDArray[np.datetime64] | tuple[str, ...]

_CLOCK = re.compile(r"(?:0(?=\d:))?(\d{1,2}:\d{2})")
TIMED = ("time", "instants", "periods")


@dataclass(frozen=True, eq=False)
class Series:
    """Numbers of one variable or quantity in ``unit``, NaN where a sparse one does not exist.

    One axis per name in ``dims``; ``coordinates`` are labels or time stamps along an axis, which
    are UTC where ``zoned``.
    """

    name: str
    data: Floats
    unit: Unit
    dims: tuple[str, ...] = ()
    coordinates: Mapping[str, Coordinate] = field(default_factory=dict)
    zoned: bool = False

    def converted(self, unit: Unit) -> Floats:
        """Return the data in another unit; InputError when the unit measures something else."""
        try:
            factor, shift = conversion(self.unit, unit)
        except UnitError as error:
            raise InputError(f"{self.name}: {error}", "the schedule") from None
        return self.data if (factor, shift) == (1.0, 0.0) else self.data * factor + shift


def bind(series: Series, dims: tuple[IndexSet, ...], unit: Unit) -> Floats:
    """Return a series flattened in the order of ``dims``, in ``unit``."""
    data = series.converted(unit)
    names = tuple(dim.name for dim in dims)
    if set(names) == set(series.dims) and len(set(names)) == len(names):
        order = [series.dims.index(name) for name in names]
        data = data.transpose(order)
        series = replace(series, dims=names)
    wanted = tuple(dim.size for dim in dims)
    if data.shape != wanted:
        what = f"{series.name} has {_shape(data.shape)} values"
        expected = f"{_shape(wanted)}, as {' x '.join(names) or 'a single number'} has"
        raise InputError(what, "the schedule", expected=expected)
    for axis, dim in enumerate(dims):
        data = _ordered(data, axis, series, dim)
    return np.ascontiguousarray(data).reshape(-1)


def _shape(shape: tuple[int, ...]) -> str:
    return " x ".join(map(str, shape)) or "1"


def _ordered(data: Floats, axis: int, series: Series, dim: IndexSet) -> Floats:
    """Check the coordinate of one axis against the set, and put labels into its order."""
    given = series.coordinates.get(series.dims[axis]) if axis < len(series.dims) else None
    if given is None:
        return data
    clock = dim.root.axis
    if isinstance(given, np.ndarray) or dim.root.kind in TIMED:
        if clock is not None and clock.dated == isinstance(given, np.ndarray):
            _check_times(series, given, dim, clock)
        return data
    wanted = [label_text(label) for label in dim.labels]
    if sorted(given) != sorted(wanted):
        absent = next((label for label in wanted if label not in given), None)
        what, found = f"{series.name} has other labels than {dim.name}", ", ".join(given[:5])
        expected = f"one for {absent}" if absent else ", ".join(wanted[:5])
        raise InputError(what, "the schedule", found=found, expected=expected)
    return data if list(given) == wanted else np.take(data, [*map(given.index, wanted)], axis=axis)


def label_text(label: object) -> str:
    """Return a label of a set as schedules have it."""
    return ",".join(map(str, label)) if isinstance(label, tuple) else str(label)


def _check_times(series: Series, given: Coordinate, dim: IndexSet, axis: TimeAxis) -> None:
    """Raise when time stamps, or clock texts of a set without dates, are not those of the set."""
    if isinstance(given, np.ndarray):
        edges = (axis.edges if series.zoned and axis.zone is not None else axis.local)[dim.in_root]
        seconds = given.astype("datetime64[ns]", copy=False).astype(np.int64) / 1e9
        right = np.abs(seconds - edges) < 0.5
    else:
        clocks = [
            [_CLOCK.findall(str(text))[:1] for text in texts] for texts in (given, dim.labels)
        ]
        right = np.array([not (a and b) or a == b for a, b in zip(*clocks, strict=True)])
    for row in np.flatnonzero(~right)[:1]:
        what = f"{series.name}: the time of value {row + 1} is not that of {dim.name}"
        found, expected = str(given[row]), str(dim.labels[row])
        raise InputError(what, "the schedule", found=found, expected=expected)


def match_dims(series: Series, sets: Mapping[str, IndexSet]) -> tuple[IndexSet, ...]:
    """Return the sets over which a series runs: by name, labels, or a length that is unique."""
    sizes = zip(series.dims, series.data.shape, strict=True)
    return tuple(_match(series, dim, size, sets) for dim, size in sizes)


def _match(series: Series, dim: str, size: int, sets: Mapping[str, IndexSet]) -> IndexSet:
    named = sets.get(dim)
    if named is not None and named.size == size:
        return named
    fitting = [s for s in sets.values() if s.size == size]
    given = series.coordinates.get(dim)
    if isinstance(given, tuple):
        same = [s for s in fitting if sorted(map(label_text, s.labels)) == sorted(given)]
        fitting = same or fitting
    whole = [s for s in fitting if s.kind != "subset"] or fitting
    timed = [s for s in whole if s.kind in TIMED] or whole
    if len(timed) == 1:
        return timed[0]
    shown = ", ".join(f"{s.name} ({s.size})" for s in sets.values())
    expected = f"{'a name among' if timed else 'the length of one of'} {shown}"
    what = f"{series.name} has {size} values along {dim}"
    raise InputError(what, "the schedule", expected=expected)
