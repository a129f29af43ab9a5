"""Loads that are worth points in hours without the grid: many wordings, one model."""

from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import Bounds, LinearConstraint, milp

from engiagent.agents.offline import Analysis
from tests.agents.support import analysed, parameter_values, solved

NEED = (6.0, 6.0, 7.0, 8.0, 7.0, 6.0)
SUN = (0.0, 2.0, 9.0, 12.0, 6.0, 0.0)
OUT = "The grid failed at 04:00 on 5 May 2026 and the fitter will be there at 10:00."
PLANT = (
    "Until then there is a battery with 20 kWh in it (it can hold 30 kWh, and manages 10 kW in and"
    " 10 kW out) and a diesel generator of 5 kW whose fuel is good for 12 kWh."
)
LOSS = "Inverter and cells lose 5 % on the way in and 5 % on the way out."
LEAD = (
    "After that come two loads, each entirely or not at all, and switched for two hours in a row"
    " (from 04:00, 06:00 and 08:00):"
)
LOADS = """- the server, 4 kW, worth 30 points per hour
- the pump, 3 kW, worth 20 points per hour, but not before 06:00"""
END = "When the fitter arrives, at least 5 kWh must be left in the battery."
GOAL = "Which loads run when, so that the points are as many as possible?"
BODY = """# Outage

{out} {plant} {loss}

| Hour | Wards (kW) | Sun (kW) |
|---|---|---|
{rows}

The wards must be supplied in full, always. {lead}

{loads}

Surplus from the roof can be left unused. {end} {goal}
"""
ROWS = "\n".join(
    f"| {4 + k:02d}:00 | {a:g} | {b:g} |" for k, (a, b) in enumerate(zip(NEED, SUN, strict=True))
)


def clinic(folder: Path, **changes: str) -> Analysis:
    parts = {"out": OUT, "plant": PLANT, "loss": LOSS, "lead": LEAD, "loads": LOADS, "end": END,
             "goal": GOAL, "rows": ROWS}  # fmt: skip
    return analysed(folder, BODY.format(**(parts | changes)))


def most(block: int = 2, whole: bool = True, late: bool = True, per_hour: bool = True) -> float:
    """Return the most points by a mixed-integer programme of our own."""
    n, k = len(NEED), len(NEED) // block
    into, out, made, sun = (slice(i * n, (i + 1) * n) for i in range(4))
    size = 4 * n + 2 * k
    upper = np.full(size, 10.0)
    upper[made], upper[sun], upper[4 * n :] = 5.0, SUN, 1.0
    rows, low, high = [], [], []

    def row(entries: dict[int, float], a: float, b: float) -> None:
        line = np.zeros(size)
        for column, value in entries.items():
            line[column] += value
        rows.append(line)
        low.append(a)
        high.append(b)

    for t in range(n):
        b = t // block
        row({into.start + t: -1, out.start + t: 1, made.start + t: 1, sun.start + t: 1,
             4 * n + b: -4, 4 * n + k + b: -3}, NEED[t], NEED[t])  # fmt: skip
        held = {into.start + s: 0.95 for s in range(t + 1)}
        held |= {out.start + s: -1 / 0.95 for s in range(t + 1)}
        row(held, -15 if t == n - 1 else -20, 10)
    row({made.start + t: 1 for t in range(n)}, 0, 12)
    for b in range(k):
        if late and b * block < 2:
            upper[4 * n + k + b] = 0
    worth = block if per_hour else 1
    cost = np.concatenate([np.zeros(4 * n), np.full(k, -30.0 * worth), np.full(k, -20.0 * worth)])
    kinds = np.concatenate([np.zeros(4 * n), np.full(2 * k, float(whole))])
    found = milp(cost, integrality=kinds, bounds=Bounds(0, upper),
                 constraints=LinearConstraint(np.array(rows), low, high))  # fmt: skip
    assert found.success, found.message
    return float(-found.fun)


def points(found: Analysis, folder: Path) -> float:
    assert found.complete, (found.missing, found.not_understood, found.ambiguous)
    status, value = solved(found, folder)
    assert status == "optimal"
    assert value is not None
    return value


