"""The page of a closed loop: key figures, relaxed steps, charts, and every step as a table."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Final

import numpy as np

from engiagent.control import ClosedLoop
from engiagent.control.assessment import broken_limits, prediction_errors
from engiagent.report import charts, words
from engiagent.report.charts.series import set_dimension
from engiagent.report.keyfigures import figure_name, key_facts
from engiagent.report.sections import (
    Cell,
    DataTable,
    Fact,
    Section,
    csv_text,
    data_uri,
    drawn,
    page_of_tables,
    table_with_csv,
)
from engiagent.run.keyfigures import Figure

MOST_PANELS = 24
MOST_ROWS = 200
NONE: Final[Mapping[str, tuple[Figure, ...]]] = {}


def page(loop: ClosedLoop, name: str, rivals: Mapping[str, tuple[Figure, ...]] = NONE) -> str:
    """Return the page of a loop of ``name``, with the figures of other controllers by name."""
    found, cost = loop.figures, loop.figures.cost
    if cost is not None and cost.value is not None:
        found = replace(found, cost=replace(cost, value=float(f"{cost.value:.6g}")))
    figures, _ = key_facts(found)
    panels = charts.plan_panels(loop.schedule)[:MOST_PANELS]
    differing = [*forecast_panels(loop)][:MOST_PANELS]
    shown = [drawn(f"chart-{k}", k, p) for k, p in enumerate([*panels, *differing], start=1)]
    sections = [Section("What was applied and measured", charts=tuple(shown[: len(panels)]))]
    if differing:
        sections.append(Section("Forecast and reality", charts=tuple(shown[len(panels) :])))
    if loop.plant is not None or rivals:
        sections.insert(0, Section("Controllers of this plant", tables=(_compared(loop, rivals),)))
    if loop.runner.plant is not None:
        text = _broken(loop)
        sections.append(Section("Prediction and plant", text, (_prediction(loop),)))
    if loop.relaxed:
        text = "Where no plan keeps all limits from the measured state, they are relaxed the least."
        sections.insert(0, Section("Relaxed steps", text, (_relaxed(loop),), kind="cards"))
    sections.append(
        Section("All steps", tables=(_steps(loop),), kind="values cards", is_folded=True)
    )
    return page_of_tables(
        name,
        "engiagent control",
        sections,
        lead=lead(loop),
        numbers=[*figures, *_times(loop)],
        notes=[*([f"It ended early: {loop.stopped}"] if loop.stopped else []), *loop.notes],
    )


def lead(loop: ClosedLoop) -> str:
    """Return in a sentence what the loop did."""
    horizon, count = loop.runner.horizon, len(loop.controls)
    ahead = f"{horizon.size} periods of {horizon.hours:g} h ahead"
    kept = count - len(loop.relaxed)
    first = f"{count} steps, each planned {ahead}; {kept} of them keep all limits"
    kinds = [
        f"{n} {name}" for name, n in loop.outcomes.items() if name not in ("optimal", "feasible")
    ]
    return f"{first}, {', '.join(kinds)}." if kinds else f"{first}."


def forecast_panels(loop: ClosedLoop) -> Iterator[charts.Panel]:
    """Yield charts of forecast and reality, where these differ."""
    runner = loop.runner
    over = set_dimension(loop.schedule.elaboration.index_set(runner.horizon.periods)).axis
    count = len(loop.controls) * runner.applied
    for name, series in runner.forecasts.items():
        ahead, came = series.values, loop.log[name].values.reshape(-1)
        start = loop.controls[0].step * runner.applied
        foreseen = ahead[start : start + count] if ahead.ndim == 1 else came
        if len(foreseen) == len(came) == over.places.size and not np.array_equal(foreseen, came):
            curves = [
                charts.Curve(label, over.edges, values, "step")
                for label, values in (("forecast", foreseen), ("as it came", came))
            ]
            yield charts.Panel(
                words.spoken(name), runner.parametric.unit(name), over, tuple(curves)
            )


def _times(loop: ClosedLoop) -> Iterator[Fact]:
    yield Fact("Time of a step", words.quantity(float(np.median(loop.seconds)), "s", 3), "median")
    yield Fact("Slowest step", words.quantity(float(loop.seconds.max()), "s", 3))
    if loop.relaxed:
        yield Fact("Relaxed steps", f"{len(loop.relaxed)} of {len(loop.controls)}", tone="bad")


def _compared(loop: ClosedLoop, rivals: Mapping[str, tuple[Figure, ...]]) -> DataTable:
    judged = (loop.assessment, *rivals.values())
    columns = [{(f.name, f.component or f.bus): f for f in found} for found in judged]
    first = {key: figure for column in reversed(columns) for key, figure in column.items()}
    rows = [
        (
            Cell(figure_name(figure.name), note=figure.component or figure.bus or ""),
            *(
                Cell(words.quantity(c[key].value, figure.unit, 5) if key in c else "–")
                for c in columns
            ),
        )
        for key, figure in first.items()
    ]
    head = ("Key figure", "This plan", *rivals)
    return table_with_csv("Key figures, from what the plant showed", head, rows, "compared.csv")


def _prediction(loop: ClosedLoop) -> DataTable:
    rows = [
        (
            Cell(f"{error.state} [{error.unit}]"),
            *(Cell(words.number(value), is_number=True) for value in (error.mean, error.worst)),
            Cell(error.at.replace("T", " ")),
        )
        for error in prediction_errors(loop)
    ]
    head = ("state", "mean", "worst", "in the step that begins")
    return table_with_csv("How far off a prediction is a step later", head, rows, "prediction.csv")


def _broken(loop: ClosedLoop) -> str:
    parts = [
        f"{b.limit} {b.times} times, by {words.quantity(b.worst, b.unit, 3)} at {b.place} at worst"
        for b in broken_limits(loop)
    ]
    return f"The plant broke what its plan kept: {'; '.join(parts)}." if parts else ""


def _relaxed(loop: ClosedLoop) -> DataTable:
    first = loop.controls[0].step
    rows = (
        (loop.times[c.step - first], c.outcome, loop.relaxed_limits(c) or "none", loop.reason(c))
        for c in loop.relaxed[:MOST_ROWS]
    )
    cells = ((Cell(time.replace("T", " ")), *map(Cell, rest)) for time, *rest in rows)
    head = ("time", "outcome", "limits of the plan that are relaxed", "reason")
    return DataTable("Steps that do not keep all limits", head, tuple(cells))


def _steps(loop: ClosedLoop) -> DataTable:
    rows = loop.rows()
    cells = tuple(tuple(map(_cell, row.values())) for row in rows[:MOST_ROWS])
    return DataTable("Every step", tuple(rows[0]), cells, data_uri(steps_csv(loop)), "steps.csv")


def steps_csv(loop: ClosedLoop) -> str:
    """Return every step as CSV."""
    rows = loop.rows()
    text, _ = csv_text(tuple(rows[0]), (tuple(map(str, row.values())) for row in rows))
    return text


def _cell(value: object) -> Cell:
    if isinstance(value, float):
        return Cell(words.number(value), is_number=True)
    return Cell(str(value))
