r"""Water and air: their heat, what moves them, and the tower in which they meet.

Liquid water and dry air in the balances of tanks, coils and loops: one specific heat each.

That of water is within 0.8 % of the true one (IAPWS-95, as CoolProp evaluates it) from 0 to
100 degC; both are the ones of ASHRAE Handbook Fundamentals (SI), 2017, chapter 1.

Fans and pumps in a system with its controls: power by one curve over the flow.

.. math:: P = P_r\, f(\dot m / \dot m_r)

Source: ANSI/ASHRAE/IES Standard 90.1-2013, table G3.1.3.15, for the form and the default curve.

A cooling tower by the polynomial YorkCalc: the approach from wet bulb, range and flow ratio.

.. math:: T_{out} - T_{wb} = \sum_{i,j,k=0}^{2} c_{ijk}\, T_{wb}^i\, T_r^j\, R^k, \quad
          R = \frac{\dot m_w / \dot m_{w,r}}{\dot m_a / \dot m_{a,r}}

Source: EnergyPlus Engineering Reference, Variable Speed Cooling Towers, YorkCalc correlation and
its table of 27 coefficients, after York International Corporation, YorkCalc Software, 2002; the
same numbers and bounds stand in the Modelica Buildings library.
"""

from dataclasses import dataclass, field
from typing import Final

import numpy as np
import numpy.typing as npt

from engiagent.models.hvac.curves import Polynomial
from engiagent.models.ranges import Floats, fraction, not_negative, numbers, positive, share, within

SPECIFIC_HEAT: Final = 4.186
"""Of water. [kJ/(kg K)]"""
DRY_AIR_HEAT: Final = 1.006
"""Of dry air. [kJ/(kg K)]"""


def mixed_air(share: npt.ArrayLike, outdoor: npt.ArrayLike, room: npt.ArrayLike) -> Floats:
    """Return the temperature of air of which a share [-] is from outdoors. [degC].

    >>> float(mixed_air(0.25, -4.0, 20.0))
    14.0
    """
    back = np.asarray(room)
    return np.asarray(back + np.asarray(share) * (np.asarray(outdoor) - back))


def air_heat(flow: npt.ArrayLike, before: npt.ArrayLike, after: npt.ArrayLike) -> Floats:
    """Return what brings a flow of dry air [kg/s] from one temperature to another. [kW].

    >>> float(air_heat(2.0, 14.0, 19.0))
    10.06
    """
    return np.asarray(np.asarray(flow) * DRY_AIR_HEAT * (np.asarray(after) - np.asarray(before)))


@dataclass(frozen=True, kw_only=True)
class PartLoadFan:
    """A fan by its curve of power over flow.

    Examples
    --------
    >>> PartLoadFan(rated_flow=5.0, rated_power=4.0).power([5.0, 2.5]).round(4).tolist()
    [3.9964, 1.1999]
    """

    rated_flow: float  # above 0. [kg/s]
    rated_power: float  # at the rated flow. At least 0. [kW]
    # share of the power by share of the flow. The default is the fan with a variable-speed drive of
    # the standard, method 2.
    power_curve: Polynomial = field(default=Polynomial((0.0013, 0.1470, 0.9506, -0.0998)))

    def __post_init__(self) -> None:
        positive(self.rated_flow, "the rated flow", "kg/s")
        not_negative(self.rated_power, "the rated power", "kW")

    def power(self, flow: npt.ArrayLike) -> Floats:
        """Return the power at a flow [kg/s]; 0 where nothing flows. [kW]."""
        part = not_negative(flow, "the flow", "kg/s") / self.rated_flow
        factor = not_negative(self.power_curve.at(part), "the power by its curve", "-")
        return np.where(part > 0, self.rated_power * factor, 0.0)


_COEFFICIENTS = (
    -0.359741205,
    -0.055053608,
    0.0023850432,
    0.173926877,
    -0.0248473764,
    0.00048430224,
    -0.005589849456,
    0.0005770079712,
    -0.00001342427256,
    2.84765801111111,
    -0.121765149,
    0.0014599242,
    1.680428651,
    -0.0166920786,
    -0.0007190532,
    -0.025485194448,
    0.0000487491696,
    0.00002719234152,
    -0.0653766255555556,
    -0.002278167,
    0.0002500254,
    -0.0910565458,
    0.00318176316,
    0.000038621772,
    -0.0034285382352,
    0.00000856589904,
    -0.000001516821552,
)
"""Ratio of flows slowest, then range, then wet bulb."""


def approach(wet_bulb: npt.ArrayLike, range_: npt.ArrayLike, flow_ratio: npt.ArrayLike) -> Floats:
    """Return how far the water leaves above the wet bulb. [K].

    ``wet_bulb``: of the entering air, -34.4 to 29.4. [degC] ``range_``: by which the water is
    cooled, 1.1 to 22.2. [K] ``flow_ratio``: water over air, each by its rated flow; up to 8. [-]

    Examples
    --------
    >>> round(float(approach(25.56, 5.56, 1.0)), 2)
    3.84
    """
    table = np.asarray(_COEFFICIENTS).reshape(3, 3, 3).transpose(2, 1, 0)
    wet, cooled, ratio = np.broadcast_arrays(wet_bulb, range_, flow_ratio)
    return np.asarray(np.polynomial.polynomial.polyval3d(wet, cooled, ratio, table))


@dataclass(frozen=True, kw_only=True)
class YorkCalcTower:
    """A tower by YorkCalc, with a fan of variable speed.

    Examples
    --------
    >>> tower = YorkCalcTower(rated_water_flow=20.0, rated_fan_power=15.0)
    >>> tower.water_out(465.0, wet_bulb=25.56, water_flow=20.0, speed=1.0).round(2).tolist()
    29.4
    """

    rated_water_flow: float  # above 0. [kg/s]
    rated_fan_power: float = 0.0  # at full speed. At least 0. [kW]
    fan_exponent: float = 3.0  # of power by speed: 3 by the affinity laws. [-]

    def __post_init__(self) -> None:
        positive(self.rated_water_flow, "the rated flow of water", "kg/s")
        not_negative(self.rated_fan_power, "the rated power of the fan", "kW")
        within(self.fan_exponent, "the exponent of the fan", "-", low=1.0, high=4.0)

    def water_out(
        self,
        heat: npt.ArrayLike,
        *,
        wet_bulb: npt.ArrayLike,
        water_flow: npt.ArrayLike,
        speed: npt.ArrayLike,
    ) -> Floats:
        """Return the temperature of the water that leaves while heat [kW] is rejected. [degC].

        ``heat``: at least 0. [kW] ``wet_bulb``: of the entering air. [degC] ``water_flow``,
        ``speed``: above 0 [kg/s]; of the fan, above 0, at most 1. [-]
        """
        flow = positive(water_flow, "the flow of water", "kg/s")
        ratio = flow / self.rated_water_flow / fraction(speed, "the speed of the fan")
        cooled = not_negative(heat, "the heat", "kW") / (flow * SPECIFIC_HEAT)
        wet = numbers(wet_bulb, "the wet bulb")
        return np.asarray(wet + approach(wet, cooled, ratio))

    def fan_power(self, speed: npt.ArrayLike) -> Floats:
        """Return the power of the fan at a speed of 0 to 1. [kW]."""
        turns = share(speed, "the speed of the fan")
        return np.asarray(self.rated_fan_power * turns**self.fan_exponent)
