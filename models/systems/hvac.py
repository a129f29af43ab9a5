"""Heat pump, chiller and boiler as modules: a load is asked for, and served as far as that goes.

The power that serves a load depends on temperatures, which are disturbances here and may be read
from rooms, tanks or weather. What of a load is above the capacity is a violation ``unmet``.
"""

from dataclasses import dataclass

import numpy as np

from engiagent.models.hvac.boiler import Boiler
from engiagent.models.hvac.chiller import Chiller
from engiagent.models.hvac.curves import Mask
from engiagent.models.hvac.heat_pump import HeatPump
from engiagent.models.ranges import Floats
from engiagent.models.systems.module import Module, Outcome, units_of
from engiagent.models.systems.ports import Port, Values, action, disturbance, observation, output


@dataclass(frozen=True)
class HeatPumpModule(Module):
    """A heat pump: ``load`` is an action; ``source`` and ``sink`` are temperatures.

    Attributes
    ----------
    pump
        The parameters.
    source_bus
        True when the heat of the source comes over a thermal bus, as from a ground loop; else it
        enters from the environment.
    """

    pump: HeatPump
    source_bus: bool = False

    @property
    def ports(self) -> tuple[Port, ...]:
        """Load and temperatures; heat, power and performance."""
        shape = units_of(self.pump)
        source = output("source_heat", "thermal", way="takes", shape=shape)
        outside = observation("source_heat", "kW", "thermal", shape=shape)
        return (
            action("load", shape=shape),
            disturbance("source", "degC", "thermal"),
            disturbance("sink", "degC", "thermal"),
            output("heat", "thermal", way="gives", shape=shape),
            output("electric_power", "electrical", way="takes", shape=shape),
            source if self.source_bus else outside,
            observation("cop", "1", "thermal", shape=shape),
            observation("part_load_ratio", "1", "thermal", shape=shape),
        )

    def step(self, state: Values, inputs: Values, step_hours: float) -> Outcome:
        """Return heat and power of the period."""
        load, source, sink = inputs["load"], inputs["source"], inputs["sink"]
        done = self.pump.operate(load, source=source, sink=sink)
        return Outcome(
            outputs={
                "heat": done.heat,
                "electric_power": done.power,
                "source_heat": done.source_heat,
                "cop": done.cop,
                "part_load_ratio": done.part_load_ratio,
            },
            entered={"energy": 0.0 if self.source_bus else float(done.source_heat.sum())},
            left={"energy": float(done.loss.sum())},
            violations={
                "unmet": done.unmet,
                "out_of_map": _outside(self.pump.cop_map.valid(source, sink)),
            },
        )


@dataclass(frozen=True)
class ChillerModule(Module):
    """A chiller: ``load`` is an action; ``leaving`` and ``entering`` are temperatures.

    Attributes
    ----------
    chiller
        The parameters.
    condenser_bus
        True when the condenser gives its heat to a thermal bus, as to a cooling tower; else it
        leaves to the environment.
    """

    chiller: Chiller
    condenser_bus: bool = False

    @property
    def ports(self) -> tuple[Port, ...]:
        """Load and temperatures; cooling, power and the heat of the condenser."""
        shape = units_of(self.chiller)
        condenser = output("heat_rejected", "thermal", way="gives", shape=shape)
        outside = observation("heat_rejected", "kW", "thermal", shape=shape)
        return (
            action("load", shape=shape),
            disturbance("leaving", "degC", "thermal"),
            disturbance("entering", "degC", "thermal"),
            output("cooling", "thermal", way="takes", shape=shape),
            output("electric_power", "electrical", way="takes", shape=shape),
            condenser if self.condenser_bus else outside,
            observation("part_load_ratio", "1", "thermal", shape=shape),
        )

    def step(self, state: Values, inputs: Values, step_hours: float) -> Outcome:
        """Return cooling and power of the period."""
        load, leaving, entering = inputs["load"], inputs["leaving"], inputs["entering"]
        done = self.chiller.operate(load, leaving=leaving, entering=entering)
        fits = self.chiller.capacity_curve.valid(leaving, entering)
        outside = 0.0 if self.condenser_bus else float(done.heat_rejected.sum())
        return Outcome(
            outputs={
                "cooling": done.cooling,
                "electric_power": done.power,
                "heat_rejected": done.heat_rejected,
                "part_load_ratio": done.part_load_ratio,
            },
            left={"energy": float(done.loss.sum()) + outside},
            violations={
                "unmet": done.unmet,
                "out_of_map": _outside(fits & self.chiller.eir_curve.valid(leaving, entering)),
            },
        )


@dataclass(frozen=True)
class BoilerModule(Module):
    """A boiler: ``load`` is an action, ``water`` its temperature; the fuel enters."""

    boiler: Boiler

    @property
    def ports(self) -> tuple[Port, ...]:
        """Load and temperature; heat, fuel and efficiency."""
        shape = units_of(self.boiler)
        return (
            action("load", shape=shape),
            disturbance("water", "degC", "thermal"),
            output("heat", "thermal", way="gives", shape=shape),
            observation("fuel", "kW", "fuel", shape=shape),
            observation("efficiency", "1", "thermal", shape=shape),
        )

    def step(self, state: Values, inputs: Values, step_hours: float) -> Outcome:
        """Return heat and fuel of the period."""
        done = self.boiler.operate(inputs["load"], temperature=inputs["water"])
        return Outcome(
            outputs={"heat": done.heat, "fuel": done.fuel, "efficiency": done.efficiency},
            entered={"energy": float(done.fuel.sum())},
            left={"energy": float(done.loss.sum())},
            violations={"unmet": done.unmet},
        )


def _outside(valid: Mask) -> Floats:
    """Return 1 where the temperatures are beyond what a map was measured for, 0 elsewhere."""
    return np.asarray(~np.asarray(valid), dtype=np.float64)
