"""The benchmark over a corpus: what counts as right, and that the answer stays out of reach."""

import json
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner

from engiagent.bench.corpus import Tally, bench_corpus, judge
from engiagent.cli.app import app
from engiagent.errors import InputError
from engiagent.problems import corpus_root

ANSWER = {
    "verdict": "certified",
    "objective": {"value": 10.0, "unit": "EUR", "sense": "minimize"},
    "relative_tolerance": 1e-6,
}
UNDECIDED = {"verdict": "ill-posed", "missing": ["battery.charge_efficiency"]}
GAP = {"verdict": "ill-posed", "missing": ["diesel"],
       "missing_as": {"diesel": ["genset.fuel_price"]}}  # fmt: skip


def goal(value: float, unit: str = "EUR") -> dict[str, object]:
    return {"value": value, "unit": unit, "sense": "minimize"}


@pytest.mark.parametrize(
    ("verdict", "objective", "missing", "answer", "expected"),
    [
        ("certified", goal(10.0), (), ANSWER, "right"),
        ("certified", goal(1000.0, "ct_EUR"), (), ANSWER, "right"),
        ("certified", goal(10.01), (), ANSWER, "wrong"),
        ("certified", {**goal(10.0), "sense": "maximize"}, (), ANSWER, "wrong"),
        ("proven infeasible", {}, (), ANSWER, "wrong"),
        ("undecided", {}, (), ANSWER, "undecided"),
        (None, {}, (), ANSWER, "undecided"),
        ("certified", goal(10.0), (), UNDECIDED, "wrong"),
        ("undecided", {}, ("battery.charge_efficiency",), UNDECIDED, "right"),
        # Undecided for another reason is no answer: the gap in the data was not seen.
        ("undecided", {}, (), UNDECIDED, "undecided"),
        # The expert's own name for a gap is nothing that the text tells.
        ("undecided", {}, ("genset.fuel_price",), GAP, "right"),
        ("undecided", {}, ("genset.power_max",), GAP, "undecided"),
        ("ill-posed", {}, ("battery.charge_efficiency",), UNDECIDED, "right"),
        ("ill-posed", {}, ("battery.charge_efficiency",), ANSWER, "undecided"),
        # Without annotations nobody but the author has read the text: right by its objective.
        ("solved", goal(10.0), (), ANSWER, "right"),
        ("solved", goal(10.01), (), ANSWER, "wrong"),
        # A proof that the expert's best known plan is the best contradicts nothing.
        ("certified", goal(10.0), (), {**ANSWER, "verdict": "feasible"}, "right"),
        ("certified", goal(9.0), (), {**ANSWER, "verdict": "feasible"}, "wrong"),
        ("proven infeasible", {}, (), {**ANSWER, "verdict": "feasible"}, "wrong"),
    ],
)
def test_a_verdict_is_held_against_the_answer(
    verdict: str | None,
    objective: dict[str, object],
    missing: tuple[str, ...],
    answer: dict[str, object],
    expected: str,
) -> None:
    assert judge(verdict, objective, missing, answer)[0] == expected


def _corpus(folder: Path) -> Path:
    source = corpus_root() / "battery" / "merchant_day"
    shutil.copytree(source, folder / "cold" / "snap")
    return folder


def test_the_answer_is_judged_and_never_read_by_the_engine(tmp_path: Path) -> None:
    root = _corpus(tmp_path)
    answer = root / "cold" / "snap" / "expert" / "answer.json"
    (row,) = bench_corpus(root)
    assert (row.judgement, row.verdict, row.domain) == ("right", "solved", "cold")
    answer.write_text(json.dumps({**ANSWER}), encoding="utf-8")
    (row,) = bench_corpus(root)
    assert (row.judgement, row.verdict) == ("wrong", "solved")
    assert Tally.of([row]).wrong == 1


def test_the_command_prints_the_table_and_json_and_fails_on_a_wrong_verdict(
    tmp_path: Path,
) -> None:
    root = _corpus(tmp_path)
    shown = CliRunner().invoke(app, ["bench", "corpus", str(root)])
    assert "| cold | 1 | 1 | 1 | 0 | 0 |" in shown.stdout
    assert shown.exit_code == 0
    (root / "cold" / "snap" / "expert" / "answer.json").write_text(json.dumps(ANSWER))
    shown = CliRunner().invoke(app, ["bench", "corpus", str(root), "--json"])
    found = json.loads(shown.stdout)
    assert [found[k] for k in ("problems", "right", "wrong", "undecided")] == [1, 0, 1, 0]
    assert shown.exit_code == 1


def test_a_folder_without_answers_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no problem"):
        bench_corpus(tmp_path)
