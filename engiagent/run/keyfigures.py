"""The key figures of a plan: what it costs, moves, stores and leaves uncomfortable.

Every figure follows from series of the plan and from what its components declare. One that cannot
be told is left out: nothing here is guessed from names, but for ``import``, ``export``, ``charge``
and ``discharge``, which mean one thing wherever a quantity ends in them.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any, Final

import numpy as np

from engiagent.blueprint.document import Blueprint
from engiagent.blueprint.elaborate import Elaboration
from engiagent.blueprint.elements import ComponentDef, ExpressionDef, VariableDef
from engiagent.blueprint.grammar import parse
from engiagent.blueprint.grid import EMPTY_GRID
from engiagent.blueprint.placement import placement_of
from engiagent.errors import EngiagentError
from engiagent.run.limits import find_demands
from engiagent.run.planvalues import Horizon, PlanEvaluator, bus_terms, horizons_of, plan_series
from engiagent.slots import COMPONENTS, Component
from engiagent.solvers.arrays import AnySolution, NamedArray, SolutionArrays
from engiagent.units.unit import parse_unit
from engiagent.verify.case import build_case
from engiagent.verify.foreign import Reading
from engiagent.verify.levels.sources import ProblemLike

FLOWS: Final = {
    "import": "import",
    "export": "export",
    "charge": "charged",
    "discharge": "discharged",
}
"""By the last word of a quantity the energy that it is, wherever it stands."""
MADE_OR_USED: Final = (
    "power",
    "electric_power",
    "heat",
    "heating",
    "cooling",
    "fuel",
    "source_heat",
    "heat_rejected",
)
"""Words of powers that are a generation where they feed a bus, else a consumption."""
STORE: Final = ("charge", "discharge")
CONTENTS: Final = ("state_of_charge", "energy")
TEMPERATURES: Final = ("temperature", "mean_temperature")
_DIGITS: Final = 9
"""Decimals of a figure; what lies beyond them is rounding."""


@dataclass(frozen=True)
class Figure:
    """A key figure."""

    # what it is: ``objective``, ``import``, ``export``, ``generation``, ``consumption``,
    # ``charged``, ``discharged``, ``self_consumption``, ``self_sufficiency``, ``peak_import``,
    # ``peak_export``, ``throughput``, ``full_cycles``, ``losses``, ``discomfort_below``,
    # ``discomfort_above`` or ``emissions``; another flow of a bus by its own word, into the bus
    name: str
    # value, unit: the number; None where its denominator is zero
    value: float | None
    unit: str
    # component, bus: of which component, and on which bus, if of one
    component: str | None = None
    bus: str | None = None
    at: str | None = None  # when it occurs, as the start of the period
    # horizon, weight: of which representative horizon, once, and how many of it make a year; None
    # of the whole plan, which is the year where the plan has weights
    horizon: str | None = None
    weight: float | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the figure as JSON has it, without what it has no place, time or horizon of."""
        found: dict[str, Any] = {"name": self.name, "component": self.component}
        found |= {"value": self.value, "unit": self.unit}
        further = {key: getattr(self, key) for key in ("bus", "at", "horizon", "weight")}
        return found | {key: value for key, value in further.items() if value is not None}


@dataclass(frozen=True, repr=False)
class KeyFigures:
    """The key figures of a plan, in a fixed order."""

    cost: Figure | None = None  # the objective in its own unit; None without one
    sense: str | None = None  # ``minimize`` or ``maximize``, as the objective is meant
    # all others: energies by bus, shares, peaks, stores, comfort, emissions
    physical: tuple[Figure, ...] = ()

    @property
    def all(self) -> tuple[Figure, ...]:
        """The objective, then all others."""
        return self.physical if self.cost is None else (self.cost, *self.physical)

    def named(self, name: str, horizon: str | None = None) -> tuple[Figure, ...]:
        """Return the figures of a name, of the whole plan or of one horizon."""
        return tuple(f for f in self.all if (f.name, f.horizon) == (name, horizon))

    def __repr__(self) -> str:
        lines = []
        for figure in self.all:
            value = "-" if figure.value is None else f"{figure.value:,.6g}"
            unit = "" if figure.unit == "1" else figure.unit
            where = "  ".join(
                filter(None, (figure.component, figure.bus, figure.at, figure.horizon))
            )
            lines.append(f"{figure.name:<18}{value:>12} {unit:<4} {where}".rstrip())
        return "\n".join(lines) or "no key figures"

    def to_dict(self) -> dict[str, Any]:
        """Return the figures as JSON has them, with the sense of the objective."""
        return {"sense": self.sense, "figures": [figure.to_dict() for figure in self.all]}


