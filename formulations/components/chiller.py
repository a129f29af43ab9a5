r"""A chiller, or several alike: electric power in, cooling out, heat to the condenser.

.. math::
    Y_t = \dot Q_r\,f_{cap}(T_l, T_e), \qquad
    P_t = Y_t\,\frac{f_{eir}(T_l, T_e)}{\mathrm{COP}_r}\,f_{plr}\!\left(\frac{\dot Q_t}{Y_t}\right),
    \qquad \dot Q^{rej}_t = \dot Q_t + \kappa P_t

with the curves of EnergyPlus by the temperatures of leaving chilled and entering condenser water
(or outdoor air), held at the ends of the ranges in which they were fitted. A plan keeps to the
range of part load: it switches the machine off where the simulation would let it cycle. See
``partload`` for curves, and for several alike that are counted.
"""

from engiagent.formulations.components.partload import (
    Machine,
    by_polynomial,
    limited,
    machine,
    shaped,
)
from engiagent.formulations.components.reader import Reader
from engiagent.formulations.components.temperatures import held, plain, surface


def declare(reader: Reader) -> None:
    """Add the algebra of chillers."""
    name = reader.name
    capacity, power = _ratings(reader)
    slot = "part_load_curve"
    shape = shaped(reader, slot, lambda: by_polynomial(reader, slot))
    cop = None if reader.given("eir_curve") else reader.text("rated_cop")
    kind = Machine("cooling", "electric_power", capacity, power, "cooling", performance=cop)
    built = machine(reader, kind, shape)
    share = reader.optional("heat_to_condenser")
    taken = f"{share}*{name}_electric_power[t]" if share else f"{name}_electric_power[t]"
    reader.expression("heat_rejected", f"{name}_cooling[t] + {taken}", "heat to the condenser")
    limited(reader, built.run.times)
    rejected = None if built.input_limit is None else f"{built.output_limit} + {built.input_limit}"
    reader.terminal(f"{name}_electric_power[t]", built.input_limit, supplies=False)
    reader.terminal(f"{name}_cooling[t]", built.output_limit, supplies=True, port="cooling_bus")
    reader.terminal(f"{name}_heat_rejected[t]", rejected, supplies=True, port="heat_bus")


def _ratings(reader: Reader) -> tuple[str, str]:
    """Return capacity and full-load power in period ``t``, and the parameters they come from."""
    capacity, cop = reader.text("rated_capacity"), reader.text("rated_cop")
    leaving, entering = (
        held(reader, f"{side}_range", plain(reader.optional(f"{side}_temperature") or usual))
        for side, usual in (("leaving", "7[degC]"), ("entering", "29[degC]"))
    )
    slots = ("leaving_temperature", "entering_temperature")
    if reader.given("capacity_curve"):
        text = f"{capacity}*{surface(reader, 'capacity_curve', leaving, entering)}"
        reader.derived("capacity", "kW", text, "largest cooling", of=("rated_capacity", *slots))
        capacity = f"{reader.name}_capacity[t]"
    power = f"{capacity}/{cop}"
    if reader.given("eir_curve"):
        text = f"{power}*{surface(reader, 'eir_curve', leaving, entering)}"
        reader.derived(
            "full_load_power", "kW", text, "electric power at full load", of=("rated_cop", *slots)
        )
        power = f"{reader.name}_full_load_power[t]"
    return capacity, power
