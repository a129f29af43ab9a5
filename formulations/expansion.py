r"""What a blueprint stands for, written out: components as algebra, stages as constraints.

From components to algebra: every component's fragment, and the balance of every bus.

.. math:: \sum \text{supplies}_t = \sum \text{demands}_t

Non-anticipativity: constraints that make one decision of those that nobody can tell apart yet.

With :math:`n_k(s)` the first scenario of the node of s at stage k,

.. math:: x_s = x_{n_k(s)} \quad \forall s \ne n_k(s)

They are written into the blueprint, so that the checker, the scripts and the report see them as
they see every other constraint.
"""

from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace
from typing import Any

from engiagent.blueprint.document import Blueprint
from engiagent.blueprint.elements import (
    ComponentDef,
    ConstraintDef,
    Core,
    FrozenMap,
    ParameterDef,
    SetDef,
)
from engiagent.blueprint.grammar import names_in
from engiagent.blueprint.placement import placement_of
from engiagent.blueprint.stages import StagedVariable, Tree, checked_stages
from engiagent.errors import InputError
from engiagent.formulations.components import MODELS, build
from engiagent.formulations.components.fragment import (
    Fragment,
    Surroundings,
    Terminal,
    balance,
    buses_of,
    connection_of,
    wrong,
)
from engiagent.formulations.repetition import at_its_time, indices_of, repeated


def expand(blueprint: Blueprint, read: set[str] | None = None) -> Blueprint:
    """Return the blueprint with all that components and stages stand for written out.

    Components that are marked ``expanded`` are left alone, so that expanding twice changes
    nothing. The blueprint that is given is not changed. ``read``: takes the names of parameters
    whose numbers were asked for meanwhile: with other ones something else may be written out.

    Raises InputError when a component is of no known model, lacks a parameter, is connected to
    nothing that exists, or would declare a name that is taken.
    """
    return with_stages(_without_components(blueprint, read))


def unexpanded(blueprint: Blueprint, made: Collection[str] = ()) -> Blueprint:
    """Return components as before they were written out, without rows and what they ``made``.

    ``made``: names of parameters and sets.
    """
    core = blueprint.core
    used = {n for c in core.components for v in c.parameters.values() for n in names_in(str(v))}
    indices = {name for p in core.parameters if p.name not in made for name in p.index}
    return blueprint.with_core(
        sets=tuple(
            s for s in core.sets if s.name in indices or (s.kind != "range" and s.name not in made)
        ),
        parameters=tuple(p for p in core.parameters if p.name not in made),
        decision_variables=tuple(v for v in core.decision_variables if v.name in used),
        components=tuple(replace(c, expanded=False) for c in core.components),
        expressions=(),
        constraints=(),
    )


def _without_components(blueprint: Blueprint, read: set[str] | None) -> Blueprint:
    core = given = blueprint.core
    if all(component.expanded for component in core.components):
        return blueprint
    if read is not None:
        core = replace(core, parameters=_watched(core, read))
    _refuse_double_names(core)
    needed = _needed(core)
    over = indices_of([c for c in core.components if c.name in needed], core)
    written = tuple(_on_time(c, core) if c.name in needed else c for c in core.components)
    core = replace(core, components=tuple(at_its_time(c, over, core) for c in written))
    core = replace(core, sets=core.sets + _instants(core))
    instants = {str(s.of): s.name for s in core.sets if s.kind == "instants"}
    around = Surroundings(core, instants, over=over, read=set() if read is None else read)
    fragments = _build(needed, around)
    added = [part for c in core.components if not c.expanded for part in fragments[c.name].parts]
    new = Fragment.of(added)
    balances = _balances(core, fragments)
    _refuse_taken(core, new, balances)
    return blueprint.with_core(
        sets=core.sets + new.sets,
        parameters=given.parameters + new.parameters,
        decision_variables=core.decision_variables + new.variables,
        expressions=new.expressions + core.expressions,
        constraints=core.constraints + new.constraints + balances,
        components=tuple(replace(c, expanded=True) for c in written),
    )


def _watched(core: Core, read: set[str]) -> tuple[ParameterDef, ...]:
    """Return parameters that put their name into a set whenever anybody asks for their numbers."""

    class Watched(ParameterDef):
        def __getattribute__(self, key: str) -> Any:
            if key in ("value", "data"):
                read.add(self.name)
            return super().__getattribute__(key)

    return tuple(Watched(**vars(parameter)) for parameter in core.parameters)


