"""A chiller that makes cold or ice, ice that melts the slower the less is left, billed power."""

from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import linprog

from tests.agents.support import analysed, solved

NEED = np.array([20.0, 0.0, 60.0, 300.0, 420.0, 380.0])
PRICE = np.array([0.14, 0.10, 0.12, 0.20, 0.30, 0.28])
TEXT = """
The Kammersaal in Graz is cooled by one glycol chiller with an ice store. We plan from 22:00 on
2 July 2026 to 04:00 on 3 July 2026, hour by hour; {table}

{chiller} {both}

{store} {melts} {limit} {start} {served}

{power} What is the least bill in EUR?

| Begin | Hall (kW) | Price (EUR/kWh) |
|---|---|---|
| 22:00 | 20 | 0.14 |
| 23:00 | 0 | 0.10 |
| 00:00 | 60 | 0.12 |
| 01:00 | 300 | 0.20 |
| 02:00 | 420 | 0.30 |
| 03:00 | 380 | 0.28 |
"""
PARTS = {
    "table": "needs of the hall and price of electricity are in the table at the end.",
    "chiller": "The chiller can serve the hall directly, with a coefficient of performance of 4.4"
    " and up to 300 kW of cooling, or it can make ice, with 3.2 and up to 200 kW.",
    "both": "It may divide an hour between the two: with a quarter of the hour for ice, for"
    " instance, it makes 50 kW of ice and at most 225 kW for the hall, as means of the hour.",
    "store": "The store holds 600 kWh of cold as ice; what has melted by itself can be neglected.",
    "melts": "How fast it melts on demand depends on the ice that is left at the beginning of the"
    " hour.",
    "limit": "From 40 % of a full store upwards it gives up to 200 kW, an empty store gives"
    " nothing, and in between the limit rises in a straight line.",
    "start": "At 22:00 on 2 July there are 120 kWh of ice in it, and at the end there have to be at"
    " least as many.",
    "served": "The hall's need has to be met exactly.",
    "power": "Besides the energy the city utility bills power: 0.21 EUR per kW for the highest hour"
    " of electric power of the chiller between 01:00 and 04:00 on 3 July.",
}
SAME = {
    "table": ("the loads and prices are given in the table below.",),
    "chiller": ("Cooling the hall directly, the chiller has a COP of 4.4 and gives at most 300 kW;"
                " making ice, it has a COP of 3.2 and gives at most 0.2 MW.",
                "The chiller can make ice with a COP of 3.2 and up to 200 kW or supply the hall"
                " with a COP of 4.4 and up to 300 kW."),
    "both": ("The chiller can split any hour freely between both.",
             "Within an hour it may do both in any proportion."),
    "store": ("The ice store contains up to 0.6 MWh of ice. Melting by itself is negligible.",),
    "melts": ("How quickly the ice can be melted depends on the content at the start of each"
              " hour.",),
    "limit": ("It gives at most 200 kW as long as at least 40 % of its capacity is left; below that"
              " the limit falls linearly to zero when empty.",),
    "start": ("At 22:00 it holds 120 kWh of ice, and in the end there must be at least as much"
              " in it.",),
    "served": ("The hall gets exactly what it needs.",),
    "power": ("In addition to the energy, the utility charges power: 0.21 EUR/kW for the largest"
              " hour of power of the chiller from 01:00 to 04:00.",),
}  # fmt: skip


def cheapest() -> float:
    """Return the least bill: cold, ice and melting by hours, and the highest power."""
    n = 6
    eye, zero, one = np.eye(n), np.zeros((n, n)), np.zeros((n, 1))
    left = np.tril(np.ones((n, n)))  # at the end of each hour
    before = np.tril(np.ones((n, n)), -1)
    late = np.diag([0.0, 0, 0, 1, 1, 1])
    upper = np.vstack([
        np.hstack([eye / 300, eye / 200, zero, one]),
        np.hstack([zero, -left, left, one]),
        np.hstack([zero, left, -left, one]),
        np.hstack([zero, -200 / 240 * before, eye + 200 / 240 * before, one]),
        np.hstack([late / 4.4, late / 3.2, zero, -np.ones((n, 1))]),
        np.hstack([np.zeros((1, n)), -np.ones((1, n)), np.ones((1, n)), [[0.0]]]),
    ])  # fmt: skip
    most = np.concatenate([np.ones(n), np.full(n, 120.0), np.full(n, 480.0),
                           np.full(n, 200 / 240 * 120), np.zeros(n), [0.0]])  # fmt: skip
    found = linprog(
        np.concatenate([PRICE / 4.4, PRICE / 3.2, np.zeros(n), [0.21]]), upper, most,
        np.hstack([eye, zero, eye, one]), NEED,
        bounds=[(0, 300)] * n + [(0, 200)] * n + [(0, 200)] * n + [(0, None)],
    )  # fmt: skip
    assert found.success
    return float(found.fun)


def written(**changes: str) -> str:
    return TEXT.format(**{**PARTS, **changes})


@pytest.mark.parametrize("k", range(-1, 2))
def test_ice_for_a_hall_in_several_words(tmp_path: Path, k: int) -> None:
    changes = {} if k < 0 else {part: texts[k % len(texts)] for part, texts in SAME.items()}
    analysis = analysed(tmp_path, written(**changes))
    assert analysis.complete, (analysis.missing, analysis.not_understood, analysis.ambiguous)
    assert solved(analysis, tmp_path)[1] == pytest.approx(cheapest(), rel=1e-6)


def test_cold_or_ice_but_never_both(tmp_path: Path) -> None:
    text = written(both="It cannot do both in the same hour.")
    analysis = analysed(tmp_path, text)
    assert analysis.complete, (analysis.missing, analysis.not_understood, analysis.ambiguous)
    found = solved(analysis, tmp_path)[1]
    assert found is not None
    assert found > cheapest() + 1e-3


@pytest.mark.parametrize(
    ("part", "text"),
    [
        ("chiller", PARTS["chiller"].replace("3.2 and up to", "3.2 and at least")),
        ("chiller", PARTS["chiller"].replace("with 3.2", "with 3.2 at night")),
        ("chiller", PARTS["chiller"] + " Below 0 °C its COP for ice is 2.9."),
        ("both", ""),
        ("both", PARTS["both"].replace("225 kW", "250 kW")),
        ("store", PARTS["store"].replace("can be neglected", "is 2 % of it in an hour")),
        ("melts", ""),
        ("melts", PARTS["melts"].replace("the ice that is left", "the weather")),
        ("limit", PARTS["limit"].replace("in a straight line", "with its square")),
        ("limit", PARTS["limit"].replace("gives nothing", "gives 50 kW")),
        ("limit", PARTS["limit"].replace("From 40 %", "Up to 40 %")),
        ("start", PARTS["start"].replace("on 2 July", "on 3 July")),
        ("start", PARTS["start"].replace("at least as many", "twice as many")),
        ("served", "Half of the hall's need has to be met exactly."),
        ("power", PARTS["power"].replace("on 3 July", "on 2 July")),
        ("power", PARTS["power"] + " The electrical load of the hall is 50 kW."),
        ("power", PARTS["power"].replace("highest hour", "average hour")),
        ("table", "the needs of the hall in the table are 10 % too low."),
    ],
)  # fmt: skip
def test_ice_that_is_spoken_of_otherwise(tmp_path: Path, part: str, text: str) -> None:
    assert not analysed(tmp_path, written(**{part: text})).complete, text
