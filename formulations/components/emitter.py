r"""A radiator or a cooling coil: power from a bus of heat or cold to a zone.

.. math:: 0 \le \dot Q_t \le \dot Q^{\max}_t
"""

from engiagent.blueprint.document import ComponentDef
from engiagent.formulations.components import converters
from engiagent.formulations.components.description import Model
from engiagent.formulations.components.fragment import Fragment, Reader, Slot, Surroundings
from engiagent.formulations.components.parts import variable
from engiagent.formulations.components.thermal_store import port

SLOTS = {"power_max": Slot("kW", series=True, low=0, default="no limit", meaning="into the zone")}
CONNECTIONS = ("heat_bus", "cooling_bus", "zone")


def fragment(component: ComponentDef, around: Surroundings) -> Fragment:
    """Return the algebra of an emitter."""
    reader = read(component, around)
    converters.check_zone(reader)
    bus = port(reader)
    series = "heat" if bus == "heat_bus" else "cooling"
    limit = reader.optional("power_max")
    power = f"{reader.name}_{series}[t]"
    return variable(reader, series, "kW", series, upper=limit, slots=("power_max",)) + Fragment(
        terminals=reader.terminal(power, limit, supplies=False, port=bus)
    )


def read(component: ComponentDef, around: Surroundings) -> Reader:
    """Return the reader of an emitter's slots."""
    return Reader(component, around, SLOTS, (), CONNECTIONS)


MODEL = Model(
    fragment,
    SLOTS,
    (),
    CONNECTIONS,
    summary="radiator or coil: power from a bus of heat or cold to a zone",
    quantities={"heat": "kW", "cooling": "kW"},
    leaves_out="the temperatures on which its power depends",
)
