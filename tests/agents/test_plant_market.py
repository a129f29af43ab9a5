"""Parks and batteries that trade: sealed connections, shared transformers, bans by price."""

from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import linprog

from tests.agents.support import analysed, solved

SUN = (0.0, 4.0, 11.0, 12.0, 6.0, 1.0)
PRICE = (62.0, 35.0, 12.0, 18.0, 70.0, 110.0)
STORES = ((6.0, 2.0, 0.95, 0.94, 9.0), (10.0, 3.0, 0.86, 0.88, 2.0))  # size, power, in, out, wear


def best(top: float = 8.0, sealed: bool = True, own: bool = False, quiet: float = -1.0,
         start: float = 0.0) -> float:  # fmt: skip
    """Return the largest margin of a park with two batteries.

    ``top`` limits the connection, ``sealed`` forbids drawing, ``own`` lets the batteries be
    charged by the panels alone, ``quiet`` is the price below which nothing is discharged.
    """
    n, price = 6, np.array(PRICE)
    sun, sold, bought = slice(0, n), slice(n, 2 * n), slice(2 * n, 3 * n)
    cost = np.zeros(7 * n)
    upper = np.full(7 * n, np.inf)
    upper[sun], upper[sold], upper[bought] = SUN, top, 0 if sealed else top
    cost[sold], cost[bought] = -price, price
    balance = np.zeros((n, 7 * n))
    balance[:, sun], balance[:, sold], balance[:, bought] = np.eye(n), -np.eye(n), np.eye(n)
    rows, right = [], []
    for k, (size, power, into, out, wear) in enumerate(STORES):
        charge = slice((3 + 2 * k) * n, (4 + 2 * k) * n)
        discharge = slice((4 + 2 * k) * n, (5 + 2 * k) * n)
        upper[charge] = upper[discharge] = power
        upper[discharge] = np.where(price < quiet, 0.0, power)
        cost[discharge] = wear
        balance[:, charge], balance[:, discharge] = -np.eye(n), np.eye(n)
        for t in range(n):
            held = np.zeros(7 * n)
            held[charge][: t + 1], held[discharge][: t + 1] = into, -1 / out
            rows += [held, -held]
            right += [size * (1 - start), size * start]
    for t in range(n if own else 0):
        row = np.zeros(7 * n)
        row[3 * n + t] = row[5 * n + t] = 1.0
        row[t] = -1.0
        rows.append(row)
        right.append(0.0)
    found = linprog(cost, np.array(rows), right, balance, np.zeros(n), [(0, u) for u in upper])
    assert found.success, found.message
    return float(-found.fun)


SERIES = "\n".join(
    f"| {h:02d}:00 | {s:g} | {p:g} |" for h, (s, p) in enumerate(zip(SUN, PRICE, strict=True))
)
TABLE = """
| | Lithium | Flow |
|---|---|---|
| Energy (MWh) | 6 | 10 |
| Power in and out (MW) | 2 | 3 |
| Efficiency in (%) | 95 | 86 |
| Efficiency out (%) | 94 | 88 |
| Wear per MWh out (EUR/MWh) | 9 | 2 |
"""
COLUMNS = """
| Battery | Energy capacity (MWh) | Power (MW) | Charging efficiency (%) | Discharging efficiency (%) | Wear per MWh discharged (EUR/MWh) |
|---|---|---|---|---|---|
| Lithium | 6 | 2 | 95 | 94 | 9 |
| Flow | 10 | 3 | 86 | 88 | 2 |
"""  # noqa: E501


EMPTY = "Both are empty at the start and their content after the last hour is worth nothing to us."


def park(rules: str, table: str = TABLE, goal: str = "", start: str = "") -> str:
    """Return the text of a park with two batteries."""
    return f"""A solar park has two batteries. We plan 6 hours of 3 June 2026 from midnight.

| Hour | Panels [MW] | Price [EUR/MWh] |
|---|---|---|
{SERIES}

The data of the batteries:
{table}
{start or EMPTY}
The panels may be throttled. {rules}

{goal or "How should the park run so that sales less wear, in EUR, are as large as possible?"}
"""


LINES = (
    "Nothing can be drawn from the grid. The connection carries at most 8 MW in each direction.",
    "Nothing can be drawn from outside. Both batteries hang on the same 8 MW transformer as the"
    " panels.",
    "At most 8 MW may be fed into the grid, and nothing may be bought from the grid.",
    "Buying from the grid is not possible. No more than 8 MW may be exported.",
)


