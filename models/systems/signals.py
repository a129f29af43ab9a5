"""Sources of disturbances, sensors and controllers as modules."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from engiagent.models.ranges import Floats, ParameterError, not_negative
from engiagent.models.systems.module import Module, Outcome
from engiagent.models.systems.ports import (
    Domain,
    Port,
    State,
    Values,
    WiringError,
    action,
    disturbance,
    observation,
)
from engiagent.models.systems.schedule import PERIOD, Schedule

Rule = Callable[[Mapping[str, float]], Mapping[str, float]]


@dataclass(frozen=True)
class ProfileModule(Module):
    """A source of disturbances that follows a recorded or forecast series, as weather or prices.

    Attributes
    ----------
    values
        One number per period. shape (N,)
    unit, domain
        Of the output ``value``.
    """

    values: npt.ArrayLike
    unit: str
    domain: Domain = "information"

    def __post_init__(self) -> None:
        array = np.asarray(self.values, dtype=np.float64)
        if array.ndim != 1 or not np.isfinite(array).all():
            raise ParameterError(
                f"a profile has the shape {array.shape} or a gap; give one finite number per period"
            )

    @property
    def ports(self) -> tuple[Port, ...]:
        """The value of the period."""
        return (observation("value", self.unit, self.domain, instant=True),)

    @property
    def states(self) -> tuple[State, ...]:
        """The number of the period."""
        return (State(name=PERIOD, unit="1", initial=0.0),)

    def observe(self, state: Values) -> Values:
        """Return the value of the period; after the last one, its value stands."""
        array = np.asarray(self.values, dtype=np.float64)
        return {"value": np.asarray(array[min(round(float(state[PERIOD])), len(array) - 1)])}

    def step(self, state: Values, inputs: Values, step_hours: float) -> Outcome:
        """Go on to the next period."""
        schedule = Schedule({"value": self.values})
        schedule.at(state)
        return Outcome(state=schedule.next(state))


@dataclass(frozen=True, kw_only=True)
class SensorModule(Module):
    """A measurement with a bias and normally distributed noise; the only place for either.

    Attributes
    ----------
    unit
        Of the input ``true`` and the output ``reading``.
    bias
        Of the unit.
    deviation
        Standard deviation of the noise of each period, independent of all others. At least 0.
    """

    unit: str
    bias: float = 0.0
    deviation: float = 0.0

    def __post_init__(self) -> None:
        not_negative(self.deviation, "the deviation of a sensor", self.unit)

    @property
    def ports(self) -> tuple[Port, ...]:
        """What is true and what is read."""
        return (
            disturbance("true", self.unit, "information"),
            observation("reading", self.unit, "information"),
        )

    @property
    def states(self) -> tuple[State, ...]:
        """Key of the noise, drawn at reset, and the number of the period."""
        return (State(name="key", unit="1", initial=0.0), State(name=PERIOD, unit="1", initial=0.0))

    def reset(self, initial: Values, random: np.random.Generator) -> Values:
        """Draw a key, unless one is given."""
        key = np.asarray(float(random.integers(2**53)))
        return super().reset({"key": key, **initial}, random)

    def step(self, state: Values, inputs: Values, step_hours: float) -> Outcome:
        """Return the reading; a function of key and period, so that a run can be repeated."""
        seed = [int(state["key"]), round(float(state[PERIOD]))]
        noise = np.random.default_rng(seed).standard_normal()
        reading = inputs["true"] + self.bias + self.deviation * noise
        return Outcome(
            state={"key": state["key"], PERIOD: state[PERIOD] + 1.0},
            outputs={"reading": np.asarray(reading)},
        )


@dataclass(frozen=True, kw_only=True)
class ControllerModule(Module):
    """A rule without memory from readings to commands.

    Attributes
    ----------
    reads, commands
        Units by port name.
    rule
        A pure function from all readings to all commands.
    """

    reads: Mapping[str, str]
    commands: Mapping[str, str]
    rule: Rule

    @property
    def ports(self) -> tuple[Port, ...]:
        """Readings and commands."""
        return (
            *(disturbance(name, unit, "information") for name, unit in self.reads.items()),
            *(observation(name, unit, "information") for name, unit in self.commands.items()),
        )

    def step(self, state: Values, inputs: Values, step_hours: float) -> Outcome:
        """Return the commands.

        Raises
        ------
        WiringError
            When the rule returns other commands than it promised.
        """
        commands = self.rule({name: float(value) for name, value in inputs.items()})
        if commands.keys() != self.commands.keys():
            raise WiringError(
                f"the rule returned {sorted(commands)}; it promises {sorted(self.commands)}"
            )
        return Outcome(outputs={name: np.asarray(value) for name, value in commands.items()})


@dataclass(frozen=True, kw_only=True)
class ThermostatModule(Module):
    """A two-point controller with hysteresis.

    Attributes
    ----------
    power
        Command when on. At least 0. [kW]
    band
        Between switching on and off, half of it on each side of the set point. At least 0. [K]
    cooling
        True when it switches on above the set point.
    """

    power: float
    band: float = 1.0
    cooling: bool = False

    def __post_init__(self) -> None:
        not_negative(self.power, "the power of a thermostat", "kW")
        not_negative(self.band, "the band of a thermostat", "K")

    @property
    def ports(self) -> tuple[Port, ...]:
        """Reading, set point and command."""
        return (
            disturbance("temperature", "degC", "information"),
            action("set_point", "degC"),
            observation("command", "kW", "information"),
        )

    @property
    def states(self) -> tuple[State, ...]:
        """Whether it is on, 0 or 1."""
        return (State(name="on", unit="1", initial=0.0),)

    def step(self, state: Values, inputs: Values, step_hours: float) -> Outcome:
        """Return the command of the period."""
        excess = float(inputs["temperature"] - inputs["set_point"])
        excess = excess if self.cooling else -excess
        on = float(state["on"])
        if excess >= self.band / 2:
            on = 1.0
        elif excess <= -self.band / 2:
            on = 0.0
        command: Floats = np.asarray(on * self.power)
        return Outcome(state={"on": np.asarray(on)}, outputs={"command": command})


@dataclass(frozen=True, kw_only=True)
class ProportionalIntegralModule(Module):
    """A PI controller that stays between two limits and stops integrating when it reaches them.

    Attributes
    ----------
    unit
        Of reading and set point.
    gain
        Command per unit of error; below 0 where more command lowers the reading. [kW per unit]
    reset_hours
        Integral time. Above 0. [h]
    minimum, maximum
        Limits of the command. [kW]
    """

    unit: str
    gain: float
    reset_hours: float
    maximum: float
    minimum: float = 0.0

    def __post_init__(self) -> None:
        if not self.reset_hours > 0:
            raise ParameterError(f"the integral time is {self.reset_hours} h; give one above 0")
        if not self.minimum <= self.maximum:
            raise ParameterError(
                f"the limits of the command are {self.minimum} to {self.maximum} kW; give them in "
                "rising order"
            )

    @property
    def ports(self) -> tuple[Port, ...]:
        """Reading, set point and command."""
        return (
            disturbance("reading", self.unit, "information"),
            action("set_point", self.unit),
            observation("command", "kW", "information"),
        )

    @property
    def states(self) -> tuple[State, ...]:
        """The integral part of the command."""
        return (State(name="integral", unit="kW", initial=0.0),)

    def step(self, state: Values, inputs: Values, step_hours: float) -> Outcome:
        """Return the command of the period."""
        error = inputs["set_point"] - inputs["reading"]
        integral = state["integral"] + self.gain * error * step_hours / self.reset_hours
        wanted = self.gain * error + integral
        command = np.clip(wanted, self.minimum, self.maximum)
        # At a limit the integral keeps its value, or it would have to unwind first.
        kept = integral if command == wanted else state["integral"]
        return Outcome(
            state={"integral": np.asarray(kept)}, outputs={"command": np.asarray(command)}
        )
