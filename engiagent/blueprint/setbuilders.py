"""Building index sets from their declarations, one function for each kind."""

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from engiagent.blueprint.elements import SetDef
from engiagent.blueprint.grammar import Binder, parse_binder
from engiagent.blueprint.sets import IndexSet, Label
from engiagent.blueprint.timeaxis import build_axis
from engiagent.blueprint.values import element_positions, read_texts

if TYPE_CHECKING:
    from engiagent.blueprint.elaborate import Elaboration

MAX_ELEMENTS = 50_000_000


def _time(elaboration: "Elaboration", d: SetDef) -> IndexSet:
    if d.periods is None or d.step is None or isinstance(d.step, int):
        raise ValueError("a time set needs 'periods' and a 'step' such as '1 h'")
    start = d.start if isinstance(d.start, str) else None
    axis = build_axis(start, d.step, d.periods, d.zone)
    return IndexSet(d.name, "time", d.periods, bool(d.cyclic), axis=axis)


def _instants(elaboration: "Elaboration", d: SetDef) -> IndexSet:
    parent = elaboration.index_set(single_parent(d))
    if parent.kind not in ("time", "periods"):
        raise ValueError(f"instants are the edges of a time set; {parent.name} is none")
    labels = None if parent.kind == "time" else tuple(range(parent.size + 1))
    return IndexSet(
        d.name,
        "instants",
        parent.size + 1,
        given_labels=labels,
        axis=parent.axis,
        periods_of=parent,
    )


def _periods(elaboration: "Elaboration", d: SetDef) -> IndexSet:
    if d.periods is None:
        raise ValueError("a set of periods needs 'periods', their number")
    first = d.start if isinstance(d.start, int) else 1
    axis = None
    if isinstance(d.step, str | tuple):
        axis = build_axis(None, d.step, d.periods, None)
    labels = tuple(range(first, first + d.periods))
    return IndexSet(d.name, "periods", d.periods, bool(d.cyclic), labels, axis=axis)


def _range(elaboration: "Elaboration", d: SetDef) -> IndexSet:
    if not isinstance(d.start, int) or d.stop is None:
        raise ValueError("a range needs whole numbers 'start' and 'stop'; both belong to it")
    if d.step is not None and (not isinstance(d.step, int) or d.step < 1):
        raise ValueError(f"the step of a range is a whole number from 1, not {d.step!r}")
    numbers = range(d.start, d.stop + 1, d.step if isinstance(d.step, int) else 1)
    if len(numbers) > MAX_ELEMENTS:
        raise ValueError(f"a range of {len(numbers)} numbers, more than {MAX_ELEMENTS}")
    labels = tuple(numbers)
    return IndexSet(d.name, "range", len(labels), bool(d.cyclic), labels)


def _labels(elaboration: "Elaboration", d: SetDef) -> IndexSet:
    labels: tuple[Label, ...] = d.elements
    if d.data is not None:
        labels = read_texts(elaboration.folder, d.data)
    if any(isinstance(label, tuple) for label in labels):
        raise ValueError("labels are texts or whole numbers; for pairs use kind 'tuples'")
    return IndexSet(d.name, "labels", len(labels), bool(d.cyclic), distinct(labels))


def _tuples(elaboration: "Elaboration", d: SetDef) -> IndexSet:
    factors = tuple(elaboration.index_set(name) for name in parents_of(d))
    if d.where is not None:
        names = tuple(part.strip() for part in (d.binder or "").strip("() ").split(","))
        if len(names) != len(factors):
            raise ValueError(f"'binder' must name {len(factors)} indices, as 'i, j'")
        pairs = zip(names, factors, strict=True)
        binders = tuple(Binder((0, 0), (name,), factor.name) for name, factor in pairs)
        grid = elaboration.grid(binders, d.where)
        columns = tuple(np.asarray(grid.names[name].positions) for name in names)
    else:
        columns = _listed_columns(elaboration, d, factors)
    size = len(columns[0])
    parts = [[f.labels[p] for p in c] for f, c in zip(factors, columns, strict=True)]
    labels: tuple[Any, ...] = tuple(zip(*parts, strict=True))
    return IndexSet(
        d.name, "tuples", size, given_labels=distinct(labels), factors=factors, columns=columns
    )


