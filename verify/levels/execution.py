"""Re-execution: the plan's decisions, run through the physics of :mod:`engiagent.models`."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from engiagent.blueprint.document import ComponentDef, Core
from engiagent.blueprint.grammar import Binder, Node, Ref, children, parse
from engiagent.blueprint.sets import IndexSet
from engiagent.errors import EngiagentError
from engiagent.slots import COMPONENTS, Slot
from engiagent.units.unit import Unit, parse_unit
from engiagent.verify import arithmetic, values
from engiagent.verify.documents import Bench
from engiagent.verify.frames import EvaluationError, Frame, MissingQuantity, whole_grid
from engiagent.verify.plants import entry_of
from engiagent.verify.plants.run import Result, Run, Trajectory
from engiagent.verify.plants.unit import Unit as Executed
from engiagent.verify.requirements import Dynamics
from engiagent.verify.series import Series
from engiagent.verify.values import Floats
from engiagent.verify.vocabulary import SERIES


def dynamics_of(core: Core) -> tuple[Dynamics, ...]:
    """Return the components of a blueprint as physical units."""
    return tuple(
        Dynamics(c.name, c.model, c.index, _scheme(c), _parameters(c), c.connections or {})
        for c in core.components
    )


def _scheme(component: ComponentDef) -> str:
    options: Mapping[str, Any] = component.options or {}
    return str(options.get("scheme", "exact"))


def _parameters(component: ComponentDef) -> Mapping[str, Any]:
    """Return the slots of a component, with its options that say what it declares."""
    options: Mapping[str, Any] = component.options or {}
    known = COMPONENTS.get(component.model)
    slots = {} if known is None else known.executed_slots
    told = {name: value for name, value in options.items() if name in slots}
    return {**component.parameters, **told} if told else component.parameters


@dataclass
class Plant:
    """The declared units with their numbers; ``unchecked`` says what could not be run.

    ``notes`` says what a reader should know of what was run.

    Attributes
    ----------
    noise
        By unit and parameter what is added to its series over the periods, for runs with
        disturbances.
    """

    bench: Bench
    units: Sequence[Dynamics]
    unchecked: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    noise: Mapping[tuple[str, str], Floats] = field(default_factory=dict)
    _runs: dict[str, Run | EngiagentError] = field(default_factory=dict)

    # -- reading --------------------------------------------------------------------------------

    def periods(self, unit: Dynamics) -> IndexSet:
        """Return the time set over which a unit runs."""
        sets = self.bench.declarations.sets
        if unit.index is not None:
            return self.bench.evaluator.environment.set(unit.index)
        timed = [s for s in sets.values() if s.kind == "time"]
        if len(timed) != 1:
            raise EvaluationError(f"{unit.name} does not say over which time set it runs")
        return timed[0]

    def hours(self, periods: IndexSet) -> Floats:
        """Return the step lengths of a time set in hours."""
        axis = periods.root.axis
        if axis is None or axis.step_unit != "h":
            raise EvaluationError(f"{periods.name} has no steps in hours")
        return axis.steps[periods.in_root]

    def instants(self, periods: IndexSet) -> IndexSet | None:
        """Return the instants of a time set, None when the document declares none."""
        sets = self.bench.declarations.sets.values()
        return next((s for s in sets if s.periods_of is periods and s.kind == "instants"), None)

    def slot(self, unit: Dynamics, name: str, unit_text: str | None = None) -> Floats | None:
        """Return a parameter of a unit over its periods, its default or None when not given.

        Parameters
        ----------
        unit_text
            In which it is wanted; the unit of the model's slot when None.
        """
        slot = _slot(unit, name)
        wanted, written = unit_text or slot.unit, unit.parameters.get(name)
        if written is None and slot.required:
            raise EvaluationError(f"{unit.name} has no {name}")
        if written is None:
            usual = slot.number
            if usual is None:
                return None
            return values.wide(np.array([float(usual)]), self.periods(unit).size)
        numbers = self.number(unit, written, wanted)
        noise = self.noise.get((unit.name, name))
        return numbers if noise is None else numbers + noise

    def series(self, unit: Dynamics, name: str, unit_text: str | None = None) -> Floats:
        """Return a parameter over the periods that the model cannot do without."""
        found = self.slot(unit, name, unit_text)
        if found is None:
            raise EvaluationError(f"{unit.name} has no {name}")
        return found

    def number(self, unit: Dynamics, written: Any, unit_text: str) -> Floats:
        """Return a number or an expression over the periods of a unit, in ``unit_text``."""
        wanted = parse_unit(unit_text)
        periods = self.periods(unit)
        frame = whole_grid((periods,), (Binder((0, 0), ("t",), periods.name),))
        if isinstance(written, int | float):
            return values.wide(np.array([float(written)]), frame.size)
        node = self._indexed(parse(str(written)), frame)
        value = arithmetic.adopt(self.bench.evaluator.number(node, frame), wanted)
        _same(unit, written, value.unit, wanted)
        return values.wide(wanted.from_si(values.thin(value.data)), frame.size)

    def _indexed(self, node: Node, frame: Frame) -> Node:
        """Give the bare name of a series the index of its period."""
        if isinstance(node, Ref) and not node.indices and node.name not in frame.names:
            sets = self.bench.declarations.sets
            if node.name in sets:
                return node
            symbol = self.bench.evaluator.environment.symbol(node.name)
            if len(symbol.dims) == 1:
                return replace(node, indices=(Ref(node.span, "t", ()),))
            return node
        changed: dict[str, Any] = {}
        for name in ("left", "right", "operand", "condition", "then", "otherwise"):
            if isinstance(getattr(node, name, None), Node):
                changed[name] = self._indexed(getattr(node, name), frame)
        for name in ("operands", "args"):
            if getattr(node, name, None):
                changed[name] = tuple(self._indexed(part, frame) for part in getattr(node, name))
        return replace(node, **changed) if changed and any(children(node)) else node

    def single(self, unit: Dynamics, name: str) -> float | None:
        """Return a parameter that is one number, its default or None when it is not given."""
        series = self.slot(unit, name)
        if series is None:
            return None
        if not (values.thin(series) == series[0]).all():
            raise EvaluationError(f"{unit.name}: {name} must be one number")
        return float(series[0])

    def need(self, unit: Dynamics, name: str) -> float:
        """Return a parameter that is one number and that the model cannot do without."""
        found = self.single(unit, name)
        if found is None:
            raise EvaluationError(f"{unit.name} has no {name}")
        return found

    def largest(self, unit: Dynamics, name: str) -> float:
        """Return the largest value of a limit over time, infinite when it is not given."""
        series = self.slot(unit, name)
        return np.inf if series is None else float(values.thin(series).max())

    def table(
        self, unit: Dynamics, name: str, unit_text: str | None = None
    ) -> tuple[float, ...] | None:
        """Return a parameter that is a row of numbers, None when it is not given."""
        written = unit.parameters.get(name)
        wanted = unit_text or _slot(unit, name).unit
        if written is None:
            return None
        if isinstance(written, str) and written.isidentifier():
            symbol = self.bench.evaluator.environment.symbol(written)
            if symbol.value is None or len(symbol.dims) > 1:
                raise EvaluationError(f"{unit.name}: {name} is no row of numbers")
            target = parse_unit(wanted)
            _same(unit, written, symbol.value.unit, target)
            numbers = target.from_si(symbol.value.data)
            return tuple(map(float, numbers))
        return tuple(float(self.number(unit, item, wanted)[0]) for item in _items(written))

    def names(self, unit: Dynamics, word: str) -> list[str]:
        """Return the quantities by which a series of a unit may go."""
        if unit.model != "thermal_zone":
            return [f"{unit.name}.{word}"]
        if unit.name == "zone" or unit.name.startswith("zone."):
            return [f"{unit.name}.{word}"]
        return [f"zone.{unit.name}.{word}", f"{unit.name}.{word}"]

    def claimed(self, unit: Dynamics, word: str, unit_text: str | None = None) -> Floats | None:
        """Return a series of the schedule over the periods, None when it is absent."""
        wanted = unit_text or SERIES[unit.model][word].unit
        for name in self.names(unit, word):
            try:
                return self.quantity(name, self.periods(unit), wanted)
            except MissingQuantity:
                continue
        return None

    def decision(self, unit: Dynamics, word: str) -> Floats:
        """Return a series that an operator sets.

        Raises
        ------
        MissingQuantity
            When the schedule does not have it.
        """
        found = self.claimed(unit, word)
        if found is None:
            raise MissingQuantity(self.names(unit, word)[0])
        return found

    def flow(self, unit: Dynamics, word: str) -> Floats:
        """Return a decision without what lies below 0, which the test of its sign reports."""
        return np.maximum(self.decision(unit, word), 0.0)

    def state(
        self, unit: Dynamics, word: str, unit_text: str | None = None
    ) -> tuple[str, Floats | None]:
        """Return name and values of a state as the schedule has it."""
        wanted = unit_text or SERIES[unit.model][word].unit
        instants = self.instants(self.periods(unit))
        for name in self.names(unit, word):
            try:
                if instants is not None:
                    return name, self.quantity(name, instants, wanted)
                series = self.bench.series[name]
                return name, series.converted(parse_unit(wanted)).reshape(-1)
            except (MissingQuantity, KeyError):
                continue
        return self.names(unit, word)[0], None

    def quantity(self, name: str, over: IndexSet, unit_text: str) -> Floats:
        """Return a quantity of the schedule over a set, in a unit."""
        symbol = self.bench.evaluator.environment.symbol(name)
        wanted = parse_unit(unit_text)
        if symbol.value is None or len(symbol.dims) != 1 or symbol.dims[0].size != over.size:
            raise EvaluationError(f"{name} does not run over {over.name}")
        if symbol.value.unit.dimension != wanted.dimension:
            raise EvaluationError(f"{name} is {symbol.value.unit}, needed is {wanted}")
        return wanted.from_si(symbol.value.data)

    def member(self, name: str, label: str, over: IndexSet, unit_text: str) -> Floats | None:
        """Return one row of a quantity over labels and a set; None when the plan has none."""
        try:
            symbol = self.bench.evaluator.environment.symbol(name)
        except MissingQuantity:
            return None
        labels = symbol.dims[0].labels if len(symbol.dims) == 2 else ()
        if symbol.value is None or label not in labels or symbol.dims[1].size != over.size:
            return None
        wanted = parse_unit(unit_text)
        rows = np.asarray(symbol.value.data).reshape(len(labels), over.size)
        row = rows[list(labels).index(label)]
        return np.asarray(wanted.from_si(row))

    def note(self, text: str) -> None:
        """Add a note, once."""
        if text not in self.notes:
            self.notes.append(text)

    # -- running --------------------------------------------------------------------------------

    def run(self) -> Iterator[Run]:
        """Yield what executing each group of units gives; what cannot be run is ``unchecked``."""
        for group in self.groups():
            try:
                yield self.executed(group[0])
            except EngiagentError as error:
                text = f"{group[0].name} was not re-executed: {error}"
                if text not in self.unchecked:
                    self.unchecked.append(text)

    def groups(self) -> Iterator[list[Dynamics]]:
        """Yield the units that are executed together."""
        done: set[str] = set()
        for unit in self.units:
            if unit.model not in COMPONENTS:
                self._unknown(unit)
            elif unit.model not in done:
                alike = [other for other in self.units if other.model == unit.model]
                split = entry_of(unit.model).groups
                if split is None:
                    yield from ([u] for u in alike)
                else:
                    parts = split([Executed(self, u) for u in alike])
                    yield from ([part.declared for part in group] for group in parts)
                done.add(unit.model)

    def _unknown(self, unit: Dynamics) -> None:
        text = f"{unit.name} was not re-executed: the checker knows no model {unit.model!r}"
        if text not in self.unchecked:
            self.unchecked.append(text)

    def executed(self, unit: Dynamics) -> Run:
        """Return what executing a unit gives, with the group it belongs to.

        Raises
        ------
        EngiagentError
            When something is missing or does not fit.
        """
        known = self._runs.get(unit.name)
        if known is None:
            group = next(g for g in self.groups() if any(u.name == unit.name for u in g))
            try:
                known = self._execute(group)
            except EngiagentError as error:
                known = error
            self._runs |= dict.fromkeys((u.name for u in group), known)
        if isinstance(known, EngiagentError):
            raise known
        return known

    def _execute(self, group: Sequence[Dynamics]) -> Run:
        model, slots = entry_of(group[0].model), COMPONENTS[group[0].model].executed_slots
        for unit in group:
            odd = next((name for name in unit.parameters if name not in slots), None)
            if odd is not None:
                raise EvaluationError(
                    f"{unit.name} is a {unit.model}, which has no parameter {odd!r}; it has "
                    f"{', '.join(slots)}"
                )
        units = [Executed(self, unit) for unit in group]
        if model.together is not None:
            return model.together(units)
        return Run() if model.execute is None else model.execute(units[0])

    def lacks(self, unit: Dynamics, series: Mapping[str, Series]) -> bool:
        """Whether a schedule lacks a state or a result that executing a unit would give."""
        if unit.model not in COMPONENTS:
            return False
        model = entry_of(unit.model)
        if model.execute is None and model.together is None:
            return False
        return any(
            not any(name in series for name in self.names(unit, word))
            and any(slot in unit.parameters for slot in model.only_with.get(word, unit.parameters))
            for word, meaning in SERIES[unit.model].items()
            if meaning.kind != "decision" or word in model.answered or self._serving(unit, word)
        )

    def _serving(self, zone: Dynamics, word: str) -> list[tuple[Dynamics, str]]:
        """Return the units that serve a zone's heating or cooling, and what they give."""
        output = {"heating": "heat", "cooling": "cooling"}.get(word)
        return [
            (u, output)
            for u in self.units
            if output is not None
            and u.connections.get("zone") == zone.name
            and u.model in COMPONENTS
            and output in _given(u)
        ]

    def value(self, unit: Dynamics, word: str) -> Floats:
        """Return a series of a unit: a decision as the schedule has it, a result recomputed.

        Raises
        ------
        MissingQuantity
            When the schedule does not have it and physics does not answer it.
        """
        found = None
        if SERIES[unit.model][word].kind == "decision":
            found = self.claimed(unit, word)
        if found is None:
            name = self.names(unit, word)[0]
            results = self.executed(unit).results
            found = next((r.values for r in results if name in r.names), None)
        return self.decision(unit, word) if found is None else found

    def heat(self, zone: Dynamics, word: str) -> Floats | None:
        """Return the heating or cooling of a zone, from the units that serve it where there are."""
        serving = self._serving(zone, word)
        if not serving:
            return self.claimed(zone, word)
        total = np.zeros(self.periods(zone).size)
        for unit, output in serving:
            total = total + self.value(unit, output)
        return total

    def result(
        self, unit: Dynamics, word: str, values_: Floats, why: str, unit_text: str | None = None
    ) -> Result:
        """Return a recomputed series of a unit with what the schedule says of it."""
        text = unit_text or SERIES[unit.model][word].unit
        claimed = self.claimed(unit, word, text)
        names = tuple(self.names(unit, word))
        return Result(names, text, values_, self.periods(unit), claimed, why)