def _needed(core: Core) -> set[str]:
    """Return the components to expand and those that share a bus with one of them."""
    new = {c.name for c in core.components if not c.expanded}
    for members in _buses(core).values():
        names = {c.name for c in members}
        if names & new:
            new |= names
    return new


def _build(needed: set[str], around: Surroundings) -> dict[str, Fragment]:
    """Return the fragments; grids come last because they see the others' limits."""
    fragments: dict[str, Fragment] = {}
    for grids in (False, True):
        built = {
            c.name: build(c, around)
            for c in around.core.components
            if c.name in needed and (c.model == "grid") == grids
        }
        fragments |= repeated(built, around)
        terminals = tuple(t for name in built for t in fragments[name].terminals)
        around = replace(around, terminals=around.terminals + terminals)
    return fragments


def _times(core: Core) -> list[str]:
    return [s.name for s in core.sets if s.kind in ("time", "periods")]


def _on_time(component: ComponentDef, core: Core) -> ComponentDef:
    """Return the component with its time set: the only one there is when it names none."""
    if component.model not in MODELS:
        raise wrong(component, "unknown model", expected=", ".join(MODELS))
    times, place = _times(core), placement_of(component, core)
    if place.time in times:
        return component
    if place.time is None and len(times) == 1:
        own = component.index if isinstance(component.index, tuple) else ()
        return replace(component, index=(*own, f"t in {times[0]}") if own else times[0])
    raise wrong(
        component,
        "it needs a time set",
        found="no index" if component.index is None else repr(component.index),
        expected=", ".join(times) or "a set of kind 'time'",
    )


def _instants(core: Core) -> tuple[SetDef, ...]:
    """Return the instants of the time sets that components live on, where there are none yet."""
    groups = (core.sets, core.parameters, core.decision_variables, core.expressions)
    names = {item.name for group in groups for item in group}
    present = {str(s.of) for s in core.sets if s.kind == "instants"}
    used = {c.index for c in core.components}
    result = []
    for time in _times(core):
        if time in used and time not in present:
            choices = ("I", f"{time}_instants", *(f"{time}_instants{k}" for k in range(2, 999)))
            name = next(choice for choice in choices if choice not in names)
            names.add(name)
            result.append(SetDef(name=name, kind="instants", of=time))
    return tuple(result)


def _balances(core: Core, fragments: dict[str, Fragment]) -> tuple[ConstraintDef, ...]:
    """Return the power balance of every bus that has something new on it."""
    result = []
    for bus, members in _buses(core).items():
        if all(component.expanded for component in members):
            continue
        terminals = [t for c in members for t in fragments[c.name].terminals if t.bus == bus]
        if len(members) == 1 and connection_of(members[0], "buses") is None:
            raise wrong(
                members[0],
                f"nothing else is on the bus {bus}, so its power could only be zero; "
                "add a grid, or leave the connection out",
            )
        times = {c.index for c in members}
        if len(times) > 1:
            found = ", ".join(f"{c.name}: {c.index}" for c in members)
            raise InputError(f"the bus {bus} joins components of different time sets", found=found)
        result.append(_balance(bus, str(members[0].index), terminals))
    return tuple(result)


def _buses(core: Core) -> dict[str, list[ComponentDef]]:
    buses: dict[str, list[ComponentDef]] = {}
    for component in core.components:
        for bus in buses_of(component):
            buses.setdefault(bus, []).append(component)
    return buses


def _balance(bus: str, time: str, terminals: list[Terminal]) -> ConstraintDef:
    supply = balance(t.power for t in terminals if t.supplies)
    demand = balance(t.power for t in terminals if not t.supplies)
    scenarios = dict.fromkeys(binder for t in terminals for binder in t.scenarios)
    return ConstraintDef(
        constraint_id=f"balance_{bus}",
        name=f"power balance of {bus}",
        forall=(*(f"{name} in {member}" for name, member in scenarios), f"t in {time}"),
        expression=f"{supply} == {demand}",
        category="Supply-Demand Balance",
        hard=True,
    )


def _refuse_double_names(core: Core) -> None:
    names = [component.name for component in core.components]
    for name in names:
        if names.count(name) > 1:
            raise InputError(f"two components are called {name}")


