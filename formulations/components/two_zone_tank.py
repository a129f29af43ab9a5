r"""A layered tank as two zones with a moving boundary: hot water on cold, each of one temperature.

With the hot share :math:`y` of the height and the energy :math:`E = C (T_h - T_c)\,y`

.. math::
    \frac{dE}{dt} = \dot Q^c - \dot Q^d - \frac{U}{C}\,E - U (T_c - T_a)

because each zone loses in proportion to its share of the surface; solved exactly over a step as in
``thermal_store``. The loss of the hot zone moves the boundary. Heat is delivered at :math:`T_h` as
long as there is hot water. A store of cold is the same upside down.
"""

from engiagent.formulations.components.reader import Reader
from engiagent.formulations.components.tank import capacity, lost
from engiagent.formulations.components.thermal_store import port


def declare(reader: Reader) -> None:
    """Add the algebra of a tank of two zones."""
    name, bus = reader.name, port(reader)
    hot, cold = reader.text("hot_temperature"), reader.text("cold_temperature")
    full = f"{name}_energy_capacity"
    reader.derived(
        "energy_capacity",
        "kWh",
        f"{capacity(reader)}*({hot} - {cold})",
        "energy of the full tank",
        index=(),
        of="mass hot_temperature cold_temperature",
    )
    for way, words in (("charge", "power into"), ("discharge", "power out")):
        slot, out = f"{way}_power_max", way == "discharge"
        reader.exchange(way, words, slot, supplies=out, port=bus)
    least = reader.optional("minimum_fraction")
    floor = f"{least}*{full}" if least else 0
    reader.initial("fraction", "initial_fraction")
    reader.variable("energy", "energy", lower=floor, upper=full, of="minimum_fraction")
    reader.expression(
        "fraction", f"{name}_energy[i]/{full}", "charged share", index=(f"i in {reader.instants}",)
    )
    _step(reader, cold if bus == "heat_bus" else hot, bus)


def _step(reader: Reader, empty: str, bus: str) -> None:
    """Add the step; ``empty`` is the temperature of a tank without anything in it."""
    name = reader.name
    net = f"({name}_charge[t] - {name}_discharge[t])"
    slots = ("mass", "loss_conductance")
    if reader.component.parameters.get("loss_conductance", 0) == 0:
        text = f"{name}_energy[t+1] == {name}_energy[t] + dt(t)*{net}"
        reader.row("dynamics", text, "energy balance")
        return
    loss = reader.text("loss_conductance")
    ambient = reader.text("ambient_temperature")
    standing = f"{loss}*({empty} - {ambient})"
    if bus == "cooling_bus":
        standing = f"{loss}*({ambient} - {empty})"
    rate, hold = f"{loss}/({capacity(reader)})", f"{name}_hold[t]"
    keep = f"exp(-{rate}*dt(t))"
    text = f"{name}_energy[t+1] == {name}_decay[t]*{name}_energy[t] + {hold}*({net} - {standing})"
    reader.derived("decay", "1", keep, "part of the energy left after a step", of=slots)
    reader.derived(
        "hold",
        "h",
        f"{lost(f'{rate}*dt(t)')}/({rate}) if {loss} > 0 else dt(t)",
        "energy of a power over a step, less what it loses",
        of=slots,
    )
    reader.row("dynamics", text, "energy balance", of=slots)
