r"""A tank of water of one temperature, between a bus of heat (or of cold) and its surroundings.

.. math::
    T_{t+1} - T_{a,t} = a\,(T_t - T_{a,t}) \pm \frac{1-a}{U}\,(\dot Q^c_t - \dot Q^d_t), \qquad
    a = e^{-U \Delta t/C}, \qquad C = m c_w

which is the exact solution for inputs held over a step; without a loss the factor is
:math:`\Delta t/C`. On a bus of cold charging cools the tank: the sign is minus. The energy is
:math:`C (T - T_{\min})` for heat and :math:`C (T_{\max} - T)` for cold, and the limits of the
temperature hold at every instant.
"""

from engiagent.formulations.components.reader import Reader
from engiagent.formulations.components.thermal_store import port
from engiagent.models.hvac.water import SPECIFIC_HEAT


def declare(reader: Reader) -> None:
    """Add the algebra of a mixed tank."""
    name, bus = reader.name, port(reader)
    for way, words in (("charge", "power into"), ("discharge", "power out")):
        slot, out = f"{way}_power_max", way == "discharge"
        reader.exchange(way, words, slot, supplies=out, port=bus)
    net = f"({name}_charge[t] - {name}_discharge[t])"
    cold = bus == "cooling_bus"
    mixed(reader, f"-{net}" if cold else net, cold=cold)


def mixed(reader: Reader, heat: str, *, cold: bool = False) -> None:
    """Add temperature, energy and step of a body of water that takes up ``heat`` [kW]."""
    name = reader.name
    low, high = reader.optional("temperature_min"), reader.optional("temperature_max")
    low, high = low or "0[degC]", high or "100[degC]"
    temperature = f"{name}_temperature"
    above = f"{high} - {temperature}[i]" if cold else f"{temperature}[i] - {low}"
    limits = ("temperature_min", "temperature_max")
    reader.derived("heat_capacity", "kWh/K", capacity(reader), "heat capacity", index=(), of="mass")
    reader.variable("temperature", "temperature", lower=low, upper=high, of=limits)
    reader.expression(
        "energy", f"{name}_heat_capacity*({above})", "energy", index=(f"i in {reader.instants}",)
    )
    reader.initial("temperature", "initial_temperature")
    step(reader, heat)


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


def step(reader: Reader, heat: str) -> None:
    """Add the exact step of a tank that takes up ``heat`` [kW] in period ``t``."""
    name = reader.name
    temperature, water = f"{name}_temperature", f"{name}_heat_capacity"
    slots = ("mass", "loss_conductance")
    if reader.component.parameters.get("loss_conductance", 0) == 0:
        text = f"{temperature}[t+1] == {temperature}[t] + dt(t)/{water}*{heat}"
        reader.row("dynamics", text, "heat balance", of=slots)
        return
    loss = reader.text("loss_conductance")
    ambient = reader.text("ambient_temperature")
    keep, gain = f"{name}_decay[t]", f"{name}_response[t]"
    text = (
        f"{temperature}[t+1] - {ambient} == {keep}*({temperature}[t] - {ambient}) + {gain}*{heat}"
    )
    # The response keeps its meaning where a loss that is a parameter turns out to be nothing.
    response = f"{lost(f'{loss}*dt(t)/{water}')}/{loss} if {loss} > 0 else dt(t)/{water}"
    reader.derived(
        "decay",
        "1",
        f"exp(-{loss}*dt(t)/{water})",
        "part of a temperature difference left after a step",
        of=slots,
    )
    reader.derived("response", "K/kW", response, "warming by heat over a step", of=slots)
    reader.row("dynamics", text, "heat balance", of=slots)
