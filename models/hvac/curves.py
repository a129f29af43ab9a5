"""Performance curves of equipment: polynomials in one and two variables, tables by part load.

Polynomials have the order of the coefficients of EnergyPlus (Input Output Reference, group
performance curves), so that published sets can be typed in as they stand. Outside its range a curve
holds the value of the nearest point in it, as EnergyPlus does.
"""

from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from engiagent.models.ranges import Floats, ParameterError, increasing, numbers, positive

Range = tuple[float, float]
EVERYWHERE: Range = (-np.inf, np.inf)


class Curve(Protocol):
    """Something that answers a number for one."""

    def at(self, x: npt.ArrayLike) -> Floats:
        """Return the value at ``x``."""
        ...


class Surface(Protocol):
    """Something that answers a number for two."""

    def at(self, x: npt.ArrayLike, y: npt.ArrayLike) -> Floats:
        """Return the value at ``x`` and ``y``."""
        ...


def _checked(coefficients: tuple[float, ...], counts: tuple[int, ...]) -> None:
    array = numbers(coefficients, "the coefficients of a curve")
    if array.ndim != 1 or len(array) not in counts:
        wanted = " or ".join(str(count) for count in counts)
        raise ParameterError(f"a curve has {array.size} coefficients; give {wanted}")


@dataclass(frozen=True)
class Polynomial:
    r"""Return :math:`c_1 + c_2 x + c_3 x^2 + \dots`, with one to eight coefficients.

    Examples
    --------
    >>> Polynomial((0.1, 0.4, 0.5)).at([0.0, 1.0]).tolist()
    [0.1, 1.0]
    """

    coefficients: tuple[float, ...]  # from the constant upwards

    def __post_init__(self) -> None:
        _checked(self.coefficients, tuple(range(1, 9)))

    def at(self, x: npt.ArrayLike) -> Floats:
        """Return the value of the polynomial."""
        points = numbers(x, "the point on a curve")
        return np.asarray(np.polynomial.polynomial.polyval(points, self.coefficients))


@dataclass(frozen=True)
class Table:
    """Share of the full input by part-load ratio, straight between points, held beyond them.

    Examples
    --------
    >>> Table((0.5, 1.0), (0.4, 1.0)).at([0.25, 0.75]).tolist()
    [0.4, 0.7]
    """

    ratios: tuple[float, ...]  # of part load, rising
    shares: tuple[float, ...]  # of the input at full load, above 0

    def __post_init__(self) -> None:
        increasing(self.ratios, "the part-load ratios of a table")
        positive(self.shares, "the shares of the input in a table", "-")
        if len(self.ratios) != len(self.shares):
            raise ParameterError(
                f"a table has {len(self.ratios)} ratios and {len(self.shares)} shares; give a pair "
                "for each point"
            )

    def at(self, x: npt.ArrayLike) -> Floats:
        """Return the share of the full input."""
        return np.asarray(np.interp(numbers(x, "the part load"), self.ratios, self.shares))


@dataclass(frozen=True)
class TableEfficiency:
    """Factor on the rated efficiency by part load as a table of the input has it, at any ``y``."""

    table: Table

    def at(self, x: npt.ArrayLike, y: npt.ArrayLike) -> Floats:
        """Return the factor; at rest, where it has no meaning, one that is above 0."""
        return np.asarray(np.maximum(x, 1e-12) / self.table.at(x))


@dataclass(frozen=True)
class Biquadratic:
    r"""Return :math:`c_1 + c_2 x + c_3 x^2 + c_4 y + c_5 y^2 + c_6 x y`, and cubic terms if given.

    With ten coefficients a bicubic: :math:`+ c_7 x^3 + c_8 y^3 + c_9 x^2 y + c_{10} x y^2`.

    Attributes
    ----------
    coefficients
        Six or ten, in the order of EnergyPlus.
    x_range, y_range
        Where the curve was fitted; a point outside counts as the nearest one inside.

    Examples
    --------
    >>> float(Biquadratic((1.0, 2.0, 0.0, 3.0, 0.0, 0.5)).at(2.0, 4.0))
    21.0
    >>> float(Biquadratic((1.0, 2.0, 0.0, 3.0, 0.0, 0.5), y_range=(0.0, 4.0)).at(2.0, 9.0))
    21.0
    """

    coefficients: tuple[float, ...]
    x_range: Range = EVERYWHERE
    y_range: Range = EVERYWHERE

    def __post_init__(self) -> None:
        _checked(self.coefficients, (6, 10))
        for low, high in (self.x_range, self.y_range):
            if not low < high:
                raise ParameterError(
                    f"the range of a curve goes from {low} to {high}; give two numbers that rise"
                )

    def at(self, x: npt.ArrayLike, y: npt.ArrayLike) -> Floats:
        """Return the value of the polynomial, at the nearest point beyond its ranges."""
        a = np.clip(numbers(x, "the point on a curve"), *self.x_range)
        b = np.clip(numbers(y, "the point on a curve"), *self.y_range)
        c = self.coefficients
        value = c[0] + a * (c[1] + c[2] * a + c[5] * b) + b * (c[3] + c[4] * b)
        if len(c) == 10:
            value = value + c[6] * a**3 + c[7] * b**3 + a * b * (c[8] * a + c[9] * b)
        return np.asarray(value)
