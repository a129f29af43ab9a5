"""Units beside a commitment: what waits for the weather, what does not, and what can shift."""

from pathlib import Path

import pytest

from engiagent.agents.offline import Analysis
from tests.agents.support import analysed, solved

HEAD = "---\ndata: [wind.csv, prices.csv]\n---\n# Plant\n\n"
WIND = "hour,calm,stormy\n" + "".join(
    f"2026-10-27 {16 + t}:00,{a},{b}\n" for t, (a, b) in enumerate(((6, 24), (5, 26), (5, 27)))
)
PRICES = "hour,price [EUR/MWh]\n" + "".join(
    f"2026-10-27 {16 + t}:00,{p}\n" for t, p in enumerate((88, 79, 112))
)
FILES = {"wind.csv": WIND, "prices.csv": PRICES}

OPEN = (
    "We sell a wind farm, a biogas plant and a paper mill that can shift its grinders as one plant."
)
BID = (
    "The day-ahead bid for 27 October 2026, 16:00 to 19:00 (one power for each hour, between 0 and "
    "45 MW), must be placed before we know the wind."
)
CHANCE = "The scenarios in `wind.csv` (MW) have these chances: calm 60 %, stormy 40 %."
MARKET = "`prices.csv` holds the day-ahead prices in EUR/MWh."
SETTLED = (
    "What is missing from the bid is bought at 210 EUR/MWh, what is delivered beyond it earns 12 "
    "EUR/MWh."
)
GOAL = "Find the bid with the best expected margin, in EUR."
KNOWN = (
    "After the wind is known we can still steer:",
    "Once we know the wind we can adjust",
    "As soon as the weather is known we have",
    "When the wind is known, we may still use the following:",
)
GAS = (
    "biogas from 3 MW to 12 MW at 74 EUR/MWh; it cannot be shut down,",
    "the biogas plant, between 3 and 12 MW, for 7.4 ct/kWh; it must not be switched off,",
    "biogas: at least 3000 kW and at most 12000 kW, at 74 EUR/MWh; it can never be shut down,",
)
MILL = (
    "the mill: up to 6 MW less than usual in any hour, and up to 4 MW more; over the three hours "
    "it must take as much energy as usual, to the kilowatt-hour,",
    "the mill: at most 4 MW more than normal and at most 6 MW less; over the three hours it has to "
    "use the same energy as usual,",
)
SPILL = ("wind can be spilled.", "the wind may be curtailed.")


def portfolio(*picked: int, gas: str = "", mill: str = "", known: str = "") -> str:
    """Return the text with the given way to say each part."""
    ways = zip((KNOWN, GAS, MILL, SPILL), picked, strict=True)
    lead, engine, shift, spill = (way[k % len(way)] for way, k in ways)
    items = "\n".join(f"- {item}" for item in (gas or engine, mill or shift, spill))
    return (
        f"{HEAD}{OPEN} {BID} {CHANCE} {MARKET}\n\n{known or lead}\n\n{items}\n\n{SETTLED} {GOAL}\n"
    )


def problems(analysis: Analysis) -> object:
    return analysis.missing, analysis.not_understood, analysis.ambiguous


def test_a_portfolio_in_other_words(tmp_path: Path) -> None:
    found = []
    for k in range(4):
        text = portfolio(k, k, k, k)
        analysis = analysed(tmp_path, text, FILES)
        assert analysis.complete, (text, problems(analysis))
        status, objective = solved(analysis, tmp_path)
        assert status == "optimal"
        found.append(objective)
    assert found == pytest.approx([found[0]] * 4, rel=1e-9)


def test_waiting_is_worth_something(tmp_path: Path) -> None:
    """An engine that is fixed in advance can earn no more than one that waits."""
    fixed = (
        "the biogas plant, between 3 MW and 12 MW, at 74 EUR/MWh; its output is the same whatever "
        "the wind does; it cannot be shut down,"
    )
    text = portfolio(0, 0, 0, 0, gas=fixed)
    text = text.replace(f"- {fixed}\n", "").replace(CHANCE, f"{CHANCE} T{fixed[1:-1]}.")
    late = solved(analysed(tmp_path, portfolio(0, 0, 0, 0), FILES), tmp_path)[1]
    early = analysed(tmp_path, text, FILES)
    assert early.complete, (text, problems(early))
    status, objective = solved(early, tmp_path)
    assert status == "optimal"
    assert objective is not None
    assert late is not None
    assert objective < late - 1e-6


