"""Plans by hand, and faults put into them: each is caught before it reaches the answer."""

import copy
import json
import shutil
import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from engiagent.ask.answers import Answered, answered
from engiagent.ask.archive import Workflow, archive, similar
from engiagent.ask.asking import Inquiry
from engiagent.ask.cards import Staff
from engiagent.ask.execution import Execution
from engiagent.ask.plan import Plan, Step, plan_of
from engiagent.errors import InputError
from engiagent.run.folder import RunFolder
from engiagent.tools import Session, registry
from engiagent.tools.registry import Outcome, State, tools

Json = dict[str, Any]
PROBLEM = Path(__file__).parents[2] / "problems/battery/brewery_demand_charge"
PLAN = archive()["cop_of_the_cooling"].plan


def executed(plan: Plan, out: Path, session: Path | None = None) -> Answered:
    """Execute a plan as the command does."""
    folder = RunFolder.create(out, "ask", {"question": plan.question})
    return Inquiry(folder, plan.question, None, session).by_plan(plan)


def changed(change: Callable[[Json], None]) -> Plan:
    """Return the plan with a fault in it, as it is read from a file."""
    document = copy.deepcopy(PLAN.to_dict())
    change(document)
    return plan_of(document, "plan.json", Staff())


@pytest.mark.parametrize("name", sorted(archive()))
def test_every_workflow_of_the_archive_answers_its_question(name: str, tmp_path: Path) -> None:
    found = executed(archive()[name].plan, tmp_path / "a")
    assert found.status == "answered", found.not_done
    assert len(found.findings) == len(archive()[name].plan.findings)
    assert all(finding["value"] is not None for finding in found.findings)
    page = (tmp_path / "a" / "report.html").read_text("utf-8")
    assert "<svg" in page
    assert "<script" not in page
    assert found.prose in found._repr_html_()


# --- faults --------------------------------------------------------------------------------------


def test_a_dropped_step_that_others_need_is_refused() -> None:
    with pytest.raises(InputError, match="needs step s3, which is not there"):
        changed(lambda d: d["steps"].pop(2))


def test_a_dropped_step_that_nothing_names_is_missed_by_the_figures(tmp_path: Path) -> None:
    def drop(document: Json) -> None:
        document["steps"].pop(2)
        for step in document["steps"]:
            step["depends_on"] = []

    found = executed(changed(drop), tmp_path / "a")
    assert found.status == "partial"
    assert "4.5 of the question enters no call" in found.not_done


def test_a_dropped_simulation_is_blocked_and_made_first(tmp_path: Path) -> None:
    steps = (PLAN.steps[0], Step("s2", "analysis", "analysis_cost"))
    plan = Plan("What does it cost?", steps)
    found = executed(plan, tmp_path / "a")
    assert [call.tool for call in found.calls] == [
        "config_create",
        "simulation_run",
        "analysis_cost",
    ]
    assert found.calls[1].agent == "simulation"
    assert "insert" in (tmp_path / "a" / "trace.jsonl").read_text()


def test_a_prerequisite_with_open_arguments_ends_the_plan(tmp_path: Path) -> None:
    found = executed(Plan("Cost?", (Step("s1", "analysis", "analysis_cost"),)), tmp_path / "a")
    assert found.status == "partial"
    assert "config_create" in found.not_done[0]
    assert not any(call.done for call in found.calls)


def test_a_changed_argument_is_missed_by_the_figures(tmp_path: Path) -> None:
    found = executed(changed(lambda d: d["steps"][2]["arguments"].update(cop=5.4)), tmp_path / "a")
    assert found.status == "partial"
    assert "4.5 of the question enters no call" in found.not_done


def test_a_changed_argument_outside_its_limits_is_refused() -> None:
    with pytest.raises(InputError, match=r"step s3.*cop"):
        changed(lambda d: d["steps"][2]["arguments"].update(cop=[-1]))


def test_nothing_runs_on_what_is_out_of_date(tmp_path: Path) -> None:
    """A schedule of an earlier blueprint is not checked, even when the call is repeated."""
    without = shutil.ignore_patterns("requirements.yaml", "answer.json")
    shutil.copytree(PROBLEM, tmp_path / "brewery", ignore=without)
    session = Session(tmp_path)
    for name in ("load_problem", "analyse", "compile", "solve"):
        seen = session.call(name, {"path": "brewery"} if name == "load_problem" else {})
        assert seen.status == "done", seen.content
    session.call("analyse", {})
    lines: list[str] = []
    execution = Execution(session, Staff(), lambda event, line: lines.append(event))
    execution.run(Plan("Is it certified?", (Step("s1", "optimisation", "check"),)))
    made = [call.tool for call in execution.calls if call.done]
    assert made == ["compile", "solve", "check"]
    assert lines.count("insert") == 2
    assert not any(node.insisted for node in session.graph.nodes)