@pytest.mark.parametrize("rules", LINES)
@pytest.mark.parametrize("table", [TABLE, COLUMNS])
def test_a_park_that_only_sells(tmp_path: Path, rules: str, table: str) -> None:
    analysis = analysed(tmp_path, park(rules, table))
    assert analysis.complete, (analysis.not_understood, analysis.ambiguous, analysis.missing)
    assert solved(analysis, tmp_path)[1] == pytest.approx(best(), rel=1e-7)


STARTS = (
    ("Both are half full at the start and any content is fine at the end.", None),
    ("Both batteries are half full at the start; their content at the end does not matter.", 0.5),
    ("The batteries are empty at the start. At the end their content is free.", 0.0),
)


@pytest.mark.parametrize(("start", "share"), STARTS)
def test_the_content_at_the_start_in_words(tmp_path: Path, start: str, share: float | None) -> None:
    analysis = analysed(tmp_path, park(LINES[0], start=start))
    if share is None:
        assert not analysis.complete
        return
    assert analysis.complete, (analysis.not_understood, analysis.ambiguous, analysis.missing)
    assert solved(analysis, tmp_path)[1] == pytest.approx(best(start=share), rel=1e-7)


TRADE = (
    "Electricity is bought and sold at the price in the table. At most 8 MW may be bought and at"
    " most 8 MW may be sold."
)
SELLING = "Maximise sales less purchases and wear, in EUR."
RULES: tuple[tuple[str, dict[str, float | bool]], ...] = (
    ("The batteries may only be charged by the panels.", {"own": True}),
    ("The batteries are charged by the panels alone.", {"own": True}),
    ("While the price is below 20 EUR/MWh the batteries must not discharge.", {"quiet": 20.0}),
    ("Both batteries must not discharge when the spot price is below 65 EUR/MWh.", {"quiet": 65.0}),
    ("The batteries must not be discharged as long as the price is under 6.5 ct/kWh.",
     {"quiet": 65.0}),
)  # fmt: skip


@pytest.mark.parametrize(("rule", "limits"), RULES)
def test_a_rule_for_what_may_be_charged_or_discharged(
    tmp_path: Path, rule: str, limits: dict[str, float | bool]
) -> None:
    text = park(f"{TRADE} {rule}", goal=SELLING)
    analysis = analysed(tmp_path, text)
    assert analysis.complete, (analysis.not_understood, analysis.ambiguous, analysis.missing)
    expected = best(sealed=False, **limits)  # type: ignore[arg-type]
    assert solved(analysis, tmp_path)[1] == pytest.approx(expected, rel=1e-7)


CHANGES = (
    "While the price is below 20 EUR/MWh the batteries must discharge.",
    "While the price is not below 20 EUR/MWh the batteries must not discharge.",
    "While the price of the hour before is below 20 EUR/MWh the batteries must not discharge.",
    "While the price is below 20 EUR/MWh the batteries must not discharge unless they are full.",
    "While the average price is below 20 EUR/MWh the batteries must not discharge.",
    "While the price is below 20 EUR/MWh the batteries must not discharge more than half.",
    "While the price is below 20 EUR/MWh the flow battery may discharge slowly only.",
    "If the price is below 20 EUR/MWh for two hours the batteries must not discharge.",
    "The batteries may only be charged by the panels in the morning.",
    "The batteries should preferably be charged by the panels alone.",
    "The panels have a transformer of 5 MW.",
    "The flow battery has a transformer of 2 MW.",
    "A transformer loses 2 % of the power.",
    "Last year feeding in was forbidden below a price of 20 EUR/MWh.",
    "Last year the owner forbade all discharging at noon.",
    "Nothing may be bought in the first hour.",
    "Nothing can be drawn from the grid.",
    "All three are empty at the start.",
    "Wear is not counted.",
)


@pytest.mark.parametrize("sentence", CHANGES)
def test_a_rule_that_is_not_covered_is_never_passed_over(tmp_path: Path, sentence: str) -> None:
    assert analysed(tmp_path, park(TRADE, goal=SELLING)).complete
    assert not analysed(tmp_path, park(f"{TRADE} {sentence}", goal=SELLING)).complete, sentence


GOALS = (
    "Maximise sales less purchases, in EUR.",
    "Maximise sales less wear, in EUR.",
)


@pytest.mark.parametrize("goal", GOALS)
def test_an_objective_that_leaves_out_a_cost_is_not_guessed_at(tmp_path: Path, goal: str) -> None:
    assert not analysed(tmp_path, park(TRADE, goal=goal)).complete


def test_what_happened_last_year_changes_nothing(tmp_path: Path) -> None:
    story = "Last autumn our tool lost an hour on the Sunday when the clocks went back."
    analysis = analysed(tmp_path, park(f"{LINES[0]} {story}"))
    assert analysis.complete, analysis.not_understood
    assert solved(analysis, tmp_path)[1] == pytest.approx(best(), rel=1e-7)
