"""Parameters from files: long, wide and sparse tables, arrays; every fault with its place."""

from pathlib import Path
from typing import Any

import netCDF4
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engiagent.blueprint.analysis import analyse
from engiagent.blueprint.diagnostics import BlueprintError
from engiagent.blueprint.elaborate import Elaboration
from tests.blueprints import blueprint
from tests.written import mapping

DAY = mapping("""
    {name: T, kind: time, start: "2025-07-01T00:00", step: 1 h, periods: 3, zone: Europe/Berlin}
""")
SETS: list[dict[str, Any]] = [
    DAY,
    {"name": "I", "kind": "instants", "of": "T"},
    {"name": "T_late", "kind": "subset", "of": "T", "where": "pos(t) >= 1"},
    {"name": "G", "kind": "labels", "elements": ["G1", "G2"]},
    {"name": "K", "kind": "range", "start": 1, "stop": 3},
    {"name": "H", "kind": "time", "start": "18:00", "step": "1 h", "periods": 3},
    {"name": "Bus", "kind": "labels", "elements": ["A", "B", "C"]},
    {"name": "Line", "kind": "tuples", "of": ["Bus", "Bus"], "elements": [["A", "B"], ["B", "C"]]},
]


def table(folder: Path, data: str, *index: str, unit: Any = "kW", **more: Any) -> Any:
    """Return the values of a parameter with this reference."""
    definition = {"name": "p", "index": list(index), "data": data, "unit": unit} | more
    core = blueprint(sets=SETS, parameters=[definition]).core
    return Elaboration(core, folder).table("p").values


def refusal(folder: Path, data: str, *index: str, **more: Any) -> str:
    """Return the message of the one error."""
    definition = {"name": "p", "index": list(index), "data": data, "unit": "kW"} | more
    found = analyse(blueprint(sets=SETS, parameters=[definition]), folder).errors
    (error,) = found
    return str(error)


def write(folder: Path, text: str, name: str = "d.csv") -> None:
    (folder / name).write_text(text, encoding="utf-8")


def write_netcdf(folder: Path, dims: dict[str, Any], values: dict[str, Any]) -> None:
    """Write ``d.nc``: coordinates by dimension, variables as ``(dims, values, units)``."""
    with netCDF4.Dataset(folder / "d.nc", "w") as out:
        for name, labels in dims.items():
            out.createDimension(name, len(labels) if hasattr(labels, "__len__") else labels)
            if isinstance(labels, list):
                add_variable(out, name, (name,), labels, None)
        for name, (along, data, units) in values.items():
            add_variable(out, name, along, data, units)


def add_variable(out: Any, name: str, along: tuple[str, ...], data: Any, units: Any) -> None:
    if isinstance(data, list) and isinstance(data[0], str):
        variable = out.createVariable(name, str, along)
        for k, item in enumerate(data):
            variable[k] = item
        return
    array = np.array(data)
    variable = out.createVariable(name, array.dtype, along)
    variable[:] = array
    if units:
        variable.units = units


# --- long tables ---------------------------------------------------------------------------------


def test_rows_are_found_by_their_keys_in_any_order(tmp_path: Path) -> None:
    write(tmp_path, "bus_to,bus_from,capacity [MW]\nC,B,0.03\nB,A,0.04\n")
    values = table(tmp_path, "d.csv#capacity", "Line", keys=["bus_from", "bus_to"])
    assert values.tolist() == [40, 30]


def test_a_full_grid_of_two_sets_and_one_of_a_tuple_set_and_time(tmp_path: Path) -> None:
    lines = ["g,k,v"] + [
        f"{g},{k},{10 * n + k}" for n, g in enumerate(("G1", "G2")) for k in (3, 1, 2)
    ]
    write(tmp_path, "\n".join(lines))
    assert table(tmp_path, "d.csv#v", "G", "K", keys=["g", "k"]).tolist() == [
        [1, 2, 3],
        [11, 12, 13],
    ]
    assert table(tmp_path, "d.csv#v", "K", "G", keys=["k", "g"]).tolist() == [
        [1, 11],
        [2, 12],
        [3, 13],
    ]
    rows = [
        f"{a},{b},2025-07-01 {t:02d}:00,{t + 10 * (a == 'B')}"
        for t in (2, 0, 1)
        for a, b in ("AB", "BC")
    ]
    write(tmp_path, "\n".join(["i,j,time,v", *rows]))
    values = table(tmp_path, "d.csv#v", "Line", "T", keys=["i", "j", "time"])
    assert values.tolist() == [[0, 1, 2], [10, 11, 12]]


