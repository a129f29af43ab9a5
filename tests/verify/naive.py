"""A second evaluator of the language, as plain as can be: one row at a time, no arrays.

It shares the parser with the checker and nothing else: none of its grids, frames or units.
Numbers are in SI. What an expression may name stands in a :class:`World`.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from engiagent.blueprint.grammar import (
    Binary,
    Call,
    Choice,
    Compare,
    Logic,
    Members,
    Node,
    Number,
    Reduce,
    Ref,
    Text,
    Unary,
    parse,
)

FACTORS = {None: 1.0, "kW": 1e3, "MW": 1e6, "W": 1.0, "kWh": 3.6e6, "h": 3600.0, "%": 0.01}
ELEMENTARY: dict[str, Callable[[float], float]] = {
    "exp": math.exp,
    "log": math.log,
    "sin": math.sin,
    "cos": math.cos,
    "tanh": math.tanh,
    "sqrt": math.sqrt,
    "abs": abs,
}


@dataclass(frozen=True)
class Place:
    """An element: the set that its position counts in, and the position, wherever that lies."""

    set: str
    position: int


@dataclass
class World:
    """Sets, numbers and what is known of their elements.

    Attributes
    ----------
    labels
        By set, its elements as people write them.
    members
        By subset, the positions of its elements in the set that it is of.
    roots
        By subset, that set.
    edges
        By time set, the start of each period in seconds, and the last end.
    """

    labels: dict[str, list[Any]]
    roots: dict[str, str] = field(default_factory=dict)
    members: dict[str, list[int]] = field(default_factory=dict)
    cyclic: set[str] = field(default_factory=set)
    edges: dict[str, list[float]] = field(default_factory=dict)
    instants: dict[str, str] = field(default_factory=dict)
    chances: dict[str, list[float]] = field(default_factory=dict)
    tuples: dict[str, tuple[list[str], list[tuple[int, ...]]]] = field(default_factory=dict)
    numbers: dict[str, dict[tuple[int, ...], float]] = field(default_factory=dict)
    dims: dict[str, list[str]] = field(default_factory=dict)
    before: dict[str, list[float]] = field(default_factory=dict)
    elements: dict[str, dict[tuple[int, ...], Place]] = field(default_factory=dict)

    def root(self, name: str) -> str:
        """Return the set that a subset is of, or the set itself."""
        return self.roots.get(name, name)

    def positions(self, name: str) -> list[int]:
        """Return the positions of a set's elements in its root."""
        if name in self.members:
            return self.members[name]
        if name in self.tuples:
            return list(range(len(self.tuples[name][1])))
        return list(range(len(self.labels[name])))


Row = dict[str, Place]


def value(text: str, row: Row, world: World) -> float:
    """Return what an expression is worth on one row, in SI."""
    return number(parse(text), row, world)


def number(node: Node, row: Row, world: World) -> float:
    """Return the number of a node on one row."""
    match node:
        case Number():
            return node.value * FACTORS[node.unit]
        case Unary(op="-"):
            return -number(node.operand, row, world)
        case Unary(op="+"):
            return number(node.operand, row, world)
        case Binary():
            return _binary(node.op, number(node.left, row, world), number(node.right, row, world))
        case Ref():
            return _named(node, row, world)
        case Choice():
            chosen = node.then if holds(node.condition, row, world) else node.otherwise
            return number(chosen, row, world)
        case Reduce():
            return _reduced(node, row, world)
        case Call():
            return _called(node, row, world)
    raise AssertionError(node)


def _binary(op: str, a: float, b: float) -> float:
    if op == "/":
        return a / b
    if op == "%":
        return a - b * math.floor(a / b)
    if op == "//":
        return float(math.floor(a / b))
    if op == "**":
        return float(a**b)
    return {"+": a + b, "-": a - b, "*": a * b}[op]


def _named(node: Ref, row: Row, world: World) -> float:
    if not node.indices and node.name in row:
        label = world.labels[row[node.name].set][row[node.name].position]
        assert isinstance(label, int)
        return float(label)
    places: list[int] = []
    targets = world.dims[node.name]
    indices = list(node.indices)
    for target in targets:
        if target in world.tuples:
            factors, rows = world.tuples[target]
            parts = tuple(_position(indices.pop(0), f, row, world) for f in factors)
            places.append(rows.index(parts))
        else:
            places.append(_position(indices.pop(0), target, row, world))
    known = world.before.get(node.name)
    if known is not None and places[-1] < 0:
        return known[-places[-1] - 1]
    return world.numbers[node.name][tuple(places)]


def _position(node: Node, target: str, row: Row, world: World) -> int:
    """Return the position of an index in the set that is indexed."""
    here = place(node, row, world, target)
    periods = world.instants.get(world.root(target))
    if here.set == world.root(target) or here.set == periods:
        position = here.position
        if world.root(target) in world.cyclic and here.set == world.root(target):
            position %= len(world.labels[world.root(target)])
        if target in world.members:
            return world.members[target].index(position)
        return position
    raise AssertionError((node, target))


