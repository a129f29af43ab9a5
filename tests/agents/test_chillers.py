"""Chillers and heat pumps in other words: kW per ton, alike machines, weather, chilled water."""

from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import Bounds, LinearConstraint, linprog, milp

from tests.agents.support import analysed, solved

TON = 3.5168528420667
COLD = np.array([900.0, 1500.0, 2600.0, 1800.0])
PRICE = np.array([0.10, 0.20, 0.30, 0.20])

ALIKE = (
    "The plant room has 3 chillers that are the same in every respect. Each chiller makes between"
    " 200 kW and 1000 kW of cold.",
    "Three identical chillers are installed. A running chiller gives between 200 kW and 1000 kW of"
    " cooling.",
    "There are 3 chillers. Every chiller delivers up to 1 MW of cooling and, while it runs, at"
    " least 200 kW.",
)
DRAWS = (
    "A chiller draws 60 kW for pumps while it runs, plus 20 % of the cold that it makes.",
    "Each chiller needs 60 kW for its pumps whenever it runs. Each has a COP of 5.",
    "While on, a chiller takes 60 kW for auxiliaries; its COP is 5.",
)
STARTS = (
    "Each start costs 15 EUR. 1 chiller is running before the first hour.",
    "Every start costs 15 EUR. One chiller runs at the start.",
)
TOWER = """
Which chillers of a tower should run on 3 August 2026 from 10:00 to 14:00, hour by hour?

{parts}

| Hour | Load (kW) | Electricity price (EUR/kWh) |
|---|---|---|
| 10:00 | 900 | 0.10 |
| 11:00 | 1500 | 0.20 |
| 12:00 | 2600 | 0.30 |
| 13:00 | 1800 | 0.20 |

The load must be met in every hour. What is the lowest cost of electricity and starts in EUR?
"""


def tower() -> float:
    """Return the least cost: cold, machines on and starts by hours."""
    n = 4
    eye, zero = np.eye(n), np.zeros((n, n))
    change = eye - np.eye(n, k=-1)
    before = np.zeros(n)
    before[0] = 1.0
    rows = [
        (np.hstack([eye, -1000 * eye, zero]), -np.inf, 0),
        (np.hstack([eye, -200 * eye, zero]), 0, np.inf),
        (np.hstack([zero, change, -eye]), -np.inf, before),
        (np.hstack([eye, zero, zero]), COLD, COLD),
    ]
    cost = np.concatenate([PRICE * 0.2, PRICE * 60, np.full(n, 15.0)])
    found = milp(cost, constraints=[LinearConstraint(*row) for row in rows],
                 bounds=Bounds(np.zeros(3 * n), np.repeat([3000.0, 3.0, 3.0], n)),
                 integrality=np.repeat([0, 1, 1], n), options={"mip_rel_gap": 0})  # fmt: skip
    assert found.success
    return float(found.fun)


@pytest.mark.parametrize(
    ("alike", "draws", "starts"),
    [(0, 0, 0), (1, 0, 1), (2, 0, 0), (0, 1, 1), (0, 2, 0), (2, 1, 0)],
)
def test_chillers_that_are_alike(tmp_path: Path, alike: int, draws: int, starts: int) -> None:
    parts = "\n\n".join((ALIKE[alike], DRAWS[draws], STARTS[starts]))
    analysis = analysed(tmp_path, TOWER.format(parts=parts))
    assert analysis.complete, (analysis.missing, analysis.not_understood, analysis.ambiguous)
    assert solved(analysis, tmp_path)[1] == pytest.approx(tower(), rel=1e-6)


@pytest.mark.parametrize(
    "change",
    [
        "Only two of the chillers may run at noon on hot days.",
        "A chiller must cool down for an hour before it starts again.",
        "The second chiller is 10 % less efficient.",
        "Together the chillers make at most 2500 kW when it is hot.",
        "The cold of the first hour is free.",
    ],
)
def test_a_sentence_on_alike_chillers_is_not_passed_over(tmp_path: Path, change: str) -> None:
    parts = "\n\n".join((ALIKE[0], DRAWS[0], STARTS[0], change))
    assert not analysed(tmp_path, TOWER.format(parts=parts)).complete, change