@pytest.mark.parametrize(
    "stamps",
    [
        ["2025-07-01T00:00", "2025-07-01T01:00", "2025-07-01T02:00"],
        ["2025-07-01 01:00:00", "2025-07-01 02:00:00", "2025-07-01 03:00:00"],  # ends of periods
        ["2025-06-30T22:00Z", "2025-06-30T23:00Z", "2025-07-01T00:00Z"],
        ["2025-07-01T00:00+02:00", "2025-06-30T23:00Z", "2025-07-01T03:00+03:00"],
    ],
)
def test_stamps_are_moments(tmp_path: Path, stamps: list[str]) -> None:
    rows = [f"{stamp},{k}" for k, stamp in enumerate(stamps)]
    for shuffled in (rows[::-1], [rows[1], rows[2], rows[0]], rows):
        write(tmp_path, "\n".join(["time,v", *shuffled]))
        assert table(tmp_path, "d.csv#v", "T", keys=["time"]).tolist() == [0, 1, 2]
    assert table(tmp_path, "d.csv#v", "T").tolist() == [0, 1, 2]


def test_rows_in_order_must_cover_the_periods(tmp_path: Path) -> None:
    write(tmp_path, "time,v\n" + "".join(f"2031-05-01T0{k}:00,{k}\n" for k in range(3)))
    message = refusal(tmp_path, "d.csv#v", "T")
    assert "the time stamps of d.csv run from 2031-05-01" in message
    assert "2025-07-01T00:00+02:00" in message
    assert table(tmp_path, "d.csv#v", "H").tolist() == [0, 1, 2]  # no date, nothing to compare
    write(tmp_path, "time,v\n2025-07-01T00:00,1\n2025-07-01T01:00,2\n")
    assert "d.csv#v has 2 rows, but T has 3 elements" in refusal(tmp_path, "d.csv#v", "T")


def test_times_of_day_subsets_and_instants(tmp_path: Path) -> None:
    write(tmp_path, "time,v\n20:00,3\n18:00,1\n19:00:00,2\n")
    assert table(tmp_path, "d.csv#v", "H", keys=["time"]).tolist() == [1, 2, 3]
    write(tmp_path, "time,v\n2025-07-01 02:00,3\n2025-07-01 01:00,2\n")
    assert table(tmp_path, "d.csv#v", "T_late", keys=["time"]).tolist() == [2, 3]
    rows = [f"2025-07-01 {k:02d}:00,{k}" for k in (3, 1, 0, 2)]
    write(tmp_path, "\n".join(["time,v", *rows]))
    assert table(tmp_path, "d.csv#v", "I", keys=["time"]).tolist() == [0, 1, 2, 3]


def test_the_hour_that_a_clock_shows_twice_needs_offsets_or_order(tmp_path: Path) -> None:
    autumn = DAY | {"start": "2025-10-26T01:00", "periods": 4}
    core = blueprint(
        sets=[autumn],
        parameters=[{"name": "p", "index": ["T"], "data": "d.csv#v", "keys": ["time"]}],
    ).core
    hours = ["01:00", "02:00", "02:00", "03:00"]
    rows = [f"2025-10-26 {hour},{k}" for k, hour in enumerate(hours)]
    write(tmp_path, "\n".join(["time,v", *rows]))
    assert Elaboration(core, tmp_path).table("p").values.tolist() == [0, 1, 2, 3]
    write(tmp_path, "\n".join(["time,v", *rows[::-1]]))
    with pytest.raises(BlueprintError, match="shows an hour twice"):
        Elaboration(core, tmp_path).table("p")
    offsets = ["+02:00", "+02:00", "+01:00", "+01:00"]
    rows = [f"2025-10-26T{h}{o},{k}" for k, (h, o) in enumerate(zip(hours, offsets, strict=True))]
    write(tmp_path, "\n".join(["time,v", *rows[::-1]]))
    assert Elaboration(core, tmp_path).table("p").values.tolist() == [0, 1, 2, 3]


def test_labels_and_elements_come_by_key_too(tmp_path: Path) -> None:
    write(tmp_path, "unit,fuel,home\nG2,oil,C\nG1,gas,A\n")
    assert table(tmp_path, "d.csv#fuel", "G", keys=["unit"], type="label").tolist() == [
        "gas",
        "oil",
    ]
    home = table(tmp_path, "d.csv#home", "G", keys=["unit"], type="element of Bus")
    assert home.tolist() == [0, 2]


