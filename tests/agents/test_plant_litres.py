"""Generators whose fuel is told in litres: what they burn for a kWh, and what a litre costs."""

from pathlib import Path

import pytest

from tests.agents.support import analysed, solved

LOAD, WIND = (60.0, 75.0, 80.0, 55.0), (20.0, 90.0, 35.0, 10.0)
SERIES = "\n".join(
    f"| {h:02d}:00 | {q:g} | {w:g} |" for h, (q, w) in enumerate(zip(LOAD, WIND, strict=True))
)
FUEL = "It burns 0.27 litres of diesel per kWh. Diesel costs 1.60 EUR/L."
GENERATED = sum(max(q - w, 0.0) for q, w in zip(LOAD, WIND, strict=True))


def farm(fuel: str) -> str:
    """Return the text of a farm with a generator and a wind turbine."""
    return f"""A farm has a diesel generator and a wind turbine. Plan 4 hours from midnight.

| Hour | Load (kW) | Wind (kW) |
|---|---|---|
{SERIES}

The generator delivers at most 100 kW. {fuel} The wind turbine may be curtailed. There is no grid.

Minimise the cost of fuel in EUR.
"""


SAID = (
    FUEL,
    "Its fuel consumption is 0.27 litres of diesel for each kWh; diesel costs 1.60 EUR per litre.",
    "It needs 0.27 l/kWh. The price of diesel is 1.60 EUR/l.",
    "Diesel costs 160 ct/L. The generator uses 0.27 L/kWh.",
    "The generator burns 270 litres of diesel per MWh. Diesel costs 1600 EUR/m3.",
)


@pytest.mark.parametrize("fuel", SAID)
def test_fuel_in_litres(tmp_path: Path, fuel: str) -> None:
    analysis = analysed(tmp_path, farm(fuel))
    assert analysis.complete, (analysis.not_understood, analysis.ambiguous, analysis.missing)
    assert solved(analysis, tmp_path)[1] == pytest.approx(GENERATED * 0.27 * 1.6, rel=1e-7)


CHANGES = (
    FUEL + " Its efficiency is 36 %.",
    FUEL + " Only 100 litres are left.",
    FUEL + " The tank holds 50 litres.",
    FUEL + " Below half load it burns 0.32 litres of diesel per kWh.",
    FUEL + " At most 30 L of diesel may be burnt.",
    FUEL.replace("per kWh", "per hour"),
    FUEL.replace("per kWh", "per start"),
    FUEL.replace("Diesel costs", "Gas costs"),
    FUEL + " Diesel costs 0.15 EUR/kWh.",
    FUEL + " The first 20 litres are free.",
    "It burns 0.27 litres of diesel per kWh.",
    "Diesel costs 1.60 EUR/L.",
)


@pytest.mark.parametrize("fuel", CHANGES)
def test_what_changes_the_fuel_is_never_passed_over(tmp_path: Path, fuel: str) -> None:
    assert not analysed(tmp_path, farm(fuel)).complete


def test_a_fuel_without_a_price_is_named_as_missing(tmp_path: Path) -> None:
    analysis = analysed(tmp_path, farm("It burns 0.27 litres of diesel per kWh."))
    assert ("generator", "fuel_price") in {
        (m.component.replace("genset", "generator"), m.slot) for m in analysis.missing
    }
