"""Suites: what is run, resuming, figures by hand, and the files that come out."""

import csv
import io
import json
import math
import sqlite3
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from engiagent.agents.bench.figures import figures, pass_all, pass_at, table, to_csv, to_html
from engiagent.agents.bench.suite import Cell, Measured, Suite, cells, load_suite, run_suite
from engiagent.agents.engines.offline import OfflineEngine
from engiagent.agents.protocol import Answer, Question
from engiagent.cli.app import app
from engiagent.errors import EngiagentError, InputError
from engiagent.text import Problem, corpus_root
from tests.agents.experts import Plays, analysis, blueprint_of, second
from tests.agents.messages_server import serving

DAY = "battery/merchant_day"


class Stored(OfflineEngine):
    """The offline engine with the stored reading, which a suite takes away with the answers."""

    def ask(self, question: Question) -> Answer:
        problem = Problem.load(corpus_root() / DAY)
        return super().ask(replace(question, board=question.board.having(problem=problem)))


def measured(right: bool, **changes: object) -> Measured:
    values: dict[str, object] = {
        "verdict": "certified" if right else "undecided",
        "numerical": right,
        "feasible": right,
        "right": right,
        "false": False,
        "turns": 5,
        "tokens": 1000,
        "cost": 0.01,
        "seconds": 2.0,
        "reason": "",
    }
    return Measured(**{**values, **changes})  # type: ignore[arg-type]


def suite_file(folder: Path, **changes: object) -> Path:
    path = folder / "small.yaml"
    content = {"schema": "engiagent-suite/1", "problems": [DAY], **changes}
    path.write_text(json.dumps(content), encoding="utf-8")  # JSON is YAML
    return path


def test_pass_at_k_is_the_share_of_draws() -> None:
    # 5 runs, 2 good: of the 10 pairs 3 have no good one, and 1 has two.
    assert pass_at(5, 2, 2) == pytest.approx(0.7)
    assert pass_all(5, 2, 2) == pytest.approx(0.1)
    assert pass_at(5, 2, 1) == pass_all(5, 2, 1) == pytest.approx(0.4)
    assert pass_at(3, 0, 3) == 0.0
    assert pass_all(3, 3, 3) == 1.0
    with pytest.raises(ValueError, match="k = 4"):
        pass_at(3, 1, 4)


def test_figures_by_hand() -> None:
    found = {
        Cell("a", "m", "full", 1): measured(True),
        Cell("a", "m", "full", 2): measured(False, seconds=4.0),
        Cell("b", "m", "full", 1): measured(True),
        Cell("b", "m", "full", 2): measured(True, cost=None),
    }
    (row,) = figures(found)
    assert (row["problems"], row["runs"], row["right"]) == (2, 4, 3)
    assert row["certified_rate"] == 0.75
    assert row["pass@1"] == pytest.approx(0.75)
    assert row["pass@2"] == 1.0  # each problem was right at least once
    assert row["pass^2"] == 0.5  # one of two was right both times
    assert row["cost"] is None  # one call had no price
    mean, half = 2.5, 1.959963984540054 * math.sqrt(1.0 / 4)
    assert row["seconds_interval"] == pytest.approx([mean - half, mean + half])


def test_repetitions_are_for_engines_that_may_differ(tmp_path: Path) -> None:
    suite = Suite(
        "s", tmp_path, ("a", "b"), ("offline", "anthropic"), ("full", "fixed"), repetitions=3
    )
    found = cells(suite)
    assert sum(c.engine == "offline" for c in found) == 2
    assert sum(c.engine == "anthropic" for c in found) == 2 * 2 * 3
    assert len(set(found)) == len(found)


def test_a_suite_resumes_where_it_was_cut(tmp_path: Path) -> None:
    suite = load_suite(suite_file(tmp_path))
    store = tmp_path / "runs.sqlite"
    kept: list[bool] = []
    engine = Stored()
    first = run_suite(suite, store, lambda *_: engine, lambda c, m, k: kept.append(k))
    second = run_suite(suite, store, lambda *_: engine, lambda c, m, k: kept.append(k))
    assert first == second
    assert kept == [False, True]
    (result,) = first.values()
    assert result.right
    assert result.verdict == "solved"  # nobody else has read the text
    assert result.turns > 0
    other = load_suite(suite_file(tmp_path, time_limit=60.0))
    assert other.digest != suite.digest  # other limits are another measurement


def test_an_engine_that_fails_leaves_what_was_done(tmp_path: Path) -> None:
    suite = load_suite(suite_file(tmp_path, engines=["offline", "nobody"]))
    with pytest.raises(EngiagentError, match="nobody"):
        run_suite(suite, tmp_path / "runs.sqlite")
    with sqlite3.connect(tmp_path / "runs.sqlite") as store:
        assert store.execute("SELECT count(*) FROM runs").fetchone() == (1,)
    store.close()


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"schema": "other/1"}, "no suite"),
        ({"speed": 3}, "no field 'speed'"),
        ({"problems": ["thermal/nowhere"]}, "no problem"),
        ({"coordination": ["sideways"]}, "unknown coordination"),
        ({"repetitions": 0}, "positive"),
        ({"repetitions": 1.5}, "positive"),
        ({"time_limit": True}, "positive"),
    ],
)
def test_a_file_that_is_no_suite_is_refused(
    tmp_path: Path, changes: dict[str, object], said: str
) -> None:
    with pytest.raises(InputError, match=said):
        load_suite(suite_file(tmp_path, **changes))


def test_what_comes_out_is_harmless() -> None:
    found = {Cell("a", "m", "full", 1): measured(False, reason='=cmd()<script>"x"')}
    (row,) = csv.DictReader(io.StringIO(to_csv(found)))
    assert row["reason"].startswith("'=")
    assert "<script>" not in to_html("s", found)
    assert table(found)[0].count("|") == table(found)[2].count("|")


def test_the_command_writes_its_results(tmp_path: Path) -> None:
    path = suite_file(tmp_path)
    shown = CliRunner().invoke(app, ["bench", "suite", str(path), "--json"])
    assert shown.exit_code == 0, shown.output
    (figure,) = json.loads(shown.stdout)["figures"]
    # The run has text and data alone: without a plant block there is nothing to go on.
    assert (figure["runs"], figure["right"]) == (1, 0)
    names = {file.name for file in (tmp_path / "small").iterdir()}
    assert {"runs.sqlite", "runs.csv", "figures.json", "report.html"} <= names
    missing = CliRunner().invoke(app, ["bench", "suite", str(tmp_path / "none.yaml")])
    assert missing.exit_code != 0
    assert corpus_root().is_dir()


def test_a_suite_asks_a_model_on_a_server_of_ones_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The scripted server says what the expert wrote; nothing of that is in reach of the run."""
    folder = corpus_root() / DAY
    problem = Problem.load(folder)
    script = Plays(analyse=analysis(blueprint_of(folder), problem), second=second(folder))
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-scripted")
    with serving(script) as server:
        path = suite_file(
            tmp_path,
            problems=[DAY],
            engines=["anthropic"],
            coordination=["fixed"],
            base_url=server.url,
            model="claude-haiku-5-5",
        )
        found = run_suite(load_suite(path), tmp_path / "runs.sqlite")
        assert {m.verdict for m in found.values()} == {"certified"}
        assert all(m.right and m.tokens > 1000 and m.cost for m in found.values())
        asked = len(server.requests)
        assert {r["model"] for r in server.requests} == {"claude-haiku-5-5"}
        again = run_suite(load_suite(path), tmp_path / "runs.sqlite")
        assert (again, len(server.requests)) == (found, asked)
