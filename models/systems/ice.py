"""Ice storage as modules; what is stored is cold, so that the heat in the books counts below 0."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy.typing as npt

from engiagent.models.storage.ice_tank import IceTankCurves
from engiagent.models.systems.module import Module, Outcome, units_of
from engiagent.models.systems.ports import Port, State, Values, action, disturbance, observation


@dataclass(frozen=True)
class IceTankModule(Module):
    """Ice storage by curves: ``charge`` and ``discharge`` are actions.

    To freeze, the store gives heat to a thermal bus; to melt, it takes heat from one. The limits of
    the curves follow from ``charge_difference`` and ``discharge_difference``, the mean temperature
    differences of the brine.

    Attributes
    ----------
    tank
        The parameters.
    initial
        Cold after a reset that says nothing else; None when a reset must say it. [kWh]
    """

    tank: IceTankCurves
    initial: npt.ArrayLike | None = None

    @property
    def ports(self) -> tuple[Port, ...]:
        """Heat both ways, differences, and the cold at the start of the period."""
        shape = units_of(self.tank)
        return (
            action("charge", domain="thermal", way="gives", default=0.0, shape=shape),
            action("discharge", domain="thermal", way="takes", default=0.0, shape=shape),
            disturbance("charge_difference", "K", "thermal", default=5.0),
            disturbance("discharge_difference", "K", "thermal", default=5.0),
            observation("energy", "kWh", "thermal", instant=True, shape=shape),
        )

    @property
    def states(self) -> tuple[State, ...]:
        """The cold."""
        shape = units_of(self.tank)
        return (State(name="energy", unit="kWh", shape=shape, initial=self.initial),)

    def step(self, state: Values, inputs: Values, step_hours: float) -> Outcome:
        """Return the cold after the period; what melts by itself takes heat from outside."""
        charge, discharge = inputs["charge"], inputs["discharge"]
        energy = state["energy"]
        done = self.tank.step(energy, charge=charge, discharge=discharge, step_hours=step_hours)
        beyond = self.tank.violations(
            energy,
            charge=charge,
            discharge=discharge,
            charge_difference=inputs["charge_difference"],
            discharge_difference=inputs["discharge_difference"],
        )
        # The content counts at the end of the period, the rates by that at its start.
        after = self.tank.violations(
            done.energy, charge=0.0, discharge=0.0, charge_difference=0.0, discharge_difference=0.0
        )
        return Outcome(
            state={"energy": done.energy},
            entered={"energy": float(done.gain.sum())},
            violations={**beyond, "energy": after["energy"]},
        )

    def stored(self, state: Values) -> Mapping[str, float]:
        """Return the heat, below 0 by the cold. [kWh]."""
        return {"energy": -float(state["energy"].sum())}
