r"""The zone of the simple hourly method: one capacity and five conductances.

Nodes are the air :math:`\theta_{air}`, the inner surfaces :math:`\theta_s` and the mass
:math:`\theta_m`; conductances lead from the air to supply air (:math:`H_{ve}`) and surfaces
(:math:`H_{is}`), from the surfaces to the outside through windows (:math:`H_w`) and to the mass
(:math:`H_{ms}`), and from the mass to the outside (:math:`H_{em}`):

.. math::
   C_m \frac{d\theta_m}{dt} = \Phi_m + H_{ms} (\theta_s - \theta_m)
   + H_{em} (\theta_e - \theta_m), \qquad
   H_{em} = \frac{1}{1/H_{op} - 1/H_{ms}}

Annex C steps by the mean of start and end; here the network is stepped exactly, as all networks
are, so that steps of any length agree.

Source: ISO 13790:2008, 7.2.2, 12.2.2, 12.3.1 and Annex C.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from engiagent.models.buildings.network import HeatNetwork, Link, Node
from engiagent.models.ranges import Floats, ParameterError, within

MassClass = Literal["very light", "light", "medium", "heavy", "very heavy"]

#: Mass area [m2] and capacity [J/K] for each m2 of floor (ISO 13790, table 12).
MASS_CLASSES: dict[str, tuple[float, float]] = {
    "very light": (2.5, 80_000.0),
    "light": (2.5, 110_000.0),
    "medium": (2.5, 165_000.0),
    "heavy": (3.0, 260_000.0),
    "very heavy": (3.5, 370_000.0),
}
SURFACE_RATIO = 4.5  # area of all surfaces of a zone for each m2 of floor
H_MS, H_IS = 9.1, 3.45  # W/(m2 K), mass to surface and surface to air


@dataclass(frozen=True, kw_only=True)
class Zone5R1C:
    """A zone of ISO 13790, or several side by side when parameters have the shape (zones,).

    Attributes
    ----------
    mass_capacity
        :math:`C_m`. Above 0. [kWh/K]
    mass_area, surface_area
        :math:`A_m` and :math:`A_t`. Above 0. [m2]
    window_conductance
        :math:`H_w` of windows, doors and other parts without mass. At least 0. [kW/K]
    opaque_conductance
        :math:`H_{op}` of walls, roof and floor from the inside to the outside. At least 0, and
        below :math:`H_{ms}` = 9.1 W/(m2 K) times the mass area. [kW/K]

    Examples
    --------
    >>> zone = Zone5R1C.from_building(floor_area=100.0, mass_class="medium", window_area=15.0,
    ...     window_u=1.1, opaque_area=200.0, opaque_u=0.2)
    >>> run = zone.network(0.05).simulate({"ambient": [0.0] * 500, "supply": 0.0}, 1.0,
    ...     {"air": 2.09}, initial={"mass": 20.0})
    >>> round(float(run.mean_temperature[-1, 0]), 2)
    20.0
    """

    mass_capacity: npt.ArrayLike
    mass_area: npt.ArrayLike
    surface_area: npt.ArrayLike
    window_conductance: npt.ArrayLike
    opaque_conductance: npt.ArrayLike

    def __post_init__(self) -> None:
        within(self.mass_capacity, "the mass capacity", "kWh/K", low=0.0, above=True)
        within(self.mass_area, "the mass area", "m2", low=0.0, above=True)
        within(self.surface_area, "the surface area", "m2", low=0.0, above=True)
        within(self.window_conductance, "the window conductance", "kW/K", low=0.0)
        within(self.opaque_conductance, "the opaque conductance", "kW/K", low=0.0)
        if not (np.asarray(self.opaque_conductance) < self.mass_conductance).all():
            raise ParameterError(
                f"the opaque conductance {self.opaque_conductance!r} kW/K is not below the "
                f"{self.mass_conductance} kW/K between mass and surfaces; check areas and U-values"
            )

    @classmethod
    def from_building(
        cls,
        *,
        floor_area: npt.ArrayLike,
        mass_class: MassClass,
        window_area: npt.ArrayLike,
        window_u: npt.ArrayLike,
        opaque_area: npt.ArrayLike,
        opaque_u: npt.ArrayLike,
        thermal_bridges: npt.ArrayLike = 0.0,
    ) -> "Zone5R1C":
        """Return the zone with mass and areas by the classes of table 12 of the standard.

        Parameters
        ----------
        floor_area, window_area, opaque_area
            Conditioned floor; windows and opaque parts against the outside. [m2]
        mass_class
            ``very light``, ``light``, ``medium``, ``heavy`` or ``very heavy``.
        window_u, opaque_u
            Thermal transmittances. [W/(m2 K)]
        thermal_bridges
            Added to the opaque conductance. [W/K]
        """
        if mass_class not in MASS_CLASSES:
            raise ParameterError(
                f"the mass class is {mass_class!r}; the standard knows {', '.join(MASS_CLASSES)}"
            )
        floor = within(floor_area, "the floor area", "m2", low=0.0, above=True)
        window = within(window_area, "the window area", "m2", low=0.0) * within(
            window_u, "the U-value of windows", "W/(m2 K)", low=0.0
        )
        opaque = within(opaque_area, "the opaque area", "m2", low=0.0) * within(
            opaque_u, "the U-value of opaque parts", "W/(m2 K)", low=0.0
        ) + within(thermal_bridges, "the thermal bridges", "W/K", low=0.0)
        area, capacity = MASS_CLASSES[mass_class]
        return cls(
            mass_capacity=capacity * floor / 3.6e6,
            mass_area=area * floor,
            surface_area=SURFACE_RATIO * floor,
            window_conductance=window / 1000.0,
            opaque_conductance=opaque / 1000.0,
        )

    @property
    def mass_conductance(self) -> Floats:
        """:math:`H_{ms}`. [kW/K]."""
        return H_MS * np.asarray(self.mass_area, dtype=np.float64) / 1000.0

    @property
    def outer_conductance(self) -> Floats:
        """:math:`H_{em}`, from the mass to the outside. [kW/K]."""
        opaque = np.asarray(self.opaque_conductance, dtype=np.float64)
        return opaque / (1.0 - opaque / self.mass_conductance)

    def network(self, ventilation: float) -> HeatNetwork:
        """Return one zone as a network of ``air``, ``surface`` and ``mass``.

        Parameters
        ----------
        ventilation
            From the boundary ``supply``, beside ``ambient``. At least 0. [kW/K]
        """
        if np.broadcast(self.mass_capacity, self.opaque_conductance, self.surface_area).size != 1:
            raise ParameterError("a network is of one zone; give each its own Zone5R1C")
        area, capacity = np.asarray(self.surface_area), np.asarray(self.mass_capacity)
        links = (
            ("supply", "air", ventilation),
            ("air", "surface", H_IS * area.item() / 1000.0),
            ("ambient", "surface", np.asarray(self.window_conductance).item()),
            ("surface", "mass", self.mass_conductance.item()),
            ("ambient", "mass", self.outer_conductance.item()),
        )
        return HeatNetwork(
            nodes=(
                Node(name="air"),
                Node(name="surface"),
                Node(name="mass", capacity=capacity.item()),
            ),
            links=tuple(Link(one=a, other=b, conductance=float(g)) for a, b, g in links),
            boundaries=("ambient", "supply"),
        )
