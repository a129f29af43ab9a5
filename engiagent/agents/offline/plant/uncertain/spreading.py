"""A model for each scenario: what is decided first stands once, everything else in each of them."""

import re
from collections.abc import Callable, Iterable
from typing import Any, Final

from engiagent.agents.offline.builder import Builder
from engiagent.agents.offline.draft import Json
from engiagent.agents.offline.plant.system import STORES, System
from engiagent.agents.offline.plant.uncertain.ahead import Ahead
from engiagent.agents.offline.plant.uncertain.committing import MARKET
from engiagent.agents.offline.plant.uncertain.scenarios import Group
from engiagent.agents.offline.plant.uncertain.stages import Clause, phrases
from engiagent.agents.offline.plant.units import Instance

_NAME: Final = re.compile(r"'[^']*'|\[[^\[\]]*\]|[A-Za-z_]\w*")
_TEXTS: Final = ("value", "where", "lower", "upper", "expression")


def over_scenarios(system: System, objective: Json | None) -> Json | None:
    """Write out a model that was built for one scenario for all of them.

    Parameters
    ----------
    system
        The model of the first scenario; its parts are replaced.
    objective
        Of that scenario; None when there is none.

    Returns
    -------
    The objective over all scenarios.
    """
    ahead: Ahead | None = system.reader.ahead
    if ahead is None:
        return objective
    first = _first_stage(system, ahead)
    builder = system.builder
    if objective is not None and "expression" not in objective:
        builder.draft.doubt(0, "an objective of several goals over scenarios")
        return objective
    copied = _copied(builder, ahead, first)
    renames = [_renaming(builder, copied, label) for label in ahead.scenarios.labels]
    _parameters(builder, ahead, copied, renames)
    for parts, name in ((builder.sets, "name"), (builder.components, "name"),
                        (builder.variables, "name"), (builder.constraints, "constraint_id"),
                        (builder.expressions, "name")):  # fmt: skip
        parts[:] = _spread(parts, name, renames, ahead)
    _decided_once(system, first)
    builder.sets.append(ahead.scenarios.declared(builder.draft))
    return None if objective is None else _objective(builder, ahead, objective, renames)


# --- what is decided when ------------------------------------------------------------------------


def _first_stage(system: System, ahead: Ahead) -> set[str]:
    """Return the names of what is decided first; report units of which it is not said."""
    plant, stages = system.reader.plant, ahead.stages
    own = ahead.commitment.lines if ahead.commitment is not None else set()
    fixed = [clause for clause in stages.ahead if clause[0] not in own]
    named = {kind: _named(system, lines) for kind, lines in
             (("first", stages.first), ("ahead", fixed), ("later", stages.later))}  # fmt: skip
    deciding = [i for i in plant.instances
                if i.unit.component in STORES or i.unit.card.get("output")]  # fmt: skip
    first = named["first"] | named["ahead"]
    if stages.whole is not None:
        first |= {i.name for i in deciding} - named["later"]
    for instance in deciding:
        name, line = instance.name, _line_of(system, instance)
        if name in first and name in named["later"]:
            system.builder.draft.doubt(line, f"is {name} decided before or after it is known?")
        if name not in first | named["later"] and stages.rest is None:
            system.builder.draft.doubt(
                line, f"may {name} wait until it is known which scenario comes?"
            )
    first = {"commitment"} | (first & {i.name for i in deciding})
    known = [i.name for i in plant.instances]
    for part in (*system.builder.variables, *system.builder.components):
        if _owner(part["name"], (*known, MARKET)) is None and stages.rest is None:
            shown = part["name"].replace("_", " ")
            system.builder.draft.doubt(0, f"is the {shown} decided before or after it is known?")
    return first


