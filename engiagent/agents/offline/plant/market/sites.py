"""What a text says of its columns, as loads and sources that no other words speak of."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise

from engiagent.agents.offline.amounts import kind_of
from engiagent.agents.offline.draft import Draft
from engiagent.agents.offline.grids import Column
from engiagent.agents.offline.plant.columns import bare_demand, described_place, marked_text
from engiagent.agents.offline.plant.language.reading import plain_text
from engiagent.agents.offline.plant.language.words import mark, vocabulary
from engiagent.agents.offline.plant.units import Instance, Plant, nouns, pattern_of
from engiagent.agents.offline.series import description

_FLOWS = ("power", "energy")


def with_described(plant: Plant, columns: Sequence[Column], draft: Draft) -> Plant:
    """Add the loads and sources that only the words behind a column's name speak of."""
    present = {i.unit.component for i in plant.instances}
    added = []
    for column in columns:
        behind, _ = description(draft, column)
        said = marked_text(behind.lower()).said() if behind else frozenset()
        wanted = {c[1:] for c in said if c.startswith("@")}
        if "demand" in said and not wanted & {"load", "heat_load", "cooling_load"}:
            said |= marked_text(plain_text(column.name)).said() & {"heat", "cool"}
            kind = "heat_load" if "heat" in said else "cooling_load" if "cool" in said else "load"
            wanted.add(kind)
        if column.unit and kind_of(column.unit) not in _FLOWS:
            continue
        for component in sorted(wanted - present):
            unit = plant.units.get(component)
            if unit is None or not unit.card.get("site") or component == "grid":
                continue
            present.add(component)
            added.append(Instance(component, unit, pattern_of(unit.nouns)))
    return replace(plant, instances=(*plant.instances, *added)) if added else plant


def without_netted(
    plant: Plant, columns: Sequence[Column], draft: Draft, currency: str | None
) -> Plant:
    """Leave out sun and wind that a column of a net load already holds."""
    placed = {
        found[0].unit.component
        for column in columns
        if (found := described_place(draft, plant, column, currency)) is not None
    }
    words = vocabulary(nouns())
    netted: set[str] = set()
    for line in draft.lines:
        said = mark(line, words).said()
        if "less" in said and re.search(r"(?<![a-z])(?:net|residual)(?![a-z])", line.line):
            netted |= {c for c in ("pv", "wind") if f"@{c}" in said and c not in placed}
    kept = tuple(i for i in plant.instances if i.unit.component not in netted)
    return replace(plant, instances=kept)


def with_demand(
    plant: Plant, columns: Sequence[Column], draft: Draft, currency: str | None
) -> tuple[Plant, Mapping[str, tuple[str, str]]]:
    """Add the load that a sentence asks to meet, where one column alone can be it.

    Returns
    -------
    plant, settled
        ``settled`` says which slot of which unit that column is.
    """
    kinds = {i.unit.component for i in plant.instances}
    if kinds & {"load", "heat_load", "cooling_load", "zone", "pv", "wind"} or not _asked_for(draft):
        return plant, {}
    free = [
        column
        for column in columns
        if kind_of(column.unit or "1") in _FLOWS
        and described_place(draft, plant, column, currency) is None
    ]
    if len(free) != 1:
        return plant, {}
    component, slot = _OF_DEMAND[bare_demand(plant, free[0].unit)]
    unit = plant.units[component]
    load = Instance(component, unit, pattern_of(unit.nouns))
    draft.assume(f"the column {free[0].name} is the demand that has to be met")
    return replace(plant, instances=(*plant.instances, load)), {free[0].name: (component, slot)}


_OF_DEMAND = {
    "electric": ("load", "power"),
    "heat": ("heat_load", "heat"),
    "cool": ("cooling_load", "cooling"),
}


def _asked_for(draft: Draft) -> bool:
    """Whether a sentence asks that something is supplied, fed or covered."""
    words = vocabulary(nouns())
    for line in draft.lines:
        marked = mark(line, words)
        ends = [i for i, t in enumerate(line.tokens) if t.text == ";"]
        for first, last in pairwise([0, *ends, len(line.tokens)]):
            said = marked.said(first, last)
            if {"must", "meet"} <= said and not said & {"not", "only"}:
                return not line.sentence.is_heading
    return False