TABLE = """

| Load | Power (kW) | Points per hour |
|---|---|---|
| server | 4 | 30 |
| pump | 3 | 20 |
"""


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, most()),
        ({"lead": "There are two further loads, all or nothing:"}, most(1)),
        ({"lead": "There are two further loads, each in part:"}, most(1, whole=False)),
        ({"loads": "- server: 30 points per hour for 4 kW\n- pump: 20 points per hour for 3 kW"},
         most(late=False)),
        ({"loads": "- the server needs 4 kW and is worth 30 points per block\n- the pump needs 3 kW"
          " and is worth 20 points per block, only from 06:00 on"}, most(per_hour=False)),
        ({"lead": "Then come two loads, each on or off in blocks of two hours.", "loads": TABLE},
         most(late=False)),
    ],
)  # fmt: skip
def test_wordings_of_loads(tmp_path: Path, changes: dict[str, str], expected: float) -> None:
    assert points(clinic(tmp_path, **changes), tmp_path) == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize(
    "changes",
    [
        {"out": "The clinic has been cut off from the grid since 04:00 on 5 May 2026, and the"
         " fitter comes at 10:00."},
        {"out": "A storm has disconnected the old clinic at 04:00 on 5 May 2026 and the fitter is"
         " expected at 10:00."},
        {"end": "As soon as the fitter arrives, no less than 5 kWh must be left in the battery."},
        {"loss": "The battery loses 5 % on the way in and 5 % on the way out."},
        {"loss": "On the way in 5 % are lost, on the way out 5 %."},
        {"plant": PLANT.replace("is good for", "lasts for").replace("manages", "takes at most")
         .replace(" and 10 kW out", ", gives at most 10 kW")},
        {"goal": "Maximise the total number of points."},
        {"goal": "Collect as many points as possible."},
    ],
)  # fmt: skip
def test_wordings_of_the_rest(tmp_path: Path, changes: dict[str, str]) -> None:
    found = clinic(tmp_path, **changes)
    assert found.complete, (found.missing, found.not_understood, found.ambiguous)
    assert found.blueprint is not None
    rows = [str(c.expression) for c in found.blueprint.core.constraints]
    assert "battery_state_of_charge[last(I)] >= battery_final_energy" in rows
    assert "sum(genset_power[t]*dt(t) for t in T) <= genset_energy_total" in rows
    assert "optional_runs['pump', at(t, B)] <= 0" in rows
    values = parameter_values(found.blueprint, tmp_path)
    assert values["battery.discharge_efficiency"] == pytest.approx(0.95)
    assert values["battery.initial_energy"] == pytest.approx(20)


@pytest.mark.parametrize(
    "changes",
    [
        # the times are not those of the table, or of its blocks
        {"out": OUT.replace("10:00", "12:00")},
        {"lead": LEAD.replace("08:00", "09:00")},
        {"lead": LEAD.replace("two hours", "four hours").split(" (")[0] + ":"},
        {"lead": LEAD.replace("two loads", "three loads")},
        # rules beyond those that are known
        {"lead": LEAD.replace("each entirely or not at all, and ", "")},
        {"lead": LEAD.replace(":", ", the server first:").replace("04,", "04:00,")},
        {"loads": LOADS.replace("per hour\n", "per hour, but only if the pump runs\n")},
        {"loads": LOADS.replace("per hour\n", "per hour and 5 EUR\n")},
        {"loads": LOADS.replace("not before 06:00", "at least twice")},
        {"loads": LOADS.replace("points per hour\n", "points\n")},
        {"goal": "Minimise the cost in EUR."},
        {"goal": "Which loads run when, so that the points are as many as possible and the fuel is"
         " used last?"},
        # fuel by its own energy, and an end that nobody names
        {"plant": PLANT.replace("whose fuel is good for 12 kWh", "with 12 kWh of fuel")},
        {"end": END.replace("fitter", "doctor")},
        {"loss": "Inverter and cells lose 5 % on the way in and 95 % come out."},
        {"loss": "Inverter and cells lose 5 % on the way in."},
    ],
)  # fmt: skip
def test_near_misses(tmp_path: Path, changes: dict[str, str]) -> None:
    assert not clinic(tmp_path, **changes).complete
