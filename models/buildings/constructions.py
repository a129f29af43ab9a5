r"""Walls, roofs and floors in layers: resistance, capacity, periodic response and cells.

.. math::
   R = \sum_k d_k / \lambda_k, \qquad U = \frac{1}{R_{si} + R + R_{se}}, \qquad
   \kappa = \sum_k \rho_k c_k d_k

For sinusoidal temperatures of period :math:`P` the layers multiply as matrices
:math:`Z_k(\cosh p d, \sinh p d)` with :math:`p = (1 + i)/\delta` and the penetration depth
:math:`\delta = \sqrt{\lambda P / (\pi \rho c)}`; the areal heat capacity of the inner side is
:math:`\kappa_1 = \frac{P}{2\pi} \left|\frac{Z_{11} - 1}{Z_{12}}\right|`.

Sources: ISO 6946:2017 for resistances; ISO 13786:2017 for the periodic response.
"""

from dataclasses import dataclass

import numpy as np

from engiagent.models.buildings.network import Link, Node
from engiagent.models.parameters import within
from engiagent.models.ranges import ParameterError

#: Surface resistances inside by the direction of heat, and outside. [m2 K/W] (ISO 6946, table 7)
R_SI = {"up": 0.10, "horizontal": 0.13, "down": 0.17}
R_SE = 0.04
KWH = 3.6e6  # J


@dataclass(frozen=True, kw_only=True)
class Layer:
    """A layer of one material.

    Attributes
    ----------
    thickness
        Above 0. [m]
    conductivity
        Above 0. [W/(m K)]
    density, specific_heat
        At least 0; a gap of air is a layer with its equivalent conductivity and density 0.
        [kg/m3], [J/(kg K)]
    """

    thickness: float
    conductivity: float
    density: float
    specific_heat: float

    def __post_init__(self) -> None:
        within(self.thickness, "the thickness of a layer", "m", low=0.0, above=True)
        within(self.conductivity, "the conductivity of a layer", "W/(m K)", low=0.0, above=True)
        within(self.density, "the density of a layer", "kg/m3", low=0.0)
        within(self.specific_heat, "the specific heat of a layer", "J/(kg K)", low=0.0)

    @property
    def resistance(self) -> float:
        """[m2 K/W]."""
        return self.thickness / self.conductivity

    @property
    def capacity(self) -> float:
        """[J/(m2 K)]."""
        return self.thickness * self.density * self.specific_heat

    def depth(self, period_hours: float) -> float:
        """Return how deep a sine of this period reaches (to 1/e); infinite without mass. [m]."""
        volumetric = self.density * self.specific_heat
        if volumetric == 0.0:
            return float("inf")
        return float(np.sqrt(self.conductivity * period_hours * 3600.0 / (np.pi * volumetric)))


