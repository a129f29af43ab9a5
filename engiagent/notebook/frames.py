"""Plans as tables of pandas."""

from typing import TYPE_CHECKING, Any

import numpy as np

from engiagent.report.charts import numerals
from engiagent.report.charts.series import Plan, Series, solution_series

if TYPE_CHECKING:
    import pandas as pd


def frame(plan: Plan, *, units: bool = True) -> "pd.DataFrame":
    """Return the series of a plan along its axis as columns; empty without a series.

    Series along another axis than most have no place beside them and are left out.
    """
    import pandas as pd

    series, _ = solution_series(plan)
    groups: dict[tuple[str, str | None], list[Series]] = {}
    for item in series:
        groups.setdefault((item.axis.kind, item.axis.zone), []).append(item)
    if not groups:
        return pd.DataFrame()
    members = max(groups.values(), key=len)
    places = np.unique(np.concatenate([item.axis.places for item in members]))
    columns: dict[str, Any] = {}
    for item in members:
        values = np.full(places.size, np.nan)
        values[np.searchsorted(places, item.axis.places)] = item.values
        columns[_name(item, columns, units=units)] = values
    return pd.DataFrame(columns, index=_index(members, places))


def _name(item: Series, taken: dict[str, Any], *, units: bool) -> str:
    unit = numerals.unit(item.unit)
    name = f"{item.label} [{unit}]" if units and unit else item.label
    return name if name not in taken else f"{item.source}: {name}"


def _index(members: list[Series], places: np.typing.NDArray[np.float64]) -> "pd.Index[Any]":
    """Return the rows' index: moments in their zone, times of day, or numbers."""
    import pandas as pd

    axis = members[0].axis
    if axis.kind == "time":
        moments = pd.DatetimeIndex(places.astype("datetime64[s]"), name="time")
        if axis.zone is None:
            return moments
        return moments.tz_localize("UTC").tz_convert(axis.zone).rename("time")
    if axis.kind == "clock":
        labels: dict[float, str] = {}
        for item in members:
            labels.update(zip(item.axis.places.tolist(), item.axis.labels, strict=True))
        return pd.Index([labels[place] for place in places.tolist()], name="time of day")
    return pd.Index(places, name=axis.name)
