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
from engiagent.formulations.components.description import Model
from engiagent.formulations.components.fragment import (
    Fragment,
    Reader,
    Slot,
    Surroundings,
    connection_of,
    wrong,
)
from engiagent.formulations.components.parts import CAPACITY, expression, row, variable
from engiagent.models.hvac.moist_air import DRY_AIR_HEAT

SLOTS = {
    "flow_min": Slot("kg/s", series=True, low=0, default="0", meaning="least flow into the zone"),
    "flow_max": Slot("kg/s", required=True, series=True, low=0, meaning="largest flow"),
    "reheat_max": Slot("kW", series=True, low=0, default="0", meaning="of its coil"),
    "discharge_temperature_max": Slot(
        "degC", series=True, default="no limit", meaning="of the air behind its coil"
    ),
}
CONNECTIONS = ("air_handler", "zone", "heat_bus")


def fragment(component: ComponentDef, around: Surroundings) -> Fragment:
    """Return the algebra of a box."""
    reader = read(component, around)
    converters.check_zone(reader)
    for port, model in (("air_handler", "air_handler"), ("zone", "thermal_zone")):
        _check_connection(reader, port, model)
    name, zone = reader.name, f"{reader.connection('zone')}_temperature[t]"
    supply = f"{reader.connection('air_handler')}_supply_temperature[t]"
    flow, reheat = f"{name}_flow[t]", f"{name}_reheat[t]"
    stream = f"{flow}*{DRY_AIR_HEAT}[kJ/(kg*K)]"
    most = reader.optional("reheat_max") or 0
    result = (
        variable(
            reader,
            "flow",
            "kg/s",
            "air into the zone",
            lower=reader.optional("flow_min") or 0,
            upper=reader.text("flow_max"),
            slots=("flow_min", "flow_max"),
        )
        + variable(reader, "reheat", "kW", "heat of its coil", upper=most, slots=("reheat_max",))
        + expression(reader, "cooling", "kW", f"{stream}*({zone} - {supply}) - {reheat}", "use")
    )
    warmest = reader.optional("discharge_temperature_max")
    if warmest:
        result += row(
            reader,
            "discharge_temperature_max",
            f"{reheat} <= {stream}*({warmest} - {supply})",
            "discharge temperature",
            CAPACITY,
            slots=("discharge_temperature_max",),
        )
    limit = str(most) if most else "0[kW]"
    return result + Fragment(
        terminals=reader.terminal(reheat, limit, supplies=False, port="heat_bus")
    )


def read(component: ComponentDef, around: Surroundings) -> Reader:
    """Return the reader of a box's slots."""
    return Reader(component, around, SLOTS, (), CONNECTIONS)


def boxes_of(reader: Reader) -> list[ComponentDef]:
    """Return the boxes that an air handler serves, in the order of the blueprint."""
    return [
        part
        for part in reader.around.core.components
        if part.model == "vav_box" and connection_of(part, "air_handler") == reader.name
    ]


def _check_connection(reader: Reader, port: str, model: str) -> None:
    name = reader.connection(port)
    part = None if name is None else reader.around.component(str(name))
    if part is None or part.model != model or part.index != reader.component.index:
        known = [
            c.name
            for c in reader.around.core.components
            if c.model == model and c.index == reader.component.index
        ]
        raise wrong(
            reader.component,
            f"its connection {port} names no {model} of its time set",
            found="nothing" if name is None else repr(name),
            expected=", ".join(known) or f"a component of model {model}",
        )


MODEL = Model(
    fragment,
    SLOTS,
    (),
    CONNECTIONS,
    summary="box for variable air volume with reheat, between an air handler and a zone",
    quantities={"flow": "kg/s", "reheat": "kW", "cooling": "kW"},
    problem_class="NLP",
    leaves_out="control by one signal; moisture; leaks; pressure",
    exact_against="hvac.vav_box.VavBox",
)
