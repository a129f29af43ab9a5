"""Every misuse is refused at its place, with words that say what would be right."""

from typing import Any

import pytest

from engiagent.blueprint.definitions import check_definitions, evaluate_definitions
from engiagent.blueprint.diagnostics import BlueprintError
from engiagent.blueprint.document import Blueprint
from tests.definitions.cases import blueprint, cooling, draw, hours, number, thermostat


def said(core: dict[str, Any]) -> str:
    """Return what is said of a blueprint: by analysis, or else when it is computed."""
    plan = blueprint(**core)
    found = check_definitions(plan)
    if found:
        return "\n".join(map(str, found))
    with pytest.raises(BlueprintError) as caught:
        evaluate_definitions(plan)
    return str(caught.value)


def defined(*definitions: dict[str, Any], **more: Any) -> dict[str, Any]:
    sets = [*hours(4), {"name": "G", "kind": "labels", "elements": ["a", "b"]}]
    parameters = [number("E", 5, "kWh"), number("P", [1, 2, 0, 4], "kW", index=["T"])]
    return {"sets": sets, "parameters": parameters, "definitions": [*definitions], **more}


def one(expression: str, **more: Any) -> dict[str, Any]:
    return defined({"name": "x", "index": ["t in T"], "expression": expression, **more})


WRONG_DEFINITIONS = {
    "unknown name": (one("F + 1"), 'EB002 definitions[0].expression "x", column 1: unknown name'),
    "units": (one("E + P[t]"), "EB005"),
    "not finite": (one("exp(1000*pos(t))"), "EB016"),
    "twice": (
        defined({"name": "x", "expression": "1"}, {"name": "x", "expression": "2"}),
        "EB012 definitions[1]: the name 'x' is already used under 'definitions'",
    ),
    "no unit in a circle": (
        defined(
            {"name": "x", "index": ["t in T"], "expression": "prev(y[t], 0)"},
            {"name": "y", "index": ["t in T"], "expression": "prev(x[t], 0)"},
        ),
        "none says its unit: x, y",
    ),
    "at once": (
        defined(
            {"name": "x", "index": ["t in T"], "unit": "1", "expression": "y[t] + 1"},
            {"name": "y", "index": ["t in T"], "unit": "1", "expression": "x[t] - 1"},
        ),
        "within one step: ",
    ),
    "no time": (
        defined({"name": "x", "index": ["g in G"], "unit": "1", "expression": "x[g] + 1"}),
        "runs over no time",
    ),
    "future": (
        one("0 if t == last(T) else x[t+1]", unit="1"),
        'EB043 definitions[0].expression "x", column 24: x is not known yet at t = 00:00; use',
    ),
}


def flow(**change: Any) -> dict[str, Any]:
    core = cooling()
    core["equations"][0] |= change
    return core


WRONG_EQUATIONS = {
    "instants of another set": (
        flow(instants="T"),
        'EB041 equations[0].instants "tank": T are not the instants of T',
    ),
    "no index": (flow(index=[]), "an equation runs over periods"),
    "no periods": (flow(index=["i in I"]), "EB041"),
    "unit of the rate": (flow(rate="ambient - tank[t]"), "EB005"),
    "step": (flow(step="7 min"), "a period of 1 h is no whole number of 7 min"),
    "tiny step": (flow(step="0.0001 s"), "EB047"),
    "not linear": (
        flow(scheme="exact", rate="(ambient - tank[t])**2/(tau*1[K])"),
        "EB041 equations[0].rate",
    ),
    "decision in exact": (
        flow(scheme="exact", rate="(ambient - tank[t])/tau if tank[t] > 30[degC] else 0"),
        "needs a rate that is linear in the states; use rk4",
    ),
    "the end of the period": (flow(rate="(ambient - tank[t+1])/tau"), "EB043"),
    "explosion": (
        flow(unit="K", initial=1, scheme="euler", rate="1e9[1/K^7/h]*tank[t]**8"),
        "EB016 equations[0].rate",
    ),
}


def drawn(distribution: str, arguments: dict[str, Any], **change: Any) -> dict[str, Any]:
    draws = [draw(distribution, arguments, unit="kW", **change) | {"index": ["t in T"]}]
    return {**defined(), "draws": draws}


