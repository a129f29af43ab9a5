r"""Components that stand once for every element of further sets, as units or scenarios.

A component is built as if it stood alone; every series, row and bound of it then gets the further
indices first. What it exchanges with a bus is summed over units, and balanced in every scenario:

.. math:: \sum_b P_{s,b,t} + \dots = 0 \qquad \forall s, t
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial

from engiagent.blueprint.elements import ComponentDef, Core, FrozenMap
from engiagent.blueprint.grammar import references
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
    series = {
        name: {v.name for v in part.variables} | {e.name for e in part.expressions}
        for name, part in fragments.items()
    }
    owners = {own: name for name, names in series.items() for own in names}
    for name, fragment in fragments.items():
        component, over = around.component(name), around.over.get(name, ())
        assert component is not None, "a fragment is a component's"
        spelled = partial(_spelled, component, over, owners, around)
        result[name] = _repeated(fragment, over, spelled, around.core)
    return result


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
    return respelled(text, {}, dict.fromkeys(used, _names(over))) if over else text


def _repeated(
    fragment: Fragment, over: Indices, spelled: Callable[[str], str], core: Core
) -> Fragment:
    """Return a fragment with further indices; numbers computed for all units stay as they are."""

    def bound(limit: float | str | None) -> float | str | None:
        return spelled(limit) if isinstance(limit, str) else limit

    def condition(text: str | None) -> str | None:
        return None if text is None else spelled(text)

    if not over:
        for text in _texts(fragment):
            spelled(text)
        return fragment
    binders = tuple(f"{name} in {member}" for name, member in over)
    sets = {item.name: item for item in core.sets}
    scenarios = tuple(pair for pair in over if is_scenario(sets, pair[1]))
    units = [pair for pair in over if pair not in scenarios]

    def total(text: str | None) -> str | None:
        if text is None:
            return None
        text = spelled(text)
        for name, member in units:
            text = f"sum({text} for {name} in {member})"
        return text

    return replace(
        fragment,
        variables=tuple(
            replace(
                v,
                index=(*binders, *v.index),
                lower=bound(v.lower),
                upper=bound(v.upper),
                where=condition(v.where),
            )
            for v in fragment.variables
        ),
        expressions=tuple(
            replace(
                e,
                index=(*binders, *e.index),
                expression=spelled(e.expression),
                where=condition(e.where),
            )
            for e in fragment.expressions
        ),
        constraints=tuple(
            replace(
                c,
                forall=(*binders, *c.forall),
                expression=spelled(c.expression),
                where=condition(c.where),
            )
            for c in fragment.constraints
        ),
        terminals=tuple(
            replace(
                t,
                power=total(t.power) or t.power,
                limit=total(t.limit),
                floor=total(t.floor),
                scenarios=scenarios,
            )
            for t in fragment.terminals
        ),
    )


def _texts(fragment: Fragment) -> Iterator[str]:
    yield from (item.expression for item in fragment.expressions)
    yield from (item.expression for item in fragment.constraints)
    yield from (terminal.power for terminal in fragment.terminals)


def _names(over: Indices) -> str:
    return ", ".join(name for name, _ in over)
