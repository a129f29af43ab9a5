"""Backward and forward sweeps over values: derivatives, coefficients, what something is made of."""

from collections.abc import Sequence

import numpy as np

from engiagent.verify.values import Floats, Ints, Link, Mode, Value, thin


def gradients(seeds: Sequence[tuple[Value, Floats]], mode: Mode = "value") -> dict[int, Floats]:
    """Return the derivative of ``sum(weight @ value for value, weight in seeds)``.

    Parameters
    ----------
    seeds
        Values with one weight for each of their rows.
    mode
        ``absolute`` sums the absolute values of all contributions instead, the measure of their
        rounding.

    Returns
    -------
    dict
        By the ``order`` of each value that has no links (a variable): the derivative with respect
        to its SI data, of its shape.
    """
    with np.errstate(all="ignore"):  # at the edge of a root's domain a derivative is infinite
        return _gradients(seeds, mode)


def _gradients(seeds: Sequence[tuple[Value, Floats]], mode: Mode) -> dict[int, Floats]:
    adjoints = _Sums()
    nodes: dict[int, Value] = {}
    for value, weight in seeds:
        if value.degree:
            _reach(value, nodes)
            seed = np.abs(weight) if mode == "absolute" else weight
            adjoints.add(value.order, 0.0 + np.asarray(seed, np.float64), own=True)
    result = {}
    # What was made later depends on what was made earlier, never the other way round.
    for order in sorted(nodes, reverse=True):
        node = nodes[order]
        adjoint = adjoints.pop(order)
        if adjoint is None:
            continue
        if not node.links:
            result[order] = adjoint
        for link in node.links:
            if link.kind == "gather" and isinstance(link.rows, slice):
                adjoints.add_part(link.parent.order, link.parent.data.size, link.rows, adjoint)
            else:
                pulled = link.pull(adjoint, mode)
                adjoints.add(link.parent.order, pulled, own=False)
    return result


class _Sums:
    """Arrays that others are added to, in place where they are nobody else's."""

    def __init__(self) -> None:
        self._arrays: dict[int, Floats] = {}
        self._own: set[int] = set()

    def pop(self, order: int) -> Floats | None:
        """Return a sum, which is added to no more."""
        self._own.discard(order)
        return self._arrays.pop(order, None)

    def add(self, order: int, more: Floats, own: bool) -> None:
        """Add an array; ``own`` where nobody else has it."""
        known = self._arrays.get(order)
        if known is not None and order in self._own:
            known += thin(more)
            return
        self._arrays[order] = more if known is None else known + thin(more)
        if own or known is not None:
            self._own.add(order)

    def add_part(self, order: int, size: int, rows: slice, more: Floats) -> None:
        """Add an array to a stretch of a sum of ``size`` numbers."""
        known = self._arrays.get(order)
        if known is None:
            self._arrays[order] = np.zeros(size)
            self._arrays[order][rows] = more
        elif order in self._own:
            known[rows] += thin(more)
        else:
            self._arrays[order] = np.array(known)
            self._arrays[order][rows] += thin(more)
        self._own.add(order)


def contributions(seeds: Sequence[Value]) -> dict[int, int]:
    """Return how many terms at most add up in the derivative by an element of each variable."""
    nodes: dict[int, Value] = {}
    counts: dict[int, int] = {}
    for value in seeds:
        if value.degree:
            _reach(value, nodes)
            counts[value.order] = counts.get(value.order, 0) + 1
    for order in sorted(nodes, reverse=True):
        for link in nodes[order].links:
            more = counts[order] * link.repetitions()
            counts[link.parent.order] = counts.get(link.parent.order, 0) + more
    return {order: counts[order] for order, node in nodes.items() if not node.links}


def atoms_of(seeds: Sequence[Value]) -> list[Value]:
    """Return all atoms that values are made of, those that others are made of first."""
    found: dict[int, Value] = {}
    waiting = list(seeds)
    while waiting:
        nodes: dict[int, Value] = {}
        _reach(waiting.pop(), nodes)
        for order, node in nodes.items():
            if node.atom is not None and order not in found:
                found[order] = node
                waiting += [parent for parent in node.atom.parents if parent.degree]
    return [found[order] for order in sorted(found)]


def _reach(value: Value, nodes: dict[int, Value]) -> None:
    stack = [value]
    while stack:
        node = stack.pop()
        if node.order not in nodes:
            nodes[node.order] = node
            stack.extend(link.parent for link in node.links)


def triplets(value: Value, through: bool = False) -> dict[int, tuple[Ints, Ints, Floats]]:
    """Return the rows of a value as coefficients of variables and of the atoms it is made of.

    Parameters
    ----------
    through
        Whether to go through atoms as well: then these are derivatives by variables alone.

    Returns
    -------
    dict
        By the ``order`` of each variable or atom: rows, its elements and coefficients, with
        repetitions to be summed.
    """
    result: dict[int, list[tuple[Ints, Ints, Floats]]] = {}
    start = np.arange(value.data.size)
    stack = [(value, start, start, np.ones(start.size))]
    while stack:
        node, rows, places, factors = stack.pop()
        stops = not node.links or (node.atom is not None and not through)
        if node.degree and stops:
            result.setdefault(node.order, []).append((rows, places, factors))
            continue
        for link in node.links:
            stack.append((link.parent, *_descend(link, rows, places, factors)))
    return {
        order: tuple(np.concatenate(parts) for parts in zip(*pieces, strict=True))  # type: ignore[misc]
        for order, pieces in result.items()
    }


def _descend(link: Link, rows: Ints, places: Ints, factors: Floats) -> tuple[Ints, Ints, Floats]:
    """Return what entries of a value are as entries of one of its parents."""
    if link.kind == "each":
        weight = np.broadcast_to(np.asarray(link.weight, dtype=np.float64), link.parent.data.shape)
        return rows, places, factors * weight[places]
    if link.kind == "gather":
        if isinstance(link.rows, slice):
            return rows, places + link.rows.start, factors
        assert link.rows is not None
        return rows, link.rows[places], factors
    # Each entry becomes one for every term of its sum.
    size = link.parent.data.size
    into = np.zeros(size, dtype=np.int64) if link.rows is None else np.arange(size)
    if not isinstance(link.rows, slice) and link.rows is not None:
        into = link.rows
    order = np.argsort(into, kind="stable")
    counts = np.bincount(into, minlength=int(places.max(initial=-1)) + 1)
    starts = np.concatenate(([0], np.cumsum(counts)))
    each = counts[places]
    within = np.arange(each.sum()) - np.repeat(np.cumsum(each) - each, each)
    return (
        np.repeat(rows, each),
        order[np.repeat(starts[places], each) + within],
        np.repeat(factors, each),
    )
