"""A blueprint as a standalone Pyomo script that an engineer can run without engiagent.

Every element of a set is written as its position, counted from 0 (a pair of positions for a tuple
set), so that ``soc[t + 1]`` is what it says; the labels stand beside the sets. Parameters are
written with their values, each in its own unit, and every change of unit is a visible factor.
"""

from pathlib import Path
from typing import Any

import numpy as np

from engiagent import __version__
from engiagent.blueprint.checked import (
    Constraint,
    Variable,
    checked_constraint,
)
from engiagent.blueprint.document import Blueprint
from engiagent.blueprint.elaborate import Elaboration
from engiagent.blueprint.goals import checked_objective
from engiagent.blueprint.grammar import Compare, parse
from engiagent.blueprint.sets import IndexSet
from engiagent.blueprint.uncertainty import uncertain_names
from engiagent.errors import EngiagentError
from engiagent.formulations.compile import compile_blueprint
from engiagent.formulations.expansion import expand
from engiagent.formulations.pyomo_expressions import ExpressionPrinter, compact, element, scope_of

_WIDTH = 96


def emit_pyomo(blueprint: Blueprint, folder: Path | str | None = None) -> str:
    """Return a Python script that builds and solves the blueprint with Pyomo and HiGHS.

    Raises
    ------
    BlueprintError
        When the blueprint is wrong.
    MissingDataError
        When parameters are declared as missing.
    EngiagentError
        When a construct has no counterpart in the script.
    """
    full = expand(blueprint)
    # Every error in a blueprint is found and located by the compiler; none is left for the printer.
    compile_blueprint(full, folder)
    if uncertain_names(full.core):
        text = "the script cannot say uncertain parameters yet; an LP or MPS file has their rows"
        raise EngiagentError(text)
    elaboration = Elaboration(full.core, Path(folder) if folder is not None else None)
    return _Script(full, elaboration).text()


