"""Series by the hour over quarter-hours, and powers that stay the same through each block."""

from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import linprog

from engiagent.agents.offline import Analysis
from tests.agents.support import analysed, solved

SUN = [1.0, 3.0, 2.0, 6.0, 5.0, 1.0, 0.0, 4.0, 2.0, 2.0, 0.0, 0.0]
PRICE = [60.0, 20.0, 90.0]
QUARTERS = "time,solar_mw\n" + "".join(
    f"2026-06-04 {9 + k // 4:02d}:{15 * (k % 4):02d},{x}\n" for k, x in enumerate(SUN)
)
HOURS = "time,price_eur_mwh\n" + "".join(
    f"2026-06-04 {9 + h:02d}:00,{p}\n" for h, p in enumerate(PRICE)
)
BODY = """# Field

{constant}

* `field.csv`: available solar power per quarter of an hour, MW
* `blocks.csv`: the price of each {named} in EUR/MWh

The battery holds 4 MWh; it takes and gives at most 3 MW. Charging at 90 %, discharging at 95 %. It
holds 1 MWh at the start and must hold at least 1 MWh at the end. The field may be curtailed. Buying
from the grid is ruled out.{more}

Maximise the income in EUR.
"""
CONSTANT = "We sell blocks: one constant power for a full hour."


def field(folder: Path, constant: str = CONSTANT, more: str = "", named: str = "hour",
          hours: str = HOURS) -> Analysis:  # fmt: skip
    text = BODY.format(constant=constant, more=more, named=named)
    return analysed(folder, text, {"field.csv": QUARTERS, "blocks.csv": hours})


def best(constant: bool) -> float:
    """Return the largest income by a programme of our own."""
    n, h = len(SUN), 0.25
    sun, into, out, sold = (slice(k * n, (k + 1) * n) for k in range(4))
    cost = np.zeros(4 * n)
    cost[sold] = -np.repeat(PRICE, 4) * h
    upper = np.full(4 * n, np.inf)
    upper[sun], upper[into], upper[out] = SUN, 3, 3
    equal, rows, right = [], [], []
    for t in range(n):
        row = np.zeros((4, n))
        row[:, t] = 1, -1, 1, -1
        equal.append(row.ravel())
        held = np.zeros((4, n))
        held[1, : t + 1], held[2, : t + 1] = 0.9 * h, -h / 0.95
        rows += [held.ravel(), -held.ravel()]
        right += [3.0, 1.0 if t < n - 1 else 0.0]
        if constant and t % 4:
            same = np.zeros((4, n))
            same[3, t], same[3, t - 1] = 1, -1
            equal.append(same.ravel())
    found = linprog(cost, np.array(rows), right, np.array(equal), np.zeros(len(equal)),
                    [(0, u) for u in upper])  # fmt: skip
    assert found.success, found.message
    return float(-found.fun)


def expressions(found: Analysis) -> list[str]:
    assert found.complete, (found.missing, found.not_understood, found.ambiguous)
    assert found.blueprint is not None
    return [str(c.expression) for c in found.blueprint.core.constraints]


SAME = "grid_export[t] == grid_export_of_block[at(t, B)]"


@pytest.mark.parametrize("constant", [True, False])
def test_hours_over_quarters(tmp_path: Path, constant: bool) -> None:
    found = field(tmp_path, CONSTANT if constant else "We sell what we can.")
    assert (SAME in expressions(found)) is constant
    status, value = solved(found, tmp_path)
    assert status == "optimal"
    assert value == pytest.approx(best(constant), rel=1e-6)


@pytest.mark.parametrize(
    "constant",
    [
        "We sell blocks: one constant power for a full hour, delivered without deviation in each of"
        " its four quarters.",
        "What is sold must not change within an hour.",
        "The power that is sold is constant over each hour.",
        "Over every full hour the same power has to be sold: one constant quantity.",
        "We sell one power for each hour.",
        "What we feed in must be constant throughout each block.",
        "A block is sold with a steady power during the whole hour without any variation."
        .replace("the whole hour", "each whole hour"),
    ],
)  # fmt: skip
def test_the_same_power_in_other_words(tmp_path: Path, constant: str) -> None:
    assert SAME in expressions(field(tmp_path, constant))


@pytest.mark.parametrize(
    "constant",
    [
        "We sell blocks: one constant power for a full hour, except at night.",
        "We sell blocks: one constant power for a full hour, in each of its six quarters.",
        "We sell blocks: one constant power of at least 1 MW for a full hour.",
        "The battery must be charged with one constant power for a full hour.",
        "What is sold must not change by more than 1 MW within an hour.",
        "We sell blocks: one constant power for each half day.",
    ],
)
def test_near_misses_of_the_same_power(tmp_path: Path, constant: str) -> None:
    assert not field(tmp_path, constant).complete


def test_the_net_of_two_directions_is_not_clear(tmp_path: Path) -> None:
    body = BODY.replace("Buying\nfrom the grid is ruled out.", "We buy and sell at that price.")
    text = body.format(constant=CONSTANT, more="", named="hour")
    assert not analysed(tmp_path, text, {"field.csv": QUARTERS, "blocks.csv": HOURS}).complete


@pytest.mark.parametrize("named", ["of the 3 blocks", "of the three hourly blocks", "block"])
def test_blocks_may_be_counted(tmp_path: Path, named: str) -> None:
    assert SAME in expressions(field(tmp_path, named=named))


@pytest.mark.parametrize(
    "hours",
    [
        HOURS.replace("09:00", "10:00", 1).replace("10:00,20", "11:00,20").replace("11:00,90",
                                                                                  "12:00,90"),
        HOURS + "2026-06-04 12:00,50\n",
        "\n".join(HOURS.splitlines()[:-1]) + "\n",
    ],
)  # fmt: skip
def test_grids_that_do_not_cover_the_same_time(tmp_path: Path, hours: str) -> None:
    assert not field(tmp_path, hours=hours).complete


def test_a_table_of_hours_beside_a_file_of_quarters(tmp_path: Path) -> None:
    table = "\n\n| Time | Price (EUR/MWh) |\n|---|---|\n" + "".join(
        f"| {9 + h:02d}:00 | {p:g} |\n" for h, p in enumerate(PRICE)
    )
    text = BODY.format(constant=CONSTANT, more=table, named="hour")
    text = "\n".join(x for x in text.splitlines() if "blocks.csv" not in x)
    found = analysed(tmp_path, text, {"field.csv": QUARTERS})
    assert SAME in expressions(found)
    assert solved(found, tmp_path)[1] == pytest.approx(best(True), rel=1e-6)
