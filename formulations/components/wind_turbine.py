r"""A wind turbine, or a farm of equal ones: the power that the wind makes available.

.. math:: 0 \le P_t \le (1 - L)\,P\!\left(v_t (\rho_t/\rho_0)^{1/3}\right)
    \;\text{ for } v_{in} \le v_t \le v_{out}, \text{ else } 0

with the power curve straight between its points, and the speed corrected by the density of the air.
"""

from engiagent.blueprint.document import ComponentDef
from engiagent.formulations.components import generator_profile
from engiagent.formulations.components.description import Model
from engiagent.formulations.components.fragment import Fragment, Reader, Slot, Surroundings
from engiagent.formulations.components.parts import derived
from engiagent.formulations.components.tables import tables

SLOTS = {
    "speeds": Slot(
        "m/s",
        required=True,
        table=True,
        low=0,
        meaning="rising wind speeds of the power curve, from cut-in to cut-out",
    ),
    "powers": Slot("kW", required=True, table=True, low=0, meaning="at these speeds"),
    "reference_density": Slot("kg/m3", low=0, above=True, default="1.225", meaning="of the curve"),
    "losses": Slot("1", low=0, high=1, default="0", meaning="by wakes, wires and availability"),
    "wind_speed": Slot("m/s", required=True, series=True, low=0, meaning="at the hub"),
    "air_density": Slot(
        "kg/m3", series=True, low=0, above=True, default="that of the curve", meaning="of the air"
    ),
    "curtailable": generator_profile.SLOTS["curtailable"],
}
OPTIONS = generator_profile.OPTIONS
CONNECTIONS = ("bus",)


def fragment(component: ComponentDef, around: Surroundings) -> Fragment:
    """Return the algebra of a wind turbine."""
    reader = Reader(component, around, SLOTS, OPTIONS, CONNECTIONS)
    found = tables(reader, "curve", ("speeds", "powers"))
    speeds, powers = found.names
    wind = reader.text("wind_speed")
    low, high = f"{speeds}[first({found.over})]", f"{speeds}[last({found.over})]"
    corrected = wind
    if reader.given("air_density"):
        reference = reader.optional("reference_density") or "1.225[kg/m3]"
        ratio = f"{reader.text('air_density')}/({reference})"
        corrected = f"{wind}*({ratio})**0.3333333333333333"
    # Off the curve after the correction the power at its end holds.
    at = f"min(max({corrected}, {low}), {high})"
    kept = f"(1 - {reader.text('losses')})*" if reader.given("losses") else ""
    made = f"{kept}piecewise({at}, {speeds}, {powers})"
    available = derived(
        reader,
        "available_power",
        "kW",
        f"{made} if {low} <= {wind} <= {high} else 0[kW]",
        "power by the wind",
        slots=("wind_speed", "speeds", "powers"),
    )
    power = f"{reader.name}_available_power[t]"
    return found.fragment + available + generator_profile.delivered(reader, power)


MODEL = Model(
    fragment,
    SLOTS,
    OPTIONS,
    CONNECTIONS,
    summary="wind turbine by its power curve",
    quantities={"power": "kW", "curtailed": "kW"},
    leaves_out="restarting later after a cut-out; the wind has to be that at the hub",
    exact_against="wind.WindTurbine",
)