def _named(system: System, clauses: Iterable[Clause]) -> set[str]:
    """Return the units that some clauses speak of."""
    found = set()
    for n, first, last in clauses:
        tokens = system.builder.draft.lines[n].tokens[first:last]
        text = " ".join(t.text.removesuffix("'s") for t in tokens)
        for name in ("same", "before", "after", "whatever"):  # 'whatever the wind does'
            text = phrases()[name].sub("~", text)
        said = system.reader.marked(n).concepts[first:last]
        kinds = {c[1:] for c in said if c.startswith("@")} - {"commitment"}
        named = {i.name for i in system.reader.plant.instances if i.finder.search(text)}
        if not kinds and not named and {"it", "its", "they", "their"} & set(text.split()):
            kinds = {system.reader.about(n, first + 1) or ""}
        for kind in kinds:
            units = system.reader.plant.of(kind)
            named |= {units[0].name} if len(units) == 1 else set()
        found |= named
    return found


def _line_of(system: System, instance: Instance) -> int:
    lines = [r.line for r in system.builder.draft.readings if r.owner == instance.name]
    return max(min(lines, default=0), 0)


def _decided_once(system: System, first: set[str]) -> None:
    """Report a unit that is decided first and yet rests on what differs."""
    names = [c["name"] for c in system.builder.components]
    for instance in system.reader.plant.instances:
        if instance.name in first and names.count(instance.name) > 1:
            line = _line_of(system, instance)
            system.builder.draft.doubt(line, f"{instance.name} is decided before what it rests on")


# --- copies --------------------------------------------------------------------------------------


def _copied(builder: Builder, ahead: Ahead, first: set[str]) -> set[str]:
    """Return the names of parts that differ from scenario to scenario."""
    roots = {id(g.merged.source) for g in ahead.scenarios.groups}
    copied = {p["name"] for p in builder.parameters if id(p.get("source_reference")) in roots}
    copied |= {c["name"] for c in builder.components if c["name"] not in first}
    copied |= {v["name"] for v in builder.variables if _owner(v["name"], first) is None}
    names = _names(builder)
    while True:
        known = len(copied)
        for part in (*builder.parameters, *builder.sets, *builder.expressions):
            texts = [str(part[key]) for key in _TEXTS if isinstance(part.get(key), str)]
            if any(_refers(text, copied, names) for text in texts):
                copied.add(part["name"])
        if len(copied) == known:
            return copied


def _owner(name: str, units: Iterable[str]) -> str | None:
    """Return the unit of which a variable is, by the longest name that it begins with."""
    fitting = [u for u in units if name == u or name.startswith(f"{u}_")]
    return max(fitting, key=len, default=None)


def _refers(text: str, copied: set[str], names: set[str]) -> bool:
    return any(
        name in copied or (name not in names and _owner(name, copied))
        for name in _NAME.findall(text)
    )


def _names(builder: Builder) -> set[str]:
    parts = (*builder.parameters, *builder.sets, *builder.variables, *builder.expressions)
    return {part["name"] for part in (*parts, *builder.components)}


def _renaming(builder: Builder, copied: set[str], label: str) -> Callable[[str], str]:
    """Return how names stand in one scenario; texts without a name that differs stay the same."""
    components = {c["name"] for c in builder.components}
    every = _names(builder)

    def one(match: re.Match[str]) -> str:
        name = match[0]
        if name in copied:
            return f"{name}_{label}"
        owner = None if name in every else _owner(name, components)
        if owner is not None and owner in copied:
            return f"{owner}_{label}{name[len(owner) :]}"
        return name

    return lambda text: _NAME.sub(one, text)


def _renamed(value: Any, rename: Callable[[str], str]) -> Any:
    """Return a part with its names as they stand in one scenario; what it rests on stays."""
    if isinstance(value, str):
        return rename(value)
    if isinstance(value, list):
        return [_renamed(entry, rename) for entry in value]
    if isinstance(value, dict):
        kept = ("source_reference", "description", "unit", "category", "quantity", "model", "role")
        return {k: v if k in kept else _renamed(v, rename) for k, v in value.items()}
    return value


