"""``--allow-code`` from a text to a certificate, over real HTTP against a scripted model.

The bill counts the mean of the three highest purchases, for which the language has no word.
"""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from engiagent.cli.app import app
from tests.agents.experts import Plays
from tests.agents.messages_server import Json, Messages, Say, serving
from tests.agents.scripts import KEY, routes
from tests.blueprints import constraint, variable
from tests.sandbox.support import CONFINED

pytestmark = CONFINED

TEXT = """# A shop's battery

A shop has a battery of 20 kWh with 10 kWh in it at 00:00 on 3 March 2025. It charges and
discharges with at most 5 kW and loses nothing. The load of the six hours from then on is in
load.csv. At 06:00 the battery must hold at least 10 kWh again, and nothing may be fed into the
grid. The supplier bills 12 EUR/kW for the mean of the three highest hourly purchases; the bill is
to be as small as possible.
"""
LOAD = (3.0, 9.0, 4.0, 10.0, 8.0, 2.0)
LEVEL = sum(LOAD) / 6  # what is bought in every hour when the battery makes it even
DEMANDS: Json = {
    "schema": "engiagent-requirements/1",
    "sets": [
        {"name": "T", "kind": "time", "start": "2025-03-03T00:00", "step": "1 h", "periods": 6},
        {"name": "I", "kind": "instants", "of": "T"},
    ],
    "parameters": [{"name": "load", "index": ["T"], "data": "load.csv#load_kw", "unit": "kW"}],
    "dynamics": [
        {
            "name": "battery",
            "model": "battery",
            "index": "T",
            "parameters": {
                "energy_capacity": "20[kWh]",
                "initial_energy": "10[kWh]",
                "charge_power_max": "5[kW]",
                "discharge_power_max": "5[kW]",
                "charge_efficiency": "1",
                "discharge_efficiency": "1",
            },
        }
    ],
    "requirements": [
        {
            "id": "R1",
            "quote": "must hold at least 10 kWh again",
            "tolerance": "1e-6[kWh]",
            "expression": "battery.state_of_charge[last(I)] >= 10[kWh]",
        },
        {
            "id": "R2",
            "quote": "nothing may be fed into the grid",
            "forall": ["t in T"],
            "expression": "grid.import[t] == load[t] + battery.charge[t] - battery.discharge[t]",
            "tolerance": "1e-6[kW]",
        },
        {
            "id": "R3",
            "quote": "nothing may be fed into the grid",
            "forall": ["t in T"],
            "expression": "grid.import[t] >= 0[kW]",
            "tolerance": "1e-6[kW]",
        },
        {
            "id": "R4",
            "quote": "at most 5 kW",
            "forall": ["t in T"],
            "tolerance": "1e-6[kW]",
            "expression": "battery.charge[t] + battery.discharge[t] <= 5[kW]",
        },
    ],
}
SCRIPT = """
import csv, json, sys
import numpy as np
from scipy.optimize import linprog

load = np.array([float(row["load_kw"]) for row in csv.DictReader(open("load.csv"))])
n, k = len(load), 3
# charge, discharge, level z, excess s over it: the k highest sum to k z + sum(s) at its smallest.
eye, zero = np.eye(n), np.zeros((n, 1))
content = np.tril(np.ones((n, n)))
rows = np.vstack([
    np.hstack([eye, -eye, -np.ones((n, 1)), -eye]),          # purchase - z <= s
    np.hstack([-eye, eye, zero, 0 * eye]),                    # purchase >= 0
    np.hstack([content, -content, zero, 0 * eye]),            # content <= 20
    np.hstack([-content, content, zero, 0 * eye]),            # content >= 0
    np.hstack([-content[-1:], content[-1:], [[0]], 0 * eye[:1]]),  # content at the end
])
most = np.concatenate([-load, load, np.full(n, 20 - 10.0), np.full(n, 10.0), [0.0]])
cost = np.concatenate([np.full(2 * n, 1e-6), [k], np.ones(n)])
found = linprog(cost, rows, most, bounds=[(0, 5)] * (2 * n) + [(0, None)] * (n + 1))
charge, discharge = found.x[:n], found.x[n:2 * n]
energy = [10.0, *(10.0 + np.cumsum(charge - discharge))]
top = np.sort(load + charge - discharge)[-k:]
json.dump({
    "battery.charge [kW]": charge.tolist(), "battery.discharge [kW]": discharge.tolist(),
    "battery.state_of_charge [kWh]": list(map(float, energy)),
    "grid.import [kW]": (load + charge - discharge).tolist(), "objective": 12 * top.mean(),
}, open(sys.argv[1], "w"))
print("mean of the three highest:", top.mean())
"""
CANNOT: Json = {
    "sufficiency": "inexpressible",
    "missing": [],
    "contradictions": [],
    "blueprint": "",
    "not_understood": [
        {
            "quote": "the mean of the three highest hourly purchases",
            "why": "the language has no sum of the largest",
        }
    ],
    "notes": [],
}


