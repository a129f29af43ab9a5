"""Tools that add, change, remove, list and select what a configuration consists of.

Seven groups by one grammar: a :class:`Kind` says where its entries stand, which arguments they
take and what becomes of these.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from engiagent.errors import InputError
from engiagent.io.schemawords import OBJECT, TEXT, TEXTS, by_name, list_of, maybe, record
from engiagent.slots import COMPONENTS
from engiagent.tools.registry import Argument, Json, Outcome, State, Work, tool
from engiagent.tools.site.document import Draft, group_of
from engiagent.tools.site.plants import DRIVEN
from engiagent.tools.site.slots import (
    DER,
    ELECTRICAL,
    HVAC,
    OTHERS,
    THERMAL,
    WATER,
    described,
    filled,
    refuse_lacking,
    slot_arguments,
)

ID: Final[Json] = {"type": "string", "pattern": "^[A-Za-z][A-Za-z0-9_]*$", "maxLength": 60}
IDS: Final[Json] = {"type": "array", "items": ID, "minItems": 1, "maxItems": 200}
WORDS: Final[Json] = {"type": "string", "minLength": 1, "maxLength": 200}
_PLACES: Final = ("zone", "bus", "heat_bus", "cooling_bus", "fuel_bus")
_OWN: Final = ("id", "kind", "building", "buildings", "others", "comfort_min", "comfort_max")
_ENTRY: Final = record({"id": TEXT, "entry": OBJECT})
_SLOT: Final = record({"name": TEXT, "kind": TEXT, "meaning": TEXT}, more=True)


def number(name: str, about: str, unit: str, **limits: float) -> Argument:
    """Return an argument that is a number; ``limits`` go by the words of JSON Schema."""
    return Argument(name, {"type": "number", **limits}, about, unit=unit)


def hour(name: str, about: str) -> Argument:
    """Return an argument that is a time of the day."""
    return number(name, about, "h", minimum=0, maximum=24)


def word(name: str, about: str, *values: str, required: bool = False) -> Argument:
    """Return an argument that is one of some words; the first of them is the default."""
    usual = "" if required else f"; {values[0]} without it"
    schema = {"type": "string", "enum": list(values)}
    return Argument(name, schema, f"{about}{usual}.", required=required)


Fill = Callable[[Draft, Json, Json], Json]
"""From a draft, the entry as it is and the arguments to the entry as it becomes."""


@dataclass(frozen=True)
class Kind:
    """What the tools of a group have in common.

    Attributes
    ----------
    group, noun, section
        Of the tools, of an entry in words, and where entries stand in a configuration.
    arguments
        What an entry takes; all of it can be changed but ``kind``.
    fill
        What becomes of arguments.
    has
        Whether an entry of the section belongs to the group.
    """

    group: str
    noun: str
    section: str
    arguments: tuple[Argument, ...]
    fill: Fill
    has: Callable[[Json], bool] = lambda entry: True
    models: tuple[str, ...] = ()

    @property
    def changed(self) -> tuple[Argument, ...]:
        """What an update takes."""
        ids = Argument("id", ID, f"Which {self.noun}; the selected one without it.")
        own = (a for a in self.arguments if a.name != "kind")
        return (ids, *(Argument(a.name, a.schema, a.description, a.unit) for a in own))

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


def grammar(kind: Kind) -> None:
    """Register update, remove, query and select of a group."""

    @written(
        kind,
        *kind.changed,
        name="update",
        about=f"Change a {kind.noun} of the active configuration; what is not given stays.",
    )
    def update(state: State, given: Json) -> Outcome:
        draft = Draft.of(state)
        name = kind.of(draft, given.get("id"))
        entry = draft.document[kind.section][name]
        return kind.put(draft, name, kind.fill(draft, entry, {**given, "id": name}))

    @tool(
        "write",
        Argument("id", ID, f"Which {kind.noun}.", required=True),
        returns=record({"removed": TEXT, "left": TEXTS}),
        needs=("site",),
        name=f"{kind.group}_remove",
        group=kind.group,
        about=f"Remove a {kind.noun} that nothing else of the active configuration names.",
        repeatable=False,
        writes=("site",),
    )
    def remove(state: State, given: Json) -> Outcome:
        draft = Draft.of(state)
        name = kind.of(draft, given["id"])
        return removed(draft, kind, name)

    @tool(
        "read",
        Argument("id", ID, f"Which {kind.noun}; all without it."),
        *_kinds(kind),
        returns=record(
            {"selected": maybe(TEXT), "entries": by_name(OBJECT)}, {"slots": list_of(_SLOT)}
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


def removed(draft: Draft, kind: Kind, name: str) -> Outcome:
    """Return the outcome of removing an entry that nothing names."""
    document = draft.document
    rest = {key: value for key, value in document.items() if key != "selected"}
    users = [
        other
        for section, entries in rest.items()
        for other, entry in (entries.items() if isinstance(entries, Mapping) else ())
        if (section, other) != (kind.section, name) and _names(entry, name)
    ]
    if users:
        said = f"{kind.noun} {name!r} is named by {', '.join(users)}"
        raise InputError(said, expected="these removed or changed first")
    del document[kind.section][name]
    document["selected"] = {k: v for k, v in document["selected"].items() if v != name}
    left = [n for n, e in document[kind.section].items() if kind.has(e)]
    return Outcome({"removed": name, "left": left}, {"site": draft.finished()})


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
    title = {"title": given["title"]} if "title" in given else {}
    return {**entry, **title, **filled("grid", slots, (), draft.document["currency"])}


def _building(draft: Draft, entry: Json, given: Json) -> Json:
    cluster = given.get("cluster", entry.get("cluster"))
    cluster = draft.chosen("cluster", draft.document["clusters"], cluster)
    if "zone" in given:
        zones = {n: e for n, e in draft.document["components"].items() if "domain" in e}
        zone = draft.chosen("zone", zones, given["zone"])
        own: Json = {k: given[k] for k in ("others", "comfort_min", "comfort_max") if k in given}
        draft.document["components"][zone] = _component(draft, zones[zone], {"id": zone, **own})
    title = {"title": given["title"]} if "title" in given else {}
    return {**entry, "cluster": cluster, **title}


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
    del found["id"]
    document["selected"].setdefault("environment", given["id"])
    return found


_TITLE: Final = Argument("title", WORDS, "What to call it for people.")
_COMFORT: Final = (
    number("comfort_min", "Least temperature for comfort, a requirement.", "degC"),
    number("comfort_max", "Largest temperature for comfort, a requirement.", "degC"),
)
CLUSTER: Final = Kind(
    "cluster", "cluster", "clusters", (_TITLE, *slot_arguments(("grid",))), _cluster
)
BUILDING: Final = Kind(
    "building",
    "building",
    "buildings",
    (Argument("cluster", ID, "To which cluster it belongs; the selected one without it."), _TITLE),
    _building,
)
ENVIRONMENT: Final = Kind(
    "environment",
    "environment",
    "environments",
    (
        Argument(
            "start",
            {"type": "string", "pattern": r"^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d)?)?$"},
            "When it begins, as 2026-07-06T00:00.",
            required=True,
        ),
        number("step", "Length of a period; 60 without it.", "min", minimum=1, maximum=60),
        number("days", "How long it is; 1 without it.", "d", exclusiveMinimum=0, maximum=366),
        Argument("cluster", ID, "The cluster that it runs; all without it."),
        *(
            Argument(kind, ID, f"The disturbance that gives its {kind}.")
            for kind in ("weather", "price", "occupancy")
        ),
    ),
    _environment,
)


# -- components -----------------------------------------------------------------------------------


def _component(draft: Draft, entry: Json, given: Json) -> Json:
    document = draft.document
    model = entry.get("model") or given["kind"]
    slots = {k: v for k, v in given.items() if k not in (*_OWN, "domain", "neighbours")}
    own = filled(model, slots, given.get("others", ()), document["currency"])
    found = {"model": model, **({"domain": given["domain"]} if "domain" in given else {})}
    wanted = given.get("buildings") or [given.get("building")]
    if not entry or "building" in given or "buildings" in given:
        found["buildings"] = [draft.chosen("building", document["buildings"], n) for n in wanted]
    found = {**entry, **found, **own}
    for key in ("comfort_min", "comfort_max"):
        if key in given:
            _refuse_no_comfort(model)
            found |= {key: f"{given[key]:g} degC"}
            if model == "zone_5r1c":
                found[key.replace("comfort", "temperature")] = found[key]
    zones = {n: e for n, e in document["components"].items() if e.get("domain") == "thermal"}
    if "zone" in own:
        found["zone"] = draft.chosen("zone", zones, str(own["zone"]))
    if "neighbours" in given:
        pairs = dict(text.split("=", 1) for text in given["neighbours"])
        found["neighbours"] = {
            draft.chosen("zone", zones, n.strip()): v.strip() for n, v in pairs.items()
        }
    driven = [slot for owner, slot in DRIVEN if owner == model]
    refuse_lacking(model, given["id"], found, driven)
    return found


def _refuse_no_comfort(model: str) -> None:
    if model not in THERMAL:
        raise InputError(f"a {model} has no comfort", expected="a thermal zone")


def _system(group: str, noun: str, models: tuple[str, ...]) -> Kind:
    places = {p for m in models for p in COMPONENTS[m].connections if p in _PLACES}
    about = {
        "zone": "The thermal zone that it serves.",
        **{p: f"The bus, by any name, of its {p.removesuffix('_bus')}." for p in _PLACES[1:]},
        "bus": "The bus of electricity, by any name; that of its cluster without it.",
    }
    return Kind(
        group,
        noun,
        "components",
        (
            Argument("kind", {"type": "string", "enum": list(models)}, "Its model.", required=True),
            Argument("buildings", IDS, "To which buildings; the selected one without it."),
            *(Argument(p, ID, about[p]) for p in _PLACES if p in places),
            *slot_arguments(models),
            OTHERS,
        ),
        _component,
        lambda entry: group_of(entry) == group,
        models,
    )


HVAC_SYSTEM: Final = _system("hvac", "HVAC system", HVAC)
DER_SYSTEM: Final = _system("der", "DER system", DER)


def _zone(domain: str, models: tuple[str, ...], *more: Argument) -> None:
    """Register the tool that adds zones of a domain."""
    own = Kind("building", f"{domain} zone", "components", (), _component)
    buses = {p for m in models for p in COMPONENTS[m].connections if p in _PLACES}
    adding(
        own,
        f"add_{domain}_zone",
        f"Add a {domain} zone to a building.",
        ("domain", domain),
        ("kind", models[0]),
        arguments=(
            word("kind", "Its model", *models),
            Argument("building", ID, "To which building; the selected one without it."),
            *(Argument(p, ID, "The bus that it is on, by any name.") for p in sorted(buses)),
            *slot_arguments(models, "temperature_min", "temperature_max"),
            *more,
            OTHERS,
        ),
    )


_NEIGHBOURS: Final = Argument(
    "neighbours",
    {"type": "array", "items": {"type": "string", "pattern": r"^\w+ ?=.+$"}, "maxItems": 50},
    "Other zones with the thermal resistance to each, as 'corridor=2 K/kW'.",
)
_ZONE_ONLY: Final = (
    Argument("zone", ID, "A zone of it to change, by 'others' and the limits of comfort."),
    OTHERS,
    *_COMFORT,
)


def _register() -> None:
    adding(CLUSTER, "add", "Add a cluster: buildings behind one connection to the grid.")
    adding(BUILDING, "add", "Add a building to a cluster.")
    adding(ENVIRONMENT, "add", "Add an environment: a time, and what drives the site in it.")
    adding(HVAC_SYSTEM, "add", "Add a system that heats, cools or moves air or water.")
    adding(
        DER_SYSTEM, "add", "Add a generator, a store of electricity, a vehicle or a flexible load."
    )
    _zone("thermal", THERMAL, _NEIGHBOURS, *_COMFORT)
    _zone("electrical", ELECTRICAL)
    _zone("water", WATER)
    changed = Kind(
        "building", "building", "buildings", (*BUILDING.arguments, *_ZONE_ONLY), _building
    )
    for kind in (CLUSTER, changed, ENVIRONMENT, HVAC_SYSTEM, DER_SYSTEM):
        grammar(kind)
    for kind in (HVAC_SYSTEM, DER_SYSTEM):
        _assigning(kind)


def _assigning(kind: Kind) -> None:
    @written(
        kind,
        Argument("id", ID, f"Which {kind.noun}; the selected one without it."),
        Argument("buildings", IDS, "The buildings that it belongs to from now on.", required=True),
        name="assign_to_buildings",
        about=f"Assign a {kind.noun} to buildings; the first says on which cluster it is.",
    )
    def assign(state: State, given: Json) -> Outcome:
        draft = Draft.of(state)
        name = kind.of(draft, given.get("id"))
        entry = draft.document["components"][name]
        names = [
            draft.chosen("building", draft.document["buildings"], n) for n in given["buildings"]
        ]
        return kind.put(draft, name, {**entry, "buildings": names})


@tool(
    "write",
    Argument("id", ID, "Which zone.", required=True),
    returns=record({"removed": TEXT, "left": TEXTS}),
    needs=("site",),
    name="building_remove_zone",
    group="building",
    repeatable=False,
    writes=("site",),
)
def remove_zone(state: State, given: Json) -> Outcome:
    """Remove a zone of a building that no system serves."""
    draft = Draft.of(state)
    zones = Kind("building", "zone", "components", (), _component, lambda e: "domain" in e)
    name = draft.chosen(
        "zone", {n: e for n, e in draft.document["components"].items() if zones.has(e)}, given["id"]
    )
    return removed(draft, zones, name)


_register()
