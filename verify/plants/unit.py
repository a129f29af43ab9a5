"""A unit while its plan is executed: its parameters, its series in the plan, and what is found."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from engiagent.blueprint.elements import ConstraintDef
from engiagent.blueprint.grammar import Binder, Node, Ref, children, parse, references
from engiagent.blueprint.sets import IndexSet
from engiagent.errors import EngiagentError
from engiagent.slots import COMPONENTS, Slot, yes_or_no
from engiagent.units import unit as units
from engiagent.units.unit import parse_unit
from engiagent.verify import arithmetic, values
from engiagent.verify.documents import Bench
from engiagent.verify.frames import EvaluationError, Frame, MissingQuantity, whole_grid
from engiagent.verify.plants.run import Excess, Result, Run, Trajectory
from engiagent.verify.requirements import Dynamics, shared_name
from engiagent.verify.values import Floats
from engiagent.verify.vocabulary import SERIES

if TYPE_CHECKING:  # it executes what this package describes
    from engiagent.verify.levels.execution import Plant

NOTHING: Final = 1e-6
"""The largest size, in its slot's unit, that a solver may leave of something that it leaves out."""
_PERIODS: Final = "periods"


@dataclass(frozen=True)
class Unit(Dynamics):
    """One declared unit, or component, in the plant that is executed."""

    plant: "Plant" = field(kw_only=True)  # all units with the plan

    @property
    def slots(self) -> Mapping[str, Slot]:
        """The parameters that its model has."""
        return COMPONENTS[self.model].executed_slots

    @property
    def periods(self) -> IndexSet:
        """The time set over which it runs."""
        bench, over = self.plant.bench, self.index
        if over is not None:
            return bench.evaluator.environment.set(over)
        timed = [s for s in bench.declarations.sets.values() if s.kind == "time"]
        if len(timed) != 1:
            raise EvaluationError(f"{self.name} does not say over which time set it runs")
        return timed[0]

    @property
    def instants(self) -> IndexSet | None:
        """The instants of its periods, None where the document declares none."""
        sets, periods = self.plant.bench.declarations.sets.values(), self.periods
        return next((s for s in sets if s.periods_of is periods and s.kind == "instants"), None)

    @property
    def hours(self) -> Floats:
        """The lengths of its periods. [h]."""
        periods = self.periods
        axis = periods.root.axis
        if axis is None or axis.step_unit != "h":
            raise EvaluationError(f"{periods.name} has no steps in hours")
        return axis.steps[periods.in_root]

    # -- its parameters, in the units of its slots ------------------------------------------------

    def given(self, *slots: str) -> bool:
        """Whether one of some parameters is given."""
        return any(slot in self.parameters for slot in slots)

    def slot(self, name: str, unit: str | None = None) -> Floats | None:
        """Return a parameter over the periods, its default or None where it is not given.

        ``unit``: in which it is wanted; the unit of the model's slot when None.
        """
        slot, written = self.slots[name], self.parameters.get(name)
        if written is None and slot.required:
            raise EvaluationError(f"{self.name} has no {name}")
        if written is None:
            usual = slot.number
            size = self.periods.size
            return None if usual is None else values.wide(np.array([float(usual)]), size)
        numbers = self.number(written, unit or slot.unit)
        noise = self.plant.noise.get((self.name, name))
        return numbers if noise is None else numbers + noise

    def series(self, name: str, unit: str | None = None) -> Floats:
        """Return a parameter over the periods that it cannot do without."""
        found = self.slot(name, unit)
        if found is None:
            raise EvaluationError(f"{self.name} has no {name}")
        return found

    def single(self, name: str) -> float | None:
        """Return a parameter that is one number, its default or None where it is not given."""
        series = self.slot(name)
        if series is None:
            return None
        if not (values.thin(series) == series[0]).all():
            raise EvaluationError(f"{self.name}: {name} must be one number")
        return float(series[0])

    def need(self, name: str) -> float:
        """Return a parameter that is one number and that it cannot do without."""
        found = self.single(name)
        if found is None:
            raise EvaluationError(f"{self.name} has no {name}")
        return found

    def flag(self, name: str) -> bool:
        """Return a parameter that is yes or no."""
        written = self.parameters.get(name)
        found = yes_or_no(self.need(name) if written is None else written)
        if found is None:
            raise EvaluationError(f"{self.name}: {name} is {written}, needed is true or false")
        return found

    def numbers(self, *slots: str) -> dict[str, Any]:
        """Return several such parameters by name, as a model takes them."""
        return {slot: self.need(slot) for slot in slots}

    def largest(self, name: str) -> float:
        """Return the largest value of a limit over time, infinite where it is not given."""
        series = self.slot(name)
        return np.inf if series is None else float(values.thin(series).max())

    def table(self, name: str, unit: str | None = None) -> tuple[float, ...] | None:
        """Return a parameter that is a row of numbers, None where it is not given."""
        written, text = self.parameters.get(name), unit or self.slots[name].unit
        if written is None:
            return None
        if isinstance(written, str) and written.isidentifier():
            symbol = self.plant.bench.evaluator.environment.symbol(written)
            if symbol.value is None or len(symbol.dims) > 1:
                raise EvaluationError(f"{self.name}: {name} is no row of numbers")
            wanted = self._wanted(written, symbol.value, text)
            return tuple(map(float, wanted.from_si(symbol.value.data)))
        return tuple(float(self.number(item, text)[0]) for item in _items(written))

    def number(self, written: Any, unit: str) -> Floats:
        """Return a number or an expression over the periods, in a unit."""
        periods = self.periods
        frame = whole_grid((periods,), (Binder((0, 0), ("t",), periods.name),))
        if isinstance(written, int | float):
            return values.wide(np.array([float(written)]), frame.size)
        node = _indexed(self.plant.bench, parse(str(written)), frame)
        found = self.plant.bench.evaluator.number(node, frame)
        value = arithmetic.adopt(found, parse_unit(unit))
        wanted = self._wanted(written, value, unit)
        return values.wide(wanted.from_si(values.thin(value.data)), frame.size)

    def _wanted(self, written: Any, value: values.Value, unit: str) -> units.Unit:
        found, wanted = value.unit, parse_unit(unit)
        if found.dimension != wanted.dimension or found.is_point != wanted.is_point:
            raise EvaluationError(f"{self.name}: {written} is {found}, needed is {wanted}")
        return wanted

    def constant(self, written: Any, unit: str) -> float:
        """Return a number of a part of it; a bare one has the unit already."""
        return float(self.number(written, unit)[0])

    @property
    def left_out(self) -> str | None:
        """The size that is zero, given so or chosen by the plan: nothing is built."""
        decisions = {v.name for v in self.plant.bench.declarations.core.decision_variables}
        for name, written in self.parameters.items():
            slot = self.slots[name]
            if not slot.required or slot.table:
                continue
            used = references(written) if isinstance(written, str) else ()
            chosen = any(ref.name in decisions or "." in ref.name for ref in used)
            size = slot.unit in ("kW", "kWh") and (slot.above == 0 or name.endswith("_capacity"))
            if (chosen or size) and self.largest(name) <= NOTHING:
                return name
        return None

    def nothing(self) -> Run:
        """Return what a unit that is not built does: its powers and its content are zero."""
        states, excesses = [], []
        for word, meaning in SERIES[self.model].items():
            if meaning.kind == "state" and meaning.unit == "kWh":
                states.append(self.trajectory(word, np.zeros(self.periods.size + 1), 1.0))
            elif meaning.unit == "kW" and (claimed := self.claimed(word)) is not None:
                words = "although it is not built"
                excesses.append(self.excess("absent", word, np.abs(claimed), 1.0, words))
        return Run(tuple(states), (), tuple(excesses))

    # -- its series in the plan -------------------------------------------------------------------

    def names(self, word: str) -> list[str]:
        """Return the quantities by which one of its series may go."""
        own = f"{self.name}.{word}"
        zone = self.name == "zone" or self.name.startswith("zone.")
        return [own] if zone or self.model != "thermal_zone" else [f"zone.{own}", own]

    def stated_names(self, word: str) -> list[str]:
        """Return the quantities under which a plan has one of its series, with others' perhaps."""
        element, names = self.element, self.names(word)
        return names if element is None else [shared_name(name, element) for name in names]

    def claimed(self, word: str, unit: str | None = None) -> Floats | None:
        """Return a series of the plan over the periods, None where it is absent."""
        for name in self.names(word):
            try:
                text = unit or self.unit_of(word)
                return self.plant.quantity(name, self.periods, text, self.element)
            except MissingQuantity:
                continue
        return None

    def decision(self, word: str) -> Floats:
        """Return a series that an operator sets; MissingQuantity when the plan does not have it."""
        found = self.claimed(word)
        if found is None:
            raise MissingQuantity(self.names(word)[0])
        return found

    def flow(self, word: str) -> Floats:
        """Return a decision without what lies below 0, which the test of its sign reports."""
        return np.maximum(self.decision(word), 0.0)

    def optional(self, word: str) -> Floats:
        """Return a series of the plan, 0 where it is absent."""
        found = self.claimed(word)
        return np.zeros(self.periods.size) if found is None else found

    def state(self, word: str) -> tuple[str, Floats | None]:
        """Return name and values of a state as the plan has it."""
        unit, instants = self.unit_of(word), self.instants
        for name in self.names(word):
            try:
                if instants is not None:
                    return name, self.plant.quantity(name, instants, unit, self.element)
                series = self.plant.bench.series[name]
                return name, series.converted(parse_unit(unit)).reshape(-1)
            except (MissingQuantity, KeyError):
                continue
        return self.names(word)[0], None

    def start(self, slot: str, claimed: Floats | None) -> float:
        """Return the first value of a state: the declared one, where there is none the plan's."""
        given = self.single(slot)
        if given is not None:
            return given
        if claimed is None:
            raise EvaluationError(f"the {slot.replace('_', ' ')} of {self.name} is unknown")
        return float(claimed[0])

    # -- what executing it finds ------------------------------------------------------------------

    def unit_of(self, word: str) -> str:
        """Return the unit of one of its series, whatever part of it that belongs to."""
        return SERIES[self.model][word.rpartition(".")[2]].unit

    def result(
        self,
        word: str,
        series: Floats,
        why: str,
        *,
        unit: str | None = None,
        exact: Floats | None = None,
    ) -> Result:
        """Return a recomputed series with what the plan says of it."""
        text = unit or self.unit_of(word)
        claimed = self.claimed(word, text)
        return Result(tuple(self.names(word)), text, series, self.periods, claimed, why, exact)

    def trajectory(
        self,
        word: str,
        declared: Floats,
        scale: float,
        *,
        exact: Floats | None = None,
        after: Callable[[Floats], Floats] | Floats | None = None,
        lower: Floats | float | None = None,
        upper: Floats | float | None = None,
    ) -> Trajectory:
        """Return a recomputed state with what the plan says of it; fields as in ``Trajectory``.

        ``after`` is what follows in a period from the plan's state at its start, or how to find it.
        """
        name, claimed = self.state(word)
        defect = None
        if claimed is not None and after is not None:
            follows = after(claimed[:-1]) if callable(after) else after
            defect = np.concatenate((claimed[:1] - declared[:1], claimed[1:] - follows))
        return Trajectory(
            tuple(self.names(word)),
            name,
            self.unit_of(word),
            declared,
            declared if exact is None else exact,
            claimed,
            defect,
            scale,
            self.instants,
            -np.inf if lower is None else lower,
            np.inf if upper is None else upper,
        )

    def excess(
        self,
        kind: str,
        word: str,
        amount: Floats,
        scale: float,
        words: str,
        tolerance: float | None = None,
        *,
        unit: str = "",
    ) -> Excess:
        """Return how far a series is beyond a limit; amount and scale in its unit."""
        name, unit = f"{self.name}.{word}", unit or self.unit_of(word)
        return Excess(f"{kind}:{name}", name, amount, unit, scale, self.periods, words, tolerance)

    def fault(
        self,
        kind: str,
        name: str,
        amount: Floats,
        unit: str,
        scale: float,
        words: str,
        tolerance: float | None = None,
        *,
        over: IndexSet | str | None = _PERIODS,
        part: str = "",
    ) -> Excess:
        """Return how far it is beyond a limit that is no series's own, by period as a rule.

        ``part`` tells several checks of a kind apart.
        """
        place = self.periods if isinstance(over, str) else over
        identifier = f"{kind}:{self.name}{part}"
        return Excess(identifier, name, amount, unit, scale, place, words, tolerance)

    def sign(self, word: str, series: Floats, scale: float, *, unit: str = "") -> Excess:
        """Return how far a series is below 0."""
        return self.excess("sign", word, -series, scale, "negative", unit=unit)

    def between(
        self,
        word: str,
        series: Floats,
        most: Floats | float | None,
        scale: float | None = None,
        words: str = "above its limit",
        *,
        unit: str = "",
    ) -> Iterator[Excess]:
        """Yield how far a series is below 0 and, where there is one, above a limit."""
        scale = size(series) if scale is None else scale
        yield self.sign(word, series, scale, unit=unit)
        if most is not None:
            yield self.excess("limit", word, series - most, scale, words, unit=unit)


