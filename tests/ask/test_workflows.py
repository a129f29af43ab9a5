"""Cases of the suite, each replayed without a model and confirmed by a second route."""

from pathlib import Path

import pytest

from engiagent.ask.answers import Answered, answered
from engiagent.ask.archive import archive
from engiagent.ask.bench import CATEGORIES, Case, load_suite
from engiagent.ask.cards import Staff
from engiagent.ask.execution import Execution
from engiagent.ask.figures import Figure, unused
from engiagent.ask.plan import Plan, Step, Wanted
from engiagent.ask.scores import scores
from engiagent.tools import Session
from engiagent.tools.registry import tools
from engiagent.units.unit import parse_unit
from tests.ask.second_routes import ROUTES

SUITE = load_suite(Path(__file__).parents[2] / "engiagent" / "ask" / "cases.yaml")
SITES = "config cluster building hvac der controller disturbance environment simulation"
GROUPS = {*SITES.split(), "analysis", "comparison", "optimisation", "grid"}


def executed(plan: Plan, session: Session) -> Answered:
    """Execute a plan as it stands, and answer from its calls."""
    execution = Execution(session, Staff(), lambda event, line: None)
    made = execution.run(plan)
    assert made.steps == plan.steps  # no call had to be inserted
    draft = Answered(plan.question, "plan", made, tuple(execution.calls))
    return answered(draft, plan.findings, plan.prose)


def planned(case: Case) -> Plan:
    """Return the expected steps of a case as a plan whose findings are those of a second route."""
    steps = tuple(
        Step(f"s{k}", step.agent_id, tool, dict(step.expected_parameters.get(tool, {})))
        for k, step in enumerate(case.expected_steps)
        for tool in step.required_tools
    )
    routes = [(call, path) for name, call, path in ROUTES if name == case.test_id]
    return Plan(case.request, steps, tuple(Wanted(path, f"s{call}", path) for call, path in routes))


@pytest.mark.parametrize("case", SUITE.cases, ids=lambda case: case.test_id)
def test_a_case_is_answered_by_its_expected_steps(case: Case, tmp_path: Path) -> None:
    session = Session(tmp_path)
    case.prepare(session)
    assert {node.status for node in session.graph.nodes} <= {"done"}
    found = executed(planned(case), session)
    assert [call.answer for call in found.calls if not call.done] == []
    assert found.status == "answered", found.not_done  # every figure of the request enters a call
    routes = [route() for (name, *_), route in ROUTES.items() if name == case.test_id]
    for item, wanted, route in zip(found.findings, case.expected_values, routes, strict=True):
        assert item["value"] == pytest.approx(route, abs=wanted.tolerance, rel=0.0)
        assert wanted.value == pytest.approx(route, abs=wanted.tolerance, rel=0.0)
    agents, names = case.expected_agents, case.expected_tools
    scored = scores(found, agents, names, case.expected_steps, case.expected_values)
    assert scored.accuracy == (1.0 if routes else None)
    assert scored.tool_recall == scored.plan_steps == scored.argument_values == 1.0


def test_the_suite_is_balanced_confirmed_and_apart_from_the_archive() -> None:
    sizes = [sum(case.category == name for case in SUITE.cases) for name in CATEGORIES]
    assert min(sizes) >= 13
    assert 3 * len({name for name, *_ in ROUTES}) >= len(SUITE.cases) >= 53
    known = {workflow.text for workflow in archive().values()}
    assert len(known) >= 50
    assert not known & {case.request for case in SUITE.cases}


@pytest.mark.parametrize("case", SUITE.cases, ids=lambda case: case.test_id)
def test_a_category_is_what_its_steps_are(case: Case) -> None:
    calls = [(step.agent_id, tool) for step in case.expected_steps for tool in step.required_tools]
    agents = [agent for agent, _ in calls]
    assert list(dict.fromkeys(agents)) == list(case.expected_agents)
    assert list(dict.fromkeys(tool for _, tool in calls)) == list(case.expected_tools)
    several = len(set(agents)) < len(agents)
    assert case.category == f"{'MA' if len(set(agents)) > 1 else 'SA'}{'MT' if several else 'ST'}"


def test_archive_and_suite_reach_every_group_of_the_tools_of_sites() -> None:
    of_archive = [step.tool for flow in archive().values() for step in flow.plan.steps]
    of_suite = [tool for case in SUITE.cases for tool in case.expected_tools]
    for names in (of_archive, of_suite):
        assert {tools()[name].group for name in names} >= GROUPS


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
