r"""Fans and pumps in a system with its controls: power by one curve over the flow.

.. math:: P = P_r\, f(\dot m / \dot m_r)

Source: ANSI/ASHRAE/IES Standard 90.1-2013, table G3.1.3.15, for the form and the default curve.
"""

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from engiagent.models.hvac.curves import Polynomial
from engiagent.models.ranges import Floats, not_negative, positive


@dataclass(frozen=True, kw_only=True)
class PartLoadFan:
    """A fan by its curve of power over flow.

    Examples
    --------
    >>> PartLoadFan(rated_flow=5.0, rated_power=4.0).power([5.0, 2.5]).round(4).tolist()
    [3.9964, 1.1999]
    """

    rated_flow: float  # above 0. [kg/s]
    rated_power: float  # at the rated flow. At least 0. [kW]
    # share of the power by share of the flow. The default is the fan with a variable-speed drive of
    # the standard, method 2.
    power_curve: Polynomial = field(default=Polynomial((0.0013, 0.1470, 0.9506, -0.0998)))

    def __post_init__(self) -> None:
        positive(self.rated_flow, "the rated flow", "kg/s")
        not_negative(self.rated_power, "the rated power", "kW")

    def power(self, flow: npt.ArrayLike) -> Floats:
        """Return the power at a flow [kg/s]; 0 where nothing flows. [kW]."""
        part = not_negative(flow, "the flow", "kg/s") / self.rated_flow
        factor = not_negative(self.power_curve.at(part), "the power by its curve", "-")
        return np.where(part > 0, self.rated_power * factor, 0.0)
