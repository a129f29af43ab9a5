"""Where in a blueprint a name of a study leads, and the blueprint with another number there.

A name is that of a parameter; ``component.slot``, as ``battery.energy_capacity``; the level of the
risk, ``risk.alpha``; or what is uncertain of a parameter, ``load.budget`` and ``load.deviation``.
Parameters change in place in a compiled program, all else compiles anew.
"""

from dataclasses import dataclass, replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import numpy as np

from engiagent.blueprint.document import Blueprint, ComponentDef, ParameterDef, freeze
from engiagent.blueprint.elaborate import Elaboration
from engiagent.blueprint.grammar import Number, parse
from engiagent.blueprint.sets import IndexSet
from engiagent.blueprint.values import as_written, unit_of
from engiagent.errors import EngiagentError, InputError
from engiagent.formulations.components import MODELS
from engiagent.formulations.values import Floats
from engiagent.units.unit import conversion, parse_unit

RISK = "risk.alpha"
UNCERTAIN = ("budget", "deviation")


@dataclass(frozen=True)
class Place:
    """A place of a blueprint with a number."""

    name: str  # as it was asked for
    parameter: str | None  # the parameter that is changed; None for what is no parameter
    unit: str  # of the numbers there


def placed(blueprint: Blueprint, names: tuple[str, ...]) -> tuple[Blueprint, tuple[Place, ...]]:
    """Return where names lead, in a blueprint in which each has a place of its own.

    A slot of a component whose number stands in it gets a parameter for it.

    Raises InputError when a name leads nowhere, or to what has no number of its own.
    """
    places = []
    for name in names:
        blueprint, place = _placed(blueprint, name)
        places.append(place)
    return blueprint, tuple(places)


def _placed(blueprint: Blueprint, name: str) -> tuple[Blueprint, Place]:
    core = blueprint.core
    by_name = {item.name: item for item in core.parameters}
    if name in by_name:
        return blueprint, _parameter(name, by_name[name])
    goal = core.objective_function
    if name == RISK and goal is not None and goal.risk is not None:
        if goal.risk.measure != "cvar":
            raise InputError(f"{RISK} is the level of a cvar; the risk is {goal.risk.measure}")
        return blueprint, Place(name, None, "1")
    owner, _, last = name.partition(".")
    if last in UNCERTAIN and owner in by_name and by_name[owner].uncertain is not None:
        unit = "1" if last == "budget" else str(unit_of(by_name[owner]).difference())
        return blueprint, Place(name, None, unit)
    component = next((item for item in core.components if item.name == owner), None)
    if component is None or component.model not in MODELS or not last:
        raise _unknown(blueprint, name)
    return _slot(blueprint, component, last, name)


def _parameter(name: str, definition: ParameterDef) -> Place:
    if (definition.type or "number") != "number" or isinstance(definition.value, str):
        raise InputError(
            f"{name} has no number of its own",
            found=str(definition.value or definition.type),
            expected="a parameter that it is computed from",
        )
    return Place(name, definition.name, str(unit_of(definition)))


def _slot(
    blueprint: Blueprint, component: ComponentDef, slot: str, name: str
) -> tuple[Blueprint, Place]:
    """Return the place of a component's slot, which becomes a parameter where it is none."""
    known = MODELS[component.model].slots
    if slot not in known:
        close = get_close_matches(slot, known, n=3) or list(known)
        raise InputError(
            f"a {component.model} has no {slot}", found=repr(name), expected=", ".join(close)
        )
    given = component.parameters.get(slot)
    parameters = {item.name: item for item in blueprint.core.parameters}
    if isinstance(given, str) and given in parameters:
        return blueprint, replace(_parameter(given, parameters[given]), name=name)
    value, unit = _inline(given, str(known[slot].unit), name)
    own = f"{component.name}__{slot}"
    while own in parameters:
        own += "_"
    definition = ParameterDef(name=own, value=value, unit=unit, description=f"{slot} of a study")
    changed = replace(component, parameters=freeze({**component.parameters, slot: own}))
    components = tuple(changed if c is component else c for c in blueprint.core.components)
    core = {"parameters": (*blueprint.core.parameters, definition), "components": components}
    return blueprint.with_core(**core), Place(name, own, unit)


