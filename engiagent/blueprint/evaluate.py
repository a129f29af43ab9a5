"""Evaluation of checked expressions over index grids with numpy.

:class:`Evaluator` knows indices, sets, parameters and arithmetic. What a decision variable is
worth is a question for subclasses: the compiler answers with sparse rows of coefficients, static
analysis with nothing but the check that the index exists. Both then share every rule on indices.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from engiagent.blueprint import grammar
from engiagent.blueprint.functions import ELEMENTARY, interpolated
from engiagent.blueprint.grammar import Binary, Call, Members, Node, Number, Reduce, Ref, names_in
from engiagent.blueprint.grid import EMPTY_GRID, Elements, Grid, bind_set
from engiagent.blueprint.indexing import (
    UNKNOWN,
    Array,
    Indexer,
    Named,
    Rows,
    Value,
    evaluation_error,
    known_positions,
    root_positions,
    set_name,
)
from engiagent.blueprint.sets import IndexSet, is_timed
from engiagent.blueprint.timeaxis import Ints
from engiagent.blueprint.windows import window


class Evaluator(Indexer):
    """Evaluates expressions whose values do not depend on decision variables."""

    # -- what subclasses answer -----------------------------------------------------------------

    def variable(self, ref: Ref, grid: Grid) -> Value:
        """Return the value of a decision variable on every row."""
        text = f"{ref.name} is a variable; only parameters can stand here"
        raise evaluation_error("EB011", text, ref)

    def product(self, left: Value, right: Value, node: Node) -> Value:
        """Multiply two values of which at most one depends on variables."""
        with np.errstate(all="ignore"):  # callers refuse what is not finite, in their own words
            return left * right

    def quotient(self, left: Value, right: Value, node: Node) -> Value:
        """Divide by a value that depends on no variable."""
        if np.any(right == 0.0):
            raise evaluation_error("EB016", "division by zero", node)
        with np.errstate(all="ignore"):
            return left / right

    # -- numbers --------------------------------------------------------------------------------

    def number(self, node: Node, grid: Grid) -> Value:
        """Return the value of a numeric expression on every row of the grid."""
        return _NUMBERS[type(node)](self, node, grid)

    def _literal(self, node: Number, grid: Grid) -> Value:
        return np.float64(node.value)

    def _ref(self, node: Ref, grid: Grid) -> Value:
        if node.name in grid.names:
            return self._index_number(node, grid.names[node.name])
        if node.name in self.named:
            return self._inline(node, grid)
        if self.is_variable(node.name):
            return self.variable(node, grid)
        table = self.tables(node.name)
        if not table.sets:
            return table.values.reshape(())
        place = self.place(node, table.sets, grid)
        self.refuse_outside(node, place, grid)
        values = table.values.reshape(-1)
        whole = len(table.sets) == 1 and place.flat is table.sets[0].everything
        return values if whole else values[place.flat]

    def _index_number(self, node: Ref | Call, elements: Elements) -> Value:
        numbers = elements.set.numbers
        if numbers is None:
            text = f"this is an element of {elements.set.name}, no number"
            raise evaluation_error("EB003", text, node)
        return numbers[elements.positions].astype(np.float64)

    def _inline(self, node: Ref, grid: Grid) -> Value:
        named = self.named[node.name]
        place = self.place(node, named.sets, grid)
        self.refuse_outside(node, place, grid)
        if named.exists is not None and not np.all(named.exists()[place.flat]):
            text = f"{node.name} does not exist at every element named here"
            hint = "its 'where' leaves some out; filter here alike"
            raise evaluation_error("EB004", text, node, hint)
        return self.number(named.body, grid.bind(unflatten(named, place.flat)))

    def _unary(self, node: grammar.Unary, grid: Grid) -> Value:
        return -self.number(node.operand, grid)

    def _convert(self, node: grammar.Convert, grid: Grid) -> Value:
        value = self.number(node.operand, grid)
        if node.factor != 1.0:
            value = value * node.factor
        return value + node.shift if node.shift else value

    def _binary(self, node: Binary, grid: Grid) -> Value:
        left, right = self.number(node.left, grid), self.number(node.right, grid)
        if node.op == "+":
            return left + right
        if node.op == "-":
            return left - right
        if node.op == "*":
            return self.product(left, right, node)
        if node.op == "/":
            return self.quotient(left, right, node)
        if node.op == "**":
            return UNKNOWN if left is UNKNOWN else self.power(node, left, right)
        with np.errstate(all="ignore"):
            rest = np.mod(left, right) if node.op == "%" else np.floor_divide(left, right)
        return self._finite(node, rest)

    def _call(self, node: Call, grid: Grid) -> Value:
        if node.function == "prev":
            return self._prev(node, grid)
        if node.function == "len":
            return np.float64(self.sets(set_name(node)).size)
        if node.function in ("first", "last"):
            return self._index_number(node, self.index(node, grid))
        if node.function in _OF_ELEMENTS:
            return _OF_ELEMENTS[node.function](self.index(node.args[0], grid), node)
        if node.function == "piecewise":
            at = self.number(node.args[0], grid)
            xs, ys = (self.points(part, grid) for part in node.args[1:])
            _refuse_points(xs, ys, node)
            return UNKNOWN if at is UNKNOWN else self.piecewise(node, at, xs, ys, grid.size)
        parts = [self.number(part, grid) for part in node.args]
        if any(part is UNKNOWN for part in parts):
            return UNKNOWN
        if node.function in ("min", "max"):
            return self.extreme(node, parts, grid.size)
        return self.elementary(node, parts[0])

    def extreme(self, node: Call, parts: list[Value], size: int) -> Value:
        """Return the least or the greatest of several values on every row."""
        choose = np.minimum if node.function == "min" else np.maximum
        result = parts[0]
        for part in parts[1:]:
            result = choose(result, part)
        return result

    def elementary(self, node: Call, value: Value) -> Value:
        """Return a function of one value on every row."""
        with np.errstate(all="ignore"):
            own = ELEMENTARY.get(node.function)
            return self._finite(node, np.abs(value) if own is None else own.value(value))

    def power(self, node: Binary, base: Value, exponent: Array) -> Value:
        """Return a power on every row."""
        with np.errstate(all="ignore"):
            return self._finite(node, np.power(np.asarray(base, dtype=np.float64), exponent))

    def piecewise(self, node: Call, at: Value, xs: Array, ys: Array, size: int) -> Value:
        """Interpolate on every row; xs and ys have shape (points,) or (rows, points)."""
        at = np.broadcast_to(np.asarray(at, dtype=np.float64), (size,))
        xs, ys = (np.broadcast_to(v, (size, v.shape[-1])) for v in (xs, ys))
        outside = (at < xs[:, 0]) | (at > xs[:, -1])
        if outside.any():
            worst = float(at[np.flatnonzero(outside)[0]])
            raise evaluation_error("EB016", f"{worst:g} lies outside the breakpoints", node)
        return interpolated(xs, ys, at)

    def points(self, node: Node, grid: Grid) -> Array:
        """Return listed numbers, shape (points,), or a parameter's last index, (rows, points)."""
        reference, factor, shift = _unwrap(node)
        if isinstance(reference, Members):
            return np.array([item.value for item in reference.items if isinstance(item, Number)])
        assert isinstance(reference, Ref)
        table = self.tables(reference.name)
        count = table.sets[-1].size
        place = self.place(reference, table.sets[:-1], grid)
        self.refuse_outside(reference, place, grid)
        rows = table.values.reshape(-1, count) * factor + shift
        return rows[0] if len(table.sets) == 1 else np.asarray(rows[place.flat])

    def _finite(self, node: Node, value: Value) -> Value:
        if not np.all(np.isfinite(value)):
            raise evaluation_error("EB016", "the result is not a finite number", node)
        return value

    def _prev(self, node: Call, grid: Grid) -> Value:
        """``prev(x[t], x0)``: the value one step earlier along the time index.

        x0 stands where there is no earlier one: at the first element of the set by which x is
        indexed. For t in a subset the step is one of the whole set, as for every offset.
        """
        reference, start = node.args
        reference, factor, shift = _unwrap(reference)
        assert isinstance(reference, Ref)
        which = self._time_index(reference, grid)
        here = self.index(reference.indices[which], grid)
        rows = np.broadcast_to(root_positions(here), (grid.size,))
        first = rows == self.first_of(reference, which, here.set)

        def earlier(part: Grid) -> Value:
            back = Binary(reference.span, "-", reference.indices[which], Number((0, 0), 1.0, None))
            moved = (*reference.indices[:which], back, *reference.indices[which + 1 :])
            value = self.number(Ref(reference.span, reference.name, moved), part)
            return value * factor + shift if (factor, shift) != (1.0, 0.0) else value

        return self._split(first, grid, lambda part: self.number(start, part), earlier)

    def first_of(self, ref: Ref, which: int, here: IndexSet) -> int:
        """Return the position, in the root of ``here``, before which ``ref`` has no value."""
        own = self.sets_of(ref.name)
        target = own[which] if len(own) == len(ref.indices) else None
        if target is not None and target.root.periods_of is here.root:
            return 0  # edges do not go round, also where the periods do
        if here.root.cyclic:
            return -1
        if target is not None and target.root is here.root and target.size:
            return int(target.in_root[0])
        return 0

    def sets_of(self, name: str) -> tuple[IndexSet, ...]:
        """Return the sets by which a parameter or a named expression is indexed."""
        return self.named[name].sets if name in self.named else self.tables(name).sets

    def _time_index(self, ref: Ref, grid: Grid) -> int:
        for which in reversed(range(len(ref.indices))):
            try:
                if is_timed(self.index(ref.indices[which], grid).set):
                    return which
            except grammar.ExpressionError:
                continue
        return len(ref.indices) - 1

    def _choice(self, node: grammar.Choice, grid: Grid) -> Value:
        holds = np.broadcast_to(self.condition(node.condition, grid), (grid.size,))
        return self._split(
            holds,
            grid,
            lambda part: self.number(node.then, part),
            lambda part: self.number(node.otherwise, part),
        )

    def _split(
        self,
        mask: npt.NDArray[np.bool_],
        grid: Grid,
        where: Callable[[Grid], Value],
        elsewhere: Callable[[Grid], Value],
    ) -> Value:
        """Evaluate one thing on the rows of a mask and another on the rest."""
        if mask.all():
            return where(grid)
        if not mask.any():
            return elsewhere(grid)
        inside, outside = np.flatnonzero(mask), np.flatnonzero(~mask)
        return scatter(where(grid.take(inside)), inside, grid.size) + scatter(
            elsewhere(grid.take(outside)), outside, grid.size
        )

    def _reduce(self, node: Reduce, grid: Grid) -> Value:
        if grid.size > 1 and self._is_one_number(node, grid):
            return self._reduce(node, EMPTY_GRID)
        return self._reduce_rows(node, grid)

    def _is_one_number(self, node: Reduce, grid: Grid) -> bool:
        """Whether a reduction is the same on every row and depends on no variable."""
        return not any(
            name in grid.names or name in self.named or self.is_variable(name)
            for name in names_in(node)
        )

    def _reduce_rows(self, node: Reduce, grid: Grid) -> Value:
        binders = [(b.names, self.sets(b.set)) for b in node.binders]
        try:
            span = window(self, node, grid)
            if span is None:
                inner, outer = grid.expand(binders)
            else:
                inner, outer = grid.expand_within(*binders[0], *span)
        except MemoryError as error:
            raise evaluation_error("EB003", str(error), node) from None
        if node.where is not None:
            keep = np.flatnonzero(np.broadcast_to(self.condition(node.where, inner), (inner.size,)))
            inner, outer = inner.take(keep), outer[keep]
        value = self.number(node.body, inner)
        if node.function == "sum":
            return group_sum(value, outer, grid.size)
        if np.bincount(outer, minlength=grid.size).min(initial=1) == 0:
            raise evaluation_error("EB016", f"the {node.function} of nothing has no value", node)
        return UNKNOWN if value is UNKNOWN else self.group_extreme(node, value, outer, grid.size)

    def group_extreme(self, node: Reduce, value: Value, outer: Rows, size: int) -> Value:
        """Return the least or the greatest of the values that belong to each outer row."""
        start = np.inf if node.function == "min" else -np.inf
        result = np.full(size, start)
        extreme = np.minimum if node.function == "min" else np.maximum
        extreme.at(result, outer, np.broadcast_to(value, outer.shape))
        return self._finite(node, result)


