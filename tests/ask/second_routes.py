"""Numbers of the suite by ways that no tool takes: closed forms, a linear programme, a script.

The reference test building is written here once more, as a plant file whose series are the stated
formulas, and run by :class:`engiagent.environment.environment.Environment`; its least cost is a
linear programme that this file states and SciPy solves.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from math import exp
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from scipy.optimize import linprog

from engiagent.environment.controllers import by_rules, joined, ruled
from engiagent.environment.environment import Environment

HOURS = np.arange(24)
MIDDLE = HOURS + 0.5
DAYLIGHT = np.maximum(0.0, np.sin(np.pi * (MIDDLE - 5.0) / 16.0)) * (abs(MIDDLE - 13.0) < 8.0)
SUN = 850.0 * DAYLIGHT
PEOPLE = np.where((HOURS >= 8) & (HOURS < 18), 2.0, 0.0)


@dataclass(frozen=True)
class Reference:
    """The reference test building over a day in steps of an hour, as a question changes it."""

    cop: float = 3.2
    battery: float = 10.0
    initial: float = 5.0
    pv: float = 5.0
    resistance: float = 1.5
    setpoint: float = 24.0
    shift: tuple[tuple[str, str], ...] = ()
    low: float = 0.2
    high: float = 0.4

    @property
    def outside(self) -> Any:
        """The temperature of the air. [degC]."""
        return 27.0 + 6.0 * np.cos(2.0 * np.pi * (MIDDLE - 15.0) / 24.0)

    @property
    def price(self) -> Any:
        """The price of import. [EUR/kWh]."""
        return np.where((HOURS >= 16) & (HOURS < 21), self.high, self.low)

    def environment(self, folder: Path) -> Environment:
        """Return it from a plant file."""
        rows = zip(self.outside, SUN, self.price, PEOPLE, strict=True)
        table = "out [degC],sun [W/m2],price [EUR/kWh],people [kW]\n"
        table += "".join(",".join(f"{value:.15g}" for value in row) + "\n" for row in rows)
        (folder / "day.csv").write_text(table)
        (folder / "plant.yaml").write_text(
            f"""
