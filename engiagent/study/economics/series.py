"""A column of a table with its time stamps: prices, powers, factors of even periods."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from engiagent.blueprint.stamps import parse_stamp, stamp_seconds
from engiagent.errors import InputError
from engiagent.io.tabular import TableFile, read_table
from engiagent.study.economics.cashflow import Floats
from engiagent.units.unit import CURRENCIES, conversion, parse_unit

HOUR = 3600.0


@dataclass(frozen=True, eq=False)
class Series:
    """Numbers of even periods; a stamp names the start of its period."""

    file: str
    column: str
    values: Floats  # shape (N,). [unit]
    unit: str
    seconds: Floats  # of the stamps, shape (N,). [s]
    stamps: tuple[str, ...]  # as the file has them
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


def read_series(path: Path, column: str, unit: str | None = None) -> Series:
    """Return a column of a file (CSV, Parquet or netCDF) with the stamps that stand beside it.

    ``unit``: of the column where its header names none. Raises InputError when there is no unit, no
    time stamps or uneven ones, or a value is missing.
    """
    table = read_table(path.parent, path.name)
    found = table.column(column)
    text = found.unit_text or unit
    if not text:
        said = f"the column {column!r} has no unit"
        raise InputError(said, path.name, expected="a header as 'price [EUR/MWh]', or one")
    values = found.numbers()
    if not np.isfinite(values).all():
        raise found.error(int(np.argmin(np.isfinite(values))), "no number")
    seconds, stamps = _stamps(table, path.name)
    steps = np.diff(seconds)
    if not len(steps) or np.any(steps != steps[0]) or steps[0] <= 0:
        place = int(np.argmax(steps != steps[0])) + 1 if len(steps) else 0
        raise InputError(f"the time stamps are not even at row {place + 1}", path.name)
    return Series(path.name, column, values, text, seconds, stamps, float(steps[0]) / HOUR)


def same_periods(one: Series, other: Series) -> None:
    """Refuse two series that are not of the same periods."""
    if len(one.seconds) != len(other.seconds) or np.any(one.seconds != other.seconds):
        found = f"{other.stamps[0]} to {other.stamps[-1]}, every {other.step_hours:g} h"
        expected = f"{one.stamps[0]} to {one.stamps[-1]}, every {one.step_hours:g} h"
        raise InputError("the periods are others", other.file, found=found, expected=expected)


def _stamps(table: TableFile, file: str) -> tuple[Floats, tuple[str, ...]]:
    for column in table.columns.values():
        if column.is_text and len(column) > 0 and parse_stamp(column.texts()[0]) is not None:
            texts = column.texts()
            seconds, _ = stamp_seconds(texts)
            if not np.isfinite(seconds).all():
                raise column.error(int(np.argmin(np.isfinite(seconds))), "no time stamp")
            return seconds, texts
    raise InputError("the table has no time stamps", file, expected="a column as 2023-01-01T00:00")
