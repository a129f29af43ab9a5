r"""A cooling tower with its loop as a module: heat in, water evaporated, over three domains.

In the steady state of a period the condenser warms the flow :math:`\dot m` from the basin's
:math:`T_b` to the tower's inlet; the tower cools it and evaporates :math:`\dot m_e`; make-up water
replaces that and the blow-down :math:`\dot m_b`:

.. math::
   \dot Q = \dot m c_w (T_{in} - T_b), \qquad
   (\dot m + \dot m_b) T_b = (\dot m - \dot m_e) T_{out} + (\dot m_e + \dot m_b) T_m

The inlet temperature is the one at which the loop carries the heat that the bus leaves to it. The
water in the loop stores nothing, so that the periods should be longer than its turnover.

Source: mass and energy balance of the loop; the tower as in
:mod:`engiagent.models.hvac.cooling_tower`.
"""

from dataclasses import dataclass

import numpy as np

from engiagent.models.hvac.air_streams import AirStream
from engiagent.models.hvac.cooling_tower import CoolingTower, TowerOperation
from engiagent.models.hvac.moist_air import LIQUID_HEAT
from engiagent.models.hvac.roots import bracketed_root
from engiagent.models.parameters import within
from engiagent.models.ranges import Floats
from engiagent.models.systems.module import Module, Outcome
from engiagent.models.systems.ports import (
    Port,
    State,
    Values,
    action,
    balance,
    disturbance,
    observation,
    output,
)


@dataclass(frozen=True, kw_only=True)
class CoolingTowerModule(Module):
    """A tower that takes what is left on a thermal bus; the ``speed`` of its fan is an action.

    ``water`` is the temperature of the basin in the period before: what a chiller may read as
    ``entering`` without an algebraic loop.

    Attributes
    ----------
    tower
        The parameters of one tower.
    water_flow
        In the loop. Above 0. [kg/s]
    cycles_of_concentration
        Of salts in the loop against the make-up; more means less blow-down. Above 1. [-]
    makeup_temperature
        0 to 40. [degC]
    initial_water
        ``water`` in the first period. [degC]
    """

    tower: CoolingTower
    water_flow: float
    cycles_of_concentration: float = 4.0
    makeup_temperature: float = 15.0
    initial_water: float = 25.0

    def __post_init__(self) -> None:
        within(self.water_flow, "the flow of water", "kg/s", low=0.0, above=True)
        within(self.cycles_of_concentration, "the cycles", "-", low=1.0, above=True)
        within(self.makeup_temperature, "the temperature of make-up", "degC", low=0.0, high=40.0)

    @property
    def ports(self) -> tuple[Port, ...]:
        """Heat, power and make-up; weather and speed; temperatures of the water."""
        return (
            balance("heat", "thermal", way="takes"),
            action("speed", "1"),
            disturbance("air_temperature", "degC", "information"),
            disturbance("humidity_ratio", "kg/kg", "information"),
            output("electric_power", "electrical", way="takes"),
            output("makeup", "water", way="takes", unit="kg/s"),
            observation("evaporation", "kg/s", "water"),
            observation("water_in", "degC", "thermal"),
            observation("basin", "degC", "thermal"),
            observation("water", "degC", "thermal", instant=True),
        )

    @property
    def states(self) -> tuple[State, ...]:
        """The temperature of the basin in the period before."""
        return (State(name="water", unit="degC", initial=self.initial_water),)

    def step(self, state: Values, inputs: Values, step_hours: float) -> Outcome:
        """Return temperatures, power and make-up of the period.

        Raises
        ------
        ParameterError
            When no inlet temperature of 0 to 80 degC carries the heat at this speed.
        """
        air = AirStream(
            flow=0.0, temperature=inputs["air_temperature"], humidity_ratio=inputs["humidity_ratio"]
        )

        def operate(hot: Floats) -> TowerOperation:
            return self.tower.operate(
                air, water_flow=self.water_flow, water_in=hot, speed=inputs["speed"]
            )

        def excess(hot: Floats) -> Floats:
            warmed = self.water_flow * LIQUID_HEAT * (hot - self._basin(operate(hot)))
            return np.asarray(warmed - inputs["heat"])

        hot = bracketed_root(excess, 0.0, 80.0, "the water entering the tower")
        done = operate(hot)
        basin, makeup = self._basin(done), done.evaporation + self._blow_down(done)
        brought = makeup * LIQUID_HEAT * self.makeup_temperature
        carried = done.heat + self._blow_down(done) * LIQUID_HEAT * basin
        return Outcome(
            state={"water": basin},
            outputs={
                "electric_power": done.fan_power,
                "makeup": makeup,
                "evaporation": done.evaporation,
                "water_in": hot,
                "basin": basin,
            },
            entered={"energy": float(brought)},
            left={"energy": float(carried + done.fan_power), "water": float(makeup)},
        )

    def _blow_down(self, done: TowerOperation) -> Floats:
        return np.maximum(done.evaporation, 0.0) / (self.cycles_of_concentration - 1.0)

    def _basin(self, done: TowerOperation) -> Floats:
        blow_down = self._blow_down(done)
        fresh = (done.evaporation + blow_down) * self.makeup_temperature
        mixed = done.water_flow_out * done.water_out + fresh
        return np.asarray(mixed / (self.water_flow + blow_down))