def place(node: Node, row: Row, world: World, target: str | None = None) -> Place:
    """Return the element that an index names, by its position in a whole set."""
    match node:
        case Text():
            assert target is not None
            return Place(world.root(target), world.labels[world.root(target)].index(node.value))
        case Number():
            assert target is not None
            return Place(target, world.labels[target].index(int(node.value)))
        case Binary():
            base = place(node.left, row, world, target)
            step = int(number(node.right, row, world)) * (1 if node.op == "+" else -1)
            moved = base.position + step
            goes_round = base.set in world.cyclic
            if goes_round and world.instants.get(target or "") != base.set:
                moved %= len(world.labels[base.set])
            return Place(base.set, moved)
        case Call(function="first"):
            name = node.args[0].name  # type: ignore[attr-defined]
            return Place(world.root(name), world.positions(name)[0])
        case Call(function="last"):
            name = node.args[0].name  # type: ignore[attr-defined]
            return Place(world.root(name), world.positions(name)[-1])
        case Call(function="at"):
            name = node.args[1].name  # type: ignore[attr-defined]
            inner = place(node.args[0], row, world)
            return Place(name, _containing(world.edges[inner.set][inner.position], name, world))
        case Ref(indices=()) if node.name in row:
            return row[node.name]
        case Ref():
            where = tuple(
                _position(index, dim, row, world)
                for index, dim in zip(node.indices, world.dims[node.name], strict=True)
            )
            return world.elements[node.name][where]
    raise AssertionError(node)


def _containing(moment: float, name: str, world: World) -> int:
    edges = world.edges[name]
    return next(k for k in range(len(edges) - 1) if edges[k] <= moment < edges[k + 1])


def _rows(node: Reduce, row: Row, world: World) -> list[Row]:
    rows = [row]
    for binder in node.binders:
        longer = []
        for one in rows:
            for position in world.positions(binder.set):
                if len(binder.names) == 1:
                    new = {binder.names[0]: Place(world.root(binder.set), position)}
                else:
                    factors, listed = world.tuples[binder.set]
                    new = {
                        n: Place(world.root(f), p)
                        for n, f, p in zip(binder.names, factors, listed[position], strict=True)
                    }
                longer.append({**one, **new})
        rows = longer
    return [one for one in rows if node.where is None or holds(node.where, one, world)]


def _reduced(node: Reduce, row: Row, world: World) -> float:
    if node.function == "first_index":
        binder = node.binders[0]
        for count, position in enumerate(world.positions(binder.set)):
            inner = {**row, binder.names[0]: Place(world.root(binder.set), position)}
            met = node.where is None or holds(node.where, inner, world)
            if met and holds(node.body, inner, world):
                return float(count)
        return float(len(world.positions(binder.set)))
    terms = []
    for inner in _rows(node, row, world):
        term = number(node.body, inner, world)
        if node.function == "sumsq":
            term = term * term
        if node.function == "expect":
            for name in (n for b in node.binders for n in b.names):
                term *= world.chances.get(inner[name].set, [1.0] * 99)[inner[name].position]
        terms.append(term)
    if node.function in ("sum", "sumsq", "expect"):
        return math.fsum(terms)
    return min(terms) if node.function == "min" else max(terms)


