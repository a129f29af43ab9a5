"""Machines whose electric power is a polynomial of their cooling, written in the text."""

from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import minimize

from tests.agents.support import analysed, solved

NEED = np.array([140.0, 120.0, 300.0, 420.0])
PRICE = np.array([0.1, 0.1, 0.2, 0.2])
TEXT = """
{bent} {law} {on}

Fermentation needs, mean of each two hours of 28 August 2026:

| From | Cold (kW) |
|---|---|
| 04:00 | 140 |
| 06:00 | 120 |
| 08:00 | 300 |
| 10:00 | 420 |

{tank} {loss} {limit} {served}

{price} {goal}
"""
PARTS = {
    "bent": "The compressors of our brewery lose efficiency the harder they work.",
    "law": "Fitted to last year's log, their electric power in kW is 0.19·q + 0.00031·q², where q"
    " is the cold in kW (so 100 kW of cold take 22.1 kW).",
    "on": "The plant is never off, and it makes between 60 kW and 480 kW of cold.",
    "tank": "Between plant and fermenters stands a glycol tank that stores up to 700 kWh of cold;"
    " 310 kWh at 04:00, and at least that at 12:00.",
    "loss": "97 % of the cold that is put in can be used later.",
    "limit": "Charging and discharging are limited to 160 kW each.",
    "served": "Fermentation must be supplied in full.",
    "price": "Electricity: 0.10 EUR/kWh until 08:00, 0.20 EUR/kWh after.",
    "goal": "Find the cheapest plan in two-hour steps and state its cost in EUR.",
}
SAME = {
    "bent": ("", "The machines become less efficient at high load."),
    "law": (
        "The compressors draw 0.19 x + 0.00031 x^2 kW of electricity, x being the cooling in kW.",
        "Electric power in MW = 0.00019*Q + 0.00000031*Q**2 with Q the cooling load in kW; thus"
        " 100 kW of cold need 22.1 kW.",
        "Their consumption in kW is 0.31 × C² + 0.19e3 × C, where C is the cold in MW.",
    ),
    "on": ("The compressors run all the time and make between 60 kW and 480 kW of cold.",
           "The plant must not be switched off; it delivers between 0.06 MW and 0.48 MW of cold."),
    "tank": ("A brine tank stands behind the plant; it holds up to 0.7 MWh of cold, at 04:00 there"
             " are 310 kWh in it, and at the end at least as much as at the start.",),
    "limit": ("It takes and gives at most 160 kW.",),
    "served": ("The fermenters get exactly what they need.",),
    "price": ("Electricity costs 10 ct/kWh until 08:00 and 20 ct/kWh afterwards (euro cents).",),
}  # fmt: skip


def cheapest() -> float:
    """Return the least cost: cold made and cold put in or taken out, by steps of two hours."""

    def cost(x: np.ndarray) -> float:
        made = NEED + x[:4] - x[4:]
        return float(np.sum(2 * PRICE * (0.19 * made + 0.00031 * made**2)))

    def content(x: np.ndarray) -> np.ndarray:
        return 310 + 2 * np.cumsum(0.97 * x[:4] - x[4:])

    limits = [
        {"type": "ineq", "fun": content},
        {"type": "ineq", "fun": lambda x: 700 - content(x)},
        {"type": "ineq", "fun": lambda x: content(x)[-1:] - 310},
        {"type": "ineq", "fun": lambda x: NEED + x[:4] - x[4:] - 60},
        {"type": "ineq", "fun": lambda x: 480 - (NEED + x[:4] - x[4:])},
    ]
    found = minimize(cost, np.full(8, 10.0), bounds=[(0, 160)] * 8, constraints=limits,
                     method="SLSQP", options={"ftol": 1e-12, "maxiter": 500})  # fmt: skip
    assert found.success
    return float(found.fun)


def written(**changes: str) -> str:
    return TEXT.format(**{**PARTS, **changes})


@pytest.mark.parametrize("k", range(-1, 3))
def test_a_law_in_other_words(tmp_path: Path, k: int) -> None:
    changes = {} if k < 0 else {part: texts[k % len(texts)] for part, texts in SAME.items()}
    if k == 2:
        changes["law"] = changes["law"].replace("0.31 ×", "310 ×").replace("0.19e3", "190")
    analysis = analysed(tmp_path, written(**changes))
    assert analysis.complete, (analysis.missing, analysis.not_understood, analysis.ambiguous)
    assert solved(analysis, tmp_path)[1] == pytest.approx(cheapest(), rel=1e-5)


@pytest.mark.parametrize(
    ("part", "text"),
    [
        ("law", PARTS["law"].replace("22.1", "25.1")),
        ("law", PARTS["law"].replace("q is the cold", "q is the temperature")),
        ("law", PARTS["law"].replace("the cold in kW", "the cold in %")),
        ("law", PARTS["law"].replace("electric power in kW", "cost in EUR")),
        ("law", PARTS["law"].replace(", where q is the cold in kW", "")),
        ("law", PARTS["law"] + " Above 300 kW they need 5 % more."),
        ("law", PARTS["law"] + " Their COP is 4."),
        (
            "on",
            "There are 3 identical compressors. None is ever off; each makes between 60 kW and"
            " 480 kW of cold.",
        ),
        ("on", "It makes between 60 kW and 480 kW of cold when it runs at night."),
        ("loss", "97 % of the cold that is put in can be used if the tank is mixed."),
        ("loss", "97 % of the cold that is put in is lost."),
        ("limit", "Charging and discharging are limited to 160 kW when it is warm."),
        ("served", "Fermentation must be supplied in full until 08:00."),
        ("price", "Electricity: 0.10 EUR/kWh until 08:00, 0.20 EUR/kWh after a power cut."),
        ("goal", "Find the cheapest plan in three-hour steps and state its cost in EUR."),
    ],
)
def test_laws_that_are_said_otherwise(tmp_path: Path, part: str, text: str) -> None:
    assert not analysed(tmp_path, written(**{part: text})).complete, text