title: by hand
horizon: {{start: 2026-07-06T00:00, step: 1 h, periods: 24}}
components:
  grid: {{model: grid, import_price: day.csv#price, export_price: 0.08 EUR/kWh}}
  room: {{model: thermal_zone, capacitance: 4 kWh/K, resistance: {self.resistance} K/kW,
          initial_temperature: 23 degC, ambient_temperature: day.csv#out, gains: day.csv#people}}
  appliances: {{model: load, power: 1 kW}}
  cooling: {{model: cooler, zone: room, electric_power_max: 3 kW, cop: {self.cop}}}
  pv: {{model: pv, dc_capacity: {self.pv} kW, irradiance: day.csv#sun,
        air_temperature: day.csv#out}}
  battery: {{model: battery,
            energy_capacity: {self.battery} kWh, initial_energy: {self.initial} kWh,
            charge_power_max: 5 kW, discharge_power_max: 5 kW,
            charge_efficiency: 0.95, discharge_efficiency: 0.95}}
goal: {{minimize: cost}}
"""
        )
        return Environment.load(folder / "plant.yaml")

    @cache  # noqa: B019 - frozen values, and few of them
    def record(self) -> Any:
        """Return the day under a thermostat and self-consumption."""
        with TemporaryDirectory() as folder:
            site = self.environment(Path(folder))
            band = [f"{self.setpoint - 0.5} degC", f"{self.setpoint + 0.5} degC"]
            rule: dict[str, Any] = {"thermostat": "zone.room.temperature", "between": band}
            rule |= {"on": 3.0, "cooling": "yes"}
            rule |= {"shift": dict(self.shift)} if self.shift else {}
            rules = by_rules({"cooling.electric_power": rule}, site.signals)
            return site.run(joined(ruled("self-consumption", site), rules))

    def cost(self) -> float:
        """Return what the day costs. [EUR]."""
        day = self.record()
        return float((day["grid.import"] * self.price).sum() - 0.08 * day["grid.export"].sum())

    def drawn(self) -> float:
        """Return the energy that is imported. [kWh]."""
        return float(self.record()["grid.import"].sum())

    def temperature(self) -> Any:
        """Return the temperature of the room at the ends of steps, the first at the start."""
        return np.asarray(self.record()["zone.room.temperature"])

    def least_cost(self) -> float:
        r"""Return the least cost by a linear programme.

        The room is :math:`C \dot T = (T_a - T)/R + g - \mathrm{COP}\,p`, solved exactly over a
        step, between 20 and 25 degC at the end of each.
        """
        n, decay = 24, exp(-1.0 / (4.0 * self.resistance))
        sun_power = np.asarray(self.record()["pv.power"])
        # columns: import, export, cooling, charge, discharge, pv used; then T and E after each step
        one, zero, lower = np.eye(n), np.zeros((n, n)), np.eye(n, k=-1)
        power = np.hstack([one, -one, -one, -one, one, one, zero, zero])
        gain = (1.0 - decay) * self.resistance
        room = np.hstack(
            [zero, zero, gain * self.cop * one, zero, zero, zero, one - decay * lower, zero]
        )
        store = np.hstack([zero, zero, zero, -0.95 * one, one / 0.95, zero, zero, one - lower])
        warmed = (1.0 - decay) * self.outside + gain * PEOPLE
        warmed[0] += decay * 23.0
        held = np.zeros(n)
        held[0] = self.initial
        bounds: list[Any] = [(0, 30)] * n + [(0, None)] * n + [(0, 3)] * n
        bounds += [(0, 5)] * (2 * n) + [(0, float(p)) for p in sun_power]
        bounds += [(20, 25)] * n + [(0, self.battery)] * n
        price = np.concatenate([self.price, np.full(n, -0.08), np.zeros(6 * n)])
        found = linprog(
            price,
            A_eq=np.vstack([power, room, store]),
            b_eq=np.concatenate([np.ones(n), warmed, held]),
            bounds=bounds,
        )
        assert found.success
        return float(found.fun)


def discomfort() -> float:
    """Return the kelvin hours above 25 degC of the reference day. [K h]."""
    return float(np.maximum(0.0, Reference().temperature()[1:] - 25.0).sum())


def arbitrage() -> float:
    """Return the least cost of a load of 6.5 kW with a battery on two rates. [EUR].

    What the battery delivers at the high rate it has charged at the low one: 0.42 x 0.9 is more
    than 0.18 / 0.9 of the stored kWh. It fills up in 17 h at 4 kW, and empties in 5 h at 5 kW.
    """
    content = min(20.0, 2.0 + 17.0 * 4.0 * 0.9)
    delivered = min(content * 0.9, 5.0 * 5.0)
    bought = (delivered / 0.9 - 2.0) / 0.9
    return 6.5 * two_rates() + 0.18 * bought - 0.42 * delivered


def two_rates() -> float:
    """Return the price of a constant kilowatt for a day. [EUR/kW]."""
    return 19.0 * 0.18 + 5.0 * 0.42


TODAY = Reference()
UPGRADE = Reference(cop=4.5, battery=20.0)
PRECOOLED = (("00:00", "0 K"), ("14:00", "-2 K"), ("16:00", "0 K"))

Route = Callable[[], float]
ROUTES: dict[tuple[str, int, str], Route] = {
    ("SAST_010", 0, "cost.value"): TODAY.cost,
    ("SAST_011", 0, "figures.energy_cost.value"): TODAY.cost,
    ("SAST_012", 0, "figures.peak_import.value"): lambda: float(
        TODAY.record()["grid.import"].max()
    ),
    ("SAST_013", 0, "figures.consumption/appliances.value"): lambda: 24 * 1.0,
    ("SAST_014", 0, "objective.value"): TODAY.least_cost,
    ("SAMT_011", 0, "cost.value"): TODAY.cost,
    ("SAMT_012", 0, "figures.energy_cost.value"): TODAY.cost,
    ("SAMT_012", 1, "figures.peak_import.value"): lambda: float(
        TODAY.record()["grid.import"].max()
    ),
    ("SAMT_013", 0, "objective.value"): TODAY.least_cost,
    ("MAST_001", 1, "cost.value"): TODAY.cost,
    ("MAST_002", 1, "figures.energy_cost.value"): TODAY.cost,
    ("MAST_003", 1, "figures.discomfort.value"): discomfort,
    ("MAST_004", 2, "figures.import.value"): Reference(cop=5.0).drawn,
    ("MAST_005", 2, "figures.energy_cost.value"): Reference(battery=4.0, initial=0.0).cost,
    ("MAST_006", 2, "zones.zone.room.temperature.greatest"): lambda: float(
        Reference(setpoint=22.5).temperature().max()
    ),
    ("MAST_008", 2, "figures.energy_cost.differences.1"): lambda: (
        Reference(pv=10.0).cost() - TODAY.cost()
    ),
    ("MAST_009", 2, "figures.consumption/appliances.differences.1"): lambda: 24 * (2.0 - 1.0),
    ("MAST_010", 2, "figures.consumption/appliances.value"): lambda: 48 * 1.0,
    ("MAST_012", 1, "objective.value"): Reference(cop=4.0).least_cost,
    ("MAMT_001", 8, "figures.energy_cost.values.0"): TODAY.cost,
    ("MAMT_001", 8, "figures.energy_cost.values.1"): UPGRADE.cost,
    ("MAMT_001", 8, "figures.energy_cost.values.2"): replace(UPGRADE, shift=PRECOOLED).cost,
    ("MAMT_002", 7, "figures.energy_cost.value"): lambda: 24 * 6.5 * 0.28,
    ("MAMT_003", 7, "figures.energy_cost.value"): lambda: 6.5 * two_rates(),
    ("MAMT_004", 9, "figures.energy_cost.value"): lambda: (24 * 6.5 + 3 * 4.0 - 2 * 3.0) * 0.28,
    ("MAMT_004", 10, "signals.store.state_of_charge.greatest"): lambda: 2.0 + 3 * 4.0 * 0.9,
    ("MAMT_005", 7, "objective.value"): arbitrage,
    ("MAMT_006", 9, "zones.zone.room.temperature.least"): lambda: (
        -4.0 + (20.0 + 4.0) * exp(-24.0 / (2.0 * 5.0))
    ),
    ("MAMT_007", 5, "figures.energy_cost.values.1"): Reference(resistance=2.5, setpoint=24.5).cost,
    ("MAMT_009", 1, "cost.value"): Reference(pv=8.5).cost,
    ("MAMT_010", 3, "figures.consumption/servers.value"): lambda: 24 * 2.5,
    ("MAMT_011", 4, "figures.energy_cost.values.1"): Reference(low=0.24, high=0.24).cost,
    ("MAMT_012", 0, "objective.value"): TODAY.least_cost,
    ("MAMT_013", 5, "figures.energy_cost.values.2"): TODAY.cost,
}
"""By case, number of the call from 0, and path into its answer."""
