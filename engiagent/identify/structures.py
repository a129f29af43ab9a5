r"""Structures of a grey-box model: which nodes there are, what joins them, where heat comes in.

.. math::
    C_i\,dT_i = \Big(\sum_j \frac{T_j - T_i}{R_{ij}} + \frac{T_a - T_i}{R_i} + \dot Q_i
        + \sum_d a_d\,w_d\Big)\,dt + C_i\,\sigma_i\,d\omega_i, \qquad y_k = T_1(t_k) + e_k

with :math:`e_k \sim N(0, s^2)` and Wiener processes :math:`\omega`. Inputs are held over a step,
which makes the discrete model exact: series give step :math:`F`, response :math:`G` and noise
:math:`Q` of a part of it, and doubling, :math:`Q + F Q F^T`, :math:`G + F G` and, so that nothing
small is lost, :math:`2 (F - 1) + (F - 1)^2`, those of the whole. Air that leaks in by
the wind, or by an air change that is known, is one more conductance to the outside, :math:`c\,w`.

Parameters go by the slots of the plant that they fill, as ``room.capacitance``.

Source: P. Bacher and H. Madsen, Identifying suitable models for the heat dynamics of buildings,
Energy and Buildings 43 (2011) 1511, doi:10.1016/j.enbuild.2011.02.005.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import numpy as np
import numpy.typing as npt

OUTSIDE: Final = "outside"
ROOM: Final = "room"
SENSOR: Final = "sensor.noise"
GAIN: Final = "room.gain"
_PART, _TERMS = 0.1, 11
"""Norm of ``A`` times a part of a step, and the terms of a series that are exact for it."""
Floats = npt.NDArray[np.float64]
Array = npt.NDArray[Any]
"""Floats, or complex numbers whose small imaginary part carries a derivative."""


@dataclass(frozen=True)
class Structure:
    """A network whose first node is the measured room."""

    name: str
    nodes: tuple[str, ...]  # with mass
    links: tuple[tuple[str, str], ...]  # pairs that a resistance joins
    heated: str  # the node that the heating (less cooling) goes into
    # the structures of which this is an extension, for a likelihood-ratio test
    within: tuple[str, ...] = ()


_WALL = ((ROOM, "wall"), ("wall", OUTSIDE))
_LEAK = (ROOM, OUTSIDE)
_FLOOR = ("floor", ROOM)
STRUCTURES: Final = {
    s.name: s
    for s in (
        Structure("1R1C", (ROOM,), (_LEAK,), ROOM),
        Structure("2R2C", (ROOM, "wall"), _WALL, ROOM, ("1R1C",)),
        Structure("3R2C", (ROOM, "wall"), (*_WALL, _LEAK), ROOM, ("1R1C", "2R2C")),
        Structure("2R2C-floor", (ROOM, "floor"), (_FLOOR, _LEAK), "floor", ("1R1C",)),
        Structure("3R3C", (ROOM, "wall", "floor"), (_FLOOR, *_WALL), "floor", ("2R2C",)),
        Structure(
            "4R3C",
            (ROOM, "wall", "floor"),
            (_FLOOR, *_WALL, _LEAK),
            "floor",
            ("2R2C", "3R2C", "2R2C-floor", "3R3C"),
        ),
    )
}
"""A wall has mass between room and outside; a floor is what is heated and heats the room."""


@dataclass(frozen=True)
class Parameter:
    """What is to be found: its range in its own unit, and whether by its logarithm.

    ``kind`` is capacitance, resistance, coefficient, gain or noise.
    """

    name: str
    unit: str
    low: float
    high: float
    kind: str
    is_log: bool = True

    @property
    def bounds(self) -> tuple[float, float]:
        """The range of what is searched for."""
        ends = np.array([self.low, self.high])
        low, high = np.log(ends) if self.is_log else ends
        return float(low), float(high)


@dataclass(frozen=True)
class Driver:
    """A measured series that heats the room by a coefficient that is to be found.

    ``series`` is what is measured, ``name`` the coefficient and ``unit`` its unit, kW over that of
    the series; one that ``is_known`` is 1. Its size is looked for around ``scale``. One that
    ``is_leak`` is no heat but a conductance to the outside, by which air leaks in.
    """

    series: str
    name: str
    unit: str
    scale: float
    is_known: bool = False
    is_leak: bool = False


@dataclass(frozen=True)
class Model:
    """A structure with its drivers, as matrices of its parameters.

    Inputs of a period are the temperature outside, the heat, and each driver. ``is_quiet`` has no
    process noise: its one-step innovations are errors of a simulation. With ``has_gain`` the room
    has a constant gain beside all that is measured.
    """

    structure: Structure
    drivers: tuple[Driver, ...] = ()
    has_gain: bool = False
    is_quiet: bool = False

    @cached_property
    def parameters(self) -> tuple[Parameter, ...]:
        """What is to be found, in the order of the vectors."""
        s = self.structure
        # From the air of a closet to a block of houses, from a hall's hull to a thermos flask.
        found = [Parameter(f"{n}.capacitance", "kWh/K", 1e-3, 1e5, "capacitance") for n in s.nodes]
        found += [
            Parameter(resistance_name(*link), "K/kW", 1e-4, 1e4, "resistance") for link in s.links
        ]
        found += [
            Parameter(f"room.{d.name}", d.unit, 1e-5 * d.scale, 1e3 * d.scale, "coefficient")
            for d in self.drivers
            if not d.is_known
        ]
        if self.has_gain:
            found.append(Parameter(GAIN, "kW", -1e4, 1e4, "gain", is_log=False))
        if not self.is_quiet:
            found += [Parameter(f"{n}.noise", "K/h**0.5", 1e-3, 10.0, "noise") for n in s.nodes]
        return (*found, Parameter(SENSOR, "K", 1e-3, 5.0, "noise"))

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the parameters."""
        return tuple(p.name for p in self.parameters)

    def values(self, theta: Array) -> Array:
        """Return parameters in their own units from what is searched for, shape (..., p)."""
        is_log = np.array([p.is_log for p in self.parameters])
        return np.where(is_log, np.exp(np.where(is_log, theta, 0.0)), theta)

    @cached_property
    def _places(self) -> tuple[Floats, Floats, list[int]]:
        """Return by link what it takes from whom (l, n, n) and what comes from outside (l, n)."""
        nodes = self.structure.nodes
        inner = np.zeros((len(self.structure.links), len(nodes), len(nodes)))
        outer = np.zeros((len(self.structure.links), len(nodes)))
        for k, (one, other) in enumerate(self.structure.links):
            for a, b in ((one, other), (other, one)):
                if a == OUTSIDE:
                    continue
                i = nodes.index(a)
                inner[k, i, i] -= 1.0
                if b == OUTSIDE:
                    outer[k, i] = 1.0
                else:
                    inner[k, i, nodes.index(b)] += 1.0
        return inner, outer, [nodes.index(self.structure.heated)]

    @property
    def leak(self) -> int | None:
        """The column of the inputs by which air leaks in."""
        return next((2 + k for k, d in enumerate(self.drivers) if d.is_leak), None)

    def continuous(self, theta: Array, wind: float = 0.0) -> tuple[Array, Array]:
        """Return ``A`` (m, n, n) and ``B`` (m, n, inputs) of vectors (m, p). [1/h]."""
        values = self.values(theta)
        count, links = len(self.structure.nodes), len(self.structure.links)
        inner, outer, heated = self._places
        capacity = values[:, :count, None]
        conductance = 1.0 / values[:, count : count + links]
        matrix = np.einsum("ml,lij->mij", conductance, inner) / capacity
        feed = np.zeros((len(values), count, self.inputs), dtype=values.dtype)
        feed[:, :, 0] = np.einsum("ml,li->mi", conductance, outer)
        feed[:, heated, 1] = 1.0
        feed[:, 0, 2:] = 1.0
        found = [2 + k for k, driver in enumerate(self.drivers) if not driver.is_known]
        found += [self.inputs - 1] * self.has_gain
        feed[:, 0, found] = values[:, count + links : count + links + len(found)]
        if self.leak is not None:
            leaking = feed[:, 0, self.leak] * wind
            matrix[:, 0, 0] -= leaking / capacity[:, 0, 0]
            feed[:, 0, 0] += leaking
            feed[:, 0, self.leak] = 0.0
        return matrix, feed / capacity

    @property
    def inputs(self) -> int:
        """How many inputs there are."""
        return 2 + len(self.drivers) + self.has_gain

    def discrete(
        self, theta: Array, hours: float, wind: float = 0.0
    ) -> tuple[Array, Array, Array, Array]:
        """Return step, response to inputs, covariance of a step's noise, and that of the sensor."""
        matrix, feed = self.continuous(theta, wind)
        values, count = self.values(theta), matrix.shape[1]
        spread = np.eye(count) * values[:, -1 - count : -1, None] ** 2 * (not self.is_quiet)
        doublings = max(0, int(np.ceil(np.log2(np.abs(matrix).sum(axis=2).max() * hours / _PART))))
        part = hours / 2.0**doublings
        term, noise = np.eye(count) * part, spread * part
        moment, whole = noise, term
        for k in range(2, _TERMS):
            term = matrix @ term * (part / k)
            moment = matrix @ moment * (part / k)
            moment = moment + moment.swapaxes(1, 2)
            whole, noise = whole + term, noise + moment
        step, response = matrix @ whole, whole @ feed
        for _ in range(doublings):
            response = 2 * response + step @ response
            half = noise + step @ noise
            noise = noise + half + half @ step.swapaxes(1, 2)
            step = 2 * step + step @ step
        return np.eye(count) + step, response, noise, values[:, -1] ** 2


def resistance_name(one: str, other: str) -> str:
    """Return the slot of a plant that a resistance fills."""
    if OUTSIDE in (one, other):
        return f"{other if one == OUTSIDE else one}.resistance"
    return f"{one}.neighbours.{other}" if one == ROOM else f"{other}.neighbours.{one}"
