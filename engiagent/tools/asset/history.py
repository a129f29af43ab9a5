"""Tools on sites, assets, sensors and their history, and on what of it cannot be true.

A register says which column of which table a sensor is. Faulty readings are named and left out,
never repaired.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime, timedelta, timezone
from functools import cached_property, lru_cache
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from engiagent.blueprint.stamps import StampError, in_iso, stamp_seconds
from engiagent.errors import InputError
from engiagent.io.tabular import TableColumn, TableFile, by_name, header_unit, is_number, read_table
from engiagent.report.charts import Panel, document
from engiagent.study.economics.cashflow import Floats
from engiagent.text.timestamps import looks_like_time, read_instants
from engiagent.tools.modelling import plain
from engiagent.tools.places import inside, write_new, write_rows
from engiagent.tools.registry import Access, Json, Outcome, State, Work, shape, tool
from engiagent.tools.site.arguments import stated
from engiagent.units.unit import Unit, UnitError, conversion, parse_unit

HOUR: Final = 3600.0
_NEEDED: Final = ("asset", "kind", "sensor", "measures", "unit", "data")
_MOST: Final = 2_000
_LARGE: Final = 10_000_000  # bytes of a CSV file
_SWAPS: Final = ("degC degF K", "W kW MW", "Pa kPa bar", "kWh MWh Wh", "kg/s kg/h")
"""Units that are taken for one another in practice."""
_RUN: Final = 3  # so many readings in a row have to fit another unit
_OFFSET: Final = re.compile(r"(?:Z|z| ?UTC|[+-]\d\d:?\d\d)$")
Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Sensor:
    """A line of the register."""

    name: str
    asset: str
    kind: str  # of the asset, as chiller
    site: str
    measures: str  # the quantity in words, as supply temperature
    data: str  # FILE#COLUMN
    unit: Unit
    least: float = -np.inf  # least, most: between which a reading is possible, in the unit
    most: float = np.inf


@dataclass(frozen=True)
class Fault:
    """Readings that are not used: which, and why."""

    fault: str
    rows: slice
    about: str
    unused: bool = True


@dataclass(frozen=True, eq=False)
class History:
    """What a sensor showed."""

    sensor: Sensor
    stamps: tuple[str, ...]
    seconds: Floats  # of the stamps, by UTC if it is known, NaN where none, shape (N,). [s]
    values: Floats  # NaN where there is no number, shape (N,). [unit]
    clock: Floats | None = None  # by how much the stamps are ahead of UTC, None where unknown. [s]

    @cached_property
    def step(self) -> float:
        """The usual time between two readings. [s]."""
        steps = np.diff(self.seconds[np.isfinite(self.seconds)])
        return float(np.median(steps[steps > 0])) if (steps > 0).any() else np.nan

    def ahead(self, instants: Floats) -> Floats:
        """Return by how much the clock of the stamps is ahead of UTC at some instants. [s]."""
        if self.clock is None or not self.used.any():
            return np.zeros(len(instants))
        rows = np.searchsorted(self.seconds[self.used], instants, "right") - 1
        return np.asarray(self.clock[self.used][np.maximum(rows, 0)])

    def labels(self, instants: Floats) -> list[str]:
        """Return instants as stamps, with their offset from UTC where it is known."""
        ahead = self.ahead(instants) if self.clock is not None else [None] * len(instants)
        return list(map(stamp_of, instants, ahead))

    def faults(self, stuck: float | None = None, gap: float | None = None) -> Iterator[Fault]:
        """Yield what cannot be true; ``stuck`` and ``gap`` in hours."""
        for check in (_unreadable, _disorder, _gaps, _impossible):
            yield from check(self, gap)
        if stuck is not None and not _commanded(self.sensor):
            yield from _stuck(self, stuck)

    def good(self, stuck: float | None = None) -> Flags:
        """Return which readings can be used, shape (N,)."""
        used = np.isfinite(self.values) & np.isfinite(self.seconds)
        for fault in self.faults(stuck):
            if fault.unused:
                used[fault.rows] = False
        return used

    used = cached_property(good)

    def means(self, hours: float, by: "History | None" = None) -> tuple[Floats, Floats]:
        """Return starts [s] and means of periods with a good reading, by the clock or another's."""
        if not self.used.any():
            raise InputError(f"no reading of {self.sensor.name} can be used", self.sensor.data)
        seconds, length, ahead = self.seconds[self.used], hours * HOUR, (by or self).ahead
        starts = np.floor((seconds + ahead(seconds)) / length) * length
        starts -= ahead(starts - ahead(seconds))  # clocks may change within a period, as a day
        found, inverse = np.unique(starts, return_inverse=True)
        return found, np.bincount(inverse, self.values[self.used]) / np.bincount(inverse)


