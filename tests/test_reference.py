"""The reference page is what the code says, and its examples give what stands beside them."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from reference import load_constructs

from engiagent.blueprint import Blueprint
from engiagent.blueprint.analysis import analyse
from engiagent.blueprint.definitions import check_definitions, evaluate_definitions
from engiagent.blueprint.document import schema
from engiagent.blueprint.elaborate import Elaboration
from engiagent.blueprint.explanations import explanations
from engiagent.blueprint.grammar import FUNCTIONS, LOGICAL, REDUCTIONS, parse, parse_binder
from engiagent.formulations.compile import compile_blueprint
from engiagent.formulations.expansion import expand
from engiagent.solvers.result import SolveOptions
from engiagent.solvers.solving import solve
from engiagent.units.unit import known_units, parse_unit
from engiagent.verify.documents import Bench, Declarations
from engiagent.verify.series import Series
from tests.language.building import with_fragment

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "reference.md"
CONSTRUCTS = load_constructs()


def entries() -> Iterator[tuple[str, Mapping[str, Any]]]:
    for group, items in CONSTRUCTS.items():
        if group == "operators":
            yield from ((f"{group}: {item['name']}", item) for item in items)
        elif group not in ("model", "point"):
            yield from ((f"{group}: {name}", item) for name, item in items.items())


def having(*fields: str) -> list[Any]:
    """Return the entries that have one of the fields, as cases of a test."""
    return [pytest.param(e, id=name) for name, e in entries() if set(fields) & set(e)]


def is_number(case: Any) -> bool:
    """Return whether an expression's example has numbers, and not truth values."""
    return bool(np.asarray(case.values[0]["gives"]).dtype != np.bool_)


def model(fragment: str = "{}") -> Blueprint:
    """Return the model of the page with a fragment put into it."""
    return Blueprint.from_dict(with_fragment(json.loads(CONSTRUCTS["model"]), json.loads(fragment)))


