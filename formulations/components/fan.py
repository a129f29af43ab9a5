r"""A fan with a drive of variable speed: flow by power, a cube by the affinity laws.

.. math:: P_t = P_r\,f(\dot m_t/\dot m_r), \qquad f(x) = x^3 \text{ unless coefficients are given}

Kept as a polynomial (a nonlinear programme), or replaced by ``segments`` chords, which lie above a
convex curve by at most :math:`3/4\,P_r/n^2` for the cube. With a least flow it switches.
"""

from engiagent.formulations.components.partload import (
    Machine,
    Shape,
    by_polynomial,
    chords,
    machine,
)
from engiagent.formulations.components.reader import Reader


def declare(reader: Reader) -> None:
    """Add the algebra of fans or pumps."""
    flow, power = reader.text("rated_flow"), reader.text("rated_power")
    kind = Machine("flow", "electric_power", flow, power, "flow", "rated_flow", "minimum_flow")
    built = machine(reader, kind, _shape(reader))
    name = f"{reader.name}_electric_power[t]"
    reader.terminal(name, built.input_limit, supplies=False)


def _shape(reader: Reader) -> Shape:
    curve = by_polynomial(reader, "power_curve", least="minimum_flow")
    if curve is not None:
        return curve
    if reader.option("segments") is not None:
        return chords(reader, lambda x: f"{x}**3", (), least="minimum_flow")
    return Shape(lambda ratio, on: f"({ratio})**3", bends=True, top="1")
