r"""An electric chiller by the curves of DOE-2 and EnergyPlus.

.. math::
    \dot Q_a = \dot Q_r\, f_{cap}(T_l, T_e), \quad
    P = \dot Q_a \frac{f_{eir}(T_l, T_e)}{\mathrm{COP}_r}\, f_{plr}(\mathrm{PLR})\, r_c

with the temperature :math:`T_l` of the chilled water as it leaves and :math:`T_e` of the water (or
air) as it enters the condenser. Below the minimum part-load ratio the machine cycles, on for the
share :math:`r_c` (load over minimum); below the minimum unloading ratio it runs at that ratio and
hot gas bypass makes up a false load. The bypass stays inside the machine, so the condenser gives
off load and power; EnergyPlus adds the false load there once more.

Source: EnergyPlus Engineering Reference, Electric Chiller Model Based on Condenser Entering
Temperature; M. Hydeman and K. L. Gillespie, Tools and techniques to calibrate electric chiller
component models, ASHRAE Transactions 108(1), 2002, 733-741.
"""

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from engiagent.models.hvac.curves import Curve, Polynomial, Surface
from engiagent.models.ranges import Floats, ParameterError, not_negative, positive, share


@dataclass(frozen=True, kw_only=True)
class ChillerOperation:
    """What a chiller does for a load."""

    # cooling, unmet: heat taken from the chilled water, and what of the load is above the capacity.
    # [kW]
    cooling: Floats
    unmet: Floats
    power: Floats  # electric power of the compressor. [kW]
    heat_rejected: Floats  # heat into the condenser's water. [kW]


@dataclass(frozen=True, kw_only=True)
class Chiller:
    """A chiller with one compressor's curves; rated numbers may be series.

    Examples
    --------
    >>> from engiagent.models.hvac.curves import Biquadratic
    >>> even = Biquadratic((1.0, 0.0, 0.0, 0.0, 0.0, 0.0))
    >>> chiller = Chiller(
    ...     rated_capacity=500.0, rated_cop=5.0, capacity_curve=even, eir_curve=even,
    ...     part_load_curve=Polynomial((0.2, 0.3, 0.5)), minimum_part_load=0.1,
    ... )
    >>> chiller.operate([500.0, 250.0, 25.0], leaving=7.0, entering=29.0).power.round(3).tolist()
    [100.0, 47.5, 11.75]
    """

    rated_capacity: npt.ArrayLike  # at the reference temperatures. Above 0. [kW]
    rated_cop: npt.ArrayLike  # there, at full load. Above 0. [-]
    # capacity_curve, eir_curve: factors on the capacity, and on power over cooling, by leaving
    # chilled water (x) and entering condenser water (y). [degC]
    capacity_curve: Surface
    eir_curve: Surface
    # factor on the full-load power by part-load ratio, about 1 at 1
    part_load_curve: Curve = field(default=Polynomial((0.0, 1.0)))
    minimum_part_load: float = 0.0  # below it the machine cycles. 0 to 1. [-]
    # below it it is loaded falsely; at least the minimum part load. [-]
    minimum_unloading: float | None = None
    # up to where it can be overloaded. At least the minimum unloading. [-]
    maximum_part_load: float = 1.0
    # share of the power that the condenser takes up: 1 for a hermetic machine. [-]
    heat_to_condenser: float = 1.0

    def __post_init__(self) -> None:
        positive(self.rated_capacity, "the rated capacity", "kW")
        positive(self.rated_cop, "the rated COP", "-")
        least, unloading, most = self.minimum_part_load, self._unloading, self.maximum_part_load
        share(least, "the minimum part load")
        share(unloading, "the minimum unloading")
        if not least <= unloading <= most:
            raise ParameterError(
                f"the part-load ratios are {least} (minimum), {unloading} (unloading) and {most} "
                "(maximum); give minimum <= unloading <= maximum"
            )
        share(self.heat_to_condenser, "the heat to the condenser")

    @property
    def _unloading(self) -> float:
        return self.minimum_part_load if self.minimum_unloading is None else self.minimum_unloading

    def capacity(self, leaving: npt.ArrayLike, entering: npt.ArrayLike) -> Floats:
        """Return the capacity at these temperatures. [kW]."""
        available = np.asarray(self.rated_capacity) * self.capacity_curve.at(leaving, entering)
        return positive(available, "the capacity by its curve", "kW")

    def full_load_power(self, leaving: npt.ArrayLike, entering: npt.ArrayLike) -> Floats:
        """Return the power at a part-load ratio of 1, where the curve of part load is 1. [kW]."""
        ratio = self.eir_curve.at(leaving, entering) / np.asarray(self.rated_cop)
        return positive(self.capacity(leaving, entering) * ratio, "the power by its curve", "kW")

    def operate(
        self, load: npt.ArrayLike, *, leaving: npt.ArrayLike, entering: npt.ArrayLike
    ) -> ChillerOperation:
        """Return what the chiller does for a load at these temperatures.

        A load above the largest one is served as far as that goes; the rest is ``unmet``.

        ``load``: cooling that is asked for. At least 0. [kW] ``leaving``, ``entering``: chilled
        water as it leaves, condenser water or air as it enters. [degC]
        """
        wanted = not_negative(load, "the cooling load", "kW")
        available = self.capacity(leaving, entering)
        cooling = np.minimum(wanted, available * self.maximum_part_load)
        ratio, least = cooling / available, self.minimum_part_load
        cycling = np.where(ratio < least, ratio / (least or 1.0), 1.0)
        # Without a minimum the machine follows down to nothing, and at nothing it is off.
        cycling = np.where(cooling > 0, cycling, 0.0)
        running = np.maximum(ratio, self._unloading)
        factor = self.part_load_curve.at(running)
        part = not_negative(factor, "the part-load factor by its curve", "-")
        power = self.full_load_power(leaving, entering) * part * cycling
        # Hot gas bypass goes round inside: what it adds to the evaporator it takes from the
        # condenser, so that the condenser gives off the useful cooling and the power.
        return ChillerOperation(
            cooling=cooling,
            unmet=np.asarray(wanted - cooling),
            power=power,
            heat_rejected=np.asarray(cooling + self.heat_to_condenser * power),
        )