# --- helpers -----------------------------------------------------------------------------------


def scatter(value: Value, rows: Rows, size: int) -> Value:
    """Return a value that stands on some rows and is zero on all others."""
    if hasattr(value, "scatter"):
        return value.scatter(rows, size)
    result = np.zeros(size)
    result[rows] = value
    return result


def group_sum(value: Value, outer: Rows, size: int) -> Value:
    """Return the sums of the values that belong to each outer row."""
    if hasattr(value, "group_sum"):
        return value.group_sum(outer, size)
    weights = np.broadcast_to(np.asarray(value, dtype=np.float64), outer.shape)
    return np.bincount(outer, weights=weights, minlength=size)


def unflatten(named: Named, flat: Ints) -> dict[str, Elements]:
    """Return the binders of a named expression for flat positions in its grid."""
    names: dict[str, Elements] = {}
    for binder, index_set in reversed(list(zip(named.binders, named.sets, strict=True))):
        positions = flat % max(index_set.size, 1)
        flat = flat // max(index_set.size, 1)
        names = bind_set(binder, index_set, positions) | names
    return names


def _unwrap(node: Node) -> tuple[Node, float, float]:
    if isinstance(node, grammar.Convert):
        return node.operand, node.factor, node.shift
    return node, 1.0, 0.0