WRONG_DRAWS = {
    "missing argument": (
        drawn("normal", {"mean": 1}),
        'EB044 draws[0].arguments "x": normal takes mean, standard_deviation; here are mean',
    ),
    "negative": (
        drawn("normal", {"mean": 1, "standard_deviation": -1}),
        "standard_deviation is negative",
    ),
    "unit": (drawn("exponential", {"mean": "E"}), "EB005 draws[0].arguments.mean"),
    "list": (drawn("empirical", {"values": "E"}), "'E' is no parameter over one set"),
    "probabilities": (
        {
            **drawn("discrete", {"values": "P", "probabilities": "p"}),
            "parameters": [
                number("P", [1, 2, 0, 4], "kW", index=["T"]),
                number("p", [0.1, 0.2, 0.3, 0.3], index=["T"]),
            ],
        },
        "the probabilities add up to 0.9, not to 1",
    ),
    "hash": (
        drawn("uniform", {"lower": 1, "upper": 3}, sha256="0" * 64),
        'EB044 draws[0].sha256 "x": the samples have the hash',
    ),
}


def chosen(*choices: dict[str, Any], **more: Any) -> dict[str, Any]:
    design = {"choices": [*choices], "sense": "minimize", "merit": "abs(a - E)", **more}
    return {**defined(), "design": design}


A = {"name": "a", "unit": "kWh"}
WRONG_DESIGNS = {
    "nothing": (chosen(A), "EB045 design.choices[0]"),
    "both": (chosen({**A, "values": [1], "lower": 0}), "either values, or lower, upper and points"),
    "crossed": (chosen({**A, "lower": 5, "upper": 1, "points": 3}), "lies above upper"),
    "endless": (chosen({**A, "lower": 1, "upper": 5}), "endlessly many values"),
    "no seed": (chosen({**A, "lower": 1, "upper": 5}, samples=5), "need a generator and a seed"),
    "too many": (
        chosen(*({"name": f"a{k}", "lower": 0, "upper": 1, "points": 100} for k in range(9)), A),
        "EB04",
    ),
    "unit": (chosen({**A, "values": [1]}, unit="EUR"), "EB005"),
}


def claimed(expression: str, tolerance: Any = 0, **more: Any) -> dict[str, Any]:
    claim = {"claim_id": "K", "expression": expression, "tolerance": tolerance, **more}
    return {**defined({"name": "x", "expression": "2*E"}), "claims": [claim]}


WRONG_CLAIMS = {
    "no comparison": (claimed("x"), 'EB046 claims[0].expression "K"'),
    "strict": (claimed("x < 3[kWh]"), "EB046"),
    "units": (claimed("x == 3[kW]"), "EB005"),
    "tolerance sign": (claimed("x == 3[kWh]", -1), "EB046 claims[0].tolerance"),
    "filter": (claimed("x == 3[kWh]", where="E"), "EB010 claims[0].where"),
}

ALL = {
    f"{group}: {name}": case
    for group, cases in (
        ("definition", WRONG_DEFINITIONS),
        ("equation", WRONG_EQUATIONS),
        ("draw", WRONG_DRAWS),
        ("design", WRONG_DESIGNS),
        ("claim", WRONG_CLAIMS),
    )
    for name, case in cases.items()
}


@pytest.mark.parametrize("name", ALL)
def test_misuse_is_refused_with_its_place_and_words(name: str) -> None:
    core, words = ALL[name]
    assert words in said(core)


def test_every_wrong_part_is_reported_at_once() -> None:
    wrong = ({"name": "x", "unit": "1", "expression": "F"}, {"name": "y", "expression": "E+P[1]"})
    core = defined(*(dict(part, unit="kW") for part in wrong))
    core["equations"] = [dict(cooling()["equations"][0], rate="E")]
    found = check_definitions(blueprint(**core))
    assert [d.code for d in found] == ["EB002", "EB005", "EB005"]


def test_a_programme_is_not_computed() -> None:
    plan = blueprint(**thermostat())
    programme = Blueprint.from_dict({**plan.to_dict(), "kind": "programme"})
    with pytest.raises(BlueprintError, match="EB040"):
        evaluate_definitions(programme)
