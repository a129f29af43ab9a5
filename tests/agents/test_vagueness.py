"""What is seen in a blueprint without a schedule: idle numbers, unread files."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from engiagent.agents.faults import idle_files, idle_numbers
from engiagent.agents.modeler import patched
from engiagent.blueprint import Blueprint
from engiagent.io.jsontext import dumps_canonical
from engiagent.text import Problem, corpus_root

Json = dict[str, Any]
DAY = corpus_root() / "battery" / "merchant_day"


def document() -> Json:
    found: Json = json.loads((DAY / "expert/blueprint.json").read_text(encoding="utf-8"))
    return found


def blueprint(change: Callable[[Json], None] | None = None) -> Blueprint:
    made = document()
    if change is not None:
        change(made["core_model_elements"])
    return Blueprint.from_json(dumps_canonical(made))


EXPERTS = sorted(corpus_root().glob("*/*/expert/requirements.yaml"))


@pytest.mark.parametrize("path", EXPERTS[::6], ids=lambda p: p.parts[-3])
def test_experts_are_not_accused(path: Path) -> None:
    right = Blueprint.load(path.parent / "blueprint.json")
    problem = Problem.load(path.parents[1])
    assert idle_files(right, problem) == ()
    assert idle_numbers(right, problem.folder, problem) == ()


def test_a_number_that_enters_nothing_is_told_with_its_sentence() -> None:
    def add(core: Json) -> None:
        other = next(p for p in core["parameters"] if p["name"] == "E_max")
        core["parameters"].append({**other, "param_id": "PARAM_99", "name": "spare"})

    (fault,) = idle_numbers(blueprint(add), DAY, Problem.load(DAY))
    assert (fault.kind, fault.place) == ("data-ignored", "spare")
    assert "The battery stores 20 MWh" in fault.suggestion


def test_a_file_that_is_replaced_by_an_assumption_is_told(tmp_path: Path) -> None:
    def invent(core: Json) -> None:
        price = core["parameters"][0]
        del price["data"]
        price |= {"value": 42.0, "source_reference": {"kind": "assumption", "reason": "typical"}}

    (fault,) = idle_files(blueprint(invent), Problem.load(DAY))
    assert fault.place == "day_ahead.csv"
    assert "price" in fault.suggestion


def test_a_draft_that_is_no_blueprint_yet_can_be_patched() -> None:
    draft = document()
    draft["core_model_elements"]["constraints"][0]["formula"] = "x"
    place = "/core_model_elements/constraints/0/formula"
    mended = patched(draft, [{"op": "remove", "path": place}])
    assert isinstance(mended, Blueprint)
    still = patched(draft, [{"op": "test", "path": "/kind", "value": "programme"}])
    assert not isinstance(still, Blueprint)
    assert {fault.kind for fault in still} == {"blueprint-invalid"}
