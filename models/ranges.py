"""Ranges of parameters, numbers or arrays over units, and shapes of series over time.

Errors name the value, the range and what to give.
"""

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

    ``values``, ``what``, ``unit``: a number or an array of any shape, its name and its unit for the
    message. ``low``, ``high``: the ends of the range, which belong to it unless ``above`` or
    ``below`` says otherwise. ``above``, ``below``: whether the value must lie strictly above
    ``low`` or strictly below ``high``. ``finite``: whether infinity is refused.
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


def compatible(**arrays: npt.ArrayLike) -> tuple[int, ...]:
    """Return the shape that arrays broadcast to.

    Examples
    --------
    >>> compatible(power=[[1.0], [2.0]], rated_power=[5.0, 6.0, 7.0])
    (2, 3)
    """
    shapes = {name: np.shape(values) for name, values in arrays.items()}
    try:
        return np.broadcast_shapes(*shapes.values())
    except ValueError as error:
        several = {name: shape for name, shape in shapes.items() if shape}
        listed = ", ".join(f"{name} {shape}" for name, shape in several.items())
        raise ParameterError(
            f"these shapes do not fit: {listed}; give numbers, or arrays that broadcast"
        ) from error


def units(parameters: object, **inputs: npt.ArrayLike) -> tuple[int, ...]:
    """Return the shape that a dataclass's numbers and arrays broadcast to with some inputs.

    Tuples are curves and tables of one unit and do not count.
    """
    own = {
        k: v for k, v in vars(parameters).items() if isinstance(v, int | float | list | np.ndarray)
    }
    return compatible(**own, **inputs)


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


def over_time(values: npt.ArrayLike, shape: tuple[int, ...], what: str) -> Floats:
    """Return ``values`` broadcast to ``shape`` = (N,) or (N, units).

    One number stands for all periods; shape (N,) stands for all units.
    """
    array = numbers(values, what)
    if len(shape) == 2 and array.ndim == 1 and array.shape[0] == shape[0]:
        array = array[:, None]
    try:
        return np.asarray(np.broadcast_to(array, shape), dtype=np.float64)
    except ValueError as error:
        raise ParameterError(
            f"{what} has the shape {array.shape}; give one value, {shape[0]} (one for each "
            f"period), or the shape {shape}"
        ) from error


def hours_of_steps(step_hours: npt.ArrayLike, shape: tuple[int, ...]) -> Floats:
    """Return step lengths broadcast to ``shape`` = (N,) or (N, units). [h]."""
    array = over_time(step_hours, shape, "the step")
    if not (array > 0).all():
        raise ParameterError(f"a step is {array.min():g} h; give lengths above 0, as 0.25")
    return array