def _spread(
    parts: list[Json], name: str, renames: list[Callable[[str], str]], ahead: Ahead
) -> list[Json]:
    """Return parts with a copy for each scenario of those that differ."""
    found: list[Json] = []
    for part in parts:
        for rename, label in zip(renames, ahead.scenarios.labels, strict=True):
            made = {k: (_renamed(v, rename) if k != "name" or name == "name" else v)
                    for k, v in part.items() if k != "constraint_id"}  # fmt: skip
            made = _kept(part, made)
            same = {k: v for k, v in part.items() if k != "constraint_id"} == made
            if name == "constraint_id":
                shown = part["constraint_id"] if same else f"{part['constraint_id']}_{label}"
                made = {"constraint_id": shown} | made
            elif not same and "quantity" in made:
                unit, _, series = made["quantity"].partition(".")
                made["quantity"] = f"{unit}_{label}.{series}"
            found.append(made)
            if same:
                break
    return found


def _kept(part: Json, made: Json) -> Json:
    """Return a copy with the fields of its part that are no expressions."""
    fixed = ("source_reference", "description", "unit", "category", "quantity", "model", "role",
             "kind", "type", "of", "start", "step", "hard")  # fmt: skip
    return {k: part[k] if k in fixed and k in part else v for k, v in made.items()}


def _parameters(
    builder: Builder, ahead: Ahead, copied: set[str], renames: list[Callable[[str], str]]
) -> None:
    """Give every scenario its own parameters, with its own columns behind them."""
    groups = {id(g.merged.source): g for g in ahead.scenarios.groups}
    found: list[Json] = []
    for entry in builder.parameters:
        if entry["name"] not in copied:
            found.append(entry)
            continue
        group = groups.get(id(entry.get("source_reference")))
        for k, rename in enumerate(renames):
            made = {**entry, "name": rename(entry["name"])}
            if isinstance(entry.get("value"), str):
                made["value"] = rename(entry["value"])
            if group is not None:
                made |= _column(group, k)
            if isinstance(made.get("source_reference"), dict) and group is None:
                made["source_reference"] = _rested(made["source_reference"], groups, k)
            found.append(made)
    for k, entry in enumerate(found, 1):
        entry["param_id"] = f"PARAM_{k:02d}"
    builder.parameters[:] = found


def _column(group: Group, k: int) -> Json:
    """Return the values of a scenario, and where they stand."""
    column = group.columns[k]
    if column.data is not None:
        return {"data": column.data, "source_reference": column.source}
    return {"value": list(column.numbers or ()), "source_reference": column.source}


def _rested(source: Any, groups: dict[int, Group], k: int) -> Any:
    """Return what a derived parameter rests on, in one scenario."""
    if isinstance(source, list):
        return [_rested(entry, groups, k) for entry in source]
    if id(source) in groups:
        return groups[id(source)].columns[k].source
    if isinstance(source, dict) and "of" in source:
        return {**source, "of": _rested(source["of"], groups, k)}
    return source


def _objective(
    builder: Builder, ahead: Ahead, objective: Json, renames: list[Callable[[str], str]]
) -> Json:
    """Return the objective: the outcome of each scenario, and how they count together."""
    labels = ahead.scenarios.labels
    for rename, label in zip(renames, labels, strict=True):
        builder.expressions.append(
            {"name": f"outcome_{label}", "expression": rename(objective["expression"]),
             "unit": objective["unit"]}
        )  # fmt: skip
    *others, last = labels
    text = f"outcome_{last}"
    for label in reversed(others):
        inner = f"({text})" if " if " in text else text
        text = f"outcome_{label} if s == '{label}' else {inner}"
    found = {**objective, "expression": text, "scenario": "s in S"}
    if ahead.risk is not None:
        found["risk"] = ahead.risk.to_json()
    return found
