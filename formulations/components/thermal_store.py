r"""A store of heat or of cold by its energy: the algebra of a battery on a bus of heat or cold.

.. math::
    E_{t+1} = e^{-k\Delta t} E_t + \frac{1-e^{-k\Delta t}}{k}\,(\eta_c \dot Q^c_t
        - \dot Q^d_t/\eta_d)

with a loss :math:`k E` in proportion to the content, the coldest temperature in use being that of
the surroundings; ``tank`` and ``two_zone_tank`` lose by their temperatures.
"""

from engiagent.formulations.components import battery
from engiagent.formulations.components.reader import Reader


def declare(reader: Reader) -> None:
    """Add the algebra of a store of heat or cold."""
    battery.storage(reader, port(reader), "energy")


def port(reader: Reader) -> str:
    """Return the port that a store of heat or cold is connected by; heat when it is by none."""
    given = [name for name in ("heat_bus", "cooling_bus") if reader.connection(name) is not None]
    if len(given) > 1:
        raise reader.wrong("it is on a bus of heat and on one of cold; give one")
    return given[0] if given else "heat_bus"
