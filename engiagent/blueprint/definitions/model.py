"""A blueprint of kind ``definitions`` after all checks: what is computed, and in which unit."""

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from engiagent.blueprint.definitions.draws import ARGUMENTS, LISTED
from engiagent.blueprint.diagnostics import BlueprintError, Diagnostic, collected, located, refused
from engiagent.blueprint.document import Blueprint
from engiagent.blueprint.elaborate import PATH, Elaboration, refuse_double_names
from engiagent.blueprint.elements import ClaimDef, DefinitionDef, DrawDef, EquationDef
from engiagent.blueprint.grammar import Binder, ExpressionError, Node, Number, names_in, parse
from engiagent.blueprint.setbuilders import MAX_ELEMENTS
from engiagent.blueprint.sets import IndexSet
from engiagent.blueprint.symbols import ONE, Symbol
from engiagent.blueprint.typecheck import TypeChecker
from engiagent.blueprint.values import unit_of
from engiagent.units.unit import Unit, conversion, parse_unit

GROUPS = ("draws", "definitions", "equations")
FOREIGN = ("decision_variables", "components", "expressions", "objective_function", "constraints")


@dataclass(frozen=True, eq=False)
class Item:
    """One computed name."""

    definition: DefinitionDef | EquationDef | DrawDef
    path: str
    unit: Unit
    binders: tuple[Binder, ...]  # its index; that of an equation ends in periods
    sets: tuple[IndexSet, ...]  # the sets of its values; those of an equation end in instants
    # its checked expressions by what they are for: ``body``, ``rate`` and ``initial``, or the
    # arguments of a distribution
    nodes: Mapping[str, Node]
    # for a draw: the parameters that hold listed arguments
    lists: Mapping[str, str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """Its name."""
        return self.definition.name

    @property
    def size(self) -> int:
        """How many values it has."""
        return math.prod(index_set.size for index_set in self.sets)

    @cached_property
    def uses(self) -> frozenset[str]:
        """Every name that its expressions mention."""
        return frozenset(self.lists.values()).union(*map(names_in, self.nodes.values()))


class Model:
    """Everything that a blueprint of kind ``definitions`` computes and claims."""

    def __init__(self, blueprint: Blueprint, folder: Path | None) -> None:
        self.core = core = blueprint.core
        _refuse_kind(blueprint)
        self.elaboration = Elaboration(core, folder)
        self.choices = core.design.choices if core.design is not None else ()
        groups = [(g, getattr(core, g)) for g in ("sets", "parameters", *GROUPS)]
        refuse_double_names([*groups, ("design.choices", self.choices)])
        self.elaboration.build()
        self._refuse_sizes()
        self.items = {item.name: item for item in self._checked()}
        self._check_claims()

    def checker(self) -> TypeChecker:
        """Return a type checker over every name of the blueprint."""
        return TypeChecker(self.elaboration.set_infos, self.symbols)

    def number(
        self, text: object, binders: tuple[Binder, ...] = (), unit: Unit | None = None
    ) -> Node:
        """Return a numeric expression, checked and in a unit."""
        checker = self.checker()
        return checker.number(parse(str(text)), checker.scope_of(binders), unit).node

    def _sets(self, binders: tuple[Binder, ...]) -> tuple[IndexSet, ...]:
        return tuple(self.elaboration.index_set(b.set) for b in binders)

    def _declared(self) -> Iterator[tuple[str, str, Any]]:
        """Yield every computed thing with its group and path."""
        for group in GROUPS:
            for position, item in enumerate(getattr(self.core, group)):
                yield group, f"{PATH}.{group}[{position}]", item

    @cached_property
    def symbols(self) -> dict[str, Symbol]:
        """Parameters, choices and computed names; to an expression all are known numbers."""
        symbols = dict(self.elaboration.symbols)
        for position, choice in enumerate(self.choices):
            with located(f"{PATH}.design.choices[{position}]", choice.name):
                unit = parse_unit(choice.unit or "1")
            symbols[choice.name] = Symbol(choice.name, "parameter", (), unit)
        waiting = []
        for group, path, item in self._declared():
            if group == "definitions" and item.unit is None:
                waiting.append((path, item))
                continue
            with located(path, item.name):
                dims = tuple(b.set for b in self.elaboration.binders(item.index))
                if group == "equations":
                    self.elaboration.index_set(item.instants)
                    dims = (*dims[:-1], item.instants)
                unit = parse_unit(item.unit or "1")
            symbols[item.name] = Symbol(item.name, "parameter", dims, unit)
        while waiting:  # without a unit: each is typed after those that it uses
            unknown = {item.name for _, item in waiting}
            ready = [(p, item) for p, item in waiting if not names_in(item.expression) & unknown]
            if not ready:
                names = ", ".join(item.name for _, item in waiting)
                path, item = waiting[0]
                text = f"these need one another, and none says its unit: {names}"
                raise refused("EB042", path, text, 'add "unit" to each', item.name)
            for path, item in ready:
                with located(f"{path}.expression", item.name):
                    checker = TypeChecker(self.elaboration.set_infos, symbols)
                    binders = self.elaboration.binders(item.index)
                    typed = checker.number(parse(item.expression), checker.scope_of(binders))
                dims = tuple(b.set for b in binders)
                symbols[item.name] = Symbol(item.name, "parameter", dims, typed.unit)
            waiting = [pair for pair in waiting if pair not in ready]
        return symbols

    def _refuse_sizes(self) -> None:
        """Refuse what no memory holds before any of it is made."""
        total = 0
        for _, path, item in self._declared():
            with located(path, item.name):
                sets = self._sets(self.elaboration.binders(item.index))
            total += math.prod(index_set.size + 1 for index_set in sets)
            if total > MAX_ELEMENTS:
                text = f"the blueprint would compute {total} values; at most {MAX_ELEMENTS}"
                raise refused("EB047", path, text, "compute fewer, or in parts", item.name)

    def _checked(self) -> list[Item]:
        makers: dict[str, Callable[[Any, str], Item]] = {
            "draws": self._draw,
            "definitions": self._definition,
            "equations": self._equation,
        }
        found: list[Diagnostic] = []
        items = []
        for group, path, definition in self._declared():
            with collected(found):
                items.append(makers[group](definition, path))
        if found:
            raise BlueprintError(found)
        return items

    def _definition(self, definition: DefinitionDef, path: str) -> Item:
        with located(f"{path}.expression", definition.name):
            binders = self.elaboration.binders(definition.index)
            unit = self.symbols[definition.name].unit or ONE
            body = self.number(definition.expression, binders, unit)
        return Item(definition, path, unit, binders, self._sets(binders), {"body": body})

    def _equation(self, definition: EquationDef, path: str) -> Item:
        name = definition.name
        with located(path, name):
            binders = self.elaboration.binders(definition.index)
            unit = parse_unit(definition.unit)
            if not binders:
                raise refused("EB041", path, "an equation runs over periods", None, name)
            *others, periods = self._sets(binders)
            if periods.axis is None or periods.kind not in ("time", "periods"):
                text = f"{periods.name} has no periods with a length in time"
                raise refused("EB041", path, text, "end the index by a time set with a step", name)
            edges = self.elaboration.index_set(definition.instants)
            if edges.periods_of is not periods:
                text = f"{edges.name} are not the instants of {periods.name}"
                raise refused("EB041", f"{path}.instants", text, None, name)
        pace = unit.difference() / parse_unit(periods.axis.step_unit)
        with located(f"{path}.rate", name):
            nodes = {"rate": self._rate(definition, binders, pace)}
        with located(f"{path}.initial", name):
            nodes["initial"] = self.number(definition.initial, binders[:-1], unit)
        return Item(definition, path, unit, binders, (*others, edges), nodes)

    def _rate(self, definition: EquationDef, binders: tuple[Binder, ...], unit: Unit) -> Node:
        """Check a rate; ``exact`` needs one that is affine in the states, as the degree proves."""
        if definition.scheme != "exact":
            return self.number(definition.rate, binders, unit)
        states = {e.name for e in self.core.equations if e.instants == definition.instants}
        marked = {n: replace(s, degree=int(n in states)) for n, s in self.symbols.items()}
        checker = TypeChecker(self.elaboration.set_infos, marked)
        try:
            typed = checker.number(parse(definition.rate), checker.scope_of(binders), unit)
            if typed.degree <= 1:
                return typed.node
            column = (checker.nonlinear or typed.node).span[0] + 1
        except ExpressionError as error:
            if error.code not in ("EB008", "EB011"):
                raise
            column = error.column
        text = "the scheme exact needs a rate that is linear in the states"
        raise ExpressionError(text, column, "use rk4", "EB041")

    def _draw(self, definition: DrawDef, path: str) -> Item:
        unit = self.symbols[definition.name].unit or ONE
        in_unit, pure = ARGUMENTS[definition.distribution]
        given = set(definition.arguments)
        if given != {*in_unit, *pure}:
            text = f"{definition.distribution} takes {', '.join((*in_unit, *pure))}"
            found = f"here are {', '.join(sorted(given)) or 'none'}"
            raise refused("EB044", f"{path}.arguments", text, found, definition.name)
        with located(path, definition.name):
            binders = self.elaboration.binders(definition.index)
        nodes, lists = {}, {}
        for key in (*in_unit, *pure):
            wanted = unit if key in in_unit else ONE
            if key == "standard_deviation":
                wanted = unit.difference()
            with located(f"{path}.arguments.{key}", definition.name):
                text = str(definition.arguments[key])
                if key in LISTED:
                    lists[key] = self._listed(text, wanted)
                else:
                    nodes[key] = self.number(text, binders, wanted)
        return Item(definition, path, unit, binders, self._sets(binders), nodes, lists)

    def _listed(self, text: str, unit: Unit) -> str:
        symbol = self.elaboration.symbols.get(text)
        if symbol is None or symbol.unit is None or len(symbol.dims) != 1:
            hint = "declare a parameter with one index and write its name"
            raise ExpressionError(f"{text!r} is no parameter over one set", 1, hint, "EB044")
        if symbol.unit.dimension != unit.dimension or symbol.unit.is_point != unit.is_point:
            raise ExpressionError(f"{text} is {symbol.unit}, needed is {unit}", 1, None, "EB005")
        return text

    def listed_values(self, item: Item, key: str) -> Any:
        """Return a listed argument of a draw in the draw's unit, or as pure numbers."""
        name = item.lists[key]
        own = next(unit_of(p) for p in self.core.parameters if p.name == name)
        factor, shift = conversion(own, item.unit if key == "values" else ONE)
        return self.elaboration.table(name).values.reshape(-1) * factor + shift

    def _check_claims(self) -> None:
        """Refuse claims that are none; whether they hold is for the checker to say."""
        found: list[Diagnostic] = []
        seen: set[str] = set()
        for position, definition in enumerate(self.core.claims):
            path = f"{PATH}.claims[{position}]"
            label = definition.name or definition.claim_id
            with collected(found):
                if definition.claim_id in seen:
                    text = f"the id {definition.claim_id!r} is used twice"
                    raise refused("EB012", path, text, None, label)
                seen.add(definition.claim_id)
                self._check_claim(definition, path, label)
        if found:
            raise BlueprintError(found)

    def _check_claim(self, definition: ClaimDef, path: str, label: str) -> None:
        with located(f"{path}.expression", label):
            checker = self.checker()
            scope = checker.scope_of(self.elaboration.binders(definition.forall))
            try:
                typed = checker.comparison(parse(definition.expression), scope)
            except ExpressionError as error:
                if error.code not in ("EB009", "EB010"):
                    raise
                hint = error.suggestion or "compare by <=, >= or =="
                raise ExpressionError(error.message, error.column, hint, "EB046") from None
        if definition.where is not None:
            with located(f"{path}.where", label):
                checker.condition(parse(definition.where), scope)
        with located(f"{path}.tolerance", label):
            number = self.number(definition.tolerance, (), typed.unit.difference())
            if not isinstance(number, Number) or number.value < 0:
                hint = 'write a number with its unit, as "0.05[kWh]"'
                raise ExpressionError("a tolerance is a number from 0", 1, hint, "EB046")


def _refuse_kind(blueprint: Blueprint) -> None:
    core = blueprint.core
    if blueprint.kind != "definitions":
        text = f"the kind is {blueprint.kind!r}; only definitions are computed"
        raise refused("EB040", "kind", text, 'write "kind": "definitions"')
    for group in FOREIGN:
        if getattr(core, group):
            hint = "write what is computed under definitions, equations, draws or design"
            text = f"a blueprint of definitions has no {group}"
            raise refused("EB040", f"{PATH}.{group}", text, hint)
    if core.report is not None:
        text = "a blueprint of definitions has no report: every value that it computes is reported"
        hint = "write the expressions under definitions, and what they are varied over as choices"
        raise refused("EB040", f"{PATH}.report", text, hint)
    for position, parameter in enumerate(core.parameters):
        if parameter.uncertain is not None:
            path = f"{PATH}.parameters[{position}].uncertain"
            text = "what is only computed has no worst case that a decision could answer"
            hint = "draw the values under draws, or make the blueprint a programme"
            raise refused("EB040", path, text, hint, parameter.name)
