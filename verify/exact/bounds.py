r"""Dual bounds and Farkas rays in rational arithmetic.

For a minimisation and rows :math:`a_r x + c_r \le 0` (or :math:`= 0`) with multipliers
:math:`y_r \ge 0` (or of any sign),

.. math:: f(x) \ge f_0 + \sum_r y_r c_r + \sum_j \min_{l_j \le x_j \le u_j} d_j x_j, \qquad
    d = \nabla f + A^T y

holds for every allowed :math:`x`. Multipliers come as doubles; they are read as decimals, and where
a reduced cost of a variable without bounds does not vanish, others are tried: rounded to fewer
digits, and bounds that the rows imply.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Final

import numpy as np

from engiagent.verify.exact.numbers import Fractions, floats, fraction, listed, read_off, written
from engiagent.verify.exact.programme import Ends, Linear
from engiagent.verify.levels.branching import CASES, Solved, least_over_cases
from engiagent.verify.levels.proposing import Proposer
from engiagent.verify.levels.relaxation import elastic
from engiagent.verify.levels.relaxed import Relaxation
from engiagent.verify.values import Floats, Ints, grouped, summed

ZERO: Final = Fraction(0)
INFINITE: Final = Fraction(10) ** 400
"""A bound of a case that allows nothing: beyond every double."""
DIGITS: Final = (17, 12, 9)
"""To how many significant digits multipliers are read, one after the other."""
MOST: Final = 400_000
"""Entries times cases that are gone through: more would take minutes."""
CLOSE: Final = Fraction(1, 10**7)
WHOLE: Final = 1e-6
"""How near to a whole number is one, for the choice of a case."""


@dataclass(frozen=True)
class ExactBound:
    """A bound in SI, of a minimisation, that holds without a rounding error.

    ``value`` is None when it is lost; ``reason`` says why.
    """

    value: Fraction | None
    reason: str | None = None


def dual_bound(linear: Linear, weights: Fractions, ends: Ends, ray: bool = False) -> ExactBound:
    """Return what multipliers prove of the objective; those of the wrong sign count as zero.

    ``ends``: bounds of the columns. ``ray``: whether the objective counts as nothing: above zero
    the rows contradict the bounds.
    """
    used = np.flatnonzero([bool(y) for y in weights] & (linear.equal | (weights > 0)))
    y = listed([ZERO] * len(weights))
    y[used] = weights[used]
    carried = np.flatnonzero([bool(y[row]) for row in linear.rows])
    pulled = linear.factors[carried] * y[linear.rows[carried]]
    d = grouped(pulled, linear.columns[carried], len(linear.lower))
    d = d if ray else d + linear.cost
    parts = [ZERO if ray else linear.offset, summed(y[used] * linear.constant[used])]
    for column in np.flatnonzero([bool(slope) for slope in d]).tolist():
        end = ends[0][column] if d[column] > 0 else ends[1][column]
        if end is None:
            side = "lower" if d[column] > 0 else "upper"
            reason = f"column {column} has no {side} bound, its reduced cost is "
            return ExactBound(None, reason + written(d[column]))
        parts.append(d[column] * end)
    return ExactBound(summed(listed(parts)))


def repaired(
    linear: Linear,
    weights: Floats,
    boxes: Iterable[Ends],
    scale: Fractions | None = None,
    ray: bool = False,
) -> ExactBound:
    """Return the first bound that is not lost, over fewer and fewer digits and wider knowledge.

    ``weights``: one multiplier for each row. ``boxes``: bounds of the columns: declared ones first,
    then with those that rows imply. ``scale``: in what each is read as a decimal; None where in SI.
    """
    found = ExactBound(None, "there are no duals")
    for ends in boxes:
        for digits in DIGITS:
            found = dual_bound(linear, read_weights(weights, scale, digits), ends, ray)
            if found.value is not None:
                return found
    return found


def read_weights(weights: Floats, scale: Fractions | None, digits: int = 17) -> Fractions:
    """Return multipliers read as decimals in a scale; see :func:`repaired`."""
    if scale is None:
        return read_off(weights, digits)
    return np.asarray(read_off(weights / floats(scale), digits) * scale)


# --- the checker's own multipliers ---------------------------------------------------------------


def proposed(linear: Linear) -> tuple[Floats, Floats] | None:
    """Return an optimum and multipliers of the rows, None where a linear solver finds none."""
    relaxation = linear.relaxation()
    found = Proposer(relaxation, sizes(relaxation))(relaxation.lower, relaxation.upper, [])
    return None if found is None else found[:2]


def sizes(relaxation: Relaxation) -> Floats:
    """Return the size of each column by its bounds and by rows with no other column.

    Without any it is that of the others: a coefficient that scaling makes tiny is dropped by
    solvers, and the row with it.
    """
    ends = (
        np.where(np.isfinite(end), np.abs(end), 0.0) for end in (relaxation.lower, relaxation.upper)
    )
    found = np.maximum(*ends)
    rows = relaxation.rows
    single = np.flatnonzero(np.diff(rows.matrix.indptr) == 1)
    places = rows.matrix.indptr[single]
    limits = np.abs(rows.constant[single] / rows.matrix.data[places])
    np.maximum.at(found, rows.matrix.indices[places], limits)
    known = found > 1e-12 * float(found.max(initial=0.0))
    usual = float(np.exp(np.log(found[known]).mean())) if known.any() else 1.0
    return np.where(known, found, usual)


def proposed_ray(linear: Linear) -> Floats | None:
    """Return weights of the rows by which they may contradict the bounds, None without any.

    They are multipliers of the task to make the largest violation small, which may be negative:
    so there always are some, and a conflict by a billionth shows as well as one by half.
    """
    if not linear.constant.size:
        return None
    relaxation = linear.relaxation()
    task, start = elastic(relaxation, sizes(relaxation))
    found = Proposer(task, start)(task.lower, task.upper, [])
    if found is None:
        return None
    count = linear.constant.size
    y = found[1][:count].copy()
    y[linear.equal] -= found[1][count:]
    most = float(np.abs(y).max(initial=0.0))
    return np.where(np.abs(y) > 1e-12 * most, y, 0.0)


def contradiction(linear: Linear) -> str | None:
    """Return how bounds or a ray contradict one another, None when they were not shown to."""
    for low, high in zip(linear.lower, linear.upper, strict=True):
        if low is not None and high is not None and low > high:
            return "bounds that cross"
    weights = proposed_ray(linear)
    if weights is None:
        return None
    most = float(np.abs(weights).max(initial=0.0)) or 1.0
    for least in (1e-12, 1e-9, 1e-7):
        y = np.where(np.abs(weights) > least * most, weights, 0.0)
        for read in (y, y / most):  # ratios of whole numbers stay such
            margin = repaired(linear, read, [(linear.lower, linear.upper)], ray=True).value
            if margin is not None and margin > 0:
                return "ray"
    y = _exact_ray(linear, np.flatnonzero(np.abs(weights) > 1e-9 * most), weights)
    margin = dual_bound(linear, y, (linear.lower, linear.upper), ray=True).value
    return "ray" if margin is not None and margin > 0 else None


def _exact_ray(system: Linear, rows: Ints, near: Floats) -> Fractions:
    """Return weights of chosen rows that cancel exactly in every column without a needed bound."""
    places = {int(row): k for k, row in enumerate(rows.tolist())}
    equations: dict[int, dict[int, Fraction]] = {}
    for row, column, factor in zip(
        system.rows.tolist(), system.columns.tolist(), system.factors, strict=True
    ):
        open_ended = system.lower[column] is None or system.upper[column] is None
        if row in places and open_ended:
            equations.setdefault(column, {})[places[row]] = factor
    solved = _eliminated(
        [eq for column, eq in equations.items() if _must_vanish(system, column, eq, rows, near)]
    )
    y = listed([ZERO] * system.constant.size)
    values: dict[int, Fraction] = {}
    for k in range(rows.size):
        if k not in solved:
            values[k] = fraction(float(near[rows[k]]))
    for k, terms in solved.items():
        values[k] = sum((-f * values[j] for j, f in terms.items()), ZERO)
    for k, value in values.items():
        y[rows[k]] = value
    return y


def _must_vanish(
    system: Linear, column: int, equation: Mapping[int, Fraction], rows: Ints, near: Floats
) -> bool:
    """Whether the weights of a column sum up to nothing within rounding."""
    terms = [float(factor) * float(near[rows[k]]) for k, factor in equation.items()]
    none = system.lower[column] is None and system.upper[column] is None
    return none or abs(sum(terms)) <= 1e-6 * sum(abs(term) for term in terms)


def _eliminated(equations: Sequence[Mapping[int, Fraction]]) -> dict[int, dict[int, Fraction]]:
    """Return by pivot what each solved unknown is of the free ones: ``x_p = -sum(f x)``."""
    solved: dict[int, dict[int, Fraction]] = {}
    for equation in equations:
        row = dict(equation)
        for pivot, terms in solved.items():
            if pivot in row:
                _subtract(row, {pivot: Fraction(1), **terms}, row[pivot])
        if not row:
            continue
        pivot = next(iter(row))
        lead = row.pop(pivot)
        fresh = {k: factor / lead for k, factor in row.items()}
        for terms in solved.values():
            if pivot in terms:
                _subtract(terms, {pivot: Fraction(1), **fresh}, terms[pivot])
        solved[pivot] = fresh
    return solved


def _subtract(row: dict[int, Fraction], other: Mapping[int, Fraction], factor: Fraction) -> None:
    for k, value in other.items():
        left = row.get(k, ZERO) - factor * value
        if left:
            row[k] = left
        else:
            row.pop(k, None)


# --- cases of integers ---------------------------------------------------------------------------


def bound_over_cases(linear: Linear, value: Fraction) -> tuple[Fraction, int] | None:
    """Return a bound in SI that holds for integers, and the number of cases; None if lost.

    ``value``: what the plan comes to: what is as good as it closes a case.
    """
    enough = value - CLOSE * max(abs(value), Fraction(1, 10**9))
    most = max(1, min(CASES, MOST // max(linear.rows.size, 1)))

    def solve(case: Linear) -> Solved[Fraction] | None:
        crossing = any(
            low is not None and high is not None and low > high
            for low, high in zip(case.lower, case.upper, strict=True)
        )
        found = None if crossing else proposed(case)
        if found is None:
            shown = crossing or contradiction(case) is not None
            return Solved(INFINITE, None) if shown else None
        bound = repaired(case, found[1], [(case.lower, case.upper)])
        return None if bound.value is None else Solved(bound.value, found[0])

    found = least_over_cases(linear, solve, lambda case, x: list(halves(case, x)), enough, most)
    return None if found is None or found[0] >= INFINITE else found


def infeasible_cases(linear: Linear) -> int | None:
    """Return how many cases of integers there are, each contradictory; None if not shown."""
    nothing = replace(linear, cost=listed([ZERO] * len(linear.lower)), offset=ZERO)
    leaves = 0

    def solve(case: Linear) -> Solved[Fraction] | None:
        nonlocal leaves
        if contradiction(case) is not None:
            leaves += 1
            return Solved(INFINITE, None)
        found = proposed(case)
        return None if found is None else Solved(ZERO, found[0])

    found = least_over_cases(nothing, solve, lambda case, x: list(halves(case, x)), INFINITE)
    return leaves if found is not None and found[0] >= INFINITE else None


def halves(linear: Linear, x: Floats) -> Iterator[Linear]:
    """Yield two cases of the integer that is furthest from one; none when all are whole."""
    steps = floats(linear.whole)
    shown = np.where(steps > 0, x / np.where(steps > 0, steps, 1.0), 0.0)
    off = np.abs(shown - np.round(shown))
    column = int(np.argmax(off)) if off.size else 0
    if not off.size or off[column] <= WHOLE:
        return
    step, low, high = linear.whole[column], list(linear.lower), list(linear.upper)
    below = Fraction(int(np.floor(shown[column]))) * step
    end, high[column] = high[column], below
    high[column] = below if end is None else min(end, below)
    yield replace(linear, upper=high)
    above = Fraction(int(np.ceil(shown[column]))) * step
    low[column] = above if (least := low[column]) is None else max(least, above)
    yield replace(linear, lower=low)
