r"""Heaters and coolers: electric power in, heat out or taken away, by a coefficient of performance.

.. math:: 0 \le P_t \le P^{\max}_t, \qquad \dot Q_t = \mathrm{COP}_t P_t

The heat goes to the zone that the connection ``zone`` names.
"""

from engiagent.formulations.components.reader import Reader


def declare(reader: Reader) -> None:
    """Add the algebra of a heater or a cooler, whose series says which it is."""
    check_zone(reader)
    output = "heat" if "heat" in reader.known.quantities else "cooling"
    power, cop = f"{reader.name}_electric_power[t]", reader.optional("cop")
    text = power if cop is None else f"{cop}*{power}"
    reader.exchange("electric_power", "electric power", "electric_power_max", supplies=False)
    reader.expression(output, text, output)


def check_zone(reader: Reader) -> None:
    """Refuse a zone that does not exist or has another time set."""
    if reader.connection("zone") is None:
        return
    zone = reader.neighbour("zone", "thermal_zone", "it is connected to a zone that does not exist")
    if zone.index != reader.component.index:
        message = f"it has another time set than the zone {zone.name}"
        raise reader.wrong(message, str(reader.component.index), str(zone.index))
