"""Heat networks of any size as modules: nodes with and without mass, any boundaries."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from engiagent.models.buildings.network import HeatNetwork
from engiagent.models.buildings.stepping import Discretised
from engiagent.models.ranges import Floats, ParameterError
from engiagent.models.systems.module import Module, Outcome
from engiagent.models.systems.ports import Port, State, Values, balance, disturbance, observation


@dataclass(frozen=True)
class HeatNetworkModule(Module):
    """A heat network whose ``rooms`` can be heated, cooled and read.

    Each boundary is a disturbance by its name. Each room has ``heating`` and ``cooling``, which
    balance a thermal bus each, the disturbance ``gains``, the ``temperature`` at the start of the
    period and its ``mean_temperature`` over the period. A room without mass is read as it was at
    the end of the period before.

    Attributes
    ----------
    network
        The nodes and links.
    rooms
        Names of nodes that take part in the system.
    """

    network: HeatNetwork
    rooms: tuple[str, ...]
    stepping: Discretised | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        unknown = [room for room in self.rooms if room not in self.network.index]
        if unknown:
            raise ParameterError(
                f"there is no node {unknown[0]!r} for a room; "
                f"known: {', '.join(list(self.network.index)[:20])}"
            )

    @property
    def ports(self) -> tuple[Port, ...]:
        """Boundaries, and the ports of each room."""
        return (
            *(disturbance(name, "degC", "thermal") for name in self.network.boundaries),
            *(
                port
                for room in self.rooms
                for port in (
                    balance(f"{room}.heating", "thermal", way="takes"),
                    balance(f"{room}.cooling", "thermal", way="gives"),
                    disturbance(f"{room}.gains", "kW", "thermal", default=0.0),
                    observation(f"{room}.temperature", "degC", "thermal", instant=True),
                    observation(f"{room}.mean_temperature", "degC", "thermal"),
                )
            ),
        )

    @property
    def states(self) -> tuple[State, ...]:
        """Temperatures of all nodes with mass and of all rooms."""
        return tuple(
            State(name=f"{node.name}.temperature", unit="degC", initial=node.initial_temperature)
            for node in self.network.nodes
            if node.capacity > 0 or node.name in self.rooms
        )

    def initialize(self, step_hours: float) -> "HeatNetworkModule":
        """Discretise the network for this step."""
        return replace(self, stepping=self.network.discretise(step_hours))

    def observe(self, state: Values) -> Values:
        """Return the temperatures of the rooms."""
        return {f"{room}.temperature": state[f"{room}.temperature"] for room in self.rooms}

    def step(self, state: Values, inputs: Values, step_hours: float) -> Outcome:
        """Return the temperatures after the period and the heat lost to the boundaries in it."""
        if self.stepping is None:
            raise ParameterError("the network is not initialized for a length of step")
        heat = np.zeros(len(self.network.nodes))
        gains = 0.0
        for room in self.rooms:
            gain = float(inputs[f"{room}.gains"])
            supply = inputs[f"{room}.heating"] - inputs[f"{room}.cooling"]
            heat[self.network.index[room]] = float(supply) + gain
            gains += gain
        boundary = [float(inputs[name]) for name in self.network.boundaries]
        drive = np.concatenate((boundary, heat))
        before = self._mass(state)
        after = self.stepping.transition @ before + self.stepping.drive @ drive
        mean = self.stepping.mean_transition @ before + self.stepping.mean_drive @ drive
        # Nodes without mass follow from the others, at an instant as in the mean.
        whole, mean = (
            self.stepping.spread @ mass + self.stepping.direct @ drive for mass in (after, mean)
        )
        names = [node.name for node in self.network.nodes]
        found = dict(zip(names, whole, strict=True))
        return Outcome(
            state={s.name: found[s.name.removesuffix(".temperature")] for s in self.states},
            outputs={
                f"{room}.mean_temperature": mean[self.network.index[room]] for room in self.rooms
            },
            entered={"energy": gains},
            left={"energy": self._lost(mean, np.array(boundary))},
        )

    def stored(self, state: Values) -> Mapping[str, float]:
        """Return the heat above 0 degC. [kWh]."""
        capacities = self.network.capacities
        return {"energy": float(capacities[capacities > 0] @ self._mass(state))}

    def _mass(self, state: Values) -> Floats:
        heavy = (node for node in self.network.nodes if node.capacity > 0)
        return np.array([float(state[f"{node.name}.temperature"]) for node in heavy])

    def _lost(self, mean: Floats, boundary: Floats) -> float:
        """Return the heat that the nodes lose through all links; among themselves it cancels."""
        one, other = self.network.ends
        wide = np.concatenate((mean, boundary))
        flow = (wide[one] - wide[other]) * self.network.conductances
        count = len(mean)
        both = np.array([not link.one_way for link in self.network.links], dtype=bool)
        return float(flow[(one < count) & both].sum() - flow[other < count].sum())
