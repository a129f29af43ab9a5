"""The page of a study: charts, then the table, in one HTML file that fetches nothing.

Charts are lines over what was varied, fronts between goals, or a tornado.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np

from engiagent.report import charts, words
from engiagent.report.charts.series import settled
from engiagent.report.sections import Cell, Section, drawn, page_of_tables, table_with_csv
from engiagent.study.outcome import Study

TITLES: Final = {
    "cases": "Cases",
    "sweep": "Sweep",
    "pareto": "Pareto front",
    "sensitivity": "Sensitivity",
}


def page(outcome: Study, name: str) -> str:
    """Return the page of a study of ``name``."""
    figures = tuple(
        replace(drawn(f"chart-{k}", k, chart), caption=chart.title)
        for k, chart in enumerate(study_charts(outcome), start=1)
    )
    rows = outcome.table()
    names = list(dict.fromkeys(name for row in rows for name in row))
    largest = {
        n: max((abs(row[n]) for row in rows if _is_number(row.get(n))), default=0.0) for n in names
    }
    cells = tuple(tuple(_cell(row.get(n), largest[n]) for n in names) for row in rows)
    plain = (["" if row.get(n) is None else str(row[n]) for n in names] for row in rows)
    table = table_with_csv("Every point of the study", names, cells, "points.csv", plain)
    sections = [
        Section("Charts", charts=figures),
        Section("All points", tables=(table,), kind="values cards"),
    ]
    return page_of_tables(
        f"{TITLES[outcome.kind]}: {name}",
        "engiagent study",
        sections[not figures :],
        notes=outcome.notes,
    )


def _cell(value: Any, largest: float) -> Cell:
    """Return a value as a cell; what is rounding beside the largest of its column is zero."""
    if isinstance(value, bool):
        return Cell("yes" if value else "no")
    if isinstance(value, int | float):
        shown = float(settled(np.array([float(value)]), largest)[0])
        return Cell(words.number(shown, 8), is_number=True)
    return Cell("" if value is None else str(value))


def study_charts(outcome: Study) -> Sequence[charts.Chart]:
    """Return the charts of a study; none where no point has a plan."""
    return _CHARTS[outcome.kind](outcome)


def _goal(outcome: Study) -> str:
    unit = words.unit(outcome.unit)
    return f"{outcome.program.objective_name} [{unit}]" if unit else outcome.program.objective_name


def _sweep(outcome: Study) -> list[charts.Panel]:
    """Draw the objective and each number asked for over every parameter that was varied."""
    done = [row for row in outcome.rows if _is_number(row.get("objective"))]
    shown: dict[str, list[float]] = {_goal(outcome): [row["objective"] for row in done]}
    for label in dict.fromkeys(label for row in done for label in row.get("values") or {}):
        unit = next(row["units"][label] for row in done if label in row["values"])
        shown[f"{label} [{unit}]"] = [row["values"].get(label, math.nan) for row in done]
    names = list(outcome.rows[0]["at"]) if outcome.rows else []
    found: list[charts.Panel] = []
    for axis in names:
        for title, values in shown.items():
            # a line for each combination of the other parameters
            lines: dict[str, list[tuple[float, float]]] = {}
            for row, value in zip(done, values, strict=True):
                label = ", ".join(f"{n} = {row['at'][n]:g}" for n in names if n != axis)
                if math.isfinite(value):
                    lines.setdefault(label or "all", []).append((row["at"][axis], value))
            traces = {label: sorted(points) for label, points in lines.items()}
            found.append(charts.plot(f"{title} over {axis}", axis, title, traces))
    return found


def _cases(outcome: Study) -> list[charts.Panel]:
    """Draw the objective over the values of each sweep of numbers."""
    lines: dict[tuple[str, str], list[tuple[float, float]]] = {}
    for row in outcome.rows:
        at, value = row["at"], row.get("objective")
        if _is_number(at.get("value")) and _is_number(value) and not at.get("front"):
            unit = "" if at["unit"] == "1" else f" [{at['unit']}]"
            lines.setdefault((f"{at['sweep']}{unit}", _goal(outcome)), []).append(
                (at["value"], row["objective"])
            )
    return [
        charts.plot(f"{goal} over {axis}", axis, goal, {"all": sorted(points)})
        for (axis, goal), points in lines.items()
    ]


def _pareto(outcome: Study) -> list[charts.Panel]:
    """Draw each pair of goals."""
    rows = [row for row in outcome.rows if row.get("goals") and row.get("efficient")]
    if not rows:
        return []
    names = list(rows[0]["goals"])
    heads = {name: f"{name} [{rows[0]['goal_units'][name]}]" for name in names}
    found: list[charts.Panel] = []
    for k, first in enumerate(names):
        for second in names[k + 1 :]:
            points = sorted((row["goals"][second], row["goals"][first]) for row in rows)
            joined = len(names) == 2 and not outcome.program.is_mip
            title = f"{heads[first]} against {heads[second]}"
            front = {"front": points}
            found.append(charts.plot(title, heads[second], heads[first], front, joined=joined))
    return found


def _sensitivity(outcome: Study) -> list[charts.Lanes]:
    """Draw the tornado, the widest bar on top."""
    if not outcome.rows or not _is_number(outcome.rows[0].get("objective")):
        return []
    base = float(outcome.rows[0]["objective"])
    ends: dict[str, dict[str, float]] = {}
    for row in outcome.rows[1:]:
        if _is_number(row.get("objective")):
            ends.setdefault(row["at"]["factor"], {})[row["at"]["end"]] = row["objective"]
    width = {name: max(abs(v - base) for v in found.values()) for name, found in ends.items()}
    order = sorted(ends, key=lambda name: (-width[name], name))
    bars = {name: (ends[name].get("low"), ends[name].get("high")) for name in order}
    title = f"{_goal(outcome)} when one factor changes"
    return [charts.tornado(title, outcome.unit, base, bars)]


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and math.isfinite(value)


_CHARTS: Final[Mapping[str, Callable[[Study], Sequence[charts.Chart]]]] = {
    "cases": _cases,
    "sweep": _sweep,
    "pareto": _pareto,
    "sensitivity": _sensitivity,
}
