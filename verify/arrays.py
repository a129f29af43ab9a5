"""Schedules as arrays with named axes: xarray datasets and netCDF files, sizes looked at first.

A netCDF file is read by its own library: xarray takes half a second to import, which is most of the
time of a small check.
"""

from collections.abc import Collection, Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final

import numpy as np

from engiagent.errors import InputError
from engiagent.verify.alignment import Stamps
from engiagent.verify.reading import Column, Content, Marks

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
            variables = {name: _variable(v) for name, v in source.variables.items()}
            attrs = {name: source.getncattr(name) for name in source.ncattrs()}
            listed = [attrs, *(variable.attrs for variable in variables.values())]
            named = {word for some in listed for word in str(some.get("coordinates", "")).split()}
            coordinates = {n for n in variables if n in source.dimensions or n in named}
            return _content(variables, source.dimensions, coordinates, attrs, path.name)
    except InputError:
        raise
    except _UNREADABLE as error:
        reason = str(error).split("\n")[0][:200]
        raise InputError(f"no readable netCDF: {reason}", path.name) from None


def _variable(variable: Any) -> SimpleNamespace:
    """Return a variable as a dataset has it: NaN for what is missing, ``hours since …`` moments."""
    import netCDF4

    attrs = {key: variable.getncattr(key) for key in variable.ncattrs()}
    values, dims = variable[...], tuple(variable.dimensions)
    step, since, start = str(attrs.get("units", "")).partition(" since ")
    kind = "O" if variable.dtype is str else np.asarray(values).dtype.kind
    if kind == "S" and len(dims) == np.ndim(values) > 0:
        values, dims = netCDF4.chartostring(np.ma.getdata(values)), dims[:-1]
    elif since and kind in "iuf":
        if str(attrs.get("calendar", "standard")).lower() not in _GREGORIAN:
            raise ValueError(f"time stamps of the calendar {attrs['calendar']!r}")
        scale = _NANOSECONDS[step.strip().lower().removesuffix("s")]
        values = _moments(np.ma.asarray(values), scale, start)
    elif np.ma.is_masked(values) and kind in "iuf":
        values = np.ma.filled(values.astype(np.float64), np.nan)
    return SimpleNamespace(dims=dims, values=np.asarray(np.ma.getdata(values)), attrs=attrs)


def _moments(values: Any, scale: int, start: str) -> Any:
    """Return counts of so many nanoseconds as time stamps; whole counts stay whole."""
    first, numbers = datetime.fromisoformat(start.strip()), np.ma.getdata(values)
    if first.tzinfo is not None:
        first = first.astimezone(UTC).replace(tzinfo=None)
    whole = numbers.dtype.kind in "iu"
    passed = numbers.astype(np.int64) * scale if whole else np.rint(numbers * scale)
    moments = np.datetime64(first, "ns") + passed.astype(np.int64).astype("m8[ns]")
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
    marks = {str(dim): _along(str(dim), variables[dim], file) for dim in dims if dim in coordinates}
    for name, array in variables.items():
        if name in coordinates:
            continue
        values, own = array.values, tuple(map(str, array.dims))
        try:
            texts = values.dtype.kind == "O" and any(
                isinstance(v, str | bytes) for v in values.flat
            )
            if values.dtype.kind not in "biufO" or texts:
                raise TypeError("texts")
            data = np.asarray(values, dtype=np.float64)
        except (TypeError, ValueError):
            faults[str(name)] = InputError(f"{name} holds no numbers", file)
            continue
        unit, quantity = array.attrs.get("units"), array.attrs.get("quantity")
        columns[str(name)] = Column(
            data,
            None if unit is None else str(unit),
            str(quantity) if quantity else None,
            own,
            {dim: marks[dim] for dim in own if dim in marks},
            own=unit is not None,
            file=file,
        )
    return Content(columns, {str(k): v for k, v in attrs.items()}, faults)


def _along(name: str, given: Any, file: str) -> Marks:
    """Return the labels or the time stamps of an axis; they are UTC where a zone is named."""
    moments = given.values
    if moments.dtype.kind != "M":
        return tuple(str(value) for value in moments.tolist())
    for row in np.flatnonzero(np.isnat(moments))[:1]:
        raise InputError(f"a time stamp of {name} is missing", file, found=f"at place {row + 1}")
    zoned = "zone" in given.attrs or str(given.attrs.get("timezone", "")).upper() == "UTC"
    seconds = moments.astype("datetime64[ns]").astype(np.int64) / 1e9

    def fault(row: int, message: str) -> InputError:
        return InputError(f"{name}, value {row + 1}: {message}", file, found=str(moments[row])[:19])

    return Stamps(seconds, seconds, zoned, fault)
