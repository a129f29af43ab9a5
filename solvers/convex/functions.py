r"""Convex functions as cones: a column above each, or below each concave one.

The rules of disciplined convex programming (M. Grant, S. Boyd, Y. Ye 2006): a function may stand
where its curvature fits, its arguments where its slope fits, so nested functions work too. Signs
of arguments come from the bounds of columns.
"""

from collections.abc import Callable
from typing import Final, NoReturn

import numpy as np

from engiagent.errors import EngiagentError
from engiagent.formulations.program import Program
from engiagent.formulations.values import Atom, Floats, Form, Ints, constant, variables
from engiagent.solvers.convex.derivatives import affine_matrix


class Reduction:
    """The columns and cones that functions of a program became so far.

    Attributes
    ----------
    count
        Number of columns by now; the program's own come first.
    nonnegative
        Forms that are at least 0.
    second_order, second_order_sizes
        Forms whose rows are second-order cones one after another, and the sizes of these.
    exponential
        Forms with three rows to a cone.
    power, alphas
        The same, and each cone's exponent.
    """

    def __init__(self, program: Program, solver: str) -> None:
        self.solver = solver
        self.count = program.column_count
        self.lower = program.column_lower
        self.upper = program.column_upper
        self.nonnegative: list[Form] = []
        self.second_order: list[Form] = []
        self.second_order_sizes: list[Ints] = []
        self.exponential: list[Form] = []
        self.power: list[Form] = []
        self.alphas: list[Floats] = []

    def weighted(self, atom: Atom, weights: Floats, side: float) -> Form:
        """Return an affine form on or beyond ``weights * atom``.

        Parameters
        ----------
        side
            1 for a form on or above, -1 for one on or below.
        """
        total = constant(0.0, atom.size)
        for direction in (1.0, -1.0):
            chosen = np.flatnonzero(weights * direction > 0)
            if len(chosen):
                bound = self._atom(atom.take(chosen), side * direction)
                total = total + (bound * weights[chosen]).group_sum(chosen, atom.size)
        return total

    def bound(self, form: Form, side: float) -> Form:
        """Return an affine form on or above (``side`` 1) or on or below (-1) a form."""
        total = Form(form.size, form.constant, form.terms)
        for part in form.parts:
            rows = part.row_numbers()
            weights = np.broadcast_to(part.coefficients, rows.shape)
            total = total + self.weighted(part.atom, weights, side).group_sum(rows, form.size)
        return total

    def interval(self, form: Form) -> tuple[Floats, Floats]:
        """Return what bounds of columns say about an affine form; (size,) each."""
        matrix = affine_matrix(form, self.count)
        up, down = matrix.maximum(0), matrix.minimum(0)
        low = _times(up, self.lower) + _times(down, self.upper) + form.constant
        high = _times(up, self.upper) + _times(down, self.lower) + form.constant
        return low, high

    def columns(self, size: int, lower: float = -np.inf) -> Form:
        """Return new columns. ``lower`` is what the cones they stand in imply."""
        first = self.count
        self.count += size
        self.lower = np.concatenate([self.lower, np.full(size, lower)])
        self.upper = np.concatenate([self.upper, np.full(size, np.inf)])
        return variables(np.arange(first, first + size))

    def add_second_order(self, *members: Form) -> None:
        """Put element i of all members into one cone, the first of them its head."""
        self.second_order.append(interleaved(members))
        self.second_order_sizes.append(np.full(members[0].size, len(members), dtype=np.int64))

    def add_exponential(self, x: Form, y: Form, z: Form) -> None:
        """Demand ``y exp(x / y) <= z``."""
        self.exponential.append(interleaved((x, y, z)))

    def add_power(self, x: Form, y: Form, z: Form, alpha: float) -> None:
        """Demand ``x**alpha * y**(1 - alpha) >= abs(z)``."""
        self.power.append(interleaved((x, y, z)))
        self.alphas.append(np.full(x.size, alpha))

    def add_square(self, top: Form, under: Form, inner: Form) -> None:
        """Demand ``inner**2 <= top * under`` with both factors at least 0."""
        self.add_second_order(top + under, top - under, inner * 2.0)

    def _atom(self, atom: Atom, side: float) -> Form:
        rule = (_ABOVE if side > 0 else _BELOW).get(atom.function)
        if rule is None:
            self.refuse(atom, side)
        return rule(self, atom)

    def refuse(self, atom: Atom, side: float) -> NoReturn:
        """Say that an atom is not known to be convex (``side`` 1) or concave (-1)."""
        place = f" in {atom.origin}" if atom.origin else ""
        shape = "convex" if side > 0 else "concave"
        raise EngiagentError(
            f"{self.solver} cannot take this program: {atom.function}{place} stands where only a "
            f"{shape} function may, and it is not known to be one"
        )


def interleaved(members: tuple[Form, ...]) -> Form:
    """Return the forms' first rows, then their second rows, and so on, as one form."""
    count, size = len(members), members[0].size
    total = constant(np.zeros(count * size), count * size)
    for place, form in enumerate(members):
        spread = Form(size, np.broadcast_to(form.constant, (size,)), form.terms)
        total = total + spread.scatter(np.arange(size) * count + place, count * size)
    return total


def same(first: Form, second: Form, count: int) -> bool:
    """Return whether two affine forms are equal."""
    if not (first.is_affine and second.is_affine):
        return False
    if not np.array_equal(
        np.broadcast_to(first.constant, (first.size,)),
        np.broadcast_to(second.constant, (second.size,)),
    ):
        return False
    difference = affine_matrix(first, count) - affine_matrix(second, count)
    return int(difference.count_nonzero()) == 0


def _times(matrix: object, bounds: Floats) -> Floats:
    """Return a matrix product in which a zero coefficient ignores an infinite bound."""
    entries = matrix.tocoo()  # type: ignore[attr-defined]
    used = entries.data != 0
    values = entries.data[used] * bounds[entries.col[used]]
    return np.bincount(entries.row[used], values, entries.shape[0]).astype(np.float64)


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
        root = _root(part.atom, reduction.count)
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
        root = _root(part.atom, reduction.count)
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


def _root(atom: Atom, count: int) -> Form | None:
    """Return the affine form whose square an atom is, None when there is none."""
    if atom.function == "power" and np.all(atom.numbers[0] == 2.0) and atom.args[0].is_affine:
        return atom.args[0]
    if atom.function == "product" and same(atom.args[0], atom.args[1], count):
        return atom.args[0]
    return None


_Rule = Callable[[Reduction, Atom], Form]
_ABOVE: Final[dict[str, _Rule]] = {
    "abs": _abs_above,
    "exp": _exp_above,
    "max": _max_above,
    "power": lambda reduction, atom: _power(reduction, atom, 1.0),
    "product": lambda reduction, atom: _product(reduction, atom, 1.0),
    "quotient": lambda reduction, atom: _quotient(reduction, atom, 1.0),
    "sqrt": _norm_above,
}
_BELOW: Final[dict[str, _Rule]] = {
    "log": _log_below,
    "min": _min_below,
    "power": lambda reduction, atom: _power(reduction, atom, -1.0),
    "product": lambda reduction, atom: _product(reduction, atom, -1.0),
    "quotient": lambda reduction, atom: _quotient(reduction, atom, -1.0),
    "sqrt": _sqrt_below,
}
