"""Data files of a problem as columns and times."""

import re
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from engiagent.agents.offline.grids import Column, Times, clean_unit

if TYPE_CHECKING:
    from engiagent.problems.problem import Problem


def file_columns(
    problem: "Problem", currency: str | None, without: frozenset[str] = frozenset()
) -> tuple[list[Column], list[Times]]:
    """Return the numeric columns of all files but some, and what their time stamps say."""
    columns, times = [], []
    for name, file in problem.data.items():
        if name in without:
            continue
        for column in file.series:
            if _is_counter(column):
                continue
            columns.append(
                Column(
                    column.header,
                    f"{column.name} {name}",
                    unit_of_column(column, currency),
                    {"kind": "file", "file": name, "column": column.header},
                    data=f"{name}#{column.header}",
                    count=file.rows,
                )
            )
        times.append(_times(name, file))
    return columns, times


def unit_of_column(column: object, currency: str | None) -> str:
    """Return a column's unit: as the loader found it, or what its name ends with."""
    unit = getattr(column, "unit", None)
    if unit is not None:
        return str(unit.text or "1")
    parts = re.sub(r"_?per_", "/", str(getattr(column, "header", ""))).split("_")
    for count in (2, 1):
        tail = "_".join(parts[-count:])
        if tail.lower() in _SUFFIXES:
            return _SUFFIXES[tail.lower()]
        money, _, energy = tail.partition("/")
        for name in (money.upper(), money.lower()):
            found = clean_unit(f"{name}/{_ENERGY.get(energy.lower(), energy)}", currency)
            if energy and found:
                return found
    return ""


_SUFFIXES: Final = {
    "c": "degC",
    "degc": "degC",
    "f": "degF",
    "kw": "kW",
    "mw": "MW",
    "w": "W",
    "kwh": "kWh",
    "tons": "TR",
    "tr": "TR",
}
_ENERGY: Final = {"kwh": "kWh", "mwh": "MWh"}
_COUNTERS: Final = (
    "hour", "h", "t", "period", "step", "interval", "index", "id", "no", "mtu", "slot", "time",
    "time_step", "timestep", "hour_of_day", "hour_ending", "hour_beginning",
)  # fmt: skip


def _is_counter(column: object) -> bool:
    """Whether a column only numbers the rows, as ``hour`` with 0, 1, 2 and so on."""
    header = str(getattr(column, "header", "")).lower()
    if header.strip() not in _COUNTERS:
        return False
    return {round(float(b - a), 9) for a, b in pairwise(getattr(column, "values", ()))} == {1.0}


def _times(name: str, file: object) -> Times:
    stamps = getattr(file, "times", None)
    rows = int(getattr(file, "rows", 0))
    if stamps is None or rows == 0:
        return Times(name, rows, None, None, "count")
    step = getattr(file, "step", None)
    minutes = step.total_seconds() / 60 if step is not None else None
    column = str(getattr(file, "time_column", "")).lower()
    first = stamps[0].strftime("%Y-%m-%dT%H:%M")
    label = "start"
    if "ending" in column or column.endswith("_end"):
        from datetime import timedelta

        first = (stamps[0] - timedelta(minutes=minutes or 0)).strftime("%Y-%m-%dT%H:%M")
        label = "ending"
    zone = getattr(file, "zone", None)
    return Times(name, rows, minutes, first, label, str(zone) if zone else None)