def size(series: Floats) -> float:
    """Return the largest absolute value of a series, 0 for an empty one."""
    return float(np.max(np.abs(series), initial=0.0))


def _items(written: Any) -> list[Any]:
    """Return the entries of a table: a list, numbers in brackets, or a single number."""
    if isinstance(written, list | tuple):
        return list(written)
    text = str(written).strip()
    if text[:1] + text[-1:] not in ("()", "[]") or "," not in text:
        return [written]
    return [part.strip() for part in text[1:-1].split(",") if part.strip()]


def _indexed(bench: Bench, node: Node, frame: Frame) -> Node:
    """Give the bare name of a series the index of its period."""
    if isinstance(node, Ref) and not node.indices and node.name not in frame.names:
        if node.name in bench.declarations.sets:
            return node
        symbol = bench.evaluator.environment.symbol(node.name)
        one = len(symbol.dims) == 1
        return replace(node, indices=(Ref(node.span, "t", ()),)) if one else node
    changed: dict[str, Any] = {}
    for name in ("left", "right", "operand", "condition", "then", "otherwise"):
        if isinstance(getattr(node, name, None), Node):
            changed[name] = _indexed(bench, getattr(node, name), frame)
    for name in ("operands", "args"):
        if getattr(node, name, None):
            changed[name] = tuple(_indexed(bench, part, frame) for part in getattr(node, name))
    return replace(node, **changed) if changed and any(children(node)) else node


# --- what executing demands, as rows in the language of requirements -----------------------------


def row(name: str, expression: str, over: str | None) -> ConstraintDef:
    """Return a row for every period ``t`` of a set, or a single one."""
    forall = () if over is None else (f"t in {over}",)
    return ConstraintDef(constraint_id=name, expression=expression, forall=forall)


def written(unit: Unit, slot: str) -> str | None:
    """Return a parameter as an expression of the period ``t``, None when it is not given."""
    given = unit.parameters.get(slot)
    if given is None:
        return None
    text = str(given)
    if text.isidentifier():
        try:
            dims = unit.plant.bench.evaluator.environment.symbol(text).dims
        except EngiagentError:
            return None
        return f"{text}[t]" if len(dims) == 1 else text
    return f"({text})"


def known(unit: Unit, word: str) -> str | None:
    """Return the quantity by which the schedule has a series of a unit."""
    names = unit.names(word)
    return next((name for name in names if name in unit.plant.bench.series), None)


def chosen(unit: Unit) -> set[str]:
    """Return the parameters that the plan itself decides: they speak of its quantities."""
    return {
        slot
        for slot, text in unit.parameters.items()
        if isinstance(text, str) and any("." in ref.name for ref in references(text))
    }
