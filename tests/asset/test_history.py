"""Faulty readings are named with place and reason, and left out; sound ones are as they were."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from engiagent.tools import Session

HEAD = "site,asset,kind,sensor,measures,unit,data,least,most"


def called(root: Path, tool: str, **given: Any) -> dict[str, Any]:
    seen = Session(root).call(tool, given)
    assert seen.status == "done", seen.content
    return seen.content


def refused(root: Path, tool: str, **given: Any) -> str:
    seen = Session(root).call(tool, given)
    assert seen.status == "failed"
    return str(seen.content["error"])


def written(
    root: Path, values: Any, *, unit: str = "degC", least: Any = -20, most: Any = 50
) -> dict[str, str]:
    """Write a register of one sensor with hourly values; None is an empty cell."""
    stamps = np.datetime64("2026-01-01T00:00") + 60 * np.arange(len(values))
    cells = ("" if v is None else repr(v) for v in values)
    lines = [f"{t},{v}" for t, v in zip(stamps, cells, strict=True)]
    (root / "h.csv").write_text("\n".join(["time,a", *lines]), "utf-8")
    row = f"hall,ahu-1,ahu,a,supply temperature,{unit},h.csv#a,{least},{most}"
    (root / "sensors.csv").write_text(f"{HEAD}\n{row}\n", "utf-8")
    return {"sensors": "sensors.csv"}


LONG = ("stuck", "05", "09", 5)
SOUND = [20.0 + 0.1 * (k % 7) for k in range(24)]


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({}, []),
        ({5: None, 6: None}, [("missing", "05", "06", 2)]),
        ({5: 120.0}, [("impossible", "05", "05", 1)]),
        ({k: 20_000.0 + k for k in range(5, 9)}, [("impossible", "05", "08", 4)]),
        ({k: 68.0 + 0.1 * k for k in range(5, 9)}, [("other unit", "05", "08", 4)]),  # degF
        (dict.fromkeys(range(5, 9), 293.0), [("other unit", "05", "08", 4)]),  # K
        (dict.fromkeys(range(5, 10), 21.05), [("stuck", "05", "09", 5)]),
        (dict.fromkeys(range(5, 9), 21.05), []),  # 3 h are allowed
        ({**dict.fromkeys(range(5, 10), 21.05), 7: None}, [("missing", "07", "07", 1), LONG]),
        ({**dict.fromkeys(range(5, 10), 21.05), 7: -999.0}, [("impossible", "07", "07", 1), LONG]),
        (dict.fromkeys(range(5, 15), 0.0), []),  # off is not stuck
    ],
)
def test_a_fault_is_named_with_its_rows(
    tmp_path: Path, change: dict[int, Any], expected: list[Any]
) -> None:
    register = written(tmp_path, [change.get(k, v) for k, v in enumerate(SOUND)])
    found = called(tmp_path, "iot_quality", **register, stuck=4)["faults"]
    seen = [(f["fault"], f["first"][11:13], f["last"][11:13], f["readings"]) for f in found]
    assert seen == expected


def test_gaps_disorder_and_units_of_power_are_found(tmp_path: Path) -> None:
    values = [50.0 + k for k in range(10)] + [55_000.0 + k for k in range(5)]
    found = called(tmp_path, "iot_quality", **written(tmp_path, values, unit="kW", most=500))
    assert "; read as W all would be possible" in found["faults"][0]["about"]
    assert (found["readings"], found["used"]) == (15, 10)
    register = written(tmp_path, SOUND)
    lines = (tmp_path / "h.csv").read_text("utf-8").splitlines()
    lines = [*lines[:5], *lines[9:15], lines[3], *lines[15:]]
    (tmp_path / "h.csv").write_text("\n".join(lines), "utf-8")
    found = called(tmp_path, "iot_quality", **register)
    named = {f["fault"]: f for f in found["faults"]}
    assert named["gap"]["about"] == "5 h between two readings"
    assert named["out of order"]["first"] == "2026-01-01T02:00"
    found = called(tmp_path, "iot_quality", **written(tmp_path, [1e6] * 5, least="", most=""))
    assert (found["faults"], len(found["not_judged"])) == ([], 1)


def test_commas_and_stamps_with_the_year_last_are_read_as_everywhere(tmp_path: Path) -> None:
    register = written(tmp_path, SOUND)
    rows = [f"{day:02}.06.2026 00:00;20,{day}" for day in (1, 2, 13)]
    (tmp_path / "h.csv").write_text("\n".join(["time;a", *rows]), "utf-8")
    seen = called(tmp_path, "iot_sensors", **register)["sensors"][0]
    assert (seen["first"], seen["last"]) == ("2026-06-01T00:00", "2026-06-13T00:00")
    assert (seen["latest"], seen["good"]) == (20.13, 3)
    (tmp_path / "h.csv").write_text("time,a\n01/06/2026 00:00,20\n02/06/2026 00:00,20", "utf-8")
    assert "day and month cannot be told" in refused(tmp_path, "iot_sensors", **register)


@pytest.mark.parametrize("zone", [None, "Europe/Berlin"])
def test_a_parquet_history_is_that_of_the_text(tmp_path: Path, zone: str | None) -> None:
    register = written(tmp_path, [20.0, None, 999.0, *SOUND])
    text = called(tmp_path, "iot_history", **register, sensor="a")
    table = pd.read_csv(tmp_path / "h.csv", parse_dates=["time"])
    table["time"] = table["time"].dt.tz_localize(zone)
    table.rename(columns={"a": "a [degC]"}).assign(x="no").to_parquet(tmp_path / "h.parquet")
    lines = (tmp_path / "sensors.csv").read_text("utf-8").replace("h.csv", "h.parquet")
    (tmp_path / "sensors.csv").write_text(lines, "utf-8")
    found = called(tmp_path, "iot_history", **register, sensor="a")
    assert found["values"] == text["values"]
    assert (found["left_out"], len(found["values"])) == (2, 1 + len(SOUND))
    mark = "" if zone is None else "+01:00"  # as it was written, not in UTC
    assert found["stamps"] == [stamp + mark for stamp in text["stamps"]]
    (tmp_path / "sensors.csv").write_text(lines.replace("#a", "#b"), "utf-8")
    assert "no column 'b'" in refused(tmp_path, "iot_sensors", **register)


def test_a_large_history_is_read_as_a_small_one(tmp_path: Path) -> None:
    register = written(tmp_path, [20 + 0.1 * (k % 97) for k in range(60_000)])
    small = called(tmp_path, "iot_history", **register, sensor="a", every=24)
    long = (tmp_path / "h.csv").read_text("utf-8").replace("\n", f",{'x' * 200}\n")
    (tmp_path / "h.csv").write_text(long + f",{'x' * 200}", "utf-8")
    assert len(long) > 10_000_000
    assert called(tmp_path, "iot_history", **register, sensor="a", every=24) == small


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ("hall,x,ahu,a,temperature,parsec,h.csv#a,,", "the unit of a"),
        ("hall,x,ahu,a,temperature,degC,h.csv,,", "a file and a column"),
        ("hall,x,ahu,a,temperature,degC,h.csv#b,,", "no column 'b'"),
        ("hall,x,ahu,a,temperature,degC,../h.csv#a,,", "h.csv"),
        ("hall,x,ahu,a,temperature,degC,h.csv#a,low,", "row 1: least is no number"),
    ],
)
def test_a_register_that_is_wrong_is_refused_with_the_place(
    tmp_path: Path, row: str, said: str
) -> None:
    written(tmp_path, SOUND)
    (tmp_path / "sensors.csv").write_text(f"{HEAD}\n{row}\n", "utf-8")
    assert said in refused(tmp_path, "iot_sensors", sensors="sensors.csv")


def test_unknown_names_and_mixed_stamps_are_refused(tmp_path: Path) -> None:
    register = written(tmp_path, SOUND)
    assert "expected a" in refused(tmp_path, "iot_history", **register, sensor="b")
    assert "expected ahu-1" in refused(tmp_path, "iot_sensors", **register, asset="x")
    late = {"sensor": "a", "first": "2027-01-01"}
    assert "no good reading" in refused(tmp_path, "iot_history", **register, **late)
    rows = ["2026-01-01T00:00,20", "2026-01-01T01:00+01:00,21"]
    (tmp_path / "h.csv").write_text("\n".join(["time,a", *rows]), "utf-8")
    assert "all stamps with an offset, or none" in refused(tmp_path, "iot_sensors", **register)


CLOCK = pd.date_range("2025-10-20", "2025-10-30 23:00", freq="h", tz="Europe/Berlin")


@pytest.mark.parametrize("form", ["offset", "zone", "parquet", "large"])
def test_periods_and_stamps_follow_the_clock_of_the_source(tmp_path: Path, form: str) -> None:
    shown = pd.Series(np.arange(len(CLOCK)) % 40 + 1.0, CLOCK)
    register = written(tmp_path, [20.0])
    head = "time [Europe/Berlin]" if form == "zone" else "time"
    texts = [t.strftime("%d.%m.%Y %H:%M") if form == "zone" else t.isoformat() for t in CLOCK]
    table = pd.DataFrame({head: CLOCK if form == "parquet" else texts, "a": shown.to_numpy()})
    if form == "parquet":
        table.to_parquet(tmp_path / "h.parquet")
        lines = (tmp_path / "sensors.csv").read_text("utf-8").replace("h.csv", "h.parquet")
        (tmp_path / "sensors.csv").write_text(lines, "utf-8")
    else:
        wide = {"about": "x" * 40_000} if form == "large" else {}
        table.assign(**wide).to_csv(tmp_path / "h.csv", index=False)
    found = called(tmp_path, "iot_history", **register, sensor="a", file="again.csv")
    assert (found["left_out"], found["values"]) == (0, shown.tolist())
    assert found["stamps"] == [t.isoformat(timespec="minutes") for t in CLOCK]
    for hours, rule in ((1, "h"), (24, "D")):  # of the longer day, too
        means = shown.resample(rule).mean()
        found = called(tmp_path, "iot_history", **register, sensor="a", every=hours)
        assert found["values"] == pytest.approx(means.tolist())
        assert found["stamps"] == [t.isoformat(timespec="minutes") for t in means.index]
    part = called(tmp_path, "iot_history", **register, sensor="a", first="2025-10-28T10:00")
    assert part["stamps"][0] == "2025-10-28T10:00+01:00"
    lines = (tmp_path / "sensors.csv").read_text("utf-8").splitlines()[0]
    row = "hall,ahu-1,ahu,a,supply temperature,degC,again.csv#a,-20,50"
    (tmp_path / "sensors.csv").write_text(f"{lines}\n{row}\n", "utf-8")
    again = called(tmp_path, "iot_history", **register, sensor="a", every=24)
    assert {**again, "sensor": found["sensor"]} == found


def test_sensors_of_two_clocks_are_joined_by_instants_or_refused(tmp_path: Path) -> None:
    hours = pd.date_range("2026-01-01", periods=24 * 40, freq="h")
    values = 50 + 10 * np.sin(np.arange(len(hours)) / 24 * 2 * np.pi)
    for name, stamps in {
        "n": hours,
        "b": hours.tz_localize("Europe/Berlin"),
        "z": hours.tz_localize("Europe/Berlin").tz_convert("UTC"),
    }.items():
        texts = [stamp.isoformat() for stamp in stamps]
        pd.DataFrame({"time": texts, "p": values}).to_csv(tmp_path / f"{name}.csv", index=False)
    rows = [f"hall,p-1,pump,{n},electric power,kW,{n}.csv#p,," for n in "nbz"]
    (tmp_path / "sensors.csv").write_text("\n".join([HEAD, *rows]), "utf-8")
    about = {"sensors": "sensors.csv", "reference_last": "2026-01-31", "recent_first": "2026-02-01"}
    joined = called(tmp_path, "asset_drift", **about, output="b", input="z")
    assert joined["factor"] == pytest.approx(1, abs=1e-9)
    assert joined["reference_days"] == 31
    said = refused(tmp_path, "asset_drift", **about, output="n", input="b")
    assert "no offset from UTC; found n; expected all with one" in said


@pytest.mark.parametrize("semicolons", [True, False])
def test_numbers_with_commas_are_read_as_everywhere(tmp_path: Path, semicolons: bool) -> None:
    written(tmp_path, SOUND)
    stamps = pd.date_range("2026-01-01", periods=3, freq="h")
    table = pd.DataFrame({"time": stamps, "a": ["2,5", "600,25", "21"]})
    table.to_parquet(tmp_path / "h.parquet")
    row = "hall,ahu-1,ahu,a,supply temperature,degC,h.parquet#a,0,600.5"
    text = f"{HEAD}\n{row}\n"
    text = text.replace(",", ";").replace(".5", ",5") if semicolons else text
    (tmp_path / "sensors.csv").write_text(text, "utf-8")
    found = called(tmp_path, "iot_history", sensors="sensors.csv", sensor="a")
    assert (found["values"], found["sensor"]["most"]) == ([2.5, 600.25, 21], 600.5)
    table.assign(a=["1,205", "1,600", "21"]).to_parquet(tmp_path / "h.parquet")
    said = refused(tmp_path, "iot_history", sensors="sensors.csv", sensor="a")
    assert "thousands or decimals; found '1,205'" in said


def test_assets_of_one_name_are_told_apart_by_their_site(tmp_path: Path) -> None:
    written(tmp_path, SOUND)
    rows = [f"{s},ahu-1,ahu,{s}_t,supply temperature,degC,h.csv#a,," for s in ("hall", "office")]
    (tmp_path / "sensors.csv").write_text("\n".join([HEAD, *rows]), "utf-8")
    found = called(tmp_path, "iot_sensors", sensors="sensors.csv", asset="ahu-1", site="office")
    assert [sensor["sensor"] for sensor in found["sensors"]] == ["office_t"]
    said = refused(tmp_path, "iot_quality", sensors="sensors.csv", asset="ahu-1", site="shed")
    assert "expected ahu-1 at hall, ahu-1 at office" in said


@pytest.mark.parametrize(
    ("header", "unit"),
    [("a [degF]", "degC"), ("a [K]", "degC"), ("a [W]", "kW"), ("a [%]", "1"), ("a [kW]", "")],
)
def test_a_header_and_a_register_that_differ_in_the_unit_are_refused(
    tmp_path: Path, header: str, unit: str
) -> None:
    register = written(tmp_path, SOUND, unit=unit)
    table = (tmp_path / "h.csv").read_text("utf-8")
    (tmp_path / "h.csv").write_text(table.replace("time,a", f"time,{header}"), "utf-8")
    for tool in ("iot_sensors", "iot_quality"):
        said = refused(tmp_path, tool, **register)
        assert said.startswith(f"h.csv: the header {header!r} and the register's unit of a differ")


@pytest.mark.parametrize("header", ["a [degC]", "a [C]", "a [raw]", "a"])
def test_a_header_of_the_same_unit_or_of_none_is_taken(tmp_path: Path, header: str) -> None:
    register = written(tmp_path, SOUND)
    table = (tmp_path / "h.csv").read_text("utf-8")
    (tmp_path / "h.csv").write_text(table.replace("time,a", f"time,{header}"), "utf-8")
    (found,) = called(tmp_path, "iot_sensors", **register)["sensors"]
    assert (found["good"], found["latest"]) == (24, SOUND[-1])
