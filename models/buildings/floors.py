r"""Floors and ceilings with pipes inside: slow emitters as a heat network.

The pipes lie in a plane between two constructions. From the supply temperature :math:`T_s` to the
mean temperature :math:`T_c` of that plane, for each m2 with a flow :math:`m` [kg/(s m2)]:

.. math::
   q = m c \left(1 - e^{-1/(m c R)}\right)(T_s - T_c), \qquad R = R_w + R_r + R_x

.. math::
   R_w = \frac{T^{0.13}}{8 \pi} \left(\frac{d_i}{m l}\right)^{0.87}, \quad
   R_r = \frac{T \ln(d_a / d_i)}{2 \pi \lambda_r}, \quad
   R_x = \frac{T \ln(T / \pi d_a)}{2 \pi \lambda_b}

with pipe spacing :math:`T`, outer and inner diameter :math:`d_a, d_i`, length of a circuit
:math:`l` and conductivities of pipe and screed. The first is the exact integral along the pipe;
the standard's :math:`R_z = 1/(2 m c)` is its expansion for large flows.

Source: EN 15377-3 / ISO 11855-4:2021 (resistance method of Koschenz and Lehmann).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from engiagent.models.buildings.constructions import Construction, cells
from engiagent.models.buildings.emitters import WATER
from engiagent.models.buildings.network import HeatNetwork, Link, Node
from engiagent.models.buildings.stepping import Discretised
from engiagent.models.parameters import within
from engiagent.models.ranges import Floats, ParameterError, series, steps


@dataclass(frozen=True)
class FloorRun:
    """What a floor does over N periods.

    Attributes
    ----------
    heat
        Mean heat of the water into the floor, negative for cooling, shape (N,). [kW]
    return_temperature
        Mean; the plane's where nothing flows, shape (N,). [degC]
    into_room, into_below
        Mean heat from the floor, negative towards it, shape (N,). [kW]
    surface
        Of the floor in the room, mean of each period, shape (N,). [degC]
    temperature
        Of the capacities at the instants, from below to the room, shape (N+1, cells). [degC]
    stored
        Heat above 0 degC at the instants, shape (N+1,). [kWh]
    """

    heat: Floats
    return_temperature: Floats
    into_room: Floats
    into_below: Floats
    surface: Floats
    temperature: Floats
    stored: Floats


@dataclass(frozen=True, kw_only=True)
class PipedFloor:
    """A floor with pipes between two constructions.

    Attributes
    ----------
    area
        Above 0. [m2]
    above, below
        What lies between pipes and room, and between what is below and the pipes; each from its
        lower to its upper face.
    spacing, outer_diameter, wall_thickness
        Of the pipes. Above 0. [m]
    pipe_conductivity, screed_conductivity
        Above 0. [W/(m K)]
    circuit_length
        Above 0. [m]
    room_coefficient, below_coefficient
        From the faces to room and to what is below. Above 0. [W/(m2 K)]
    shortest_period
        Of changes that matter, for the cells. [h]
    """

    area: float
    above: Construction
    below: Construction
    spacing: float
    outer_diameter: float
    wall_thickness: float
    pipe_conductivity: float
    screed_conductivity: float
    circuit_length: float
    room_coefficient: float = 10.8
    below_coefficient: float = 6.5
    shortest_period: float = 4.0

    def __post_init__(self) -> None:
        for value, what, unit in (
            (self.area, "floor area", "m2"),
            (self.spacing, "spacing of the pipes", "m"),
            (self.outer_diameter, "outer diameter", "m"),
            (self.wall_thickness, "wall thickness", "m"),
            (self.pipe_conductivity, "conductivity of the pipe", "W/(m K)"),
            (self.screed_conductivity, "conductivity of the screed", "W/(m K)"),
            (self.circuit_length, "length of a circuit", "m"),
            (self.room_coefficient, "coefficient to the room", "W/(m2 K)"),
            (self.below_coefficient, "coefficient to below", "W/(m2 K)"),
        ):
            within(value, f"the {what}", unit, low=0.0, above=True)
        if self.inner_diameter <= 0:
            raise ParameterError("the wall of the pipe is thicker than its radius; give it in m")
        if self.outer_diameter >= 0.2 * self.spacing:
            raise ParameterError(
                f"the outer diameter {self.outer_diameter:g} m is not below a fifth of the spacing "
                f"{self.spacing:g} m, where the resistance of the pipes' plane holds"
            )

    @property
    def inner_diameter(self) -> float:
        """[m]."""
        return self.outer_diameter - 2.0 * self.wall_thickness

    def resistance(self, flow: npt.ArrayLike) -> Floats:
        """Return R from water to the plane for each m2; infinite without flow. [m2 K/W].

        Parameters
        ----------
        flow
            Of the whole floor. At least 0. [kg/s]
        """
        specific = within(flow, "the flow", "kg/s", low=0.0) / self.area
        runs = np.where(specific > 0, specific, 1.0)
        film = (
            self.spacing**0.13
            / (8.0 * np.pi)
            * (self.inner_diameter / (runs * self.circuit_length)) ** 0.87
        )
        wall = np.log(self.outer_diameter / self.inner_diameter) / self.pipe_conductivity
        plane = np.log(self.spacing / (np.pi * self.outer_diameter)) / self.screed_conductivity
        fixed = self.spacing * (wall + plane) / (2.0 * np.pi)
        return np.where(specific > 0, film + fixed, np.inf)

    def conductance(self, flow: npt.ArrayLike) -> Floats:
        """Return the heat per kelvin between supply and plane. [kW/K]."""
        stream = WATER * within(flow, "the flow", "kg/s", low=0.0)
        runs = np.where(stream > 0, stream, 1.0)
        transfer = self.area / self.resistance(flow) / 1000.0
        return np.where(stream > 0, -runs * np.expm1(-transfer / runs), 0.0)

    def network(self, flow: float) -> HeatNetwork:
        """Return the floor at a flow [kg/s] with the boundaries water, room and below.

        The nodes are ``below.…``, the plane of the pipes ``pipes`` and ``above.…``.
        """
        faces = {}
        nodes: list[Node] = []
        links: list[Link] = []
        for name, part in (("below", self.below), ("above", self.above)):
            inner, between = cells(
                part, name=name, area=self.area, shortest_period=self.shortest_period
            )
            nodes += inner
            links += between
            faces[name] = (f"{name}.out", f"{name}.in")
        # The two faces at the plane of the pipes are one place.
        renamed = {faces["below"][1]: "pipes", faces["above"][0]: "pipes"}
        links = [
            Link(
                one=renamed.get(k.one, k.one),
                other=renamed.get(k.other, k.other),
                conductance=k.conductance,
            )
            for k in links
        ]
        nodes = [n for n in nodes if n.name not in renamed] + [Node(name="pipes")]
        links += [
            Link(
                one="below",
                other=faces["below"][0],
                conductance=self.below_coefficient * self.area / 1000.0,
            ),
            Link(
                one=faces["above"][1],
                other="room",
                conductance=self.room_coefficient * self.area / 1000.0,
            ),
            Link(one="water", other="pipes", conductance=float(self.conductance(flow))),
        ]
        return HeatNetwork(
            nodes=tuple(nodes), links=tuple(links), boundaries=("water", "room", "below")
        )

    def simulate(
        self,
        supply: npt.ArrayLike,
        flow: npt.ArrayLike,
        step_hours: npt.ArrayLike,
        *,
        room: npt.ArrayLike,
        below: npt.ArrayLike,
        initial: npt.ArrayLike,
    ) -> FloorRun:
        """Return heat and temperatures; each step is exact for its flow.

        Parameters
        ----------
        supply, room, below
            Temperatures of water, room and what lies below, numbers or shape (N,). [degC]
        flow
            Shape (N,). At least 0. [kg/s]
        step_hours
            A number or shape (N,). [h]
        initial
            Temperature of the floor, a number or shape (cells,). [degC]

        Raises
        ------
        ParameterError
            When shapes do not fit or a value is outside its range.
        """
        stream = np.atleast_1d(within(flow, "the flow", "kg/s", low=0.0))
        length = len(stream)
        hours = steps(step_hours, length)
        given: Mapping[str, npt.ArrayLike] = {"water": supply, "room": room, "below": below}
        inputs = np.column_stack(
            [series(v, length, f"the {n} temperature") for n, v in given.items()]
        )
        shape = self._still
        heavy = shape.capacities > 0
        state = series(initial, int(heavy.sum()), "the initial temperature")
        temperature, mean = np.empty((length + 1, len(state))), np.empty((length, len(shape.nodes)))
        temperature[0] = state

        for k in range(length):  # flow and step make the matrices, so that steps follow each other
            d = self._stepping(float(stream[k]), float(hours[k]))
            wide = np.concatenate((inputs[k], np.zeros(len(shape.nodes))))
            middle = d.mean_transition @ temperature[k] + d.mean_drive @ wide
            mean[k] = d.spread @ middle + d.direct @ wide
            temperature[k + 1] = d.transition @ temperature[k] + d.drive @ wide
        return self._report(shape, inputs, stream, temperature, mean)

    def step(
        self,
        state: npt.ArrayLike,
        supply: float,
        flow: float,
        step_hours: float,
        *,
        room: float,
        below: float,
    ) -> tuple[Floats, FloorRun]:
        """Return the temperatures of the capacities after one period, and its run.

        Arguments are those of :meth:`simulate`, each a number.
        """
        run = self.simulate(supply, [flow], step_hours, room=room, below=below, initial=state)
        return run.temperature[-1], run

    def _stepping(self, flow: float, step_hours: float) -> Discretised:
        key = (flow, step_hours)
        if key not in self._steps:
            self._steps[key] = self.network(flow).discretise(step_hours)
        return self._steps[key]

    @cached_property
    def _still(self) -> HeatNetwork:
        return self.network(0.0)

    @cached_property
    def _steps(self) -> dict[tuple[float, float], Discretised]:
        """The steps found so far, by flow [kg/s] and length [h]."""
        return {}

    def _report(
        self, shape: HeatNetwork, inputs: Floats, stream: Floats, temperature: Floats, mean: Floats
    ) -> FloorRun:
        plane = mean[:, shape.index["pipes"]]
        heat = self.conductance(stream) * (inputs[:, 0] - plane)
        runs = np.where(stream > 0, stream, 1.0)
        surface = mean[:, shape.index["above.in"]]
        under = mean[:, shape.index["below.out"]]
        return FloorRun(
            heat,
            np.where(stream > 0, inputs[:, 0] - heat / (WATER * runs), plane),
            self.room_coefficient * self.area / 1000.0 * (surface - inputs[:, 1]),
            self.below_coefficient * self.area / 1000.0 * (under - inputs[:, 2]),
            surface,
            temperature,
            temperature @ shape.capacities[shape.capacities > 0],
        )