def key_figures(elaboration: Elaboration, solution: AnySolution) -> KeyFigures:
    r"""Return the key figures of a plan.

    Energies are powers times the lengths of their periods. On a bus with a grid, generation
    :math:`G`, consumption :math:`C`, import :math:`I` and export :math:`E` [kWh],

    .. math:: \text{self-consumption} = 1 - \min(E, G)/G, \qquad
        \text{self-sufficiency} = 1 - \min(I, C)/C

    so that what a store takes counts neither as consumption nor as generation. The throughput of a
    store is what is charged and discharged at its terminals together, its full cycles are what is
    discharged over its capacity, its losses what is charged and neither discharged nor left in it.
    Discomfort is the time integral of how far a temperature is outside its band: the trapezoidal
    rule between instants, the step times the excess for means over periods.

    ``elaboration``: the blueprint with components written out, and its data. ``solution``: the
    plan: series by the names of the blueprint's variables and expressions.

    Returns the figures that can be told; the objective alone where there are neither components nor
    quantities that say what they are. A plan over scenarios has no single energy: those series are
    left out. Of a plan whose horizons have weights they are those of a year, weighted sums and the
    largest peaks, and then those of each horizon.
    """
    value, attrs = solution.attrs.get("objective"), solution.attrs
    unit = str(attrs.get("objective_unit") or "1")
    cost = None if value is None else Figure("objective", float(value), unit)
    sense, horizons = attrs.get("sense") if cost else None, horizons_of(elaboration)
    if not horizons:
        return KeyFigures(cost, sense, tuple(_Plan(elaboration, solution).figures()))
    parts = [
        [replace(figure, horizon=h.name, weight=h.weight) for figure in plan.figures()]
        for h in horizons
        for plan in [_Plan(elaboration, solution, h)]
    ]
    return KeyFigures(cost, sense, tuple(chain(_of_a_year(parts), *parts)))


def _of_a_year(parts: Sequence[Sequence[Figure]]) -> Iterator[Figure]:
    """Yield each figure of several horizons for all of them: sums by weight, the largest peak."""
    whole = []
    for same in zip(*parts, strict=True):
        total, at = sum((f.weight or 0.0) * (f.value or 0.0) for f in same), None
        value: float | None = round(total, _DIGITS - 3)  # of sums by weights up to 8,760
        if same[0].name.startswith("peak"):
            top = max(same, key=lambda figure: figure.value or 0.0)
            value, at = top.value, top.at
            if at is not None and len(parts) > 1:
                at = f"{at}, {top.horizon}"
        whole.append(replace(same[0], value=value, at=at, horizon=None, weight=None))
    shares = {(figure.name, figure.bus): figure for figure in _shares(whole)}
    for figure in whole:
        yield shares.get((figure.name, figure.bus), figure)


def _shares(energies: Iterable[Figure]) -> Iterator[Figure]:
    """Yield self-consumption and self-sufficiency of each bus with a grid and generation."""
    known = {*FLOWS.values(), "generation", "consumption"}
    buses: dict[str, dict[str, float]] = {}
    for figure in energies:
        if figure.bus is not None and figure.unit == "kWh":
            sums = buses.setdefault(figure.bus, {})
            sums[figure.name] = sums.get(figure.name, 0.0) + (figure.value or 0.0)
    for bus, sums in buses.items():
        if set(sums) - known or not {"import", "generation"} <= set(sums):
            continue  # what another flow is, as a feeder's, cannot be told
        own, needed = sums["generation"], sums.get("consumption", 0.0)
        yield Figure("self_consumption", _share(sums.get("export", 0.0), own), "1", None, bus)
        yield Figure("self_sufficiency", _share(sums["import"], needed), "1", None, bus)


