"""Plans as tables of pandas."""

from typing import TYPE_CHECKING, Any

from engiagent.report.charts import numerals
from engiagent.report.charts.series import Plan, Series, aligned, over_one_axis, solution_series
from engiagent.report.charts.timeline import Axis, Floats

if TYPE_CHECKING:
    import pandas as pd


def frame(plan: Plan, *, units: bool = True) -> "pd.DataFrame":
    """Return the series of a plan along its axis as columns; empty without a series.

    Series along another axis than most have no place beside them and are left out.
    """
    import pandas as pd

    groups = over_one_axis(solution_series(plan)[0])
    if not groups:
        return pd.DataFrame()
    members = max(groups, key=len)
    places, labels, values = aligned(members)
    columns: dict[str, Any] = {}
    for item, column in zip(members, values, strict=True):
        columns[_name(item, columns, units=units)] = column
    return pd.DataFrame(columns, index=_index(members[0].axis, places, labels))


def _name(item: Series, taken: dict[str, Any], *, units: bool) -> str:
    unit = numerals.unit(item.unit)
    name = f"{item.label} [{unit}]" if units and unit else item.label
    return name if name not in taken else f"{item.source}: {name}"


def _index(axis: Axis, places: Floats, labels: list[str]) -> "pd.Index[Any]":
    """Return the rows' index: moments in their zone, times of day, or numbers."""
    import pandas as pd

    if axis.kind == "time":
        moments = pd.DatetimeIndex(places.astype("datetime64[s]"), name="time")
        if axis.zone is None:
            return moments
        return moments.tz_localize("UTC").tz_convert(axis.zone).rename("time")
    if axis.kind == "clock":
        return pd.Index(labels, name="time of day")
    return pd.Index(places, name=axis.name)
