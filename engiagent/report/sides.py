"""Runs side by side, as data and as a page: what came of each, and in what they differ.

The first run is what the others are compared with. Only what differs is listed; two numbers that
are the same to nine digits are the same.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Final

import numpy as np

from engiagent.errors import EngiagentError, InputError
from engiagent.report import model, words
from engiagent.report.artefacts import Run, load_run, mapping
from engiagent.report.charts import Panel
from engiagent.report.charts.palette import STYLES
from engiagent.report.charts.series import Plan, Series, settled, solution_series
from engiagent.report.charts.views import curve
from engiagent.report.keyfigures import figure_name
from engiagent.report.sections import (
    Cell,
    Chart,
    DataTable,
    Section,
    drawn,
    page_of_tables,
    table_with_csv,
)
from engiagent.run.listing import RunSummary, summarise
from engiagent.run.scenarios import (
    RECOVERY,
    Change,
    Flexibility,
    Scenario,
    ScenarioComparison,
    compare_scenarios,
)

SCHEMA: Final = "engiagent-comparison/2"
MOST: Final = STYLES
_SAME: Final = 1e-9
_ABSENT: Final = "–"
_SAYS_NOTHING: Final = ("source_reference", "description", "category")
_KINDS: Final = {
    "sets": ("set", "name"),
    "decision_variables": ("variable", "name"),
    "expressions": ("expression", "name"),
    "constraints": ("constraint", "constraint_id"),
}


@dataclass(frozen=True)
class Difference:
    """Something that is not the same in all runs: what each has, a dash where it has none.

    ``kind`` is ``asked``, ``parameter``, that of a part of the model, or ``value``.
    """

    kind: str
    name: str
    values: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Quantity:
    """A series of some of the runs, None for the others, with the means over its axis.

    ``largest`` is the largest difference from the first run that has it, None where their axes
    differ; ``at`` and ``where`` are position and label of its place, -1 where nothing differs.
    """

    label: str
    unit: str
    series: tuple[Series | None, ...]
    means: tuple[float | None, ...]
    largest: float | None
    at: int
    where: str

    @property
    def is_shared(self) -> bool:
        """Whether two runs or more have it."""
        return sum(item is not None for item in self.series) > 1

    @property
    def differs(self) -> bool:
        """Whether the runs do not all have the same."""
        return None in self.series or self.largest is None or self.largest > 0.0


@dataclass(frozen=True, eq=False)
class SideBySide:
    """Runs side by side."""

    names: tuple[str, ...]
    summaries: tuple[RunSummary, ...]
    differences: tuple[Difference, ...]
    quantities: tuple[Quantity, ...]
    scenarios: ScenarioComparison

    @property
    def improvement(self) -> float | None:
        """By how much the last is better than the first, None where that cannot be compared."""
        a, b = self.summaries[0], self.summaries[-1]
        if a.objective is None or b.objective is None or (a.unit, a.sense) != (b.unit, b.sense):
            return None
        return a.objective - b.objective if a.sense == "minimize" else b.objective - a.objective

    @property
    def same(self) -> bool:
        """Whether all have the same model and data, and came to the same plan and verdict."""
        results = {(run.verdict, run.objective, run.unit) for run in self.summaries}
        changed = any(item.kind != "asked" for item in self.differences)
        return len(results) == 1 and not changed and not any(q.differs for q in self.quantities)

    def to_json(self) -> dict[str, Any]:
        """Return the comparison as an object of the schema ``engiagent-comparison/2``."""
        return {
            "schema": SCHEMA,
            "same": self.same,
            "improvement": self.improvement,
            "runs": [
                {**summary.to_json(), "run": name}
                for name, summary in zip(self.names, self.summaries, strict=True)
            ],
            "differences": [asdict(item) for item in self.differences],
            "quantities": [
                {
                    "quantity": item.label,
                    "unit": item.unit,
                    "means": list(item.means),
                    "largest_difference": item.largest,
                    "where": item.where,
                }
                for item in self.quantities
            ],
            **self.scenarios.to_dict(),
        }


def side_by_side(
    folders: Sequence[Path | str], windows: Sequence[str] = (), recovery_hours: float = RECOVERY
) -> SideBySide:
    """Put the runs of some folders side by side.

    ``windows`` and ``recovery_hours`` are those of flexibility, as
    :func:`engiagent.run.scenarios.compare_scenarios` takes them. Raises InputError for fewer than
    two or more than six, for a folder that holds nothing of a run, and for windows that do not fit.
    """
    paths = [Path(folder) for folder in folders]
    if not 2 <= len(paths) <= MOST:
        raise InputError(
            "this many runs cannot be compared", found=str(len(paths)), expected=f"2 to {MOST}"
        )
    runs = [load_run(path) for path in paths]
    # the shortest ends of the paths by which the runs can be told apart
    whole = [path.resolve() for path in paths]
    ends = (["/".join(p.parts[-n:]) for p in whole] for n in range(1, 1 + len(whole[0].parts)))
    numbered = [f"{path.name} ({number})" for number, path in enumerate(whole, 1)]
    names = next((each for each in ends if len(set(each)) == len(each)), numbered)
    parts = list(map(_parts, runs))
    kinds = dict.fromkeys(kind for part in parts for kind in part)
    found = [d for kind in kinds for d in _differing(kind, [p.get(kind, {}) for p in parts])]
    values, quantities = plans_apart(runs)
    scenarios = [_scenario(name, run) for name, run in zip(names, runs, strict=True)]
    return SideBySide(
        names=tuple(names),
        summaries=tuple(summarise(path) for path in paths),
        differences=(*found, *values),
        quantities=tuple(quantities),
        scenarios=compare_scenarios(scenarios, windows, recovery_hours=recovery_hours),
    )


def _scenario(name: str, run: Run) -> Scenario:
    """Return a run as a scenario; without figures where it has no plan, or one of another model."""
    try:
        if run.elaboration is not None and run.solution is not None:
            return Scenario.of(name, run.elaboration, run.solution)
    except EngiagentError:
        pass
    return Scenario(name, (), None, {}, {})


Shown = tuple[str, str]
"""What a run has, as text, and what tells it from another where the text does not."""


def _differing(kind: str, each: Sequence[Mapping[str, Shown]]) -> list[Difference]:
    rows = []
    for name in dict.fromkeys(name for one in each for name in one):
        first, *others = values = [one.get(name, (_ABSENT, "")) for one in each]
        if any(value != first for value in others):
            alike = (value != first and value[0] == first[0] for value in values)
            texts = (f"{v[0]}, others" if a else v[0] for v, a in zip(values, alike, strict=True))
            rows.append(Difference(kind, name, tuple(texts)))
    return rows


def _parts(run: Run) -> dict[str, dict[str, Shown]]:
    """Return data, options and the parts of a model, each as text, by kind and name."""
    asked = mapping(run.record.get("asked")).items()
    found: dict[str, dict[str, Shown]] = {
        "parameter": {},
        "asked": {str(k): (_option(v), "") for k, v in asked if v not in (None, {}, [])},
    }
    if run.blueprint is None:
        return found
    for item in run.blueprint.core.parameters:
        about = mapping(item.source_reference)
        computed = about.get("kind") == "derived" and isinstance(item.value, str)
        if computed or item.name.endswith("__measured"):
            continue  # a component's own, from what differs already
        unit, value = words.unit(item.unit), model.shown_value(item, run.elaboration)
        text = f"{value}\u00a0{unit}" if unit else value
        found["parameter"][item.name] = text, _values(run, item.name)
    core = json.loads(run.blueprint.to_json())["core_model_elements"]
    for section, (kind, key) in _KINDS.items():
        items = core.get(section, ())
        found[kind] = {str(item.get(key)): (_text(item, key), "") for item in items}
    if goal := core.get("objective_function"):
        found["objective"] = {str(goal.get("name") or "objective"): (_text(goal, "name"), "")}
    return found


def _option(value: Any) -> str:
    """Return the value of an option as people write it, as ``battery.energy_capacity=30MWh``."""
    if isinstance(value, Mapping):
        return ", ".join(f"{name}={item}" for name, item in value.items())
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def _values(run: Run, name: str) -> str:
    """Return the values of a parameter to nine digits."""
    try:
        values = np.asarray(run.elaboration.table(name).values if run.elaboration else ())
    except EngiagentError:
        return ""
    plain = values.reshape(-1).tolist()
    return " ".join(f"{v:.9g}" if isinstance(v, float) else str(v) for v in plain)


def _text(item: Mapping[str, Any], key: str) -> str:
    """Return a part as one line: its expression, then whatever else shapes it."""
    rest = {k: v for k, v in item.items() if k not in (key, "name", *_SAYS_NOTHING)}
    if rest.get("hard") is True:
        del rest["hard"]
    head = str(rest.pop("expression", ""))
    tail = ", ".join(f"{k} {v if isinstance(v, str) else json.dumps(v)}" for k, v in rest.items())
    return f"{head} ({tail})" if head and tail else head or tail


def plans_apart(plans: Sequence[Plan]) -> tuple[list[Difference], list[Quantity]]:
    """Return what differs in the plans of a model: values without an axis, and all series."""
    pairs = [solution_series(plan) for plan in plans]
    values = _differing(
        "value",
        [{x.label: (words.quantity(x.value, x.unit, 9), "") for x in found} for _, found in pairs],
    )
    return values, _quantities([series for series, _ in pairs])


def _quantities(plans: Sequence[Sequence[Series]]) -> list[Quantity]:
    each = [{item.label: item for item in series} for series in plans]
    found = []
    for label in dict.fromkeys(label for one in each for label in one):
        series = tuple(one.get(label) for one in each)
        first = next(item for item in series if item is not None)
        largest, at, where = _largest([item for item in series if item is not None])
        means = tuple(None if item is None else _mean(item) for item in series)
        found.append(Quantity(label, first.unit, series, means, largest, at, where))
    return found


def _mean(item: Series) -> float | None:
    known = item.values[np.isfinite(item.values)]
    return float(known.mean()) if known.size else None


def _largest(series: Sequence[Series]) -> tuple[float | None, int, str]:
    """Return the largest difference from the first, and where; None where the axes differ."""
    first, rest = series[0], series[1:]
    if any(
        item.unit != first.unit or not np.array_equal(item.axis.places, first.axis.places)
        for item in rest
    ):
        return None, -1, ""
    largest, at = 0.0, -1
    base = settled(first.values)
    scale = float(np.nanmax(np.abs(base), initial=0.0))
    for item in rest:
        apart = np.abs(np.nan_to_num(settled(item.values)) - np.nan_to_num(base))
        place = int(np.argmax(apart))
        if apart[place] > max(largest, _SAME * scale):
            largest, at = float(apart[place]), place
    return largest, at, first.axis.labels[at] if at >= 0 else ""


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
