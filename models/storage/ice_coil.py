r"""Ice on tubes: frozen and melted from inside by the brine that flows through them.

Brine at :math:`T_b` flows through tubes in water that freezes on them and melts from them outwards,

.. math::
    \dot Q = \left(1 - e^{-UA(x) / C_b}\right) C_b\, |T_b|, \quad
    \frac{1}{UA} = R_t + \frac{\ln(r(x) / r_o)}{2 \pi \lambda L}, \quad
    r^2 = r_o^2 + y (r_c^2 - r_o^2)

with the ice fraction :math:`y = x` and the conductivity of ice while it freezes, and the melted
fraction :math:`y = 1 - x` and that of water while it melts: both slow down as they go on.

Source: F. P. Incropera et al., Fundamentals of Heat and Mass Transfer, 7th ed., 2011, section 3.3
(radial conduction) and chapter 11; for the idea of internal melt: R. K. Strand, C. O. Pedersen,
G. N. Coleman, ASHRAE Transactions 100(1), 1994, 1230-1244.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np
import numpy.typing as npt

from engiagent.models.parameters import hours_of_steps, numbers, over_time, within
from engiagent.models.ranges import Floats, ParameterError
from engiagent.models.storage.ice_tank import IcePath, IceStep

CONDUCTIVITY_OF_ICE: Final = 2.2e-3
"""At 0 degC. [kW/(m K)]"""
CONDUCTIVITY_OF_WATER: Final = 0.57e-3
"""At 2 degC. [kW/(m K)]"""

Direction = Literal["charge", "discharge"]


@dataclass(frozen=True, kw_only=True)
class InternalMeltTank:
    """Ice on tubes that brine freezes and melts from inside; numbers may be arrays over units.

    Attributes
    ----------
    energy_capacity
        Cold of all the ice. Above 0. [kWh]
    tube_length
        Of all tubes. Above 0. [m]
    tube_radius, ice_radius
        Outside of a tube and of the ice around it when all is frozen. [m]
    tube_resistance
        From brine to the outside of the tubes, of all of them. Above 0. [K/kW]
    gain_conductance
        From the surroundings. At least 0. [kW/K]

    Examples
    --------
    >>> tank = InternalMeltTank(
    ...     energy_capacity=500.0, tube_length=3000.0, tube_radius=0.008, ice_radius=0.025,
    ...     tube_resistance=0.05,
    ... )
    >>> tank.conductance([0.0, 250.0, 500.0], "charge").round(2).tolist()
    [20.0, 14.23, 12.91]
    """

    energy_capacity: npt.ArrayLike
    tube_length: npt.ArrayLike
    tube_radius: npt.ArrayLike
    ice_radius: npt.ArrayLike
    tube_resistance: npt.ArrayLike
    gain_conductance: npt.ArrayLike = 0.0

    def __post_init__(self) -> None:
        within(self.energy_capacity, "the capacity of the ice", "kWh", low=0.0, above=True)
        within(self.tube_length, "the length of the tubes", "m", low=0.0, above=True)
        inner = within(self.tube_radius, "the radius of the tubes", "m", low=0.0, above=True)
        outer = within(self.ice_radius, "the radius of the ice", "m", low=0.0, above=True)
        if not (inner < outer).all():
            raise ParameterError(
                f"the ice has a radius of {np.min(outer):g} m around tubes of {np.max(inner):g} m; "
                "give a larger radius of the ice"
            )
        within(self.tube_resistance, "the resistance of the tubes", "K/kW", low=0.0, above=True)
        within(self.gain_conductance, "the conductance of the gain", "kW/K", low=0.0)

    def conductance(self, energy: npt.ArrayLike, direction: Direction) -> Floats:
        """Return the conductance from brine to ice at a content [kWh]. [kW/K].

        ``charge`` counts all ice as on the tubes, ``discharge`` all water as next to them.
        """
        if direction not in ("charge", "discharge"):
            raise ParameterError(f"the direction is {direction!r}; give 'charge' or 'discharge'")
        content = np.asarray(
            numbers(energy, "the cold in the store") / np.asarray(self.energy_capacity)
        )
        ice = within(content, "the fraction of ice", "-", low=0.0, high=1.0)
        filled = ice if direction == "charge" else 1.0 - ice
        conducts = CONDUCTIVITY_OF_ICE if direction == "charge" else CONDUCTIVITY_OF_WATER
        squared = (np.asarray(self.ice_radius) / np.asarray(self.tube_radius)) ** 2
        layer = 0.5 * np.log1p(filled * (squared - 1.0))
        layer = layer / (2.0 * np.pi * conducts * np.asarray(self.tube_length))
        return np.asarray(1.0 / (np.asarray(self.tube_resistance) + layer))

    def rate(
        self, energy: npt.ArrayLike, *, brine_rate: npt.ArrayLike, brine_in: npt.ArrayLike
    ) -> Floats:
        """Return the rate of freezing, negative for melting, at an instant. [kW].

        Parameters
        ----------
        energy
            Cold in the store, 0 to the capacity. [kWh]
        brine_rate, brine_in
            Capacity rate, at least 0 [kW/K], and temperature at the inlet: below 0 degC it
            freezes, above it melts. [degC]
        """
        flow = within(brine_rate, "the capacity rate of the brine", "kW/K", low=0.0)
        inlet = numbers(brine_in, "the inlet of the brine")
        size = np.where(
            inlet < 0, self.conductance(energy, "charge"), self.conductance(energy, "discharge")
        )
        effectiveness = -np.expm1(-size / np.maximum(flow, 1e-12))
        return np.asarray(-effectiveness * flow * inlet)

    def step(
        self,
        energy: npt.ArrayLike,
        *,
        brine_rate: npt.ArrayLike,
        brine_in: npt.ArrayLike,
        step_hours: npt.ArrayLike,
        ambient: npt.ArrayLike = 20.0,
        substeps: int = 8,
    ) -> IceStep:
        """Return the store after a period with the brine's flow and inlet held.

        When all is frozen or melted within the period the brine exchanges no more, and the mean
        rate is that of the energy that changed. Integrated by the classical Runge-Kutta method.

        Parameters
        ----------
        energy
            Cold in the store, 0 to the capacity. [kWh]
        brine_rate, brine_in
            As in :meth:`rate`. [kW/K], [degC]
        step_hours
            Above 0. [h]
        ambient
            Around the store. [degC]
        substeps
            At least 1; 8 follow an hour within 1e-6 of the capacity in the tests.
        """
        flow = within(brine_rate, "the capacity rate of the brine", "kW/K", low=0.0)
        inlet = numbers(brine_in, "the inlet of the brine")
        hours = within(step_hours, "the step", "h", low=0.0, above=True)
        most = np.asarray(self.energy_capacity, dtype=np.float64)
        warmth = np.asarray(self.gain_conductance) * np.maximum(
            numbers(ambient, "the ambient"), 0.0
        )
        if substeps < 1:
            raise ParameterError(f"the step has {substeps} substeps; give at least 1")

        start = within(energy, "the cold in the store", "kWh", low=0.0)
        first = self.rate(start, brine_rate=flow, brine_in=inlet)  # refuses more than the capacity

        def rate(content: Floats) -> Floats:
            held = np.clip(content, 0.0, most)
            return self.rate(held, brine_rate=flow, brine_in=inlet)

        content = np.asarray(start + 0.0 * (first + hours + warmth))
        by_brine, by_gain, small = np.zeros_like(content), np.zeros_like(content), hours / substeps
        for _ in range(substeps):
            brine = _runge_kutta(rate, warmth, content, small)
            brine, gain = _kept(content, brine, warmth * small + 0.0 * content, most)
            content = np.clip(content + brine - gain, 0.0, most)
            by_brine, by_gain = by_brine + brine, by_gain + gain
        mean = by_brine / hours
        return IceStep(
            energy=content,
            rate=np.asarray(mean),
            gain=np.asarray(by_gain / hours),
            brine_out=np.asarray(inlet + mean / np.where(flow > 0, flow, 1.0)),
        )

    def simulate(
        self,
        initial: npt.ArrayLike,
        *,
        brine_rate: npt.ArrayLike,
        brine_in: npt.ArrayLike,
        step_hours: npt.ArrayLike,
        ambient: npt.ArrayLike = 20.0,
        substeps: int = 8,
    ) -> IcePath:
        """Return the path over N periods; a loop over time, because melting slows itself down.

        Parameters
        ----------
        initial
            Cold at the first instant. [kWh]
        brine_rate, brine_in, ambient
            As in :meth:`step`, one number, shape (N,) or (N, units); one of the first two is timed.
        step_hours
            Length of each period. [h]
        substeps
            As in :meth:`step`.
        """
        start = numbers(initial, "the cold in the store")
        flow = numbers(brine_rate, "the capacity rate of the brine")
        inlet = numbers(brine_in, "the inlet of the brine")
        units = np.broadcast_shapes(
            start.shape, np.shape(self.energy_capacity), flow.shape[1:], inlet.shape[1:]
        )
        shape = (max(s.shape[0] if s.ndim else 1 for s in (flow, inlet)), *units)
        series = [
            over_time(flow, shape, "the capacity rate of the brine"),
            over_time(inlet, shape, "the inlet of the brine"),
            hours_of_steps(step_hours, shape),
            over_time(ambient, shape, "the ambient temperature"),
        ]
        done: list[IceStep] = []
        content = np.broadcast_to(start, units)
        for n in range(shape[0]):
            done.append(
                self.step(
                    done[-1].energy if done else content,
                    brine_rate=series[0][n],
                    brine_in=series[1][n],
                    step_hours=series[2][n],
                    ambient=series[3][n],
                    substeps=substeps,
                )
            )
        return IcePath(
            energy=np.stack([content, *(one.energy for one in done)]),
            rate=np.stack([one.rate for one in done]),
            gain=np.stack([one.gain for one in done]),
            brine_out=np.stack([one.brine_out for one in done]),
        )


def _kept(content: Floats, brine: Floats, gain: Floats, most: Floats) -> tuple[Floats, Floats]:
    """Return the heat of brine and surroundings that leaves the content between 0 and ``most``.

    A full store takes only what melts meanwhile; an empty one gives brine and surroundings the
    last of its ice in the ratio in which they ask, and what freezes melts away again.
    """
    after = content + brine - gain
    full = after > most
    brine = np.where(full, most - content + gain, brine)
    empty = after < 0
    melting = empty & (brine <= 0)
    share = np.where(melting, content / np.where(melting, gain - brine, 1.0), 1.0)
    left = np.where(melting, share * gain, np.where(empty, content + brine, gain))
    return np.asarray(share * brine), np.asarray(left)


def _runge_kutta(
    rate: Callable[[Floats], Floats], warmth: Floats, x: Floats, step: Floats
) -> Floats:
    """Return what the brine adds over a step while ``warmth`` melts: fourth order.

    The sum is over the brine's rates alone, so that a trickle of brine keeps its digits.
    """
    k1 = rate(x)
    k2 = rate(x + 0.5 * step * (k1 - warmth))
    k3 = rate(x + 0.5 * step * (k2 - warmth))
    k4 = rate(x + step * (k3 - warmth))
    return np.asarray(step / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4))
