r"""Ice storage by curves: latent heat between all water and all ice.

What the tank can take or give follows from its content :math:`x` and the mean temperature
difference of the brine,

.. math:: q^* = c_1 + c_2 x + c_3 x^2 + (c_4 + c_5 x + c_6 x^2)\, \Delta T^*_{lm}, \quad
          \dot Q = q^* E / \Delta t_c

where :math:`x` is the fraction charged (for charging) or discharged (for discharging).

Source: EnergyPlus Engineering Reference, Detailed Ice Storage Model (quadratic linear curve); R. K.
Strand, C. O. Pedersen, G. N. Coleman, Development of direct and indirect ice-storage models for
energy analysis calculations, ASHRAE Transactions 100(1), 1994, 1230-1244.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from engiagent.models.ranges import (
    Floats,
    ParameterError,
    hours_of_steps,
    numbers,
    over_time,
    within,
)
from engiagent.models.recursion import linear_recursion, phi1, phi2


@dataclass(frozen=True, kw_only=True)
class IcePath:
    """What N periods did to an ice store."""

    energy: Floats  # cold in the store at the N+1 instants. [kWh]
    rate: Floats  # mean heat between brine and store. [kW]
    gain: Floats  # mean heat from the surroundings, which melts ice. [kW]


@dataclass(frozen=True, kw_only=True)
class IceTankCurves:
    """Ice storage by curves of EnergyPlus's form; numbers may be arrays over units.

    Examples
    --------
    >>> curve = (0.0, 0.09, -0.15, 0.612, -0.324, -0.216)
    >>> tank = IceTankCurves(energy_capacity=1000.0, charge_curve=curve, discharge_curve=curve)
    >>> tank.charge_limit(500.0, difference=4.0).round(2).tolist()
    165.9
    """

    energy_capacity: npt.ArrayLike  # cold of all the ice. Above 0. [kWh]
    # charge_curve, discharge_curve: six coefficients each. [-]
    charge_curve: tuple[float, float, float, float, float, float]
    discharge_curve: tuple[float, float, float, float, float, float]
    curve_hours: npt.ArrayLike = 1.0  # time basis of the curves: 1 for published ones. Above 0. [h]
    # by which the mean temperature difference is divided; 10. Above 0. [K]
    nominal_difference: npt.ArrayLike = 10.0
    # share of the content that melts by itself in an hour. At least 0. [1/h]
    loss_rate: npt.ArrayLike = 0.0

    def __post_init__(self) -> None:
        within(self.energy_capacity, "the capacity of the ice", "kWh", low=0.0, above=True)
        within(self.curve_hours, "the time basis of the curves", "h", low=0.0, above=True)
        within(self.nominal_difference, "the nominal difference", "K", low=0.0, above=True)
        within(self.loss_rate, "the loss", "1/h", low=0.0)
        for curve in (self.charge_curve, self.discharge_curve):
            if len(numbers(curve, "a coefficient of a curve")) != 6:
                raise ParameterError(f"a curve of ice has {len(curve)} coefficients; give 6")

    def charge_limit(self, energy: npt.ArrayLike, *, difference: npt.ArrayLike) -> Floats:
        """Return the largest rate of freezing for a content [kWh] and mean difference [K]. [kW]."""
        return self._limit(self.charge_curve, self._fraction(energy), difference)

    def discharge_limit(self, energy: npt.ArrayLike, *, difference: npt.ArrayLike) -> Floats:
        """Return the largest rate of melting for a content [kWh] and mean difference [K]. [kW]."""
        return self._limit(self.discharge_curve, 1.0 - self._fraction(energy), difference)

    def simulate(
        self,
        initial: npt.ArrayLike,
        *,
        charge: npt.ArrayLike,
        discharge: npt.ArrayLike,
        step_hours: npt.ArrayLike,
    ) -> IcePath:
        r"""Return the path of :math:`E' = P_c - P_d - k E`, solved exactly.

        Limits are not enforced.

        Parameters
        ----------
        initial
            Cold at the first instant. [kWh]
        charge, discharge
            Mean rates, shape (N,) or (N, units). At least 0. [kW]
        step_hours
            Length of each period. [h]
        """
        start = numbers(initial, "the cold in the store")
        into = within(charge, "the charge", "kW", low=0.0)
        out = within(discharge, "the discharge", "kW", low=0.0)
        units = np.broadcast_shapes(
            into.shape[1:], out.shape[1:], start.shape, np.shape(self.energy_capacity)
        )
        shape = (max(np.size(into, 0), np.size(out, 0)), *units)
        net = over_time(into, shape, "the charge") - over_time(out, shape, "the discharge")
        hours = hours_of_steps(step_hours, shape)
        rate = np.asarray(self.loss_rate, dtype=np.float64)
        span = rate * hours
        first, second = phi1(span), phi2(span)
        energy = linear_recursion(np.exp(-span), first * hours * net, start)
        return IcePath(
            energy=energy,
            rate=net,
            gain=np.asarray(rate * (first * energy[:-1] + second * hours * net)),
        )

    def _fraction(self, energy: npt.ArrayLike) -> Floats:
        content = np.asarray(
            numbers(energy, "the cold in the store") / np.asarray(self.energy_capacity)
        )
        return within(content, "the fraction of ice", "-", low=0.0, high=1.0)

    def _limit(self, c: tuple[float, ...], x: Floats, difference: npt.ArrayLike) -> Floats:
        mean = within(difference, "the mean temperature difference", "K", low=0.0)
        share = mean / np.asarray(self.nominal_difference)
        star = c[0] + x * (c[1] + x * c[2]) + (c[3] + x * (c[4] + x * c[5])) * share
        whole = np.asarray(self.energy_capacity) / np.asarray(self.curve_hours)
        return np.asarray(np.maximum(star, 0.0) * whole)
