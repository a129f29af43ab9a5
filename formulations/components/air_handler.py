r"""An air handler: outdoor and return air mixed, heated or cooled, and blown into a zone.

.. math::
    T^m_t = a_t T^{out}_t + (1 - a_t) T^z_t, \qquad
    \dot m_t c_p (T^s_t - T^m_t) = \dot Q^h_t - \dot Q^c_t, \qquad
    \dot Q^z_t = \dot m_t c_p (T^z_t - T^s_t), \qquad P_t = P_r (\dot m_t/\dot m_r)^3

with the share :math:`a` of outdoor air (the economiser), the temperature :math:`T^s` of the supply
air and the flow :math:`\dot m` as decisions, and the zone's temperature :math:`T^z` at the start
of the period. The zone is one of model ``thermal_zone``, which :math:`\dot Q^z` cools (and heats
where it is negative). Products of decisions make it a nonlinear programme.
"""

from engiagent.blueprint.document import ComponentDef
from engiagent.formulations.components import converters
from engiagent.formulations.components.description import Model
from engiagent.formulations.components.fragment import Fragment, Reader, Slot, Surroundings, wrong
from engiagent.formulations.components.parts import PHYSICS, expression, row, variable
from engiagent.models.hvac.moist_air import DRY_AIR_HEAT

SLOTS = {
    "rated_flow": Slot("kg/s", required=True, low=0, above=True, meaning="of the supply air"),
    "rated_power": Slot("kW", low=0, default="0", meaning="of the fans, at the rated flow"),
    "minimum_flow": Slot("1", low=0, high=1, default="0", meaning="least share of the flow"),
    "outdoor_temperature": Slot("degC", required=True, series=True, meaning="of the outdoor air"),
    "outdoor_share_min": Slot("1", series=True, low=0, high=1, default="0",
                              meaning="of outdoor air"),
    "outdoor_share_max": Slot("1", series=True, low=0, high=1, default="1",
                              meaning="of outdoor air"),
    "supply_temperature_min": Slot("degC", required=True, series=True, meaning="of the supply air"),
    "supply_temperature_max": Slot("degC", required=True, series=True, meaning="of the supply air"),
    "heating_power_max": Slot("kW", series=True, low=0, default="0", meaning="of its coil"),
    "cooling_power_max": Slot("kW", series=True, low=0, default="0", meaning="of its coil"),
}  # fmt: skip
CONNECTIONS = ("bus", "heat_bus", "cooling_bus", "zone")


def fragment(component: ComponentDef, around: Surroundings) -> Fragment:
    """Return the algebra of an air handler."""
    reader = read(component, around)
    if reader.connection("zone") is None:
        known = [c.name for c in around.core.components if c.model == "thermal_zone"]
        raise wrong(component, "it serves no zone",
                    expected=", ".join(known) or "a component of model thermal_zone")  # fmt: skip
    converters.check_zone(reader)
    name, zone = reader.name, f"{reader.connection('zone')}_temperature[t]"
    rated = reader.text("rated_flow")
    least = reader.optional("minimum_flow")
    flow, share = f"{name}_flow[t]", f"{name}_outdoor_share[t]"
    stream = f"{flow}*{DRY_AIR_HEAT}[kJ/(kg*K)]"
    supply, outdoor = f"{name}_supply_temperature[t]", reader.text("outdoor_temperature")
    power = reader.optional("rated_power") or "0[kW]"
    heat, cold = f"{name}_heating_coil[t]", f"{name}_cooling_coil[t]"
    coils = f"{stream}*({supply} - {zone} - {share}*({outdoor} - {zone})) == {heat} - {cold}"
    tops = {way: reader.optional(f"{way}_power_max") or 0 for way in ("heating", "cooling")}
    result = (
        variable(reader, "flow", "kg/s", "supply air", lower=f"{least}*{rated}" if least else 0,
                 upper=rated, slots=("rated_flow", "minimum_flow"))
        + variable(reader, "outdoor_share", "1", "share of outdoor air",
                   lower=reader.optional("outdoor_share_min") or 0,
                   upper=reader.optional("outdoor_share_max") or 1, slots=("outdoor_share_min",))
        + variable(reader, "supply_temperature", "degC", "temperature of the supply air",
                   lower=reader.text("supply_temperature_min"),
                   upper=reader.text("supply_temperature_max"),
                   slots=("supply_temperature_min", "supply_temperature_max"))
        + variable(reader, "heating_coil", "kW", "heat of its coil", upper=tops["heating"],
                   slots=("heating_power_max",))
        + variable(reader, "cooling_coil", "kW", "cold of its coil", upper=tops["cooling"],
                   slots=("cooling_power_max",))
        + row(reader, "coils", coils, "heat balance", PHYSICS)
        + expression(reader, "cooling", "kW", f"{stream}*({zone} - {supply})", "use")
        + expression(reader, "mixed_temperature", "degC",
                     f"{zone} + {share}*({outdoor} - {zone})", "mixed air")
        + expression(reader, "electric_power", "kW", f"{power}*({flow}/{rated})**3", "fan power")
    )  # fmt: skip
    terminals = reader.terminal(f"{name}_electric_power[t]", power, supplies=False)
    for way, term in (("heating", heat), ("cooling", cold)):
        bus = "heat_bus" if way == "heating" else "cooling_bus"
        limit = str(tops[way]) if tops[way] else "0[kW]"
        terminals += reader.terminal(term, limit, supplies=False, port=bus)
    return result + Fragment(terminals=terminals)


def read(component: ComponentDef, around: Surroundings) -> Reader:
    """Return the reader of an air handler's slots."""
    return Reader(component, around, SLOTS, (), CONNECTIONS)


MODEL = Model(
    fragment, SLOTS, (), CONNECTIONS,
    summary="air handler with economiser, supply-air reset and fan, for sensible heat",
    quantities={"flow": "kg/s", "outdoor_share": "1", "supply_temperature": "degC",
                "heating_coil": "kW", "cooling_coil": "kW", "cooling": "kW",
                "mixed_temperature": "degC", "electric_power": "kW"},
    problem_class="NLP",
    leaves_out="moisture; heat of the fans; several zones; the zone's temperature within a period",
)  # fmt: skip
