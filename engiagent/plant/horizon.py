"""The horizon of a plant, and data of another step aligned with it by a stated rule."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final
from zoneinfo import ZoneInfo

import numpy as np
import numpy.typing as npt

from engiagent.blueprint.timeaxis import TimeAxis, build_axis, parse_step
from engiagent.errors import InputError
from engiagent.plant.source import Source, entries, nearest, text_of
from engiagent.text.datafile import DataFile, load_data_file
from engiagent.text.frontmatter import DataOptions, Node, is_zone
from engiagent.text.timestamps import Times, read_times

Floats = npt.NDArray[np.float64]
KEYS: Final = ("start", "step", "days", "end", "periods", "zone", "align")
RULES: Final = {
    "hold": "the value that holds when a period begins",
    "mean": "the mean over each period",
    "sum": "the sum over each period",
    "interpolate": "the straight line between two stamps, at the start of each period",
}
NEAR: Final = 0.5


@dataclass(frozen=True)
class Horizon:
    """The periods of a plant: the blueprint's time set and its edges.

    ``align`` is the rule for data of another step, None for the usual one of each slot.
    """

    entry: dict[str, Any]
    axis: TimeAxis
    align: str | None


class Files:
    """The data files of a plant, read when they are asked for, their stamps by one zone."""

    def __init__(self, source: Source, zone: str | None) -> None:
        self.source, self.zone = source, zone
        self._known: dict[str, DataFile] = {}

    def file(self, name: str) -> DataFile:
        """Return a data file; raise an InputError when it is absent or cannot be read."""
        if name not in self._known:
            problem = self.source.problem
            known = problem.data.get(name)
            self._known[name] = known or load_data_file(
                problem.folder, name, DataOptions(), problem.conventions, self.zone, name
            )
        return self._known[name]

    def times(self, name: str) -> Times | None:
        """Return the time stamps of a file by the zone of the plant; None without stamps."""
        found = self.file(name)
        if found.axis is None or found.time_column is None or found.axis.zone is not None:
            return found.axis
        return read_times(found.columns[found.time_column].source, self.zone)


def read_horizon(
    source: Source, node: Node | None, files: Files, used: Iterable[str]
) -> Horizon | None:
    """Return the horizon, None after recording what is wrong with it.

    ``used`` are the data files that the components name, for a start or an end that is not stated.
    """
    given = entries(source, node, "the horizon", KEYS)
    texts = {str(key): text_of(source, value, str(key)) for key, value in given.items()}
    place = node or Node("", source.first_line, 1)
    align = texts.get("align")
    if align is not None and align not in RULES:
        source.fault(given["align"], "unknown rule of alignment", nearest(align, RULES))
    if files.zone is not None and not is_zone(files.zone):
        source.fault(given["zone"], "unknown time zone", "a name such as Europe/Berlin")
        return None
    if not texts.get("step"):
        source.fault(place, "the horizon has no step", "step: 15 min", found="no 'step'")
        return None
    try:
        length, _ = parse_step(str(texts["step"]))
    except ValueError as error:
        source.fault(given["step"], str(error), "a duration as '15 min' or '1 h'")
        return None
    axes = _stamped(source, files, [*used, *_start_file(texts)])
    start = _start(source, texts, given, axes)
    count = _periods(source, texts, given, place, (start, length, axes, files.zone))
    if count is None:
        return None
    zone = files.zone or next((t.zone for t in axes.values() if t.zone is not None), None)
    try:
        axis = build_axis(start, str(texts["step"]), count, zone)
    except ValueError as error:
        source.fault(given.get("start", place), str(error), "start: 2026-06-01")
        return None
    entry: dict[str, Any] = {"name": "T", "kind": "time", "step": texts["step"], "periods": count}
    entry |= {k: v for k, v in (("start", start), ("zone", zone)) if v is not None}
    if node is not None:
        entry["source_reference"] = source.reference(node)
    return Horizon(entry, axis, align)


def _start_file(texts: Mapping[str, str | None]) -> list[str]:
    start = texts.get("start") or ""
    return [start] if start.endswith((".csv", ".parquet", ".nc")) else []


def _stamped(source: Source, files: Files, names: Iterable[str]) -> dict[str, Times]:
    found = {}
    for name in dict.fromkeys(names):
        try:
            times = files.times(name)
        except InputError as error:
            if all(str(known) != str(error) for known in source.errors):
                source.errors.append(error)
            continue
        if times is not None:
            found[name] = times
    return found


def _start(
    source: Source,
    texts: Mapping[str, str | None],
    given: Mapping[Any, Node],
    axes: Mapping[str, Times],
) -> str | None:
    """Return the start as stated, or the first stamp of the data."""
    stated = texts.get("start")
    chosen = dict(axes)
    if stated is not None and not _start_file(texts):
        return stated
    if stated is not None:
        chosen = {name: times for name, times in axes.items() if name == stated}
        if not chosen:
            source.fault(given["start"], "the file has no time stamps", "a file with a column time")
    firsts = {name: _wall(times, int(times.instants[0])) for name, times in chosen.items()}
    if len(set(firsts.values())) > 1:
        shown = ", ".join(f"{name} at {first}" for name, first in firsts.items())
        place, said = next(iter(given.values())), "the data begin at different times"
        source.fault(place, said, "start: FILE or a time stamp", found=shown)
    return next(iter(firsts.values()), None)


def _wall(times: Times, seconds: int) -> str:
    zone = UTC if times.zone is None else ZoneInfo(times.zone)
    return datetime.fromtimestamp(seconds, zone).strftime("%Y-%m-%dT%H:%M")


def _periods(
    source: Source,
    texts: Mapping[str, str | None],
    given: Mapping[Any, Node],
    place: Node,
    about: tuple[str | None, float, Mapping[str, Times], str | None],
) -> int | None:
    start, length, axes, zone = about
    chosen = [key for key in ("days", "end", "periods") if texts.get(key)]
    if len(chosen) > 1:
        said = "the length of the horizon is stated twice"
        source.fault(given[chosen[1]], said, "one of days, end and periods")
        return None
    if not chosen:
        ends = [int(t.instants[-1]) + (t.step_seconds or length) for t in axes.values()]
        begins = [int(t.instants[0]) for t in axes.values()]
        if not ends:
            said, expected = "the horizon has no length", "days, end or periods"
            source.fault(place, said, expected, found="none of them")
            return None
        return max(1, int((min(ends) - max(begins)) // length))
    key = chosen[0]
    node, text = given[key], str(texts[key])
    if key != "end" and not (text.replace(".", "", 1).isdigit() and float(text) > 0):
        source.fault(node, f"{key} is no positive number", f"{key}: 7")
        return None
    try:
        stated = key == "periods"
        count = float(text) if stated else _seconds(start, key, text, zone) / length
    except ValueError as error:
        source.fault(node, str(error), "end: 2026-06-08, after the start" if key == "end" else None)
        return None
    if count < 1 or abs(count - round(count)) > 1e-9 or count > 1e7:
        source.fault(node, f"the horizon is {count:g} steps long", "a whole number of steps")
        return None
    return round(count)


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
