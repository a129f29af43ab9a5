"""The benchmark runs, its tools agree on the optimum, and its JSON is what is promised."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "battery_lp.py"
KEYS = {"tool", "T", "build_s", "solve_s", "check_s", "rows_s", "total_s", "peak_mb", "objective"}


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(SCRIPT), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)


@pytest.fixture(scope="module")
def result() -> dict[str, Any]:
    done = run("--T", "96", "--tools", "floor,engiagent", "--repeat", "1", "--json")
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_json_is_one_object_with_a_row_for_each_tool(result: dict[str, Any]) -> None:
    assert {"rows", "machine", "versions"} <= set(result)
    assert [(row["tool"], row["T"]) for row in result["rows"]] == [("floor", 96), ("engiagent", 96)]
    for row in result["rows"]:
        assert set(row) >= KEYS
        assert row["total_s"] == pytest.approx(row["build_s"] + row["solve_s"] + row["check_s"])
        assert row["peak_mb"] > 10


def test_only_a_tool_that_checks_has_the_time_of_the_rows(result: dict[str, Any]) -> None:
    floor, engiagent = result["rows"]
    assert floor["rows_s"] == floor["check_s"] == 0.0
    assert engiagent["rows_s"] > 0.0


def test_hand_written_matrices_and_blueprint_have_one_optimum(result: dict[str, Any]) -> None:
    floor, engiagent = result["rows"]
    assert engiagent["objective"] == pytest.approx(floor["objective"], rel=1e-9)
    assert floor["objective"] > 0


def test_unknown_tool_is_refused_with_the_known_ones() -> None:
    done = run("--tools", "floor,cplex")
    assert done.returncode == 2
    assert "unknown tool cplex; known are floor, engiagent" in done.stderr
