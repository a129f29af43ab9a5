r"""Heat exchangers by effectiveness and number of transfer units.

.. math:: \dot Q = \varepsilon\, C_{min} (T_{h,in} - T_{c,in}), \quad
          \mathrm{NTU} = UA / C_{min}, \quad C_r = C_{min} / C_{max}

Capacity rates :math:`C = \dot m c_p` are in kW/K and :math:`UA` in kW/K.

Source: W. M. Kays and A. L. London, Compact Heat Exchangers, 3rd ed., 1984, chapter 2; F. P.
Incropera et al., Fundamentals of Heat and Mass Transfer, 7th ed., 2011, table 11.3. The formula for
cross flow with both fluids unmixed is their approximation of an integral.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from engiagent.models.ranges import Floats, ParameterError, numbers, within

Arrangement = Literal["counter", "parallel", "cross"]
ARRANGEMENTS = ("counter", "parallel", "cross")


def effectiveness(
    ntu: npt.ArrayLike, ratio: npt.ArrayLike, arrangement: Arrangement = "counter"
) -> Floats:
    """Return the effectiveness. [-].

    Parameters
    ----------
    ntu
        Number of transfer units. At least 0. [-]
    ratio
        Smaller over larger capacity rate, 0 to 1; 0 for a fluid that boils or condenses. [-]
    arrangement
        ``counter``, ``parallel`` or ``cross`` (both fluids unmixed).

    Examples
    --------
    >>> effectiveness([0.0, 1.0, 1e9], 1.0).tolist()
    [0.0, 0.5, 0.999999999]
    """
    units = within(ntu, "the number of transfer units", "-", low=0.0)
    share = within(ratio, "the ratio of capacity rates", "-", low=0.0, high=1.0)
    if arrangement not in ARRANGEMENTS:
        raise ParameterError(
            f"the arrangement is {arrangement!r}; known are {', '.join(ARRANGEMENTS)}"
        )
    # Below 1e-9 the ratio stands for an infinite capacity rate: all formulas share that limit.
    safe = np.maximum(share, 1e-9)
    alone = -np.expm1(-units)
    if arrangement == "counter":
        result = _counter(units, share)
    elif arrangement == "parallel":
        result = -np.expm1(-units * (1.0 + share)) / (1.0 + share)
    else:
        power = np.expm1(-safe * units**0.78) * units**0.22 / safe
        result = -np.expm1(power)
    return np.asarray(np.where(share < 1e-9, alone, result))


def _counter(units: Floats, share: Floats) -> Floats:
    rest = 1.0 - share
    # Written so that nothing is lost where both rates are nearly equal.
    grown = np.where(rest > 0, -np.expm1(-units * rest) / np.where(rest > 0, rest, 1.0), units)
    return np.asarray(grown / (1.0 + share * grown))


@dataclass(frozen=True, kw_only=True)
class HeatExchange:
    """Heat from the hot to the cold stream [kW], and how both leave [degC]."""

    heat: Floats
    hot_out: Floats
    cold_out: Floats


def exchange(
    conductance: npt.ArrayLike,
    hot_rate: npt.ArrayLike,
    cold_rate: npt.ArrayLike,
    hot_in: npt.ArrayLike,
    cold_in: npt.ArrayLike,
    arrangement: Arrangement = "counter",
) -> HeatExchange:
    """Return the heat between two streams; negative where the stream named hot is the colder.

    Parameters
    ----------
    conductance
        :math:`UA`. At least 0. [kW/K]
    hot_rate, cold_rate
        Capacity rates. At least 0; no flow, no heat. [kW/K]
    hot_in, cold_in
        Temperatures at the inlets. [degC]
    arrangement
        See :func:`effectiveness`.

    Examples
    --------
    >>> float(exchange(2.0, 2.0, 2.0, 80.0, 20.0).heat)
    60.0
    """
    size = within(conductance, "the conductance", "kW/K", low=0.0)
    hot = within(hot_rate, "the capacity rate of the hot stream", "kW/K", low=0.0)
    cold = within(cold_rate, "the capacity rate of the cold stream", "kW/K", low=0.0)
    warm, cool = numbers(hot_in, "the hot inlet"), numbers(cold_in, "the cold inlet")
    least, most = np.minimum(hot, cold), np.maximum(hot, cold)
    # A trickle has more transfer units than matter; the floor keeps the quotient finite.
    ntu = size / np.maximum(least, 1e-12)
    share = least / np.where(most > 0, most, 1.0)
    change = effectiveness(ntu, share, arrangement) * (warm - cool)
    return HeatExchange(
        heat=np.asarray(change * least),
        hot_out=np.asarray(warm - change * np.where(hot > 0, least / np.where(hot > 0, hot, 1), 0)),
        cold_out=np.asarray(
            cool + change * np.where(cold > 0, least / np.where(cold > 0, cold, 1), 0)
        ),
    )
