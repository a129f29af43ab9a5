r"""The zone of ISO 52016-1: each opaque element in five nodes, its mass where its class has it.

Between the nodes 1 (outside) to 5 (inside) of an opaque element of area :math:`A`, of thermal
resistance :math:`R_c` and areal capacity :math:`\kappa_m`, conductances and capacities are

.. math::
   h_{12} = h_{45} = \frac{6}{R_c}, \quad h_{23} = h_{34} = \frac{3}{R_c}, \qquad
   \kappa = \kappa_m \cdot \begin{cases}
     (0, 0, 0, 0, 1) & \text{I, mass inside} \\
     (1, 0, 0, 0, 0) & \text{E, mass outside} \\
     (1/2, 0, 0, 0, 1/2) & \text{IE, mass on both sides} \\
     (1/8, 1/4, 1/4, 1/4, 1/8) & \text{D, mass spread evenly} \\
     (0, 0, 1, 0, 0) & \text{M, mass within}
   \end{cases}

A window has two nodes, :math:`1/R_c` between them and no capacity. Its inner surface exchanges
:math:`h_{ci}` with the air and, by the shares of area, :math:`h_{ri}` with every other one; the
outer one exchanges :math:`h_{ce} + h_{re}` with the temperature outside, by which the sky counts as
air. The air has the capacity of furniture, :math:`\kappa_{int}` by floor area.

What is not here: conductances that change, as with wind, blinds or the sky; heat bridges, which are
a link more; and the virtual layer of the ground, which is an element towards a boundary.

The standard steps an hour implicitly; here the network is stepped exactly, as all networks are.

Source: ISO 52016-1:2017, 6.5.6, 6.5.7, table 25 (surface coefficients) and annex B.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise
from typing import Literal

from engiagent.models.buildings import HeatNetwork, Link, Node
from engiagent.models.ranges import ParameterError, within

Mass = Literal["I", "E", "IE", "D", "M"]
Facing = Literal["up", "level", "down"]
H_RI, H_CE, H_RE = 5.13, 20.0, 4.14  # W/(m2 K)
H_CI: dict[Facing, float] = {"up": 5.0, "level": 2.5, "down": 0.7}
"""Convection at the inside [W/(m2 K)] by where heat goes: up, as through a roof, or down."""
KAPPA_INT = 10.0 / 3600.0  # kWh/(m2 K) of floor
SHARES: dict[Mass, tuple[float, ...]] = {
    "I": (0.0, 0.0, 0.0, 0.0, 1.0),
    "E": (1.0, 0.0, 0.0, 0.0, 0.0),
    "IE": (0.5, 0.0, 0.0, 0.0, 0.5),
    "D": (0.125, 0.25, 0.25, 0.25, 0.125),
    "M": (0.0, 0.0, 1.0, 0.0, 0.0),
}
LAYERS = (6.0, 3.0, 3.0, 6.0)


@dataclass(frozen=True, kw_only=True)
class Element:
    r"""A wall, roof or floor; without a capacity a window or door, of two nodes.

    Attributes
    ----------
    name
        Its nodes are ``<name>_1``, outside, and so on.
    area
        Above 0. [m2]
    resistance
        :math:`R_c` from surface to surface. Above 0. [m2 K/W]
    capacity
        :math:`\kappa_m`. At least 0. [kWh/(m2 K)]
    mass
        Where its capacity is.
    facing
        Where heat goes through it.
    outside
        The boundary that it ends at.
    """

    name: str
    area: float
    resistance: float
    capacity: float = 0.0
    mass: Mass = "D"
    facing: Facing = "level"
    outside: str = "ambient"

    def __post_init__(self) -> None:
        within(self.area, f"the area of {self.name}", "m2", low=0.0, above=True)
        within(self.resistance, f"the resistance of {self.name}", "m2 K/W", low=0.0, above=True)
        within(self.capacity, f"the capacity of {self.name}", "kWh/(m2 K)", low=0.0)
        if self.mass not in SHARES or self.facing not in H_CI:
            raise ParameterError(
                f"{self.name} has its mass at {self.mass!r} and faces {self.facing!r}; give one of "
                f"{', '.join(SHARES)}, and of {', '.join(H_CI)}"
            )

    @property
    def nodes(self) -> tuple[Node, ...]:
        """Its nodes from the outside to the inside."""
        shares = SHARES[self.mass] if self.capacity > 0 else (0.0, 0.0)
        return tuple(
            Node(name=f"{self.name}_{place}", capacity=share * self.capacity * self.area)
            for place, share in enumerate(shares, 1)
        )

    @property
    def inside(self) -> str:
        """The node of its inner surface."""
        return self.nodes[-1].name

    def links(self) -> Iterator[Link]:
        """Yield what joins its nodes with one another, the outside and the air."""
        nodes = [node.name for node in self.nodes]
        layers = LAYERS if len(nodes) == 5 else (1.0,)
        for (one, other), layer in zip(pairwise(nodes), layers, strict=True):
            yield self._link(one, other, layer / self.resistance)
        yield self._link(self.outside, nodes[0], H_CE + H_RE)
        yield self._link(nodes[-1], "air", H_CI[self.facing])

    def _link(self, one: str, other: str, coefficient: float) -> Link:
        return Link(one=one, other=other, conductance=coefficient * self.area / 1000.0)


def zone(elements: Sequence[Element], *, floor_area: float, ventilation: float) -> HeatNetwork:
    """Return a zone as a network of its ``air`` and its elements.

    Parameters
    ----------
    elements
        With different names; one has a capacity or more.
    floor_area
        Above 0. [m2]
    ventilation
        From the boundary ``supply`` to the air. At least 0. [kW/K]

    Examples
    --------
    >>> wall = Element(name="wall", area=100.0, resistance=3.0, capacity=0.05)
    >>> box = zone([wall], floor_area=50.0, ventilation=0.02)
    >>> run = box.simulate({"ambient": [0.0] * 2000, "supply": 0.0}, 1.0, {"air": 1.0},
    ...     initial={node.name: 20.0 for node in box.nodes if node.capacity > 0})
    >>> conductance = 0.02 + 0.1 / (1 / 24.14 + 3.0 + 1 / 2.5)  # kW/K
    >>> round(float(run.mean_temperature[-1, 0] * conductance), 6)
    1.0
    """
    within(floor_area, "the floor area", "m2", low=0.0, above=True)
    total = sum(element.area for element in elements)
    nodes = [Node(name="air", capacity=KAPPA_INT * floor_area)]
    links = [Link(one="supply", other="air", conductance=ventilation)]
    for element in elements:
        nodes += element.nodes
        links += element.links()
    for one, other in combinations(elements, 2):
        shared = H_RI * one.area * other.area / total / 1000.0
        links.append(Link(one=one.inside, other=other.inside, conductance=shared))
    outside = dict.fromkeys(element.outside for element in elements)
    return HeatNetwork(nodes=tuple(nodes), links=tuple(links), boundaries=(*outside, "supply"))
