"""Prices of several years from a table, split by calendar year."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from engiagent.blueprint.stamps import parse_stamp, stamp_seconds
from engiagent.errors import InputError
from engiagent.io.tabular import TableFile, read_table
from engiagent.study.economics.cashflow import Floats
from engiagent.units.unit import CURRENCIES, conversion, parse_unit

HOUR = 3600.0
YEAR_HOURS = 8760.0


@dataclass(frozen=True)
class Prices:
    """Prices per kWh by year."""

    # by the year's name the price of each period, shape (N,). [currency/kWh]
    years: Mapping[str, Floats]
    step_hours: float  # length of a period. [h]
    currency: str  # its name


def read_prices(
    path: Path, column: str, *, unit: str | None = None, step_hours: float | None = None
) -> Prices:
    """Return the prices of a column.

    With time stamps (at the start of each period) the years are those of the stamps as written;
    without, every 8760 h in the order of the rows.

    ``path``, ``column``: the file (CSV, Parquet or netCDF) and the column. ``unit``: of the prices,
    where the header names none. ``step_hours``: length of a period, where there are no time stamps.
    [h]. Raises InputError when there is no unit or step, stamps are uneven, or a year is not whole.
    """
    table = read_table(path.parent, path.name)
    found = table.column(column)
    text = found.unit_text or unit
    if not text:
        raise InputError(
            "the prices have no unit", path.name, expected="a header as 'price [EUR/MWh]', or one"
        )
    given = parse_unit(text)
    currency = _currency(text)
    factor, shift = conversion(given, parse_unit(f"{currency}/kWh"))
    values = found.numbers() * factor + shift
    if not np.isfinite(values).all():
        raise found.error(int(np.argmin(np.isfinite(values))), "no price")
    stamps = _stamps(table)
    if stamps is None:
        if step_hours is None:
            raise InputError("the table has no time stamps", path.name, expected="the step in h")
        return Prices(_in_order(values, step_hours, path.name), step_hours, currency)
    seconds, names = stamps
    steps = np.diff(seconds)
    if not len(steps) or np.any(steps != steps[0]) or steps[0] <= 0:
        place = int(np.argmax(steps != steps[0])) + 1 if len(steps) else 0
        raise InputError(f"the time stamps are not even at row {place + 1}", path.name)
    step = float(steps[0]) / HOUR
    years = {name: values[names == name] for name in dict.fromkeys(names.tolist())}
    for name, series in years.items():
        # A year by the clock may lack an hour, or have one more, where zones change their time.
        if not YEAR_HOURS - 1 - 1e-6 <= len(series) * step <= YEAR_HOURS + 25 + 1e-6:
            raise InputError(
                f"the prices of {name} cover {len(series) * step:g} h",
                path.name,
                expected="whole calendar years",
            )
    return Prices(years, step, currency)


def _currency(unit: str) -> str:
    """Return the currency of a price per energy; ``ct`` of one is that one."""
    dimension = parse_unit(unit).dimension
    for word in CURRENCIES:
        if parse_unit(f"{word}/kWh").dimension == dimension:
            return word
    raise InputError(f"{unit} is no price of energy", expected="a unit as EUR/MWh")


def _stamps(table: TableFile) -> tuple[Floats, np.ndarray[tuple[int], np.dtype[np.str_]]] | None:
    for column in table.columns.values():
        if column.is_text and len(column) > 0 and parse_stamp(column.texts()[0]) is not None:
            texts = column.texts()
            seconds, _ = stamp_seconds(texts)
            if not np.isfinite(seconds).all():
                raise column.error(int(np.argmin(np.isfinite(seconds))), "no time stamp")
            return seconds, np.array([text.strip()[:4] for text in texts])
    return None


def _in_order(values: Floats, step_hours: float, file: str) -> dict[str, Floats]:
    count = YEAR_HOURS / step_hours if step_hours > 0 else np.nan
    if not (np.isfinite(count) and abs(count - round(count)) < 1e-9 and count >= 1):
        raise InputError(f"a step of {step_hours} h does not divide a year", file)
    size = round(count)
    if len(values) % size or not len(values):
        found = f"{len(values)} rows"
        raise InputError(
            "the prices are no whole years", file, found=found, expected=f"{size} each"
        )
    parts = np.split(values, len(values) // size)
    return {f"year {k}": part for k, part in enumerate(parts, 1)}
