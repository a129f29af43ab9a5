"""The voltage along a feeder: the lowest and the highest of the horizon at every bus.

Buses stand in the order in which a walk from the source meets them, and lines join those that a
branch joins. Where a schedule holds squares of voltages, as branch-flow models do, their roots are
drawn.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from engiagent.blueprint.elaborate import Elaboration
from engiagent.errors import EngiagentError
from engiagent.report.charts.panels import Curve, Panel
from engiagent.report.charts.series import Plan, solution_dimensions
from engiagent.report.charts.timeline import Axis, Floats
from engiagent.run.limits import Limit
from engiagent.solvers.solution import stored_arrays
from engiagent.units.unit import UnitError, parse_unit

_VOLTAGE = re.compile(r"(?:.*\.)?(squared?_)?voltage(_squared?)?")
_OF_BUS = re.compile(r"(.+)\.([^.]+)\.voltage")
_LEAST_BUSES = 3

Edge = tuple[str, str]


@dataclass(frozen=True, eq=False)
class _Voltages:
    """Voltages of several buses: values and limits, shape (buses, periods); NaN for no limit."""

    title: str
    unit: str
    buses: tuple[str, ...]
    values: Floats
    low: Floats
    high: Floats


def profile_panels(plan: Plan, limits: Sequence[Limit]) -> list[Panel]:
    """Return a panel for every set of bus voltages that a plan has."""
    if plan.solution is None:
        return []
    found = list(_of_components(plan)) or list(_of_variables(plan, limits))
    edges = _edges(plan.elaboration) if plan.elaboration is not None else []
    sources = _sources(plan.elaboration) if plan.elaboration is not None else set()
    return [_panel(item, edges, sources) for item in found if len(item.buses) >= _LEAST_BUSES]


def _of_components(plan: Plan) -> Iterator[_Voltages]:
    """Yield the voltages that feeders name bus by bus, ``<feeder>.<bus>.voltage``."""
    assert plan.solution is not None
    owners: dict[str, dict[str, Floats]] = {}
    units: dict[str, str] = {}
    for name, array in stored_arrays(plan.solution):
        match = _OF_BUS.fullmatch(str(array.attrs.get("quantity") or name))
        if match:
            values = np.asarray(array.values, dtype=np.float64).reshape(-1)
            owners.setdefault(match[1], {})[match[2]] = values
            units[match[1]] = str(array.attrs.get("units", ""))
    bands = _feeder_bands(plan)
    for owner, buses in owners.items():
        if len({values.size for values in buses.values()}) == 1:
            values = np.stack(list(buses.values()))
            low, high = (np.full((len(buses), 1), end) for end in bands.get(owner, (np.nan,) * 2))
            yield _Voltages(owner, units[owner], tuple(buses), values, low, high)


def _feeder_bands(plan: Plan) -> dict[str, tuple[float, float]]:
    """Return the voltage band of every feeder whose band is stated in numbers."""
    if plan.elaboration is None:
        return {}
    result = {}
    for component in plan.elaboration.core.components:
        if component.model == "feeder":
            ends = [
                _number(plan.elaboration, component.parameters.get(slot, default))
                for slot, default in (("minimum_voltage", 0.9), ("maximum_voltage", 1.1))
            ]
            result[component.name] = (ends[0], ends[1])
    return result


def _number(elaboration: Elaboration, value: object) -> float:
    if isinstance(value, int | float):
        return float(value)
    try:
        return float(elaboration.table(str(value)).values.reshape(-1)[0])
    except (EngiagentError, KeyError, ValueError):
        return float("nan")


def _of_variables(plan: Plan, limits: Sequence[Limit]) -> Iterator[_Voltages]:
    """Yield the variables over buses that are voltages by their quantity, or by their unit."""
    assert plan.solution is not None
    for name, array in stored_arrays(plan.solution):
        quantity, unit = str(array.attrs.get("quantity") or name), str(array.attrs.get("units", ""))
        match = _VOLTAGE.fullmatch(quantity)
        if "__" in name or not (match or _is_voltage(unit)):
            continue
        dimensions = solution_dimensions(plan, array)
        over = [k for k, d in enumerate(dimensions) if d.axis.kind == "label"]
        if len(over) != 1:
            continue
        sides: dict[str, Floats] = {
            limit.side: limit.values for limit in limits if limit.variable == name
        }
        nothing = np.full((1,) * array.ndim, np.nan)
        parts = [array.values, *(sides.get(side, nothing) for side in ("lower", "upper"))]
        rows = [
            np.moveaxis(np.broadcast_to(part, array.shape), over[0], 0).astype(np.float64)
            for part in parts
        ]
        values, low, high = (part.reshape(part.shape[0], -1) for part in rows)
        dimension = dimensions[over[0]]
        labels = dimension.axis.labels
        if dimension.positions is not None:
            labels = tuple(labels[position] for position in dimension.positions)
        squared = bool(match and (match[1] or match[2])) or _is_voltage(unit, power=2)
        if squared:
            values, low, high = (np.sqrt(np.maximum(part, 0.0)) for part in (values, low, high))
            unit = unit.removesuffix("**2")
        owner = quantity.rpartition(".")[0] or name
        yield _Voltages(owner, unit, labels, values, low, high)


def _is_voltage(unit: str, power: int = 1) -> bool:
    try:
        dimension = parse_unit(unit).dimension
    except UnitError:
        return False
    return dimension == parse_unit("V" if power == 1 else "V**2").dimension


def _edges(elaboration: Elaboration) -> list[Edge]:
    """Return the branches between buses: pairs of tuple sets, and the lines of feeders."""
    edges: list[Edge] = []
    for definition in elaboration.core.sets:
        if definition.kind != "tuples":
            continue
        try:
            labels = elaboration.index_set(definition.name).labels
        except EngiagentError:
            continue
        pairs = [label for label in labels if isinstance(label, tuple) and len(label) == 2]
        edges += [(str(a), str(b)) for a, b in pairs]
    for component in elaboration.core.components:
        for group in ("lines", "transformers"):
            parts = component.connections.get(group) if component.connections else None
            for part in parts.values() if isinstance(parts, Mapping) else ():
                if isinstance(part, Mapping) and {"from", "to"} <= set(part):
                    edges.append((str(part["from"]), str(part["to"])))
    return edges


def _sources(elaboration: Elaboration) -> set[str]:
    """Return the buses at which feeders are fed."""
    given = [c.connections.get("source") for c in elaboration.core.components if c.connections]
    return {str(name) for name in given if name is not None}


def _panel(item: _Voltages, edges: Sequence[Edge], sources: set[str]) -> Panel:
    inside = [edge for edge in edges if set(edge) <= set(item.buses)]
    order = _walk(item.buses, inside, sources)
    rows = [item.buses.index(bus) for bus in order]
    place = {bus: float(position) for position, bus in enumerate(order)}
    axis = Axis("bus", "label", np.arange(len(order), dtype=np.float64), tuple(order))
    joins = [(place[a], place[b]) for a, b in inside] or [
        (float(k), float(k + 1)) for k in range(len(order) - 1)
    ]
    ends = [("lowest", np.min(item.values, axis=1)), ("highest", np.max(item.values, axis=1))]
    if item.values.shape[1] == 1:
        ends = [("voltage", item.values[:, 0])]
    curves = [_tree(name, values[rows], joins) for name, values in ends]
    for word, part in (("least allowed", item.low), ("most allowed", item.high)):
        tight = (np.fmax if word.startswith("least") else np.fmin).reduce(part, axis=1)[rows]
        if np.isfinite(tight).any():
            curves.append(Curve(word, axis.places, tight, "line", "limit"))
    unit = "p.u." if item.unit in ("", "1") else item.unit
    return Panel(f"{item.title}: voltage along the feeder", unit, axis, tuple(curves))


def _tree(name: str, values: Floats, joins: Sequence[tuple[float, float]]) -> Curve:
    """Return values at buses as a curve of one piece for each branch."""
    places = np.array([x for a, b in joins for x in (min(a, b), max(a, b), np.nan)])
    at = np.where(np.isfinite(places), places, 0).astype(np.int64)
    shown = np.where(np.isfinite(places), values[at], np.nan)
    return Curve(name, places, shown, "line", marks=True)


def _walk(buses: Sequence[str], edges: Sequence[Edge], sources: set[str]) -> list[str]:
    """Return the buses branch by branch, beginning at a source, else where no branch ends."""
    near: dict[str, list[str]] = {bus: [] for bus in buses}
    for a, b in edges:
        near[a].append(b)
        near[b].append(a)
    fed = {b for _, b in edges}
    result: list[str] = []
    waiting = sorted(buses, key=lambda bus: (bus not in sources, bus in fed), reverse=True)
    while waiting:
        bus = waiting.pop()
        if bus in result:
            continue
        result.append(bus)
        waiting += [other for other in reversed(near[bus]) if other not in result]
    return result
