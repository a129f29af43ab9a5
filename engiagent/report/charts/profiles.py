"""The voltage along a feeder: the lowest and the highest of the horizon at every bus.

Buses stand in the order in which a walk from the source meets them, and lines join those that a
branch joins. Where a schedule holds squares of voltages, as branch-flow models do, their roots are
drawn.
"""

import re
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from engiagent.blueprint.elaborate import Elaboration
from engiagent.errors import EngiagentError
from engiagent.report.charts.panels import Curve, Panel
from engiagent.report.charts.series import Plan, element_labels, is_like, solution_dimensions
from engiagent.report.charts.timeline import Axis, Floats
from engiagent.run.limits import Limit
from engiagent.solvers.solution import stored_arrays

_VOLTAGE = re.compile(r"(?:.*\.)?(squared?_)?voltage(_squared?)?")
_OF_BUS = re.compile(r"(.+)\.([^.]+)\.voltage")
_LEAST_BUSES = 3

Edge = tuple[str, str]
Rows = Mapping[str, Floats]
"""Values by what they are (``lowest``, ``most allowed`` …), each of one value a bus."""


def profile_panels(plan: Plan, limits: Sequence[Limit]) -> list[Panel]:
    """Return a panel for every set of bus voltages that a plan has."""
    if plan.solution is None:
        return []
    found = list(_of_components(plan)) or list(_of_variables(plan, limits))
    edges = _edges(plan.elaboration) if plan.elaboration is not None else []
    components = plan.elaboration.core.components if plan.elaboration is not None else ()
    sources = {str(c.connections.get("source")) for c in components if c.connections}
    return [
        _panel(title, unit, buses, rows, edges, sources)
        for title, unit, buses, rows in found
        if len(buses) >= _LEAST_BUSES
    ]


def _extremes(values: Floats) -> dict[str, Floats]:
    if values.shape[1] == 1:
        return {"voltage": values[:, 0]}
    return {"lowest": np.min(values, axis=1), "highest": np.max(values, axis=1)}


def _of_components(plan: Plan) -> Iterator[tuple[str, str, tuple[str, ...], Rows]]:
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
    for owner, buses in owners.items():
        if len({values.size for values in buses.values()}) == 1:
            yield owner, units[owner], tuple(buses), _extremes(np.stack(list(buses.values())))


def _of_variables(
    plan: Plan, limits: Sequence[Limit]
) -> Iterator[tuple[str, str, tuple[str, ...], Rows]]:
    """Yield the variables over buses that are voltages by their quantity, or by their unit."""
    assert plan.solution is not None
    for name, array in stored_arrays(plan.solution):
        quantity, unit = str(array.attrs.get("quantity") or name), str(array.attrs.get("units", ""))
        match = _VOLTAGE.fullmatch(quantity)
        squared = bool(match and (match[1] or match[2])) or is_like(unit, "V**2")
        dimensions = solution_dimensions(plan, array)
        over = [k for k, d in enumerate(dimensions) if d.axis.kind == "label"]
        if "__" in name or not (match or squared or is_like(unit, "V")) or len(over) != 1:
            continue

        def by_bus(part: Floats, along: int = over[0], root: bool = squared) -> Floats:
            rows = np.moveaxis(part, along, 0).astype(np.float64).reshape(part.shape[along], -1)
            return np.sqrt(np.maximum(rows, 0.0)) if root else rows

        rows = _extremes(by_bus(array.values))
        for limit in limits:
            if limit.variable == name:
                word = "least allowed" if limit.side == "lower" else "most allowed"
                tightest = np.fmax if limit.side == "lower" else np.fmin
                values = by_bus(np.broadcast_to(limit.values, array.shape))
                rows[word] = tightest.reduce(values, axis=1)
        unit = unit.removesuffix("**2") if squared else unit
        labels = element_labels(dimensions[over[0]])
        yield quantity.rpartition(".")[0] or name, unit, labels, rows


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


def _panel(
    title: str,
    unit: str,
    buses: tuple[str, ...],
    rows: Rows,
    edges: Sequence[Edge],
    sources: set[str],
) -> Panel:
    inside = [edge for edge in edges if set(edge) <= set(buses)]
    order = _walk(buses, inside, sources)
    at = [buses.index(bus) for bus in order]
    place = {bus: position for position, bus in enumerate(order)}
    axis = Axis("bus", "label", np.arange(len(order), dtype=np.float64), tuple(order))
    joins = [sorted((place[a], place[b])) for a, b in inside]
    joins = joins or [[k, k + 1] for k in range(len(order) - 1)]
    curves = []
    for name, found in rows.items():
        if name.endswith("allowed"):
            if np.isfinite(found).any():
                curves.append(Curve(name, axis.places, found[at], "line", "limit"))
            continue
        # one piece for each branch
        places = np.array([x for a, b in joins for x in (a, b, np.nan)])
        values = np.array([x for a, b in joins for x in (found[at[a]], found[at[b]], np.nan)])
        curves.append(Curve(name, places, values, "line", marks=True))
    unit = "p.u." if unit in ("", "1") else unit
    return Panel(f"{title}: voltage along the feeder", unit, axis, tuple(curves))


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
        if bus not in result:
            result.append(bus)
            waiting += [other for other in reversed(near[bus]) if other not in result]
    return result
