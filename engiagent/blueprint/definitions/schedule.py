"""In which order things are computed: what needs one another goes step by step along time."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter

from engiagent.blueprint.definitions.model import Item
from engiagent.blueprint.diagnostics import refused
from engiagent.blueprint.elements import EquationDef
from engiagent.blueprint.grammar import Binary, Call, Convert, Node, Number, Ref, children
from engiagent.blueprint.sets import IndexSet, is_timed


@dataclass(frozen=True)
class Group:
    """Names that are computed together."""

    # in the order in which they are computed; within one step when ``stepped``
    names: tuple[str, ...]
    stepped: bool  # whether they need their own earlier values


def schedule(items: Mapping[str, Item]) -> tuple[Group, ...]:
    """Return groups, each after those it uses."""
    uses = {name: sorted(item.uses & items.keys()) for name, item in items.items()}
    equations = {n for n, item in items.items() if isinstance(item.definition, EquationDef)}
    for name in sorted(equations):  # coupled ones are integrated together, if one needs the other
        for other in uses[name]:
            if other in equations and items[other].sets[-1] is items[name].sets[-1]:
                uses[other] = sorted({*uses[other], name})
    reach = {name: _reach(name, uses) for name in items}
    member: dict[str, tuple[str, ...]] = {}
    for name in items:
        circle = tuple(n for n in items if n == name or (n in reach[name] and name in reach[n]))
        member[name] = circle
    order: TopologicalSorter[tuple[str, ...]] = TopologicalSorter()
    for name in items:
        needed = (member[other] for other in uses[name] if member[other] != member[name])
        order.add(member[name], *dict.fromkeys(needed))
    groups = []
    for names in order.static_order():
        stepped = len(names) > 1 or names[0] in reach[names[0]]
        if stepped or equations & set(names):
            names, stepped = _within_a_step(names, items), True
        groups.append(Group(names, stepped))
    return tuple(groups)


def _reach(start: str, uses: Mapping[str, Sequence[str]]) -> frozenset[str]:
    found: set[str] = set()
    waiting = list(uses[start])
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting += uses[name]
    return frozenset(found)


def step_index(item: Item) -> int | None:
    """Return which of its sets an item steps along, the last that is ordered in time."""
    timed = [k for k, index_set in enumerate(item.sets) if is_timed(index_set)]
    return timed[-1] if timed else None


def _within_a_step(names: tuple[str, ...], items: Mapping[str, Item]) -> tuple[str, ...]:
    """Order the names by what they need of the same step; states come first."""
    along: dict[str, IndexSet] = {}
    for name in names:
        which = step_index(items[name])
        if which is None:
            others = ", ".join(n for n in names if n != name) or "itself"
            text = f"{name} needs {others} and the other way round, but runs over no time"
            hint = "give it the index along which it steps, or break the circle"
            raise refused("EB042", items[name].path, text, hint, name)
        root = items[name].sets[which].root
        along[name] = root if root.periods_of is None else root.periods_of.root
    clocks = {id(clock): clock.name for clock in along.values()}
    if len(clocks) > 1:
        text = f"{', '.join(names)} need one another, but step along {', '.join(clocks.values())}"
        raise refused("EB042", items[names[0]].path, text, "use one time set", names[0])
    states = [n for n in names if isinstance(items[n].definition, EquationDef)]
    order: TopologicalSorter[str] = TopologicalSorter()
    for name in (n for n in names if n not in states):
        order.add(name, *(n for n in _now(items[name], items, names) if n not in states))
    try:
        return (*states, *order.static_order())
    except CycleError as error:
        circle = " -> ".join(reversed(error.args[1]))
        text = f"these need one another within one step: {circle}"
        first = error.args[1][0]
        hint = "let one of them use the step before, as prev(x[t], x0) or x[t-1]"
        raise refused("EB042", items[first].path, text, hint, first) from None


def _now(item: Item, items: Mapping[str, Item], names: tuple[str, ...]) -> list[str]:
    """Return the members of the circle whose value of the same step an item needs."""
    which = step_index(item)
    assert which is not None
    binder = item.binders[which].names[0]
    found: dict[str, None] = {}

    def visit(node: Node) -> None:
        if isinstance(node, Call) and node.function == "prev":
            earlier, start = node.args
            visit(start)
            inner = earlier.operand if isinstance(earlier, Convert) else earlier
            for index in inner.indices if isinstance(inner, Ref) else ():
                visit(index)
            return
        if isinstance(node, Ref) and node.name in names and _lag(node, items, binder) == 0:
            found[node.name] = None
        for child in children(node):
            visit(child)

    for node in item.nodes.values():
        visit(node)
    return sorted(found)


def _lag(ref: Ref, items: Mapping[str, Item], binder: str) -> int | None:
    """Return by how many steps a reference looks ahead; None where only the data can tell."""
    which = step_index(items[ref.name])
    if which is None or len(ref.indices) != len(items[ref.name].sets):
        return None
    index, ahead = ref.indices[which], 0
    while isinstance(index, Binary) and isinstance(index.right, Number):
        ahead += int(index.right.value) * (1 if index.op == "+" else -1)
        index = index.left
    return ahead if isinstance(index, Ref) and index.name == binder else None
