"""A battery problem, its blueprint, and its optimal schedule by scipy, made for these tests."""

import copy
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr
from scipy.optimize import linprog

from engiagent.blueprint.document import Blueprint
from engiagent.verify.certificate import Certificate
from engiagent.verify.checking import check
from tests.blueprints import document
from tests.written import mapping

CAPACITY, POWER, ETA, START = 100.0, 40.0, 0.9, 30.0
TEXT = """---
id: little_battery
---
A battery stores 100 kWh. It must never charge or discharge with more than 40 kW. Both
efficiencies are 90 %. At the start it holds 30 kWh; at the end it must hold at least 30 kWh.
Prices are in prices.csv. Earn as much as possible.
"""


def spot(quote: str, nth: int = 0) -> dict[str, Any]:
    start = -1
    for _ in range(nth + 1):
        start = TEXT.index(quote, start + 1)
    return {"kind": "text", "span": [start, start + len(quote)], "quote": quote}


@dataclass(frozen=True)
class Sentence:
    text: str
    span: tuple[int, int]


@dataclass(frozen=True)
class Quantity:
    value: float
    unit_text: str
    unit: Any
    span: tuple[int, int]
    kind: str = "number"


def _sentences() -> tuple[Sentence, ...]:
    parts = [
        "A battery stores 100 kWh.",
        "It must never charge or discharge with more than 40 kW.",
        "Both\nefficiencies are 90 %.",
        "At the start it holds 30 kWh; at the end it must hold at least 30 kWh.",
        "Prices are in prices.csv.",
        "Earn as much as possible.",
    ]
    return tuple(Sentence(p, (TEXT.index(p), TEXT.index(p) + len(p))) for p in parts)


@dataclass
class LittleProblem:
    folder: Path
    id: str = "little_battery"
    text: str = TEXT
    body_start: int = TEXT.index("A battery")
    expert: Path | None = None
    tables: tuple[Any, ...] = ()
    sentences: tuple[Sentence, ...] = field(default_factory=_sentences)
    quantities: tuple[Quantity, ...] = ()
    sha256: dict[str, str] = field(default_factory=lambda: {"problem.md": "0" * 64})


def prices(periods: int) -> np.ndarray[Any, Any]:
    rng = np.random.default_rng(7)
    values: np.ndarray[Any, Any] = np.round(
        60 + 40 * np.sin(np.arange(periods) * 0.8) + rng.uniform(0, 10, periods), 2
    )
    return values


def make_problem(folder: Path, periods: int = 24) -> LittleProblem:
    rows = "\n".join(f"{p}" for p in prices(periods))
    (folder / "prices.csv").write_text(f"price [EUR/MWh]\n{rows}\n")
    numbers = [("100 kWh", 0), ("40 kW", 0), ("90 %", 0), ("30 kWh", 0), ("30 kWh", 1)]
    quantities = tuple(
        Quantity(float(q.split()[0]), q.split()[1], None, tuple(spot(q, n)["span"]))
        for q, n in numbers
    )
    return LittleProblem(folder, quantities=quantities)


PLANT = """
sets:
- {name: T, kind: time, start: "2025-07-01T00:00", step: 1 h, periods: PERIODS}
- {name: I, kind: instants, of: T}
decision_variables:
- {name: charge, index: [t in T], type: continuous, lower: 0, upper: P_max, unit: kW,
   quantity: battery.charge, role: decision}
- {name: discharge, index: [t in T], type: continuous, lower: 0, upper: P_max, unit: kW,
   quantity: battery.discharge, role: decision}
- {name: soc, index: [i in I], type: continuous, lower: 0, upper: E_max, unit: kWh,
   quantity: battery.state_of_charge, role: state}
components:
- {name: battery, model: battery, index: T, expanded: true, parameters: {energy_capacity: E_max,
   charge_power_max: P_max, discharge_power_max: P_max, charge_efficiency: eta,
   discharge_efficiency: eta, initial_energy: E_start}}
objective_function: {sense: maximize, unit: EUR,
  expression: "sum(price[t]*(discharge[t] - charge[t])*dt(t) for t in T)"}
constraints:
- {constraint_id: dynamics, forall: [t in T],
   expression: "soc[t+1] == soc[t] + (eta*charge[t] - discharge[t]/eta)*dt(t)"}
- {constraint_id: initial, expression: "soc[first(I)] == E_start"}
- {constraint_id: final, expression: "soc[last(I)] >= E_end"}
"""
PRICE = mapping("""
    {name: price, index: [T], data: "prices.csv#price", unit: EUR/MWh,
      source_reference: {kind: file, file: prices.csv, column: price}}
""")


