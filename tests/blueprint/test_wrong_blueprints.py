"""Every kind of mistake in a blueprint: its code, its place and the words it is told in.

The table is the contract: people and language models mend blueprints by these messages.
"""

from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from engiagent.blueprint.analysis import analyse
from engiagent.blueprint.diagnostics import BlueprintError
from engiagent.blueprint.document import Blueprint
from engiagent.formulations.compile import compile_blueprint
from engiagent.formulations.pyomo_script import emit_pyomo
from tests.blueprints import DAY, EDGES, UNITS, blueprint, constraint, parameter, variable

Json = dict[str, Any]

SETS: list[Json] = [
    DAY,
    EDGES,
    UNITS,
    {"name": "K", "kind": "range", "start": 1, "stop": 3},
    {"name": "A", "kind": "tuples", "of": ["G", "G"], "elements": [["G1", "G2"], ["G2", "G3"]]},
    {"name": "S", "kind": "subset", "of": "T", "where": "price[t] > 20"},
]
PARAMETERS: list[Json] = [
    parameter("price", [30, -5, 10, 40], "EUR/MWh", "T"),
    parameter("outside", 5, "degC", "T"),
    parameter("eff", 90, "%"),
    parameter("fuel", {"G1": "gas", "G2": "oil", "G3": "gas"}, "1", "G", type="label"),
    parameter("dep", {"G1": 1, "G2": 2, "G3": 3}, "1", "G", type="element of K"),
]
VARIABLES: list[Json] = [
    variable("x", "t in T"),
    variable("soc", "i in I", unit="kWh"),
    variable("p", "g in G", "t in T", unit="MW"),
    variable("room", "i in I", unit="degC"),
    variable("f", "(i, j) in A", unit="kW"),
    variable("y", "t in S"),
    variable("z", "t in T", where="price[t] > 20"),
    variable("n", "k in K", unit="1", type="integer"),
]


CASES: list[Json] = YAML(typ="safe").load(Path(__file__).with_name("wrong_blueprints.yaml"))
DOUBLING = [{"name": f"e{k}", "expression": f"e{k - 1} + e{k - 1}"} for k in range(1, 40)]
CASES.append(
    {
        "what": "expressions that double",
        "add": {"expressions": [{"name": "e0", "expression": "x[first(T)]"}, *DOUBLING]},
        "at": "expressions[10].expression",
        "code": "EB012",
        "column": 6,
        "says": "written out",
    }
)
by_what = pytest.mark.parametrize("case", CASES, ids=lambda case: case["what"].replace(" ", "-"))


def added(case: Json) -> tuple[Json, str]:
    """Return what a case adds to a right blueprint, and where its mistake then is."""
    if "row" in case:
        return {"constraints": [constraint(case["row"], *case.get("for", ()))]}, (
            "constraints[0].expression"
        )
    if "where" in case:
        filtered = constraint("x[t] <= 5", "t in T", where=case["where"])
        return {"constraints": [filtered]}, "constraints[0].where"
    return case["add"], case["at"]


def the_wrong(case: Json) -> Blueprint:
    """Return a right blueprint with one mistake added."""
    core: Json = {
        "sets": SETS,
        "parameters": PARAMETERS,
        "decision_variables": VARIABLES,
        "expressions": [],
        "constraints": [],
        "objective_function": {"sense": "minimize", "expression": "x[first(T)]", "unit": "kW"},
    }
    for part, more in added(case)[0].items():
        core[part] = [*core[part], *more] if isinstance(more, list) else more
    return blueprint(**core)


def test_without_the_mistakes_nothing_is_wrong() -> None:
    right = the_wrong({"add": {}, "at": ""})
    assert analyse(right).errors == ()
    compile_blueprint(right)


@by_what
def test_mistake_is_named_with_its_place_by_lint_compiler_and_script(case: Json) -> None:
    wrong, path = the_wrong(case), f"core_model_elements.{added(case)[1]}"
    found = analyse(wrong).errors
    place = (case["code"], path, case.get("column"))
    shown = "\n".join(f"{d.code} {d.path}, column {d.column}: {d}" for d in found)
    assert any((d.code, d.path, d.column) == place and case["says"] in str(d) for d in found), (
        f"{place}: … {case['says']} …, found\n{shown}"
    )
    assert len({d.path for d in found}) == 1, "one mistake is one finding"
    with pytest.raises(BlueprintError) as compiled:
        compile_blueprint(wrong)
    assert case["code"] in {d.code for d in compiled.value.diagnostics}
    with pytest.raises(BlueprintError) as emitted:
        emit_pyomo(wrong)
    assert str(emitted.value) == str(compiled.value)
