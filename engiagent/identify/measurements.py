"""Measurements of a building from a table: columns by what they are, units, periods, gaps."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt

from engiagent.environment.interface import between
from engiagent.errors import InputError
from engiagent.identify.kalman import Record
from engiagent.identify.structures import Driver, Floats
from engiagent.io.tabular import TableColumn, TableFile, read_table
from engiagent.text.timestamps import looks_like_time, read_instants
from engiagent.units.unit import parse_unit
from engiagent.units.words import resolve_unit

EMPTY: Final = ("", "-", "nan", "na", "n/a", "null", "none")
ROLES: Final = {
    "temperature": "degC",
    "ambient": "degC",
    "heat": "kW",
    "cooling": "kW",
    "gains": "kW",
    "solar": "kW/m2",
    "wind": "m/s",
    "air_change": "1/h",
    "electric": "kW",
    "full_load": "1",
    **dict.fromkeys(("source", "sink", "leaving", "entering"), "degC"),
}
"""What a column may be, with the unit that it is brought to."""
REQUIRED: Final = ("temperature", "ambient", "heat")
DRIVERS: Final = {
    "solar": ("aperture", "m2"),
    "gains": ("gains", "1"),
    "wind": ("infiltration", "kW/K per m/s"),
    "air_change": ("air", "kWh/K"),
}
"""Columns by their role, with the name and the unit of the coefficient of each."""
LEAKS: Final = ("wind", "air_change")
_LEAST: Final = 50
Instants = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Measurements:
    """A record with where it comes from."""

    # file, sha256: the table
    file: str
    sha256: str
    # by role the column as a plant file names it, ``file.csv#name [unit]``
    columns: Mapping[str, str]
    # start of each period in seconds since 1970, by ``zone`` or the wall clock
    begins: Instants
    zone: str | None
    record: Record
    # what heats the room beside the heating: sun, and gains that are measured; what lets air in
    drivers: tuple[Driver, ...]
    notes: tuple[str, ...]  # what there is to say of gaps

    @property
    def days(self) -> float:
        """How long the record is."""
        return len(self.begins) * self.record.hours / 24

    @property
    def inputs(self) -> tuple[str, ...]:
        """The roles of the columns of the record's inputs."""
        return ("ambient", "heat", *(d.series for d in self.drivers))


def read_measurements(
    path: Path,
    columns: Mapping[str, str],
    *,
    zone: str | None = None,
    step_hours: float | None = None,
) -> Measurements:
    """Read what was measured.

    ``columns``: by role (``temperature``, ``ambient``, ``heat``; ``cooling``, ``solar``, ``gains``,
    ``wind`` or ``air_change``) the name of the column, with ``[unit]`` behind it where its header
    has none. ``zone``: time zone of stamps without offset. ``step_hours``: brings the record to
    periods of this length: means of inputs, temperatures at the beginning. Raises InputError with
    file, line and column: a column or unit that is missing, stamps that repeat, go back or come at
    no regular step where none is given, too little that was measured.
    """
    _require(path, columns, REQUIRED)
    if set(LEAKS) <= columns.keys():
        raise InputError("two ways of air", path.name, expected="either --wind or --air-change")
    table, named, begins, hours, known_zone, series = _series(path, columns, zone, step_hours)
    heat = series["heat"] - series.get("cooling", 0.0)
    inputs = [series["ambient"], heat]
    power = float(np.nanmean(np.abs(heat))) or 1.0
    drivers, notes = [], []
    lift = abs(float(np.nanmean(series["temperature"] - series["ambient"]))) or 1.0
    for role, (name, unit) in DRIVERS.items():
        if role in series:
            size = (float(np.nanmax(np.abs(series[role]))) or 1.0) * (lift if role in LEAKS else 1)
            drivers.append(Driver(role, name, unit, power / size, role == "gains", role in LEAKS))
            inputs.append(series[role])
    record = Record(hours, series["temperature"], np.column_stack(inputs))
    lost = len(begins) - int(record.whole.sum())
    if lost:
        notes.append(
            f"{lost} of {len(begins)} periods lack an input; the filter begins anew behind each gap"
        )
    empty = int((~np.isfinite(record.measured) & record.whole).sum())
    if empty:
        notes.append(f"{empty} of {len(begins)} temperatures are missing and were predicted")
    if (useful := int((np.isfinite(record.measured) & record.whole).sum())) < _LEAST:
        said = "too little was measured"
        raise InputError(said, path.name, found=f"{useful} periods", expected=f"{_LEAST}, or more")
    return Measurements(
        path.name, table.sha256, named, begins, known_zone, record, tuple(drivers), tuple(notes)
    )


def read_days(
    path: Path, columns: Mapping[str, str], hours: float, zone: str | None
) -> tuple[Instants, str | None, dict[str, Floats]]:
    """Return periods of some length, their zone, and inputs; InputError where one is missing."""
    _, _, begins, _, known_zone, series = _series(path, columns, zone, hours)
    for role, values in series.items():
        if (empty := np.flatnonzero(~np.isfinite(values))).size:
            at = str(np.datetime64(int(begins[empty[0]]), "s"))
            raise InputError(f"the {role} is missing", path.name, found=at, expected="no gaps")
    return begins, known_zone, series


def _series(
    path: Path, columns: Mapping[str, str], zone: str | None, step_hours: float | None
) -> tuple[TableFile, dict[str, str], Instants, float, str | None, dict[str, Floats]]:
    """Return table, columns as a plant names them, periods, their length, zone, and values."""
    table = read_table(path.parent, path.name)
    stamps = next((c for c in table.columns.values() if looks_like_time(c)), None)
    if stamps is None:
        raise InputError("there is no column of time stamps", path.name, 1, expected="one")
    seconds, known_zone = read_instants(stamps, zone)
    read = {role: _column(table, role, name) for role, name in columns.items()}
    begins, step, places = _grid(stamps, seconds, step_hours)
    series = {
        role: _resampled(values, seconds, begins, step, role == "temperature", places)
        for role, (values, _) in read.items()
    }
    named = {role: f"{path.name}#{about}" for role, (_, about) in read.items()}
    return table, named, begins, step / 3600, known_zone, series


