"""What every component's algebra is made of: slots that are filled, fragments, terminals on a bus.

In the expressions of a component's parameters ``t`` is a period of the component's time set, so
that ``"2*people[t]"`` may stand where a series is expected; the name of an indexed parameter is
given its index by itself.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from engiagent.blueprint.document import (
    ComponentDef,
    ConstraintDef,
    Core,
    ExpressionDef,
    FrozenMap,
    Json,
    ParameterDef,
    SetDef,
    VariableDef,
)
from engiagent.blueprint.grammar import Number, Ref, parse, parse_binder
from engiagent.errors import EngiagentError, InputError
from engiagent.formulations.components.known import known_units, known_values
from engiagent.units.unit import UnitError, parse_unit

PORTS = ("bus", "heat_bus", "cooling_bus", "fuel_bus")
"""The connections that are buses with a power balance, all in kW."""


@dataclass(frozen=True)
class Slot:
    """A parameter of a component: its unit, and whether it has to be there.

    ``series`` slots may vary over the periods; others are single numbers, or a ``table``: numbers
    in brackets, or the name of a parameter over one set. A value outside ``low`` to ``high`` (at
    ``low`` too when ``above``) is refused wherever it is known before data files are read.
    ``default`` and ``meaning`` are what the reference page says.
    """

    unit: str
    required: bool = False
    series: bool = False
    table: bool = False
    low: float | None = None
    high: float | None = None
    above: bool = False
    default: str = ""
    meaning: str = ""


@dataclass(frozen=True)
class Terminal:
    """Where a component meets a bus.

    Attributes
    ----------
    bus
        The bus's name.
    power
        The power [kW] in period ``t``, as an expression.
    supplies
        Whether the power goes to the bus and not from it.
    limit
        The largest power [kW] in period ``t``, as an expression; None when there is none.
    floor
        The smallest power [kW], where it is not 0.
    """

    bus: str
    power: str
    supplies: bool
    limit: str | None
    floor: str | None = None


@dataclass(frozen=True)
class Fragment:
    """What a component adds to a blueprint."""

    sets: tuple[SetDef, ...] = ()
    parameters: tuple[ParameterDef, ...] = ()
    variables: tuple[VariableDef, ...] = ()
    expressions: tuple[ExpressionDef, ...] = ()
    constraints: tuple[ConstraintDef, ...] = ()
    terminals: tuple[Terminal, ...] = ()

    def __add__(self, other: "Fragment") -> "Fragment":
        return Fragment(
            self.sets + other.sets,
            self.parameters + other.parameters,
            self.variables + other.variables,
            self.expressions + other.expressions,
            self.constraints + other.constraints,
            self.terminals + other.terminals,
        )


@dataclass(frozen=True)
class Surroundings:
    """What a component can see of the blueprint it stands in.

    Attributes
    ----------
    core
        The model with all its components.
    instants
        The instants of every time set that a component uses.
    terminals
        The terminals of the components built so far, for those that bound themselves by them.
    """

    core: Core
    instants: Mapping[str, str] = field(default_factory=dict)
    terminals: tuple[Terminal, ...] = ()

    def parameter(self, name: str) -> ParameterDef | None:
        """Return the parameter of a name, if there is one."""
        return next((p for p in self.core.parameters if p.name == name), None)

    def component(self, name: str) -> ComponentDef | None:
        """Return the component of a name, if there is one."""
        return next((c for c in self.core.components if c.name == name), None)

    def connected(self, model: str, connection: str, name: str) -> tuple[ComponentDef, ...]:
        """Return the components of a model whose ``connection`` is ``name``."""
        return tuple(
            c
            for c in self.core.components
            if c.model == model and connection_of(c, connection) == name
        )


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


@dataclass(frozen=True)
class Reader:
    """Reads the slots, options and connections of one component.

    Raises
    ------
    InputError
        On creation, when a parameter, option or connection is unknown or a required one is absent.
    """

    component: ComponentDef
    around: Surroundings
    slots: Mapping[str, Slot]
    options: tuple[str, ...] = ()
    connections: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        part = self.component
        groups: tuple[tuple[str, Mapping[str, Json] | None, tuple[str, ...]], ...] = (
            ("parameter", part.parameters, tuple(self.slots)),
            ("option", part.options, self.options),
            ("connection", part.connections, self.connections),
        )
        for what, given, known in groups:
            for name in given or ():
                if name not in known:
                    raise wrong(
                        part, f"unknown {what} {name!r}", expected=", ".join(known) or "none"
                    )
        for name, slot in self.slots.items():
            if slot.required and name not in part.parameters:
                raise wrong(part, f"the parameter {name} is not given", expected=_shown(slot))
            if name in part.parameters:
                self._refuse_range(name, slot)

    def _refuse_range(self, name: str, slot: Slot) -> None:
        """Refuse a number of another dimension or outside the range, as far as it is known here."""
        value, core = self.component.parameters[name], self.around.core
        for unit in known_units(value, core):
            self._refuse_dimension(name, unit)
        low = -math.inf if slot.low is None else slot.low
        high = math.inf if slot.high is None else slot.high
        for number in known_values(value, slot.unit, core):
            if not low <= number <= high or (slot.above and number == low):
                tail = "" if slot.unit == "1" else f" {slot.unit}"
                floor = f"{'above' if slot.above else 'at least'} {low:g}"
                limits = [floor] * (slot.low is not None)
                limits += [f"at most {high:g}"] * (slot.high is not None)
                expected = f"{', '.join(limits)}{tail}" if limits else _shown(slot)
                raise wrong(self.component, f"{name} is {number:g}{tail}", expected=expected)

    @property
    def name(self) -> str:
        """The component's name."""
        return self.component.name

    @property
    def time(self) -> str:
        """The time set over which the component lives."""
        return str(self.component.index)

    @property
    def periods(self) -> tuple[str, ...]:
        """The binder of the periods."""
        return (f"t in {self.time}",)

    @property
    def instants(self) -> str:
        """The instants of the time set."""
        return self.around.instants[self.time]

    def given(self, slot: str) -> bool:
        """Whether a slot is filled."""
        return slot in self.component.parameters

    def text(self, slot: str) -> str:
        """Return what fills a slot as an expression, ready to be multiplied."""
        value = self.component.parameters[slot]
        unit = self.slots[slot].unit
        if isinstance(value, int | float):
            return f"{value!r}[{unit}]" if unit != "1" else repr(value)
        try:
            node = parse(value)
        except EngiagentError as error:
            raise wrong(self.component, f"cannot read {slot}: {error}", found=value) from None
        if isinstance(node, Number) and node.unit is not None:
            self._refuse_dimension(slot, node.unit)
        if isinstance(node, Ref) and not node.indices:
            return self._indexed(slot, value)
        if isinstance(node, Number) and node.unit is None and unit != "1":
            return f"{value.strip()}[{unit}]"
        return value if isinstance(node, Ref | Number) else f"({value})"

    def _indexed(self, slot: str, name: str) -> str:
        """Return the name of a parameter with the index that it needs."""
        parameter = self.around.parameter(name)
        if parameter is None:
            return name
        if len(parameter.index) > 1:
            raise wrong(
                self.component,
                f"{slot} is the parameter {name} with {len(parameter.index)} indices",
                expected=f"one element of it, as {name}['A', t]",
            )
        if parameter.index and not self.slots[slot].series:
            over = _set_of(parameter.index[0])
            raise wrong(
                self.component,
                f"{slot} has to be a single number",
                found=f"{name}, which varies over {over}",
            )
        if isinstance(parameter.unit, str):
            self._refuse_dimension(slot, parameter.unit)
        return f"{name}[t]" if parameter.index else name

    def _refuse_dimension(self, slot: str, unit: str) -> None:
        """Refuse a value of another dimension here, where the slot still has its name."""
        try:
            given = parse_unit(unit)
        except UnitError:
            return  # found and located where the expression is read
        if given.dimension != parse_unit(self.slots[slot].unit).dimension:
            expected = _shown(self.slots[slot])
            raise wrong(self.component, f"{slot} is in {unit}", expected=expected)

    def optional(self, slot: str) -> str | None:
        """Return what fills a slot as an expression, None when nothing does."""
        return self.text(slot) if self.given(slot) else None

    def source(self, *slots: str) -> Json:
        """Return where the values of some slots come from, or else the component itself.

        What is written into a slot as an expression has no source but the component's.
        """
        found = []
        for slot in slots:
            value = self.component.parameters.get(slot)
            parameter = self.around.parameter(value) if isinstance(value, str) else None
            if parameter is not None and parameter.source_reference is not None:
                found.append(parameter.source_reference)
        own = self.component.source_reference
        if not found:
            return own
        given = [v for v in self.component.parameters.values() if isinstance(v, str)]
        if own is not None and any(self.around.parameter(value) is None for value in given):
            found.append(own)
        return found[0] if len(found) == 1 else tuple(found)

    def derived(self, note: str, *slots: str) -> Json:
        """Return the source of a number that was computed from some slots."""
        source = self.source(*slots)
        of = {} if source is None else {"of": source}
        return FrozenMap({"kind": "derived", **of, "note": note})

    def option(self, name: str, default: Json = None) -> Json:
        """Return an option, or its default."""
        options = self.component.options
        return default if options is None else options.get(name, default)

    def scheme(self, known: tuple[str, ...]) -> str:
        """Return the option ``scheme``; the first of the known ones by default."""
        scheme = self.option("scheme", known[0])
        if scheme not in known:
            raise wrong(
                self.component, "unknown scheme", found=repr(scheme), expected=" or ".join(known)
            )
        return str(scheme)

    def connection(self, name: str) -> Json:
        """Return a connection, None when there is none."""
        return connection_of(self.component, name)

    def terminal(
        self,
        power: str,
        limit: str | None,
        *,
        supplies: bool,
        floor: str | None = None,
        port: str = "bus",
    ) -> tuple[Terminal, ...]:
        """Return the terminal on the component's bus of a port; nothing when it is on none."""
        bus = self.connection(port)
        return () if bus is None else (Terminal(str(bus), power, supplies, limit, floor),)

    def exclusive_set(self) -> str | None:
        """Return the set on which two directions exclude each other, None when they do not."""
        name = self.option("exclusive_on")
        sets = {s.name: s for s in self.around.core.sets}
        if name is None:
            return None
        if name not in sets:
            raise wrong(
                self.component,
                "the option exclusive_on names no set",
                found=repr(name),
                expected=", ".join(sets),
            )
        return str(name)


