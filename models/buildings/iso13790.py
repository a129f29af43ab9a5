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

from engiagent.models.buildings.network import HeatNetwork, Link, Node
from engiagent.models.ranges import ParameterError, not_negative, positive

H_MS, H_IS = 9.1, 3.45  # W/(m2 K), mass to surface and surface to air


@dataclass(frozen=True, kw_only=True)
class Zone5R1C:
    """A zone of ISO 13790.

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
    >>> zone = Zone5R1C(mass_capacity=4.583, mass_area=250.0, surface_area=450.0,
    ...     window_conductance=0.0165, opaque_conductance=0.04)
    >>> run = zone.network(0.05).simulate({"ambient": [0.0] * 500, "supply": 0.0}, 1.0,
    ...     {"air": 2.09}, initial={"mass": 20.0})
    >>> round(float(run.mean_temperature[-1, 0]), 2)
    20.0
    """

    mass_capacity: float
    mass_area: float
    surface_area: float
    window_conductance: float
    opaque_conductance: float

    def __post_init__(self) -> None:
        positive(self.mass_capacity, "the mass capacity", "kWh/K")
        positive(self.mass_area, "the mass area", "m2")
        positive(self.surface_area, "the surface area", "m2")
        not_negative(self.window_conductance, "the window conductance", "kW/K")
        not_negative(self.opaque_conductance, "the opaque conductance", "kW/K")
        if not self.opaque_conductance < self.mass_conductance:
            raise ParameterError(
                f"the opaque conductance {self.opaque_conductance!r} kW/K is not below the "
                f"{self.mass_conductance} kW/K between mass and surfaces; check areas and U-values"
            )

    @property
    def mass_conductance(self) -> float:
        """:math:`H_{ms}`. [kW/K]."""
        return H_MS * self.mass_area / 1000.0

    def network(self, ventilation: float) -> HeatNetwork:
        """Return the zone as a network of ``air``, ``surface`` and ``mass``.

        ``ventilation``: from the boundary ``supply``, beside ``ambient``. At least 0. [kW/K]
        """
        outer = self.opaque_conductance / (1.0 - self.opaque_conductance / self.mass_conductance)
        links = (
            ("supply", "air", ventilation),
            ("air", "surface", H_IS * self.surface_area / 1000.0),
            ("ambient", "surface", self.window_conductance),
            ("surface", "mass", self.mass_conductance),
            ("ambient", "mass", outer),
        )
        return HeatNetwork(
            nodes=(
                Node(name="air"),
                Node(name="surface"),
                Node(name="mass", capacity=self.mass_capacity),
            ),
            links=tuple(Link(one=a, other=b, conductance=g) for a, b, g in links),
            boundaries=("ambient", "supply"),
        )
