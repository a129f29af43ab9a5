"""The dataset of a solution: coordinates, units, holes, and its way through a file."""

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import xarray

from engiagent.errors import InputError
from engiagent.formulations.program import (
    ColumnBlock,
    Coordinate,
    ExpressionBlock,
    Program,
    RowBlock,
)
from engiagent.solvers.solution import load_solution, save_solution, to_dataset
from engiagent.solvers.solving import solve

HOURS = np.array(["2025-10-26T00:00", "2025-10-26T01:00", "2025-10-26T02:00"], "M8[ns]")


def store() -> Program:
    """Charge a store over three hours; it may not charge in the second (a filter's hole)."""
    return Program(
        sense="minimize",
        cost=np.array([3.0, 1.0, 0.0, 0.0, 0.0, 0.0]),
        column_lower=np.array([0, 0, 5, 0, 0, 12.0]),
        column_upper=np.array([10, 6, 5, 20, 20, 20.0]),
        integrality=np.zeros(6, dtype=bool),
        row_starts=np.array([0, 3, 5, 8]),
        row_columns=np.array([0, 2, 3, 3, 4, 1, 4, 5]),
        row_values=np.array([1.0, 1, -1, 1, -1, 1, 1, -1]),
        row_lower=np.zeros(3),
        row_upper=np.zeros(3),
        columns=(
            ColumnBlock(
                name="charge",
                start=0,
                stop=2,
                unit="kW",
                sets=("T",),
                shape=(3,),
                positions=np.array([0, 2]),
                quantity="battery.charge",
                role="decision",
                description="power into the store",
            ),
            ColumnBlock(name="soc", start=2, stop=6, unit="kWh", sets=("I",), shape=(4,)),
        ),
        rows=(
            RowBlock(
                name="balance",
                constraint_id="C1",
                start=0,
                stop=3,
                unit="kWh",
                sets=("T",),
                shape=(3,),
            ),
        ),
        expressions=(
            ExpressionBlock(
                name="bought",
                start=0,
                stop=1,
                unit="kWh",
                row_starts=np.array([0, 2]),
                row_columns=np.array([0, 1]),
                row_values=np.array([1.0, 1.0]),
                constant=np.array([0.5]),
            ),
        ),
        coordinates={
            "T": Coordinate("T", "time", HOURS, "Europe/Berlin"),
            "I": Coordinate("I", "instants", np.array(["a", "b", "c", "end"])),
        },
        objective_unit="EUR",
    )


def test_series_have_names_units_coordinates_and_holes() -> None:
    data = to_dataset(store(), solve(store(), isolate=False))
    assert data.charge.dims == ("T",)
    assert data.charge.values[[0, 2]] == pytest.approx([1, 6])
    assert math.isnan(data.charge.values[1])
    assert data.charge.attrs == {
        "units": "kW",
        "quantity": "battery.charge",
        "role": "decision",
        "long_name": "power into the store",
    }
    assert data.soc.sel(I="end") == 12
    assert data.bought == 7.5
    assert data["T"].attrs["zone"] == "Europe/Berlin"
    assert data["T"].dtype == "datetime64[ns]"
    assert data["dual__C1"].attrs["units"] == "EUR/kWh"
    assert data["reduced_cost__charge"].values[2] == pytest.approx(-2)
    assert data.attrs["status"] == "optimal"
    assert data.attrs["objective"] == 9
    assert data.attrs["is_mip"] == 0


def test_a_file_gives_back_what_was_written(tmp_path: Path) -> None:
    data = to_dataset(store(), solve(store(), isolate=False))
    save_solution(data, tmp_path / "solution.nc")
    again = load_solution(tmp_path / "solution.nc")
    xarray.testing.assert_identical(data, again)
    assert [path.name for path in tmp_path.iterdir()] == ["solution.nc"]


def test_an_infeasible_solution_holds_the_proof_and_no_series(tmp_path: Path) -> None:
    program = store()
    upper = program.column_upper.copy()
    upper[:2] = 3.0
    result = solve(replace(program, column_upper=upper), isolate=False)
    data = to_dataset(program, result)
    assert list(data.data_vars) == ["farkas__C1"]
    assert data.attrs["status"] == "infeasible"
    assert "objective" not in data.attrs
    save_solution(data, tmp_path / "solution.nc")
    xarray.testing.assert_identical(data, load_solution(tmp_path / "solution.nc"))


def test_unreadable_files_are_refused_with_a_message(tmp_path: Path) -> None:
    (tmp_path / "text.nc").write_text("no netCDF at all")
    with pytest.raises(InputError, match="no readable netCDF"):
        load_solution(tmp_path / "text.nc")
    with pytest.raises(InputError, match="no such file"):
        load_solution(tmp_path / "absent.nc")
