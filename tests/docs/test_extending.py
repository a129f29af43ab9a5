"""Each page on extending the source, followed in a copy of it: what it adds is found and used."""

import json
import math
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.blocks import Block, blocks

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ("engiagent", "formulations", "models", "solvers", "verify")


def put(house: Path, block: Block) -> None:
    """Write a file of a page, or put it into a table or before one of a file that is there."""
    name, *place = block.info.split(" ")
    path = house / name.replace("mine/shed/", "problems/battery/shed/")
    if not place:
        assert not path.exists(), f"{block}: the source has {name}"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(block.text, encoding="utf-8")
        return
    where, table = place
    text = path.read_text("utf-8")
    (found,) = re.finditer(rf"^{table}: .*= \{{\n", text, re.MULTILINE)
    at, gap = (found.end(), "") if where == "in" else (found.start(), "\n\n")
    path.write_text(text[:at] + block.text + gap + text[at:], encoding="utf-8")


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a copy of the source with everything that the pages add."""
    copy = tmp_path_factory.mktemp("house")
    for name in SOURCE:
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / name, copy / name, symlinks=True, ignore=ignored)
    (copy / "problems").mkdir()
    shutil.copy(ROOT / "problems" / "__init__.py", copy / "problems")
    for page in ("component", "function", "check", "problem"):
        for block in blocks(ROOT / "docs" / "extending" / f"{page}.md", ROOT):
            if block.file:
                put(copy, block)
    return copy


def python(house: Path, *words: str) -> str:
    """Run Python on the copy and return what it says."""
    environment = {**os.environ, "PYTHONPATH": str(house)}
    done = subprocess.run(
        [sys.executable, *words], cwd=house, env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def test_a_plan_with_the_new_component_is_certified(house: Path) -> None:
    said = python(house, "-m", "engiagent", "run", "biogas/plant.yaml", "--out", "run")
    assert "certified" in said
    certificate = json.loads((house / "run" / "certificate.json").read_text("utf-8"))
    assert certificate["verdict"] == "certified"
    assert certificate["objective"]["value"] == pytest.approx(3.0)
    physics = json.dumps(certificate["levels"]["physics"])
    assert "flare.emissions" in physics
    assert python(house, "-m", "engiagent.tools.schemas.page")  # the schemas know it by themselves
    prompt = "from engiagent.agents.engines.prompting import document_values as v; print(v())"
    assert "flare: burns fuel that nobody takes" in python(house, "-c", prompt)


ANGLE = {
    "schema": "engiagent-blueprint/1",
    "kind": "programme",
    "modeling_context": {"problem_essence": "an angle"},
    "core_model_elements": {
        "sets": [],
        "parameters": [],
        "constraints": [],
        "decision_variables": [{"name": "x", "lower": 0, "upper": 5}],
        "objective_function": {
            "name": "gain",
            "sense": "maximize",
            "expression": "atan(x) - 0.3*x",
        },
    },
}


def test_the_new_function_is_solved_with_and_checked(house: Path) -> None:
    (house / "angle.json").write_text(json.dumps(ANGLE), encoding="utf-8")
    python(house, "-m", "engiagent", "solve", "angle.json", "--out", "angle")
    certificate = json.loads((house / "angle" / "certificate.json").read_text("utf-8"))
    best = (1 / 0.3 - 1) ** 0.5
    assert certificate["verdict"] in ("certified", "feasible")
    assert certificate["objective"]["value"] == pytest.approx(math.atan(best) - 0.3 * best)
    assert "atan" in (house / "angle" / "model.py").read_text("utf-8")


RULE = """
from dataclasses import replace
from engiagent.blueprint.document import Blueprint
from engiagent.text.problem import Problem
from engiagent.verify.checking import check

problem = Problem.load("problems/battery/shed")
document = Blueprint.load("problems/battery/shed/expert/blueprint.json").to_dict()
for parameter in document["core_model_elements"]["parameters"]:
    if parameter["name"] == "price":
        parameter["source_reference"] = {"kind": "assumption", "reason": "as usual"}
certificate = check(problem, None, Blueprint.from_dict(document))
print(certificate.levels["data"]["status"], *certificate.levels["data"]["findings"], sep="\\n")
"""


def test_the_new_check_finds_a_fault(house: Path) -> None:
    status, *findings = python(house, "-c", RULE).splitlines()
    assert status != "pass"
    assert "price is a price, and it is assumed; take it from the problem" in findings


def test_the_new_problem_is_checked_by_its_folder_alone(house: Path) -> None:
    assert "shed: certified" in python(house, "-m", "engiagent", "check", "problems/battery/shed")
    expert = house / "problems" / "battery" / "shed" / "expert"
    answer = json.loads((expert / "answer.json").read_text("utf-8"))
    route = f"print(__import__('runpy').run_path({str(expert / 'second_route.py')!r})['solve']())"
    assert float(python(house, "-c", route)) == pytest.approx(answer["objective"]["value"])
