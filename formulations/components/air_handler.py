r"""An air handler: outdoor and return air mixed, heated or cooled, and blown into a zone.

.. math::
    T^m_t = a_t T^{out}_t + (1 - a_t) T^z_t, \qquad
    \dot m_t c_p (T^s_t - T^m_t) = \dot Q^h_t - \dot Q^c_t, \qquad
    \dot Q^z_t = \dot m_t c_p (T^z_t - T^s_t), \qquad P_t = P_r (\dot m_t/\dot m_r)^3

with the share :math:`a` of outdoor air (the economiser), the temperature :math:`T^s` of the supply
air and the flow :math:`\dot m` as decisions, and the zone's temperature :math:`T^z` at the start
of the period. The zone is one of model ``thermal_zone``, which :math:`\dot Q^z` cools (and heats
where it is negative). With boxes (``vav_box``) in place of a zone the flow is the sum of theirs and
the return air their mixture,

.. math::
    c_p \sum_b \dot m_{bt} \big(T^s_t - T^z_{bt} - a_t (T^{out}_t - T^z_{bt})\big)
    = \dot Q^h_t - \dot Q^c_t

Products of decisions make it a nonlinear programme.
"""

from engiagent.formulations.components import converters
from engiagent.formulations.components.fragment import PHYSICS, connection_of
from engiagent.formulations.components.reader import Reader
from engiagent.formulations.components.vav_box import boxes_of
from engiagent.models.hvac.moist_air import DRY_AIR_HEAT


def declare(reader: Reader) -> None:
    """Add the algebra of an air handler."""
    served = _served(reader)
    name = reader.name
    rated = reader.text("rated_flow")
    least = reader.optional("minimum_flow")
    flow, share = f"{name}_flow[t]", f"{name}_outdoor_share[t]"
    supply, outdoor = f"{name}_supply_temperature[t]", reader.text("outdoor_temperature")
    power = reader.text("rated_power")
    heat, cold = f"{name}_heating_coil[t]", f"{name}_cooling_coil[t]"
    streams = [(f"{part}*{DRY_AIR_HEAT}[kJ/(kg*K)]", zone) for part, zone in served]
    taken = [f"{s}*({supply} - {z} - {share}*({outdoor} - {z}))" for s, z in streams]
    coils = f"{' + '.join(taken)} == {heat} - {cold}"
    use = " + ".join(f"{stream}*({zone} - {supply})" for stream, zone in streams)
    tops = {way: reader.optional(f"{way}_power_max") or 0 for way in ("heating", "cooling")}
    reader.variable(
        "flow",
        "supply air",
        lower=f"{least}*{rated}" if least else 0,
        upper=rated,
        of="rated_flow minimum_flow",
    )
    reader.variable(
        "outdoor_share",
        "share of outdoor air",
        lower=reader.optional("outdoor_share_min") or 0,
        upper=reader.optional("outdoor_share_max") or 1,
        of="outdoor_share_min",
    )
    reader.variable(
        "supply_temperature",
        "temperature of the supply air",
        lower=reader.text("supply_temperature_min"),
        upper=reader.text("supply_temperature_max"),
        of="supply_temperature_min supply_temperature_max",
    )
    reader.variable(
        "heating_coil", "heat of its coil", upper=tops["heating"], of="heating_power_max"
    )
    reader.variable(
        "cooling_coil", "cold of its coil", upper=tops["cooling"], of="cooling_power_max"
    )
    reader.row("coils", coils, "heat balance", PHYSICS)
    reader.expression("cooling", use, "use")
    reader.expression("electric_power", f"{power}*({flow}/{rated})**3", "fan power")
    if reader.connection("zone") is None:
        total = " + ".join(part for part, _ in served)
        reader.row("flows", f"{flow} == {total}", "flow of the boxes", PHYSICS)
    else:
        zone = served[0][1]
        reader.expression(
            "mixed_temperature", f"{zone} + {share}*({outdoor} - {zone})", "mixed air"
        )
    reader.terminal(f"{name}_electric_power[t]", power, supplies=False)
    for way, term in (("heating", heat), ("cooling", cold)):
        bus = "heat_bus" if way == "heating" else "cooling_bus"
        limit = str(tops[way]) if tops[way] else "0[kW]"
        reader.terminal(term, limit, supplies=False, port=bus)


def _served(reader: Reader) -> list[tuple[str, str]]:
    """Return flow and temperature of every zone that gets air, in period ``t``."""
    zone, boxes = reader.connection("zone"), boxes_of(reader)
    if (zone is None) != bool(boxes):
        core = reader.around.core
        known = [c.name for c in core.components if c.model == "thermal_zone"]
        raise reader.wrong(
            "it serves no zone" if zone is None else "it serves a zone and boxes",
            found=None if zone is None else ", ".join([str(zone), *(box.name for box in boxes)]),
            expected=f"a zone ({', '.join(known) or 'a component of model thermal_zone'}) or boxes "
            "of model vav_box that name it",
        )
    if zone is not None:
        converters.check_zone(reader)
        return [(f"{reader.name}_flow[t]", f"{zone}_temperature[t]")]
    return [
        (f"{box.name}_flow[t]", f"{connection_of(box, 'zone')}_temperature[t]") for box in boxes
    ]
