"""Elements of a grid and numbers in words."""

import math
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

import numpy as np

if TYPE_CHECKING:
    from engiagent.formulations.program import Coordinate, Program
    from engiagent.solvers.iis import Member

MOST: Final = 3
"""How many runs of elements are listed."""


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


def where_of(member: "Member", program: "Program") -> str:
    """Return at which elements a member takes part; empty for all of them and for a scalar."""
    if not member.shape or len(member.positions) == math.prod(member.shape):
        return ""
    places = np.unravel_index(np.asarray(member.positions), member.shape)
    pieces = []
    for name, size, found in zip(member.sets, member.shape, places, strict=True):
        wanted = np.unique(found)
        if wanted.size == size:
            continue
        coordinate = program.coordinates.get(name)
        labels = [_label(coordinate, int(k)) for k in range(size)]
        pieces.append(f"{name}: {_runs(wanted, labels)}")
    return "; ".join(pieces)


def _runs(wanted: Any, labels: list[str]) -> str:
    starts = [0, *(k + 1 for k, (a, b) in enumerate(pairwise(wanted)) if b != a + 1)]
    ends = [*(s - 1 for s in starts[1:]), len(wanted) - 1]
    runs = [
        labels[wanted[a]] if a == b else f"{labels[wanted[a]]} to {labels[wanted[b]]}"
        for a, b in zip(starts, ends, strict=True)
    ]
    more = f" and {len(runs) - MOST} more" if len(runs) > MOST else ""
    return ", ".join(runs[:MOST]) + more


def _label(coordinate: "Coordinate | None", position: int) -> str:
    if coordinate is None:
        return str(position + 1)
    value = coordinate.values[position]
    if not isinstance(value, np.datetime64):
        return str(value)
    if coordinate.zone is None:
        return str(value.astype("datetime64[m]")).replace("T", " ")
    from datetime import UTC, datetime
    from zoneinfo import ZoneInfo

    seconds = int(value.astype("datetime64[s]").astype(np.int64))
    moment = datetime.fromtimestamp(seconds, UTC).astimezone(ZoneInfo(coordinate.zone))
    return moment.strftime("%Y-%m-%d %H:%M")