def _axis_of(elements: Elements, node: Node) -> Any:
    axis = elements.set.root.axis
    if axis is None:
        raise evaluation_error("EB003", f"{elements.set.name} has no clock", node)
    return axis


def _dt(elements: Elements, node: Node) -> Array:
    if elements.set.root.kind == "instants":
        raise evaluation_error("EB003", "an instant has no length; use a period", node)
    axis, positions = _axis_of(elements, node), known_positions(elements, node)
    return np.asarray(axis.steps[positions] if axis.step is None else axis.step)


def _pos(elements: Elements, node: Node) -> Array:
    known_positions(elements, node)
    return np.asarray(elements.positions, dtype=np.float64)


def _probability(elements: Elements, node: Node) -> Array:
    values = elements.set.root.probabilities
    if values is None:
        text = f"{elements.set.name} has no probabilities"
        raise evaluation_error("EB014", text, node, 'give "probabilities", as "uniform"')
    return np.asarray(values[known_positions(elements, node)])


def _refuse_points(xs: Array, ys: Array, node: Call) -> None:
    """Refuse breakpoints that do not increase or that do not go with the values."""
    if xs.shape[-1] != ys.shape[-1]:
        text = f"there are {xs.shape[-1]} breakpoints and {ys.shape[-1]} values"
        raise evaluation_error("EB003", text, node, "both need the same points")
    if xs.shape[-1] < 2:
        raise evaluation_error("EB003", "a table needs at least two points", node)
    if not np.all(np.diff(xs, axis=-1) > 0):
        raise evaluation_error("EB016", "the breakpoints do not increase", node)
    if not np.all(np.isfinite(ys)):
        raise evaluation_error("EB016", "a value of the table is not a finite number", node)


