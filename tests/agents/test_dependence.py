"""Sentences without numbers that change a problem all the same are not passed over."""

from pathlib import Path

import pytest

from tests.agents.support import analysed

PRICE = "time,price_eur_mwh\n" + "".join(
    f"2026-03-03 {h:02d}:00,{40 + 10 * (h % 5)}\n" for h in range(24)
)
BODY = """# Trade

The battery buys and sells at the hourly prices in `price.csv` (EUR/MWh). It holds 2 MWh and is
charged with at most 1 MW and discharged with at most 1 MW. The charging efficiency is 90 %, the
discharging efficiency is 92 %. It holds 1 MWh at the start and must hold at least 1 MWh at the end.
{more}

Maximise the profit of 3 March 2026 in EUR.
"""


def complete(folder: Path, more: str) -> bool:
    return analysed(folder, BODY.format(more=more), {"price.csv": PRICE}).complete


@pytest.mark.parametrize(
    "more",
    [
        "The efficiency is lower at high power.",
        "Losses depend on the temperature of the cells.",
        "Its capacity shrinks with every cycle.",
        "The power falls when it is nearly full.",
        "The line is down from 10:00 to 11:00.",
        "Our cable is out of service in the first hour.",
        "The inverter is not available at night.",
        "The workshop can be switched off for an hour.",
        "Selling costs 2 EUR/MWh.",
        "A fee of 2 EUR/MWh is due on every sale.",
    ],
)
def test_what_changes_a_problem_is_not_passed_over(tmp_path: Path, more: str) -> None:
    assert not complete(tmp_path, more)


@pytest.mark.parametrize("more", ["", "The canteen is popular.", "The sky is grey today."])
def test_what_changes_nothing_is(tmp_path: Path, more: str) -> None:
    assert complete(tmp_path, more)
