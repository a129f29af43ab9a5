"""Liquid water at 101 325 Pa from 0 to 100 degC; everything elementwise.

The errors are the largest against IAPWS-95 (as CoolProp 8 evaluates it) over that range.

| property | source | error |
|---|---|---|
| density | G. S. Kell, J. Chem. Eng. Data 20 (1975) 97-105 | 1.6e-5 |
| specific heat | polynomial fitted here to IAPWS-95 | 4.4e-5 |

Balances of tanks and loops take one constant specific heat: that of :data:`SPECIFIC_HEAT` is
within 0.8 % of the true one over the whole range.
"""

from typing import Final

import numpy as np
import numpy.typing as npt

from engiagent.models.parameters import within
from engiagent.models.ranges import Floats

SPECIFIC_HEAT: Final = 4.186
"""Mean specific heat, the one of ASHRAE's moist air. [kJ/(kg K)]"""

_HEAT = (
    4.2192585,
    -3.3414515e-3,
    1.1155542e-4,
    -2.0292974e-6,
    2.2511403e-8,
    -1.3468958e-10,
    3.4014577e-13,
)


def _degrees(temperature: npt.ArrayLike) -> Floats:
    return within(temperature, "the temperature of the water", "degC", low=0.0, high=100.0)


def density(temperature: npt.ArrayLike) -> Floats:
    """Return the density. [kg/m3].

    Examples
    --------
    >>> round(float(density(20.0)), 3)
    998.204
    """
    t = _degrees(temperature)
    above = 999.83952 + t * (
        16.945176
        + t * (-7.9870401e-3 + t * (-46.170461e-6 + t * (105.56302e-9 - t * 280.54253e-12)))
    )
    return np.asarray(above / (1.0 + 16.879850e-3 * t))


def specific_heat(temperature: npt.ArrayLike) -> Floats:
    """Return the specific heat at constant pressure. [kJ/(kg K)].

    Examples
    --------
    >>> round(float(specific_heat(20.0)), 4)
    4.184
    """
    return np.asarray(np.polynomial.polynomial.polyval(_degrees(temperature), _HEAT))


def enthalpy(temperature: npt.ArrayLike) -> Floats:
    """Return the enthalpy, 0 at 0 degC: the integral of the specific heat. [kJ/kg].

    Examples
    --------
    >>> round(float(enthalpy(100.0) - enthalpy(0.0)), 1)
    419.1
    """
    integral = np.polynomial.polynomial.polyint(np.asarray(_HEAT))
    return np.asarray(np.polynomial.polynomial.polyval(_degrees(temperature), integral))
