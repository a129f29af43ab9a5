"""Tanks of water: of one temperature, with draws of warm water, of a hot and a cold zone."""

from engiagent.formulations.components.fragment import REQUIREMENT
from engiagent.formulations.components.reader import Reader
from engiagent.formulations.components.storage import port
from engiagent.models.hvac.fluids import SPECIFIC_HEAT

LOSS = ("mass", "loss_conductance")


def tank(reader: Reader) -> None:
    r"""Add a tank of water of one temperature, between a bus of heat or cold and its surroundings.

    .. math::
        T_{t+1} - T_{a,t} = a\,(T_t - T_{a,t}) \pm \frac{1-a}{U}\,(\dot Q^c_t - \dot Q^d_t), \qquad
        a = e^{-U \Delta t/C}, \qquad C = m c_w

    which is the exact solution for inputs held over a step; without a loss the factor is
    :math:`\Delta t/C`. On a bus of cold charging cools the tank: the sign is minus. The energy is
    :math:`C (T - T_{\min})` for heat and :math:`C (T_{\max} - T)` for cold, and the limits of the
    temperature hold at every instant.
    """
    bus = port(reader)
    net = _net(reader, bus)
    _mixed(reader, f"-{net}" if bus == "cooling_bus" else net, cold=bus == "cooling_bus")


def hot_water_tank(reader: Reader) -> None:
    r"""Add a mixed tank of domestic hot water, from which water is drawn and tempered.

    A tempering valve mixes tank and cold water, so that a draw :math:`\dot m` at :math:`T_u` takes
    the heat :math:`\dot m c_w (T_u - T_c)`, whatever the tank's temperature, as long as that is not
    below :math:`T_u`. This is demanded at both ends of every period with a draw, between which the
    temperature of a tank of one temperature stays:

    .. math::
        T_{t+1} - T_a = a\,(T_t - T_a)
            + \frac{1-a}{U}\,\big(\dot Q_t - \dot m_t c_w (T_u - T_c) + \dot s_t\big),
        \qquad T_t, T_{t+1} \ge T_u \;\text{ where } \dot m_t > 0

    With the option ``soft`` the water may be too cold. What is missing is then the heat
    :math:`\dot s \ge \dot m c_w (T_u - T)` at the colder end of the period, the quantity ``unmet``,
    whose price belongs into the objective.
    """
    name, use, soft = reader.name, reader.text("use"), reader.flag("soft")
    wanted, cold = reader.text("use_temperature"), reader.text("cold_temperature")
    flow, draw = f"{use}*{SPECIFIC_HEAT}[kJ/(kg*K)]", f"{name}_draw_heat[t]"
    words = "heat of the warm water that is wanted"
    slots = "use use_temperature cold_temperature"
    reader.derived("draw_heat", "kW", f"{flow}*({wanted} - {cold})", words, of=slots)
    reader.exchange("charge", "heat into", "charge_power_max", supplies=False, port="heat_bus")
    reader.expression("draw", draw, "heat of the warm water")
    taken = f"{name}_draw[t] - {name}_unmet[t]" if soft else f"{name}_draw[t]"
    _mixed(reader, f"({name}_charge[t] - ({taken}))")
    if soft:
        reader.variable("unmet", "heat that is missing", upper=draw, role="decision")
    for end, suffix in (("t", "before"), ("t+1", "after")):
        text = f"{name}_temperature[{end}] >= {wanted}"
        if soft:
            text = f"{name}_unmet[t] >= {flow}*({wanted} - {name}_temperature[{end}])"
        where, slot = f"{use} > 0", "use_temperature"
        reader.row(f"warm_{suffix}", text, "water warm enough", REQUIREMENT, where=where, of=slot)