def _commanded(sensor: Sensor) -> bool:
    return sensor.measures.endswith(("command", "set point"))


def _runs(flags: Flags) -> Iterator[slice]:
    """Yield the stretches of rows that a flag holds for."""
    edges = np.flatnonzero(np.diff(np.r_[False, flags, False].astype(np.int8)))
    for first, last in zip(edges[::2], edges[1::2], strict=True):
        yield slice(int(first), int(last))


def _unreadable(history: History, _: float | None) -> Iterator[Fault]:
    for rows in _runs(~np.isfinite(history.seconds)):
        yield Fault("no time stamp", rows, "the stamp cannot be read")
    for rows in _runs(~np.isfinite(history.values)):
        yield Fault("missing", rows, "no number")


def _disorder(history: History, _: float | None) -> Iterator[Fault]:
    late = history.seconds[1:] <= np.fmax.accumulate(history.seconds)[:-1]
    for rows in _runs(np.r_[False, late]):
        yield Fault("out of order", rows, "not later than a stamp before")


def _gaps(history: History, gap: float | None) -> Iterator[Fault]:
    allowed = 1.5 * history.step if gap is None else gap * HOUR
    steps = history.seconds[1:] - np.fmax.accumulate(history.seconds)[:-1]
    for k in np.flatnonzero(steps > allowed):
        hours = steps[k] / HOUR
        yield Fault("gap", slice(int(k), int(k) + 2), f"{hours:g} h between two readings", False)


def _impossible(history: History, _: float | None) -> Iterator[Fault]:
    sensor, values = history.sensor, history.values
    with np.errstate(invalid="ignore"):
        outside = (values < sensor.least) | (values > sensor.most)
    for rows in _runs(outside):
        other = _other_unit(sensor, values[rows]) if rows.stop - rows.start >= _RUN else None
        low, high = float(values[rows].min()), float(values[rows].max())
        said = f"{low:g} to {high:g} {sensor.unit}, possible {sensor.least:g} to {sensor.most:g}"
        if other is None:
            yield Fault("impossible", rows, said)
        else:
            yield Fault("other unit", rows, f"{said}; read as {other} all would be possible")


def _other_unit(sensor: Sensor, values: Floats) -> str | None:
    """Return a unit in which all values would be possible."""
    own = str(sensor.unit)
    alike = (units.split() for units in _SWAPS if own in units.split() and own != "K")
    for name in (name for units in alike for name in units if name != own):
        kelvin = name == "K"  # as a unit of its own it is that of a difference
        factor, shift = conversion(parse_unit("degC" if kelvin else name), sensor.unit)
        seen = (values - 273.15 * kelvin) * factor + shift
        if ((seen >= sensor.least) & (seen <= sensor.most)).all():
            return name
    return None


def _stuck(history: History, hours: float) -> Iterator[Fault]:
    sensor, values = history.sensor, history.values
    seen = np.flatnonzero((values >= sensor.least) & (values <= sensor.most))
    for run in _runs(np.r_[False, np.diff(values[seen]) == 0]):  # over missing ones
        first, last = int(seen[run.start - 1]), int(seen[run.stop - 1])
        lasted = (history.seconds[last] - history.seconds[first]) / HOUR
        if lasted >= hours and values[first] != 0:
            said = f"{values[first]:g} {sensor.unit} for {lasted:g} h"
            yield Fault("stuck", slice(first, last + 1), said)


def rows_of(
    root: Path, file: str, needed: Sequence[str], texts: Sequence[str], numbers: Sequence[str]
) -> Iterator[tuple[str, Json]]:
    """Yield each row of a table, as ``row 3`` and by column, None where a cell is empty or absent.

    Columns that are needed have to be there, further texts and numbers need not.
    """
    path = inside(root, file)
    table = read_table(path.parent, path.name)
    columns = {name: table.column(name).texts() for name in needed}
    columns |= {n: table.columns[n].texts() for n in (*texts, *numbers) if n in table.columns}
    pointed = {n: table.columns[n].with_points(columns[n]) for n in numbers if n in columns}
    blank: Json = dict.fromkeys((*texts, *numbers))
    for k in range(table.rows):
        row = blank | {name: cells[k] or None for name, cells in columns.items()}
        for name in (n for n in numbers if row[n]):
            if not is_number(pointed[name][k]):
                raise InputError(f"row {k + 1}: {name} is no number", file, found=row[name])
            row[name] = float(pointed[name][k])
        yield f"row {k + 1}", row


