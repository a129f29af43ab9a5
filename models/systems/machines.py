"""Fans and pumps as modules."""

from dataclasses import dataclass

import numpy as np

from engiagent.models.hvac.turbomachines import PartLoadFan, SystemCurve, Turbomachine
from engiagent.models.systems.module import Module, Outcome, above, units_of
from engiagent.models.systems.ports import Port, Values, action, observation, output


@dataclass(frozen=True)
class FanModule(Module):
    """A fan by its part-load curve: ``flow`` is an action; its ``heat`` goes to a thermal bus."""

    fan: PartLoadFan

    @property
    def ports(self) -> tuple[Port, ...]:
        """Flow, power and heat."""
        shape = units_of(self.fan)
        return (
            action("flow", "kg/s", shape=shape),
            output("electric_power", "electrical", way="takes", shape=shape),
            output("heat", "thermal", way="gives", shape=shape),
        )

    def step(self, state: Values, inputs: Values, step_hours: float) -> Outcome:
        """Return power and heat of the period; the rest of the power leaves."""
        flow = inputs["flow"]
        power, heat = self.fan.power(flow), self.fan.heat(flow)
        return Outcome(
            outputs={"electric_power": power, "heat": heat},
            left={"energy": float((power - heat).sum())},
            violations={"flow": above(flow, self.fan.rated_flow)},
        )


@dataclass(frozen=True)
class PumpModule(Module):
    """A fan or pump in its system: ``speed`` is an action, 0 for standing; all power leaves."""

    machine: Turbomachine
    system: SystemCurve

    @property
    def ports(self) -> tuple[Port, ...]:
        """Speed, flow, pressure and power."""
        return (
            action("speed", "1"),
            observation("flow", "m3/s", "water"),
            observation("pressure", "kPa", "water"),
            output("electric_power", "electrical", way="takes"),
        )

    def step(self, state: Values, inputs: Values, step_hours: float) -> Outcome:
        """Return the operating point of the period."""
        speed = inputs["speed"]
        if speed == 0.0:
            nothing = np.zeros(())
            return Outcome(
                outputs={"flow": nothing, "pressure": nothing, "electric_power": nothing}
            )
        flow = self.machine.operating_flow(self.system, speed)
        power = self.machine.electric_power(flow, speed)
        return Outcome(
            outputs={
                "flow": flow,
                "pressure": self.machine.pressure_rise(flow, speed),
                "electric_power": power,
            },
            left={"energy": float(power)},
            violations={
                "speed": above(speed, 1.0),
                "slow": above(self.machine.minimum_speed, speed),
                "motor": above(self.machine.shaft_power(flow, speed), self.machine.motor_power),
            },
        )
