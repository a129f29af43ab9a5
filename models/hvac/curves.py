"""Performance curves of equipment: polynomials in one and two variables, and tables.

Polynomials have the order of the coefficients of EnergyPlus (Input Output Reference, group
performance curves), so that published sets can be typed in as they stand. Outside its range a curve
holds the value of the nearest point in it, as EnergyPlus does; :meth:`valid` says where that is. A
curve without a range has its formula everywhere.
"""

from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np
import numpy.typing as npt

from engiagent.models.parameters import increasing, numbers
from engiagent.models.ranges import Floats, ParameterError

Range = tuple[float, float]
Mask = npt.NDArray[np.bool_]
EVERYWHERE: Range = (-np.inf, np.inf)


class Surface(Protocol):
    """Something that answers a number for two, and says where it means it."""

    def at(self, x: npt.ArrayLike, y: npt.ArrayLike) -> Floats:
        """Return the value at ``x`` and ``y``."""
        ...

    def valid(self, x: npt.ArrayLike, y: npt.ArrayLike) -> Mask:
        """Return where ``x`` and ``y`` lie in the range of the data."""
        ...


def _checked(coefficients: tuple[float, ...], counts: tuple[int, ...], *ranges: Range) -> None:
    array = numbers(coefficients, "the coefficients of a curve")
    if array.ndim != 1 or len(array) not in counts:
        wanted = " or ".join(str(count) for count in counts)
        raise ParameterError(f"a curve has {array.size} coefficients; give {wanted}")
    for low, high in ranges:
        if not low < high:
            raise ParameterError(
                f"the range of a curve goes from {low} to {high}; give two numbers that rise"
            )


def _inside(values: npt.ArrayLike, span: Range) -> Mask:
    array = numbers(values, "the point on a curve")
    return np.asarray((array >= span[0]) & (array <= span[1]))


@dataclass(frozen=True)
class Polynomial:
    r"""Return :math:`c_1 + c_2 x + c_3 x^2 + \dots`: a linear, quadratic or cubic curve and beyond.

    Attributes
    ----------
    coefficients
        From the constant upwards, one to eight.
    x_range
        Where the curve was fitted; a point outside counts as the nearest end.

    Examples
    --------
    >>> Polynomial((0.1, 0.4, 0.5)).at([0.0, 1.0]).tolist()
    [0.1, 1.0]
    """

    coefficients: tuple[float, ...]
    x_range: Range = EVERYWHERE

    def __post_init__(self) -> None:
        _checked(self.coefficients, tuple(range(1, 9)), self.x_range)

    def at(self, x: npt.ArrayLike) -> Floats:
        """Return the value of the polynomial, at the nearest end beyond its range."""
        where = np.clip(numbers(x, "the point on a curve"), *self.x_range)
        value = np.zeros_like(where)
        for coefficient in reversed(self.coefficients):
            value = value * where + coefficient
        return np.asarray(value)

    def slope(self, x: npt.ArrayLike) -> Floats:
        """Return the derivative at ``x``, 0 beyond the range."""
        factors = tuple(n * c for n, c in enumerate(self.coefficients))[1:]
        return np.where(self.valid(x), Polynomial(factors or (0.0,)).at(x), 0.0)

    def valid(self, x: npt.ArrayLike) -> Mask:
        """Return where ``x`` lies in the range of the curve."""
        return _inside(x, self.x_range)


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
        _checked(self.coefficients, (6, 10), self.x_range, self.y_range)

    def at(self, x: npt.ArrayLike, y: npt.ArrayLike) -> Floats:
        """Return the value of the polynomial, at the nearest point beyond its ranges."""
        a = np.clip(numbers(x, "the point on a curve"), *self.x_range)
        b = np.clip(numbers(y, "the point on a curve"), *self.y_range)
        c = self.coefficients
        value = c[0] + a * (c[1] + c[2] * a + c[5] * b) + b * (c[3] + c[4] * b)
        if len(c) == 10:
            value = value + c[6] * a**3 + c[7] * b**3 + a * b * (c[8] * a + c[9] * b)
        return np.asarray(value)

    def valid(self, x: npt.ArrayLike, y: npt.ArrayLike) -> Mask:
        """Return where both variables lie in the ranges of the curve."""
        return np.asarray(_inside(x, self.x_range) & _inside(y, self.y_range))


@dataclass(frozen=True, kw_only=True)
class TableMap:
    """Values at the points of a grid, bilinear between them.

    Attributes
    ----------
    x, y
        Rising points of the two variables, at least two each.
    values
        One row for each ``x``, one column for each ``y``.
    outside
        ``raise`` refuses points beyond the grid, ``hold`` takes the nearest edge.

    Examples
    --------
    >>> cop = TableMap(x=(-7.0, 7.0), y=(35.0, 55.0), values=((2.8, 1.9), (4.2, 2.7)))
    >>> round(float(cop.at(0.0, 45.0)), 12)
    2.9
    """

    x: tuple[float, ...]
    y: tuple[float, ...]
    values: tuple[tuple[float, ...], ...]
    outside: Literal["raise", "hold"] = "raise"

    def __post_init__(self) -> None:
        rows = increasing(self.x, "the rows of a table")
        columns = increasing(self.y, "the columns of a table")
        if any(len(row) != len(columns) for row in self.values) or len(self.values) != len(rows):
            found = f"{len(self.values)} rows of {sorted({len(row) for row in self.values})} values"
            raise ParameterError(f"a table has {found}; give {len(rows)} of {len(columns)}")
        numbers(self.values, "a value of a table")
        if self.outside not in ("raise", "hold"):
            raise ParameterError(f"outside is {self.outside!r}; a table knows 'raise' and 'hold'")

    def at(self, x: npt.ArrayLike, y: npt.ArrayLike) -> Floats:
        """Return the interpolated value."""
        if self.outside == "raise" and not self.valid(x, y).all():
            raise ParameterError(
                f"a point lies outside the table, which spans {self.x[0]:g} to {self.x[-1]:g} and "
                f"{self.y[0]:g} to {self.y[-1]:g}; give outside='hold' to take its edges"
            )
        row, along = self._place(x, self.x)
        column, across = self._place(y, self.y)
        table = np.asarray(self.values, dtype=np.float64)
        below = (1.0 - across) * table[row, column] + across * table[row, column + 1]
        above = (1.0 - across) * table[row + 1, column] + across * table[row + 1, column + 1]
        return np.asarray((1.0 - along) * below + along * above)

    def valid(self, x: npt.ArrayLike, y: npt.ArrayLike) -> Mask:
        """Return where both variables lie on the grid."""
        return np.asarray(_inside(x, (self.x[0], self.x[-1])) & _inside(y, (self.y[0], self.y[-1])))

    @staticmethod
    def _place(
        values: npt.ArrayLike, points: tuple[float, ...]
    ) -> tuple[npt.NDArray[np.intp], Floats]:
        grid = np.asarray(points, dtype=np.float64)
        held = np.clip(numbers(values, "the point on a table"), grid[0], grid[-1])
        left = np.clip(np.searchsorted(grid, held, side="right") - 1, 0, len(grid) - 2)
        return left, np.asarray((held - grid[left]) / (grid[left + 1] - grid[left]))
