"""Elements of a grid, numbers, units and gains in words."""

import math
from collections.abc import Iterator, Sequence
from datetime import UTC, date, datetime, timedelta
from itertools import pairwise
from typing import Any, Final
from zoneinfo import ZoneInfo

import numpy as np

from engiagent.formulations.program import Coordinate, Program
from engiagent.units.unit import CURRENCIES, UnitError, parse_unit

MOST: Final = 3
"""How many runs of elements are listed."""
_TIMES: Final = ("time", "instants")


def shown(value: object, unit: str | None) -> str:
    """Return a number with its unit.

    >>> shown(1500.0, "kWh")
    '1 500 kWh'
    """
    if not isinstance(value, int | float):
        return str(value)
    text = f"{value:,.6g}".replace(",", " ") if math.isfinite(value) else "no limit"
    unit = "°C" if unit == "degC" else unit
    return f"{text} {unit}" if unit not in (None, "", "1") else text


def where_of(sets: Sequence[str], shape: Sequence[int], positions: Any, program: Program) -> str:
    """Return at which elements of a grid something is; empty for all of them and for a scalar.

    ``positions``: places on the flattened grid; runs of periods are told as half-open ranges of the
    clock, runs of instants with both ends.
    """
    wanted = np.unique(np.asarray(positions, dtype=np.int64))
    if not shape or len(wanted) in (0, math.prod(shape)):
        return ""
    coordinates = [program.coordinates.get(name) for name in sets]
    places = np.stack(np.unravel_index(wanted, tuple(shape)), axis=1)
    along = _along(coordinates)
    groups: dict[tuple[int, ...], list[int]] = {}
    for place in places.tolist():
        groups.setdefault(tuple(place[:along] + place[along + 1 :]), []).append(place[along])
    others = [c for k, c in enumerate(coordinates) if k != along]
    said: dict[str, list[str]] = {}
    for key, found in groups.items():
        whole = len(found) == shape[along]
        runs = "" if whole and key else _runs(coordinates[along], found)
        labels = ", ".join(_label(c, k) for c, k in zip(others, key, strict=True))
        said.setdefault(runs, []).append(labels)
    return "; ".join(_some(_group(labels, runs) for runs, labels in said.items()))


def _group(labels: list[str], runs: str) -> str:
    named = ", ".join(_some(label for label in labels if label))
    return ": ".join(part for part in (named, runs) if part)


def _some(pieces: Iterator[str]) -> list[str]:
    listed = list(pieces)
    if len(listed) <= MOST + 1:
        return listed
    return [*listed[:MOST], f"and {len(listed) - MOST} more"]


def _along(coordinates: Sequence[Coordinate | None]) -> int:
    """Return the axis along which runs are told: the last one of time, else the last."""
    times = [k for k, c in enumerate(coordinates) if c is not None and c.kind in _TIMES]
    return times[-1] if times else len(coordinates) - 1


def _runs(coordinate: Coordinate | None, found: list[int]) -> str:
    starts = [0, *(k + 1 for k, (a, b) in enumerate(pairwise(found)) if b != a + 1)]
    ends = [*(s - 1 for s in starts[1:]), len(found) - 1]
    runs = [(found[a], found[b]) for a, b in zip(starts, ends, strict=True)]
    if coordinate is None or not np.issubdtype(coordinate.values.dtype, np.datetime64):
        said = [
            _label(coordinate, a)
            if a == b
            else f"{_label(coordinate, a)} to {_label(coordinate, b)}"
            for a, b in runs[:MOST]
        ]
    else:
        said = [_clock_run(coordinate, a, b) for a, b in runs[:MOST]]
    more = f" and {len(runs) - MOST} more" if len(runs) > MOST else ""
    return ", ".join(said) + more


