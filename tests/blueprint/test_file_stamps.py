"""Data files with time stamps must cover the periods that they are to fill."""

from pathlib import Path
from typing import Any

import pytest

from engiagent.blueprint import Blueprint
from engiagent.blueprint.analysis import analyse


def blueprint(start: str, zone: str | None = "Europe/Berlin") -> Blueprint:
    time: dict[str, Any] = {
        "name": "T",
        "kind": "time",
        "step": "1 h",
        "periods": 3,
        "start": start,
    }
    if zone is not None:
        time["zone"] = zone
    return Blueprint.from_dict(
        {
            "schema": "engiagent-blueprint/1",
            "kind": "programme",
            "modeling_context": {"problem_essence": "Prices from a file."},
            "core_model_elements": {
                "sets": [time],
                "parameters": [
                    {"name": "p", "index": ["T"], "data": "p.csv#price", "unit": "EUR/MWh"}
                ],
                "decision_variables": [
                    {"name": "x", "index": ["t in T"], "lower": 0, "upper": 1, "unit": "MW"}
                ],
                "objective_function": {
                    "sense": "minimize",
                    "unit": "EUR",
                    "expression": "sum(p[t]*x[t]*dt(t) for t in T)",
                },
                "constraints": [
                    {"constraint_id": "C", "forall": ["t in T"], "expression": "x[t] >= 0"}
                ],
            },
        }
    )


def messages(stamps: list[str], found: Blueprint, folder: Path) -> list[str]:
    rows = "".join(f"{stamp},{k}\n" for k, stamp in enumerate(stamps))
    (folder / "p.csv").write_text("time,price [EUR/MWh]\n" + rows)
    return [str(error) for error in analyse(found, folder).errors]


@pytest.mark.parametrize(
    "stamps",
    [
        ["2025-07-01T00:00", "2025-07-01T01:00", "2025-07-01T02:00"],  # starts
        ["2025-07-01 01:00", "2025-07-01 02:00", "2025-07-01 03:00"],  # ends
        ["2025-06-30T22:00+00:00", "2025-06-30T23:00+00:00", "2025-07-01T00:00+00:00"],
        ["00:00", "01:00", "02:00"],  # no dates, nothing to compare
    ],
)
def test_stamps_of_the_periods_are_taken(stamps: list[str], tmp_path: Path) -> None:
    assert messages(stamps, blueprint("2025-07-01T00:00"), tmp_path) == []


def test_another_days_file_is_refused(tmp_path: Path) -> None:
    stamps = ["2031-05-01T00:00", "2031-05-01T01:00", "2031-05-01T02:00"]
    (message,) = messages(stamps, blueprint("2025-07-01T00:00"), tmp_path)
    assert message.startswith(
        'EB014 parameters[0] "p": the time stamps of p.csv run from 2031-05-01'
    )
    assert "2025-07-01T00:00+02:00" in message


def test_a_missing_row_is_called_by_its_name(tmp_path: Path) -> None:
    stamps = ["2025-07-01T00:00", "2025-07-01T01:00"]
    (message,) = messages(stamps, blueprint("2025-07-01T00:00"), tmp_path)
    assert "p.csv#price has 2 rows, but T has 3 elements" in message


def test_times_without_a_date_are_not_compared(tmp_path: Path) -> None:
    stamps = ["2031-05-01T00:00", "2031-05-01T01:00", "2031-05-01T02:00"]
    assert messages(stamps, blueprint("00:00", None), tmp_path) == []
