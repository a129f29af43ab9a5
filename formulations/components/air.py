"""Air handlers and their boxes as an optimiser sees them: air that heats and cools zones."""

from engiagent.formulations.components.fragment import CAPACITY, PHYSICS, connection_of
from engiagent.formulations.components.machines import check_zone
from engiagent.formulations.components.reader import Reader
from engiagent.models.hvac.fluids import DRY_AIR_HEAT


def air_handler(reader: Reader) -> None:
    r"""Add an air handler: outdoor and return air mixed, heated or cooled, and blown into a zone.

    .. math::
        T^m_t = a_t T^{out}_t + (1 - a_t) T^z_t, \qquad
        \dot m_t c_p (T^s_t - T^m_t) = \dot Q^h_t - \dot Q^c_t, \qquad
        \dot Q^z_t = \dot m_t c_p (T^z_t - T^s_t), \qquad P_t = P_r (\dot m_t/\dot m_r)^3

    with the share :math:`a` of outdoor air (the economiser), the temperature :math:`T^s` of the
    supply air and the flow :math:`\dot m` as decisions, and the zone's temperature :math:`T^z` at
    the start of the period. The zone is one of model ``thermal_zone``, which :math:`\dot Q^z` cools
    (and heats where it is negative). With boxes (``vav_box``) in place of a zone the flow is the
    sum of theirs and the return air their mixture,

    .. math::
        c_p \sum_b \dot m_{bt} \big(T^s_t - T^z_{bt} - a_t (T^{out}_t - T^z_{bt})\big)
        = \dot Q^h_t - \dot Q^c_t

    Products of decisions make it a nonlinear programme.
    """
    served = _served(reader)
    name, outdoor = reader.name, reader.text("outdoor_temperature")
    rated, power = reader.text("rated_flow"), reader.text("rated_power")
    flow, share = f"{name}_flow[t]", f"{name}_outdoor_share[t]"
    supply = f"{name}_supply_temperature[t]"
    least = reader.optional("minimum_flow")
    low = f"{least}*{rated}" if least else 0
    reader.variable("flow", "supply air", lower=low, upper=rated, of="rated_flow minimum_flow")
    low, high = reader.optional("outdoor_share_min") or 0, reader.optional("outdoor_share_max") or 1
    words, slots = "share of outdoor air", "outdoor_share_min"
    reader.variable("outdoor_share", words, lower=low, upper=high, of=slots)
    words, slots = "temperature of the supply air", "supply_temperature_min supply_temperature_max"
    low, high = (reader.text(slot) for slot in slots.split())
    reader.variable("supply_temperature", words, lower=low, upper=high, of=slots)
    tops = {way: reader.optional(f"{way}_power_max") or 0 for way in ("heating", "cooling")}
    coils = {}
    for way, words in (("heating", "heat of its coil"), ("cooling", "cold of its coil")):
        of = f"{way}_power_max"
        coils[way] = reader.variable(f"{way}_coil", words, upper=tops[way], of=of)
    streams = [(f"{part}*{DRY_AIR_HEAT}[kJ/(kg*K)]", zone) for part, zone in served]
    taken = [f"{s}*({supply} - {z} - {share}*({outdoor} - {z}))" for s, z in streams]
    text = f"{' + '.join(taken)} == {coils['heating']} - {coils['cooling']}"
    reader.row("coils", text, "heat balance", PHYSICS)
    use = " + ".join(f"{stream}*({zone} - {supply})" for stream, zone in streams)
    reader.expression("cooling", use, "use")
    used = reader.expression("electric_power", f"{power}*({flow}/{rated})**3", "fan power")
    if reader.connection("zone") is None:
        total = " + ".join(part for part, _ in served)
        reader.row("flows", f"{flow} == {total}", "flow of the boxes", PHYSICS)
    else:
        zone = served[0][1]
        text = f"{zone} + {share}*({outdoor} - {zone})"
        reader.expression("mixed_temperature", text, "mixed air")
    reader.terminal(used, power, supplies=False)
    for way, bus in (("heating", "heat_bus"), ("cooling", "cooling_bus")):
        limit = str(tops[way]) if tops[way] else "0[kW]"
        reader.terminal(coils[way], limit, supplies=False, port=bus)


def _served(reader: Reader) -> list[tuple[str, str]]:
    """Return flow and temperature of every zone that gets air, in period ``t``."""
    zone, parts = reader.connection("zone"), reader.around.core.components
    boxes = [
        part
        for part in parts
        if part.model == "vav_box" and connection_of(part, "air_handler") == reader.name
    ]
    if (zone is None) != bool(boxes):
        known = [c.name for c in parts if c.model == "thermal_zone"]
        raise reader.wrong(
            "it serves no zone" if zone is None else "it serves a zone and boxes",
            found=None if zone is None else ", ".join([str(zone), *(box.name for box in boxes)]),
            expected=f"a zone ({', '.join(known) or 'a component of model thermal_zone'}) or boxes "
            "of model vav_box that name it",
        )
    if zone is not None:
        check_zone(reader)
        return [(f"{reader.name}_flow[t]", f"{zone}_temperature[t]")]
    return [(f"{b.name}_flow[t]", f"{connection_of(b, 'zone')}_temperature[t]") for b in boxes]


def vav_box(reader: Reader) -> None:
    r"""Add a box for variable air volume with reheat: air of an air handler into a zone of its own.

    .. math::
        0 \le \dot Q^{rh}_t \le \dot m_t c_p (T^{d,\max} - T^s_t), \qquad
        \dot Q^z_t = \dot m_t c_p (T^z_t - T^s_t) - \dot Q^{rh}_t

    with the flow :math:`\dot m` and the reheat as decisions and the supply temperature :math:`T^s`
    of the air handler, which serves its boxes instead of a zone: its flow is the sum of theirs. A
    box that is controlled by one signal (dual maximum) does some of what is possible here.
    """
    check_zone(reader)
    for port, model in (("air_handler", "air_handler"), ("zone", "thermal_zone")):
        message = f"its connection {port} names no {model} of its time set"
        reader.neighbour(port, model, message, timed=True)
    zone = f"{reader.connection('zone')}_temperature[t]"
    supply = f"{reader.connection('air_handler')}_supply_temperature[t]"
    low, high = reader.optional("flow_min") or 0, reader.text("flow_max")
    words, of = "air into the zone", "flow_min flow_max"
    stream = reader.variable("flow", words, lower=low, upper=high, of=of)
    stream = f"{stream}*{DRY_AIR_HEAT}[kJ/(kg*K)]"
    most = reader.optional("reheat_max") or 0
    reheat = reader.variable("reheat", "heat of its coil", upper=most, of="reheat_max")
    reader.expression("cooling", f"{stream}*({zone} - {supply}) - {reheat}", "use")
    slot = "discharge_temperature_max"
    if warmest := reader.optional(slot):
        text = f"{reheat} <= {stream}*({warmest} - {supply})"
        reader.row(slot, text, "discharge temperature", CAPACITY, of=slot)
    reader.terminal(reheat, str(most) if most else "0[kW]", supplies=False, port="heat_bus")
