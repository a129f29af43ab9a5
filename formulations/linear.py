"""Affine values over index grids: constants plus sparse coefficients of columns."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from engiagent.blueprint.checked import ModelEvaluator, Variable
from engiagent.blueprint.elaborate import Elaboration
from engiagent.blueprint.grammar import ExpressionError, Node
from engiagent.blueprint.indexing import Value

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Rows = npt.NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Term:
    """Coefficients of columns: one per row when ``rows`` is None, else at the rows named."""

    rows: Rows | None
    columns: Ints
    coefficients: Floats

    def row_numbers(self) -> Rows:
        """Return the row of every coefficient."""
        return np.arange(len(self.columns)) if self.rows is None else self.rows


@dataclass(frozen=True, eq=False)
class Affine:
    """``constant + sum of terms`` on every row of a grid.

    Arithmetic with arrays of shape () or (rows,) works as with numbers; nothing is changed in
    place.
    """

    size: int
    constant: Floats
    terms: tuple[Term, ...]

    __array_ufunc__ = None  # so that array * Affine asks Affine

    def __add__(self, other: "Affine | Floats | float") -> "Affine":
        if isinstance(other, Affine):
            return Affine(self.size, self.constant + other.constant, self.terms + other.terms)
        return Affine(self.size, np.asarray(self.constant + other), self.terms)

    __radd__ = __add__

    def __neg__(self) -> "Affine":
        return self * -1.0

    def __sub__(self, other: "Affine | Floats | float") -> "Affine":
        return self + -other

    def __rsub__(self, other: Floats | float) -> "Affine":
        return -self + other

    def __mul__(self, other: Floats | float) -> "Affine":
        factor = np.asarray(other, dtype=np.float64)
        terms = tuple(
            Term(t.rows, t.columns, t.coefficients * _on_rows(factor, t.rows)) for t in self.terms
        )
        return Affine(self.size, np.asarray(self.constant * factor), terms)

    __rmul__ = __mul__

    def __truediv__(self, other: Floats | float) -> "Affine":
        # Dividing each coefficient, not multiplying by a reciprocal, rounds once.
        divisor = np.asarray(other, dtype=np.float64)
        terms = tuple(
            Term(t.rows, t.columns, t.coefficients / _on_rows(divisor, t.rows)) for t in self.terms
        )
        return Affine(self.size, np.asarray(self.constant / divisor), terms)

    def scatter(self, rows: Rows, size: int) -> "Affine":
        """Return the value placed on some rows of a larger grid, zero elsewhere."""
        constant = np.zeros(size)
        constant[rows] = self.constant
        terms = tuple(Term(rows[t.row_numbers()], t.columns, t.coefficients) for t in self.terms)
        return Affine(size, constant, terms)

    def group_sum(self, outer: Rows, size: int) -> "Affine":
        """Return the sums over the rows that belong to each outer row."""
        weights = np.broadcast_to(self.constant, outer.shape)
        constant = np.bincount(outer, weights=weights, minlength=size).astype(np.float64)
        terms = tuple(Term(outer[t.row_numbers()], t.columns, t.coefficients) for t in self.terms)
        return Affine(size, constant, terms)


def _on_rows(factor: Floats, rows: Rows | None) -> Floats:
    return factor if factor.ndim == 0 or rows is None else factor[rows]


class AffineEvaluator(ModelEvaluator):
    """Evaluates expressions to affine values of the columns of a program."""

    def __init__(
        self, elaboration: Elaboration, variables: dict[str, Variable], starts: dict[str, int]
    ) -> None:
        super().__init__(elaboration, variables)
        self.starts = starts

    def value_of(self, variable: Variable, elements: Ints) -> Value:
        """Return one column for every row."""
        columns = self.starts[variable.definition.name] + elements
        term = Term(None, columns, np.ones(len(columns)))
        return Affine(len(columns), np.zeros(()), (term,))

    def product(self, left: Value, right: Value, node: Node) -> Value:
        """Multiply, when at most one side depends on a variable."""
        if isinstance(left, Affine) and isinstance(right, Affine):
            raise ExpressionError(
                "a product of two variables is not linear", node.span[0] + 1, None, "EB008"
            )
        return left * right

    def quotient(self, left: Value, right: Value, node: Node) -> Value:
        """Divide by something that depends on no variable."""
        if isinstance(right, Affine):
            raise ExpressionError(
                "a division by a variable is not linear", node.span[0] + 1, None, "EB008"
            )
        return super().quotient(left, right, node)
