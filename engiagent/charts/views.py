"""What a plan shows as panels: series by component and unit with limits, then the data."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from engiagent.charts.limits import Limit, find_limits
from engiagent.charts.palette import STYLES
from engiagent.charts.panels import Curve, Panel
from engiagent.charts.plan import Plan
from engiagent.charts.series import (
    Series,
    given_series,
    solution_dimensions,
    solution_series,
    split,
)

_MOST_RUNS = 1500
_MONEY_PER_ENERGY = ("Wh", "J", "BTU", "therm")


def plan_panels(plan: Plan) -> tuple[Panel, ...]:
    """Return the panels of a plan, empty without a solution; what is on or off comes last."""
    series, scalars = solution_series(plan)
    if not series and not scalars:
        return ()
    limits = _limit_curves(plan, find_limits(plan), series)
    panels = [*_grouped(series, limits), *_given_panels(given_series(plan))]
    return tuple(sorted(panels, key=lambda panel: panel.unit in ("", "1")))


def _grouped(series: Sequence[Series], limits: dict[str, list[Curve]]) -> list[Panel]:
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
            panels.append(Panel(title, unit, part[0].axis, tuple(curves)))
    return panels


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


def _limit_curves(
    plan: Plan, limits: Sequence[Limit], series: Sequence[Series]
) -> dict[str, list[Curve]]:
    """Return the limits of every series, by its label."""
    axes = {item.source: item for item in series}
    result: dict[str, list[Curve]] = {}
    for limit in limits:
        like = axes.get(limit.variable)
        if like is None or plan.solution is None or limit.variable not in plan.solution:
            continue
        array = plan.solution[limit.variable]
        if array.shape != limit.values.shape:
            continue
        label = str(array.attrs.get("quantity") or limit.variable)
        values = np.where(np.isfinite(limit.values), limit.values, np.nan)
        if limit.side == "lower":
            values[values == 0.0] = np.nan  # that nothing falls below zero needs no line
        found, _ = split(limit.variable, label, like.unit, solution_dimensions(plan, array), values)
        for item in found:
            word = "most" if limit.side == "upper" else "least"
            shown = _limit_curve(item, f"{word} allowed for {item.label}")
            result.setdefault(item.label, []).append(shown)
    return result


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
    joined = np.concatenate([np.zeros(0), *(c.values[np.isfinite(c.values)] for c in curves)])
    low, high = (float(joined.min()), float(joined.max())) if joined.size else (0.0, 0.0)
    reach = 1.5 * max(high - low, 0.1 * abs(high))
    kept: list[Curve] = []
    for given in limits:
        near = (given.values >= low - reach) & (given.values <= high + reach)
        if not near.any():
            continue
        limit = replace(given, values=np.where(near, given.values, np.nan))
        twin = next((k for k in kept if _same(k, limit)), None)
        if twin is not None:
            label = f"{twin.label}, {limit.label.rpartition(' ')[2]}"
            kept[kept.index(twin)] = replace(twin, label=label)
        else:
            kept.append(limit)
    return kept


def _same(a: Curve, b: Curve) -> bool:
    same_side = a.label.partition(" ")[0] == b.label.partition(" ")[0]
    return same_side and np.array_equal(a.values, b.values, equal_nan=True)
