"""Sessions of tool calls: rules and advice, changes, stored graphs and running them again."""

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from engiagent.errors import InputError
from engiagent.tools import Graph, Observation, Session, graph_schema, replay, tools
from engiagent.tools.mcp import USUAL
from engiagent.tools.registry import groups

ROOT = Path(__file__).parents[2]
PROBLEM = ROOT / "problems/battery/brewery_demand_charge"
COST = json.loads((PROBLEM / "expert/answer.json").read_text())["objective"]["value"]
WAY = ("load_problem", "analyse", "compile", "solve", "check")
PARTS = ("problem", "blueprint", "program", "solution", "certificate")


@pytest.fixture
def session(tmp_path: Path) -> Session:
    """Return a session in a folder with a problem that has no expert's answer."""
    without = shutil.ignore_patterns("requirements.yaml", "answer.json")
    shutil.copytree(PROBLEM, tmp_path / "brewery", ignore=without)
    return Session(tmp_path)


def done(session: Session, tool: str, **arguments: Any) -> dict[str, Any]:
    """Make a call that has to work."""
    seen = session.call(tool, arguments)
    assert seen.status == "done", seen.content
    return dict(seen.content)


def through(session: Session) -> dict[str, Any]:
    """Go all the way, and return what the check says."""
    done(session, "load_problem", path="brewery")
    for name in WAY[1:-1]:
        done(session, name)
    return done(session, "check")


@pytest.mark.parametrize("name", sorted(tools()))
def test_every_tool_says_what_it_takes_and_in_which_unit(name: str) -> None:
    known = tools()[name]
    Draft202012Validator.check_schema(known.schema())
    Draft202012Validator.check_schema(known.returns)
    assert known.description.endswith(".")
    assert not (known.access == "read" and known.destructive)
    for argument in known.arguments:
        shown = known.schema()["properties"][argument.name]
        if shown.get("type") == "number":
            assert shown["x-unit"]
            assert f"[{shown['x-unit']}]" in shown["description"]


def test_a_call_too_early_is_blocked_once_with_the_first_step(session: Session) -> None:
    seen = session.call("check")
    assert (seen.status, seen.content["first"]) == ("blocked", "load_problem")
    assert session.state.parts == {}
    assert session.graph.nodes == ()
    again = session.call("check")  # whoever insists is let through, to an error that is told
    assert again.status == "failed"
    assert "no solution yet" in again.content["error"] or "no blueprint" in again.content["error"]


def test_the_advice_leads_to_the_end(session: Session) -> None:
    done(session, "load_problem", path="brewery")
    for _ in range(5):
        seen = session.call("check")
        if seen.status != "blocked":
            break
        done(session, seen.content["first"])
    assert seen.content["verdict"] == "certified"


def test_what_was_made_from_an_older_blueprint_is_out_of_date(session: Session) -> None:
    through(session)
    before = session.state
    found = done(session, "set_parameter", name="battery.energy_capacity", value=0.45, unit="MWh")
    assert found["before"] == 900
    assert session.state.parts["program"] == before.parts["program"]
    frozen = session.state
    seen = session.call("check")
    assert (seen.status, seen.content["missing"]) == ("blocked", ["solution"])
    assert "out of date" in seen.content["advice"]
    assert session.state is frozen
    for name in ("compile", "solve"):
        done(session, name)
    assert done(session, "check")["objective"]["value"] > COST  # half the battery saves less


def test_a_blueprint_that_somebody_wrote_is_taken_with_what_it_leaves_open(
    session: Session,
) -> None:
    done(session, "load_problem", path="brewery")
    assert session.call("write_blueprint", {"document": {"schema": "?"}}).status == "failed"
    done(session, "analyse")
    document = session.state.get("blueprint").blueprint.to_dict()
    for unclear in ([], ["A sentence."]):
        done(session, "write_blueprint", document=document, not_understood=unclear)
        done(session, "expand_blueprint")
        for name in ("compile", "solve"):
            done(session, name)
        found = done(session, "check")
        assert found["verdict"] == ("solved" if unclear else "certified")
        assert set(unclear) <= set(found["reading"]["open"])
    found = done(session, "check", not_understood=["Another."])
    assert {"A sentence.", "Another."} <= set(found["reading"]["open"])


