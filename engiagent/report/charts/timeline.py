"""Horizontal axes: time in its zone, clock time, numbers; and the ticks of both directions."""

import math
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Literal
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import numpy as np
import numpy.typing as npt

from engiagent.report.charts import numerals

Floats = npt.NDArray[np.float64]
Kind = Literal["time", "clock", "number", "value", "label"]
Tick = tuple[float, str]

_MINUTE, _HOUR, _DAY = 60, 3600, 86400
_STEPS = (
    *(_MINUTE * m for m in (1, 2, 5, 10, 15, 30)),
    *(_HOUR * h for h in (1, 2, 3, 6, 12)),
    *(_DAY * d for d in (1, 2, 7, 14)),
)
_MONTHS = (1, 2, 3, 6, 12, 24, 60, 120)


@dataclass(frozen=True, eq=False)
class Axis:
    """The labels of one dimension as places on a line."""

    name: str  # the dimension
    # ``time`` (seconds since 1970 in UTC, or in local time when ``zone`` is None), ``clock``
    # (seconds since midnight), ``number`` (of a period), ``value`` for any number, or ``label`` for
    # what has no order in time
    kind: Kind
    places: Floats  # where each label is, shape (n,)
    labels: tuple[str, ...]  # every label as text
    zone: str | None = None

    @property
    def edges(self) -> Floats:
        """The places with the end of the last period, shape (n + 1,).

        The last period is taken to be as long as the one before.
        """
        if len(self.places) < 2:
            return np.append(self.places, self.places + 1.0)
        return np.append(self.places, 2 * self.places[-1] - self.places[-2])

    @property
    def title(self) -> str:
        """What the axis shows, for its caption."""
        if self.kind == "time":
            return self.zone or "local time"
        return "time of day" if self.kind == "clock" else self.name

    def ticks(self, low: float, high: float, most: int) -> list[Tick]:
        """Return at most about ``most`` ticks between two places."""
        if self.kind == "time":
            return time_ticks(low, high, most, self.zone)
        if self.kind == "clock":
            return clock_ticks(low, high, most)
        if self.kind == "label":
            return list(zip(self.places.tolist(), self.labels, strict=True))
        if self.kind == "value":
            return [(x, numerals.number(x, 6)) for x in nice_ticks(low, high, most // 2)]
        return [(x, f"{x:g}") for x in nice_ticks(low, high, most) if x == round(x)]


def read_axis(coordinate: Any) -> Axis:
    """Return the axis of a dimension's coordinate (an :class:`xarray.DataArray`)."""
    values, name = np.asarray(coordinate.values), str(coordinate.name)
    if np.issubdtype(values.dtype, np.datetime64):
        zone = coordinate.attrs.get("zone") or None
        zone = zone if isinstance(zone, str) and _zone(zone) else None
        seconds = values.astype("datetime64[s]").astype(np.float64)
        return Axis(name, "time", seconds, tuple(time_label(x, zone) for x in seconds), zone)
    if np.issubdtype(values.dtype, np.number):
        numbers = values.astype(np.float64)
        return Axis(name, "number", numbers, tuple(f"{x:g}" for x in numbers))
    labels = tuple(str(value) for value in values)
    return Axis(name, "label", np.arange(len(labels), dtype=np.float64), labels)


def time_label(seconds: float, zone: str | None) -> str:
    """Return an instant as ``2025-06-14 13:00``, with the offset where there is a zone."""
    local = _local(seconds, zone)
    text = local.strftime("%Y-%m-%d %H:%M")
    offset = local.strftime("%z") if zone else ""
    return f"{text}{offset[:3]}:{offset[3:5]}" if offset else text


def nice_ticks(low: float, high: float, most: int) -> list[float]:
    """Return round numbers between two values: 1, 2 or 5 times a power of ten apart.

    >>> nice_ticks(0.0, 10.0, 5)
    [0.0, 2.0, 4.0, 6.0, 8.0, 10.0]
    """
    span = high - low
    if not (math.isfinite(span) and span > 0):
        return [low] if math.isfinite(low) else []
    raw = span / max(most, 1)
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(power * m for m in (1, 2, 5, 10) if power * m >= raw * 0.999999)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    decimals = max(-math.floor(math.log10(step)), 0)
    return [round(index * step, decimals) for index in range(first, last + 1)]


def clock_ticks(low: float, high: float, most: int) -> list[Tick]:
    """Return ticks at round times of day."""
    step = _step(high - low, most) or math.ceil((high - low) / most / _DAY) * _DAY
    first, last = math.ceil(low / step), math.floor(high / step)
    places = [float(index * step) for index in range(first, last + 1)]
    return [(x, f"{int(x) // _HOUR % 24:02d}:{int(x) // _MINUTE % 60:02d}") for x in places]


def time_ticks(low: float, high: float, most: int, zone: str | None) -> list[Tick]:
    """Return ticks at round wall-clock times of the zone; midnight shows its date."""
    step = _step(high - low, most)
    if step is None:
        return _month_ticks(low, high, most, zone)
    start = _local(low, zone).replace(hour=0, minute=0, second=0, microsecond=0, tzinfo=None)
    ticks: dict[float, str] = {}
    wall = start
    # Wall-clock steps: a round hour stays round on the days on which the clocks change.
    while (place := _instant(wall, zone)) <= high:
        exists = _local(place, zone).replace(tzinfo=None) == wall
        if place >= low and exists:
            midnight = wall.hour == wall.minute == 0
            ticks[place] = f"{wall.day} {wall:%b}" if midnight else f"{wall:%H:%M}"
        wall += timedelta(seconds=step)
    return sorted(ticks.items())


def _month_ticks(low: float, high: float, most: int, zone: str | None) -> list[Tick]:
    first, last = _local(low, zone), _local(high, zone)
    total = (last.year - first.year) * 12 + last.month - first.month
    step = next((m for m in _MONTHS if total / m <= most), _MONTHS[-1])
    ticks: list[Tick] = []
    for month in range(first.year * 12 + first.month - 1, last.year * 12 + last.month, 1):
        wall = datetime(month // 12, month % 12 + 1, 1)
        place = _instant(wall, zone)
        if month % step == 0 and low <= place <= high:
            with_year = wall.month == 1 or not ticks
            name = wall.strftime("%b %Y" if with_year else "%b") if step < 12 else str(wall.year)
            ticks.append((place, name))
    return ticks


def _step(span: float, most: int) -> int | None:
    return next((step for step in _STEPS if span / step <= most), None)


def _zone(name: str | None) -> ZoneInfo | None:
    try:
        return ZoneInfo(name) if name else None
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return None


def _local(seconds: float, zone: str | None) -> datetime:
    moment = datetime.fromtimestamp(seconds, UTC)
    return moment.astimezone(_zone(zone)) if zone else moment.replace(tzinfo=None)


def _instant(wall: datetime, zone: str | None) -> float:
    return wall.replace(tzinfo=_zone(zone) or UTC).timestamp()
