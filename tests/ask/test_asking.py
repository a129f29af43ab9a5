"""A question over HTTP: three ways of planning, replies that are wrong, questions, replay."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from engiagent.cli.app import app
from engiagent.tools import Session
from tests.agents.messages_server import Messages, Say, Script, serving
from tests.ask.answerers import (
    CALLS,
    GOALS,
    NAMES,
    PLAN,
    QUESTION,
    STEPS,
    answer,
    kind_of,
    scripted,
    step,
)

Json = dict[str, Any]
KEY = "no-real-key-0123456789abcdef"


@pytest.fixture(scope="module")
def direct(tmp_path_factory: pytest.TempPathFactory) -> Json:
    """Return what the comparison answers to a script that calls the tools without any plan."""
    session = Session(tmp_path_factory.mktemp("direct"))
    seen = [session.call(s["tool"], json.loads(s["arguments"])) for s in STEPS]
    assert all(one.status == "done" for one in seen)
    return seen[-1].content


def ask(*arguments: object, question: str = QUESTION) -> Result:
    """Run the command."""
    given = ["ask", *([question] if question else []), *map(str, arguments)]
    return CliRunner().invoke(app, given, env={"ANTHROPIC_API_KEY": KEY})


def asked(script: Script, out: Path, *more: object) -> tuple[Result, Json, Messages]:
    """Ask a scripted server, and return the result, the answer and the server."""
    with serving(script) as server:
        of_model = ("--engine", "anthropic", "--base-url", server.url, "--model", "m")
        result = ask(*of_model, "--out", out, "--json", *more)
    return result, json.loads(result.stdout) if result.stdout.startswith("{") else {}, server


def cost(found: Json) -> float:
    """Return the first finding's value."""
    return float(found["findings"][0]["value"])


@pytest.mark.parametrize("planning", ["two-stage", "one-stage", "decentralised"])
def test_all_ways_of_planning_come_to_what_a_script_comes_to(
    planning: str, direct: Json, tmp_path: Path
) -> None:
    last = answer("g5_1" if planning == "decentralised" else "s5")
    script = scripted(
        plan_names=NAMES, plan_arguments=PLAN, plan_goals=GOALS, specialist=CALLS, answer=last
    )
    result, found, server = asked(script, tmp_path / "a", "--planning", planning)
    assert result.exit_code == 0, result.output
    figure = next(row for row in direct["figures"] if row["name"] == "energy_cost")
    assert [row["value"] for row in found["findings"]] == [
        figure["values"][1],
        figure["percent"][1],
    ]
    assert [row["unit"] for row in found["findings"]] == ["EUR", "%"]
    assert found["prose"] == "The cost is 8.233 EUR, a change of -38.04 %."
    if planning != "one-stage":  # all schemas at once are what the other two avoid
        assert server.tokens < 15_000
    assert KEY not in "".join(p.read_text("utf-8") for p in tmp_path.rglob("*.json"))

    again = ask("--replay", tmp_path / "a", "--out", tmp_path / "b", "--json", question="")
    assert again.exit_code == 0, again.output
    same = ("findings", "prose", "plan", "usage", "calls")
    replayed = json.loads(again.stdout)
    assert [replayed[name] for name in same] == [found[name] for name in same]
    shown = CliRunner().invoke(app, ["trace", str(tmp_path / "a")]).output
    assert "comparison_comprehensive done" in shown
    assert "asked for answer" in shown


def test_a_reply_that_does_not_fit_is_shown_what_does_not(tmp_path: Path) -> None:
    beyond = {**PLAN, "steps": [step("s1", "analysis", "config_create", name="office")]}
    unit = {**PLAN, "steps": [step("s1", "config", "config_create", title="office", nam="o")]}
    for wrong, said in ((beyond, "not authorised"), (unit, "no argument 'nam'")):
        script = scripted(plan_names=NAMES, plan_arguments=[wrong, PLAN], answer=answer())
        result, found, server = asked(script, tmp_path / said[:3])
        assert result.exit_code == 0, result.output
        assert found["usage"]["requests"] == 4
        again = server.requests[2]["messages"][-1]["content"]
        assert said in again


def test_a_figure_of_the_question_that_no_call_has_sends_the_plan_back(tmp_path: Path) -> None:
    other: Json = {
        **PLAN,
        "steps": [*STEPS[:2], {**STEPS[2], "arguments": '{"id":"cooling","cop":5.4}'}],
    }
    other["steps"] += STEPS[3:]
    script = scripted(plan_names=NAMES, plan_arguments=other, answer=answer())
    result, found, server = asked(script, tmp_path / "a")
    assert "4.5 of the question" in server.requests[2]["messages"][-1]["content"]
    assert result.exit_code == 9  # and who insists is reported
    assert found["not_done"] == ["4.5 of the question enters no call"]
    stated = {**other, "unused": [{"figure": "4.5", "reason": "a test"}]}
    script = scripted(plan_names=NAMES, plan_arguments=stated, answer=answer())
    assert asked(script, tmp_path / "b")[0].exit_code == 0