def test_who_insists_gets_the_old_plan_checked_against_the_new_blueprint(session: Session) -> None:
    through(session)
    done(session, "set_parameter", name="battery.energy_capacity", value=45, unit="kWh")
    assert session.call("check").status == "blocked"
    assert done(session, "check")["verdict"] == "violated"
    assert session.graph.nodes[-1].insisted


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"name": "battery.energy_capacity", "value": 1, "unit": "kW"}, "different things"),
        ({"name": "nothing", "value": 1, "unit": "kW"}, "no parameter 'nothing'"),
        ({"name": "battery.nothing", "value": 1, "unit": "kW"}, "cannot be set"),
        ({"name": "load", "value": 1, "unit": "kW"}, "wrong shape"),
        ({"name": "price_demand", "value": [1, 2], "unit": "$/kW"}, "wrong shape"),
        ({"name": "price_demand", "value": "1", "unit": "$/kW"}, "value"),
        ({"name": "price_demand", "value": 1}, "unit"),
        ({"name": "price_demand", "value": 1, "unit": "florins"}, "florins"),
    ],
)
def test_a_value_that_does_not_fit_changes_nothing(
    session: Session, arguments: dict[str, Any], said: str
) -> None:
    done(session, "load_problem", path="brewery")
    done(session, "analyse")
    before = session.state
    seen = session.call("set_parameter", arguments)
    assert seen.status == "failed"
    assert said in seen.content["error"]
    assert session.state is before


@pytest.mark.parametrize(
    ("operations", "said"),
    [
        ([{"op": "remove", "path": "/core_model_elements/constraints/none"}], "'none'"),
        ([{"op": "explode", "path": "/x"}], "explode"),
        ([{"op": "add", "path": "/x"}], "value"),
        ([{"op": "move", "path": "/x"}], "from"),
        ([{"op": "replace", "path": "/kind", "value": 3}], "kind"),
        ([], "non-empty"),
    ],
)
def test_a_patch_that_does_not_fit_changes_nothing(
    session: Session, operations: list[dict[str, Any]], said: str
) -> None:
    done(session, "load_problem", path="brewery")
    done(session, "analyse")
    before = session.state
    seen = session.call("patch_blueprint", {"operations": operations})
    assert seen.status == "failed"
    assert said in seen.content["error"]
    assert session.state is before


def test_a_patch_that_makes_the_problem_easier_is_found_out(session: Session) -> None:
    through(session)
    place = "/core_model_elements/parameters/E_max/value"
    done(session, "patch_blueprint", operations=[{"op": "replace", "path": place, "value": 9000}])
    for name in ("compile", "solve"):
        done(session, name)
    found = done(session, "check")
    assert found["verdict"] == "violated"
    assert found["levels"]["data"] == "fail"
    assert [(o["before"], o["after"]) for o in found["overrides"]] == [(900, 9000)]


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("set_parameter", {"name": "capacity", "value": 0.4, "unit": "MWh"}),
        ("patch_blueprint", {"path": "/core_model_elements/parameters/capacity/value"}),
        ("patch_blueprint", {"path": "/core_model_elements/decision_variables/stored/upper"}),
    ],
)
def test_a_changed_value_stands_beside_the_verdict_however_it_was_changed(
    tmp_path: Path, tool: str, arguments: dict[str, Any]
) -> None:
    text = """{"schema": "engiagent-blueprint/1", "kind": "programme",
      "modeling_context": {"problem_essence": "a store"}, "core_model_elements": {"sets": [],
      "parameters": [{"name": "capacity", "value": 250, "unit": "kWh"}],
      "decision_variables": [{"name": "stored", "lower": 0, "upper": 250, "unit": "kWh"}],
      "constraints": [{"constraint_id": "full", "expression": "stored <= capacity"}],
      "objective_function": {"sense": "maximize", "unit": "kWh", "expression": "stored"}}}"""
    (tmp_path / "b.json").write_text(text)
    session = Session(tmp_path)
    done(session, "load_problem", path="b.json")
    if tool == "patch_blueprint":
        arguments = {"operations": [{"op": "replace", "value": 400, **arguments}]}
    done(session, tool, **arguments)
    for name in ("compile", "solve"):
        done(session, name)
    found = done(session, "check")
    assert (found["verdict"], found["reading"]["grade"]) == ("certified", "stated")
    (one,) = found["overrides"]
    assert (one["before"], one["after"], one["unit"]) == (250, 400, "kWh")
    done(session, "report", folder="runs/a")
    report = (tmp_path / "runs/a/report.html").read_text("utf-8")
    assert re.search("1 value changed by the user: [a-z ]+ 250 → 400 kWh", report.replace(".", " "))


