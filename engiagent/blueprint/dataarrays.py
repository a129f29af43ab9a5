"""Values of parameters from arrays of netCDF files, dimensions matched to the index sets."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from engiagent.blueprint.datawanted import Wanted, converted_by, element_text, label_text, listed
from engiagent.blueprint.places import positions_in
from engiagent.blueprint.sets import IndexSet
from engiagent.blueprint.stamps import parse_stamp
from engiagent.blueprint.timeaxis import Ints
from engiagent.blueprint.values import Array
from engiagent.errors import InputError
from engiagent.io.gridfiles import GridVariable

Coordinates = Mapping[str, tuple[str, tuple[str, ...]]]


def from_grid(grid: GridVariable, keys: tuple[str, ...], wanted: Wanted) -> Array:
    """Return a netCDF variable with its dimensions in the order of the sets.

    Raises
    ------
    InputError
        When dimensions, labels, stamps or values do not fit the sets.
    UnitError
        When the variable is in a unit of another dimension.
    """
    parts, file = wanted.parts, grid.file
    where = f"the variable {grid.name!r}"
    if len(grid.dims) != len(parts):
        shape = f"({', '.join(grid.dims)})"
        needed = ", ".join(part.name for part in parts) or "a single value"
        raise InputError(f"{where} runs over other sets", file, found=shape, expected=needed)
    axes = _axes(grid.dims, grid.coordinates, keys, parts, file)
    values = grid.values.transpose(axes)
    for axis, (part, number) in enumerate(zip(parts, axes, strict=True)):
        key = keys[axis] if keys else grid.dims[number]
        along = _along(grid.dims[number], key, grid.coordinates)
        values = np.take(values, _order(along, part, values.shape[axis], file, key), axis=axis)
    values = _listed_tuples(values, wanted, where, file)
    if wanted.unit is None:
        return np.array([str(v) for v in values.reshape(-1)], dtype=object).reshape(values.shape)
    if values.dtype == object:
        raise InputError(f"{where} holds text", file, expected="numbers")
    _refuse_gaps(values, wanted, where, file)
    if wanted.overridden or not grid.unit_text:
        return values
    factor, shift = converted_by(grid.unit_text, wanted.unit, f"{file}: {where}")
    return np.asarray(values * factor + shift)


def _axes(
    dims: tuple[str, ...],
    coordinates: Coordinates,
    keys: tuple[str, ...],
    parts: tuple[IndexSet, ...],
    file: str,
) -> list[int]:
    """Return, for each part, which dimension of the file it is."""
    if keys:
        named = [key if key in dims else coordinates.get(key, (None, ()))[0] for key in keys]
        for key, dim in zip(keys, named, strict=True):
            if dim is None:
                raise InputError(f"there is no dimension {key!r}", file, expected=", ".join(dims))
        if sorted(map(str, named)) != sorted(dims):
            raise InputError("'keys' must name every dimension once", file, found=", ".join(keys))
        return [dims.index(str(dim)) for dim in named]
    names = [part.name for part in parts]
    if sorted(names) == sorted(dims) and len(set(dims)) == len(dims):
        return [dims.index(name) for name in names]
    fits = [[_fits(dim, part, coordinates) for dim in dims] for part in parts]
    chosen = [row.index(True) for row in fits if sum(row) == 1]
    if len(chosen) == len(parts) and len(set(chosen)) == len(parts):
        return chosen
    return list(range(len(dims)))


def _fits(dim: str, part: IndexSet, coordinates: Coordinates) -> bool:
    """Whether a dimension has the labels of a set."""
    texts = _along(dim, dim, coordinates)
    if texts is None or len(texts) < part.size:
        return False
    try:
        return bool(np.all(np.isin(np.arange(part.size), positions_in(texts, part))))
    except ValueError:
        return False


def _along(dim: str, key: str, coordinates: Coordinates) -> tuple[str, ...] | None:
    """Return the labels along a dimension: its own, those named, or the only time stamps."""
    for name in (key, dim):
        if name in coordinates and coordinates[name][0] == dim:
            texts: tuple[str, ...] = coordinates[name][1]
            return texts
    stamped = [
        texts
        for along, texts in coordinates.values()
        if along == dim and texts and parse_stamp(texts[0]) is not None
    ]
    return stamped[0] if len(stamped) == 1 else None


def _order(texts: tuple[str, ...] | None, part: IndexSet, size: int, file: str, dim: str) -> Ints:
    """Return the places along a dimension at which the elements of a set stand, in their order."""
    undated = part.root.axis is not None and not part.root.axis.dated
    if texts is None or (undated and part.root.kind in ("time", "instants")):
        if size != part.size:
            raise InputError(
                "wrong number of values",
                file,
                found=f"{size} along {dim}",
                expected=f"{part.size}, as {part.name} has elements",
            )
        return np.arange(size, dtype=np.int64)
    try:
        found = positions_in(texts, part)
    except ValueError as error:
        raise InputError(f"dimension {dim!r}: {error}", file) from None
    for row in np.flatnonzero(found < 0)[:1]:
        text = f"dimension {dim!r}, place {row + 1}: no element of {part.name}"
        raise InputError(text, file, found=repr(texts[row][:60]), expected=listed(part))
    counts = np.bincount(found, minlength=part.size)
    for position in np.flatnonzero(counts != 1)[:1]:
        what = "is there twice" if counts[position] else "is not there"
        raise InputError(f"dimension {dim!r}: {label_text(part.labels[position])} {what}", file)
    return np.argsort(found, kind="stable")


def _listed_tuples(values: Array, wanted: Wanted, where: str, file: str) -> Array:
    """Pick the elements of tuple sets out of the product of their parts.

    Raises
    ------
    InputError
        When the array holds a number for a combination that is no element.
    """
    whole = values
    for axis, index_set in enumerate(wanted.sets):
        if index_set.root.factors:
            chosen = tuple(c[index_set.in_root] for c in index_set.root.columns)
            values = values[((slice(None),) * axis + chosen)]
    if values is not whole and whole.dtype != object:
        extra = int(np.isfinite(whole).sum() - np.isfinite(values).sum())
        if extra:
            names = ", ".join(s.name for s in wanted.sets if s.root.factors)
            text = f"{where} holds {extra} values for combinations that are no element of {names}"
            raise InputError(text, file, expected="no value there")
    return values


def _refuse_gaps(values: npt.NDArray[Any], wanted: Wanted, where: str, file: str) -> None:
    good = np.isfinite(values)
    if not bool(good.all()):
        place = element_text(int(np.argmin(good.reshape(-1))), wanted.sets) if wanted.sets else ""
        at = f" at {place}" if place else ""
        raise InputError(f"{where}{at}: a value is missing or not finite", file)
