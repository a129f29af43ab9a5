"""Sets whose fuel or cost is a formula over the columns of a table; reserve for the loss of one."""

from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import Bounds, LinearConstraint, minimize

from engiagent.agents.offline import understand
from engiagent.problems import Problem, locate
from tests.agents.support import analysed, solved

DEMAND = (410.0, 455.0, 540.0, 668.0)
CURVES = ((520, 214, 0.31, 60, 320), (430, 205, 0.52, 50, 280), (610, 196, 0.66, 50, 260))


def cheapest(ramp: float = 60.0, price: float = 0.94) -> float:
    """Return the least cost of three sets that always run, by a general convex solver."""
    a, b, c, low, high = (np.tile(col, len(DEMAND)) for col in np.array(CURVES).T)
    width = 3 * len(DEMAND)
    balance = np.kron(np.eye(len(DEMAND)), np.ones(3))
    steps = np.eye(width)[3:] - np.eye(width)[:-3]
    found = minimize(
        lambda x: float(np.sum(a + b * x + c * x * x)) / 1e4,
        (low + high) / 2,
        jac=lambda x: (b + 2 * c * x) / 1e4,
        bounds=Bounds(low, high),
        constraints=[LinearConstraint(balance, DEMAND, DEMAND),
                     LinearConstraint(steps, -ramp, ramp)],
        method="trust-constr", options={"gtol": 1e-10, "xtol": 1e-12, "maxiter": 2000},
    )  # fmt: skip
    return float(found.fun) * 1e4 * price


TABLE = """
| Engine | a (L/h) | b (L/MWh) | c (L/(MW·MW·h)) | Least (MW) | Most (MW) |
|---|---|---|---|---|---|
| North | 520 | 214 | 0.31 | 60 | 320 |
| Centre | 430 | 205 | 0.52 | 50 | 280 |
| South | 610 | 196 | 0.66 | 50 | 260 |
"""
OTHER = """
| Set | Pmin (MW) | Pmax (MW) | c2 (L/h/MW/MW) | c1 (L/MWh) | c0 (L/h) |
|---|---|---|---|---|---|
| South | 50 | 260 | 0.66 | 196 | 610 |
| North | 60 | 320 | 0.31 | 214 | 520 |
| Centre | 50 | 280 | 0.52 | 205 | 430 |
"""
FORMULA = "Fuel use of engine k at the output P is a + b·P + c·P² in litres per hour, P in MW:"
RUNS = "None of the engines is switched off."
LOAD = "Demand of the four hours of 3 July 2026 from 04:00, in MW: 410, 455, 540, 668."
RAMP = "No engine may change its output by more than 60 MW from one hour to the next."
PRICE = "Fuel costs 0.94 USD/L."
GOAL = "What does the cheapest dispatch cost, in USD?"


def text(formula: str = FORMULA, table: str = TABLE, runs: str = RUNS, load: str = LOAD,
         ramp: str = RAMP, price: str = PRICE, goal: str = GOAL) -> str:  # fmt: skip
    """Return a problem of three sets."""
    return (
        f"# Sets\n\n{formula}\n{table}\n{runs} {load} It has to be met. {ramp}\n{price}\n{goal}\n"
    )


@pytest.mark.parametrize(
    "change",
    [
        {},
        {"formula": "Fuel in litres per hour of an engine: c*P^2 + b*P + a, with P in MW."},
        {"formula": "A set burns c0 + c1 P + c2 P² litres per hour at the output P.",
         "table": OTHER, "runs": "None of the sets is switched off.",
         "ramp": "No set may change its output by more than 60 MW from one hour to the next."},
        {"load": "Load in MW on 3 July 2026: 04:00 410, 05:00 455, 06:00 540, 07:00 668."},
        {"ramp": "From one hour to the next, any engine may rise by at most 60 MW and"
                 " fall by at most 60 MW."},
        {"ramp": "Ramps of each engine are at most 60 MW/h."},
        {"price": "The fuel costs 940 USD/m3."},
        {"goal": "Minimise the cost in USD."},
    ],
)  # fmt: skip
def test_a_formula_over_a_table_gives_what_sets_burn(
    tmp_path: Path, change: dict[str, str]
) -> None:
    analysis = analysed(tmp_path, text(**change))
    assert analysis.complete, (analysis.not_understood, analysis.ambiguous, analysis.missing)
    assert solved(analysis, tmp_path)[1] == pytest.approx(cheapest(), rel=1e-6)


