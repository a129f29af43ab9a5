"""Sets in a table that are switched: cost lines, states before, times of runs, spinning reserve."""

from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import Bounds, LinearConstraint, milp

from tests.agents.support import analysed, solved

LOAD = (330.0, 520.0, 700.0, 640.0, 380.0)
SUN = (0.0, 90.0, 260.0, 180.0, 40.0)
SETS = ((150, 450, 31, 0.198, 85, 1), (90, 300, 24, 0.224, 50, 0), (60, 200, 15, 0.262, 20, 0))
N = len(LOAD)


def cheapest(load: float = 0.12, sun: float = 0.25, fixed: float = 0.0, runs: int = 3,
             reserve: str = "used") -> float:  # fmt: skip
    """Return the least cost; ``runs`` is the least run of the first two sets in hours."""
    width = 3 * N * len(SETS) + N  # power, on and start of every set, then the sun
    cost, upper, whole = np.zeros(width), np.zeros(width), np.zeros(width)
    upper[-N:] = SUN
    rows, low, high = [], [], []

    def row(terms: list[tuple[int, float]], floor: float, ceiling: float = np.inf) -> None:
        line = np.zeros(width)
        for k, v in terms:
            line[k] += v
        rows.append(line)
        low.append(floor)
        high.append(ceiling)

    def at(block: int, s: int, t: int) -> int:
        return (3 * s + block) * N + t

    for s, (least, most, idle, price, start, before) in enumerate(SETS):
        for t in range(N):
            cost[[at(0, s, t), at(1, s, t), at(2, s, t)]] = price, idle, start
            upper[[at(0, s, t), at(1, s, t), at(2, s, t)]] = most, 1, 1
            whole[[at(1, s, t), at(2, s, t)]] = 1
            row([(at(0, s, t), 1), (at(1, s, t), -least)], 0)
            row([(at(1, s, t), most), (at(0, s, t), -1)], 0)
            earlier = [(at(1, s, t - 1), 1.0)] if t else []
            row([(at(2, s, t), 1.0), (at(1, s, t), -1.0), *earlier], 0 if t else -before)
            if s < 2:
                for later in range(t, min(t + runs, N)):
                    row([(at(1, s, later), 1), (at(2, s, t), -1)], 0)
    for t in range(N):
        given = [(at(0, s, t), 1.0) for s in range(3)] + [(width - N + t, 1.0)]
        row(given, LOAD[t], LOAD[t])
        margin = [(at(1, s, t), float(SETS[s][1])) for s in range(3)]
        margin += [(at(0, s, t), -1.0) for s in range(3)]
        shared = sun * SUN[t] if reserve == "available" else 0.0
        margin += [(width - N + t, -sun)] if reserve == "used" else []
        row(margin, load * LOAD[t] + shared + fixed)
    found = milp(cost, constraints=LinearConstraint(np.array(rows), low, high), integrality=whole,
                 bounds=Bounds(0, upper), options={"mip_rel_gap": 0})  # fmt: skip
    assert found.success, found.message
    return float(found.fun)


TABLE = """| Set | Min kW | Max kW | Fuel at no load (EUR/h) | Fuel (EUR/kWh) | Start (EUR) | Running at 06:00 |
|---|---|---|---|---|---|---|
| Alma | 150 | 450 | 31 | 0.198 | 85 | yes |
| Bruno | 90 | 300 | 24 | 0.224 | 50 | no |
| Cilla | 60 | 200 | 15 | 0.262 | 20 | no |
"""  # noqa: E501
OTHER = """| Generator | Start cost (EUR) | Minimum output (kW) | Maximum output (kW) | Cost while running (EUR/h) | Cost of generation (ct/kWh) | On before 06:00 |
|---|---|---|---|---|---|---|
| Cilla | 20 | 60 | 200 | 15 | 26.2 | no |
| Alma | 85 | 150 | 450 | 31 | 19.8 | yes |
| Bruno | 50 | 90 | 300 | 24 | 22.4 | no |
"""  # noqa: E501
RUNS = "Once started, Bruno and Alma have to run for at least 3 hours (or to the end of the plan)."
RESERVE = (
    "Spinning reserve: the running sets together must be able to raise their output by at least"
    " 12 % of the load plus 25 % of the solar power that is used."
)
SERIES = "\n".join(
    f"| {6 + h:02d}:00 | {q:g} | {s:g} |" for h, (q, s) in enumerate(zip(LOAD, SUN, strict=True))
)


