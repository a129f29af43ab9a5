r"""Convex functions as cones: a column above each, or below each concave one.

The rules of disciplined convex programming (M. Grant, S. Boyd, Y. Ye 2006): a function may stand
where its curvature fits, its arguments where its slope fits, so nested functions work too. Signs
of arguments come from the bounds of columns.
"""

from collections.abc import Callable
from typing import Final

import numpy as np

from engiagent.formulations.values import Atom, Floats, Form, constant, variables
from engiagent.solvers.convex.reduction import Reduction, same


def _one(atom: Atom) -> Form:
    return constant(np.ones(atom.size), atom.size)


def _exp_above(reduction: Reduction, atom: Atom) -> Form:
    above = reduction.columns(atom.size, 0.0)
    reduction.add_exponential(reduction.bound(atom.args[0], 1.0), _one(atom), above)
    return above


def _log_below(reduction: Reduction, atom: Atom) -> Form:
    below = reduction.columns(atom.size)
    reduction.add_exponential(below, _one(atom), reduction.bound(atom.args[0], -1.0))
    return below


def _sqrt_below(reduction: Reduction, atom: Atom) -> Form:
    below = reduction.columns(atom.size)
    reduction.add_square(reduction.bound(atom.args[0], -1.0), _one(atom), below)
    return below


def _norm_above(reduction: Reduction, atom: Atom) -> Form:
    """Return a column above ``sqrt(c + sum of squares)`` of affine forms, c at least 0."""
    inner = atom.args[0]
    constants = np.broadcast_to(inner.constant, (atom.size,))
    members, places = [variables(np.zeros(0, dtype=np.int64))], [np.zeros(0, dtype=np.int64)]
    if inner.terms or np.any(constants < 0):
        reduction.refuse(atom, 1.0)
    for part in inner.parts:
        root = root_of(part.atom, reduction.count)
        if root is None or np.any(part.coefficients < 0):
            reduction.refuse(atom, 1.0)
        members.append(root * np.sqrt(np.broadcast_to(part.coefficients, (root.size,))))
        places.append(np.asarray(part.row_numbers(), dtype=np.int64))
    shifted = np.flatnonzero(constants)
    members.append(constant(np.sqrt(constants[shifted]), len(shifted)))
    places.append(shifted)
    above = reduction.columns(atom.size, 0.0)
    number = np.concatenate(places)
    order = np.argsort(number, kind="stable")
    widths = np.bincount(number, minlength=atom.size) + 1
    starts = np.cumsum(widths) - widths
    within = np.arange(len(number)) - np.repeat(np.cumsum(widths - 1) - (widths - 1), widths - 1)
    slots = np.empty(len(number), dtype=np.int64)
    slots[order] = starts[number[order]] + 1 + within
    size = int(widths.sum())
    stack = above.scatter(starts, size)
    first = 0
    for member in members:
        if member.size:
            stack = stack + member.scatter(slots[first : first + member.size], size)
        first += member.size
    reduction.second_order.append(stack)
    reduction.second_order_sizes.append(widths.astype(np.int64))
    return above


def _abs_above(reduction: Reduction, atom: Atom) -> Form:
    above = reduction.columns(atom.size, 0.0)
    inner = atom.args[0]
    if inner.is_affine:
        reduction.nonnegative += [above - inner, above + inner]
    else:
        reduction.nonnegative += [
            above - reduction.bound(inner, 1.0),
            above + reduction.bound(inner, -1.0),
        ]
    return above


def _max_above(reduction: Reduction, atom: Atom) -> Form:
    assert atom.groups is not None
    above = reduction.columns(atom.size)
    reduction.nonnegative.append(above.take(atom.groups) - reduction.bound(atom.args[0], 1.0))
    return above


def _min_below(reduction: Reduction, atom: Atom) -> Form:
    assert atom.groups is not None
    below = reduction.columns(atom.size)
    reduction.nonnegative.append(reduction.bound(atom.args[0], -1.0) - below.take(atom.groups))
    return below


