"""The expert material of every corpus problem: traced, complete, and in agreement with itself."""

import json
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from engiagent.blueprint.analysis import analyse
from engiagent.blueprint.diagnostics import MissingDataError
from engiagent.blueprint.document import Blueprint
from engiagent.blueprint.elements import thaw
from engiagent.formulations.compile import compile_blueprint
from engiagent.formulations.expansion import expand
from engiagent.formulations.program import Program
from engiagent.run.inputs import slots_of
from engiagent.solvers.result import SolverResult
from engiagent.solvers.solution import to_dataset
from engiagent.solvers.solving import solve
from engiagent.text import Problem
from engiagent.verify.checking import check
from engiagent.verify.requirements import load_requirements, quote_findings

FOLDERS = sorted(p.parents[1] for p in Path(__file__).parents[2].glob("problems/*/*/expert/*.yaml"))
each_problem = pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: str(folder.name))

NUMBER = re.compile(r"\d+(?:[.,:]\d+)*")


def text_of(folder: Path) -> str:
    return (folder / "problem.md").read_text(encoding="utf-8")


def answer_of(folder: Path) -> Any:
    return json.loads((folder / "expert" / "answer.json").read_text(encoding="utf-8"))


def blueprint_of(folder: Path) -> Blueprint:
    return Blueprint.load(folder / "expert" / "blueprint.json")


@cache
def solved(folder: Path) -> tuple[Program, SolverResult]:
    program = compile_blueprint(blueprint_of(folder), folder)
    return program, solve(program, isolate=False)


def quoted(value: Any) -> Iterator[Any]:
    """Yield everything in a document that quotes the text: an object with span and quote."""
    if isinstance(value, dict):
        if "span" in value:
            yield value
        for item in value.values():
            yield from quoted(item)
    elif isinstance(value, list):
        for item in value:
            yield from quoted(item)


@each_problem
def test_the_reference_blueprint_is_canonical_and_without_errors(folder: Path) -> None:
    blueprint = blueprint_of(folder)
    file = folder / "expert" / "blueprint.json"
    assert blueprint.to_json() == file.read_text(encoding="utf-8")
    found = analyse(expand(blueprint), folder).diagnostics
    assert [str(d) for d in found if d.severity == "error"] == []


@each_problem
def test_every_span_quotes_the_text(folder: Path) -> None:
    text = text_of(folder)
    references = list(quoted(thaw(blueprint_of(folder))))
    assert references
    for reference in references:
        start, end = reference["span"]
        assert text[start:end] == reference["quote"]


@each_problem
def test_every_number_of_the_text_is_used_or_said_to_be_unused(folder: Path) -> None:
    text = text_of(folder)
    covered = np.zeros(len(text), dtype=bool)
    for reference in quoted(thaw(blueprint_of(folder))):
        covered[slice(*reference["span"])] = True
    body = text.index("\n---\n", 4) + 5
    left = [
        f"{match[0]} in {text[match.start() - 30 : match.end() + 30]!r}"
        for match in NUMBER.finditer(text, body)
        if not covered[match.start() : match.end()].all()
    ]
    assert left == []


@each_problem
def test_every_number_of_the_blueprint_is_the_one_it_quotes(folder: Path) -> None:
    for parameter in blueprint_of(folder).core.parameters:
        assert parameter.source_reference is not None, parameter.name
        if isinstance(parameter.value, int | float):
            quote = parameter.source_reference["quote"]
            read = re.match(r"-?[\d ]+(?:,\d{3})*(?:\.\d+)?", quote)
            assert read is not None, quote
            assert float(re.sub("[ ,]", "", read[0])) == parameter.value


@each_problem
def test_every_requirement_quotes_the_text(folder: Path) -> None:
    requirements = load_requirements(folder / "expert" / "requirements.yaml")
    assert requirements.requirements
    assert quote_findings(requirements, text_of(folder)) == []
    assert all(r.tolerance is not None for r in requirements.requirements)


@each_problem
def test_every_data_file_is_declared_and_every_declared_one_is_there(folder: Path) -> None:
    declared = re.search(r"^data: \[(.*)\]$", text_of(folder), re.MULTILINE)
    names = set() if declared is None else {n.strip() for n in declared[1].split(",")}
    assert names == {path.name for path in folder.glob("*.csv")}


@each_problem
def test_the_reference_blueprint_reaches_the_answer(folder: Path) -> None:
    blueprint, answer = blueprint_of(folder), answer_of(folder)
    if answer["verdict"] == "ill-posed":
        with pytest.raises(MissingDataError) as caught:
            compile_blueprint(blueprint, folder)
        assert sorted(slots_of(blueprint, caught.value.names)) == sorted(answer["missing"])
        return
    _, result = solved(folder)
    if answer["verdict"] == "proven infeasible":
        assert result.status == "infeasible"
        return
    assert result.status == "optimal" or answer["verdict"] == result.status == "feasible"
    assert result.objective == pytest.approx(
        answer["objective"]["value"], rel=answer["relative_tolerance"]
    )
    assert blueprint.core.objective_function is not None
    assert blueprint.core.objective_function.unit == answer["objective"]["unit"]
    assert blueprint.core.objective_function.sense == answer["objective"]["sense"]


@pytest.mark.parametrize(
    "folder",
    [folder for folder in FOLDERS if answer_of(folder)["verdict"] != "ill-posed"],
    ids=lambda folder: str(folder.name),
)
def test_the_checker_gives_the_reference_schedule_the_verdict_of_the_answer(folder: Path) -> None:
    answer = answer_of(folder)
    blueprint = expand(blueprint_of(folder))
    program, result = solved(folder)
    schedule = to_dataset(program, result)
    certificate = json.loads(check(Problem.load(folder), schedule, blueprint).to_json())
    assert certificate["not_understood"] == []
    assert certificate["violations"] == []
    assert certificate["verdict"] == answer["verdict"]
    tolerance = answer["relative_tolerance"]
    if "objective" in answer:
        value = answer["objective"]["value"]
        assert certificate["objective"]["value"] == pytest.approx(value, rel=tolerance)
    if answer["verdict"] == "certified":
        assert certificate["bound"]["value"] == pytest.approx(answer["bound"], rel=tolerance)