def _clock(elements: Elements, node: Node) -> Array:
    axis = _axis_of(elements, node)
    if not axis.begun:
        text = f"it is not said when {elements.set.name} starts, so there is no time of day"
        raise evaluation_error("EB003", text, node, "give the time set a start, as '06:00'")
    return np.asarray(axis.clock[known_positions(elements, node)])


def _weekday(elements: Elements, node: Node) -> Array:
    axis = _axis_of(elements, node)
    if not axis.dated:
        text = f"{elements.set.name} has no date, so no days of the week"
        raise evaluation_error("EB003", text, node, "give the time set a start with a date")
    return np.asarray(axis.weekday[known_positions(elements, node)].astype(np.float64))


_OF_ELEMENTS: dict[str, Callable[[Elements, Node], Value]] = {
    "clock": _clock,
    "dt": _dt,
    "hour": lambda e, n: np.floor(_clock(e, n) + 1e-9),
    "pos": _pos,
    "prob": _probability,
    "weekday": _weekday,
}


_NUMBERS: dict[type[Node], Callable[[Evaluator, Any, Grid], Value]] = {
    Binary: Evaluator._binary,
    Call: Evaluator._call,
    grammar.Choice: Evaluator._choice,
    grammar.Convert: Evaluator._convert,
    Number: Evaluator._literal,
    Reduce: Evaluator._reduce,
    Ref: Evaluator._ref,
    grammar.Unary: Evaluator._unary,
}
