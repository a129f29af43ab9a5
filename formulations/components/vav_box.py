r"""A box for variable air volume with reheat: air of an air handler into a zone of its own.

.. math::
    0 \le \dot Q^{rh}_t \le \dot m_t c_p (T^{d,\max} - T^s_t), \qquad
    \dot Q^z_t = \dot m_t c_p (T^z_t - T^s_t) - \dot Q^{rh}_t

with the flow :math:`\dot m` and the reheat as decisions and the supply temperature :math:`T^s` of
the air handler, which serves its boxes instead of a zone: its flow is the sum of theirs. A box
that is controlled by one signal (dual maximum) does some of what is possible here.
"""

from engiagent.blueprint.document import ComponentDef
from engiagent.formulations.components import converters
from engiagent.formulations.components.fragment import CAPACITY, connection_of
from engiagent.formulations.components.reader import Reader
from engiagent.models.hvac.moist_air import DRY_AIR_HEAT


def declare(reader: Reader) -> None:
    """Add the algebra of a box."""
    converters.check_zone(reader)
    for port, model in (("air_handler", "air_handler"), ("zone", "thermal_zone")):
        message = f"its connection {port} names no {model} of its time set"
        reader.neighbour(port, model, message, timed=True)
    name, zone = reader.name, f"{reader.connection('zone')}_temperature[t]"
    supply = f"{reader.connection('air_handler')}_supply_temperature[t]"
    flow, reheat = f"{name}_flow[t]", f"{name}_reheat[t]"
    stream = f"{flow}*{DRY_AIR_HEAT}[kJ/(kg*K)]"
    most = reader.optional("reheat_max") or 0
    reader.variable(
        "flow",
        "air into the zone",
        lower=reader.optional("flow_min") or 0,
        upper=reader.text("flow_max"),
        of="flow_min flow_max",
    )
    reader.variable("reheat", "heat of its coil", upper=most, of="reheat_max")
    reader.expression("cooling", f"{stream}*({zone} - {supply}) - {reheat}", "use")
    warmest = reader.optional("discharge_temperature_max")
    if warmest:
        reader.row(
            "discharge_temperature_max",
            f"{reheat} <= {stream}*({warmest} - {supply})",
            "discharge temperature",
            CAPACITY,
            of="discharge_temperature_max",
        )
    limit = str(most) if most else "0[kW]"
    reader.terminal(reheat, limit, supplies=False, port="heat_bus")


def boxes_of(reader: Reader) -> list[ComponentDef]:
    """Return the boxes that an air handler serves, in the order of the blueprint."""
    return [
        part
        for part in reader.around.core.components
        if part.model == "vav_box" and connection_of(part, "air_handler") == reader.name
    ]
