"""Over which sets a component stands beside its time, and expressions with those indices."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from engiagent.blueprint.elements import ComponentDef, Core, SetDef
from engiagent.blueprint.grammar import Node, Reduce, Ref, children, parse, parse_binder
from engiagent.errors import InputError

TIMED = ("time", "periods")
"""The kinds of sets that a component runs over."""
WEIGHT = "weight_of_the_horizon"
"""The parameter that says how many such horizons make a year: one number, or one for each."""


@dataclass(frozen=True)
class Placement:
    """Where a component stands."""

    time: str | None  # its time set, None where it names none
    # name and set of every other index: there is one unit for each combination of elements
    over: tuple[tuple[str, str], ...] = ()

    @property
    def names(self) -> str:
        """The indices as they are written, ``s, b``."""
        return ", ".join(name for name, _ in self.over)


def placement_of(component: ComponentDef, core: Core) -> Placement:
    """Return where a component stands."""
    if not isinstance(component.index, tuple):
        return Placement(component.index)
    sets = {item.name: item for item in core.sets}
    times, over = [], []
    for text in component.index:
        name, member = _binder(component, text, sets)
        if sets[member].kind in TIMED:
            times.append(member)
        elif sets[member].kind == "instants":
            raise _wrong(component, f"it runs over periods, not over the instants {member}")
        else:
            over.append((name, member))
    members = [member for _, member in over]
    if len(times) > 1 or len(set(members)) < len(members):
        raise _wrong(component, "an index names one time set, and every other set once")
    return Placement(times[0] if times else None, tuple(over))


def is_scenario(sets: Mapping[str, SetDef], name: str) -> bool:
    """Whether a set is a scenario set or a part of one."""
    seen: set[str] = set()
    while name in sets and name not in seen:
        seen.add(name)
        definition = sets[name]
        if definition.kind != "subset" or not isinstance(definition.of, str):
            return definition.kind == "scenario"
        name = definition.of
    return False


def respelled(text: str, bare: Mapping[str, str], first: Mapping[str, str]) -> str:
    """Return an expression in which names are replaced or get further indices.

    Parameters
    ----------
    bare
        What stands for a name that has no index, unless a sum or the like binds it.
    first
        The indices that come first for a name, with or without others.

    >>> respelled("size - store_energy[t] - sum(b for b in B)", {"size": "size['A']", "b": "x"},
    ...           {"store_energy": "b"})
    "size['A'] - store_energy[b, t] - sum(b for b in B)"
    """
    for start, end, new in sorted(_edits(parse(text), bare, first), reverse=True):
        text = text[:start] + new + text[end:]
    return text


def _edits(
    node: Node, bare: Mapping[str, str], first: Mapping[str, str]
) -> Iterator[tuple[int, int, str]]:
    """Yield what stands where, with an empty span where something is put in."""
    if isinstance(node, Reduce):
        bound = {name for binder in node.binders for name in binder.names}
        bare = {name: new for name, new in bare.items() if name not in bound}
    if isinstance(node, Ref):
        start, end = node.span
        if node.name in first:
            inner = start + len(node.name) + 1
            yield (
                (inner, inner, f"{first[node.name]}, ")
                if node.indices
                else (end, end, f"[{first[node.name]}]")
            )
        elif node.name in bare and not node.indices:
            yield start, end, bare[node.name]
    for child in children(node):
        yield from _edits(child, bare, first)


def _binder(component: ComponentDef, text: str, sets: Mapping[str, SetDef]) -> tuple[str, str]:
    """Return name and set of one index; a bare set gets its own name in small letters."""
    binder = parse_binder(text if " in " in text else f"{text.lower()} in {text}")
    if binder.set not in sets:
        raise _wrong(component, f"its index names no set {binder.set!r}", ", ".join(sets))
    if len(binder.names) != 1:
        raise _wrong(component, f"{text}: an index of a component has one name")
    name = binder.names[0]
    if sets[binder.set].kind not in TIMED and name in ("t", "i", *sets):
        raise _wrong(component, f"{text}: the name {name} is taken", f"s in {binder.set}, say")
    return name, binder.set


def _wrong(component: ComponentDef, message: str, expected: str | None = None) -> InputError:
    text = f"component {component.name} ({component.model}): {message}"
    return InputError(text, found=repr(list(component.index or ())), expected=expected)
