r"""A source that weather drives, as PV or wind.

.. math:: 0 \le P_t \le P^\mathrm{available}_t, \qquad P^\mathrm{curtailed}_t =
    P^\mathrm{available}_t - P_t

With the option ``curtailable: false`` all that is available has to be taken.
"""

from engiagent.formulations.components.reader import Reader
from engiagent.slots import yes_or_no


def declare(reader: Reader) -> None:
    """Add the algebra of a weather-driven source."""
    delivered(reader, reader.text("available_power"))


def delivered(reader: Reader, available: str) -> None:
    """Add the power that is used of what is available [kW] in period ``t``."""
    power = f"{reader.name}_power[t]"
    value = reader.option("curtailable", reader.component.parameters.get("curtailable", True))
    found = yes_or_no(value)
    if found is None:
        raise reader.wrong("cannot read curtailable", repr(value), "true or false")
    if not found:
        reader.expression("power", available, "power")
        reader.terminal(power, available, supplies=True, floor=available)
        return
    reader.variable("power", "power that is used", upper=available, of="available_power")
    reader.expression("curtailed", f"{available} - {power}", "curtailed")
    reader.terminal(power, available, supplies=True)
