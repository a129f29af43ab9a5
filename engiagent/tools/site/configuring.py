"""Tools on whole configurations: making, loading, saving, checking, comparing, taking back."""

import re
import tempfile
from copy import deepcopy
from pathlib import Path
from typing import Any, Final

from jsonschema import Draft202012Validator

from engiagent.blueprint.timeaxis import parse_step
from engiagent.errors import EngiagentError, InputError
from engiagent.io.files import write_atomic
from engiagent.io.plainyaml import dump_yaml, loads_yaml
from engiagent.io.schemawords import by_name
from engiagent.plant.site import Site as PlantSite
from engiagent.slots import COMPONENTS
from engiagent.tools.places import files_below, inside, new_folder
from engiagent.tools.registry import Held, Json, Outcome, State, declare_part, shape, tool
from engiagent.tools.site.arguments import stated
from engiagent.tools.site.document import SECTIONS, Site, differences, empty
from engiagent.tools.site.plants import Plant, reference, write_plant

GROUP: Final = "config"
CONFIGURATION: Final = "configuration.yaml"
FORM: Final = "engiagent-configuration/1"

_STATED: Final = shape("configuration: text; active: text or null; contents: object")
_WORDS: Final = {
    "change": shape("path: text; before after: any"),
    "row": shape("name title: text; active: flag; components: count"),
}
_COLUMN: Final = re.compile(r"([\w./-]+\.(?:csv|xlsx|parquet|nc))#")


declare_part("site", Held.text("config_create", "site.json", Site.to_json, Site.from_json))


def _site(state: State) -> Site:
    found: Site = state.get("site") if state.has("site") else Site()
    return found


def _stated(site: Site, name: str) -> Json:
    """Return what a caller is told of a configuration that is new."""
    document = site.configurations[name]
    contents = {section: list(document[section]) for section in SECTIONS}
    return {"configuration": name, "active": site.active, "contents": contents}


def _added(state: State, name: str, document: Json) -> Outcome:
    site = _site(state)
    if name in site.configurations:
        taken = ", ".join(site.configurations)
        raise InputError(f"there is a configuration {name!r}", expected=f"a name beside {taken}")
    new = site.written(
        configurations={**site.configurations, name: document},
        active=name,
        origins={**site.origins, name: document},
    )
    return Outcome(_stated(new, name), {"site": new})


@tool(
    "write",
    *stated("config_create"),
    returns=_STATED,
    uses=("site",),
    repeatable=False,
    writes=("site",),
)
def config_create(state: State, given: Json) -> Outcome:
    """Create a configuration and make it active: the reference test building, or an empty one.

    The reference is an office with one zone, a cooler with a COP of 3.2, PV, a battery of 10 kWh,
    two rates and three summer days; its systems are called cooling, pv and battery.
    """
    base = reference() if given.get("template", "reference") == "reference" else empty("A site")
    return _added(state, given["name"], {**base, "title": given.get("title", base["title"])})


@tool(
    "write",
    *stated("config_load"),
    returns=_STATED,
    uses=("site",),
    outside=True,
    repeatable=False,
    writes=("site",),
)
def config_load(state: State, given: Json) -> Outcome:
    """Load a configuration, a plant file or a cluster from the session's folder, and activate it.

    A plant file keeps all that it says: requirements, sizes to be chosen, cases, baseline, goal.
    """
    path = inside(state.root, given["path"])
    try:
        tree = loads_yaml(path.read_text(encoding="utf-8"), given["path"])
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"cannot read it: {error}", given["path"]) from None
    if isinstance(tree, dict) and tree.get("schema") == FORM:
        document = _read(tree, given["path"], state.root)
    else:
        document = _of_plant(path, tree, state.root)
    return _added(state, given["name"], document)


_ENTRIES: Final = {
    "environments": "start step: text; days: number",
    "clusters": "title?: text",
    "buildings": "cluster: text",
    "components": f"model: one of {', '.join(COMPONENTS)}",
    "controllers": "kind: text; systems: list of text",
    "disturbances": "kind form: text",
}
"""What entries of a configuration have at least, by section."""


def _read(tree: Json, file: str, root: Path) -> Json:
    """Return a configuration that config_save wrote; refuse what names what is not there."""
    document = {**empty("A site"), **{k: v for k, v in tree.items() if k != "schema"}}
    forms = {s: by_name(shape(fields, more=True)) for s, fields in _ENTRIES.items()}
    sections = "; ".join(f"{section}: {section}" for section in forms)
    schema = shape(f"{sections}; title currency: text; selected: object", forms, more=True)
    error = next(Draft202012Validator(schema).iter_errors(document), None)
    if error is not None:
        raise InputError(f"{error.json_path}: {error.message[:200]}", file)
    try:
        if document["selected"].get("environment") is not None:
            Plant(document, root).stated()
    except (KeyError, TypeError, ValueError) as wrong:
        raise InputError(f"the configuration does not hold together: {wrong}", file) from None
    return document


_DOMAINS: Final[dict[str, Json]] = {
    "thermal_zone": {"domain": "thermal"},
    "zone_5r1c": {"domain": "thermal"},
    "load": {"domain": "electrical"},
}


