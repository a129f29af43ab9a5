r"""Power from sun and wind.

A photovoltaic array after PVWatts: irradiance in its plane to direct and alternating power.

.. math::
   T_c = T_a + \frac{G}{u_0 + u_1 v}, \qquad
   P_{dc} = P_{dc0} \frac{G}{1000} \left[1 + \gamma (T_c - 25)\right] (1 - L)

.. math::
   \zeta = \frac{P_{dc}}{P_{ac0} / \eta_{nom}}, \qquad
   P_{ac} = \min\left(P_{dc} \frac{\eta_{nom}}{0.9637}
   \left(-0.0162 \zeta - \frac{0.0059}{\zeta} + 0.9858\right), P_{ac0}\right)

with the irradiance :math:`G` [W/m²], the temperatures of air and cell [degC], the wind :math:`v` at
the modules [m/s] and the product of all losses :math:`L`.

Sources: A. P. Dobos, "PVWatts Version 5 Manual", NREL/TP-6A20-62641 (2014), for power and losses;
D. Faiman, Prog. Photovolt. 16 (2008) 307–315, for the temperature. Equal to pvlib to rounding, and
here since the checker runs it and pvlib takes 1.5 s to import; use ``pvlib.irradiance`` for the sun
in a plane.

A wind turbine by its power curve: density, cut-out with restart.

.. math:: P = f\left(v_h \left(\rho / \rho_0\right)^{1/3}\right) (1 - L)

as for a turbine with pitch control. Equal to windpowerlib to rounding, and here since the checker
runs it and windpowerlib takes 0.7 s to import; it has wind at hub height and density of the air
(``wind_speed``, ``density``).

Source: IEC 61400-12-1 (2017), section 9.1.5, for density.
"""

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from engiagent.models.ranges import (
    Floats,
    ParameterError,
    fraction,
    increasing,
    not_negative,
    positive,
    share,
    within,
)

# What PVWatts assumes of soiling, shading, mismatch, wiring, connections, light-induced
# degradation, nameplate rating and availability, one after another.
PVWATTS_LOSS = 1.0 - math.prod((0.98, 0.97, 0.98, 0.98, 0.995, 0.985, 0.99, 0.97))


@dataclass(frozen=True, kw_only=True)
class PvArray:
    r"""Modules of one plane with their inverter.

    Attributes
    ----------
    dc_capacity
        :math:`P_{dc0}` at 1000 W/m² and 25 degC. Above 0. [kW]
    ac_capacity
        :math:`P_{ac0}` of the inverter; infinite for none that clips. Above 0. [kW]
    temperature_coefficient
        :math:`\gamma` of the power. -0.02 to 0.005. [1/K]
    losses
        :math:`L`, all losses between the cells and the inverter. 0 to below 1. [-]
    inverter_efficiency
        :math:`\eta_{nom}` at the rated power. Above 0, at most 1. [-]
    heat_loss, heat_loss_by_wind
        :math:`u_0` above 0 [W/(m² K)] and :math:`u_1` at least 0 [W s/(m³ K)]. The defaults hold
        for open racks.

    Examples
    --------
    >>> array = PvArray(dc_capacity=100.0, ac_capacity=80.0)
    >>> array.power([0.0, 500.0, 1000.0], 20.0, 3.0).round(3).tolist()
    [0.0, 40.176, 75.949]
    """

    dc_capacity: float
    ac_capacity: float = float("inf")
    temperature_coefficient: float = -0.0047
    losses: float = PVWATTS_LOSS
    inverter_efficiency: float = 0.96
    heat_loss: float = 25.0
    heat_loss_by_wind: float = 6.84

    def __post_init__(self) -> None:
        positive(self.dc_capacity, "the DC capacity", "kW")
        positive(self.ac_capacity, "the AC capacity", "kW", finite=False)
        change = "the temperature coefficient"
        within(self.temperature_coefficient, change, "1/K", low=-0.02, high=0.005)
        within(self.losses, "the losses", "-", low=0.0, high=1.0, below=True)
        fraction(self.inverter_efficiency, "the inverter efficiency")
        positive(self.heat_loss, "the heat loss", "W/(m² K)")
        not_negative(self.heat_loss_by_wind, "the heat loss by wind", "W s/(m³ K)")

    def power(
        self,
        irradiance: npt.ArrayLike,
        air_temperature: npt.ArrayLike,
        wind_speed: npt.ArrayLike = 1.0,
    ) -> Floats:
        """Return the alternating power. [kW].

        ``irradiance``: in the plane of the array, after reflection. At least 0. [W/m²]
        ``air_temperature``: [degC]. ``wind_speed``: at the modules. At least 0. [m/s]
        """
        cell = self.cell_temperature(irradiance, air_temperature, wind_speed)
        direct = self.dc_power(irradiance, cell)
        nominal = self.inverter_efficiency
        if math.isinf(self.ac_capacity):
            return np.asarray(nominal * direct)
        rating = self.ac_capacity / nominal
        # 0.0059 / zeta times P is 0.0059 times the rating: no division by a power of 0.
        curved = (0.9858 - 0.0162 * direct / rating) * direct - 0.0059 * rating
        return np.clip(nominal / 0.9637 * curved, 0.0, self.ac_capacity)

    def cell_temperature(
        self, irradiance: npt.ArrayLike, air_temperature: npt.ArrayLike, wind_speed: npt.ArrayLike
    ) -> Floats:
        """Return the temperature of the cells. [degC]."""
        sun = not_negative(irradiance, "the irradiance", "W/m²")
        air = within(air_temperature, "the air temperature", "degC", low=-90.0, high=70.0)
        wind = not_negative(wind_speed, "the wind speed", "m/s")
        return np.asarray(air + sun / (self.heat_loss + self.heat_loss_by_wind * wind))

    def dc_power(self, irradiance: npt.ArrayLike, cell_temperature: npt.ArrayLike) -> Floats:
        """Return the power at the inverter's input; 0 where heat would turn it negative. [kW]."""
        warmth = np.asarray(cell_temperature, dtype=np.float64) - 25.0
        factor = np.maximum(1.0 + self.temperature_coefficient * warmth, 0.0)
        sun = np.asarray(irradiance, dtype=np.float64) / 1000.0
        return np.asarray(self.dc_capacity * sun * factor * (1.0 - self.losses))