def test_a_report_is_a_run_that_is_listed_and_read(session: Session) -> None:
    verdict = through(session)["verdict"]
    done(session, "report", folder="runs/first")
    (listed,) = done(session, "list_runs")["runs"]
    assert (listed["run"], listed["state"], listed["verdict"]) == ("runs/first", "done", verdict)
    text = done(session, "read_artefact", run="runs/first", name="certificate.json")["text"]
    assert json.loads(text)["verdict"] == verdict
    series = done(session, "read_artefact", run="runs/first", name="solution.nc")["series"]
    assert any(entry["unit"] == "kWh" for entry in series.values())
    assert session.call("read_artefact", {"run": "runs/first", "name": "../x"}).status == "failed"
    assert session.call("report", {"folder": "runs/first"}).status == "failed"
    assert session.call("report", {"folder": "../out"}).status == "failed"


def test_answers_are_as_their_schemas_have_them(session: Session) -> None:
    through(session)
    calls: dict[str, dict[str, Any]] = {
        "audit": {},
        "lint": {},
        "sweep": {"vary": ["battery.energy_capacity=900,1000[kWh]"]},
        "study": {"kind": "cases"},
        "control": {"steps": 2},
        "explain": {},
        "emit": {"form": "mps"},
        "read_blueprint": {},
        "read_schedule": {},
        "list_problems": {"packaged": True},
        "load_problem": {"path": "brewery"},
        "analyse": {},
        "write_blueprint": {"document": session.state.get("blueprint").blueprint.to_dict()},
        "patch_blueprint": {"operations": [{"op": "test", "path": "/kind", "value": "programme"}]},
        "set_parameter": {"name": "battery.energy_capacity", "value": 45, "unit": "kWh"},
        "expand_blueprint": {},
        "compile": {},
        "solve": {},
        "check": {},
        "report": {"folder": "runs/1"},
        "list_runs": {},
        "read_artefact": {"run": "runs/1", "name": "solution.nc"},
        "copy_problem": {"name": "battery/merchant_day", "folder": "copied"},
        "pose_problem": {"folder": "posed", "text": "# A"},
        "load_schedule": {"path": "runs/1/solution.nc"},
    }
    of_problems = {name for group in USUAL for name in groups()[group]}
    assert {*calls, "sizing"} == of_problems  # the brewery has no size to choose
    for name, arguments in calls.items():
        before = session.state
        Draft202012Validator(tools()[name].returns).validate(done(session, name, **arguments))
        assert tools()[name].access == "write" or session.state is before


