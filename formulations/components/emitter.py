r"""A radiator or a cooling coil: power from a bus of heat or cold to a zone.

.. math:: 0 \le \dot Q_t \le \dot Q^{\max}_t
"""

from engiagent.formulations.components import converters
from engiagent.formulations.components.reader import Reader
from engiagent.formulations.components.thermal_store import port


def declare(reader: Reader) -> None:
    """Add the algebra of an emitter."""
    converters.check_zone(reader)
    bus = port(reader)
    series = "heat" if bus == "heat_bus" else "cooling"
    reader.exchange(series, series, "power_max", supplies=False, port=bus)
