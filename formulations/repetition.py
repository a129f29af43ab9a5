r"""Components that stand once for every element of further sets, as units or scenarios.

A component is built as if it stood alone; every series, row and bound of it then gets the further
indices first. What it exchanges with a bus is summed over units, and balanced in every scenario:

.. math:: \sum_b P_{s,b,t} + \dots = 0 \qquad \forall s, t
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Final

from engiagent.blueprint.elements import (
    ComponentDef,
    ConstraintDef,
    Core,
    ExpressionDef,
    FrozenMap,
    ParameterDef,
    VariableDef,
)
from engiagent.blueprint.grammar import names_in, references
from engiagent.blueprint.placement import is_scenario, placement_of, respelled
from engiagent.formulations.components.fragment import Fragment, Surroundings, wrong

Indices = tuple[tuple[str, str], ...]
"""Name and set of each index beside time."""


def indices_of(components: Sequence[ComponentDef], core: Core) -> dict[str, Indices]:
    """Return by component the indices beside time; one set has one name in all of them."""
    names: dict[str, str] = {}
    result = {}
    for component in components:
        over = placement_of(component, core).over
        if over:
            result[component.name] = tuple((names.setdefault(m, n), m) for n, m in over)
    return result


def at_its_time(component: ComponentDef, over: Mapping[str, Indices], core: Core) -> ComponentDef:
    """Return a component as one of its units: over time alone, its indices named alike."""
    if component.name not in over:
        return component
    place = placement_of(component, core)
    pairs = zip(place.over, over[component.name], strict=True)
    bare = {own: name for (own, _), (name, _) in pairs if own != name}
    given = {
        slot: respelled(value, bare, {}) if isinstance(value, str) and bare else value
        for slot, value in component.parameters.items()
    }
    return replace(component, index=place.time, parameters=FrozenMap(given))


def repeated(fragments: Mapping[str, Fragment], around: Surroundings) -> dict[str, Fragment]:
    """Return the fragments of components with the indices that they have beside time.

    Raises InputError when a component uses series of one that has other indices.
    """
    if not around.over:
        return dict(fragments)
    result = {}
    varying = {n: _varying(part, around.over.get(n, ())) for n, part in fragments.items()}
    series = {
        name: {v.name for v in part.variables} | {e.name for e in part.expressions} | varying[name]
        for name, part in fragments.items()
    }
    owners = {own: name for name, names in series.items() for own in names}
    for name, fragment in fragments.items():
        component, over = around.component(name), around.over.get(name, ())
        assert component is not None, "a fragment is a component's"
        spelled = partial(_spelled, component, over, owners, around)
        result[name] = _repeated(fragment, over, varying[name], spelled, around.core)
    return result


def _varying(fragment: Fragment, over: Indices) -> set[str]:
    """Return the parameters that are computed from what differs by the further indices."""
    found = first = {name for name, _ in over}
    for parameter in fragment.parameters:  # those that it is computed from come before it
        found = found | {parameter.name} if names_in(parameter.value) & found else found
    return found - first


def _spelled(
    component: ComponentDef,
    over: Indices,
    owners: Mapping[str, str],
    around: Surroundings,
    text: str,
) -> str:
    """Return an expression of a component with the indices of the series that it uses."""
    used = {ref.name for ref in references(text)} & owners.keys()
    for series in used:
        if around.over.get(owners[series], ()) != over:
            raise wrong(component, f"it uses {series} of {owners[series]}, whose indices differ")
    return respelled(text, {}, dict.fromkeys(used, ", ".join(n for n, _ in over))) if over else text


_TEXTS: Final[Mapping[type, tuple[str, ...]]] = {
    ParameterDef: ("value",),
    VariableDef: ("lower", "upper", "where"),
    ExpressionDef: ("expression", "where"),
    ConstraintDef: ("expression", "where"),
}
"""Which fields of what a fragment adds are expressions."""


def _repeated(
    fragment: Fragment, over: Indices, varying: set[str], spelled: Callable[[str], str], core: Core
) -> Fragment:
    """Return a fragment with further indices; what is the same for all units stays as it is."""
    binders = tuple(f"{name} in {member}" for name, member in over)
    sets = {item.name: item for item in core.sets}
    scenarios = tuple(pair for pair in over if is_scenario(sets, pair[1]))
    units = [pair for pair in over if pair not in scenarios]

    def indexed(part: Any) -> Any:
        fields = {field: getattr(part, field) for field in _TEXTS[type(part)]}
        texts = {field: spelled(text) for field, text in fields.items() if isinstance(text, str)}
        index = "forall" if isinstance(part, ConstraintDef) else "index"
        return replace(part, **texts, **{index: (*binders, *getattr(part, index))})

    def total(text: str) -> str:
        text = spelled(text)
        for name, member in units:
            text = f"sum({text} for {name} in {member})"
        return text

    return replace(
        fragment,
        parameters=tuple(indexed(p) if p.name in varying else p for p in fragment.parameters),
        variables=tuple(map(indexed, fragment.variables)),
        expressions=tuple(map(indexed, fragment.expressions)),
        constraints=tuple(map(indexed, fragment.constraints)),
        terminals=tuple(
            replace(
                t,
                power=total(t.power),
                limit=None if t.limit is None else total(t.limit),
                floor=None if t.floor is None else total(t.floor),
                scenarios=scenarios,
            )
            for t in fragment.terminals
        ),
    )
