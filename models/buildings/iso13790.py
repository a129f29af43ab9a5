r"""The simple hourly method: one capacity and five conductances, with heating and cooling needs.

Nodes are the air :math:`\theta_{air}`, the inner surfaces :math:`\theta_s` and the mass
:math:`\theta_m`; conductances lead from the air to supply air (:math:`H_{ve}`) and surfaces
(:math:`H_{is}`), from the surfaces to the outside through windows (:math:`H_w`) and to the mass
(:math:`H_{ms}`), and from the mass to the outside (:math:`H_{em}`):

.. math::
   H_1 = \frac{1}{1/H_{ve} + 1/H_{is}},\quad H_2 = H_1 + H_w,\quad
   H_3 = \frac{1}{1/H_2 + 1/H_{ms}}

.. math::
   \frac{C_m}{h}(\theta_{m,t} - \theta_{m,t-1}) = \Phi_{mtot} - (H_3 + H_{em})\,\theta_m

with the mean :math:`\theta_m` of the step. Annex C takes the mean of start and end (scheme
``standard``); ``exact`` takes the exponential, so that steps of any length agree. The need is the
load that brings the controlled temperature to its set point (Annex C.4), at most its limit.

Source: ISO 13790:2008, 7.2.2, 12.2.2, 12.3.1 and Annex C.
"""

from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from engiagent.models.buildings.exponential import phi1, phi2
from engiagent.models.buildings.network import HeatNetwork, Link, Node
from engiagent.models.parameters import hours_of_steps, numbers, over_time, within
from engiagent.models.ranges import Floats, ParameterError

MassClass = Literal["very light", "light", "medium", "heavy", "very heavy"]
Scheme = Literal["standard", "exact"]

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


@dataclass(frozen=True)
class ZoneRun:
    """What zones do over N periods; every array has the shape (N,) or (N, zones).

    Attributes
    ----------
    heating, cooling
        Mean needs. [kW]
    air, surface, operative
        Means of the periods. [degC]
    mass_mean
        Mean temperature of the mass in the periods. [degC]
    mass
        Temperature of the mass at the N+1 instants. [degC]
    unmet
        How far the controlled temperature stays outside the set points because a limit binds. [K]
    """

    heating: Floats
    cooling: Floats
    air: Floats
    surface: Floats
    operative: Floats
    mass_mean: Floats
    mass: Floats
    unmet: Floats


