"""Tools that add, change, remove, list and select what a configuration consists of.

Seven groups by one grammar: a :class:`Kind` says where its entries stand, which arguments they
take and what becomes of these.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final

from engiagent.environment.interface import amount
from engiagent.errors import InputError
from engiagent.slots import COMPONENTS
from engiagent.tools.registry import Argument, Json, Outcome, State, Work, shape, tool
from engiagent.tools.site.arguments import (
    DER,
    ELECTRICAL,
    HVAC,
    ID,
    THERMAL,
    WATER,
    described,
    filled,
    refuse_lacking,
    slot_arguments,
    stated,
)
from engiagent.tools.site.document import Draft, group_of
from engiagent.tools.site.plants import DRIVEN

_LIMITS: Final = ("comfort_min", "comfort_max")
_OWN: Final = ("id", "kind", "building", "buildings", "others", *_LIMITS)
_ENTRY: Final = shape("id: text; entry: object")
_SLOT: Final = shape("name kind meaning: text", more=True)

Fill = Callable[[Draft, Json, Json], Json]
"""From a draft, the entry as it is and the arguments to the entry as it becomes."""


@dataclass(frozen=True)
class Kind:
    """What the tools of a group have in common."""

    group: str
    noun: str  # an entry in words
    section: str  # where entries stand in a configuration
    arguments: tuple[Argument, ...]  # what an entry takes; all can be changed but ``kind``
    fill: Fill  # what becomes of arguments
    has: Callable[[Json], bool] = lambda entry: True  # whether an entry belongs to the group
    models: tuple[str, ...] = ()

    @property
    def meant(self) -> Argument:
        """Which entry a call is about."""
        return Argument("id", ID, f"Which {self.noun}; the selected or only one without it.")

    def of(self, draft: Draft, name: str | None) -> str:
        """Return the name of the entry that a call means."""
        known = {n: e for n, e in draft.document[self.section].items() if self.has(e)}
        return draft.chosen(self.group, known, name)

    def put(self, draft: Draft, name: str, entry: Json) -> Outcome:
        """Return the outcome of a call that writes an entry."""
        draft.document[self.section][name] = entry
        return Outcome({"id": name, "entry": entry}, {"site": draft.finished()})


def written(kind: Kind, *arguments: Argument, name: str, about: str) -> Callable[[Work], Work]:
    """Register a tool of a group that writes an entry."""
    return tool(
        "write",
        *arguments,
        returns=_ENTRY,
        needs=("site",),
        name=f"{kind.group}_{name}",
        group=kind.group,
        about=about,
        repeatable=not name.startswith("add"),
        writes=("site",),
    )


def adding(
    kind: Kind, name: str, about: str, *fixed: tuple[str, Any], arguments: Any = None
) -> None:
    """Register a tool that adds an entry; ``fixed`` are values that the tool itself stands for."""
    own = kind.arguments if arguments is None else arguments

    @written(
        kind,
        Argument("id", ID, f"What to call the {kind.noun}.", required=True),
        *own,
        name=name,
        about=about,
    )
    def add(state: State, given: Json) -> Outcome:
        draft = Draft.of(state)
        draft.refuse_used(given["id"])
        return kind.put(draft, given["id"], kind.fill(draft, {}, {**dict(fixed), **given}))


def changing(kind: Kind, name: str, about: str, *arguments: Argument) -> None:
    """Register a tool that changes an entry in what is given."""

    @written(kind, kind.meant, *arguments, name=name, about=about)
    def change(state: State, given: Json) -> Outcome:
        draft = Draft.of(state)
        own = kind.of(draft, given.get("id"))
        entry = draft.document[kind.section][own]
        return kind.put(draft, own, kind.fill(draft, entry, {**given, "id": own}))


def grammar(kind: Kind) -> None:
    """Register update, remove, query and select of a group."""
    removing(kind)
    about = f"Change a {kind.noun} of the active configuration; what is not given stays."
    own = (replace(a, required=False) for a in kind.arguments if a.name != "kind")
    changing(kind, "update", about, *own)

    @tool(
        "read",
        Argument("id", ID, f"Which {kind.noun}; all without it."),
        *_kinds(kind),
        returns=shape(
            "selected: text or null; entries: by name object; slots?: list of slot", {"slot": _SLOT}
        ),
        needs=("site",),
        name=f"{kind.group}_query",
        group=kind.group,
        about=f"Return what the active configuration has of a {kind.noun}, or of all.",
    )
    def query(state: State, given: Json) -> Outcome:
        draft = Draft.of(state)
        known = draft.document[kind.section]
        names = [n for n, e in known.items() if kind.has(e)]
        if "id" in given:
            names = [kind.of(draft, given["id"])]
        content: Json = {
            "selected": draft.document["selected"].get(kind.group),
            "entries": {name: known[name] for name in names},
        }
        if "kind" in given:
            content["slots"] = list(described(given["kind"]))
        return Outcome(content)

    if kind.group == "controller":
        return

    @written(
        kind,
        Argument("id", ID, f"Which {kind.noun}.", required=True),
        name="select",
        about=_SELECTS.get(kind.group)
        or f"Select the {kind.noun} that is meant where a call of this configuration names none.",
    )
    def select(state: State, given: Json) -> Outcome:
        draft = Draft.of(state)
        name = kind.of(draft, given["id"])
        entry = draft.document[kind.section][name]
        if kind.group == "disturbance":
            environment = draft.chosen("environment", draft.document["environments"], None)
            draft.document["environments"][environment][entry["kind"]] = name
        else:
            draft.document["selected"][kind.group] = name
        return kind.put(draft, name, entry)


_SELECTS: Final = {
    "disturbance": "Select the weather, price or occupancy that drives the selected environment.",
    "environment": "Select the environment that simulations and plans run in.",
}


def _kinds(kind: Kind) -> tuple[Argument, ...]:
    if not kind.models:
        return ()
    about = "Also list slots with units and ranges, options and buses of this kind."
    return (Argument("kind", {"type": "string", "enum": list(kind.models)}, about),)


def removing(kind: Kind, word: str = "remove") -> None:
    """Register a tool that removes an entry which nothing names."""

    @tool(
        "write",
        Argument("id", ID, f"Which {kind.noun}.", required=True),
        returns=shape("removed: text; left: list of text"),
        needs=("site",),
        name=f"{kind.group}_{word}",
        group=kind.group,
        about=f"Remove a {kind.noun} that nothing else of the active configuration names.",
        repeatable=False,
        writes=("site",),
    )
    def remove(state: State, given: Json) -> Outcome:
        draft = Draft.of(state)
        name, document = kind.of(draft, given["id"]), draft.document
        users = list(_users(document, kind.section, name))
        if users:
            said = f"{kind.noun} {name!r} is named by {', '.join(users)}"
            raise InputError(said, expected="these removed or changed first")
        del document[kind.section][name]
        document["selected"] = {k: v for k, v in document["selected"].items() if v != name}
        left = [n for n, e in document[kind.section].items() if kind.has(e)]
        return Outcome({"removed": name, "left": left}, {"site": draft.finished()})


def _users(document: Json, section: str, name: str) -> Iterator[str]:
    """Yield the entries of a configuration that refer to one of its entries."""
    for other, entries in document.items():
        for user, entry in entries.items() if isinstance(entries, Mapping) else ():
            if other != "selected" and (other, user) != (section, name) and _names(entry, name):
                yield user


def _names(entry: Any, name: str) -> bool:
    """Whether an entry refers to a name, alone, in a list, as a key, or as ``name.quantity``."""
    if isinstance(entry, Mapping):
        return name in entry or any(_names(value, name) for value in entry.values())
    if isinstance(entry, list):
        return any(_names(item, name) for item in entry)
    return isinstance(entry, str) and (entry == name or f"{name}." in f" {entry}".replace("(", " "))


# -- clusters, buildings, environments ------------------------------------------------------------


def _cluster(draft: Draft, entry: Json, given: Json) -> Json:
    slots = {k: v for k, v in given.items() if k not in ("id", "title")}
    return {**entry, **_title(given), **filled("grid", slots, (), draft.document["currency"])}


def _title(given: Json) -> Json:
    return {"title": given["title"]} if "title" in given else {}


def _building(draft: Draft, entry: Json, given: Json) -> Json:
    cluster = given.get("cluster", entry.get("cluster"))
    cluster = draft.chosen("cluster", draft.document["clusters"], cluster)
    if "zone" in given:
        zones = {n: e for n, e in draft.document["components"].items() if "domain" in e}
        zone = draft.chosen("zone", zones, given["zone"])
        own: Json = {k: given[k] for k in ("others", *_LIMITS) if k in given}
        draft.document["components"][zone] = _component(draft, zones[zone], {"id": zone, **own})
    return {**entry, "cluster": cluster, **_title(given)}


def _environment(draft: Draft, entry: Json, given: Json) -> Json:
    found = {"step": "1 h", "days": 1, **entry}
    document = draft.document
    for key, value in given.items():
        if key == "cluster":
            value = draft.chosen("cluster", document["clusters"], value)
        elif key in ("weather", "price", "occupancy"):
            known = {n: e for n, e in document["disturbances"].items() if e["kind"] == key}
            value = draft.chosen(key, known, value)
        found[key] = f"{value:g} min" if key == "step" else value
    try:
        datetime.fromisoformat(found["start"])
    except ValueError as error:
        said = f"the start is no date: {error}"
        raise InputError(said, found=found["start"], expected="as 2026-07-06T00:00") from None
    del found["id"]
    document["selected"].setdefault("environment", given["id"])
    return found


CLUSTER: Final = Kind(
    "cluster", "cluster", "clusters", (*stated("titled"), *slot_arguments(("grid",))), _cluster
)
BUILDING: Final = Kind("building", "building", "buildings", stated("building"), _building)
ENVIRONMENT: Final = Kind(
    "environment", "environment", "environments", stated("environment"), _environment
)


# -- components -----------------------------------------------------------------------------------


def _component(draft: Draft, entry: Json, given: Json) -> Json:
    document = draft.document
    model = entry.get("model") or given["kind"]
    slots = {k: v for k, v in given.items() if k not in (*_OWN, "domain", "neighbours")}
    own = filled(model, slots, given.get("others", ()), document["currency"])
    found = {**entry, "model": model}
    found |= {"domain": given["domain"]} if "domain" in given else {}
    if not entry or "building" in given or "buildings" in given:
        wanted = given.get("buildings") or [given.get("building")]
        found["buildings"] = [draft.chosen("building", document["buildings"], n) for n in wanted]
    found |= {**own, **_comfort(model, given)}
    zones = {n: e for n, e in document["components"].items() if e.get("domain") == "thermal"}
    if "zone" in own:
        found["zone"] = draft.chosen("zone", zones, str(own["zone"]))
    for text in given.get("neighbours", ()):
        name, _, value = (part.strip() for part in text.partition("="))
        amount(value, f"the resistance to {name}", "K/kW")
        other = draft.chosen("zone", zones, name)
        found["neighbours"] = {**found.get("neighbours", {}), other: value}
    driven = [slot for owner, slot in DRIVEN if owner == model]
    refuse_lacking(model, given["id"], found, driven)
    return found


def _comfort(model: str, given: Json) -> Json:
    """Return the limits of comfort; where a model has slots for them, these too."""
    found: Json = {key: f"{given[key]:g} degC" for key in _LIMITS if key in given}
    if found and model not in THERMAL:
        raise InputError(f"a {model} has no comfort", expected="a thermal zone")
    slots = {key.replace("comfort", "temperature"): value for key, value in found.items()}
    return {**found, **(slots if model == "zone_5r1c" else {})}


def _places(models: Sequence[str]) -> tuple[Argument, ...]:
    """Return the arguments that buses and zones of some models are."""
    known = {place for model in models for place in COMPONENTS[model].connections}
    return tuple(a for a in stated("places") if a.name in known)


def _model(models: Sequence[str], *, required: bool = False) -> Argument:
    usual = "" if required else f"; {models[0]} without it"
    return Argument("kind", {"enum": list(models)}, f"Its model{usual}.", required=required)


def _system(group: str, noun: str, models: tuple[str, ...]) -> Kind:
    own = (_model(models, required=True), *stated("system"), *_places(models))
    slots = (*slot_arguments(models), *stated("others"))
    kind = Kind(group, noun, "components", (*own, *slots), _component, models=models)
    return replace(kind, has=lambda entry: group_of(entry) == group)


HVAC_SYSTEM: Final = _system("hvac", "HVAC system", HVAC)
DER_SYSTEM: Final = _system("der", "DER system", DER)


def _zone(domain: str, models: tuple[str, ...], *more: str) -> None:
    """Register the tool that adds zones of a domain."""
    adding(
        Kind("building", f"{domain} zone", "components", (), _component),
        f"add_{domain}_zone",
        f"Add a {domain} zone to a building.",
        ("domain", domain),
        ("kind", models[0]),
        arguments=(
            _model(models),
            *stated("in a building"),
            *_places(models),
            *slot_arguments(models, "temperature_min", "temperature_max"),
            *stated(*more, "others"),
        ),
    )


def _register() -> None:
    adding(CLUSTER, "add", "Add a cluster: buildings behind one connection to the grid.")
    adding(BUILDING, "add", "Add a building to a cluster.")
    adding(ENVIRONMENT, "add", "Add an environment: a time, and what drives the site in it.")
    adding(HVAC_SYSTEM, "add", "Add a system that heats, cools or moves air or water.")
    adding(
        DER_SYSTEM, "add", "Add a generator, a store of electricity, a vehicle or a flexible load."
    )
    _zone("thermal", THERMAL, "thermal zone", "comfort")
    _zone("electrical", ELECTRICAL)
    _zone("water", WATER)
    own = (*BUILDING.arguments, *stated("zone of a building", "comfort"))
    changed = replace(BUILDING, arguments=own)
    for kind in (CLUSTER, changed, ENVIRONMENT, HVAC_SYSTEM, DER_SYSTEM):
        grammar(kind)
    for kind in (HVAC_SYSTEM, DER_SYSTEM):
        about = f"Assign a {kind.noun} to buildings; the first says on which cluster it is."
        changing(kind, "assign_to_buildings", about, *stated("assigned to buildings"))
    zone = Kind("building", "zone", "components", (), _component, lambda e: "domain" in e)
    removing(zone, "remove_zone")


_register()