def test_a_call_that_fails_is_planned_anew_at_most_twice(tmp_path: Path) -> None:
    wrong: Json = {
        **PLAN,
        "steps": [*STEPS[:2], {**STEPS[2], "arguments": '{"id":"chiller","cop":4.5}'}],
    }
    wrong["steps"] += STEPS[3:]
    right = [{**entry, "id": f"r{entry['id']}", "depends_on": []} for entry in STEPS[2:]]
    revised = {"revised": right, "reason": ""}
    script = scripted(plan_names=NAMES, plan_arguments=wrong, replan=revised, answer=answer("rs5"))
    result, found, server = asked(script, tmp_path / "a")
    assert result.exit_code == 0, result.output
    assert [kind_of(r) for r in server.requests].count("replan") == 1
    assert "cooling" in server.requests[2]["messages"][0]["content"]  # the valid names are shown
    assert [call["status"] for call in found["calls"]].count("failed") == 1

    bad = {"revised": [{**wrong["steps"][2], "id": "again"}], "reason": ""}
    other = {"revised": [{**wrong["steps"][2], "id": "third"}], "reason": ""}
    script = scripted(
        plan_names=NAMES, plan_arguments=wrong, replan=[bad, other], answer=answer("s2", "None.")
    )
    result, found, server = asked(script, tmp_path / "b")
    assert [kind_of(r) for r in server.requests].count("replan") == 2
    assert result.exit_code == 9
    assert any("chiller" in text for text in found["not_done"])


def test_a_validation_that_fails_is_planned_anew(tmp_path: Path) -> None:
    strict = [*STEPS[:4], {**STEPS[4], "validation": "answer.figures.energy_cost.values[1] < 1"}]
    none = {"revised": [], "reason": "it cannot cost less"}
    script = scripted(
        plan_names=NAMES,
        plan_arguments={**PLAN, "steps": strict},
        replan=none,
        answer=answer("s4", "It does not hold."),
    )
    result, found, _ = asked(script, tmp_path / "a")
    assert result.exit_code == 9
    assert found["calls"][-1]["status"] == "invalid"
    assert found["findings"] == []


def test_an_open_argument_is_a_question_and_never_a_guess(tmp_path: Path) -> None:
    bare = {**PLAN, "steps": [step("s1", "config", "config_create"), *STEPS[1:]]}
    script = scripted(plan_names=NAMES, plan_arguments=bare, answer=answer())
    result, found, server = asked(script, tmp_path / "a")
    assert result.exit_code == 9
    assert [q["id"] for q in found["questions"]] == ["s1.name"]
    assert found["calls"] == []
    assert len(server.requests) == 2
    given = tmp_path / "answers.yaml"
    given.write_text("s1.name: office\n")
    result, found, _ = asked(script, tmp_path / "b", "--answers", given)
    assert result.exit_code == 0, result.output
    assert found["calls"][0]["arguments"] == {"name": "office"}


def test_a_card_is_hired_below_the_ceiling_only(tmp_path: Path) -> None:
    own = [{**s, "agent": "surveyor"} for s in STEPS]
    tools = sorted({s["tool"] for s in STEPS})
    hire = [{"id": "surveyor", "role": "Does it all.", "tools": tools}]
    outline = {**NAMES, "outline": [{**s, "agent": "surveyor"} for s in NAMES["outline"]]}
    script = scripted(
        plan_names={**outline, "hire": hire}, plan_arguments={**PLAN, "steps": own}, answer=answer()
    )
    result, found, _ = asked(script, tmp_path / "a")
    assert result.exit_code == 0, result.output
    assert [card["id"] for card in found["hired"]] == ["surveyor"]
    assert "hired surveyor" in CliRunner().invoke(app, ["trace", str(tmp_path / "a")]).output
    above = [{**hire[0], "tools": ["simulation_remove"]}]
    script = scripted(plan_names={**outline, "hire": above})
    result, _, server = asked(script, tmp_path / "b")
    assert result.exit_code == 6
    assert "no card may be given simulation_remove" in server.requests[1]["messages"][-1]["content"]


@pytest.mark.parametrize(
    ("said", "code", "text"),
    [
        (Say("", stop="refusal"), 6, "declined"),
        (Say('{"outline": [', stop="max_tokens"), 6, "cut off"),
        (Say("", status=401, error="who are you"), 6, "401"),
        (Say("I would rather not."), 6, "cannot be read"),
    ],
)
def test_a_model_that_gives_no_answer_ends_with_its_reason(
    said: Say, code: int, text: str, tmp_path: Path
) -> None:
    result, found, _ = asked(scripted(plan_names=said), tmp_path / "a")
    assert result.exit_code == code
    assert text in found["error"]
    assert json.loads((tmp_path / "a" / "run.json").read_text())["state"] == "failed"


def test_a_rate_limit_passes_and_a_budget_ends(tmp_path: Path) -> None:
    late = Say("", status=429, headers=(("retry-after-ms", "1"),), error="slow down")
    script = scripted(
        plan_names=[late, Say(json.dumps(NAMES))], plan_arguments=PLAN, answer=answer()
    )
    assert asked(script, tmp_path / "a")[0].exit_code == 0
    result, _, _ = asked(script, tmp_path / "b", "--max-tokens", 3000)
    assert result.exit_code == 5


@pytest.mark.parametrize(
    ("arguments", "question", "said"),
    [
        ((), QUESTION, "--engine anthropic"),
        (("--engine", "anthropic", "--base-url", "nowhere"), QUESTION, "--base-url"),
        (("--plan", "missing.json"), "", "missing.json"),
        (("--engine", "anthropic"), "", "QUESTION"),
        (("--replay", "."), "", "record"),
    ],
)
def test_wrong_usage_is_named_and_leaves_nothing(
    arguments: tuple[str, ...],
    question: str,
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    result = ask(*arguments, question=question)
    assert result.exit_code == 2
    assert said in result.stderr
    assert list(tmp_path.iterdir()) == []
