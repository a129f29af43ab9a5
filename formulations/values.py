r"""Forms: what an expression is on every row of a grid, as columns of a program see it.

.. math::

    v_r = c_r + \sum_k a_k \, x_{j_k} + \sum_p b_p \, f_p(\ldots)

A :class:`Form` is a constant, coefficients of columns (:class:`Term`) and coefficients of
nonlinear functions (:class:`Part` of an :class:`Atom`) whose arguments are forms again. Linear
arithmetic touches coefficients and row numbers only, so a whole index grid is one object.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from engiagent.blueprint.functions import ELEMENTARY as ELEMENTARY  # for solvers, too
from engiagent.blueprint.functions import Function as Function
from engiagent.blueprint.functions import interpolated

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64] | npt.NDArray[np.int32]
Rows = npt.NDArray[np.intp] | npt.NDArray[np.int64] | npt.NDArray[np.int32]

SMOOTH: Final = ("product", "quotient", "power", *ELEMENTARY)
KINKED: Final = ("abs", "max", "min", "piecewise")


@dataclass(frozen=True, eq=False)
class Term:
    """Coefficients of columns: one per row when ``rows`` is None, else at the rows named.

    ``coefficients`` has the shape of ``columns``, or () where all are the same.
    """

    rows: Rows | None
    columns: Ints
    coefficients: Floats

    def row_numbers(self) -> Rows:
        """Return the row of every coefficient."""
        return np.arange(len(self.columns)) if self.rows is None else self.rows


@dataclass(frozen=True, eq=False)
class Atom:
    """A nonlinear function, element by element; one of :data:`SMOOTH` or :data:`KINKED`."""

    # ``product`` and ``quotient`` take two arguments of ``size`` rows; ``power``, ``abs``,
    # ``piecewise`` and the elementary functions one; ``max`` and ``min`` one argument of any number
    # of rows, of which ``groups`` says to which element each belongs
    function: str
    size: int
    args: tuple["Form", ...]
    groups: Rows | None = None
    # for ``power`` the exponents, shape () or (size,); for ``piecewise`` the breakpoints xs and the
    # values ys, each of shape (points,) or (size, points), xs increasing
    numbers: tuple[Floats, ...] = ()
    # origin, column: the place in the blueprint and the column of the expression, for messages
    origin: str = ""
    column: int = 1

    def at(self, x: Floats) -> Floats:
        """Return the values at a point of the columns, shape (size,); NaN where undefined."""
        inner = [form.at(x) for form in self.args]
        with np.errstate(all="ignore"):
            return _VALUES[self.function](self, inner)

    def take(self, elements: Rows) -> "Atom":
        """Return some elements of the atom, which may repeat."""
        if self.groups is not None:
            rows, groups = _entries_of(self.groups, elements, self.size)
            return replace(self, size=len(elements), args=(self.args[0].take(rows),), groups=groups)
        numbers = []
        for values in self.numbers:
            shared = values.ndim == (1 if self.function == "piecewise" else 0)
            numbers.append(values if shared else values[elements])
        args = tuple(form.take(elements) for form in self.args)
        return replace(self, size=len(elements), args=args, numbers=tuple(numbers))


@dataclass(frozen=True, eq=False)
class Part:
    """Coefficients of the elements of an atom: one per row when ``rows`` is None."""

    rows: Rows | None
    coefficients: Floats
    atom: Atom

    def row_numbers(self) -> Rows:
        """Return the row of every element."""
        return np.arange(self.atom.size) if self.rows is None else self.rows


@dataclass(frozen=True, eq=False)
class Form:
    """``constant + sum of terms + sum of parts`` on every one of ``size`` rows.

    ``constant`` has shape () or (size,), as arrays in arithmetic with forms may have; nothing is
    changed in place.
    """

    size: int
    constant: Floats
    terms: tuple[Term, ...] = ()
    parts: tuple[Part, ...] = ()

    __array_ufunc__ = None  # so that array * Form asks Form

    @property
    def is_affine(self) -> bool:
        """Whether no nonlinear function occurs."""
        return not self.parts

    @property
    def is_constant(self) -> bool:
        """Whether it depends on no column."""
        return not self.parts and not self.terms

    @property
    def _is_homogeneous(self) -> bool:
        """Whether the constant is known to be zero without a look at every row."""
        return self.constant.ndim == 0 and bool(self.constant == 0.0)

    def __add__(self, other: "Form | Floats | float") -> "Form":
        if isinstance(other, Form):
            return Form(
                self.size,
                np.asarray(self.constant + other.constant),
                self.terms + other.terms,
                self.parts + other.parts,
            )
        return Form(self.size, np.asarray(self.constant + _shared(other)), self.terms, self.parts)

    __radd__ = __add__

    def __neg__(self) -> "Form":
        return self * -1.0

    def __sub__(self, other: "Form | Floats | float") -> "Form":
        return self + -other

    def __rsub__(self, other: Floats | float) -> "Form":
        return -self + other

    def __mul__(self, other: Floats | float) -> "Form":
        factor = _shared(other)
        if factor.ndim == 0 and factor == 1.0:
            return self
        return Form(
            self.size,
            self.constant if self._is_homogeneous else np.asarray(self.constant * factor),
            tuple(
                Term(t.rows, t.columns, _scaled(t.coefficients, _on_rows(factor, t.rows)))
                for t in self.terms
            ),
            tuple(
                Part(p.rows, p.coefficients * _on_rows(factor, p.rows), p.atom) for p in self.parts
            ),
        )

    __rmul__ = __mul__

    def __truediv__(self, other: Floats | float) -> "Form":
        # Dividing each coefficient, not multiplying by a reciprocal, rounds once.
        divisor = _shared(other)
        return Form(
            self.size,
            self.constant if self._is_homogeneous else np.asarray(self.constant / divisor),
            tuple(
                Term(t.rows, t.columns, t.coefficients / _on_rows(divisor, t.rows))
                for t in self.terms
            ),
            tuple(
                Part(p.rows, p.coefficients / _on_rows(divisor, p.rows), p.atom) for p in self.parts
            ),
        )

    def scatter(self, rows: Rows, size: int) -> "Form":
        """Return the form placed on some rows of a larger grid, zero elsewhere."""
        constant = np.zeros(size)
        constant[rows] = self.constant
        return self._moved(rows, size, constant)

    def group_sum(self, outer: Rows, size: int) -> "Form":
        """Return the sums over the rows that belong to each outer row."""
        if not self._is_homogeneous:
            weights = np.broadcast_to(self.constant, outer.shape)
            constant = np.bincount(outer, weights=weights, minlength=size).astype(np.float64)
        else:
            constant = self.constant
        return self._moved(outer, size, constant)

    def _moved(self, rows: Rows, size: int, constant: Floats) -> "Form":
        return Form(
            size,
            constant,
            tuple(Term(_on_rows(rows, t.rows), t.columns, t.coefficients) for t in self.terms),
            tuple(Part(_on_rows(rows, p.rows), p.coefficients, p.atom) for p in self.parts),
        )

    def take(self, rows: Rows) -> "Form":
        """Return the form on some rows, which may repeat."""
        constant = self.constant if self.constant.ndim == 0 else self.constant[rows]
        return Form(
            len(rows),
            np.asarray(constant),
            tuple(_taken_term(term, rows, self.size) for term in self.terms),
            tuple(_taken_part(part, rows, self.size) for part in self.parts),
        )

    def at(self, x: Floats) -> Floats:
        """Return the values at a point of the columns, shape (size,)."""
        result = np.array(np.broadcast_to(self.constant, (self.size,)), dtype=np.float64)
        for term in self.terms:
            result += _bincount(term.row_numbers(), term.coefficients * x[term.columns], self.size)
        for part in self.parts:
            result += _bincount(part.row_numbers(), part.coefficients * part.atom.at(x), self.size)
        return result


def variables(columns: Ints) -> Form:
    """Return the form that is one column on each row."""
    return Form(len(columns), np.zeros(()), (Term(None, columns, np.ones(())),))


def constant(value: Floats | float, size: int) -> Form:
    """Return a form without columns."""
    return Form(size, np.asarray(value, dtype=np.float64))


def as_form(value: "Form | Floats | float", size: int) -> Form:
    """Return a value as a form, whatever it is; one number stands on every row."""
    if isinstance(value, Form):
        return value
    return constant(_shared(value), size)


def _shared(value: Floats | float) -> Floats:
    """Return a value as an array, one number as one that stands on every row."""
    numbers = np.asarray(value, dtype=np.float64)
    return numbers.reshape(()) if numbers.ndim and numbers.size == 1 else numbers


def applied(atom: Atom) -> Form:
    """Return the form that is an atom and nothing else."""
    return Form(atom.size, np.zeros(()), (), (Part(None, np.ones(atom.size), atom),))


def atoms(form: Form) -> Iterator[Atom]:
    """Yield every atom of a form, the inner ones first."""
    for part in form.parts:
        for argument in part.atom.args:
            yield from atoms(argument)
        yield part.atom


def _scaled(coefficients: Floats, factor: Floats) -> Floats:
    """Return products; a factor for each row is not copied only to be multiplied by one."""
    if coefficients.ndim == 0 and coefficients == 1.0:
        return factor
    return np.asarray(coefficients * factor)


def _on_rows(values: Any, rows: Rows | None) -> Any:
    """Return what stands on some rows, on all of them when ``rows`` is None."""
    return values if values.ndim == 0 or rows is None else values[rows]


def _taken_term(term: Term, rows: Rows, size: int) -> Term:
    coefficients = np.broadcast_to(term.coefficients, term.columns.shape)
    if term.rows is None:
        return Term(None, term.columns[rows], coefficients[rows])
    entries, places = _entries_of(term.rows, rows, size)
    return Term(places, term.columns[entries], coefficients[entries])


def _taken_part(part: Part, rows: Rows, size: int) -> Part:
    entries, places = _entries_of(part.row_numbers(), rows, size)
    coefficients = np.broadcast_to(part.coefficients, (part.atom.size,))[entries]
    return Part(places, coefficients, part.atom.take(entries))


def _entries_of(given: Rows, wanted: Rows, size: int) -> tuple[Rows, Rows]:
    """Return the entries that stand in the wanted rows, and where each of those rows stands."""
    order = np.argsort(given, kind="stable")
    counts = np.bincount(given, minlength=size)
    starts = np.concatenate([[0], np.cumsum(counts)])
    lengths = counts[wanted]
    places = np.repeat(np.arange(len(wanted)), lengths)
    within = np.arange(len(places)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    return order[starts[wanted][places] + within], places


def _bincount(rows: Rows, weights: Floats, size: int) -> Floats:
    spread = np.broadcast_to(weights, rows.shape)
    return np.bincount(rows, weights=spread, minlength=size).astype(np.float64)


# --- values of atoms ---------------------------------------------------------------------------


def _extreme_at(atom: Atom, inner: list[Floats]) -> Floats:
    start = np.inf if atom.function == "min" else -np.inf
    result = np.full(atom.size, start)
    extreme = np.minimum if atom.function == "min" else np.maximum
    assert atom.groups is not None
    extreme.at(result, atom.groups, inner[0])
    return result


def _piecewise_at(atom: Atom, inner: list[Floats]) -> Floats:
    """Interpolate; NaN outside the breakpoints."""
    xs, ys = (np.broadcast_to(v, (atom.size, v.shape[-1])) for v in atom.numbers)
    at = inner[0]
    values = interpolated(xs, ys, at)
    slack = 1e-9 * np.maximum(1.0, np.abs(xs).max(axis=1))
    inside = (at >= xs[:, 0] - slack) & (at <= xs[:, -1] + slack)
    return np.where(inside, values, np.nan)


_VALUES: Final[dict[str, Callable[[Atom, list[Floats]], Floats]]] = {
    "abs": lambda atom, inner: np.abs(inner[0]),
    "max": _extreme_at,
    "min": _extreme_at,
    "piecewise": _piecewise_at,
    "power": lambda atom, inner: np.power(inner[0], atom.numbers[0]),
    "product": lambda atom, inner: inner[0] * inner[1],
    "quotient": lambda atom, inner: inner[0] / inner[1],
    **dict.fromkeys(ELEMENTARY, lambda atom, inner: ELEMENTARY[atom.function].value(inner[0])),
}
