"""The benchmarks run, agree on costs, leave out absent peers and print what is promised."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

FOLDER = Path(__file__).parents[2] / "benchmarks"


def run(script: str, *arguments: str) -> dict[str, Any]:
    command = [sys.executable, str(FOLDER / script), *arguments, "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_the_building_costs_the_same_whoever_controls_it() -> None:
    found = run("mpc.py", "--steps", "6")
    costs: dict[str, list[float]] = {"QP": [], "LP": []}
    for row in found["rows"]:
        costs[row["case"]].append(row["cost"])
        assert row["p99_ms"] >= row["p50_ms"] > 0
    for values in costs.values():
        assert len(values) >= 2
        assert values == pytest.approx([values[0]] * len(values), rel=1e-6)
    assert {"engiagent", "bare PIQP", "bare HiGHS, basis kept"} <= {
        r["tool"] for r in found["rows"]
    }


def test_the_days_cost_the_same_whoever_solves_them() -> None:
    found = run("resolve.py", "--count", "30", "--repeat", "1")
    assert [row["tool"] for row in found["rows"]] == ["bare highspy", "engiagent"]
    assert found["rows"][1]["over_floor"] > 0
