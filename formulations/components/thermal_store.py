r"""A store of heat or of cold by its energy: the algebra of a battery on a bus of heat or cold.

.. math::
    E_{t+1} = e^{-k\Delta t} E_t + \frac{1-e^{-k\Delta t}}{k}\,(\eta_c \dot Q^c_t
        - \dot Q^d_t/\eta_d)

with a loss :math:`k E` in proportion to the content, the coldest temperature in use being that of
the surroundings; ``tank`` and ``two_zone_tank`` lose by their temperatures.
"""

from engiagent.blueprint.document import ComponentDef
from engiagent.formulations.components import battery
from engiagent.formulations.components.description import Model
from engiagent.formulations.components.fragment import Fragment, Reader, Surroundings, wrong

SLOTS = battery.STORAGE
OPTIONS = battery.OPTIONS
CONNECTIONS = ("heat_bus", "cooling_bus")


def fragment(component: ComponentDef, around: Surroundings) -> Fragment:
    """Return the algebra of a store of heat or cold."""
    reader = Reader(component, around, SLOTS, OPTIONS, CONNECTIONS)
    return battery.storage(reader, port(reader), "energy")


def port(reader: Reader) -> str:
    """Return the port that a store of heat or cold is connected by; heat when it is by none."""
    given = [name for name in ("heat_bus", "cooling_bus") if reader.connection(name) is not None]
    if len(given) > 1:
        raise wrong(reader.component, "it is on a bus of heat and on one of cold; give one")
    return given[0] if given else "heat_bus"


MODEL = Model(
    fragment,
    SLOTS,
    OPTIONS,
    CONNECTIONS,
    summary="store of heat or cold by its energy",
    quantities={"charge": "kW", "discharge": "kW", "energy": "kWh"},
    problem_class="LP; MILP with `exclusive_on`",
    leaves_out="temperatures, so any content serves any demand",
)
