"""The two claims of a certificate and the verdict that follows from them."""

import json
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from engiagent.blueprint import Blueprint
from engiagent.cli import exit_codes
from engiagent.run.edits import set_value
from engiagent.text import corpus_root
from engiagent.verify.certificate import Certificate, certificate_schema
from engiagent.verify.checking import check
from engiagent.verify.claims import (
    CLAIMS,
    EVIDENCE,
    GRADES,
    Plan,
    Reading,
    overrides_of,
    verdict_line,
    verdict_of,
)
from engiagent.verify.verdicts import PROVEN, USABLE, VERDICTS
from tests.cli.asking import answer, invoke
from tests.verify import example
from tests.written import mapping

SHOWN = {"recomputed", "agreed", "no goal"}
READ = {"annotated", "confirmed", "stated"}


@pytest.mark.parametrize(("optimum", "grade"), list(product(EVIDENCE, GRADES)))
def test_a_plan_that_holds_by_evidence_and_reading(optimum: Any, grade: Any) -> None:
    verdict = verdict_of(Plan("plan", "pass", optimum), Reading(grade))
    expected = ("certified", 0) if optimum in SHOWN else ("feasible", 0)
    if grade not in READ:
        expected = ("solved", 8)
    if optimum == "contradicted":
        expected = ("undecided", 9)
    assert (verdict, int(exit_codes.of_verdict(verdict))) == expected
    # Whatever the grade, a point of the text that is open leaves the reading open.
    left = verdict_of(Plan("plan", "pass", optimum), Reading(grade, open=("the price",)))
    assert left == ("undecided" if optimum == "contradicted" else "solved")


@given(
    claim=st.sampled_from(list(CLAIMS)),
    holds=st.sampled_from(["pass", "fail", "unchecked"]),
    optimum=st.sampled_from(list(EVIDENCE)),
    grade=st.sampled_from(list(GRADES)),
    left=st.lists(st.just("a number"), max_size=1),
    missing=st.booleans(),
    unclear=st.booleans(),
)
def test_what_no_verdict_may_say(
    claim: Any, holds: str, optimum: Any, grade: Any, left: list[str], missing: bool, unclear: bool
) -> None:
    reading = Reading(grade, open=tuple(left))
    verdict = verdict_of(
        Plan(claim, holds, optimum), reading, missing=missing, not_understood=unclear
    )
    assert verdict in VERDICTS
    assert (verdict == "violated") == (holds == "fail")
    if verdict in (*USABLE, *PROVEN, "solved"):
        assert holds == "pass"
        assert not missing
    if verdict in ("certified", "feasible", "proven infeasible"):
        assert grade in READ
        assert not left
    if verdict == "certified":
        assert (claim, optimum in SHOWN) == ("plan", True)
    if claim == "nothing":
        assert verdict in ("violated", "ill-posed", "undecided")
    if verdict == "ill-posed":
        assert missing
        assert not unclear  # what is missing may stand in what was not understood


def plan(problem: example.LittleProblem, reading: Reading | None = None) -> Certificate:
    return check(problem, example.solve(), example.blueprint(), reading=reading)


def test_the_same_plan_is_worth_what_its_reading_is_worth(tmp_path: Path) -> None:
    problem = example.make_problem(tmp_path)
    alone = plan(problem)
    assert (alone.verdict, alone.plan["optimum"]) == ("solved", "recomputed")
    assert alone.reading["open"] == [
        "the requirements of the text, which only the blueprint's author has read"
    ]
    confirmed = plan(problem, Reading("confirmed", "second reader", "blueprint 4711"))
    assert (confirmed.verdict, confirmed.reading["by"]) == ("certified", "second reader")
    for one in (alone, confirmed):
        assert Certificate.from_json(one.to_json()) == one
        Draft202012Validator(certificate_schema()).validate(one.to_dict())
        again = one.judged()
        assert again.to_json() == one.to_json()  # the verdict is in the certificate


def formal() -> dict[str, Any]:
    return mapping("""
        schema: engiagent-blueprint/1
        kind: programme
        modeling_context: {problem_essence: a store}
        core_model_elements:
          sets: []
          parameters: [{name: capacity, value: 250, unit: kWh}]
          decision_variables: [{name: stored, lower: 0, unit: kWh}]
          constraints:
            - {constraint_id: full, expression: stored <= capacity, category: Physical Laws}
          objective_function: {sense: maximize, unit: kWh, expression: stored}
    """)


