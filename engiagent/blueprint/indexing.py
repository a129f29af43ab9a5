"""Indices and conditions: where references point, and on which rows a filter holds.

:class:`Indexer` is the part of evaluation that depends on no decision variable. It asks its
subclass for numbers, since an offset or a filter may be an expression over parameters.
"""

import operator
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from engiagent.blueprint.comparing import holds
from engiagent.blueprint.grammar import (
    Binary,
    Call,
    Compare,
    ExpressionError,
    Logic,
    Members,
    Node,
    Number,
    Ref,
    Text,
    Unary,
)
from engiagent.blueprint.grid import Elements, Grid
from engiagent.blueprint.sets import IndexSet, Label, is_timed
from engiagent.blueprint.timeaxis import Ints

Array = npt.NDArray[Any]
Rows = npt.NDArray[np.intp]

HALF_A_MILLISECOND = 5e-4

Value = Any
"""A number for every row: an array of shape () or (rows,), or a subclass's own linear value."""


class Unknown:
    """The value of something that depends on variables, where only indices are checked.

    Whatever is made of it is unknown too.
    """

    __array_ufunc__ = None  # so that array + Unknown asks Unknown

    def _same(self, *_: object) -> "Unknown":
        return self

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = _same
    __truediv__ = __rtruediv__ = __neg__ = scatter = group_sum = _same


UNKNOWN = Unknown()


@dataclass(frozen=True, eq=False)
class Table:
    """The values of a parameter: shape is the sizes of its sets; labels are held as objects."""

    values: Array
    sets: tuple[IndexSet, ...]
    element_of: IndexSet | None = None


@dataclass(frozen=True, eq=False)
class Named:
    """A named expression: its checked body and the binders it is written with.

    ``exists`` says at which flat positions a filtered one exists, None for everywhere.
    """

    body: Node
    binders: tuple[tuple[str, ...], ...]
    sets: tuple[IndexSet, ...]
    exists: Callable[[], npt.NDArray[np.bool_]] | None = None


@dataclass(frozen=True, eq=False)
class Place:
    """Where a reference points: flat positions in the full grid of its sets.

    ``missing`` marks rows whose element does not exist; ``early`` rows that lie before the first
    period by the given number of steps (0 elsewhere).
    """

    flat: Ints
    missing: npt.NDArray[np.bool_] | None
    early: Ints | None


