r"""Fans and pumps: curves at full speed, affinity laws, the system they work on, motor and drive.

With the speed :math:`s` relative to full speed, volume flow :math:`V` and pressure rise :math:`p`,

.. math::
    p(V, s) = s^2 p_1(V / s), \quad \eta(V, s) = \eta_1(V / s), \quad
    P_{shaft} = V p / \eta, \quad P_{el} = P_{shaft} / (\eta_{motor} \eta_{drive})

so that along :math:`V \propto s` flow, pressure and power go with :math:`s, s^2, s^3`.

Source: ASHRAE Handbook HVAC Systems and Equipment (SI), 2016, chapters 21 (fans) and 44 (pumps).
"""

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from engiagent.models.hvac.curves import Polynomial
from engiagent.models.hvac.roots import bracketed_root
from engiagent.models.ranges import Floats, ParameterError, within


@dataclass(frozen=True, kw_only=True)
class SystemCurve:
    r"""What a duct or pipe system asks for: :math:`p = p_0 + k V^n`.

    Attributes
    ----------
    static
        :math:`p_0`. At least 0. [kPa]
    resistance
        :math:`k`. At least 0. [kPa/(m3/s)^n]
    exponent
        :math:`n`, 1 (laminar, filters) to 2 (turbulent). [-]

    Examples
    --------
    >>> float(SystemCurve.through(flow=2.0, pressure=1.0, static=0.2).pressure(1.0))
    0.4
    """

    static: npt.ArrayLike = 0.0
    resistance: npt.ArrayLike = 0.0
    exponent: npt.ArrayLike = 2.0

    def __post_init__(self) -> None:
        within(self.static, "the static pressure", "kPa", low=0.0)
        within(self.resistance, "the resistance", "kPa/(m3/s)^n", low=0.0)
        within(self.exponent, "the exponent of the system", "-", low=1.0, high=2.0)

    @classmethod
    def through(
        cls, *, flow: float, pressure: float, static: float = 0.0, exponent: float = 2.0
    ) -> "SystemCurve":
        """Return the curve through a flow [m3/s], above 0, and its pressure [kPa]."""
        amount = float(within(flow, "the flow", "m3/s", low=0.0, above=True))
        rise = float(within(pressure, "the pressure", "kPa", low=static))
        return cls(static=static, resistance=(rise - static) / amount**exponent, exponent=exponent)

    def pressure(self, flow: npt.ArrayLike) -> Floats:
        """Return the pressure at a flow of at least 0 [m3/s]. [kPa]."""
        amount = within(flow, "the flow", "m3/s", low=0.0)
        turbulent = np.asarray(self.resistance) * amount ** np.asarray(self.exponent)
        return np.asarray(np.asarray(self.static) + turbulent)


