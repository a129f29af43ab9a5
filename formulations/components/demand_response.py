r"""Events in which a grid's import has to fall below, or is paid for falling below, a baseline.

.. math:: 0 \le d_t \le B_t - P^{in}_t + P^{out}_t \;\text{ in events, else } d_t = 0, \qquad
    d_t \ge d^{\min}

The connection ``grid`` names the component of model ``grid`` that is metered.
"""

from engiagent.formulations.components.fragment import REQUIREMENT
from engiagent.formulations.components.reader import Reader


def declare(reader: Reader) -> None:
    """Add the algebra of demand response."""
    grid = reader.neighbour("grid", "grid", "it is connected to no grid")
    name, event, baseline = reader.name, reader.text("event"), reader.text("baseline")
    most = reader.optional("reduction_max") or f"max({baseline}, 0[kW])"
    fall = f"{name}_reduction[t]"
    below = f"{baseline} - {grid.name}_import[t] + {grid.name}_export[t]"
    reader.variable(
        "reduction", "reduction", upper=f"{event}*{most}", of="event reduction_max baseline"
    )
    reader.row(
        "below_baseline",
        f"{fall} <= {below}",
        "import below the baseline",
        REQUIREMENT,
        where=f"{event} > 0",
        of="baseline",
    )
    if reader.given("reduction_min"):
        text = f"{fall} >= {event}*{reader.text('reduction_min')}"
        reader.row(
            "least", text, "least reduction", REQUIREMENT, where=f"{event} > 0", of="reduction_min"
        )
    if reader.given("reward"):
        text = f"-{reader.text('reward')}*{fall}*dt(t)"
        reader.expression("reward_cost", text, "reward, negative,")