class _Script:
    """One script in the making."""

    def __init__(self, blueprint: Blueprint, elaboration: Elaboration) -> None:
        self.blueprint = blueprint
        self.elaboration = elaboration
        self.printer = ExpressionPrinter(elaboration)
        self.names = self.printer.names
        self.variables = self.printer.variables
        self.helpers = self.printer.helpers

    def text(self) -> str:
        # The lookups come last in the making, since printing the model says which are needed.
        sets = self._section("Sets: elements are positions, counted from 0", self._sets())
        model = [
            *self._section("Parameters", self._parameters()),
            *self._section("Decision variables", self._variables()),
            *self._section("Named expressions", self._expressions()),
            *self._section("Constraints", self._constraints()),
            *self._section("Objective", self._objective()),
        ]
        lookups = self._section("Lookups", list(self.helpers.values()))
        body = "\n".join([*sets, *lookups, *model])
        essence = self.blueprint.modeling_context.problem_essence
        return (
            _HEAD.format(essence=_comment(essence), version=__version__)
            + body
            + _TAIL.format(outputs=", ".join(f'"{n}": {self.names.of(n)}' for n in self.variables))
        )

    def _section(self, title: str, lines: list[str]) -> list[str]:
        if not lines:
            return []
        return ["", "", f"# --- {title} ".ljust(_WIDTH, "-"), *lines]

    # -- data -----------------------------------------------------------------------------------

    def _sets(self) -> list[str]:
        lines = []
        for definition in self.elaboration.core.sets:
            index_set = self.elaboration.index_set(definition.name)
            name = self.names.of(definition.name)
            lines.append(f"{name} = {_elements(index_set)}{_shown_labels(index_set)}")
        return lines

    def _parameters(self) -> list[str]:
        lines = []
        for definition in self.elaboration.core.parameters:
            table = self.elaboration.table(definition.name)
            unit = self.elaboration.symbols[definition.name].unit
            note = f"  # [{unit}] {_comment(definition.description or '')}".rstrip()
            values = table.values
            if table.element_of is not None:
                values = table.element_of.in_root[values]
            text = _literal(values, table.sets)
            lines.append(f"{self.names.of(definition.name)} = {text}{note}")
        return lines

    def _variables(self) -> list[str]:
        lines = []
        for name, variable in self.variables.items():
            definition = variable.definition
            python = self.names.of(name)
            note = f"  # [{variable.unit}] {_comment(definition.description or '')}".rstrip()
            domain = {"integer": "Integers", "binary": "Binary"}.get(definition.type, "Reals")
            index, bounds = self._index_and_bounds(variable)
            lines.append(f"{python} = pyo.Var({index}domain=pyo.{domain}, bounds={bounds}){note}")
            lines.append(f'model.add_component("{python}", {python})')
            if len(variable.history):
                early = [float(value) for value in variable.history]
                lines.append(f"{self.printer.history(name)} = {early}  # before the first period")
        return lines

    def _index_and_bounds(self, variable: Variable) -> tuple[str, str]:
        """Return the index sets and the bounds, as one pair when all elements share it."""
        python = self.names.of(variable.definition.name)
        lower, upper = variable.lower, variable.upper
        same = len(set(lower)) <= 1 and len(set(upper)) <= 1 and len(lower) > 0
        bounds = f"({_bound(lower[0])}, {_bound(upper[0])})" if same else ""
        if not variable.sets:
            return "", bounds
        sets = ", ".join(self.names.of(s.name) for s in variable.sets)
        keys = _keys(variable)
        if variable.positions is not None:
            self.helpers[f"{python} keys"] = f"{python}_keys = {keys}"
            sets = f"{python}_keys"
        if not same:
            triples = zip(keys, lower, upper, strict=True)
            pairs = (f"{k}: ({_bound(a)}, {_bound(b)})" for k, a, b in triples)
            self.helpers[f"{python} bounds"] = f"{python}_bounds = {{{', '.join(pairs)}}}"
            key = "key[0] if len(key) == 1 else key"
            bounds = f"lambda _, *key: {python}_bounds[{key}]"
        return f"{sets}, ", bounds

    # -- algebra --------------------------------------------------------------------------------

    def _expressions(self) -> list[str]:
        lines = []
        for definition in self.elaboration.core.expressions:
            named = self.elaboration.named[definition.name]
            names = [n for binder in named.binders for n in binder]
            arguments = ", ".join(self.names.of(n) for n in names)
            body = self.printer.expression(named.body, dict(scope_of(named.binders, named.sets)))
            lines += [f"def {self.names.of(definition.name)}({arguments}):", f"    return {body}"]
        return lines

    def _constraints(self) -> list[str]:
        lines: list[str] = []
        for position in range(len(self.elaboration.core.constraints)):
            constraint = checked_constraint(self.elaboration, position)
            lines += self._constraint(constraint)
        return lines

    def _constraint(self, constraint: Constraint) -> list[str]:
        scope = dict(scope_of([b.names for b in constraint.binders], constraint.sets))
        tree = constraint.relation
        title = constraint.definition.name or constraint.definition.constraint_id
        if not isinstance(tree, Compare):
            raise EngiagentError(f"the script cannot say {title!r} yet: {tree.function}")
        sides = [self.printer.expression(part, scope) for part in tree.operands]
        lines = [f"# {_comment(title)}"]
        pieces = zip(tree.ops, sides, sides[1:], strict=False)
        for number, (op, left, right) in enumerate(pieces, 1):
            suffix = "" if len(tree.ops) == 1 else f"__{number}"
            lines += self._relation(constraint, suffix, f"relation({left}, {op!r}, {right})", scope)
        return lines

    def _relation(
        self, constraint: Constraint, suffix: str, relation: str, scope: dict[str, IndexSet]
    ) -> list[str]:
        component = self.names.fresh(constraint.definition.constraint_id + suffix)
        if not constraint.binders:
            line = f'model.add_component("{component}", pyo.Constraint(rule=lambda _: {relation}))'
            return [line]
        arguments, tuples = self._arguments(constraint)
        sets = ", ".join(self.names.of(b.set) for b in constraint.binders)
        lines = [f"def {component}(_, {arguments}):", *tuples]
        where = constraint.definition.where
        if where is not None:
            checker = self.elaboration.checker()
            condition = checker.condition(parse(where), checker.scope_of(constraint.binders)).node
            lines += [
                f"    if not ({self.printer.condition(condition, scope)}):",
                "        return pyo.Constraint.Skip",
            ]
        lines += [
            f"    return {relation}",
            f'model.add_component("{component}", pyo.Constraint({sets}, rule={component}))',
        ]
        return lines

    def _arguments(self, constraint: Constraint) -> tuple[str, list[str]]:
        """Return the arguments of a rule, and lines that join what Pyomo takes apart.

        Pyomo hands over the parts of a tuple one by one, whatever the binder's names.
        """
        arguments, lines = [], []
        for binder, index_set in zip(constraint.binders, constraint.sets, strict=True):
            names = [self.names.of(name) for name in binder.names]
            width = len(index_set.root.factors) or 1
            if len(names) < width:
                parts = [f"{names[0]}_{k}" for k in range(width)]
                lines.append(f"    {names[0]} = ({', '.join(parts)})")
                names = parts
            arguments += names
        return ", ".join(arguments), lines

    def _objective(self) -> list[str]:
        objective = checked_objective(self.elaboration)
        if objective is None:
            return ["model.objective = pyo.Objective(expr=0.0)"]
        if objective.method is not None or objective.risk is not None:
            raise EngiagentError("the script cannot say this objective yet")
        goal = objective.goals[0]
        text = self.printer.expression(goal.node, {})
        return [
            f"# {_comment(objective.definition.name or 'objective')} [{objective.unit}]",
            f"model.objective = pyo.Objective(expr={text}, sense=pyo.{goal.sense})",
        ]


