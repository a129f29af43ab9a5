"""Stages: which decisions of different scenarios are one, since nobody can tell them apart yet.

A scenario set may carry a tree: for each stage the node that every scenario is in. A variable of
stage k takes one value for each node of stage k; after the last stage of the tree every scenario
is a node of its own. Without a tree all scenarios are one node at stage 1.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np

from engiagent.blueprint.diagnostics import Diagnostic, collected, located
from engiagent.blueprint.elaborate import PATH, Elaboration
from engiagent.blueprint.elements import Core, SetDef, VariableDef
from engiagent.blueprint.grammar import Binder, ExpressionError, names_in, parse_binder
from engiagent.blueprint.placement import is_scenario

STAGE = "EB030"


@dataclass(frozen=True)
class Tree:
    """A scenario tree: for each stage, the position of the first scenario of everybody's node."""

    name: str
    labels: tuple[str | int, ...]
    firsts: tuple[tuple[int, ...], ...]

    @property
    def last(self) -> int:
        """The stage at which every scenario is decided on its own."""
        return len(self.firsts) + 1


@dataclass(frozen=True)
class StagedVariable:
    """A variable with a stage: its binders, which of them is the scenario, and the tree."""

    definition: VariableDef
    binders: tuple[Binder, ...]
    scenario: int
    tree: Tree


def checked_stages(core: Core) -> tuple[tuple[StagedVariable, ...], tuple[Diagnostic, ...]]:
    """Return the variables to which a tree applies, and what is wrong with trees and stages."""
    found: list[Diagnostic] = []
    trees: dict[str, Tree] = {}
    for position, definition in enumerate(core.sets):
        if definition.kind == "scenario" or definition.tree:
            with _reported(found, f"{PATH}.sets[{position}].tree", definition.name):
                trees[definition.name] = _tree(definition)
    staged = []
    for position, variable in enumerate(core.decision_variables):
        if variable.stage is None:
            continue
        with _reported(found, f"{PATH}.decision_variables[{position}].stage", variable.name):
            one = _staged(core, variable, trees)
            staged += [one] if one is not None else []
    return tuple(staged), tuple(found)


def stage_findings(elaboration: Elaboration) -> tuple[Diagnostic, ...]:
    """Return what is wrong with trees and stages, stages that are expressions included."""
    staged, found = checked_stages(elaboration.core)
    more: list[Diagnostic] = []
    for one in staged:
        if isinstance(one.definition.stage, str):
            position = elaboration.core.decision_variables.index(one.definition)
            path = f"{PATH}.decision_variables[{position}].stage"
            with collected(more), located(path, one.definition.name):
                _check_expression(elaboration, one)
    return (*found, *more)


@contextmanager
def _reported(found: list[Diagnostic], path: str, name: str) -> Iterator[None]:
    """Add a ValueError to the findings; what follows its semicolon is the suggestion."""
    try:
        yield
    except ValueError as error:
        text, _, hint = str(error).partition("; ")
        found.append(Diagnostic(STAGE, "error", path, text, None, hint or None, name))


def _tree(definition: SetDef) -> Tree:
    """Return the tree of a scenario set."""
    if definition.kind != "scenario":
        raise ValueError("only a set of kind 'scenario' has a tree")
    labels = definition.elements
    if not definition.tree:
        return Tree(definition.name, labels, ((0,) * len(labels),))
    if not labels:
        raise ValueError("a tree needs the scenarios listed; give 'elements' instead of 'data'")
    firsts: list[tuple[int, ...]] = []
    for stage, nodes in enumerate(definition.tree, 1):
        if len(nodes) != len(labels):
            raise ValueError(f"stage {stage} names {len(nodes)} nodes for {len(labels)} scenarios")
        leaders: dict[str | int, int] = {}
        first = tuple(leaders.setdefault(node, k) for k, node in enumerate(nodes))
        for scenario, leader in enumerate(first if firsts else ()):
            if firsts[-1][scenario] != firsts[-1][leader]:
                pair = (
                    f"{labels[leader]} and {labels[scenario]} are told apart at stage {stage - 1}"
                )
                hint = "what is known once stays known"
                raise ValueError(f"{pair} and one node at stage {stage}; {hint}")
        firsts.append(first)
    return Tree(definition.name, labels, tuple(firsts))


def _staged(core: Core, variable: VariableDef, trees: Mapping[str, Tree]) -> StagedVariable | None:
    texts = enumerate(variable.index)
    spelled = (t if " in " in t else f"i__{k} in {t}" for k, t in texts)
    try:
        binders = tuple(map(parse_binder, spelled))
    except ExpressionError:
        return None  # reported with the variable itself
    kinds = {s.name: s for s in core.sets}
    places = [k for k, b in enumerate(binders) if b.set in kinds and is_scenario(kinds, b.set)]
    if not places:
        if variable.stage == 1 or any(p.uncertain is not None for p in core.parameters):
            return None  # of a decision that waits in a robust model its own finding tells
        hint = "index it by a scenario set, as 's in S'"
        raise ValueError(f"it is decided later, but has no scenario index; {hint}")
    if len(places) > 1:
        raise ValueError("it runs over two scenario sets; make one set of their combinations")
    binder = binders[places[0]]
    if kinds[binder.set].kind != "scenario":
        raise ValueError(f"{binder.set} is a part of a scenario set; index it by the set itself")
    if binder.set not in trees:
        return None  # reported with the tree
    tree = trees[binder.set]
    if binder.names[0] in names_in(variable.where):
        raise ValueError("its 'where' asks for the scenario; a staged variable exists in all")
    if isinstance(variable.stage, int) and variable.stage > tree.last:
        ends = f"the tree of {tree.name} ends with {tree.last - 1}, after which comes {tree.last}"
        raise ValueError(f"stage {variable.stage} does not exist; {ends}, one for each scenario")
    return StagedVariable(variable, binders, places[0], tree)


def _check_expression(elaboration: Elaboration, one: StagedVariable) -> None:
    """Refuse a stage that depends on the scenario, or is none of the tree's."""
    text = str(one.definition.stage)
    if one.binders[one.scenario].names[0] in names_in(text):
        raise ExpressionError("a stage does not depend on the scenario", 1, None, STAGE)
    grid = elaboration.grid(one.binders, one.definition.where)
    values = elaboration.numbers(text, one.binders, None, grid)
    odd = (values != np.round(values)) | (values < 1) | (values > one.tree.last)
    if odd.any():
        stages = f"the stages of {one.tree.name} are 1 to {one.tree.last}"
        raise ExpressionError(f"it gives the stage {values[odd][0]:g}; {stages}", 1, None, STAGE)
