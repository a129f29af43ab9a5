"""Cases of the suite, each replayed without a model and confirmed by a second route."""

from pathlib import Path

import pytest

from engiagent.ask.answers import Answered, Figure, answered, unused
from engiagent.ask.bench import load_suite, scores
from engiagent.ask.cards import Staff
from engiagent.ask.execution import Execution
from engiagent.ask.plan import Plan, Step, Wanted
from engiagent.tools import Session
from engiagent.tools.registry import Json
from engiagent.units.unit import parse_unit
from tests.ask.second_routes import ROUTES

SUITE = load_suite(Path(__file__).parents[2] / "engiagent" / "ask" / "cases.yaml")
SITES = "config cluster building hvac der controller disturbance environment simulation"
GROUPS = {*SITES.split(), "analysis", "comparison", "optimisation"}


def executed(plan: Plan, session: Session) -> Answered:
    """Execute a plan as it stands, and answer from its calls."""
    execution = Execution(session, Staff(), lambda event, line: None)
    made = execution.run(plan)
    assert made.steps == plan.steps  # no call had to be inserted
    draft = Answered(plan.question, "plan", made, tuple(execution.calls))
    return answered(draft, plan.findings, plan.prose)


def planned(case: Json) -> Plan:
    """Return the expected steps of a case as a plan whose findings are those of a second route."""
    steps = tuple(
        Step(f"s{k}", step["agent_id"], tool, step.get("expected_parameters", {}).get(tool, {}))
        for k, step in enumerate(case["expected_steps"])
        for tool in step["required_tools"]
    )
    routes = [(call, path) for name, call, path in ROUTES if name == case["test_id"]]
    wanted = tuple(Wanted(path, f"s{call}", path) for call, path in routes)
    return Plan(case["request"], steps, wanted)


@pytest.mark.parametrize("case", SUITE.cases, ids=lambda case: case["test_id"])
def test_a_case_is_answered_by_its_expected_steps(case: Json, tmp_path: Path) -> None:
    session = Session(tmp_path)
    for call in case["before"]:
        session.call(call["tool"], call["arguments"])
    assert {node.status for node in session.graph.nodes} <= {"done"}
    found = executed(planned(case), session)
    assert [call.answer for call in found.calls if not call.done] == []
    assert found.status == "answered", found.not_done  # every figure of the request enters a call
    routes = [route() for (name, *_), route in ROUTES.items() if name == case["test_id"]]
    for item, wanted, route in zip(found.findings, case["expected_values"], routes, strict=True):
        assert item["value"] == pytest.approx(route, abs=wanted["tolerance"], rel=0.0)
        assert wanted["value"] == pytest.approx(route, abs=wanted["tolerance"], rel=0.0)
    scored = scores(found, case)
    assert scored.accuracy == (1.0 if routes else None)
    assert scored.tool_recall == scored.plan_steps == scored.argument_values == 1.0


@pytest.mark.parametrize(
    ("question", "forgotten"),
    [
        ("lower the setpoint by 2 °C from 13:30 for 20 people", ()),
        ("lower the setpoint by 3.6 °F from half past one, 13:30", ()),
        ("lower the setpoint by 3 °C from 13:00", ("3 °C", "13:00")),
        ("keep 2 kWh for 21 people", ("2 kWh", "21 people")),
    ],
)
def test_a_figure_of_a_question_is_found_in_the_units_of_a_call(
    question: str, forgotten: tuple[str, ...]
) -> None:
    given = [(2.0, "K"), (13.5, "h"), (20.0, "person")]
    assert unused(question, [Figure(v, parse_unit(u)) for v, u in given], "") == forgotten
