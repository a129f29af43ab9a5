r"""LinDistFlow: voltages of a radial feeder as a linear function of the powers.

.. math:: v_j = v_i - 2 (r_{ij} P_{ij} + x_{ij} Q_{ij}), \qquad v = |V|^2

with the flows :math:`P, Q` the sums of the demands behind the branch: losses are left out, and
line charging and shunts count as at nominal voltage. Losses only add to what a branch carries, so
that without line charging and shunts the true voltage is never above LinDistFlow's, whether buses
draw or feed in. Charging grows with the square of the voltage: above nominal voltage LinDistFlow
has too little of it, and the true voltage may be higher.

Source: M. E. Baran and F. F. Wu, doi:10.1109/61.25627.
"""

import numpy as np
import numpy.typing as npt

from engiagent.models.grids.feeder import Feeder
from engiagent.models.grids.flow import demand_of, held_voltage
from engiagent.models.grids.tree import Tree
from engiagent.models.ranges import Floats, ParameterError


def lindistflow(
    feeder: Feeder,
    p_kw: npt.ArrayLike,
    q_kvar: npt.ArrayLike | None = None,
    source_voltage: npt.ArrayLike | None = None,
) -> Floats:
    """Return the voltages, shape (time, buses); arguments as of ``Feeder.flow``. [p.u.].

    Examples
    --------
    >>> from engiagent.models.grids import Bus, Feeder, Line
    >>> buses = (Bus(name="station", nominal_voltage=0.4), Bus(name="house", nominal_voltage=0.4))
    >>> cable = Line(name="c", from_bus="station", to_bus="house", resistance=0.16, reactance=0.0)
    >>> feeder = Feeder(buses=buses, lines=(cable,), source="station")
    >>> lindistflow(feeder, [[0.0, 9.5]]).round(12).tolist()
    [[1.0, 0.990454441153]]
    """
    power = 1000.0 * demand_of(feeder.bus_names, p_kw, q_kvar)
    by_active, by_reactive, charging, factor = sensitivities(feeder)
    held = feeder.source_voltage if source_voltage is None else source_voltage
    square = np.square(held_voltage(held, len(power)))[:, None] / factor
    square = square - power.real @ by_active.T - power.imag @ by_reactive.T - charging
    if not (square > 0).all():
        raise ParameterError(
            "the linear voltages fall to zero; the demand is far beyond what the feeder can carry"
        )
    return np.asarray(np.sqrt(square))


def sensitivities(feeder: Feeder) -> tuple[Floats, Floats, Floats, Floats]:
    """Return ``(R, X, c, k)`` of ``|V|² = v_source / k - R p - X q - c``.

    Returns R and X of shape (buses, buses) [1/kW], [1/kvar]; c of shape (buses,), from line
    charging and shunts at nominal voltage; k of shape (buses,), the square of the ratios on the way
    from the source.
    """
    if not feeder.radial:
        raise ParameterError("LinDistFlow needs a radial feeder; open the tie lines")
    tree = Tree.of(feeder.network)
    count = len(feeder.buses)
    # Row i: which buses lie behind the branch above bus i.
    behind = tree.gather(np.eye(count, dtype=np.complex128)).real
    # Row j: a bus j sees the drops of all branches above it.
    above = behind.T
    by_active = above @ (2.0 * tree.impedance.real[:, None] * behind)
    by_reactive = above @ (2.0 * tree.impedance.imag[:, None] * behind)
    factor = np.abs(tree.factor) ** 2
    # Referred admittances, at the nominal voltage of their own bus.
    drawn = tree.admittance * factor
    charging = by_active @ drawn.real - by_reactive @ drawn.imag
    return (
        by_active / factor[:, None] / 1000.0,
        by_reactive / factor[:, None] / 1000.0,
        charging / factor,
        factor,
    )