class Indexer(ABC):
    """Resolves index expressions and conditions over a grid."""

    def __init__(
        self,
        sets: Callable[[str], IndexSet],
        tables: Callable[[str], Table],
        named: Mapping[str, Named] | None = None,
    ) -> None:
        self.sets = sets
        self.tables = tables
        self.named = named or {}

    def is_variable(self, name: str) -> bool:
        """Whether a name is a decision variable."""
        return False

    @abstractmethod
    def number(self, node: Node, grid: Grid) -> Value:
        """Return the value of a numeric expression on every row of the grid."""

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
            if node.function == "at":
                return self._containing(node, grid)
            if node.function not in ("first", "last"):
                raise evaluation_error("EB003", f"{node.function} gives no element", node)
            index_set = self.sets(set_name(node))
            if not index_set.size:
                raise evaluation_error("EB003", f"{index_set.name} is empty", node)
            place = 0 if node.function == "first" else index_set.size - 1
            return Elements(index_set, np.array(place, dtype=np.int64))
        if isinstance(node, Ref):
            if node.name in grid.names:
                return grid.names[node.name]
            return self._element_parameter(node, grid)
        raise evaluation_error("EB003", "this is no index", node)

    def _label(self, node: Text | Number, target: IndexSet | None) -> Elements:
        if target is None:
            text = "it is not clear which set this element belongs to"
            raise evaluation_error("EB003", text, node)
        label: Label = node.value if isinstance(node, Text) else int(node.value)
        if label != node.value:
            raise evaluation_error("EB003", f"{node.value} is no element of a set", node)
        position = target.find(label)
        if position is None:
            shown = ", ".join(str(item) for item in target.labels[:6]) or "none"
            text = f"{label!r} is not an element of {target.name}"
            hint = f"it has {shown}{', …' if target.size > 6 else ''}"
            raise evaluation_error("EB003", text, node, hint)
        return Elements(target, np.array(position, dtype=np.int64))

    def _offset(self, node: Binary, grid: Grid, target: IndexSet | None) -> Elements:
        """Return the element some steps on, in the order of the set it was taken from.

        Positions may lie outside the set; whoever uses them decides what that means.
        """
        base = self.index(node.left, grid, target)
        steps = np.asarray(self.number(node.right, grid))
        if np.any(steps != np.round(steps)):
            raise evaluation_error("EB003", "an offset is a whole number", node)
        whole = steps.astype(np.int64) * (1 if node.op == "+" else -1)
        root = base.set.root
        moved = root_positions(base) + whole
        # The end of the last period is an edge of its own, also where the periods go round.
        to_edges = target is not None and target.root.periods_of is root
        return Elements(root, np.mod(moved, root.size) if root.cyclic and not to_edges else moved)

    def _containing(self, node: Call, grid: Grid) -> Elements:
        """Return the period of another time set in which the start of each period lies."""
        target = self.sets(set_name(node, 1))
        element = self.index(node.args[0], grid)
        edges, around = shared_edges(element.set, target, node)
        starts = edges[known_positions(element, node)]
        found = np.searchsorted(around, starts + HALF_A_MILLISECOND, side="right") - 1
        return Elements(target, target.from_root(found))

    def _element_parameter(self, node: Ref, grid: Grid) -> Elements:
        table = self.tables(node.name)
        if table.element_of is None:
            raise evaluation_error("EB003", f"{node.name} is a number, no element of a set", node)
        place = self.place(node, table.sets, grid)
        self.refuse_outside(node, place, grid)
        return Elements(table.element_of, table.values.reshape(-1)[place.flat])

    def place(self, ref: Ref, sets: tuple[IndexSet, ...], grid: Grid, history: int = 0) -> Place:
        """Return where a reference into the grid of ``sets`` points on every row.

        ``history`` is how many steps before the first period may be named.
        """
        flat: Ints | None = None
        missing: npt.NDArray[np.bool_] | None = None
        early: Ints | None = None
        for index_set, parts in zip(sets, _group(ref, sets), strict=True):
            positions = self._positions(parts, index_set, grid)
            if index_set.lacks(positions):
                if history and index_set.root is index_set and is_timed(index_set):
                    before = np.where((positions < 0) & (positions >= -history), -positions, 0)
                    early = before if before.any() else early
                    outside = (positions < 0) & (before == 0) | (positions >= index_set.size)
                else:
                    outside = (positions < 0) | (positions >= index_set.size)
                missing = outside if missing is None else missing | outside
                positions = np.clip(positions, 0, max(index_set.size - 1, 0))
            flat = positions if flat is None else flat * index_set.size + positions
        if flat is None:
            flat = np.zeros((), dtype=np.int64)
        shape = (grid.size,)
        return Place(
            flat if flat.shape == shape else np.broadcast_to(flat, shape),
            None if missing is None or not missing.any() else np.broadcast_to(missing, shape),
            None if early is None else np.broadcast_to(early, shape),
        )

    def _positions(self, parts: tuple[Node, ...], index_set: IndexSet, grid: Grid) -> Ints:
        """Return positions in one set; outside it they are negative or beyond its size."""
        if len(parts) > 1:
            pairs = zip(parts, index_set.root.factors, strict=True)
            own = [self._positions((part,), factor, grid) for part, factor in pairs]
            return index_set.tuple_positions(own)
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
            text = f"this is an element of {elements.set.name}, but {index_set.name} is needed"
            raise evaluation_error("EB003", text, node)
        if elements.set.size == 0:
            return elements.positions
        inside = (elements.positions >= 0) & (elements.positions < elements.set.size)
        clipped = np.clip(elements.positions, 0, elements.set.size - 1)
        return np.where(inside, mapping[clipped], -(10**9))

    def refuse_outside(self, ref: Ref, place: Place, grid: Grid) -> None:
        """Raise when a reference names an element that does not exist."""
        if place.missing is None:
            return
        where = grid.where(int(np.flatnonzero(place.missing)[0]))
        text = f"{ref.name} has no such element" + (f" at {where}" if where else "")
        hint = "leave the edge out by a condition, use prev(x[t], x0), or make the set cyclic"
        raise evaluation_error("EB004", text, ref, hint)

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
        if isinstance(node, Call):
            return self._within(node, grid)
        assert isinstance(node, Compare)
        if node.ops[0] in ("in", "not in"):
            inside = self._membership(node, grid)
            return inside if node.ops[0] == "in" else ~inside
        result = np.ones((), dtype=bool)
        for op, left, right in zip(node.ops, node.operands, node.operands[1:], strict=False):
            result = result & self._compare(op, left, right, grid, node.zero)
        return result

    def _within(self, node: Call, grid: Grid) -> Array:
        inner, outer = (self.index(part, grid) for part in node.args)
        edges, around = shared_edges(inner.set, outer.set, node)
        slack = HALF_A_MILLISECOND
        # Where ``at`` has found no period nothing lies inside.
        known = _exists(inner) & _exists(outer)
        first, last = (np.where(known, edge, 0) for edge in period_edges(inner))
        begin, end = (np.where(known, edge, 0) for edge in period_edges(outer))
        after = edges[first] >= around[begin] - slack
        return np.asarray(known & after & (edges[last] <= around[end] + slack))

    def _compare(self, op: str, left: Node, right: Node, grid: Grid, zero: float = 0.0) -> Array:
        if self._is_element(left, grid) or self._is_element(right, grid):
            a, b = self._elements(left, right, grid)
        elif self._is_label(left) or self._is_label(right):
            a, b = self._texts(left, grid), self._texts(right, grid)
        else:
            return holds(op, self.number(left, grid), self.number(right, grid), zero)
        try:
            return np.asarray(_COMPARE[op](a, b))
        except TypeError:
            raise evaluation_error("EB003", "a number and a label have no order", left) from None

    def _is_element(self, node: Node, grid: Grid) -> bool:
        if isinstance(node, Binary):
            return node.op in "+-" and self._is_element(node.left, grid)
        if isinstance(node, Call):
            return node.function in ("first", "last", "at")
        if not isinstance(node, Ref):
            return False
        if node.name in grid.names:
            return grid.names[node.name].set.numbers is None
        if node.name in self.named or self.is_variable(node.name):
            return False
        return self.tables(node.name).element_of is not None

    def _elements(self, left: Node, right: Node, grid: Grid) -> tuple[Array, Array]:
        """Return comparable positions of two elements, in the set that both were taken from."""
        if isinstance(left, Text | Number):
            second = self.index(right, grid)
            return self._label(left, second.set.root).positions, root_positions(second)
        first = self.index(left, grid)
        if isinstance(right, Text | Number):
            return root_positions(first), self._label(right, first.set.root).positions
        if self._is_label(left) or self._is_label(right):
            return self._texts(left, grid), self._texts(right, grid)
        second = self.index(right, grid)
        if first.set.root is second.set.root:
            return root_positions(first), root_positions(second)
        if "union" in (first.set.root.kind, second.set.root.kind):
            return _label_array(first), _label_array(second)
        if first.set.map_to(second.set) is not None:
            return self._located(first, second.set, left), second.positions
        if second.set.map_to(first.set) is not None:
            return first.positions, self._located(second, first.set, right)
        text = f"elements of {first.set.name} and {second.set.name} never meet"
        raise evaluation_error("EB003", text, left)

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
            parts = item.items if isinstance(item, Members) else (item,)
            positions = self._positions(parts, target, grid)
            return np.asarray((positions >= 0) & (positions < target.size))
        assert isinstance(group, Members)
        result = np.zeros((), dtype=bool)
        for member in group.items:
            result = result | self._compare("==", item, member, grid)
        return result


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


