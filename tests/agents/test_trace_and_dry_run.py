"""``engiagent trace``, and ``engiagent run`` with its options about the engine."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from engiagent.cli.app import app
from tests.agents.messages_server import Say, serving
from tests.agents.scripts import DAY, KEY, NOBODY, NOTHING, Plays, analysis, expert


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    monkeypatch.setenv("ENGIAGENT_MEMORY", str(tmp_path / "memory.sqlite"))


ALONE = ("--exemplars", 0)
"""Without a look through the whole corpus."""


def invoke(*args: object) -> Result:
    return CliRunner().invoke(app, [str(arg) for arg in args])


def test_a_run_by_options_is_traced_resumed_and_replayed(tmp_path: Path) -> None:
    out = tmp_path / "r"
    broken = expert()
    broken["core_model_elements"]["constraints"][0]["expression"] = "soc[last(I)] >="
    script = Plays(analyse=analysis(broken), repair=NOTHING, diagnose=NOBODY)
    with serving(script) as server:
        asked = ("--engine", "anthropic", "--base-url", server.url, "--max-tokens", 60_000)
        policy = ("--readings", 1, "--memory", "none")
        cut = invoke("run", DAY, *asked, *ALONE, *policy, "--out", out, "--json")
        assert json.loads(cut.stdout)["verdict"] == "undecided"
    kept = json.loads((out / "run.json").read_text())["asked"]
    assert kept["budget"]["tokens"] == 60_000
    assert kept["policy"] == {"code": False, "readings": 1}

    told = json.loads(invoke("trace", out, "--json").stdout)
    assert told["engine"] == "anthropic"
    assert [r["target"] for r in told["records"]][:2] == ["analyzer", "modeler"]
    turns = len(server.requests) - 1  # the diagnosis that ended the run is no turn
    assert told["usage"]["calls"] == turns
    assert told["usage"]["cost"] > 0
    said = invoke("trace", out).stdout
    assert "because of syntax" in said
    assert f"{turns} answers" in said
    assert KEY not in said + json.dumps(told)

    # The server is another one now; whom to ask may be said anew, what was answered is not asked.
    with serving(Plays(analyse=analysis(expert()), repair=NOTHING, diagnose=NOBODY)) as other:
        again = invoke("run", "--resume", out, "--base-url", other.url, "--json")
    assert json.loads(again.stdout)["verdict"] == "undecided"
    assert not other.requests
    assert len(json.loads(invoke("trace", out, "--json").stdout)["resumed"]) == 1
    assert "resumed" in invoke("trace", out).stdout

    replayed = invoke("run", "--replay", out, *policy, "--out", tmp_path / "s")
    assert replayed.exit_code == cut.exit_code
    names = [sorted(p.name for p in (d / "exchanges").iterdir()) for d in (out, tmp_path / "s")]
    assert names[0] == names[1]


def test_what_a_cut_run_left_of_its_trace_is_shown(tmp_path: Path) -> None:
    out = tmp_path / "r"
    with serving(Plays(analyse=Say(status=404, error="no such model"))) as server:
        invoke("run", DAY, *ALONE, "--engine", "anthropic", "--base-url", server.url, "--out", out)
    with open(out / "trace.jsonl", "a") as file:
        file.write('{"event": "rou')
    said = invoke("trace", out)
    assert said.exit_code == 0
    assert "no such model" in said.stdout
    (out / "trace.jsonl").write_text('{"event"\n{}\n')
    assert "trace.jsonl:1" in invoke("trace", out).stderr
    assert invoke("trace", tmp_path / "nothing").exit_code != 0


def test_the_offline_run_has_a_trace_too(tmp_path: Path) -> None:
    invoke("run", DAY, "--out", tmp_path / "r", "--max-minutes", 5)
    told = json.loads(invoke("trace", tmp_path / "r", "--json").stdout)
    assert [r["target"] for r in told["records"]] == ["analyzer", "modeler", "solver", "evaluator"]
    assert told["usage"]["input_tokens"] == 0
    assert "tokens" not in invoke("trace", tmp_path / "r").stdout


def test_a_dry_run_prints_prompts_and_costs_and_asks_nobody(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("ANTHROPIC_API_KEY")
    (tmp_path / "p.md").write_text("# A store\n\nIt holds 5 kWh.\n")
    options = ("--engine", "anthropic", "--base-url", "http://127.0.0.1:9", "--dry-run", *ALONE)
    said = invoke("run", tmp_path / "p.md", *options)
    assert said.exit_code == 0
    assert "It holds 5 kWh." in said.stdout
    assert "analyzer: analyse: claude-opus-5-5, about" in said.stderr
    told = json.loads(invoke("run", tmp_path / "p.md", *options, "--json").stdout)
    first = told["requests"][0]
    assert first["cost"] == pytest.approx(first["tokens"] * 4e-6)
    assert first["most"] == pytest.approx(first["cost"] + first["max_tokens"] * 20e-6)
    assert not list(tmp_path.glob("runs"))
    # The price file may be one's own, and the budget is kept before anything is sent.
    rate = "{input: 1000, output: 1000, cache_read: 1, cache_write: 1250}"
    (tmp_path / "mine.yaml").write_text(f"date: 2026-01-02\nmodels: {{my-model: {rate}}}\n")
    mine = ("--model", "my-model", "--prices", tmp_path / "mine.yaml", "--max-cost", 0.01)
    said = invoke("run", tmp_path / "p.md", *options, *mine)
    assert "prices of 2026-01-02" in said.stderr
    assert "would not let it go out" in said.stderr


@pytest.mark.parametrize(
    ("args", "said"),
    [
        ((DAY, "--model", "x"), "--model"),
        ((DAY, "--base-url", "http://x"), "--base-url"),
        ((DAY, "--engine", "anthropic", "--max-cost", 0), "--max-cost"),
        ((DAY, "--engine", "anthropic", "--max-cost", "nan"), "--max-cost"),
        ((DAY, "--engine", "anthropic", "--prices", "no_such.yaml"), "no_such.yaml"),
        ((DAY, "--replay", "no_such"), "no_such"),
        ((DAY, "--resume", "no_such"), "no_such"),
        ((), "PROBLEM"),
    ],
)
def test_options_that_do_not_fit_are_said(args: tuple[object, ...], said: str) -> None:
    result = invoke("run", *args)
    assert result.exit_code != 0
    assert said in result.stderr
    assert "Traceback" not in result.stderr


def test_without_a_key_a_run_says_where_it_belongs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("ANTHROPIC_API_KEY")
    result = invoke("run", DAY, "--engine", "anthropic", "--out", tmp_path / "r")
    assert "ANTHROPIC_API_KEY" in result.stderr
    assert result.exit_code != 0
    assert not (tmp_path / "r").exists()