def island(table: str = TABLE, reserve: str = RESERVE, runs: str = RUNS, more: str = "") -> str:
    """Return the text of an island with three sets."""
    return f"""Please find out which of our diesel sets should run on 14 May 2026 from 06:00 until 11:00.

The data of our diesel sets:

{table}
| Hour | Load (kW) | Solar (kW) |
|---|---|---|
{SERIES}

1. Load must equal production at every hour; solar may be throttled.
2. A set that runs stays between its minimum and its maximum. A set that stands gives nothing.
3. {reserve}
4. {runs}

{more}

The island has no grid. Lowest cost of fuel and starts, in EUR, please.
"""  # noqa: E501


SAID: tuple[tuple[dict[str, str], dict[str, object]], ...] = (
    ({}, {}),
    ({"table": OTHER}, {}),
    (
        {"reserve": "A spinning reserve of at least 80 kW must be kept by the sets at all times."},
        {"load": 0.0, "sun": 0.0, "fixed": 80.0},
    ),
    (
        {"reserve": "The spinning reserve must be at least 15 % of the load."},
        {"load": 0.15, "sun": 0.0},
    ),
    (
        {"reserve": "The spinning reserve must be at least 10 % of the load and 30 % of the"
         " available solar power."},
        {"load": 0.10, "sun": 0.30, "reserve": "available"},
    ),
    (
        {"runs": "Once started, Bruno and Alma have to run for at least 2 hours."},
        {"runs": 2},
    ),
)  # fmt: skip


@pytest.mark.parametrize(("parts", "numbers"), SAID)
def test_three_sets_with_a_reserve(
    tmp_path: Path, parts: dict[str, str], numbers: dict[str, object]
) -> None:
    analysis = analysed(tmp_path, island(**parts))
    assert analysis.complete, (analysis.not_understood, analysis.ambiguous, analysis.missing)
    expected = cheapest(**numbers)  # type: ignore[arg-type]
    assert solved(analysis, tmp_path)[1] == pytest.approx(expected, rel=1e-6)


CHANGES = (
    {"reserve": RESERVE.replace("that is used", "")},
    {"reserve": RESERVE.replace("the running sets", "all sets, running or not,")},
    {"reserve": RESERVE + " A spinning reserve of 50 kW must be kept besides."},
    {"reserve": RESERVE.replace("raise", "lower")},
    {"reserve": RESERVE.replace("at least", "on average")},
    {"reserve": "If the largest set trips, the others must carry the load."},
    {"runs": RUNS.replace("Once started", "On weekdays")},
    {"runs": "Bruno and Alma must not run at the same time."},
    {"runs": "Once started, one of Bruno and Alma has to run for at least 3 hours."},
    {"table": TABLE.replace("| yes |", "| perhaps |")},
    {"table": TABLE.replace("Running at 06:00", "Running at 07:00")},
    {"table": TABLE.replace("Running at 06:00", "Must run")},
    {"table": TABLE.replace("Start (EUR)", "Stop (EUR)")},
    {"table": TABLE.replace("Max kW", "Max kW for an hour")},
    {"more": "A battery with 100 kWh stands by."},
    {"more": "Cilla is under repair."},
    {"more": "At most two sets may run at a time."},
    {"more": "Alma must run from 08:00 to 09:00."},
)


@pytest.mark.parametrize("parts", CHANGES)
def test_what_changes_the_island_is_never_passed_over(
    tmp_path: Path, parts: dict[str, str]
) -> None:
    assert not analysed(tmp_path, island(**parts)).complete


QUESTIONS = (
    "Which sets should run from 06:00 until 09:00?",
    "Which sets should not run?",
    "Which sets should run at least two hours?",
    "Only the sets which should run may burn fuel.",
)


@pytest.mark.parametrize("question", QUESTIONS)
def test_a_question_that_asks_for_more_is_none(tmp_path: Path, question: str) -> None:
    assert not analysed(tmp_path, island(more=question)).complete
