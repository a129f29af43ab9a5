"""The document: one canonical text, errors that name the JSON path, nothing that changes."""

import json
from dataclasses import FrozenInstanceError
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engiagent.blueprint.document import Blueprint
from engiagent.blueprint.elements import FrozenMap, freeze, thaw
from engiagent.errors import InputError
from engiagent.io.jsontext import dumps_canonical, loads_strict
from tests.blueprints import DAY, constraint, document, parameter, variable
from tests.pace import soon
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


# --- what does not fit the schema ----------------------------------------------------------------


def rows(text: str, **more: Any) -> dict[str, Any]:
    return document(constraints=[constraint(text, **more)])


@pytest.mark.parametrize(
    ("plain", "path", "words"),
    [
        ([], "the document", "expected object"),
        ({}, "the document", "'schema', 'kind'"),
        (document() | {"schema": "engiagent-blueprint/2"}, "schema", "'engiagent-blueprint/1'"),
        (document() | {"extra": 1}, "the document", "unknown field 'extra'"),
        (document() | {"modeling_context": {}}, "modeling_context", "'problem_essence' is missing"),
        (document(sets=[{"name": "T"}]), 'sets[0] "T"', "'kind' is missing"),
        (document(sets=[DAY | {"kind": "times"}]), 'sets[0].kind "T"', "expected one of 'time'"),
        (document(sets=[DAY | {"periods": 4.0}]), 'sets[0].periods "T"', "found 4.0; expected int"),
        (document(sets=[DAY | {"periods": 0}]), 'sets[0].periods "T"', "less than the minimum"),
        (
            document(parameters=[{"name": "p", "vale": 3}]),
            'parameters[0] "p"',
            "unknown field 'vale'",
        ),
        (document(parameters=[parameter("p", None)]), 'parameters[0].value "p"', "found None"),
        (document(decision_variables=[variable("x", lower=[1])]), "lower", "number or string"),
        (
            document(constraints=[{"constraint_id": "C1"}]),
            "constraints[0]",
            "'expression' is missing",
        ),
        (rows("x" * 4001), "constraints[0].expression", "long"),
        (rows("x <= 1", hard=[]), "constraints[0].hard", "expected boolean"),
        (rows("x <= 1", source_reference={"kind": "guess"}), "[0].source_reference", "guess"),
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


def test_a_number_that_json_has_no_word_for_is_refused_with_its_place() -> None:
    with pytest.raises(InputError, match=r'parameters\[0\].value\[1\] "p": .* not finite'):
        Blueprint.from_dict(document(parameters=[parameter("p", [1.0, float("nan")], "T")]))


# --- hostile files -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "no valid JSON"),
        ("{", "no valid JSON"),
        ('{\n  "a": 1\n  "b": 2}', "3:3"),
        ('{"a": 1, "b": 2, "a": 3}', "'a'"),
        ('{"a": NaN}', "NaN"),
        ('{"a": 1e999}', "double precision"),
        ('{"a": ' + "9" * 400 + "}", "300 digits"),
        ("[" * 100_000, "nested deeper"),
        ('{"a":' * 100 + "1" + "}" * 100, "nested deeper"),
        ('{"a": "\\ud800"}', "surrogate"),
        ('"' + '\\"' * 500_000, "no valid JSON"),
        ('{"a": "' + "x" * 100 + "\n", "no valid JSON"),
    ],
)
def test_broken_and_hostile_json_is_refused_at_once(text: str, words: str) -> None:
    with soon(2.0), pytest.raises(InputError) as caught:
        Blueprint.from_json(text, "x.json")
    assert words in str(caught.value)


def test_unreadable_files_are_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot read the blueprint"):
        Blueprint.load(tmp_path / "absent.json")
    latin = tmp_path / "latin.json"
    latin.write_bytes('{"a": "\u00e4"}'.encode("latin-1"))
    with pytest.raises(InputError, match="not UTF-8"):
        Blueprint.load(latin)
