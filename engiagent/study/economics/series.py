"""A column of a table with its time stamps: prices, powers, factors of even periods."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from engiagent.blueprint.stamps import in_iso, stamp_seconds
from engiagent.blueprint.timeaxis import TimeAxis
from engiagent.errors import InputError
from engiagent.study.economics.cashflow import Floats
from engiagent.text.datafile import load_data_file
from engiagent.units.unit import CURRENCIES, UnitError, conversion, parse_unit
from engiagent.units.words import Conventions

HOUR = 3600.0


@dataclass(frozen=True, eq=False)
class Series:
    """Numbers of even periods; a stamp names the start of its period."""

    file: str
    column: str
    values: Floats  # shape (N,). [unit]
    unit: str
    seconds: Floats  # of the stamps, by UTC where they have a zone, shape (N,). [s]
    stamps: tuple[str, ...]  # as the file has them; of a known zone with their offsets
    step_hours: float  # length of a period. [h]

    def to(self, unit: str) -> Floats:
        """Return the values in another unit of the same dimension, shape (N,)."""
        given, wanted = parse_unit(self.unit), parse_unit(unit)
        if given.dimension != wanted.dimension:
            raise InputError(
                f"the column {self.column!r} is in {self.unit}", self.file, expected=f"as {unit}"
            )
        factor, shift = conversion(given, wanted)
        return np.asarray(self.values * factor + shift)

    def prices(self) -> tuple[Floats, str]:
        """Return the values as prices, shape (N,) [currency/kWh], and the currency's name."""
        dimension = parse_unit(self.unit).dimension
        alike = (w for w in CURRENCIES if parse_unit(f"{w}/kWh").dimension == dimension)
        currency = next(alike, None)
        if currency is None:
            raise InputError(f"{self.unit} is no price of energy", self.file, expected="as EUR/MWh")
        return self.to(f"{currency}/kWh"), currency

    def parts(self, letters: int) -> "np.ndarray[tuple[int], np.dtype[np.str_]]":
        """Return the first letters of the stamps: 4 for years, 7 for months, 10 for days."""
        return np.array([stamp.strip()[:letters] for stamp in self.stamps])


def read_series(
    path: Path, column: str, unit: str | None = None, zone: str | None = None
) -> Series:
    """Return a column of a file (CSV, Parquet or netCDF) with the stamps that stand beside it.

    ``unit``: of the column where its header names none, or none that is clear. ``zone``: of stamps
    without offset. Raises InputError when there is no unit, or two that differ, no time stamps or
    uneven ones, or a value is missing.
    """
    data = load_data_file(path.parent, path.name, Conventions(), zone)
    found = data.column(column)
    text = unit or (found.unit_text if found.unit is None else str(found.unit))
    expected = "a header as 'price [EUR/MWh]', or an argument"
    if not text:
        raise InputError(f"the column {column!r} has no unit", path.name, expected=expected)
    try:
        stated = parse_unit(text)
    except UnitError as error:
        raise InputError(f"column {column!r}: {error}", path.name, expected=expected) from None
    said = found.unit or stated
    if (said.dimension, said.factor, said.zero) != (stated.dimension, stated.factor, stated.zero):
        what = f"the header of {column!r} says {said}"
        raise InputError(what, path.name, found=text, expected="the same unit, or none beside it")
    if data.axis is None or data.time_column is None:
        expected = "a column as 2023-01-01T00:00"
        raise InputError("the table has no time stamps", path.name, expected=expected)
    if data.axis.step_seconds is None:
        raise InputError("the table has a single row", path.name, expected="a row for each period")
    stamps = in_iso(data.columns[data.time_column].source.texts())
    seconds, step = data.axis.instants.astype(np.float64), data.axis.step_seconds / HOUR
    if data.axis.zone is not None and not stamp_seconds(stamps)[1]:
        stamps = TimeAxis(seconds, True, data.axis.zone).labels
    return Series(path.name, found.name, found.numbers(), text, seconds, stamps, step)


def same_periods(one: Series, other: Series) -> None:
    """Refuse two series that are not of the same periods."""
    if len(one.seconds) != len(other.seconds) or np.any(one.seconds != other.seconds):
        found = f"{other.stamps[0]} to {other.stamps[-1]}, every {other.step_hours:g} h"
        expected = f"{one.stamps[0]} to {one.stamps[-1]}, every {one.step_hours:g} h"
        raise InputError("the periods are others", other.file, found=found, expected=expected)
