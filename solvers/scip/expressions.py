r"""Atoms as expressions of SCIP, exactly.

SCIP knows sums, products, powers, exp, log, sin, cos and abs. The others are the same functions in
these words:

.. math::

    \max(a, b) = \tfrac12 (a + b + |a - b|), \qquad
    \tanh u = 1 - \frac{2}{e^{2u} + 1}, \qquad
    f(u) = y_0 + s_0 (u - x_0) + \sum_k (s_k - s_{k-1}) \max(0, u - x_k)

where f is a table with the slopes s between its points.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import numpy as np

from engiagent.formulations.values import Atom, Form, Part

Expressions = list[Any]


class Translator:
    """Turns forms into lists of SCIP's expressions, one per row.

    Attributes
    ----------
    variables
        SCIP's variables, one per column.
    domains
        What tables leave undefined: expressions with their lower and upper limits, filled as
        tables are met.
    """

    def __init__(self, variables: Sequence[Any]) -> None:
        self.variables = variables
        self.domains: list[tuple[Any, float, float]] = []
        self._known: dict[int, Expressions] = {}
        self._kept: list[Atom] = []

    def form(self, form: Form) -> Expressions:
        """Return one expression per row of a form."""
        sums = Sums(np.broadcast_to(form.constant, (form.size,)).tolist())
        for term in form.terms:
            weights = np.broadcast_to(term.coefficients, term.columns.shape).tolist()
            places = term.row_numbers().tolist()
            for row, column, weight in zip(places, term.columns.tolist(), weights, strict=True):
                sums.add(row, weight, self.variable(column))
        self.parts(form.parts, sums)
        return sums.expressions()

    def variable(self, column: int) -> Any:
        """Return a column as an expression."""
        from pyscipopt.scip import VarExpr

        return VarExpr(self.variables[column])

    def parts(
        self, parts: Sequence[Part], sums: "Sums", places: Mapping[int, int] | None = None
    ) -> None:
        """Add the elements of parts to the sums of their rows, ``places[row]`` if given."""
        for part in parts:
            elements = self.atom(part.atom)
            weights = np.broadcast_to(part.coefficients, (len(elements),)).tolist()
            rows = part.row_numbers().tolist()
            for row, weight, element in zip(rows, weights, elements, strict=True):
                sums.add(row if places is None else places[row], weight, element)

    def atom(self, atom: Atom) -> Expressions:
        """Return one expression per element of an atom."""
        if id(atom) not in self._known:
            self._known[id(atom)] = _RULES[atom.function](self, atom)
            self._kept.append(atom)  # an object that is alive keeps its id to itself
        return self._known[id(atom)]


class Sums:
    """Sums of expressions, one per row."""

    def __init__(self, constants: Sequence[float]) -> None:
        self._constants = list(constants)
        self._children: list[list[Any]] = [[] for _ in constants]

    def add(self, row: int, weight: float, expression: Any) -> None:
        """Add a weighted expression to a row."""
        if weight != 0.0:
            self._children[row].append(expression if weight == 1.0 else weight * expression)

    def expressions(self) -> Expressions:
        """Return the sums."""
        return [
            _total(constant, children)
            for constant, children in zip(self._constants, self._children, strict=True)
        ]


def _total(constant: float, children: list[Any]) -> Any:
    from pyscipopt.scip import Constant, SumExpr

    if not children:
        return Constant(constant)
    if len(children) == 1 and constant == 0.0:
        return children[0]
    total = SumExpr()
    total.children = list(children)
    total.constant = constant
    return total


def _unary(function: Callable[[Any], Any]) -> Callable[[Translator, Atom], Expressions]:
    def rule(translator: Translator, atom: Atom) -> Expressions:
        return [function(inner) for inner in translator.form(atom.args[0])]

    return rule


def _product(translator: Translator, atom: Atom) -> Expressions:
    left = translator.form(atom.args[0])
    if atom.args[0] is atom.args[1]:
        return [inner**2 for inner in left]
    return [a * b for a, b in zip(left, translator.form(atom.args[1]), strict=True)]


def _quotient(translator: Translator, atom: Atom) -> Expressions:
    left, right = (translator.form(form) for form in atom.args)
    return [a * b ** (-1) for a, b in zip(left, right, strict=True)]


def _power(translator: Translator, atom: Atom) -> Expressions:
    exponents = np.broadcast_to(atom.numbers[0], (atom.size,)).tolist()
    inner = translator.form(atom.args[0])
    return [base**power for base, power in zip(inner, exponents, strict=True)]


def _extreme(translator: Translator, atom: Atom) -> Expressions:
    assert atom.groups is not None
    sign = 1.0 if atom.function == "max" else -1.0
    found: list[Any] = [None] * atom.size
    for group, inner in zip(atom.groups.tolist(), translator.form(atom.args[0]), strict=True):
        if found[group] is None:
            found[group] = inner
        else:
            found[group] = larger(found[group], inner, sign)
    return found


def larger(one: Any, other: Any, sign: float = 1.0) -> Any:
    """Return the larger of two expressions; the smaller one with ``sign`` -1."""
    return 0.5 * one + 0.5 * other + (0.5 * sign) * abs(one + (-1.0) * other)


def _tanh(inner: Any) -> Any:
    return 1.0 + (-2.0) * ((2.0 * inner).exp() + 1.0) ** (-1)


def _piecewise(translator: Translator, atom: Atom) -> Expressions:
    from pyscipopt.scip import Constant

    xs, ys = (np.broadcast_to(v, (atom.size, v.shape[-1])) for v in atom.numbers)
    slopes = np.diff(ys, axis=1) / np.diff(xs, axis=1)
    found = []
    for row, inner in enumerate(translator.form(atom.args[0])):
        translator.domains.append((inner, float(xs[row, 0]), float(xs[row, -1])))
        first = float(slopes[row, 0])
        value = first * inner + float(ys[row, 0] - first * xs[row, 0])
        for k, bend in enumerate(np.diff(slopes[row]).tolist()):
            if bend != 0.0:
                past = inner + float(-xs[row, k + 1])
                value = value + bend * larger(past, Constant(0.0))
        found.append(value)
    return found


_RULES: Final[dict[str, Callable[[Translator, Atom], Expressions]]] = {
    "abs": _unary(abs),
    "cos": _unary(lambda inner: inner.cos()),
    "exp": _unary(lambda inner: inner.exp()),
    "log": _unary(lambda inner: inner.log()),
    "max": _extreme,
    "min": _extreme,
    "piecewise": _piecewise,
    "power": _power,
    "product": _product,
    "quotient": _quotient,
    "sin": _unary(lambda inner: inner.sin()),
    "sqrt": _unary(lambda inner: inner**0.5),
    "tanh": _unary(_tanh),
}
