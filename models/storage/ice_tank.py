r"""Ice storage by curves: latent heat between all water and all ice.

What the tank can take or give follows from its content :math:`x` and the mean temperature
difference of the brine,

.. math:: q^* = c_1 + c_2 x + c_3 x^2 + (c_4 + c_5 x + c_6 x^2)\, \Delta T^*_{lm}, \quad
          \dot Q = q^* E / \Delta t_c

where :math:`x` is the fraction charged (for charging) or discharged (for discharging). Its content
is that of a battery without efficiencies.

Source: EnergyPlus Engineering Reference, Detailed Ice Storage Model (quadratic linear curve); R. K.
Strand, C. O. Pedersen, G. N. Coleman, Development of direct and indirect ice-storage models for
energy analysis calculations, ASHRAE Transactions 100(1), 1994, 1230-1244.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from engiagent.models.ranges import Floats, ParameterError, not_negative, numbers, positive, share


@dataclass(frozen=True, kw_only=True)
class IceTankCurves:
    """Limits of ice storage by curves of EnergyPlus's form.

    Examples
    --------
    >>> curve = (0.0, 0.09, -0.15, 0.612, -0.324, -0.216)
    >>> tank = IceTankCurves(energy_capacity=1000.0, charge_curve=curve, discharge_curve=curve)
    >>> tank.charge_limit(500.0, difference=4.0).round(2).tolist()
    165.9
    """

    energy_capacity: float  # cold of all the ice. Above 0. [kWh]
    # charge_curve, discharge_curve: six coefficients each. [-]
    charge_curve: tuple[float, ...]
    discharge_curve: tuple[float, ...]
    curve_hours: float = 1.0  # time basis of the curves: 1 for published ones. Above 0. [h]
    # by which the mean temperature difference is divided; 10. Above 0. [K]
    nominal_difference: float = 10.0

    def __post_init__(self) -> None:
        positive(self.energy_capacity, "the capacity of the ice", "kWh")
        positive(self.curve_hours, "the time basis of the curves", "h")
        positive(self.nominal_difference, "the nominal difference", "K")
        for curve in (self.charge_curve, self.discharge_curve):
            if len(numbers(curve, "a coefficient of a curve")) != 6:
                raise ParameterError(f"a curve of ice has {len(curve)} coefficients; give 6")

    def charge_limit(self, energy: npt.ArrayLike, *, difference: npt.ArrayLike) -> Floats:
        """Return the largest rate of freezing for a content [kWh] and mean difference [K]. [kW]."""
        return self._limit(self.charge_curve, self._ice(energy), difference)

    def discharge_limit(self, energy: npt.ArrayLike, *, difference: npt.ArrayLike) -> Floats:
        """Return the largest rate of melting for a content [kWh] and mean difference [K]. [kW]."""
        return self._limit(self.discharge_curve, 1.0 - self._ice(energy), difference)

    def _ice(self, energy: npt.ArrayLike) -> Floats:
        content = numbers(energy, "the cold in the store")
        return share(content / self.energy_capacity, "the fraction of ice")

    def _limit(self, c: tuple[float, ...], x: Floats, difference: npt.ArrayLike) -> Floats:
        mean = not_negative(difference, "the mean temperature difference", "K")
        slope = (c[3] + x * (c[4] + x * c[5])) * mean / self.nominal_difference
        star = c[0] + x * (c[1] + x * c[2]) + slope
        return np.asarray(np.maximum(star, 0.0) * self.energy_capacity / self.curve_hours)
