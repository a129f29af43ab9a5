r"""Taking the columns of parameters out of a program.

Every array is then a constant plus a sparse linear map of the parameters' values z,

.. math:: a_k = b_k + \sum_j s_{kj} z_j,

and rows, columns, pattern and blocks are those of the plain program.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from engiagent.formulations.lowering.products import split
from engiagent.formulations.parametric.compiler import Limit, ParametricCompiler
from engiagent.formulations.parametric.evaluator import Definition
from engiagent.formulations.parametric.maps import Map, Target, finite
from engiagent.formulations.program import OBJECTIVE, ExpressionBlock, Products, Program
from engiagent.formulations.values import Atom, Floats, Form, Ints, Part, Term, applied, variables

Bools = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Projection:
    """A program without columns for parameters, and how its arrays follow them.

    ``offsets`` stand for the program's constant and those of its goals, in this order.
    """

    program: Program
    targets: tuple[Target, ...]
    definitions: tuple[Definition, ...]
    offsets: Floats


def project(compiler: ParametricCompiler, wide: Program) -> Projection:
    """Return the program without its parameter columns.

    Parameters
    ----------
    compiler
        What compiled it.
    wide
        The program with parameter columns.
    """
    return _Projector(compiler, wide).run()


class _Projector:
    """One projection."""

    def __init__(self, compiler: ParametricCompiler, wide: Program) -> None:
        self.wide = wide
        self.limits: list[Limit] = compiler.limits
        self.data_blocks = compiler.data.blocks
        # Expressions are evaluated last and may bring parameter columns beyond the program's own.
        self.is_data = compiler.data.mask()
        self.kept = ~self.is_data[: wide.column_count]
        self.number = np.cumsum(~self.is_data) - 1
        self.count = int(self.kept.sum())
        self.definitions = list(compiler.data.definitions)
        self.width = compiler.builder.column_count
        self.targets: list[Target] = []
        self.rows = Map()  # what rows add to their bodies: minus on both sides
        self.offset = Map()
        self.cost = Map()
        self.matrix = Map()  # places are row * count + column until the pattern is known
        self.pairs: list[tuple[Products, Ints | None]] = []

    def run(self) -> Projection:
        wide, keep = self.wide, self.kept
        self._linear_data()
        self._products(wide.products)
        nonlinear = tuple(self._nonlinear())
        offsets = np.array([wide.offset, *(goal.offset for goal in wide.goals)])
        for position, goal in enumerate(wide.goals, 1):
            at = np.flatnonzero(~keep & (goal.cost != 0))
            self.offset.add(position, at, goal.cost[at])
        cost = wide.cost[keep]
        starts, columns, values = self._matrix()
        lower, upper = self._row_limits()
        program = replace(
            wide,
            cost=cost,
            column_lower=self._column_limits("column_lower"),
            column_upper=self._column_limits("column_upper"),
            integrality=wide.integrality[keep],
            row_starts=starts,
            row_columns=columns,
            row_values=values,
            row_lower=lower,
            row_upper=upper,
            products=self._live_products(),
            nonlinear=nonlinear,
            indicators=replace(wide.indicators, columns=self.number[wide.indicators.columns]),
            sos1=tuple(self.number[group] for group in wide.sos1),
            goals=tuple(replace(goal, cost=goal.cost[keep]) for goal in wide.goals),
            columns=self._blocks(),
            expressions=tuple(self._expression(block) for block in wide.expressions),
        )
        self._aim(self.cost, cost)
        self._aim(self.offset, offsets)
        return Projection(program, tuple(self.targets), tuple(self.definitions), offsets)

    def _aim(self, entries: Map, array: Floats) -> None:
        target = entries.target(array)
        if target is not None:
            self.targets.append(target)

    def _blocks(self) -> tuple[Any, ...]:
        found = []
        for block in self.wide.columns:
            if block.name not in self.data_blocks:
                start = int(self.kept[: block.start].sum())
                found.append(replace(block, start=start, stop=start + block.size))
        return tuple(found)

    # -- linear parts ---------------------------------------------------------------------------

    def _linear_data(self) -> None:
        wide = self.wide
        row_of = np.repeat(np.arange(wide.row_count), np.diff(wide.row_starts))
        data = self.is_data[wide.row_columns]
        self.rows.add(row_of[data], wide.row_columns[data], wide.row_values[data])
        at = np.flatnonzero(~self.kept & (wide.cost != 0))
        self.offset.add(0, at, wide.cost[at])
        self._plain = (row_of[~data], self.number[wide.row_columns[~data]], wide.row_values[~data])

    def _matrix(self) -> tuple[Ints, Ints, Floats]:
        """Return the matrix with room for every coefficient that may differ from zero."""
        rows, columns, values = self._plain
        keys = rows * self.count + columns
        more = np.concatenate(self.matrix.at) if self.matrix.at else np.zeros(0, np.int64)
        pattern = np.unique(np.concatenate([keys, more]))
        array = np.zeros(len(pattern))
        array[np.searchsorted(pattern, keys)] = values
        self.matrix.at = [np.searchsorted(pattern, at) for at in self.matrix.at]
        self._aim(self.matrix, array)
        counts = np.bincount(pattern // max(self.count, 1), minlength=self.wide.row_count)
        starts = np.concatenate([[0], np.cumsum(counts)]).astype(np.int32)
        return starts, (pattern % max(self.count, 1)).astype(np.int32), array

    def _column_limits(self, kind: str) -> Floats:
        array: Floats = getattr(self.wide, kind)[self.kept]
        entries = Map()
        for limit in self.limits:
            if limit.kind == kind:
                place = int(self.number[limit.start])
                array[place : place + limit.form.size] = limit.form.constant
                self._follow(entries, limit.form, place)
        self._aim(entries, array)
        return array

    def _row_limits(self) -> tuple[Floats, Floats]:
        sides = []
        for kind in ("row_lower", "row_upper"):
            array: Floats = getattr(self.wide, kind).copy()
            entries = Map()
            for at, columns, values in zip(
                self.rows.at, self.rows.columns, self.rows.coefficients, strict=True
            ):
                entries.add(at, columns, -values)
            for limit in self.limits:
                if limit.kind == kind:
                    rows = slice(limit.start, limit.start + limit.form.size)
                    array[rows] += limit.form.constant - limit.baked
                    self._follow(entries, limit.form, limit.start)
            # What has no limit has none whatever the parameters are.
            self._aim(finite(entries, array), array)
            sides.append(array)
        return sides[0], sides[1]

    def _follow(self, entries: Map, form: Form, start: int) -> None:
        for term in form.terms:
            entries.add(term.row_numbers() + start, term.columns, term.coefficients)

    # -- products -------------------------------------------------------------------------------

    def _products(self, products: Products) -> None:
        first, second = self.is_data[products.first], self.is_data[products.second]
        plain = ~first & ~second
        if plain.any():
            self.pairs.append((_taken(products, plain), None))
        both = first & second
        if both.any():
            self._constants(_taken(products, both))
        mixed = first ^ second
        if mixed.any():
            chosen = _taken(products, mixed)
            data = np.where(first[mixed], chosen.first, chosen.second)
            other = np.where(first[mixed], chosen.second, chosen.first)
            self._coefficients(chosen.rows, other, data, chosen.values)

    def _coefficients(self, rows: Ints, columns: Ints, data: Ints, values: Floats) -> None:
        """Take ``values * z[data]`` for coefficients of columns in rows or in the objective."""
        goal = rows == OBJECTIVE
        inside = ~goal
        self.cost.add(self.number[columns[goal]], data[goal], values[goal])
        keys = rows[inside] * self.count + self.number[columns[inside]]
        self.matrix.add(keys, data[inside], values[inside])

    def _constants(self, products: Products) -> None:
        """Take products of two parameters for constants."""
        columns = self._times(products.first, products.second)
        self._fixed(products.rows, columns, products.values)

    def _define(self, form: Form) -> Ints:
        """Give the elements of a form of parameters columns of their own, beyond all others."""
        start = self.width
        self.width += form.size
        self.definitions.append(Definition(start, form))
        return np.arange(start, start + form.size, dtype=np.int64)

    def _live_products(self) -> Products:
        """Return the products of two variables, in order, with room for those that may come."""
        if not self.pairs:
            return self.wide.products if not len(self.wide.products.rows) else _empty()
        rows = np.concatenate([p.rows for p, _ in self.pairs])
        first = self.number[np.concatenate([p.first for p, _ in self.pairs])]
        second = self.number[np.concatenate([p.second for p, _ in self.pairs])]
        keys = ((rows + 1) * self.count + first) * self.count + second
        pattern = np.unique(keys)
        values, entries, done = np.zeros(len(pattern)), Map(), 0
        for products, data in self.pairs:
            at = np.searchsorted(pattern, keys[done : done + len(products.rows)])
            done += len(products.rows)
            if data is None:
                np.add.at(values, at, products.values)
            else:
                entries.add(at, data, products.values)
        self._aim(entries, values)
        pair = pattern % (self.count * self.count)
        return Products(
            pattern // (self.count * self.count) - 1, pair // self.count, pair % self.count, values
        )

    # -- functions ------------------------------------------------------------------------------

    def _nonlinear(self) -> list[Part]:
        found = []
        for part in self.wide.nonlinear:
            if not self._quadratic(part):
                found.append(self._live_part(part))
        return found

    def _quadratic(self, part: Part) -> bool:
        """Take a parameter times products of two variables apart; False where it is not that."""
        atom = part.atom
        if atom.function != "product" or not self._only_data(atom.args[0]):
            return False
        factor, inner = atom.args
        affine, products, rest = split(inner)
        if rest:
            return False
        rows = part.row_numbers()
        weight = factor * np.broadcast_to(part.coefficients, (atom.size,))
        columns = self._columns(weight)
        if products is not None:
            self._weighted(products, rows, columns)
        for term in affine.terms:
            at = term.row_numbers()
            values = np.broadcast_to(term.coefficients, term.columns.shape)
            self._monomials(rows[at], columns[at], term.columns, values)
        constant = np.broadcast_to(affine.constant, (atom.size,))
        self._fixed(rows, columns, constant)
        return True

    def _weighted(self, products: Products, rows: Ints, weights: Ints) -> None:
        """Take products times a parameter for each of their rows."""
        first, second = self.is_data[products.first], self.is_data[products.second]
        plain = ~first & ~second
        if plain.any():
            own = _taken(products, plain)
            placed = Products(rows[own.rows], own.first, own.second, own.values)
            self.pairs.append((placed, weights[own.rows]))
        mixed = _taken(products, ~plain)
        if len(mixed.rows):
            one_is_data = self.is_data[mixed.first]
            data = np.where(one_is_data, mixed.first, mixed.second)
            other = np.where(one_is_data, mixed.second, mixed.first)
            both = self._times(weights[mixed.rows], data)
            self._monomials(rows[mixed.rows], both, other, mixed.values)

    def _monomials(self, rows: Ints, data: Ints, columns: Ints, values: Floats) -> None:
        """Take ``values * z[data]`` times columns that are variables or parameters."""
        constant = self.is_data[columns]
        if constant.any():
            both = self._times(data[constant], columns[constant])
            self._fixed(rows[constant], both, values[constant])
        free = ~constant
        self._coefficients(rows[free], columns[free], data[free], values[free])

    def _fixed(self, rows: Ints, data: Ints, values: Floats) -> None:
        """Take ``values * z[data]`` for constants of rows or of the objective."""
        goal = rows == OBJECTIVE
        self.offset.add(0, data[goal], values[goal])
        self.rows.add(rows[~goal], data[~goal], values[~goal])

    def _times(self, first: Ints, second: Ints) -> Ints:
        """Return parameter columns that are the products of others."""
        pair = (variables(first), variables(second))
        return self._define(applied(Atom("product", len(first), pair)))

    def _columns(self, form: Form) -> Ints:
        """Return one parameter column for each row of a form of parameters."""
        if len(form.terms) == 1 and not np.any(form.constant):
            term = form.terms[0]
            ones = np.all(term.coefficients == 1.0)
            if ones and (term.rows is None or np.array_equal(term.rows, np.arange(form.size))):
                return np.asarray(term.columns, dtype=np.int64)
        return self._define(form)

    def _only_data(self, form: Form) -> bool:
        return form.is_affine and all(self.is_data[t.columns].all() for t in form.terms)

    def _live_part(self, part: Part) -> Part:
        return Part(part.rows, part.coefficients, self._live_atom(part.atom))

    def _live_atom(self, atom: Atom) -> Atom:
        return replace(atom, args=tuple(self._live_form(form) for form in atom.args))

    def _live_form(self, form: Form) -> Form:
        """Return a form of variables whose constants follow the parameters."""
        terms, entries = [], Map()
        for term in form.terms:
            data = self.is_data[term.columns]
            at = term.row_numbers()
            values = np.broadcast_to(term.coefficients, term.columns.shape)
            if data.any():
                entries.add(at[data], term.columns[data], values[data])
            if not data.all():
                kept = None if term.rows is None and not data.any() else at[~data]
                terms.append(Term(kept, self.number[term.columns[~data]], values[~data]))
        constant = form.constant
        if entries.at:
            constant = np.array(np.broadcast_to(form.constant, (form.size,)), dtype=np.float64)
            self._aim(entries, constant)
        return Form(form.size, constant, tuple(terms), tuple(map(self._live_part, form.parts)))

    # -- named expressions ----------------------------------------------------------------------

    def _expression(self, block: ExpressionBlock) -> ExpressionBlock:
        """Return a named expression whose numbers follow the parameters."""
        row_of = np.repeat(np.arange(block.size), np.diff(block.row_starts))
        data = self.is_data[block.row_columns]
        body, entries = Map(), Map()
        body.add(row_of[data], block.row_columns[data], block.row_values[data])
        parts = [part for part in block.parts if not self._bilinear(part, body, entries)]
        plain = row_of[~data] * self.count + self.number[block.row_columns[~data]]
        more = np.concatenate(entries.at) if entries.at else np.zeros(0, np.int64)
        pattern = np.unique(np.concatenate([plain, more]))
        values = np.zeros(len(pattern))
        values[np.searchsorted(pattern, plain)] = block.row_values[~data]
        entries.at = [np.searchsorted(pattern, at) for at in entries.at]
        constant = block.constant.copy()
        self._aim(body, constant)
        self._aim(entries, values)
        counts = np.bincount(pattern // max(self.count, 1), minlength=block.size)
        return replace(
            block,
            row_starts=np.concatenate([[0], np.cumsum(counts)]).astype(np.int32),
            row_columns=(pattern % max(self.count, 1)).astype(np.int32),
            row_values=values,
            constant=constant,
            parts=tuple(self._live_part(part) for part in parts),
        )

    def _bilinear(self, part: Part, body: Map, entries: Map) -> bool:
        """Take products of a parameter and a variable apart; False where it is not that."""
        size = int(part.row_numbers().max(initial=-1)) + 1
        affine, products, rest = split(Form(size, np.zeros(()), (), (part,)))
        if rest or products is None or np.any(affine.constant):
            return False
        first, second = self.is_data[products.first], self.is_data[products.second]
        if not np.all(first ^ second):
            return False
        data = np.where(first, products.first, products.second)
        other = np.where(first, products.second, products.first)
        entries.add(products.rows * self.count + self.number[other], data, products.values)
        for term in affine.terms:
            chosen = self.is_data[term.columns]
            at, values = term.row_numbers(), np.broadcast_to(term.coefficients, term.columns.shape)
            body.add(at[chosen], term.columns[chosen], values[chosen])
            keys = at[~chosen] * self.count + self.number[term.columns[~chosen]]
            one = self._define(Form(len(keys), np.ones(())))
            entries.add(keys, one, values[~chosen])
        return True


def _taken(products: Products, keep: Bools) -> Products:
    return Products(
        products.rows[keep], products.first[keep], products.second[keep], products.values[keep]
    )


def _empty() -> Products:
    none = np.zeros(0, np.int64)
    return Products(none, none, none, np.zeros(0))
