"""A solution as arrays or an ``xarray.Dataset``: series with axes, units, the solver's account.

The layout is that of ``docs/architecture.md``: one variable per decision variable and named
expression, ``dual__``, ``reduced_cost__`` and ``farkas__`` variables, and attributes that say how
the solve went. An attribute that has no value is left out.
"""

import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from engiagent.errors import InputError
from engiagent.formulations.program import Block, Program
from engiagent.io.gridfiles import STEPS, StoredArray, read_arrays
from engiagent.solvers.arrays import AnySolution, NamedArray, SolutionArrays
from engiagent.solvers.result import Floats, SolverResult

if TYPE_CHECKING:
    import xarray

_OF_THE_FILE: Final = ("_FillValue", "coordinates")
_DIFFERENCES = {"degC": "K", "degF": "degF_diff"}


def to_arrays(program: Program, result: SolverResult) -> SolutionArrays:
    """Return the solution of a program as plain arrays, without importing xarray.

    ``program``: the program, whose blocks give names, units and index sets. ``result``: what the
    solver returned for it.

    Returns the arrays; elements that a filter left out are NaN. Without a point there are no
    series, only attributes, and the multipliers that prove infeasibility where there are any.
    """
    series = {array.name: array for array in _series(program, result)}
    axes = {}
    for dim in sorted({dim for array in series.values() for dim in array.dims}):
        set_name = dim.split("__")[0] if dim not in program.coordinates else dim
        coordinate = program.coordinates.get(set_name)
        if coordinate is not None:
            attrs = {"zone": coordinate.zone} if coordinate.zone is not None else {}
            axes[dim] = NamedArray(dim, (dim,), coordinate.values, attrs)
    return SolutionArrays(series, axes, _account(program, result))


def to_dataset(program: Program, result: SolverResult) -> "xarray.Dataset":
    """Return the solution of a program as a dataset: :func:`to_arrays` for whoever uses xarray."""
    return to_arrays(program, result).to_xarray()


def _series(program: Program, result: SolverResult) -> Iterator[NamedArray]:
    columns = [block for block in program.columns if not block.generated]
    if result.x is not None:
        for column in columns:
            values = result.x[column.start : column.stop]
            about = {"quantity": column.quantity, "role": column.role}
            yield _array(column.name, column, values, column.unit, about)
        for expression in program.expressions:
            about = {"quantity": expression.quantity, "role": "expression"}
            values = expression.evaluate(result.x)
            yield _array(expression.name, expression, values, expression.unit, about)
    pairs = zip(row_names(program), program.rows, strict=True)
    rows = [(name, block) for name, block in pairs if not block.generated]
    if result.row_dual is not None:
        for name, row in rows:
            values = result.row_dual[row.start : row.stop]
            yield _array(f"dual__{name}", row, values, _price_unit(program, row), {})
    if result.column_dual is not None:
        for column in columns:
            values = result.column_dual[column.start : column.stop]
            unit = _price_unit(program, column)
            yield _array(f"reduced_cost__{column.name}", column, values, unit, {})
    if result.farkas is not None:
        for name, row in rows:
            values = result.farkas[row.start : row.stop]
            yield _array(f"farkas__{name}", row, values, None, {})


def _array(
    name: str, block: Block, values: Floats, unit: str | None, about: dict[str, str | None]
) -> NamedArray:
    attrs = {"units": unit, **about, "long_name": block.description}
    present = {key: item for key, item in attrs.items() if item is not None}
    return NamedArray(name, _dimensions(block.sets), _on_grid(block, values), present)


def _dimensions(sets: Sequence[str]) -> tuple[str, ...]:
    """Return one name per dimension; a set that comes twice is T and T__2."""
    return tuple(
        name if (count := sets[: place + 1].count(name)) == 1 else f"{name}__{count}"
        for place, name in enumerate(sets)
    )


def _on_grid(block: Block, values: Floats) -> Floats:
    """Return the values on the full grid of the block's sets, NaN in the holes."""
    if block.positions is None:
        return values.reshape(block.shape)
    grid = np.full(int(np.prod(block.shape)), np.nan)
    grid[block.positions] = values
    return grid.reshape(block.shape)


def row_names(program: Program) -> list[str]:
    """Return a name for the rows of each constraint; a constraint of two blocks gets a number."""
    seen: dict[str, int] = {}
    names = []
    for row in program.rows:
        name = row.constraint_id.replace("/", "_")
        seen[name] = seen.get(name, 0) + 1
        names.append(name if seen[name] == 1 else f"{name}__{seen[name]}")
    return names


def _price_unit(program: Program, block: Block) -> str:
    """Return the unit of ∂objective/∂right-hand side."""
    worth = _DIFFERENCES.get(program.objective_unit, program.objective_unit)
    if block.unit in ("", "1"):
        return worth
    over, *under = (_DIFFERENCES.get(part, part) for part in block.unit.split("/"))
    price = "*".join([worth, *under])
    return price if over == "1" else f"{price}/{over if over.isalnum() else f'({over})'}"


