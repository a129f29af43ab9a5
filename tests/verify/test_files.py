"""Data files of every kind are read a second time and compared number by number."""

from pathlib import Path
from typing import Any

import netCDF4
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from engiagent.blueprint.document import Blueprint
from engiagent.units.unit import parse_unit
from engiagent.verify.columns import read_again
from engiagent.verify.documents import Bench, Declarations
from engiagent.verify.frames import EvaluationError
from engiagent.verify.levels.data import _compare_arrays
from engiagent.verify.levels.literals import Tracing
from tests.verify.example import make_problem
from tests.verify.small import document
from tests.written import listing

SETS: list[dict[str, Any]] = listing("""
    - {name: T, kind: time, start: "2025-07-01T00:00", step: 1 h, periods: 3, zone: Europe/Berlin}
    - {name: G, kind: labels, elements: [G1, G2]}
    - {name: Bus, kind: labels, elements: [A, B, C]}
    - {name: Line, kind: tuples, of: [Bus, Bus], elements: [[A, B], [B, C]]}
""")


def bench(folder: Path, **definition: Any) -> tuple[Blueprint, Bench]:
    blueprint = document([], sets=SETS, parameters=[{"name": "p", "unit": "kW"} | definition])
    return blueprint, Bench(Declarations(blueprint.core, folder), {})


def both(folder: Path, **definition: Any) -> tuple[list[float], list[float]]:
    """Return the parameter as the blueprint reads it and as the checker does, in kW."""
    blueprint, here = bench(folder, **definition)
    symbol = here.evaluator.environment.symbol("p")
    assert symbol.value is not None
    again = read_again(blueprint.core.parameters[0], symbol.dims, symbol.value.unit, folder)
    return symbol.value.shown.tolist(), (again / float(parse_unit("kW").factor)).tolist()


def test_long_wide_and_plain_tables(tmp_path: Path) -> None:
    (tmp_path / "long.csv").write_text(
        "to,from,time,v [MW]\n"
        + "".join(
            f"{b},{a},2025-07-01T0{h}:00,{h + (10 if a == 'B' else 0)}\n"
            for h in (2, 0, 1)
            for a, b in (("B", "C"), ("A", "B"))
        )
    )
    expected = [0, 1000, 2000, 10000, 11000, 12000]
    mine, again = both(
        tmp_path, index=["Line", "T"], data="long.csv#v", keys=["from", "to", "time"]
    )
    assert mine == again == expected
    (tmp_path / "wide.csv").write_text(
        "time,G2 [MW],G1\n2025-07-01T00:00,1,2\n2025-07-01T01:00,3,4\n2025-07-01T02:00,5,6\n"
    )
    for keys in ([], ["time"]):
        mine, again = both(tmp_path, index=["G", "T"], data="wide.csv#*", keys=keys)
        assert mine == again == [2, 4, 6, 1000, 3000, 5000]


def test_parquet_and_netcdf(tmp_path: Path) -> None:
    pq.write_table(pa.table({"g": ["G2", "G1"], "p [MW]": [2.0, 1.0]}), tmp_path / "d.parquet")
    mine, again = both(tmp_path, index=["G"], data="d.parquet#p", keys=["g"])
    assert mine == again == [1000, 2000]
    with netCDF4.Dataset(tmp_path / "d.nc", "w") as out:
        out.createDimension("time", 3)
        out.createDimension("unit", 2)
        labels = out.createVariable("unit", str, ("unit",))
        labels[0], labels[1] = "G2", "G1"
        stamps = out.createVariable("time", "i4", ("time",))
        stamps.units, stamps[:] = "hours since 2025-07-01 00:00:00", [0, 1, 2]
        power = out.createVariable("power", "f8", ("time", "unit"))
        power[:], power.units = [[1, 2], [3, 4], [5, 6]], "MW"
    mine, again = both(tmp_path, index=["G", "T"], data="d.nc#power")
    assert mine == again == [2000, 4000, 6000, 1000, 3000, 5000]


def test_a_number_that_is_not_the_files_is_told(tmp_path: Path) -> None:
    (tmp_path / "d.csv").write_text("g,v\nG2,2\nG1,1\n")
    _, here = bench(tmp_path, index=["G"], data="d.csv#v", keys=["g"])
    symbol = here.evaluator.environment.symbol("p")
    tracing = Tracing(make_problem(tmp_path))
    _compare_arrays(tracing, "p", symbol, np.array([1000.0, 2500.0]), "d.csv#v")
    assert "value 2 is 2 kW, d.csv#v says 2.5 kW" in tracing.violations[0].message


def test_a_file_without_a_number_for_an_element_is_refused(tmp_path: Path) -> None:
    (tmp_path / "d.csv").write_text("g,v\nG1,1\n")
    blueprint, here = bench(tmp_path, index=["G"], data="d.csv#v", keys=["g"])
    dims = (here.declarations.sets["G"],)
    with pytest.raises(EvaluationError, match=r"none for \('G2',\)"):
        read_again(blueprint.core.parameters[0], dims, parse_unit("kW"), tmp_path)
