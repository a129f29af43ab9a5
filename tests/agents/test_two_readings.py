"""Two readings in a run: what is asked where they differ, and what a certificate then claims.

Both readers are scripts: the first says the expert's blueprint, the second one written by rule.
"""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from engiagent.agents.coordinator import ALONE, Guidance
from engiagent.agents.engines.asking import Asking
from engiagent.agents.engines.shortform import short_text
from engiagent.agents.routing import Policy
from engiagent.agents.running import RunOutcome
from engiagent.agents.runs import run_problem
from engiagent.blueprint import Blueprint
from engiagent.cli.app import app
from engiagent.text import Problem, corpus_root
from tests.agents.messages_server import Json, Messages, Say, Script, serving
from tests.agents.scripts import DAY, KEY, NOBODY, Plays, analysis, bare, expert, second, spoilt
from tests.readings.rewriting import reference, rewritten


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    monkeypatch.setattr("engiagent.agents.engines.anthropic_api.FIRST_WAIT", 0.01)


def run(
    tmp_path: Path, script: Script, guidance: Guidance = ALONE, source: Path = DAY
) -> tuple[RunOutcome, Messages, Json]:
    with serving(script) as server:
        asked = Asking(base_url=server.url, retries=0)
        outcome = run_problem(
            bare(tmp_path, source=source),
            "anthropic",
            tmp_path / "r",
            asking=asked,
            guidance=guidance,
        )
    assert outcome.certificate is not None
    return outcome, server, outcome.certificate["reading"]


def without_end(core: Json) -> None:
    core["constraints"] = [c for c in core["constraints"] if c["constraint_id"] != "end_energy"]


class Deciding(Plays):
    """Says of each difference that the text has the formula with a lower limit."""

    def __call__(self, request: Json, number: int) -> Say:
        """Return what is said to a request."""
        text = str(request["messages"][0]["content"])
        if "Which formula" not in text:
            return super().__call__(request, number)
        pairs = re.findall(r"\d\. one: (.*)\n *two: (.*)\n", text)
        said = [
            {
                "number": n,
                "right": "one" if ">=" in one else "two",
                "quote": "at least 6 MWh again",
                "why": "as it says",
            }
            for n, (one, two) in enumerate(pairs, 1)
        ]
        return Say(json.dumps({"differences": said}))


def patch(path: str, op: str = "add", value: Any = None) -> Json:
    operation = {"op": op, "path": f"/core_model_elements/{path}", "value": json.dumps(value)}
    return {"why": "as the text has it", "patch": [operation]}


def test_a_second_reading_in_other_symbols_and_units_meets(tmp_path: Path) -> None:
    side, names = reference("battery/merchant_day")
    other = json.loads(rewritten(side.blueprint, DAY, names).to_json())
    said = {"blueprint": short_text(other, Problem.load(DAY)), "objections": [], "why": "so"}
    outcome, server, reading = run(tmp_path, Plays(analyse=analysis(expert()), second=said))
    assert (outcome.verdict, reading["grade"]) == ("certified", "confirmed")
    assert server.kinds() == ["analyse", "second"]
    stored = json.loads((tmp_path / "r/meeting.json").read_text())
    assert stored["outcome"] == "met"
    assert Blueprint.from_dict(stored["blueprint"]).sha256[:12] in reading["what"]


def test_the_second_reader_sees_no_limit_and_no_goal_of_the_first(tmp_path: Path) -> None:
    _, server, _ = run(tmp_path, Plays(analyse=analysis(expert()), second=second(DAY)))
    shown = server.requests[1]["messages"][0]["content"].split("end>>", 1)[1]
    for name in ("E_end", "end_energy", "maximize", "6 MWh"):
        assert name not in shown


def test_one_reading_is_solved_at_best(tmp_path: Path) -> None:
    script = Plays(analyse=analysis(expert()), second=second(DAY))
    outcome, server, reading = run(tmp_path, script, Guidance(Policy(readings=1)))
    assert (outcome.verdict, reading["grade"]) == ("solved", "author only")
    assert server.kinds() == ["analyse"]


def turned(core: Json) -> None:
    """Turn the limit at the end round: every number is still used, from its place."""
    row = next(c for c in core["constraints"] if c["constraint_id"] == "end_energy")
    row["expression"] = row["expression"].replace(">=", "<=")