def _account(program: Program, result: SolverResult) -> dict[str, Any]:
    """Return the solver's own account as attributes that netCDF can hold."""
    account: dict[str, Any] = {
        "status": result.status,
        "reason": result.reason,
        "objective": result.objective,
        "objective_name": program.objective_name,
        "objective_unit": program.objective_unit,
        "sense": program.sense,
        "bound": result.bound,
        "gap": result.gap,
        "solver": result.solver,
        "solver_version": result.solver_version,
        "seconds": result.seconds,
        "iterations": result.iterations,
        "nodes": result.nodes,
        "is_mip": int(result.is_mip),
        "blueprint_sha256": program.blueprint_sha256,
    }
    if result.x is not None:
        for goal in program.goals:
            account[f"goal__{goal.name}"] = float(goal.cost @ result.x) + goal.offset
            account[f"goal_unit__{goal.name}"] = goal.unit
    if result.is_mip and result.row_dual is not None:
        account["duals"] = "with the whole numbers fixed"
    return {key: item for key, item in account.items() if item is not None}


def stored_arrays(solution: AnySolution) -> Iterator[tuple[str, Any]]:
    """Yield name and array of everything stored, without making coordinates for each anew."""
    for name, array in solution.variables.items():
        if name not in solution.coords:
            yield str(name), array


def save_solution(solution: AnySolution, path: str | Path) -> None:
    """Write a solution as netCDF, as xarray writes it; the file is whole or absent."""
    import netCDF4

    arrays, target = SolutionArrays.of(solution), Path(path)
    part = target.with_name(f".{target.name}.part")
    try:
        with netCDF4.Dataset(part, "w", format="NETCDF4") as file:
            stored = [_encoded(array) for array in arrays.variables.values()]
            apart = [name for name in arrays.coords if name not in arrays.dims]
            listed = {"coordinates": " ".join(apart)} if apart else {}
            file.setncatts({**arrays.attrs, **listed})
            for array in stored:
                for dim, size in array.sizes.items():
                    if dim not in file.dimensions:
                        file.createDimension(dim, size)
            written = []
            for array in stored:
                kind: Any = str if array.dtype.kind in "UO" else array.dtype
                empty = np.nan if array.dtype.kind == "f" else None
                variable = file.createVariable(array.name, kind, array.dims, fill_value=empty)
                variable.setncatts(dict(array.attrs))
                written.append(variable)
            # After all definitions: to define and to write in turns is quadratic.
            for array, variable in zip(stored, written, strict=True):
                texts = array.dtype.kind in "UO"
                variable[...] = array.values.astype(object) if texts else array.values
        os.replace(part, target)
    finally:
        part.unlink(missing_ok=True)


def _encoded(array: NamedArray) -> NamedArray:
    """Return an array as netCDF can hold it: instants as whole counts, flags as numbers."""
    if array.dtype.kind == "b":
        return replace(
            array, values=array.values.astype("i1"), attrs={**array.attrs, "dtype": "bool"}
        )
    if array.dtype.kind != "M":
        return array
    moments = array.values.astype("datetime64[ns]").astype(np.int64)
    first = int(moments.flat[0]) // 10**9 * 10**9 if moments.size else 0
    passed = moments - first
    unit = next(name for name, length in STEPS.items() if not (passed % length).any())
    start = str(np.datetime64(first, "ns").astype("datetime64[s]")).replace("T", " ")
    attrs = {"units": f"{unit} since {start}", "calendar": "proleptic_gregorian"}
    return replace(array, values=passed // STEPS[unit], attrs={**array.attrs, **attrs})


def load_arrays(path: str | Path) -> SolutionArrays:
    """Return a solution that :func:`save_solution` wrote; InputError when it cannot be read."""
    if not Path(path).is_file():
        raise InputError("no such file", str(path))
    stored = read_arrays(Path(path))
    account = {name: item for name, item in stored.attrs.items() if name not in _OF_THE_FILE}
    series, axes = (
        {name: _decoded(name, array) for name, array in group.items()}
        for group in (stored.data_vars, stored.coords)
    )
    return SolutionArrays(series, axes, account)


def _decoded(name: str, array: StoredArray) -> NamedArray:
    moments, flags = array.values.dtype.kind == "M", array.attrs.get("dtype") == "bool"
    values = array.values.astype(bool) if flags else array.values
    dropped = {*_OF_THE_FILE, *(("units", "calendar") if moments else ())}
    dropped |= {"dtype"} if flags else set()
    attrs = {key: item for key, item in array.attrs.items() if key not in dropped}
    return NamedArray(name, array.dims, values, attrs)


def load_solution(path: str | Path) -> "xarray.Dataset":
    """Return a solution as a dataset: :func:`load_arrays` for whoever uses xarray."""
    return load_arrays(path).to_xarray()
