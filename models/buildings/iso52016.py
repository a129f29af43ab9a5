r"""Zones of ISO 52016-1: five nodes in each opaque element, two in windows, one of air.

An opaque element of resistance :math:`R_c` and areal capacity :math:`\kappa_m` has nodes from 1
(outside) to 5 (inside) with :math:`h_{1} = h_{4} = 6/R_c`, :math:`h_2 = h_3 = 3/R_c` between them.
Its class of mass distribution says where the capacity sits:

======  ==========  ==========  ==========  ==========  ==========
class   node 1      node 2      node 3      node 4      node 5
======  ==========  ==========  ==========  ==========  ==========
I       0           0           0           0           κ
E       κ           0           0           0           0
IE      κ/2         0           0           0           κ/2
D       κ/8         κ/4         κ/4         κ/4         κ/8
M       0           0           κ           0           0
======  ==========  ==========  ==========  ==========  ==========

Surfaces exchange heat by convection with the air and by radiation with one another, in proportion
to their areas; the latter is a node without mass that every surface is linked to, which is equal.
The standard steps by an implicit scheme each hour; here the network is stepped exactly.

Source: ISO 52016-1:2017, 6.5.6, 6.5.7, tables B.13, B.14; surface coefficients ISO 13789:2017.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from engiagent.models.buildings.network import HeatNetwork, Link, Node
from engiagent.models.ranges import ParameterError, within

MassDistribution = Literal["I", "E", "IE", "D", "M"]

#: Share of the capacity in each node of an opaque element, from the outside to the inside.
SHARES: dict[str, tuple[float, ...]] = {
    "I": (0.0, 0.0, 0.0, 0.0, 1.0),
    "E": (1.0, 0.0, 0.0, 0.0, 0.0),
    "IE": (0.5, 0.0, 0.0, 0.0, 0.5),
    "D": (0.125, 0.25, 0.25, 0.25, 0.125),
    "M": (0.0, 0.0, 1.0, 0.0, 0.0),
}
#: The same for floors on the ground, whose nodes 1 and 2 are ground.
GROUND_SHARES: dict[str, tuple[float, ...]] = {
    "I": (0.0, 0.0, 0.0, 0.0, 1.0),
    "E": (0.0, 0.0, 1.0, 0.0, 0.0),
    "IE": (0.0, 0.0, 0.5, 0.0, 0.5),
    "D": (0.0, 0.0, 0.25, 0.5, 0.25),
    "M": (0.0, 0.0, 0.0, 1.0, 0.0),
}
KWH = 3.6e6  # J
H_CI = {"up": 5.0, "horizontal": 2.5, "down": 0.7}  # W/(m2 K), convection inside
H_RI, H_CE, H_RE = 5.13, 20.0, 4.14  # W/(m2 K), radiation inside, both outside
R_GROUND, CAPACITY_GROUND = 0.25, 1.0e6  # half a metre of ground: m2 K/W, J/(m2 K)
AIR_CAPACITY = 10_000.0  # J/(m2 K), air and furniture for each m2 of floor


@dataclass(frozen=True, kw_only=True)
class Element:
    r"""A part of the envelope or an inner wall, with one side in the zone.

    Attributes
    ----------
    name
        Nodes are named after it: ``wall.1`` outside to ``wall.5`` inside, ``window.1`` and
        ``window.2``.
    area
        Above 0. [m2]
    resistance
        :math:`R_c` without surfaces. Above 0. [m2 K/W]
    capacity
        :math:`\kappa_m`, none for a window. [J/(m2 K)]
    mass
        Class of mass distribution of an opaque element; None for a window (two nodes, no mass).
    outside
        The boundary or the node that it ends at; several elements may share one. An inner wall
        between zones ends at the air of the other.
    direction
        Of the heat when it flows outwards, for the convection inside.
    outer_coefficient
        Convection and radiation outside. Above 0. [W/(m2 K)]
    """

    name: str
    area: float
    resistance: float
    capacity: float = 0.0
    mass: MassDistribution | None = None
    outside: str = "ambient"
    direction: Literal["up", "horizontal", "down"] = "horizontal"
    outer_coefficient: float = H_CE + H_RE

    def __post_init__(self) -> None:
        within(self.area, f"the area of {self.name}", "m2", low=0.0, above=True)
        within(self.resistance, f"the resistance of {self.name}", "m2 K/W", low=0.0, above=True)
        within(self.capacity, f"the capacity of {self.name}", "J/(m2 K)", low=0.0)
        within(
            self.outer_coefficient,
            f"the outer coefficient of {self.name}",
            "W/(m2 K)",
            low=0.0,
            above=True,
        )
        if self.direction not in H_CI:
            raise ParameterError(
                f"the direction of {self.name} is {self.direction!r}; known: up, horizontal, down"
            )
        if self.mass is not None and self.mass not in SHARES:
            raise ParameterError(
                f"the class of {self.name} is {self.mass!r}; known: I, E, IE, D, M"
            )
        if self.mass is None and self.capacity > 0:
            raise ParameterError(
                f"{self.name} has a capacity but no class of mass distribution; give I, E, IE, D "
                "or M"
            )

    @property
    def surface(self) -> str:
        """The node of the inner surface."""
        return f"{self.name}.{2 if self.mass is None else 5}"

    def parts(self) -> tuple[tuple[Node, ...], tuple[Link, ...]]:
        """Return its nodes, and its links but for those on the inside."""
        steps: tuple[float, ...] = (1.0,) if self.mass is None else (6.0, 3.0, 3.0, 6.0)
        shares: tuple[float, ...] = (0.0, 0.0) if self.mass is None else SHARES[self.mass]
        capacities = [share * self.capacity for share in shares]
        conductances = [step / self.resistance for step in steps]
        return _chain(
            self.name, self.area, capacities, [self.outer_coefficient, *conductances], self.outside
        )


@dataclass(frozen=True, kw_only=True)
class GroundFloor(Element):
    """A floor on the ground, whose outer nodes are half a metre of ground.

    Attributes
    ----------
    virtual_resistance
        Of the virtual layer below, from ISO 13370, :math:`R_{gr;vi}`. Above 0. [m2 K/W]
    outside
        The boundary with the virtual temperature of the ground.
    """

    virtual_resistance: float
    outside: str = "ground"
    direction: Literal["up", "horizontal", "down"] = "down"

    def __post_init__(self) -> None:
        super().__post_init__()
        what = f"the virtual resistance of {self.name}"
        within(self.virtual_resistance, what, "m2 K/W", low=0.0, above=True)
        if self.mass is None:
            raise ParameterError(f"{self.name} has no class of mass; give I, E, IE, D or M")

    def parts(self) -> tuple[tuple[Node, ...], tuple[Link, ...]]:
        """Return its nodes, and its links but for those on the inside."""
        capacities = [share * self.capacity for share in GROUND_SHARES[self.mass or "D"]]
        capacities[1] += CAPACITY_GROUND
        floor = self.resistance
        between = [2.0 / R_GROUND, 1.0 / (floor / 4.0 + R_GROUND / 2.0), 2.0 / floor, 4.0 / floor]
        return _chain(
            self.name,
            self.area,
            capacities,
            [1.0 / self.virtual_resistance, *between],
            self.outside,
        )


def _chain(
    name: str, area: float, capacities: Sequence[float], coefficients: Sequence[float], outside: str
) -> tuple[tuple[Node, ...], tuple[Link, ...]]:
    """Return nodes in a row and the links before each, from the outside."""
    names = [f"{name}.{number}" for number in range(1, len(capacities) + 1)]
    nodes = [Node(name=n, capacity=c * area / KWH) for n, c in zip(names, capacities, strict=True)]
    links = [
        Link(one=before, other=after, conductance=coefficient * area / 1000.0)
        for before, after, coefficient in zip(
            [outside, *names[:-1]], names, coefficients, strict=True
        )
    ]
    return tuple(nodes), tuple(links)


@dataclass(frozen=True, kw_only=True)
class Zone:
    """Elements around one volume of air.

    Attributes
    ----------
    name
        Nodes are ``name.air`` and ``name.radiant``, the mean of the surfaces without mass.
    floor_area
        For air and furniture. Above 0. [m2]
    elements
        At least one.
    ventilation
        Air from the boundary ``supply``, mass flow times specific heat. At least 0. [kW/K]
    thermal_bridges
        From the air to the boundary ``ambient``. At least 0. [kW/K]
    supply
        The boundary that the air comes from.
    air_capacity
        Of air and furniture for each m2 of floor. Above 0. [J/(m2 K)]
    """

    name: str
    floor_area: float
    elements: tuple[Element, ...]
    ventilation: float = 0.0
    thermal_bridges: float = 0.0
    supply: str = "ambient"
    air_capacity: float = AIR_CAPACITY

    def __post_init__(self) -> None:
        within(self.floor_area, f"the floor area of {self.name}", "m2", low=0.0, above=True)
        within(self.air_capacity, "the capacity of air", "J/(m2 K)", low=0.0, above=True)
        within(self.ventilation, f"the ventilation of {self.name}", "kW/K", low=0.0)
        within(self.thermal_bridges, f"the thermal bridges of {self.name}", "kW/K", low=0.0)
        if not self.elements:
            raise ParameterError(f"the zone {self.name} has no elements; give one at least")

    @property
    def air(self) -> str:
        """The node of the air."""
        return f"{self.name}.air"

    def spread(self, convective: float) -> Mapping[str, float]:
        """Return the shares of a gain in the air and, by area, on the surfaces. [-].

        Parameters
        ----------
        convective
            Share in the air; in the standard 0.4 for people, devices and heating, 0.1 for the sun.
        """
        within(convective, "the convective share", "-", low=0.0, high=1.0)
        area = sum(element.area for element in self.elements)
        radiant = {e.surface: (1.0 - convective) * e.area / area for e in self.elements}
        return {self.air: convective, **radiant}

    @property
    def operative(self) -> Mapping[str, float]:
        """Weights of the nodes in the operative temperature: half air, half surfaces by area."""
        return self.spread(0.5)


def network(zones: Sequence[Zone], boundaries: Sequence[str]) -> HeatNetwork:
    """Return the network of zones; elements between them end at ``other.air``.

    Examples
    --------
    >>> wall = Element(name="wall", area=50.0, resistance=4.0, capacity=250e3, mass="D")
    >>> house = network([Zone(name="house", floor_area=30.0, elements=(wall,))], ["ambient"])
    >>> run = house.simulate({"ambient": [0.0] * 2000}, 1.0, {"house.air": 0.2},
    ...     initial=dict.fromkeys(house.index, 20.0))
    >>> round(float(run.temperature[-1, house.index["house.air"]]), 3)  # 0.2 kW through all of it
    17.766
    """
    nodes: list[Node] = []
    links: list[Link] = []
    for zone in zones:
        radiant = f"{zone.name}.radiant"
        nodes += [
            Node(name=zone.air, capacity=zone.air_capacity * zone.floor_area / KWH),
            Node(name=radiant),
        ]
        if zone.ventilation:
            links.append(Link(one=zone.supply, other=zone.air, conductance=zone.ventilation))
        if zone.thermal_bridges:
            links.append(Link(one="ambient", other=zone.air, conductance=zone.thermal_bridges))
        for element in zone.elements:
            inner, outer = element.parts()
            nodes += inner
            links += outer
            convection = H_CI[element.direction] * element.area / 1000.0
            links += [
                Link(one=element.surface, other=zone.air, conductance=convection),
                Link(one=element.surface, other=radiant, conductance=H_RI * element.area / 1000.0),
            ]
    return HeatNetwork(nodes=tuple(nodes), links=tuple(links), boundaries=tuple(boundaries))
