r"""The walk that turns a form into one whose functions are all smooth.

``sign`` says which error of a value would do harm: 1 when only too small a value would (the form
must stay below something, or is minimised), -1 when only too great a one would, 0 when both would.

``max``, ``min`` and ``abs`` in a convex position are a variable above all arguments,

.. math:: m \ge a_i \quad \forall i,

elsewhere one argument is chosen, with constants that follow from the bounds of the arguments,

.. math:: m \le a_i + (\bar a - \underline a_i)(1 - y_i), \quad \sum_i y_i = 1.

Arguments that can never be the greatest are left out first; where one is left it is the result.

A convex table in a convex position is the greatest of its segments' lines. Any other is written
by increments along x (Markowitz and Manne 1957), whose linear relaxation is as tight as can be:

.. math::

    x = x_0 + \sum_j \delta_j, \quad y = y_0 + \sum_j s_j \delta_j, \quad
    w_j z_j \le \delta_j, \quad \delta_{j+1} \le w_{j+1} z_j, \quad 0 \le \delta_j \le w_j

with the widths :math:`w_j` and slopes :math:`s_j` of the segments.
"""

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from engiagent.blueprint.functions import ELEMENTARY
from engiagent.formulations.lowering.builder import Builder
from engiagent.formulations.lowering.intervals import form_bounds
from engiagent.formulations.lowering.products import with_binaries
from engiagent.formulations.values import Atom, Floats, Form, Rows, applied


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
    """Return a form that stands for the greatest argument of each group, 0 to ``size``."""
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
            builder.hold_when(block, chosen.terms[0].columns[free], 1)


ROUNDING = 1e-12


def interpolated(builder: Builder, atom: Atom, argument: Form, sign: int, name: str) -> Form:
    """Return a form for an interpolation in tables, its argument kept within the breakpoints."""
    xs, ys = (np.broadcast_to(v, (atom.size, v.shape[-1])) for v in atom.numbers)
    low, high = form_bounds(argument, builder.column_lower, builder.column_upper)
    if np.any((low < xs[:, 0]) | (high > xs[:, -1])):
        builder.add_rows(f"{name}__within", argument, xs[:, 0], xs[:, -1])
    xs, ys = _within_reach(xs, ys, np.maximum(low, xs[:, 0]), np.minimum(high, xs[:, -1]))
    slopes = np.diff(ys, axis=1) / np.diff(xs, axis=1)
    bends = np.diff(slopes, axis=1)
    size = np.abs(slopes).max(initial=1.0)
    if np.all(np.abs(bends) <= ROUNDING * size):
        return _line(argument, xs, ys, slopes, 0)
    if sign > 0 and np.all(bends >= -ROUNDING * size):
        return _envelope(builder, argument, (xs, ys, slopes), 1.0, name)
    if sign < 0 and np.all(bends <= ROUNDING * size):
        return _envelope(builder, argument, (xs, ys, slopes), -1.0, name)
    return _increments(builder, argument, (xs, ys, slopes), name)


def _within_reach(xs: Floats, ys: Floats, low: Floats, high: Floats) -> tuple[Floats, Floats]:
    """Leave out segments at both ends that no element's argument can reach."""
    below = (xs <= low[:, None]).all(axis=0)
    above = (xs >= high[:, None]).all(axis=0)
    first = max(int(below.sum()) - 1, 0)
    last = xs.shape[1] - max(int(above.sum()) - 1, 0)
    first = min(first, xs.shape[1] - 2)
    last = max(last, first + 2)  # one segment at least, also where the bounds contradict each other
    return xs[:, first:last], ys[:, first:last]


def _line(argument: Form, xs: Floats, ys: Floats, slopes: Floats, segment: int) -> Form:
    slope = slopes[:, segment]
    return argument * slope + (ys[:, segment] - slope * xs[:, segment])