@pytest.fixture(autouse=True)
def problem(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    folder = tmp_path / "shop"
    folder.mkdir()
    (folder / "problem.md").write_text(TEXT)
    (folder / "load.csv").write_text("load_kw\n" + "\n".join(map(str, LOAD)) + "\n")
    return folder


def script(text: str = SCRIPT) -> Json:
    return {"why": "a linear programme with the three highest", "script": text}


def answers() -> Json:
    demands = {"requirements": json.dumps(DEMANDS), "not_expressible": []}
    return {"requirements": demands, "analyse": CANNOT, "script": script()}


def play(folder: Path, out: Path, *options: str, **other: Any) -> tuple[Result, Messages]:
    with serving(Plays(**answers() | other)) as server:
        asked = f"--engine anthropic --base-url {server.url} --exemplars 0 --memory none --json"
        given = ("run", str(folder), *asked.split(), "--out", str(out))
        result = CliRunner().invoke(app, [*given, *options])
    return result, server


def test_a_script_answers_what_the_language_cannot_say(problem: Path, tmp_path: Path) -> None:
    out = tmp_path / "r"
    result, server = play(problem, out, "--allow-code")
    assert json.loads(result.stdout)["verdict"] == "solved", result.output
    assert server.kinds() == ["analyse", "requirements", "script"]
    assert [(r["target"], r["outcome"]["status"]) for r in routes(out)] == [
        ("analyzer", "failed"),
        ("verifier", "done"),
        ("modeler", "done"),
        ("solver", "done"),
        ("evaluator", "done"),
    ]
    certificate = json.loads((out / "certificate.json").read_text())
    assert f"sandbox    {certificate['versions']['sandbox']}" in result.stderr
    assert certificate["versions"]["sandbox"].startswith("limits, no_new_privs, landlock")
    assert "seccomp" in certificate["versions"]["sandbox"]
    assert {c["status"] for c in certificate["levels"]["algebra"]["checks"]} == {"pass"}
    assert (out / "model.py").read_text() == SCRIPT
    schedule = json.loads((out / "schedule.json").read_text())
    assert schedule["objective"] == pytest.approx(12 * LEVEL, rel=1e-4)
    # The names that the demands speak of were told, and nothing of what they demand.
    asked = json.dumps(server.requests[2])
    assert "battery.state_of_charge" in asked
    assert "R1" not in asked
    # The folder checks again by itself, without a script behind it.
    stored = str(out / "certificate.json")
    again = CliRunner().invoke(app, ["check", "--certificate", stored, "--json"])
    said = json.loads(again.stdout)
    assert said["verified"], again.output
    assert [entry["place"] for entry in said["differences"]] == ["$.versions.sandbox"]
    shown = CliRunner().invoke(app, ["trace", str(out)]).stdout
    assert "script: done (limits" in shown


def test_without_the_option_no_script_is_asked_for(problem: Path, tmp_path: Path) -> None:
    result, server = play(problem, tmp_path / "r")
    said = json.loads(result.stdout)
    assert said["verdict"] == "undecided"
    assert server.kinds() == ["analyse"]
    assert "three highest" in result.stderr


def test_a_script_that_cheats_is_found_out_and_corrected(problem: Path, tmp_path: Path) -> None:
    """It starts with a fuller battery than the text gives it."""
    cheat = script(SCRIPT.replace("10.0, *(10.0", "20.0, *(20.0"))
    assert cheat != script()
    result, server = play(problem, tmp_path / "r", "--allow-code", script=[cheat, script()])
    assert json.loads(result.stdout)["verdict"] == "solved", result.output
    assert "What is wrong now" in json.dumps(server.requests[3])
    alone, _ = play(problem, tmp_path / "s", "--allow-code", script=cheat)
    assert json.loads(alone.stdout)["verdict"] == "violated"


def test_a_script_that_fails_is_shown_what_it_printed(problem: Path, tmp_path: Path) -> None:
    broken = script("raise SystemExit('no such column: power')")
    result, server = play(problem, tmp_path / "r", "--allow-code", script=[broken, script()])
    assert json.loads(result.stdout)["verdict"] == "solved", result.output
    asked = server.requests[3]["messages"][0]["content"]
    assert "no such column: power" in asked
    assert "The script so far" in asked
    never, _ = play(problem, tmp_path / "s", "--allow-code", script=broken)
    assert json.loads(never.stdout)["verdict"] == "undecided"
    assert "no such column" in never.stderr


def test_a_machine_without_a_layer_asks_for_no_script_and_says_which(
    problem: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from engiagent.run.sandbox.limits import Layers

    lacking = Layers(limits=True, no_new_privs=True, landlock=0, seccomp=True)
    monkeypatch.setattr("engiagent.agents.scripting.layers", lambda: lacking)
    result, server = play(problem, tmp_path / "r", "--allow-code")
    assert result.exit_code == 7
    assert "no landlock" in result.stderr
    assert "script" not in server.kinds()


def test_a_blueprint_that_cannot_be_said_otherwise_gives_way_to_a_script(
    problem: Path, tmp_path: Path
) -> None:
    """The analyzer tries, the compiler refuses, nobody mends it: then a script may."""
    core: Json = {
        "sets": [{"name": "T", "kind": "range", "start": 0, "stop": 5}],
        "decision_variables": [
            variable("x", "t in T", upper=5, quantity="grid.import", role="decision")
        ],
        "constraints": [
            constraint(
                "2**(x[t]/1[kW]) <= 3", "t in T", constraint_id="c", category="Physical Laws"
            )
        ],
    }
    blueprint = {"modeling_context": {"problem_essence": "a try"}, "core_model_elements": core}
    tries = {
        **CANNOT,
        "sufficiency": "complete",
        "not_understood": [],
        "blueprint": json.dumps(blueprint),
    }
    out = tmp_path / "r"
    result, server = play(problem, out, "--allow-code", analyse=tries)
    assert json.loads(result.stdout)["verdict"] == "solved", result.output
    assert server.kinds()[-2:] == ["requirements", "script"]
    assert not (out / "blueprint.json").exists()
    assert (out / "model.py").is_file()


def test_a_run_that_goes_on_runs_no_script_that_is_not_allowed_again(
    problem: Path, tmp_path: Path
) -> None:
    lost = Say(status=404, error="no such model")
    cut, _ = play(problem, tmp_path / "r", "--allow-code", script=lost)
    assert json.loads(cut.stdout)["verdict"] == "undecided"
    with serving(Plays(**answers())) as server:
        options = ("run", "--resume", str(tmp_path / "r"), "--base-url", server.url, "--json")
        refused = CliRunner().invoke(app, [*options])
        assert json.loads(refused.stdout)["verdict"] == "undecided"
        assert not server.requests
        allowed = CliRunner().invoke(app, [*options, "--allow-code"])
        assert json.loads(allowed.stdout)["verdict"] == "solved", allowed.output
        assert server.kinds() == ["script"]


def test_a_replay_runs_no_script_that_is_not_allowed_again(problem: Path, tmp_path: Path) -> None:
    play(problem, tmp_path / "r", "--allow-code")
    options = ("run", "--replay", str(tmp_path / "r"), "--memory", "none", "--json")
    refused = CliRunner().invoke(app, [*options, "--out", str(tmp_path / "s")])
    assert json.loads(refused.stdout)["verdict"] == "undecided"
    allowed = CliRunner().invoke(app, [*options, "--allow-code", "--out", str(tmp_path / "t")])
    assert json.loads(allowed.stdout)["verdict"] == "solved"