def blueprint_dict(periods: int = 24) -> dict[str, Any]:
    def parameter(name: str, value: float, unit: str, source: dict[str, Any]) -> dict[str, Any]:
        return {"name": name, "value": value, "unit": unit, "source_reference": source}

    core = mapping(PLANT.replace("PERIODS", str(periods)))
    core["constraints"][-1]["source_reference"] = spot("at the end it must hold at least 30 kWh")
    core["parameters"] = [
        parameter("E_max", 100, "kWh", spot("100 kWh")),
        parameter("P_max", 40, "kW", spot("40 kW")),
        parameter("eta", 90, "%", spot("90 %")),
        parameter("E_start", 30, "kWh", spot("30 kWh")),
        parameter("E_end", 30, "kWh", spot("30 kWh", 1)),
        copy.deepcopy(PRICE),
    ]
    return document(**core)


def blueprint(periods: int = 24, data: dict[str, Any] | None = None) -> Blueprint:
    return Blueprint.from_json(json.dumps(data or blueprint_dict(periods)))


def solve(periods: int = 24) -> xr.Dataset:
    """Solve the plan by hand-written matrices; multipliers in the convention of the project."""
    import scipy.sparse as sp

    price = prices(periods) / 1000
    n = periods
    eye = sp.identity(n)
    step = sp.diags([-1.0, 1.0], [0, 1], shape=(n, n + 1))
    first = sp.csr_matrix(([1.0], ([0], [2 * n])), shape=(1, 3 * n + 1))
    equal = sp.vstack([sp.hstack([-ETA * eye, eye / ETA, step]), first])
    last = sp.csr_matrix(([-1.0], ([0], [3 * n])), shape=(1, 3 * n + 1))
    result = linprog(
        np.concatenate([price, -price, np.zeros(n + 1)]),
        A_eq=equal,
        b_eq=np.concatenate([np.zeros(n), [START]]),
        A_ub=last,
        b_ub=[-START],
        bounds=[(0, POWER)] * (2 * n) + [(0, CAPACITY)] * (n + 1),
    )
    assert result.status == 0
    hours = np.datetime64("2025-07-01T00:00", "ns") + np.arange(n + 1) * np.timedelta64(1, "h")
    # scipy minimises the negative income: its marginals change their sign for a maximisation, and
    # the end row was written as -soc <= -30, which turns it once more.
    marginals = result.eqlin.marginals
    about = {"units": "kW", "role": "decision"}
    return xr.Dataset(
        {
            "charge": ("T", result.x[:n], about | {"quantity": "battery.charge"}),
            "discharge": ("T", result.x[n : 2 * n], about | {"quantity": "battery.discharge"}),
            "soc": (
                "I",
                result.x[2 * n :],
                {"units": "kWh", "role": "state", "quantity": "battery.state_of_charge"},
            ),
            "dual__dynamics": ("T", -marginals[:n], {"units": "EUR/kWh"}),
            "dual__initial": ((), -marginals[n], {"units": "EUR/kWh"}),
            "dual__final": ((), result.ineqlin.marginals[0], {"units": "EUR/kWh"}),
        },
        coords={"T": hours[:-1], "I": hours},
        attrs={
            "status": "optimal",
            "objective": -result.fun,
            "objective_unit": "EUR",
            "sense": "maximize",
            "solver": "scipy",
        },
    )


def statuses(certificate: Certificate) -> dict[str, str]:
    return {name: level["status"] for name, level in certificate.levels.items()}


def accused(certificate: Certificate) -> set[str]:
    return {str(violation["level"]) for violation in certificate.violations}


__all__ = ["check"]
