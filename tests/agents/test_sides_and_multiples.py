"""Wordings that were once read wrongly and certified: sides of limits, multiples, second states."""

from pathlib import Path

import pytest

from engiagent.agents.offline import analyse
from engiagent.problems import Problem

ROOM = """# Room

The room has a heat capacity of 4 kWh/K and a heat loss of 120 W/K. It is 0 °C outside all day.
{heater} The initial temperature is 18 °C. Electricity costs 0.30 EUR/kWh. Plan 24 hourly periods
starting at 00:00.

{limits}

Minimise the electricity cost in EUR. Use the exact solution for constant inputs in each hour.
"""
HEATER = "It has a resistance heater with a maximum power of 6 kW."
LIMITS = "The temperature must be between 18 °C and 23 °C."

BATTERY = """# Battery

A battery buys and sells electricity. The prices over four hourly periods are 10, 50, 20 and 80
EUR/MWh. The maximum charging power is 12 MW and the maximum discharging power is 12 MW. The battery
has a capacity of 24 MWh.
{more} Maximise the profit in EUR. It cannot charge and discharge at the same time.
"""
EFFICIENT = "The charging efficiency is 95 % and the discharging efficiency is 96 %."
STARTS = "The initial state of charge is 50 %."


def read(tmp_path: Path, text: str):  # type: ignore[no-untyped-def]
    file = tmp_path / "problem.md"
    file.write_text(text, encoding="utf-8")
    return analyse(Problem.load(file))


@pytest.mark.parametrize(
    "limits",
    [
        "* lower temperature limit: 18 °C\n* upper temperature limit: 23 °C",
        "| Item | Value |\n|---|---|\n| Temperature limit, low | 18 °C |\n"
        "| Temperature limit, high | 23 °C |",
        "| Item | Value |\n|---|---|\n| Lower comfort limit (°C) | 18 |\n"
        "| Upper comfort limit (°C) | 23 |",
        "The lower temperature limit is 18 °C. The upper temperature limit is 23 °C.",
    ],
)
def test_a_lower_limit_holds_from_below(limits: str, tmp_path: Path) -> None:
    found = read(tmp_path, ROOM.format(heater=HEATER, limits=limits))
    assert found.complete, found
    plain = read(tmp_path, ROOM.format(heater=HEATER, limits=LIMITS))

    def sides(analysis) -> list[tuple[str, str]]:  # type: ignore[no-untyped-def]
        core = analysis.blueprint.core
        values = {p.name: p.value for p in core.parameters}
        pairs = []
        for constraint in core.constraints:
            parts = constraint.expression.split()
            if "zone_temperature[i]" not in parts:
                continue
            at = parts.index("zone_temperature[i]")
            for op, name, flip in (
                *([(parts[at - 1], parts[at - 2], True)] if at >= 2 else []),
                *([(parts[at + 1], parts[at + 2], False)] if at + 2 < len(parts) else []),
            ):
                lower = (op == "<=") == flip
                pairs.append(("lower" if lower else "upper", str(float(values[name]))))
        return sorted(pairs)

    assert sides(found) == sides(plain) == [("lower", "18.0"), ("upper", "23.0")]


@pytest.mark.parametrize(
    "text",
    [
        ROOM.format(
            heater="It has two resistance heaters with a maximum power of 3 kW each.", limits=LIMITS
        ),
        ROOM.format(heater="It has a pair of 3 kW resistance heaters.", limits=LIMITS),
        ROOM.format(heater=HEATER, limits="The temperature limit is 20 °C."),
        ROOM.format(heater=HEATER, limits=LIMITS + " At noon the window is open for an hour."),
        BATTERY.format(
            more=f"{EFFICIENT} It is half full at midnight and has to be half full again 24 hours "
            "later."
        ),
        BATTERY.format(
            more="The round-trip efficiency is 88 %, with all losses on the charging side. "
            + STARTS
        ),
        BATTERY.format(
            more=f"{EFFICIENT} {STARTS} The direct marketer keeps 4 EUR/MWh of every MWh sold."
        ),
    ],
)
def test_what_would_change_the_numbers_is_not_passed_over(text: str, tmp_path: Path) -> None:
    assert not read(tmp_path, text).complete


@pytest.mark.parametrize(
    "rule",
    [
        "Charging and discharging at the same time is not allowed.",
        "Charging and discharging within the same hour is excluded.",
        "In any hour the battery either charges or discharges.",
    ],
)
def test_ways_to_forbid_both_directions_at_once(rule: str, tmp_path: Path) -> None:
    text = BATTERY.format(more=f"{EFFICIENT} {STARTS}").replace(
        "It cannot charge and discharge at the same time.", rule
    )
    found = read(tmp_path, text)
    assert found.complete, found