def test_what_the_first_misreads_is_asked_about_and_patched(tmp_path: Path) -> None:
    row = next(c for c in expert()["core_model_elements"]["constraints"])
    script = Deciding(
        analyse=analysis(spoilt(turned)),
        second=second(DAY),
        repair=patch("constraints/end_energy", "replace", row),
        diagnose=NOBODY,
    )
    outcome, server, reading = run(tmp_path, script)
    assert (outcome.verdict, reading["grade"]) == ("certified", "confirmed"), outcome.reason
    assert server.kinds().count("second") == 1
    asked = next(r for r in server.requests if "Which formula" in str(r["messages"]))
    told = asked["messages"][0]["content"]
    assert "first reading" not in told
    assert server.kinds() == ["analyse", "second", "differ", "repair"]


def test_a_second_reading_that_is_wrong_is_patched_by_its_author(tmp_path: Path) -> None:
    full = second(DAY)
    row = next(
        c
        for c in json.loads(full["blueprint"])["core_model_elements"]["constraints"]
        if c["constraint_id"] == "end_energy"
    )
    script = Deciding(
        analyse=analysis(expert()),
        second=second(DAY, None, without_end),
        repair=patch("constraints/-", value=row),
    )
    outcome, server, reading = run(tmp_path, script)
    assert (outcome.verdict, reading["grade"]) == ("certified", "confirmed")
    assert server.kinds() == ["analyse", "second", "differ", "repair"]


def test_a_difference_that_stays_is_open_and_never_asked_about_twice(tmp_path: Path) -> None:
    stands = {"why": "the text says it so", "patch": []}
    script = Deciding(analyse=analysis(spoilt(turned)), second=second(DAY), repair=stands)
    outcome, server, reading = run(tmp_path, script)
    assert outcome.verdict == "solved"
    assert "lacks or weakens" in " ".join(reading["open"])
    assert server.kinds().count("differ") == 1
    assert any("nothing to change" in note for note in outcome.notes)


def in_other_units(core: Json) -> None:
    """Hold an energy against a power, which lint finds."""
    row = next(c for c in core["constraints"] if c["constraint_id"] == "end_energy")
    row["expression"] += " + 0[MW]"


def test_what_lint_finds_in_the_second_reading_goes_to_its_author(tmp_path: Path) -> None:
    right = next(
        c
        for c in json.loads(second(DAY)["blueprint"])["core_model_elements"]["constraints"]
        if c["constraint_id"] == "end_energy"
    )
    script = Plays(
        analyse=analysis(expert()),
        second=second(DAY, None, in_other_units),
        repair=patch("constraints/end_energy", "replace", right),
    )
    outcome, server, _ = run(tmp_path, script)
    assert outcome.verdict == "certified"
    assert server.kinds() == ["analyse", "second", "repair"]
    shown = str(server.requests[2]["messages"])
    assert "unit-mismatch" in shown
    assert "Names that the blueprint uses without declaring them again" in shown


@pytest.mark.parametrize("say", [Say("", stop="refusal"), Say(status=400, error="no")])
def test_without_a_second_reader_the_reading_stays_open(say: Say, tmp_path: Path) -> None:
    outcome, _, reading = run(tmp_path, Plays(analyse=analysis(expert()), second=say))
    assert (outcome.verdict, reading["grade"]) == ("solved", "author only")
    assert any("second reader did not answer" in note for note in outcome.notes)


def test_a_forged_meeting_confirms_nothing(tmp_path: Path) -> None:
    script = Plays(analyse=analysis(expert()), second=second(DAY))
    run(tmp_path, script)
    path = tmp_path / "r/meeting.json"
    honest = CliRunner().invoke(app, ["check", str(tmp_path / "r")])
    assert honest.exit_code == 0, honest.output
    found = json.loads(path.read_text())
    core = found["blueprint"]["core_model_elements"]
    core["constraints"] = [c for c in core["constraints"] if "end" not in c["constraint_id"]]
    path.write_text(json.dumps(found))
    again = CliRunner().invoke(app, ["check", str(tmp_path / "r"), "--json"])
    assert json.loads(again.stdout)["verdict"] == "solved"


def test_two_readings_without_a_plan_prove_that_there_is_none(tmp_path: Path) -> None:
    source = corpus_root() / "der" / "contradictory_export"
    script = Plays(analyse=analysis(expert(source), source), second=second(source))
    outcome, server, reading = run(tmp_path, script, source=source)
    assert (outcome.verdict, reading["grade"]) == ("proven infeasible", "confirmed")
    assert server.kinds() == ["analyse", "second"]
    again = CliRunner().invoke(app, ["check", str(tmp_path / "r"), "--json"])
    assert json.loads(again.stdout)["verdict"] == "proven infeasible"
