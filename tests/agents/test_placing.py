"""How much fits where, with what is placed deviating by chance: in any words, and never wrongly."""

from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import NonlinearConstraint, minimize

from engiagent.agents.offline import Analysis
from tests.agents.support import analysed, solved

SIGMA = np.array([0.14, 0.06, 0.09])
ROOM = np.array([620.0, 480.0, 700.0])
RATE = np.array([0.21, 0.27, 0.24])
MAIN, BUDGET, Z = 1290.0, 290.0, 2.326

WISH = (
    "A customer wants to put as many servers as possible into our three halls, and we may spread "
    "them in any proportion.",
    "The owner would like to install as much load as possible in the three halls. The load may be "
    "distributed freely among the halls.",
    "We may divide the servers as we like.",
)
LAW = (
    "What the servers really draw is uncertain. In every hall it is normally distributed; its mean "
    "is the nominal power placed there and its standard deviation is proportional to it. The halls "
    "vary independently of each other.",
    "The load of each hall is normally distributed; the mean equals the nominal load installed "
    "there, and the standard deviation is the share of the mean given in the table. The deviations "
    "of the halls are uncorrelated.",
    "In each hall the power is normally distributed, its mean is the power that is put in it, its "
    "standard deviation is proportional to the mean, and the deviations are independent of one "
    "another.",
)
MAINS = (
    "All halls hang on one chilled water main with 1290 kW left. The sum of the heat of all "
    "halls must stay within it with a probability of 99 %, for which 2.326 standard deviations "
    "of the sum have to fit above its mean.",
    "All halls depend on the same transformer with 1290 kW to spare. Sum of the load of the halls "
    "must not exceed its limit with a probability of at least 99 %, for which 2.326 standard "
    "deviations of this sum must be left free above its mean.",
)
EACH = (
    "Likewise, in each hall by itself the mean plus 2.326 of its standard deviations must stay "
    "within its free capacity.",
    "In every hall alone the mean plus 2.326 standard deviations must not exceed its own capacity.",
)
POWER = (
    "And the transformer leaves us 290 kW for cooling power, which the mean of all halls together "
    "must respect.",
    "The connection has 0.29 MW left for cooling power, which the mean of all of them must not "
    "exceed.",
)
ASK = (
    "How many kW, nominal, can be placed at most?",
    "How much power can be installed in total?",
)
TABLE = """| Hall | Standard deviation (% of it) | Free capacity (kW) | Cooling power (kW per kW) |
|---|---|---|---|
| North | 14 | 620 | 0.21 |
| East | 6 | 480 | 0.27 |
| South | 9 | 700 | 0.24 |
"""


def text(*picked: int) -> str:
    """Return the problem with the given way to say each part."""
    wish, law, mains, each, power, ask = (
        way[k % len(way)]
        for way, k in zip((WISH, LAW, MAINS, EACH, POWER, ASK), picked, strict=True)
    )
    return f"# Halls\n\n{wish} {law}\n\n{TABLE}\n{mains} {each} {power}\n\n{ask}\n"


def best() -> float:
    """Return the most that fits by a nonlinear programme written out by hand."""
    total = NonlinearConstraint(
        lambda x: x.sum() + Z * np.sqrt(np.sum((SIGMA * x) ** 2)), -np.inf, MAIN
    )
    rate = NonlinearConstraint(lambda x: RATE @ x, -np.inf, BUDGET)
    bounds = [(0.0, r / (1 + Z * s)) for r, s in zip(ROOM, SIGMA, strict=True)]
    found = minimize(
        lambda x: -x.sum(), ROOM / 2, bounds=bounds, constraints=[total, rate], method="SLSQP",
        options={"ftol": 1e-12},
    )  # fmt: skip
    assert found.success
    return -float(found.fun)


def problems(analysis: Analysis) -> object:
    return analysis.missing, analysis.not_understood, analysis.ambiguous


@pytest.mark.parametrize("k", range(4))
def test_a_placement_in_other_words(tmp_path: Path, k: int) -> None:
    said = text(k, k, k, k + 1, k, k)
    analysis = analysed(tmp_path, said)
    assert analysis.complete, (said, problems(analysis))
    status, objective = solved(analysis, tmp_path)
    assert status in ("optimal", "locally_optimal")
    assert objective == pytest.approx(best(), rel=1e-6)


def test_halls_that_deviate_together_hold_less(tmp_path: Path) -> None:
    plain = text(0, 0, 0, 0, 0, 0)
    together = plain.replace("The halls vary independently of each other.",
                             "The halls rise and fall together.")  # fmt: skip
    assert together != plain
    analysis = analysed(tmp_path, together)
    assert analysis.complete, problems(analysis)
    objective = solved(analysis, tmp_path)[1]
    assert objective is not None
    assert objective < best() - 1


def test_the_least_of_all_halls(tmp_path: Path) -> None:
    fair = text(2, 0, 0, 0, 0, 0).replace(
        ASK[0], "We want the smallest of the nominal powers to be as large as possible."
    )
    analysis = analysed(tmp_path, fair)
    assert analysis.complete, problems(analysis)
    objective = solved(analysis, tmp_path)[1]
    # Alike in all halls: the limit of the sum, of the cooling power, or of the smallest hall.
    alike = min(
        MAIN / (3 + Z * float(np.linalg.norm(SIGMA))), BUDGET / float(RATE.sum()),
        float(np.min(ROOM / (1 + Z * SIGMA))),
    )  # fmt: skip
    assert objective == pytest.approx(alike, rel=1e-6)


NEAR = (
    ("with a probability of 99 %", "with a probability of 90 %"),
    ("with a probability of 99 %", "on average"),
    (" The halls vary independently of each other.", ""),
    ("independently of each other", "independently of each other, but North and East together"),
    ("is normally distributed", "is uniformly distributed"),
    ("in each hall by itself", "in the northern hall by itself"),
    ("its free capacity", "half its free capacity"),
    ("for cooling power", "for pumps"),
    ("in any proportion", "in equal parts"),
    ("into our three halls", "into our four halls"),
    ("How many kW", "How many servers"),
    ("at most?", "at least?"),
    ("must respect.", "must respect. In East at least 100 kW must be placed."),
    ("Free capacity (kW)", "Price (EUR)"),
)


@pytest.mark.parametrize("k", range(len(NEAR)))
def test_what_says_something_else_is_never_passed_over(tmp_path: Path, k: int) -> None:
    said, other = NEAR[k]
    plain = text(0, 0, 0, 0, 0, 0)
    assert said in plain
    assert not analysed(tmp_path, plain.replace(said, other, 1)).complete, other
