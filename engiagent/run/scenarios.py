r"""Scenarios of a plant against the first of them: figures, their changes, and flexibility.

Flexibility is what a scenario draws from a bus otherwise than the baseline does, in given windows,
as of dear hours, and around them. With the net power of the grids on that bus, import less export,
:math:`P_t` in the scenario and :math:`P^0_t` in the baseline, periods of :math:`\Delta_t`, those in
a window :math:`W` and those after one :math:`R`,

.. math::
    E^\mathrm{shed} = \sum_{t \in W} (P^0_t - P_t)\,\Delta_t, \qquad
    E^\mathrm{reb} = \sum_{t \in R} (P_t - P^0_t)^+\,\Delta_t, \qquad
    E^\mathrm{pre} = \sum_{t \notin W \cup R} (P_t - P^0_t)^+\,\Delta_t

and :math:`E^\mathrm{shift} = \min\{(E^\mathrm{shed})^+, E^\mathrm{pre} + E^\mathrm{reb}\}`, the
part of what was shed that was drawn at other times; the rest was saved, or came from a store.

The energy of an event against the reference is the available capacity :math:`C_\mathrm{ADR}` of
Reynders, Diriken and Saelens (Applied Energy 198, 2017, doi:10.1016/j.apenergy.2017.04.061), here
with the sign of a reduction; IEA EBC Annex 67, Energy Flexible Buildings, has such indicators side
by side, each as here from a load with flexibility and a reference load without.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from engiagent.blueprint.elaborate import Elaboration
from engiagent.blueprint.elements import ExpressionDef
from engiagent.blueprint.grammar import parse
from engiagent.blueprint.timeaxis import Floats, TimeAxis
from engiagent.errors import EngiagentError, InputError
from engiagent.formulations.components.fragment import buses_of
from engiagent.run.keyfigures import Figure, key_figures
from engiagent.run.planvalues import MissingValuesError, PlanEvaluator, plan_series
from engiagent.solvers.arrays import AnySolution, NamedArray, SolutionArrays

Mask = npt.NDArray[np.bool_]
RECOVERY: Final = 12.0
"""How long after a window energy above the baseline counts as rebound. [h]"""
_TOTALS: Final = {
    "energy_cost": ("energy_cost",),
    "discomfort": ("discomfort_below", "discomfort_above"),
    "emissions": ("emissions",),
}
"""Figures that are summed over components, by the name of the sum."""


@dataclass(frozen=True, eq=False)
class Scenario:
    """A run of a plant, planned, simulated or controlled."""

    name: str  # what it is called
    # energy cost, energies, peaks, stores, discomfort of each zone and in all, emissions
    figures: tuple[Figure, ...]
    axis: TimeAxis | None  # its periods; None where it has no single clock
    power_kw: Mapping[str, Floats]  # by bus the net power of its grids, import less export. [kW]
    # by bus what another kWh costs in each period at its dearest grid; without stated prices 0
    price: Mapping[str, Floats]

    @classmethod
    def of(cls, name: str, elaboration: Elaboration, solution: AnySolution) -> "Scenario":
        """Return what a solution says: a plan, or a record as :func:`as_solution` reads it."""
        figures = [*energy_costs(elaboration, solution), *key_figures(elaboration, solution).all]
        figures += _unrecorded_emissions(elaboration, solution)
        figures = [f for f in figures if f.horizon is None]
        series = {s.key: s for s in plan_series(elaboration, solution)}
        power: dict[str, Floats] = {}
        price: dict[str, Floats] = {}
        axis = None
        for part in elaboration.core.components:
            flows = [series.get((part.name, way)) for way in ("import", "export")]
            drawn, fed = (None if f is None else f.within("kW") for f in flows)
            if part.model != "grid" or drawn is None:
                continue
            for bus in buses_of(part):
                axis = drawn.time.root.axis
                net = drawn.summed - (0.0 if fed is None else fed.summed)
                power[bus] = power.get(bus, 0.0) + net
                own = _price(elaboration, part.name, net.size)
                price[bus] = np.maximum(price.get(bus, own), own)
        return cls(name, (*figures, *_totals(figures)), axis, power, price)


@dataclass(frozen=True)
class Change:
    """A figure of all scenarios, None where one has it not."""

    name: str
    component: str | None
    bus: str | None
    unit: str
    values: tuple[float | None, ...]

    @property
    def differences(self) -> tuple[float | None, ...]:
        """By how much each is above the first."""
        first = self.values[0]
        return tuple(None if v is None or first is None else v - first for v in self.values)

    @property
    def differs(self) -> bool:
        """Whether the scenarios do not all have the same, to nine digits."""
        known = [v for v in self.values if v is not None]
        close = bool(known) and np.ptp(known) <= 1e-9 * max(1e-9, *map(abs, known))
        return not close or len(known) < len(self.values)

    @property
    def percent(self) -> tuple[float | None, ...]:
        """The same relative to the first. [%]."""
        return tuple(_percent(d, self.values[0]) for d in self.differences)


@dataclass(frozen=True)
class Flexibility:
    """What a scenario draws from a bus otherwise than the baseline; see the head of the module."""

    # scenario, bus: of which scenario, and where
    scenario: str
    bus: str
    # shed_kwh, shifted_kwh: what is drawn less in the windows, and how much of it is drawn at other
    # times. [kWh]
    shed_kwh: float
    shifted_kwh: float
    # preparation_kwh, rebound_kwh: what is drawn above the baseline before windows, and after them.
    # [kWh]
    preparation_kwh: float
    rebound_kwh: float
    # rebound_peak_kw, rebound_at: the largest power above the baseline after a window, and the
    # start of its period. [kW]
    rebound_peak_kw: float
    rebound_at: str | None
    # peak_kw, peak_reduction_kw, peak_reduction_percent: the largest net power in the windows, and
    # by how much it is below that of the baseline
    peak_kw: float
    peak_reduction_kw: float
    peak_reduction_percent: float | None


@dataclass(frozen=True, eq=False)
class ScenarioComparison:
    """Scenarios against the first of them."""

    names: tuple[str, ...]  # of the scenarios
    changes: tuple[Change, ...]  # every figure that one of them has
    # by bus the first and the last period of each window
    windows: Mapping[str, tuple[tuple[str, str], ...]]
    # of each scenario but the first on each bus with a grid; empty without a window, or where the
    # scenarios are not over the same periods
    flexibility: tuple[Flexibility, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        return {
            "figures": [
                asdict(c) | {"differences": c.differences, "percent": c.percent}
                for c in self.changes
            ],
            "windows": {bus: [list(ends) for ends in found] for bus, found in self.windows.items()},
            "flexibility": [asdict(item) for item in self.flexibility],
        }


def compare_scenarios(
    scenarios: Sequence[Scenario], windows: Sequence[str] = (), *, recovery_hours: float = RECOVERY
) -> ScenarioComparison:
    """Compare two scenarios or more with the first.

    ``windows``: times of each day, as ``17:00..20:00``, or of the run, as
    ``2026-08-01T17:00..2026-08-01T20:00``; a period counts where it begins. Without any, the dear
    hours of the baseline: those with prices above the middle of its lowest and highest.
    ``recovery_hours``: how long after a window energy above the baseline counts as rebound, at most
    to the next window. [h] Raises InputError for fewer than two, a window that cannot be read or
    in which no period begins, and windows for runs over different periods.
    """
    if len(scenarios) < 2:
        raise InputError("a comparison needs a baseline", expected="two scenarios or more")
    first = scenarios[0]
    keys = dict.fromkeys((f.name, f.component, f.bus, f.unit) for s in scenarios for f in s.figures)
    values = [{(f.name, f.component, f.bus, f.unit): f.value for f in s.figures} for s in scenarios]
    changes = tuple(Change(*key, tuple(own.get(key) for own in values)) for key in keys)
    names = tuple(s.name for s in scenarios)
    odd = next((s.name for s in scenarios if not _same_periods(first.axis, s.axis)), None)
    if first.axis is None or odd is not None:
        if windows:
            said = f"{odd or first.name} is not over the same periods as the baseline"
            raise InputError(said, expected="runs with one start, one step and as many steps")
        return ScenarioComparison(names, changes, {}, ())
    given = [_window(text, first.axis) for text in windows]
    chosen = {bus: np.any(given, axis=0) if given else _dear(p) for bus, p in first.price.items()}
    chosen = {bus: mask for bus, mask in chosen.items() if mask.any()}
    found = tuple(
        _flexibility(other, first, bus, mask, recovery_hours)
        for other in scenarios[1:]
        for bus, mask in chosen.items()
        if bus in other.power_kw
    )
    shown = {bus: tuple(_spans(mask, first.axis)) for bus, mask in chosen.items()}
    return ScenarioComparison(names, changes, shown, found)


def _flexibility(
    scenario: Scenario, baseline: Scenario, bus: str, window: Mask, recovery: float
) -> Flexibility:
    axis = baseline.axis
    assert axis is not None  # those that have windows
    own, reference = scenario.power_kw[bus], baseline.power_kw[bus]
    apart = own - reference
    hours = (axis.edges - axis.edges[0]) / 3600.0
    last_end = np.maximum.accumulate(np.where(window, hours[1:], -np.inf))
    after = ~window & (hours[:-1] - last_end < recovery)
    above = np.maximum(apart, 0.0)
    shed = float(-apart[window] @ axis.steps[window])
    ahead = float(above[~window & ~after] @ axis.steps[~window & ~after])
    rebound = float(above[after] @ axis.steps[after])
    top = int(np.argmax(np.where(after, above, 0.0)))
    peak, before = float(own[window].max()), float(reference[window].max())
    return Flexibility(
        scenario=scenario.name,
        bus=bus,
        shed_kwh=shed,
        shifted_kwh=min(max(shed, 0.0), ahead + rebound),
        preparation_kwh=ahead,
        rebound_kwh=rebound,
        rebound_peak_kw=float(above[top]) if rebound else 0.0,
        rebound_at=axis.labels[top] if rebound else None,
        peak_kw=peak,
        peak_reduction_kw=before - peak,
        peak_reduction_percent=_percent(before - peak, before),
    )


def _percent(amount: float | None, of: float | None) -> float | None:
    return None if amount is None or not of else 100.0 * amount / abs(of)


# -- windows --------------------------------------------------------------------------------------


def _window(text: str, axis: TimeAxis) -> Mask:
    """Return which periods begin in a window: of each day, or from one moment to another."""
    first, dots, last = (part.strip() for part in text.partition(".."))
    stamps = np.array([label[: 16 if axis.dated else 5] for label in axis.labels[:-1]])
    form = "00:00"
    if len(first) == len(form):
        stamps = np.array([stamp[-len(form) :] for stamp in stamps])
    elif axis.dated:
        form = "2026-01-31T00:00"
    if not dots or not len(first) == len(last) == len(form):
        expected = "17:00..20:00 of each day, or 2026-08-01T17:00..2026-08-01T20:00"
        raise InputError("a window cannot be read", found=text, expected=expected)
    since, until = stamps >= first, stamps < last
    found = since & until if first < last else since | until
    if not found.any():
        said = f"no period of the runs begins in the window {text}"
        raise InputError(said, expected=f"from {axis.labels[0]} to {axis.labels[-2]}")
    return np.asarray(found)


def _dear(price: Floats) -> Mask:
    """Return the periods with prices above the middle of the lowest and the highest."""
    return np.asarray(price > (price.min() + price.max()) / 2.0)


def _spans(window: Mask, axis: TimeAxis) -> Iterator[tuple[str, str]]:
    """Yield the first and the last period of each window."""
    edges = np.flatnonzero(np.diff(np.concatenate(([False], window, [False]))))
    for start, stop in edges.reshape(-1, 2):
        yield axis.labels[start], axis.labels[stop - 1]


def _same_periods(one: TimeAxis | None, other: TimeAxis | None) -> bool:
    return one is not None and other is not None and np.array_equal(one.edges, other.edges)


# -- what energy costs ----------------------------------------------------------------------------


def energy_costs(elaboration: Elaboration, solution: AnySolution) -> Iterator[Figure]:
    """Yield what energy costs at each grid with prices, import less what export earns."""
    evaluator = PlanEvaluator(elaboration, solution)
    for part in elaboration.core.components:
        items = [e for way in ("import", "export") for e in _costs(elaboration, part.name, way)]
        if part.model == "grid" and items:
            try:
                total = sum(float(np.sum(_evaluated(elaboration, evaluator, e))) for e in items)
            except EngiagentError:
                continue
            unit = str(elaboration.symbols[items[0].name].unit)
            yield Figure("energy_cost", round(total, 9) + 0.0, unit, part.name)


def _unrecorded_emissions(elaboration: Elaboration, solution: AnySolution) -> Iterator[Figure]:
    """Yield what grids emit by an import that a plant shows without what it emits."""
    evaluator = PlanEvaluator(elaboration, solution)
    for item in elaboration.core.expressions:
        owner, _, word = (item.quantity or "").rpartition(".")
        if word == "emissions" and len(item.index) == 1 and item.name not in solution:
            axis = elaboration.index_set(elaboration.binders(item.index)[0].set).root.axis
            assert axis is not None  # emissions have a period
            with suppress(MissingValuesError):
                flow = _evaluated(elaboration, evaluator, item)
                yield Figure("emissions", float(flow @ axis.steps), "kg", owner)


def _costs(elaboration: Elaboration, grid: str, way: str) -> Iterator[ExpressionDef]:
    """Yield what import or export costs in each period; nothing where no price is stated."""
    for item in elaboration.core.expressions:
        if item.quantity == f"{grid}.{way}_cost" and len(item.index) == 1:
            yield item


def _evaluated(elaboration: Elaboration, evaluator: PlanEvaluator, item: ExpressionDef) -> Floats:
    binders, checker = elaboration.binders(item.index), elaboration.checker()
    unit = elaboration.symbols[item.name].unit
    typed = checker.number(parse(item.expression), checker.scope_of(binders), unit)
    return np.asarray(evaluator.number(typed.node, elaboration.grid(binders)), dtype=np.float64)


def _price(elaboration: Elaboration, grid: str, count: int) -> Floats:
    """Return what a kWh costs at a grid in each period: the cost of 1 kW over its length."""
    names = [v.name for v in elaboration.core.decision_variables if v.quantity == f"{grid}.import"]
    ones = SolutionArrays({n: NamedArray(n, (), np.ones(count)) for n in names}, {}, {})
    for item in _costs(elaboration, grid, "import"):
        axis = elaboration.index_set(elaboration.binders(item.index)[0].set).root.axis
        assert axis is not None  # what costs in each period has a length
        cost = _evaluated(elaboration, PlanEvaluator(elaboration, ones), item)
        return np.asarray(cost / axis.steps)
    return np.zeros(count)


def _totals(figures: Sequence[Figure]) -> Iterator[Figure]:
    """Yield sums over components, where there are several."""
    for name, parts in _TOTALS.items():
        own = [f for f in figures if f.name in parts and f.value is not None]
        if len(own) > 1 and len({f.unit for f in own}) == 1:
            yield Figure(name, float(sum(f.value or 0.0 for f in own)), own[0].unit)
