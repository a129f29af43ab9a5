"""Sums over a window: which elements a filter can leave, without trying every combination.

``sum(start[s] for s in T if pos(t) - 8 < pos(s) <= pos(t))`` over a year of hours would be
seventy-seven million combinations, of which eight in a thousand count. The parts of the filter
that say where an element may stand are read first, as a range of positions for every outer row;
the filter itself then looks at what is left.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from engiagent.blueprint.comparing import room_of
from engiagent.blueprint.grammar import Call, Compare, Logic, Node, Reduce, Ref, walk
from engiagent.blueprint.grid import Grid
from engiagent.blueprint.indexing import HALF_A_MILLISECOND, period_edges, shared_edges
from engiagent.blueprint.sets import IndexSet
from engiagent.blueprint.timeaxis import Ints

if TYPE_CHECKING:
    from engiagent.blueprint.evaluate import Evaluator

WORTH_WHILE = 100_000
"""From how many combinations on a window is looked for."""

Window = tuple[Ints, Ints]
"""For every outer row the first position and the one after the last, shape (rows,)."""


def window(evaluator: "Evaluator", node: Reduce, grid: Grid) -> Window | None:
    """Return the range of positions that a reduction's filter leaves for each outer row.

    None when the reduction is small, runs over several sets, or its filter names no range.
    """
    if len(node.binders) != 1 or len(node.binders[0].names) != 1 or node.where is None:
        return None
    name = node.binders[0].names[0]
    inner = evaluator.sets(node.binders[0].set)
    if inner.size * grid.size < WORTH_WHILE or not np.all(np.diff(inner.in_root) > 0):
        return None
    low = np.zeros(grid.size, dtype=np.int64)
    high = np.full(grid.size, inner.size, dtype=np.int64)
    found = False
    for part in _conjuncts(node.where):
        for first, after in _ranges(evaluator, part, name, inner, grid):
            low, high = np.maximum(low, first), np.minimum(high, after)
            found = True
    return (low, np.maximum(high, low)) if found else None


def _conjuncts(node: Node) -> Iterator[Node]:
    if isinstance(node, Logic) and node.op == "and":
        for part in node.operands:
            yield from _conjuncts(part)
    else:
        yield node


def _ranges(
    evaluator: "Evaluator", node: Node, name: str, inner: IndexSet, grid: Grid
) -> Iterator[Window]:
    """Yield ranges outside which a condition never holds."""
    if isinstance(node, Call) and node.function == "within":
        element, around = node.args
        if isinstance(element, Ref) and element.name == name and not _names(around, name):
            yield _inside(evaluator, node, inner, grid)
    if not isinstance(node, Compare):
        return
    for op, left, right in zip(node.ops, node.operands, node.operands[1:], strict=False):
        if _is_position(left, name) and not _names(right, name):
            yield from _beside(op, evaluator.number(right, grid), inner, grid)
        elif _is_position(right, name) and not _names(left, name):
            yield from _beside(_FLIPPED.get(op, op), evaluator.number(left, grid), inner, grid)


def _is_position(node: Node, name: str) -> bool:
    if not isinstance(node, Call) or node.function != "pos":
        return False
    argument = node.args[0]
    return isinstance(argument, Ref) and argument.name == name


def _names(node: Node, name: str) -> bool:
    return any(isinstance(part, Ref) and part.name == name for part in walk(node))


def _beside(
    op: str, bound: npt.NDArray[np.float64], inner: IndexSet, grid: Grid
) -> Iterator[Window]:
    """Yield the range of positions p for which ``p op bound`` holds."""
    limit = np.clip(np.broadcast_to(bound, (grid.size,)), -1.0, inner.size + 1.0)
    start, end = np.zeros(grid.size, np.int64), np.full(grid.size, inner.size, np.int64)
    room = room_of(limit, limit)
    below, above = (f.astype(np.int64) for f in (np.floor(limit + room), np.ceil(limit - room)))
    ranges = {
        "<=": (start, below + 1),
        "<": (start, above),
        ">=": (above, end),
        ">": (below + 1, end),
        "==": (above, below + 1),
    }
    if op in ranges:
        first, after = ranges[op]
        yield np.clip(first, 0, inner.size), np.clip(after, 0, inner.size)


def _inside(evaluator: "Evaluator", node: Call, inner: IndexSet, grid: Grid) -> Window:
    """Return the periods of a finer set that lie within each row's period of a coarser one."""
    around = evaluator.index(node.args[1], grid)
    root = inner.root
    edges, outer = shared_edges(root, around.set, node)
    begin, end = period_edges(around)
    slack = HALF_A_MILLISECOND
    first = np.searchsorted(edges, outer[begin] - slack, side="left")
    after = np.searchsorted(edges, outer[end] + slack, side="right")
    if root is not inner:
        first, after = np.searchsorted(inner.in_root, np.stack([first, after]))
    rows, limit = (grid.size,), inner.size
    return (
        np.clip(np.broadcast_to(first, rows), 0, limit),
        np.clip(np.broadcast_to(after, rows), 0, limit),
    )


_FLIPPED = {"<=": ">=", "<": ">", ">=": "<=", ">": "<"}
