"""What every component's algebra is made of: fragments of a blueprint, terminals on a bus."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

from engiagent.blueprint.elements import (
    ComponentDef,
    ConstraintDef,
    Core,
    ExpressionDef,
    Json,
    ParameterDef,
    SetDef,
    VariableDef,
)
from engiagent.blueprint.grammar import Binary, Node, Number, Ref, parse, references, walk
from engiagent.errors import InputError
from engiagent.formulations.components.known import known_values
from engiagent.units.unit import UnitError, parse_unit

PORTS = ("bus", "heat_bus", "cooling_bus", "fuel_bus")
"""The connections that are buses with a power balance, all in kW."""
PHYSICS = "Physical Laws"
CAPACITY = "Resource Capacity"
OPERATION = "Operational Logic"
REQUIREMENT = "Strategic Requirements"


@dataclass(frozen=True)
class Terminal:
    """Where a component meets a bus."""

    bus: str  # the bus's name
    power: str  # the power [kW] in period ``t``, as an expression
    supplies: bool  # whether the power goes to the bus and not from it
    # the largest power [kW] in period ``t``, as an expression; None when there is none
    limit: str | None
    floor: str | None = None  # the smallest power [kW], where it is not 0
    # names and sets of the scenarios in which the power differs
    scenarios: tuple[tuple[str, str], ...] = ()


Part = SetDef | ParameterDef | VariableDef | ExpressionDef | ConstraintDef | Terminal


@dataclass(frozen=True)
class Fragment:
    """What components add to a blueprint."""

    sets: tuple[SetDef, ...] = ()
    parameters: tuple[ParameterDef, ...] = ()
    variables: tuple[VariableDef, ...] = ()
    expressions: tuple[ExpressionDef, ...] = ()
    constraints: tuple[ConstraintDef, ...] = ()
    terminals: tuple[Terminal, ...] = ()

    @classmethod
    def of(cls, parts: Iterable[Part]) -> "Fragment":
        """Return a fragment of parts, each kind in its own order."""
        kinds = (SetDef, ParameterDef, VariableDef, ExpressionDef, ConstraintDef, Terminal)
        own = [*parts]
        groups: list[Any] = [tuple(p for p in own if isinstance(p, kind)) for kind in kinds]
        return cls(*groups)

    @property
    def parts(self) -> tuple[Part, ...]:
        """All of it."""
        return (
            *self.sets,
            *self.parameters,
            *self.variables,
            *self.expressions,
            *self.constraints,
            *self.terminals,
        )


@dataclass(frozen=True)
class Surroundings:
    """What a component can see of the blueprint it stands in."""

    core: Core  # the model with all its components
    # the instants of every time set that a component uses
    instants: Mapping[str, str] = field(default_factory=dict)
    # the terminals of the components built so far, for those that bound themselves by them
    terminals: tuple[Terminal, ...] = ()
    # by component the names and sets over which it is repeated
    over: Mapping[str, tuple[tuple[str, str], ...]] = field(default_factory=dict)
    # what the first of several components found that the others need as well
    shared: dict[str, Any] = field(default_factory=dict, compare=False, repr=False)
    # the parameters whose numbers were asked for so far, where somebody keeps an eye on them
    read: set[str] = field(default_factory=set, compare=False, repr=False)

    @property
    def currency(self) -> str:
        """The currency of the objective, EUR where there is none.

        An objective that is no money leaves prices in the currency of the parameters.
        """
        objective = self.core.objective_function
        if objective is None:
            return "EUR"
        unit = objective.unit or next((t.unit for t in objective.terms if t.unit), None) or "EUR"
        if _money(unit) is not None:
            return unit
        units = (p.unit for p in self.core.parameters if isinstance(p.unit, str))
        return next((money for money in map(_money, units) if money is not None), unit)

    def parameter(self, name: str) -> ParameterDef | None:
        """Return the parameter of a name, if there is one."""
        return next((p for p in self.core.parameters if p.name == name), None)

    @cached_property
    def _decisions(self) -> Mapping[str, VariableDef]:
        return {v.name: v for v in self.core.decision_variables}

    def decisions_in(self, bound: float | str | None) -> list[Ref]:
        """Return where an expression holds decisions, as a capacity that is still to be chosen."""
        if not isinstance(bound, str) or not self._decisions:
            return []
        return [r for r in references(bound) if r.name in self._decisions]

    def extreme(
        self, bound: float | str | None, end: Literal["lower", "upper"]
    ) -> float | str | None:
        """Return a bound with each decision in it at that end of its own range.

        None when a decision has no such end, or when the bound need not grow with it.
        """
        found = self.decisions_in(bound)
        if not found or not isinstance(bound, str):
            return bound
        if not self._grows(parse(bound)):
            return None
        for ref in sorted(found, key=lambda ref: -ref.span[0]):
            decision = self._decisions[ref.name]
            value, unit = getattr(decision, end), decision.unit or "1"
            if value is None or decision.index:
                return None
            text = f"({value})" if isinstance(value, str) else repr(value)
            if not isinstance(value, str) and unit != "1":
                text = f"{text}[{unit}]"
            bound = f"{bound[: ref.span[0]]}{text}{bound[ref.span[1] :]}"
        return bound

    def _grows(self, node: Node) -> bool:
        """Whether an expression surely grows with the decisions in it."""
        if isinstance(node, Number):
            return node.value >= 0
        if isinstance(node, Ref):
            if node.name in self._decisions:
                return True
            given = self.parameter(node.name)
            unit = given.unit if given is not None and isinstance(given.unit, str) else "1"
            values = known_values(node.name, unit, self.core)
            return bool(values) and min(values) >= 0
        if not isinstance(node, Binary) or node.op not in "+*/":
            return False
        left, right = (
            any(isinstance(r, Ref) and r.name in self._decisions for r in walk(part))
            for part in (node.left, node.right)
        )
        monotone = node.op == "+" or not ((left and right) or (node.op == "/" and right))
        return monotone and self._grows(node.left) and self._grows(node.right)

    def component(self, name: str) -> ComponentDef | None:
        """Return the component of a name, if there is one."""
        return next((c for c in self.core.components if c.name == name), None)


def connection_of(component: ComponentDef, name: str) -> Json:
    """Return a connection of a component, None when it has none of this name."""
    return None if component.connections is None else component.connections.get(name)


def buses_of(component: ComponentDef) -> tuple[str, ...]:
    """Return the buses that a component is on, each once: by its ports, or as a feeder's own."""
    ports = [connection_of(component, port) for port in PORTS]
    own = connection_of(component, "buses")
    names = [str(bus) for bus in ports if bus is not None]
    return tuple(dict.fromkeys([*names, *(own if isinstance(own, Mapping) else ())]))


def wrong(
    component: ComponentDef, message: str, *, found: str | None = None, expected: str | None = None
) -> InputError:
    """Return the error for a component that cannot be used as it stands."""
    text = f"component {component.name} ({component.model}): {message}"
    return InputError(text, found=found, expected=expected)


def balance(plus: Iterable[str], minus: Iterable[str] = ()) -> str:
    """Return a sum of terms less other terms as one expression; 0 when there is none.

    >>> balance(["load[t]", "P_max"], ["pv[t]"])
    'load[t] + P_max - pv[t]'
    """
    text = "".join([f" + {term}" for term in plus] + [f" - {term}" for term in minus])
    return text.removeprefix(" + ").lstrip() or "0"


def _money(unit: str) -> str | None:
    """Return the currency in a unit, None when there is none."""
    try:
        dimension = parse_unit(unit).dimension
    except UnitError:
        return None
    names = (name for name, _ in dimension)
    return next((n for n in names if len(n) == 3 and n.isupper()), None)
