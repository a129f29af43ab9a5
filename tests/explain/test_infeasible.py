"""Clashes and proposals, each looked at again by another solver."""

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from engiagent import Site
from engiagent.blueprint.document import Blueprint
from engiagent.explain import Explanation, explain
from engiagent.explain.explanation import Proposal
from engiagent.explain.relaxed import without_gaps
from engiagent.explain.text import lines_of
from engiagent.formulations.compile import compile_blueprint
from engiagent.formulations.elastic import demands_of
from engiagent.formulations.expansion import expand
from engiagent.formulations.program import Program
from engiagent.solvers.iis import families_of, irreducible_set, placed
from engiagent.solvers.narrowing import narrowed
from engiagent.solvers.result import SolveOptions
from engiagent.solvers.solving import solve
from tests.blueprints import blueprint, constraint, parameter, variable
from tests.explain.plants import TOO_LITTLE, TOO_MUCH, cistern, room, units

SCIP = SolveOptions(backend="scip", time_limit=20.0)


def status(program: Program) -> str:
    """Return what SCIP says of the demands of a program."""
    return solve(demands_of(program), SCIP, isolate=False).status


def compiled(given: Blueprint) -> Program:
    program: Program = compile_blueprint(without_gaps(expand(given)), None)
    return program


CASES: dict[str, Callable[[], Blueprint]] = {
    "a room": room,
    "a cistern": cistern,
    "engines, too much load": lambda: units(TOO_MUCH),
    "engines, too little load": lambda: units(TOO_LITTLE),
}


@pytest.fixture(scope="module")
def explained() -> dict[str, Explanation]:
    return {name: explain(make()) for name, make in CASES.items()}


@pytest.mark.parametrize("name", CASES)
def test_another_solver_finds_a_point_as_soon_as_one_element_is_left_out(name: str) -> None:
    program = compiled(CASES[name]())
    conflict = irreducible_set(program)
    assert conflict is not None
    found = narrowed(conflict)
    assert found.least
    whole = conflict.whole_numbers
    kept = {f: p for f, p in families_of(found.program).items() if f in found.positions}
    assert status(found.program) == "infeasible"
    for family, sides in kept.items():
        for place in np.union1d(*sides):
            low, high = sides
            rest = kept | {family: (low[low != place], high[high != place])}
            assert status(placed(found.program, rest, whole=whole)) == "optimal", (family, place)


# What a change of a blueprint's number looks like, and how many units of it one unit of the
# proposal is; the kind of proposal that it belongs to, by name and kind.
MOVES: dict[tuple[str, str, str], Callable[[float], Blueprint]] = {
    ("a room", "q", "shift"): lambda by: room(5 + by),
    ("a cistern", "inlet", "shift"): lambda by: with_value(cistern(), "pump", 9 + by),
    ("engines, too much load", "cap", "shift"): lambda by: with_value(
        units(TOO_MUCH), "top", {"north": 0.1 + by / 1000, "south": 0.06 + by / 1000}
    ),
    ("engines, too little load", "min", "shift"): lambda by: with_value(
        units(TOO_LITTLE), "least", {"north": 0.04 + by / 1000, "south": 0.03 + by / 1000}
    ),
    ("a room", "warm", "shift"): lambda by: with_value(room(), "theta_min", 20 + by),
    ("a room", "begin", "shift"): lambda by: with_value(room(), "theta_0", 17 + by),
}


def with_value(given: Blueprint, name: str, value: Any) -> Blueprint:
    """Return a blueprint with another value of one parameter."""
    raw = given.to_dict()
    for item in raw["core_model_elements"]["parameters"]:
        if item["name"] == name:
            item["value"] = value
    return Blueprint.from_dict(raw)


@pytest.mark.parametrize(("name", "member", "kind"), MOVES)
def test_a_proposal_is_enough_and_two_percent_less_is_not(
    name: str, member: str, kind: str, explained: dict[str, Explanation]
) -> None:
    (proposal,) = [
        p
        for p in explained[name].proposals
        if p.kind == kind and [c.name for c in p.changes] == [member]
    ]
    assert proposal.verified
    assert proposal.minimal
    ((_, amount),) = proposal.changes[0].amounts
    move = MOVES[name, member, kind]
    assert status(compiled(move(amount))) in ("optimal", "feasible")
    assert status(compiled(move(0.98 * amount))) == "infeasible"


@pytest.mark.parametrize("name", CASES)
def test_every_proposal_was_solved_again_and_shown_to_be_least(
    name: str, explained: dict[str, Explanation]
) -> None:
    found = explained[name]
    assert found.kind == "infeasible"
    assert found.proposals
    assert all(p.verified and p.minimal for p in found.proposals)
    assert all(c.proof["irreducible"] and c.proof["elements_least"] for c in found.clashes)


