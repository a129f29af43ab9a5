"""A battery that must be ready for an outage: read whatever the words, never read wrongly."""

from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import linprog

from engiagent.agents.offline import Analysis
from tests.agents.support import analysed, solved

LOAD = np.array([30.0, 45.0, 60.0, 40.0, 35.0, 25.0])
BAND = np.array([5.0, 12.0, 20.0, 4.0, 8.0, 3.0])
SPOT = np.array([30.0, 90.0, 40.0, 120.0, 20.0, 70.0])
ETA = 0.9

ABOUT = (
    "The critical load is an expectation; in a single hour it can be higher by its band.",
    "The critical load is a forecast; in any hour it may turn out higher by up to its band.",
)
ASKED = (
    "At the beginning of every hour, the content of the battery must be enough to supply the "
    "critical load of that hour and of the two hours after it (fewer near the end of the day), "
    "even if any one of them comes out higher by its full band.",
    "Even if one of these hours turns out higher by its whole band, at the start of each hour the "
    "stored energy in the battery has to suffice to cover the critical load in the next 3 hours.",
    "We protect ourselves against one such hour at a time: the state of charge must be sufficient "
    "to feed the critical load of this hour and the two hours following it at the start of every "
    "hour, also when any one of them is higher by its band.",
)
FREE = (
    "In normal operation the hospital is fed by the grid, so the battery trades freely.",
    "In normal times the load is supplied from the grid and it may trade freely.",
)


def text(about: str, asked: str, free: str) -> str:
    """Return the problem with a way to say each part of it."""
    rows = "\n".join(
        f"| {t:02d}:00 | {a:g} | {b:g} | {c:g} |"
        for t, (a, b, c) in enumerate(zip(LOAD, BAND, SPOT, strict=True))
    )
    return (
        "# Ready\n\nOur battery trades on the spot market on 17 February 2026.\n\n"
        "| Hour from | Critical load [kW] | Band [kW] | Spot [EUR/MWh] |\n|---|---|---|---|\n"
        f"{rows}\n\n{about} {asked}\n\nThe battery holds 300 kWh; it can be charged with up to "
        "80 kW and discharged with up to 100 kW. Charging loses nothing, discharging has an "
        f"efficiency of 90 %. It begins with 200 kWh and must end with at least 200 kWh. {free}\n\n"
        "Give the plan with the greatest spot income, in EUR.\n"
    )


def best(budget: int | None, hours: int = 3) -> float:
    """Return the largest income by a linear programme written out by hand."""
    n = len(LOAD)
    cost = np.concatenate([SPOT, -SPOT]) / 1000
    held = np.hstack([np.tril(np.ones((n, n))), -np.tril(np.ones((n, n))) / ETA])
    rows, limits = [], []
    for t in range(n):
        window = range(t, min(t + hours, n))
        picks = [window] if budget is None else [
            c for k in range(min(budget, len(window)) + 1) for c in combinations(window, k)
        ]  # fmt: skip
        need = max(sum(LOAD[s] for s in window) + sum(BAND[s] for s in p) for p in picks)
        before = held[t - 1] if t else np.zeros(2 * n)
        rows.append(-before)
        limits.append(200.0 - need / ETA)
    for t in range(n):
        rows += [held[t], -held[t]]
        limits += [300.0 - 200.0, 200.0 if t < n - 1 else 0.0]
    bounds = [(0, 80)] * n + [(0, 100)] * n
    found = linprog(cost, A_ub=np.array(rows), b_ub=np.array(limits), bounds=bounds)
    assert found.success
    return -float(found.fun)


def problems(analysis: Analysis) -> object:
    return analysis.missing, analysis.not_understood, analysis.ambiguous


@pytest.mark.parametrize("k", range(3))
def test_readiness_in_other_words(tmp_path: Path, k: int) -> None:
    said = text(ABOUT[k % 2], ASKED[k], FREE[k % 2])
    analysis = analysed(tmp_path, said)
    assert analysis.complete, (said, problems(analysis))
    status, objective = solved(analysis, tmp_path)
    assert status == "optimal"
    assert objective == pytest.approx(best(1), rel=1e-7)


@pytest.mark.parametrize(
    ("said", "budget"), [("any two of them come out", 2), ("all of them come out", None)]
)
def test_how_many_hours_may_be_higher(tmp_path: Path, said: str, budget: int | None) -> None:
    asked = ASKED[0].replace("any one of them comes out", said)
    analysis = analysed(tmp_path, text(ABOUT[0], asked, FREE[0]))
    assert analysis.complete, problems(analysis)
    status, objective = solved(analysis, tmp_path)
    assert status == "optimal"
    assert objective == pytest.approx(best(budget), rel=1e-7)


NEAR = (
    (ASKED[0], "the two hours after it", "the hours after it"),
    (ASKED[0], "At the beginning of every hour, the", "The"),
    (ASKED[0], "must be enough", "should if possible be enough"),
    (ASKED[0], "any one of them", "any three of them"),
    (ASKED[0], "by its full band", "by half its band"),
    (ASKED[0], "by its full band", "by 10 %"),
    (ASKED[0], "critical load of that hour", "critical load and the lifts of that hour"),
    (ASKED[2], "against one such hour", "against two such hours"),
    (FREE[0], FREE[0], ""),
    (FREE[0], "In normal operation", "At night"),
)


@pytest.mark.parametrize("k", range(len(NEAR)))
def test_what_says_something_else_is_never_passed_over(tmp_path: Path, k: int) -> None:
    whole, said, other = NEAR[k]
    asked = whole if whole in ASKED else ASKED[0]
    plain = text(ABOUT[0], asked, FREE[0])
    assert said in plain
    assert not analysed(tmp_path, plain.replace(said, other)).complete, other
