"""Where the labels and time stamps of a data file stand in an index set."""

import re
from collections.abc import Sequence
from typing import Final

import numpy as np

from engiagent.blueprint.sets import IndexSet
from engiagent.blueprint.stamps import stamp_seconds
from engiagent.blueprint.timeaxis import Floats, Ints, TimeAxis

_CLOCK: Final = re.compile(r"(\d{1,2}):(\d{2})(?::00(?:\.0+)?)?(\+\d+d)?")
_NOT_THERE: Final = -1


def positions_in(texts: Sequence[str], index_set: IndexSet) -> Ints:
    """Return the position of every label in a set, -1 where the set has no such element.

    A set with dates is matched by moments: stamps with an offset by the instant, others by the
    wall clock of the set's zone. All stamps may also name the ends of the periods.

    Raises
    ------
    ValueError
        When the stamps cannot be told apart, as in the hour that a clock shows twice.
    """
    root = index_set.root
    if root.kind in ("time", "instants") and root.axis is not None and root.axis.dated:
        found = _stamp_positions(texts, root, root.axis)
    else:
        found = _label_positions(texts, root)
    if root is index_set:
        return found
    mapping = root.map_to(index_set)
    assert mapping is not None
    return np.where(found >= 0, mapping[np.maximum(found, 0)], _NOT_THERE)


def _label_positions(texts: Sequence[str], root: IndexSet) -> Ints:
    lookup = {str(label): position for label, position in root.position_of.items()}
    clock = root.kind in ("time", "instants")
    keys = [_clock(text) if clock else text for text in texts]
    return np.array([lookup.get(key, _NOT_THERE) for key in keys], dtype=np.int64)


def _clock(text: str) -> str:
    match = _CLOCK.fullmatch(text.strip())
    return f"{int(match[1]):02d}:{match[2]}{match[3] or ''}" if match else text


def _stamp_positions(texts: Sequence[str], root: IndexSet, axis: TimeAxis) -> Ints:
    seconds, zoned = stamp_seconds(tuple(texts))
    if zoned and axis.zone is None:
        raise ValueError(
            f"the time stamps have an offset from UTC, but {root.name} names no zone; "
            'add "zone": "UTC" or the zone\'s name'
        )
    edges = axis.edges if zoned else axis.local
    if root.kind == "instants":
        return _nearest(seconds, edges, root)
    starts = _nearest(seconds, edges[:-1], root)
    if np.any(starts < 0):
        ends = _nearest(seconds, edges[1:], root)
        if np.all(ends >= 0):
            return ends
    return starts


def _nearest(seconds: Floats, edges: Floats, root: IndexSet) -> Ints:
    """Return where each moment stands among the edges, to the half second."""
    if np.any(np.diff(edges) <= 0):
        return _repeated(seconds, edges, root)
    return _search(seconds, edges, np.arange(len(edges)))


def _repeated(seconds: Floats, edges: Floats, root: IndexSet) -> Ints:
    """Match wall-clock times of a day on which the clock is put back.

    The hour that is shown twice is told apart only where the file is in the order of the set.
    """
    if len(seconds) == len(edges) and np.all(np.abs(seconds - edges) < 0.5):
        return np.arange(len(edges), dtype=np.int64)
    order = np.argsort(edges, kind="stable")
    twice = np.diff(edges[order]) < 0.5
    doubtful = edges[order][:-1][twice]
    if np.any(np.abs(seconds[:, None] - doubtful[None, :]) < 0.5):
        raise ValueError(
            f"the clock of {root.name} shows an hour twice; write the time stamps with their "
            "offset from UTC, as 2025-10-26T02:00+02:00, or the rows in the order of the periods"
        )
    return _search(seconds, edges[order], order)


def _search(seconds: Floats, ordered: Floats, order: Ints) -> Ints:
    at = np.searchsorted(ordered, np.nan_to_num(seconds, nan=-np.inf) - 0.5)
    at = np.minimum(at, len(ordered) - 1)
    return np.where(np.abs(ordered[at] - seconds) < 0.5, order[at], _NOT_THERE)


def tuple_positions(parts: Sequence[Ints], index_set: IndexSet) -> Ints:
    """Return positions in a tuple set from positions in the sets of its parts, -1 for none."""
    root = index_set.root
    codes, wanted = np.zeros(len(parts[0]), np.int64), np.zeros(root.size, np.int64)
    bad = np.zeros(len(codes), dtype=bool)
    for part, factor, column in zip(parts, root.factors, root.columns, strict=True):
        bad |= part < 0
        codes = codes * factor.size + np.maximum(part, 0)
        wanted = wanted * factor.size + column
    lookup = {int(code): position for position, code in enumerate(wanted)}
    found = np.array([lookup.get(int(code), _NOT_THERE) for code in codes], dtype=np.int64)
    found = np.where(bad, _NOT_THERE, found)
    if root is index_set:
        return found
    mapping = root.map_to(index_set)
    assert mapping is not None
    return np.where(found >= 0, mapping[np.maximum(found, 0)], _NOT_THERE)