def changed(found: Explanation) -> set[str]:
    return {change.name for proposal in found.proposals for change in proposal.changes}


@pytest.mark.parametrize(
    ("name", "laws"),
    [("a room", {"heat"}), ("a cistern", {"mass", "vol_0"}), ("engines, too much load", {"bal"})],
)
def test_laws_balances_and_switches_never_give_way(
    name: str, laws: set[str], explained: dict[str, Explanation]
) -> None:
    found = explained[name]
    firm = {m.name for clash in found.clashes for m in clash.members if not m.soft}
    assert laws & firm
    assert not changed(found) & (firm - {"vol"})
    assert all(m.reason for clash in found.clashes for m in clash.members)


def test_more_sun_is_no_remedy_but_a_larger_connection_is() -> None:
    site = Site("2026-06-01T02:00", "1 h", 4)
    site.add("grid", "grid", import_power_max=[2.0, 2.0, 1.0, 2.0])
    site.add("roof", "generator_profile", available_power=[0.0, 0.0, 0.5, 2.0])
    site.add("hall", "load", power=3.0)
    site.minimise_cost()
    found = explain(site.blueprint())
    assert found.kind == "infeasible"
    assert changed(found) == {"grid_import"}
    reasons = {m.name: m.reason for clash in found.clashes for m in clash.members}
    assert "data" in reasons["roof_power"]


def proposal_of(found: Explanation, name: str, kind: str) -> Proposal:
    return next(p for p in found.proposals if p.kind == kind and p.changes[0].name == name)


def test_temperatures_change_by_kelvins_and_powers_by_the_unit_of_the_variable() -> None:
    kilowatts, megawatts = explain(room(5.0, "kW")), explain(room(0.005, "MW"))
    warm = proposal_of(kilowatts, "warm", "shift")
    assert warm.changes[0].unit == "K"
    assert "from 20 °C to 15.92" in warm.text
    for found in (kilowatts, megawatts):
        stove = proposal_of(found, "q", "shift")
        assert stove.changes[0].unit == "kW"
        assert stove.changes[0].amounts[0][1] == pytest.approx(2.564, rel=1e-3)
    begin = proposal_of(kilowatts, "begin", "shift")
    assert begin.text.startswith("set hut.temperature")
    assert begin.text.endswith("instead of 17 °C")


def test_elements_are_told_as_ranges_of_the_clock_with_the_words_behind_them(
    explained: dict[str, Explanation],
) -> None:
    (clash,) = explained["a room"].clashes
    members = {m.name: m for m in clash.members}
    assert members["q"].part.where == "00:00–07:00 on 11 Nov"
    assert members["warm"].part.where == "07:00 on 11 Nov"
    assert [place.quote for place in members["warm"].part.places] == ["20 °C by seven"]


def test_two_clashes_at_once_need_two_changes_at_least() -> None:
    given = blueprint(
        parameters=[parameter("a", 4, "kW"), parameter("b", 7, "kW")],
        decision_variables=[
            variable("x", upper="a", quantity="pump.power"),
            variable("y", upper="b", quantity="fan.power"),
        ],
        constraints=[
            constraint("x >= 6[kW]", constraint_id="R1"),
            constraint("y >= 8[kW]", constraint_id="R2"),
        ],
    )
    found = explain(given)
    assert len(found.clashes) == 2
    (total,) = found.proposals
    assert total.kind == "total"
    assert total.verified
    assert total.minimal
    sizes = {c.subject: abs(c.amounts[0][1]) for c in total.changes}
    assert sizes == {"pump.power": pytest.approx(2.0), "fan.power": pytest.approx(1.0)}


def test_an_explanation_is_plain_json_and_read_back_as_it_was(
    explained: dict[str, Explanation],
) -> None:
    for found in explained.values():
        stored = json.loads(json.dumps(found.to_dict(), allow_nan=False))
        assert stored["schema"] == "engiagent-explanation/1"
        again = Explanation.from_dict(stored)
        assert again.to_dict() == found.to_dict()
        assert list(lines_of(again)) == list(lines_of(found))


def test_a_long_horizon_is_narrowed_to_the_hours_that_clash() -> None:
    raw = room().to_dict()
    raw["core_model_elements"]["sets"][0]["periods"] = 240
    (clash,) = explain(Blueprint.from_dict(raw), seconds=20).clashes
    where = {member.name: member.part.where for member in clash.members}
    assert where["heat"] == where["q"] == "00:00–07:00 on 11 Nov"
    assert where["warm"] == "07:00 on 11 Nov"
    assert clash.proof["checked"]
    assert clash.proof["elements_least"]
