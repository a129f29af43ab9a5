"""Heaters and coolers by their coefficient of performance."""

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from engiagent.models.ranges import Floats, ParameterError, not_negative


def _above_zero(values: npt.ArrayLike, what: str) -> None:
    array = np.asarray(values, dtype=np.float64)
    if not (np.isfinite(array) & (array > 0)).all():
        raise ParameterError(f"{what} must be above 0 everywhere, as 3.2; found {array.min()}")


@dataclass(frozen=True, kw_only=True)
class Heater:
    r"""Electric power to heat: :math:`\dot Q = \mathrm{COP} \cdot P`.

    Attributes
    ----------
    electric_power_max
        At least 0; infinite when there is no limit. [kW]
    cop
        Coefficient of performance, 1 for a resistance heater; a number or one per period. [-]

    Examples
    --------
    >>> Heater(electric_power_max=5.0, cop=3.0).heat([1.0, 2.0]).tolist()
    [3.0, 6.0]
    """

    electric_power_max: float = float("inf")
    cop: npt.ArrayLike = field(default=1.0)

    def __post_init__(self) -> None:
        not_negative(self.electric_power_max, "the electric power limit", "kW", finite=False)
        _above_zero(self.cop, "the coefficient of performance")

    def heat(self, electric_power: npt.ArrayLike) -> Floats:
        """Return the heat given off, shape of the power. [kW]."""
        return np.asarray(np.asarray(self.cop) * np.asarray(electric_power, dtype=np.float64))


@dataclass(frozen=True, kw_only=True)
class Cooler:
    r"""Electric power to heat taken away: :math:`\dot Q = \mathrm{COP} \cdot P`.

    Attributes
    ----------
    electric_power_max
        At least 0; infinite when there is no limit. [kW]
    cop
        Coefficient of performance, a number or one per period. [-]

    Examples
    --------
    >>> Cooler(cop=2.5).cooling([4.0]).tolist()
    [10.0]
    """

    electric_power_max: float = float("inf")
    cop: npt.ArrayLike = field(default=1.0)

    def __post_init__(self) -> None:
        not_negative(self.electric_power_max, "the electric power limit", "kW", finite=False)
        _above_zero(self.cop, "the coefficient of performance")

    def cooling(self, electric_power: npt.ArrayLike) -> Floats:
        """Return the heat taken away, shape of the power. [kW]."""
        return np.asarray(np.asarray(self.cop) * np.asarray(electric_power, dtype=np.float64))
