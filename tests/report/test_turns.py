"""The story of a run from its trace: stages, turns and who came after whom."""

import json
import re
from typing import Any

from engiagent.report import render_report
from engiagent.report.tables import Cell, DataTable
from engiagent.report.turns import read_story, story
from tests.report.conftest import MakeRun


def rows_of(table: DataTable | None) -> tuple[tuple[Cell, ...], ...]:
    assert table is not None
    return table.rows


def line(second: float, **rest: Any) -> dict[str, Any]:
    return {"time": f"2026-01-01T00:00:{second:06.3f}+00:00", **rest}


def route(step: int, target: str, status: str = "done", **rest: Any) -> dict[str, Any]:
    outcome = {"status": status, "summary": f"{target} spoke", "seconds": 0.5, **rest}
    return line(step, event="route", step=step, target=target, reasoning="main", outcome=outcome)


LINES = [
    line(0, stage="analyse", event="start"),
    line(2, stage="analyse", event="end", outcome="done", seconds=2.0),
    route(2, "analyzer"),
    line(3, stage="solve", event="start"),
    line(5, stage="solve", event="progress", elapsed=2.0, nodes=12, bound=3.5, gap=0.25),
]


def test_a_stage_that_has_not_ended_is_running_and_says_how_far_it_is() -> None:
    rows = rows_of(story(LINES).stages)
    assert [[cell.text for cell in row] for row in rows] == [
        ["analyse", "done", "0 ms", "2.0 s"],
        ["solve", "running", "3.0 s", ""],
    ]
    assert rows[1][1].note == "after 2.0 s, 12 nodes, bound 3.5, gap 25\u202f%"


def test_the_report_does_not_tell_of_its_own_writing(make_run: MakeRun) -> None:
    folder = make_run()
    lines = [line(1, stage=name, event="start") for name in ("solve", "report")]
    (folder / "trace.jsonl").write_text("\n".join(map(json.dumps, lines)) + "\n")
    rows = re.findall(r'<th scope="row">\s*(\w+)\s*</th>', render_report(folder))
    assert "solve" in rows
    assert "report" not in rows


def test_a_turn_tells_why_it_was_sent_and_what_it_found() -> None:
    sent = route(
        3,
        "modeler",
        "failed",
        faults=[{"kind": "unit", "message": f"fault {k}"} for k in range(5)],
        usage={"input_tokens": 1200, "output_tokens": 30, "cost": 0.0123},
    )
    sent |= {
        "trigger": {"kind": "unit", "message": "kW compared with kWh"},
        "strategy": "patch",
        "decided_by": "rule",
        "priority": "high",
    }
    (row,) = rows_of(story([sent]).turns)
    assert [cell.text for cell in row] == [
        "3 modeler",
        "failed",
        "modeler spoke",
        "unit: kW compared with kWh",
        "0.5 s",
    ]
    assert row[1].tone == "bad"
    assert row[2].note.endswith("fault 2; and 2 more")
    assert row[3].note == "patch (by rule, high priority)"
    assert row[4].note == "1200 tokens in, 30 out, 0.0123 USD"


def test_the_report_tells_the_story(make_run: MakeRun) -> None:
    folder = make_run()
    (folder / "trace.jsonl").write_text("\n".join(json.dumps(item) for item in LINES) + '\n{"cut')
    text = render_report(folder)
    assert "How the run went" in text
    assert "analyzer spoke" in text


def test_a_damaged_trace_is_named(make_run: MakeRun) -> None:
    folder = make_run()
    (folder / "trace.jsonl").write_text("{\n{}\n")
    assert "trace.jsonl cannot be read" in read_story(folder)[1]
    assert "trace.jsonl cannot be read" in render_report(folder)


def test_strange_lines_do_no_harm() -> None:
    odd: list[dict[str, Any]] = [
        {},
        {"event": "route"},
        {"event": "route", "outcome": [], "trigger": 3},
        {"event": "end", "stage": "x"},
        {"event": "start", "stage": None, "time": "never"},
        {"event": "progress", "stage": "None", "elapsed": "x", "gap": True},
        {"event": "route", "outcome": {"faults": [1], "usage": {"input_tokens": "a"}}},
    ]
    found = story(odd)
    assert len(rows_of(found.turns)) == 3
    assert len(rows_of(found.stages)) == 1
