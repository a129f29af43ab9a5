"""Scores of questions: by hand on small cases, over HTTP on the suite, and replayed."""

import itertools
import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from engiagent.ask.bench import load_suite
from engiagent.ask.execution import Call
from engiagent.ask.scores import ExpectedStep, arguments, pass_at, pass_hat, plan_steps, recall
from engiagent.cli.app import app
from engiagent.errors import InputError
from engiagent.io.plainyaml import dump_yaml, loads_yaml
from tests.agents.messages_server import Say, serving
from tests.ask.answerers import kind_of, step

Json = dict[str, Any]
SUITE = Path(__file__).parents[2] / "benchmarks" / "ask.yaml"


def call(agent: str, tool: str, **given: Any) -> Call:
    return Call("s", agent, tool, given, "done", {})


def expected(agent: str, tool: str, **given: Any) -> ExpectedStep:
    return ExpectedStep(agent, (tool,), {tool: given})


def test_equations_of_the_paper_by_hand() -> None:
    steps = [expected("a", "one", x=1, y="b"), expected("b", "two"), expected("a", "one", x=2)]
    made = [call("b", "two"), call("a", "one", x=2.0), call("a", "one", x=1, z=0)]
    assert recall(["one", "two"], [c.tool for c in made]) == 1.0
    assert plan_steps(steps, made) == pytest.approx(2 / 3)  # two and then one
    keys, values = arguments(steps, made)
    assert (keys, values) == pytest.approx((2 / 3, 2 / 3))  # y is missing


@given(st.lists(st.sampled_from("abcd"), max_size=8), st.lists(st.sampled_from("abcd"), max_size=8))
def test_more_calls_never_lower_a_recall(wanted: list[str], more: list[str]) -> None:
    steps = [expected(name, name) for name in wanted]
    exact = [call(name, name) for name in wanted]
    assert plan_steps(steps, exact) == 1.0
    assert plan_steps(steps, [*exact, *(call(name, name) for name in more)]) == 1.0
    assert (
        plan_steps(steps, exact[1:]) == pytest.approx(max(0, len(wanted) - 1) / max(1, len(wanted)))
        or not wanted
    )


@given(st.integers(1, 12).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n))))
def test_one_of_k_is_no_harder_and_all_of_k_no_easier(runs: tuple[int, int]) -> None:
    n, s = runs
    assert pass_at(n, s, 1) == pytest.approx(pass_hat(n, s, 1)) == pytest.approx(s / n)
    rates = [(pass_at(n, s, k), pass_hat(n, s, k)) for k in range(1, n + 1)]
    assert all(a[0] <= b[0] and a[1] >= b[1] for a, b in itertools.pairwise(rates))


def expert(request: Json, number: int) -> Say:
    """Answer as whoever knows the suite's cases would, each kind of request."""
    asked = request["messages"][0]["content"]
    case = next(c for c in load_suite(SUITE).cases if c.request in asked)
    steps = [
        step(f"s{k}", s.agent_id, tool, **s.expected_parameters.get(tool, {}))
        for k, s in enumerate(case.expected_steps, 1)
        for tool in s.required_tools
    ]
    last = steps[-1]
    place = "values.1" if "comparison" in last["tool"] else "value"
    finding = {"label": "cost", "call": last["id"], "path": f"figures.energy_cost.{place}"}
    findings = [finding] if case.expected_values else []
    goal = asked.rpartition("## Your goal\n")[2].partition(" Expected")[0]
    own = next((s for s in steps if s["task"] + s["id"] == goal), last)
    replies: Json = {
        "plan-names": {
            "outline": [{k: s[k] for k in ("id", "agent", "task", "tool")} for s in steps]
        },
        "plan-arguments": {"steps": steps, "unused": [], "assumptions": []},
        "plan-goals": {"goals": [{**_goal(s), "task": s["task"] + s["id"]} for s in steps]},
        "specialist": {
            "calls": [{k: own[k] for k in ("tool", "arguments", "expected", "validation")}],
            "unused": [],
            "assumptions": [],
        },
        "answer": {"findings": findings, "prose": "Done.", "assumptions": [], "not_done": []},
    }
    kind = kind_of(request)
    if kind == "answer" and findings:
        findings[0]["call"] = _last_call(request)
    extra: Json = {"similar": [], "hire": []} if kind == "plan-names" else {"hire": []}
    return Say(json.dumps({**replies[kind], **(extra if kind.startswith("plan") else {})}))


def _goal(entry: Json) -> Json:
    return {"id": f"g{entry['id']}", "agent": entry["agent"], "depends_on": [], "expected": ""}


def _last_call(request: Json) -> str:
    lines = request["messages"][0]["content"].splitlines()
    return [str(line).split()[0] for line in lines if " done: " in line][-1]


def test_a_suite_is_scored_over_http_resumed_and_replayed(tmp_path: Path) -> None:
    suite = loads_yaml(SUITE.read_text(), SUITE.name)
    few = {
        **suite,
        "cases": suite["cases"][::2],
        "without": ["market", "asset"],
    }  # none of them asks for it
    (tmp_path / "few.yaml").write_text(dump_yaml(few))

    def bench(*more: str) -> Json:
        given = [
            "bench",
            "ask",
            str(tmp_path / "few.yaml"),
            "--out",
            str(tmp_path),
            "--json",
            *more,
        ]
        result = CliRunner().invoke(app, given, env={"ANTHROPIC_API_KEY": "x" * 20})
        assert result.exit_code == 0, result.output
        return dict(json.loads(result.stdout))

    with serving(expert) as server:
        first = bench("--base-url", server.url, "--model", "m")
        asked = len(server.requests)
        again = bench("--base-url", server.url, "--model", "m")
        assert len(server.requests) == asked
    replayed = bench("--replay", "--model", "m")
    assert again["planning"] == first["planning"]
    assert set(first["planning"]) == {"two-stage", "one-stage", "decentralised"}
    for way, found in first["planning"].items():
        assert found["cases"] == 3
        for rate in ("tool_recall", "agent_recall", "plan_steps", "argument_keys", "pass_at_1"):
            assert found[rate] == 1.0, (way, rate, first["runs"])
        assert found["argument_values"] == found["accuracy"] == found["equivalent"] == 1.0
        assert found["median_tokens"] < 15_000
        assert replayed["planning"][way] == found


def test_a_suite_without_recordings_scores_nothing(tmp_path: Path) -> None:
    given = ["bench", "ask", str(SUITE), "--replay", "--out", str(tmp_path / "none"), "--json"]
    refused = CliRunner().invoke(app, given)
    assert refused.exit_code == 2
    assert "no recorded runs" in refused.stderr
    (tmp_path / "none").mkdir()
    found = json.loads(CliRunner().invoke(app, given).stdout)["planning"]
    assert list((tmp_path / "none").iterdir()) == []  # a replay writes nothing beside its runs
    assert all(way["pass_at_1"] == way["tool_recall"] == 0.0 for way in found.values())


def test_a_suite_that_names_what_there_is_not_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "suite.yaml"
    for old, new, said in (
        ("[config_validate]", "[config_verify]", "no tool 'config_verify'"),
        ("agent_id: hvac", "agent_id: plumber", "no agent 'plumber'"),
        ("category: SAMT", "category: SOMETIMES", r"category.*SOMETIMES"),
    ):
        path.write_text(SUITE.read_text().replace(old, new))
        with pytest.raises(InputError, match=said):
            load_suite(path)
