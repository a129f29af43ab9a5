"""Evaluation of checked expressions over index grids with numpy.

:class:`Evaluator` knows indices, sets, parameters and arithmetic. What a decision variable is
worth is a question for subclasses: the compiler answers with sparse rows of coefficients, static
analysis with nothing but the check that the index exists. Both then share every rule on indices.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from engiagent.blueprint.grammar import (
    Binary,
    Call,
    Choice,
    Compare,
    Convert,
    ExpressionError,
    Logic,
    Members,
    Node,
    Number,
    Reduce,
    Ref,
    Text,
    Unary,
    walk,
)
from engiagent.blueprint.grid import EMPTY_GRID, Elements, Grid, bind_set
from engiagent.blueprint.sets import IndexSet, Label, is_timed
from engiagent.blueprint.timeaxis import Ints

Array = npt.NDArray[Any]
Rows = npt.NDArray[np.intp]

Value = Any
"""A number for every row: an array of shape () or (rows,), or a subclass's own linear value."""


@dataclass(frozen=True, eq=False)
class Table:
    """The values of a parameter: shape is the sizes of its sets; labels are held as objects."""

    values: Array
    sets: tuple[IndexSet, ...]
    element_of: IndexSet | None = None


@dataclass(frozen=True, eq=False)
class Named:
    """A named expression: its checked body and the binders it is written with.

    ``kept`` says at which flat positions a filtered one exists, None for everywhere.
    """

    body: Node
    binders: tuple[tuple[str, ...], ...]
    sets: tuple[IndexSet, ...]
    kept: Callable[[], npt.NDArray[np.bool_]] | None = None


@dataclass(frozen=True, eq=False)
class Place:
    """Where a reference points: flat positions in the full grid of its sets.

    ``missing`` marks rows whose element does not exist; ``early`` rows that lie before the first
    period by the given number of steps (0 elsewhere).
    """

    flat: Ints
    missing: npt.NDArray[np.bool_] | None
    early: Ints | None


