"""Re-execution: decisions run through the physics, and what units exchange over buses."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from engiagent.blueprint.elements import ConstraintDef
from engiagent.blueprint.sets import IndexSet
from engiagent.errors import EngiagentError
from engiagent.slots import COMPONENTS
from engiagent.units.unit import parse_unit
from engiagent.verify import values
from engiagent.verify.documents import Bench
from engiagent.verify.frames import EvaluationError, MissingQuantity
from engiagent.verify.levels.repeated import joined, place_of
from engiagent.verify.plants import entry_of
from engiagent.verify.plants.run import Result, Run, Trajectory, joined_runs
from engiagent.verify.plants.unit import Unit, chosen, known, row, written
from engiagent.verify.requirements import Dynamics, Element, shared_name
from engiagent.verify.series import Series
from engiagent.verify.values import Floats
from engiagent.verify.vocabulary import SERIES


def _once(texts: list[str], text: str) -> None:
    if text not in texts:
        texts.append(text)


@dataclass
class Plant:
    """The declared units with their numbers; ``unchecked`` says what could not be run.

    ``notes`` says what a reader should know of what was run.

    ``noise``: by unit and parameter what is added to its series over the periods, for runs with
    disturbances.
    """

    bench: Bench
    units: Sequence[Dynamics]
    unchecked: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    noise: Mapping[tuple[str, str], Floats] = field(default_factory=dict)
    _runs: dict[str, Run | EngiagentError] = field(default_factory=dict)

    # -- reading --------------------------------------------------------------------------------

    def of(self, unit: Dynamics) -> Unit:
        """Return a declared unit with its numbers."""
        return Unit(**{**vars(unit), "plant": self})

    def quantity(
        self, name: str, over: IndexSet, unit_text: str, element: Element | None = None
    ) -> Floats:
        """Return a quantity of the schedule over a set, in a unit; of one of several units its."""
        if element is not None:
            name = shared_name(name, element)
        symbol = self.bench.evaluator.environment.symbol(name)
        wanted = parse_unit(unit_text)
        own = {} if element is None else element.labels
        rest = [dim for dim in symbol.dims if dim.name not in own]
        if (
            symbol.value is None
            or len(rest) != 1
            or rest[0].size != over.size
            or len(symbol.dims) != 1 + len(own)
        ):
            raise EvaluationError(f"{name} does not run over {', '.join([*own, over.name])}")
        if symbol.value.unit.dimension != wanted.dimension:
            raise EvaluationError(f"{name} is {symbol.value.unit}, needed is {wanted}")
        data = symbol.value.data
        if own:
            data = _slice(data, symbol.dims, own)
        return wanted.from_si(data)

    def member(
        self, name: str, label: str, over: IndexSet, unit_text: str, element: Element | None = None
    ) -> Floats | None:
        """Return one row of a quantity over labels and a set; None when the plan has none."""
        if element is not None:
            name = shared_name(name, element)
        try:
            symbol = self.bench.evaluator.environment.symbol(name)
        except MissingQuantity:
            return None
        own = {} if element is None else element.labels
        rest = [dim for dim in symbol.dims if dim.name not in own]
        fits = len(rest) == 2 and label in rest[0].labels and rest[1].size == over.size
        if symbol.value is None or not fits or len(symbol.dims) != 2 + len(own):
            return None
        data = _slice(symbol.value.data, symbol.dims, {**own, rest[0].name: label})
        return parse_unit(unit_text).from_si(data)

    def note(self, text: str) -> None:
        """Add a note, once."""
        _once(self.notes, text)

    # -- running --------------------------------------------------------------------------------

    def run(self) -> Iterator[Run]:
        """Yield what executing each group of units gives; what cannot be run is ``unchecked``."""
        for group in self.groups():
            try:
                yield self.executed(group[0])
            except EngiagentError as error:
                _once(self.unchecked, f"{group[0].name} was not re-executed: {error}")

    def groups(self) -> Iterator[list[Dynamics]]:
        """Yield the units that are executed together."""
        done: set[str] = set()
        for unit in self.units:
            if unit.model not in COMPONENTS:
                what = f"the checker knows no model {unit.model!r}"
                _once(self.unchecked, f"{unit.name} was not re-executed: {what}")
            elif unit.model not in done:
                alike = [other for other in self.units if other.model == unit.model]
                split = entry_of(unit.model).groups
                if split is None:
                    yield from ([u] for u in alike)
                else:
                    yield from map(list, split([self.of(u) for u in alike]))
                done.add(unit.model)

    def executed(self, unit: Dynamics) -> Run:
        """Return what executing a unit gives, with the group it belongs to."""
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
        runs: list[Run] = []
        built: list[Unit] = []
        for one in map(self.of, group):
            slot = one.left_out
            if slot is None:
                built.append(one)
            else:
                self.note(f"{one.name} is not built: its {slot} is 0")
                runs.append(one.nothing())
        if built and model.together is not None:
            runs.append(model.together(built))
        elif built and model.execute is not None:
            runs.append(model.execute(built[0]))
        return joined_runs(runs)

    def lacks(self, unit: Dynamics, series: Mapping[str, Series]) -> bool:
        """Whether a schedule lacks a state or a result that executing a unit would give."""
        if unit.model not in COMPONENTS:
            return False
        model = entry_of(unit.model)
        if model.execute is None and model.together is None:
            return False
        return any(
            not any(name in series for name in self.of(unit).stated_names(word))
            and any(slot in unit.parameters for slot in model.only_with.get(word, unit.parameters))
            for word, meaning in SERIES[unit.model].items()
            if meaning.kind != "decision" or word in model.answered or self._serving(unit, word)
        )

    def _serving(self, zone: Dynamics, word: str) -> list[tuple[Dynamics, str]]:
        output = {"heating": "heat", "cooling": "cooling"}.get(word)
        return [
            (u, output)
            for u in self.units
            if output is not None
            and u.connections.get("zone") == zone.name
            and u.model in COMPONENTS
            and output in entry_of(u.model).given(u.connections)
        ]

    def value(self, unit: Dynamics, word: str) -> Floats:
        """Return a series of a unit: a decision as the schedule has it, a result recomputed."""
        found = None
        if SERIES[unit.model][word].kind == "decision":
            found = self.of(unit).claimed(word)
        if found is None:
            name = self.of(unit).names(word)[0]
            results = self.executed(unit).results
            found = next((r.values for r in results if name in r.names), None)
        return self.of(unit).decision(word) if found is None else found

    def heat(self, zone: Dynamics, word: str) -> Floats | None:
        """Return the heating or cooling of a zone, from the units that serve it where there are."""
        serving = self._serving(zone, word)
        if not serving:
            return self.of(zone).claimed(word)
        total = np.zeros(self.of(zone).periods.size)
        for unit, output in serving:
            total = total + self.value(unit, output)
        return total


def _slice(data: Floats, dims: Sequence[IndexSet], labels: Mapping[str, str]) -> Floats:
    """Return what an array over some sets has at the labels of some of them."""
    sizes = [dim.size for dim in dims]
    return values.wide(data, math.prod(sizes)).reshape(sizes)[place_of(dims, labels)]


def recomputed_series(
    items: Iterable[Trajectory | Result], units: Sequence[Dynamics]
) -> dict[str, Series]:
    """Return by quantity what was recomputed, as series that can stand for the schedule's."""
    return joined({name: _as_series(item) for item in items for name in item.names}, units)


