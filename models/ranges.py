"""Ranges of physical parameters, with errors that say the value, the range and the fix."""

import math

import numpy as np
import numpy.typing as npt

from engiagent.errors import EngiagentError

Floats = npt.NDArray[np.float64]


class ParameterError(EngiagentError):
    """A physical parameter is outside the range in which its model means anything."""


def positive(value: float, what: str, unit: str, example: str) -> None:
    """Refuse a value that is not finite and above zero."""
    if not (math.isfinite(value) and value > 0):
        raise ParameterError(f"{what} is {value} {unit}; give a number above 0, as {example}")


def not_negative(value: float, what: str, unit: str, finite: bool = True) -> None:
    """Refuse a value below zero or not a number; infinity passes only when ``finite`` is false."""
    if math.isnan(value) or value < 0 or (finite and math.isinf(value)):
        raise ParameterError(f"{what} is {value} {unit}; give 0 or a number above it")


def fraction(value: float, what: str) -> None:
    """Refuse a value that is not above 0 and at most 1."""
    if not 0 < value <= 1:
        hint = f"; {value} % is {value / 100:g}" if 1 < value <= 100 else ""
        raise ParameterError(
            f"{what} is {value}; give a fraction above 0 and at most 1, as 0.95{hint}"
        )


def series(values: npt.ArrayLike, length: int, what: str) -> Floats:
    """Return ``values`` as an array of shape (length,); one number stands for all periods."""
    array = np.asarray(values, dtype=np.float64)
    if array.ndim == 0:
        array = np.full(length, float(array))
    if array.shape != (length,):
        raise ParameterError(
            f"{what} has the shape {array.shape}; give one value or {length}, one for each period"
        )
    finite = np.isfinite(array)
    if not finite.all():
        place = int(np.argmin(finite))
        raise ParameterError(f"{what} is {array[place]} in period {place}; give finite numbers")
    return array


def steps(step_hours: npt.ArrayLike, length: int) -> Floats:
    """Return step lengths of shape (length,) in hours."""
    array = series(step_hours, length, "the step")
    if not (array > 0).all():
        raise ParameterError(f"a step is {array.min()} h; give lengths above 0, as 0.25")
    return array
