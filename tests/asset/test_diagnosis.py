"""Faults are named with their sizes; what is sound, or not measured, is not accused."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from engiagent.tools.asset.synthetic import simulated
from tests.asset.test_history import HEAD, called, refused
from tests.asset.test_series import DRIFT, plant

ABOUT: dict[str, Any] = {
    **{name: DRIFT[name] for name in ("sensors", "reference_last", "drivers")},
    **{"recent_first": "2026-04-01", "rate": 0.02},
}


def sizes(mode: dict[str, Any]) -> dict[str, float]:
    return {seen["what"]: seen["by"] for seen in mode["seen"]}


@pytest.mark.parametrize("seed", [1500, 1501, 1502])
def test_faults_of_an_air_handler_are_named_with_their_sizes(tmp_path: Path, seed: int) -> None:
    made = simulated(seed, 100, "drifting_sensor", 0.6)
    since = np.clip((np.arange(86 * 24, 2400) - made.begins) / (2400 - made.begins), 0, 1)
    reads = f"mixed temperature reads {'high' if made.size > 0 else 'low'}"
    cases = [
        ("drifting_sensor", 0.6, reads, abs(made.size) * since.mean(), 0.5),
        ("stuck_damper", 0.7, "mixed air does not follow the damper", 1.0, 0.3),
        ("leaking_valve", 0.8, "supply is colder, valve closed", 0.7 * 0.284 * (23 - 6), 1.0),
    ]
    for fault, severity, what, size, within in cases:
        plant(tmp_path / fault, fault, seed, severity)
        found = called(tmp_path / fault, "fmsr_diagnose", **ABOUT, picture="residual.svg")
        first, judged = found["candidates"][0], {a["asset"]: a for a in found["assets"]}
        assert (first["asset"], first["mode"].split()[0]) == ("ahu-1", fault.split("_")[0])
        assert sizes(first)[what] == pytest.approx(size, abs=within)
        assert not judged["chiller-1"]["alarm"]
        assert judged["ahu-1"]["deviates"] in (tmp_path / fault / "residual.svg").read_text("utf-8")
    begins = np.datetime64("2026-01-05") + made.begins // 24  # of a leak, which is there at once
    assert abs(np.datetime64(judged["ahu-1"]["since"][:10]) - begins) <= np.timedelta64(3, "D")


def test_units_of_the_register_are_converted(tmp_path: Path) -> None:
    plant(tmp_path, "leaking_valve", 1500, 0.8)
    first = called(tmp_path, "fmsr_diagnose", **ABOUT)["candidates"][0]
    table = pd.read_csv(tmp_path / "p/history.csv")
    table["ahu1_supply [degC]"] = table["ahu1_supply [degC]"] * 1.8 + 32
    table["ahu1_valve [1]"] *= 100
    table = table.rename(columns={"ahu1_supply [degC]": "ahu1_supply [degF]"})
    table = table.rename(columns={"ahu1_valve [1]": "ahu1_valve [%]"})
    table.to_csv(tmp_path / "p/history.csv", index=False)
    text = (tmp_path / "p/sensors.csv").read_text("utf-8")
    text = text.replace("valve command,1,0,1", "valve command,%,0,100")
    text = text.replace("supply temperature,degC,0,50", "supply temperature,degF,0,122")
    (tmp_path / "p/sensors.csv").write_text(text, "utf-8")
    again = called(tmp_path, "fmsr_diagnose", **ABOUT)["candidates"][0]
    assert sizes(again) == pytest.approx(sizes(first), rel=1e-3)


def test_fouling_is_told_from_oil_by_the_approach(tmp_path: Path) -> None:
    plant(tmp_path, "condenser_fouling", 1500, 0.8)
    found = called(tmp_path, "fmsr_diagnose", **ABOUT)
    modes = {mode["mode"]: mode for mode in found["candidates"]}
    assert next(iter(modes)) == "condenser fouling"
    assert modes["condenser fouling"]["slots"] == ["rated_cop"]
    more = 100 * ((1 / simulated(1500, 100, "condenser_fouling", 0.8).cop[86 * 24 :]).mean() - 1)
    seen = sizes(modes["condenser fouling"])["electric power rises at the same load"]
    assert seen == pytest.approx(more, abs=3)
    # with the power alone both explain it alike, and nothing tells them apart
    lines = (tmp_path / "p/sensors.csv").read_text("utf-8").splitlines()
    kept = [line for line in lines if "approach" not in line]
    (tmp_path / "p/sensors.csv").write_text("\n".join(kept), "utf-8")
    found = called(tmp_path, "fmsr_diagnose", **ABOUT)["candidates"]
    assert {m["mode"] for m in found[:2]} == {"condenser fouling", "excess oil"}
    assert found[0]["evidence"] == pytest.approx(found[1]["evidence"])


@pytest.mark.parametrize("seed", range(1510, 1514))
def test_a_sound_plant_raises_no_alarm_and_has_no_candidates(tmp_path: Path, seed: int) -> None:
    plant(tmp_path, "none", seed, 0.0)
    found = called(tmp_path, "fmsr_diagnose", **ABOUT)
    assert not any(asset["alarm"] for asset in found["assets"])
    assert found["candidates"] == []
    assert "chiller-1 at campus: refrigerant leak" in found["not_judged"]


def test_any_kind_is_judged_by_the_table(tmp_path: Path) -> None:
    rng, hours = np.random.default_rng(4), np.arange(24 * 60)
    speed = 1 + 0.2 * np.sin(hours / 24 * 2 * np.pi)
    shaking = speed**2 * np.exp(0.05 * rng.normal(size=len(hours))) * np.where(hours > 1000, 1.3, 1)
    table = {"time": np.datetime64("2026-01-01T00:00") + 60 * hours, "speed": speed, "vib": shaking}
    pd.DataFrame(table).to_parquet(tmp_path / "h.parquet")
    sensors = ("speed,speed,1,h.parquet#speed,0,3", "vib,vibration,mm/s,h.parquet#vib,0,9")
    rows = [HEAD, *(f"x,p1,pump,{line}" for line in sensors)]
    (tmp_path / "r.csv").write_text("\n".join(rows), "utf-8")
    about = {**ABOUT, "sensors": "r.csv", "reference_last": "2026-02-01", "drivers": ["speed"]}
    found = called(tmp_path, "fmsr_diagnose", **{**about, "recent_first": "2026-02-13"})
    modes = {m["mode"] for m in found["candidates"]}
    assert modes == {"impeller damage", "bearing wear", "misalignment", "unbalance"}
    assert sizes(found["candidates"][0])["vibration rises"] == pytest.approx(30, abs=2)
    said = refused(tmp_path, "fmsr_diagnose", **{**about, "reference_last": "2026-01-05"})
    assert "5 days of the reference" in said


def test_every_sensor_of_a_quantity_and_every_site_is_judged(tmp_path: Path) -> None:
    """A drift is found beside a sound sensor of the same, and a sound twin elsewhere."""
    plant(tmp_path, "drifting_sensor", 1500, 0.6)
    plant(tmp_path / "clean", "none", 1500, 0.6)
    alone = called(tmp_path, "fmsr_diagnose", **ABOUT)["candidates"][0]
    clean = pd.read_csv(tmp_path / "clean/p/history.csv")
    clean.to_csv(tmp_path / "p/clean.csv", index=False)
    text = (tmp_path / "p/sensors.csv").read_text("utf-8")
    head, *rows = text.splitlines()
    twins = [
        row.replace("history.csv", "clean.csv")
        .replace("campus", "annex")
        .replace(name, f"x_{name}", 1)
        for row in rows
        for name in [row.split(",")[head.split(",").index("sensor")]]
    ]
    second = next(row for row in twins if "ahu1_mixed" in row)
    second = second.replace("annex", "campus").replace("x_ahu1", "y_ahu1")
    for more, entries in (([second], 2), (twins, 2), ([second, *twins], 3)):
        (tmp_path / "p/sensors.csv").write_text("\n".join([head, *rows, *more]), "utf-8")
        found = called(tmp_path, "fmsr_diagnose", **ABOUT, asset="ahu-1")
        judged = [a for a in found["assets"] if a["alarm"]]
        assert (len(found["assets"]), len(judged)) == (entries, 1)
        assert (judged[0]["site"], "ahu1_mixed" in judged[0]["sensors"]) == ("campus", True)
        first = found["candidates"][0]
        assert first["sensors"] == judged[0]["sensors"]
        assert sizes(first) == pytest.approx(sizes(alone))
    (only,) = called(tmp_path, "fmsr_diagnose", **ABOUT, asset="ahu-1", site="annex")["assets"]
    assert (only["site"], only["alarm"]) == ("annex", False)
