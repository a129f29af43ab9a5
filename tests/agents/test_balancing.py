"""Capacity held ready beside the spot market: many wordings, one model; near misses none."""

from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import linprog

from engiagent.agents.offline import Analysis
from tests.agents.support import analysed, solved

PRICE = [70.0, 20.0, 40.0, 110.0]
UP, DOWN = [9.0, 16.0], [12.0, 4.0]
SPOT = "time,price_eur_mwh\n" + "".join(f"2026-03-02T{h:02d}:00,{p}\n" for h, p in enumerate(PRICE))
CAPACITY = "time,up [EUR/MW],down [EUR/MW]\n" + "".join(
    f"2026-03-02T{2 * k:02d}:00,{u},{d}\n" for k, (u, d) in enumerate(zip(UP, DOWN, strict=True))
)
PAY = "`capacity.csv` gives what is paid for capacity held up or down, in EUR/MW per hour."
POWER = (
    "* net delivery plus upward capacity must not exceed 10 MW, and net offtake plus downward"
    " capacity must not exceed 10 MW (net is discharge less charge);"
)
ENERGY = (
    "* at the start and at the end of the hour the battery must contain enough to deliver the"
    " upward capacity for one full hour with the losses on the way out, and there must be enough"
    " room to take the downward capacity for one full hour, less the losses on the way in."
)
BODY = """# Battery

We bid a battery on the spot and on the balancing market. `spot.csv` has the hourly price in
EUR/MWh at which it buys and sells. {pay}

The battery holds 20 MWh; it takes and gives at most 10 MW. Charging at 90 %, discharging at 95 %.
It holds 10 MWh at the start and must hold at least 10 MWh at the end. {more}

Capacity is a promise, so in every hour:

{power}
{energy}

Maximise spot margin plus capacity income in EUR.
"""


def bid(folder: Path, pay: str = PAY, power: str = POWER, energy: str = ENERGY, more: str = "",
        capacity: str = CAPACITY) -> Analysis:  # fmt: skip
    text = BODY.format(pay=pay, power=power, energy=energy, more=more)
    return analysed(folder, text, {"spot.csv": SPOT, "capacity.csv": capacity})


def best(hours: float = 1.0, lossy: bool = True, per_hour: bool = True) -> float:
    """Return the largest income by a programme of our own."""
    n = len(PRICE)
    out, into, up, down = (slice(k * n, (k + 1) * n) for k in range(4))
    cost = np.zeros(4 * n)
    cost[out], cost[into] = -np.array(PRICE), PRICE
    share = 1.0 if per_hour else 0.5
    cost[up], cost[down] = -share * np.repeat(UP, 2), -share * np.repeat(DOWN, 2)
    rows, right, equal = [], [], []
    losses = (1 / 0.95, 0.9) if lossy else (1.0, 1.0)

    def row(limit: float, **parts: np.ndarray) -> None:
        line = np.zeros((4, n))
        for k, name in enumerate(("out", "into", "up", "down")):
            line[k] = parts.get(name, 0)
        rows.append(line.ravel())
        right.append(limit)

    for t in range(n):
        e = np.eye(n)[t]
        row(10, out=e, into=-e, up=e)
        row(10, into=e, out=-e, down=e)
        for after in (0, 1):
            past = (np.arange(n) < t + after).astype(float)
            row(10, out=past / 0.95, into=-0.9 * past, up=e * hours * losses[0])
            row(10, into=0.9 * past, out=-past / 0.95, down=e * hours * losses[1])
        if t % 2:
            for k in (2, 3):
                same = np.zeros((4, n))
                same[k, t], same[k, t - 1] = 1, -1
                equal.append(same.ravel())
    row(0, out=np.ones(n) / 0.95, into=-0.9 * np.ones(n))
    found = linprog(cost, np.array(rows), right, np.array(equal), np.zeros(len(equal)),
                    [(0, 10)] * (2 * n) + [(0, None)] * (2 * n))  # fmt: skip
    assert found.success, found.message
    return float(-found.fun)


def value(found: Analysis, folder: Path) -> float:
    assert found.complete, (found.missing, found.not_understood, found.ambiguous)
    status, objective = solved(found, folder)
    assert status == "optimal"
    assert objective is not None
    return objective


