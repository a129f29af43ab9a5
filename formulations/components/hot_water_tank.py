r"""A mixed tank of domestic hot water, from which water is drawn and tempered.

A tempering valve mixes tank and cold water, so that a draw :math:`\dot m` at :math:`T_u` takes the
heat :math:`\dot m c_w (T_u - T_c)`, whatever the tank's temperature, as long as that is not below
:math:`T_u`. This is demanded at both ends of every period with a draw, between which the
temperature of a tank of one temperature stays:

.. math::
    T_{t+1} - T_a = a\,(T_t - T_a)
        + \frac{1-a}{U}\,\big(\dot Q_t - \dot m_t c_w (T_u - T_c) + \dot s_t\big),
    \qquad T_t, T_{t+1} \ge T_u \;\text{ where } \dot m_t > 0

With the option ``soft`` the water may be too cold. What is missing is then the heat
:math:`\dot s \ge \dot m c_w (T_u - T)` at the colder end of the period, the quantity ``unmet``,
whose price belongs into the objective.
"""

from engiagent.blueprint.document import ComponentDef
from engiagent.formulations.components.description import Model
from engiagent.formulations.components.fragment import Fragment, Reader, Slot, Surroundings, wrong
from engiagent.formulations.components.parts import REQUIREMENT, derived, expression, row, variable
from engiagent.formulations.components.tank import BODY, mixed
from engiagent.models.hvac.water import SPECIFIC_HEAT

SLOTS = {
    **BODY,
    "use": Slot("kg/s", required=True, series=True, low=0, meaning="warm water that is drawn"),
    "use_temperature": Slot(
        "degC", required=True, low=0, high=100, meaning="at which it is wanted"
    ),
    "cold_temperature": Slot("degC", series=True, low=0, default="10", meaning="of cold water"),
    "charge_power_max": Slot("kW", series=True, low=0, default="no limit", meaning="into it"),
}
OPTIONS = ("soft",)
CONNECTIONS = ("heat_bus",)


def fragment(component: ComponentDef, around: Surroundings) -> Fragment:
    """Return the algebra of a tank of hot water."""
    reader = Reader(component, around, SLOTS, OPTIONS, CONNECTIONS)
    name, use = reader.name, reader.text("use")
    wanted = reader.text("use_temperature")
    cold = reader.optional("cold_temperature") or "10[degC]"
    limit = reader.optional("charge_power_max")
    soft = reader.option("soft", False)
    if not isinstance(soft, bool):
        raise wrong(component, "cannot read soft", found=repr(soft), expected="true or false")
    heat = f"{use}*{SPECIFIC_HEAT}[kJ/(kg*K)]*({wanted} - {cold})"
    taken = f"{name}_draw[t] - {name}_unmet[t]" if soft else f"{name}_draw[t]"
    result = (
        derived(
            reader,
            "draw_heat",
            "kW",
            heat,
            "heat of the warm water that is wanted",
            slots=("use", "use_temperature", "cold_temperature"),
        )
        + variable(reader, "charge", "kW", "heat into", upper=limit, slots=("charge_power_max",))
        + expression(reader, "draw", "kW", f"{name}_draw_heat[t]", "heat of the warm water")
        + mixed(reader, f"({name}_charge[t] - ({taken}))")
        + Fragment(
            terminals=reader.terminal(f"{name}_charge[t]", limit, supplies=False, port="heat_bus")
        )
    )
    if soft:
        result += variable(
            reader, "unmet", "kW", "heat that is missing", upper=f"{name}_draw_heat[t]"
        )
    flow = f"{use}*{SPECIFIC_HEAT}[kJ/(kg*K)]"
    for end, suffix in (("t", "before"), ("t+1", "after")):
        text = f"{name}_temperature[{end}] >= {wanted}"
        if soft:
            text = f"{name}_unmet[t] >= {flow}*({wanted} - {name}_temperature[{end}])"
        result += row(
            reader,
            f"warm_{suffix}",
            text,
            "water warm enough",
            REQUIREMENT,
            where=f"{use} > 0",
            slots=("use_temperature",),
        )
    return result


MODEL = Model(
    fragment,
    SLOTS,
    OPTIONS,
    CONNECTIONS,
    summary="mixed tank of domestic hot water with draws that a valve tempers",
    quantities={
        "charge": "kW",
        "draw": "kW",
        "temperature": "degC",
        "energy": "kWh",
        "unmet": "kW",
    },
    leaves_out="layers, circulation, and with `soft` by how much the water is too cold",
    exact_against="storage.mixed_tank.MixedTank",
)
