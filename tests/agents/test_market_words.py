"""Tariffs, wear, cycles and efficiencies in other words give the same model; near misses none."""

import re
from pathlib import Path

import numpy as np
import pytest

from engiagent.agents.offline import Analysis
from tests.agents.support import Floats, analysed, parameter_values

HOURS = [300, 310, 290, 280, 300, 340, 380, 420, 460, 500, 520, 540,
         530, 510, 480, 470, 490, 520, 560, 540, 480, 420, 380, 330]  # fmt: skip
LOADS = "hour,load_kw\n" + "".join(f"2026-03-03 {h:02d}:00,{x}\n" for h, x in enumerate(HOURS))
PRICES = "hour,price_eur_mwh\n" + "".join(
    f"2026-03-03 {h:02d}:00,{60 + 40 * np.sin(h / 3):.2f}\n" for h in range(24)
)
SHOP = """# Works

The load of the works is in `load.csv` (kW). It must be met. Nothing may be fed into the grid.
{tariff}
The battery holds 600 kWh, at most 180 kW in and 180 kW out. {losses} It is empty at the start and
its content at the end does not matter. {more}

Minimise the cost of the day in GBP.
"""
TRADE = """# Trade

The battery buys and sells at the hourly prices in `price.csv` (EUR/MWh). It holds 2 MWh and is
charged with at most 1 MW and discharged with at most 1 MW. {losses} It holds 1 MWh at the start and
must hold at least 1 MWh at the end. {more}

Maximise the profit of 3 March 2026 in EUR.
"""
FLAT = "Electricity costs 96 GBP/MWh."
EVEN = "The charging efficiency is 90 % and the discharging efficiency is 92 %."


def shop(folder: Path, tariff: str = FLAT, losses: str = EVEN, more: str = "") -> Analysis:
    text = SHOP.format(tariff=tariff, losses=losses, more=more)
    return analysed(folder, text, {"load.csv": LOADS})


def trade(folder: Path, more: str = "", losses: str = EVEN) -> Analysis:
    return analysed(folder, TRADE.format(losses=losses, more=more), {"price.csv": PRICES})


def read(found: Analysis) -> Analysis:
    assert found.complete, (found.missing, found.not_understood, found.ambiguous)
    return found


def rows(found: Analysis) -> list[str]:
    assert found.blueprint is not None
    return [c.expression for c in found.blueprint.core.constraints]


def goal(found: Analysis) -> str:
    assert found.blueprint is not None
    objective = found.blueprint.core.objective_function
    assert objective is not None
    return str(objective.expression)


def number(found: Analysis, folder: Path, name: str) -> Floats:
    """Return a parameter of the blueprint in its own unit."""
    from engiagent.blueprint.elaborate import Elaboration

    assert found.blueprint is not None
    return Elaboration(found.blueprint.core, folder).table(name).values


@pytest.mark.parametrize(
    ("losses", "into", "out"),
    [
        ("100 kWh in gives 83 kWh out; book the whole loss on the way out.", 1.0, 0.83),
        ("Of 10 kWh put in 8.3 kWh come out; count the entire loss when discharging.", 1.0, 0.83),
        ("100 kWh in gives 83 kWh out; take the whole loss when charging.", 0.83, 1.0),
        ("Charging loses nothing; for 83 kWh delivered the content falls by 100 kWh.", 1.0, 0.83),
        ("Discharging is lossless; of 2 kWh charged 1.8 kWh are stored.", 0.9, 1.0),
        ("Charging costs 5 % of what is taken, discharging another 5 % on top of what arrives.",
         0.95, 1 / 1.05),
        ("100 kWh in gives 81 kWh out.", 0.9, 0.9),
        ("The round trip is 81 %, split evenly.", 0.9, 0.9),
        ("Charging yields 91 %; discharging loses nothing more.", 0.91, 1.0),
    ],
)  # fmt: skip
def test_efficiencies_in_other_words(tmp_path: Path, losses: str, into: float, out: float) -> None:
    found = read(trade(tmp_path, losses=losses))
    assert found.blueprint is not None
    values = parameter_values(found.blueprint, tmp_path)
    assert values["battery.charge_efficiency"] == pytest.approx(into)
    assert values["battery.discharge_efficiency"] == pytest.approx(out)