@pytest.mark.parametrize(
    ("pay", "per_hour"),
    [
        (PAY, True),
        ("For capacity held up or down is paid what `capacity.csv` says, EUR/MW and hour.", True),
        ("`capacity.csv` lists the prices of upward capacity and downward capacity in EUR/MW for"
         " each hour, for all two hours of the block.", True),
        ("`capacity.csv` lists the prices of upward capacity and downward capacity, EUR per MW per"
         " block.", False),
    ],
)  # fmt: skip
def test_pay_in_other_words(tmp_path: Path, pay: str, per_hour: bool) -> None:
    found = bid(tmp_path, pay)
    assert value(found, tmp_path) == pytest.approx(best(per_hour=per_hour), rel=1e-6)


@pytest.mark.parametrize(
    "power",
    [
        "* the upward capacity plus discharging less charging must not exceed 10 MW;\n"
        "* the downward capacity plus charging less discharging must not exceed 10 MW;",
        "* net discharge and upward reserve together may be at most 10 MW, net charge and downward"
        " reserve together at most 10 MW;",
        "* net output together with the capacity up has to stay within 10000 kW, net intake"
        " together with the capacity down has to stay within 10000 kW;",
    ],
)
def test_power_in_other_words(tmp_path: Path, power: str) -> None:
    found = bid(tmp_path, power=power)
    assert found.complete, (found.missing, found.not_understood, found.ambiguous)
    assert found.blueprint is not None
    rows = [str(c.expression) for c in found.blueprint.core.constraints]
    up = "battery_discharge[t] - battery_charge[t] + capacity_up[at(t, B)] <= power_with_up"
    down = "battery_charge[t] - battery_discharge[t] + capacity_down[at(t, B)] <= power_with_down"
    assert {up, down} <= set(rows)


@pytest.mark.parametrize(
    ("energy", "hours", "lossy"),
    [
        ("* at the beginning and the end of each hour it must hold enough energy to supply the"
         " upward capacity for half an hour, including losses;\n"
         "* at the beginning and the end of each hour it must have room to absorb the downward"
         " capacity for half an hour, less losses.", 0.5, True),
        ("* at every moment the battery has to store enough to sustain the upward capacity for"
         " 30 minutes without losses, and there has to be enough space to store the downward"
         " capacity for 30 minutes without losses.", 0.5, False),
        ("* at the start and at the end of every hour it must hold enough energy to provide the"
         " upward reserve for 15 minutes including losses, and have enough room to absorb the"
         " downward reserve for 15 minutes including losses.", 0.25, True),
        ("* at all times it must contain enough to give the upward capacity for an hour with the"
         " discharging losses, and there must be room to take in the downward capacity for an hour"
         " after charging losses.", 1.0, True),
    ],
)  # fmt: skip
def test_energy_in_other_words(tmp_path: Path, energy: str, hours: float, lossy: bool) -> None:
    found = bid(tmp_path, energy=energy)
    assert value(found, tmp_path) == pytest.approx(best(hours, lossy), rel=1e-6)


@pytest.mark.parametrize(
    ("more", "reads"),
    [
        ("No activation payments are to be counted.", True),
        ("Activations are neglected.", True),
        ("Both are awarded in full at the published prices.", True),
        ("A product is one constant quantity for the whole block.", True),
        ("We need to know how many MW of upward and downward balancing capacity to offer in each"
         " block.", True),
        ("Activations earn 80 EUR/MWh.", False),
        ("Upward and downward capacity must be equal in each block.", False),
        ("At least 2 MW of upward capacity must be offered in each block.", False),
        ("Only upward capacity may be offered in the first block.", False),
        ("The upward capacity is offered in steps of 1 MW.", False),
        ("The capacity offered must not exceed 5 MW.", False),
        ("Each bid is for both directions alike.", False),
        ("Half of the upward capacity is called in every hour.", False),
    ],
)  # fmt: skip
def test_sentences_beside_it(tmp_path: Path, more: str, reads: bool) -> None:
    assert bid(tmp_path, more=more).complete is reads


@pytest.mark.parametrize(
    "changes",
    [
        {"pay": "`capacity.csv` gives what is paid for capacity held up or down, in EUR/MW."},
        {"power": POWER.split(",")[0] + ";"},
        {"power": ""},
        {"energy": ENERGY.replace("with the losses on the way out", "")},
        {"energy": ENERGY.replace("at the start and at the end of the hour ", "")},
        {"energy": ENERGY.split(", and there")[0] + "."},
        {"energy": ENERGY.replace("the upward capacity for", "half the upward capacity for")},
        {"power": POWER.replace("net delivery plus", "net delivery less")},
        {"capacity": CAPACITY.replace("T02:00", "T03:00")},
    ],
)
def test_near_misses(tmp_path: Path, changes: dict[str, str]) -> None:
    assert not bid(tmp_path, **changes).complete
