"""What a plan shows as charts: series by component and unit with limits, switches, the data."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from engiagent.report.charts.balances import balance_panels
from engiagent.report.charts.drawing import Chart
from engiagent.report.charts.heatmap import HeatMap, daily_means, duration_curve, is_long
from engiagent.report.charts.lanes import Lanes, switch_lanes
from engiagent.report.charts.palette import STYLES
from engiagent.report.charts.panels import Band, Curve, Panel
from engiagent.report.charts.profiles import profile_panels
from engiagent.report.charts.series import (
    Plan,
    Series,
    given_series,
    largest_by_unit,
    settled,
    solution_dimensions,
    solution_series,
    split,
)
from engiagent.report.charts.timeline import Floats
from engiagent.run.limits import Limit, find_limits
from engiagent.units.unit import UnitError, parse_unit

_MOST_RUNS = 1500
_BAND = "allowed for "
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
    limits, bands = _allowed(plan, allowed, series)
    scale = largest_by_unit(series)
    series = [replace(item, values=settled(item.values, scale[item.unit])) for item in series]
    lanes, series = _switched(plan, series)
    balances = [_with_price(panel, given) for panel in balance_panels(plan)]
    groups = _grouped(series, limits, bands)
    if not balances:  # then the price goes with the first power
        first = next((k for k, panel in enumerate(groups) if _is_like(panel.unit, "kW")), None)
        if first is not None:
            groups[first] = _with_price(groups[first], given)
    groups += _given_panels(given)
    groups.sort(key=lambda panel: panel.unit in ("", "1"))
    named = [panel for panel in groups if panel.unit not in ("", "1")]
    panels: list[Panel | Lanes] = [*named, *lanes, *groups[len(named) :]]
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
    for item in series:
        ends = int(np.sum(np.diff(item.values > 0.5))) + 2
        if item.source in binary and item.axis.kind != "label" and ends <= 2 * _MOST_BARS:
            groups.setdefault((item.axis.name, item.axis.places.size), []).append(item)
    lanes = []
    for members in groups.values():
        for first in range(0, len(members), _MOST_LANES):
            part = members[first : first + _MOST_LANES]
            switches = {item.label: item.values for item in part}
            lanes.append(switch_lanes("On and off", part[0].axis, switches))
    drawn = {id(item) for members in groups.values() for item in members}
    return lanes, [item for item in series if id(item) not in drawn]


def _with_price(panel: Panel, given: Sequence[Series]) -> Panel:
    """Put the first price of the same periods into the strip below a panel."""
    for item in given:
        same = np.array_equal(item.axis.places, panel.axis.places)
        if same and _is_price(item.unit) and not item.instants:
            over = replace(curve(item), side="strip")
            return replace(panel, curves=(*panel.curves, over), strip_unit=item.unit)
    return panel


def _grouped(
    series: Sequence[Series], limits: dict[str, list[Curve]], bands: dict[str, Band]
) -> list[Panel]:
    """Put the series of one component and unit together, at most six to a panel."""
    groups: dict[tuple[str, str, str], list[Series]] = {}
    for item in series:
        groups.setdefault((item.owner, item.unit, item.axis.kind), []).append(item)
    panels = []
    for (owner, unit, _), members in groups.items():
        for first in range(0, len(members), STYLES):
            part = members[first : first + STYLES]
            curves = [curve(item) for item in part]
            curves += _fitting([c for item in part for c in limits.get(item.label, [])], curves)
            title = owner or ", ".join(dict.fromkeys(item.source for item in part))
            areas = _joined([bands[item.label] for item in part if item.label in bands])
            panels.append(Panel(title, unit, part[0].axis, tuple(curves), tuple(areas)))
    return panels


def _joined(bands: Sequence[Band]) -> list[Band]:
    """Return bands, those that are the same for several series once."""
    kept: list[Band] = []
    for band in bands:
        twin = next((k for k in kept if _alike((k.low, k.high), (band.low, band.high))), None)
        if twin is None:
            kept.append(band)
        else:
            label = f"{twin.label}, {band.label.removeprefix(_BAND)}"
            kept[kept.index(twin)] = replace(twin, label=label)
    return kept


def _alike(one: Sequence[Floats], other: Sequence[Floats]) -> bool:
    return all(np.array_equal(a, b, equal_nan=True) for a, b in zip(one, other, strict=True))


def _reach(curves: Sequence[Curve], share: float) -> tuple[float, float]:
    """Return how far from the curves a limit may lie to be drawn with them."""
    joined = np.concatenate([np.zeros(0), *(c.values[np.isfinite(c.values)] for c in curves)])
    low, high = (float(joined.min()), float(joined.max())) if joined.size else (0.0, 0.0)
    reach = share * max(high - low, 0.1 * abs(high))
    return low - reach, high + reach


def _given_panels(given: Sequence[Series]) -> list[Panel]:
    """Return panels of the given data that change, by unit, prices first."""
    telling = [item for item in given if np.nanmax(item.values) > np.nanmin(item.values)]
    ordered = sorted(telling, key=lambda item: not _is_price(item.unit))
    groups: dict[tuple[str, str], list[Series]] = {}
    for item in ordered:
        groups.setdefault((item.unit, item.axis.kind), []).append(item)
    panels = []
    for (unit, _), members in groups.items():
        for first in range(0, len(members), STYLES):
            part = members[first : first + STYLES]
            names = ", ".join(dict.fromkeys(item.source for item in part))
            title = f"Given: {names}"
            panels.append(Panel(title, unit, part[0].axis, tuple(curve(item) for item in part)))
    return panels


def _is_price(unit: str) -> bool:
    _, slash, below = unit.partition("/")
    return bool(slash) and below.endswith(_MONEY_PER_ENERGY)


def curve(item: Series) -> Curve:
    """Return a series as a curve: a line through instants, steps over periods."""
    if item.instants:
        return Curve(item.label, item.axis.places, item.values, "line")
    return Curve(item.label, item.axis.edges, item.values, "step")


def _allowed(
    plan: Plan, limits: Sequence[Limit], series: Sequence[Series]
) -> tuple[dict[str, list[Curve]], dict[str, Band]]:
    """Return the limits of every series by its label, those of temperatures as bands."""
    curves: dict[str, list[Curve]] = {}
    sides: dict[str, dict[str, Series]] = {}
    for side, item in _limit_series(plan, limits, series):
        sides.setdefault(item.label, {})[side] = item
    bands = {}
    for label, found in sides.items():
        if len(found) == 2 and _is_like(found["upper"].unit, "K"):
            bands[label] = _band(f"{_BAND}{label}", found["lower"], found["upper"])
            continue
        for side, item in found.items():
            shown = _limit_curve(item, f"{side} limit of {label}")
            curves.setdefault(label, []).append(shown)
    return curves, bands


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


def _limit_series(
    plan: Plan, limits: Sequence[Limit], series: Sequence[Series]
) -> Iterator[tuple[str, Series]]:
    """Yield the limits of the solution's variables, taken apart as these are."""
    axes = {item.source: item for item in series}
    for limit in limits:
        like = axes.get(limit.variable)
        if like is None or plan.solution is None or limit.variable not in plan.solution:
            continue
        array = plan.solution.variables[limit.variable]
        if array.shape != limit.values.shape:
            continue
        label = str(array.attrs.get("quantity") or limit.variable)
        values = np.where(np.isfinite(limit.values), limit.values, np.nan)
        if limit.side == "lower" and not _is_like(like.unit, "K"):
            values[values == 0.0] = np.nan  # that nothing falls below zero needs no line
        found, _ = split(limit.variable, label, like.unit, solution_dimensions(plan, array), values)
        for item in found:
            yield limit.side, item


