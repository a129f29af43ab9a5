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

from engiagent.formulations.components.fragment import REQUIREMENT
from engiagent.formulations.components.reader import Reader
from engiagent.formulations.components.tank import mixed
from engiagent.models.hvac.water import SPECIFIC_HEAT


def declare(reader: Reader) -> None:
    """Add the algebra of a tank of hot water."""
    name, use = reader.name, reader.text("use")
    wanted = reader.text("use_temperature")
    cold = reader.text("cold_temperature")
    limit = reader.optional("charge_power_max")
    soft = reader.flag("soft")
    heat = f"{use}*{SPECIFIC_HEAT}[kJ/(kg*K)]*({wanted} - {cold})"
    taken = f"{name}_draw[t] - {name}_unmet[t]" if soft else f"{name}_draw[t]"
    reader.derived(
        "draw_heat",
        "kW",
        heat,
        "heat of the warm water that is wanted",
        of="use use_temperature cold_temperature",
    )
    reader.variable("charge", "heat into", upper=limit, of="charge_power_max")
    reader.expression("draw", f"{name}_draw_heat[t]", "heat of the warm water")
    mixed(reader, f"({name}_charge[t] - ({taken}))")
    reader.terminal(f"{name}_charge[t]", limit, supplies=False, port="heat_bus")
    if soft:
        most = f"{name}_draw_heat[t]"
        reader.variable("unmet", "heat that is missing", upper=most, role="decision")
    flow = f"{use}*{SPECIFIC_HEAT}[kJ/(kg*K)]"
    for end, suffix in (("t", "before"), ("t+1", "after")):
        text = f"{name}_temperature[{end}] >= {wanted}"
        if soft:
            text = f"{name}_unmet[t] >= {flow}*({wanted} - {name}_temperature[{end}])"
        reader.row(
            f"warm_{suffix}",
            text,
            "water warm enough",
            REQUIREMENT,
            where=f"{use} > 0",
            of="use_temperature",
        )
