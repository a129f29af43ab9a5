"""The section that says why there is no plan, or what holds the plan back.

It is read from ``explanation.json``. Where a folder holds a plan and no explanation, as one that
another program wrote, the plan is explained here from what the folder does hold.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from engiagent.errors import EngiagentError
from engiagent.explain import Given, explain_stored
from engiagent.io.jsontext import loads_strict
from engiagent.report.artefacts import Run

FILE: Final = "explanation.json"
TITLES: Final = {
    "infeasible": "Why there is no plan",
    "unbounded": "What has no limit",
    "plan": "What holds it back",
    "stopped": "Why it came to no end",
}
MOST: Final = 40


@dataclass(frozen=True)
class Item:
    """A line of the section with what belongs to it, as places in the text."""

    text: str
    details: tuple[str, ...] = ()


@dataclass(frozen=True)
class Group:
    """Lines under one heading."""

    title: str
    items: tuple[Item, ...]


@dataclass(frozen=True)
class Section:
    """The section: its heading, a sentence, and the groups.

    Attributes
    ----------
    kind
        What is explained: a ``plan``, or why there is none.
    enough
        Changes that are enough for a plan, each confirmed by a solve.
    """

    title: str
    summary: str
    groups: tuple[Group, ...]
    kind: str = "plan"
    enough: tuple[str, ...] = ()


def explanation(run: Run) -> Section | None:
    """Return the section of a run; None where nothing is to be explained or it cannot be read."""
    found = _stored(run) or _made(run)
    kind = str(found.get("kind"))
    title = TITLES.get(kind)
    if title is None:
        return None
    groups = [group for group in _groups(found) if group.items]
    if not groups:
        return None
    return Section(title, str(found.get("summary") or ""), tuple(groups), kind, _enough(found))


def _enough(found: Mapping[str, Any]) -> tuple[str, ...]:
    proposals = [_map(proposal) for proposal in _list(found, "proposals")]
    return tuple(str(p.get("text")) for p in proposals if p.get("verified"))


def _stored(run: Run) -> Mapping[str, Any]:
    path = run.folder / FILE
    if not path.is_file():
        return {}
    try:
        found = loads_strict(path.read_text("utf-8"), FILE)
    except (EngiagentError, OSError, UnicodeDecodeError):
        return {}
    return found if isinstance(found, Mapping) else {}


def _made(run: Run) -> Mapping[str, Any]:
    """Return what the stored plan says of itself; empty where that cannot be found out."""
    if run.blueprint is None or run.solution is None:
        return {}
    data = run.folder / "problem"
    given = Given(
        blueprint=run.blueprint,
        folder=data if data.is_dir() else None,
        name=str(run.record.get("problem") or "run"),
    )
    try:
        found = explain_stored(given, run.solution)
    except EngiagentError:
        return {}
    return {} if found is None else found.to_dict()


def _groups(found: Mapping[str, Any]) -> Iterator[Group]:
    for number, clash in enumerate(_list(found, "clashes"), 1):
        more = f" ({number})" if len(_list(found, "clashes")) > 1 else ""
        yield Group(f"Demands that cannot hold together{more}", tuple(_members(clash)))
    proposals = _list(found, "proposals")
    together = any(_map(p).get("kind") == "total" for p in proposals)
    title = "The least change that is enough" if together else "Each of these is enough"
    yield Group(title, tuple(_proposal(_map(p)) for p in proposals))
    growths = _list(_map(found.get("unbounded")), "growths")
    yield Group("What grows without end", tuple(Item(str(_map(g).get("text"))) for g in growths))
    yield from _trouble(_map(found.get("trouble")))
    yield from _plan(found)
    yield Group("To be known", tuple(Item(str(note)) for note in _list(found, "notes")))


def _members(clash: Any) -> Iterator[Item]:
    for member in map(_map, _list(_map(clash), "members")):
        part = _map(member.get("part"))
        details = [_place(place) for place in _list(part, "places")]
        numbers = [f"{n} = {v}" for n, v in _pairs(member) if v not in str(part.get("text"))]
        if numbers:
            details.append(f"with {', '.join(numbers)}")
        if not member.get("soft"):
            details.append(f"cannot give way: {member.get('reason')}")
        yield Item(str(part.get("text")), tuple(details))


def _pairs(member: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for pair in _list(member, "numbers"):
        if isinstance(pair, list | tuple) and len(pair) == 2:
            yield str(pair[0]), str(pair[1])


def _proposal(proposal: Mapping[str, Any]) -> Item:
    share = f"{100 * float(proposal.get('tolerance') or 0):g}\u00a0%"
    solved = "solved again with it: a plan exists" if proposal.get("verified") else "not confirmed"
    least = f"{share} less is not enough" if proposal.get("minimal") else "not shown to be least"
    return Item(str(proposal.get("text")), (f"{solved}; {least}",))


def _trouble(trouble: Mapping[str, Any]) -> Iterator[Group]:
    yield Group("What was tried", tuple(Item(str(t)) for t in _list(trouble, "tried")))
    yield Group("What could help", tuple(Item(str(t)) for t in _list(trouble, "suggestions")))


def _plan(found: Mapping[str, Any]) -> Iterator[Group]:
    tight = [_map(item) for item in _list(found, "tight")]
    for kind, title in (("limit", "Limits that bind"), ("balance", "Balances with a price")):
        chosen = [item for item in tight if item.get("kind") == kind]
        items = (Item(str(i.get("text")), tuple(map(_place, _list(i, "places")))) for i in chosen)
        yield Group(title, tuple(items))
    costs = [_map(item) for item in _list(found, "reduced_costs")]
    yield Group("Not used", tuple(Item(str(cost.get("text"))) for cost in costs))


def _place(place: Any) -> str:
    known = _map(place)
    where = ":".join(str(known[k]) for k in ("file", "line", "column") if known.get(k) is not None)
    return f"{where}: “{known['quote']}”" if known.get("quote") else where


def _map(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _list(value: Mapping[str, Any], key: str) -> Sequence[Any]:
    found = value.get(key)
    return found[:MOST] if isinstance(found, list | tuple) else ()
