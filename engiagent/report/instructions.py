"""What to set, and when: the decisions of a schedule, with a row for every change.

Periods that follow each other with the same settings are one row, so that an operator reads when
something has to be done and not 96 times that nothing has.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from engiagent.report import words
from engiagent.report.artefacts import Run
from engiagent.report.charts.series import Series, largest_by_unit, settled
from engiagent.report.charts.timeline import Axis, time_label
from engiagent.report.tables import Cell, DataTable, table_with_csv
from engiagent.solvers.solution import stored_arrays

MAX_COLUMNS: Final = 10
MAX_ROWS: Final = 60
DIGITS: Final = 4


@dataclass(frozen=True)
class Instructions:
    """The table, and what it leaves out.

    Of ``total`` rows it shows the first, its CSV file all. ``used`` says how long each setting is
    not zero, ``never`` which always are; ``elsewhere`` counts settings beyond those shown.
    """

    table: DataTable
    total: int
    used: tuple[str, ...]
    never: tuple[str, ...]
    elsewhere: int


def instructions(run: Run, series: Sequence[Series]) -> Instructions | None:
    """Return what a schedule asks for over time; None where it decides nothing over time."""
    chosen = _decisions(run, series)
    if not chosen:
        return None
    axis, scale = chosen[0].axis, largest_by_unit(chosen)
    chosen = [replace(item, values=settled(item.values, scale[item.unit])) for item in chosen]
    switches = _switches(run)
    used = [item for item in chosen if np.nansum(np.abs(item.values))]
    never = tuple(words.spoken(item.label) for item in chosen if item not in used)
    shown = used[:MAX_COLUMNS]
    if not shown:
        return None
    columns = [_texts(item, item.source in switches) for item in shown]
    settings = list(zip(*columns, strict=True))
    starts = [k for k, row in enumerate(settings) if k == 0 or row != settings[k - 1]]
    clock = _Clock.of(axis)
    head = (clock.title, *(_head(item, item.source in switches) for item in shown))
    rows = [
        (clock.span(first, last), *(column[first] for column in columns))
        for first, last in zip(starts, [*starts[1:], axis.places.size], strict=True)
    ]
    cells = tuple(
        (Cell(row[0]), *(Cell(text, is_number=True) for text in row[1:])) for row in rows[:MAX_ROWS]
    )
    title = f"Settings, a row for every change, to {DIGITS} digits"
    table = table_with_csv(title, head, cells, "instructions.csv", rows)
    summary = tuple(_usage(item, item.source in switches) for item in shown)
    return Instructions(table, len(rows), summary, never, len(used) - len(shown))


def _decisions(run: Run, series: Sequence[Series]) -> list[Series]:
    """Return the series that somebody sets, all over the axis that most of them have."""
    arrays = stored_arrays(run.solution) if run.solution is not None else ()
    roles = {name: array.attrs.get("role") or None for name, array in arrays}
    candidates = [item for item in series if not item.instants and item.axis.places.size > 1]
    wanted = [item for item in candidates if roles.get(item.source) == "decision"]
    if not wanted:  # nobody said what is set: whatever is no state and no expression
        wanted = [item for item in candidates if roles.get(item.source, "") is None]
    groups: dict[tuple[str, int], list[Series]] = {}
    for item in wanted:
        groups.setdefault((item.axis.name, item.axis.places.size), []).append(item)
    return max(groups.values(), key=len, default=[])


def _switches(run: Run) -> frozenset[str]:
    """Return the names of the variables that are on or off."""
    variables = run.blueprint.core.decision_variables if run.blueprint is not None else ()
    return frozenset(item.name for item in variables if item.type == "binary")


def _usage(item: Series, is_switch: bool) -> str:
    """Return how long a setting differs from zero, and how far it goes."""
    values, edges = item.values, item.axis.edges
    is_used = (values != 0.0) & np.isfinite(values)
    if item.axis.kind in ("time", "clock"):
        seconds = np.diff(edges)
        total, whole = float(seconds[is_used].sum()) / 3600, float(seconds.sum()) / 3600
        text = f"{words.number(total, 4)} of {words.number(whole, 4)} hours"
    else:
        text = f"{int(is_used.sum())} of {is_used.size} periods"
    name = words.spoken(item.label)
    if is_switch:
        return f"{name}: on in {text}"
    low, high = (words.number(float(x), DIGITS) for x in (np.nanmin(values), np.nanmax(values)))
    reach = f"up to {high}" if np.nanmin(values) >= 0 else f"{low} to {high}"
    return f"{name}: in use in {text}, {reach}\u00a0{words.unit(item.unit)}".rstrip()


def _texts(item: Series, is_switch: bool) -> list[str]:
    if is_switch:
        return ["on" if value > 0.5 else "–" for value in item.values]
    return [
        words.number(float(value), DIGITS) if np.isfinite(value) else "–" for value in item.values
    ]


def _head(item: Series, is_switch: bool) -> str:
    unit = "" if is_switch else words.unit(item.unit)
    name = words.spoken(item.label)
    return f"{name} [{unit}]" if unit else name


@dataclass(frozen=True)
class _Clock:
    """How moments of an axis are told: with what all of them share left out."""

    axis: Axis
    day: str
    has_offset: bool

    @classmethod
    def of(cls, axis: Axis) -> "_Clock":
        if axis.kind != "time":
            return cls(axis, "", False)
        days = {label[:10] for label in axis.labels}
        offsets = {label[16:] for label in axis.labels}
        return cls(axis, next(iter(days)) if len(days) == 1 else "", len(offsets) > 1)

    @property
    def title(self) -> str:
        """What stands above the moments."""
        zone = f" ({self.axis.zone})" if self.axis.zone else ""
        if self.axis.kind == "time":
            return f"{self.day or 'From, to'}{zone}"
        return "Time of day" if self.axis.kind == "clock" else self.axis.name

    def span(self, first: int, last: int) -> str:
        """Return the time from the start of one period to the start of another, or the end."""
        if self.axis.kind == "number":
            begin, end = self.axis.labels[first], self.axis.labels[last - 1]
            return begin if last - first == 1 else f"{begin} – {end}"
        begin, end = (self._moment(position) for position in (first, last))
        if begin[:10] == end[:10] and not self.day and self.axis.kind == "time":
            end = end[11:]
        return f"{begin} – {end}"

    def _moment(self, position: int) -> str:
        seconds = float(self.axis.edges[position])
        if self.axis.kind == "clock":
            return f"{int(seconds) // 3600:02d}:{int(seconds) // 60 % 60:02d}"
        text = time_label(seconds, self.axis.zone)
        text = text if self.has_offset else text[:16]
        if not self.day:
            return text
        return text[11:] if text[:10] == self.day else f"24:00{text[16:]}"
