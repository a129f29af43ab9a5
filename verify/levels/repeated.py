"""The components of a blueprint as physical units, one for each element of their further indices.

A unit of several is called ``store[A]``; its series are the slices of the component's.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from engiagent.blueprint.elaborate import Elaboration
from engiagent.blueprint.elements import ComponentDef, Core
from engiagent.blueprint.grammar import names_in, parse_binder
from engiagent.blueprint.placement import Placement, is_scenario, placement_of, respelled
from engiagent.blueprint.sets import IndexSet
from engiagent.slots import COMPONENTS
from engiagent.verify.requirements import Dynamics, Element, shared_name
from engiagent.verify.series import Series


def dynamics_of(core: Core, folder: Path | None) -> tuple[Dynamics, ...]:
    """Return the components of a blueprint, whose data lie in a folder, as physical units."""
    elaboration = Elaboration(core, folder)
    return tuple(unit for c in core.components for unit in _units(c, core, elaboration))


def _units(component: ComponentDef, core: Core, elaboration: Elaboration) -> Iterator[Dynamics]:
    options: Mapping[str, Any] = component.options or {}
    scheme = str(options.get("scheme", "exact"))
    given = _parameters(component)
    connections: Mapping[str, Any] = component.connections or {}
    place, model = placement_of(component, core), component.model
    kinds = {item.name: item for item in core.sets}
    alike = {c.name for c in core.components if placement_of(c, core).over}
    axes = (map(str, elaboration.index_set(member).labels) for _, member in place.over)
    for labels in product(*axes):
        if not labels:
            yield Dynamics(component.name, model, place.time, scheme, given, connections)
            continue
        chosen = {member: label for (_, member), label in zip(place.over, labels, strict=True)}
        scenario = tuple(chosen[member] for member in chosen if is_scenario(kinds, member))
        element = Element(component.name, chosen, scenario)
        bare = _bare(place, chosen, core)
        own = {k: respelled(v, bare, {}) if isinstance(v, str) else v for k, v in given.items()}
        suffix = f"[{','.join(labels)}]"
        joined_to = {
            port: f"{other}{suffix}"
            if isinstance(other, str) and other in alike
            else _of_unit(other, bare)
            for port, other in connections.items()
        }
        name = f"{component.name}{suffix}"
        yield Dynamics(name, model, place.time, scheme, own, joined_to, element=element)


def _parameters(component: ComponentDef) -> Mapping[str, Any]:
    """Return the slots of a component, with its options that say what it declares."""
    options: Mapping[str, Any] = component.options or {}
    known = COMPONENTS.get(component.model)
    slots = {} if known is None else known.executed_slots
    stated = {name: value for name, value in options.items() if name in slots}
    return {**component.parameters, **stated} if stated else component.parameters


def _bare(place: Placement, chosen: Mapping[str, str], core: Core) -> dict[str, str]:
    """Return what stands for the indices of a unit, and for parameters that vary with them."""
    labels = {member: ascii(label) for member, label in chosen.items()}  # formulas are ASCII
    result = {name: labels[member] for name, member in place.over}
    for parameter in core.parameters:
        members = [parse_binder(b).set if " in " in b else b for b in parameter.index]
        if labels.keys() & {*members}:
            indices = ", ".join(labels.get(member, "t") for member in members)
            result[parameter.name] = f"{parameter.name}[{indices}]"
    return result


def _of_unit(value: Any, bare: Mapping[str, str]) -> Any:
    """Return what a connection holds, as a given temperature by its name, for one unit."""
    if isinstance(value, Mapping):
        return {
            key: respelled(text, bare, {}) if names_in(text) & bare.keys() else text
            for key, text in value.items()
        }
    return value


def place_of(dims: Sequence[IndexSet], labels: Mapping[str, str]) -> tuple[int | slice, ...]:
    """Return where an array over some sets has the slice of a unit."""
    return tuple(
        list(map(str, dim.labels)).index(labels[dim.name]) if dim.name in labels else slice(None)
        for dim in dims
    )


def joined(found: Mapping[str, Series], units: Sequence[Dynamics]) -> dict[str, Series]:
    """Return series with those of single units put together to the component's.

    A component of which not every unit has been recomputed is left out.
    """
    result = dict(found)
    alike: dict[str, list[Dynamics]] = {}
    for unit in units:
        if unit.element is not None:
            alike.setdefault(unit.element.component, []).append(unit)
    for group in alike.values():
        elements = [unit.element for unit in group if unit.element is not None]
        sets = {m: len({e.labels[m] for e in elements}) for m in elements[0].labels}
        for name in [name for name in result if group[0].name in name]:
            whole = shared_name(name, elements[0])
            parts = [result.pop(name.replace(group[0].name, unit.name, 1), None) for unit in group]
            known = [part for part in parts if part is not None]
            if len(known) == len(parts):
                data = np.stack([part.data for part in known]).reshape(*sets.values(), -1)
                result[whole] = replace(
                    known[0], name=whole, data=data, dims=(*sets, *known[0].dims)
                )
    return result
