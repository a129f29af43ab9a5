r"""Non-anticipativity: constraints that make one decision of those that nobody can tell apart yet.

With :math:`n_k(s)` the first scenario of the node of s at stage k,

.. math:: x_s = x_{n_k(s)} \quad \forall s \ne n_k(s)

They are written into the blueprint, so that the checker, the scripts and the report see them as
they see every other constraint.
"""

from collections.abc import Iterator

from engiagent.blueprint.document import Blueprint, ConstraintDef, Core, FrozenMap, ParameterDef
from engiagent.blueprint.stages import StagedVariable, Tree, checked_stages


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
