"""What stands around units: series, sensors, controllers and surroundings."""

from collections.abc import Callable, Mapping

import numpy as np
import numpy.typing as npt

from engiagent.models.ranges import ParameterError, not_negative
from engiagent.models.systems.module import (
    Domain,
    Module,
    Outcome,
    State,
    Values,
    WiringError,
    action,
    balance,
    disturbance,
    observation,
)

PERIOD = State("period", "1", 0.0)
Rule = Callable[[Mapping[str, float]], Mapping[str, float]]


def profile(values: npt.ArrayLike, unit: str, domain: Domain = "information") -> Module:
    """Return a source of disturbances that follows a series, as weather or prices, shape (N,)."""
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 1 or not np.isfinite(array).all():
        raise ParameterError(
            f"a profile has the shape {array.shape} or a gap; give one finite number per period"
        )

    def observe(state: Values) -> Values:
        # After the last period its value stands.
        return {"value": np.asarray(array[min(round(float(state["period"])), len(array) - 1)])}

    def step(state: Values, inputs: Values, step_hours: float) -> Outcome:
        period = round(float(state["period"]))
        if period >= len(array):
            raise ParameterError(
                f"the series has {len(array)} periods and period {period} is asked for; give a "
                "longer series or run fewer periods"
            )
        return Outcome(state={"period": state["period"] + 1.0})

    port = observation("value", unit, domain, instant=True)
    return Module(ports=(port,), states=(PERIOD,), step=step, observe=observe)


def sensor(unit: str, *, bias: float = 0.0, deviation: float = 0.0) -> Module:
    """Return a measurement with a bias and normally distributed noise; the only place for either.

    ``deviation`` is the standard deviation of the noise of each period, at least 0.
    """
    not_negative(deviation, "the deviation of a sensor", unit)

    def step(state: Values, inputs: Values, step_hours: float) -> Outcome:
        # The noise is a function of key and period, so that a run can be repeated.
        seed = [int(state["key"]), round(float(state["period"]))]
        noise = np.random.default_rng(seed).standard_normal()
        return Outcome(
            state={"key": state["key"], "period": state["period"] + 1.0},
            outputs={"reading": np.asarray(inputs["true"] + bias + deviation * noise)},
        )

    return Module(
        ports=(
            disturbance("true", unit, "information"),
            observation("reading", unit, "information"),
        ),
        states=(State("key", "1", 0.0), PERIOD),
        step=step,
        draw=lambda random: {"key": np.asarray(float(random.integers(2**53)))},
    )


def controller(reads: Mapping[str, str], commands: Mapping[str, str], rule: Rule) -> Module:
    """Return a rule without memory: a pure function from all readings to all commands.

    ``reads`` and ``commands`` are units by port name.
    """

    def step(state: Values, inputs: Values, step_hours: float) -> Outcome:
        given = rule({name: float(value) for name, value in inputs.items()})
        if given.keys() != commands.keys():
            raise WiringError(f"the rule returned {sorted(given)}; it promises {sorted(commands)}")
        return Outcome(outputs={name: np.asarray(value) for name, value in given.items()})

    ports = (
        *(disturbance(name, unit, "information") for name, unit in reads.items()),
        *(observation(name, unit, "information") for name, unit in commands.items()),
    )
    return Module(ports=ports, step=step)


def thermostat(power: float, *, band: float = 1.0, cooling: bool = False) -> Module:
    """Return a two-point controller with hysteresis.

    ``power``: command when on. At least 0. [kW] ``band``: between switching on and off, half of it
    on each side of the set point. At least 0. [K] ``cooling``: True when it switches on above the
    set point.
    """
    not_negative(power, "the power of a thermostat", "kW")
    not_negative(band, "the band of a thermostat", "K")

    def step(state: Values, inputs: Values, step_hours: float) -> Outcome:
        here, middle = float(inputs["temperature"]), float(inputs["set_point"])
        low, high = middle - band / 2, middle + band / 2
        on = float(two_point(state["on"] > 0, here, low, high, cooling=cooling))
        return Outcome(state={"on": np.asarray(on)}, outputs={"command": np.asarray(on * power)})

    return Module(
        ports=(
            disturbance("temperature", "degC", "information"),
            action("set_point", "degC"),
            observation("command", "kW", "information"),
        ),
        states=(State("on", "1", 0.0),),
        step=step,
    )


def two_point(
    runs: bool, temperature: float, low: float, high: float, *, cooling: bool = False
) -> bool:
    """Return whether a two-point controller runs: it starts beyond one limit, stops at the other.

    Examples
    --------
    >>> [two_point(runs, 20.5, 20.0, 21.0) for runs in (False, True)]
    [False, True]
    """
    if cooling:
        return temperature > low and (runs or temperature > high)
    return temperature < high and (runs or temperature < low)


def surroundings(domain: Domain) -> Module:
    """Return what gives or takes whatever a bus leaves: ambient air, ground, a large network."""
    return Module(
        ports=(balance("exchange", "kW", domain, way="gives"),),
        step=lambda state, inputs, hours: Outcome(entered=float(inputs["exchange"])),
    )
