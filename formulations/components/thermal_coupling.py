"""The exact step of rooms that exchange heat: numbers of the matrix exponential as parameters."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from engiagent.blueprint.document import ParameterDef
from engiagent.formulations.components.reader import Reader
from engiagent.models.thermal import ThermalNetwork, ThermalZone

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Room:
    """A zone of a network."""

    reader: Reader  # its slots
    walls: Mapping[str, str]  # resistances [K/kW] to its neighbours, as expressions
    # the heat [kW] into it in period ``t`` as an expression, walls excepted; empty for none
    heat: str


class Rooms(dict[str, Room]):
    """Zones that walls join, by name in the order of the blueprint."""

    @cached_property
    def step(self) -> tuple[Floats, Floats] | None:
        """Transition [-] and response to heat [K/kW] per period, shape (N, n, n).

        None when a number that they need is declared as missing.
        """
        readers = [room.reader for room in self.values()]
        missing = {p.name for p in readers[0].around.core.parameters if p.status == "missing"}
        for room in self.values():
            slots = [room.reader.component.parameters.get(s) for s in ("capacitance", "resistance")]
            if any(value in missing for value in [*slots, *room.walls.values()]):
                return None
        zones = tuple(
            ThermalZone(
                name=name,
                capacitance=room.reader.number("capacitance"),
                resistance=room.reader.number("resistance")
                if room.reader.given("resistance")
                else float("inf"),
                neighbours={o: room.reader.evaluated(r, "K/kW") for o, r in room.walls.items()},
            )
            for name, room in self.items()
        )
        network = ThermalNetwork(zones)
        different, which = np.unique(readers[0].hours(), return_inverse=True)
        pairs = [network.discretise(float(step), "exact") for step in different]
        transition = np.stack([a for a, _ in pairs])[which]
        return transition, np.stack([b[:, 1:] for _, b in pairs])[which]


def exact_step(rooms: Rooms, name: str) -> tuple[tuple[ParameterDef, ...], str]:
    """Return the derived parameters and the equation of one room of a network.

    Raises InputError when the capacitances and resistances cannot be evaluated without data files.
    """
    room = rooms[name]
    transition, response = rooms.step or (None, None)
    own = f"{name}_temperature"
    row, parameters, terms = list(rooms).index(name), [], []
    for column, (other, part) in enumerate(rooms.items()):
        if other != name:
            factor = _derived(room, f"{name}_from_{other}", transition, row, column, "1")
            parameters.append(factor)
            terms.append(f"{_at(factor)}*({other}_temperature[t] - {own}[t])")
        if heat := _heat_above(part, own):
            factor = _derived(room, f"{name}_heat_{other}", response, row, column, "K/kW")
            parameters.append(factor)
            terms.append(f"{_at(factor)}*({heat})")
    return tuple(parameters), f"{own}[t+1] == {own}[t] + {' + '.join(terms)}"


def _at(parameter: ParameterDef) -> str:
    return f"{parameter.name}[t]" if parameter.index else parameter.name


def _heat_above(room: Room, own: str) -> str:
    """Return the heat into a room if the zero of the scale lies at the temperature ``own``."""
    parts = [room.heat] if room.heat else []
    if room.reader.given("resistance"):
        ambient = room.reader.text("ambient_temperature")
        parts.append(f"({ambient} - {own}[t])/{room.reader.text('resistance')}")
    return " + ".join(parts)


def _derived(
    room: Room, name: str, matrices: Floats | None, row: int, column: int, unit: str
) -> ParameterDef:
    parameter = ParameterDef(
        name=name,
        unit=unit,
        description="element of the matrix exponential of the coupled rooms",
        source_reference=room.reader.derived_from(
            "matrix exponential of the network of heat capacities and resistances",
            "capacitance",
            "resistance",
        ),
    )
    if matrices is None:
        return replace(parameter, status="missing")
    values = matrices[:, row, column]
    if np.all(values == values[0]):
        return replace(parameter, value=float(values[0]))
    return replace(parameter, index=(room.reader.time,), value=tuple(map(float, values)))
