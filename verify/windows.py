"""Sums with a condition such as ``within(q, d)``, without trying every pair of elements.

A day has 96 quarter hours; a year of days against a year of quarter hours is thirteen million
pairs. Parts of the condition that say where along its set an element may stand give a range of
positions for each outer row; only what lies in it is looked at, by the whole condition.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from engiagent.blueprint.comparing import room_of
from engiagent.blueprint.grammar import Binder, Call, Compare, Logic, Node, Ref, walk
from engiagent.blueprint.sets import IndexSet
from engiagent.verify.clocks import containing, inside_ranges
from engiagent.verify.frames import Elements, EvaluationError, Frame
from engiagent.verify.places import Places
from engiagent.verify.values import Floats, Ints, Value

MANY = 50_000  # pairs; below, trying them all is as fast
NumberOf = Callable[[Node, Frame], Value]
Range = tuple[Ints, Ints]


def window(
    binders: tuple[Binder, ...],
    where: Node | None,
    frame: Frame,
    index_set: IndexSet,
    places: Places,
    number: NumberOf,
) -> Range | None:
    """Return the range of positions that can pass for each outer row; None when there is none."""
    if where is None or len(binders) != 1 or len(binders[0].names) != 1:
        return None
    if index_set.root is not index_set or index_set.size * frame.size < MANY:
        return None
    low = np.zeros(frame.size, dtype=np.int64)
    high = np.full(frame.size, index_set.size, dtype=np.int64)
    sought, narrowed = _Sought(binders[0].names[0], index_set, frame, places, number), False
    for part in _parts(where):
        for first, stop in sought.ranges(part):
            low, high, narrowed = np.maximum(low, first), np.minimum(high, stop), True
    return (low, np.maximum(low, high)) if narrowed else None


def expand_window(
    frame: Frame, binder: Binder, index_set: IndexSet, span: Range
) -> tuple[Frame, Ints]:
    """Return the frame of all pairs inside the ranges, and the outer row of each."""
    low, high = span
    counts = high - low
    outer = np.repeat(np.arange(frame.size), counts)
    before = np.cumsum(counts) - counts
    inner = np.arange(outer.size) - before[outer] + low[outer]
    part = frame.take(outer)
    return Frame(part.size, {**part.names, binder.names[0]: Elements(index_set, inner)}), outer


def _parts(node: Node) -> Iterator[Node]:
    if isinstance(node, Logic) and node.op == "and":
        for part in node.operands:
            yield from _parts(part)
    else:
        yield node


@dataclass(frozen=True)
class _Sought:
    """An index name that runs over a set, inside outer rows."""

    name: str
    index_set: IndexSet
    frame: Frame
    places: Places
    number: NumberOf

    def _is(self, node: Node) -> bool:
        return isinstance(node, Ref) and node.name == self.name and not node.indices

    def _absent(self, node: Node) -> bool:
        return not any(isinstance(part, Ref) and part.name == self.name for part in walk(node))

    def ranges(self, node: Node) -> Iterator[Range]:
        """Yield ranges of positions outside of which a condition does not hold."""
        try:
            if isinstance(node, Call) and node.function == "within":
                if self._is(node.args[0]) and self._absent(node.args[1]):
                    outer = self.places.element(node.args[1], self.frame)
                    yield inside_ranges(self.index_set, outer)
            elif isinstance(node, Compare):
                sides = zip(node.ops, node.operands, node.operands[1:], strict=False)
                for op, left, right in sides:
                    for flipped, own, other in ((op, left, right), (_FLIPPED.get(op), right, left)):
                        if flipped is not None and isinstance(own, Call) and self._absent(other):
                            yield from self._beside(flipped, own, other)
        except EvaluationError:
            return  # whoever evaluates the condition itself says what is wrong

    def _beside(self, op: str, own: Call, other: Node) -> Iterator[Range]:
        if own.function == "pos" and self._is(own.args[0]) and op in _FLIPPED:
            limit = self.number(other, self.frame)
            if not limit.degree and limit.unit.is_dimensionless:
                yield _positions(op, limit.data, self.index_set.size)
        if own.function == "at" and self._is(own.args[0]) and op == "==":
            target = self.places.named_set(own, 1)
            every = Elements(self.index_set, np.arange(self.index_set.size))
            found = containing(every, target).positions
            wanted = self.places.positions(other, target, self.frame)
            if (np.diff(found) >= 0).all():
                low = np.searchsorted(found, wanted, side="left")
                yield low, np.searchsorted(found, wanted, side="right")


def _positions(op: str, limit: Floats, size: int) -> Range:
    """Return the range of whole numbers p in [0, size) with ``p op limit``."""
    limit = np.clip(np.nan_to_num(limit), -1.0, size + 1.0)
    room = room_of(limit, limit)
    down, up = (f.astype(np.int64) for f in (np.floor(limit + room), np.ceil(limit - room)))
    low, high = np.zeros_like(down), np.full_like(down, size)
    low = {">=": up, ">": down + 1, "==": up}.get(op, low)
    high = {"<=": down + 1, "<": up, "==": down + 1}.get(op, high)
    return np.clip(low, 0, size), np.clip(high, 0, size)


_FLIPPED = {"<=": ">=", "<": ">", ">=": "<=", ">": "<", "==": "=="}
