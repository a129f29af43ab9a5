r"""Heat that keeps set points in a heat network: the needs of an ideal plant with limits.

Over a step the sensed temperatures at its end are linear in the loads, :math:`\theta = \theta_0 +
G q`. A load is 0 between the set points, else what holds the nearer one, at most its limit; with
several thermostats this is a complementarity problem, solved by projected Gauss–Seidel.

Source: ISO 52016-1:2017, 6.5.5.2 (free floating first, then the load to the set point, then its
limit); for the complementarity O. L. Mangasarian, doi:10.1007/BF01268170.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from engiagent.models.buildings.network import HeatNetwork
from engiagent.models.parameters import numbers, within
from engiagent.models.ranges import Floats, ParameterError, steps

_SWEEPS = 10_000


@dataclass(frozen=True, kw_only=True)
class Thermostat:
    """Where a load is measured, where it enters and what it holds.

    Attributes
    ----------
    sensor
        Weights of nodes in the sensed temperature, adding up to 1.
    emitter
        Shares of the load by node, adding up to 1.
    heating_setpoint, cooling_setpoint
        Number or shape (N,), infinite for none. [degC]
    heating_power_max, cooling_power_max
        At least 0. [kW]
    """

    sensor: Mapping[str, float]
    emitter: Mapping[str, float]
    heating_setpoint: npt.ArrayLike = -np.inf
    cooling_setpoint: npt.ArrayLike = np.inf
    heating_power_max: float = np.inf
    cooling_power_max: float = np.inf

    def __post_init__(self) -> None:
        within(self.heating_power_max, "the heating limit", "kW", low=0.0, finite=False)
        within(self.cooling_power_max, "the cooling limit", "kW", low=0.0, finite=False)
        low = numbers(self.heating_setpoint, "the set point for heating", finite=False)
        high = numbers(self.cooling_setpoint, "the set point for cooling", finite=False)
        if (low > high).any():
            raise ParameterError(
                "a set point for heating lies above the one for cooling; swap them"
            )
        for weights, what in ((self.sensor, "sensor"), (self.emitter, "emitter")):
            within(list(weights.values()), f"a share of the {what}", "-", low=0.0)
            total = sum(weights.values())
            if abs(total - 1.0) > 1e-9:
                raise ParameterError(f"the shares of the {what} add up to {total:g}; give 1")


@dataclass(frozen=True)
class HeldRun:
    """What a network does under thermostats.

    Attributes
    ----------
    temperature
        At the instants, shape (N+1, nodes); nodes without mass at the first as :class:`HeatRun`.
        [degC]
    mean_temperature
        Shape (N, nodes). [degC]
    sensed
        At the end of each period, shape (N, thermostats). [degC]
    heating, cooling
        Mean loads, shape (N, thermostats). [kW]
    """

    temperature: Floats
    mean_temperature: Floats
    sensed: Floats
    heating: Floats
    cooling: Floats


@dataclass(frozen=True)
class _Step:
    """The matrices of one length of step."""

    transition: Floats
    drive: Floats
    mean_transition: Floats
    mean_drive: Floats
    spread: Floats
    direct: Floats
    sensed_by_mass: Floats = field(repr=False)
    sensed_by_input: Floats = field(repr=False)


def hold(
    network: HeatNetwork,
    thermostats: Sequence[Thermostat],
    boundary: Mapping[str, npt.ArrayLike],
    step_hours: npt.ArrayLike,
    heat: Mapping[str, npt.ArrayLike] | None = None,
    *,
    initial: npt.ArrayLike | Mapping[str, float] | None = None,
) -> HeldRun:
    """Return loads and temperatures when the thermostats hold their set points.

    Parameters are those of :meth:`HeatNetwork.simulate`; ``heat`` is what comes besides.

    Raises
    ------
    ParameterError
        When names are unknown, shapes do not fit, or thermostats work against each other so that
        no loads exist.
    """
    inputs = network.inputs(boundary, heat or {}, step_hours)
    hours = steps(step_hours, len(inputs))
    low, high = (
        np.column_stack([_series(getattr(t, name), len(inputs), name) for t in thermostats])
        for name in ("heating_setpoint", "cooling_setpoint")
    )
    emitters = np.zeros((inputs.shape[1], len(thermostats)))
    sensors = np.zeros((len(thermostats), len(network.nodes)))
    for number, thermostat in enumerate(thermostats):
        for name, share in thermostat.emitter.items():
            emitters[len(network.boundaries) + _place(network, name), number] += share
        for name, weight in thermostat.sensor.items():
            sensors[number, _place(network, name)] += weight
    different, which = np.unique(hours, return_inverse=True)
    table = [_step(network, float(step), sensors) for step in different]
    limits = (
        np.array([t.heating_power_max for t in thermostats]),
        np.array([t.cooling_power_max for t in thermostats]),
    )
    loads = np.zeros((len(inputs), len(thermostats)))
    mass = np.empty((len(inputs) + 1, len(table[0].transition)))
    mass[0] = network.initial_mass(initial)
    for k, number in enumerate(which):  # loads depend on the state, so that steps follow each other
        step = table[number]
        free = step.sensed_by_mass @ mass[k] + step.sensed_by_input @ inputs[k]
        gain = step.sensed_by_input @ emitters
        loads[k] = _complement(free, gain, (low[k], high[k]), limits)
        inputs[k] += emitters @ loads[k]
        mass[k + 1] = step.transition @ mass[k] + step.drive @ inputs[k]
    return _report(table, which, mass, inputs, loads, sensors)


def _report(
    table: Sequence[_Step],
    which: npt.NDArray[np.intp],
    mass: Floats,
    inputs: Floats,
    loads: Floats,
    sensors: Floats,
) -> HeldRun:
    spread, direct = table[0].spread, table[0].direct
    mean = np.empty((len(inputs), len(spread)))
    for number, step in enumerate(table):
        chosen = which == number
        heavy = mass[:-1][chosen] @ step.mean_transition.T + inputs[chosen] @ step.mean_drive.T
        mean[chosen] = heavy @ spread.T + inputs[chosen] @ direct.T
    ends = inputs[np.r_[0, : len(inputs)]]
    temperature = mass @ spread.T + ends @ direct.T
    sensed = temperature[1:] @ sensors.T
    return HeldRun(temperature, mean, sensed, np.maximum(loads, 0.0), np.maximum(-loads, 0.0))


def _step(network: HeatNetwork, hours: float, sensors: Floats) -> _Step:
    d = network.discretise(hours)
    seen = sensors @ d.spread
    return _Step(
        d.transition,
        d.drive,
        d.mean_transition,
        d.mean_drive,
        d.spread,
        d.direct,
        seen @ d.transition,
        seen @ d.drive + sensors @ d.direct,
    )


def _complement(
    free: Floats, gain: Floats, setpoints: tuple[Floats, Floats], limits: tuple[Floats, Floats]
) -> Floats:
    """Return the loads, positive for heating."""
    (low, high), (heat_max, cool_max) = setpoints, limits
    load, own = np.zeros_like(free), np.diag(gain)
    if not (own > 0).all():
        raise ParameterError("a thermostat does not feel its own emitter; let both be in one room")
    for _ in range(_SWEEPS):
        change = 0.0
        for i in range(len(free)):
            rest = free[i] + gain[i] @ load - own[i] * load[i]
            up = min(max((low[i] - rest) / own[i], 0.0), heat_max[i])
            down = min(max((rest - high[i]) / own[i], 0.0), cool_max[i])
            change = max(change, abs(up - down - load[i]) * own[i])
            load[i] = up - down
        if change <= 1e-11:
            return load
    raise ParameterError(
        f"no loads hold the set points after {_SWEEPS} sweeps; emitters warm the rooms of other "
        "thermostats more than their own"
    )


def _place(network: HeatNetwork, name: str) -> int:
    if name not in network.index:
        raise ParameterError(
            f"a thermostat names {name!r}; known nodes: {', '.join(network.index)}"
        )
    return network.index[name]


def _series(values: npt.ArrayLike, length: int, name: str) -> Floats:
    array = np.asarray(values, dtype=np.float64)
    if array.shape not in ((), (length,)):
        raise ParameterError(f"the {name} has the shape {array.shape}; give one value or {length}")
    return np.broadcast_to(array, (length,))
