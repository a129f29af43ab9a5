"""Supervision of a run's agents: rules before each turn, calls that are kept and made again."""

from pathlib import Path

import pytest

from engiagent.agents.calls import kept_calls
from engiagent.agents.cards import cards
from engiagent.agents.engines.asking import Asking
from engiagent.agents.routing import NEEDS
from engiagent.agents.runs import run_problem
from engiagent.errors import InputError
from engiagent.tools import replay, tools
from tests.agents.experts import Plays
from tests.agents.messages_server import Json, serving
from tests.agents.scripts import DAY, KEY, analysis, expert, routes

RULE_OF = {"modeler": "compile", "verifier": "lint", "solver": "solve", "evaluator": "check"}


def test_agents_obey_the_rules_of_the_registry() -> None:
    for agent, tool in RULE_OF.items():
        assert tools()[tool].needs == (NEEDS[agent],)
        assert tool in cards()[agent].tools
    assert tools()["write_blueprint"].needs == (NEEDS["analyzer"],)
    named = {tool for card in cards().values() for tool in card.tools}
    assert named - set(tools()) == {"ask", "run_script"}


def test_a_diagnosis_that_skips_a_step_is_blocked_and_the_advice_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody mends the syntax; the diagnosis sends the evaluator, who has nothing to look at."""
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    bad = expert()
    bad["core_model_elements"]["constraints"][0]["expression"] = "battery_state_of_charge >="
    wild: Json = {
        "agent": "evaluator",
        "strategy": "look",
        "priority": "high",
        "estimated_success": 0.9,
        "reasoning": "just check it",
    }
    with serving(Plays(analyse=analysis(bad), diagnose=wild)) as server:
        run_problem(DAY, "anthropic", tmp_path / "r", asking=Asking(base_url=server.url))
    records = routes(tmp_path / "r")
    place = next(k for k, r in enumerate(records) if r["target"] == "evaluator")
    outcome, following = records[place]["outcome"], records[place + 1]
    assert (outcome["status"], outcome["changes"]) == ("failed", [])
    assert "there is no solution yet" in outcome["summary"]
    assert (following["decided_by"], following["target"]) == ("supervision", "modeler")


def test_the_calls_of_a_run_are_kept_and_end_alike_when_made_again(tmp_path: Path) -> None:
    run_problem(DAY, "offline", tmp_path / "r")
    graph = kept_calls(tmp_path / "r")
    assert [n.tool for n in graph.nodes] == [
        "load_problem",
        "write_blueprint",
        "expand_blueprint",
        "compile",
        "solve",
        "check",
    ]
    assert {(2, 3), (3, 4), (4, 5)} <= set(graph.edges())
    again = replay(graph, tmp_path / "r")
    assert (again.same, again.outside) == (True, ())
    # A file that was changed since is found out by the calls that rest on it.
    file = next((tmp_path / "r/problem").glob("*.csv"))
    file.write_text(file.read_text().replace("1", "2"))
    assert not replay(graph, tmp_path / "r").same


def test_a_repair_and_demands_read_apart_are_calls_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    bad = expert()
    first = bad["core_model_elements"]["constraints"][0]
    right, first["expression"] = first["expression"], "battery_state_of_charge >="
    mend = {
        "why": "as it was",
        "patch": [
            {
                "op": "replace",
                "path": "/core_model_elements/constraints/0/expression",
                "value": right,
            }
        ],
    }
    with serving(Plays(analyse=analysis(bad), repair=mend)) as server:
        asked = Asking(base_url=server.url)
        outcome = run_problem(DAY, "anthropic", tmp_path / "r", asking=asked)
    assert outcome.verdict == "certified"
    graph = kept_calls(tmp_path / "r")
    assert [(n.tool, n.status) for n in graph.nodes] == [
        ("load_problem", "done"),
        ("write_blueprint", "done"),
        ("compile", "failed"),
        ("patch_blueprint", "done"),
        ("expand_blueprint", "done"),
        ("compile", "done"),
        ("solve", "done"),
        ("check", "done"),
    ]
    assert replay(graph, tmp_path / "r").same


def test_a_run_without_calls_says_so(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no calls"):
        kept_calls(tmp_path)