NEAR = (
    {"known": "We can steer:"},
    {"known": "Hour by hour, as the wind becomes known, we can steer:"},
    {"known": "After the wind is known (one hour at a time) we can still steer:"},
    {"known": "The wind becomes known gradually. After the wind is known we can still steer:"},
    {"gas": "biogas from 3 MW to 12 MW at 74 EUR/MWh, in the stormy scenario at 90 EUR/MWh,"},
    {"gas": "biogas from 3 MW to 12 MW at 74 EUR/MWh, which must be decided a day ahead,"},
    {"mill": "the mill: up to 6 MW less than usual in any hour, and up to 4 MW more,"},
    {"mill": "the mill: up to 6 MW less than usual in any hour, and up to 4 MW more; over the two "
             "hours it must take as much energy as usual,"},
    {"mill": "the mill: up to 6 MW less than usual in any hour, and up to 4 MW more; over the "
             "three hours it must take as much energy as usual, and 2 MWh more,"},
    {"mill": "the mill: up to 6 MW less than usual, but only after 17:00, and up to 4 MW more; "
             "over the three hours it must take as much energy as usual,"},
)  # fmt: skip


@pytest.mark.parametrize("k", range(len(NEAR)))
def test_what_says_something_else_is_never_passed_over(tmp_path: Path, k: int) -> None:
    text = portfolio(0, 0, 0, 0, **NEAR[k])
    assert not analysed(tmp_path, text, FILES).complete, text


ORDER = """---
data: []
---
# Cold

The halls take their cold from the district network, and the network wants the order for 19 August
2026, one power for each hour from 10:00 to 13:00, on the evening before. {paid} The
weather then turns out mild (chance 35 %), warm (40 %) or hot (25 %), with these loads:

| Hour | mild (kW) | warm (kW) | hot (kW) |
|---|---|---|---|
| 10:00 | 620 | 790 | 980 |
| 11:00 | 740 | 980 | 1260 |
| 12:00 | 880 | 1190 | 1620 |

Once the weather is known we have

- our own chiller, up to 600 kW of cold with a COP of 3.2, on electricity for 215 EUR/MWh,
- {late}

The load has to be met in every hour whatever the weather; {waste} Which order has the least
expected cost, in EUR?
"""
PAID = (
    "What is ordered is paid at 41 EUR/MWh whether it is used or not; up to 2.5 MW can be ordered.",
    "The order costs 41 EUR/MWh, whether we need it or not, and at most 2500 kW can be ordered.",
)
LATE = (
    "cold from the network at short notice for 118 EUR/MWh, at most 700 kW.",
    "at short notice, cold from the network for 11.8 ct/kWh, up to 0.7 MW.",
)
WASTE = (
    "cold that nobody needs may flow back unused.",
    "what is not needed may be wasted.",
)


def test_an_order_that_is_paid_in_any_case(tmp_path: Path) -> None:
    found = []
    for k in range(2):
        text = ORDER.format(paid=PAID[k], late=LATE[k], waste=WASTE[k])
        analysis = analysed(tmp_path, text)
        assert analysis.complete, (text, problems(analysis))
        status, objective = solved(analysis, tmp_path)
        assert status == "optimal"
        found.append(objective)
    assert found[1] == pytest.approx(found[0], rel=1e-9)


@pytest.mark.parametrize(
    ("said", "other"),
    [
        (LATE[0], "cold from the network at short notice for 118 EUR/MWh, at least 700 kW."),
        (LATE[0], "cold from the network at short notice earns 118 EUR/MWh, at most 700 kW."),
        (PAID[0], "What is ordered and used is paid at 41 EUR/MWh; up to 2.5 MW can be ordered."),
        (PAID[0], "What is ordered earns 41 EUR/MWh; up to 2.5 MW can be ordered."),
        (WASTE[0], "cold that nobody needs may flow back for 5 EUR/MWh."),
        ("(25 %)", "(35 %)"),
    ],
)
def test_an_order_that_says_something_else(tmp_path: Path, said: str, other: str) -> None:
    text = ORDER.format(paid=PAID[0], late=LATE[0], waste=WASTE[0])
    assert said in text
    assert not analysed(tmp_path, text.replace(said, other)).complete, other


def test_shifting_without_the_usual_consumption_is_asked_for(tmp_path: Path) -> None:
    """A reduction would have nothing to reduce: nothing is fed in, and no load is given."""
    said = (
        "---\ndata: [prices.csv]\n---\n# Mill\n\nWe run a paper mill that can shift its grinders. "
        "Electricity on 27 October 2026 costs what `prices.csv` says (EUR/MWh). The mill: up to "
        "6 MW less than usual in any hour, and up to 4 MW more; over the three hours it must take "
        "as much energy as usual. Minimise the cost in EUR.\n"
    )
    assert not analysed(tmp_path, said, {"prices.csv": PRICES}).complete
