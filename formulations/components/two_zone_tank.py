r"""A layered tank as two zones with a moving boundary: hot water on cold, each of one temperature.

With the hot share :math:`y` of the height and the energy :math:`E = C (T_h - T_c)\,y`

.. math::
    \frac{dE}{dt} = \dot Q^c - \dot Q^d - \frac{U}{C}\,E - U (T_c - T_a)

because each zone loses in proportion to its share of the surface; solved exactly over a step as in
``thermal_store``. The loss of the hot zone moves the boundary. Heat is delivered at :math:`T_h` as
long as there is hot water. A store of cold is the same upside down.
"""

from engiagent.blueprint.document import ComponentDef
from engiagent.formulations.components.description import Model
from engiagent.formulations.components.fragment import Fragment, Reader, Slot, Surroundings
from engiagent.formulations.components.parts import derived, expression, initial, row, variable
from engiagent.formulations.components.tank import SLOTS as TANK
from engiagent.formulations.components.tank import capacity, lost
from engiagent.formulations.components.thermal_store import port

SLOTS = {
    **{
        name: TANK[name]
        for name in (
            "mass",
            "loss_conductance",
            "ambient_temperature",
            "charge_power_max",
            "discharge_power_max",
        )
    },
    "hot_temperature": Slot("degC", required=True, low=0, high=100, meaning="of the hot zone"),
    "cold_temperature": Slot("degC", required=True, low=0, high=100, meaning="of the cold zone"),
    "initial_fraction": Slot("1", required=True, low=0, high=1, meaning="charged share at first"),
    "minimum_fraction": Slot("1", low=0, high=1, default="0", meaning="least charged share"),
}
CONNECTIONS = ("heat_bus", "cooling_bus")


def fragment(component: ComponentDef, around: Surroundings) -> Fragment:
    """Return the algebra of a tank of two zones."""
    reader = Reader(component, around, SLOTS, (), CONNECTIONS)
    name, bus = reader.name, port(reader)
    hot, cold = reader.text("hot_temperature"), reader.text("cold_temperature")
    full = f"{name}_energy_capacity"
    result = derived(
        reader,
        "energy_capacity",
        "kWh",
        f"{capacity(reader)}*({hot} - {cold})",
        "energy of the full tank",
        index=(),
        slots=("mass", "hot_temperature", "cold_temperature"),
    )
    for way, words in (("charge", "power into"), ("discharge", "power out")):
        limit = reader.optional(f"{way}_power_max")
        result += variable(reader, way, "kW", words, upper=limit, slots=(f"{way}_power_max",))
        terminal = reader.terminal(f"{name}_{way}[t]", limit, supplies=way == "discharge", port=bus)
        result += Fragment(terminals=terminal)
    least = reader.optional("minimum_fraction")
    floor = f"{least}*{full}" if least else 0
    share = Fragment(constraints=initial(reader, "fraction", "initial_fraction").constraints)
    return (
        result
        + variable(
            reader,
            "energy",
            "kWh",
            "energy",
            lower=floor,
            upper=full,
            role="state",
            instants=True,
            slots=("minimum_fraction",),
        )
        + expression(
            reader,
            "fraction",
            "1",
            f"{name}_energy[i]/{full}",
            "charged share",
            index=(f"i in {reader.instants}",),
        )
        + share
        + _step(reader, cold if bus == "heat_bus" else hot, bus)
    )


def _step(reader: Reader, empty: str, bus: str) -> Fragment:
    """Return the step; ``empty`` is the temperature of a tank without anything in it."""
    name = reader.name
    net = f"({name}_charge[t] - {name}_discharge[t])"
    slots = ("mass", "loss_conductance")
    if reader.component.parameters.get("loss_conductance", 0) == 0:
        text = f"{name}_energy[t+1] == {name}_energy[t] + dt(t)*{net}"
        return row(reader, "dynamics", text, "energy balance")
    loss = reader.text("loss_conductance")
    ambient = reader.optional("ambient_temperature") or "20[degC]"
    standing = f"{loss}*({empty} - {ambient})"
    if bus == "cooling_bus":
        standing = f"{loss}*({ambient} - {empty})"
    rate, hold = f"{loss}/({capacity(reader)})", f"{name}_hold[t]"
    keep = f"exp(-{rate}*dt(t))"
    text = f"{name}_energy[t+1] == {name}_decay[t]*{name}_energy[t] + {hold}*({net} - {standing})"
    return (
        derived(reader, "decay", "1", keep, "part of the energy left after a step", slots=slots)
        + derived(
            reader,
            "hold",
            "h",
            f"{lost(f'{rate}*dt(t)')}/({rate}) if {loss} > 0 else dt(t)",
            "energy of a power over a step, less what it loses",
            slots=slots,
        )
        + row(reader, "dynamics", text, "energy balance", slots=slots)
    )


MODEL = Model(
    fragment,
    SLOTS,
    (),
    CONNECTIONS,
    summary="layered tank as a hot and a cold zone with a boundary that moves",
    quantities={"charge": "kW", "discharge": "kW", "energy": "kWh", "fraction": "1"},
    leaves_out="mixing and conduction across the boundary, other temperatures",
    exact_against="storage.stratified_tank.StratifiedTank (its energy, with losses at the same "
    "temperatures)",
)
