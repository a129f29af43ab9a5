r"""A demand of which a part may be left unserved, at a price.

.. math:: P_t = D_t - s_t, \qquad 0 \le s_t \le \kappa_t D_t, \qquad
    \sum_t s_t \Delta t \le S
"""

from engiagent.formulations.components.fragment import REQUIREMENT
from engiagent.formulations.components.reader import Reader


def declare(reader: Reader) -> None:
    """Add the algebra of a load that may be curtailed."""
    name, demand = reader.name, reader.text("power")
    share = reader.optional("curtailable_share")
    most = f"{share}*{demand}" if share else demand
    unmet = f"{name}_unmet[t]"
    reader.variable("unmet", "demand left unserved", upper=most, of="power curtailable_share")
    reader.expression("power", f"{demand} - {unmet}", "demand that is served")
    if reader.given("unmet_energy_max"):
        text = f"sum({unmet}*dt(t) for t in {reader.time}) <= {reader.text('unmet_energy_max')}"
        reader.row(
            "unmet_energy",
            text,
            "energy left unserved",
            REQUIREMENT,
            index=(),
            of="unmet_energy_max",
        )
    if reader.given("lost_load_value"):
        text = f"{reader.text('lost_load_value')}*{unmet}*dt(t)"
        reader.expression("unmet_cost", text, "cost of lost load")
    reader.terminal(f"{name}_power[t]", demand, supplies=False)