def _exists(elements: Elements) -> Array:
    return np.asarray((elements.positions >= 0) & (elements.positions < elements.set.size))


def _label_array(elements: Elements) -> Array:
    """Return labels; None, which is equal to none, for what lies outside the set."""
    labels = np.array([*elements.set.labels, None], dtype=object)
    return np.asarray(labels[np.where(_exists(elements), elements.positions, -1)])


def root_positions(elements: Elements) -> Ints:
    """Return positions in the set from which a subset was taken; outside they stay outside."""
    return elements.set.rooted(elements.positions)


def known_positions(elements: Elements, node: Node) -> Ints:
    """Return positions in the root set of elements of which something is asked."""
    positions = root_positions(elements)
    if elements.set.root.lacks(positions):
        text = f"this is no element of {elements.set.name} everywhere"
        raise evaluation_error("EB004", text, node, "leave the edge out by a condition")
    return positions


def period_edges(elements: Elements) -> tuple[Ints, Ints]:
    """Return the positions of the first and the last edge of periods; an instant is its own."""
    positions = root_positions(elements)
    return positions, positions + (elements.set.root.kind == "time")


def shared_edges(
    one: IndexSet, other: IndexSet, node: Node
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Return the edges of two time sets, which must count from the same moment."""
    first, second = one.root.axis, other.root.axis
    if first is None or second is None:
        name = one.name if first is None else other.name
        raise evaluation_error("EB003", f"{name} has no clock", node)
    if not first.counts_as(second):
        text = f"{one.name} and {other.name} cannot be aligned"
        hint = "give both a start with a date and a zone, or neither"
        raise evaluation_error("EB003", text, node, hint)
    return first.edges, second.edges


def set_name(node: Call, which: int = 0) -> str:
    """Return the set that ``first``, ``last``, ``len`` or ``at`` is asked about."""
    argument = node.args[which]
    assert isinstance(argument, Ref)
    return argument.name


def evaluation_error(
    code: str, message: str, node: Node, suggestion: str | None = None
) -> ExpressionError:
    """Return an error at the place of a node."""
    return ExpressionError(message, node.span[0] + 1, suggestion, code)


_COMPARE: dict[str, Callable[[Any, Any], Any]] = {
    "<=": operator.le,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    ">": operator.gt,
}
