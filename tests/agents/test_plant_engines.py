"""Gas engines whose heat and fuel are said as ratios, with a tank, for the market alone."""

from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import Bounds, LinearConstraint, milp

from tests.agents.support import analysed, solved

HEAT = (210.0, 330.0, 420.0, 380.0, 260.0, 180.0)
SPOT = (38.0, 95.0, 140.0, 72.0, 30.0, 88.0)
N = 6


def cheapest(
    ratio: float = 1.3, fuel: float = 2.1, idle: float = 95.0, least: float = 140.0,
    loss: float = 0.012,
) -> float:  # fmt: skip
    """Return the least cost of gas less sales: engine, boiler and tank, by branch and bound."""
    power, on, boiler = (slice(k * N, (k + 1) * N) for k in range(3))
    gas = 0.041
    cost = np.zeros(5 * N)
    cost[power] = gas * fuel - np.array(SPOT) / 1000
    cost[on], cost[boiler] = gas * idle, gas / 0.92
    upper = np.concatenate(
        [np.full(N, 280.0), np.ones(N), np.full(N, 350.0), np.full(2 * N, 150.0)]
    )
    rows, low, high = [], [], []

    def row(terms: dict[int, float], floor: float, ceiling: float) -> None:
        line = np.zeros(5 * N)
        for k, v in terms.items():
            line[k] = v
        rows.append(line)
        low.append(floor)
        high.append(ceiling)

    for t in range(N):
        terms = {t: ratio, 2 * N + t: 1.0, 3 * N + t: -1.0, 4 * N + t: 1.0}
        row(terms, HEAT[t], HEAT[t])
        row({t: 1.0, N + t: -280.0}, -np.inf, 0.0)
        row({t: 1.0, N + t: -least}, 0.0, np.inf)
        kept = {3 * N + s: (1 - loss) ** (t - s) for s in range(t + 1)}
        kept |= {4 * N + s: -((1 - loss) ** (t - s)) for s in range(t + 1)}
        start = 200.0 * (1 - loss) ** (t + 1)
        row(kept, (200.0 if t == N - 1 else 0.0) - start, 500.0 - start)
    whole = np.zeros(5 * N)
    whole[on] = 1
    found = milp(cost, constraints=LinearConstraint(np.array(rows), low, high),
                 integrality=whole, bounds=Bounds(0, upper))  # fmt: skip
    assert found.success, found.message
    return float(found.fun)


SERIES = "\n".join(
    f"| {h:02d}:00 | {q:g} | {p:g} |" for h, (q, p) in enumerate(zip(HEAT, SPOT, strict=True))
)
MARKET = "Electricity is not needed on site; all of it goes to the spot market."
ENGINE = (
    "Engine: either off, or on with 140 kW to 280 kW of electricity. It gives 1.3 times as much"
    " heat as electricity. It burns 2.1 times its electricity in gas, and on top 95 kW of gas as"
    " long as it is on."
)
BOILER = "The boiler gives up to 350 kW of heat at 92 % efficiency, continuously adjustable."
TANK = (
    "Tank: 500 kWh of heat when full, at most 150 kW in or out. Through its insulation it loses its"
    " content at 1.2 %/h (count the loss on the content at the beginning of the hour). It holds"
    " 200 kWh at 00:00 and must hold at least 200 kWh at the end."
)
GAS = "Gas costs 41 EUR/MWh, tax included. Heat cannot be blown off."


def works(market: str = MARKET, engine: str = ENGINE, tank: str = TANK, more: str = "") -> str:
    """Return the text of a heating works."""
    return f"""A small network is heated by a gas engine, a gas boiler and a water tank. {market}

We plan 6 hours from midnight:

| Hour | Heat demand (kW) | Spot price (EUR/MWh) |
|---|---|---|
{SERIES}

{engine} {BOILER}

{tank} {GAS} {more}

The heat demand must be met in every hour. What are the lowest costs, gas less electricity sales, in
EUR?
"""


SAID: tuple[tuple[dict[str, str], dict[str, float]], ...] = (
    ({}, {}),
    ({"market": "Nobody uses electricity here: it is sold at the spot market."}, {}),
    (
        {
            "engine": "The gas engine has an electric output of 280 kW; its minimum load is 140 kW"
            " of electricity. Its heat-to-power ratio is 1.3. It burns 2.1 units of gas per unit of"
            " electricity and 95 kW of gas on top while it is running."
        },
        {},
    ),
    (
        {
            "engine": "The gas engine delivers at most 280 kW of electricity and when running at"
            " least 140 kW. The power-to-heat ratio is 0.8. It burns 2.1 times its electricity in"
            " gas."
        },
        {"ratio": 1.25, "idle": 0.0},
    ),
    (
        {
            "tank": "The tank can store 500 kWh and be filled and emptied with up to 150 kW."
            " Standing losses are 1.2 % per hour of the content at the beginning of the hour. It"
            " starts with 200 kWh and at the end there must be at least 200 kWh in it."
        },
        {},
    ),
)


@pytest.mark.parametrize(("parts", "numbers"), SAID)
def test_an_engine_a_boiler_and_a_tank(
    tmp_path: Path, parts: dict[str, str], numbers: dict[str, float]
) -> None:
    analysis = analysed(tmp_path, works(**parts))
    assert analysis.complete, (analysis.not_understood, analysis.ambiguous, analysis.missing)
    assert solved(analysis, tmp_path)[1] == pytest.approx(cheapest(**numbers), rel=1e-7)


CHANGES = (
    {"market": "Half of the electricity goes to the spot market."},
    {"market": "Only the electricity of the day goes to the spot market."},
    {"market": "Electricity is sold."},
    {"market": "The works needs 20 kW of electricity itself; the rest goes to the spot market."},
    {"market": MARKET + " The spot market takes a fee of 5 %."},
    {"engine": ENGINE.replace("1.3 times", "about twice")},
    {"engine": ENGINE + " Its heat-to-power ratio is 1.3."},
    {"engine": ENGINE + " Its electric efficiency is 40 %."},
    {"engine": ENGINE.replace("gas as long", "diesel as long")},
    {"engine": ENGINE.replace("as long as it is on", "in the first hour after a start")},
    {"engine": ENGINE.replace("either off, or on", "always on")},
    {"engine": ENGINE + " Its heat falls by 2 % per hour."},
    {"tank": TANK.replace("at the beginning of the hour", "")},
    {"tank": TANK + " Its water must stay above 60 °C."},
    {"more": "A second engine stands by."},
    {"more": "The boiler is out of order."},
    {"more": "The boiler may run for at most 2 hours."},
    {"more": "Carbon costs 60 EUR/t."},
    {"more": "The engine must not run at 03:00."},
)


@pytest.mark.parametrize("parts", CHANGES)
def test_what_changes_the_works_is_never_passed_over(tmp_path: Path, parts: dict[str, str]) -> None:
    assert not analysed(tmp_path, works(**parts)).complete
