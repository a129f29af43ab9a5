"""The battery behind its converter as a module, one or many."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from engiagent.models.battery_system import BatteryState, BatterySystem
from engiagent.models.systems.module import Module, Outcome, above, units_of
from engiagent.models.systems.ports import Port, State, Values, action, disturbance, observation


@dataclass(frozen=True)
class BatterySystemModule(Module):
    """Batteries with losses by power and a temperature; arrays of parameters make several units.

    ``charge`` and ``discharge`` are actions; ``ambient`` is a disturbance, 20 degC by default.

    Attributes
    ----------
    battery
        The parameters.
    initial
        State after a reset that says nothing else; None when a reset must say it.
    """

    battery: BatterySystem
    initial: BatteryState | None = None

    @property
    def shape(self) -> tuple[int, ...]:
        """() for one battery, (units,) for several."""
        start = () if self.initial is None else np.shape(self.initial.energy)
        return np.broadcast_shapes(start, units_of(self.battery))

    @property
    def ports(self) -> tuple[Port, ...]:
        """Two flows, the ambient, and energy and temperature at the start of the period."""
        shape = self.shape
        return (
            action("charge", domain="electrical", way="takes", shape=shape),
            action("discharge", domain="electrical", way="gives", shape=shape),
            disturbance("ambient", "degC", "thermal", default=20.0),
            observation("energy", "kWh", "electrical", instant=True, shape=shape),
            observation("temperature", "degC", "thermal", instant=True, shape=shape),
        )

    @property
    def states(self) -> tuple[State, ...]:
        """Energy and temperature of the cells."""
        start = self.initial
        return (
            State(
                name="energy",
                unit="kWh",
                shape=self.shape,
                initial=None if start is None else start.energy,
            ),
            State(
                name="temperature",
                unit="degC",
                shape=self.shape,
                initial=20.0 if start is None else start.temperature,
            ),
        )

    def step(self, state: Values, inputs: Values, step_hours: float) -> Outcome:
        """Return the state after the period; heat of cells and converter leaves."""
        before = _state(state)
        charge, discharge = inputs["charge"], inputs["discharge"]
        done = self.battery.step(before, charge, discharge, step_hours, inputs["ambient"])
        elsewhere = (1.0 - np.asarray(self.battery.heat_fraction)) * done.loss
        after = {
            "energy": np.broadcast_to(done.state.energy, self.shape),
            "temperature": np.broadcast_to(done.state.temperature, self.shape),
        }
        low, high = self.battery.energy_range(after["temperature"])
        most_in, most_out = self.battery.power_limits(before)
        return Outcome(
            state=after,
            left={"energy": float((done.heat_to_ambient + elsewhere).sum())},
            violations={
                "charge": above(charge, most_in),
                "discharge": above(discharge, most_out),
                "both": np.minimum(charge, discharge),
                "empty": above(low, after["energy"]),
                "full": above(after["energy"], high),
            },
        )

    def stored(self, state: Values) -> Mapping[str, float]:
        """Return the charge, and the heat of the cells where they have a capacity. [kWh]."""
        capacity = np.asarray(self.battery.heat_capacity, dtype=np.float64)
        heat = np.where(np.isfinite(capacity), capacity, 0.0) * state["temperature"]
        return {"energy": float((state["energy"] + heat).sum())}


def _state(values: Values) -> BatteryState:
    return BatteryState(energy=values["energy"], temperature=values["temperature"])
