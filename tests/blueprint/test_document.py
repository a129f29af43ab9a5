"""The document: one canonical text, errors that name the JSON path, nothing that changes."""

import json
import time
from dataclasses import FrozenInstanceError
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from engiagent.blueprint.document import Blueprint, FrozenMap, freeze, schema, thaw
from engiagent.errors import InputError
from engiagent.io.jsontext import dumps_canonical, loads_strict
from tests.blueprints import DAY, constraint, document, parameter, variable
from tests.strategies import blueprints

PROBLEMS = Path(__file__).parents[2] / "problems"
EXPERT = sorted(PROBLEMS.glob("*/*/expert/blueprint.json"))


# --- the way there and back ----------------------------------------------------------------------


@pytest.mark.parametrize("path", EXPERT, ids=lambda path: path.parents[1].name)
def test_expert_blueprints_survive_byte_for_byte(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert Blueprint.load(path).to_json() == text


@given(blueprints())
def test_random_blueprints_survive_byte_for_byte(drawn: Blueprint) -> None:
    text = drawn.to_json()
    again = Blueprint.from_json(text)
    assert again == drawn
    assert again.to_json() == text
    assert again.sha256 == drawn.sha256


def _values() -> st.SearchStrategy[Any]:
    """Return a strategy of JSON values."""
    plain = (
        st.none()
        | st.booleans()
        | st.integers(-(10**20), 10**20)
        | st.floats(allow_nan=False, allow_infinity=False)
        | st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
    )
    keys = st.text(st.characters(exclude_categories=["Cs"]), max_size=5)
    return st.recursive(
        plain, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(keys, inner, max_size=4)
    )


@given(_values())
def test_any_json_value_survives_the_canonical_text(value: Any) -> None:
    text = dumps_canonical(value)
    assert loads_strict(text) == json.loads(text) == value
    assert dumps_canonical(loads_strict(text)) == text
    assert thaw(freeze(value)) == value


@given(_values(), _values())
def test_free_parts_of_a_blueprint_survive_too(left: Any, right: Any) -> None:
    plain = document()
    plain["extended_analysis_and_robustness"] = {
        "trade_off_analysis": {"a": left},
        "sensitivity_factors": [{"b": right}],
    }
    read = Blueprint.from_dict(plain)
    assert (
        read.to_dict()["extended_analysis_and_robustness"]
        == plain["extended_analysis_and_robustness"]
    )
    assert Blueprint.from_json(read.to_json()) == read


def test_fields_are_written_in_the_schemas_order_and_absent_ones_left_out() -> None:
    definition = {"unit": "kW", "value": 3, "name": "p"}
    read = Blueprint.from_dict(document(parameters=[definition]))
    assert list(read.to_dict()["core_model_elements"]["parameters"][0]) == ["name", "value", "unit"]


def test_the_schema_is_a_schema_and_names_the_fields_of_the_document() -> None:
    Draft202012Validator.check_schema(schema())
    assert set(schema()["properties"]) == {
        name for name in Blueprint.__dataclass_fields__ if not name.startswith("_")
    }


# --- nothing changes -----------------------------------------------------------------------------


def test_a_blueprint_cannot_be_changed() -> None:
    read = Blueprint.from_dict(
        document(parameters=[parameter("p", {"a": [1, 2]}, "kW", "T")], sets=[DAY])
    )
    definition = read.core.parameters[0]
    with pytest.raises(FrozenInstanceError):
        definition.name = "q"  # type: ignore[misc]
    with pytest.raises(TypeError):
        definition.value["a"] = 3
    with pytest.raises(TypeError):
        definition.value["a"][0] = 3
    assert isinstance(definition.value, FrozenMap)
    assert hash(read) == hash(Blueprint.from_json(read.to_json()))


def test_a_changed_copy_leaves_the_original() -> None:
    read = Blueprint.from_dict(document(sets=[DAY]))
    other = read.with_core(sets=())
    assert (len(read.core.sets), len(other.core.sets)) == (1, 0)
    assert other.sha256 != read.sha256


def test_what_was_given_is_not_kept(tmp_path: Path) -> None:
    plain = document(sets=[dict(DAY)])
    read = Blueprint.from_dict(plain)
    plain["core_model_elements"]["sets"][0]["periods"] = 99
    assert read.core.sets[0].periods == DAY["periods"]


# --- what does not fit the schema ----------------------------------------------------------------


def _core(**more: Any) -> dict[str, Any]:
    return document(**more)


@pytest.mark.parametrize(
    ("plain", "path", "words"),
    [
        ([], "the document", "expected object"),
        ({}, "the document", "'schema', 'kind'"),
        (document() | {"schema": "engiagent-blueprint/2"}, "schema", "'engiagent-blueprint/1'"),
        (document() | {"kind": "program"}, "kind", "'programme'"),
        (document() | {"extra": 1}, "the document", "unknown field 'extra'"),
        (document() | {"modeling_context": {}}, "modeling_context", "'problem_essence' is missing"),
        (_core(sets=[{"name": "T"}]), 'sets[0] "T"', "'kind' is missing"),
        (_core(sets=[DAY | {"kind": "times"}]), 'sets[0].kind "T"', "expected one of 'time'"),
        (
            _core(sets=[DAY | {"periods": 4.0}]),
            'sets[0].periods "T"',
            "found 4.0; expected integer",
        ),
        (_core(sets=[DAY | {"periods": 0}]), 'sets[0].periods "T"', "less than the minimum"),
        (_core(sets=[DAY | {"periods": True}]), 'sets[0].periods "T"', "expected integer"),
        (
            _core(sets=[DAY | {"name": "2T"}]),
            "sets[0].name",
            "expected an identifier, as soc or P_max",
        ),
        (_core(sets=[DAY | {"step": 3.5}]), "sets[0].step", "3.5"),
        (_core(parameters=[{"name": "p", "vale": 3}]), 'parameters[0] "p"', "unknown field 'vale'"),
        (_core(parameters=[parameter("p", True)]), 'parameters[0].value "p"', "found True"),
        (_core(parameters=[parameter("p", None)]), 'parameters[0].value "p"', "found None"),
        (
            _core(parameters=[parameter("p", 1, type="elements of T")]),
            "parameters[0].type",
            "elements",
        ),
        (
            _core(parameters=[{"name": "p", "status": "unknown"}]),
            "parameters[0].status",
            "'missing'",
        ),
        (
            _core(decision_variables=[variable("x", type="real")]),
            "decision_variables[0].type",
            "'continuous'",
        ),
        (
            _core(decision_variables=[variable("x", lower=[1])]),
            "decision_variables[0].lower",
            "number or string",
        ),
        (
            _core(decision_variables=[variable("x", quantity="a..b")]),
            "decision_variables[0].quantity",
            "a..b",
        ),
        (_core(constraints=[{"constraint_id": "C1"}]), "constraints[0]", "'expression' is missing"),
        (
            _core(constraints=[constraint("x <= 1", category="Physics")]),
            "constraints[0].category",
            "'Physical Laws'",
        ),
        (_core(constraints=[constraint("")]), "constraints[0].expression", "''"),
        (_core(constraints=[constraint("x" * 4001)]), "constraints[0].expression", "long"),
        (
            _core(constraints=[constraint("x <= 1") | {"forall": "t in T"}]),
            "constraints[0].forall",
            "expected array",
        ),
        (
            _core(objective_function={"sense": "min", "expression": "x"}),
            "objective_function.sense",
            "'minimize'",
        ),
        (
            _core(constraints=[constraint("x <= 1", source_reference={"kind": "guess"})]),
            "constraints[0].source_reference",
            "guess",
        ),
    ],
)
def test_schema_errors_name_the_path_and_what_was_expected(
    plain: Any, path: str, words: str
) -> None:
    with pytest.raises(InputError) as caught:
        Blueprint.from_dict(plain, "mine.json")
    message = str(caught.value)
    assert message.startswith("mine.json: ")
    assert path in message
    assert words in message


@pytest.mark.parametrize(
    ("core", "place"),
    [
        ({"parameters": [parameter("p", [1.0, float("nan")], "T")]}, 'parameters[0].value[1] "p"'),
        ({"decision_variables": [variable("x", upper=float("inf"))]}, 'upper "x"'),
        ({"parameters": [parameter("p", {"a": -float("inf")})]}, 'parameters[0].value.a "p"'),
    ],
)
def test_a_number_that_json_has_no_word_for_is_refused_with_its_place(
    core: dict[str, Any], place: str
) -> None:
    with pytest.raises(InputError, match="not finite") as caught:
        Blueprint.from_dict(_core(**core), "mine.json")
    assert place in str(caught.value)


# --- hostile files -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "no valid JSON"),
        ("{", "no valid JSON"),
        ('{"a": 1,}', "no valid JSON"),
        ('{\n  "a": 1\n  "b": 2}', "3:3"),
        ('{"a": 1, "b": 2, "a": 3}', "'a'"),
        ('{"a": NaN}', "NaN"),
        ('{"a": -Infinity}', "Infinity"),
        ('{"a": 1e999}', "double precision"),
        ('{"a": ' + "9" * 400 + "}", "300 digits"),
        ("[" * 100_000, "nested deeper"),
        ('{"a":' * 100 + "1" + "}" * 100, "nested deeper"),
        ('{"a": "\\ud800"}', "surrogate"),
        ('{"\\udfff": 1}', "surrogate"),
        ('"' + '\\"' * 500_000, "no valid JSON"),
        ('{"a": "' + "x" * 100 + "\n", "no valid JSON"),
    ],
)
def test_broken_and_hostile_json_is_refused_at_once(text: str, words: str) -> None:
    start = time.process_time()
    with pytest.raises(InputError) as caught:
        Blueprint.from_json(text, "x.json")
    assert words in str(caught.value)
    assert time.process_time() - start < 2.0


def test_a_hundred_thousand_keys_with_one_twice_are_refused_at_once() -> None:
    text = "{" + ",".join(f'"k{n}":1' for n in range(100_000)) + ',"k99999":2}'
    start = time.process_time()
    with pytest.raises(InputError, match="'k99999'"):
        loads_strict(text)
    assert time.process_time() - start < 2.0


def test_a_byte_order_mark_is_no_error() -> None:
    assert loads_strict("\ufeff{}") == {}


def test_unreadable_files_are_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot read the blueprint"):
        Blueprint.load(tmp_path / "absent.json")
    latin = tmp_path / "latin.json"
    latin.write_bytes('{"a": "\u00e4"}'.encode("latin-1"))
    with pytest.raises(InputError, match="not UTF-8"):
        Blueprint.load(latin)
