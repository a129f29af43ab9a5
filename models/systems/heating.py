"""Thermal units as modules: rooms of a building, heater and cooler."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from engiagent.models.conversion import Cooler, Heater
from engiagent.models.ranges import Floats, ParameterError
from engiagent.models.systems.module import Module, Outcome, above
from engiagent.models.systems.ports import (
    Port,
    State,
    Values,
    Way,
    action,
    balance,
    disturbance,
    observation,
    output,
)
from engiagent.models.systems.schedule import Schedule
from engiagent.models.thermal import ThermalNetwork, ThermalScheme


@dataclass(frozen=True)
class _Stepping:
    """``T[n+1] = transition T[n] + drive u`` and the mean temperature of the period likewise."""

    transition: Floats
    drive: Floats
    mean_transition: Floats
    mean_drive: Floats


@dataclass(frozen=True)
class RoomsModule(Module):
    """Rooms of a thermal network.

    Each room has a ``temperature`` (the state, read at the start of the period), ``heating`` and
    ``cooling`` that balance a thermal bus each, and ``gains``, a disturbance; ``ambient`` is a
    disturbance of all. Where there are several rooms, their names stand in front, as in
    ``office.heating``; one room goes without.

    Attributes
    ----------
    network
        The rooms.
    scheme
        Of discretisation.
    planned
        True when ``heating`` and ``cooling`` are actions that need no bus: heat of ideal emitters,
        which enters from the environment and leaves to it.
    """

    network: ThermalNetwork
    scheme: ThermalScheme = "exact"
    planned: bool = False
    stepping: _Stepping | None = field(default=None, repr=False)

    @property
    def prefixes(self) -> tuple[str, ...]:
        """What stands before the port names of each room."""
        zones = self.network.zones
        return ("",) if len(zones) == 1 else tuple(f"{zone.name}." for zone in zones)

    @property
    def ports(self) -> tuple[Port, ...]:
        """Those of each room, and the ambient temperature."""
        return (
            disturbance("ambient", "degC", "thermal"),
            *(
                port
                for room in self.prefixes
                for port in (
                    self._emitter(f"{room}heating", "takes"),
                    self._emitter(f"{room}cooling", "gives"),
                    disturbance(f"{room}gains", "kW", "thermal", default=0.0),
                    observation(f"{room}temperature", "degC", "thermal", instant=True),
                )
            ),
        )

    def _emitter(self, name: str, way: Way) -> Port:
        if self.planned:
            return action(name, default=0.0)
        return balance(name, "thermal", way=way)

    @property
    def states(self) -> tuple[State, ...]:
        """The temperatures."""
        return tuple(
            State(name=f"{room}temperature", unit="degC", initial=zone.initial_temperature)
            for room, zone in zip(self.prefixes, self.network.zones, strict=True)
        )

    def initialize(self, step_hours: float) -> "RoomsModule":
        """Discretise the network for this step."""
        transition, drive = self.network.discretise(step_hours, self.scheme)
        count = len(self.network.zones)
        unit, nothing = np.eye(count), np.zeros_like(drive)
        if self.scheme == "exact":
            mean, mean_drive = self._exact_mean(step_hours)
        elif self.scheme == "euler":  # the loss of a period is that of its start
            mean, mean_drive = unit, nothing
        else:  # and that of its end
            mean, mean_drive = transition, drive
        return replace(self, stepping=_Stepping(transition, drive, mean, mean_drive))

    def _exact_mean(self, step_hours: float) -> tuple[Floats, Floats]:
        """Integrals of the exponential and of its integral, from one larger exponential."""
        from scipy.linalg import expm

        count = len(self.network.zones)
        chain = np.zeros((3 * count, 3 * count))
        chain[:count, :count] = self.network.state_matrix * step_hours
        chain[:count, count : 2 * count] = chain[count : 2 * count, 2 * count :] = np.eye(count)
        powers = np.asarray(expm(chain)[:count], dtype=np.float64)
        first, second = powers[:, count : 2 * count], powers[:, 2 * count :]
        return first, np.asarray(step_hours * second @ self.network.input_matrix)

    def step(self, state: Values, inputs: Values, step_hours: float) -> Outcome:
        """Return the temperatures after the period and the heat lost to the ambient in it."""
        if self.stepping is None:
            raise ParameterError("the rooms are not initialized for a length of step")
        before = self._vector(state, "temperature")
        heating, cooling = self._vector(inputs, "heating"), self._vector(inputs, "cooling")
        gains = self._vector(inputs, "gains")
        drive = np.concatenate(([float(inputs["ambient"])], heating - cooling + gains))
        after = self.stepping.transition @ before + self.stepping.drive @ drive
        mean = self.stepping.mean_transition @ before + self.stepping.mean_drive @ drive
        resistance = np.array([zone.resistance for zone in self.network.zones])
        return Outcome(
            state={
                f"{room}temperature": value
                for room, value in zip(self.prefixes, after, strict=True)
            },
            entered={"energy": float(gains.sum() + self.planned * heating.sum())},
            left={
                "energy": float(
                    ((mean - drive[0]) / resistance).sum() + self.planned * cooling.sum()
                )
            },
        )

    def stored(self, state: Values) -> Mapping[str, float]:
        """Return the heat above 0 degC. [kWh]."""
        capacitance = np.array([zone.capacitance for zone in self.network.zones])
        return {"energy": float(capacitance @ self._vector(state, "temperature"))}

    def _vector(self, values: Values, name: str) -> Floats:
        return np.array([float(values[f"{room}{name}"]) for room in self.prefixes])


@dataclass(frozen=True)
class HeaterModule(Module):
    """A heater or heat pump: ``electric_power`` is an action, ``heat`` goes to a thermal bus."""

    heater: Heater

    @property
    def ports(self) -> tuple[Port, ...]:
        """What goes in and out, and the coefficient of performance."""
        return (
            action("electric_power", domain="electrical", way="takes"),
            output("heat", "thermal", way="gives"),
            observation("cop", "1", "thermal"),
        )

    @property
    def states(self) -> tuple[State, ...]:
        """The number of the period when the coefficient of performance is a series."""
        return self._schedule.states

    @property
    def _schedule(self) -> Schedule:
        return Schedule({"cop": self.heater.cop})

    def step(self, state: Values, inputs: Values, step_hours: float) -> Outcome:
        """Return the heat; what it exceeds the electric power by enters from the ambient."""
        electric, cop = inputs["electric_power"], self._schedule.at(state)["cop"]
        heat = cop * electric
        return Outcome(
            state=self._schedule.next(state),
            outputs={"heat": heat, "cop": cop},
            entered={"energy": float(np.maximum(heat - electric, 0.0))},
            left={"energy": float(np.maximum(electric - heat, 0.0))},
            violations=_power_limits(electric, self.heater.electric_power_max),
        )


@dataclass(frozen=True)
class CoolerModule(Module):
    """A cooler: ``electric_power`` is an action, ``cooling`` is taken from a thermal bus."""

    cooler: Cooler

    @property
    def ports(self) -> tuple[Port, ...]:
        """What goes in, and the coefficient of performance."""
        return (
            action("electric_power", domain="electrical", way="takes"),
            output("cooling", "thermal", way="takes"),
            observation("cop", "1", "thermal"),
        )

    @property
    def states(self) -> tuple[State, ...]:
        """The number of the period when the coefficient of performance is a series."""
        return self._schedule.states

    @property
    def _schedule(self) -> Schedule:
        return Schedule({"cop": self.cooler.cop})

    def step(self, state: Values, inputs: Values, step_hours: float) -> Outcome:
        """Return the cooling; it leaves to the ambient with the electric power."""
        electric, cop = inputs["electric_power"], self._schedule.at(state)["cop"]
        cooling = cop * electric
        return Outcome(
            state=self._schedule.next(state),
            outputs={"cooling": cooling, "cop": cop},
            left={"energy": float(cooling + electric)},
            violations=_power_limits(electric, self.cooler.electric_power_max),
        )


def _power_limits(power: Floats, limit: float) -> dict[str, Floats]:
    return {"electric_power": above(power, limit), "negative_power": above(-power)}