def _power(reduction: Reduction, atom: Atom, side: float) -> Form:
    exponents = np.broadcast_to(atom.numbers[0], (atom.size,))
    total = constant(0.0, atom.size)
    for exponent in np.unique(exponents):
        chosen = np.flatnonzero(exponents == exponent)
        found = _one_power(reduction, atom.take(chosen), float(exponent), side)
        total = total + found.group_sum(chosen, atom.size)
    return total


def _one_power(reduction: Reduction, atom: Atom, exponent: float, side: float) -> Form:
    inner = atom.args[0]
    if exponent == 0.0:
        return _one(atom)
    if exponent == 1.0:
        return reduction.bound(inner, side)
    if side > 0 and exponent > 1.0:
        return _growing_power(reduction, atom, exponent)
    if side > 0 and exponent < 0.0:
        below = _positive(reduction, atom, exponent, side)
        above = reduction.columns(atom.size, 0.0)
        reduction.add_power(above, below, _one(atom), 1.0 / (1.0 - exponent))
        return above
    if side < 0 and 0.0 < exponent < 1.0:
        under = reduction.bound(inner, -1.0)
        found = reduction.columns(atom.size)
        reduction.add_power(under, _one(atom), found, exponent)
        return found
    reduction.refuse(atom, side)


def _growing_power(reduction: Reduction, atom: Atom, exponent: float) -> Form:
    inner = atom.args[0]
    even = exponent == round(exponent) and round(exponent) % 2 == 0
    if not (even and inner.is_affine):
        bound = reduction.bound(inner, 1.0)
        whole = exponent == round(exponent)
        if inner.is_affine and not whole:
            reduction.nonnegative.append(inner)  # a root of a negative number does not exist
        elif np.any(reduction.interval(bound)[0] < 0) or not inner.is_affine:
            _needs_sign(reduction, atom, inner)
        inner = bound
    above = reduction.columns(atom.size, 0.0)
    if exponent == 2.0:
        reduction.add_square(above, _one(atom), inner)
    else:
        reduction.add_power(above, _one(atom), inner, 1.0 / exponent)
    return above


def _needs_sign(reduction: Reduction, atom: Atom, inner: Form) -> None:
    """Refuse an argument that may be negative; where it is convex, only its own value counts."""
    if inner.is_affine:
        reduction.refuse(atom, 1.0)
    positive = ("exp", "abs", "sqrt")
    known = all(part.atom.function in positive for part in inner.parts)
    weights = all(np.all(part.coefficients >= 0) for part in inner.parts)
    low = reduction.interval(Form(inner.size, inner.constant, inner.terms))[0]
    if not (known and weights and np.all(low >= 0)):
        reduction.refuse(atom, 1.0)


def _positive(reduction: Reduction, atom: Atom, exponent: float, side: float) -> Form:
    """Return a form on or below an argument that must be positive."""
    inner = atom.args[-1]
    below = reduction.bound(inner, -1.0)
    # A whole exponent allows negative arguments too, on another branch.
    if exponent == round(exponent) and np.any(reduction.interval(below)[0] < 0):
        reduction.refuse(atom, side)
    return below


def _product(reduction: Reduction, atom: Atom, side: float) -> Form:
    first, second = atom.args
    for left, right in ((first, second), (second, first)):
        if left.is_constant:
            return _scaled(reduction, np.asarray(left.constant), right, side)
    if side > 0 and same(first, second, reduction.count):
        above = reduction.columns(atom.size, 0.0)
        reduction.add_square(above, _one(atom), first)
        return above
    if side > 0:
        for left, right in ((first, second), (second, first)):
            found = _entropy(reduction, atom, left, right)
            if found is not None:
                return found
    reduction.refuse(atom, side)


def _scaled(reduction: Reduction, factor: Floats, form: Form, side: float) -> Form:
    factor = np.broadcast_to(factor, (form.size,))
    total = constant(0.0, form.size)
    for direction in (1.0, -1.0):
        chosen = np.flatnonzero(factor * direction > 0)
        if len(chosen):
            bound = reduction.bound(form.take(chosen), side * direction) * factor[chosen]
            total = total + bound.group_sum(chosen, form.size)
    return total


