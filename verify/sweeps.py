"""Sweeps over values: their coefficients, and what they are made of."""

from collections.abc import Sequence

import numpy as np

from engiagent.verify.values import Floats, Ints, Link, Value, constants_of


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


def triplets(value: Value) -> dict[int, tuple[Ints, Ints, Floats]]:
    """Return the rows of a value as coefficients of variables and of the atoms it is made of.

    Returns by the ``order`` of each variable or atom: rows, its elements and coefficients, with
    repetitions to be summed.
    """
    result: dict[int, list[tuple[Ints, Ints, Floats]]] = {}
    start = np.arange(value.data.size)
    stack = [(value, start, start, constants_of(1, start.size, like=value.data))]
    while stack:
        node, rows, places, factors = stack.pop()
        if node.degree and (not node.links or node.atom is not None):
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
        weight = np.broadcast_to(np.asarray(link.weight), link.parent.data.shape)
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