@dataclass(frozen=True)
class Construction:
    """Layers from the outside to the inside.

    Examples
    --------
    >>> brick = Layer(thickness=0.24, conductivity=0.8, density=1800.0, specific_heat=1000.0)
    >>> wool = Layer(thickness=0.12, conductivity=0.04, density=50.0, specific_heat=1000.0)
    >>> wall = Construction((wool, brick))
    >>> round(wall.u_value(), 6), wall.capacity
    (0.288184, 438000.0)
    """

    layers: tuple[Layer, ...]

    def __post_init__(self) -> None:
        if not self.layers:
            raise ParameterError("a construction has no layers; give one at least")

    @property
    def resistance(self) -> float:
        """Without surfaces. [m2 K/W]."""
        return sum(layer.resistance for layer in self.layers)

    @property
    def capacity(self) -> float:
        """All of it. [J/(m2 K)]."""
        return sum(layer.capacity for layer in self.layers)

    def u_value(self, inner: float = R_SI["horizontal"], outer: float = R_SE) -> float:
        """Return the thermal transmittance. [W/(m2 K)].

        Parameters
        ----------
        inner, outer
            Resistances of the surfaces; :data:`R_SI` has those of the standard. [m2 K/W]
        """
        return 1.0 / (inner + self.resistance + outer)

    def periodic_capacity(self, period_hours: float = 24.0) -> tuple[float, float]:
        r"""Return the areal heat capacities of inside and outside, :math:`\kappa_1, \kappa_2`.

        Without surface resistances. [J/(m2 K)].
        """
        matrix = self._periodic(period_hours)
        scale = period_hours * 3600.0 / (2.0 * np.pi)
        inner, outer = (abs((matrix[i, i] - 1.0) / matrix[0, 1]) for i in (0, 1))
        return float(scale * inner), float(scale * outer)

    def periodic_transmittance(
        self, period_hours: float = 24.0, inner: float = R_SI["horizontal"], outer: float = R_SE
    ) -> complex:
        r"""Return :math:`Y_{12} = -1/Z_{12}`: heat inside for a sine of 1 K outside. [W/(m2 K)].

        Its size over the U-value is the decrement factor, its argument the time shift.
        """
        at_inner, at_outer = (np.array([[1.0, -r], [0.0, 1.0]]) for r in (inner, outer))
        matrix = at_outer @ self._periodic(period_hours) @ at_inner
        return complex(-1.0 / matrix[0, 1])

    def _periodic(self, period_hours: float) -> np.typing.NDArray[np.complex128]:
        """Return the matrix that takes temperature and heat flow inside to those outside."""
        within(period_hours, "the period", "h", low=0.0, above=True)
        matrix = np.eye(2, dtype=np.complex128)
        for layer in reversed(self.layers):
            depth = layer.depth(period_hours)
            if np.isinf(depth):
                part = np.array([[1.0, -layer.resistance], [0.0, 1.0]], dtype=np.complex128)
            else:
                p = (1.0 + 1.0j) / depth
                x = p * layer.thickness
                slope = layer.conductivity * p
                part = np.array(
                    [[np.cosh(x), -np.sinh(x) / slope], [-slope * np.sinh(x), np.cosh(x)]]
                )
            matrix = part @ matrix
        return matrix


def cells(
    construction: Construction,
    *,
    name: str,
    area: float,
    shortest_period: float = 2.0,
    cells_per_depth: float = 3.0,
) -> tuple[tuple[Node, ...], tuple[Link, ...]]:
    """Return a construction cut into cells, for :class:`~engiagent.models.buildings.HeatNetwork`.

    Nodes are ``name.out`` and ``name.in``, the surfaces without mass, and ``name.0``, ``name.1``,
    … from the outside to the inside, each in the middle of its cell.

    Parameters
    ----------
    name
        Of the wall.
    area
        [m2]
    shortest_period
        Of the changes that matter; cells are thin against its penetration depth. [h]
    cells_per_depth
        How thin.

    Raises
    ------
    ParameterError
        When the area or a number is not above 0.
    """
    within(area, f"the area of {name}", "m2", low=0.0, above=True)
    within(shortest_period, "the shortest period", "h", low=0.0, above=True)
    within(cells_per_depth, "the number of cells per depth", "-", low=0.0, above=True)
    nodes, links = [Node(name=f"{name}.out")], []
    last, open_resistance = f"{name}.out", 0.0
    for layer in construction.layers:
        if layer.capacity == 0.0:
            open_resistance += layer.resistance
            continue
        count = max(
            1, int(np.ceil(layer.thickness / layer.depth(shortest_period) * cells_per_depth))
        )
        for _ in range(count):
            node = Node(
                name=f"{name}.{len(nodes) - 1}", capacity=layer.capacity * area / count / KWH
            )
            half = layer.resistance / count / 2.0
            links.append(_resist(last, node.name, open_resistance + half, area))
            nodes.append(node)
            last, open_resistance = node.name, half
    nodes.append(Node(name=f"{name}.in"))
    links.append(_resist(last, f"{name}.in", open_resistance, area))
    return tuple(nodes), tuple(links)


def _resist(one: str, other: str, resistance: float, area: float) -> Link:
    return Link(one=one, other=other, conductance=area / resistance / 1000.0)