@pytest.mark.parametrize("entry", having("expression"))
def test_an_expression_has_the_unit_and_the_values_of_the_page(entry: Mapping[str, Any]) -> None:
    core = model().core
    text, binders = entry["expression"], [entry["for"]] if "for" in entry else []
    checker = Elaboration(core, None).checker()
    typed = checker.check(parse(text), checker.scope_of(tuple(map(parse_binder, binders))))
    series = {}
    for variable in core.decision_variables:
        data = np.asarray(CONSTRUCTS["point"][variable.name], dtype=float)
        dims = tuple(parse_binder(item).set for item in variable.index)
        series[variable.name] = Series(variable.name, data, parse_unit(variable.unit or "1"), dims)
    evaluator = Bench(Declarations(core, None), series).evaluator
    frame = evaluator.frame(tuple(binders), None)
    if typed.sort == "condition":
        assert evaluator.condition(parse(text), frame).tolist() == entry["gives"]
        return
    assert str(typed.unit) == entry.get("unit", "1")
    value = evaluator.evaluate(text, frame)
    shown = value.data / typed.unit.scale - typed.unit.origin
    np.testing.assert_allclose(shown, np.atleast_1d(entry["gives"]), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("entry", [c for c in having("expression") if is_number(c)])
def test_the_compiler_gives_the_values_of_the_page(entry: Mapping[str, Any]) -> None:
    example = {"name": "example", "expression": entry["expression"], "unit": entry.get("unit", "1")}
    if "for" in entry:
        example["index"] = [entry["for"]]
    program = compile_blueprint(model(json.dumps({"expressions": [example]})), None)
    x = np.zeros(program.column_count)
    for block in program.columns:
        x[block.start : block.stop] = CONSTRUCTS["point"][block.name]
    (value,) = program.expressions
    np.testing.assert_allclose(value.evaluate(x), np.atleast_1d(entry["gives"]), atol=1e-12)


@pytest.mark.parametrize("entry", having("elements"))
def test_a_set_has_the_elements_of_the_page(entry: Mapping[str, Any]) -> None:
    elaboration = Elaboration(model(entry["add"]).core, None)
    for name, expected in entry["elements"].items():
        labels = elaboration.index_set(name).labels
        assert [list(x) if isinstance(x, tuple) else x for x in labels] == expected


@pytest.mark.parametrize("entry", having("optimum", "solution"))
def test_a_programme_has_the_optimum_of_the_page(entry: Mapping[str, Any]) -> None:
    blueprint = expand(model(entry["add"]))
    assert analyse(blueprint, None).errors == ()
    program = compile_blueprint(blueprint, None)
    result = solve(program, SolveOptions(time_limit=30, threads=1), isolate=False)
    assert result.status == "optimal", result.reason
    assert result.x is not None
    if "optimum" in entry:
        assert result.objective == pytest.approx(entry["optimum"], abs=1e-5)
    blocks = {block.name: slice(block.start, block.stop) for block in program.columns}
    for name, expected in entry.get("solution", {}).items():
        np.testing.assert_allclose(result.x[blocks[name]], np.atleast_1d(expected), atol=1e-5)


@pytest.mark.parametrize("entry", having("values"))
def test_what_is_computed_has_the_values_of_the_page(entry: Mapping[str, Any]) -> None:
    blueprint = model(entry["add"])
    for name, expected in entry["values"].items():
        if blueprint.kind == "programme":
            found = Elaboration(blueprint.core, None).table(name).values
        else:
            assert check_definitions(blueprint) == ()
            found = evaluate_definitions(blueprint)[name]
        np.testing.assert_allclose(np.squeeze(found), expected, rtol=1e-9)


def test_every_construct_has_an_entry_and_no_other_has() -> None:
    definitions = schema()["$defs"]

    def allowed(name: str, field: str) -> set[str]:
        return set(definitions[name]["properties"][field]["enum"])

    assert set(CONSTRUCTS["functions"]) == {*FUNCTIONS, *REDUCTIONS}
    assert set(CONSTRUCTS["set_kinds"]) == allowed("set", "kind")
    assert allowed("variable", "type") <= set(CONSTRUCTS["variable_types"])
    assert set(CONSTRUCTS["objectives"]) == allowed("objective", "combination")
    risk = definitions["objective"]["properties"]["risk"]["properties"]["measure"]["enum"]
    assert set(CONSTRUCTS["risks"]) == set(risk)
    uncertain = definitions["parameter"]["properties"]["uncertain"]["properties"]["set"]["enum"]
    assert set(CONSTRUCTS["uncertainty"]) == set(uncertain)
    forms = definitions["constraint"]["properties"]["penalty"]["properties"]["form"]["enum"]
    assert {f"soft, {form}" for form in forms} <= set(CONSTRUCTS["constraint_forms"])


def test_every_entry_has_an_example_that_is_tested_and_uses_the_construct() -> None:
    for name, entry in entries():
        assert entry["meaning"], name
        assert {"gives", "elements", "optimum", "solution", "values"} & set(entry), name
    for name, entry in CONSTRUCTS["functions"].items():
        assert f"{name}(" in entry.get("expression", entry.get("add")), name
        assert name in LOGICAL or "expression" in entry, name


def test_fields_of_a_kind_of_set_are_fields_of_the_schema() -> None:
    fields = set(schema()["$defs"]["set"]["properties"])
    for name, entry in CONSTRUCTS["set_kinds"].items():
        assert set(entry["fields"]) <= fields, name


def test_every_unit_field_and_code_is_on_the_page() -> None:
    page = PAGE.read_text("utf-8")
    for unit in known_units():
        assert f"`{unit}`" in page, unit
    for code in explanations():
        assert f"[{code}]" in page, code
    for definition in schema()["$defs"].values():
        for field in definition.get("properties", {}):
            assert f"| `{field}`" in page or f"| **`{field}`**" in page, field


def test_every_field_of_the_schema_says_what_it_is() -> None:
    def undescribed(part: Any, path: str = "") -> Iterator[str]:
        if isinstance(part, dict):
            for field, value in part.get("properties", {}).items():
                if not value.get("description"):
                    yield f"{path}.{field}"
            for key, value in part.items():
                yield from undescribed(value, f"{path}.{key}")
        elif isinstance(part, list):
            for item in part:
                yield from undescribed(item, path)

    assert list(undescribed(schema())) == []
