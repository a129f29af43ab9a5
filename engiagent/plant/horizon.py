"""The horizon of a plant, and data of another step aligned with it by a stated rule."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, Final
from zoneinfo import ZoneInfo

import numpy as np
import numpy.typing as npt

from engiagent.blueprint.timeaxis import TimeAxis, build_axis, parse_step
from engiagent.io.tabular import SUFFIXES
from engiagent.plant.source import FormError, Source, nearest
from engiagent.text.datafile import DataFile, load_data_file
from engiagent.text.frontmatter import Node, is_zone
from engiagent.text.timestamps import Times, read_times

Floats = npt.NDArray[np.float64]
KEYS: Final = (
    "start",
    "step",
    "days",
    "end",
    "periods",
    "zone",
    "align",
    "weight",
    "representative",
)
BY: Final = "by "
"""Before the column that says to which representative horizon a row belongs, in a source."""
REPRESENTATIVE: Final = ("column", "weights")
RULES: Final = {
    "hold": "the value that holds when a period begins",
    "mean": "the mean over each period",
    "sum": "the sum over each period",
    "interpolate": "the straight line between two stamps, at the start of each period",
}
NEAR: Final = 0.5


class Files:
    """The data files of a plant, read when they are asked for, their stamps by one zone."""

    def __init__(self, source: Source, zone: str | None) -> None:
        self.source, self.zone = source, zone
        self._known: dict[str, DataFile] = dict(source.problem.data)

    def file(self, name: str) -> DataFile:
        """Return a data file; raise an InputError when it is absent or cannot be read."""
        if name not in self._known:
            problem = self.source.problem
            about = problem.conventions, self.zone
            self._known[name] = load_data_file(problem.folder, name, *about)
        return self._known[name]

    def times(self, name: str) -> Times | None:
        """Return the time stamps of a file by the zone of the plant; None without stamps."""
        found = self.file(name)
        if found.axis is None or found.time_column is None or self.zone is None:
            return found.axis
        return read_times(found.columns[found.time_column].source, self.zone)


@dataclass(frozen=True)
class Horizon:
    """The periods of a plant: the blueprint's time set, its edges, and the files on them.

    ``align`` is the rule for data of another step, None for the usual one of each slot, and
    ``weight`` the node that says how many such horizons make a year. Where the horizon is one of
    several representative ones, ``weights`` are the nodes that say by name how many of each there
    are, and ``column`` names the column of data files that says which row belongs to which.
    """

    entry: dict[str, Any]
    axis: TimeAxis
    align: str | None
    files: Files
    weight: Node | None = None
    weights: Mapping[Any, Node] = field(default_factory=dict)
    column: str = ""


def read_rule(source: Source, node: Node | None) -> str | None:
    """Return a stated rule of alignment; None without one, or after recording that it is none."""
    rule = source.text(node, "align")
    if node is None or rule is None or rule in RULES:
        return rule
    source.fault(node, "unknown rule of alignment", nearest(rule, RULES))
    return None


def read_horizon(source: Source, node: Node | None, used: Iterable[str]) -> Horizon | None:
    """Return the horizon, None after recording what is wrong with it.

    ``used`` are the data files that the components name, for a start or an end that is not stated.
    """
    place = node or Node("", source.first_line, 1)
    with source.recording(place):
        return _Reader(source, node, place).read(used)
    return None


class _Reader:
    """A horizon while it is read: its entries, and the stamps of the data files."""

    def __init__(self, source: Source, node: Node | None, place: Node) -> None:
        self.source, self.node, self.place = source, node, place
        self.given = source.entries(node, "the horizon", KEYS)
        others = ("align", "weight", "representative")
        stated = {str(k): v for k, v in self.given.items() if k not in others}
        texts = {key: source.text(value, key) for key, value in stated.items()}
        self.texts = {key: text for key, text in texts.items() if text is not None}
        self.stamps: dict[str, Times] = {}

    def read(self, used: Iterable[str]) -> Horizon:
        """Return the horizon; raise a FormError where it has none."""
        source, given, texts = self.source, self.given, self.texts
        align, zone = read_rule(source, given.get("align")), texts.get("zone")
        if zone is not None and not is_zone(zone):
            expected = "a name such as Europe/Berlin"
            raise FormError("unknown time zone", 0, expected, node=given["zone"])
        if "step" not in texts:
            raise FormError("the horizon has no step", 0, "step: 15 min", found="no 'step'")
        with _as_fault("a duration as '15 min' or '1 h'", given["step"]):
            length, _ = parse_step(texts["step"])
        files = Files(source, zone)
        column, weights = self._representative()
        for name in () if weights else dict.fromkeys([*used, *self._start_file()]):
            with source.recording(self.place):
                if (times := files.times(name)) is not None:
                    self.stamps[name] = times
        start = self._start()
        count = self._periods(start, length, zone)
        zone = zone or next((t.zone for t in self.stamps.values() if t.zone is not None), None)
        with _as_fault("start: 2026-06-01", given.get("start")):
            axis = build_axis(start, texts["step"], count, zone)
        stated = {"step": texts["step"], "periods": count, "start": start, "zone": zone}
        entry: dict[str, Any] = {"name": "T", "kind": "time"}
        entry |= {key: value for key, value in stated.items() if value is not None}
        if self.node is not None:
            entry["source_reference"] = source.reference(self.node)
        return Horizon(entry, axis, align, files, given.get("weight"), weights, column)

    def _representative(self) -> tuple[str, Mapping[Any, Node]]:
        """Return the column that names the representative horizon of a row, and their weights."""
        node, source = self.given.get("representative"), self.source
        if node is None:
            return "", {}
        known = source.entries(node, "the representative horizons", REPRESENTATIVE)
        weights = source.entries(known.get("weights"), "the weights")
        column, length = source.text(known.get("column"), "column"), "days or periods"
        if not column or not weights:
            shown = "representative: {column: season, weights: {winter: 26, summer: 26}}"
            raise FormError("no representative horizons", 0, shown, node=node)
        if not {"days", "periods"} & set(self.texts):
            raise FormError("the horizon has no length", 0, length, node=node)
        if "weight" in self.given:
            said = "each of the representative horizons has its own weight"
            raise FormError(said, 0, "no weight beside them", node=self.given["weight"])
        return column, weights

    def _start_file(self) -> list[str]:
        """Return the file that the start is taken from, if one is named."""
        start = self.texts.get("start", "")
        return [start] if start.endswith(SUFFIXES) else []

    def _start(self) -> str | None:
        """Return the start as stated, or the first stamp of the data."""
        stated = self.texts.get("start")
        chosen = self.stamps
        if stated is not None and not self._start_file():
            return stated
        if stated is not None:
            chosen = {name: times for name, times in self.stamps.items() if name == stated}
            if not chosen:
                expected = "a file with a column time"
                self.source.fault(self.given["start"], "the file has no time stamps", expected)
        firsts = {name: _wall(times, int(times.instants[0])) for name, times in chosen.items()}
        if len(set(firsts.values())) > 1:
            shown = ", ".join(f"{name} at {first}" for name, first in firsts.items())
            place, said = next(iter(self.given.values())), "the data begin at different times"
            self.source.fault(place, said, "start: FILE or a time stamp", found=shown)
        return next(iter(firsts.values()), None)

    def _periods(self, start: str | None, length: float, zone: str | None) -> int:
        """Return the number of periods, of which each takes ``length`` seconds."""
        chosen = [key for key in ("days", "end", "periods") if key in self.texts]
        if len(chosen) > 1:
            said, expected = (
                "the length of the horizon is stated twice",
                "one of days, end and periods",
            )
            raise FormError(said, 0, expected, node=self.given[chosen[1]])
        if not chosen:
            times = self.stamps.values()
            if not times:
                expected = "days, end or periods"
                raise FormError("the horizon has no length", 0, expected, found="none of them")
            end = min(int(t.instants[-1]) + (t.step_seconds or length) for t in times)
            return max(1, int((end - max(int(t.instants[0]) for t in times)) // length))
        key = chosen[0]
        node, text = self.given[key], self.texts[key]
        if key != "end" and not (text.replace(".", "", 1).isdigit() and float(text) > 0):
            raise FormError(f"{key} is no positive number", 0, f"{key}: 7", node=node)
        with _as_fault("end: 2026-06-08, after the start" if key == "end" else None, node):
            count = float(text) if key == "periods" else _seconds(start, key, text, zone) / length
        if count < 1 or abs(count - round(count)) > 1e-9 or count > 1e7:
            said = f"the horizon is {count:g} steps long"
            raise FormError(said, 0, "a whole number of steps", node=node)
        return round(count)


@contextmanager
def _as_fault(expected: str | None, node: Node | None) -> Iterator[None]:
    """Raise a FormError at a node in place of a ValueError."""
    try:
        yield
    except ValueError as error:
        raise FormError(str(error), 0, expected, node=node) from None


def _wall(times: Times, seconds: int) -> str:
    """Return an instant by the clock of some time stamps."""
    zone = UTC if times.zone is None else ZoneInfo(times.zone)
    return datetime.fromtimestamp(seconds, zone).strftime("%Y-%m-%dT%H:%M")


def _seconds(start: str | None, key: str, text: str, zone: str | None) -> float:
    """Return the length of the horizon; days are those of the calendar, of 23 or 25 h too."""
    if start is None or "-" not in start:
        if key == "end":
            raise ValueError("an end needs a start with a date")
        return float(text) * 86400.0
    begin = datetime.fromisoformat(start)
    end = datetime.fromisoformat(text) if key == "end" else begin + timedelta(days=float(text))
    if zone is not None and begin.tzinfo is None:
        begin = begin.replace(tzinfo=ZoneInfo(zone))
    if zone is not None and end.tzinfo is None:
        end = end.replace(tzinfo=ZoneInfo(zone))
    if (begin.tzinfo is None) != (end.tzinfo is None):
        raise ValueError("one of start and end has an offset from UTC")
    return end.timestamp() - begin.timestamp() if begin.tzinfo else (end - begin).total_seconds()


def usual_rule(times: Times, axis: TimeAxis, unit: str) -> str:
    """Return the rule of alignment where none is stated."""
    finer = (times.step_seconds or 0) <= float(axis.edges[1] - axis.edges[0])
    return "mean" if finer else "interpolate" if "degC" in unit or unit == "K" else "hold"


def aligned(values: Floats, times: Times, axis: TimeAxis, rule: str) -> Floats:
    """Return a value for each period, shape (periods,)."""
    starts = np.asarray(times.instants, dtype=np.float64)
    step = float(times.step_seconds or axis.edges[1] - axis.edges[0])
    first, last = float(axis.edges[0]), float(axis.edges[-1])
    needed = last - step if rule != "interpolate" else float(axis.edges[-2]) - step
    if starts[0] > first + NEAR or starts[-1] < needed - NEAR:
        end = _wall(times, int(starts[-1] + step))
        raise ValueError(
            f"its data run from {_wall(times, int(starts[0]))} to {end}, "
            f"the horizon from {axis.label(0)} to {axis.label(len(axis.edges) - 1)}"
        )
    begins, ends = axis.edges[:-1], axis.edges[1:]
    if rule == "hold":
        return np.asarray(values[np.searchsorted(starts, begins + NEAR, side="right") - 1])
    if rule == "interpolate":
        return np.asarray(np.interp(begins, starts, values), dtype=np.float64)
    amount = np.concatenate(([0.0], np.cumsum(values)))
    edges = np.append(starts, starts[-1] + step)
    total = np.interp(ends, edges, amount) - np.interp(begins, edges, amount)
    return np.asarray(total * step / (ends - begins) if rule == "mean" else total)
