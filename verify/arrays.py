"""Schedules as arrays with named axes: xarray datasets and netCDF files, sizes looked at first.

A netCDF file is read by its own library: xarray takes half a second to import, which is most of the
time of a small check.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import numpy as np

from engiagent.errors import InputError
from engiagent.verify.alignment import Stamps
from engiagent.verify.reading import Column, Content
from engiagent.verify.series import Coordinate

MAX_CELLS: Final = 60_000_000
_UNREADABLE: Final = (
    ArithmeticError,
    AttributeError,
    LookupError,
    MemoryError,
    OSError,
    RuntimeError,
    TypeError,
    ValueError,
)
_NANOSECONDS: Final = {
    "day": 86_400_000_000_000,
    "hour": 3_600_000_000_000,
    "minute": 60_000_000_000,
    "second": 1_000_000_000,
    "millisecond": 1_000_000,
    "microsecond": 1_000,
    "nanosecond": 1,
}
_GREGORIAN: Final = ("standard", "gregorian", "proleptic_gregorian")


@dataclass(frozen=True, eq=False)
class _Variable:
    """A variable of a netCDF file, as one of an ``xarray.Dataset``."""

    name: str
    dims: tuple[str, ...]
    values: Any
    attrs: Mapping[str, Any]

    @property
    def dtype(self) -> Any:
        return self.values.dtype


def read_netcdf(path: Path) -> Content:
    """Return the content of a netCDF file.

    Raises
    ------
    InputError
        When it cannot be read, or declares more numbers than anybody's schedule has.
    """
    import netCDF4

    try:
        with netCDF4.Dataset(path) as source:
            # Looked at before anything is read: a small file can declare any size.
            cells = sum(int(np.prod(v.shape, dtype=np.float64)) for v in source.variables.values())
            if cells > MAX_CELLS:
                raise InputError(
                    "too many numbers", path.name, None, None, str(cells), f"up to {MAX_CELLS}"
                )
            variables = {name: _variable(name, v) for name, v in source.variables.items()}
            attrs = {name: source.getncattr(name) for name in source.ncattrs()}
            listed = [
                attrs.get("coordinates", ""),
                *(v.attrs.get("coordinates", "") for v in variables.values()),
            ]
            named = {word for text in listed for word in str(text).split()}
            coordinates = {n for n in variables if n in source.dimensions or n in named}
            return _content(variables, source.dimensions, coordinates, attrs, path.name)
    except InputError:
        raise
    except _UNREADABLE as error:
        reason = str(error).split("\n")[0][:200]
        raise InputError(f"no readable netCDF: {reason}", path.name) from None


def _variable(name: str, variable: Any) -> _Variable:
    """Return a variable with NaN for what is missing, and with moments for ``hours since …``."""
    import netCDF4

    attrs = {key: variable.getncattr(key) for key in variable.ncattrs()}
    values, dims = variable[...], tuple(variable.dimensions)
    unit = str(attrs.get("units", ""))
    kind = "O" if variable.dtype is str else np.asarray(values).dtype.kind
    if kind == "S" and len(dims) == np.ndim(values) > 0:
        values, dims = netCDF4.chartostring(np.ma.getdata(values)), dims[:-1]
    elif " since " in unit and kind in "iuf":
        values = _moments(np.ma.asarray(values), unit, str(attrs.get("calendar", "standard")))
    elif np.ma.is_masked(values) and kind in "iuf":
        values = np.ma.filled(values.astype(np.float64), np.nan)
    return _Variable(name, dims, np.asarray(np.ma.getdata(values)), attrs)


def _moments(values: Any, unit: str, calendar: str) -> Any:
    step, _, start = unit.partition(" since ")
    scale = _NANOSECONDS.get(step.strip().lower().removesuffix("s"))
    if scale is None or calendar.lower() not in _GREGORIAN:
        raise ValueError(f"time stamps in {unit!r} of the calendar {calendar!r}")
    first = datetime.fromisoformat(start.strip())
    if first.tzinfo is not None:
        first = first.astimezone(UTC).replace(tzinfo=None)
    numbers = np.ma.getdata(values)
    whole = numbers if numbers.dtype.kind in "iu" else np.rint(numbers * scale)
    counts = whole.astype(np.int64) * (scale if numbers.dtype.kind in "iu" else 1)
    moments = np.datetime64(first, "ns") + counts.astype("timedelta64[ns]")
    missing = np.ma.getmaskarray(values) | ~np.isfinite(numbers)
    return np.where(missing, np.datetime64("NaT", "ns"), moments)


def read_dataset(dataset: Any, file: str = "the schedule") -> Content:
    """Return the content of an ``xarray.Dataset``, or of anything of its form.

    Raises
    ------
    InputError
        When a time stamp is missing.
    """
    # Asked for one by one, each array of a dataset takes as long as there are arrays; plain arrays
    # of a solution have no such view.
    variables = dict(getattr(dataset, "variables", dataset.data_vars))
    variables |= {name: dataset.coords[name] for name in dataset.dims if name in dataset.coords}
    return _content(variables, dataset.dims, set(dataset.coords), dataset.attrs, file)


def _content(
    variables: Mapping[Any, Any],
    dims: Iterable[Any],
    coordinates: Collection[Any],
    attrs: Mapping[Any, Any],
    file: str,
) -> Content:
    columns: dict[str, Column] = {}
    faults: dict[str, InputError] = {}
    axes = {str(dim): _along(str(dim), variables[dim], file) for dim in dims if dim in coordinates}
    for name, array in variables.items():
        if name in coordinates:
            continue
        try:
            if array.dtype.kind not in "biufO" or _holds_text(array.values):
                raise TypeError("texts")
            data = np.asarray(array.values, dtype=np.float64)
        except (TypeError, ValueError):
            faults[str(name)] = InputError(f"{name} holds no numbers", file)
            continue
        own = tuple(map(str, array.dims))
        mine = {dim: axes[dim] for dim in own if dim in axes}
        unit, quantity = array.attrs.get("units"), array.attrs.get("quantity")
        columns[str(name)] = Column(
            data,
            None if unit is None else str(unit),
            str(quantity) if quantity else None,
            own,
            {dim: labels for dim, (labels, _, _) in mine.items()},
            {dim: stamps for dim, (_, stamps, _) in mine.items() if stamps is not None},
            any(zoned for _, _, zoned in mine.values()),
            own=unit is not None,
            file=file,
        )
    return Content(columns, {str(k): v for k, v in attrs.items()}, faults)


def _holds_text(values: Any) -> bool:
    """Whether an array of objects holds texts, which numpy would take for numbers."""
    return values.dtype.kind == "O" and any(isinstance(v, str | bytes) for v in values.flat)


def _along(name: str, given: Any, file: str) -> tuple[Coordinate, Stamps | None, bool]:
    """Return labels or time stamps of an axis, and whether the stamps are UTC."""
    if not np.issubdtype(given.dtype, np.datetime64):
        return tuple(str(value) for value in given.values.tolist()), None, False
    moments = given.values
    if np.isnat(moments).any():
        row = int(np.argmax(np.isnat(moments))) + 1
        raise InputError(f"a time stamp of {name} is missing", file, found=f"at place {row}")
    zoned = "zone" in given.attrs or str(given.attrs.get("timezone", "")).upper() == "UTC"
    seconds = moments.astype("datetime64[ns]").astype(np.int64) / 1e9

    def fault(row: int, message: str) -> InputError:
        return InputError(f"{name}, value {row + 1}: {message}", file, found=str(moments[row])[:19])

    return moments, Stamps(seconds, seconds, zoned, fault), zoned