Booleans = npt.NDArray[np.bool_]


@dataclass(frozen=True, kw_only=True)
class WindTurbine:
    """A turbine, or a farm of equal ones, by its power curve.

    Examples
    --------
    >>> turbine = WindTurbine(speeds=(3.0, 12.0, 25.0), powers=(0.0, 900.0, 900.0))
    >>> turbine.power([2.0, 6.0, 20.0, 26.0]).tolist()
    [0.0, 300.0, 900.0, 0.0]
    """

    # rising wind speeds of the curve, from cut-in to cut-out. At least 0. [m/s]
    speeds: tuple[float, ...]
    powers: tuple[float, ...]  # powers at these speeds and the reference density. At least 0. [kW]
    # after a cut-out the turbine starts again below this speed; the cut-out speed when None, which
    # is no hysteresis. At most the last speed. [m/s]
    restart_speed: float | None = None
    reference_density: float = 1.225  # of the curve. Above 0. [kg/m³]
    losses: float = 0.0  # by wakes, wires and availability. 0 to 1. [-]

    def __post_init__(self) -> None:
        at = not_negative(increasing(self.speeds, "the speeds of the curve"), "a speed", "m/s")
        if len(not_negative(self.powers, "a power of the curve", "kW")) != len(at):
            raise ParameterError(
                f"the curve has {len(at)} speeds and {len(self.powers)} powers; give one for each"
            )
        if self.restart_speed is not None:
            within(self.restart_speed, "the restart speed", "m/s", low=at[0], high=at[-1])
        positive(self.reference_density, "the reference density", "kg/m³")
        share(self.losses, "the losses")

    def power(
        self,
        speed: npt.ArrayLike,
        density: npt.ArrayLike | None = None,
        running: npt.ArrayLike = True,
    ) -> Floats:
        """Return the power for winds at the hub; 0 below cut-in and above cut-out. [kW].

        Cut-in and cut-out act on the wind as it is, not on the corrected speed; a speed that the
        correction moves off the curve takes the power at its end.

        ``speed``: at the hub. At least 0. [m/s] ``density``: of the air; that of the curve when
        None. Above 0. [kg/m³] ``running``: where the turbine is not stopped, see :meth:`running`.
        """
        wind = not_negative(speed, "the wind speed", "m/s")
        air = self.reference_density if density is None else density
        ratio = positive(air, "the air density", "kg/m³") / self.reference_density
        inside = (wind >= self.speeds[0]) & (wind <= self.speeds[-1]) & np.asarray(running)
        produced = np.interp(wind * np.cbrt(ratio), self.speeds, self.powers)
        return np.where(inside, produced * (1.0 - self.losses), 0.0)

    def running(self, speed: npt.ArrayLike) -> Booleans:
        """Return where the turbine is not stopped by a storm; before the first period it runs.

        It stops above the last speed of the curve and starts again below the restart speed;
        between them it stays as it was. ``speed``: at the hub, shape (N,). [m/s]
        """
        wind = not_negative(speed, "the wind speed", "m/s")
        stop = wind > self.speeds[-1]
        # At the restart speed without hysteresis the turbine runs: only above it it stops.
        start = ~stop if self.restart_speed is None else wind < self.restart_speed
        place = np.arange(1, len(wind) + 1)
        last_start = np.maximum.accumulate(np.where(start, place, 0))
        return np.asarray(last_start >= np.maximum.accumulate(np.where(stop, place, 0)))
