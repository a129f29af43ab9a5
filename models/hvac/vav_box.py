r"""A VAV box with reheat under dual-maximum control.

One signal goes from -1 (all heating) over 0 (dead band) to 1 (all cooling):

* from 0 to 1 the flow goes from its minimum to the cooling maximum, without reheat;
* from 0 to -1/2 the flow is at its minimum and the discharge temperature goes up to its maximum;
* from -1/2 to -1 the discharge temperature stays and the flow goes up to the heating maximum.

.. math:: \dot Q_{reheat} = \dot m_a c (T_d - T_s), \quad
          \dot Q_{zone} = \dot m_a c (T_z - T_d), \quad c = 1.006 + 1.86\,W

Source: S. T. Taylor et al., Dual maximum VAV box control logic, ASHRAE Journal 54(12), 2012, 16-24;
ASHRAE Guideline 36-2018, section 5.6.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from engiagent.models.hvac.moist_air import heat_capacity
from engiagent.models.hvac.roots import bracketed_root
from engiagent.models.ranges import Floats, ParameterError, numbers, within


@dataclass(frozen=True, kw_only=True)
class VavOperation:
    """What a box does."""

    # flow, temperature: of the air into the zone. [kg/s], [degC]
    flow: Floats
    temperature: Floats
    reheat: Floats  # heat into that air. [kW]
    zone_cooling: Floats  # sensible heat taken from the zone; negative where the box heats it. [kW]


@dataclass(frozen=True, kw_only=True)
class VavBox:
    """A box; numbers may be arrays over boxes.

    Examples
    --------
    >>> box = VavBox(flow_min=0.2, flow_cooling_max=1.0, flow_heating_max=0.5, discharge_max=32.0)
    >>> done = box.operate([-1.0, -0.25, 0.0, 1.0], supply_temperature=13.0, zone_temperature=22.0)
    >>> done.reheat.round(4).tolist()
    [9.557, 1.9114, 0.0, 0.0]
    >>> done.zone_cooling.round(4).tolist()
    [-5.03, -0.1006, 1.8108, 9.054]
    """

    flow_min: npt.ArrayLike  # at least 0. [kg/s]
    # flow_cooling_max, flow_heating_max: each at least the minimum; the heating maximum is the
    # minimum when None. [kg/s]
    flow_cooling_max: npt.ArrayLike
    flow_heating_max: npt.ArrayLike | None = None
    discharge_max: npt.ArrayLike = 32.0  # temperature that the reheat coil may reach. [degC]
    reheat_max: npt.ArrayLike = np.inf  # capacity; infinite when there is none. [kW]

    def __post_init__(self) -> None:
        least = within(self.flow_min, "the minimum flow", "kg/s", low=0.0)
        for value, what in (
            (self.flow_cooling_max, "the largest flow of cooling"),
            (self._heating_max, "the largest flow of heating"),
        ):
            most = within(value, what, "kg/s", low=0.0)
            if not (most >= least).all():
                raise ParameterError(
                    f"{what} {np.min(most):g} kg/s is below the minimum {np.max(least):g} kg/s; "
                    "give minimum <= maximum"
                )
        numbers(self.discharge_max, "the largest discharge temperature")
        within(self.reheat_max, "the reheat capacity", "kW", low=0.0, finite=False)

    @property
    def _heating_max(self) -> npt.ArrayLike:
        return self.flow_min if self.flow_heating_max is None else self.flow_heating_max

    def flow(self, signal: npt.ArrayLike) -> Floats:
        """Return the flow at a signal of -1 to 1. [kg/s]."""
        place = within(signal, "the signal", "-", low=-1.0, high=1.0)
        least = np.asarray(self.flow_min, dtype=np.float64)
        warming = np.clip(-2.0 * place - 1.0, 0.0, 1.0)
        cooling = np.clip(place, 0.0, 1.0)
        return np.asarray(
            least
            + cooling * (np.asarray(self.flow_cooling_max) - least)
            + warming * (np.asarray(self._heating_max) - least)
        )

    def discharge_temperature(
        self, signal: npt.ArrayLike, supply_temperature: npt.ArrayLike
    ) -> Floats:
        """Return the temperature into the zone at a signal; never below the supply. [degC]."""
        place = within(signal, "the signal", "-", low=-1.0, high=1.0)
        supply = numbers(supply_temperature, "the supply temperature")
        rise = np.maximum(np.asarray(self.discharge_max) - supply, 0.0)
        return np.asarray(supply + np.clip(-2.0 * place, 0.0, 1.0) * rise)

    def operate(
        self,
        signal: npt.ArrayLike,
        *,
        supply_temperature: npt.ArrayLike,
        zone_temperature: npt.ArrayLike,
        humidity_ratio: npt.ArrayLike = 0.0,
    ) -> VavOperation:
        """Return what the box does.

        ``signal``: -1 to 1. [-] ``supply_temperature``, ``humidity_ratio``: of the air from the
        air handler. [degC], [kg/kg]. ``zone_temperature``: of the air that leaves the zone. [degC]
        """
        supply = numbers(supply_temperature, "the supply temperature")
        warm = self.discharge_temperature(signal, supply)
        flow = self.flow(signal)
        rate = flow * heat_capacity(humidity_ratio)
        zone = numbers(zone_temperature, "the zone temperature")
        return VavOperation(
            flow=flow,
            temperature=warm,
            reheat=np.asarray(rate * (warm - supply)),
            zone_cooling=np.asarray(rate * (zone - warm)),
        )

    def signal(
        self,
        zone_cooling: npt.ArrayLike,
        *,
        supply_temperature: npt.ArrayLike,
        zone_temperature: npt.ArrayLike,
        humidity_ratio: npt.ArrayLike = 0.0,
    ) -> Floats:
        """Return the signal that takes a sensible heat from the zone; negative heat warms it. [-].

        A load beyond what the box can do gives the end of the signal's range;
        :meth:`operate` there says how much it does.
        """
        wanted = numbers(zone_cooling, "the cooling of the zone")
        zone = numbers(zone_temperature, "the zone temperature")
        supply = numbers(supply_temperature, "the supply temperature")
        most = np.asarray(self.discharge_max)
        if not ((supply <= zone) & (zone <= most)).all():
            raise ParameterError(
                f"the zone of {np.min(zone):g} degC is not between the supply and the largest "
                f"discharge temperature {np.max(most):g} degC; give temperatures in this order"
            )

        def excess(place: npt.ArrayLike) -> Floats:
            done = self.operate(
                place,
                supply_temperature=supply,
                zone_temperature=zone,
                humidity_ratio=humidity_ratio,
            )
            return done.zone_cooling - wanted

        low, high = excess(-1.0), excess(1.0)
        inside = (low < 0) & (high > 0)
        root = bracketed_root(
            lambda x: np.where(inside, excess(x), 0.0), -1.0, 1.0, "the signal of this cooling"
        )
        return np.where(inside, root, np.where(high <= 0, 1.0, -1.0))