def _as_series(found: Trajectory | Result) -> Series:
    over = found.instants if isinstance(found, Trajectory) else found.over
    data = found.declared if isinstance(found, Trajectory) else found.values
    dims = (over.name if over is not None else "",)
    return Series(found.names[0], data, parse_unit(found.unit), dims)


Side = tuple[Dynamics, str]
"""A unit and the quantity that it feeds into a bus, or draws from it."""


def buses_of(plant: Plant) -> dict[str, list[Dynamics]]:
    """Return the units on every bus that is judged.

    That is one with a grid or a load; within a feeder the power flow says what goes where.
    """
    fed = {
        str(bus)
        for unit in plant.units
        if unit.model == "feeder"
        for bus in unit.connections.get("buses") or ()
        if bus != unit.connections.get("source")
    }
    buses: dict[str, list[Dynamics]] = {}
    for unit in plant.units:
        if unit.model not in COMPONENTS:
            continue
        model = entry_of(unit.model)
        for port in dict.fromkeys((*model.supplies, *model.demands)):
            bus = None if port == "zone" else unit.connections.get(port)
            if bus is not None and str(bus) not in fed:
                members = buses.setdefault(str(bus), [])
                if unit not in members:
                    members.append(unit)
    return {
        name: units
        for bus, members in buses.items()
        if any(unit.model in ("grid", "load") for unit in members)
        for name, units in _by_scenario(bus, members)
    }


