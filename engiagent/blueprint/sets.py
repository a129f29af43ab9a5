"""Index sets: labels and positions, and how the elements of one set lie in another."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import numpy.typing as npt

from engiagent.blueprint.timeaxis import Ints, TimeAxis

Label = str | int | tuple[str | int, ...]

_OFFSET = re.compile(r"[+-]\d\d:\d\d$")
_DATE = re.compile(r"^\d{4}-\d\d-\d\d[T ]|\+\d+d$")
ORDERED_IN_TIME = ("time", "instants", "periods", "range")


@dataclass(frozen=True, eq=False)
class IndexSet:
    """An ordered set of labels."""

    # name, kind: as declared
    name: str
    kind: str
    size: int  # how many elements it has
    cyclic: bool = False  # whether an offset beyond its end comes back at its start
    given_labels: tuple[Label, ...] | None = None
    # parent, positions: for a subset: the set that it was taken from and where its elements stand
    # there
    parent: "IndexSet | None" = None
    positions: Ints | None = None
    # factors, columns: for a tuple set: the sets of its parts and, for each part, the positions in
    # that set
    factors: tuple["IndexSet", ...] = ()
    columns: tuple[Ints, ...] = ()
    axis: TimeAxis | None = None  # for a time set, its instants, and periods that have a step
    periods_of: "IndexSet | None" = None  # for instants: the time set whose edges they are
    # for a scenario set: the probability of each element, None where none are given
    probabilities: npt.NDArray[np.float64] | None = None
    _maps: dict[int, Ints | None] = field(default_factory=dict, repr=False)

    @cached_property
    def labels(self) -> tuple[Label, ...]:
        """The elements, in order."""
        if self.given_labels is not None:
            return self.given_labels
        if self.parent is not None and self.positions is not None:
            source = self.parent.labels
            return tuple(source[p] for p in self.positions)
        if self.axis is not None and self.kind in ("time", "instants"):
            return self.axis.labels[: self.size]
        return tuple(range(self.size))

    @cached_property
    def position_of(self) -> Mapping[Label, int]:
        """The position of every label."""
        return {label: position for position, label in enumerate(self.labels)}

    def find(self, label: Label) -> int | None:
        """Return the position of a label, None when there is none of that name.

        A time may be written without its offset from UTC, or as a time of day alone, when that
        names one element only.
        """
        position = self.position_of.get(label)
        if position is None and isinstance(label, str) and self.root.kind in ("time", "instants"):
            return self._in_short.get(label)
        return position

    @cached_property
    def _in_short(self) -> Mapping[str, int]:
        """Positions by wall-clock time and by time of day, without what a clock shows twice."""
        texts = [_OFFSET.sub("", str(label)) for label in self.labels]
        found: dict[str, int] = {}
        for short in (texts, [_DATE.sub("", text) for text in texts]):
            counts = Counter(short)
            found |= {text: k for k, text in enumerate(short) if counts[text] == 1}
        return found

    @property
    def root(self) -> "IndexSet":
        """The set from which a subset, or a subset of a subset, was taken."""
        return self if self.parent is None else self.parent.root

    @cached_property
    def everything(self) -> Ints:
        """The positions of all elements: one array for all who ask, known by its identity."""
        positions = np.arange(self.size, dtype=np.int64)
        positions.flags.writeable = False
        return positions

    def lacks(self, positions: Ints) -> bool:
        """Whether some positions lie outside the set."""
        if positions is self.everything or not positions.size:
            return False
        return bool(positions.min() < 0 or positions.max() >= self.size)

    @cached_property
    def in_root(self) -> Ints:
        """Positions of the elements in :attr:`root`."""
        if self.parent is None or self.positions is None:
            return self.everything
        return self.parent.in_root[self.positions]

    def rooted(self, positions: Ints) -> Ints:
        """Return the positions in :attr:`root` of positions here; what lies outside stays so."""
        if self.parent is None:
            return positions
        inside = (positions >= 0) & (positions < self.size)
        if np.all(inside):
            return np.asarray(self.in_root[positions])
        beyond = np.where(positions < 0, -1, self.root.size)
        if self.size == 0:
            return beyond
        return np.where(inside, self.in_root[np.clip(positions, 0, self.size - 1)], beyond)

    def from_root(self, positions: Ints) -> Ints:
        """Return positions here of positions in :attr:`root`, -1 for what is not in this set."""
        if self.parent is None:
            return positions
        inside = (positions >= 0) & (positions < self.root.size)
        if not self.root.size:
            return np.full_like(positions, -1)
        mapping = self.root.map_to(self)
        assert mapping is not None
        return np.where(inside, mapping[np.clip(positions, 0, self.root.size - 1)], -1)

    def tuple_positions(self, parts: Sequence[Ints]) -> Ints:
        """Return positions in a tuple set from positions in the sets of its parts, -1 for none."""
        root = self.root
        codes: Ints = np.zeros((), dtype=np.int64)
        wanted: Ints = np.zeros(root.size, dtype=np.int64)
        bad: npt.NDArray[np.bool_] = np.zeros((), dtype=np.bool_)
        for part, factor, column in zip(parts, root.factors, root.columns, strict=True):
            bad = bad | (part < 0) | (part >= factor.size)
            codes = codes * factor.size + np.clip(part, 0, factor.size - 1)
            wanted = wanted * factor.size + column
        if not root.size:
            return np.full_like(codes, -1)
        order = np.argsort(wanted, kind="stable")
        at = np.minimum(np.searchsorted(wanted[order], codes), root.size - 1)
        found = (wanted[order][at] == codes) & ~bad
        return self.from_root(np.where(found, order[at], -1))

    @cached_property
    def numbers(self) -> Ints | None:
        """The labels as integers, where they are integers."""
        if self.root.kind not in ("range", "periods"):
            return None
        return np.array(self.labels, dtype=np.int64)

    def map_to(self, other: "IndexSet") -> Ints | None:
        """Return, for each element, its position in ``other``, -1 where it is not there.

        None when the two sets have nothing to do with one another.
        """
        key = id(other)
        if key not in self._maps:
            self._maps[key] = self._find_map(other)
        return self._maps[key]

    def _find_map(self, other: "IndexSet") -> Ints | None:
        if other is self:
            return self.everything
        periods = other.root.periods_of  # a period stands for its start
        if self.root in (other.root, None if periods is None else periods.root):
            inverse = np.full(other.root.size, -1, dtype=np.int64)
            inverse[other.in_root] = np.arange(other.size)
            return inverse[self.in_root]
        if "union" in (self.root.kind, other.root.kind):
            lookup = other.position_of
            return np.array([lookup.get(label, -1) for label in self.labels], dtype=np.int64)
        return None


def is_timed(index_set: IndexSet) -> bool:
    """Whether offsets along the set mean earlier and later."""
    return index_set.root.kind in ORDERED_IN_TIME
