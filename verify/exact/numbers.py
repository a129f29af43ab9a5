"""Arrays of fractions, and how they are read and written."""

from collections.abc import Iterable
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from engiagent.verify.values import Floats, Ints, thin, wide

Fractions = npt.NDArray[np.object_]
"""An array whose elements are all :class:`fractions.Fraction`."""
LONGEST: Final = 120
"""How many characters a fraction may have to be written as one."""
DIGITS: Final = 30


class NotExactError(Exception):
    """Something has no value in rational arithmetic; says what."""


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
    return stretched(result, data.size)


def filled(number: Fraction, size: int) -> Fractions:
    """Return an array that repeats one number."""
    single = np.empty(1, dtype=object)
    single[0] = number
    return stretched(single, size)


def stretched(data: Fractions, size: int) -> Fractions:
    """Return one element as many."""
    source: Any = data
    made: Any = wide(source, size)
    return np.asarray(made)


def few(data: Fractions) -> Fractions:
    """Return the only element of an array that repeats it, else the array."""
    source: Any = data
    made: Any = thin(source)
    return np.asarray(made)


def total(data: Fractions) -> Fraction:
    """Return the sum, taken in pairs: denominators stay short for as long as they can."""
    rest = data
    while rest.size > 1:
        even = rest.size - rest.size % 2
        pairs = rest[0:even:2] + rest[1:even:2]
        rest = np.append(pairs, rest[even:])
    return Fraction(rest[0]) if rest.size else Fraction(0)


def grouped(data: Fractions, rows: Ints, size: int) -> Fractions:
    """Return the sum of each group that ``rows`` names, zero for an empty one."""
    result = np.empty(size, dtype=object)
    result[:] = Fraction(0)
    np.add.at(result, rows, data)
    return result


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

    Parameters
    ----------
    up
        Which way a long one is rounded; None for the side away from zero.

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
