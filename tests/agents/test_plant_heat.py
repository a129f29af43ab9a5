"""Plants of heat and cold: a CHP with boiler and tank, chillers with a store, against own sums."""

from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import Bounds, LinearConstraint, linprog, milp

from tests.agents.support import analysed, solved

HEAT = np.array([90.0, 120.0, 150.0, 130.0, 80.0, 60.0])
POWER = np.array([30.0, 35.0, 60.0, 55.0, 40.0, 25.0])
PRICE = np.array([0.20, 0.20, 0.28, 0.28, 0.28, 0.20])
COLD = np.array([300.0, 350.0, 500.0, 700.0, 900.0, 600.0])
TARIFF = np.array([0.12, 0.14, 0.22, 0.30, 0.35, 0.28])

UNITS = {
    "chp": (
        "The CHP unit has an electrical output of up to 50 kW, an electrical efficiency of 32 %"
        " and a thermal efficiency of 55 %.",
        "The cogeneration unit delivers at most 0.05 MW of electricity; its electrical efficiency"
        " is 0.32 and its thermal efficiency 0.55.",
    ),
    "boiler": (
        "The boiler delivers up to 200 kW of heat with an efficiency of 90 %.",
        "The gas boiler has a rated output of 200 kW and an efficiency of 0.9.",
    ),
    "tank": (
        "The hot water tank holds 150 kWh, can be filled and emptied at 60 kW, and loses nothing."
        " It contains 50 kWh at the start and must contain at least 50 kWh at the end.",
        "The heat store has a capacity of 150 kWh and can be charged and discharged with 60 kW."
        " At the start it holds 50 kWh; at the end it must hold no less than 50 kWh."
        " It has no losses.",
    ),
    "gas": ("Gas costs 60 EUR/MWh.", "The price of gas is 6 ct/kWh."),
    "surplus": (
        "The surplus heat of the CHP unit may not be wasted.",
        "No heat may be dumped.",
    ),
}
DAIRY = """
The dairy has a CHP unit, a gas boiler and a heat store. We plan 6 hours, hour by hour, from 00:00.

The heat demand in the six hours is 90, 120, 150, 130, 80 and 60 kW. The electricity demand is
30, 35, 60, 55, 40 and 25 kW.

{units}

Electricity from the grid costs 0.28 EUR/kWh from 02:00 to 05:00 and 0.20 EUR/kWh at all other
times; electricity fed into the grid is paid 0.09 EUR/kWh.

Minimise the energy cost in EUR.
"""


def dairy(dump: bool = False) -> float:
    """Return the lowest cost of the dairy: power, boiler, in, out, import, export by hours."""
    n = 6
    ratio = 0.55 / 0.32
    eye, zero = np.eye(n), np.zeros((n, n))
    heat = np.hstack([ratio * eye, eye, -eye, eye, zero, zero])
    power = np.hstack([eye, zero, zero, zero, eye, -eye])
    total = np.tril(np.ones((n, n)))
    held = np.hstack([zero, zero, total, -total, zero, zero])
    cost = np.concatenate([np.full(n, 0.06 / 0.32), np.full(n, 0.06 / 0.9), np.zeros(2 * n), PRICE,
                           np.full(n, -0.09)])  # fmt: skip
    least = np.full(n, 50.0)
    least[-1] = 0.0
    equal, right = (power, POWER) if dump else (np.vstack([heat, power]), np.append(HEAT, POWER))
    rows = np.vstack([held, -held, *([-heat] if dump else [])])
    limits = np.concatenate([np.full(n, 100.0), least, *([-HEAT] if dump else [])])
    bounds = [(0, u) for u in np.repeat([50, 200, 60, 60, np.inf, np.inf], n)]
    found = linprog(cost, rows, limits, equal, right, bounds)
    assert found.success
    return float(found.fun)


