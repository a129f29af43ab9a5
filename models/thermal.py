r"""Rooms as capacities joined by resistances.

.. math::
    C_i \frac{dT_i}{dt} = \frac{T_a - T_i}{R_i} + \sum_j \frac{T_j - T_i}{R_{ij}}
        + \dot Q_\mathrm{gains} + \dot Q_\mathrm{heat} - \dot Q_\mathrm{cool}

With inputs held over a step the exact solution is a matrix exponential; the explicit and the
implicit Euler scheme are there because problems are stated with them.

Nodes without capacity, streams of air and several given temperatures are the business of
:mod:`engiagent.models.buildings`.

Source: lumped-capacity (RC) networks as in ISO 13790 and EN ISO 52016-1; discretisation by the
matrix exponential of the augmented system, C. F. Van Loan, doi:10.1109/TAC.1978.1101743.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

import numpy as np
import numpy.typing as npt

from engiagent.models.ranges import Floats, ParameterError, numbers, positive, series, steps
from engiagent.models.recursion import switched_recursion

ThermalScheme = Literal["exact", "euler", "implicit"]


@dataclass(frozen=True, kw_only=True)
class ThermalZone:
    """One zone of uniform temperature."""

    name: str  # by which neighbours refer to it
    capacitance: float  # heat that warms it by one kelvin. Above 0. [kWh/K]
    # to the ambient. Above 0; infinite when the zone has no outer wall. [K/kW]
    resistance: float = float("inf")
    initial_temperature: float | None = None  # at the first instant. [degC]
    # resistance to other zones by their names. Above 0. [K/kW]
    neighbours: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        positive(self.capacitance, f"the capacitance of {self.name}", "kWh/K")
        for resistance in (self.resistance, *self.neighbours.values()):
            positive(resistance, f"a resistance of {self.name}", "K/kW", finite=False)


@dataclass(frozen=True)
class ThermalNetwork:
    """Zones that exchange heat with the ambient and with one another.

    A wall may be given from one side or from both; then both must say the same resistance.

    Examples
    --------
    >>> network = ThermalNetwork((ThermalZone(name="office", capacitance=2.0, resistance=5.0),))
    >>> cold = network.simulate(0.0, 1.0, heating=[[0.0]] * 10, initial=[20.0])
    >>> round(float(cold[-1, 0]), 9)  # 20 / e
    7.357588823
    """

    zones: tuple[ThermalZone, ...]

    def __post_init__(self) -> None:
        names = [zone.name for zone in self.zones]
        if not names or len(set(names)) != len(names):
            raise ParameterError(f"a network needs zones with different names; given: {names}")
        for zone in self.zones:
            for other in zone.neighbours:
                if other not in names or other == zone.name:
                    raise ParameterError(
                        f"{zone.name} has the neighbour {other!r}; known zones: {', '.join(names)}"
                    )
        self._walls()

    def _walls(self) -> dict[tuple[int, int], float]:
        place = {zone.name: i for i, zone in enumerate(self.zones)}
        walls: dict[tuple[int, int], float] = {}
        for i, zone in enumerate(self.zones):
            for other, resistance in zone.neighbours.items():
                j = place[other]
                key = (min(i, j), max(i, j))
                if walls.setdefault(key, resistance) != resistance:
                    raise ParameterError(
                        f"the wall between {zone.name} and {other} has two resistances, "
                        f"{walls[key]} and {resistance} K/kW; give one"
                    )
        return walls

    @cached_property
    def state_matrix(self) -> Floats:
        """The matrix ``M`` of ``dT/dt = M T + N u``, shape (n, n). [1/h]."""
        count = len(self.zones)
        conductance = np.zeros((count, count))
        for (i, j), resistance in self._walls().items():
            conductance[i, j] += 1.0 / resistance
            conductance[j, i] += 1.0 / resistance
        outer = np.array([1.0 / zone.resistance for zone in self.zones])
        conductance -= np.diag(conductance.sum(axis=1) + outer)
        capacitance = np.array([zone.capacitance for zone in self.zones])
        return np.asarray(conductance / capacitance[:, None])

    @cached_property
    def input_matrix(self) -> Floats:
        """The matrix ``N``, shape (n, 1 + n), of the inputs ambient [degC] and net heat [kW]."""
        outer = np.array([1.0 / zone.resistance for zone in self.zones])
        capacitance = np.array([zone.capacitance for zone in self.zones])
        return np.column_stack((outer / capacitance, np.diag(1.0 / capacitance)))

    def discretise(
        self, step_hours: float, scheme: ThermalScheme = "exact"
    ) -> tuple[Floats, Floats]:
        """Return ``(A, B)`` of ``T[n+1] = A T[n] + B [ambient, net heat per zone]``."""
        matrix, count = self.state_matrix, len(self.zones)
        if scheme == "exact":
            from scipy.linalg import expm

            augmented = np.zeros((2 * count, 2 * count))
            augmented[:count, :count] = matrix * step_hours
            augmented[:count, count:] = np.eye(count) * step_hours
            exponential = expm(augmented)
            return (
                np.asarray(exponential[:count, :count]),
                np.asarray(exponential[:count, count:] @ self.input_matrix),
            )
        if scheme == "euler":
            fastest = float(np.max(np.abs(np.linalg.eigvals(matrix))))
            if step_hours * fastest > 2.0:
                raise ParameterError(
                    f"the explicit scheme is unstable at a step of {step_hours} h; use at most "
                    f"{2.0 / fastest:.4g} h, or the exact scheme"
                )
            return np.asarray(np.eye(count) + step_hours * matrix), step_hours * self.input_matrix
        if scheme != "implicit":
            raise ParameterError(
                f"the scheme is {scheme!r}; a zone knows 'exact', 'euler' and 'implicit'"
            )
        inverse = np.asarray(np.linalg.inv(np.eye(count) - step_hours * matrix), dtype=np.float64)
        return inverse, np.asarray(step_hours * inverse @ self.input_matrix)

    def simulate(
        self,
        ambient: npt.ArrayLike,
        step_hours: npt.ArrayLike,
        heating: npt.ArrayLike,
        initial: npt.ArrayLike | None = None,
        scheme: ThermalScheme = "exact",
    ) -> Floats:
        """Return the temperatures at the N+1 instants, shape (N+1, n). [degC].

        ``ambient``: temperature outside, one number or shape (N,). [degC] ``step_hours``: length
        of each period, one number or shape (N,). [h] ``heating``: net heat into each zone, below 0
        where it is cooled, shape (N, n). [kW] ``initial``: temperatures at the first instant,
        shape (n,); those of the zones when None. [degC] ``scheme``: ``exact``, ``euler``
        (explicit) or ``implicit``.
        """
        heat = numbers(heating, "the heating")
        if heat.ndim != 2 or heat.shape[1] != len(self.zones):
            raise ParameterError(
                f"the heating has the shape {heat.shape}; give (N, {len(self.zones)})"
            )
        length = len(heat)
        outside = series(ambient, length, "the ambient temperature")
        inputs = np.column_stack((outside, heat))
        hours = steps(step_hours, length)
        different, which = np.unique(hours, return_inverse=True)
        pairs = [self.discretise(float(step), scheme) for step in different]
        start = self._start(initial)
        transition = np.stack([a for a, _ in pairs])
        driven = np.empty((length, len(self.zones)))
        for number, (_, response) in enumerate(pairs):
            driven[which == number] = inputs[which == number] @ response.T
        return switched_recursion(transition, which, driven, start)

    def _start(self, initial: npt.ArrayLike | None) -> Floats:
        if initial is None:
            unknown = [z.name for z in self.zones if z.initial_temperature is None]
            if unknown:
                raise ParameterError(f"the initial temperature of {', '.join(unknown)} is missing")
            initial = [float(z.initial_temperature or 0.0) for z in self.zones]
        return series(initial, len(self.zones), "the initial temperature")