def _by_scenario(bus: str, members: list[Dynamics]) -> Iterator[tuple[str, list[Dynamics]]]:
    """Yield a bus in every scenario, with those of its units that are there."""
    scenarios = {m.element.scenario: None for m in members if m.element and m.element.scenario}
    if not scenarios:
        yield bus, members
    for scenario in scenarios:
        units = [m for m in members if m.element is None or m.element.scenario in ((), scenario)]
        yield f"{bus}[{','.join(scenario)}]", units


def sides_of(bus: str, units: Sequence[Dynamics]) -> tuple[list[Side], list[Side]]:
    """Return what flows into a bus, in one scenario perhaps, and what flows out of it."""
    bus = bus.partition("[")[0]
    sides: tuple[list[Side], list[Side]] = ([], [])
    for unit in units:
        model = entry_of(unit.model)
        for flows, side in ((model.supplies, sides[0]), (model.demands, sides[1])):
            side += [
                (unit, word) for port, word in flows.items() if unit.connections.get(port) == bus
            ]
    return sides


def total(plant: Plant, side: Sequence[Side]) -> Floats:
    """Return the sum of one side of a bus over the periods. [kW]."""
    found = np.zeros(1)
    for unit, word in side:
        found = found + flow_of(plant, unit, word)
    return found


def flow_of(plant: Plant, unit: Dynamics, word: str) -> Floats:
    """Return what a unit feeds into its bus, or draws from it. [kW]."""
    if unit.model == "load":
        power = plant.of(unit).slot("power")
        return plant.of(unit).decision(word) if power is None else power
    found, content = plant.value(unit, word), entry_of(unit.model).contents.get(word)
    return found if content is None else found * content(plant.of(unit))[0]


def grid_series(plant: Plant) -> Iterator[tuple[str, Series]]:
    """Yield import and export of every single grid on a bus, as all other units there need it."""
    for bus, units in buses_of(plant).items():
        grids = [unit for unit in units if unit.model == "grid"]
        if len(grids) != 1 or ("[" in bus and grids[0].element is None):
            continue  # what one grid gives in several scenarios at once, no balance of one says
        grid, others = grids[0], [unit for unit in units if unit.model != "grid"]
        try:
            supply, demand = (total(plant, side) for side in sides_of(bus, others))
        except EngiagentError:
            continue  # the balance is unchecked
        over = plant.of(grid).periods
        net = np.broadcast_to(demand - supply, (over.size,))
        for word, data in (("import", np.maximum(net, 0.0)), ("export", np.maximum(-net, 0.0))):
            name = f"{grid.name}.{word}"
            yield name, Series(name, data, parse_unit("kW"), (over.name,))


# --- as rows -----------------------------------------------------------------------------------


def physical_rows(plant: Plant) -> Iterator[ConstraintDef]:
    """Yield what the declared units demand of their quantities."""
    for unit in plant.units:
        if unit.model not in COMPONENTS:
            continue
        model = entry_of(unit.model)
        own = model.rows if chosen(plant.of(unit)) <= model.sized else None
        for make in (_limit_rows, *(() if own is None else (own,))):
            try:
                yield from make(plant.of(unit))
            except EngiagentError:
                continue  # the physics level says what is wrong with the unit
    yield from _balance_rows(plant)


def _limit_rows(unit: Unit) -> Iterator[ConstraintDef]:
    over = unit.periods.name
    for word, slot in entry_of(unit.model).limits:
        name = known(unit, word)
        if name is None:
            continue
        yield row(f"{name} not negative", f"{name}[t] >= 0", over)
        most = written(unit, slot)
        if most is not None:
            yield row(f"{name} limit", f"{name}[t] <= {most}", over)


def _balance_rows(plant: Plant) -> Iterator[ConstraintDef]:
    for bus, units in buses_of(plant).items():
        try:
            texts = [_side(plant, side) for side in sides_of(bus, units)]
            over = plant.of(units[0]).periods.name
        except EngiagentError:
            continue
        if all(text is not None for text in texts):
            yield row(f"balance of {bus}", f"{texts[0]} == {texts[1]}", over)


def _side(plant: Plant, side: Sequence[Side]) -> str | None:
    """Return the sum of one side of a bus, None when a part of it has no quantity."""
    terms = []
    for unit, word in side:
        name, content = known(plant.of(unit), word), entry_of(unit.model).contents.get(word)
        text = None if name is None else f"{name}[t]"
        if text is not None and content is not None:
            text = "{!r}[{}]*".format(*content(plant.of(unit))) + text
        if unit.model == "load":
            text = written(plant.of(unit), "power") or text
        if text is None:
            return None
        terms.append(text)
    return " + ".join(terms) or "0[kW]"
