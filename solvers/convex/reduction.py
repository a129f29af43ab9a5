"""What functions of a program became so far on its way to cones: new columns and cones."""

from typing import NoReturn

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
        from engiagent.solvers.convex.functions import ABOVE, BELOW  # which needs this module

        rule = (ABOVE if side > 0 else BELOW).get(atom.function)
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
