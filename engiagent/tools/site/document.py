"""The site of a session: configurations as plain documents, the active one, and their history.

A configuration holds by name environments, clusters, buildings, components, controllers and
disturbances; ``selected`` says which one is meant where a call names none. Nothing is changed in
place: an edit is a new site that remembers the one before it.
"""

from collections.abc import Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass, field, replace
from typing import Any, Final

from engiagent.errors import InputError
from engiagent.io.jsontext import dumps_canonical, loads_strict
from engiagent.slots import COMPONENTS
from engiagent.tools.registry import Json, State
from engiagent.tools.site.arguments import HVAC

SECTIONS: Final = (
    *("environments", "clusters", "buildings", "components"),
    *("controllers", "disturbances"),
)
MOST: Final = 100
"""How many writes can be undone."""


def empty(title: str, currency: str = "EUR") -> Json:
    """Return a configuration without anything."""
    return {"title": title, "currency": currency, "selected": {}} | {s: {} for s in SECTIONS}


@dataclass(frozen=True)
class Site:
    """The part ``site`` of a session."""

    configurations: Mapping[str, Json] = field(default_factory=dict)  # by name
    active: str | None = None  # which of them the tools work on
    # by name what each was when it was created or loaded
    origins: Mapping[str, Json] = field(default_factory=dict)
    # the sites before the last writes, the latest last, without their own history
    before: tuple["Site", ...] = ()

    def written(self, **changes: Any) -> "Site":
        """Return the site after a write, which undo takes back."""
        past = (*self.before, replace(self, before=()))[-MOST:]
        return replace(self, **changes, before=past)

    def named(self, name: str | None = None) -> tuple[str, Json]:
        """Return a configuration with its name; the active one where none is named."""
        chosen = self.active if name is None else name
        if chosen is None or chosen not in self.configurations:
            absent = f"there is no configuration {chosen!r}"
            said = absent if chosen else "no configuration is active"
            raise InputError(said, expected=_listed(self.configurations))
        return chosen, self.configurations[chosen]

    def to_json(self) -> str:
        """Return the canonical text."""
        return dumps_canonical(self.to_dict())

    @classmethod
    def from_json(cls, text: str) -> "Site":
        """Return what :meth:`to_json` gave."""
        return cls.from_dict(loads_strict(text, "site.json"))

    def to_dict(self) -> Json:
        """Return it as JSON has it."""
        own = {"active": self.active, "configurations": dict(self.configurations)}
        own["origins"] = dict(self.origins)
        return {**own, "before": [site.to_dict() for site in self.before]}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "Site":
        """Return what :meth:`to_dict` gave."""
        before = tuple(cls.from_dict(item) for item in data["before"])
        return cls(data["configurations"], data["active"], data["origins"], before)


@dataclass
class Draft:
    """A copy of the active configuration that a call may change."""

    site: Site
    name: str
    document: Json

    @classmethod
    def of(cls, state: State) -> "Draft":
        """Return that of a session."""
        site: Site = state.get("site")
        name, document = site.named()
        return cls(site, name, deepcopy(document))

    def finished(self) -> Site:
        """Return the site with what was changed."""
        changed = {**self.site.configurations, self.name: self.document}
        return self.site.written(configurations=changed)

    def chosen(self, kind: str, known: Mapping[str, Any], name: str | None) -> str:
        """Return which of some entries is meant: the named, the selected, or the only one."""
        wanted = name or self.document["selected"].get(kind)
        if wanted is None and len(known) == 1:
            wanted = next(iter(known))
        if wanted is None or wanted not in known:
            said = f"there is no {kind} {wanted!r}" if wanted else f"nothing says which {kind}"
            raise InputError(said, expected=_listed(known))
        return str(wanted)

    def refuse_used(self, name: str) -> None:
        """Refuse a name that another entry has; components and zones share one space of names."""
        for section in SECTIONS:
            if name in self.document[section]:
                kind = section.removesuffix("s")
                raise InputError(f"the name {name!r} is taken by a {kind}", expected="another id")


def _listed(names: Any) -> str:
    return ", ".join(names) or "none is there yet"


def group_of(entry: Mapping[str, Any]) -> str:
    """Return to which group of tools a component belongs."""
    model = entry["model"]
    return "building" if "domain" in entry else "hvac" if model in HVAC else "der"


def named_slots(entry: Mapping[str, Any]) -> Json:
    """Return what of a component a plant file has."""
    known = COMPONENTS[entry["model"]]
    names = (*known.slots, *known.connections, *known.options, "model", "align", "final_energy_min")
    return {key: value for key, value in entry.items() if key in names}


def leaves(tree: Any, place: str = "") -> Iterator[tuple[str, Any]]:
    """Yield what a document holds by its path, as ``components.chiller.rated_cop``."""
    if isinstance(tree, Mapping) and tree:
        for key, value in tree.items():
            yield from leaves(value, f"{place}.{key}" if place else str(key))
    else:
        yield place, tree


def differences(before: Json, after: Json) -> list[Json]:
    """Return by path what two documents do not share, null where one has nothing."""
    one, other = dict(leaves(before)), dict(leaves(after))
    paths = [path for path in {**one, **other} if one.get(path) != other.get(path)]
    return [{"path": p, "before": one.get(p), "after": other.get(p)} for p in paths]