def _envelope(
    builder: Builder, argument: Form, table: tuple[Floats, Floats, Floats], side: float, name: str
) -> Form:
    xs, ys, slopes = table
    value = builder.add_columns(name, argument.size, ys.min(axis=1), ys.max(axis=1))
    for segment in range(slopes.shape[1]):
        beyond = (value - _line(argument, xs, ys, slopes, segment)) * side
        builder.add_rows(f"{name}__line", beyond, 0.0, np.inf)
    return value


def _increments(
    builder: Builder, argument: Form, table: tuple[Floats, Floats, Floats], name: str
) -> Form:
    xs, ys, slopes = table
    size, segments = slopes.shape
    widths = np.diff(xs, axis=1).reshape(-1)
    along = builder.add_columns(f"{name}__along", size * segments, 0.0, widths)
    owner = np.repeat(np.arange(size), segments)
    builder.add_rows(f"{name}__x", argument - along.group_sum(owner, size), xs[:, 0], xs[:, 0])
    passed = builder.add_columns(f"{name}__passed", size * (segments - 1), 0.0, 1.0, "binary")
    place = np.arange(size * segments).reshape(size, segments)
    full, begun = place[:, :-1].reshape(-1), place[:, 1:].reshape(-1)
    filled = along.take(full) - passed * widths[full]
    builder.add_rows(f"{name}__filled", filled, 0.0, np.inf)
    started = along.take(begun) - passed * widths[begun]
    builder.add_rows(f"{name}__started", started, -np.inf, 0.0)
    return (along * slopes.reshape(-1)).group_sum(owner, size) + ys[:, 0]


INCREASING = frozenset(name for name, function in ELEMENTARY.items() if function.increasing)


def lowered(builder: Builder, form: Form, sign: int, name: str) -> Form:
    """Return a form with rows put in for its kinks; ZeroDivisionError with a divisor's atom."""
    result = Form(form.size, form.constant, form.terms)
    for part in form.parts:
        harm = _harm(part.coefficients, sign)
        value = _lowered_atom(builder, part.atom, harm, name)
        result = result + _weighted(value, part.coefficients, part.rows, form.size)
    return result


def _weighted(value: Form, coefficients: Floats, rows: object, size: int) -> Form:
    scaled = value * coefficients
    return scaled if rows is None else scaled.group_sum(np.asarray(rows), size)


def _harm(coefficients: Floats, sign: int) -> int:
    if np.all(coefficients >= 0):
        return sign
    return -sign if np.all(coefficients <= 0) else 0


def _lowered_atom(builder: Builder, atom: Atom, sign: int, name: str) -> Form:
    if atom.function in ("max", "min", "abs"):
        stacked, groups, factor = as_largest(atom)
        side = sign if factor > 0 else -sign
        inner = 0 if atom.function == "abs" else side
        argument = lowered(builder, stacked, inner, name)
        label = f"{name}__{atom.function}"
        return largest(builder, argument, groups, atom.size, side, label) * factor
    if atom.function == "piecewise":
        argument = lowered(builder, atom.args[0], 0, name)
        return interpolated(builder, atom, argument, sign, f"{name}__piecewise")
    inner = sign if atom.function in INCREASING else 0
    args = tuple(lowered(builder, argument, inner, name) for argument in atom.args)
    if len(atom.args) == 2 and atom.args[0] is atom.args[1]:
        args = (args[0], args[0])
    if atom.function == "product":
        return _product(builder, atom, args, name)
    if atom.function == "quotient":
        low, high = form_bounds(args[1], builder.column_lower, builder.column_upper)
        if np.any((low <= 0) & (high >= 0)):
            raise ZeroDivisionError(atom)
    return applied(replace(atom, args=args))


def _product(builder: Builder, atom: Atom, args: tuple[Form, ...], name: str) -> Form:
    left, right = args
    if left.is_constant:
        return right * left.constant
    if right.is_constant:
        return left * right.constant
    if left.is_affine and right.is_affine:
        result = with_binaries(builder, left, right, f"{name}__product")
        if result is not None:
            return result
    return applied(replace(atom, args=args))
