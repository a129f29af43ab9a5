r"""Taking the columns of parameters out of a program.

Every array is then a constant plus a sparse linear map of the parameters' values z,

.. math:: a_k = b_k + \sum_j s_{kj} z_j,

and rows, columns, pattern and blocks are those of the plain program. A parameter inside a function
of variables, or before a product of two of them, is no such map and recompiles.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import zip_longest
from typing import Any, Final

import numpy as np

from engiagent.errors import InputError
from engiagent.formulations.lowering.products import split
from engiagent.formulations.parametric.compiler import (
    Definition,
    Limit,
    ParametricCompiler,
    StructureError,
    columns_of,
)
from engiagent.formulations.program import (
    OBJECTIVE,
    ColumnBlock,
    ExpressionBlock,
    Products,
    Program,
)
from engiagent.formulations.values import Atom, Floats, Form, Ints, Part, applied, variables


@dataclass(frozen=True, eq=False)
class Target:
    """An array that follows parameters: ``array[at] = base[at] + coefficients * z[columns]``."""

    array: Floats
    base: Floats
    at: Ints
    columns: Ints
    coefficients: Floats


@dataclass(eq=False)
class Entries:
    """The terms of a map in the making: places, parameter columns and factors."""

    parts: list[tuple[Ints, Ints, Floats]] = field(default_factory=list)

    def add(self, at: Any, columns: Ints, coefficients: Any) -> None:
        """Add terms, the columns giving their number."""
        size = (len(columns),)
        places = np.broadcast_to(np.asarray(at, dtype=np.int64), size)
        self.parts.append((places, columns, np.broadcast_to(coefficients, size)))

    def joined(self) -> tuple[Ints, Ints, Floats]:
        """Return all terms."""
        if not self.parts:
            return np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0)
        at, columns, values = (np.concatenate(part) for part in zip(*self.parts, strict=True))
        return at, columns, values


@dataclass(frozen=True, eq=False)
class Projection:
    """A program without columns for parameters, and how its arrays follow them."""

    program: Program
    targets: tuple[Target, ...]
    # columns of parameters that are computed from others, in their order
    definitions: tuple[Definition, ...]
    width: int  # how many columns there are with those of the parameters
    offsets: Floats  # stand for the program's constant and those of its goals, in this order


class Projector:
    """A program without its parameter columns; StructureError for one inside a function."""

    def __init__(self, compiler: ParametricCompiler, wide: Program) -> None:
        self.wide = wide
        self.limits: list[Limit] = compiler.limits
        self.data_blocks = compiler.data.blocks
        # Expressions are evaluated last and may bring parameter columns beyond the program's own.
        self.is_data = compiler.data.mask()
        self.kept = ~self.is_data[: wide.column_count]
        self.number = np.cumsum(~self.is_data) - 1
        self.count = max(int(self.kept.sum()), 1)
        self.definitions = list(compiler.data.definitions)
        self.width = compiler.builder.column_count
        self.targets: list[Target] = []

    def run(self) -> Projection:
        """Return the program without its parameter columns."""
        wide, keep = self.wide, self.kept
        cost, offset = Entries(), Entries()
        offsets = np.array([wide.offset, *(goal.offset for goal in wide.goals)])
        for place, costs in enumerate([wide.cost, *(goal.cost for goal in wide.goals)]):
            at = np.flatnonzero(~keep & (costs != 0))
            offset.add(place, at, costs[at])
        plain, rows, columns, data, values = self._products(wide.products)
        of_goal = rows == OBJECTIVE
        constant = columns < 0
        free = of_goal & ~constant
        cost.add(columns[free], data[free], values[free])
        offset.add(0, data[of_goal & constant], values[of_goal & constant])
        mixed = tuple(part[~of_goal] for part in (rows, columns, data, values))
        row_of = np.repeat(np.arange(wide.row_count), np.diff(wide.row_starts))
        entries = row_of, wide.row_columns, wide.row_values
        starts, row_columns, row_values, body = self._matrix(entries, mixed, wide.row_count)
        live_cost = wide.cost[keep]
        program = replace(
            wide,
            cost=live_cost,
            column_lower=self._column_limits("column_lower"),
            column_upper=self._column_limits("column_upper"),
            integrality=wide.integrality[keep],
            row_starts=starts,
            row_columns=row_columns,
            row_values=row_values,
            row_lower=self._row_limits("row_lower", body),
            row_upper=self._row_limits("row_upper", body),
            products=plain,
            nonlinear=tuple(map(self._renumbered, wide.nonlinear)),
            indicators=replace(wide.indicators, columns=self.number[wide.indicators.columns]),
            sos1=tuple(self.number[group] for group in wide.sos1),
            goals=tuple(replace(goal, cost=goal.cost[keep]) for goal in wide.goals),
            columns=tuple(self._block(b) for b in wide.columns if b.name not in self.data_blocks),
            expressions=tuple(map(self._expression, wide.expressions)),
        )
        self._aim(cost, live_cost)
        self._aim(offset, offsets)
        definitions, targets = tuple(self.definitions), tuple(self.targets)
        return Projection(program, targets, definitions, self.width, offsets)

    def _aim(self, entries: Entries, array: Floats) -> None:
        """Let an array follow the parameters by a map."""
        at, columns, values = entries.joined()
        if len(at):
            self.targets.append(Target(array, array.copy(), at, columns, values))

    def _block(self, block: ColumnBlock) -> ColumnBlock:
        start = int(self.kept[: block.start].sum())
        return replace(block, start=start, stop=start + block.size)

    # -- coefficients ---------------------------------------------------------------------------

    def _products(self, products: Products) -> tuple[Products, Ints, Ints, Ints, Floats]:
        """Take products with parameters out.

        Returns the products of two variables; and of the others rows, columns (-1 for those of two
        parameters), parameter columns and factors.
        """
        first, second = self.is_data[products.first], self.is_data[products.second]
        both, either = first & second, first | second
        columns = self.number[np.where(first, products.second, products.first)]
        columns[both] = -1
        data = np.where(first, products.first, products.second).astype(np.int64)
        if both.any():
            pair = variables(products.first[both]), variables(products.second[both])
            data[both] = self._defined(applied(Atom("product", int(both.sum()), pair)))
        plain = Products(
            products.rows[~either],
            self.number[products.first[~either]],
            self.number[products.second[~either]],
            products.values[~either],
        )
        rows, values = products.rows[either], products.values[either]
        return plain, rows, columns[either], data[either], values

    def _defined(self, form: Form) -> Ints:
        """Give the elements of a form of parameters columns of their own, beyond all others."""
        start = self.width
        self.width += form.size
        self.definitions.append(Definition(start, form))
        return np.arange(start, start + form.size, dtype=np.int64)

    def _matrix(
        self, entries: tuple[Ints, Ints, Floats], mixed: tuple[Any, ...], size: int
    ) -> tuple[Ints, Ints, Floats, Entries]:
        """Return a matrix with room for every coefficient, and what parameters add to each row."""
        rows, columns, values = entries
        data = self.is_data[columns]
        body, live = Entries(), Entries()
        body.add(rows[data], columns[data], values[data])
        at, others, factors, weights = mixed
        constant = others < 0
        body.add(at[constant], factors[constant], weights[constant])
        keys = rows[~data] * self.count + self.number[columns[~data]]
        more = (at * self.count + others)[~constant]
        pattern = np.unique(np.concatenate([keys, more]))
        array = np.zeros(len(pattern))
        np.add.at(array, np.searchsorted(pattern, keys), values[~data])
        live.add(np.searchsorted(pattern, more), factors[~constant], weights[~constant])
        self._aim(live, array)
        counts = np.bincount(pattern // self.count, minlength=size)
        starts = np.concatenate([[0], np.cumsum(counts)]).astype(np.int32)
        return starts, (pattern % self.count).astype(np.int32), array, body

    def _column_limits(self, kind: str) -> Floats:
        array: Floats = getattr(self.wide, kind)[self.kept]
        entries = Entries()
        for limit in self.limits:
            if limit.kind == kind:
                place = int(self.number[limit.start])
                array[place : place + limit.form.size] = limit.form.constant
                _follow(entries, limit.form, place)
        self._aim(entries, array)
        return array

    def _row_limits(self, kind: str, body: Entries) -> Floats:
        array: Floats = getattr(self.wide, kind).copy()
        entries, finite = Entries(), Entries()
        for at, columns, values in body.parts:
            entries.add(at, columns, -values)
        for limit in self.limits:
            if limit.kind == kind:
                rows = slice(limit.start, limit.start + limit.form.size)
                array[rows] += limit.form.constant - limit.baked
                _follow(entries, limit.form, limit.start)
        # What has no limit has none whatever the parameters are.
        at, columns, values = entries.joined()
        there = np.isfinite(array[at])
        finite.add(at[there], columns[there], values[there])
        self._aim(finite, array)
        return array

    # -- functions ------------------------------------------------------------------------------

    def _renumbered(self, part: Part) -> Part:
        """Return a function of variables; refuse one in which a parameter stands."""
        for form in part.atom.args:
            if self.is_data[columns_of(form)].any():
                name = part.atom.origin or "the objective"
                raise StructureError(
                    f"{name}: a parameter that changes stands inside {part.atom.function!r} of "
                    "variables; ask for structure='recompile'"
                )
        atom = replace(part.atom, args=tuple(map(self._renumbered_form, part.atom.args)))
        return replace(part, atom=atom)

    def _renumbered_form(self, form: Form) -> Form:
        terms = tuple(replace(term, columns=self.number[term.columns]) for term in form.terms)
        return replace(form, terms=terms, parts=tuple(map(self._renumbered, form.parts)))

    def _expression(self, block: ExpressionBlock) -> ExpressionBlock:
        """Return a named expression whose numbers follow the parameters."""
        constant = block.constant.copy()
        rows = np.repeat(np.arange(block.size), np.diff(block.row_starts))
        entries: tuple[Ints, Ints, Floats] = rows, block.row_columns, block.row_values
        mixed: tuple[Any, ...] = (np.zeros(0, np.int64),) * 4
        parts = block.parts
        if any(self.is_data[columns_of(form)].any() for p in parts for form in p.atom.args):
            affine, products, rest = split(Form(block.size, np.zeros(()), (), parts))
            parts = tuple(rest)
            constant += affine.constant
            columns: list[tuple[Any, Any, Any]] = [
                entries,
                *(
                    (t.row_numbers(), t.columns, np.broadcast_to(t.coefficients, t.columns.shape))
                    for t in affine.terms
                ),
            ]
            joined = [np.concatenate(part) for part in zip(*columns, strict=True)]
            entries = joined[0], joined[1], joined[2]
            if products is not None:
                plain, *found = self._products(products)
                mixed = tuple(found)
                if len(plain.rows):
                    raise StructureError(f"{block.name}: a parameter stands beside a product")
        starts, row_columns, values, body = self._matrix(entries, mixed, block.size)
        self._aim(body, constant)
        return replace(
            block,
            row_starts=starts,
            row_columns=row_columns,
            row_values=values,
            constant=constant,
            parts=tuple(map(self._renumbered, parts)),
        )


def _follow(entries: Entries, form: Form, start: int) -> None:
    for term in form.terms:
        entries.add(term.row_numbers() + start, term.columns, term.coefficients)


AGREEMENT: Final = 1e-9
"""Largest difference, relative to the larger of 1 and the number."""


# --- following them ----------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Write:
    """One assignment of an update; ``groups`` is None where each place has one entry."""

    array: Floats
    at: Ints
    base: Floats
    columns: Ints
    coefficients: Floats
    groups: Ints | None

    def run(self, z: Floats) -> None:
        terms: Floats = self.coefficients * z[self.columns]
        if self.groups is not None:
            terms = np.bincount(self.groups, terms, len(self.at)).astype(np.float64)
        self.array[self.at] = self.base + terms


_Plan = tuple[list[Definition], list[_Write]]
"""What an update of some parameters computes and writes."""


class Follower:
    """Keeps the arrays of a projection at the current values of its parameters."""

    def __init__(
        self, projection: Projection, starts: Mapping[str, int], values: Mapping[str, Floats]
    ) -> None:
        self.program: Program = projection.program
        self._projection = projection
        self._starts = dict(starts)
        self._plans: dict[tuple[str, ...], _Plan] = {}
        self._z = np.zeros(projection.width)
        everything = np.ones(projection.width, dtype=np.bool_)
        writes = [_write(target, everything) for target in projection.targets]
        self._run((list(projection.definitions), writes), values)

    def follow(self, new: Mapping[str, Floats]) -> None:
        """Write new values into the arrays; with an InputError nothing changes."""
        key = tuple(new)
        plan = self._plans.get(key)
        if plan is None:
            plan = self._plans[key] = self._plan(new)
        self._run(plan, new)

    def _plan(self, new: Mapping[str, Floats]) -> _Plan:
        touched = np.zeros(len(self._z), dtype=np.bool_)
        for name, values in new.items():
            touched[self._starts[name] : self._starts[name] + values.size] = True
        definitions = []
        for definition in self._projection.definitions:
            if touched[columns_of(definition.form)].any():
                definitions.append(definition)
                touched[definition.start : definition.start + definition.form.size] = True
        targets = [t for t in self._projection.targets if touched[t.columns].any()]
        return definitions, [_write(target, touched) for target in targets]

    def _run(self, plan: _Plan, new: Mapping[str, Floats]) -> None:
        definitions, writes = plan
        z = self._z.copy()
        for name, values in new.items():
            z[self._starts[name] : self._starts[name] + values.size] = values.reshape(-1)
        for definition in definitions:
            computed = definition.form.at(z)
            if not np.isfinite(computed).all():
                raise InputError(
                    "with these values something computed from them is not a finite number",
                    found=", ".join(sorted(new)),
                )
            z[definition.start : definition.start + len(computed)] = computed
        for write in writes:
            write.run(z)
        self._z = z
        # The only numbers among the arrays; the program stays one object for its sessions.
        offset, *offsets = self._projection.offsets.tolist()
        object.__setattr__(self.program, "offset", offset)
        for goal, value in zip(self.program.goals, offsets, strict=True):
            object.__setattr__(goal, "offset", value)


def _write(target: Target, touched: Any) -> _Write:
    """Return the assignment of all places of a target that follow a touched column."""
    chosen = np.isin(target.at, target.at[touched[target.columns]])
    at = np.asarray(target.at[chosen], dtype=np.int64)
    places, groups = np.unique(at, return_inverse=True)
    columns, coefficients = target.columns[chosen], target.coefficients[chosen]
    base = target.base[places]
    if len(places) < len(groups):
        return _Write(target.array, places, base, columns, coefficients, groups)
    order = np.argsort(groups)
    return _Write(target.array, places, base, columns[order], coefficients[order], None)


# --- whether it is the same program ------------------------------------------------------------


def difference(live: Program, plain: Program) -> str | None:
    """Return the name of the first block in which two programs differ, None when they agree.

    Bounds of columns that the compiler put in may be wider in ``live``: they cannot rest on
    numbers that change.
    """
    for ours, theirs in ((live.columns, plain.columns), (live.rows, plain.rows)):
        for one, other in zip_longest(map(_named, ours), map(_named, theirs)):
            if one != other:
                return str((other or one or ("",))[0])
    return next(_differences(live, plain), None)


def _named(block: Any) -> tuple[str, int]:
    return getattr(block, "constraint_id", block.name), block.size


def _differences(live: Program, plain: Program) -> Iterator[str]:
    for what, count in (
        ("a conditional row", lambda p: (len(p.indicators.rows), len(p.sos1))),
        ("a function that is not linear", lambda p: bool(p.nonlinear)),
        ("a product", lambda p: len(p.products.rows) > 0),
    ):
        if count(live) != count(plain):
            yield what
    for name in ("cost", "row_lower", "row_upper"):
        if not _close(getattr(live, name), getattr(plain, name)):
            yield name.replace("_", " ")
    for block in plain.columns:
        part = slice(block.start, block.stop)
        for side, sign in (("column_lower", 1.0), ("column_upper", -1.0)):
            ours, theirs = getattr(live, side)[part], getattr(plain, side)[part]
            wider = block.generated and bool(np.all(sign * ours <= sign * theirs))
            if not wider and not _close(ours, theirs):
                yield block.name
    # Equal linear maps agree everywhere else too.
    random = np.random.default_rng(20260101)
    for size in (1.0, 1e-3, 1e3):
        x = random.uniform(0.5, 1.5, plain.column_count) * size
        with np.errstate(all="ignore"):
            ours, theirs = (np.append(p.activity_at(x), p.objective_at(x)) for p in (live, plain))
        if not _close(ours, theirs, size):
            yield "a coefficient"


def _close(a: Floats, b: Floats, scale: float = 1.0) -> bool:
    return bool(np.allclose(a, b, rtol=AGREEMENT, atol=AGREEMENT * scale, equal_nan=True))