@pytest.mark.parametrize(
    "losses",
    [
        "100 kWh in gives 83 kWh out in winter; book the whole loss on the way out.",
        "100 kWh in gives at least 83 kWh out.",
        "Charging, 500 kW at the most, has no losses of its own.",
        "Charging costs 5 % of what is taken, but only at night, and discharging 5 %.",
        f"{EVEN} For 1 kWh delivered the content falls by 1.3 kWh.",
    ],
)
def test_efficiencies_that_are_not_clear(tmp_path: Path, losses: str) -> None:
    assert not trade(tmp_path, losses=losses).complete


@pytest.mark.parametrize(
    "tariff",
    [
        "The billed demand is the highest hour of the day or 80 % of last winter's record of 980 kW,"  # noqa: E501
        " whichever is larger. The price of demand is 9.75 GBP per kW billed.",
        "The demand charge is 9.75 GBP/kW. The billed demand is the highest hourly mean or 80 % of"
        " the recorded peak of 980 kW, whichever is higher.",
        "The demand charge is 9.75 GBP/kW. The billed demand is the peak or 80 % of last year's peak"  # noqa: E501
        " of 980 kW, whichever is greater.",
    ],
)  # fmt: skip
def test_a_ratchet(tmp_path: Path, tariff: str) -> None:
    found = read(shop(tmp_path, f"{FLAT} {tariff}"))
    assert "grid_peak >= billed_least" in rows(found)
    assert number(found, tmp_path, "billed_least") == pytest.approx(784)


@pytest.mark.parametrize(
    "tariff",
    [
        "The billed demand is the highest hour or 80 % of last winter's record, whichever is"
        " larger. The demand charge is 9.75 GBP/kW.",
        "The billed demand is the highest hour or the record of 980 kW, whichever is larger.",
        "The demand charge is 9.75 GBP/kW at weekends.",
        "The demand charge is 9.75 GBP/kW of the third highest hour.",
    ],
)  # fmt: skip
def test_a_ratchet_that_is_not_clear(tmp_path: Path, tariff: str) -> None:
    assert not shop(tmp_path, f"{FLAT} {tariff}").complete


NIGHT = np.array([71.0] * 6 + [96.0] * 16 + [71.0] * 2)


@pytest.mark.parametrize(
    "tariff",
    [
        "Electricity costs 96 GBP/MWh by day and 71 GBP/MWh by night, where night means the first"
        " six and the last two hours of the day.",
        "Electricity costs 71 GBP/MWh from 22:00 to 06:00, else 96 GBP/MWh.",
        "From 06:00 to 22:00 a MWh costs 96 GBP, else 71 GBP.",
        "Each kWh costs 9.6 pence from 06:00 to 22:00 and 7.1 pence at all other times.",
        "Night is from 22:00 to 06:00. Electricity costs 96 GBP/MWh by day and 71 GBP/MWh by night.",  # noqa: E501
    ],
)  # fmt: skip
def test_prices_by_day_and_night(tmp_path: Path, tariff: str) -> None:
    found = read(shop(tmp_path, tariff))
    unit = {p.name: p.unit for p in found.blueprint.core.parameters}["import_price"]  # type: ignore[union-attr]
    price = number(found, tmp_path, "import_price")
    assert price * {"GBP/MWh": 1, "ct_GBP/kWh": 10}[unit] == pytest.approx(NIGHT)


@pytest.mark.parametrize(
    "more",
    [
        "At most 1.5 cycles a day are allowed.",
        "No more than 1.5 full cycles may be used per day.",
        "We have 1.5 cycles left.",
        "A cycle is 2 MWh discharged. On no single calendar day may more than 1.5 cycles be used.",
    ],
)
def test_budgets_of_cycles(tmp_path: Path, more: str) -> None:
    found = read(trade(tmp_path, more))
    (row,) = [r for r in rows(found) if "battery_discharge[t]*dt(t) for t in T" in r]
    names = re.search(r"<= (\w+)(?:/1\[cycle\])?\*(\w+)", row)
    assert names is not None
    assert number(found, tmp_path, names[1]) == pytest.approx(1.5)
    assert float(number(found, tmp_path, names[2])) in (2.0, 2000.0)


@pytest.mark.parametrize(
    "more",
    ["At most 1.5 cycles are allowed in the morning.", "The cells last 6000 cycles or ten years.",
     "More than 1.5 cycles must be used."],
)  # fmt: skip
def test_cycles_that_are_no_budget(tmp_path: Path, more: str) -> None:
    assert not trade(tmp_path, more).complete


