"""Schedules as arrays with named axes: xarray datasets and netCDF files."""

from typing import Any

import numpy as np

from engiagent.errors import InputError
from engiagent.verify.alignment import Stamps
from engiagent.verify.reading import Column, Content, Marks


def read_dataset(dataset: Any, file: str = "the schedule") -> Content:
    """Return the content of an ``xarray.Dataset``, or of anything of its form.

    Raises InputError when a time stamp is missing.
    """
    # Asked for one by one, each array of a dataset takes as long as there are arrays; plain arrays
    # of a solution have no such view.
    variables = dict(getattr(dataset, "variables", dataset.data_vars))
    coordinates = set(dataset.coords)
    marks = {
        str(dim): _along(str(dim), dataset.coords[dim], file)
        for dim in dataset.dims
        if dim in coordinates
    }
    columns: dict[str, Column] = {}
    faults: dict[str, InputError] = {}
    for name, array in variables.items():
        if name in coordinates:
            continue
        values, own = array.values, tuple(map(str, array.dims))
        listed = values.flat if values.dtype.kind == "O" else ()
        if values.dtype.kind not in "biufO" or any(isinstance(v, str | bytes) for v in listed):
            faults[str(name)] = InputError(f"{name} holds no numbers", file)
            continue
        unit, quantity = array.attrs.get("units"), array.attrs.get("quantity")
        columns[str(name)] = Column(
            np.asarray(values, dtype=np.float64),
            None if unit is None else str(unit),
            str(quantity) if quantity else None,
            own,
            {dim: marks[dim] for dim in own if dim in marks},
            own=unit is not None,
            file=file,
        )
    return Content(columns, {str(k): v for k, v in dataset.attrs.items()}, faults)


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
