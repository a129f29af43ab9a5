r"""Fans in a system with its controls: power by one curve over the flow.

.. math:: P = P_r\, f(\dot m / \dot m_r), \qquad \dot Q = s P

Source: ANSI/ASHRAE/IES Standard 90.1-2013, table G3.1.3.15, for the default curve.
"""

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from engiagent.models.hvac.curves import Polynomial
from engiagent.models.ranges import Floats, within


@dataclass(frozen=True, kw_only=True)
class PartLoadFan:
    """A fan in a system with its controls, by one curve of power over flow.

    Examples
    --------
    >>> PartLoadFan(rated_flow=5.0, rated_power=4.0).power([5.0, 2.5]).round(4).tolist()
    [3.9964, 1.1999]
    """

    rated_flow: npt.ArrayLike  # above 0. [kg/s]
    rated_power: npt.ArrayLike  # at the rated flow. At least 0. [kW]
    # share of the power by share of the flow. The default is the fan with a variable-speed drive of
    # ANSI/ASHRAE/IES Standard 90.1-2013, table G3.1.3.15, method 2.
    power_curve: Polynomial = field(default=Polynomial((0.0013, 0.1470, 0.9506, -0.0998)))
    # share of the power that warms the air: 1 with the motor in the stream. [-]
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
