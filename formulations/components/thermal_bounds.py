r"""Bounds that the temperatures of a network keep by themselves.

The warmest room gains nothing through its walls, so that it can only warm further while

.. math:: T < T_a + R\,\dot Q^{\max}

holds for it. Hence no temperature ever exceeds the largest of all initial temperatures and all
:math:`T_{a,i,t} + R_i \dot Q^{\max}_{i,t}`, and likewise for the coldest room. This holds for the
differential equation, hence for the exact scheme, for the implicit one, and for the explicit one
when no step is longer than :math:`C_i/(1/R_i + \sum_j 1/R_{ij})`. The bounds are a kelvin wider, so
that they are never active.
"""

from collections.abc import Mapping

from engiagent.errors import EngiagentError
from engiagent.formulations.components.thermal_coupling import Room

MARGIN = "1[K]"
MAX_ROOMS = 24


def bounds(
    rooms: Mapping[str, Room], limits: Mapping[str, tuple[str | None, str | None]]
) -> tuple[str | None, str | None]:
    """Return the lowest and the highest temperature [degC] of a network as expressions.

    ``limits``: the smallest and the largest heat [kW] into each room in period ``t``, walls
    excepted; None where there is no limit.

    Returns None where nothing bounds them.
    """
    if len(rooms) > MAX_ROOMS or not _steps_are_short(rooms):
        return None, None
    lower = _extreme("min", rooms, {name: pair[0] for name, pair in limits.items()})
    upper = _extreme("max", rooms, {name: pair[1] for name, pair in limits.items()})
    return (
        None if lower is None else f"{lower} - {MARGIN}",
        None if upper is None else f"{upper} + {MARGIN}",
    )


def _extreme(
    function: str, rooms: Mapping[str, Room], heat: Mapping[str, str | None]
) -> str | None:
    parts = []
    for name, room in rooms.items():
        reader, most = room.reader, heat[name]
        parts.append(reader.text("initial_temperature"))
        if most is None:
            return None
        if not reader.given("resistance"):
            if most != "0[kW]":
                return None
            continue
        level = reader.text("ambient_temperature")
        if most != "0[kW]":
            level = f"{level} + {reader.text('resistance')}*({most})"
        parts.append(f"{function}({level} for t in {reader.time})")
    return parts[0] if len(parts) == 1 else f"{function}({', '.join(parts)})"


def _steps_are_short(rooms: Mapping[str, Room]) -> bool:
    """Whether the explicit scheme keeps the bounds; the others always do."""
    if next(iter(rooms.values())).reader.option("scheme", "exact") != "euler":
        return True
    try:
        return all(_step_is_short(room) for room in rooms.values())
    except EngiagentError:
        return False


def _step_is_short(room: Room) -> bool:
    reader = room.reader
    resistances = list(room.walls.values())
    if reader.given("resistance"):
        resistances.append(reader.text("resistance"))
    conductance = sum(1.0 / reader.evaluated(text, "K/kW") for text in resistances)
    capacitance = reader.number("capacitance")
    return bool(reader.hours().max() * conductance <= capacitance)