class _Plan:
    """A plan, or one horizon of it, with what its components declare."""

    def __init__(
        self, elaboration: Elaboration, solution: AnySolution, horizon: Horizon | None = None
    ) -> None:
        self.elaboration, self.solution, self.horizon = elaboration, solution, horizon
        self.components = {part.name: part for part in elaboration.core.components}
        self.series = {s.key: s for s in plan_series(elaboration, solution, horizon)}

    def figures(self) -> Iterator[Figure]:
        """Yield all figures in their order."""
        energies = list(self.energies())
        yield from energies
        yield from _shares(energies)
        for part in (self.peaks, self.stores, self.comfort, self.emissions):
            yield from part()

    def _declared(self, component: str) -> Component | None:
        """Return what the model of a component declares; None where there is no component."""
        part = self.components.get(component)
        return None if part is None else COMPONENTS.get(part.model)

    @cached_property
    def on_buses(self) -> dict[str, dict[tuple[str, str], float]]:
        """Energies [kWh] by bus, and there by name and component."""
        found: dict[str, dict[tuple[str, str], float]] = {}
        for term in bus_terms(self.elaboration, self.solution, self.series.values(), self.horizon):
            name, energy = FLOWS.get(term.word, term.word), term.energy
            if term.word in MADE_OR_USED:
                name = "generation" if term.supplies else "consumption"
            elif term.word not in FLOWS and not term.supplies:
                energy = -energy  # what may go either way counts into the bus
            energies = found.setdefault(term.bus, {})
            energies[name, term.component] = energies.get((name, term.component), 0.0) + energy
        return found

    def energies(self) -> Iterator[Figure]:
        """Yield energies [kWh] bus by bus, then flows of what is on no bus."""
        for bus, found in self.on_buses.items():
            for (name, owner), energy in found.items():
                yield _figure(name, energy, "kWh", owner, bus)
        seen = {key for found in self.on_buses.values() for key in found}
        for (owner, word), series in self.series.items():
            flow = series.within("kW") if word in FLOWS and not self._is_behind(owner) else None
            if flow is not None and (FLOWS[word], owner) not in seen:
                yield _figure(FLOWS[word], flow.integral(), "kWh", owner)

    def _is_behind(self, owner: str) -> bool:
        """Whether the import of another component feeds a bus of this one, as a feeder's source."""
        return any(
            owner in {other for _, other in found}
            and ("import", owner) not in found
            and any(name == "import" for name, _ in found)
            for found in self.on_buses.values()
        )

    def peaks(self) -> Iterator[Figure]:
        """Yield the largest import and export [kW] of each connection, with its period."""
        for (owner, word), series in self.series.items():
            crossing = word in ("import", "export") and not self._is_behind(owner)
            flow = series.within("kW") if crossing else None
            if flow is not None and flow.values.size:
                power = flow.summed
                top = int(np.argmax(power))
                at = str(flow.time.root.labels[top]) if power[top] > 0.0 else None
                yield _figure(f"peak_{word}", float(power[top]), "kW", owner, None, at)

    def stores(self) -> Iterator[Figure]:
        """Yield throughput, full cycles and losses of every store that charges and discharges."""
        for owner in dict.fromkeys(owner for owner, word in self.series if word in STORE):
            given = [self.series.get((owner, word)) for word in STORE]
            flows = [flow for s in given if s is not None and (flow := s.within("kW")) is not None]
            if len(flows) < len(STORE):
                continue
            charged, discharged = (flow.integral() for flow in flows)
            yield _figure("throughput", charged + discharged, "kWh", owner)
            capacity, rise = self._capacity(owner), self._rise(owner)
            if capacity:
                yield _figure("full_cycles", discharged / capacity, "1", owner)
            if rise is not None:
                yield _figure("losses", charged - discharged - rise, "kWh", owner)

    def _capacity(self, owner: str) -> float | None:
        """Return the energy capacity [kWh] of a store, given or chosen by the plan."""
        part, elaboration = self.components.get(owner), self.elaboration
        given = None if part is None else part.parameters.get("energy_capacity")
        if part is None or given is None or self._is_several(part):
            return None
        if not isinstance(given, str):
            return float(given)
        try:
            typed = elaboration.checker().number(parse(given), {}, parse_unit("kWh"))
            value = PlanEvaluator(elaboration, self.solution).number(typed.node, EMPTY_GRID)
            return float(np.asarray(value).item())
        except EngiagentError:  # a series, or a decision that the plan does not hold
            return None

    def _is_several(self, part: ComponentDef) -> bool:
        """Whether a component stands for several units, and not once in each horizon."""
        own = None if self.horizon is None else self.horizon.over
        over = placement_of(part, self.elaboration.core).over
        return any(member != own for _, member in over)

    def _rise(self, owner: str) -> float | None:
        """Return by how much [kWh] a content rises, of a store that nothing else empties."""
        declared = self._declared(owner)
        if declared is None or "draw" in declared.quantities or "arrival" in declared.slots:
            return None
        for word in CONTENTS:
            series = self.series.get((owner, word))
            content = None if series is None else series.within("kWh")
            if content is not None and content.time.kind == "instants":
                return float(content.summed[-1] - content.summed[0])
        return None

    def comfort(self) -> Iterator[Figure]:
        """Yield how far [K h] zones are outside the bands that constraints state."""
        zones = {
            series.variable: series
            for (owner, word), series in self.series.items()
            if word in TEMPERATURES
            and (declared := self._declared(owner)) is not None
            and declared.group == "Buildings"
        }
        demands = find_demands(self.elaboration, zones) if zones else []
        order = list(zones)
        for limit in sorted(demands, key=lambda item: (order.index(item.variable), item.side)):
            series, below = zones[limit.variable], limit.side == "lower"
            band = series.place.series(limit.values)
            outside = band - series.values if below else series.values - band
            excess = replace(series, values=np.nan_to_num(np.maximum(outside, 0.0)))
            name = f"discomfort_{'below' if below else 'above'}"
            yield _figure(name, excess.integral(), "K h", series.component)

    def emissions(self) -> Iterator[Figure]:
        """Yield what components emit [kg]."""
        for (owner, word), series in self.series.items():
            mass = series.within("kg/h") if word == "emissions" else None
            if mass is not None:
                yield _figure("emissions", mass.integral(), "kg", owner)


