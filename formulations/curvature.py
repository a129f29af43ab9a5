"""Where forms with functions are convex or concave: rules of composition over whole grids.

A convex function that grows, of something convex, is convex; and so on. Signs and slopes come
from interval arithmetic over the columns' bounds. The rules are sound, not complete: what they do
not prove may still be convex.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np

from engiagent.blueprint.functions import ELEMENTARY
from engiagent.formulations.lowering.intervals import Interval, form_bounds
from engiagent.formulations.quadratic import Bools
from engiagent.formulations.values import Atom, Floats, Form, Part, Rows


@dataclass(frozen=True, eq=False)
class Curvature:
    """Whether each element is proven convex, and concave; both for an affine one; (size,)."""

    convex: Bools
    concave: Bools

    @property
    def affine(self) -> Bools:
        """Whether each element is affine."""
        return self.convex & self.concave

    def turned(self, factor: Floats) -> "Curvature":
        """Return the curvature times a factor of shape (size,)."""
        up, down = factor > 0, factor < 0
        flat = ~up & ~down
        return Curvature(
            flat | (up & self.convex) | (down & self.concave),
            flat | (up & self.concave) | (down & self.convex),
        )


class Judge:
    """Judges the forms of one program, whose bounds of columns have shape (n,)."""

    def __init__(self, lower: Floats, upper: Floats) -> None:
        self.lower, self.upper = lower, upper

    def parts(self, parts: tuple[Part, ...], size: int) -> Curvature:
        """Return the curvature of sums of parts on ``size`` rows."""
        convex, concave = np.ones(size, dtype=bool), np.ones(size, dtype=bool)
        for part in parts:
            factor = np.broadcast_to(part.coefficients, (part.atom.size,))
            found = self.atom(part.atom).turned(factor)
            rows = part.row_numbers()
            convex[rows[~found.convex]] = False
            concave[rows[~found.concave]] = False
        return Curvature(convex, concave)

    def form(self, form: Form) -> Curvature:
        """Return the curvature of a form."""
        return self.parts(form.parts, form.size)

    def bounds(self, form: Form) -> Interval:
        """Return bounds of a form."""
        return form_bounds(form, self.lower, self.upper)

    def atom(self, atom: Atom) -> Curvature:
        """Return the curvature of an atom's elements."""
        with np.errstate(all="ignore"):
            convex, concave = _RULES[atom.function](self, atom)
        return Curvature(convex, concave)


Verdict = tuple[Bools, Bools]


def compose(inner: Curvature, convex: Bools, concave: Bools, grows: Bools, falls: Bools) -> Verdict:
    """Return the curvature of a function of one argument, given the function's own, (size,)."""
    up = inner.affine | (grows & inner.convex) | (falls & inner.concave)
    down = inner.affine | (grows & inner.concave) | (falls & inner.convex)
    return convex & up, concave & down


def _elementary(judge: Judge, atom: Atom) -> Verdict:
    shape = ELEMENTARY[atom.function].shape(*judge.bounds(atom.args[0]))
    return compose(judge.form(atom.args[0]), *shape)


def _sqrt(judge: Judge, atom: Atom) -> Verdict:
    convex, concave = _elementary(judge, atom)
    return convex | is_square(atom.args[0]), concave


def _abs(judge: Judge, atom: Atom) -> Verdict:
    low, high = judge.bounds(atom.args[0])
    inner = judge.form(atom.args[0])
    same, opposite = low >= 0, high <= 0
    yes, no = np.ones(atom.size, bool), np.zeros(atom.size, bool)
    convex, _ = compose(inner, yes, no, same, opposite)
    return convex, (same & inner.concave) | (opposite & inner.convex)


def _power(judge: Judge, atom: Atom) -> Verdict:
    exponent = np.broadcast_to(atom.numbers[0], (atom.size,))
    return _powered(judge, atom.args[0], exponent)


def _powered(judge: Judge, form: Form, exponent: Floats) -> Verdict:
    low, high = judge.bounds(form)
    inner = judge.form(form)
    positive, negative = low >= 0, high <= 0
    whole = exponent == np.round(exponent)
    even, odd = whole & (np.mod(exponent, 2) == 0), whole & (np.mod(exponent, 2) == 1)
    # A fractional power, and one below zero, is defined on one side only: there is where x lives.
    right = positive | ~whole
    large, small, below = exponent > 1, (exponent > 0) & (exponent < 1), exponent < 0
    flat = (exponent == 0) | (exponent == 1)
    convex = flat | (large & (even | right)) | (below & (right | (even & negative)))
    concave = flat | small | (large & odd & negative) | (below & odd & negative)
    grows = (exponent == 1) | (large & (odd | positive)) | small | (below & even & negative)
    falls = (large & even & negative) | (below & (right | (odd & negative)))
    return compose(inner, convex, concave, grows, falls)