class _Linear(NamedTuple):
    """A quantity of a period: ``constant + by_mass * mass before + by_load * load``."""

    constant: Floats
    by_mass: Floats
    by_load: Floats

    def at(self, mass: Floats, load: Floats) -> Floats:
        return self.constant + self.by_mass * mass + self.by_load * load

    def combined(self, weight: float, other: "_Linear", other_weight: float) -> "_Linear":
        return _Linear(*(weight * a + other_weight * b for a, b in zip(self, other, strict=True)))


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
    heating_power_max, cooling_power_max
        At least 0; infinite when there is no limit. [kW]
    emission
        Shares of heating and cooling that go to air, surfaces and mass; (1, 0, 0) in the standard.

    Examples
    --------
    >>> zone = Zone5R1C.from_building(floor_area=100.0, mass_class="medium", window_area=15.0,
    ...     window_u=1.1, opaque_area=200.0, opaque_u=0.2)
    >>> run = zone.simulate([0.0] * 500, 1.0, ventilation=0.05, initial_mass=20.0,
    ...     heating_setpoint=20.0)
    >>> round(float(run.heating[-1]), 3), round(float(run.air[-1]), 9)
    (2.09, 20.0)
    """

    mass_capacity: npt.ArrayLike
    mass_area: npt.ArrayLike
    surface_area: npt.ArrayLike
    window_conductance: npt.ArrayLike
    opaque_conductance: npt.ArrayLike
    heating_power_max: npt.ArrayLike = np.inf
    cooling_power_max: npt.ArrayLike = np.inf
    emission: tuple[float, float, float] = (1.0, 0.0, 0.0)

    def __post_init__(self) -> None:
        within(self.mass_capacity, "the mass capacity", "kWh/K", low=0.0, above=True)
        within(self.mass_area, "the mass area", "m2", low=0.0, above=True)
        within(self.surface_area, "the surface area", "m2", low=0.0, above=True)
        within(self.window_conductance, "the window conductance", "kW/K", low=0.0)
        within(self.opaque_conductance, "the opaque conductance", "kW/K", low=0.0)
        within(self.heating_power_max, "the heating limit", "kW", low=0.0, finite=False)
        within(self.cooling_power_max, "the cooling limit", "kW", low=0.0, finite=False)
        within(self.emission, "a share of the emission", "-", low=0.0, high=1.0)
        if abs(sum(self.emission) - 1.0) > 1e-9:
            raise ParameterError(
                f"the emission {self.emission} adds up to {sum(self.emission):g}; "
                "give three shares of 1"
            )
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
        heating_power_max: npt.ArrayLike = np.inf,
        cooling_power_max: npt.ArrayLike = np.inf,
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
        heating_power_max, cooling_power_max
            Limits. [kW]
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
            heating_power_max=heating_power_max,
            cooling_power_max=cooling_power_max,
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

    def simulate(
        self,
        ambient: npt.ArrayLike,
        step_hours: npt.ArrayLike,
        *,
        ventilation: npt.ArrayLike,
        initial_mass: npt.ArrayLike,
        supply: npt.ArrayLike | None = None,
        internal_gains: npt.ArrayLike = 0.0,
        solar_gains: npt.ArrayLike = 0.0,
        heating_setpoint: npt.ArrayLike = -np.inf,
        cooling_setpoint: npt.ArrayLike = np.inf,
        controlled: Literal["air", "operative"] = "air",
        scheme: Scheme = "standard",
    ) -> ZoneRun:
        """Return temperatures and needs over the N periods.

        Parameters
        ----------
        ambient
            Temperature outside, shape (N,) or (N, zones). [degC]
        step_hours
            One number or shape (N,). The standard says 1. [h]
        ventilation
            :math:`H_{ve}`; like all that follow a number, (N,) or (N, zones). At least 0. [kW/K]
        initial_mass
            Temperature of the mass at the first instant. [degC]
        supply
            Temperature of the supply air; the ambient one when None. [degC]
        internal_gains, solar_gains
            Mean powers. [kW]
        heating_setpoint, cooling_setpoint
            Infinite when nothing is heated or cooled. [degC]
        controlled
            Whether set points are of the air (as the standard says) or the operative temperature.
        scheme
            ``standard`` (Crank–Nicolson) or ``exact``.
        """
        outside = numbers(ambient, "the ambient temperature")
        first = numbers(initial_mass, "the initial temperature of the mass")
        zones = np.broadcast_shapes(
            np.shape(self.mass_capacity),
            np.shape(self.opaque_conductance),
            np.shape(self.window_conductance),
            np.shape(self.heating_power_max),
            first.shape,
            np.shape(self.cooling_power_max),
            outside.shape[1:],
        )
        shape = (len(np.atleast_1d(outside)), *zones)
        low, high = _setpoints(heating_setpoint, cooling_setpoint, shape)
        air_flow = within(ventilation, "the ventilation", "kW/K", low=0.0)
        terms = self._terms(
            outside=_compact(outside, shape, "the ambient temperature"),
            supply=_compact(outside if supply is None else supply, shape, "the supply"),
            flow=_compact(air_flow, shape, "the ventilation"),
            internal=_compact(internal_gains, shape, "the internal gains"),
            solar=_compact(solar_gains, shape, "the solar gains"),
            hours=_compact(
                hours_of_steps(step_hours, shape if np.ndim(step_hours) > 1 else shape[:1]),
                shape,
                "the step",
            ),
            scheme=scheme,
        )
        mass, load = self._loads(terms, first, low, high, controlled, shape)
        before = mass[:-1]
        air, surface = terms["air"].at(before, load), terms["surface"].at(before, load)
        operative = 0.3 * air + 0.7 * surface
        held = air if controlled == "air" else operative
        missed = np.maximum(np.maximum(low - held, held - high), 0.0)
        unmet = np.where(missed > 1e-9, missed, 0.0)
        mean = terms["mass mean"].at(before, load)
        return ZoneRun(
            np.maximum(load, 0.0),
            np.maximum(-load, 0.0),
            air,
            surface,
            operative,
            mean,
            mass,
            unmet,
        )

    def step(
        self,
        mass: npt.ArrayLike,
        step_hours: float,
        *,
        ambient: npt.ArrayLike,
        ventilation: npt.ArrayLike,
        supply: npt.ArrayLike | None = None,
        internal_gains: npt.ArrayLike = 0.0,
        solar_gains: npt.ArrayLike = 0.0,
        heating_setpoint: npt.ArrayLike = -np.inf,
        cooling_setpoint: npt.ArrayLike = np.inf,
        controlled: Literal["air", "operative"] = "air",
        scheme: Scheme = "standard",
    ) -> tuple[Floats, ZoneRun]:
        """Return the temperature of the mass after one period, and its run with N = 1.

        Arguments are those of :meth:`simulate`, each a number or of shape (zones,).
        """
        run = self.simulate(
            _row(ambient),
            step_hours,
            ventilation=_row(ventilation),
            initial_mass=mass,
            supply=None if supply is None else _row(supply),
            internal_gains=_row(internal_gains),
            solar_gains=_row(solar_gains),
            heating_setpoint=_row(heating_setpoint),
            cooling_setpoint=_row(cooling_setpoint),
            controlled=controlled,
            scheme=scheme,
        )
        return run.mass[-1], run

    def _terms(
        self,
        *,
        outside: Floats,
        supply: Floats,
        flow: Floats,
        internal: Floats,
        solar: Floats,
        hours: Floats,
        scheme: str,
    ) -> dict[str, _Linear]:
        """Return mass, air and surface of each period as linear in the mass before and the load."""
        h_is = H_IS * np.asarray(self.surface_area) / 1000.0
        h_ms, h_em = self.mass_conductance, self.outer_conductance
        h_w = np.asarray(self.window_conductance)
        ratio = np.asarray(self.mass_area) / np.asarray(self.surface_area)
        radiant = 0.5 * internal + solar
        to_surface = (1.0 - ratio - h_w / (H_MS * np.asarray(self.surface_area) / 1000.0)) * radiant
        # H1/Hve of the standard, written so that a zone without ventilation has one as well.
        through = h_is / (flow + h_is)
        h_2 = through * flow + h_w
        h_3 = h_2 * h_ms / (h_2 + h_ms)
        share_air, share_surface, share_mass = self.emission

        def surface(air: Floats, skin: Floats) -> Floats:
            """Heat at the surfaces, that of the air among it."""
            return skin + through * air

        push = surface(0.5 * internal + flow * supply, to_surface + h_w * outside)
        push_load = surface(np.asarray(share_air), np.asarray(share_surface))
        onward = h_ms / (h_2 + h_ms)
        drive = ratio * radiant + h_em * outside + onward * push
        drive_load = share_mass + onward * push_load
        end, end_by, mean, mean_by = _lag(
            np.asarray(self.mass_capacity, dtype=np.float64), h_3 + h_em, hours, scheme
        )
        mass = _Linear(end_by * drive, end, end_by * drive_load)
        middle = _Linear(mean_by * drive, mean, mean_by * drive_load)
        weight = 1.0 / (h_ms + h_2)
        skin = _Linear(
            weight * (h_ms * middle.constant + push),
            weight * h_ms * middle.by_mass,
            weight * (h_ms * middle.by_load + push_load),
        )
        air = _Linear(
            (h_is * skin.constant + flow * supply + 0.5 * internal) / (h_is + flow),
            h_is * skin.by_mass / (h_is + flow),
            (h_is * skin.by_load + share_air) / (h_is + flow),
        )
        return {"mass": mass, "mass mean": middle, "surface": skin, "air": air}

    def _loads(
        self,
        terms: dict[str, _Linear],
        first: Floats,
        low: Floats,
        high: Floats,
        controlled: str,
        shape: tuple[int, ...],
    ) -> tuple[Floats, Floats]:
        """Return the mass at the instants and the load, positive for heating, of each period."""
        if controlled not in ("air", "operative"):
            raise ParameterError(
                f"the controlled temperature is {controlled!r}; 'air' or 'operative'"
            )
        held = terms["air"]
        if controlled == "operative":
            held = held.combined(0.3, terms["surface"], 0.7)
        heat_max = np.broadcast_to(np.asarray(self.heating_power_max, dtype=float), shape[1:])
        cool_max = np.broadcast_to(np.asarray(self.cooling_power_max, dtype=float), shape[1:])
        mass = np.empty((shape[0] + 1, *shape[1:]))
        load = np.empty(shape)
        mass[0] = first
        to_low, to_high = (
            (low - held.constant) / held.by_load,
            (high - held.constant) / held.by_load,
        )
        slope = np.broadcast_to(held.by_mass / held.by_load, shape)
        after = _Linear(*(np.broadcast_to(part, shape) for part in terms["mass"]))
        for k in range(shape[0]):  # the load depends on the state, so that steps follow each other
            free = slope[k] * mass[k]
            heating = np.minimum(np.maximum(to_low[k] - free, 0.0), heat_max)
            cooling = np.minimum(np.maximum(free - to_high[k], 0.0), cool_max)
            load[k] = heating - cooling
            mass[k + 1] = (
                after.constant[k] + after.by_mass[k] * mass[k] + after.by_load[k] * load[k]
            )
        return mass, load


def _compact(values: npt.ArrayLike, shape: tuple[int, ...], what: str) -> Floats:
    """Return a series that broadcasts to ``shape`` without being spread over all zones."""
    over_time(values, shape, what)
    array = np.asarray(values, dtype=np.float64)
    return array[:, None] if len(shape) == 2 and array.shape == shape[:1] else array


def _row(values: npt.ArrayLike) -> Floats:
    """Return what holds for one period as a series of one."""
    return np.asarray(values, dtype=np.float64)[None]


def _setpoints(
    heating: npt.ArrayLike, cooling: npt.ArrayLike, shape: tuple[int, ...]
) -> tuple[Floats, Floats]:
    pair = []
    for values, what in ((heating, "heating"), (cooling, "cooling")):
        array = numbers(values, f"the set point for {what}", finite=False)
        if len(shape) == 2 and array.ndim == 1 and len(array) == shape[0]:
            array = array[:, None]
        try:
            pair.append(np.broadcast_to(array, shape))
        except ValueError as error:
            raise ParameterError(
                f"the set point for {what} has the shape {array.shape}; give one that fits {shape}"
            ) from error
    if (pair[0] > pair[1]).any():
        place = np.unravel_index(np.argmax(pair[0] > pair[1]), shape)
        raise ParameterError(
            f"the set point for heating, {pair[0][place]:g} degC, lies above the one for cooling, "
            f"{pair[1][place]:g} degC, in period {place[0]}"
        )
    return pair[0], pair[1]


def _lag(
    capacity: Floats, conductance: Floats, hours: Floats, scheme: str
) -> tuple[Floats, Floats, Floats, Floats]:
    """Return factors of state and drive [K/kW] for the end of a step and for its mean."""
    if scheme == "exact":
        x = conductance * hours / capacity
        gain = hours / capacity
        return np.exp(-x), phi1(x) * gain, phi1(x), phi2(x) * gain
    if scheme != "standard":
        raise ParameterError(f"the scheme is {scheme!r}; a zone knows 'standard' and 'exact'")
    rate, half = capacity / hours, 0.5 * conductance
    end, end_by = (rate - half) / (rate + half), 1.0 / (rate + half)
    return end, end_by, 0.5 * (1.0 + end), 0.5 * end_by