def read_columns(
    path: Path, columns: Mapping[str, str], needed: tuple[str, ...], optional: tuple[str, ...]
) -> tuple[list[Floats], list[Floats | None]]:
    """Return columns in the units of their roles, NaN where cells are empty; None for none."""
    _require(path, columns, needed)
    table = read_table(path.parent, path.name)
    found = {
        role: _column(table, role, columns[role])[0]
        for role in (*needed, *optional)
        if role in columns
    }
    return [found[role] for role in needed], [found.get(role) for role in optional]


def _require(path: Path, columns: Mapping[str, str], needed: tuple[str, ...]) -> None:
    missing = [role for role in needed if role not in columns]
    if missing:
        options = " ".join(f"--{role} COLUMN" for role in missing)
        raise InputError(f"not given: {', '.join(missing)}", path.name, expected=options)


def _column(table: TableFile, role: str, written: str) -> tuple[Floats, str]:
    """Return a column in the unit of its role, NaN where it is empty, and how a plant names it."""
    name, unit_text = written.strip(), ""
    if name.endswith("]") and name not in {c.header for c in table.columns.values()}:
        name, _, rest = name[:-1].partition("[")
        name, unit_text = name.strip(), rest.strip()
    column = table.column(name)
    wanted = parse_unit(ROLES[role])
    unit = resolve_unit(unit_text or column.unit_text or ("1" if ROLES[role] == "1" else ""))
    if unit is None or unit.dimension != wanted.dimension:
        what = "in no unit that is known" if unit is None else f"in {unit}"
        option = f"--{role.replace('_', '-')} '{column.name} [{wanted}]'"
        expected = f"a unit as {wanted} in its header, or as {option}"
        raise InputError(
            f"the {role} {column.header!r} is {what}", table.name, 1, None, None, expected
        )
    factor, zero = between(str(unit), ROLES[role])
    plain = column.name.replace("_", "").replace(".", "").isalnum()
    named = column.name if plain else f'"{column.name}"'
    return _numbers(column) * factor + zero, f"{named} [{unit}]"


def _numbers(column: TableColumn) -> Floats:
    """Return numbers, NaN where a cell is empty; anything else is an error with its place."""
    if not column.is_text:
        cells = np.asarray(column.cells, dtype=np.float64)
        return np.where(np.isinf(cells), np.nan, cells)
    texts = column.texts()
    filled = [k for k, text in enumerate(texts) if text.strip().lower() not in EMPTY]
    values = np.full(len(texts), np.nan)
    if filled:
        values[filled] = column.rows(filled).numbers()
    return values


def _grid(
    stamps: TableColumn, seconds: npt.NDArray[np.int64], step_hours: float | None
) -> tuple[npt.NDArray[np.int64], int, npt.NDArray[np.intp] | None]:
    """Return the periods, their length in seconds, and where each row stands among them."""
    steps = np.diff(seconds)
    wrong = np.flatnonzero(steps <= 0)
    if len(seconds) < 2 or wrong.size:
        row = int(wrong[0]) + 1 if wrong.size else 0
        what = "time goes back, or a time stamp stands twice" if wrong.size else "a single row"
        raise stamps.error(row, what, expected="stamps in order; the zone where clocks change")
    values, counts = np.unique(steps, return_counts=True)
    usual = int(values[np.argmax(counts)])
    step = usual if step_hours is None else round(step_hours * 3600)
    first = int(seconds[0])
    if step_hours is None or step == usual:
        odd = np.flatnonzero((seconds - first) % usual)
        if not odd.size:
            places = ((seconds - first) // usual).astype(np.intp)
            return np.arange(first, int(seconds[-1]) + 1, usual), usual, places
        if step_hours is None:
            expected = f"every {usual / 60:g} min as elsewhere, or --step, by which means are taken"
            raise stamps.error(int(odd[0]), "the time step is irregular here", expected=expected)
    first = -(-first // step) * step
    return np.arange(first, int(seconds[-1]) + usual - step + 1, step), step, None


def _resampled(
    values: Floats,
    seconds: npt.NDArray[np.int64],
    begins: npt.NDArray[np.int64],
    step: int,
    at_begin: bool,
    places: npt.NDArray[np.intp] | None,
) -> Floats:
    """Return a value for each period, NaN where there is none."""
    found = np.full(len(begins), np.nan)
    if places is not None:
        found[places] = values
        return found
    good = np.isfinite(values)
    at, given = seconds[good], values[good]
    if at_begin and at.size:
        behind = np.searchsorted(at, begins).clip(0, len(at) - 1)
        before = np.searchsorted(at, begins, side="right").clip(1) - 1
        near = (np.abs(at[behind] - begins) <= step) & (np.abs(begins - at[before]) <= step)
        return np.asarray(np.where(near, np.interp(begins, at, given), np.nan))
    if step < (usual := int(np.median(np.diff(seconds)))):  # what is coarser holds
        behind = np.searchsorted(seconds, begins, side="right") - 1
        return np.where(begins - seconds[behind] < usual, values[behind], np.nan)
    which = (at - begins[0]) // step
    inside = (which >= 0) & (which < len(begins))
    total = np.bincount(which[inside], given[inside], len(begins))
    count = np.bincount(which[inside], minlength=len(begins))
    return np.asarray(np.divide(total, count, out=found, where=count > 0))