def test_a_schedule_from_elsewhere_is_checked_and_kept(session: Session) -> None:
    verdict = through(session)["verdict"]
    done(session, "report", folder="runs/first")
    series = done(session, "read_schedule")["series"]
    assert all(len(entry["values"]) == 24 for entry in series.values())
    assert {entry["quantity"] for entry in series.values()} >= {"battery.charge"}
    times = next(iter(series.values()))["coordinates"]
    assert all(len(stamp) >= 19 for stamps in times.values() for stamp in stamps)
    assert "no series 'x'" in session.call("read_schedule", {"names": ["x"]}).content["error"]
    done(session, "load_schedule", path="runs/first/solution.nc")
    assert session.call("check").status == "done"
    told = done(session, "check")
    assert told["verdict"] == verdict
    assert told["best"]["worse_by"] == pytest.approx(0, abs=1e-4)
    assert session.call("explain").status == "failed"
    assert session.call("read_schedule").status == "failed"
    done(session, "report", folder="runs/second")
    assert (session.root / "runs/second/schedule.nc").is_file()
    assert session.call("load_schedule", {"path": "brewery"}).status == "failed"


def test_a_stored_graph_runs_again_to_the_same_answers(session: Session) -> None:
    through(session)
    done(session, "set_parameter", name="battery.energy_capacity", value=45, unit="kWh")
    session.call("check")
    done(session, "check")
    done(session, "list_runs")
    text = session.graph.to_json()
    again = Graph.from_json(text)
    assert again == session.graph
    assert again.to_json() == text
    assert replay(again, session.root).same
    file = session.root / "brewery" / "problem.md"
    file.write_text(file.read_text().replace("900 kWh", "800 kWh"))
    changed = replay(again, session.root)
    assert 0 in changed.differences
    assert 4 in changed.differences


def test_independent_calls_may_change_places(session: Session) -> None:
    other = Session(session.root)
    for one, order in ((session, ("lint", "audit")), (other, ("audit", "lint"))):
        done(one, "load_problem", path="brewery")
        done(one, "analyse")
        for name in order:
            done(one, name)
    assert session.graph != other.graph
    assert session.graph.signature() == other.graph.signature()
    done(other, "compile")
    assert session.graph.signature() != other.graph.signature()


@pytest.mark.parametrize(
    "text",
    ["{}", "[]", '{"schema": "engiagent-calls/1"}', '{"schema": "x", "calls": []}', "nonsense"],
)
def test_what_is_no_graph_is_refused(text: str) -> None:
    with pytest.raises(InputError):
        Graph.from_json(text)


def test_a_graph_that_works_from_the_future_is_refused(session: Session) -> None:
    done(session, "load_problem", path="brewery")
    data = json.loads(session.graph.to_json())
    Draft202012Validator(graph_schema()).validate(data)
    data["calls"][0]["reads"] = {"problem": 0}
    with pytest.raises(InputError, match="later"):
        Graph.from_json(json.dumps(data))


def test_an_unknown_tool_is_told(session: Session) -> None:
    seen = session.call("delete_everything")
    assert seen == Observation("delete_everything", "failed", seen.content)
    assert "load_problem" in seen.content["error"]


CHEAP = [name for name in WAY if name not in ("solve", "check")]


@settings(max_examples=12, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(calls=st.lists(st.sampled_from([*CHEAP, "lint", "list_runs", "check"]), max_size=6))
def test_no_call_is_made_on_what_is_absent_or_stale_unless_repeated(
    session: Session, calls: list[str]
) -> None:
    fresh = Session(session.root)
    for name in calls:
        before, missing = fresh.state, fresh.missing(tools()[name])
        arguments = {"path": "brewery"} if name == "load_problem" else {}
        seen = fresh.call(name, arguments)
        if missing:
            assert seen.status in ("blocked", "failed")
        if seen.status != "done":
            assert fresh.state is before
    assert replay(fresh.graph, session.root).same


def test_the_page_lists_every_tool_and_its_class() -> None:
    page = (ROOT / "docs/tools.md").read_text("utf-8")
    table = re.findall(r"^\| `(.+?)` \| (read|write) \|", page, re.MULTILINE)
    listed = {name: access for row, access in table for name in row.split("`, `")}
    assert listed == {name: tool.access for name, tool in tools().items()}
