r"""What a battery earns by arbitrage, year by year, from a solve of each year.

.. math::

    \max \sum_t \left(\pi_t (d_t - c_t) - w\, d_t\right) \Delta t \quad\text{with}\quad
    e_{t+1} = e_t + \left(\eta\, c_t - d_t / \eta\right) \Delta t

The battery knows the prices of the whole year, so that this is what it can earn at most. Each year
starts and may end at the least content; a period with a price below 0 has a binary, since charging
and discharging at once would burn energy for money there.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from engiagent.blueprint.document import Blueprint
from engiagent.errors import EngiagentError, InputError
from engiagent.formulations.compile import compile_blueprint
from engiagent.solvers.result import SolveOptions
from engiagent.solvers.solving import solve
from engiagent.study.economics.cashflow import Floats, cash_flows


@dataclass(frozen=True, kw_only=True)
class Storage:
    """A battery for arbitrage."""

    power: float  # most that it charges and discharges, at its terminals. Above 0. [kW]
    hours: float  # rated energy over power. Above 0. [h]
    # efficiency there and back, the same part each way. Above 0, at most 1. [-]
    round_trip: float = 1.0
    # least, most: between which parts of its rated energy it works. 0 to 1. [-]
    least: float = 0.0
    most: float = 1.0
    wear: float = 0.0  # what discharging costs. At least 0. [money/kWh]

    def __post_init__(self) -> None:
        if not (self.power > 0 and self.hours > 0 and np.isfinite(self.power * self.hours)):
            raise InputError(f"a battery of {self.power} kW for {self.hours} h; give both above 0")
        if not 0 < self.round_trip <= 1:
            text = f"the round trip is {self.round_trip}; give a part above 0 and at most 1"
            raise InputError(f"{text}, as 0.81")
        if not 0 <= self.least < self.most <= 1:
            raise InputError(f"it works between {self.least} and {self.most}; give 0 to 1, rising")
        if not (self.wear >= 0 and np.isfinite(self.wear)):
            raise InputError(f"wear costs {self.wear}; give at least 0")


@dataclass(frozen=True)
class YearOfArbitrage:
    """A year's earnings."""

    year: str  # its name, as 2021
    earnings: float  # sales less purchases less wear. [money]
    wear: float  # the cost of wear in it. [money]
    discharged: float  # energy sold. [kWh]
    status: str  # ``optimal``, or ``feasible`` when a limit ended the solve before a proof


def arbitrage(
    prices: Sequence[float] | Floats,
    storage: Storage,
    *,
    step_hours: float = 1.0,
    year: str = "",
    options: SolveOptions | None = None,
) -> YearOfArbitrage:
    """Return the most that a battery earns on given prices.

    ``prices``: of each period, shape (N,). [money/kWh] ``storage``: the battery. ``step_hours``:
    length of a period. Above 0. [h] ``year``: what to call it. ``options``: for the solver. Raises
    InputError when a price is not finite or the step not above 0; EngiagentError when the solver
    finds no schedule within its limits.
    """
    series = cash_flows(prices)
    if not (np.isfinite(step_hours) and step_hours > 0):
        raise InputError(f"the step is {step_hours} h; give a length above 0, as 0.25")
    program = compile_blueprint(Blueprint.from_dict(_document(series, storage, step_hours)))
    result = solve(program, options or SolveOptions(), isolate=False)
    if result.x is None:
        raise EngiagentError(f"the arbitrage of {year or 'this year'}: {result.reason}")
    block = program.column_block("battery_discharge")
    sold = float(result.x[block.start : block.stop].sum()) * step_hours
    earned = program.objective_at(result.x)
    return YearOfArbitrage(year, earned, storage.wear * sold, sold, result.status)


def _document(prices: Floats, storage: Storage, step_hours: float) -> dict[str, Any]:
    energy = storage.power * storage.hours
    one_way = float(np.sqrt(storage.round_trip))
    burns = bool((prices < 0).any()) and storage.round_trip < 1
    user = {"kind": "user", "note": "asked for"}
    slots = {
        "energy_capacity": energy,
        "charge_power_max": storage.power,
        "discharge_power_max": storage.power,
        "charge_efficiency": one_way,
        "discharge_efficiency": one_way,
        "initial_energy": storage.least * energy,
        "minimum_energy": storage.least * energy,
        "maximum_energy": storage.most * energy,
    }
    seconds = f"{step_hours * 3600:.9g} s"
    sets: list[dict[str, Any]] = [
        {
            "name": "T",
            "kind": "time",
            "start": "2001-01-01T00:00",
            "step": seconds,
            "periods": len(prices),
        },
        {"name": "I", "kind": "instants", "of": "T"},
    ]
    if burns:
        sets.append(
            {"name": "T_below", "kind": "subset", "of": "T", "binder": "t", "where": "price[t] < 0"}
        )
    gain = "(price[t]*(battery_discharge[t] - battery_charge[t]) - wear*battery_discharge[t])"
    return {
        "schema": "engiagent-blueprint/1",
        "kind": "programme",
        "modeling_context": {"problem_essence": "arbitrage of a battery"},
        "core_model_elements": {
            "sets": sets,
            "parameters": [
                {
                    "name": "price",
                    "index": ["T"],
                    "value": prices.tolist(),
                    "unit": "USD/kWh",
                    "source_reference": user,
                },
                {
                    "name": "wear",
                    "value": storage.wear,
                    "unit": "USD/kWh",
                    "source_reference": user,
                },
            ],
            "decision_variables": [],
            "components": [
                {"name": "battery", "model": "battery", "index": "T", "parameters": slots}
                | ({"options": {"exclusive_on": "T_below"}} if burns else {})
            ],
            "objective_function": {
                "name": "earnings",
                "sense": "maximize",
                "unit": "USD",
                "expression": f"sum({gain}*dt(t) for t in T)",
            },
            "constraints": [],
        },
    }
