"""How a plant was run, whoever ran it, and how far it was from what a plan predicted."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from engiagent.control.elastic import Relaxation, find_limits, relaxations
from engiagent.control.linked import element_labels, element_name
from engiagent.environment.interface import between
from engiagent.plant.cluster import WAYS, Cluster
from engiagent.run.keyfigures import Figure, KeyFigures, key_figures
from engiagent.verify.documents import Bench, Declarations
from engiagent.verify.levels.execution import Plant
from engiagent.verify.levels.repeated import dynamics_of

if TYPE_CHECKING:
    import xarray

    from engiagent.control.closedloop import ClosedLoop

COMPARED: Final = (
    *("energy_cost", "import", "export", "peak_import", "discomfort_below", "discomfort_above"),
    *("emissions", "computing_time_ratio"),
)
"""The key figures of BOPTEST, which any controller of any plant has."""
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
    plan = loop.schedule.solution
    shown = plan if record is None else _as_plan(plan, record)
    found = [*_energy_cost(loop, shown), *key_figures(loop.schedule.elaboration, shown).physical]
    if record is None or record is loop.plant:
        length = loop.runner.horizon.hours * loop.runner.applied * 3600.0
        found.append(Figure("computing_time_ratio", float(loop.seconds.mean()) / length, "1"))
    figures = KeyFigures(physical=tuple(f for f in found if f.name in COMPARED)).all
    if loop.cluster is None:
        return figures
    return (*_of_cluster(loop.cluster, loop, record, figures),)


def _of_cluster(
    cluster: Cluster,
    loop: "ClosedLoop",
    record: "xarray.Dataset | None",
    figures: tuple[Figure, ...],
) -> Iterator[Figure]:
    """Yield key figures, those of all buildings together before those of each."""
    shown = loop.solution if record is None else record
    for name in SUMMED:
        own = [figure for figure in figures if figure.name == name]
        if own:
            yield Figure(name, sum(f.value or 0.0 for f in own), own[0].unit, CLUSTER)
    flows = {
        way: sum(np.asarray(shown[f"{grid}.{way}"]) for grid in cluster.connections.values())
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


def _as_plan(plan: "xarray.Dataset", record: "xarray.Dataset") -> "xarray.Dataset":
    """Return the quantities of a plan with the values of a record, without those it has not."""
    found: dict[str, Any] = {}
    for name, item in plan.data_vars.items():
        quantity, unit = item.attrs.get("quantity"), item.attrs.get("units", "1")
        time = next((d for d in item.dims if plan.sizes[d] - record.sizes["time"] in (0, 1)), None)
        if quantity is None or time is None:
            continue
        axis = item.dims.index(time)
        values = np.moveaxis(np.array(item.values, dtype=np.float64), axis, 0)
        flat = values.reshape(len(values), -1)
        others = [item[d].values for d in item.dims if d != time]
        for k, place in enumerate(np.ndindex(*(len(o) for o in others))):
            label = ".".join(str(o[p]) for o, p in zip(others, place, strict=True))
            own = record.get(element_name(quantity, label))
            if own is None or own.shape != (len(values),):
                break
            factor, shift = between(own.attrs["units"], unit)
            flat[:, k] = factor * own.values + shift
        else:
            found[str(name)] = (
                item.dims,
                np.moveaxis(flat.reshape(values.shape), 0, axis),
                item.attrs,
            )
    return plan.drop_vars([*plan.data_vars]).assign(found).assign_attrs({"objective": None})


def _energy_cost(loop: "ClosedLoop", shown: "xarray.Dataset") -> Iterator[Figure]:
    """Yield what energy costs at each grid that the run shows, where prices are stated."""
    core = loop.schedule.elaboration.core
    bench = Bench(Declarations(core, loop.runner.folder), {})
    by_quantity = {item.attrs.get("quantity"): item for item in shown.data_vars.values()}
    plant = Plant(bench, dynamics_of(core, loop.runner.folder))
    for unit in map(plant.of, plant.units):
        total, currency = 0.0, loop.unit
        for way, sign in (("import", 1.0), ("export", -1.0)):
            if unit.model != "grid" or not unit.given(f"{way}_price"):
                continue
            power = by_quantity.get(f"{unit.name}.{way}")
            if power is None:
                total = np.nan
                break
            factor, _ = between(power.attrs["units"], "kW")
            price = unit.series(f"{way}_price", f"{currency}/kWh")
            total += sign * float(np.sum(price * factor * power.values * unit.hours))
        if unit.model == "grid" and unit.given("import_price", "export_price") and total == total:
            yield Figure("energy_cost", total, currency, unit.name)


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