def _clock_run(coordinate: Coordinate, first: int, last: int) -> str:
    """Return ``07:00–09:00 on 11 Nov`` for periods, ``07:00 to 09:00 on 11 Nov`` for instants."""
    years = len({_moment(coordinate, k).year for k in (0, coordinate.size - 1)}) > 1
    start, instants = _moment(coordinate, first), coordinate.kind != "time"
    if instants and first == last:
        return f"{start:%H:%M} on {_day(start.date(), years)}"
    end = _moment(coordinate, last) if instants else _end(coordinate, last)
    dash = " to " if instants else "–"
    if end is None:
        return f"from {start:%H:%M} on {_day(start.date(), years)}"
    midnight = not instants and (end.hour, end.minute) == (0, 0)
    day = (end - timedelta(days=1)).date() if midnight else end.date()
    clock = "24:00" if midnight else f"{end:%H:%M}"
    if day == start.date():
        return f"{start:%H:%M}{dash}{clock} on {_day(day, years)}"
    return f"{start:%H:%M} on {_day(start.date(), years)} to {clock} on {_day(day, years)}"


def _day(day: date, with_year: bool) -> str:
    return f"{day.day} {day:%b %Y}" if with_year else f"{day.day} {day:%b}"


def _moment(coordinate: Coordinate, position: int) -> datetime:
    value = coordinate.values[position]
    seconds = int(value.astype("datetime64[s]").astype(np.int64))
    moment = datetime.fromtimestamp(seconds, UTC)
    if coordinate.zone is None:
        return moment
    return moment.astimezone(ZoneInfo(coordinate.zone))


def _end(coordinate: Coordinate, position: int) -> datetime | None:
    """Return when a period ends: where the next starts; the last is as long as the one before."""
    if position + 1 < coordinate.size:
        return _moment(coordinate, position + 1)
    if position == 0:
        return None
    values = coordinate.values.astype("datetime64[s]").astype(np.int64)
    step = timedelta(seconds=int(values[position] - values[position - 1]))
    last = _moment(coordinate, position)
    return (last.astimezone(UTC) + step).astimezone(last.tzinfo)


def _label(coordinate: Coordinate | None, position: int) -> str:
    if coordinate is None:
        return str(position + 1)
    value = coordinate.values[position]
    dated = isinstance(value, np.datetime64)
    return _clock_run(coordinate, position, position) if dated else str(value)


def difference_unit(unit: str) -> str:
    """Return the unit of a change: K for degC; an unreadable unit stays as it is.

    >>> difference_unit("degC"), difference_unit("kW")
    ('K', 'kW')
    """
    try:
        return parse_unit(unit).difference().text
    except UnitError:
        return unit


def is_point(unit: str) -> bool:
    """Whether a unit measures points on a scale, whose zero means nothing."""
    try:
        return parse_unit(unit).is_point
    except UnitError:
        return False


def is_money(unit: str) -> bool:
    """Whether a unit is one of a currency and nothing else.

    >>> is_money("ct_EUR"), is_money("EUR/kWh"), is_money("kWh")
    (True, False, False)
    """
    try:
        dimension = parse_unit(unit).dimension
        return len(dimension) == 1 and dimension[0][1] == 1 and dimension[0][0] in CURRENCIES
    except UnitError:
        return False


def gain_words(amount: float, unit: str, sense: str, name: str) -> str:
    """Return what an improvement does to the objective.

    >>> gain_words(0.35, "EUR", "minimize", "cost")
    'save 0.35 EUR'
    >>> gain_words(12.0, "kg", "minimize", "emissions")
    'lower emissions by 12 kg'
    """
    if is_money(unit):
        return f"{'save' if sense == 'minimize' else 'earn'} {shown(amount, unit)}"
    verb = "lower" if sense == "minimize" else "raise"
    return f"{verb} {name} by {shown(amount, unit)}"


def price_unit(objective: str, unit: str) -> str:
    """Return the unit of the objective by a quantity.

    >>> price_unit("EUR", "degC"), price_unit("EUR", "kW"), price_unit("EUR", "1")
    ('EUR/K', 'EUR/kW', 'EUR')
    """
    over = difference_unit(unit)
    if over in ("", "1"):
        return objective
    plain = over.replace("_", "").isalnum()
    return f"{objective}/{over}" if plain else f"{objective}/({over})"
