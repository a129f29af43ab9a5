"""Runs side by side, as data: what came of each, and in what they differ.

The first run is what the others are compared with. Only what differs is listed; two numbers that
are the same to nine digits are the same.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

from engiagent.errors import EngiagentError, InputError
from engiagent.report import model, words
from engiagent.report.artefacts import Run, load_run, mapping
from engiagent.report.charts.palette import STYLES
from engiagent.report.charts.series import Plan, Series, settled, solution_series
from engiagent.run.listing import RunSummary, summarise
from engiagent.run.scenarios import RECOVERY, Scenario, ScenarioComparison, compare_scenarios

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
