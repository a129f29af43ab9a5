"""Irreducible sets: what a claim brings is shown member by member, and anything else is refused."""

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
import xarray as xr

from engiagent.blueprint.document import Blueprint
from engiagent.formulations.compile import compile_blueprint
from engiagent.run.certify import certify
from engiagent.run.proofs import Proofs
from engiagent.solvers.solution import to_arrays
from engiagent.solvers.solving import solve
from tests.verify.small import HOURS, document

INSTANTS = {"name": "I", "kind": "instants", "of": "T"}


def battery(target: float = 180.0) -> Blueprint:
    """Return a battery of 10 kW that has three hours to come from 100 kWh to a target."""
    return document(
        [
            {"name": "charge", "index": ["t in T"], "unit": "kW", "lower": 0, "upper": 10},
            {"name": "draw", "index": ["t in T"], "unit": "kW", "lower": 0, "upper": 70},
            {"name": "stored", "index": ["i in I"], "unit": "kWh", "lower": 0, "upper": 200},
        ],
        [
            {
                "constraint_id": "dynamics",
                "forall": ["t in T"],
                "expression": "stored[t+1] == stored[t] + 0.95*charge[t]*dt(t)",
            },
            {"constraint_id": "start", "expression": "stored[first(I)] == 100"},
            {"constraint_id": "target", "expression": f"stored[last(I)] >= {target}"},
            {
                "constraint_id": "house",
                "forall": ["t in T"],
                "expression": "draw[t] == 3.3[kW] + charge[t]",
            },
        ],
        {"sense": "minimize", "unit": "kWh", "expression": "sum(draw[t]*dt(t) for t in T)"},
        sets=[*HOURS, INSTANTS],
    )


def parity(total: float = 3.0) -> Blueprint:
    """Return whole numbers of which twice the sum is odd: only their being whole forbids it."""
    return document(
        [{"name": n, "unit": "1", "type": "integer", "lower": 0, "upper": 9} for n in ("a", "b")],
        [
            {"constraint_id": "sum", "expression": f"2*a + 2*b == {total}"},
            {"constraint_id": "other", "expression": "a - b <= 5"},
        ],
        {"sense": "minimize", "unit": "1", "expression": "a + b"},
    )


def claimed(blueprint: Blueprint) -> xr.Dataset:
    program = compile_blueprint(blueprint, Path())
    found = to_arrays(program, solve(program, isolate=False))
    assert found.attrs["status"] == "infeasible"
    return Proofs(exact=True).claimed(found, program).to_xarray()


def judged(blueprint: Blueprint, solution: xr.Dataset, proven: bool | None = True) -> Any:
    """Return what is shown of a set; with ``proven`` None the verdict goes by that set."""
    certificate = certify(None, solution, blueprint, folder=Path(), name="c", exact=True)
    found = dict(certificate.levels["optimality"]["irreducible_set"])
    infeasible = found["infeasible"] is True if proven is None else proven
    assert (certificate.verdict == "proven infeasible") is infeasible
    return found


def with_members(solution: xr.Dataset, members: list[dict[str, str]]) -> xr.Dataset:
    return solution.assign_attrs(conflict=json.dumps(members))


def test_the_set_that_comes_with_a_claim_is_shown_member_by_member() -> None:
    blueprint = battery()
    solution = claimed(blueprint)
    found = judged(blueprint, solution)
    assert {m["name"] for m in found["members"]} == {"dynamics", "start", "target", "charge"}
    assert found["infeasible"] is True
    assert found["irreducible"] is True
    assert found["proof"] == "ray"
    missed = [Fraction(m["witness_violation"]) for m in found["members"]]
    # 80 kWh in three hours at 95 % is no decimal: there is nothing nearer than the last digit.
    assert sorted(missed)[:3] == [0, 0, 0]
    assert max(missed) < Fraction(1, 10**15)


def test_a_set_with_one_dropped_contradicts_nothing_and_with_one_added_is_reducible() -> None:
    blueprint = battery()
    solution = claimed(blueprint)
    members = json.loads(solution.attrs["conflict"])
    for number in range(len(members)):
        fewer = judged(blueprint, with_members(solution, members[:number] + members[number + 1 :]))
        assert fewer["infeasible"] is False
        assert fewer["irreducible"] is False
    for added in (
        {"kind": "constraint", "name": "house", "side": "both"},
        {"kind": "bound", "name": "stored", "side": "upper"},
    ):
        more = judged(blueprint, with_members(solution, [*members, added]))
        assert more["infeasible"] is True
        assert more["irreducible"] is False
        assert added["name"] in more["reason"]


def test_a_set_that_only_whole_numbers_contradict_is_shown_by_cases() -> None:
    blueprint = parity()
    solution = claimed(blueprint).assign_attrs(conflict="[]")
    own = [{"kind": "constraint", "name": "sum", "side": "both"}]
    found = judged(blueprint, with_members(solution, own), None)
    assert found["irreducible"] is True
    assert found["proof"].startswith("tree of")
    other = {"kind": "constraint", "name": "other", "side": "upper"}
    more = judged(blueprint, with_members(solution, [*own, other]), None)
    assert more["infeasible"] is True
    assert more["irreducible"] is False
    fewer = judged(blueprint, with_members(solution, [other]), None)
    assert fewer["infeasible"] is False


@pytest.mark.parametrize(
    "members",
    [
        [],
        [{"kind": "constraint", "name": "nobody", "side": "both"}],
        [{"kind": "constraint", "name": "start", "side": "both"}] * 2,
        [{"kind": "constraint", "name": "start"}],
        [{"kind": "word", "name": "start", "side": "both"}],
        "nonsense",
    ],
)
def test_a_claim_that_names_nothing_is_no_set(members: Any) -> None:
    blueprint = battery()
    found = judged(blueprint, with_members(claimed(blueprint), members))
    assert found["infeasible"] is None
    assert found["reason"]


def test_a_feasible_set_is_never_shown_to_be_one() -> None:
    possible, impossible = battery(120.0), battery()
    solution = claimed(impossible)
    assert judged(possible, solution, proven=False)["infeasible"] is False
