r"""Atoms as expressions of a solver's or a modelling library's own, exactly.

Every such library knows sums, products, powers, exp, log, sin and cos; the others are written in
these words, as :math:`\tanh u = 1 - 2 / (e^{2u} + 1)`.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from engiagent.formulations.program import OBJECTIVE, Program
from engiagent.formulations.values import ELEMENTARY, Atom, Form, Part

Expressions = list[Any]


@dataclass(frozen=True)
class Algebra:
    """How a library writes expressions; sums of two, products and powers are operators."""

    # makes the sum of a constant and a list of expressions
    total: Callable[[float, list[Any]], Any]
    functions: Mapping[str, Callable[[Any], Any]]  # those of the language that the library knows


class Translator:
    """Turns forms into lists of expressions of a library, one per row."""

    def __init__(self, variables: Sequence[Any], algebra: Algebra) -> None:
        self.variables = variables
        self.algebra = algebra
        self._known: dict[int, Expressions] = {}
        self._kept: list[Atom] = []

    def form(self, form: Form) -> Expressions:
        """Return one expression per row of a form."""
        sums = Sums(np.broadcast_to(form.constant, (form.size,)).tolist(), self.algebra.total)
        for term in form.terms:
            weights = np.broadcast_to(term.coefficients, term.columns.shape).tolist()
            places = term.row_numbers().tolist()
            for row, column, weight in zip(places, term.columns.tolist(), weights, strict=True):
                sums.add(row, weight, self.variables[column])
        self.parts(form.parts, sums)
        return sums.expressions()

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

    def __init__(
        self, constants: Sequence[float], total: Callable[[float, list[Any]], Any]
    ) -> None:
        self._constants, self._total = list(constants), total
        self._children: list[list[Any]] = [[] for _ in constants]

    def add(self, row: int, weight: float, expression: Any) -> None:
        """Add a weighted expression to a row."""
        if weight != 0.0:
            self._children[row].append(expression if weight == 1.0 else weight * expression)

    def expressions(self) -> Expressions:
        """Return the sums."""
        return [
            self._total(constant, children)
            for constant, children in zip(self._constants, self._children, strict=True)
        ]


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


def _elementary(translator: Translator, atom: Atom) -> Expressions:
    functions, inner = translator.algebra.functions, translator.form(atom.args[0])
    otherwise = ELEMENTARY[atom.function].otherwise
    if atom.function in functions or otherwise is None:
        return [functions[atom.function](element) for element in inner]
    return [otherwise(functions, element) for element in inner]


_RULES: Final[dict[str, Callable[[Translator, Atom], Expressions]]] = {
    "power": _power,
    "product": _product,
    "quotient": _quotient,
    **dict.fromkeys(ELEMENTARY, _elementary),
}


def curved_rows(program: Program) -> list[int]:
    """Return the rows that are not linear, ascending; :data:`OBJECTIVE` if it is not."""
    rows = set(np.unique(program.products.rows).tolist())
    for part in program.nonlinear:
        rows |= set(np.unique(part.row_numbers()).tolist())
    return sorted(rows)


def curved_expressions(
    program: Program, translator: Translator, curved: Sequence[int]
) -> list[tuple[int, Any]]:
    """Return curved rows whole; of the objective only products and functions."""
    place = {row: k for k, row in enumerate(curved)}
    sums = Sums([0.0] * len(curved), translator.algebra.total)
    columns = translator.variables
    for row, k in place.items():
        if row != OBJECTIVE:
            inside = slice(int(program.row_starts[row]), int(program.row_starts[row + 1]))
            numbers = program.row_columns[inside].tolist()
            for column, value in zip(numbers, program.row_values[inside].tolist(), strict=True):
                sums.add(k, value, columns[column])
    products = program.products
    for row, first, second, value in zip(
        products.rows.tolist(),
        products.first.tolist(),
        products.second.tolist(),
        products.values.tolist(),
        strict=True,
    ):
        both = columns[first] ** 2 if first == second else columns[first] * columns[second]
        sums.add(place[row], value, both)
    translator.parts(program.nonlinear, sums, place)
    return list(zip(curved, sums.expressions(), strict=True))