@pytest.mark.parametrize("which", range(6))
def test_a_chp_with_boiler_and_tank(tmp_path: Path, which: int) -> None:
    chosen = [ways[(which >> k) % 2 if k < 3 else which % 2]
              for k, ways in enumerate(UNITS.values())]  # fmt: skip
    if which % 3 == 0:
        chosen.reverse()
    text = DAIRY.format(units="\n\n".join(chosen))
    analysis = analysed(tmp_path, text)
    assert analysis.complete, (analysis.missing, analysis.not_understood, analysis.ambiguous)
    assert solved(analysis, tmp_path)[1] == pytest.approx(dairy(), rel=1e-7)


def test_heat_that_may_be_dumped_and_heat_of_which_nothing_is_said(tmp_path: Path) -> None:
    plain = [ways[0] for name, ways in UNITS.items() if name != "surplus"]
    silent = DAIRY.format(units="\n\n".join(plain))
    assert not analysed(tmp_path, silent).complete
    allowed = DAIRY.format(units="\n\n".join([*plain, "Surplus heat can be dumped at no cost."]))
    analysis = analysed(tmp_path, allowed)
    assert analysis.complete, (analysis.missing, analysis.not_understood, analysis.ambiguous)
    assert solved(analysis, tmp_path)[1] == pytest.approx(dairy(dump=True), rel=1e-7)


HOSPITAL = """
A hospital is cooled by two chillers and a cold store.

{units}

The cooling demand must be met in every hour. It is listed with the price of electricity.

| Hour | Cooling demand (kW) | Electricity price (EUR/kWh) |
|---|---|---|
| 1 | 300 | 0.12 |
| 2 | 350 | 0.14 |
| 3 | 500 | 0.22 |
| 4 | 700 | 0.30 |
| 5 | 900 | 0.35 |
| 6 | 600 | 0.28 |

Which operation of the chillers and the store has the lowest electricity cost in EUR?
"""
PROSE = """The large chiller delivers up to 800 kW of cooling with a COP of 5.2; the small chiller
delivers up to 300 kW with a COP of 4.5. When it runs, the large chiller must deliver at least
240 kW, the small chiller at least 90 kW."""
TABLE = """| Chiller | Cooling capacity (kW) | COP | Minimum load (%) |
|---|---|---|---|
| Large chiller | 800 | 5.2 | 30 |
| Small chiller | 300 | 4.5 | 30 |"""
TURNED = """| Quantity | Large chiller | Small chiller |
|---|---|---|
| COP | 5.2 | 4.5 |
| Maximum cooling (MW) | 0.8 | 0.3 |
| Minimum cooling when running (kW) | 240 | 90 |"""
STORE = """The cold store of 1000 kWh can be charged and discharged at 250 kW; it is empty at the
start and the final content is free."""


def hospital() -> float:
    """Return the lowest cost: two coolings, two states, in and out by hours."""
    n = 6
    eye, zero = np.eye(n), np.zeros((n, n))
    total = np.tril(np.ones((n, n)))
    rows = [
        (np.hstack([eye, eye, zero, zero, -eye, eye]), COLD, COLD),
        (np.hstack([eye, zero, -800 * eye, zero, zero, zero]), -np.inf, 0),
        (np.hstack([eye, zero, -240 * eye, zero, zero, zero]), 0, np.inf),
        (np.hstack([zero, eye, zero, -300 * eye, zero, zero]), -np.inf, 0),
        (np.hstack([zero, eye, zero, -90 * eye, zero, zero]), 0, np.inf),
        (np.hstack([zero, zero, zero, zero, total, -total]), 0, 1000),
    ]
    cost = np.concatenate([TARIFF / 5.2, TARIFF / 4.5, np.zeros(4 * n)])
    upper = np.repeat([800.0, 300.0, 1.0, 1.0, 250.0, 250.0], n)
    whole = np.repeat([0, 0, 1, 1, 0, 0], n)
    found = milp(cost, constraints=[LinearConstraint(*row) for row in rows],
                 bounds=Bounds(np.zeros(6 * n), upper), integrality=whole,
                 options={"mip_rel_gap": 0})  # fmt: skip
    assert found.success
    return float(found.fun)


