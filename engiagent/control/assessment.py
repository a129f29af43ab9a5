"""How a plant was run, whoever ran it, and how far it was from what a plan predicted."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from engiagent.control.elastic import Relaxation, find_limits, relaxations
from engiagent.control.horizon import Floats
from engiagent.control.linked import element_labels
from engiagent.environment.interface import element_name
from engiagent.environment.running import as_solution
from engiagent.plant.cluster import WAYS, Cluster
from engiagent.run.keyfigures import Figure
from engiagent.run.scenarios import Scenario
from engiagent.solvers.arrays import AnySolution

if TYPE_CHECKING:
    import xarray

    from engiagent.control.closedloop import ClosedLoop

COMPARED: Final = (
    *("energy_cost", "import", "export", "peak_import", "emissions"),
    *("discomfort_below", "discomfort_above"),
)
"""The key figures that any controller of any plant has. Beside them are those that BOPTEST defines
otherwise: D. Blum et al., Building optimization testing framework (BOPTEST), Journal of Building
Performance Simulation 14 (2021) 586-610, doi:10.1080/19401493.2021.1986574."""
QUARTER: Final = 0.25
"""Over which the mean of a power counts for a peak. [h]"""
PER_AREA: Final = ("energy_cost", "import", "emissions")
CLUSTER: Final = "cluster"
"""The component of a figure of all buildings, which meet at the connection that they share."""
SUMMED: Final = ("energy_cost", "emissions", "discomfort_below", "discomfort_above")
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
    scenario = Scenario.of("", loop.schedule.elaboration, shown(loop, record))
    figures = tuple(figure for figure in scenario.figures if figure.name in COMPARED)
    if loop.cluster is not None:
        figures = tuple(_of_cluster(loop.cluster, loop, record, figures))
    peaks = (f for bus, flow in scenario.power_kw.items() for f in _peak(loop, flow, bus=bus))
    return (*figures, *peaks, *_of_boptest(loop, figures))


def _peak(loop: "ClosedLoop", flow: Floats, **place: Any) -> Iterator[Figure]:
    """Yield the largest mean of a power over quarters of an hour, else over steps, also by area."""
    hours, area = loop.runner.horizon.hours, loop.floor_area
    count = round(QUARTER / hours)
    count = count if count and abs(count * hours - QUARTER) < 1e-9 else 1
    starts = np.arange(0, flow.size, count)
    peak = float(np.max(np.add.reduceat(flow, starts) / np.diff([*starts, flow.size]), initial=0.0))
    name = f"peak_{60.0 * count * hours:g}min"
    yield Figure(name, peak, "kW", **place)
    if area is not None:
        yield Figure(f"{name}_per_m2", peak / area, "kW/m2", **place)


def _of_boptest(loop: "ClosedLoop", figures: Sequence[Figure]) -> Iterator[Figure]:
    """Yield discomfort of zones, of all and over their number, and what is divided by an area."""
    whole, zones = None if loop.cluster is None else CLUSTER, Counter[str | None]()
    parts = [f for f in figures if f.component not in (None, CLUSTER) and f.value is not None]
    for figure in parts:
        if figure.name.startswith("discomfort_"):
            zones[figure.component] += figure.value or 0.0  # type: ignore[assignment]
    if len(zones) > 1:
        yield from (Figure("discomfort", value, "K h", zone) for zone, value in zones.items())
    if zones:
        total = float(sum(zones.values()))
        yield Figure("discomfort", total, "K h", whole)
        yield Figure("discomfort_per_zone", total / len(zones), "K h", whole)
    for name in PER_AREA if loop.floor_area is not None else ():
        own = [f for f in parts if f.name == name]
        if own:
            total = sum(f.value or 0.0 for f in own) / (loop.floor_area or 1.0)
            yield Figure(f"{name}_per_m2", total, f"{own[0].unit}/m2", whole)


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
        yield Figure(f"peak_{way}", float(np.max(flow, initial=0.0) + 0.0), "kW", CLUSTER)
        above = flow - (np.inf if (limit := cluster.limit(way)) is None else limit)
        over += hours * float(np.sum(above, where=above > NOTHING))
    yield from _peak(loop, net, component=CLUSTER)
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
    """Return how far states that the plant shows were from the prediction of a step before."""
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
            if loop.plant is not None and name not in loop.plant:
                continue  # what the plant does not show is compared with nothing
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