def register(root: Path, file: str) -> dict[str, Sensor]:
    """Return the sensors of a register by name."""
    found: dict[str, Sensor] = {}
    for place, row in rows_of(root, file, _NEEDED, ("site",), ("least", "most")):
        name = row.pop("sensor")
        if name in found:
            raise InputError(f"{place}: a sensor stands twice", file, found=name)
        try:
            unit = parse_unit(row["unit"] or "1")
        except UnitError as error:
            said = f"{place}: the unit of {name}: {error}"
            raise InputError(said, file, expected="a unit as degC or kW") from None
        names = ("asset", "kind", "site", "measures", "data")
        asset, kind, site, measures, data = (row[n] or "" for n in names)
        ends = {n: row[n] for n in ("least", "most") if row[n] is not None}
        found[name] = Sensor(name, asset, kind, site, measures, data, unit, **ends)
    return found


def history_of(root: Path, sensor: Sensor) -> History:
    """Return what a sensor showed, faults included."""
    file, _, column = sensor.data.rpartition("#")
    if not file or not column:
        said = f"the data of {sensor.name} are a file and a column"
        raise InputError(said, found=sensor.data, expected="plant.csv#supply")
    table = _table(inside(root, file), column)
    cells = table.column(column)
    with suppress(UnitError):  # what is no unit says nothing
        own = sensor.unit
        header = parse_unit(cells.unit_text) if cells.unit_text else own
        if (header.dimension, header.factor, header.zero) != (own.dimension, own.factor, own.zero):
            said = f"the header {cells.header!r} and the register's unit of {sensor.name} differ"
            raise InputError(said, file, found=str(own), expected=str(header))
    time = next((c for c in table.columns.values() if looks_like_time(c)), None)
    if time is None:
        expected = "a column as 2023-01-01T00:00"
        raise InputError("the table has no time stamps", file, expected=expected)
    try:
        stamps = in_iso(time.texts())
        seconds, aware = stamp_seconds(stamps)
    except StampError as error:
        expected = error.expected or "all stamps with an offset, or none"
        raise InputError(str(error), file, expected=expected) from None
    known, clock = np.flatnonzero(np.isfinite(seconds)), None
    if aware:
        clock = stamp_seconds(tuple(_OFFSET.sub("", text) for text in stamps))[0] - seconds
    elif len(known):
        instants, zone = read_instants(time.rows(known.tolist()), None)
        if zone is not None:  # the header has it
            wall, seconds = seconds, np.full(len(seconds), np.nan)
            seconds[known] = instants
            clock = wall - seconds
            shown = dict(zip(known.tolist(), map(stamp_of, instants, clock[known]), strict=True))
            stamps = tuple(shown.get(k, text) for k, text in enumerate(stamps))
    return History(sensor, stamps, seconds, _values(cells), clock)


def _values(column: TableColumn) -> Floats:
    """Return readings, NaN where a cell is no number; texts may have decimal commas."""
    if not isinstance(texts := column.cells, tuple):
        return np.array(texts, dtype=np.float64)
    commas = [k for k, text in enumerate(texts) if re.fullmatch(r"[+-]?\d+,\d+", text)]
    if commas and column.decimal == "." and not any("." in t and is_number(t) for t in texts):
        if all(texts[k][-4:-3] == "," for k in commas):
            raise column.error(commas[0], "thousands or decimals", expected="a decimal point")
        column = replace(column, decimal=",")
    return np.array([float(t) if is_number(t) else np.nan for t in column.with_points(texts)])


def _table(path: Path, column: str) -> TableFile:
    """Return a table; of a large one, and of Parquet, a column beside its stamps, by DuckDB."""
    large = path.suffix == ".parquet"
    if path.suffix == ".csv" and path.stat().st_size > _LARGE:
        with path.open("rb") as rows:  # of other dates DuckDB guesses whether the day is first
            stamp = rb"\d{4}-\d\d-\d\d[T ]?[\d:.]*(?![T \d:.+-])"  # it keeps no offsets
            large = bool(re.search(stamp, b"".join(islice(rows, 1, 3))))
    if large and find_spec("duckdb"):
        with suppress(ValueError):  # the strict reader says what is wrong, or reads it
            return _by_duckdb(path, column)
    return read_table(path.parent, path.name)


@lru_cache(maxsize=1)  # the sensors of a table are asked for one after the other
def _loaded(path: Path, _: int) -> Any:
    from engiagent.tools.market.querying import database  # slow to import, an extra

    return database({"history": str(path)})


