"""Runs side by side on one page: what came of each, what differs, and their series in one chart."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, Final

from engiagent.report import words
from engiagent.report.charts import Panel
from engiagent.report.charts.views import curve
from engiagent.report.keyfigures import figure_name
from engiagent.report.sections import Chart, Section, drawn, page_of_tables
from engiagent.report.sides import Difference, Quantity, SideBySide, side_by_side
from engiagent.report.tables import Cell, DataTable, table_with_csv
from engiagent.run.scenarios import RECOVERY, Change, Flexibility

MOST_CHARTS: Final = 16
MOST_ROWS: Final = 200
GIVEN: Final = ("asked", "parameter")
_NAMED: Final = 3
_UNITS: Final = {"kwh": "kWh", "kw": "kW", "percent": "%"}


def compare(
    folders: Sequence[Path | str], windows: Sequence[str] = (), recovery_hours: float = RECOVERY
) -> str:
    """Return the page that puts two to six runs side by side as HTML; see :func:`side_by_side`."""
    found = side_by_side(folders, windows, recovery_hours)
    differing = [item for item in found.quantities if item.differs]
    figures, apart = _charts(found, differing)
    kinds = {kind: [d for d in found.differences if d.kind == kind] for kind in (*GIVEN, "value")}
    changed = [*kinds["parameter"], *kinds["asked"]]
    models = [item for item in found.differences if item.kind not in kinds]
    sections = [
        *_section(found, "What changed", changed),
        Section("What came of each", tables=(_outcomes(found),), kind="cards"),
        *_figures(found),
        *_flexibility(found),
    ]
    if figures:
        text = f"{apart} more that differ are in the table only." if apart else ""
        sections.append(Section("Side by side", text, charts=figures))
    if found.quantities:
        text = "" if differing else "All series are the same."
        sections.append(Section("Series", text, (_series(found),), kind="values cards"))
    sections += _section(found, "Values of the plans", kinds["value"])
    sections += _section(found, "The models", models)
    return page_of_tables(
        f"{len(found.names)} runs compared",
        "engiagent comparison",
        sections,
        lead=_lead(changed, models)
        if found.differences or differing
        else "The runs do not differ.",
    )


def _figures(found: SideBySide) -> Iterator[Section]:
    """Yield the section of the key figures that differ."""
    rows = [
        (Cell(figure_name(c.name), note=c.component or c.bus or ""), *map(_changed, *_columns(c)))
        for c in found.scenarios.changes
        if c.differs
    ]
    if rows:
        table = table_with_csv("Key figures", ("Figure", *found.names), rows, "figures.csv")
        yield Section("Key figures", tables=(table,), kind="values cards")


def _columns(change: Change) -> tuple[Sequence[Any], ...]:
    units = [change.unit] * len(change.values)
    return change.values, change.differences, change.percent, units


def _changed(value: float | None, apart: float | None, share: float | None, unit: str) -> Cell:
    text = "–" if value is None else words.quantity(value, unit, 5)
    note = "" if not apart else f"{apart:+.4g}" + ("" if share is None else f", {share:+.1f} %")
    return Cell(text, note=note, is_number=True)


def _flexibility(found: SideBySide) -> Iterator[Section]:
    """Yield the section of what is shed and shifted out of windows."""
    items = found.scenarios.flexibility
    if not items:
        return
    columns = [flexibility_figures(item) for item in items]
    rows = [
        (Cell(title), *(Cell(c.get(title, "–"), is_number=True) for c in columns))
        for title in dict.fromkeys(title for column in columns for title in column)
    ]
    several = len(found.scenarios.windows) > 1
    heads = (f"{i.scenario}, bus {i.bus}" if several else i.scenario for i in items)
    spans = found.scenarios.windows[items[0].bus]
    more = f", and {len(spans) - _NAMED} more" if len(spans) > _NAMED else ""
    shown = "; ".join(f"{first} to {last}" for first, last in spans[:_NAMED]).replace("T", " ")
    text = f"Against {found.names[0]}, in the periods {shown}{more}."
    table = table_with_csv("Flexibility", ("Figure", *heads), rows, "flexibility.csv")
    yield Section("Flexibility", text, (table,), kind="values cards")


def flexibility_figures(item: Flexibility) -> dict[str, str]:
    """Return what is said of flexibility: figures with their units, by name."""
    found: dict[str, str] = {}
    for name, value in asdict(item).items():
        stem, _, unit = name.rpartition("_")
        if unit in _UNITS and value is not None:
            title = words.spoken(stem).capitalize()
            title = f"{title}, relative" if unit == "percent" else title
            found[title] = words.quantity(value, _UNITS[unit], 5)
    return found


def _section(found: SideBySide, title: str, items: Sequence[Difference]) -> list[Section]:
    """Return the section of some differences; none without any."""
    if not items:
        return []
    rows = [
        (Cell(item.name, note=item.kind), *(Cell(value) for value in item.values))
        for item in items[:MOST_ROWS]
    ]
    file = f"{title.lower().replace(' ', '-')}.csv"
    tables = (table_with_csv(f"{title}: names and values", ("Name", *found.names), rows, file),)
    return [Section(title, tables=tables, kind="compared cards")]


def _lead(changed: Sequence[Difference], models: Sequence[Difference]) -> str:
    """Say in a sentence what changed from run to run; nothing where only plans differ."""
    given = [item for item in changed if item.kind == "parameter"]
    parts = [f"{words.spoken(item.name)} {' → '.join(item.values)}" for item in given[:_NAMED]]
    parts += [f"{len(given) - _NAMED} more parameters"] if len(given) > _NAMED else []
    parts += [f"{len(models)} parts of the model"] if models else []
    return f"Changed: {'; '.join(parts)}." if parts else ""


def _outcomes(found: SideBySide) -> DataTable:
    rows = []
    first = found.summaries[0].objective
    for name, run in zip(found.names, found.summaries, strict=True):
        verdict = words.verdict(run.verdict, run.state)
        goal, value, apart = run.objective, "", ""
        if goal is not None:
            value = words.quantity(goal, run.unit, 9)
            if first is not None and run.unit == found.summaries[0].unit:
                apart = words.quantity(goal - first, run.unit, 4)
        rows.append(
            (
                Cell(name),
                Cell(verdict.word, tone=verdict.tone, symbol=verdict.symbol),
                Cell(value, is_number=True),
                Cell(apart, is_number=True),
                Cell(words.percent(run.gap), is_number=True),
                Cell(words.duration(run.seconds), is_number=True),
            )
        )
    head = ("Run", "Verdict", "Objective", "Above the first", "Gap", "Took")
    return table_with_csv("Outcomes", head, rows, "outcomes.csv")


def _series(found: SideBySide) -> DataTable:
    rows = []
    for item in found.quantities[:MOST_ROWS]:
        means = (Cell("–" if m is None else words.number(m, 6), is_number=True) for m in item.means)
        apart = "over other times" if item.largest is None else words.number(item.largest, 4)
        apart = apart if item.is_shared else "in one run only"
        rows.append(
            (
                Cell(words.spoken(item.label), note=words.unit(item.unit)),
                *means,
                Cell(apart, note=item.where, is_number=True),
            )
        )
    head = ("Mean of", *found.names, "Largest difference")
    return table_with_csv("Means and largest differences", head, rows, "series.csv")


def _charts(found: SideBySide, differing: Sequence[Quantity]) -> tuple[tuple[Chart, ...], int]:
    """Return a chart for each series that differs, over the axis of the first that has it."""
    shown = [item for item in differing if item.largest is not None and item.is_shared]
    figures = []
    for number, item in enumerate(shown[:MOST_CHARTS], start=1):
        pairs = [(n, s) for n, s in zip(found.names, item.series, strict=True) if s is not None]
        curves = tuple(replace(curve(series), label=name) for name, series in pairs)
        panel = Panel(words.spoken(item.label), item.unit, pairs[0][1].axis, curves)
        figures.append(drawn(f"chart-{number}", number, panel))
    return tuple(figures), len(differing) - len(figures)