def two_zone_tank(reader: Reader) -> None:
    r"""Add a layered tank as two zones with a moving boundary: hot water on cold.

    With the hot share :math:`y` of the height and the energy :math:`E = C (T_h - T_c)\,y`

    .. math::
        \frac{dE}{dt} = \dot Q^c - \dot Q^d - \frac{U}{C}\,E - U (T_c - T_a)

    because each zone loses in proportion to its share of the surface; solved exactly over a step as
    in ``thermal_store``. The loss of the hot zone moves the boundary. Heat is delivered at
    :math:`T_h` as long as there is hot water. A store of cold is the same upside down.
    """
    name, bus = reader.name, port(reader)
    hot, cold = reader.text("hot_temperature"), reader.text("cold_temperature")
    full, words = f"{_capacity(reader)}*({hot} - {cold})", "energy of the full tank"
    slots = "mass hot_temperature cold_temperature"
    full = reader.derived("energy_capacity", "kWh", full, words, index=(), of=slots)
    net = _net(reader, bus)
    least = reader.optional("minimum_fraction")
    floor = f"{least}*{full}" if least else 0
    reader.initial("fraction", "initial_fraction")
    reader.variable("energy", "energy", lower=floor, upper=full, of="minimum_fraction")
    index = (f"i in {reader.instants}",)
    reader.expression("fraction", f"{name}_energy[i]/{full}", "charged share", index=index)
    keep, hold = "", "dt(t)"
    if _loses(reader):
        # The temperature of a tank without anything in it, and what that loses.
        loss, ambient = reader.text("loss_conductance"), reader.text("ambient_temperature")
        standing = f"({cold} - {ambient})" if bus == "heat_bus" else f"({ambient} - {hot})"
        rate = f"{loss}/({_capacity(reader)})"
        words = "part of the energy left after a step"
        keep = reader.derived("decay", "1", f"exp(-{rate}*dt(t))", words, of=LOSS) + "*"
        held = f"{_lost(f'{rate}*dt(t)')}/({rate}) if {loss} > 0 else dt(t)"
        words = "energy of a power over a step, less what it loses"
        hold = reader.derived("hold", "h", held, words, of=LOSS)
        net = f"({net} - {loss}*{standing})"
    text = f"{name}_energy[t+1] == {keep}{name}_energy[t] + {hold}*{net}"
    reader.row("dynamics", text, "energy balance", of=LOSS if keep else ())


def _net(reader: Reader, bus: str) -> str:
    """Add charge and discharge; return what comes in less what goes out."""
    for way, words in (("charge", "power into"), ("discharge", "power out")):
        reader.exchange(way, words, f"{way}_power_max", supplies=way == "discharge", port=bus)
    return f"({reader.name}_charge[t] - {reader.name}_discharge[t])"


def _mixed(reader: Reader, heat: str, *, cold: bool = False) -> None:
    """Add temperature, energy and step of a body of water that takes up ``heat`` [kW]."""
    temperature = f"{reader.name}_temperature"
    low = reader.optional("temperature_min") or "0[degC]"
    high = reader.optional("temperature_max") or "100[degC]"
    above = f"{high} - {temperature}[i]" if cold else f"{temperature}[i] - {low}"
    limits = ("temperature_min", "temperature_max")
    content = (_capacity(reader), "heat capacity")
    water = reader.derived("heat_capacity", "kWh/K", *content, index=(), of="mass")
    reader.variable("temperature", "temperature", lower=low, upper=high, of=limits)
    index = (f"i in {reader.instants}",)
    reader.expression("energy", f"{water}*({above})", "energy", index=index)
    reader.initial("temperature", "initial_temperature")
    text = f"{temperature}[t+1] == {temperature}[t] + dt(t)/{water}*{heat}"
    if _loses(reader):
        loss, ambient = reader.text("loss_conductance"), reader.text("ambient_temperature")
        decay, words = f"exp(-{loss}*dt(t)/{water})", "part of a temperature difference left"
        keep = reader.derived("decay", "1", decay, f"{words} after a step", of=LOSS)
        # The response keeps its meaning where a loss that is a parameter turns out to be nothing.
        gain = f"{_lost(f'{loss}*dt(t)/{water}')}/{loss} if {loss} > 0 else dt(t)/{water}"
        gain = reader.derived("response", "K/kW", gain, "warming by heat over a step", of=LOSS)
        old = f"{keep}*({temperature}[t] - {ambient})"
        text = f"{temperature}[t+1] - {ambient} == {old} + {gain}*{heat}"
    reader.row("dynamics", text, "heat balance", of=LOSS)


def _loses(reader: Reader) -> bool:
    return bool(reader.component.parameters.get("loss_conductance", 0) != 0)


def _capacity(reader: Reader) -> str:
    """Return the heat that warms the water by a kelvin, as an expression."""
    return f"{reader.text('mass')}*{SPECIFIC_HEAT}[kJ/(kg*K)]"


def _lost(exponent: str) -> str:
    """Return 1 - exp(-x) as an expression that keeps its digits where x is small.

    >>> _lost("k")
    '2*tanh((k)/2)/(1 + tanh((k)/2))'
    """
    half = f"tanh(({exponent})/2)"
    return f"2*{half}/(1 + {half})"
