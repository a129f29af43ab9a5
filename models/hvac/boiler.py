r"""A boiler by its efficiency over load and water temperature, condensing or not.

.. math:: \dot F = \frac{\dot Q}{\eta_r\, f(\mathrm{PLR}, T)}

Below the least part-load ratio the burner cycles at that ratio, and loses its standby heat while
off.

Source: EnergyPlus Engineering Reference, Boilers (hot water), with its normalised efficiency
curves.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from engiagent.models.hvac.curves import Surface
from engiagent.models.ranges import Floats, not_negative, positive, share, within


@dataclass(frozen=True, kw_only=True)
class BoilerOperation:
    """What a boiler does for a load; fuel is heat and loss."""

    # heat, unmet: heat into the water, and what of the load is above the capacity. [kW]
    heat: Floats
    unmet: Floats
    fuel: Floats  # by the heating value of the rated efficiency. [kW]


@dataclass(frozen=True, kw_only=True)
class Boiler:
    """A boiler; its rated capacity may be a series.

    Examples
    --------
    >>> from engiagent.models.hvac.curves import Biquadratic
    >>> condensing = Biquadratic((1.125, 0.015, -0.026, 0.0, -1.4e-6, -0.00154))
    >>> boiler = Boiler(rated_capacity=100.0, rated_efficiency=0.89, efficiency_curve=condensing)
    >>> (50.0 / boiler.operate(50.0, temperature=[30.0, 60.0]).fuel).round(3).tolist()
    [0.98, 0.957]
    """

    rated_capacity: npt.ArrayLike  # above 0. [kW]
    # by gross heating value at most 1; by net heating value of natural gas up to 1.11. [-]
    rated_efficiency: float
    # factor on it by part-load ratio (x) and water temperature (y), return or supply as the curve
    # was measured; constant when None. [-], [degC]
    efficiency_curve: Surface | None = None
    minimum_part_load: float = 0.0  # below it the burner cycles. 0 to 1. [-]
    # fuel lost while the burner of a boiler in use pauses. At least 0. [kW]
    standby_loss: float = 0.0

    def __post_init__(self) -> None:
        positive(self.rated_capacity, "the rated capacity", "kW")
        within(self.rated_efficiency, "the rated efficiency", "-", low=0.0, high=1.2, above=True)
        share(self.minimum_part_load, "the minimum part load")
        not_negative(self.standby_loss, "the standby loss", "kW")

    def operate(self, load: npt.ArrayLike, *, temperature: npt.ArrayLike) -> BoilerOperation:
        """Return what the boiler does for a load; what is above the capacity is ``unmet``.

        ``load``: heat that is asked for. At least 0. [kW] ``temperature``: of the water, as the
        curve means it; for condensing that of the return. [degC]
        """
        wanted = not_negative(load, "the heating load", "kW")
        capacity = np.asarray(self.rated_capacity, dtype=np.float64)
        heat = np.minimum(wanted, capacity)
        ratio = heat / capacity
        running = np.maximum(ratio, self.minimum_part_load)
        cycling = np.where(running > 0, ratio / np.where(running > 0, running, 1.0), 0.0)
        curve = self.efficiency_curve
        factor = 1.0 if curve is None else curve.at(running, temperature)
        efficiency = positive(self.rated_efficiency * factor, "the efficiency by its curve", "-")
        idle = np.where(heat > 0, self.standby_loss * (1.0 - cycling), 0.0)
        return BoilerOperation(heat=heat, unmet=wanted - heat, fuel=heat / efficiency + idle)