def test_a_tool_that_is_not_offered_is_refused_when_read_and_when_made(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there is no tool 'hvac_update'"):
        plan_of(PLAN.to_dict(), "plan.json", Staff(without=frozenset({"hvac"})))
    staff = Staff(without=frozenset({"config"}))
    execution = Execution(Session(tmp_path), staff, lambda event, line: None)
    execution.run(PLAN)
    assert [call.status for call in execution.calls] == ["refused"]
    assert not {"config", "config_create"} & {*staff.tools, *staff.cards["config"].groups}
    with pytest.raises(InputError, match="no group of tools 'marke'"):
        Staff(without=frozenset({"marke"}))


def test_a_tool_outside_the_card_is_refused_when_read_and_when_made(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="der is not authorised to call hvac_update; hvac is"):
        changed(lambda d: d["steps"][2].update(agent="der"))
    plan = replace(PLAN, steps=(replace(PLAN.steps[0], agent="der"), *PLAN.steps[1:]))
    session = Session(tmp_path)
    execution = Execution(session, Staff(), lambda event, line: None)
    execution.run(plan)
    assert [call.status for call in execution.calls] == ["refused"]
    assert not session.graph.nodes


@pytest.mark.parametrize(
    ("prose", "figures"),
    [
        ("The cost falls to {cost}, below 7.77 EUR.", ["7.77 EUR"]),
        ("The cost is 8.23 EUR, not more, with a COP of 4.5.", []),
        ("The cost is 8.2 EUR, not 8.3 EUR.", ["8.3 EUR"]),
        ("It falls by 38 %, which is 38 kWh.", ["38 kWh"]),
        ("The peak is 4000 W at {elsewhere}.", ["{elsewhere}"]),
        (
            "On 2026-07-06 the window opens at 16:00, on 2019-01-01 at 21:05.",
            ["2019-01-01", "21:05"],
        ),
    ],
)
def test_an_invented_figure_is_struck_out(
    prose: str, figures: list[str], tmp_path: Path, upgraded: Answered
) -> None:
    found = answered(upgraded, PLAN.findings, prose)
    assert [item["figure"] for item in found.struck_out] == figures
    assert all(figure not in found.prose for figure in figures)
    assert found.status == ("partial" if figures else "answered")


@pytest.fixture(scope="module")
def upgraded(tmp_path_factory: pytest.TempPathFactory) -> Answered:
    """Return the answer of the workflow, with the peaks as well."""
    peak = Step("s6", "analysis", "analysis_peak", {"name": "better_cop"}, depends_on=("s4",))
    plan = replace(PLAN, steps=(*PLAN.steps, peak))
    return executed(plan, tmp_path_factory.mktemp("upgraded") / "a")


# --- execution -----------------------------------------------------------------------------------


def test_reads_that_need_nothing_of_one_another_run_side_by_side(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    meeting = threading.Barrier(2, timeout=20)

    def meet(state: State, arguments: Json) -> Outcome:
        return Outcome({"party": meeting.wait() >= 0})

    known = tools()
    for name in ("config_list", "config_query"):
        changed_tool = replace(known[name], work=meet, needs=())
        monkeypatch.setitem(registry.REGISTRY, name, changed_tool)
    steps = (Step("a", "config", "config_list"), Step("b", "config", "config_query"))
    execution = Execution(Session(tmp_path), Staff(), lambda event, line: None)
    execution.run(Plan("Both?", steps))
    assert [call.id for call in execution.calls if call.done] == ["a", "b"]


def test_a_failed_read_spares_what_does_not_rest_on_it(tmp_path: Path) -> None:
    steps = (
        PLAN.steps[0],
        PLAN.steps[1],
        Step("bad", "analysis", "analysis_cost", {"name": "nowhere"}),
        Step("after", "analysis", "analysis_peak", depends_on=("bad",)),
        Step("good", "analysis", "analysis_peak", {"name": "baseline"}),
    )
    found = executed(Plan("Peak?", steps), tmp_path / "a")
    assert {call.id: call.status for call in found.calls}["good"] == "done"
    assert [text for text in found.not_done if "rests on step bad" in text]


def test_a_failed_write_ends_the_plan(tmp_path: Path) -> None:
    wrong = replace(PLAN.steps[2], arguments={"id": "nowhere", "cop": 4.5})
    found = executed(replace(PLAN, steps=(*PLAN.steps[:2], wrong, *PLAN.steps[3:])), tmp_path / "a")
    assert [call.status for call in found.calls] == ["done", "done", "failed"]
    assert not found.findings


def test_a_session_goes_on_from_question_to_question(tmp_path: Path) -> None:
    own = tmp_path / "site"
    first = replace(PLAN, steps=PLAN.steps[:2], findings=(), question="Simulate.", prose="")
    assert executed(first, tmp_path / "a", own).status == "answered"
    cost = Plan("Cost?", (Step("s1", "analysis", "analysis_cost", {"name": "baseline"}),))
    found = executed(cost, tmp_path / "b", own)
    assert found.status == "answered"
    assert len(found.calls) == 1


# --- the archive ---------------------------------------------------------------------------------


def test_the_workflow_that_is_like_a_question_comes_first() -> None:
    asked = "How would cost change if the cooling of my building had a COP of 5?"
    assert similar(asked)[0].name == "cop_of_the_cooling"
    assert PLAN.question not in [workflow.text for workflow in similar(PLAN.question)]
    other = Workflow("other", replace(PLAN, question="zebra"))
    assert similar(asked, [other, archive()["cop_of_the_cooling"]])[0].name != "other"


def test_vectors_of_the_user_may_rank_the_archive() -> None:
    known = list(archive().values())[:8]

    def embed(texts: Sequence[str]) -> np.ndarray[Any, Any]:
        own = {w.text: k for k, w in enumerate(known)}
        return np.array([np.eye(8)[own.get(text, 5)] for text in texts])

    assert similar("In other words", known, embed)[0] is known[5]


def test_a_plan_file_that_is_wrong_is_named_with_its_place(tmp_path: Path) -> None:
    for change, said in (
        (lambda d: d["steps"][0].pop("tool"), r"\$\.steps\[0\].*'tool'"),
        (lambda d: d["steps"].append(d["steps"][0]), "two steps s1"),
        (lambda d: d["steps"][0].update(depends_on=["s5"]), "need one another"),
        (lambda d: d["steps"][0].update(validation="__import__('os')"), "validation"),
        (lambda d: d["findings"][0].update(call="s9"), "finding 'cost' is of step s9"),
    ):
        with pytest.raises(InputError, match=said):
            changed(change)
    assert json.loads(json.dumps(PLAN.to_dict())) == PLAN.to_dict()