OUT = np.array([-4.0, 0.0, 4.0, 8.0])
NEED = np.array([60.0, 55.0, 40.0, 30.0])
COP = (
    "Its coefficient of performance is 2.6 plus 0.06 times the outdoor temperature in °C.",
    "Its COP is 3.02 when it is 7 °C outside and changes by 0.06 per K, colder being worse.",
    "Its COP is 2.6 at 0 °C outdoors and rises by 0.06 for each kelvin.",
    "The COP is 3.02 at 7 °C and increases by 0.06 per degree.",
    "Its COP is 2.9 at an outdoor temperature of 5 °C and falls by 0.06 for every degree colder.",
)
HEATED = """
A block is heated by a heat pump and a gas boiler on 9 January 2026 from 06:00 to 10:00, hourly.
`day.csv` holds the heat demand (kW), the outdoor temperature (°C) and the price of electricity
(EUR/kWh).

The heat pump gives up to 45 kW of heat. {cop}

The boiler delivers up to 100 kW of heat with an efficiency of 90 %. Gas costs 9 ct/kWh.

{more}

Minimise the cost of gas and electricity in EUR.
"""
FILES = {
    "day.csv": "time,heat_demand,outdoor,price\n"
    + "".join(f"2026-01-09 {6 + k:02d}:00,{NEED[k]:g},{OUT[k]:g},{PRICE[k]:g}\n" for k in range(4))
}


def heated(cap: float | None = None) -> float:
    """Return the least cost of the block: heat of pump and boiler by hours."""
    cop = 2.6 + 0.06 * OUT
    cost = np.concatenate([PRICE / cop, np.full(4, 0.09 / 0.9)])
    emitted = np.concatenate([0.4 / cop, np.full(4, 0.2 / 0.9)])[None, :]
    found = linprog(
        cost,
        emitted if cap is not None else None,
        [cap] if cap is not None else None,
        np.hstack([np.eye(4), np.eye(4)]),
        NEED,
        bounds=[(0, 45)] * 4 + [(0, 100)] * 4,
    )
    assert found.success
    return float(found.fun)


@pytest.mark.parametrize("cop", COP)
def test_a_cop_that_the_weather_changes(tmp_path: Path, cop: str) -> None:
    analysis = analysed(tmp_path, HEATED.format(cop=cop, more=""), FILES)
    assert analysis.complete, (analysis.missing, analysis.not_understood, analysis.ambiguous)
    assert solved(analysis, tmp_path)[1] == pytest.approx(heated(), rel=1e-7)


@pytest.mark.parametrize(
    "cop",
    [
        "Its COP is 3.02 at 7 °C and changes by 0.06 per K.",
        "Its COP is 3.02 at 7 °C and falls by 0.06 for each kelvin below that.",
        "Its COP is 3.02 at 7 °C and rises by 0.06 per kelvin up to 10 °C.",
        "Its COP is 2.6 plus 0.06 times the water temperature in °C.",
        "Its COP is between 2.6 and 3.02.",
    ],
)
def test_a_cop_that_is_not_a_known_line_is_doubted(tmp_path: Path, cop: str) -> None:
    assert not analysed(tmp_path, HEATED.format(cop=cop, more=""), FILES).complete, cop


@pytest.mark.parametrize(
    "more",
    [
        "At most 30 kg of carbon dioxide may be emitted, counted with 0.2 kg per kWh of gas and"
        " 0.4 kg per kWh of electricity.",
        "Gas emits 0.2 kg/kWh, electricity 400 g/kWh of CO2. The emissions must not exceed 30 kg.",
    ],
)
def test_emissions_below_a_cap(tmp_path: Path, more: str) -> None:
    analysis = analysed(tmp_path, HEATED.format(cop=COP[0], more=more), FILES)
    assert analysis.complete, (analysis.missing, analysis.not_understood, analysis.ambiguous)
    assert heated(30.0) > heated() + 0.1
    assert solved(analysis, tmp_path)[1] == pytest.approx(heated(30.0), rel=1e-7)


