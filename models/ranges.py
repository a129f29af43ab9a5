"""Ranges of parameters, numbers or arrays, and series over time; errors say what to give."""

import math

import numpy as np
import numpy.typing as npt

from engiagent.errors import EngiagentError

Floats = npt.NDArray[np.float64]


class ParameterError(EngiagentError):
    """A physical parameter is outside the range in which its model means anything."""


def numbers(values: npt.ArrayLike, what: str, *, finite: bool = True) -> Floats:
    """Return ``values`` as an array of floats; NaN never passes."""
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ParameterError(f"{what} is {values!r}; give a number or an array of them") from error
    bad = ~np.isfinite(array) if finite else np.isnan(array)
    if bad.any():
        place = f" at place {int(np.argmax(bad))}" if array.ndim else ""
        wanted = "finite numbers" if finite else "numbers"
        raise ParameterError(f"{what} is {array[bad][0]}{place}; give {wanted}")
    return array


def within(
    values: npt.ArrayLike,
    what: str,
    unit: str,
    *,
    low: float = -math.inf,
    high: float = math.inf,
    above: bool = False,
    below: bool = False,
    finite: bool = True,
) -> Floats:
    """Return ``values`` as floats after checking that each lies in a range.

    ``low``, ``high``: the ends, which belong to the range unless ``above`` or ``below`` says
    otherwise. ``finite``: whether infinity is refused.
    """
    array = numbers(values, what, finite=finite)
    fits = (array > low if above else array >= low) & (array < high if below else array <= high)
    if not fits.all():
        label = f" {unit}" if unit not in ("", "-") else ""
        ends = []
        if low > -math.inf:
            ends.append(f"above {low:g}" if above else f"at least {low:g}")
        if high < math.inf:
            ends.append(f"below {high:g}" if below else f"at most {high:g}")
        raise ParameterError(
            f"{what} is {array[~fits][0]:g}{label}; give a number {' and '.join(ends)}{label}"
        )
    return array


def positive(values: npt.ArrayLike, what: str, unit: str, *, finite: bool = True) -> Floats:
    """Return values that are above 0."""
    return within(values, what, unit, low=0.0, above=True, finite=finite)


def not_negative(values: npt.ArrayLike, what: str, unit: str, *, finite: bool = True) -> Floats:
    """Return values that are at least 0."""
    return within(values, what, unit, low=0.0, finite=finite)


def share(values: npt.ArrayLike, what: str) -> Floats:
    """Return values from 0 to 1."""
    return within(values, what, "-", low=0.0, high=1.0)


def fraction(values: npt.ArrayLike, what: str) -> Floats:
    """Return values above 0 and at most 1."""
    array = numbers(values, what)
    bad = array[~((array > 0) & (array <= 1))]
    if bad.size:
        hint = f"; {bad[0]} % is {bad[0] / 100:g}" if 1 < bad[0] <= 100 else ""
        raise ParameterError(
            f"{what} is {bad[0]}; give a fraction above 0 and at most 1, as 0.95{hint}"
        )
    return array


def increasing(values: npt.ArrayLike, what: str, *, least: int = 2) -> Floats:
    """Return ``values`` as floats of shape (n,) after checking that they rise strictly."""
    array = numbers(values, what)
    if array.ndim != 1 or len(array) < least:
        raise ParameterError(f"{what} has the shape {array.shape}; give at least {least} numbers")
    rise = np.diff(array) > 0
    if not rise.all():
        place = int(np.argmin(rise))
        raise ParameterError(
            f"{what} goes from {array[place]:g} to {array[place + 1]:g} at place {place + 1}; "
            "give numbers that rise"
        )
    return array


def series(values: npt.ArrayLike, length: int, what: str) -> Floats:
    """Return ``values`` as an array of shape (length,); one number stands for all periods."""
    array = numbers(values, what)
    if array.ndim == 0:
        return np.full(length, float(array))
    if array.shape != (length,):
        raise ParameterError(
            f"{what} has the shape {array.shape}; give one value or {length}, one for each period"
        )
    return array


def steps(step_hours: npt.ArrayLike, length: int) -> Floats:
    """Return step lengths of shape (length,). [h]."""
    return series(positive(step_hours, "the step", "h"), length, "the step")
