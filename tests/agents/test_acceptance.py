"""Events that may be accepted for a fee, by a cold store: wordings and near misses."""

from itertools import product
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import linprog

from engiagent.agents.offline import Analysis
from tests.agents.support import analysed, solved

PRICE = [40.0, 30.0, 60.0, 120.0, 90.0, 50.0]
OUT = [14.0, 16.0, 20.0, 24.0, 22.0, 18.0]
EVENTS = {"E1": (2, 4, 25.0), "E2": (3, 5, 30.0), "E3": (1, 2, 4.0)}
TABLE = "| Event | From | Until | Fee (EUR) |\n|---|---|---|---|\n" + "".join(
    f"| {e} | {a:02d}:00 | {b:02d}:00 | {fee:g} |\n" for e, (a, b, fee) in EVENTS.items()
)
ROWS = "".join(
    f"| {h:02d}:00 | {p:g} | {t:g} |\n" for h, (p, t) in enumerate(zip(PRICE, OUT, strict=True))
)
OFFER = (
    "The grid operator has published three events; whoever accepts one must not draw more than"
    " 0.1 MW in any hour of it and receives the fee."
)
CHOICE = "We may accept as many as we like, except that no hour may be sold twice."
COLD = "The refrigeration draws between 0 and 0.5 MW and gives 2 times as much cold."
STORE = (
    "The goods are one mass of 0.6 MWh/K at -21 °C at the start; heat leaks in with 10 kW/K, and"
    " fans, doors and defrosting add 150 kW throughout."
)
LIMITS = (
    "On every hour mark the goods must be at -20 °C or colder and not colder than -23 °C. At the"
    " end of the day they must be at -21 °C or colder."
)
BODY = """# Store

{offer} {choice}

{table}
{cold} {store} {limits}

| Hour | Power price (EUR/MWh) | Outside (°C) |
|---|---|---|
{rows}
Step by the hour, with the leak by the temperature at the beginning of the hour. What should we
accept and how should we run, so that electricity less fees is smallest (EUR)?
"""


def store(folder: Path, **changes: str) -> Analysis:
    parts = {"offer": OFFER, "choice": CHOICE, "table": TABLE, "cold": COLD, "store": STORE,
             "limits": LIMITS, "rows": ROWS}  # fmt: skip
    return analysed(folder, BODY.format(**(parts | changes)))


def least(once: bool = True, most: int = 9, cap: float = 100.0) -> float:
    """Return the least cost by a linear programme for every choice of events."""
    best, n = np.inf, len(PRICE)
    for chosen in product((0, 1), repeat=len(EVENTS)):
        taken = [e for e, c in zip(EVENTS.values(), chosen, strict=True) if c]
        hours = [sum(a <= h < b for a, b, _ in taken) for h in range(n)]
        if (once and max(hours) > 1) or len(taken) > most:
            continue
        rows, right, temperature, slope = [], [], -21.0, np.zeros(n)
        for h in range(n):
            temperature += (10 * (OUT[h] - temperature) + 150) / 600
            slope = slope * (1 - 10 / 600)
            slope[h] -= 2 / 600
            rows += [slope.copy(), -slope.copy()]
            right += [(-21.0 if h == n - 1 else -20.0) - temperature, temperature + 23.0]
        found = linprog(np.array(PRICE) / 1000, np.array(rows), right,
                        bounds=[(0, cap if k else 500) for k in hours])  # fmt: skip
        if found.success:
            best = min(best, float(found.fun) - sum(fee for _, _, fee in taken))
    assert best < np.inf
    return float(best)


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, least()),
        ({"offer": "There are three flexibility events; if we accept an event, we may draw at most"
          " 80 kW while it lasts, and we get its fee."}, least(cap=80)),
        ({"choice": "We can accept any of them, but events that overlap must not both be"
          " accepted."}, least()),
        ({"choice": "We may accept at most two of them, and accepted events must not overlap."},
         least(most=2)),
        ({"table": TABLE.replace("| E2 | 03:00 | 05:00 | 30 |\n", ""),
          "offer": OFFER.replace("three", "two"), "choice": "We may accept any number of them."},
         None),
    ],
)  # fmt: skip
def test_wordings_of_events(
    tmp_path: Path, changes: dict[str, str], expected: float | None
) -> None:
    found = store(tmp_path, **changes)
    assert found.complete, (found.missing, found.not_understood, found.ambiguous)
    status, value = solved(found, tmp_path)
    assert status == "optimal"
    assert value is not None
    assert expected is None or value == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize(
    "changes",
    [
        {"cold": "The refrigeration plant takes up to 500 kW and makes 2 times as much cooling."},
        {"cold": "The chiller draws at most 0.5 MW of electricity; its COP is 2."},
        {"store": STORE.replace("fans, doors and defrosting add", "people, doors and lights add")},
        {"choice": f"{CHOICE[:-1]} (an event lasts from its first hour until, but not including,"
         " the hour in the column \"until\")."},
    ],
)  # fmt: skip
def test_the_same_store_in_other_words(tmp_path: Path, changes: dict[str, str]) -> None:
    found = store(tmp_path, **changes)
    assert found.complete, (found.missing, found.not_understood, found.ambiguous)
    assert found.blueprint is not None
    rows = [str(c.expression) for c in found.blueprint.core.constraints]
    assert (
        "sum(accept[e] for e in events if event_begin[e] <= clock(t) < event_end[e]) <= 1" in rows
    )


@pytest.mark.parametrize(
    "changes",
    [
        {"choice": ""},  # may both of two that overlap be accepted?
        {"choice": "We must accept at least one of them, and no hour may be sold twice."},
        {"choice": f"{CHOICE} E1 may only be accepted together with E3."},
        {"offer": OFFER.replace("three", "four")},
        {"offer": OFFER.replace(" and receives the fee", "")},
        {"offer": OFFER.replace("in any hour of it", "on average")},
        {"offer": f"{OFFER} Whoever breaks it pays 100 EUR."},
        {"offer": OFFER.replace("must not draw more than", "must draw at least")},
        {"table": TABLE.replace("02:00 | 04:00", "02:30 | 04:00")},
        {"table": TABLE.replace("02:00 | 04:00", "22:00 | 04:00")},
        {"table": TABLE.replace("| 25 |", "| on request |")},
        {"cold": COLD.replace("between 0 and", "between 0.1 and")},
        {"cold": "The refrigeration gives 2 times as much cold as it draws."},
        {"store": STORE.replace("add 150 kW throughout", "add 150 kW from 02:00 to 04:00 or so")},
    ],
)
def test_near_misses_of_events(tmp_path: Path, changes: dict[str, str]) -> None:
    assert not store(tmp_path, **changes).complete
