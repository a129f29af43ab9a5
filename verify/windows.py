"""Sums with a condition such as ``within(q, d)``, without trying every pair of elements.

A day has 96 quarter hours; a year of days against a year of quarter hours is thirteen million
pairs. Parts of the condition that say where along its set an element may stand give a range of
positions for each outer row; only what lies in it is looked at, by the whole condition.
"""

from collections.abc import Callable, Iterator

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
    name = binders[0].names[0]
    low = np.zeros(frame.size, dtype=np.int64)
    high = np.full(frame.size, index_set.size, dtype=np.int64)
    narrowed = False
    for part in _parts(where):
        for first, stop in _ranges(part, name, index_set, frame, places, number):
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


def _is(node: Node, name: str) -> bool:
    return isinstance(node, Ref) and node.name == name and not node.indices


def _without(node: Node, name: str) -> bool:
    return not any(isinstance(part, Ref) and part.name == name for part in walk(node))


def _ranges(
    node: Node, name: str, index_set: IndexSet, frame: Frame, places: Places, number: NumberOf
) -> Iterator[Range]:
    """Yield ranges of positions outside of which a condition does not hold."""
    try:
        if isinstance(node, Call) and node.function == "within":
            if _is(node.args[0], name) and _without(node.args[1], name):
                yield inside_ranges(index_set, places.element(node.args[1], frame))
        elif isinstance(node, Compare):
            for op, left, right in zip(node.ops, node.operands, node.operands[1:], strict=False):
                for flipped, own, other in ((op, left, right), (_FLIPPED.get(op), right, left)):
                    if flipped is not None and isinstance(own, Call) and _without(other, name):
                        yield from _beside(
                            flipped, own, other, name, index_set, frame, places, number
                        )
    except EvaluationError:
        return  # whoever evaluates the condition itself says what is wrong


def _beside(
    op: str,
    own: Call,
    other: Node,
    name: str,
    index_set: IndexSet,
    frame: Frame,
    places: Places,
    number: NumberOf,
) -> Iterator[Range]:
    if own.function == "pos" and _is(own.args[0], name) and op in _FLIPPED:
        limit = number(other, frame)
        if not limit.degree and limit.unit.is_dimensionless:
            yield _positions(op, limit.data, index_set.size)
    if own.function == "at" and _is(own.args[0], name) and op == "==":
        target = places.named_set(own, 1)
        found = containing(Elements(index_set, np.arange(index_set.size)), target).positions
        wanted = places.positions(other, target, frame)
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
