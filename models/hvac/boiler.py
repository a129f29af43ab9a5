r"""A boiler by its efficiency over load and water temperature, condensing or not.

.. math:: \dot F = \frac{\dot Q}{\eta_r\, f(\mathrm{PLR}, T)}

Below the least part-load ratio the burner cycles at that ratio, and loses its standby heat while
off.

Source: EnergyPlus Engineering Reference, Boilers (hot water), with its normalised efficiency
curves.
"""

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from engiagent.models.hvac.curves import Biquadratic, Surface
from engiagent.models.ranges import Floats, numbers, within

CONDENSING_CURVE = Biquadratic(
    (1.124970374, 0.014963852, -0.02599835, 0.0, -1.40464e-6, -0.00153624),
    x_range=(0.1, 1.0),
    y_range=(30.0, 85.0),
)
"""Normalised efficiency of a gas-fired condensing boiler with a rated one of 0.89, by part-load
ratio and water temperature: ``CondensingBoilerEff`` of EnergyPlus's ``datasets/Boilers.idf``, there
after Condensing Technology, Viessmann Technical Series 9446 803, 2004."""


@dataclass(frozen=True, kw_only=True)
class BoilerOperation:
    """What a boiler does for a load; fuel is heat and loss."""

    # heat, unmet: heat into the water, and what of the load is above the capacity. [kW]
    heat: Floats
    unmet: Floats
    # fuel, loss: by the heating value of the rated efficiency. [kW]
    fuel: Floats
    loss: Floats
    efficiency: Floats  # heat over fuel; 0 where nothing burns. [-]
    part_load_ratio: Floats  # while on. [-]


@dataclass(frozen=True, kw_only=True)
class Boiler:
    """A boiler; rated numbers may be arrays over units.

    Examples
    --------
    >>> boiler = Boiler(
    ...     rated_capacity=100.0, rated_efficiency=0.89, efficiency_curve=CONDENSING_CURVE
    ... )
    >>> boiler.operate(50.0, temperature=[30.0, 60.0]).efficiency.round(4).tolist()
    [0.9805, 0.9566]
    """

    rated_capacity: npt.ArrayLike  # above 0. [kW]
    # by gross heating value at most 1; by net heating value of natural gas up to 1.11. [-]
    rated_efficiency: npt.ArrayLike
    # factor on it by part-load ratio (x) and water temperature (y), return or supply as the curve
    # was measured; constant when None. [-], [degC]
    efficiency_curve: Surface | None = field(default=None)
    minimum_part_load: npt.ArrayLike = 0.0  # below it the burner cycles. 0 to 1. [-]
    # fuel lost while the burner of a boiler in use pauses. At least 0. [kW]
    standby_loss: npt.ArrayLike = 0.0

    def __post_init__(self) -> None:
        within(self.rated_capacity, "the rated capacity", "kW", low=0.0, above=True)
        within(self.rated_efficiency, "the rated efficiency", "-", low=0.0, high=1.2, above=True)
        within(self.minimum_part_load, "the minimum part load", "-", low=0.0, high=1.0)
        within(self.standby_loss, "the standby loss", "kW", low=0.0)

    def efficiency(self, part_load_ratio: npt.ArrayLike, temperature: npt.ArrayLike) -> Floats:
        """Return the efficiency of the burning boiler. [-]."""
        ratio, warm = numbers(part_load_ratio, "the part load"), numbers(temperature, "the water")
        factor = 1.0 if self.efficiency_curve is None else self.efficiency_curve.at(ratio, warm)
        value = np.asarray(self.rated_efficiency) * factor + 0.0 * ratio + 0.0 * warm
        return within(value, "the efficiency by its curve", "-", low=0.0, above=True)

    def operate(self, load: npt.ArrayLike, *, temperature: npt.ArrayLike) -> BoilerOperation:
        """Return what the boiler does for a load; what is above the capacity is ``unmet``.

        ``load``: heat that is asked for. At least 0. [kW] ``temperature``: of the water, as the
        curve means it; for condensing that of the return. [degC]
        """
        wanted = within(load, "the heating load", "kW", low=0.0)
        heat = np.minimum(wanted, np.asarray(self.rated_capacity))
        ratio = heat / np.asarray(self.rated_capacity)
        least = np.asarray(self.minimum_part_load, dtype=np.float64)
        running = np.maximum(ratio, least)
        cycling = np.where(running > 0, ratio / np.where(running > 0, running, 1.0), 0.0)
        burning = heat / self.efficiency(running, temperature)
        idle = np.where(heat > 0, np.asarray(self.standby_loss) * (1.0 - cycling), 0.0)
        fuel = burning + idle
        return BoilerOperation(
            heat=np.asarray(heat + 0.0 * fuel),
            unmet=np.asarray(wanted - heat + 0.0 * fuel),
            fuel=np.asarray(fuel),
            loss=np.asarray(fuel - heat),
            efficiency=np.asarray(heat / np.where(fuel > 0, fuel, 1.0)),
            part_load_ratio=np.asarray(running + 0.0 * fuel),
        )