def _is_like(unit: str, other: str) -> bool:
    try:
        return parse_unit(unit).dimension == parse_unit(other).dimension
    except UnitError:
        return False


def _limit_curve(item: Series, name: str) -> Curve:
    """Return a limit as a curve: over periods as steps, at instants only where it holds."""
    if not item.instants:
        return Curve(name, item.axis.edges, item.values, "step", "limit")
    places, values = item.axis.places, item.values
    starts = np.flatnonzero(np.append(True, np.diff(values) != 0.0))
    ends = np.append(starts[1:], values.size) - 1
    held = np.isfinite(values[starts])
    starts, ends = starts[held], ends[held]
    if starts.size > _MOST_RUNS:
        return Curve(name, places, values, "line", "limit")
    # A limit of a single instant gets a little width, to be seen at all.
    width = np.where(starts == ends, 0.2 * float(np.median(np.diff(places))), 0.0)
    corners = np.stack([places[starts] - width, places[ends] + width, places[ends] + width], 1)
    heights = np.stack([values[starts], values[ends], np.full(starts.size, np.nan)], 1)
    inside = np.clip(corners.reshape(-1), places[0], places[-1])
    return Curve(name, inside, heights.reshape(-1), "line", "limit")


def _fitting(limits: Sequence[Curve], curves: Sequence[Curve]) -> list[Curve]:
    """Leave out limits so far away that they would flatten the curves, and repeated ones."""
    low, high = _reach(curves, 1.5)
    kept: list[Curve] = []
    for given in limits:
        near = (given.values >= low) & (given.values <= high)
        if not near.any():
            continue
        limit = replace(given, values=np.where(near, given.values, np.nan))
        side = limit.label.partition(" of ")[0]
        twins = (k for k in kept if k.label.startswith(side) and _alike([k.values], [limit.values]))
        twin = next(twins, None)
        if twin is not None:
            label = f"{twin.label}, {limit.label.partition(' of ')[2]}"
            kept[kept.index(twin)] = replace(twin, label=label)
        else:
            kept.append(limit)
    return kept
