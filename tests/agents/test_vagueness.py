"""What is seen in a blueprint without a schedule: idle numbers, unread files, free states."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from engiagent.agents.determined import free_states, idle_files, idle_numbers
from engiagent.agents.patches import patched
from engiagent.blueprint import Blueprint
from engiagent.formulations.compile import compile_blueprint
from engiagent.formulations.expansion import expand
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


def test_a_state_without_an_equation_is_free(tmp_path: Path) -> None:
    text = """{"schema": "engiagent-blueprint/1", "kind": "programme",
      "modeling_context": {"problem_essence": "a tank", "engineering_domain": "water",
        "modeling_paradigm": "LP", "solution_scope": "flows"},
      "core_model_elements": {
        "sets": [{"name": "T", "kind": "time", "start": "2025-07-01T00:00", "step": "1 h",
                  "periods": 4}, {"name": "I", "kind": "instants", "of": "T"}],
        "parameters": [],
        "decision_variables": [
          {"name": "flow", "index": ["T"], "type": "continuous", "lower": 0, "upper": 5,
           "unit": "kW", "quantity": "tank.flow", "role": "decision"},
          {"name": "content", "index": ["I"], "type": "continuous", "lower": 0, "upper": 9,
           "unit": "kWh", "quantity": "tank.content", "role": "state"}],
        "constraints": [%s],
        "objective_function": {"name": "use", "sense": "minimize", "unit": "kWh",
          "expression": "sum(flow[t]*dt(t) for t in T)"}},
      "extended_analysis_and_robustness": {}}"""
    balance = """{"constraint_id": "balance", "name": "balance", "forall": ["t in T"],
        "expression": "content[t+1] == content[t] + flow[t]*dt(t)", "hard": true}"""
    end = """{"constraint_id": "end", "name": "end", "hard": true,
        "expression": "content[last(I)] >= 3[kWh]"}"""

    def faults(*rows: str) -> list[str]:
        made = Blueprint.from_json(text % ", ".join(rows))
        return [f.message for f in free_states(compile_blueprint(expand(made), tmp_path))]

    # The content at the start may be chosen freely: one instant of five is not the most of them.
    assert faults(balance, end) == []
    (said,) = faults(end)
    assert "'content' is left free at 5 of 5" in said


def test_a_draft_that_is_no_blueprint_yet_can_be_patched() -> None:
    draft = document()
    draft["core_model_elements"]["constraints"][0]["formula"] = "x"
    place = "/core_model_elements/constraints/0/formula"
    mended = patched(draft, [{"op": "remove", "path": place}])
    assert isinstance(mended, Blueprint)
    still = patched(draft, [{"op": "test", "path": "/kind", "value": "programme"}])
    assert not isinstance(still, Blueprint)
    assert {fault.kind for fault in still} == {"blueprint-invalid"}
