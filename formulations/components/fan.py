r"""A fan with a drive of variable speed: flow by power, a cube by the affinity laws.

.. math:: P_t = P_r\,f(\dot m_t/\dot m_r), \qquad f(x) = x^3 \text{ unless coefficients are given}

Kept as a polynomial (a nonlinear programme), or replaced by ``segments`` chords, which lie above a
convex curve by at most :math:`3/4\,P_r/n^2` for the cube. With a least flow it switches.
"""

from engiagent.blueprint.document import ComponentDef
from engiagent.formulations.components.commitment import SWITCHING
from engiagent.formulations.components.description import Model
from engiagent.formulations.components.fragment import Fragment, Reader, Slot, Surroundings
from engiagent.formulations.components.partload import (
    OPTIONS,
    Machine,
    Shape,
    by_polynomial,
    chords,
    machine,
)

SLOTS = {
    "rated_flow": Slot("kg/s", required=True, low=0, above=True, meaning="at full speed"),
    "rated_power": Slot(
        "kW", required=True, low=0, above=True, meaning="electric, at the rated flow"
    ),
    "power_curve": Slot(
        "1",
        table=True,
        default="the cube",
        meaning="coefficients of the share of power by the share of flow",
    ),
    "minimum_flow": Slot("1", low=0, high=1, default="0", meaning="least share while it runs"),
    "count": SWITCHING["count"],
}
CONNECTIONS = ("bus",)


def fragment(component: ComponentDef, around: Surroundings) -> Fragment:
    """Return the algebra of fans or pumps."""
    reader = Reader(component, around, SLOTS, OPTIONS, CONNECTIONS)
    flow, power = reader.text("rated_flow"), reader.text("rated_power")
    kind = Machine(
        "flow", "kg/s", "electric_power", flow, power, "flow", "rated_flow", "minimum_flow"
    )
    built = machine(reader, kind, _shape(reader))
    name = f"{reader.name}_electric_power[t]"
    terminals = reader.terminal(name, built.input_limit, supplies=False)
    return built.fragment + Fragment(terminals=terminals)


def _shape(reader: Reader) -> Shape:
    curve = by_polynomial(reader, "power_curve", least="minimum_flow")
    if curve is not None:
        return curve
    if reader.option("segments") is not None:
        return chords(reader, lambda x: f"{x}**3", (), least="minimum_flow")
    return Shape(lambda ratio, on: f"({ratio})**3", bends=True, top="1")


MODEL = Model(
    fragment,
    SLOTS,
    OPTIONS,
    CONNECTIONS,
    summary="fan with a drive of variable speed",
    quantities={
        "flow": "kg/s",
        "electric_power": "kW",
        "on": "1",
        "start": "1",
        "stop": "1",
        "this_many": "1",
        "flow_of": "kg/s",
    },
    problem_class="NLP (MINLP when it switches); with `segments` LP where power only costs, else "
    "MILP",
    leaves_out="pressure: the curve holds for one system, whose resistance does not change",
    exact_against="hvac.turbomachines.PartLoadFan",
)