def _of_plant(path: Path, stated: Any, root: Path) -> Json:
    """Return the configuration that a plant file or a cluster is; grids are its clusters."""
    folder = path.parent.resolve().relative_to(root.resolve())
    place = "" if folder == Path() else f"{folder.as_posix()}/"
    tree = _moved(loads_yaml(PlantSite.load(path).to_yaml(), path.name), place)
    parts, horizon = tree["components"], tree["horizon"]
    grids = {name: entry for name, entry in parts.items() if entry["model"] == "grid"}
    clusters = {n: {k: v for k, v in e.items() if k != "model"} for n, e in grids.items()}
    clusters = clusters or {"site": {}}
    first, *_ = clusters
    buildings = {"building": {"cluster": first}}
    if "buildings" in stated:  # each has a grid of its own, as north_grid
        buildings = {name.rpartition("_")[0]: {"cluster": name} for name in clusters}
    chosen, *_ = buildings
    components = {
        name: {**entry, "buildings": [_owner(name, buildings)], **_DOMAINS.get(entry["model"], {})}
        for name, entry in parts.items()
        if name not in grids
    }
    days = float(horizon.pop("periods")) * parse_step(horizon["step"])[0] / 86400.0
    return {
        **empty(tree["title"], tree["currency"]),
        **{k: tree[k] for k in ("requirements", "goal", "baseline", "cases") if k in tree},
        **{"clusters": clusters, "buildings": buildings, "components": components},
        "environments": {"stated": {**horizon, "days": days}},
        "selected": {"environment": "stated", "building": chosen, "cluster": first},
    }


def _owner(name: str, buildings: Json) -> str:
    """Return the building of a component, by the beginning of its name."""
    return next((b for b in buildings if name.startswith(f"{b}_")), next(iter(buildings)))


def _moved(tree: Any, place: str) -> Any:
    """Return a plant file whose data files are named from the session's folder."""
    if isinstance(tree, dict):
        return {key: _moved(value, place) for key, value in tree.items()}
    if isinstance(tree, list):
        return [_moved(item, place) for item in tree]
    return _COLUMN.sub(rf"{place}\1#", tree) if isinstance(tree, str) else tree


@tool(
    "write",
    *stated("config_save"),
    returns=shape("configuration folder: text; files: list of text"),
    needs=("site",),
    outside=True,
    repeatable=False,
)
def config_save(state: State, given: Json) -> Outcome:
    """Save a configuration into a folder, with its plant file, data and rules of control.

    The plant file is what engiagent simulate, run and control take.
    """
    name, document = _site(state).named(given.get("name"))
    with new_folder(state.root, given["folder"]) as made:
        write_atomic(made / CONFIGURATION, dump_yaml({"schema": FORM, **document}))
        if document["selected"].get("environment"):
            write_plant(Plant(document, state.root), made)
    files = files_below(state.root, given["folder"])
    content = {"configuration": name, "folder": given["folder"], "files": list(files)}
    return Outcome(content, artefacts=files)


@tool(
    "read",
    *stated("configuration"),
    returns=shape("configuration: text; valid: flag; problems: list of text; components: count"),
    needs=("site",),
    outside=True,
)
def config_validate(state: State, given: Json) -> Outcome:
    """Say whether a configuration can be simulated and planned, and what is in the way."""
    name, document = _site(state).named(given.get("name"))
    problems: list[str] = []
    try:
        with tempfile.TemporaryDirectory() as made:
            write_plant(Plant(document, state.root), Path(made))
    except EngiagentError as error:
        problems = str(error).splitlines()
    content = {"configuration": name, "valid": not problems, "problems": problems}
    return Outcome({**content, "components": len(document["components"])})


@tool("write", *stated("config_set_active"), returns=_STATED, needs=("site",), writes=("site",))
def config_set_active(state: State, given: Json) -> Outcome:
    """Make a configuration the one that all other tools work on."""
    name, _ = _site(state).named(given["name"])
    site = _site(state).written(active=name)
    return Outcome(_stated(site, name), {"site": site})


@tool("read", returns=shape("configurations: list of row", _WORDS), uses=("site",))
def config_list(state: State, given: Json) -> Outcome:
    """List the configurations of the session."""
    site = _site(state)
    rows = []
    for name, document in site.configurations.items():
        row = {"name": name, "title": document["title"], "active": name == site.active}
        rows.append({**row, "components": len(document["components"])})
    return Outcome({"configurations": rows})


@tool(
    "read",
    *stated("config_query"),
    returns=shape("configuration: text; content: any"),
    needs=("site",),
)
def config_query(state: State, given: Json) -> Outcome:
    """Return a configuration as a document, or a part of it by its path."""
    name, document = _site(state).named(given.get("name"))
    found: Any = document
    for step in filter(None, given.get("path", "").split(".")):
        if not isinstance(found, dict) or step not in found:
            names = ", ".join(found) if isinstance(found, dict) else "no further step"
            raise InputError(f"there is no {step!r} in {given['path']}", expected=names or "none")
        found = found[step]
    return Outcome({"configuration": name, "content": deepcopy(found)})


@tool(
    "write",
    returns=shape(
        "active: text or null; configurations: list of text; changes: list of change", _WORDS
    ),
    needs=("site",),
    repeatable=False,
    writes=("site",),
)
def config_undo(state: State, given: Json) -> Outcome:
    """Take back the last write to the site; repeated, the one before it."""
    site = _site(state)
    if not site.before:
        raise InputError("there is nothing to undo", expected="a write before it")
    *rest, last = site.before
    restored = Site(last.configurations, last.active, last.origins, tuple(rest))
    changes = differences(dict(site.configurations), dict(restored.configurations))
    content = {"active": restored.active, "configurations": list(restored.configurations)}
    return Outcome({**content, "changes": changes}, {"site": restored})


@tool(
    "read",
    *stated("configuration"),
    returns=shape("configuration: text; changes: list of change", _WORDS),
    needs=("site",),
)
def config_diff(state: State, given: Json) -> Outcome:
    """List by path what differs in a configuration since the session created or loaded it."""
    name, document = _site(state).named(given.get("name"))
    changes = differences(_site(state).origins[name], document)
    return Outcome({"configuration": name, "changes": changes})