def _comment(text: str) -> str:
    """Return text that cannot leave a comment or a docstring."""
    return " ".join(text.replace("\\", "/").replace('"""', "'''").split())


def _bound(value: float) -> str:
    return repr(float(value)) if np.isfinite(value) else "None"


def _elements(index_set: IndexSet) -> str:
    if index_set.root is index_set and not index_set.columns:
        return f"range({index_set.size})"
    return compact([element(index_set, k) for k in range(index_set.size)])


def _shown_labels(index_set: IndexSet) -> str:
    if index_set.size == 0:
        return ""
    if index_set.kind == "labels":
        return f"  # {_comment(', '.join(map(str, index_set.labels[:12])))}"
    first, last = index_set.labels[0], index_set.labels[-1]
    return f"  # {_comment(f'{first} to {last}')}"


def _keys(variable: Variable) -> list[Any]:
    """Return the key of every element of a variable as Pyomo will ask for it."""
    shape = tuple(s.size for s in variable.sets)
    flat = variable.positions if variable.positions is not None else np.arange(variable.size)
    keys = []
    for place in zip(*np.unravel_index(flat, shape), strict=True):
        key: list[Any] = []
        for index_set, position in zip(variable.sets, place, strict=True):
            part = element(index_set, int(position))
            key += part if isinstance(part, tuple) else [part]
        keys.append(key[0] if len(key) == 1 else tuple(key))
    return keys


def _literal(values: Any, sets: tuple[IndexSet, ...]) -> str:
    """Return a parameter's values: a number, nested lists, or a dictionary by element."""
    array = np.asarray(values)
    if not sets:
        return repr(array.item())
    if all(s.root is s and not s.columns for s in sets):
        return compact(array.tolist())
    pairs = []
    for place in np.ndindex(*array.shape):
        key = tuple(element(s, p) for s, p in zip(sets, place, strict=True))
        value = array[place]
        plain = value.item() if hasattr(value, "item") else value
        pairs.append(f"{key[0] if len(key) == 1 else key!r}: {plain!r}")
    return f"{{{', '.join(pairs)}}}"


_HEAD = '''"""{essence}

Written by engiagent {version}; needs only Pyomo and HiGHS: pip install pyomo highspy
Run it:  python model.py [schedule.csv]
"""

import csv
import math
import sys

import pyomo.environ as pyo

model = pyo.ConcreteModel()


def relation(left, op, right):
    """Return left op right; a relation between plain numbers is kept only as true or false."""
    result = left <= right if op == "<=" else left >= right if op == ">=" else left == right
    if result is True:
        return pyo.Constraint.Feasible
    if result is False:
        return pyo.Constraint.Infeasible
    return result
'''

_TAIL = """

# --- Solve --------------------------------------------------------------------------------------
def main():
    solver = pyo.SolverFactory("appsi_highs")
    result = solver.solve(model, load_solutions=False)
    print("status:", result.solver.termination_condition)
    if result.solver.termination_condition != pyo.TerminationCondition.optimal:
        sys.exit("there is no optimal schedule")
    model.solutions.load_from(result)
    print("objective:", repr(pyo.value(model.objective)))
    if len(sys.argv) > 1:
        with open(sys.argv[1], "w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(["variable", "index", "value"])
            for name, variable in {{{outputs}}}.items():
                for key in variable:
                    writer.writerow([name, key, variable[key].value])  # empty where unused


if __name__ == "__main__":
    main()
"""
