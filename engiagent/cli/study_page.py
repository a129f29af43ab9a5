"""The page of a study: charts, then the table, in one HTML file that asks nobody for anything."""

import math
from collections.abc import Sequence
from importlib.resources import files
from typing import Any

from markupsafe import Markup, escape

from engiagent.charts import Bar, Plot, Tornado, Trace, draw
from engiagent.charts import style as chart_style
from engiagent.charts.markup import printable
from engiagent.report import words
from engiagent.studies.outcome import Outcome

TITLES = {"sweep": "Sweep", "pareto": "Pareto front", "sensitivity": "Sensitivity"}
POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"


def page(outcome: Outcome, name: str) -> str:
    """Return the page of a study of ``name``."""
    title = f"{TITLES[outcome.kind]}: {name}"
    drawn = {"sweep": _sweep, "pareto": _pareto, "sensitivity": _sensitivity}[outcome.kind](outcome)
    style = files("engiagent.report").joinpath("templates", "report.css").read_text("utf-8")
    style += chart_style()
    figures = Markup("").join(
        Markup(
            '<figure><figcaption>{}</figcaption><div class="scroll" role="region" tabindex="0" '
            'aria-label="{}"><div class="chart">{}</div></div></figure>'
        ).format(caption, caption, svg)
        for caption, svg in drawn
    )
    notes = Markup("").join(Markup("<li>{}</li>").format(note) for note in outcome.notes)
    text = Markup(
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta http-equiv="Content-Security-Policy" content="{policy}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<title>{title}</title><style>{style}</style></head><body><div class="page"><header>'
        '<p class="kicker">engiagent study</p><h1>{title}</h1></header><main>{figures}'
        '<ul class="plain">{notes}</ul>{table}</main></div></body></html>\n'
    ).format(
        policy=POLICY,
        title=title,
        style=Markup(style),
        figures=figures,
        notes=notes,
        table=_table(outcome.table()),
    )
    return printable(str(text))


def _table(rows: Sequence[dict[str, Any]]) -> Markup:
    names = list(dict.fromkeys(name for row in rows for name in row))
    head = Markup("").join(Markup('<th scope="col">{}</th>').format(name) for name in names)
    body = Markup("").join(
        Markup("<tr>{}</tr>").format(Markup("").join(_cell(row.get(name)) for name in names))
        for row in rows
    )
    return Markup(
        '<h2>All points</h2><div class="scroll" role="region" tabindex="0" aria-label="All points">'
        '<table class="values"><thead><tr>{}</tr></thead><tbody>{}</tbody></table></div>'
    ).format(head, body)


def _cell(value: Any) -> Markup:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return Markup('<td class="number">{}</td>').format(words.number(float(value), 8))
    return Markup("<td>{}</td>").format("" if value is None else escape(value))


def _goal(outcome: Outcome) -> str:
    unit = words.unit(outcome.unit)
    return f"{outcome.program.objective_name} [{unit}]" if unit else outcome.program.objective_name


def _sweep(outcome: Outcome) -> list[tuple[str, Markup]]:
    """Draw the objective and each number asked for over every parameter that was varied."""
    done = [row for row in outcome.rows if _is_number(row.get("objective"))]
    shown: dict[str, list[float]] = {_goal(outcome): [row["objective"] for row in done]}
    for label in dict.fromkeys(label for row in done for label in row.get("values") or {}):
        unit = next(row["units"][label] for row in done if label in row["values"])
        shown[f"{label} [{unit}]"] = [row["values"].get(label, math.nan) for row in done]
    names = list(outcome.rows[0]["at"]) if outcome.rows else []
    is_grid = outcome.asked["request"]["design"] == "grid"
    figures: list[tuple[str, Markup]] = []
    for axis in names:
        for title, values in shown.items():
            traces = _traces(axis, names, done, values) if is_grid else _cloud(axis, done, values)
            chart = Plot(f"{title} over {axis}", axis, title, tuple(traces))
            figures.append((chart.title, draw(chart, f"c{len(figures)}")))
    return figures


def _traces(
    axis: str, names: list[str], done: list[dict[str, Any]], values: list[float]
) -> list[Trace]:
    """Return a line for each combination of the other parameters."""
    groups: dict[str, list[tuple[float, float]]] = {}
    for row, value in zip(done, values, strict=True):
        others = ", ".join(f"{n} = {row['at'][n]:g}" for n in names if n != axis)
        if math.isfinite(value):
            groups.setdefault(others or "all", []).append((row["at"][axis], value))
    return [Trace(label, tuple(sorted(points))) for label, points in groups.items()]


def _cloud(axis: str, done: list[dict[str, Any]], values: list[float]) -> list[Trace]:
    pairs = [(row["at"][axis], v) for row, v in zip(done, values, strict=True) if math.isfinite(v)]
    return [Trace("samples", tuple(pairs), joined=False)]


def _pareto(outcome: Outcome) -> list[tuple[str, Markup]]:
    """Draw each pair of goals."""
    rows = [row for row in outcome.rows if row.get("goals") and row.get("efficient")]
    if not rows:
        return []
    names = list(rows[0]["goals"])
    heads = {name: f"{name} [{rows[0]['goal_units'][name]}]" for name in names}
    figures: list[tuple[str, Markup]] = []
    for k, first in enumerate(names):
        for second in names[k + 1 :]:
            points = tuple(sorted((row["goals"][second], row["goals"][first]) for row in rows))
            joined = len(names) == 2 and not outcome.program.is_mip
            title = f"{heads[first]} against {heads[second]}"
            front = (Trace("front", points, joined),)
            chart = Plot(title, heads[second], heads[first], front)
            figures.append((title, draw(chart, f"c{len(figures)}")))
    return figures


def _sensitivity(outcome: Outcome) -> list[tuple[str, Markup]]:
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
    bars = [Bar(name, ends[name].get("low"), ends[name].get("high")) for name in order]
    title = f"{_goal(outcome)} when one factor changes"
    return [(title, draw(Tornado(title, outcome.unit, base, tuple(bars)), "tornado"))]


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and math.isfinite(value)