def written(path: Path, document: dict[str, Any]) -> Path:
    path.write_text(json.dumps(document), encoding="utf-8")
    return path


def test_a_formal_input_is_its_own_statement(tmp_path: Path) -> None:
    found = invoke(
        "solve", written(tmp_path / "b.json", formal()), "--json", "--out", tmp_path / "r"
    )
    assert found.exit_code == 0, found.stderr
    assert answer(found)["verdict"] == "certified"
    assert answer(found)["reading"] == {
        "grade": "stated",
        "by": "blueprint",
        "what": "",
        "open": [],
    }
    assert answer(found)["plan"] == {"claim": "plan", "holds": "pass", "optimum": "recomputed"}
    assert "reading    stated: the input is formal" in found.stderr
    assert "plan       holds on paper and when executed; the checker recomputed" in found.stderr
    assert "the input is formal" in (tmp_path / "r/report.html").read_text("utf-8")


def test_a_blueprint_that_quotes_an_absent_text_states_nothing(tmp_path: Path) -> None:
    document = formal()
    document["core_model_elements"]["parameters"][0]["source_reference"] = {
        "kind": "text",
        "quote": "250 kWh",
        "span": [10, 17],
    }
    found = invoke(
        "solve", written(tmp_path / "b.json", document), "--json", "--out", tmp_path / "r"
    )
    assert found.exit_code == 8, found.stderr
    assert answer(found)["verdict"] == "solved"
    assert answer(found)["reading"]["open"] == [
        "the text that the blueprint quotes is not beside it"
    ]
    report = (tmp_path / "r/report.html").read_text("utf-8")
    assert "followed back to the text" not in report
    assert "Open in the reading of the text" in report
    again = invoke("check", tmp_path / "r", "--json")
    assert (again.exit_code, answer(again)["verified"]) == (8, True)


def test_a_changed_value_stands_in_the_line_of_the_verdict(tmp_path: Path) -> None:
    document = formal()
    set_value(document, "capacity", 300.0)
    set_value(document, "capacity", 0.4, "MWh")
    found = invoke("solve", written(tmp_path / "b.json", document), "--out", tmp_path / "r")
    words = "certified with 1 value changed by the user: capacity 250 → 400 kWh"
    assert found.stderr.splitlines()[0] == f"b: {words}"
    certificate = json.loads((tmp_path / "r/certificate.json").read_text("utf-8"))
    assert verdict_line(certificate) == words
    assert "1 value changed by the user: capacity 250 → 400 kWh" in (
        tmp_path / "r/report.html"
    ).read_text("utf-8")
    again = invoke("check", tmp_path / "r", "--json")
    assert answer(again)["overrides"] == [
        {"name": "capacity", "before": 250, "after": 400.0, "unit": "kWh"}
    ]


def test_a_value_that_is_set_back_is_no_change() -> None:
    document = formal()
    set_value(document, "capacity", 300.0)
    set_value(document, "capacity", 250.0)
    assert overrides_of(Blueprint.from_dict(document)) == ()


def test_that_nothing_is_allowed_needs_a_reading_too(tmp_path: Path) -> None:
    expert = corpus_root() / "thermal/cold_snap_infeasible/expert/blueprint.json"
    annotated = invoke("solve", expert, "--out", tmp_path / "a", "--json")
    assert (annotated.exit_code, answer(annotated)["verdict"]) == (3, "proven infeasible")
    for file in expert.parents[1].glob("*.*"):
        (tmp_path / file.name).write_bytes(file.read_bytes())
    (tmp_path / "b.json").write_bytes(expert.read_bytes())
    alone = invoke("solve", tmp_path / "b.json", "--out", tmp_path / "b", "--json")
    assert (alone.exit_code, answer(alone)["verdict"]) == (9, "undecided")
    assert answer(alone)["plan"]["holds"] == "pass"
    assert any("only the blueprint's author" in i for i in answer(alone)["reading"]["open"])
    assert "none is allowed: the proof was recomputed" in alone.stderr
