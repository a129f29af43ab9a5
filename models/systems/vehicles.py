"""Electric vehicles as a module: charged where they are plugged in, emptied by driving."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from engiagent.models.ev import EvFleet
from engiagent.models.systems.module import Module, Outcome, above
from engiagent.models.systems.ports import Port, State, Values, action, disturbance, observation


@dataclass(frozen=True)
class EvFleetModule(Module):
    """A fleet: ``charge`` and ``discharge`` at the plugs are actions, driving is a disturbance.

    ``distance`` is what each vehicle drives in the period, ``plugged`` the part of the period in
    which it is connected. Powers beyond that part are violations.

    Attributes
    ----------
    fleet
        The vehicles.
    initial_energy
        After a reset that says nothing else; None when a reset must say it. [kWh]
    """

    fleet: EvFleet
    initial_energy: npt.ArrayLike | None = None

    @property
    def ports(self) -> tuple[Port, ...]:
        """Flows, driving, and the energy at the start of the period."""
        shape = (self.fleet.vehicles,)
        return (
            action("charge", domain="electrical", way="takes", shape=shape),
            action("discharge", domain="electrical", way="gives", default=0.0, shape=shape),
            disturbance("distance", "km", "information", default=0.0, shape=shape),
            disturbance("plugged", "1", "information", default=1.0, shape=shape),
            observation("energy", "kWh", "electrical", instant=True, shape=shape),
        )

    @property
    def states(self) -> tuple[State, ...]:
        """The energy of each vehicle."""
        shape = (self.fleet.vehicles,)
        return (State(name="energy", unit="kWh", shape=shape, initial=self.initial_energy),)

    def step(self, state: Values, inputs: Values, step_hours: float) -> Outcome:
        """Return the energy after the period; losses and driving leave."""
        fleet, charge, discharge = self.fleet, inputs["charge"], inputs["discharge"]
        after = fleet.step(state["energy"], charge, discharge, step_hours, inputs["distance"])
        lost = (1.0 - np.asarray(fleet.charge_efficiency)) * charge
        lost = lost + (1.0 / np.asarray(fleet.discharge_efficiency) - 1.0) * discharge
        driven = np.asarray(fleet.consumption) * inputs["distance"] / step_hours
        plugged = inputs["plugged"]
        return Outcome(
            state={"energy": after},
            left={"energy": float((lost + driven).sum())},
            violations={
                "charge": above(charge, plugged * np.asarray(fleet.charge_power_max)),
                "discharge": above(discharge, plugged * np.asarray(fleet.discharge_power_max)),
                "both": np.minimum(charge, discharge),
                "full": above(after, fleet.energy_capacity),
                "empty": above(fleet.minimum_energy, after),
            },
        )

    def stored(self, state: Values) -> Mapping[str, float]:
        """Return the energy of all vehicles. [kWh]."""
        return {"energy": float(state["energy"].sum())}
