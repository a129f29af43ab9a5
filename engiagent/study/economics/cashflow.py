r"""Present values of yearly cash flows.

Flows stand at the ends of years 0, 1, … N; year 0 is today and is not discounted. Rates are
fractions per year, all real or all nominal. A few formulas that keep the digits of a small rate,
which those of numpy-financial lose.

Internal rates are those at which flows are worth nothing today: with :math:`v = 1/(1 + i)` the
positive roots of :math:`p(v) = \sum_k c_k v^k`. Flows that change their sign more than once may
have several, or none; all are found and none is missed: the floats are taken as the exact fractions
that they are, and roots are isolated by Descartes' rule of signs on halved intervals (Vincent,
Collins and Akritas) in whole numbers. numpy-financial and pyxirr find one rate, from a guess.

What may be paid for yearly earnings :math:`R` less fixed costs :math:`F`, with a share :math:`s` of
the capital left at the end, at the rate :math:`i`:

.. math:: K = \frac{\sum_k (R_k - F)(1 + i)^{-k}}{1 - s (1 + i)^{-N}}
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from math import gcd, lcm

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


Polynomial = list[int]
"""Coefficients from the lowest power on; the last is not 0."""

MOST_YEARS = 600
_BITS = 70


@dataclass(frozen=True)
class InternalRates:
    """All internal rates of return."""

    # above -1, ascending, each once. Empty when the flows are worth something at every rate. [1/a]
    rates: tuple[float, ...]
    sign_changes: int  # how often the flows change their sign; there are at most as many rates

    @property
    def is_unique(self) -> bool:
        """Whether there is exactly one rate."""
        return len(self.rates) == 1

    @property
    def rate(self) -> float:
        """The only rate; InputError when there is none, or more than one."""
        if self.is_unique:
            return self.rates[0]
        if not self.rates:
            raise InputError("these cash flows have no internal rate of return")
        shown = ", ".join(f"{rate:.6g}" for rate in self.rates)
        raise InputError(
            f"these cash flows change their sign {self.sign_changes} times and have "
            f"{len(self.rates)} internal rates of return: {shown}; compare present values instead"
        )


def internal_rates(flows: Sequence[float] | Floats) -> InternalRates:
    """Return every rate above -1 at which flows at the ends of years 0 to N have no present value.

    Raises InputError when a flow is not finite, all are 0, or there are more than 600 years.

    Examples
    --------
    >>> [round(rate, 9) for rate in internal_rates([-100.0, 230.0, -132.0]).rates]
    [0.1, 0.2]
    """
    amounts = cash_flows(flows)
    if len(amounts) - 1 > MOST_YEARS:
        raise InputError(f"there are {len(amounts) - 1} years; give at most {MOST_YEARS}")
    used = np.flatnonzero(amounts)
    if not len(used):
        raise InputError("every cash flow is 0, so that any rate would do")
    exact = [Fraction(float(value)) for value in amounts[used[0] : used[-1] + 1]]
    scale = lcm(*(value.denominator for value in exact))
    polynomial = _primitive([int(value * scale) for value in exact])
    changes = _variations(polynomial)
    roots = [] if changes == 0 else _positive_roots(_square_free(polynomial))
    rates = sorted(float(1 / root - 1) for root in roots)
    return InternalRates(tuple(rates), changes)


def _variations(polynomial: Polynomial) -> int:
    signs = [value > 0 for value in polynomial if value]
    return sum(a != b for a, b in pairwise(signs))


def _positive_roots(polynomial: Polynomial) -> list[Fraction]:
    """Return the positive roots of a square-free polynomial, each to 70 binary digits."""
    bound = _root_bound(polynomial)
    degree = len(polynomial) - 1
    # v = 2^bound * y, so that all roots are between 0 and 1 in y.
    stretched = (
        [value << (bound * k) for k, value in enumerate(polynomial)]
        if bound >= 0
        else [value << (-bound * (degree - k)) for k, value in enumerate(polynomial)]
    )
    unit = Fraction(2) ** bound
    return [unit * root for root in _between(stretched)]


def _root_bound(polynomial: Polynomial) -> int:
    """Return b so that every root is below 2^b in size (Fujiwara)."""
    top = abs(polynomial[-1])
    degree = len(polynomial) - 1
    sizes = [
        (value.bit_length() - top.bit_length() + 1) / (degree - k)
        for k, value in enumerate(polynomial[:-1])
        if value
    ]
    return int(np.ceil(max(sizes, default=0.0))) + 2


def _between(polynomial: Polynomial) -> list[Fraction]:
    """Return the roots between 0 and 1, both excluded."""
    found: list[Fraction] = []
    work = [(polynomial, Fraction(0), Fraction(1))]
    while work:
        piece, low, width = work.pop()
        while piece[0] == 0:
            piece = piece[1:]  # a root at the lower end, found with its interval's halving
        count = _variations(_shifted(piece[::-1]))
        if count == 0:
            continue
        if count == 1:
            found.append(_refined(piece, low, width))
            continue
        half = [value << (len(piece) - 1 - k) for k, value in enumerate(piece)]
        right = _shifted(half)
        if right[0] == 0:
            found.append(low + width / 2)
        work += [(half, low, width / 2), (right, low + width / 2, width / 2)]
    return found


def _refined(polynomial: Polynomial, low: Fraction, width: Fraction) -> Fraction:
    """Return the only root between 0 and 1 of a polynomial, moved to where it belongs."""
    left, bits = 0, 0
    sign = polynomial[0] > 0
    while bits < _BITS or left.bit_length() < _BITS - 8:
        left, bits = 2 * left, bits + 1
        value = _scaled_value(polynomial, left + 1, bits)
        if value == 0:
            return low + width * Fraction(left + 1, 1 << bits)
        if (value > 0) == sign:
            left += 1
        if bits > 4000:
            break
    return low + width * Fraction(2 * left + 1, 1 << (bits + 1))


def _scaled_value(polynomial: Polynomial, numerator: int, bits: int) -> int:
    """Return the polynomial at numerator / 2^bits, times 2^(bits · degree)."""
    value, power = 0, 0
    for coefficient in reversed(polynomial):
        value = value * numerator + (coefficient << power)
        power += bits
    return value


def _shifted(polynomial: Polynomial) -> Polynomial:
    """Return p(x + 1)."""
    result = list(polynomial)
    for start in range(len(result) - 1):
        for k in range(len(result) - 2, start - 1, -1):
            result[k] += result[k + 1]
    return result


def _square_free(polynomial: Polynomial) -> Polynomial:
    """Return the polynomial with each of its roots once."""
    slope = [k * value for k, value in enumerate(polynomial)][1:]
    if len(polynomial) <= 2 or _prime_to_each_other(polynomial, slope):
        return polynomial
    common = _common(polynomial, slope)
    if len(common) == 1:
        return polynomial
    return _divided(polynomial, common)[0]


def _prime_to_each_other(one: Polynomial, two: Polynomial) -> bool:
    """Whether two polynomials have no common factor, as seen modulo a large prime.

    True is a proof; False may be chance, and exact division decides.
    """
    prime = (1 << 127) - 1
    a, b = ([value % prime for value in part] for part in (one, two))
    if not a[-1] or not b[-1]:
        return False
    while b:
        inverse = pow(b[-1], -1, prime)
        while len(a) >= len(b):
            factor, shift = a[-1] * inverse % prime, len(a) - len(b)
            for k, value in enumerate(b):
                a[k + shift] = (a[k + shift] - factor * value) % prime
            while a and not a[-1]:
                a.pop()
        a, b = b, a
    return len(a) == 1


def _common(one: Polynomial, two: Polynomial) -> Polynomial:
    """Return the greatest common divisor, by primitive remainders."""
    a, b = _primitive(one), _primitive(two)
    while any(b):
        a, b = b, _divided(a, b)[1]
    return a


def _divided(polynomial: Polynomial, divisor: Polynomial) -> tuple[Polynomial, Polynomial]:
    """Return quotient and remainder, each up to a factor."""
    rest = [Fraction(value) for value in polynomial]
    quotient = [Fraction(0)] * max(len(rest) - len(divisor) + 1, 1)
    for shift in reversed(range(len(rest) - len(divisor) + 1)):
        factor = quotient[shift] = rest[shift + len(divisor) - 1] / divisor[-1]
        for k, value in enumerate(divisor):
            rest[k + shift] -= factor * value
    whole, left = (
        [int(value * lcm(*(v.denominator for v in part))) for value in part]
        for part in (quotient, rest)
    )
    return _primitive(whole), _primitive(left)


def _primitive(polynomial: Polynomial) -> Polynomial:
    """Return the polynomial without the common divisor of its coefficients."""
    trimmed = list(polynomial)
    while len(trimmed) > 1 and not trimmed[-1]:
        trimmed.pop()
    divisor = gcd(*trimmed) or 1
    return [value // divisor for value in trimmed]


@dataclass(frozen=True)
class BreakEven:
    """What may be paid at most."""

    # what may be paid today, for all of it; below 0 when earnings do not even cover fixed costs.
    # [money]
    capital: float
    earnings: tuple[float, ...]  # what each year brings after fixed costs, shape (N,). [money/a]
    # the internal rates at that capital, found again from the cash flows: the target is one of them
    rates: InternalRates


def break_even_capital(
    earnings: Sequence[float] | Floats,
    target: float,
    years: int | None = None,
    *,
    fixed_costs: float = 0.0,
    fade: float = 0.0,
    residual: float = 0.0,
) -> BreakEven:
    """Return the capital at which yearly earnings earn a target internal rate of return.

    ``earnings``: what each year brings, from the end of the first on, shape (M,). [money/a]
    ``target``: the rate of return asked for. Above -1. [1/a] ``years``: how many years it lasts;
    the M years' earnings come again from the first on when it lasts longer than they. As many as
    there are earnings when None. [a] ``fixed_costs``: of every year. [money/a] ``fade``: part of
    the earnings that each year loses against the one before. 0 to below 1. [1/a] ``residual``:
    part of the capital that is left at the end. 0 to 1. [-] Raises InputError when a number is out
    of its range, or the residual alone earns more than the target.

    Examples
    --------
    >>> round(break_even_capital([100.0], 0.13, 15).capital, 4)
    646.2379
    """
    given = cash_flows(earnings)
    count = len(given) if years is None else years
    if count < 1:
        raise InputError(f"it lasts {count} years; give at least 1")
    for name, value, top in (("fade", fade, 1.0 - 1e-12), ("residual", residual, 1.0)):
        if not 0 <= value <= top:
            raise InputError(f"the {name} is {value}; give a part from 0 to 1, as 0.02")
    cash_flows([fixed_costs])
    year = np.arange(count)
    net = given[year % len(given)] * (1.0 - fade) ** year - fixed_costs
    worth = net_present_value(target, np.concatenate(([0.0], net)))
    kept = 1.0 - residual * (1.0 + target) ** -count
    if kept <= 0:
        raise InputError(f"at a rate of {target} what is left at the end pays for everything")
    capital = worth / kept
    flows = np.concatenate(([-capital], net))
    flows[-1] += residual * capital
    return BreakEven(capital, tuple(net.tolist()), internal_rates(flows))