def _figure(
    name: str, value: float, unit: str, owner: str, bus: str | None = None, at: str | None = None
) -> Figure:
    return Figure(name, round(value, _DIGITS) + 0.0, unit, owner, bus, at)


def _share(crossing: float, whole: float) -> float | None:
    """Return which share of an energy does not cross the connection; None of no energy."""
    whole = round(whole, _DIGITS)
    return round(1.0 - min(crossing, whole) / whole, _DIGITS) if whole > 0.0 else None


def figures_of_schedule(
    source: ProblemLike,
    schedule: Any,
    expanded: Blueprint,
    *,
    folder: Path,
    mapping: Reading | Mapping[str, str] | None = None,
    goal: Mapping[str, Any] | None = None,
) -> KeyFigures:
    """Return the key figures of anybody's schedule, with what physics answers beside it."""
    case = build_case(source, schedule, expanded, None, mapping)
    bench = case.bench(annotated=False)
    assert bench is not None
    core = expanded.core
    arrays: dict[str, NamedArray] = {}
    items: list[VariableDef | ExpressionDef] = [*core.decision_variables, *core.expressions]
    for item in items:
        try:
            symbol = bench.evaluator.environment.symbol(item.name)
        except EngiagentError:
            continue  # what the schedule does not say
        if symbol.value is not None:
            shape = tuple(dim.size for dim in symbol.dims)
            numbers = np.broadcast_to(symbol.value.shown, (math.prod(shape),)).reshape(shape)
            dims = tuple(dim.name for dim in symbol.dims)
            units = {"units": str(symbol.value.unit)}
            arrays[item.name] = NamedArray(item.name, dims, numbers, units)
    stated = goal or {}
    attrs = {"objective": stated.get("value"), "objective_unit": stated.get("unit")}
    solution = SolutionArrays(arrays, {}, attrs | {"sense": stated.get("sense")})
    return key_figures(Elaboration(core, folder), solution)
