"""The voltage along a feeder: the lowest and the highest of the horizon at every bus.

Where a schedule holds squares of voltages, as branch-flow models do, their roots are drawn.
"""

import re
from collections.abc import Iterator, Sequence

import numpy as np

from engiagent.report.charts.panels import Curve, Panel
from engiagent.report.charts.series import Plan, element_labels, is_like, solution_dimensions
from engiagent.report.charts.timeline import Axis, Floats
from engiagent.run.limits import Limit
from engiagent.solvers.solution import stored_arrays

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
