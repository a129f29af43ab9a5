"""Sources that once excused a wrong number: a prefix, an assumption, the user, the whole text."""

from pathlib import Path
from typing import Any

import pytest

from engiagent.units.unit import parse_unit
from engiagent.verify.checking import check
from tests.verify import example
from tests.verify.example import TEXT, spot

BODY = TEXT.index("A battery")
QUOTED = spot("100 kWh")


def data_level(folder: Path, **changes: Any) -> Any:
    """Return the certificate of the example with parameters changed by name."""
    options = changes.pop("options", {})
    content = example.blueprint_dict()
    for parameter in content["core_model_elements"]["parameters"]:
        parameter |= changes.get(parameter["name"], {})
    problem = example.make_problem(folder)
    for quantity in problem.quantities:
        if quantity.unit_text in ("kWh", "kW"):
            quantity.__dict__["unit"] = parse_unit(quantity.unit_text)
    return check(problem, example.solve(), example.blueprint(data=content), **options)


WRONG: dict[str, dict[str, Any]] = {
    "an assumption against its own quote": {**QUOTED, "kind": "assumption", "reason": "rounded"},
    "the user against the quote": {**QUOTED, "kind": "user", "note": "larger"},
}


@pytest.mark.parametrize("source", WRONG.values(), ids=list(WRONG))
def test_a_figure_beside_the_words_that_are_quoted_for_it(
    tmp_path: Path, source: dict[str, Any]
) -> None:
    found = data_level(tmp_path, E_max={"value": 120, "source_reference": source})
    assert found.verdict == "violated"
    assert "120 kWh" in str(found.violations[0]["message"])
    right = data_level(tmp_path, E_max={"source_reference": source})
    assert right.levels["data"]["status"] == "pass"


def test_the_users_own_value_stands_where_it_is_recorded(tmp_path: Path) -> None:
    source = {**QUOTED, "kind": "user", "note": "--set battery.energy_capacity=120"}
    change = {"value": 120, "source_reference": source}
    recorded = {"overrides": {"battery.energy_capacity": "120"}}
    assert data_level(tmp_path, E_max=change, options=recorded).levels["data"]["status"] == "pass"
    assert data_level(tmp_path, E_max=change, options={"overrides": {}}).verdict == "violated"


def test_a_value_called_the_users_own_is_a_finding_where_no_override_is_recorded(
    tmp_path: Path,
) -> None:
    change = {"value": 120, "source_reference": {"kind": "user", "note": "as agreed"}}
    found = data_level(tmp_path, E_max=change, options={"overrides": {}})
    assert found.levels["data"]["status"] == "unchecked"
    assert any("no override" in text for text in found.levels["data"]["findings"])


def test_a_name_that_begins_like_a_component_excuses_no_number(tmp_path: Path) -> None:
    content = example.blueprint_dict()
    core = content["core_model_elements"]
    derived = {"kind": "derived", "of": QUOTED, "note": "of the battery"}
    core["parameters"].append(
        {"name": "battery_extra", "value": 20, "unit": "kWh", "source_reference": derived}
    )
    core["decision_variables"][-1]["upper"] = "E_max + battery_extra"
    problem, blueprint = example.make_problem(tmp_path), example.blueprint(data=content)
    found = check(problem, example.solve(), blueprint)
    assert found.levels["data"]["status"] == "unchecked"
    assert any("battery_extra is derived" in text for text in found.levels["data"]["findings"])
    made = check(problem, example.solve(), blueprint, generated={"battery_extra"})
    assert made.levels["data"]["status"] == "pass"


def test_the_whole_text_is_no_source(tmp_path: Path) -> None:
    whole = {"kind": "text", "span": [BODY, len(TEXT)], "quote": TEXT[BODY:]}
    found = data_level(tmp_path, E_max={"value": 40, "source_reference": whole})
    assert found.levels["data"]["status"] != "pass"
    assert any("most of the text" in text for text in found.levels["data"]["findings"])


def test_a_one_with_a_unit_needs_a_source_as_every_number(tmp_path: Path) -> None:
    content = example.blueprint_dict()
    content["core_model_elements"]["decision_variables"][1]["upper"] = 1
    content["core_model_elements"]["constraints"].append(
        {"constraint_id": "least", "forall": ["t in T"], "expression": "charge[t] >= 1[kW]"}
    )
    found = check(example.make_problem(tmp_path), example.solve(), example.blueprint(data=content))
    said = [*found.levels["data"]["findings"], *(str(v["message"]) for v in found.violations)]
    assert {"discharge", "least"} <= {text.partition(":")[0] for text in said if "1 kW" in text}


@pytest.mark.parametrize("text", ["sum(charge[t] for t in T) <= 1", "1 >= charge[first(T)]"])
def test_a_bare_one_beside_powers_is_a_number_with_their_unit(tmp_path: Path, text: str) -> None:
    content = example.blueprint_dict()
    few = {"constraint_id": "few", "expression": text}
    content["core_model_elements"]["constraints"].append(few)
    found = check(example.make_problem(tmp_path), None, example.blueprint(data=content))
    assert any("few: the number 1 kW" in said for said in found.levels["data"]["findings"])


@pytest.mark.parametrize("limit", ["0", "0[kWh]", "1", "soc[first(I)]"])
def test_a_limit_that_has_nothing_of_the_figure_it_quotes_holds_none(
    tmp_path: Path, limit: str
) -> None:
    """The end was quoted, and the number that it is about stood in no expression."""
    content = example.blueprint_dict()
    core = content["core_model_elements"]
    core["parameters"] = [p for p in core["parameters"] if p["name"] != "E_end"]
    core["constraints"][-1]["expression"] = f"soc[last(I)] >= {limit}"
    problem = example.make_problem(tmp_path)
    for quantity in problem.quantities:
        if quantity.unit_text == "kWh":
            quantity.__dict__["unit"] = parse_unit("kWh")
    found = check(problem, example.solve(), example.blueprint(data=content))
    assert found.levels["data"]["status"] != "pass"
    assert any("'30 kWh'" in said for said in found.levels["data"]["findings"])
