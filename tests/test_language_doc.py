"""The reference pages of the language run: every example does what the page says of it.

Fenced blocks carry their meaning in the info string:

* ``json model``: the model that the page's other examples go into;
* ``csv NAME``: a data file beside it;
* ``json add``: a fragment that is put into the model, which must then compile;
* ``json add EB004``: a fragment with which the model has exactly this error;
* ``expr for t in T, …``: expressions with, after ``->``, their unit, ``condition`` or error code;
* ``condition for t in T, …``: conditions, with ``condition`` or an error code.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from engiagent.blueprint import Blueprint
from engiagent.blueprint.analysis import analyse
from engiagent.blueprint.definitions import check_definitions, evaluate_definitions
from engiagent.blueprint.diagnostics import BlueprintError, MissingDataError
from engiagent.blueprint.document import schema
from engiagent.blueprint.elaborate import Elaboration
from engiagent.blueprint.elements import Core
from engiagent.blueprint.grammar import (
    FUNCTIONS,
    REDUCTIONS,
    Binder,
    ExpressionError,
    parse,
    parse_binder,
)
from engiagent.blueprint.grid import EMPTY_GRID
from engiagent.formulations.compile import compile_blueprint
from engiagent.formulations.expansion import expand
from tests.language.building import with_fragment
from tests.language.second_route import compare_readings

ROOT = Path(__file__).parents[1]
LANGUAGE = ROOT / "docs" / "language.md"
DIAGNOSTICS = ROOT / "docs" / "diagnostics.md"
FENCE = re.compile(r"^```(\S+) ?([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
HEADING = re.compile(r"^## (EB\d{3}): (error|warning|info), .+$", re.MULTILINE)


@dataclass(frozen=True)
class Example:
    """A fenced block: its language, the rest of its info string, its text and its line."""

    page: str
    line: int
    language: str
    info: str
    text: str

    def __str__(self) -> str:
        return f"{self.page}:{self.line}"


@cache
def examples(page: Path) -> tuple[Example, ...]:
    text = page.read_text("utf-8")
    found = FENCE.finditer(text)
    return tuple(
        Example(page.name, text.count("\n", 0, m.start()) + 1, m[1], m[2], m[3]) for m in found
    )


def chosen(page: Path, language: str, start: str, *, whole: bool = False) -> list[Any]:
    """Return the examples whose info string begins with a word, or is that word as a whole."""
    return [
        pytest.param(example, id=str(example))
        for example in examples(page)
        if example.language == language
        and (example.info if whole else example.info.split(" ")[0]) == start
    ]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the data files of both pages."""
    place = tmp_path_factory.mktemp("data")
    for example in (*examples(LANGUAGE), *examples(DIAGNOSTICS)):
        if example.language == "csv":
            (place / example.info).write_text(example.text, encoding="utf-8")
    return place


def model(page: Path) -> dict[str, Any]:
    (only,) = (e for e in examples(page) if e.info == "model")
    result: dict[str, Any] = json.loads(only.text)
    return result


def extended(page: Path, fragment: str) -> Blueprint:
    """Put a fragment into the page's model."""
    return Blueprint.from_dict(with_fragment(model(page), json.loads(fragment)))


def findings(blueprint: Blueprint, folder: Path) -> tuple[set[str], set[str]]:
    """Return the codes of errors, by analysis and compiler, and those of everything else."""
    if blueprint.kind == "definitions":
        return computed_findings(blueprint, folder), set()
    full = expand(blueprint)
    analysis = analyse(full, folder)
    errors = {d.code for d in analysis.errors}
    others = {d.code for d in analysis.diagnostics} - errors
    try:
        compile_blueprint(full, folder)
    except BlueprintError as error:
        errors |= {d.code for d in error.diagnostics}
    except MissingDataError:
        others.add("EB015")
    return errors, others


def computed_findings(blueprint: Blueprint, folder: Path) -> set[str]:
    """Return the codes of errors in a blueprint of definitions, by analysis or by computing it."""
    found = check_definitions(blueprint, folder)
    try:
        evaluate_definitions(blueprint, folder)
    except BlueprintError as error:
        found += error.diagnostics
    return {d.code for d in found if d.severity == "error"}


def test_the_model_of_the_page_is_canonical_in_meaning_and_compiles(folder: Path) -> None:
    blueprint = Blueprint.from_dict(model(LANGUAGE))
    assert Blueprint.from_json(blueprint.to_json()) == blueprint
    assert analyse(blueprint, folder).errors == ()
    assert compile_blueprint(blueprint, folder).is_mip


