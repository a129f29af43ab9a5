"""The scripted analyst and the ablation: faults do harm, luck is the same, nothing false passes."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from engiagent.agents.bench.faults import CLASSES, MODES, bench_faults
from engiagent.agents.bench.faults.ablation import play, usable
from engiagent.agents.bench.faults.elements import Place, at, operations, put
from engiagent.agents.bench.faults.injections import Case, Injection, draw
from engiagent.agents.bench.faults.operators import OPERATORS, spoilings
from engiagent.agents.bench.faults.report import LABEL, report, table
from engiagent.agents.bench.faults.subjects import Subject
from engiagent.blueprint import Blueprint
from engiagent.blueprint.patching import patched
from engiagent.cli.app import app
from engiagent.io.jsontext import dumps_canonical
from engiagent.text import corpus_root

DAY = corpus_root() / "battery" / "merchant_day"


@pytest.fixture(scope="module")
def subject(tmp_path_factory: pytest.TempPathFactory) -> Subject:
    (found,) = usable(DAY, tmp_path_factory.mktemp("bare"), 1)
    return found


def test_runs_cannot_reach_the_answer(subject: Subject) -> None:
    assert subject.problem.expert is None
    assert not list(subject.problem.folder.glob("**/expert"))
    assert subject.annotated.expert is not None


def test_every_class_of_operators_finds_a_place_and_its_patch_restores_it(subject: Subject) -> None:
    right = Blueprint.from_json(dumps_canonical(subject.document))
    for fault_class in OPERATORS:
        found = spoilings(subject.document, subject.problem.text, fault_class)
        # The traces need constraints over variables, which a blueprint of components may not have.
        assert found or fault_class.startswith("trace"), fault_class
        for operator, place, wrong in found:
            injection = Injection(
                fault_class, operator, "slip", place, at(subject.document, place), wrong
            )
            spoilt = injection.into(subject.document)
            assert injection.present(spoilt), (operator, place)
            mended = patched(spoilt, injection.patch(spoilt))
            assert not injection.present(mended)
            # A constraint that was left out comes back at the end, which means the same.
            again = Blueprint.from_json(dumps_canonical(mended))
            assert {c.constraint_id for c in again.core.constraints} == {
                c.constraint_id for c in right.core.constraints
            }


def test_elements_are_put_and_taken_without_changing_what_was_given() -> None:
    document = {"core_model_elements": {"parameters": [{"name": "a", "value": 1}]}}
    place = Place("parameters", "a")
    changed = put(document, place, {"name": "a", "value": 2})
    assert at(document, place) == {"name": "a", "value": 1}
    assert at(changed, place) == {"name": "a", "value": 2}
    assert at(put(changed, place, None), place) is None
    assert operations(put(document, place, None), place, {"name": "a"})[0]["op"] == "add"
    assert operations(document, place, None) == [
        {"op": "remove", "path": "/core_model_elements/parameters/a"}
    ]


@pytest.mark.parametrize("fault_class", CLASSES)
def test_the_same_seed_draws_the_same_case(subject: Subject, fault_class: str) -> None:
    def drawn(seed: str) -> Case | None:
        return draw(3, subject.name, subject.document, subject.problem.text, fault_class, seed)

    assert drawn("1") == drawn("1")


def test_a_case_runs_alike_twice_and_spares_the_board(subject: Subject) -> None:
    case = draw(5, subject.name, subject.document, subject.problem.text, "syntax", "1")
    assert case is not None
    one, first = play(subject, case, "full", "1")
    two, second = play(subject, case, "full", "1")
    assert (one.verdict, one.right, one.turns) == (two.verdict, two.right, two.turns)
    assert [r["target"] for r in first.records] == [r["target"] for r in second.records]


def _stuck(subject: Subject) -> Case:
    found = spoilings(subject.document, subject.problem.text, "syntax")
    operator, place, wrong = next(item for item in found if item[0] == "syntax")
    right = at(subject.document, place)
    fault = Injection("endless repetition", operator, "stuck", place, right, wrong)
    return Case(1, subject.name, "endless repetition", (fault,))


def test_who_repeats_a_wrong_repair_for_ever_stops_a_fixed_pipeline_and_not_the_coordinator(
    subject: Subject,
) -> None:
    case = _stuck(subject)
    full, ended = play(subject, case, "full", "1")
    assert full.right
    assert "forced switch" in {record["decided_by"] for record in ended.records}
    fixed, _ = play(subject, case, "fixed", "1")
    assert not fixed.right
    assert not fixed.false


def test_without_a_reading_of_its_own_a_right_plan_is_not_certified(subject: Subject) -> None:
    right = Case(1, subject.name, "bad reply")
    result, ended = play(subject, right, "no_verifier", "1")
    assert result.right
    assert result.verdict == "solved"
    assert ended.board.certificate is not None
    assert ended.board.certificate["reading"]["grade"] == "author only"


def test_a_fault_that_nobody_mends_ends_the_run_without_a_claim(subject: Subject) -> None:
    stuck = _stuck(subject).injections[0]
    hopeless = Injection(
        stuck.fault_class, stuck.operator, "hopeless", stuck.place, stuck.right, stuck.wrong
    )
    case = Case(1, subject.name, "syntax", (hopeless,))
    assert not case.recoverable
    result, _ = play(subject, case, "full", "1")
    assert not result.right
    assert not result.false
    assert result.turns < 24


def test_the_ablation_has_the_agreed_form() -> None:
    results = bench_faults(DAY, 4, "1", 1)
    found = report(results, "1")
    assert found["runs"] == 4
    assert found["false_certificates"] == 0
    for mode in MODES:
        low, high = found[mode]["recovered_interval"]
        assert low <= found[mode]["recovered_rate"] <= high
    assert found["full"]["recovered_rate"] >= found["fixed"]["recovered_rate"]
    assert "scripted" in LABEL
    assert LABEL in table(found)[0]
    json.dumps(found)


def test_the_command_prints_one_object(tmp_path: Path) -> None:
    given = ["bench", "faults", str(DAY), "--runs", "1", "--json"]
    shown = CliRunner().invoke(app, given)
    assert shown.exit_code == 0, shown.output
    assert json.loads(shown.stdout)["runs"] == 1
    refused = CliRunner().invoke(app, ["bench", "faults", str(tmp_path)])
    assert refused.exit_code != 0
