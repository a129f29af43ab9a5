"""What an operator reads: settings with a row for every change, and four answers in plain words."""

import base64
import csv
import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from engiagent.report import plain, render_report
from engiagent.report.artefacts import load_run
from engiagent.report.schedule import Instructions, build_schedule, instructions
from tests.report.conftest import MakeRun


def todo_of(folder: Path) -> Instructions | None:
    run = load_run(folder)
    return instructions(run, build_schedule(run).series)


def shown(todo: Instructions | None) -> list[list[str]]:
    assert todo is not None
    return [[cell.text for cell in row] for row in todo.table.rows]


def test_periods_with_the_same_settings_are_one_row(make_run: MakeRun, solution: Any) -> None:
    data = solution(24, "2025-06-13T22:00")
    data["charge"][:] = [0.0] * 6 + [40.0] * 4 + [1e-12] * 14
    data["discharge"][:] = [0.0] * 18 + [12.3456] * 6
    todo = todo_of(make_run(solution=data, blueprint=None))
    assert todo is not None
    assert todo.table.head == (
        "2025-06-14 (Europe/Berlin)",
        "battery: charge [kW]",
        "battery: discharge [kW]",
    )
    assert shown(todo) == [
        ["00:00 – 06:00", "0", "0"],
        ["06:00 – 10:00", "40", "0"],
        ["10:00 – 18:00", "0", "0"],
        ["18:00 – 24:00", "0", "12.35"],
    ]
    assert todo.used == (
        "battery: charge: in use in 4 of 24 hours, up to 40\u00a0kW",
        "battery: discharge: in use in 6 of 24 hours, up to 12.35\u00a0kW",
    )


def test_on_the_day_the_clocks_change_every_row_has_its_offset(
    make_run: MakeRun, solution: Any
) -> None:
    data = solution(24)
    data["charge"][:] = [float(k >= 2) for k in range(24)]
    data["discharge"][:] = 0.0
    todo = todo_of(make_run(solution=data))
    assert todo is not None
    assert [row[0] for row in shown(todo)] == [
        "2025-03-30 00:00+01:00 – 03:00+02:00",
        "2025-03-30 03:00+02:00 – 2025-03-31 01:00+02:00",
    ]
    assert todo.never == ("battery: discharge",)


def test_the_csv_has_the_rows_that_the_page_leaves_out(make_run: MakeRun, solution: Any) -> None:
    todo = todo_of(make_run(200, solution=solution(200)))
    assert todo is not None
    assert (len(todo.table.rows), todo.total) == (60, 200)
    text = base64.b64decode(todo.table.csv.partition(",")[2]).decode()
    assert len(list(csv.reader(io.StringIO(text)))) == 201


def answer(folder: Path, question: str) -> plain.Answer:
    run = load_run(folder)
    found = plain.answers(run, instructions(run, build_schedule(run).series))
    return next(item for item in found if item.question == question)


def test_a_violated_plan_is_not_to_be_used(make_run: MakeRun, certificate: Any) -> None:
    proof = certificate("violated")
    where = {"t": "2025-03-30T03:00+02:00"}
    proof["violations"] = [
        {
            "check": "R1",
            "message": "R1 (x <= 50[kW]) is broken",
            "level": level,
            "amount": 1.5,
            "unit": "kW",
            "where": where,
        }
        for level in ("algebra", "physics")
    ]
    folder = make_run(certificate=proof)
    assert answer(folder, "What to do").text.startswith("Do not use this plan")
    safe = answer(folder, "Is it safe?")
    assert (safe.text, safe.tone) == ("No: not all requirements hold.", "bad")
    assert safe.details[0].startswith("R1 (x <= 50[kW]) is broken")
    assert "it is not to be used" in render_report(folder)


@pytest.mark.parametrize("level", ["algebra", "physics"])
def test_what_was_not_checked_is_not_called_safe(
    level: str, make_run: MakeRun, certificate: Any
) -> None:
    proof = certificate("undecided")
    proof["levels"][level] = {"status": "unchecked"}
    folder = make_run(certificate=proof)
    assert answer(folder, "Is it safe?").text.startswith("Not known")
    assert answer(folder, "What to do").text.startswith("Do not act on it yet")


def test_without_a_plan_there_is_nothing_to_follow_or_to_judge(
    make_run: MakeRun, solution: Any, certificate: Any
) -> None:
    data = solution(24)
    data["farkas__C1"] = ("T", np.ones(24))
    proof = certificate("proven infeasible") | {"objective": None, "bound": None}
    folder = make_run(solution=data[["farkas__C1"]], certificate=proof)
    assert answer(folder, "What to do").text.startswith("No plan can meet all requirements")
    assert answer(folder, "Why believe it?").text.endswith("verified the proof.")
    run = load_run(folder)
    found = plain.answers(run, None, ["raise the limit to 5 kW"])
    assert [item.question for item in found] == ["What to do", "Why believe it?"]
    assert found[0].details == ("This would be enough: raise the limit to 5 kW",)


@pytest.mark.parametrize(
    ("value", "bound", "sense", "unit", "question", "text", "room"),
    [
        (10.0, 9.5, "minimize", "EUR", "What it costs", "10\u00a0EUR in all.", "0.5\u00a0EUR"),
        (10.0, 10.0, "minimize", "EUR", "What it costs", "10\u00a0EUR in all.", "no other"),
        (-4.0, None, "minimize", "USD", "What it costs", "Nothing: it brings in 4", "not proven"),
        (8.0, 9.0, "maximize", "kEUR", "What it brings", "8\u00a0kEUR in all.", "1\u00a0kEUR"),
        (8.0, 9.0, "minimize", "EUR", "What it costs", "8\u00a0EUR in all.", "cannot be allowed"),
        (9.0, 8.0, "maximize", "EUR", "What it brings", "9\u00a0EUR in all.", "cannot be allowed"),
        (8.0, 8.0, "minimize", "kWh", "What it comes to", "8\u00a0kWh, as small", "no other"),
    ],
)
def test_money_is_told_by_its_sign_and_what_could_be_better(
    value: float,
    bound: float | None,
    sense: str,
    unit: str,
    question: str,
    text: str,
    room: str,
    make_run: MakeRun,
    certificate: Any,
) -> None:
    proof = certificate()
    proof["objective"] = {"value": value, "unit": unit, "sense": sense}
    proof["bound"] = None if bound is None else {"value": bound, "gap": abs(value - bound) / value}
    found = answer(make_run(certificate=proof), question)
    assert found.text.startswith(text)
    assert room in found.details[0]


def notes(folder: Path, name: str) -> str:
    return "; ".join(next(x.notes for x in plain.levels(load_run(folder)) if x.name == name))


def test_whose_requirements_were_checked_is_stated(make_run: MakeRun, certificate: Any) -> None:
    proof = certificate()
    proof["levels"]["algebra"]["source"] = "blueprint"
    assert "one that the model forgot would be missed" in notes(
        make_run(certificate=proof), "algebra"
    )


@pytest.mark.parametrize("evidence", ["recomputed", "agreed", "reported", "open"])
def test_only_what_the_checker_recomputed_is_said_to_be_proved_by_it(
    make_run: MakeRun, certificate: Any, evidence: str
) -> None:
    proof = certificate()
    proof["plan"]["optimum"] = evidence
    run = make_run(certificate=proof)
    proven = "the checker proved this by itself" in notes(run, "optimality")
    assert proven == (evidence == "recomputed")
