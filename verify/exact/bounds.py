r"""Dual bounds and Farkas rays in rational arithmetic.

For a minimisation and rows :math:`a_r x + c_r \ge 0` (or :math:`\le`, :math:`=`) with multipliers
:math:`y_r` of the right sign,

.. math:: f(x) \ge f_0 - \sum_r y_r c_r + \sum_j \min_{l_j \le x_j \le u_j} d_j x_j, \qquad
    d = \nabla f - A^T y

holds for every allowed :math:`x`. Multipliers come as doubles; they are read as decimals, moved to
the side on which they are valid, and where a reduced cost of a variable without bounds does not
vanish, others are tried: rounded to fewer digits, and bounds that the rows imply.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Final

import numpy as np

from engiagent.units.unit import Unit
from engiagent.verify.exact.forms import Exact
from engiagent.verify.exact.numbers import (
    Fractions,
    NotExactError,
    fraction,
    grouped,
    total,
    written,
)
from engiagent.verify.exact.programme import ExactProgramme, Linear
from engiagent.verify.schedule import Multipliers
from engiagent.verify.values import Floats

ZERO: Final = Fraction(0)
DIGITS: Final = (17, 12, 9)
"""To how many significant digits multipliers are read, one after the other."""
Ends = tuple[Sequence[Fraction | None], Sequence[Fraction | None]]


@dataclass(frozen=True)
class ExactBound:
    """A bound in SI that holds without a rounding error; None when it is lost.

    Attributes
    ----------
    reason
        Why there is none.
    """

    value: Fraction | None
    reason: str | None = None


def dual_bound(
    linear: Linear, goal: Exact, point: Fractions, sign: int, weights: Fractions, ends: Ends
) -> ExactBound:
    """Return what multipliers prove of the objective: from below, or above when maximising.

    Parameters
    ----------
    goal
        The objective, affine, one row.
    sign
        1 for a minimisation, -1 for a maximisation.
    weights
        One multiplier per row, for the minimisation; those of the wrong sign count as zero.
    ends
        Bounds of the columns.
    """
    own = goal.joined()
    slopes = grouped(own.factors, own.columns, point.size)
    constant = sign * (goal.data[0] - total(own.factors * point[own.columns]))
    found = _least(linear, sign * slopes, weights, ends)
    return found if found.value is None else ExactBound(sign * (constant + found.value))


def farkas_margin(linear: Linear, weights: Fractions, ends: Ends) -> ExactBound:
    """Return by how much weighted rows contradict the bounds; above zero nothing is allowed."""
    zero = np.empty(len(linear.lower), dtype=object)
    zero[:] = ZERO
    return _least(linear, zero, weights, ends)


def _least(linear: Linear, slopes: Fractions, weights: Fractions, ends: Ends) -> ExactBound:
    """Return the least of ``slopes x - weights (A x + c)`` over the box."""
    y = clipped(weights, linear.ops)
    used = np.flatnonzero([bool(weight) for weight in y])
    constant = -total(y[used] * linear.constant[used])
    entries = linear.entries
    carried = np.flatnonzero([bool(y[row]) for row in entries.rows])
    pulled = entries.factors[carried] * y[entries.rows[carried]]
    d = slopes - grouped(pulled, entries.columns[carried], len(slopes))
    parts = [constant]
    lower, upper = ends
    for column in np.flatnonzero([bool(slope) for slope in d]).tolist():
        end = lower[column] if d[column] > 0 else upper[column]
        if end is None:
            side = "lower" if d[column] > 0 else "upper"
            reason = f"column {column} has no {side} bound, its reduced cost is "
            return ExactBound(None, reason + written(d[column]))
        parts.append(d[column] * end)
    summed = np.empty(len(parts), dtype=object)
    summed[:] = parts
    return ExactBound(total(summed))


def clipped(weights: Fractions, ops: Sequence[str]) -> Fractions:
    """Return multipliers with zero in place of those that are on the wrong side."""
    y = np.empty(len(weights), dtype=object)
    y[:] = [
        ZERO if (op == ">=" and weight < 0) or (op == "<=" and weight > 0) else weight
        for weight, op in zip(weights, ops, strict=True)
    ]
    return y


def repaired(
    attempt: Callable[[Fractions, Ends], ExactBound],
    read: Callable[[int], Fractions],
    boxes: Sequence[Ends],
) -> ExactBound:
    """Return the first bound that is not lost, over fewer and fewer digits and wider knowledge.

    Parameters
    ----------
    attempt
        The bound for multipliers and bounds of the columns.
    read
        The multipliers to so many significant digits.
    boxes
        Bounds of the columns: declared ones first, then with those that rows imply.
    """
    found = ExactBound(None, "there are no multipliers")
    for ends in boxes:
        for digits in DIGITS:
            found = attempt(read(digits), ends)
            if found.value is not None:
                return found
    return found


# --- multipliers -------------------------------------------------------------------------------


def weights_of(
    programme: ExactProgramme,
    linear: Linear,
    multipliers: Mapping[str, Multipliers],
    scale: Unit | None,
    sign: int,
    digits: int,
) -> Fractions:
    """Return one multiplier per row of a linear system from those of the blueprint's constraints.

    Raises
    ------
    NotExactError
        When they do not fit the rows.
    """
    y = np.empty(linear.constant.size, dtype=object)
    y[:] = ZERO
    lengths: dict[str, int] = {}
    for block in programme.blocks:
        lengths[block.rule.id] = max(lengths.get(block.rule.id, 0), block.number)
    for block in programme.blocks:
        span = linear.starts.get((block.rule.id, block.number))
        if span is None:
            continue
        unit = block.excess.unit.difference()
        for factor, given in _given(block.rule.id, block.number, block.op, lengths, multipliers):
            own = _fitted(given, block.excess.size, digits)
            per = (
                given.unit.factor
                if given.unit is not None
                else ((scale.factor if scale is not None else Fraction(1)) / unit.factor)
            )
            y[span] = [factor(sign * number * per) for number in own]
    return y


def _given(
    name: str,
    number: int,
    op: str,
    lengths: Mapping[str, int],
    multipliers: Mapping[str, Multipliers],
) -> Iterator[tuple[Callable[[Fraction], Fraction], Multipliers]]:
    """Yield the multipliers of one comparison of a rule, and what to do with them."""
    whole, own = multipliers.get(name), multipliers.get(f"{name}__{number}")
    both = lengths[name] == 2 and whole is not None and f"{name}__2" not in multipliers
    if both and whole is not None:
        # ``low <= middle <= high`` has one multiplier, that of the middle: which side it is of
        # tells its sign. As excesses, both comparisons have the middle with the opposite one.
        first = (number == 1) == (op != ">=")
        if first:
            yield (lambda y: -max(y, ZERO) if op != ">=" else max(y, ZERO)), whole
        else:
            yield (lambda y: min(y, ZERO) if op != ">=" else -min(y, ZERO)), whole
        return
    chosen = own or (whole if number == 1 else None)
    if chosen is not None:
        yield (lambda y: y), chosen


def _fitted(multipliers: Multipliers, size: int, digits: int) -> list[Fraction]:
    data = multipliers.data
    if data.size != size:
        data = data[~np.isnan(data)]
    if data.size != size:
        raise NotExactError(f"{multipliers.data.size} multipliers for {size} rows")
    return read_off(np.where(np.isfinite(data), data, 0.0), digits)


def read_off(data: Floats, digits: int) -> list[Fraction]:
    """Return doubles to so many significant digits; 17 or more read them as they are."""
    if digits >= 17:
        return [fraction(number) for number in data.tolist()]
    return [Fraction(Decimal(f"{number:.{digits - 1}e}")) for number in data.tolist()]
