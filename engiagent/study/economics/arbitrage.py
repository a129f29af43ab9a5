r"""What a battery earns by arbitrage on prices of a table, from a solve of each calendar year.

.. math::

    \max \sum_t \left(\pi_t (d_t - c_t) - w\, d_t\right) \Delta t \quad\text{with}\quad
    e_{t+1} = e_t + \left(\eta\, c_t - d_t / \eta\right) \Delta t

The battery knows the prices of the whole year, so that this is what it can earn at most. Each year
starts and may end at the least content; a period with a price below 0 has a binary, since charging
and discharging at once would burn energy for money there.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from engiagent.blueprint.document import Blueprint
from engiagent.errors import EngiagentError, InputError
from engiagent.formulations.compile import compile_blueprint
from engiagent.run.stages import solve_program
from engiagent.solvers.arrays import SolutionArrays
from engiagent.solvers.result import SolveOptions
from engiagent.study.economics.cashflow import Floats, cash_flows
from engiagent.study.economics.series import HOUR, read_series

YEAR_HOURS = 8760.0


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
    """A year's earnings, and how they are made."""

    year: str  # its name, as 2021
    earnings: float  # sales less purchases less wear. [money]
    status: str  # ``optimal``, or ``feasible`` when a limit ended the solve before a proof
    blueprint: Blueprint
    schedule: SolutionArrays

    def power(self, way: str) -> Floats:
        """Return the power of ``charge`` or ``discharge``, shape (N,). [kW]."""
        return np.asarray(self.schedule[f"battery_{way}"].values, dtype=np.float64)


def arbitrage(
    prices: Sequence[float] | Floats,
    storage: Storage,
    *,
    step_hours: float = 1.0,
    year: str = "",
    options: SolveOptions | None = None,
    initial: float | None = None,
    energy_cost: float | None = None,
) -> YearOfArbitrage:
    """Return the most that a battery earns on given prices.

    ``prices``: of each period, shape (N,). [money/kWh] ``storage``: the battery. ``step_hours``:
    length of a period. Above 0. [h] ``year``: what to call it. ``options``: for the solver.
    ``initial``: content at the start; the least content without it. [kWh] ``energy_cost``: where
    the rated energy is to be chosen, from 0 to that of the storage, what it costs over these
    periods [money/kWh]; it then works over all of it and may charge and discharge at once, so that
    the earnings are a bound from above where prices are below 0. Raises InputError when a price is
    not finite or the step not above 0; EngiagentError when the solver finds no schedule in time.
    """
    series = cash_flows(prices)
    if not (np.isfinite(step_hours) and step_hours > 0):
        raise InputError(f"the step is {step_hours} h; give a length above 0, as 0.25")
    blueprint = _blueprint(series, storage, step_hours, initial, energy_cost)
    program = compile_blueprint(blueprint)
    schedule, result = solve_program(program, options or SolveOptions(), isolate=False)
    if result.x is None:
        raise EngiagentError(f"the arbitrage of {year or 'this year'}: {result.reason}")
    earnings = program.objective_at(result.x)
    return YearOfArbitrage(year, earnings, result.status, blueprint, schedule)


def _blueprint(
    prices: Floats,
    storage: Storage,
    step_hours: float,
    initial: float | None,
    energy_cost: float | None,
) -> Blueprint:
    energy, one_way = storage.power * storage.hours, float(np.sqrt(storage.round_trip))
    step = f"{step_hours * HOUR:.9g} s"
    time = {"name": "T", "kind": "time", "start": "2001-01-01T00:00", "step": step}
    sets = [time | {"periods": len(prices)}, {"name": "I", "kind": "instants", "of": "T"}]
    battery: dict[str, Any] = {"name": "battery", "model": "battery", "index": "T"}
    battery["parameters"] = {
        "energy_capacity": energy,
        "charge_power_max": storage.power,
        "discharge_power_max": storage.power,
        "charge_efficiency": one_way,
        "discharge_efficiency": one_way,
        "initial_energy": storage.least * energy if initial is None else initial,
        "minimum_energy": storage.least * energy,
        "maximum_energy": storage.most * energy,
    }
    if (prices < 0).any() and storage.round_trip < 1 and energy_cost is None:
        below = {"name": "T_below", "kind": "subset", "of": "T", "binder": "t"}
        sets.append(below | {"where": "price[t] < 0"})
        battery["options"] = {"exclusive_on": "T_below"}
    sold, bought = "battery_discharge[t]", "battery_charge[t]"
    gain = f"price[t]*({sold} - {bought}) - {storage.wear!r}[USD/kWh]*{sold}"
    goal, sizes = f"sum(({gain})*dt(t) for t in T)", []
    if energy_cost is not None:
        sizes = [{"name": "energy", "unit": "kWh", "lower": 0, "upper": energy}]
        battery["parameters"] |= {"energy_capacity": "energy", "initial_energy": 0}
        for name in ("minimum_energy", "maximum_energy"):
            del battery["parameters"][name]
        goal += f" - {energy_cost!r}[USD/kWh]*energy"
    price = {"name": "price", "index": ["T"], "value": prices.tolist(), "unit": "USD/kWh"}
    core = {
        "sets": sets,
        "parameters": [price],
        "decision_variables": sizes,
        "components": [battery],
        "objective_function": {
            **{"name": "earnings", "sense": "maximize", "unit": "USD", "expression": goal}
        },
        "constraints": [],
    }
    context = {"problem_essence": "arbitrage of a battery"}
    head = {"schema": "engiagent-blueprint/1", "kind": "programme", "modeling_context": context}
    return Blueprint.from_dict(head | {"core_model_elements": core})


# -- prices ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Prices:
    """Prices per kWh by year."""

    # by the year's name the price of each period, shape (N,). [currency/kWh]
    years: Mapping[str, Floats]
    step_hours: float  # length of a period. [h]
    currency: str  # its name


def read_prices(path: Path, column: str, *, unit: str | None = None) -> Prices:
    """Return the prices of a column, by the years of the time stamps (at the start of each period).

    ``path``, ``column``: the file (CSV, Parquet or netCDF) and the column. ``unit``: of the prices,
    where the header names none. Raises InputError when there is no unit, there are no time stamps
    or uneven ones, or a year is not whole.
    """
    series = read_series(path, column, unit)
    values, currency = series.prices()
    step, names = series.step_hours, series.parts(4)
    years = {name: values[names == name] for name in dict.fromkeys(names.tolist())}
    for name, own in years.items():
        # A year by the clock may lack an hour, or have one more, where zones change their time.
        if not YEAR_HOURS - 1 - 1e-6 <= len(own) * step <= YEAR_HOURS + 25 + 1e-6:
            text = f"the prices of {name} cover {len(own) * step:g} h"
            raise InputError(text, path.name, expected="whole calendar years")
    return Prices(years, step, currency)