@pytest.mark.parametrize(
    ("text", "unit", "kind"),
    [
        ("0.62 kW/ton", "kW/TR", "power_per_cold"),
        ("2 kW per ton", "kW/TR", "power_per_cold"),
        ("10.5 BTU/Wh", "BTU/Wh", "cold_per_power"),
        ("9,000 ton-hours", "TR*h", "energy"),
        ("5 kilowatt-hours", "kWh", "energy"),
        ("1,150 BTU/(h·°F)", "BTU/h/degF_diff", "conductance"),
        ("50 USD/ton", "USD", "money"),
    ],
)
def test_units_of_cold(text: str, unit: str, kind: str) -> None:
    from engiagent.agents.offline.amounts import amounts_in

    (amount,) = amounts_in(text, 0, len(text), "USD")
    assert (amount.unit, amount.kind) == (unit, kind)


HEAT_WAVE = """
An ice store and 2 chillers cool a district on 12 August 2026 from 12:00 to 16:00, hour by hour.

{chillers}

{store}

{limit}

| From | Outdoor air (°C) | District load (kW) | Price (EUR/kWh) |
|---|---|---|---|
| 12:00 | 28 | 900 | 0.10 |
| 13:00 | 32 | 1100 | 0.20 |
| 14:00 | 35 | 1200 | 0.30 |
| 15:00 | 34 | 1000 | 0.30 |

What is the least cost of electricity in EUR?
"""
DERATED = (
    "Up to 30 °C each chiller gives 500 kW at most; above that, each loses 10 kW for every further"
    " degree. Their COP is 4.",
    "Both chillers are air-cooled. Up to 30 °C each gives 0.5 MW at most; above it, each loses 10"
    " kW for every additional degree. Their electric power is the cooling over 4.",
)
MELTING = (
    "The ice store has 900 kWh in it at 12:00 and gives at most 400 kW. It cannot be filled again"
    " during the afternoon.",
    "At 12:00 the ice store holds 900 kWh. It gives at most 400 kW and cannot be filled again.",
)
CAPPED = (
    "The network operator allows 150 kW of electric power between 14:00 and 16:00, otherwise there"
    " is no limit that matters.",
    "From 14:00 to 16:00 at most 150 kW may be drawn from the grid; at other times there is no"
    " limit.",
)


def heat_wave() -> float:
    """Return the least cost: cold of both chillers and of the ice by hours."""
    out, load = np.array([28.0, 32.0, 35.0, 34.0]), np.array([900.0, 1100.0, 1200.0, 1000.0])
    price = np.array([0.10, 0.20, 0.30, 0.30])
    most = 2 * (500 - 10 * np.maximum(out - 30, 0))
    most[2:] = np.minimum(most[2:], 600)
    found = linprog(
        np.concatenate([price / 4, np.zeros(4)]),
        np.concatenate([np.zeros(4), np.ones(4)])[None, :],
        [900.0],
        np.hstack([np.eye(4), np.eye(4)]),
        load,
        bounds=[(0, m) for m in most] + [(0, 400)] * 4,
    )
    return float(found.fun) if found.success else float("nan")


@pytest.mark.parametrize(("chillers", "store", "limit"), [(0, 0, 0), (1, 1, 0), (0, 1, 1)])
def test_chillers_that_heat_weakens_with_ice(
    tmp_path: Path, chillers: int, store: int, limit: int
) -> None:
    text = HEAT_WAVE.format(chillers=DERATED[chillers], store=MELTING[store], limit=CAPPED[limit])
    analysis = analysed(tmp_path, text)
    assert analysis.complete, (analysis.missing, analysis.not_understood, analysis.ambiguous)
    status, value = solved(analysis, tmp_path)
    expected = heat_wave()
    assert (status == "infeasible") if np.isnan(expected) else value == pytest.approx(expected)
