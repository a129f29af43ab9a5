"""Scenarios, commitments and what settles them: read whatever the words, never read wrongly."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest

from tests.agents.support import analysed, solved

WIND = {"calm": (6, 5, 5, 7), "breezy": (14, 13, 15, 16), "stormy": (24, 26, 27, 22)}
CHANCE = {"calm": 0.3, "breezy": 0.45, "stormy": 0.25}
PRICES = (88, 79, 72, 95)
SHORT, LONG = 210.0, 12.0

OWNER = (
    "We run a 40 MW wind farm.",
    "Our wind farm of 40 MW feeds the transmission network.",
    "A village owns a wind farm, a lake and a church.",
)
PROMISE = (
    "For 12:00 to 16:00 of 3 March 2026 the day-ahead bid (one power for each hour, between 0 and "
    "30 MW) must be placed before we know the wind.",
    "On the day before, the offer for 3 March 2026 must be submitted, one power per hour from "
    "12:00 "
    "to 16:00 and at most 30 MW.",
    "It has to promise its delivery of 3 March 2026 one day ahead, hour by hour, between 0 and "
    "30000 kW.",
    "Before the wind is known, the promise for 3 March 2026 has to be given, hour by hour, up to "
    "30 MW.",
)
CHANCES = (
    "The scenarios in `wind.csv` (MW) have these chances: calm 30 %, breezy 45 %, stormy 25 %.",
    "There are three courses of the wind power in `wind.csv`, in MW: calm with a probability of "
    "30 %, breezy with 45 % and stormy with 25 %.",
    "With a probability of 0.3 calm, with 0.45 breezy and with 0.25 stormy is the course that "
    "comes; "
    "see `wind.csv` (MW).",
    "Three scenarios of the wind power, in MW, are the columns of `wind.csv`: stormy (25 %), calm "
    "(30 %) and breezy (45 %).",
)
MARKET = (
    "The day-ahead prices are in `prices.csv` (EUR/MWh).",
    "`prices.csv` holds the day-ahead prices in EUR/MWh.",
)
SETTLED = (
    "What is missing from the bid is bought at 210 EUR/MWh, what is delivered beyond it earns 12 "
    "EUR/MWh.",
    "What we deliver beyond our promise earns 12 EUR/MWh only; what we fall short of it costs 210 "
    "EUR/MWh.",
    "A surplus is sold at 1.2 ct/kWh, and a shortage costs 21 ct/kWh.",
    "Each MWh more than promised brings 12 EUR, each MWh less than promised costs 210 EUR.",
    "Shortfalls are charged with 210 EUR/MWh, whereas energy in excess of the offer yields 12 "
    "EUR/MWh.",
)
SPILL = ("Wind can be spilled.", "The wind farm may be throttled.")
GOAL = (
    "Find the bid with the best expected income, in EUR.",
    "Which promise brings the largest mean income, in EUR?",
    "Maximise the expected revenue, in EUR.",
)


def csv(columns: Mapping[str, tuple[float, ...]]) -> str:
    rows = [f"hour,{','.join(columns)}"]
    rows += [
        f"2026-03-03 {12 + t}:00,{','.join(str(c[t]) for c in columns.values())}" for t in range(4)
    ]
    return "\n".join(rows) + "\n"


FILES = {"wind.csv": csv(WIND), "prices.csv": csv({"price": PRICES})}


def sale(*picked: int) -> str:
    """Return the text with the given way to say each sentence."""
    ways = (OWNER, PROMISE, CHANCES, MARKET, SETTLED, SPILL, GOAL)
    said = [way[k % len(way)] for way, k in zip(ways, picked, strict=True)]
    return "---\ndata: [wind.csv, prices.csv]\n---\n# Wind\n\n" + "\n".join(said) + "\n"


def outcomes(bid: float, t: int) -> dict[str, float]:
    """Return what a bid earns in an hour in each scenario; wind that pays too little is spilled."""
    found = {}
    for name, wind in WIND.items():
        more = max(wind[t] - bid, 0.0) * LONG
        less = max(bid - wind[t], 0.0) * SHORT
        found[name] = PRICES[t] * bid + more - less
    return found


def best() -> float:
    """Return the largest expected income: the optimum lies at one of the outputs, or a limit."""
    total = 0.0
    for t in range(4):
        bids = [0.0, 30.0, *(min(w[t], 30.0) for w in WIND.values())]
        total += max(sum(CHANCE[n] * x for n, x in outcomes(b, t).items()) for b in bids)
    return total


@pytest.mark.parametrize("k", range(6))
def test_a_sale_in_other_words_units_and_order(tmp_path: Path, k: int) -> None:
    text = sale(k, k, k + 1, k, k, k, k + 2)
    analysis = analysed(tmp_path, text, FILES)
    assert analysis.complete, (text, analysis.missing, analysis.not_understood, analysis.ambiguous)
    status, objective = solved(analysis, tmp_path)
    assert status == "optimal"
    assert objective == pytest.approx(best(), rel=1e-9), text


def test_equally_likely_scenarios_and_the_mean_of_the_worst(tmp_path: Path) -> None:
    text = sale(0, 0, 0, 0, 0, 0, 0)
    equal = text.replace(CHANCES[0], "Three equally likely courses of the wind power, in MW, are "
                         "the columns calm, breezy and stormy of `wind.csv`.")  # fmt: skip
    found = {}
    for name, goal in (
        ("mean", "Find the bid with the largest expected income, in EUR."),
        ("worst", "Find the bid with the largest income in the worst of the three courses, in "
            "EUR."),
        ("two", "Find the bid with the largest mean income over the two worst of the three "
            "courses, "
                "in EUR."),
        ("tail", "Find the bid with the largest conditional value at risk of the income at a level "
                 "of 66.6666666667 %, in EUR."),
    ):  # fmt: skip
        analysis = analysed(tmp_path, equal.replace(GOAL[0], goal), FILES)
        assert analysis.complete, (goal, analysis.not_understood, analysis.ambiguous)
        status, objective = solved(analysis, tmp_path)
        assert status == "optimal"
        assert objective is not None
        found[name] = objective
    worst = sum(outcomes(WIND["calm"][t], t)["calm"] for t in range(4))
    assert found["worst"] == pytest.approx(worst, rel=1e-9)
    assert found["tail"] == pytest.approx(worst, rel=1e-6)
    assert found["worst"] < found["two"] < found["mean"]


NEAR = (
    (CHANCES[0], "The scenarios in `wind.csv` (MW) have these chances: calm 30 %, breezy 45 %, "
                 "stormy 35 %."),
    (CHANCES[0], "The scenarios in `wind.csv` (MW) have these chances: calm 30 %, breezy 45 %."),
    (CHANCES[0], "The scenarios in `wind.csv` (MW) are calm, breezy and stormy."),
    (CHANCES[0], "The scenarios in `wind.csv` (MW) have these chances: calm 30 %, breezy 45 %, "
                 "stormy 25 %; they are gross of wake effects."),
    (CHANCES[0], "The scenarios in `wind.csv` (MW) have these chances, turbine by turbine: calm "
                 "30 %, breezy 45 %, stormy 25 %."),
    (CHANCES[0], "The income is shared: calm 30 %, breezy 45 %, stormy 25 % of `wind.csv` (MW)."),
    (SETTLED[0], "What is missing from the bid is bought at 210 EUR/MWh."),
    (SETTLED[0], "What is missing from the bid earns 210 EUR/MWh, what is delivered beyond it "
        "costs "
                 "12 EUR/MWh."),
    (SETTLED[0], SETTLED[0] + " Above 5 MWh a shortage costs 400 EUR/MWh."),
    (SETTLED[0], "What is missing from the bid is bought at 12 EUR/MWh, what is delivered "
        "beyond it "
                 "earns 210 EUR/MWh."),
    (SETTLED[0], "A deviation from the bid costs 30 EUR/MWh."),
    (SETTLED[0], "What is missing from the bid in the evening is bought at 210 EUR/MWh, what is "
                 "delivered beyond it earns 12 EUR/MWh."),
    (GOAL[0], "Find the bid with the best income, in EUR."),
    (GOAL[0], "Find the bid with the best median income, in EUR."),
    (GOAL[0], "Find the bid with the best conditional value at risk of the income at 5 %, in EUR."),
    (GOAL[0], "Find the bid with the largest mean income over the two worst of the four "
        "courses, in "
              "EUR."),
    (GOAL[0], "Find the bid with half the expected and half the worst income, in EUR."),
    (GOAL[0], GOAL[0] + " In the stormy scenario the farm stands still."),
    (GOAL[0], GOAL[0] + " In most scenarios at least 5 MW must be delivered."),
    (GOAL[0], GOAL[0] + " In the worst course we must not lose more than 100 EUR."),
    (GOAL[0], GOAL[0] + " With a probability of 90 % the bid must be met."),
    (GOAL[0], GOAL[0] + " The bid must be the same in all hours."),
)  # fmt: skip


@pytest.mark.parametrize("k", range(len(NEAR)))
def test_what_says_something_else_is_never_passed_over(tmp_path: Path, k: int) -> None:
    said, other = NEAR[k]
    text = sale(0, 0, 0, 0, 0, 0, 0)
    assert said in text
    assert not analysed(tmp_path, text.replace(said, other), FILES).complete, other


def test_a_commitment_by_hand(tmp_path: Path) -> None:
    """The newsvendor's rule: promise what comes with the share of the prices."""
    analysis = analysed(tmp_path, sale(0, 0, 0, 0, 0, 0, 0), FILES)
    assert analysis.blueprint is not None
    shares = [(p - LONG) / (SHORT - LONG) for p in PRICES]
    order = np.cumsum([CHANCE[n] for n in ("calm", "breezy", "stormy")])
    bids = [sorted(w[t] for w in WIND.values())[int(np.searchsorted(order, s))]
            for t, s in enumerate(shares)]  # fmt: skip
    total = sum(CHANCE[n] * x for t, b in enumerate(bids) for n, x in outcomes(b, t).items())
    assert total == pytest.approx(best(), rel=1e-9)
