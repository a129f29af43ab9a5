"""Air that heats and cools rooms: an air handler with the boxes behind it, as one module."""

from engiagent.models.hvac.fluids import PartLoadFan, air_heat, mixed_air
from engiagent.models.systems.system import (
    Module,
    Outcome,
    Values,
    action,
    clipped,
    disturbance,
    observation,
)

NO_SET_POINT = -273.15
"""Of the supply air, where nobody sets it: that which needs the least heat or cold. [degC]"""


def air_handler(
    fan: PartLoadFan,
    least: float,
    ends: tuple[float, float],
    coils: tuple[float, float],
    warmest: Values,
) -> Module:
    """Return an air handler: its supply temperature and share of outdoor air are actions.

    Its coils bring the mixed air to the ``set_point``, which is between two ``ends`` [degC], as far
    as they can. ``least``: flow of the running fan. [kg/s] ``coils``: powers that heat and cool.
    [kW] ``warmest``: by the part that blows into a room, with its ``flow`` and ``reheat`` as
    actions, the temperature at which the latter ends. [degC]
    """

    def step(state: Values, inputs: Values, step_hours: float) -> Outcome:
        asked = sum(inputs[f"{part}.flow"] for part in warmest)
        total = min(max(asked, least), fan.rated_flow) if asked > 0 else 0.0
        share = total / asked if asked > 0 else 0.0
        flows = {part: share * inputs[f"{part}.flow"] for part in warmest}
        rooms = {part: inputs[f"{part}.room"] for part in warmest}
        back = max(rooms.values())
        if total > 0:
            back = sum(flows[part] * rooms[part] for part in warmest) / total
        mixed = float(mixed_air(inputs["outdoor_share"], inputs["outdoor"], back))
        point = inputs["set_point"]
        supply = min(max(mixed if point == NO_SET_POINT else point, ends[0]), ends[1])
        coil = min(max(float(air_heat(total, mixed, supply)), -coils[1]), coils[0])
        if total > 0:
            supply = mixed + coil / float(air_heat(total, 0.0, 1.0))
        done = {"flow": total, "supply_temperature": supply, "mixed_temperature": mixed}
        for part, flow in flows.items():
            top = float(air_heat(flow, supply, warmest[part])) if flow > 0 else 0.0
            reheat = clipped(inputs[f"{part}.reheat"], max(top, 0.0))
            use = float(air_heat(flow, supply, rooms[part]))
            done |= {
                f"{part}.flow": flow,
                f"{part}.reheat": reheat,
                f"{part}.cooling": use - reheat,
            }
        fresh, power = float(air_heat(total, back, mixed)), float(fan.power(total))
        done |= {"heating_coil": max(coil, 0.0), "cooling_coil": max(-coil, 0.0)}
        done |= {"cooling": float(air_heat(total, supply, back)), "electric_power": power}
        return Outcome(outputs=done, entered=max(fresh, 0.0), left=power + max(-fresh, 0.0))

    ports = (
        action("set_point", "degC", default=NO_SET_POINT),
        action("outdoor_share", "1", default=0.0),
        disturbance("outdoor", "degC"),
        *(observation(f"{which}_temperature", "degC") for which in ("supply", "mixed")),
        *(observation(name, unit) for name, unit in (("flow", "kg/s"), ("cooling", "kW"))),
        observation("heating_coil", "kW", "thermal", way="takes"),
        observation("cooling_coil", "kW", "thermal", way="gives"),
        observation("electric_power", "kW", "electrical", way="takes"),
        *(
            port
            for part in warmest
            for port in (
                action(f"{part}.flow", "kg/s", default=0.0),
                action(f"{part}.reheat", "kW", "thermal", way="takes", default=0.0),
                disturbance(f"{part}.room", "degC"),
                observation(f"{part}.cooling", "kW", "thermal", way="takes"),
            )
        ),
    )
    return Module(ports=ports, step=step)