def _slot(unit: Dynamics, name: str) -> Slot:
    return COMPONENTS[unit.model].executed_slots[name]


def _given(unit: Dynamics) -> tuple[str | None, ...]:
    """Return what a unit gives to the zone that it serves."""
    entry = entry_of(unit.model)
    by_port = [word for port, word in entry.serves.items() if port in unit.connections]
    return (entry.supplies.get("zone"), *by_port)


def _same(unit: Dynamics, written: Any, found: Unit, wanted: Unit) -> None:
    if found.dimension != wanted.dimension or found.is_point != wanted.is_point:
        raise EvaluationError(f"{unit.name}: {written} is {found}, needed is {wanted}")


def _items(written: Any) -> list[Any]:
    """Return the entries of a table: a list, numbers in brackets, or a single number."""
    if isinstance(written, list | tuple):
        return list(written)
    text = str(written).strip()
    if text[:1] + text[-1:] not in ("()", "[]") or "," not in text:
        return [written]
    return [part.strip() for part in text[1:-1].split(",") if part.strip()]


def as_series(found: Trajectory | Result) -> Series:
    """Return a recomputed state or result as a series that can stand for the schedule's."""
    over = found.instants if isinstance(found, Trajectory) else found.over
    data = found.declared if isinstance(found, Trajectory) else found.values
    dims = (over.name if over is not None else "",)
    return Series(found.names[0], data, parse_unit(found.unit), dims)