def _by_duckdb(path: Path, column: str) -> TableFile:
    from pyarrow.parquet import read_table as read_parquet  # slow to import

    known, file, made = _loaded(path, path.stat().st_mtime_ns).cursor(), path.name, []
    table = known.table("history")
    empty = [TableColumn(file, h, *header_unit(h), k, ()) for k, h in enumerate(table.columns, 1)]
    wanted = TableFile(file, by_name(empty, file), 0, "").column(column)
    for own, kind in zip(empty, map(str, table.types), strict=True):
        cell = '"' + own.header.replace('"', '""') + '"'
        if own is wanted and kind != "VARCHAR":
            cell = f"TRY_CAST({cell} AS DOUBLE)"
        elif "TIME ZONE" in kind and path.suffix == ".parquet":  # DuckDB does not tell the clock
            shown = read_parquet(path, columns=[own.header])[own.header].to_pandas()
            made.append(replace(own, cells=tuple(stamp.isoformat() for stamp in shown)))
            continue
        elif kind.startswith(("TIMESTAMP", "DATE")):
            utc, mark = (" AT TIME ZONE 'UTC'", "Z") if "TIME ZONE" in kind else ("", "")
            cell = f"strftime({cell}{utc}, '%Y-%m-%dT%H:%M:%S{mark}')"
        elif kind != "VARCHAR":
            continue
        cells = known.execute(f"SELECT {cell} AS cell FROM history").fetchnumpy()["cell"]
        text = cells.dtype == object
        filled = np.ma.filled(cells, "" if text else np.nan)
        made.append(replace(own, cells=tuple(filled.tolist()) if text else filled))
    return TableFile(file, by_name(made, file), table.shape[0], "")


def histories(state: State, given: Json, names: Sequence[str]) -> list[History]:
    """Return what sensors of the register of a call showed."""
    known = register(state.root, given["sensors"])
    for name in names:
        if name not in known:
            raise InputError(f"there is no sensor {name!r}", expected=", ".join(list(known)[:30]))
    return [history_of(state.root, known[name]) for name in names]


def drawn(state: State, given: Json, panels: Sequence[Panel]) -> tuple[str, ...]:
    """Write the picture that a call asks for, and return its path."""
    text = document(panels, "; ".join(panel.title for panel in panels))
    return (write_new(state.root, given["picture"], text),) if "picture" in given else ()


def seconds_of(stamp: str) -> float:
    """Return a stamp of an argument in seconds: by the wall clock of a table, or in UTC."""
    found = stamp_seconds((stamp,))[0]
    if not np.isfinite(found).all():
        raise InputError("no such day or time", found=stamp, expected="as 2026-07-01T12:00")
    return float(found[0])


def stamp_of(seconds: float, ahead: float | None = None) -> str:
    """Return seconds as a stamp; of a clock that is ahead of UTC with its offset."""
    found = datetime.fromtimestamp(seconds, timezone(timedelta(seconds=ahead or 0.0)))
    text = found.isoformat(timespec="seconds" if seconds % 60 else "minutes")
    return text[:-6] if ahead is None else text.replace("+00:00", "Z")


def about_sensor(sensor: Sensor) -> Json:
    """Return what the register says of a sensor."""
    known = {n: v for n, v in vars(sensor).items() if n != "name"}
    return {"sensor": sensor.name, **known, "unit": str(sensor.unit)}


def asset_tool(
    blocks: str, returns: str, access: Access = "read", **hints: Any
) -> Callable[[Work], Work]:
    """Register a tool of the pack; its answer depends on files, and what it writes is new."""
    known = {"group": "asset", "outside": True, "repeatable": access == "read", **hints}
    arguments = stated(*blocks.split(), pack="asset")
    return tool(access, *arguments, returns=shape(returns), **known)


@asset_tool("register", "sites: list of text; count: count; assets: list of object")
def iot_assets(state: State, given: Json) -> Outcome:
    """List the sites and assets of a register, with kinds, sensors and what these measure."""
    known = register(state.root, given["sensors"])
    assets: dict[tuple[str, str], list[Sensor]] = {}
    for sensor in known.values():
        assets.setdefault((sensor.site, sensor.asset), []).append(sensor)
    listed = [
        {"asset": asset, "site": site, "kind": own[0].kind, "sensors": [s.name for s in own]}
        | {"measures": sorted({s.measures for s in own})}
        for (site, asset), own in assets.items()
    ]
    sites = sorted({site for site, _ in assets})
    return Outcome(plain({"sites": sites, "count": len(listed), "assets": listed}))


