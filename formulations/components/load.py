"""A demand that has to be met: its power is data, and it takes part in the balance of its bus."""

from engiagent.formulations.components.fragment import Fragment
from engiagent.formulations.components.reader import Reader


def fragment(reader: Reader) -> Fragment:
    """Return the algebra of a load."""
    power = reader.text("power")
    return reader.expression("power", power, "demand") + reader.terminal(
        f"{reader.name}_power[t]", power, supplies=False, floor=power
    )
