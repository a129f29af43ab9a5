"""A demand that has to be met: its power is data, and it takes part in the balance of its bus."""

from engiagent.formulations.components.reader import Reader


def declare(reader: Reader) -> None:
    """Add the algebra of a load."""
    power = reader.text("power")
    served = reader.expression("power", power, "demand")
    reader.terminal(served, power, supplies=False, floor=power)
