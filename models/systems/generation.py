"""Sets that burn fuel as modules; the heat of the fuel enters from the environment."""

from dataclasses import dataclass

import numpy as np

from engiagent.models.chp import ExtractionChp, PartLoadChp
from engiagent.models.genset import Genset, GensetState
from engiagent.models.systems.module import Module, Outcome, above, units_of
from engiagent.models.systems.ports import Port, State, Values, action, observation, output

LONG = 1e6  # hours after which no minimum time binds any more


@dataclass(frozen=True)
class GensetModule(Module):
    """A generating set: ``power`` and ``running`` (0 or 1) are actions.

    A set that stands burns nothing; power that a plan draws from it all the same is a violation,
    and shows as an imbalance of the module.
    """

    genset: Genset

    @property
    def ports(self) -> tuple[Port, ...]:
        """Power, state, fuel and emissions."""
        shape = units_of(self.genset)
        return (
            action("power", domain="electrical", way="gives", shape=shape),
            action("running", "1", shape=shape),
            observation("fuel", "unit/h", "fuel", shape=shape),
            observation("emissions", "kg/h", "information", shape=shape),
            observation("start", "1", "information", shape=shape),
        )

    @property
    def states(self) -> tuple[State, ...]:
        """Whether it ran in the period before, at what power, and since when it runs or stands."""
        shape = units_of(self.genset)
        return (
            State(name="was_running", unit="1", shape=shape, initial=0.0),
            State(name="last_power", unit="kW", shape=shape, initial=0.0),
            State(name="hours", unit="h", shape=shape, initial=LONG),
        )

    def step(self, state: Values, inputs: Values, step_hours: float) -> Outcome:
        """Return fuel, emissions and starts of the period."""
        before = GensetState(
            running=state["was_running"] > 0.5, power=state["last_power"], hours=state["hours"]
        )
        power, running = inputs["power"], inputs["running"]
        after, path = self.genset.step(before, power, running, step_hours)
        beyond = self.genset.excess(power[None], running[None], step_hours, before)
        heat = path.fuel[0] * np.asarray(self.genset.heating_value) / step_hours
        lost = np.where(running > 0.5, heat - power, 0.0)
        return Outcome(
            state={
                "was_running": running,
                "last_power": power,
                "hours": np.asarray(after.hours, dtype=np.float64),
            },
            outputs={
                "fuel": path.fuel[0] / step_hours,
                "emissions": path.emissions[0] / step_hours,
                "start": path.starts[0].astype(np.float64),
            },
            entered={"energy": float(heat.sum())},
            left={"energy": float(lost.sum())},
            violations={name: values[0] for name, values in vars(beyond).items()},
        )


@dataclass(frozen=True)
class PartLoadChpModule(Module):
    """An engine with heat recovery: ``power`` is an action and fixes the ``heat``."""

    chp: PartLoadChp

    @property
    def ports(self) -> tuple[Port, ...]:
        """Power, heat and fuel."""
        return (
            action("power", domain="electrical", way="gives"),
            output("heat", "thermal", way="gives"),
            observation("fuel", "kW", "fuel"),
        )

    def step(self, state: Values, inputs: Values, step_hours: float) -> Outcome:
        """Return heat and fuel of the period."""
        power = inputs["power"]
        done = self.chp.output(power)
        stands = power == 0.0
        return Outcome(
            outputs={"heat": done.heat, "fuel": done.fuel},
            entered={"energy": float(done.fuel)},
            left={"energy": float(done.loss)},
            violations={
                "above_rated": above(power, self.chp.rated_power),
                "below_minimum": np.where(stands, 0.0, above(self.chp.minimum_power, power)),
            },
        )


@dataclass(frozen=True)
class ExtractionChpModule(Module):
    """An extraction turbine: ``power`` and ``heat`` are actions, the fuel follows.

    It stands, and burns nothing, where both are 0.
    """

    chp: ExtractionChp

    @property
    def ports(self) -> tuple[Port, ...]:
        """Power, heat and fuel."""
        return (
            action("power", domain="electrical", way="gives"),
            action("heat", domain="thermal", way="gives"),
            observation("fuel", "kW", "fuel"),
        )

    def step(self, state: Values, inputs: Values, step_hours: float) -> Outcome:
        """Return the fuel of the period."""
        power, heat = inputs["power"], inputs["heat"]
        done = self.chp.output(power, heat)
        runs = bool((power > 0.0) | (heat > 0.0))
        beyond = self.chp.excess(power, heat).max() if runs else 0.0
        return Outcome(
            outputs={"fuel": done.fuel if runs else np.zeros(())},
            entered={"energy": float(done.fuel) if runs else 0.0},
            left={"energy": float(done.loss) if runs else 0.0},
            violations={"region": np.asarray(beyond, dtype=np.float64)},
        )
