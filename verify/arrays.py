"""Schedules as arrays with named axes: xarray datasets and netCDF files, sizes looked at first."""

from pathlib import Path
from typing import Any, Final

import numpy as np

from engiagent.errors import InputError
from engiagent.verify.reading import Column, Content
from engiagent.verify.series import Coordinate
from engiagent.verify.stampcolumns import Stamps

MAX_CELLS: Final = 60_000_000
_UNREADABLE: Final = (
    ValueError,
    OSError,
    KeyError,
    RuntimeError,
    TypeError,
    AttributeError,
    IndexError,
    OverflowError,
    MemoryError,
    NotImplementedError,
)


def read_netcdf(path: Path) -> Content:
    """Return the content of a netCDF file.

    Raises
    ------
    InputError
        When it cannot be read, or declares more numbers than anybody's schedule has.
    """
    import xarray as xr

    try:
        with xr.open_dataset(path, engine="netcdf4", decode_timedelta=False) as dataset:
            _check_size(dataset, path.name)
            return read_dataset(dataset.load(), path.name)
    except InputError:
        raise
    except _UNREADABLE as error:
        reason = str(error).split("\n")[0][:200]
        raise InputError(f"no readable netCDF: {reason}", path.name) from None


def _check_size(dataset: Any, file: str) -> None:
    """Raise before anything is read: a small file can declare any size."""
    cells = sum(int(np.prod(array.shape, dtype=np.float64)) for array in dataset.variables.values())
    if cells > MAX_CELLS:
        raise InputError("too many numbers", file, found=str(cells), expected=f"up to {MAX_CELLS}")


def read_dataset(dataset: Any, file: str = "the schedule") -> Content:
    """Return the content of an ``xarray.Dataset``, or of anything of its form.

    Raises
    ------
    InputError
        When a variable holds no numbers.
    """
    columns: dict[str, Column] = {}
    faults: dict[str, InputError] = {}
    axes = {
        str(dim): _along(dataset.coords[dim], file) for dim in dataset.dims if dim in dataset.coords
    }
    along = set(dataset.coords)
    # Asked for one by one, each array of a dataset takes as long as there are arrays; plain arrays
    # of a solution have no such view.
    for name, array in getattr(dataset, "variables", dataset.data_vars).items():
        if name in along:
            continue
        try:
            if array.dtype.kind not in "biufO" or _holds_text(array.values):
                raise TypeError("texts")
            data = np.asarray(array.values, dtype=np.float64)
        except (TypeError, ValueError):
            faults[str(name)] = InputError(f"{name} holds no numbers", file)
            continue
        dims = tuple(map(str, array.dims))
        mine = {dim: axes[dim] for dim in dims if dim in axes}
        unit, quantity = array.attrs.get("units"), array.attrs.get("quantity")
        columns[str(name)] = Column(
            data,
            None if unit is None else str(unit),
            str(quantity) if quantity else None,
            dims,
            {dim: labels for dim, (labels, _, _) in mine.items()},
            {dim: stamps for dim, (_, stamps, _) in mine.items() if stamps is not None},
            any(zoned for _, _, zoned in mine.values()),
            own=unit is not None,
            file=file,
        )
    return Content(columns, {str(k): v for k, v in dataset.attrs.items()}, faults)


def _holds_text(values: Any) -> bool:
    """Whether an array of objects holds texts, which numpy would take for numbers."""
    return values.dtype.kind == "O" and any(isinstance(v, str | bytes) for v in values.flat)


def _along(given: Any, file: str) -> tuple[Coordinate, Stamps | None, bool]:
    """Return labels or time stamps of an axis, and whether the stamps are UTC."""
    if not np.issubdtype(given.dtype, np.datetime64):
        return tuple(str(value) for value in given.values.tolist()), None, False
    moments = given.values
    if np.isnat(moments).any():
        row = int(np.argmax(np.isnat(moments))) + 1
        raise InputError(f"a time stamp of {given.name} is missing", file, found=f"at place {row}")
    zoned = "zone" in given.attrs or str(given.attrs.get("timezone", "")).upper() == "UTC"
    seconds = moments.astype("datetime64[ns]").astype(np.int64) / 1e9

    def fault(row: int, message: str) -> InputError:
        return InputError(
            f"{given.name}, value {row + 1}: {message}", file, found=str(moments[row])[:19]
        )

    return moments, Stamps(seconds, seconds, zoned, fault), zoned