@pytest.mark.parametrize(
    "change",
    [
        {"formula": "Fuel use at the output P is a + b·P + d·P² in litres per hour."},
        {"formula": "Fuel use at the output P is a·P + b·P + c·P² in litres per hour."},
        {"table": TABLE.replace("L/MWh", "L/h")},  # terms that cannot be added up
        {"runs": ""},  # least outputs, and may they stand?
        {"ramp": "No engine may change its voltage by more than 60 MW from one hour to the next."},
        {"ramp": "North or South may not change by more than 60 MW from one hour to the next."},
        {"price": "Fuel costs 0.94 USD/L in summer."},
    ],
)
def test_a_formula_that_does_not_fit_is_not_guessed(tmp_path: Path, change: dict[str, str]) -> None:
    assert not analysed(tmp_path, text(**change)).complete


ENGINES = """
| Engine | Least (kW) | Most (kW) | Cost (GBP/kWh) | Cost while on (GBP/h) |
|---|---|---|---|---|
| E1 | 200 | 900 | 0.21 | 40 |
| E2 | 150 | 600 | 0.24 | 28 |
| E3 | 100 | 450 | 0.27 | 20 |
"""
SPARE = (
    "If any engine trips, the others that are on must be able to carry the whole load with what"
    " they can give at most."
)


def island(spare: str, loads: str = "17:00 820, 18:00 960, 19:00 1000") -> str:
    """Return a problem of three engines on an island."""
    return (
        f"# Island\n\n{ENGINES}\nLoad in kW on 6 March 2026: {loads}. It must be met by the"
        f" engines in every hour; an engine is off and gives nothing, or it is on. {spare}\n"
        "Find the least cost in GBP.\n"
    )


@pytest.mark.parametrize(
    "spare",
    [
        SPARE,
        "When an engine drops out, the remaining engines must be able to take over the load.",
        "The other engines must be able to meet the load if any engine is lost.",
        "Whenever an engine trips, the other engines must be able to pick up the load at"
        " full output.",
    ],
)
def test_the_loss_of_any_set_leaves_enough(tmp_path: Path, spare: str) -> None:
    analysis = analysed(tmp_path, island(spare))
    assert analysis.complete, (analysis.not_understood, analysis.ambiguous)
    # all three run: 1500 - 1 lost … the largest leaves 1050, enough for every hour
    hours = np.array([820.0, 960.0, 1000.0])
    outputs = hours - 250.0  # two at their least, the cheapest gives the rest
    cost = np.sum(0.21 * outputs + 0.24 * 150 + 0.27 * 100 + 88)
    assert solved(analysis, tmp_path)[1] == pytest.approx(cost)


@pytest.mark.parametrize(
    "spare",
    [
        "If the largest engine trips, the others must be able to carry the load.",
        "If any engine trips, the others must be able to carry half of the load.",
        "If any two engines trip, the others must be able to carry the load.",
        "If any engine trips, the others must be able to carry the load within 10 minutes.",
    ],
)
def test_another_reserve_than_for_the_loss_of_one_is_not_read(tmp_path: Path, spare: str) -> None:
    assert not analysed(tmp_path, island(spare)).complete


TUG = """
| Hour | Propulsion (kW) |
|---|---|
| 06:00 | 310 |
| 07:00 | 1650 |
| 08:00 | 700 |

{formula}

| Genset | a (kg/h) | b (kg/MWh) | Least (MW) | Most (MW) |
|---|---|---|---|---|
| Big | 34 | 168 | 0.45 | 1.5 |
| Small | 13 | 182 | 0.18 | 0.6 |

A genset that does not run burns nothing. {goal}
"""
BURNS = "Fuel in kilograms per hour of a genset that runs, with P in MW: a + b P."


@pytest.mark.parametrize(
    ("formula", "goal"),
    [
        (BURNS, "Least fuel, in kg."),
        ("A genset burns b·P + a kilograms per hour.", "Minimise the fuel use in kg."),
        ("Consumption of a genset in kg per hour: a + b*P", "Burn the least fuel, in kg."),
    ],
)
def test_fuel_in_kilograms_is_an_objective(tmp_path: Path, formula: str, goal: str) -> None:
    analysis = analysed(tmp_path, "# Tug\n" + TUG.format(formula=formula, goal=goal))
    assert analysis.complete, (analysis.not_understood, analysis.ambiguous, analysis.missing)
    # 310 kW and 700 kW by one set, 1650 kW by both with the big one in front
    small, both = 13 + 0.182 * 310, 47 + 0.168 * 1470 + 0.182 * 180
    alone = 34 + 0.168 * 700
    status, value = solved(analysis, tmp_path)
    assert status == "optimal"
    assert value == pytest.approx(small + both + alone)


