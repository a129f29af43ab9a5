"""Sessions on disk: calls that build on one another over processes, whole or not at all."""

import json
import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from engiagent.errors import InputError
from engiagent.tools import tools
from engiagent.tools.registry import groups
from engiagent.tools.stored import opened
from tests.cli.asking import answer, invoke

ROOT = Path(__file__).parents[2]


def call(folder: Path, tool: str, /, **arguments: Any) -> dict[str, Any]:
    """Make a call in a session of its own that is stored."""
    with opened(folder) as session:
        seen = session.call(tool, arguments)
    assert seen.status == "done", seen.content
    return dict(seen.content)


def content_of(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_schedule_outlives_its_process_with_all_that_is_asked_of_it(tmp_path: Path) -> None:
    without = shutil.ignore_patterns("requirements.yaml", "answer.json")
    shutil.copytree(ROOT / "problems/battery/merchant_day", tmp_path / "day", ignore=without)
    for tool, arguments in (("load_problem", {"path": "day"}), ("analyse", {}), ("compile", {})):
        call(tmp_path, tool, **arguments)
    objective = call(tmp_path, "solve")["objective"]
    schedule = call(tmp_path, "read_schedule")
    found = call(tmp_path, "check")
    assert found["objective"]["value"] == pytest.approx(objective)
    assert call(tmp_path, "explain")["schema"]
    assert call(tmp_path, "read_schedule") == schedule
    assert call(tmp_path, "report", folder="runs/1")["artefacts"]
    with opened(tmp_path) as session:
        assert [node.tool for node in session.graph.nodes].count("solve") == 1
        value = {"name": "E_max", "value": 21, "unit": "MWh"}
        assert session.call("set_parameter", value).status == "done"
    with opened(tmp_path) as session:
        seen = session.call("check")
        assert (seen.status, seen.content["first"]) == ("blocked", "compile")


def test_a_call_that_fails_or_is_interrupted_leaves_the_session_as_it_was(tmp_path: Path) -> None:
    call(tmp_path, "config_create", name="ref")
    before = content_of(tmp_path)
    assert (
        invoke("tool", "controller_update", "precooling=-1", "--session", tmp_path).exit_code == 2
    )
    with pytest.raises(KeyboardInterrupt), opened(tmp_path) as session:  # noqa: PT012
        session.call("hvac_update", {"cop": 4.5})
        raise KeyboardInterrupt
    assert content_of(tmp_path) == before
    with opened(tmp_path) as session:
        assert session.call("simulation_run", {"name": "a"}, _ended()).status == "failed"
    assert content_of(tmp_path) == before


def _ended() -> Any:
    import threading

    from engiagent.tools.registry import Watch

    watch = Watch(None, threading.Event())
    assert watch.cancel is not None
    watch.cancel.set()
    return watch


def test_calls_at_once_wait_for_one_another(tmp_path: Path) -> None:
    call(tmp_path, "config_create", name="street", template="empty")
    names = [f"house{k}" for k in range(8)]
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda name: call(tmp_path, "cluster_add", id=name), names))
    assert sorted(call(tmp_path, "cluster_query")["entries"]) == names
    for _ in names:
        call(tmp_path, "config_undo")
    assert call(tmp_path, "cluster_query")["entries"] == {}
    assert len(list((tmp_path / "session").glob("site-*"))) == 1  # what is past is not kept


@pytest.mark.parametrize(
    "text",
    ["{", '{"schema": "other"}', '{"schema": "engiagent-session/1", "calls": {}, "parts": {}}'],
)
def test_a_damaged_session_is_told_and_left_alone(tmp_path: Path, text: str) -> None:
    call(tmp_path, "config_create", name="ref")
    (tmp_path / "session/session.json").write_text(text)
    with pytest.raises(InputError, match=r"session\.json"), opened(tmp_path):
        pass
    assert (tmp_path / "session/session.json").read_text() == text