def _refuse_taken(core: Core, new: Fragment, balances: tuple[ConstraintDef, ...]) -> None:
    """Refuse names that a component would declare a second time."""
    taken: set[str] = set()
    fresh: list[str] = []
    for group in (core.sets, core.parameters, core.decision_variables, core.expressions):
        taken.update(item.name for item in group)
    for part in (new.sets, new.parameters, new.variables, new.expressions):
        fresh += [item.name for item in part]
    _refuse(fresh, taken, "name")
    _refuse(
        [c.constraint_id for c in new.constraints + balances],
        {c.constraint_id for c in core.constraints},
        "constraint",
    )


def _refuse(fresh: Iterable[str], taken: set[str], what: str) -> None:
    twice = []
    for name in fresh:
        twice += [name] if name in taken else []
        taken.add(name)
    if twice:
        raise InputError(
            f"a component declares the {what} {', '.join(twice)}, which is there already; rename "
            "yours, or mark the component as expanded"
        )


def with_stages(blueprint: Blueprint) -> Blueprint:
    """Return the blueprint with the constraints that its stages stand for.

    Doing so twice changes nothing. Trees and stages that are wrong are left alone; the compiler
    and the analysis say what is wrong with them.
    """
    core = blueprint.core
    if all(variable.stage is None for variable in core.decision_variables):
        return blueprint
    parameters: dict[str, ParameterDef] = {}
    constraints: list[ConstraintDef] = []
    for one in checked_stages(core)[0]:
        for stage in _stages(one):
            parameter = _nodes(core, one.tree, stage)
            parameters[parameter.name] = parameter
            constraints.append(_constraint(one, stage, parameter.name))
    return blueprint.with_core(
        parameters=core.parameters
        + tuple(p for p in parameters.values() if p not in core.parameters),
        constraints=core.constraints + tuple(c for c in constraints if c not in core.constraints),
    )


def _stages(one: StagedVariable) -> Iterator[int]:
    """Yield the stages of a variable at which several scenarios share a node."""
    given = one.definition.stage
    for stage, firsts in enumerate(one.tree.firsts, 1):
        shared = any(first != k for k, first in enumerate(firsts))
        if shared and (isinstance(given, str) or given == stage):
            yield stage


def _nodes(core: Core, tree: Tree, stage: int) -> ParameterDef:
    """Return the parameter that gives the first scenario of every scenario's node."""
    labels = [tree.labels[first] for first in tree.firsts[stage - 1]]
    source = next(s.source_reference for s in core.sets if s.name == tree.name)
    note = f"first scenario of each node of {tree.name} at stage {stage}"
    about = {"kind": "derived", "note": note} | ({"of": source} if source is not None else {})
    return ParameterDef(
        name=f"{tree.name}__node_{stage}",
        index=(tree.name,),
        type=f"element of {tree.name}",
        value=FrozenMap({str(k): v for k, v in zip(tree.labels, labels, strict=True)}),
        description=note,
        source_reference=FrozenMap(about),
    )


def _constraint(one: StagedVariable, stage: int, nodes: str) -> ConstraintDef:
    definition = one.definition
    scenario = one.binders[one.scenario].names[0]
    first = f"{nodes}[{scenario}]"
    own = [name for binder in one.binders for name in binder.names]
    leader = [
        first if place == one.scenario else name
        for place, binder in enumerate(one.binders)
        for name in binder.names
    ]
    conditions = [f"({definition.where})"] if definition.where is not None else []
    conditions += [f"({definition.stage}) == {stage}"] if isinstance(definition.stage, str) else []
    conditions.append(f"{first} != {scenario}")
    return ConstraintDef(
        constraint_id=f"{definition.name}__stage_{stage}",
        name=f"{definition.name} is one decision in each node of stage {stage}",
        forall=tuple(_spelled(binder.names, binder.set) for binder in one.binders),
        where=" and ".join(conditions),
        expression=f"{definition.name}[{', '.join(own)}] == {definition.name}[{', '.join(leader)}]",
        category="Operational Logic",
        hard=True,
        description="what cannot be told apart yet is decided alike",
    )


def _spelled(names: tuple[str, ...], index_set: str) -> str:
    return f"{names[0] if len(names) == 1 else '(' + ', '.join(names) + ')'} in {index_set}"