def _called(node: Call, row: Row, world: World) -> float:
    name, args = node.function, node.args
    if name in ("min", "max"):
        values = [number(arg, row, world) for arg in args]
        return min(values) if name == "min" else max(values)
    if name in ELEMENTARY:
        return float(ELEMENTARY[name](number(args[0], row, world)))
    if name == "where":
        return number(args[1] if holds(args[0], row, world) else args[2], row, world)
    if name == "len":
        return float(len(world.positions(args[0].name)))  # type: ignore[attr-defined]
    if name == "prev":
        return _previous(args[0], args[1], row, world)
    if name == "piecewise":
        points = [
            [number(item, row, world) for item in part.items]  # type: ignore[attr-defined]
            for part in args[1:]
        ]
        return interpolated(number(args[0], row, world), *points)
    here = place(args[0], row, world)
    if name == "pos":
        return float(here.position)
    if name == "prob":
        return world.chances[here.set][here.position]
    edges = world.edges[here.set]
    if name == "dt":
        return edges[here.position + 1] - edges[here.position]
    clock = edges[here.position] % 86400.0
    if name == "clock":
        return clock
    if name == "hour":
        return float(clock // 3600)
    if name == "weekday":
        return float((int(edges[here.position] // 86400) + 3) % 7)
    raise AssertionError(name)


def _previous(reference: Node, otherwise: Node, row: Row, world: World) -> float:
    assert isinstance(reference, Ref)
    here = place(reference.indices[-1], row, world)
    if here.position == 0 and here.set not in world.cyclic:
        return number(otherwise, row, world)
    places = [
        _position(index, dim, row, world)
        for index, dim in zip(reference.indices[:-1], world.dims[reference.name], strict=False)
    ]
    before = (here.position - 1) % len(world.labels[here.set])
    return world.numbers[reference.name][*places, before]


def interpolated(x: float, xs: list[float], ys: list[float]) -> float:
    """Return the value of a table between its points."""
    for k in range(len(xs) - 1):
        if x <= xs[k + 1] or k == len(xs) - 2:
            share = (x - xs[k]) / (xs[k + 1] - xs[k])
            return ys[k] + share * (ys[k + 1] - ys[k])
    raise AssertionError(x)


# --- conditions --------------------------------------------------------------------------------


def holds(node: Node, row: Row, world: World) -> bool:
    """Whether a condition on indices and parameters holds."""
    match node:
        case Logic():
            parts = [holds(part, row, world) for part in node.operands]
            return all(parts) if node.op == "and" else any(parts)
        case Unary(op="not"):
            return not holds(node.operand, row, world)
        case Call(function="within"):
            inner, outer = (place(arg, row, world) for arg in node.args)
            moment = world.edges[inner.set][inner.position]
            first, last = world.edges[outer.set][outer.position : outer.position + 2]
            return first <= moment < last
        case Compare(ops=("in",) | ("not in",)):
            inside = _member(node.operands[0], node.operands[1], row, world)
            return inside == (node.ops[0] == "in")
        case Compare():
            pairs = zip(node.ops, node.operands, node.operands[1:], strict=False)
            return all(_related(op, a, b, row, world) for op, a, b in pairs)
    raise AssertionError(node)


def _member(item: Node, group: Node, row: Row, world: World) -> bool:
    if isinstance(group, Members):
        return any(_related("==", item, member, row, world) for member in group.items)
    assert isinstance(group, Ref)
    here = place(item, row, world)
    return here.set == world.root(group.name) and here.position in world.positions(group.name)


def _element(node: Node, row: Row, world: World) -> bool:
    if isinstance(node, Call):
        return node.function in ("first", "last", "at")
    if isinstance(node, Binary):
        return _element(node.left, row, world)
    return isinstance(node, Ref) and (node.name in row or node.name in world.elements)


def _related(op: str, left: Node, right: Node, row: Row, world: World) -> bool:
    a: Any
    b: Any
    if _element(left, row, world) or _element(right, row, world):
        target = next(place(n, row, world).set for n in (left, right) if _element(n, row, world))
        if isinstance(right, Text) and right.value not in world.labels[target]:
            return op == "!="
        a, b = (place(n, row, world, target).position for n in (left, right))
    elif isinstance(right, Text):
        hours, minutes = right.value.split(":")
        a, b = number(left, row, world), 3600.0 * int(hours) + 60.0 * int(minutes)
    else:
        a, b = number(left, row, world), number(right, row, world)
    found = {"<=": a <= b, ">=": a >= b, "==": a == b, "!=": a != b, "<": a < b, ">": a > b}
    return bool(found[op])


# --- constraints -------------------------------------------------------------------------------


def margin(text: str, row: Row, world: World) -> float:
    """Return by how much a constraint holds on a row; below zero, by how much it fails."""
    return _margin(parse(text), row, world)


def _margin(node: Node, row: Row, world: World) -> float:
    if isinstance(node, Call) and node.function == "implies":
        return _margin(node.args[1], row, world) if _on(node.args[0], row, world) else math.inf
    if isinstance(node, Call) and node.function == "either":
        return max(_margin(arg, row, world) for arg in node.args)
    if isinstance(node, Call) and node.function == "exclusive":
        return -sorted(abs(number(arg, row, world)) for arg in node.args)[-2]
    if isinstance(node, Call) and node.function == "complements":
        sides = [_margin(arg, row, world) for arg in node.args]
        return min(*sides, -min(sides))
    if isinstance(node, Logic) and node.op == "and":
        return min(_margin(part, row, world) for part in node.operands)
    assert isinstance(node, Compare)
    slacks = []
    for op, left, right in zip(node.ops, node.operands, node.operands[1:], strict=False):
        apart = number(right, row, world) - number(left, row, world)
        slacks.append({"<=": apart, ">=": -apart, "==": -abs(apart)}[op])
    return min(slacks)


def _on(node: Node, row: Row, world: World) -> bool:
    """Whether a condition on binary variables is met."""
    if isinstance(node, Logic):
        parts = [_on(part, row, world) for part in node.operands]
        return all(parts) if node.op == "and" else any(parts)
    if isinstance(node, Unary):
        return not _on(node.operand, row, world)
    if isinstance(node, Compare):
        assert isinstance(node.operands[1], Number)
        return _on(node.operands[0], row, world) == (node.operands[1].value == 1.0)
    return number(node, row, world) >= 0.5