# --- wide tables ---------------------------------------------------------------------------------


def test_a_wide_table_has_a_column_for_each_element_whichever_index_comes_first(
    tmp_path: Path,
) -> None:
    write(
        tmp_path,
        "G2 [MW],time,G1\n0.02,2025-07-01 01:00,11\n0.03,2025-07-01 02:00,12\n"
        "0.01,2025-07-01 00:00,10\n",
    )
    wanted = [[10, 11, 12], [10, 20, 30]]
    assert table(tmp_path, "d.csv#*", "G", "T", keys=["time"]).tolist() == wanted
    assert table(tmp_path, "d.csv#*", "T", "G", keys=["time"]).T.tolist() == wanted


def test_without_keys_the_rows_of_a_wide_table_are_in_order_and_their_stamps_right(
    tmp_path: Path,
) -> None:
    write(tmp_path, "time,G1,G2\n" + "".join(f"2025-07-01 0{k}:00,{k},{k + 5}\n" for k in range(3)))
    assert table(tmp_path, "d.csv#*", "G", "T").tolist() == [[0, 1, 2], [5, 6, 7]]
    write(tmp_path, "time,G1,G2\n" + "".join(f"2025-07-02 0{k}:00,{k},{k + 5}\n" for k in range(3)))
    assert "run from 2025-07-02" in refusal(tmp_path, "d.csv#*", "G", "T")


# --- Parquet and arrays --------------------------------------------------------------------------


def test_parquet_is_read_as_csv_is(tmp_path: Path) -> None:
    stamps = pa.array(np.array(["2025-07-01T02", "2025-07-01T00", "2025-07-01T01"], "M8[ns]"))
    columns = {"time": stamps, "p [MW]": [3.0, 1.0, 2.0], "G1": [3, 1, 2], "G2": [6, 4, 5]}
    pq.write_table(pa.table(columns), tmp_path / "d.parquet")
    assert table(tmp_path, "d.parquet#p", "T", keys=["time"]).tolist() == [1000, 2000, 3000]
    pq.write_table(pa.table(columns).drop_columns(["p [MW]"]), tmp_path / "d.parquet")
    values = table(tmp_path, "d.parquet#*", "G", "T", keys=["time"])
    assert values.tolist() == [[1, 2, 3], [4, 5, 6]]


def test_dimensions_of_an_array_are_matched_by_keys_label_and_stamp(tmp_path: Path) -> None:
    values = [[6.0, 5.0], [2.0, 1.0], [4.0, 3.0]]
    hours = (("time",), np.array([2, 0, 1], "i4"), "hours since 2025-07-01 00:00:00")
    power = (("time", "unit"), values, "MW")
    write_netcdf(tmp_path, {"time": 3, "unit": ["G2", "G1"]}, {"time": hours, "power": power})
    wanted = [[1000, 3000, 5000], [2000, 4000, 6000]]
    assert table(tmp_path, "d.nc#power", "T", "G").T.tolist() == wanted
    assert table(tmp_path, "d.nc#power", "G", "T", keys=["unit", "time"]).tolist() == wanted


def test_an_array_without_labels_is_taken_in_order(tmp_path: Path) -> None:
    write_netcdf(tmp_path, {"a": 2, "b": 3}, {"p": (("a", "b"), [[1.0, 2, 3], [4, 5, 6]], None)})
    assert table(tmp_path, "d.nc#p", "G", "K").tolist() == [[1, 2, 3], [4, 5, 6]]
    assert table(tmp_path, "d.nc#p", "K", "G", keys=["b", "a"]).tolist() == [[1, 4], [2, 5], [3, 6]]
    assert "2 along a" in refusal(tmp_path, "d.nc#p", "K", "G")


# --- faults --------------------------------------------------------------------------------------

