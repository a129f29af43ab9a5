r"""A photovoltaic array after PVWatts: irradiance in its plane to direct and alternating power.

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
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from engiagent.models.ranges import Floats, units, within

REFERENCE_IRRADIANCE = 1000.0  # W/m²
REFERENCE_TEMPERATURE = 25.0  # degC

# What PVWatts assumes; each a fraction of the power.
PVWATTS_LOSSES: Mapping[str, float] = {
    "soiling": 0.02,
    "shading": 0.03,
    "snow": 0.0,
    "mismatch": 0.02,
    "wiring": 0.02,
    "connections": 0.005,
    "light-induced degradation": 0.015,
    "nameplate rating": 0.01,
    "age": 0.0,
    "availability": 0.03,
}


def combined_losses(losses: Mapping[str, float]) -> float:
    """Return the fraction that losses one after another take.

    Examples
    --------
    >>> round(combined_losses(PVWATTS_LOSSES), 6)
    0.140757
    """
    left = 1.0
    for name, loss in losses.items():
        left *= 1.0 - float(within(loss, f"the loss by {name}", "-", low=0.0, high=1.0))
    return 1.0 - left


PVWATTS_LOSS = combined_losses(PVWATTS_LOSSES)


@dataclass(frozen=True, kw_only=True)
class PvOutput:
    """What an array does; each array has the shape of the inputs."""

    cell_temperature: Floats  # [degC]
    # dc_power, ac_power: power before and after the inverter. At least 0. [kW]
    dc_power: Floats
    ac_power: Floats
    # alternating power that the inverter holds back at its rating. At least 0. [kW]
    clipped_power: Floats
    night_power: Floats  # what the inverter draws while it delivers nothing. At least 0. [kW]


@dataclass(frozen=True, kw_only=True)
class PvArray:
    r"""Modules of one plane with their inverter; numbers or arrays over units.

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
    night_power
        Draw of the inverter without sun. At least 0. [kW]

    Examples
    --------
    >>> array = PvArray(dc_capacity=100.0, ac_capacity=80.0)
    >>> output = array.output([0.0, 500.0, 1000.0], 20.0, 3.0)
    >>> output.ac_power.round(3).tolist()
    [0.0, 40.176, 75.949]
    """

    dc_capacity: npt.ArrayLike
    ac_capacity: npt.ArrayLike = float("inf")
    temperature_coefficient: npt.ArrayLike = -0.0047
    losses: npt.ArrayLike = PVWATTS_LOSS
    inverter_efficiency: npt.ArrayLike = 0.96
    heat_loss: npt.ArrayLike = 25.0
    heat_loss_by_wind: npt.ArrayLike = 6.84
    night_power: npt.ArrayLike = 0.0

    def __post_init__(self) -> None:
        within(self.dc_capacity, "the DC capacity", "kW", low=0.0, above=True)
        within(self.ac_capacity, "the AC capacity", "kW", low=0.0, above=True, finite=False)
        within(
            self.temperature_coefficient,
            "the temperature coefficient",
            "1/K",
            low=-0.02,
            high=0.005,
        )
        within(self.losses, "the losses", "-", low=0.0, high=1.0, below=True)
        within(
            self.inverter_efficiency, "the inverter efficiency", "-", low=0.0, high=1.0, above=True
        )
        within(self.heat_loss, "the heat loss", "W/(m² K)", low=0.0, above=True)
        within(self.heat_loss_by_wind, "the heat loss by wind", "W s/(m³ K)", low=0.0)
        within(self.night_power, "the night power", "kW", low=0.0)
        units(self)

    def output(
        self,
        irradiance: npt.ArrayLike,
        air_temperature: npt.ArrayLike,
        wind_speed: npt.ArrayLike = 1.0,
    ) -> PvOutput:
        """Return temperature and powers for arrays that broadcast.

        ``irradiance``: in the plane of the array, after reflection. At least 0. [W/m²]
        ``air_temperature``: [degC]. ``wind_speed``: at the modules. At least 0. [m/s]
        """
        units(self, irradiance=irradiance, air_temperature=air_temperature, wind_speed=wind_speed)
        cell = self.cell_temperature(irradiance, air_temperature, wind_speed)
        direct = self.dc_power(irradiance, cell)
        unclipped = self.ac_power(direct)
        limit = np.asarray(self.ac_capacity, dtype=np.float64)
        return PvOutput(
            cell_temperature=cell,
            dc_power=direct,
            ac_power=np.minimum(unclipped, limit),
            clipped_power=np.maximum(unclipped - limit, 0.0),
            night_power=np.where(unclipped > 0, 0.0, np.asarray(self.night_power)),
        )

    def cell_temperature(
        self,
        irradiance: npt.ArrayLike,
        air_temperature: npt.ArrayLike,
        wind_speed: npt.ArrayLike = 1.0,
    ) -> Floats:
        """Return the temperature of the cells. [degC]."""
        sun = within(irradiance, "the irradiance", "W/m²", low=0.0)
        air = within(air_temperature, "the air temperature", "degC", low=-90.0, high=70.0)
        wind = within(wind_speed, "the wind speed", "m/s", low=0.0)
        return np.asarray(
            air + sun / (np.asarray(self.heat_loss) + np.asarray(self.heat_loss_by_wind) * wind)
        )

    def dc_power(self, irradiance: npt.ArrayLike, cell_temperature: npt.ArrayLike) -> Floats:
        """Return the power at the inverter's input; 0 where heat would turn it negative. [kW]."""
        sun = within(irradiance, "the irradiance", "W/m²", low=0.0)
        warmth = np.asarray(cell_temperature, dtype=np.float64) - REFERENCE_TEMPERATURE
        factor = np.maximum(1.0 + np.asarray(self.temperature_coefficient) * warmth, 0.0)
        return np.asarray(
            np.asarray(self.dc_capacity)
            * sun
            / REFERENCE_IRRADIANCE
            * factor
            * (1.0 - np.asarray(self.losses))
        )

    def ac_power(self, dc_power: npt.ArrayLike) -> Floats:
        """Return what the inverter would deliver without its limit; 0 where it only feeds itself.

        An inverter without a rating works at its nominal efficiency.
        """
        direct = within(dc_power, "the DC power", "kW", low=0.0)
        nominal = np.asarray(self.inverter_efficiency, dtype=np.float64)
        rating = np.asarray(self.ac_capacity, dtype=np.float64) / nominal
        load = direct / rating
        # 0.0059 / zeta times P is 0.0059 times the rating: no division by a power of 0.
        fixed = np.where(np.isinf(rating), 0.0, 0.0059 * np.where(np.isinf(rating), 1.0, rating))
        curved = nominal / 0.9637 * ((0.9858 - 0.0162 * load) * direct - fixed)
        return np.maximum(np.where(np.isinf(rating), nominal * direct, curved), 0.0)