def _entropy(reduction: Reduction, atom: Atom, x: Form, rest: Form) -> Form | None:
    """Return a column above ``x log(k x)`` or ``x log(x / y)``, None when it is neither."""
    if not x.is_affine or len(rest.parts) != 1 or rest.terms or np.any(rest.constant):
        return None
    part = rest.parts[0]
    plain = len(part.row_numbers()) == atom.size and np.array_equal(
        part.row_numbers(), np.arange(atom.size)
    )
    if part.atom.function != "log" or not plain or np.any(part.coefficients != 1.0):
        return None
    inner = part.atom.args[0]
    under = None
    if same(inner, x, reduction.count):
        under = _one(atom)
    elif len(inner.parts) == 1 and not inner.terms and not np.any(inner.constant):
        ratio = inner.parts[0]
        straight = np.array_equal(ratio.row_numbers(), np.arange(atom.size))
        if (
            ratio.atom.function == "quotient"
            and straight
            and np.all(ratio.coefficients == 1.0)
            and ratio.atom.args[1].is_affine
            and same(ratio.atom.args[0], x, reduction.count)
        ):
            under = ratio.atom.args[1]
    if under is None:
        return None
    above = reduction.columns(atom.size)
    reduction.add_exponential(-above, x, under)
    return above


def _quotient(reduction: Reduction, atom: Atom, side: float) -> Form:
    top, under = atom.args
    if under.is_constant:
        return _scaled(reduction, 1.0 / np.asarray(under.constant), top, side)
    if top.is_constant:
        return _scaled_reciprocal(reduction, atom, np.asarray(top.constant), side)
    if side > 0 and len(top.parts) == 1 and not top.terms and not np.any(top.constant):
        part = top.parts[0]
        root = root_of(part.atom, reduction.count)
        straight = np.array_equal(part.row_numbers(), np.arange(atom.size))
        if root is not None and straight and np.all(part.coefficients > 0):
            below = _positive(reduction, atom, -1.0, side)
            above = reduction.columns(atom.size, 0.0)
            reduction.add_square(above, below, root * np.sqrt(part.coefficients))
            return above
    reduction.refuse(atom, side)


def _scaled_reciprocal(reduction: Reduction, atom: Atom, factor: Floats, side: float) -> Form:
    factor = np.broadcast_to(factor, (atom.size,))
    if np.any(factor * side < 0):
        reduction.refuse(atom, side)
    below = _positive(reduction, atom, -1.0, side)
    above = reduction.columns(atom.size, 0.0)
    reduction.add_square(above, below, _one(atom))
    return above * factor


def root_of(atom: Atom, count: int) -> Form | None:
    """Return the affine form whose square an atom is, None when there is none."""
    if atom.function == "power" and np.all(atom.numbers[0] == 2.0) and atom.args[0].is_affine:
        return atom.args[0]
    if atom.function == "product" and same(atom.args[0], atom.args[1], count):
        return atom.args[0]
    return None


_Rule = Callable[[Reduction, Atom], Form]
ABOVE: Final[dict[str, _Rule]] = {
    "abs": _abs_above,
    "exp": _exp_above,
    "max": _max_above,
    "power": lambda reduction, atom: _power(reduction, atom, 1.0),
    "product": lambda reduction, atom: _product(reduction, atom, 1.0),
    "quotient": lambda reduction, atom: _quotient(reduction, atom, 1.0),
    "sqrt": _norm_above,
}
BELOW: Final[dict[str, _Rule]] = {
    "log": _log_below,
    "min": _min_below,
    "power": lambda reduction, atom: _power(reduction, atom, -1.0),
    "product": lambda reduction, atom: _product(reduction, atom, -1.0),
    "quotient": lambda reduction, atom: _quotient(reduction, atom, -1.0),
    "sqrt": _sqrt_below,
}