@dataclass(frozen=True, kw_only=True)
class Turbomachine:
    """A fan or a pump.

    Attributes
    ----------
    pressure_curve
        Pressure rise at full speed by flow: falling over its range. [kPa], [m3/s]
    efficiency_curve
        From flow to shaft at full speed. [-], [m3/s]
    flow_max
        Largest flow at full speed, up to which the curves hold. Above 0. [m3/s]
    motor_power
        Rated shaft power of the motor; infinite when there is no limit. Above 0. [kW]
    motor_efficiency
        By shaft power over the rated one; by 0 where no rated power is known. [-]
    drive_efficiency
        Of the frequency converter by speed, 1 without one. [-]
    minimum_speed
        Above 0, at most 1. [-]

    Examples
    --------
    >>> pump = Turbomachine(
    ...     pressure_curve=Polynomial((300.0, 0.0, -2.0e5)),
    ...     efficiency_curve=Polynomial((0.0, 50.0, -900.0)), flow_max=0.035,
    ... )
    >>> system = SystemCurve.through(flow=0.02, pressure=220.0)
    >>> round(float(pump.operating_flow(system, 1.0)), 9)
    0.02
    >>> round(float(pump.shaft_power(0.02, 1.0)), 3)
    6.875
    """

    pressure_curve: Polynomial
    efficiency_curve: Polynomial
    flow_max: float
    motor_power: float = np.inf
    motor_efficiency: Polynomial = field(default=Polynomial((1.0,)))
    drive_efficiency: Polynomial = field(default=Polynomial((1.0,)))
    minimum_speed: float = 0.05

    def __post_init__(self) -> None:
        within(self.flow_max, "the largest flow", "m3/s", low=0.0, above=True)
        within(self.motor_power, "the rated power", "kW", low=0.0, above=True, finite=False)
        within(self.minimum_speed, "the least speed", "-", low=0.0, high=1.0, above=True)
        flows = np.linspace(0.0, self.flow_max, 201)
        rising = np.diff(self.pressure_curve.at(flows)) > 0
        if rising.any():
            raise ParameterError(
                f"the pressure rises with the flow at {flows[int(np.argmax(rising))]:g} m3/s, "
                "where the machine may surge; give a curve that falls, or the part of it that does"
            )
        ends = np.where(flows > 0, self.efficiency_curve.at(flows), 0.5)
        within(ends, "the efficiency", "-", low=0.0, high=1.0, above=True)

    def pressure_rise(self, flow: npt.ArrayLike, speed: npt.ArrayLike) -> Floats:
        """Return the pressure rise at a flow [m3/s] and a relative speed, above 0. [kPa]."""
        amount, turns = self._point(flow, speed)
        return np.asarray(turns**2 * self.pressure_curve.at(amount / turns))

    def efficiency(self, flow: npt.ArrayLike, speed: npt.ArrayLike) -> Floats:
        """Return the efficiency from flow to shaft. [-]."""
        amount, turns = self._point(flow, speed)
        return self.efficiency_curve.at(amount / turns)

    def shaft_power(self, flow: npt.ArrayLike, speed: npt.ArrayLike) -> Floats:
        """Return the power at the shaft. [kW].

        At rest against a closed valve it is the limit of flow times pressure over efficiency.
        """
        amount, turns = self._point(flow, speed)
        full = amount / turns
        efficiency = self.efficiency_curve.at(full)
        slope = float(self.efficiency_curve.slope(0.0))
        start = float(self.efficiency_curve.at(0.0))
        closed = float(self.pressure_curve.at(0.0)) / slope if start == 0 and slope > 0 else 0.0
        moving = full * self.pressure_curve.at(full) / np.where(efficiency == 0, 1.0, efficiency)
        return np.asarray(turns**3 * np.where(amount > 0, moving, closed))

    def electric_power(self, flow: npt.ArrayLike, speed: npt.ArrayLike) -> Floats:
        """Return the power before drive and motor. [kW]."""
        shaft = self.shaft_power(flow, speed)
        _, turns = self._point(flow, speed)
        motor = within(
            self.motor_efficiency.at(shaft / self.motor_power),
            "the efficiency of the motor",
            "-",
            low=0.0,
            high=1.0,
            above=True,
        )
        drive = within(
            self.drive_efficiency.at(turns),
            "the efficiency of the drive",
            "-",
            low=0.0,
            high=1.0,
            above=True,
        )
        return np.asarray(shaft / motor / drive)

    def operating_flow(self, system: SystemCurve, speed: npt.ArrayLike) -> Floats:
        """Return the flow at which machine and system agree, at a relative speed. [m3/s].

        Where the machine cannot lift the static pressure it is 0.
        """
        turns = self._speed(speed) + 0.0 * np.asarray(system.static, dtype=np.float64)
        lifts = self.pressure_rise(0.0, turns) > np.asarray(system.static)

        def excess(flow: Floats) -> Floats:
            rest = self.pressure_rise(flow, turns) - system.pressure(flow)
            return np.where(lifts, rest, -flow)

        most = self.flow_max * turns
        return bracketed_root(excess, 0.0, most, "the flow of machine and system")

    def _speed(self, speed: npt.ArrayLike) -> Floats:
        return within(speed, "the relative speed", "-", low=0.0, above=True)

    def _point(self, flow: npt.ArrayLike, speed: npt.ArrayLike) -> tuple[Floats, Floats]:
        return within(flow, "the flow", "m3/s", low=0.0), self._speed(speed)


@dataclass(frozen=True, kw_only=True)
class PartLoadFan:
    """A fan in a system with its controls, by one curve of power over flow.

    Attributes
    ----------
    rated_flow
        Above 0. [kg/s]
    rated_power
        At the rated flow. At least 0. [kW]
    power_curve
        Share of the power by share of the flow. The default is the fan with a variable-speed
        drive of ANSI/ASHRAE/IES Standard 90.1-2013, table G3.1.3.15, method 2.
    heat_fraction
        Share of the power that warms the air: 1 with the motor in the stream. [-]

    Examples
    --------
    >>> PartLoadFan(rated_flow=5.0, rated_power=4.0).power([5.0, 2.5]).round(4).tolist()
    [3.9964, 1.1999]
    """

    rated_flow: npt.ArrayLike
    rated_power: npt.ArrayLike
    power_curve: Polynomial = field(default=Polynomial((0.0013, 0.1470, 0.9506, -0.0998)))
    heat_fraction: npt.ArrayLike = 1.0

    def __post_init__(self) -> None:
        within(self.rated_flow, "the rated flow", "kg/s", low=0.0, above=True)
        within(self.rated_power, "the rated power", "kW", low=0.0)
        within(self.heat_fraction, "the share of heat", "-", low=0.0, high=1.0)

    def power(self, flow: npt.ArrayLike) -> Floats:
        """Return the power at a flow [kg/s]; 0 where nothing flows. [kW]."""
        share = within(flow, "the flow", "kg/s", low=0.0) / np.asarray(self.rated_flow)
        factor = within(self.power_curve.at(share), "the power by its curve", "-", low=0.0)
        return np.where(share > 0, np.asarray(self.rated_power) * factor, 0.0)

    def heat(self, flow: npt.ArrayLike) -> Floats:
        """Return the heat into the air. [kW]."""
        return np.asarray(np.asarray(self.heat_fraction) * self.power(flow))
