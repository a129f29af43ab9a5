"""Reads the slots of a component and declares its algebra, under the names of its slot file.

In the expressions of a component's parameters ``t`` is a period of the component's time set, so
that ``"2*people[t]"`` may stand where a series is expected; the name of an indexed parameter is
given its index by itself. Every variable, expression, row and derived parameter is called
``<component>_<series>``; a series carries the quantity ``<component>.<series>`` and has the unit
that the slot file gives it.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Final, Literal

import numpy as np
import numpy.typing as npt

from engiagent.blueprint.elaborate import Elaboration
from engiagent.blueprint.elements import (
    ComponentDef,
    ConstraintDef,
    Core,
    ExpressionDef,
    FrozenMap,
    Json,
    ParameterDef,
    VariableDef,
)
from engiagent.blueprint.grammar import Number, Ref, parse, parse_binder
from engiagent.blueprint.timeaxis import TimeAxis
from engiagent.errors import EngiagentError, InputError
from engiagent.formulations.components.fragment import (
    CAPACITY,
    OPERATION,
    PHYSICS,
    Part,
    Surroundings,
    Terminal,
    connection_of,
    wrong,
)
from engiagent.formulations.components.known import known_units, known_values
from engiagent.slots import COMPONENTS, Component, Slot
from engiagent.units.unit import UnitError

Role = Literal["decision", "state", "auxiliary"]
Slots = str | Sequence[str]
"""Names of slots, as words of one text or one by one."""
Index = tuple[str, ...]
_ROLES: Final[Mapping[str, Role]] = {"decision": "decision", "state": "state"}
_UNBRACKETED: Final = re.compile(r"\s*([-+]?[\d.]+(?:[eE][-+]?\d+)?)\s*([^\W\d][^\s\[\]]*)\s*")


@dataclass(frozen=True)
class Reader:
    """Reads the slots, options and connections of one component, and declares what it adds.

    Raises InputError when a parameter, option or connection is unknown, or a required one absent.
    """

    component: ComponentDef
    around: Surroundings
    # slots in place of those of its model, for a part of a component that is read alike
    own: Mapping[str, Slot] | None = None
    # what the component has added to the blueprint so far
    added: list[Part] = field(default_factory=list)

    def __post_init__(self) -> None:
        part, known = self.component, self.known
        groups: tuple[tuple[str, Mapping[str, Json] | None, tuple[str, ...]], ...] = (
            ("parameter", part.parameters, tuple(self.slots)),
            ("option", part.options, tuple(known.options)),
            ("connection", part.connections, tuple(known.connections)),
        )
        for what, given, names in groups:
            odd = next((name for name in given or () if name not in names), None)
            if odd is not None:
                raise self.wrong(f"unknown {what} {odd!r}", expected=", ".join(names) or "none")
        for name in part.options or ():
            if name in ("dump", "soft", "switching"):
                self.flag(name)
            elif name == "segments" and self.option(name) is not None:
                self.segments()
        before = set(self.around.read)
        for name, slot in self.slots.items():
            value = part.parameters.get(name)
            if value is None and name not in part.parameters and slot.required:
                raise self.missing(name)
            for unit in known_units(value, self.around.core):
                self._refuse_dimension(name, unit)
            for number in self.values(name):
                if not slot.allows(number):
                    tail = "" if slot.unit == "1" else f" {slot.unit}"
                    raise self.wrong(f"{name} is {number:g}{tail}", expected=slot.range)
        self.around.read.intersection_update(before)  # a range decides on nothing but a refusal

    # -- what stands there ------------------------------------------------------------------------

    @property
    def known(self) -> Component:
        """What a component of its model takes and gives."""
        return COMPONENTS[self.component.model]

    @cached_property
    def slots(self) -> Mapping[str, Slot]:
        """The slots, with prices in the currency of the objective."""
        return self.known.slots_in(self.around.currency) if self.own is None else self.own

    @property
    def name(self) -> str:
        """The component's name."""
        return self.component.name

    @property
    def time(self) -> str:
        """The time set of the component."""
        return str(self.component.index)

    @property
    def periods(self) -> tuple[str, ...]:
        """The binder of the periods."""
        return (f"t in {self.time}",)

    @property
    def instants(self) -> str:
        """The instants of the time set."""
        return self.around.instants[self.time]

    def wrong(
        self, message: str, found: str | None = None, expected: str | None = None
    ) -> InputError:
        """Return the error for a component that cannot be used as it stands."""
        return wrong(self.component, message, found=found, expected=expected)

    def missing(self, slot: str, why: str = "") -> InputError:
        """Return the error for a slot that has to be filled, with the reason."""
        expected = self.slots[slot].wanted + (f", for {why}" if why else "")
        return self.wrong(f"the parameter {slot} is not given", expected=expected)

    def given(self, slot: str) -> bool:
        """Whether a slot is filled."""
        return slot in self.component.parameters

    def optional(self, slot: str) -> str | None:
        """Return what fills a slot as an expression, None when nothing does."""
        return self.text(slot) if self.given(slot) else None

    def text(self, slot: str) -> str:
        """Return what fills a slot or its default as an expression, ready to be multiplied."""
        unit = self.slots[slot].unit
        if not self.given(slot):
            default = self.slots[slot].number
            if default is None:
                raise self.missing(slot)
            return f"{default:g}[{unit}]" if unit != "1" else f"{default:g}"
        value = self.component.parameters[slot]
        if isinstance(value, int | float):
            return f"{value!r}[{unit}]" if unit != "1" else repr(value)
        try:
            node = parse(value)
        except EngiagentError as error:
            raise self.wrong(f"cannot read {slot}: {error}", found=value) from None
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
        own = {member: name for name, member in self.around.over.get(self.name, ())}
        sets = [parse_binder(b).set if " in " in b else b for b in parameter.index]
        rest = [member for member in sets if member not in own]
        if len(rest) > 1:
            raise self.wrong(
                f"{slot} is the parameter {name} with {len(parameter.index)} indices",
                expected=f"one element of it, as {name}['A', t]",
            )
        if rest and not self.slots[slot].series:
            found = f"{name}, which varies over {rest[0]}"
            raise self.wrong(f"{slot} has to be a single number", found)
        if isinstance(parameter.unit, str):
            self._refuse_dimension(slot, parameter.unit)
        indices = ", ".join(own.get(member, "t") for member in sets)
        return f"{name}[{indices}]" if indices else name

    def _refuse_dimension(self, slot: str, unit: str) -> None:
        """Refuse a value of another dimension here, where the slot still has its name."""
        try:
            fits = self.slots[slot].counts(unit) is not None
        except UnitError:
            return  # found and located where the expression is read
        if not fits:
            raise self.wrong(f"{slot} is in {unit}", expected=self.slots[slot].wanted)

    def values(self, slot: str) -> tuple[float, ...]:
        """Return the numbers of a slot in its unit, as far as they are known without data files."""
        value = self.component.parameters.get(slot)
        return known_values(value, self.slots[slot].unit, self.around.core)

    def number(self, slot: str) -> float:
        """Return the number in a slot, or its default, in the slot's unit.

        Raises InputError when it cannot be evaluated without a data file.
        """
        return self.evaluated(self.text(slot), self.slots[slot].unit)

    def evaluated(self, text: str, unit: str, what: str = "") -> float:
        """Return the value of an expression over parameters in a unit, without any data file.

        ``what``: what it is the value of, for messages: ``buses.house``.
        """
        core = _numbers_of(self.around.core)
        own = ParameterDef(name="wanted__", value=text, unit=unit)
        core = replace(core, parameters=(*core.parameters, own))
        try:
            return float(Elaboration(core).table("wanted__").values)
        except EngiagentError as error:
            bare = _UNBRACKETED.fullmatch(text)
            if bare is not None:
                wanted = f"{bare[1]}[{bare[2]}], with the unit in square brackets, or a bare number"
                message = f"cannot read {what or 'a number'}"
                raise self.wrong(message, repr(text), f"{wanted} in {unit}") from None
            message = f"no number can be made of {what or text} [{unit}] here: {error}"
            raise self.wrong(message) from None

    def axis(self, why: str = "") -> TimeAxis:
        """Return the time axis of the periods; InputError with ``why`` when steps have no hours."""
        axis = Elaboration(_numbers_of(self.around.core)).index_set(self.time).axis
        if axis is None or axis.step_unit != "h":
            raise self.wrong(why or f"the exact scheme needs a step length for {self.time}")
        return axis

    def hours(self) -> npt.NDArray[np.float64]:
        """Return the lengths of the periods [h], shape (N,)."""
        return self.axis().steps

    def option(self, name: str, default: Json = None) -> Json:
        """Return an option, or its default."""
        options = self.component.options
        return default if options is None else options.get(name, default)

    def flag(self, name: str) -> bool:
        """Return an option that is yes or no, by default no."""
        value = self.option(name, False)
        if not isinstance(value, bool):
            raise self.wrong(f"cannot read {name}", repr(value), "true or false")
        return value

    def segments(self, default: int | None = None) -> int:
        """Return by how many chords a curve is replaced: the option ``segments``."""
        count = self.option("segments", default)
        if isinstance(count, bool) or not isinstance(count, int) or not 1 <= count <= 200:
            raise self.wrong("cannot read segments", repr(count), "a whole number from 1 to 200")
        return count

    def scheme(self) -> str:
        """Return the option ``scheme``; the first of those that the model has by default."""
        known = self.known.options["scheme"]
        scheme = self.option("scheme", known[0])
        if scheme not in known:
            raise self.wrong("unknown scheme", repr(scheme), " or ".join(known))
        return str(scheme)

    def exclusive_set(self) -> str | None:
        """Return the set on which two directions exclude each other, None when they do not."""
        name = self.option("exclusive_on")
        sets = {s.name: s for s in self.around.core.sets}
        if name is not None and name not in sets:
            text = "the option exclusive_on names no set"
            raise self.wrong(text, repr(name), expected=", ".join(sets))
        return None if name is None else str(name)

    def connection(self, name: str) -> Json:
        """Return a connection, None when there is none."""
        return connection_of(self.component, name)

    def neighbour(
        self, connection: str, model: str, message: str, *, timed: bool = False
    ) -> ComponentDef:
        """Return the component of a model that a connection names, with ``timed`` of its time set.

        Raises InputError with ``message``, when there is none.
        """
        name = self.connection(connection)
        part = None if name is None else self.around.component(str(name))
        others = [c for c in self.around.core.components if c.model == model]
        others = [c for c in others if not timed or c.index == self.component.index]
        if part is None or part not in others:
            found = "nothing" if name is None and timed else repr(name)
            known = ", ".join(c.name for c in others) or f"a component of model {model}"
            raise self.wrong(message, found, known)
        return part

    def part(self, parameters: Mapping[str, Json], slots: Mapping[str, Slot]) -> "Reader":
        """Return a reader of values that stand in a connection, by slots of their own."""
        own = self.component
        part = ComponentDef(
            name=own.name, model=own.model, index=own.index, parameters=FrozenMap(parameters)
        )
        return Reader(part, self.around, slots)

    # -- where it comes from ----------------------------------------------------------------------

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

    def derived_from(self, note: str, *slots: str) -> Json:
        """Return the source of a number that was computed from some slots."""
        source = self.source(*slots)
        of = {} if source is None else {"of": source}
        return FrozenMap({"kind": "derived", **of, "note": note})

    # -- what it adds -----------------------------------------------------------------------------

    def _quantity(self, series: str) -> str:
        """Return the quantity of a series; a zone called ``zone`` needs no second name."""
        if self.component.model == "thermal_zone":
            return f"zone.{series}" if self.name == "zone" else f"zone.{self.name}.{series}"
        return f"{self.name}.{series}"

    def _named(self, words: str) -> str:
        """Return words with the component's name, which stands at ``{}`` or else behind ``of``."""
        return words.replace("{}", self.name) if "{}" in words else f"{words} of {self.name}"

    def _unit(self, series: str) -> str:
        return self.known.quantities[series].unit.replace("EUR", self.around.currency)

    def variable(
        self,
        series: str,
        description: str,
        *,
        of: Slots = "",
        lower: float | str | None = 0,
        upper: float | str | None = None,
        unit: str | None = "",
        quantity: str = "",
        kind: Literal["continuous", "binary", "integer"] = "continuous",
        role: Role | None = None,
        index: Index | None = None,
    ) -> str:
        """Add a series as a variable over the periods, or a state at the instants.

        ``lower``, ``upper``: a bound that holds a decision, as a capacity that is still to be
        chosen, becomes a row; the variable itself keeps what follows from the decision's own
        bounds. ``of``: the slots that its bounds come from. ``unit``, ``quantity``, ``role``: by
        default those of the series in the slot file.
        """
        known = self.known.quantities.get(series)
        role = role or (_ROLES.get(known.kind, "auxiliary") if known else "decision")
        usual = (f"i in {self.instants}",) if role == "state" else self.periods
        index = usual if index is None else index
        at = _at(f"{self.name}_{series}", index)
        for bound, sign, word in ((lower, ">=", "lower"), (upper, "<=", "upper")):
            if self.around.decisions_in(bound):
                text, words = f"{at} {sign} {bound}", f"{word} limit of {description}"
                self.row(f"{series}_{word}", text, words, CAPACITY, of=of, index=index)
        variable = VariableDef(
            name=f"{self.name}_{series}",
            index=index,
            type=kind,
            lower=self.around.extreme(lower, "lower"),
            upper=self.around.extreme(upper, "upper"),
            unit=self._unit(series) if unit == "" else unit,
            quantity=quantity or self._quantity(series),
            role=role,
            description=self._named(description),
            source_reference=self.source(*_words(of)),
        )
        self.added.append(variable)
        return at

    def expression(
        self,
        series: str,
        text: str,
        description: str,
        *,
        unit: str = "",
        quantity: str = "",
        index: Index | None = None,
    ) -> str:
        """Add a series as a named expression, over the periods unless an index is given."""
        expression = ExpressionDef(
            name=f"{self.name}_{series}",
            index=self.periods if index is None else index,
            expression=text,
            unit=unit or self._unit(series),
            quantity=quantity or self._quantity(series),
            description=self._named(description),
        )
        self.added.append(expression)
        return _at(expression.name, expression.index)

    def row(
        self,
        suffix: str,
        text: str,
        name: str,
        category: str = PHYSICS,
        *,
        of: Slots = "",
        where: str | None = None,
        index: Index | None = None,
    ) -> None:
        """Add a constraint, for the periods unless an index is given."""
        constraint = ConstraintDef(
            constraint_id=f"{self.name}_{suffix}",
            name=self._named(name),
            forall=self.periods if index is None else index,
            where=where,
            expression=text,
            category=category,
            hard=True,
            source_reference=self.source(*_words(of)),
        )
        self.added.append(constraint)

    def derived(
        self,
        suffix: str,
        unit: str,
        value: Json,
        description: str,
        *,
        of: Slots = "",
        note: str = "",
        index: Index | None = None,
    ) -> str:
        """Add a parameter computed from others, over the periods unless an index is given.

        ``note`` says how it was computed, by default what it is.
        """
        if isinstance(value, np.ndarray):
            value, index = tuple(map(float, value)), (self.time,)
        parameter = ParameterDef(
            name=f"{self.name}_{suffix}",
            index=self.periods if index is None else index,
            value=value,
            unit=unit,
            description=self._named(description),
            source_reference=self.derived_from(note or description, *_words(of)),
        )
        self.added.append(parameter)
        return _at(parameter.name, parameter.index)

    def initial(self, series: str, slot: str, name: str = "state at the start") -> None:
        """Add the row that fixes a state at the first instant."""
        state = f"{self.name}_{series}[first({self.instants})]"
        self.row("initial", f"{state} == {self.text(slot)}", name, of=slot, index=())

    def terminal(
        self,
        power: str,
        limit: str | None,
        *,
        supplies: bool,
        floor: str | None = None,
        port: str = "bus",
    ) -> None:
        """Add the terminal on the component's bus of a port; nothing when it is on none."""
        bus = self.connection(port)
        if bus is not None:
            ends = (self.around.extreme(limit, "upper"), self.around.extreme(floor, "lower"))
            most, least = (None if end is None else str(end) for end in ends)
            self.added.append(Terminal(str(bus), power, supplies, most, least))

    def exchange(
        self, series: str, description: str, slot: str, *, supplies: bool, port: str = "bus"
    ) -> str:
        """Add a power up to the limit in a slot as a variable, and its terminal."""
        limit = self.optional(slot)
        power = self.variable(series, description, upper=limit, of=slot)
        self.terminal(power, limit, supplies=supplies, port=port)
        return power

    def exclusive(
        self, over: str, switch: str, first: tuple[str, str], second: tuple[str, str]
    ) -> None:
        r"""Add a binary and two rows that let only one of two powers be positive.

        .. math:: x_t \le M^x_t z_t, \qquad y_t \le M^y_t (1 - z_t)

        ``first`` and ``second`` are a series and its limit, the smallest valid big-M.
        """
        index = (f"t in {over}",)
        words = f"1 when {{}}_{first[0]} may be positive, 0 when {{}}_{second[0]} may be"
        on = self.variable(
            switch, words, upper=1, unit=None, kind="binary", role="auxiliary", index=index
        )
        for (series, limit), state in ((first, on), (second, f"(1 - {on})")):
            text = f"{self.name}_{series}[t] <= {limit}*{state}"
            words = f"{{}}_{series} only in its direction"
            self.row(f"{series}_exclusive", text, words, OPERATION, index=index)


def _at(name: str, index: Sequence[str]) -> str:
    """Return a series at its own indices, as an expression; a set's periods are ``t``."""
    names = [binder.partition(" in ")[0] if " in " in binder else "t" for binder in index]
    return f"{name}[{', '.join(names)}]" if names else name


def _words(slots: Slots) -> Sequence[str]:
    return slots.split() if isinstance(slots, str) else slots


def _numbers_of(core: Core) -> Core:
    """Return the sets and parameters alone."""
    return Core(sets=core.sets, parameters=core.parameters)