def _listed_columns(
    elaboration: "Elaboration", d: SetDef, factors: tuple[IndexSet, ...]
) -> tuple[np.ndarray[tuple[int], np.dtype[np.int64]], ...]:
    if d.data is not None:
        file, _, columns = d.data.partition("#")
        names = columns.split(",")
        if len(names) != len(factors):
            raise ValueError(f"name {len(factors)} columns, as 'file.csv#from,to'")
        listed = [list(read_texts(elaboration.folder, f"{file}#{n.strip()}")) for n in names]
    else:
        for element in d.elements:
            if not isinstance(element, tuple) or len(element) != len(factors):
                raise ValueError(f"{element!r} is no tuple of {len(factors)} elements")
        listed = [[element[k] for element in d.elements] for k in range(len(factors))]
    return tuple(element_positions(v, f) for v, f in zip(listed, factors, strict=True))


def _subset(elaboration: "Elaboration", d: SetDef) -> IndexSet:
    parent = elaboration.index_set(single_parent(d))
    if d.where is not None:
        text = d.binder or ("t" if parent.root.kind in ("time", "instants", "periods") else "i")
        if " in " not in text:
            text = f"({text.strip('() ')}) in {parent.name}"
        binder = parse_binder(text)
        if binder.set != parent.name:
            raise ValueError(f"the binder is over {binder.set}, the subset of {parent.name}")
        _, positions = elaboration.grid_with_positions((binder,), d.where)
    else:
        positions = element_positions(list(distinct(d.elements)), parent)
    return IndexSet(
        d.name,
        "subset",
        len(positions),
        parent=parent,
        positions=positions,
        axis=parent.axis,
        factors=parent.factors,
        periods_of=parent.periods_of,
    )


def _union(elaboration: "Elaboration", d: SetDef) -> IndexSet:
    labels: dict[Label, None] = {}
    for name in parents_of(d):
        labels |= dict.fromkeys(elaboration.index_set(name).labels)
    return IndexSet(d.name, "union", len(labels), bool(d.cyclic), tuple(labels))


def _scenario(elaboration: "Elaboration", d: SetDef) -> IndexSet:
    plain = _labels(elaboration, d)
    given = d.probabilities
    if given is None:
        return replace(plain, kind="scenario")
    if given == "uniform":
        values = np.full(plain.size, 1.0 / max(plain.size, 1))
    elif isinstance(given, tuple):
        if len(given) != plain.size:
            raise ValueError(f"{len(given)} probabilities for {plain.size} scenarios")
        values = np.array(given, dtype=np.float64)
    else:
        odd = {str(label) for label in plain.labels} ^ set(given)
        if odd:
            raise ValueError(f"scenarios and probabilities differ in {', '.join(sorted(odd))}")
        values = np.array([given[str(label)] for label in plain.labels], dtype=np.float64)
    total = float(values.sum())
    if abs(total - 1.0) > 1e-9:
        raise ValueError(f"the probabilities add up to {total:.12g}, not to 1")
    return replace(plain, kind="scenario", probabilities=values)


def parents_of(d: SetDef) -> tuple[str, ...]:
    """Return the sets that a definition is made of."""
    if d.of is None:
        raise ValueError(f"a set of kind {d.kind!r} needs 'of'")
    return (d.of,) if isinstance(d.of, str) else d.of


def single_parent(d: SetDef) -> str:
    """Return the one set that a definition is made of."""
    parents = parents_of(d)
    if len(parents) != 1:
        raise ValueError(f"a set of kind {d.kind!r} is of one set")
    return parents[0]


def distinct(labels: tuple[Label, ...]) -> tuple[Label, ...]:
    """Refuse a label that stands twice; 1 and "1" are one label, as in the keys of an object."""
    seen: set[str] = set()
    for label in labels:
        if str(label) in seen:
            raise ValueError(f"the element {label!r} is listed twice")
        seen.add(str(label))
    return labels


SET_BUILDERS = {
    "instants": _instants,
    "labels": _labels,
    "periods": _periods,
    "range": _range,
    "scenario": _scenario,
    "subset": _subset,
    "time": _time,
    "tuples": _tuples,
    "union": _union,
}
