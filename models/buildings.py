r"""Buildings: networks of heat, and the zone of ISO 13790 as one.

Heat networks: nodes with or without capacity, links, and any number of given temperatures.

.. math::
    C_i \frac{dT_i}{dt} = \sum_j G_{ij} (T_j - T_i) + \sum_b G_{ib} (T_b - T_i) + \dot Q_i

A node without capacity has :math:`C_i = 0`; its temperature follows from the others at once and is
eliminated (Schur complement). With boundary temperatures :math:`T_b` and heat :math:`\dot Q` held
over a step, state and mean of the step are exact by the matrix exponential.

Sources: lumped-capacity networks as in EN ISO 52016-1; exponential of the augmented system, C. F.
Van Loan, doi:10.1109/TAC.1978.1101743.

With :math:`L` the matrix of conductances (:math:`L T = G_b T_b + \dot Q` at rest), nodes with mass
``m`` and without ``z``:

.. math::
   C \dot T_m = -(L_{mm} - L_{mz} L_{zz}^{-1} L_{zm}) T_m + \dots, \qquad
   T_z = L_{zz}^{-1} (G_{b,z} T_b + \dot Q_z - L_{zm} T_m).

The zone of the simple hourly method: one capacity and five conductances.

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

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from engiagent.models.ranges import Floats, ParameterError, not_negative, positive, series, steps
from engiagent.models.recursion import switched_recursion


@dataclass(frozen=True)
class Discretised:
    """One exact step of the nodes with mass as ``after = transition @ before + drive @ inputs``.

    The inputs are the boundary temperatures [degC] and the heat into every node [kW], in the order
    of the network. Means over the step and all nodes follow alike:
    ``mean = mean_transition @ before + mean_drive @ inputs`` and
    ``all nodes = spread @ (nodes with mass) + direct @ inputs``.
    """

    transition: Floats
    drive: Floats
    mean_transition: Floats
    mean_drive: Floats
    spread: Floats
    direct: Floats


@dataclass(frozen=True, kw_only=True)
class Node:
    """A place of one temperature."""

    name: str  # by which links refer to it
    # heat that warms it by one kelvin; 0 for a node without mass. At least 0. [kWh/K]
    capacity: float = 0.0
    # at the first instant; nodes without mass need none. [degC]
    initial_temperature: float | None = None

    def __post_init__(self) -> None:
        not_negative(self.capacity, f"the capacity of {self.name}", "kWh/K")


@dataclass(frozen=True, kw_only=True)
class Link:
    """A path of heat between two nodes, or a node and a boundary."""

    # one, other: names of its ends
    one: str
    other: str
    conductance: float  # heat per kelvin of difference. At least 0; 0 for none. [kW/K]
    # False for conduction, convection and radiation. True for air or water that streams from
    # ``one`` into ``other`` (conductance = mass flow times specific heat): ``other`` takes up
    # ``conductance * (T_one - T_other)``, ``one`` feels nothing. For a balance of the whole the
    # streams into and out of each node must be equal.
    one_way: bool = False

    def __post_init__(self) -> None:
        what = f"the conductance between {self.one} and {self.other}"
        not_negative(self.conductance, what, "kW/K")
        if self.one == self.other:
            raise ParameterError(f"a link joins {self.one} with itself; name two different ends")


@dataclass(frozen=True)
class HeatRun:
    """What a network does over N periods."""

    # at the instants, shape (N+1, nodes). A node without mass has at an instant the value with the
    # inputs of the period that ends there, and at the first of the one that begins. [degC]
    temperature: Floats
    mean_temperature: Floats  # means of the periods, shape (N, nodes). [degC]


@dataclass(frozen=True, kw_only=True)
class HeatNetwork:
    """Nodes, links and boundaries.

    Examples
    --------
    >>> house = HeatNetwork(
    ...     nodes=(Node(name="air"), Node(name="mass", capacity=2.0, initial_temperature=20.0)),
    ...     links=(Link(one="ambient", other="air", conductance=0.4),
    ...            Link(one="air", other="mass", conductance=0.4)),
    ...     boundaries=("ambient",),
    ... )
    >>> run = house.simulate({"ambient": [0.0] * 10}, 1.0)
    >>> round(float(run.temperature[-1, 1]), 9)  # 20 / e
    7.357588823
    """

    nodes: tuple[Node, ...]  # with different names; at least one with a capacity
    # between nodes, or of a node and a boundary. Several between the same ends add up.
    links: tuple[Link, ...]
    # names of the given temperatures: ambient, ground, neighbours, sol-air, supply air
    boundaries: tuple[str, ...] = ("ambient",)

    def __post_init__(self) -> None:
        names = [*(node.name for node in self.nodes), *self.boundaries]
        if len(set(names)) != len(names):
            twice = next(name for name in names if names.count(name) > 1)
            raise ParameterError(f"the name {twice!r} stands twice in the network; rename one")
        for link in self.links:
            for end in (link.one, link.other):
                if end not in self.index and end not in self.boundaries:
                    known = ", ".join(names[:20])
                    raise ParameterError(f"a link ends at {end!r}; known: {known}")
            if link.one not in self.index and link.other not in self.index:
                raise ParameterError(
                    f"the link {link.one} to {link.other} joins two boundaries; one end is a node"
                )
            if link.one_way and link.other not in self.index:
                raise ParameterError(
                    f"a stream runs from {link.one} into the boundary {link.other}, which feels "
                    "nothing; leave it out"
                )
        if not (self.capacities > 0).any():
            raise ParameterError("no node has a capacity; give one at least, in kWh/K")

    @cached_property
    def index(self) -> Mapping[str, int]:
        """The place of each node by its name."""
        return {node.name: place for place, node in enumerate(self.nodes)}

    @cached_property
    def capacities(self) -> Floats:
        """Shape (nodes,). [kWh/K]."""
        return np.array([node.capacity for node in self.nodes], dtype=np.float64)

    def simulate(
        self,
        boundary: Mapping[str, npt.ArrayLike],
        step_hours: npt.ArrayLike,
        heat: Mapping[str, npt.ArrayLike] | None = None,
        *,
        initial: Mapping[str, float] | None = None,
    ) -> HeatRun:
        """Return the temperatures over the periods.

        ``boundary``: temperature of every boundary, a number or shape (N,). [degC] ``step_hours``:
        length of each period, a number or shape (N,). [h] ``heat``: mean heat into nodes by their
        names, negative for cooling; a number or (N,). [kW] ``initial``: temperatures of nodes with
        mass by name; those of the nodes themselves where there is none. [degC]
        """
        inputs = self._inputs(boundary, heat or {}, step_hours)
        different, which = np.unique(steps(step_hours, len(inputs)), return_inverse=True)
        exact = [self.discretise(float(step)) for step in different]
        driven, means = np.empty((2, len(inputs), len(exact[0].transition)))
        for number, d in enumerate(exact):
            driven[which == number] = inputs[which == number] @ d.drive.T
        transitions = np.stack([d.transition for d in exact])
        mass = switched_recursion(transitions, which, driven, self._initial_mass(initial or {}))
        for number, d in enumerate(exact):
            chosen = which == number
            means[chosen] = mass[:-1][chosen] @ d.mean_transition.T
            means[chosen] += inputs[chosen] @ d.mean_drive.T
        # Which nodes have mass, and how the others follow, does not depend on the step.
        spread, direct = exact[0].spread, exact[0].direct
        temperature = mass @ spread.T + inputs[np.r_[0, : len(inputs)]] @ direct.T
        mean = means @ spread.T + inputs @ direct.T
        return HeatRun(temperature, mean)

    def discretise(self, step_hours: float) -> Discretised:
        """Return the exact step as dense matrices, for control and optimisation.

        Nodes without mass are eliminated, then comes the exponential of what is left.
        """
        if step_hours in self._discretised:
            return self._discretised[step_hours]
        positive(step_hours, "the step", "h")
        from scipy.linalg import expm

        matrix, feed = self._balance()
        heavy, light = np.flatnonzero(self.capacities > 0), np.flatnonzero(self.capacities == 0)
        within_light = matrix[np.ix_(light, light)]
        by_heavy = np.linalg.solve(within_light, -matrix[np.ix_(light, heavy)])
        by_input = np.linalg.solve(within_light, feed[light])
        coupling, capacity = matrix[np.ix_(heavy, light)], self.capacities[heavy, None]
        inner = matrix[np.ix_(heavy, heavy)] + coupling @ by_heavy
        drive = step_hours * (feed[heavy] - coupling @ by_input) / capacity
        size = len(heavy)
        block = np.zeros((3 * size, 3 * size))
        block[:size, :size] = -inner / capacity * step_hours
        block[:size, size : 2 * size] = block[size : 2 * size, 2 * size :] = np.eye(size)
        transition, one, two = np.split(np.asarray(expm(block)[:size]), 3, axis=1)
        spread, direct = np.zeros((len(matrix), size)), np.zeros(feed.shape)
        spread[heavy, np.arange(size)] = 1.0
        spread[light], direct[light] = by_heavy, by_input
        found = Discretised(transition, one @ drive, one, two @ drive, spread, direct)
        self._discretised[step_hours] = found
        return found

    @cached_property
    def _discretised(self) -> dict[float, Discretised]:
        """The steps found so far, by their length [h]."""
        return {}

    def _balance(self) -> tuple[Floats, Floats]:
        """Return ``L`` (n, n) and the coupling to boundaries and heat (n, b + n). [kW/K], [-]."""
        count = len(self.nodes)
        taken = np.zeros((count + len(self.boundaries), count + len(self.boundaries)))
        place = {**self.index, **{name: count + k for k, name in enumerate(self.boundaries)}}
        for link in self.links:
            taken[place[link.other], place[link.one]] += link.conductance
            if not link.one_way:
                taken[place[link.one], place[link.other]] += link.conductance
        taken = taken[:count]
        # Heat comes to a row from its columns: from a mass or a boundary, or from who has some.
        held = (self.capacities > 0) | (taken[:, count:] > 0).any(axis=1)
        for _ in range(count):
            held = held | (taken[:, :count][:, held] > 0).any(axis=1)
        if not held.all():
            loose = [self.nodes[k].name for k in np.flatnonzero(~held)]
            raise ParameterError(
                f"nodes without mass hang on no mass and no boundary: {', '.join(loose[:10])}; "
                "link them or give them a capacity"
            )
        matrix = np.diag(taken.sum(axis=1)) - taken[:, :count]
        return matrix, np.hstack((taken[:, count:], np.eye(count)))

    def _inputs(
        self,
        boundary: Mapping[str, npt.ArrayLike],
        heat: Mapping[str, npt.ArrayLike],
        step_hours: npt.ArrayLike,
    ) -> Floats:
        """Return boundary temperatures and heat into every node, shape (N, b + nodes)."""
        missing = [name for name in self.boundaries if name not in boundary]
        unknown = [n for n in boundary if n not in self.boundaries]
        unknown += [n for n in heat if n not in self.index]
        if missing or unknown:
            raise ParameterError(
                f"boundary temperatures missing: {', '.join(missing) or 'none'}; names that the "
                f"network does not know: {', '.join(unknown) or 'none'}"
            )
        given = {
            **{f"the temperature of {n}": boundary[n] for n in self.boundaries},
            **{f"the heat into {n}": values for n, values in heat.items()},
        }
        lengths = {np.size(v) for v in (*given.values(), step_hours) if np.ndim(v)}
        length = max(lengths, default=1)
        count = len(self.boundaries)
        wide = np.zeros((length, count + len(self.nodes)))
        places = [*range(count), *(count + self.index[name] for name in heat)]
        for place, (what, values) in zip(places, given.items(), strict=True):
            wide[:, place] = series(values, length, what)
        return wide

    def _initial_mass(self, given: Mapping[str, float]) -> Floats:
        """Return the first temperatures of the nodes with mass. [degC]."""
        heavy = [node for node in self.nodes if node.capacity > 0]
        values = {node.name: given.get(node.name, node.initial_temperature) for node in heavy}
        missing = [name for name, value in values.items() if value is None]
        unknown = [name for name in given if name not in self.index]
        if missing or unknown:
            raise ParameterError(
                f"initial temperatures missing: {', '.join(missing) or 'none'}; unknown names: "
                f"{', '.join(unknown) or 'none'}"
            )
        return series(list(values.values()), len(heavy), "the initial temperature")  # type: ignore[arg-type]


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
