r"""Rows with products that are second-order cones although their form is not convex.

.. math::

    p(x) \le \gamma\, t^2,\; t \ge 0 \qquad\text{and}\qquad
    p(x) \le \gamma\, u v,\; u, v \ge 0

with a convex form p without linear terms and a bound that is not positive are convex sets. Rows
the other way round (``>=`` with all signs turned) are recognised too.
"""

from dataclasses import dataclass

import numpy as np

from engiagent.formulations.definite import Bools, positive_semidefinite
from engiagent.formulations.program import OBJECTIVE, Products, Program
from engiagent.formulations.values import Ints


@dataclass(frozen=True, eq=False)
class QuadraticRows:
    """What is known of the quadratic forms of the rows that have one, and of the objective's."""

    rows: Ints  # row numbers, ascending, ``OBJECTIVE`` first if it has products; shape (k,)
    # convex, concave: whether the form is, shape (k,)
    convex: Bools
    concave: Bools
    # upper_cone, lower_cone: whether ``form <= row_upper``, or ``form >= row_lower``, is a
    # second-order cone although the form is not convex, or concave; shape (k,)
    upper_cone: Bools
    lower_cone: Bools
    # the entry of ``program.products`` that is the cone's negative one, -1 where there is none
    head: Ints


def quadratic_rows(program: Program) -> QuadraticRows:
    """Return what the quadratic forms of a program are."""
    products = program.products
    names, groups = np.unique(products.rows, return_inverse=True)
    rows = names.astype(np.int64)
    count = len(rows)
    forms = groups, products.first, products.second
    convex = positive_semidefinite(*forms, products.values, count)
    concave = positive_semidefinite(*forms, -products.values, count)
    candidates = _cone_candidates(program, rows)
    head = np.full(count, -1)
    cones = []
    for sign, ready in ((1.0, ~convex), (-1.0, ~concave)):
        ready = ready & candidates & _limited(program, rows, sign)
        found = _heads(program, products, groups, sign, ready)
        rest = found[groups] != np.arange(len(groups))
        mine = rest & (found >= 0)[groups]
        good = positive_semidefinite(
            groups[mine],
            products.first[mine],
            products.second[mine],
            sign * products.values[mine],
            count,
        )
        cone = (found >= 0) & good
        head = np.where(cone, found, head)
        cones.append(cone)
    return QuadraticRows(rows, convex, concave, cones[0], cones[1], head)


def _cone_candidates(program: Program, rows: Ints) -> Bools:
    """Rows of a matrix without linear terms; the objective and rows with functions are none."""
    counts = np.zeros(program.row_count, np.int64)
    entries = np.repeat(np.arange(program.row_count), np.diff(program.row_starts))
    np.add.at(counts, entries[program.row_values != 0], 1)
    for part in program.nonlinear:
        inside = part.row_numbers()
        counts[inside[inside != OBJECTIVE]] += 1
    if not program.row_count:
        return np.zeros(len(rows), dtype=bool)
    return np.asarray((rows != OBJECTIVE) & (counts[np.maximum(rows, 0)] == 0))


def _limited(program: Program, rows: Ints, sign: float) -> Bools:
    """Whether rows are limited on the one side only, and by nothing above zero there."""
    if not program.row_count:
        return np.zeros(len(rows), dtype=bool)
    limit, other = program.row_upper, program.row_lower
    if sign < 0:
        limit, other = -program.row_lower, -program.row_upper
    places = np.maximum(rows, 0)
    return np.asarray((limit[places] <= 0) & np.isinf(other[places]))


def _heads(program: Program, products: Products, groups: Ints, sign: float, ready: Bools) -> Ints:
    """Return for each form its only entry that can be a cone's head, or -1."""
    count = len(ready)
    head = np.full(count, -1)
    if not ready.any():
        return head
    first, second, values = products.first, products.second, sign * products.values
    lonely = _stand_alone(groups, first, second, program.column_count)
    lower, upper = program.column_lower, program.column_upper
    above = (lower[first] >= 0) & (lower[second] >= 0)
    below = (upper[first] <= 0) & (upper[second] <= 0)
    fits = (values < 0) & lonely & (above | below) & ready[groups]
    entries = np.flatnonzero(fits)
    single = np.bincount(groups[entries], minlength=count) == 1
    entries = entries[single[groups[entries]]]
    head[groups[entries]] = entries
    return head


def _stand_alone(groups: Ints, first: Ints, second: Ints, width: int) -> Bools:
    """Whether the columns of an entry stand in no other entry of its form."""
    keys = np.concatenate([groups * width + first, (groups * width + second)[first != second]])
    names, uses = np.unique(keys, return_counts=True)

    def alone(columns: Ints) -> Bools:
        return np.asarray(uses[np.searchsorted(names, groups * width + columns)] == 1)

    return alone(first) & alone(second)