class Evaluator:
    """Evaluates expressions whose values do not depend on decision variables."""

    def __init__(
        self,
        sets: Callable[[str], IndexSet],
        tables: Callable[[str], Table],
        named: Mapping[str, Named] | None = None,
    ) -> None:
        self.sets = sets
        self.tables = tables
        self.named = named or {}

    # -- what subclasses answer -----------------------------------------------------------------

    def is_variable(self, name: str) -> bool:
        """Whether a name is a decision variable."""
        return False

    def variable(self, ref: Ref, grid: Grid) -> Value:
        """Return the value of a decision variable on every row."""
        raise _error("EB011", f"{ref.name} is a variable; only parameters can stand here", ref)

    def product(self, left: Value, right: Value, node: Node) -> Value:
        """Multiply two values of which at most one depends on variables."""
        with np.errstate(all="ignore"):  # callers refuse what is not finite, in their own words
            return left * right

    def quotient(self, left: Value, right: Value, node: Node) -> Value:
        """Divide by a value that depends on no variable."""
        if np.any(right == 0.0):
            raise _error("EB016", "division by zero", node)
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
        place = self.place(node, table.sets, grid)
        self.refuse_outside(node, place, grid)
        return table.values.reshape(-1)[place.flat]

    def _index_number(self, node: Ref, elements: Elements) -> Value:
        numbers = elements.set.numbers
        if numbers is None:
            text = f"{node.name} is an element of {elements.set.name}, no number"
            raise _error("EB003", text, node)
        return numbers[elements.positions].astype(np.float64)

    def _inline(self, node: Ref, grid: Grid) -> Value:
        named = self.named[node.name]
        place = self.place(node, named.sets, grid)
        self.refuse_outside(node, place, grid)
        if named.kept is not None and not np.all(named.kept()[place.flat]):
            raise _error(
                "EB004", f"{node.name} does not exist at every element named here", node,
                "its 'where' leaves some out; filter here alike",
            )  # fmt: skip
        return self.number(named.body, grid.bind(unflatten(named, place.flat)))

    def _unary(self, node: Unary, grid: Grid) -> Value:
        return -self.number(node.operand, grid)

    def _convert(self, node: Convert, grid: Grid) -> Value:
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
        return self._finite(node, _plain_operator(node, left, right))

    def _call(self, node: Call, grid: Grid) -> Value:
        if node.function == "prev":
            return self._prev(node, grid)
        if node.function == "len":
            return np.float64(self.sets(_set_name(node)).size)
        if node.function in _OF_ELEMENTS:
            return _OF_ELEMENTS[node.function](self.index(node.args[0], grid), node)
        parts = [self.number(part, grid) for part in node.args]
        with np.errstate(all="ignore"):
            if node.function in ("min", "max"):
                extreme = np.minimum if node.function == "min" else np.maximum
                result = parts[0]
                for part in parts[1:]:
                    result = extreme(result, part)
                return result
            return self._finite(node, getattr(np, node.function)(parts[0]))

    def _finite(self, node: Node, value: Value) -> Value:
        if not np.all(np.isfinite(value)):
            raise _error("EB016", "the result is not a finite number", node)
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
        rows = np.broadcast_to(_root_positions(here), (grid.size,))
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
            except ExpressionError:
                continue
        return len(ref.indices) - 1

    def _choice(self, node: Choice, grid: Grid) -> Value:
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
        names = {part.name for part in walk(node) if isinstance(part, Ref)}
        return not any(
            name in grid.names or name in self.named or self.is_variable(name) for name in names
        )

    def _reduce_rows(self, node: Reduce, grid: Grid) -> Value:
        binders = [(b.names, self.sets(b.set)) for b in node.binders]
        try:
            inner, outer = grid.expand(binders)
        except MemoryError as error:
            raise _error("EB003", str(error), node) from None
        if node.where is not None:
            keep = np.flatnonzero(np.broadcast_to(self.condition(node.where, inner), (inner.size,)))
            inner, outer = inner.take(keep), outer[keep]
        value = self.number(node.body, inner)
        if node.function == "sum":
            return group_sum(value, outer, grid.size)
        return self._group_extreme(node, value, outer, grid.size)

    def _group_extreme(self, node: Reduce, value: Value, outer: Rows, size: int) -> Value:
        start = np.inf if node.function == "min" else -np.inf
        if np.bincount(outer, minlength=size).min(initial=1) == 0:
            raise _error("EB016", f"the {node.function} of nothing has no value", node)
        result = np.full(size, start)
        extreme = np.minimum if node.function == "min" else np.maximum
        extreme.at(result, outer, np.broadcast_to(value, outer.shape))
        return self._finite(node, result)

    # -- indices --------------------------------------------------------------------------------

    def index(self, node: Node, grid: Grid, target: IndexSet | None = None) -> Elements:
        """Return the elements that an index expression names.

        ``target`` is the set in which a bare label or number is to be found.
        """
        if isinstance(node, Text | Number):
            return self._label(node, target)
        if isinstance(node, Binary):
            return self._offset(node, grid, target)
        if isinstance(node, Call):
            if node.function not in ("first", "last"):
                raise _error("EB003", f"{node.function} gives no element", node)
            index_set = self.sets(_set_name(node))
            if not index_set.size:
                raise _error("EB003", f"{index_set.name} is empty", node)
            place = 0 if node.function == "first" else index_set.size - 1
            return Elements(index_set, np.array(place, dtype=np.int64))
        if isinstance(node, Ref):
            if node.name in grid.names:
                return grid.names[node.name]
            return self._element_parameter(node, grid)
        raise _error("EB003", "this is no index", node)

    def _label(self, node: Text | Number, target: IndexSet | None) -> Elements:
        if target is None:
            raise _error("EB003", "it is not clear which set this element belongs to", node)
        position = target.find(_label_of(node))
        if position is None:
            shown = ", ".join(str(item) for item in target.labels[:6])
            more = ", …" if target.size > 6 else ""
            text = f"{_label_of(node)!r} is not an element of {target.name}"
            raise _error("EB003", text, node, f"it has {shown or 'none'}{more}")
        return Elements(target, np.array(position, dtype=np.int64))

    def _offset(self, node: Binary, grid: Grid, target: IndexSet | None) -> Elements:
        """Return the element some steps on, in the order of the set it was taken from.

        Positions may lie outside the set; whoever uses them decides what that means.
        """
        base = self.index(node.left, grid, target)
        steps = np.asarray(self.number(node.right, grid))
        if np.any(steps != np.round(steps)):
            raise _error("EB003", "an offset is a whole number", node)
        whole = steps.astype(np.int64) * (1 if node.op == "+" else -1)
        root = base.set.root
        positions = base.set.in_root[base.positions] if base.set is not root else base.positions
        moved = positions + whole
        # The end of the last period is an edge of its own, also where the periods go round.
        to_edges = target is not None and target.root.periods_of is root
        return Elements(root, np.mod(moved, root.size) if root.cyclic and not to_edges else moved)

    def _element_parameter(self, node: Ref, grid: Grid) -> Elements:
        table = self.tables(node.name)
        if table.element_of is None:
            raise _error("EB003", f"{node.name} is a number, no element of a set", node)
        place = self.place(node, table.sets, grid)
        self.refuse_outside(node, place, grid)
        return Elements(table.element_of, table.values.reshape(-1)[place.flat])

    def place(self, ref: Ref, sets: tuple[IndexSet, ...], grid: Grid, history: int = 0) -> Place:
        """Return where a reference into the grid of ``sets`` points on every row.

        ``history`` is how many steps before the first period may be named.
        """
        flat: Ints = np.zeros((), dtype=np.int64)
        missing: npt.NDArray[np.bool_] | None = None
        early: Ints | None = None
        for index_set, parts in zip(sets, _group(ref, sets), strict=True):
            positions = self._positions(parts, index_set, grid)
            if np.any((positions < 0) | (positions >= index_set.size)):
                if history and index_set.root is index_set and is_timed(index_set):
                    before = np.where((positions < 0) & (positions >= -history), -positions, 0)
                    early = before if before.any() else early
                    outside = (positions < 0) & (before == 0) | (positions >= index_set.size)
                else:
                    outside = (positions < 0) | (positions >= index_set.size)
                missing = outside if missing is None else missing | outside
                positions = np.clip(positions, 0, max(index_set.size - 1, 0))
            flat = flat * index_set.size + positions
        shape = (grid.size,)
        return Place(
            np.broadcast_to(flat, shape),
            None if missing is None or not missing.any() else np.broadcast_to(missing, shape),
            None if early is None else np.broadcast_to(early, shape),
        )

    def _positions(self, parts: tuple[Node, ...], index_set: IndexSet, grid: Grid) -> Ints:
        """Return positions in one set; outside it they are negative or beyond its size."""
        if len(parts) > 1:
            return self._tuple_positions(parts, index_set, grid)
        return self._located(self.index(parts[0], grid, index_set), index_set, parts[0])

    def _located(self, elements: Elements, index_set: IndexSet, node: Node) -> Ints:
        """Return the positions of elements in a set that may be another one than theirs."""
        if index_set.root.periods_of is elements.set:
            # A period stands for its start; an offset may name the edge after the last period.
            elements = Elements(index_set.root, elements.positions)
        if elements.set is index_set:
            return elements.positions
        mapping = elements.set.map_to(index_set)
        if mapping is None:
            raise _error(
                "EB003",
                f"this is an element of {elements.set.name}, but {index_set.name} is needed",
                node,
            )
        if elements.set.size == 0:
            return elements.positions
        inside = (elements.positions >= 0) & (elements.positions < elements.set.size)
        clipped = np.clip(elements.positions, 0, elements.set.size - 1)
        return np.where(inside, mapping[clipped], -(10**9))

    def _tuple_positions(self, parts: tuple[Node, ...], index_set: IndexSet, grid: Grid) -> Ints:
        root = index_set.root
        codes: Ints = np.zeros((), dtype=np.int64)
        wanted: Ints = np.zeros(root.size, dtype=np.int64)
        bad: Array = np.zeros((), dtype=bool)
        for part, factor, column in zip(parts, root.factors, root.columns, strict=True):
            positions = self._positions((part,), factor, grid)
            bad = bad | (positions < 0) | (positions >= factor.size)
            codes = codes * factor.size + np.clip(positions, 0, factor.size - 1)
            wanted = wanted * factor.size + column
        order = np.argsort(wanted, kind="stable")
        at = np.searchsorted(wanted[order], codes)
        at = np.minimum(at, max(root.size - 1, 0))
        found = (wanted[order][at] == codes) & ~bad if root.size else np.zeros_like(bad)
        in_root = np.where(found, order[at], -1) if root.size else np.full_like(codes, -1)
        if index_set is root:
            return in_root
        mapping = root.map_to(index_set)
        assert mapping is not None
        return np.where(in_root >= 0, mapping[np.maximum(in_root, 0)], -1)

    def refuse_outside(self, ref: Ref, place: Place, grid: Grid) -> None:
        """Raise when a reference names an element that does not exist."""
        if place.missing is None:
            return
        row = int(np.flatnonzero(place.missing)[0])
        where = ", ".join(
            f"{name} = {part.set.labels[int(np.broadcast_to(part.positions, (grid.size,))[row])]}"
            for name, part in grid.names.items()
        )
        raise _error(
            "EB004",
            f"{ref.name} has no such element" + (f" at {where}" if where else ""),
            ref,
            "leave the edge out by a condition, use prev(x[t], x0), or make the set cyclic",
        )

    # -- conditions -----------------------------------------------------------------------------

    def condition(self, node: Node, grid: Grid) -> Array:
        """Return whether a condition holds on every row."""
        if isinstance(node, Logic):
            parts = [self.condition(part, grid) for part in node.operands]
            result = parts[0]
            for part in parts[1:]:
                result = result & part if node.op == "and" else result | part
            return result
        if isinstance(node, Unary):
            return ~self.condition(node.operand, grid)
        assert isinstance(node, Compare)
        if node.ops[0] in ("in", "not in"):
            inside = self._membership(node, grid)
            return inside if node.ops[0] == "in" else ~inside
        result = np.ones((), dtype=bool)
        for op, left, right in zip(node.ops, node.operands, node.operands[1:], strict=False):
            result = result & self._compare(op, left, right, grid)
        return result

    def _compare(self, op: str, left: Node, right: Node, grid: Grid) -> Array:
        if self._is_element(left, grid) or self._is_element(right, grid):
            a, b = self._elements(left, right, grid)
        elif self._is_label(left) or self._is_label(right):
            a, b = self._texts(left, grid), self._texts(right, grid)
        else:
            a, b = self.number(left, grid), self.number(right, grid)
        return np.asarray(_COMPARE[op](a, b))

    def _is_element(self, node: Node, grid: Grid) -> bool:
        if isinstance(node, Binary):
            return (
                node.op in "+-"
                and self._is_element(node.left, grid)
                and not self._is_numeric(node.left, grid)
            )
        if isinstance(node, Call):
            return node.function in ("first", "last")
        if not isinstance(node, Ref):
            return False
        if node.name in grid.names:
            return grid.names[node.name].set.numbers is None
        if node.name in self.named or self.is_variable(node.name):
            return False
        return self.tables(node.name).element_of is not None

    def _is_numeric(self, node: Node, grid: Grid) -> bool:
        return (
            isinstance(node, Ref)
            and node.name in grid.names
            and (grid.names[node.name].set.numbers is not None)
        )

    def _elements(self, left: Node, right: Node, grid: Grid) -> tuple[Array, Array]:
        """Return comparable positions of two elements, in the set that both were taken from."""
        if isinstance(left, Text | Number):
            second = self.index(right, grid)
            return self._label(left, second.set.root).positions, _root_positions(second)
        first = self.index(left, grid)
        if isinstance(right, Text | Number):
            return _root_positions(first), self._label(right, first.set.root).positions
        if self._is_label(left) or self._is_label(right):
            return self._texts(left, grid), self._texts(right, grid)
        second = self.index(right, grid)
        if first.set.root is second.set.root:
            return _root_positions(first), _root_positions(second)
        if "union" in (first.set.root.kind, second.set.root.kind):
            return _label_array(first), _label_array(second)
        if first.set.map_to(second.set) is not None:
            return self._located(first, second.set, left), second.positions
        if second.set.map_to(first.set) is not None:
            return first.positions, self._located(second, first.set, right)
        text = f"elements of {first.set.name} and {second.set.name} never meet"
        raise _error("EB003", text, left)

    def _is_label(self, node: Node) -> bool:
        if isinstance(node, Text):
            return True
        if not isinstance(node, Ref) or node.name in self.named or self.is_variable(node.name):
            return False
        try:
            return self.tables(node.name).values.dtype == object
        except KeyError:
            return False

    def _texts(self, node: Node, grid: Grid) -> Array:
        """Return labels as objects: a text, the values of a label parameter, or elements."""
        if isinstance(node, Text):
            return np.array(node.value, dtype=object)
        if self._is_element(node, grid):
            return _label_array(self.index(node, grid))
        return np.asarray(self.number(node, grid))

    def _membership(self, node: Compare, grid: Grid) -> Array:
        item, group = node.operands
        if isinstance(group, Ref):
            target = self.sets(group.name)
            positions = self._positions((item,), target, grid)
            return np.asarray((positions >= 0) & (positions < target.size))
        assert isinstance(group, Members)
        result = np.zeros((), dtype=bool)
        for member in group.items:
            result = result | self._compare("==", item, member, grid)
        return result


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