@asset_tool("register asset", "count: count; sensors: list of object")
def iot_sensors(state: State, given: Json) -> Outcome:
    """List sensors with unit, limits, data, how many readings, and the latest good one."""
    listed = []
    for sensor in chosen(register(state.root, given["sensors"]), given):
        history = history_of(state.root, sensor)
        used = np.flatnonzero(history.used)
        step = history.step / HOUR if np.isfinite(history.step) else None
        count, last = len(history.values), int(used[-1]) if len(used) else -1
        about: Json = {"readings": count, "good": len(used), "step_h": step}
        about |= {"first": history.stamps[0], "last": history.stamps[-1]}
        about |= {"latest": None, "latest_at": None, "bad_since": count - 1 - last}
        if last >= 0:
            about |= {"latest": history.values[last], "latest_at": history.stamps[last]}
        listed.append({**about_sensor(sensor), **about})
    return Outcome(plain({"count": len(listed), "sensors": listed}))


def chosen(known: Mapping[str, Sensor], given: Json) -> list[Sensor]:
    """Return the sensors of the asset and the site that a call is about, or all."""
    found = [s for s in known.values() if given.get("asset", s.asset) == s.asset]
    found = [s for s in found if given.get("site", s.site) == s.site]
    if not found:
        said = ", ".join(f"{n} {given[n]!r}" for n in ("asset", "site") if n in given)
        names = sorted({" at ".join(filter(None, (s.asset, s.site))) for s in known.values()})
        raise InputError(f"there is no sensor of {said}", expected=", ".join(names[:30]))
    return found


@asset_tool(
    "register sensor span every",
    "sensor: object; unit: text; count more left_out: count; stamps: list of text; "
    "values: list of number; mean lowest highest: number",
    access="write",
)
def iot_history(state: State, given: Json) -> Outcome:
    """Return the good readings of a sensor, or their means, between two stamps.

    At most 2 000 are shown, more is how many are not; the file has all.
    """
    (history,) = histories(state, given, [given["sensor"]])
    used = history.used
    seconds, values = history.seconds[used], history.values[used]
    if "every" in given:
        seconds, values = history.means(given["every"])
    local = seconds + history.ahead(seconds)
    first = seconds_of(given["first"]) if "first" in given else -np.inf
    last = seconds_of(given["last"]) if "last" in given else np.inf
    own = (local >= first) & (local <= last)
    if not own.any():
        found = f"{history.stamps[0]} to {history.stamps[-1]}"
        raise InputError(f"{given['sensor']} has no good reading then", found=found)
    stamps, values, artefacts = history.labels(seconds[own]), values[own], []
    if "file" in given:
        head = ("time", f"{given['sensor']} [{history.sensor.unit}]")
        rows = zip(stamps, values.tolist(), strict=True)
        artefacts.append(write_rows(state.root, given["file"], head, rows))
    local = history.seconds[~used & np.isfinite(history.seconds)]
    local = local + history.ahead(local)
    content = {
        **{"sensor": about_sensor(history.sensor), "unit": str(history.sensor.unit)},
        **{"count": len(values), "more": max(0, len(values) - _MOST)},
        **{"stamps": stamps[:_MOST], "values": values[:_MOST].tolist()},
        "left_out": int(((local >= first) & (local <= last)).sum()),
        **{"mean": values.mean(), "lowest": values.min(), "highest": values.max()},
    }
    return Outcome(plain(content), {}, tuple(artefacts))


@asset_tool(
    "register asset screening",
    "readings used count: count; share_used: number or null; faults: list of object; "
    "not_judged: list of text",
)
def iot_quality(state: State, given: Json) -> Outcome:
    """Name what of the readings cannot be true: missing, out of order, gaps, impossible, stuck.

    Readings that would all be possible in another unit are named with it. None is repaired.
    """
    total = good = 0
    listed, blind = [], []
    for sensor in chosen(register(state.root, given["sensors"]), given):
        history = history_of(state.root, sensor)
        total += len(history.values)
        good += int(history.good(given.get("stuck")).sum())
        if _commanded(sensor) and "stuck" in given:
            blind.append(f"{sensor.name}: a command may stay as it is")
        if not np.isfinite([sensor.least, sensor.most]).all():
            blind.append(f"{sensor.name}: the register has no least and most")
        for fault in history.faults(given.get("stuck"), given.get("gap")):
            rows = history.stamps[fault.rows]
            about = {"sensor": sensor.name, "fault": fault.fault, "about": fault.about}
            about |= {"first": rows[0], "last": rows[-1]}
            listed.append({**about, "readings": len(rows) if fault.unused else 0})
    content: Json = {"readings": total, "used": good, "share_used": good / total if total else None}
    content |= {"count": len(listed), "faults": listed[:_MOST], "not_judged": blind}
    return Outcome(plain(content))
