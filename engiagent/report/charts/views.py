"""What a plan shows as charts: series by component and unit with limits, switches, the data.

The voltage along a feeder is the lowest and the highest of the horizon at every bus; where a
schedule holds squares of voltages, as branch-flow models do, their roots are drawn.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from engiagent.report.charts.balances import balance_panels
from engiagent.report.charts.drawing import Chart
from engiagent.report.charts.heatmap import HeatMap, daily_means, duration_curve, is_long
from engiagent.report.charts.lanes import Lanes, switch_lanes
from engiagent.report.charts.palette import STYLES
from engiagent.report.charts.panels import Band, Curve, Panel
from engiagent.report.charts.series import (
    Plan,
    Series,
    element_labels,
    given_series,
    is_like,
    largest_by_unit,
    settled,
    solution_dimensions,
    solution_series,
    split,
)
from engiagent.report.charts.timeline import Axis, Floats
from engiagent.run.limits import Limit, find_limits
from engiagent.solvers.solution import stored_arrays

_MOST_LANES, _MOST_BARS = 16, 600
_MONEY_PER_ENERGY = ("Wh", "J", "BTU", "therm")


def plan_panels(plan: Plan) -> tuple[Chart, ...]:
    """Return the charts of a plan, what tells most first; empty without a solution.

    Balances come as stacked areas with the price in a strip below, then profiles of voltage, then
    the series by component and unit with their limits, what is on or off, and the given data. Of a
    season or longer there are duration curves and heat maps.
    """
    series, scalars = solution_series(plan)
    if not series and not scalars:
        return ()
    given = given_series(plan)
    allowed = [] if plan.elaboration is None else find_limits(plan.elaboration)
    limits = _limits(plan, allowed, series)
    scale = largest_by_unit(series)
    series = [replace(item, values=settled(item.values, scale[item.unit])) for item in series]
    lanes, series = _switched(plan, series)
    balances = [_with_price(panel, given) for panel in balance_panels(plan)]
    groups = [_panel(owner, part, limits) for (owner, *_), part in _groups(series, by_owner=True)]
    if not balances:  # then the price goes with the first power
        first = next((k for k, panel in enumerate(groups) if is_like(panel.unit, "kW")), None)
        if first is not None:
            groups[first] = _with_price(groups[first], given)
    groups += _given_panels(given)
    named = [panel for panel in groups if panel.unit not in ("", "1")]
    rest = [panel for panel in groups if panel.unit in ("", "1")]
    panels: list[Panel | Lanes] = [*named, *lanes, *rest]
    charts = [chart for panel in panels for chart in _by_length(panel)]
    balances = [daily_means(panel) if is_long(panel.axis) else panel for panel in balances]
    return (*balances, *profile_panels(plan, allowed), *charts)


def _by_length(panel: Panel | Lanes) -> Iterator[Chart]:
    """Yield a panel as it is, or its duration curve and heat maps where it is a season long."""
    if isinstance(panel, Lanes) or not is_long(panel.axis):
        yield panel
        return
    yield duration_curve(panel.title, panel.unit, panel.curves)
    for item in panel.curves:
        if item.role != "limit" and item.side == "plot":
            values = item.values[: panel.axis.places.size]
            yield HeatMap(item.label, panel.unit, panel.axis, values)


def _switched(plan: Plan, series: Sequence[Series]) -> tuple[list[Lanes], list[Series]]:
    """Return what is on or off as lanes, and the other series."""
    variables = plan.blueprint.core.decision_variables if plan.blueprint is not None else ()
    binary = {item.name for item in variables if item.type == "binary"}
    groups: dict[tuple[str, int], list[Series]] = {}
    others = []
    for item in series:
        ends = int(np.sum(np.diff(item.values > 0.5))) + 2
        if item.source in binary and item.axis.kind != "label" and ends <= 2 * _MOST_BARS:
            groups.setdefault((item.axis.name, item.axis.places.size), []).append(item)
        else:
            others.append(item)
    lanes = [
        switch_lanes("On and off", part[0].axis, {item.label: item.values for item in part})
        for members in groups.values()
        for part in _parts(members, _MOST_LANES)
    ]
    return lanes, others


def _parts(members: Sequence[Series], most: int) -> Iterator[Sequence[Series]]:
    for first in range(0, len(members), most):
        yield members[first : first + most]


def _with_price(panel: Panel, given: Sequence[Series]) -> Panel:
    """Put the first price of the same periods into the strip below a panel."""
    for item in given:
        same = np.array_equal(item.axis.places, panel.axis.places)
        if same and _is_price(item.unit) and not item.instants:
            over = replace(curve(item), side="strip")
            return replace(panel, curves=(*panel.curves, over), strip_unit=item.unit)
    return panel


def _groups(
    series: Sequence[Series], *, by_owner: bool = False
) -> Iterator[tuple[tuple[str, str, str], Sequence[Series]]]:
    """Yield the series of one unit, and of one owner where asked, at most six at a time."""
    groups: dict[tuple[str, str, str], list[Series]] = {}
    for item in series:
        owner = item.owner if by_owner else ""
        groups.setdefault((owner, item.unit, item.axis.kind), []).append(item)
    for key, members in groups.items():
        for part in _parts(members, STYLES):
            yield key, part


def _sources(part: Sequence[Series]) -> str:
    return ", ".join(dict.fromkeys(item.source for item in part))


def _panel(owner: str, part: Sequence[Series], limits: dict[str, list[Curve | Band]]) -> Panel:
    """Put series together with their limits, those of temperatures as bands."""
    curves = [curve(item) for item in part]
    found = [limit for item in part for limit in limits.get(item.label, ())]
    near = _fitting([limit for limit in found if isinstance(limit, Curve)], curves)
    bands: list[Band] = []
    for band in (limit for limit in found if isinstance(limit, Band)):
        if not any(_alike((b.low, b.high), (band.low, band.high)) for b in bands):
            bands.append(band)
    title, unit = owner or _sources(part), part[0].unit
    return Panel(title, unit, part[0].axis, (*curves, *near), tuple(bands))


def _alike(one: Sequence[Floats], other: Sequence[Floats]) -> bool:
    return all(np.array_equal(a, b, equal_nan=True) for a, b in zip(one, other, strict=True))


def _given_panels(given: Sequence[Series]) -> list[Panel]:
    """Return panels of the given data that change, by unit, prices first."""
    telling = [item for item in given if np.nanmax(item.values) > np.nanmin(item.values)]
    ordered = sorted(telling, key=lambda item: not _is_price(item.unit))
    return [
        Panel(f"Given: {_sources(part)}", unit, part[0].axis, tuple(map(curve, part)))
        for (_, unit, _), part in _groups(ordered)
    ]


def _is_price(unit: str) -> bool:
    _, slash, below = unit.partition("/")
    return bool(slash) and below.endswith(_MONEY_PER_ENERGY)


def curve(item: Series) -> Curve:
    """Return a series as a curve: a line through instants, steps over periods."""
    if item.instants:
        return Curve(item.label, item.axis.places, item.values, "line")
    return Curve(item.label, item.axis.edges, item.values, "step")


def _limits(
    plan: Plan, limits: Sequence[Limit], series: Sequence[Series]
) -> dict[str, list[Curve | Band]]:
    """Return the limits of every series by its label."""
    like = {item.source: item.unit for item in series}
    sides: dict[str, dict[str, Series]] = {}
    for limit in limits:
        if plan.solution is None or limit.variable not in like:
            continue
        array = plan.solution.variables[limit.variable]
        if array.shape != limit.values.shape:
            continue
        unit, label = like[limit.variable], str(array.attrs.get("quantity") or limit.variable)
        values = np.where(np.isfinite(limit.values), limit.values, np.nan)
        if limit.side == "lower" and not is_like(unit, "K"):
            values[values == 0.0] = np.nan  # that nothing falls below zero needs no line
        dimensions = solution_dimensions(plan, array)
        for item in split(limit.variable, label, unit, dimensions, values)[0]:
            sides.setdefault(item.label, {})[limit.side] = item
    result: dict[str, list[Curve | Band]] = {}
    for label, found in sides.items():
        if len(found) == 2 and is_like(found["upper"].unit, "K"):
            result[label] = [_band(f"allowed for {label}", found["lower"], found["upper"])]
        else:
            names = {side: f"{side} limit of {label}" for side in found}
            result[label] = [_limit(item, names[side]) for side, item in found.items()]
    return result


def _band(name: str, lower: Series, upper: Series) -> Band:
    """Return a band of steps; between two instants the wider of their limits holds.

    Where only one side is limited, the other has no end.
    """
    held = np.isfinite(lower.values) | np.isfinite(upper.values)
    low = np.where(held, np.nan_to_num(lower.values, nan=-np.inf), np.nan)
    high = np.where(held, np.nan_to_num(upper.values, nan=np.inf), np.nan)
    if not lower.instants:
        return Band(name, lower.axis.edges, low, high, "step")
    low, high = np.minimum(low[:-1], low[1:]), np.maximum(high[:-1], high[1:])
    return Band(name, lower.axis.places, low, high, "step")


def _limit(item: Series, name: str) -> Curve:
    """Return a limit as a curve: steps, at instants each to both sides half way to the next."""
    if not item.instants:
        return Curve(name, item.axis.edges, item.values, "step", "limit")
    places = item.axis.places
    middles = (places[1:] + places[:-1]) / 2
    edges = np.concatenate([places[:1], middles, places[-1:]])
    return Curve(name, edges, item.values, "step", "limit")


def _fitting(limits: Sequence[Curve], curves: Sequence[Curve]) -> list[Curve]:
    """Leave out limits so far away that they would flatten the curves, and join repeated ones."""
    joined = np.concatenate([np.zeros(0), *(c.values[np.isfinite(c.values)] for c in curves)])
    low, high = (float(joined.min()), float(joined.max())) if joined.size else (0.0, 0.0)
    reach = 1.5 * max(high - low, 0.1 * abs(high))
    found: list[Curve] = []
    for given in limits:
        near = (given.values >= low - reach) & (given.values <= high + reach)
        if not near.any():
            continue
        limit = replace(given, values=np.where(near, given.values, np.nan))
        side, _, label = limit.label.partition(" of ")
        twins = (k for k, other in enumerate(found) if other.label.startswith(side))
        twin = next((k for k in twins if _alike([found[k].values], [limit.values])), None)
        if twin is None:
            found.append(limit)
        else:
            found[twin] = replace(found[twin], label=f"{found[twin].label}, {label}")
    return found


_VOLTAGE = re.compile(r"(?:.*\.)?(squared?_)?voltage(_squared?)?")
_OF_BUS = re.compile(r"(.+)\.([^.]+)\.voltage")
_LEAST_BUSES = 3

_Found = tuple[str, str, tuple[str, ...], dict[str, Floats]]
"""Owner, unit, buses, and values of one a bus by what they are, as ``lowest``."""


def profile_panels(plan: Plan, limits: Sequence[Limit]) -> list[Panel]:
    """Return a panel for every set of bus voltages that a plan has."""
    if plan.solution is None:
        return []
    panels = []
    for title, unit, buses, rows in list(_of_feeders(plan)) or list(_of_variables(plan, limits)):
        axis = Axis("bus", "label", np.arange(len(buses), dtype=np.float64), buses)
        curves = [
            Curve(name, axis.places, values, "line", "limit")
            if name.endswith("allowed")
            else Curve(name, axis.places, values, "line", marks=True, joined=False)
            for name, values in rows.items()
        ]
        if len(buses) >= _LEAST_BUSES:
            unit = "p.u." if unit in ("", "1") else unit
            panels.append(Panel(f"{title}: voltage along the feeder", unit, axis, tuple(curves)))
    return panels


def _extremes(values: Floats) -> dict[str, Floats]:
    if values.shape[1] == 1:
        return {"voltage": values[:, 0]}
    return {"lowest": np.min(values, axis=1), "highest": np.max(values, axis=1)}


def _of_feeders(plan: Plan) -> Iterator[_Found]:
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


def _of_variables(plan: Plan, limits: Sequence[Limit]) -> Iterator[_Found]:
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
        for limit in (limit for limit in limits if limit.variable == name):
            word = "least allowed" if limit.side == "lower" else "most allowed"
            values = by_bus(np.broadcast_to(limit.values, array.shape))
            rows[word] = (np.fmax if limit.side == "lower" else np.fmin).reduce(values, axis=1)
        unit = unit.removesuffix("**2") if squared else unit
        labels = element_labels(dimensions[over[0]])
        yield quantity.rpartition(".")[0] or name, unit, labels, rows