def _inline(given: Any, unit: str, name: str) -> tuple[float, str]:
    if isinstance(given, int | float) and not isinstance(given, bool):
        return float(given), unit
    node = parse(given) if isinstance(given, str) else None
    if isinstance(node, Number):
        return node.value, node.unit or unit
    raise InputError(
        f"{name} is not given as one number",
        found="nothing" if given is None else str(given),
        expected="a number there, or the name of a parameter that it is computed from",
    )


def _unknown(blueprint: Blueprint, name: str) -> InputError:
    core = blueprint.core
    known = [p.name for p in core.parameters if not isinstance(p.value, str)]
    known += [f"{c.name}.{slot}" for c in core.components for slot in c.parameters]
    close = get_close_matches(name, known, n=3, cutoff=0.4) or known[:8]
    return InputError(f"there is no parameter {name}", expected=f"one such as {', '.join(close)}")


@dataclass(frozen=True, eq=False)
class Numbers:
    """The numbers of a place as the blueprint has them."""

    values: Floats  # in the place's unit, in the shape of its sets
    sets: tuple[IndexSet, ...] = ()

    def moved(self, value: float, *, factor: bool, unit: str | None, own: str) -> Floats:
        """Return other numbers of this shape: ``value`` in ``unit`` everywhere, or times it."""
        if factor:
            return np.asarray(self.values * value)
        if unit is not None:
            try:
                scale, shift = conversion(parse_unit(unit), parse_unit(own))
            except (EngiagentError, ValueError) as error:
                raise InputError(str(error), expected=f"a unit such as {own}") from None
            value = value * scale + shift
        return np.full(self.values.shape, float(value))


def numbers_at(blueprint: Blueprint, folder: Path | None, place: Place) -> Numbers:
    """Return the numbers that stand at a place.

    Raises InputError when there is no number, as where data is missing or a deviation is computed.
    """
    core = blueprint.core
    if place.parameter is not None:
        definition = next(p for p in core.parameters if p.name == place.parameter)
        if definition.status == "missing":
            raise InputError(f"{place.name} is missing in the blueprint; give it a value first")
        table = Elaboration(core, folder).table(place.parameter)
        return Numbers(np.asarray(table.values, dtype=np.float64), tuple(table.sets))
    value: Any
    if place.name == RISK:
        assert core.objective_function is not None
        assert core.objective_function.risk is not None
        value = core.objective_function.risk.alpha
    else:
        owner, _, field = place.name.partition(".")
        definition = next(p for p in core.parameters if p.name == owner)
        value = getattr(definition.uncertain, field)
        if isinstance(value, str):
            node = parse(value)
            value = node.value if isinstance(node, Number) and node.unit is None else None
    if not isinstance(value, int | float):
        raise InputError(f"{place.name} is not given as one number", found=str(value))
    return Numbers(np.asarray(float(value)))


def with_numbers(blueprint: Blueprint, place: Place, numbers: Numbers, new: Floats) -> Blueprint:
    """Return a blueprint with other numbers at a place, as if they had been written there."""
    core = blueprint.core
    if place.name == RISK:
        goal = core.objective_function
        assert goal is not None
        assert goal.risk is not None
        risk = replace(goal.risk, alpha=float(new))
        return blueprint.with_core(objective_function=replace(goal, risk=risk))
    owner = place.parameter or place.name.partition(".")[0]

    def changed(definition: ParameterDef) -> ParameterDef:
        if place.parameter is None:
            assert definition.uncertain is not None
            own = definition.uncertain
            if place.name.endswith(".budget"):
                own = replace(own, budget=float(new))
            else:
                own = replace(own, deviation=float(new))
            return replace(definition, uncertain=own)
        value = freeze(as_written(new, numbers.sets))
        return replace(
            definition, value=value, data=None, keys=(), unit=place.unit, unit_override=None
        )

    parameters = tuple(changed(p) if p.name == owner else p for p in core.parameters)
    return blueprint.with_core(parameters=parameters)