def _group(ref: Ref, sets: tuple[IndexSet, ...]) -> list[tuple[Node, ...]]:
    """Give each set of a symbol its indices: one, or one for every part of a tuple set."""
    if len(ref.indices) == len(sets):
        return [(part,) for part in ref.indices]
    groups, rest = [], ref.indices
    for index_set in sets:
        count = len(index_set.root.factors) or 1
        groups.append(rest[:count])
        rest = rest[count:]
    return groups


def _label_of(node: Text | Number) -> Label:
    if isinstance(node, Text):
        return node.value
    if node.value != int(node.value):
        raise _error("EB003", f"{node.value:g} is no element of a set", node)
    return int(node.value)


def _label_array(elements: Elements) -> Array:
    return np.asarray(np.array(elements.set.labels, dtype=object)[elements.positions])


def _root_positions(elements: Elements) -> Ints:
    if elements.set.root is elements.set:
        return elements.positions
    return elements.set.in_root[elements.positions]


def _unwrap(node: Node) -> tuple[Node, float, float]:
    if isinstance(node, Convert):
        return node.operand, node.factor, node.shift
    return node, 1.0, 0.0


def _set_name(node: Call) -> str:
    argument = node.args[0]
    assert isinstance(argument, Ref)
    return argument.name


def _error(code: str, message: str, node: Node, suggestion: str | None = None) -> ExpressionError:
    return ExpressionError(message, node.span[0] + 1, suggestion, code)