OFFERS = """# Market

| Hour | Demand (MW) | Wind (MW) |
|---|---|---|
| 1 | 310 | 205 |
| 2 | 290 | 120 |
| 3 | 330 | 40 |

{offers}
Wind may be spilled. {ramps}
Demand has to be met in every hour. Clear the market at the least cost in EUR{more}.
"""
FIRMS = (
    "Two thermal firms offer their energy in two blocks each. The first has 80 MW at 30 EUR/MWh and"
    " 60 MW at 40 EUR/MWh, the second 100 MW at 50 EUR/MWh and 80 MW at 60 EUR/MWh."
)


@pytest.mark.parametrize(
    ("offers", "ramps", "more"),
    [
        (FIRMS, "", ""),
        (FIRMS, "", ", give the price of each hour, and say what would change without wind"),
        ("There are two generators, G1 and G2. G1 offers 80 MW for 30 EUR/MWh and 60 MW for"
         " 40 EUR/MWh. G2 offers 100 MW at 50 EUR/MWh, then 80 MW at 60 EUR/MWh.", "", ""),
        ("Two thermal plants offer two blocks. The second has 100 MW at 50 EUR/MWh and 80 MW at"
         " 60 EUR/MWh; the first has 80 MW at 30 EUR/MWh and 60 MW at 40 EUR/MWh.", "", ""),
    ],
)  # fmt: skip
def test_units_offer_blocks(tmp_path: Path, offers: str, ramps: str, more: str) -> None:
    analysis = analysed(tmp_path, OFFERS.format(offers=offers, ramps=ramps, more=more))
    assert analysis.complete, (analysis.not_understood, analysis.ambiguous, analysis.missing)
    cost = 80 * 30 + 25 * 40  # 105 MW
    cost += 80 * 30 + 60 * 40 + 30 * 50  # 170 MW
    cost += 80 * 30 + 60 * 40 + 100 * 50 + 50 * 60  # 290 MW
    assert solved(analysis, tmp_path)[1] == pytest.approx(cost)


def test_ramps_of_each_side_hold_for_the_unit_that_they_are_said_of(tmp_path: Path) -> None:
    ramps = (
        "From one hour to the next, the first may rise by at most 30 MW and fall by at most 90 MW;"
        " the second may rise by at most 110 MW and fall by at most 20 MW."
    )
    analysis = analysed(tmp_path, OFFERS.format(offers=FIRMS, ramps=ramps, more=""))
    assert analysis.complete, (analysis.not_understood, analysis.ambiguous)
    assert analysis.blueprint is not None
    rows = [c for c in analysis.blueprint.core.constraints if (c.name or "").startswith("ramp of")]
    assert len(rows) == 4
    # 105, 170, 290 MW: the second has to be at 40 MW in hour 2 to reach 150 MW after it
    cost = (80 * 30 + 25 * 40) + (80 * 30 + 50 * 40 + 40 * 50)
    cost += 80 * 30 + 60 * 40 + 100 * 50 + 50 * 60
    assert solved(analysis, tmp_path)[1] == pytest.approx(cost)


@pytest.mark.parametrize(
    "offers",
    [
        FIRMS.replace("80 MW at 30 EUR/MWh", "80 MW at 45 EUR/MWh"),  # not in order of price
        FIRMS.replace("two blocks each", "three blocks each"),
        FIRMS.replace("Two thermal", "Three thermal"),
        FIRMS + " The first is out of service in hour 2.",
    ],
)
def test_offers_that_do_not_add_up_are_not_guessed(tmp_path: Path, offers: str) -> None:
    assert not analysed(tmp_path, OFFERS.format(offers=offers, ramps="", more="")).complete


def test_a_share_that_is_lost_is_a_loss_and_no_set_that_trips() -> None:
    # "Of the energy we put in, 12 % is lost on the way"
    found = understand(Problem.load(locate("battery/brewery_demand_charge")), {})
    assert found.analysis.complete, found.analysis.not_understood
