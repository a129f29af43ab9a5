"""Arrays of fractions, and how they are read and written."""

from collections.abc import Iterable
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from engiagent.verify.values import Floats, NotExactError, thin, wide

Fractions = npt.NDArray[np.object_]
"""An array whose elements are all :class:`fractions.Fraction`."""
LONGEST: Final = 120
"""How many characters a fraction may have to be written as one."""
DIGITS: Final = 30


def fraction(number: float) -> Fraction:
    """Return the shortest decimal that denotes a double, as a fraction.

    Examples
    --------
    >>> fraction(0.95)
    Fraction(19, 20)

    Raises
    ------
    NotExactError
        When it is not finite.
    """
    number = float(number)
    if not np.isfinite(number):
        raise NotExactError(f"{number} is no finite number")
    return Fraction(Decimal(repr(number)))


def fractions(data: Floats) -> Fractions:
    """Return doubles as the shortest decimals that denote them; repeated ones take no memory."""
    few = thin(np.asarray(data, dtype=np.float64).reshape(-1))
    known: dict[float, Fraction] = {}
    result = np.empty(few.size, dtype=object)
    for place, number in enumerate(few.tolist()):
        found = known.get(number)
        if found is None:
            found = known[number] = fraction(number)
        result[place] = found
    made: Any = result
    return np.asarray(wide(made, data.size))


def filled(number: Fraction, size: int) -> Fractions:
    """Return an array that repeats one number."""
    single = np.empty(1, dtype=object)
    single[0] = number
    made: Any = single
    return np.asarray(wide(made, size))


def listed(numbers: Iterable[Fraction]) -> Fractions:
    """Return numbers as an array."""
    found = list(numbers)
    result = np.empty(len(found), dtype=object)
    result[:] = found
    return result


def read_off(data: Floats, digits: int) -> Fractions:
    """Return doubles to so many significant digits; 17 or more read them as they are."""
    if digits >= 17:
        return fractions(data)
    return listed(Fraction(Decimal(f"{number:.{digits - 1}e}")) for number in data.tolist())


def floats(data: Iterable[Fraction]) -> Floats:
    """Return the nearest doubles, infinite where there is none."""
    return np.array([_double(number) for number in data], dtype=np.float64)


def _double(number: Fraction) -> float:
    try:
        return float(number)
    except OverflowError:
        return np.inf if number > 0 else -np.inf


def written(number: Fraction, up: bool | None = None) -> str:
    """Return a fraction as text: a whole number, ``p/q``, or ``~`` and thirty digits if long.

    ``up``: which way a long one is rounded; None for the side away from zero.

    Examples
    --------
    >>> written(Fraction(3, 7)), written(Fraction(-4))
    ('3/7', '-4')
    """
    shown = str(number)
    if len(shown) <= LONGEST:
        return shown
    away = number > 0 if up is None else up
    context = Context(
        prec=DIGITS, rounding=ROUND_CEILING if away else ROUND_FLOOR, Emin=-(10**9), Emax=10**9
    )
    return f"~{context.divide(Decimal(number.numerator), Decimal(number.denominator))}"
