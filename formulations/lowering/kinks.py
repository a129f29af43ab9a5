r"""``max``, ``min`` and ``abs`` as linear rows.

In a convex position a variable above all arguments is enough,

.. math:: m \ge a_i \quad \forall i,

elsewhere one argument is chosen, with constants that follow from the bounds of the arguments,

.. math:: m \le a_i + (\bar a - \underline a_i)(1 - y_i), \quad \sum_i y_i = 1.

Arguments that can never be the greatest are left out first; where one is left it is the result.
"""

import numpy as np
import numpy.typing as npt

from engiagent.formulations.lowering.builder import Builder
from engiagent.formulations.lowering.intervals import form_bounds
from engiagent.formulations.values import Atom, Floats, Form, Ints, Rows


def as_largest(atom: Atom) -> tuple[Form, Rows, float]:
    """Return a stacked form, its groups and a sign: the atom is sign times the greatest of each."""
    argument = atom.args[0]
    if atom.function == "abs":
        rows, size = np.arange(atom.size), 2 * atom.size
        stacked = argument.scatter(rows, size) + (-argument).scatter(rows + atom.size, size)
        return stacked, np.tile(rows, 2), 1.0
    assert atom.groups is not None
    return (
        (argument, atom.groups, 1.0) if atom.function == "max" else (-argument, atom.groups, -1.0)
    )


def largest(
    builder: Builder, argument: Form, groups: Rows, size: int, sign: int, name: str
) -> Form:
    """Return a form that stands for the greatest argument of each group.

    ``argument``, ``groups``: the arguments and the group of each, all groups from 0 to ``size``
    occurring. ``sign``: 1 where only too small a value does harm, -1 where only too great a one, 0
    where both do.
    """
    low, high = form_bounds(argument, builder.column_lower, builder.column_upper)
    reachable = _reachable(low, high, groups, size)
    counts = np.bincount(groups[reachable], minlength=size)
    single = counts == 1
    alone = reachable & single[groups]
    rows_alone = np.flatnonzero(alone)
    result = argument.take(rows_alone).scatter(groups[rows_alone], size)
    if single.all():
        return result
    open_groups = np.flatnonzero(~single)
    number = np.full(size, -1)
    number[open_groups] = np.arange(len(open_groups))
    rows = np.flatnonzero(reachable & ~single[groups])
    case = _Case(argument.take(rows), number[groups[rows]], low[rows], high[rows], len(open_groups))
    return result + case.variable(builder, sign, name).scatter(open_groups, size)


def _reachable(low: Floats, high: Floats, groups: Rows, size: int) -> npt.NDArray[np.bool_]:
    """Return which arguments can be the greatest of their group, at least one of each.

    Left out is what never lies above the greatest lower bound of the others; of several that only
    ever equal that bound the first stays.
    """
    best = np.full(size, -np.inf)
    np.maximum.at(best, groups, low)
    holder = np.full(size, len(groups))
    rows = np.flatnonzero(low == best[groups])
    np.minimum.at(holder, groups[rows], rows)
    reachable = high > best[groups]
    reachable[holder] = True
    return reachable


class _Case:
    """Groups of which more than one argument may be the greatest."""

    def __init__(self, argument: Form, groups: Rows, low: Floats, high: Floats, size: int) -> None:
        self.argument, self.groups, self.low, self.high = argument, groups, low, high
        self.size = size
        self.least = np.full(size, -np.inf)
        self.most = np.full(size, -np.inf)
        np.maximum.at(self.least, groups, low)
        np.maximum.at(self.most, groups, high)

    def variable(self, builder: Builder, sign: int, name: str) -> Form:
        """Add the variable that stands for the greatest, with its rows."""
        result = builder.add_columns(name, self.size, self.least, self.most)
        above = result.take(self.groups) - self.argument
        if sign >= 0:
            builder.add_rows(f"{name}__above", above, 0.0, np.inf)
        if sign <= 0:
            self._choose(builder, above, name)
        return result

    def _choose(self, builder: Builder, above: Form, name: str) -> None:
        count = len(self.groups)
        chosen = builder.add_columns(f"{name}__chosen", count, 0.0, 1.0, "binary")
        builder.add_rows(f"{name}__one", chosen.group_sum(self.groups, self.size), 1.0, 1.0)
        slack = self.most[self.groups] - self.low
        bounded = np.isfinite(slack)
        rows = np.flatnonzero(bounded)
        if len(rows):
            limit = above.take(rows) + chosen.take(rows) * slack[rows]
            builder.add_rows(f"{name}__is", limit, -np.inf, slack[rows])
        free = np.flatnonzero(~bounded)
        if len(free):
            block = builder.add_rows(f"{name}__is", above.take(free), -np.inf, 0.0)
            builder.hold_when(block, columns_of(chosen)[free], 1)


def columns_of(form: Form) -> Ints:
    """Return the column on each row of a form that is one column a row."""
    return form.terms[0].columns