@pytest.mark.parametrize(
    "more",
    [
        "Wear costs 6 EUR/MWh at 100 kW and in proportion to the power at other powers, charging"
        " and discharging alike.",
        "Our electrician puts the wear at 6 EUR/MWh when it is run at 100 kW, and in proportion to"
        " the power at other powers, charging and discharging alike: an hour at 50 kW thus wears it"
        " by 50 kWh times 3 EUR/MWh.",
    ],
)  # fmt: skip
def test_wear_that_grows(tmp_path: Path, more: str) -> None:
    expression = goal(read(trade(tmp_path, more)))
    for way in ("charge", "discharge"):
        assert f"battery_wear_price*battery_{way}[t]**2/battery_wear_power*dt(t)" in expression


@pytest.mark.parametrize(
    "more",
    [
        "Wear costs 6 EUR/MWh at 100 kW and in proportion to the power at other powers.",
        "Wear costs 6 EUR/MWh at 100 kW and in proportion to the power at other powers, charging"
        " and discharging alike: an hour at 50 kW thus wears it by 50 kWh times 4 EUR/MWh.",
        "Wear costs 6 EUR/MWh at 100 kW and 9 EUR/MWh at 200 kW, charging and discharging alike.",
    ],
)  # fmt: skip
def test_wear_that_is_not_clear(tmp_path: Path, more: str) -> None:
    assert not trade(tmp_path, more).complete


@pytest.mark.parametrize(
    "more",
    [
        "While it runs it never carries less than 300 kW. Each start costs 12 EUR; before the first"
        " hour it stands still.",
        "It either stands still, or it charges, or it discharges, one of the three for a whole hour,"  # noqa: E501
        " and while it runs it never carries less than 300 kW. The supplier charges 12 EUR for the"
        " contactors each time it goes from standstill to running; before the first hour it stands"
        " still.",
    ],
)  # fmt: skip
def test_a_converter_that_switches(tmp_path: Path, more: str) -> None:
    found = read(trade(tmp_path, more))
    assert "battery_charge[t] >= battery_min_power*battery_taking[t]" in rows(found)
    assert "battery_discharge[t] >= battery_min_power*battery_giving[t]" in rows(found)
    assert "battery_start_cost*battery_started[t]" in goal(found)


@pytest.mark.parametrize(
    "more",
    [
        "Each start costs 12 EUR.",
        "While it runs it never carries less than 300 kW at night.",
        "Housekeeping takes 8 kW.",
    ],
)
def test_a_converter_of_which_too_little_is_said(tmp_path: Path, more: str) -> None:
    assert not trade(tmp_path, more).complete


GAPS = """# Day

Plan the battery for 3 March 2026 from midnight, hour by hour. It holds 2 MWh, is charged with at
most 1 MW and discharged with at most 1 MW, with 90 % each way, and is empty at the start. It buys
and sells at these prices.

| Hour | Price (EUR/MWh) |
|---|---|
| 00:00 | 40 |
| 01:00 | 35 |
| 02:00 | {gap} |
| 03:00 | 60 |
| 04:00 | 80 |

Maximise the profit in EUR.
"""


@pytest.mark.parametrize("gap", ["withheld", "unknown", "to follow", "pending"])
def test_a_price_that_a_table_lacks_is_missing_by_its_word(tmp_path: Path, gap: str) -> None:
    found = analysed(tmp_path, GAPS.format(gap=gap))
    assert gap.replace(" ", "_") in {m.slot for m in found.missing}
    assert all(m.slot != "periods" for m in found.missing)


def test_a_table_without_gaps_is_read(tmp_path: Path) -> None:
    found = analysed(tmp_path, GAPS.format(gap="30"))
    assert not {m.slot for m in found.missing} & {"periods", "import_price"}


@pytest.mark.parametrize(
    "more",
    """The battery rests on Sundays.
Half of the content belongs to the neighbour.
The insurer forbids charging.
Nobody may use the battery at noon.
It may be charged three times a day.
Surplus is unpaid after 18:00.
The battery must keep a third for the hospital.
The content may not stay above 1.8 MWh for two hours.
Please treat the battery as lossless.
The first two hours belong to the tenant.""".splitlines(),
)
def test_what_may_limit_a_battery_is_not_passed_over(tmp_path: Path, more: str) -> None:
    assert not trade(tmp_path, more).complete