GOOD = "from,to,p [kW]\nA,B,1\nB,C,2\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("from,to,p [kW]\nA,B,1\n", "d.csv: no row for B, C"),
        (GOOD + "A,B,3\n", "d.csv:4:1: column 'from': a second row for this element, after line 2"),
        (GOOD + "A,Z,3\n", "d.csv:4:3: column 'to': no element of Bus; found 'Z'"),
        (GOOD + "A,C,3\n", "d.csv:4:1: column 'from': no element of Line; found A, C"),
        (GOOD.replace("C,2", "C,nan"), "d.csv:3:5: column 'p [kW]': not a finite number"),
        (GOOD.replace("C,2", "C,"), "d.csv:3:5: column 'p [kW]': an empty cell"),
        (GOOD.replace("kW", "kWh"), "d.csv: column 'p [kWh]' is in kWh, the parameter in kW"),
        (GOOD.replace("kW", "kWx"), "d.csv: column 'p [kWx]' is in kWx, the parameter in kW"),
        (GOOD.replace("from", "von"), "d.csv:1: there is no column 'from'"),
        (GOOD + "B,C\n", "d.csv:4: a row with a wrong number of fields"),
    ],
)
def test_faults_of_long_tables_have_their_place(tmp_path: Path, text: str, message: str) -> None:
    write(tmp_path, text)
    assert message in refusal(tmp_path, "d.csv#p", "Line", keys=["from", "to"])


def test_a_stamp_that_is_shifted_in_the_middle_is_found_without_keys_too(tmp_path: Path) -> None:
    write(tmp_path, "time,v\n2025-07-01 00:00,1\n2025-07-01 01:30,2\n2025-07-01 02:00,3\n")
    message = refusal(tmp_path, "d.csv#v", "T")
    assert "d.csv:3:1: column 'time': the time stamp is not that of its period" in message
    assert "expected 2025-07-01T01:00+02:00" in message


def test_faults_of_arrays(tmp_path: Path) -> None:
    def message(dims: dict[str, Any], data: Any, units: str = "kW", **more: Any) -> str:
        write_netcdf(tmp_path, dims, {"p": (tuple(dims), data, units)})
        return refusal(tmp_path, "d.nc#p", "G", **more)

    assert "no element of G; found 'G9'" in message({"g": ["G1", "G9"]}, [1.0, 2.0])
    assert "a second row for this element" in message({"g": ["G1", "G1"]}, [1.0, 2.0])
    assert "row 2: a value is missing" in message({"g": ["G1", "G2"]}, [1.0, np.nan])
    assert "d.nc: column 'p' is in kWh" in message({"g": ["G1", "G2"]}, [1.0, 2.0], "kWh")
    assert "runs over other sets; found (a, b)" in message({"a": 2, "b": 2}, np.ones((2, 2)))
    assert "'keys' must name every dimension once" in message({"g": 2}, [1.0, 2.0], keys=["x"])
    write_netcdf(tmp_path, {"g": 2}, {"power": (("g",), [1.0, 2.0], "kW")})
    assert "did you mean 'power'" in refusal(tmp_path, "d.nc#powr", "G")
    (tmp_path / "d.nc").write_bytes(b"CDF\x01 nothing else")
    assert "no readable netCDF" in refusal(tmp_path, "d.nc#p", "G")


CELLS = ["A", "B", "G1", "G2", "1", "2", "3", "1.5", "nan", "", "x", "1,5", "٣", "now", "20:00"]
CELLS += ["2025-07-01 00:00", "2025-07-01T02:00Z", "2025-13-01 00:00", "9999-12-31 23:59"]
CELLS += ['"q', "1e999"]
HEADERS = ["a", "b", "v", "v [kWh]", "time", "G1", "G2 [MW]", "1", "*", "x [foo]"]


@settings(max_examples=150)
@given(st.data())
def test_whatever_a_table_holds_is_a_value_or_a_finding(data: st.DataObject) -> None:
    import tempfile

    headers = data.draw(st.lists(st.sampled_from(HEADERS), min_size=1, max_size=4))
    row = st.lists(st.sampled_from(CELLS), min_size=len(headers), max_size=len(headers))
    rows = data.draw(st.lists(row, max_size=5))
    names = [header.split(" ")[0] for header in headers]
    definition = {
        "name": "p",
        "index": data.draw(st.lists(st.sampled_from([s["name"] for s in SETS]), max_size=3)),
        "data": "d.csv#" + data.draw(st.sampled_from([*names, "*"])),
        "keys": data.draw(st.lists(st.sampled_from(names), max_size=3)),
        "type": data.draw(st.sampled_from(["number", "label", "element of G"])),
    }
    with tempfile.TemporaryDirectory() as name:
        write(Path(name), "\n".join(",".join(cells) for cells in [headers, *rows]))
        analyse(blueprint(sets=SETS, parameters=[definition]), Path(name))
