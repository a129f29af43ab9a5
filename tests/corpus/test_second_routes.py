"""Every expert answer against the second route in its folder, which knows nothing of engiagent."""

import importlib.util
import json
import re
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

ROOT = Path(__file__).parents[2] / "problems"
EXPERTS = sorted(path.parent for path in ROOT.glob("*/*/expert/answer.json"))
each_problem = pytest.mark.parametrize("expert", EXPERTS, ids=lambda path: path.parent.name)


@cache
def answer(expert: Path) -> Any:
    return json.loads((expert / "answer.json").read_text(encoding="utf-8"))


@cache
def route(expert: Path) -> ModuleType:
    path = expert / answer(expert)["second_route"]["script"]
    spec = importlib.util.spec_from_file_location(f"second_route_{expert.parent.name}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@each_problem
def test_the_second_route_is_independent(expert: Path) -> None:
    text = (expert / answer(expert)["second_route"]["script"]).read_text(encoding="utf-8")
    assert set(re.findall(r"engiagent[.\w]*", text)) <= {"engiagent.problems.reference"}
    assert "blueprint" not in text
    shared = (ROOT / "reference.py").read_text(encoding="utf-8")
    assert not re.search(r"(from|import) engiagent", shared)


@each_problem
def test_the_second_route_reaches_the_answer(expert: Path) -> None:
    given, module = answer(expert), route(expert)
    if "objective" in given:
        value, tolerance = float(module.solve()), given["relative_tolerance"]
        assert given["verdict"] in ("certified", "feasible")
        assert value == pytest.approx(given["objective"]["value"], rel=tolerance)
        assert value == pytest.approx(given["second_route"]["objective"], rel=tolerance)
        if given["verdict"] == "certified":
            assert value == pytest.approx(given["bound"], rel=tolerance)
    else:  # what is missing moves the optimum, or the demands leave no plan
        assert given["verdict"] in ("ill-posed", "proven infeasible")
        assert module.confirm()
    if given["verdict"] == "ill-posed":
        assert given["missing"] or given["contradiction"]
    assert getattr(module, "confirm", lambda: True)()


@each_problem
def test_sentences_that_contradict_each_other_stand_in_the_text(expert: Path) -> None:
    text = " ".join((expert.parent / "problem.md").read_text(encoding="utf-8").split())
    sentences = answer(expert).get("contradiction", ["", ""])
    assert len(sentences) >= 2
    assert all(sentence in text for sentence in sentences)
