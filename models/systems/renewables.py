"""Photovoltaic arrays and wind turbines as modules: weather in, power out."""

from dataclasses import dataclass

import numpy as np

from engiagent.models.pv import PvArray
from engiagent.models.systems.module import Module, Outcome, above, units_of
from engiagent.models.systems.ports import (
    Port,
    State,
    Values,
    action,
    disturbance,
    observation,
    output,
)
from engiagent.models.wind import WindTurbine


@dataclass(frozen=True)
class PvModule(Module):
    """A photovoltaic array; ``curtailed`` is an action, 0 when nobody decides on it.

    ``irradiance`` in its plane, ``air_temperature`` and ``wind_speed`` are disturbances of all
    units.
    """

    array: PvArray

    @property
    def ports(self) -> tuple[Port, ...]:
        """Weather, power and what the inverter draws at night."""
        shape = units_of(self.array)
        return (
            disturbance("irradiance", "W/m²", "information"),
            disturbance("air_temperature", "degC", "information"),
            disturbance("wind_speed", "m/s", "information", default=1.0),
            action("curtailed", default=0.0, shape=shape),
            output("power", "electrical", way="gives", shape=shape),
            output("night_power", "electrical", way="takes", shape=shape),
            observation("available", "kW", "electrical", shape=shape),
            observation("cell_temperature", "degC", "thermal", shape=shape),
        )

    def step(self, state: Values, inputs: Values, step_hours: float) -> Outcome:
        """Return the power of the period."""
        done = self.array.output(
            inputs["irradiance"], inputs["air_temperature"], inputs["wind_speed"]
        )
        power = done.ac_power - inputs["curtailed"]
        return Outcome(
            outputs={
                "power": power,
                "night_power": done.night_power,
                "available": done.ac_power,
                "cell_temperature": np.broadcast_to(done.cell_temperature, power.shape),
            },
            entered={"energy": float(power.sum())},
            left={"energy": float(done.night_power.sum())},
            violations={
                "curtailed": above(inputs["curtailed"], done.ac_power),
                "negative_curtailed": above(-inputs["curtailed"]),
            },
        )


@dataclass(frozen=True)
class WindModule(Module):
    """A wind turbine; ``speed`` at the hub and ``density`` are disturbances.

    Whether a storm has stopped it is its state.
    """

    turbine: WindTurbine

    @property
    def ports(self) -> tuple[Port, ...]:
        """Weather and power."""
        return (
            disturbance("speed", "m/s", "information"),
            disturbance("density", "kg/m³", "information", default=self.turbine.reference_density),
            action("curtailed", default=0.0),
            output("power", "electrical", way="gives"),
            observation("available", "kW", "electrical"),
        )

    @property
    def states(self) -> tuple[State, ...]:
        """Whether it ran in the period before, 0 or 1."""
        return (State(name="running", unit="1", initial=1.0),)

    def step(self, state: Values, inputs: Values, step_hours: float) -> Outcome:
        """Return the power of the period."""
        runs, available = self.turbine.step(
            state["running"] > 0.5, inputs["speed"], inputs["density"]
        )
        power = available - inputs["curtailed"]
        return Outcome(
            state={"running": np.asarray(runs, dtype=np.float64)},
            outputs={"power": power, "available": available},
            entered={"energy": float(power)},
            violations={
                "curtailed": above(inputs["curtailed"], available),
                "negative_curtailed": above(-inputs["curtailed"]),
            },
        )
