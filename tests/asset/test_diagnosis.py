"""Faults are named with their sizes; what is sound, or not measured, is not accused."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from engiagent.tools.asset.synthetic import simulated
from tests.asset.test_history import HEAD, called, refused

ABOUT: dict[str, Any] = {
    "sensors": "p/sensors.csv",
    "reference_last": "2026-02-23T23:00",
    "recent_first": "2026-04-01",
    "drivers": ["ch1_cooling", "outdoor"],
    "rate": 0.02,
}


def plant(root: Path, fault: str, seed: int, severity: float) -> None:
    given = {"seed": seed, "days": 100, "fault": fault, "severity": severity, "folder": "p"}
    called(root, "asset_synthetic", **given)


def sizes(mode: dict[str, Any]) -> dict[str, float]:
    return {seen["what"]: seen["by"] for seen in mode["seen"]}


@pytest.mark.parametrize("seed", [1500, 1501, 1502])
def test_a_sensor_that_drifts_is_named_with_by_how_much(tmp_path: Path, seed: int) -> None:
    plant(tmp_path, "drifting_sensor", seed, 0.6)
    made = simulated(seed, 100, "drifting_sensor", 0.6)
    first = called(tmp_path, "fmsr_diagnose", **ABOUT)["candidates"][0]
    assert (first["asset"], first["mode"]) == ("ahu-1", "drifting sensor")
    since = np.clip((np.arange(86 * 24, 2400) - made.begins) / (2400 - made.begins), 0, 1)
    way = "high" if made.size > 0 else "low"
    wanted = abs(made.size) * since.mean()
    assert sizes(first) == {f"mixed temperature reads {way}": pytest.approx(wanted, abs=0.5)}


@pytest.mark.parametrize("seed", [1500, 1501])
def test_a_stuck_damper_is_named_whose_air_no_longer_follows(tmp_path: Path, seed: int) -> None:
    plant(tmp_path, "stuck_damper", seed, 0.7)
    found = called(tmp_path, "fmsr_diagnose", **ABOUT, picture="residual.svg")
    assert "mixing" in (tmp_path / "residual.svg").read_text("utf-8")
    first = found["candidates"][0]
    assert (first["mode"], first["kind"]) == ("stuck damper", "ahu")
    assert sizes(first)["mixed air does not follow the damper"] == pytest.approx(1, abs=0.3)
    begins = np.datetime64("2026-01-05") + simulated(seed, 100, "stuck_damper").begins // 24
    judged = {asset["asset"]: asset for asset in found["assets"]}
    assert judged["ahu-1"]["deviates"].startswith("mixing")
    assert abs(np.datetime64(judged["ahu-1"]["since"][:10]) - begins) <= np.timedelta64(3, "D")
    assert not judged["chiller-1"]["alarm"]


def test_a_leak_is_told_from_a_sensor_by_the_valve(tmp_path: Path) -> None:
    plant(tmp_path, "leaking_valve", 1500, 0.5)
    found = called(tmp_path, "fmsr_diagnose", **ABOUT)["candidates"]
    assert [mode["mode"] for mode in found[:2]] == ["leaking cooling valve", "drifting sensor"]
    assert found[0]["evidence"] > found[1]["evidence"] > 0
    assert found[0]["action"] == "repair or replace the valve"


def test_fouling_is_told_from_oil_by_the_approach(tmp_path: Path) -> None:
    plant(tmp_path, "condenser_fouling", 1500, 0.8)
    found = called(tmp_path, "fmsr_diagnose", **ABOUT)
    modes = {mode["mode"]: mode for mode in found["candidates"]}
    assert next(iter(modes)) == "condenser fouling"
    assert modes["condenser fouling"]["slots"] == ["rated_cop"]
    seen = sizes(modes["condenser fouling"])
    cop = simulated(1500, 100, "condenser_fouling", 0.8).cop[86 * 24 :]
    assert seen["electric power rises at the same load"] == pytest.approx(
        100 * float((1 / cop).mean() - 1), abs=3
    )
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
    assert "chiller-1: refrigerant leak" in found["not_judged"]


def test_any_kind_is_judged_by_the_table(tmp_path: Path) -> None:
    rng = np.random.default_rng(4)
    hours = np.arange(24 * 60)
    speed = 1 + 0.2 * np.sin(hours / 24 * 2 * np.pi)
    shaking = speed**2 * np.exp(0.05 * rng.normal(size=len(hours))) * np.where(hours > 1000, 1.3, 1)
    stamps = np.datetime64("2026-01-01T00:00") + 60 * hours
    rows = [f"{t},{s},{v}" for t, s, v in zip(stamps, speed, shaking, strict=True)]
    (tmp_path / "h.csv").write_text("\n".join(["time,speed,vib", *rows]), "utf-8")
    sensors = [
        "x,p1,pump,speed,speed,1,h.csv#speed,0,3",
        "x,p1,pump,vib,vibration,mm/s,h.csv#vib,0,9",
    ]
    (tmp_path / "r.csv").write_text("\n".join([HEAD, *sensors]), "utf-8")
    about = {**ABOUT, "sensors": "r.csv", "reference_last": "2026-02-01", "drivers": ["speed"]}
    found = called(tmp_path, "fmsr_diagnose", **{**about, "recent_first": "2026-02-13"})
    (modes,) = ({m["mode"] for m in found["candidates"]},)
    assert modes == {"impeller damage", "bearing wear", "misalignment", "unbalance"}
    assert sizes(found["candidates"][0])["vibration rises"] == pytest.approx(30, abs=2)
    said = refused(tmp_path, "fmsr_diagnose", **{**about, "reference_last": "2026-01-05"})
    assert "5 days of the reference" in said