def test_the_command_lists_calls_insists_and_refuses(tmp_path: Path) -> None:
    listed = answer(invoke("tool", "--list", "--json"))["tools"]
    assert {row["name"]: row["group"] for row in listed} == {n: t.group for n, t in tools().items()}
    one = answer(invoke("tool", "--list", "der_update", "--json"))["tools"][0]
    capacity = next(a for a in one["arguments"] if a["name"] == "energy_capacity")
    assert (capacity["unit"], one["reads"], one["writes"]) == ("kWh", ["site"], ["site"])
    shown = invoke("tool", "--list", "--group", "peak")
    assert shown.exit_code == 2
    assert all(group in shown.stderr for group in groups())
    assert "hvac_update" in invoke("tool", "hvac_updat").stderr
    at = ("--session", tmp_path)
    invoke("tool", "config_create", "name=ref", *at)
    blocked = invoke("tool", "analysis_cost", *at, "--json")
    assert blocked.exit_code == 2
    assert "simulation_run" in answer(blocked)["error"]
    assert "no simulation yet" in invoke("tool", "analysis_cost", *at, "--insist").stderr
    assert "KEY=VALUE" in invoke("tool", "hvac_update", "cop", *at).stderr
    told = answer(invoke("tool", "config_save", "folder=out", *at, "--json"))
    assert (told["tool"], told["artefacts"]) == ("config_save", told["answer"]["files"])
    assert "out/plant.yaml" in told["artefacts"]


@pytest.mark.parametrize(
    ("tool", "pair", "value"),
    [
        ("der_update", "energy_capacity=0.02 MWh", 20.0),
        ("environment_update", "step=0.5 h", 30.0),
        ("controller_update", "cooling_setpoint=297.15 K", 24.0),
        ("hvac_update", "cop=data.csv#cop", "data.csv#cop"),
        ("hvac_update", "cop=4.5", 4.5),
        ("comparison_cost", "results=a, b,c", ["a", "b", "c"]),
        (
            "hvac_update",
            "others=part_load=0.5,1,standby_power=5 W",
            ["part_load=0.5,1", "standby_power=5 W"],
        ),
        ("disturbance_update", "workdays_only=yes", True),
        ("simulation_run", "seed=3", 3),
        ("analyse", 'values={"a": "3"}', {"a": "3"}),
        ("set_parameter", "value=[1, 2]", [1, 2]),
        ("set_parameter", "value=3", 3),
        ("ppa_settlement", "strike=6 ct_EUR/kWh", 60.0),
    ],
)
def test_a_text_becomes_what_the_argument_takes(tool: str, pair: str, value: Any) -> None:
    from engiagent.cli.tool import read_arguments

    found = read_arguments(tools()[tool], [pair])
    assert (
        found[pair.partition("=")[0]] == pytest.approx(value) if isinstance(value, float) else value
    )
    assert json.loads(json.dumps(tools()[tool].checked({**_rest(tool), **found})))


@pytest.mark.parametrize(
    ("tool", "pairs", "message"),
    [
        ("irr", ["flows="], "irr.flows: the value: no quantity"),
        ("battery_revenue", ["power="], "battery_revenue.power: the value: no quantity"),
        ("battery_revenue", ["power=1", "power=2"], "battery_revenue.power stands twice"),
    ],
)
def test_no_value_and_two_are_refused(tool: str, pairs: list[str], message: str) -> None:
    from engiagent.cli.tool import read_arguments

    with pytest.raises(InputError, match=message):
        read_arguments(tools()[tool], pairs)


def test_money_is_of_the_currency_of_the_data(tmp_path: Path) -> None:
    rows = "2026-06-01T00:00,50,1\n2026-06-01T01:00,70,2\n"
    (tmp_path / "p.csv").write_text(f"time,price [EUR/MWh],gen [MW]\n{rows}", "utf-8")
    asked = ("prices=p.csv#price", "generation=p.csv#gen", "--session", tmp_path, "--json")
    found = invoke("tool", "ppa_settlement", "strike=60 EUR/MWh", *asked)
    assert json.loads(found.stdout)["answer"]["payment"] == pytest.approx(10 - 20)
    other = invoke("tool", "ppa_settlement", "strike=60 USD/MWh", *asked)
    assert other.exit_code == 2
    assert "strike: the data are in EUR" in other.stderr + other.stdout


def _rest(tool: str) -> dict[str, Any]:
    if tool == "ppa_settlement":
        return {"prices": "p.csv#price", "generation": "p.csv#gen"}
    return {"name": "a", "value": 1, "unit": "1"} if tool == "set_parameter" else {}
