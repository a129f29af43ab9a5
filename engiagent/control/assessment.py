"""How a plant was run, whoever ran it, and how far it was from what a plan predicted."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from engiagent.control.elastic import Relaxation, find_limits, relaxations
from engiagent.control.horizon import Floats
from engiagent.control.linked import element_labels
from engiagent.environment.interface import element_name
from engiagent.environment.running import as_solution
from engiagent.plant.cluster import WAYS, Cluster
from engiagent.run.keyfigures import Figure
from engiagent.run.planvalues import plan_series
from engiagent.run.scenarios import Scenario
from engiagent.solvers.arrays import AnySolution

if TYPE_CHECKING:
    import xarray

    from engiagent.control.closedloop import ClosedLoop

COMPARED: Final = (
    *("energy_cost", "import", "export", "peak_import", "emissions"),
    *("discomfort_below", "discomfort_above"),
)
"""The key figures that any controller of any plant has; those as BOPTEST defines them, and
computing time, are beside them."""
QUARTER: Final = 0.25
"""Over which the mean of a power counts for a peak. [h]"""
PER_AREA: Final = ("energy_cost", "import", "emissions")
CLUSTER: Final = "cluster"
"""The component of a figure of all buildings, which meet at the connection that they share."""
SUMMED: Final = ("energy_cost", "discomfort_below", "discomfort_above")
EXCEEDED: Final = "limit_exceeded"
"""Energy above what a cluster limits at the shared connection."""
NOTHING: Final = 1e-6
"""By how much a limit may be exceeded, in its unit, before it counts as broken."""


@dataclass(frozen=True)
class PredictionError:
    """How far a state was from its prediction of a step before; ``at`` begins the worst step."""

    state: str
    unit: str
    mean: float
    worst: float
    at: str


@dataclass(frozen=True)
class BrokenLimit:
    """A limit that plans kept and the plant broke: how often, the worst amount and its place."""

    limit: str
    times: int
    worst: float
    unit: str
    place: str


def assess(loop: "ClosedLoop", record: "xarray.Dataset | None") -> tuple[Figure, ...]:
    """Return the key figures of a run of the loop's plant.

    They follow from the quantities of the plan that the record has, and from the prices and comfort
    limits of the plan. None stands for the run of the loop itself, where the plan's own prediction
    or a function answered.
    """
    solution = shown(loop, record)
    scenario = Scenario.of("", loop.schedule.elaboration, solution)
    figures = tuple(figure for figure in scenario.figures if figure.name in COMPARED)
    series = {s.key: s for s in plan_series(loop.schedule.elaboration, solution)}
    flows = {
        own: flow.summed
        for own, item in series.items()
        if own[1] in WAYS and (flow := item.within("kW")) is not None
    }
    grids = [f.component for f in figures if f.name == "peak_import" and f.component is not None]
    drawn = {grid: flows[grid, "import"] for grid in grids}
    if loop.cluster is not None:
        figures = tuple(_of_cluster(loop.cluster, loop, record, figures))
        joint = [
            (flows[g, "import"], flows[g, "export"]) for g in loop.cluster.connections.values()
        ]
        drawn = {CLUSTER: np.sum([into - out for into, out in joint], axis=0)}
    return (*figures, *_of_boptest(loop, figures, drawn))


def _of_boptest(
    loop: "ClosedLoop", figures: tuple[Figure, ...], flows: Mapping[str, Floats]
) -> Iterator[Figure]:
    r"""Yield the key figures that BOPTEST has beyond sums of the site.

    Thermal discomfort is what all zones are outside of their limits by, over time, and that over
    their number :math:`N`; a peak is the largest mean over a quarter of an hour, or over a step
    where steps are no part of one, which its name says. Per area :math:`A` are energy cost,
    imported energy of all kinds, emissions, and the peak of each grid.

    .. math::
        D = \sum_z \int |s_z|\,dt, \qquad D/N, \qquad P = \max_k \overline{P_k}/A

    Source: D. Blum et al., Building optimization testing framework (BOPTEST) for simulation-based
    benchmarking of control strategies in buildings, Journal of Building Performance Simulation 14
    (2021) 586-610, doi:10.1080/19401493.2021.1986574.

    ``flows``: by grid what is drawn in each period, of a cluster that of all less exports. [kW]
    """
    of_all = None if loop.cluster is None else CLUSTER
    zones: dict[str, float] = {}
    for figure in figures:
        if figure.name.startswith("discomfort_") and figure.component not in (None, CLUSTER):
            own = str(figure.component)
            zones[own] = zones.get(own, 0.0) + (figure.value or 0.0)
    for zone, value in zones.items() if len(zones) > 1 else ():
        yield Figure("discomfort", value, "K h", zone)
    if zones:
        yield Figure("discomfort", sum(zones.values()), "K h", of_all)
        yield Figure("discomfort_per_zone", sum(zones.values()) / len(zones), "K h", of_all)
    hours, area = loop.runner.horizon.hours, loop.floor_area
    whole = round(QUARTER / hours)
    count = whole if whole and abs(whole * hours - QUARTER) < 1e-9 else 1
    for grid, flow in flows.items():
        starts = np.arange(0, flow.size, count)
        means = np.add.reduceat(flow, starts) / np.diff([*starts, flow.size])
        name, peak = f"peak_{60.0 * count * hours:g}min", float(means.max())
        yield Figure(name, peak, "kW", grid)
        if area is not None:
            yield Figure(f"{name}_per_m2", peak / area, "kW/m2", grid)
    for name in PER_AREA if area is not None else ():
        parts = [f for f in figures if f.name == name and f.component not in (None, CLUSTER)]
        if parts and area is not None:
            total = sum(f.value or 0.0 for f in parts)
            yield Figure(f"{name}_per_m2", total / area, f"{parts[0].unit}/m2", of_all)


def _of_cluster(
    cluster: Cluster,
    loop: "ClosedLoop",
    record: "xarray.Dataset | None",
    figures: tuple[Figure, ...],
) -> Iterator[Figure]:
    """Yield key figures, those of all buildings together before those of each."""
    flow_of = loop.solution if record is None else record
    for name in SUMMED:
        own = [f for f in figures if f.name == name and f.component is not None]  # no sum of them
        if own:
            yield Figure(name, sum(f.value or 0.0 for f in own), own[0].unit, CLUSTER)
    flows = {
        way: sum(np.asarray(flow_of[f"{grid}.{way}"]) for grid in cluster.connections.values())
        for way in WAYS
    }
    net = np.asarray(flows["import"] - flows["export"])
    over, hours = 0.0, loop.runner.horizon.hours * loop.runner.applied
    for way, flow in zip(WAYS, (net, -net), strict=True):
        yield Figure(f"peak_{way}", float(np.max(flow, initial=0.0)), "kW", CLUSTER)
        above = flow - (np.inf if (limit := cluster.limit(way)) is None else limit)
        over += hours * float(np.sum(above, where=above > NOTHING))
    if cluster.limits:
        yield Figure(EXCEEDED, over, "kWh", CLUSTER)
    yield from figures


def computing_time(loop: "ClosedLoop") -> Figure:
    """Return the mean time of planning over the time of a step. [-]."""
    length = loop.runner.horizon.hours * loop.runner.applied * 3600.0
    return Figure("computing_time_ratio", float(loop.seconds.mean()) / length, "1")


def shown(loop: "ClosedLoop", record: "xarray.Dataset | None") -> AnySolution:
    """Return what a record shows of the quantities of the plan; the plan itself without one."""
    schedule = loop.schedule
    return schedule.solution if record is None else as_solution(schedule.elaboration, record)


def prediction_errors(loop: "ClosedLoop") -> tuple[PredictionError, ...]:
    """Return of each state how far the plant was from the prediction of the step before."""
    found = []
    for state in loop.runner.states:
        came = [*loop.log[state.parameter].values[1:], loop.state[state.parameter]]
        said = [control.predicted[state.parameter] for control in loop.controls]
        block = loop.runner.program.column_block(state.variable)
        off = np.abs(np.stack(came) - np.stack(said)).reshape(len(said), -1)
        unit = loop.log[state.parameter].attrs["units"]
        labels = element_labels(loop.runner, state.parameter)
        for label, values in zip(labels, off.T, strict=True):
            worst = int(values.argmax())
            name = element_name(block.quantity or block.name, label)
            unit = "K" if unit == "degC" else unit  # a difference
            mean, at = float(values.mean()), loop.times[worst]
            found.append(PredictionError(name, unit, mean, float(values[worst]), at))
    return tuple(found)


def broken_limits(loop: "ClosedLoop") -> tuple[BrokenLimit, ...]:
    """Return the limits of states that what was measured broke, although the plan kept them."""
    program, runner = loop.schedule.program, loop.runner
    limits = find_limits(program, None, frozenset(s.variable for s in runner.states))
    found: dict[str, list[Relaxation]] = {}
    for item in relaxations(program, limits, loop.schedule.result):
        step = ((item.ahead or 0) - 1) // runner.applied
        if item.ahead and item.amount > NOTHING:  # what is measured first was never planned
            given_up = {r.limit for r in loop.controls[step].relaxations}
            if item.limit not in given_up and loop.controls[step].outcome != "previous plan":
                found.setdefault(item.limit, []).append(item)
    return tuple(
        BrokenLimit(name, len(items), worst.amount, worst.unit, worst.place)
        for name, items in found.items()
        for worst in [max(items, key=lambda item: item.amount)]
    )
