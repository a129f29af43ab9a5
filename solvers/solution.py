"""A solution as arrays or an ``xarray.Dataset``: series with axes, units, the solver's account.

The layout is that of ``docs/architecture.md``: one variable per decision variable and named
expression, ``dual__``, ``reduced_cost__`` and ``farkas__`` variables, and attributes that say how
the solve went. An attribute that has no value is left out.
"""

import os
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

import numpy as np

from engiagent.errors import InputError
from engiagent.formulations.program import Block, Program
from engiagent.solvers.arrays import NamedArray, SolutionArrays
from engiagent.solvers.result import Floats, SolverResult

if TYPE_CHECKING:
    import xarray

ENGINE: Literal["netcdf4"] = "netcdf4"
MOST_UNPACKED: Final = 10_000_000
MOST_TIMES: Final = 20
"""Bytes that any file may unpack to, and how many times its own size beyond them."""
_DIFFERENCES = {"degC": "K", "degF": "degF_diff"}


def to_arrays(program: Program, result: SolverResult) -> SolutionArrays:
    """Return the solution of a program as plain arrays, without importing xarray.

    Parameters
    ----------
    program
        The program, whose blocks give names, units and index sets.
    result
        What the solver returned for it.

    Returns
    -------
    The arrays; elements that a filter left out are NaN. Without a point there are no series, only
    attributes, and the multipliers that prove infeasibility where there are any.
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


def stored_arrays(dataset: "xarray.Dataset") -> "Iterator[tuple[str, xarray.Variable]]":
    """Yield name and array of everything stored, without coordinates.

    Looking one up as ``dataset[name]`` makes its coordinates anew from all variables, which is
    quadratic where there are thousands of scalars.
    """
    for name, array in dataset.variables.items():
        if name not in dataset.coords:
            yield str(name), array


def save_solution(dataset: "xarray.Dataset", path: str | Path) -> None:
    """Write a solution as netCDF; the file is whole or absent."""
    from xarray.backends import NetCDF4DataStore
    from xarray.backends.common import ArrayWriter

    class Deferred(ArrayWriter):
        """Collects what is to be written: to define and to write in turns is quadratic."""

        def __init__(self) -> None:
            super().__init__()  # type: ignore[no-untyped-call]
            self.waiting: list[tuple[Any, Any]] = []

        def add(self, source: Any, target: Any, region: Any = None) -> None:
            self.waiting.append((source, target))

    target, writer = Path(path), Deferred()
    part = target.with_name(f".{target.name}.part")
    try:
        opened = NetCDF4DataStore.open(part, mode="w", format="NETCDF4")  # type: ignore[no-untyped-call]
        with closing(opened) as store:
            dataset.dump_to_store(store, writer=writer)
            for values, place in writer.waiting:
                place[...] = values
        os.replace(part, target)
    finally:
        part.unlink(missing_ok=True)


def load_solution(path: str | Path) -> "xarray.Dataset":
    """Return a solution that :func:`save_solution` wrote, in memory.

    Raises
    ------
    InputError
        When the file cannot be read as netCDF, or declares far more than it holds.
    """
    import xarray

    if not Path(path).is_file():
        raise InputError("no such file", str(path))
    try:
        with xarray.open_dataset(path, engine=ENGINE) as dataset:
            _check_size(dataset, Path(path))
            return dataset.load()
    except InputError:
        raise
    except (OSError, ValueError, KeyError) as error:
        raise InputError("cannot read the solution", str(path), found=str(error)) from None


def _check_size(dataset: "xarray.Dataset", path: Path) -> None:
    """Raise before anything is read: a small file can declare, or be packed from, any size."""
    declared = sum(array.nbytes for array in dataset.variables.values())
    if declared > MOST_UNPACKED + MOST_TIMES * path.stat().st_size:
        raise InputError(
            "the solution declares more than its file holds",
            str(path),
            found=f"{declared / 1e6:.0f} MB",
            expected=f"{MOST_TIMES} times the file at most",
        )
