"""Where an indexed name points: offsets, instants and periods, labels, subsets, tuple sets."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from engiagent.blueprint.comparing import room_of
from engiagent.blueprint.grammar import (
    Binary,
    Binder,
    Call,
    Compare,
    Logic,
    Node,
    Number,
    Ref,
    Text,
    walk,
)
from engiagent.blueprint.sets import IndexSet, Label, is_timed
from engiagent.verify import values
from engiagent.verify.frames import (
    Bools,
    Elements,
    Environment,
    EvaluationError,
    Frame,
    Symbol,
    containing,
    inside_ranges,
)
from engiagent.verify.values import Floats, Ints, Value

OUTSIDE = -(10**9)
NumberOf = Callable[[Node, Frame], Value]


class Places:
    """Resolves what stands between index brackets."""

    def __init__(self, environment: Environment, number: NumberOf) -> None:
        self._environment = environment
        self._number = number

    def element(self, node: Node, frame: Frame, target: IndexSet | None = None) -> Elements:
        """Return the elements that an index expression names, one per row."""
        if isinstance(node, Text | Number):
            return Elements(*self._label(node, frame, target))
        if isinstance(node, Binary) and node.op in "+-":
            return self._offset(node, frame, target)
        if isinstance(node, Call) and node.function == "at":
            return containing(self.element(node.args[0], frame), self.named_set(node, 1))
        if isinstance(node, Call) and node.function in ("first", "last"):
            index_set = self.named_set(node)
            if index_set.size == 0:
                raise EvaluationError(f"{index_set.name} is empty, it has no {node.function}")
            place = 0 if node.function == "first" else index_set.size - 1
            return Elements(index_set, np.full(frame.size, place, dtype=np.int64))
        if isinstance(node, Ref) and node.name in frame.names and not node.indices:
            return frame.names[node.name]
        if isinstance(node, Ref):
            symbol = self._environment.symbol(node.name)
            if symbol.elements is not None:
                flat = self.flat(node, symbol, frame)
                return Elements(symbol.elements[0], symbol.elements[1][flat])
        raise EvaluationError(f"column {node.span[0] + 1}: this is no element of a set")

    def is_element(self, node: Node, frame: Frame) -> bool:
        """Whether a node names elements of a set and not numbers."""
        if isinstance(node, Binary):
            return node.op in "+-" and self.is_element(node.left, frame)
        if isinstance(node, Call):
            return node.function in ("first", "last", "at")
        if not isinstance(node, Ref):
            return False
        if node.name in frame.names:
            return frame.names[node.name].set.numbers is None
        return self._environment.symbol(node.name).elements is not None

    def named_set(self, node: Call, which: int = 0) -> IndexSet:
        """Return the set that ``first``, ``last``, ``len`` or ``at`` is asked about."""
        argument = node.args[which]
        if not isinstance(argument, Ref) or argument.indices:
            raise EvaluationError(f"{node.function} needs the name of a set")
        return self._environment.set(argument.name)

    def _label(
        self, node: Text | Number, frame: Frame, target: IndexSet | None
    ) -> tuple[IndexSet, Ints]:
        if target is None:
            raise EvaluationError(f"column {node.span[0] + 1}: an element of which set?")
        label: Label = node.value if isinstance(node, Text) else int(node.value)
        place = target.find(label)
        if place is None:
            shown = ", ".join(map(str, target.labels[:4]))
            raise EvaluationError(f"{label!r} is not in {target.name}; it has {shown}, …")
        return target, np.full(frame.size, place, dtype=np.int64)

    def _offset(self, node: Binary, frame: Frame, target: IndexSet | None) -> Elements:
        """Move along the set that the element belongs to from the beginning, not its subset."""
        base = self.element(node.left, frame, target)
        steps = self._number(node.right, frame)
        if steps.degree or not steps.unit.is_dimensionless:
            raise EvaluationError("an offset is a whole number without a unit")
        whole = np.rint(values.thin(steps.data))
        if not (whole == values.thin(steps.data)).all():
            raise EvaluationError("an offset is a whole number")
        root = base.set.root
        moved = base.set.rooted(base.positions) + whole.astype(np.int64) * (
            1 if node.op == "+" else -1
        )
        # A period's end is an edge of its own, also where the periods go round.
        to_edges = target is not None and target.root.periods_of is root
        if root.cyclic and not to_edges:
            return Elements(root, np.mod(moved, root.size))
        start = None
        if base.start is not None and base.set is root and steps.data.strides == (0,):
            start = base.start + (1 if node.op == "+" else -1) * int(whole[0])
        return Elements(root, moved, start)

    def positions(self, node: Node, index_set: IndexSet, frame: Frame) -> Ints:
        """Return positions in ``index_set``; negative or beyond its size when outside."""
        return located(self.element(node, frame, index_set), index_set)

    def in_tuples(self, parts: tuple[Node, ...], index_set: IndexSet, frame: Frame) -> Ints:
        """Return positions of combinations in a tuple set, negative when it has them not."""
        root = index_set.root
        shape = [max(factor.size, 1) for factor in root.factors]
        code, bad = np.zeros(frame.size, dtype=np.int64), np.zeros(frame.size, dtype=bool)
        for part, factor in zip(parts, root.factors, strict=True):
            here = self.positions(part, factor, frame)
            bad |= (here < 0) | (here >= factor.size)
            code = code * max(factor.size, 1) + np.clip(here, 0, max(factor.size - 1, 0))
        if root.size == 0:
            return np.full(frame.size, OUTSIDE)
        known = np.ravel_multi_index(root.columns, shape)
        order = np.argsort(known, kind="stable")
        at = np.minimum(np.searchsorted(known, code, sorter=order), root.size - 1)
        in_root = np.where((known[order[at]] == code) & ~bad, order[at], OUTSIDE)
        if index_set is root:
            return in_root
        mapping = root.map_to(index_set)
        assert mapping is not None
        return np.where(in_root >= 0, mapping[np.maximum(in_root, 0)], OUTSIDE)

    def span(self, ref: Ref, symbol: Symbol, frame: Frame) -> slice | None:
        """Return the stretch of its symbol that a reference runs over in order, None if it jumps.

        A reference such as ``x[t]`` or ``soc[t+1]`` of a series then needs no positions.
        """
        if len(symbol.dims) != 1 or len(ref.indices) != 1 or symbol.defined is not None:
            return None
        dim = symbol.dims[0]
        found = self.element(ref.indices[0], frame, dim)
        same = found.set is dim or (dim.root is dim and dim.periods_of is found.set)
        if found.start is None or not same or found.start < 0 or dim.size == 0:
            return None
        stop = found.start + frame.size
        return slice(found.start, stop) if stop <= dim.size else None

    def flat(self, ref: Ref, symbol: Symbol, frame: Frame) -> Ints:
        """Return where a reference points in the flattened grid of its symbol."""
        return self.flat_and_early(ref, symbol, frame, 0)[0]

    def flat_and_early(
        self, ref: Ref, symbol: Symbol, frame: Frame, history: int
    ) -> tuple[Ints, Ints]:
        """Return positions, and how many steps before the first each row lies (0: not before).

        ``history`` is how many steps before the first may be named.
        """
        flat = np.zeros(frame.size, dtype=np.int64)
        early = np.zeros(frame.size, dtype=np.int64)
        for dim, parts in zip(symbol.dims, _grouped(ref, symbol), strict=True):
            if len(parts) > 1:
                here = self.in_tuples(parts, dim, frame)
            else:
                here = self.positions(parts[0], dim, frame)
            before = (here < 0) & (here >= -history) & is_timed(dim) & (dim.root is dim)
            outside = ((here < 0) & ~before) | (here >= dim.size)
            if outside.any():
                self._refuse(ref, outside, frame)
            early = np.where(before, -here, early)
            flat = flat * dim.size + np.maximum(here, 0)
        if symbol.defined is not None:
            absent = ~symbol.defined[flat] & (early == 0)
            if absent.any():
                self._refuse(ref, absent, frame)
        return flat, early

    def _refuse(self, ref: Ref, rows: Bools, frame: Frame) -> None:
        row = int(np.flatnonzero(rows)[0])
        where = ", ".join(f"{name} = {label}" for name, label in frame.labels(row).items())
        raise EvaluationError(
            f"column {ref.span[0] + 1}: {ref.name} has no such element"
            + (f" at {where}" if where else "")
        )


def located(found: Elements, index_set: IndexSet) -> Ints:
    """Return positions of elements in a set that may be another one than theirs."""
    if found.set is index_set:
        return found.positions
    mapping = found.set.map_to(index_set)
    if mapping is None:
        raise EvaluationError(
            f"an element of {found.set.name} stands where {index_set.name} is needed"
        )
    if found.set.size == 0:
        return found.positions
    inside = (found.positions >= 0) & (found.positions < found.set.size)
    mapped = mapping[np.clip(found.positions, 0, found.set.size - 1)]
    # From a period one may step to the edge after the last period.
    edge = index_set.kind == "instants" and found.set.root.kind in ("time", "periods")
    return np.where(inside, mapped, found.positions if edge else OUTSIDE)


def _grouped(ref: Ref, symbol: Symbol) -> list[tuple[Node, ...]]:
    """Return the index nodes of each dimension; a tuple set may take several."""
    widths = [len(dim.root.factors) or 1 for dim in symbol.dims]
    if len(ref.indices) == len(symbol.dims):
        widths = [1] * len(symbol.dims)
    elif len(ref.indices) != sum(widths):
        shape = ", ".join(dim.name for dim in symbol.dims) or "nothing"
        raise EvaluationError(
            f"column {ref.span[0] + 1}: {ref.name} is indexed by {shape}, "
            f"here are {len(ref.indices)} indices"
        )
    groups, at = [], 0
    for width in widths:
        groups.append(ref.indices[at : at + width])
        at += width
    return groups


# --- sums with a condition such as ``within(q, d)``, without trying every pair of elements ------


MANY = 50_000  # pairs; below, trying them all is as fast
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