@pytest.mark.parametrize("example", chosen(LANGUAGE, "json", "add"))
def test_fragment(example: Example, folder: Path) -> None:
    errors, _ = findings(extended(LANGUAGE, example.text), folder)
    assert errors == set(example.info.split()[1:])


@pytest.mark.parametrize("example", chosen(LANGUAGE, "json", "add", whole=True))
def test_compiler_and_checker_read_a_fragment_alike(example: Example, folder: Path) -> None:
    blueprint = expand(extended(LANGUAGE, example.text))
    compare_readings(compile_blueprint(blueprint, folder), blueprint, folder)


@pytest.mark.parametrize(
    "example", chosen(LANGUAGE, "expr", "for") + chosen(LANGUAGE, "condition", "for")
)
def test_expressions(example: Example, folder: Path) -> None:
    binders = tuple(map(parse_binder, example.info.removeprefix("for ").split(", ")))
    core = Blueprint.from_dict(model(LANGUAGE)).core
    for line in example.text.splitlines():
        text, _, wanted = (part.strip() for part in line.rpartition("->"))
        condition = wanted == "condition" or example.language == "condition"
        assert answer(text, condition, core, folder, binders) == wanted, text


def answer(
    text: str, condition: bool, core: Core, folder: Path, binders: tuple[Binder, ...]
) -> str:
    """Return the unit of an expression, ``condition``, or the code of its error."""
    elaboration = Elaboration(core, folder)
    checker = elaboration.checker()
    scope = checker.scope_of(binders)
    grid, _ = EMPTY_GRID.expand([(b.names, elaboration.index_set(b.set)) for b in binders])
    try:
        node = parse(text)
        if condition:
            elaboration.evaluator.condition(checker.condition(node, scope).node, grid)
            return "condition"
        typed = checker.number(node, scope)
        if typed.degree == 0:
            elaboration.evaluator.number(typed.node, grid)
    except ExpressionError as error:
        return error.code
    return str(typed.unit)


def test_every_function_is_on_the_page_with_an_example() -> None:
    written = "\n".join(e.text for e in examples(LANGUAGE) if e.language in ("expr", "json"))
    for name in (*FUNCTIONS, *REDUCTIONS):
        assert re.search(rf"\b{name}\(", written), name


def field_names(part: Any) -> Iterator[str]:
    """Yield the names of all fields anywhere in a JSON Schema."""
    if isinstance(part, dict):
        yield from part.get("properties", {})
        for item in part.values():
            yield from field_names(item)
    elif isinstance(part, list):
        for item in part:
            yield from field_names(item)


def test_every_field_of_the_schema_is_on_the_page() -> None:
    text = LANGUAGE.read_text("utf-8")
    for name in set(field_names(schema())):
        assert f"`{name}`" in text, name


@dataclass(frozen=True)
class Section:
    """What the page says of one code."""

    code: str
    severity: str
    bad: Example
    good: Example


@cache
def sections() -> tuple[Section, ...]:
    text = DIAGNOSTICS.read_text("utf-8")
    headings = [(text.count("\n", 0, m.start()) + 1, m[1], m[2]) for m in HEADING.finditer(text)]
    ends = [line for line, _, _ in headings[1:]] + [text.count("\n") + 2]
    result = []
    for (start, code, severity), end in zip(headings, ends, strict=True):
        inside = {e.info: e for e in examples(DIAGNOSTICS) if start < e.line < end}
        result.append(Section(code, severity, inside["bad"], inside["good"]))
    return tuple(result)


@pytest.mark.parametrize("section", [pytest.param(s, id=s.code) for s in sections()])
def test_first_example_shows_the_code_and_second_does_not(section: Section, folder: Path) -> None:
    errors, others = findings(extended(DIAGNOSTICS, section.bad.text), folder)
    if section.severity == "error":
        assert errors == {section.code}
    else:
        assert errors == set()
        assert section.code in others
    errors, others = findings(extended(DIAGNOSTICS, section.good.text), folder)
    assert errors == set()
    assert section.code not in others


def test_the_model_of_the_diagnostics_is_clean(folder: Path) -> None:
    assert findings(Blueprint.from_dict(model(DIAGNOSTICS)), folder) == (set(), set())


def test_every_code_that_the_code_can_raise_is_explained_and_no_other() -> None:
    places = [ROOT / "engiagent" / "blueprint", ROOT / "formulations"]
    texts = [file.read_text("utf-8") for place in places for file in place.rglob("*.py")]
    raised = {code for text in texts for code in re.findall(r'"(EB\d{3})"', text)}
    listed = [section.code for section in sections()]
    assert sorted(raised) == listed