def _product(judge: Judge, atom: Atom) -> Verdict:
    left, right = atom.args
    if same_form(left, right):
        return _powered(judge, left, np.full(atom.size, 2.0))
    for one, other in ((left, right), (right, left)):
        if one.is_constant:
            found = judge.form(other).turned(np.broadcast_to(one.constant, (atom.size,)))
            return found.convex, found.concave
    no = np.zeros(atom.size, bool)
    return no, no


def _quotient(judge: Judge, atom: Atom) -> Verdict:
    over, under = atom.args
    low, high = judge.bounds(under)
    if under.is_constant:
        found = judge.form(over).turned(1.0 / np.broadcast_to(under.constant, (atom.size,)))
        return found.convex, found.concave
    inner = judge.form(under)
    if over.is_constant:
        above, below = low >= 0, high <= 0
        # 1/v falls on both sides of zero; it is convex above and concave below.
        convex, concave = compose(inner, above, below, np.zeros(atom.size, bool), above | below)
        found = Curvature(convex, concave).turned(np.broadcast_to(over.constant, (atom.size,)))
        return found.convex, found.concave
    # A square over something positive and concave.
    return is_square(over) & (low >= 0) & inner.concave, np.zeros(atom.size, bool)


def _extreme(judge: Judge, atom: Atom) -> Verdict:
    inner = judge.form(atom.args[0])
    assert atom.groups is not None
    known = inner.convex if atom.function == "max" else inner.concave
    good = np.ones(atom.size, bool)
    good[atom.groups[~known]] = False
    single = np.bincount(atom.groups, minlength=atom.size) == 1
    other = np.zeros(atom.size, bool)
    opposite = inner.concave if atom.function == "max" else inner.convex
    other[atom.groups[opposite]] = True
    other &= single
    return (good, other) if atom.function == "max" else (other, good)


def _piecewise(judge: Judge, atom: Atom) -> Verdict:
    xs, ys = atom.numbers
    slopes = np.diff(ys, axis=-1) / np.diff(xs, axis=-1)
    bends = np.diff(slopes, axis=-1)
    room = 1e-12 * np.abs(slopes).max(axis=-1, initial=0.0)[..., None]

    def everywhere(good: Bools) -> Bools:
        return np.broadcast_to(good.all(axis=-1), (atom.size,))

    low, high = judge.bounds(atom.args[0])
    # The table ends; where the argument's bounds do not keep it inside, only an affine argument
    # leaves a convex domain.
    inside = (low >= xs[..., 0]) & (high <= xs[..., -1])
    return compose(
        judge.form(atom.args[0]),
        everywhere(bends >= -room),
        everywhere(bends <= room),
        inside & everywhere(slopes >= 0),
        inside & everywhere(slopes <= 0),
    )


def same_form(one: Form, other: Form) -> bool:
    """Whether two forms are the same object or the same affine form, term by term."""
    if one is other:
        return True
    if one.parts or other.parts or len(one.terms) != len(other.terms):
        return False
    return bool(np.all(one.constant == other.constant)) and all(
        np.array_equal(a.row_numbers(), b.row_numbers())
        and np.array_equal(a.columns, b.columns)
        and bool(np.all(a.coefficients == b.coefficients))
        for a, b in zip(one.terms, other.terms, strict=True)
    )


def is_square(form: Form) -> Bools:
    """Whether each element is a sum of squares of affine forms plus a constant of at least 0."""
    good = np.broadcast_to(form.constant >= 0, (form.size,)).copy()
    for term in form.terms:
        good[_places(term.rows, term.coefficients != 0, form.size)] = False
    for part in form.parts:
        square = np.broadcast_to(part.coefficients >= 0, (part.atom.size,)) & _squares(part.atom)
        good[_places(part.rows, ~square, form.size)] = False
    return good


def _places(rows: Rows | None, chosen: Bools, size: int) -> Rows:
    if rows is None:
        return np.flatnonzero(np.broadcast_to(chosen, (size,)))
    return rows[np.broadcast_to(chosen, rows.shape)]


def _squares(atom: Atom) -> Bools:
    if atom.function == "product" and same_form(*atom.args):
        return np.full(atom.size, atom.args[0].is_affine)
    if atom.function == "power":
        return np.broadcast_to((atom.numbers[0] == 2) & atom.args[0].is_affine, (atom.size,))
    return np.zeros(atom.size, bool)


_RULES: Final[dict[str, Callable[[Judge, Atom], Verdict]]] = {
    **dict.fromkeys(ELEMENTARY, _elementary),
    "abs": _abs,
    "max": _extreme,
    "min": _extreme,
    "piecewise": _piecewise,
    "power": _power,
    "product": _product,
    "quotient": _quotient,
    "sqrt": _sqrt,
}
