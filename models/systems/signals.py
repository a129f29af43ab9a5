"""What stands around units: series, sensors, controllers, surroundings, splitters and water."""

from collections.abc import Callable, Mapping

import numpy as np
import numpy.typing as npt

from engiagent.models.ranges import ParameterError, not_negative, positive
from engiagent.models.systems.module import (
    QUANTITIES,
    Domain,
    Module,
    Outcome,
    State,
    Values,
    WiringError,
    above,
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

    Parameters
    ----------
    power
        Command when on. At least 0. [kW]
    band
        Between switching on and off, half of it on each side of the set point. At least 0. [K]
    cooling
        True when it switches on above the set point.
    """
    not_negative(power, "the power of a thermostat", "kW")
    not_negative(band, "the band of a thermostat", "K")

    def step(state: Values, inputs: Values, step_hours: float) -> Outcome:
        excess = float(inputs["temperature"] - inputs["set_point"]) * (1.0 if cooling else -1.0)
        on = float(state["on"])
        if abs(excess) >= band / 2:
            on = float(excess >= band / 2)
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


def proportional_integral(
    unit: str, *, gain: float, reset_hours: float, maximum: float, minimum: float = 0.0
) -> Module:
    """Return a PI controller that stays between limits and stops integrating at them.

    Parameters
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
    if not reset_hours > 0:
        raise ParameterError(f"the integral time is {reset_hours} h; give one above 0")
    if not minimum <= maximum:
        raise ParameterError(
            f"the limits of the command are {minimum} to {maximum} kW; give them in rising order"
        )

    def step(state: Values, inputs: Values, step_hours: float) -> Outcome:
        error = inputs["set_point"] - inputs["reading"]
        integral = state["integral"] + gain * error * step_hours / reset_hours
        wanted = gain * error + integral
        command = np.clip(wanted, minimum, maximum)
        # At a limit the integral keeps its value, or it would have to unwind first.
        settled = integral if command == wanted else state["integral"]
        return Outcome(
            state={"integral": np.asarray(settled)}, outputs={"command": np.asarray(command)}
        )

    return Module(
        ports=(
            disturbance("reading", unit, "information"),
            action("set_point", unit),
            observation("command", "kW", "information"),
        ),
        states=(State("integral", "kW", 0.0),),
        step=step,
    )


def surroundings(domain: Domain, unit: str = "kW") -> Module:
    """Return what gives or takes whatever a bus leaves: ambient air, ground, a large network."""
    quantity = QUANTITIES[unit][0]
    return Module(
        ports=(balance("exchange", domain, "gives", unit=unit),),
        step=lambda state, inputs, hours: Outcome(entered={quantity: float(inputs["exchange"])}),
    )


def splitter(domain: Domain, shares: Mapping[str, float], unit: str = "kW") -> Module:
    """Return what divides the rest of one bus among others; ``shares`` by output add up to 1."""
    for name, share in shares.items():
        not_negative(share, f"the share of {name}", "of the whole")
    if not abs(sum(shares.values()) - 1.0) <= 1e-12:
        raise ParameterError(
            f"the shares add up to {sum(shares.values())}; give shares that add up to 1"
        )
    return Module(
        ports=(
            balance("whole", domain, "takes", unit=unit),
            *(observation(name, unit, domain, way="gives") for name in shares),
        ),
        step=lambda state, inputs, hours: Outcome(
            outputs={name: share * inputs["whole"] for name, share in shares.items()}
        ),
    )


def water_store(capacity: float, initial: float | None = None) -> Module:
    """Return a reservoir [kg]: takes what is left on one bus, below 0 where it serves it."""
    positive(capacity, "the capacity of the reservoir", "kg", "5000")

    def step(state: Values, inputs: Values, step_hours: float) -> Outcome:
        after = state["content"] + 3600.0 * step_hours * inputs["filling"]
        return Outcome(
            state={"content": after},
            violations={"overfull": above(after, capacity), "empty": above(-after)},
        )

    return Module(
        ports=(
            balance("filling", "water", "takes", unit="kg/s"),
            observation("content", "kg", "water", instant=True),
        ),
        states=(State("content", "kg", initial),),
        step=step,
        stored=lambda state: {"water": float(state["content"])},
    )


def water_supply(flow_max: float = np.inf) -> Module:
    """Return the mains or a well: ``flow`` is an action and enters from the environment."""
    return Module(
        ports=(action("flow", "kg/s", "water", way="gives"),),
        step=lambda state, inputs, hours: Outcome(
            entered={"water": float(inputs["flow"])},
            violations={
                "flow": above(inputs["flow"], flow_max),
                "negative_flow": above(-inputs["flow"]),
            },
        ),
    )


def water_use() -> Module:
    """Return a use of water: ``flow`` is a disturbance and leaves to the environment."""
    return Module(
        ports=(disturbance("flow", "kg/s", "water", way="takes"),),
        step=lambda state, inputs, hours: Outcome(left={"water": float(inputs["flow"])}),
    )