def _shown(slot: Slot) -> str:
    return "a number" if slot.unit == "1" else f"a value in {slot.unit}"


def _set_of(binder: str) -> str:
    return parse_binder(binder).set if " in " in binder else binder


def exclusive(
    reader: Reader, over: str, switch: str, first: tuple[str, str], second: tuple[str, str]
) -> Fragment:
    r"""Return a binary and two rows that let only one of two powers be positive.

    .. math:: x_t \le M^x_t z_t, \qquad y_t \le M^y_t (1 - z_t)

    ``first`` and ``second`` are a variable's name and its limit, the smallest valid big-M.
    """
    name = f"{reader.name}_{switch}"
    binder = (f"t in {over}",)
    rows = ((first, f"{name}[t]"), (second, f"(1 - {name}[t])"))
    return Fragment(
        variables=(
            VariableDef(
                name=name,
                index=binder,
                type="binary",
                lower=0,
                upper=1,
                quantity=f"{reader.name}.{switch}",
                role="auxiliary",
                description=f"1 when {first[0]} may be positive, 0 when {second[0]} may be",
            ),
        ),
        constraints=tuple(
            ConstraintDef(
                constraint_id=f"{variable}_exclusive",
                name=f"{variable} only in its direction",
                forall=binder,
                expression=f"{variable}[t] <= {limit}*{on}",
                category="Operational Logic",
                hard=True,
                source_reference=reader.component.source_reference,
            )
            for (variable, limit), on in rows
        ),
    )


def balance(plus: Iterable[str], minus: Iterable[str] = ()) -> str:
    """Return a sum of terms less other terms as one expression; 0 when there is none.

    >>> balance(["load[t]", "P_max"], ["pv[t]"])
    'load[t] + P_max - pv[t]'
    """
    text = "".join([f" + {term}" for term in plus] + [f" - {term}" for term in minus])
    return text.removeprefix(" + ").lstrip() or "0"