@pytest.mark.parametrize("units", [PROSE, TABLE, TURNED])
def test_two_chillers_in_prose_and_in_tables_either_way(tmp_path: Path, units: str) -> None:
    for parts in ((units, STORE), (STORE, units)):
        analysis = analysed(tmp_path, HOSPITAL.format(units="\n\n".join(parts)))
        assert analysis.complete, (analysis.missing, analysis.not_understood, analysis.ambiguous)
        assert solved(analysis, tmp_path)[1] == pytest.approx(hospital(), rel=1e-7)


CHANGES = (
    "The chillers must not run at the same time.",
    "The COP of the large chiller falls by 2 % per kelvin above 25 degC.",
    "The small chiller is a spare and may only run when the large chiller is full.",
    "The cooling demand may be exceeded by at most 5 %.",
    "After a start the large chiller delivers only half of its cooling in the first hour.",
    "The cold store can only be charged by the small chiller.",
    "The price above excludes a network fee of 0.05 EUR/kWh.",
    "Ice in the store melts: it loses 10 kWh every hour.",
    "The large chiller is in revision in hours 4 and 5.",
    "The values in the table are averages over the summer.",
    "The chillers may be started at most twice a day.",
)


@pytest.mark.parametrize("change", CHANGES)
def test_a_sentence_on_chillers_is_never_passed_over(tmp_path: Path, change: str) -> None:
    text = HOSPITAL.format(units="\n\n".join([PROSE, STORE]))
    assert not analysed(tmp_path, text + "\n" + change + "\n").complete, change


COP = np.array([3.1, 3.0, 2.8, 2.9, 3.3, 3.4])
NEED = np.array([30.0, 34.0, 38.0, 33.0, 28.0, 25.0])
HOUSES = """
A housing block is heated by a heat pump and a buffer tank. Plan 6 hours of 14 January
2026 from 00:00.

The heat pump draws at most 20 kW of electric power. Its coefficient of performance and the heat
demand are given in `day.csv` together with the electricity price.

The buffer tank stores up to 60 kWh of heat. At the start it holds 20 kWh, and at the end it must
hold at least 20 kWh. {loss}

The heat demand must be met at all times. What is the lowest electricity cost in EUR?
"""


def houses() -> float:
    """Return the lowest cost with 2 % of the content at the beginning of every hour lost."""
    n, keep = 6, 0.98
    weights = np.array([[keep ** (t - k) if k <= t else 0.0 for k in range(n)] for t in range(n)])
    rest = 20 * keep ** np.arange(1, n + 1)
    # The tank takes what the heat pump gives beyond the need.
    flows, fixed = weights * COP, rest - weights @ NEED
    least = np.zeros(n)
    least[-1] = 20.0
    found = linprog(
        TARIFF, np.vstack([flows, -flows]), np.concatenate([60 - fixed, fixed - least]),
        bounds=[(0, 20)] * n,
    )  # fmt: skip
    assert found.success
    return float(found.fun)


def test_a_standing_loss_is_counted_as_the_text_says_and_not_guessed(tmp_path: Path) -> None:
    rows = [f"2026-01-14 {h:02d}:00,{q},{c},{p}"
            for h, (q, c, p) in enumerate(zip(NEED, COP, TARIFF, strict=True))]  # fmt: skip
    files = {"day.csv": "time,heat_demand_kw,cop,price_eur_per_kwh\n" + "\n".join(rows) + "\n"}
    clear = "It loses 2 % per hour of its content at the beginning of the hour."
    analysis = analysed(tmp_path, HOUSES.format(loss=clear), files)
    assert analysis.complete, (analysis.missing, analysis.not_understood, analysis.ambiguous)
    assert solved(analysis, tmp_path)[1] == pytest.approx(houses(), rel=1e-7)
    for open_to_doubt in (
        "Its standing losses are 2 %/h.",
        "It loses 2 % of its content per hour.",
    ):
        assert not analysed(tmp_path, HOUSES.format(loss=open_to_doubt), files).complete
