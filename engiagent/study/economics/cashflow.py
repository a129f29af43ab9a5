r"""Present values of yearly cash flows.

Flows stand at the ends of years 0, 1, … N; year 0 is today and is not discounted. Rates are
fractions per year, all real or all nominal. A few formulas that keep the digits of a small rate,
which those of numpy-financial lose.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from engiagent.errors import InputError

Floats = npt.NDArray[np.float64]


def annuity_factor(rate: float, years: float) -> float:
    r"""Return what one unit of money at the end of each year is worth today.

    .. math:: a = \frac{1 - (1 + i)^{-n}}{i}, \qquad a = n \text{ for } i = 0

    ``rate``: interest. Above -1. [1/a] ``years``: how long. At least 0. [a] Raises InputError
    when a number is out of its range.

    Examples
    --------
    >>> round(annuity_factor(0.05, 20), 6)
    12.46221
    """
    _rate(rate)
    if not (np.isfinite(years) and years >= 0):
        raise InputError(f"the years are {years}; give at least 0, as 20")
    if rate == 0:
        return float(years)
    # log1p and expm1 keep the digits of a small rate.
    return float(-np.expm1(-years * np.log1p(rate)) / rate)


def annuity_payment(capital: float, rate: float, years: float) -> float:
    """Return the equal payment at the end of each year that pays a capital back. [money/a].

    Raises InputError when a number is out of its range, or there are no years to pay in.

    Examples
    --------
    >>> round(annuity_payment(1000.0, 0.05, 20), 6)
    80.242587
    """
    factor = annuity_factor(rate, years)
    if factor <= 0 or not np.isfinite(capital):
        raise InputError(f"{capital} cannot be paid back within {years} years")
    return capital / factor


def net_present_value(rate: float, flows: Sequence[float] | Floats) -> float:
    r"""Return the value today of flows at the ends of years 0 to N.

    .. math:: \sum_{k=0}^{N} \frac{c_k}{(1 + i)^k}

    ``rate``: interest. Above -1. [1/a] ``flows``: shape (N + 1,); money that comes in is above 0.
    [money]. Raises InputError when the rate is not above -1, or a flow is not finite.

    Examples
    --------
    >>> round(net_present_value(0.1, [-100.0, 60.0, 60.0]), 6)
    4.132231
    """
    _rate(rate)
    amounts = cash_flows(flows)
    with np.errstate(over="ignore", invalid="ignore"):
        value = float(amounts @ (1.0 + rate) ** -np.arange(len(amounts), dtype=np.float64))
    if not np.isfinite(value):
        raise InputError(f"{len(amounts)} years at a rate of {rate} are beyond what numbers hold")
    return value


def levelised_cost(
    rate: float, costs: Sequence[float] | Floats, amounts: Sequence[float] | Floats
) -> float:
    r"""Return the price at which what is made pays for what it costs.

    .. math:: \frac{\sum_k C_k (1 + i)^{-k}}{\sum_k E_k (1 + i)^{-k}}

    ``rate``: interest. Above -1. [1/a] ``costs``, ``amounts``: costs and what is made by year from
    year 0 on, both of shape (N + 1,). [money], [kWh]. Raises InputError when the shapes differ, or
    nothing is made.
    """
    made, spent = cash_flows(amounts), cash_flows(costs)
    if len(made) != len(spent):
        raise InputError(f"there are costs for {len(spent)} years and amounts for {len(made)}")
    worth = net_present_value(rate, made)
    if worth <= 0:
        raise InputError("nothing is made over the years, so no price can pay for it")
    return net_present_value(rate, spent) / worth


def cash_flows(flows: Sequence[float] | Floats) -> Floats:
    """Return flows as an array, shape (N + 1,).

    Raises InputError when there are none, or one is not finite.
    """
    amounts = np.asarray(flows, dtype=np.float64)
    if amounts.ndim != 1 or not len(amounts):
        raise InputError(f"cash flows are one number a year; these have shape {amounts.shape}")
    if not np.isfinite(amounts).all():
        place = int(np.argmin(np.isfinite(amounts)))
        raise InputError(f"the cash flow of year {place} is {amounts[place]}; give a finite number")
    return amounts


def _rate(rate: float) -> None:
    if not (np.isfinite(rate) and rate > -1):
        raise InputError(f"the rate is {rate}; give a fraction a year above -1, as 0.08")
