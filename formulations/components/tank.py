r"""A tank of water of one temperature, between a bus of heat (or of cold) and its surroundings.

.. math::
    T_{t+1} - T_{a,t} = a\,(T_t - T_{a,t}) \pm \frac{1-a}{U}\,(\dot Q^c_t - \dot Q^d_t), \qquad
    a = e^{-U \Delta t/C}, \qquad C = m c_w

which is the exact solution for inputs held over a step; without a loss the factor is
:math:`\Delta t/C`. On a bus of cold charging cools the tank: the sign is minus. The energy is
:math:`C (T - T_{\min})` for heat and :math:`C (T_{\max} - T)` for cold, and the limits of the
temperature hold at every instant.
"""

from engiagent.blueprint.document import ComponentDef
from engiagent.formulations.components.description import Model
from engiagent.formulations.components.fragment import Fragment, Reader, Slot, Surroundings
from engiagent.formulations.components.parts import derived, expression, initial, row, variable
from engiagent.formulations.components.thermal_store import port
from engiagent.models.hvac.water import SPECIFIC_HEAT

BODY = {
    "mass": Slot("kg", required=True, low=0, above=True, meaning="water in the tank"),
    "loss_conductance": Slot("kW/K", low=0, default="0", meaning="to the surroundings"),
    "ambient_temperature": Slot("degC", series=True, default="20", meaning="around the tank"),
    "initial_temperature": Slot("degC", required=True, low=0, high=100, meaning="at the start"),
    "temperature_min": Slot("degC", low=0, high=100, default="0", meaning="at every instant"),
    "temperature_max": Slot("degC", low=0, high=100, default="100", meaning="at every instant"),
}
SLOTS = {
    **BODY,
    "charge_power_max": Slot("kW", series=True, low=0, default="no limit", meaning="into it"),
    "discharge_power_max": Slot("kW", series=True, low=0, default="no limit", meaning="out of it"),
}
CONNECTIONS = ("heat_bus", "cooling_bus")


def fragment(component: ComponentDef, around: Surroundings) -> Fragment:
    """Return the algebra of a mixed tank."""
    reader = Reader(component, around, SLOTS, (), CONNECTIONS)
    name, bus = reader.name, port(reader)
    result = Fragment()
    for way, words in (("charge", "power into"), ("discharge", "power out")):
        limit = reader.optional(f"{way}_power_max")
        result += variable(reader, way, "kW", words, upper=limit, slots=(f"{way}_power_max",))
        terminal = reader.terminal(f"{name}_{way}[t]", limit, supplies=way == "discharge", port=bus)
        result += Fragment(terminals=terminal)
    net = f"({name}_charge[t] - {name}_discharge[t])"
    cold = bus == "cooling_bus"
    return result + mixed(reader, f"-{net}" if cold else net, cold=cold)


def mixed(reader: Reader, heat: str, *, cold: bool = False) -> Fragment:
    """Return temperature, energy and step of a body of water that takes up ``heat`` [kW]."""
    name = reader.name
    low, high = reader.optional("temperature_min"), reader.optional("temperature_max")
    low, high = low or "0[degC]", high or "100[degC]"
    temperature = f"{name}_temperature"
    above = f"{high} - {temperature}[i]" if cold else f"{temperature}[i] - {low}"
    limits = ("temperature_min", "temperature_max")
    return (
        derived(
            reader,
            "heat_capacity",
            "kWh/K",
            capacity(reader),
            "heat capacity",
            index=(),
            slots=("mass",),
        )
        + variable(
            reader,
            "temperature",
            "degC",
            "temperature",
            lower=low,
            upper=high,
            role="state",
            instants=True,
            slots=limits,
        )
        + expression(
            reader,
            "energy",
            "kWh",
            f"{name}_heat_capacity*({above})",
            "energy",
            index=(f"i in {reader.instants}",),
        )
        + initial(reader, "temperature", "initial_temperature")
        + step(reader, heat)
    )


def capacity(reader: Reader) -> str:
    """Return the heat that warms the water by a kelvin, as an expression."""
    return f"{reader.text('mass')}*{SPECIFIC_HEAT}[kJ/(kg*K)]"


def lost(exponent: str) -> str:
    """Return 1 - exp(-x) as an expression that keeps its digits where x is small.

    >>> lost("k")
    '2*tanh((k)/2)/(1 + tanh((k)/2))'
    """
    half = f"tanh(({exponent})/2)"
    return f"2*{half}/(1 + {half})"


def step(reader: Reader, heat: str) -> Fragment:
    """Return the exact step of a tank that takes up ``heat`` [kW] in period ``t``."""
    name = reader.name
    temperature, water = f"{name}_temperature", f"{name}_heat_capacity"
    slots = ("mass", "loss_conductance")
    if reader.component.parameters.get("loss_conductance", 0) == 0:
        text = f"{temperature}[t+1] == {temperature}[t] + dt(t)/{water}*{heat}"
        return row(reader, "dynamics", text, "heat balance", slots=slots)
    loss = reader.text("loss_conductance")
    ambient = reader.optional("ambient_temperature") or "20[degC]"
    keep, gain = f"{name}_decay[t]", f"{name}_response[t]"
    text = (
        f"{temperature}[t+1] - {ambient} == {keep}*({temperature}[t] - {ambient}) + {gain}*{heat}"
    )
    # The response keeps its meaning where a loss that is a parameter turns out to be nothing.
    response = f"{lost(f'{loss}*dt(t)/{water}')}/{loss} if {loss} > 0 else dt(t)/{water}"
    return (
        derived(
            reader,
            "decay",
            "1",
            f"exp(-{loss}*dt(t)/{water})",
            "part of a temperature difference left after a step",
            slots=slots,
        )
        + derived(reader, "response", "K/kW", response, "warming by heat over a step", slots=slots)
        + row(reader, "dynamics", text, "heat balance", slots=slots)
    )


MODEL = Model(
    fragment,
    SLOTS,
    (),
    CONNECTIONS,
    summary="tank of water of one temperature, for heat or cold",
    quantities={"charge": "kW", "discharge": "kW", "temperature": "degC", "energy": "kWh"},
    leaves_out="layers; heat that comes at a temperature below that of the tank",
    exact_against="storage.mixed_tank.MixedTank",
)