def _plain_operator(node: Binary, left: Array, right: Array) -> Array:
    with np.errstate(all="ignore"):
        if node.op == "**":
            return np.power(np.asarray(left, dtype=np.float64), right)
        if node.op == "%":
            return np.mod(left, right)
        return np.floor_divide(left, right)


def _axis_of(elements: Elements, node: Node) -> Any:
    axis = elements.set.root.axis
    if axis is None:
        raise _error("EB003", f"{elements.set.name} has no clock", node)
    return axis


def _dt(elements: Elements, node: Node) -> Array:
    if elements.set.root.kind == "instants":
        raise _error("EB003", "an instant has no length; use a period", node)
    return np.asarray(_axis_of(elements, node).steps[_root_positions(elements)])


def _weekday(elements: Elements, node: Node) -> Array:
    axis = _axis_of(elements, node)
    if not axis.dated:
        text = f"{elements.set.name} has no date, so no days of the week"
        raise _error("EB003", text, node, "give the time set a start with a date")
    return np.asarray(axis.weekday[_root_positions(elements)].astype(np.float64))


_OF_ELEMENTS: dict[str, Callable[[Elements, Node], Value]] = {
    "clock": lambda e, n: _axis_of(e, n).clock[_root_positions(e)],
    "dt": _dt,
    "hour": lambda e, n: np.floor(_axis_of(e, n).clock[_root_positions(e)] + 1e-9),
    "pos": lambda e, n: np.asarray(e.positions, dtype=np.float64),
    "weekday": _weekday,
}

_COMPARE: dict[str, Callable[[Any, Any], Any]] = {
    "<=": lambda a, b: a <= b,
    ">=": lambda a, b: a >= b,
    "==": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
    "<": lambda a, b: a < b,
    ">": lambda a, b: a > b,
}

_NUMBERS: dict[type[Node], Callable[[Evaluator, Any, Grid], Value]] = {
    Binary: Evaluator._binary,
    Call: Evaluator._call,
    Choice: Evaluator._choice,
    Convert: Evaluator._convert,
    Number: Evaluator._literal,
    Reduce: Evaluator._reduce,
    Ref: Evaluator._ref,
    Unary: Evaluator._unary,
}
