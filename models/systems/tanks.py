"""Tanks of hot or cold water as modules, mixed or in layers."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from engiagent.models.ranges import ParameterError
from engiagent.models.storage.mixed_tank import Inflow, MixedTank
from engiagent.models.storage.stratified_tank import StratifiedTank
from engiagent.models.systems.module import Module, Outcome, units_of
from engiagent.models.systems.ports import (
    Port,
    State,
    Values,
    balance,
    disturbance,
    observation,
    output,
)


@dataclass(frozen=True)
class MixedTankModule(Module):
    """A mixed tank: ``heating`` and ``extraction`` balance a thermal bus each.

    ``draw`` of warm water, replaced by ``cold`` water, is a disturbance; its heat leaves.

    Attributes
    ----------
    tank
        The parameters.
    initial
        Temperature after a reset that says nothing else; None when a reset must say it. [degC]
    """

    tank: MixedTank
    initial: npt.ArrayLike | None = None

    @property
    def ports(self) -> tuple[Port, ...]:
        """Heat in and out, the draw, and temperatures."""
        shape = units_of(self.tank)
        return (
            balance("heating", "thermal", way="takes", shape=shape),
            balance("extraction", "thermal", way="gives", shape=shape),
            disturbance("draw", "kg/s", "water", default=0.0, shape=shape),
            disturbance("cold", "degC", "thermal", default=10.0),
            disturbance("ambient", "degC", "thermal", default=20.0),
            observation("temperature", "degC", "thermal", instant=True, shape=shape),
            observation("mean_temperature", "degC", "thermal", shape=shape),
        )

    @property
    def states(self) -> tuple[State, ...]:
        """The temperature."""
        shape = units_of(self.tank)
        return (State(name="temperature", unit="degC", shape=shape, initial=self.initial),)

    def step(self, state: Values, inputs: Values, step_hours: float) -> Outcome:
        """Return the temperature after the period; draw and losses leave."""
        shape = units_of(self.tank)
        draw = inputs["draw"]
        done = self.tank.step(
            state["temperature"],
            step_hours=step_hours,
            heat=inputs["heating"] - inputs["extraction"],
            ambient=np.broadcast_to(inputs["ambient"], shape),
            inflows=(Inflow(flow=draw, temperature=np.broadcast_to(inputs["cold"], shape)),),
        )
        return Outcome(
            state={"temperature": done.temperature},
            outputs={"mean_temperature": done.mean_temperature},
            entered={"water": float(draw.sum())},
            left={
                "energy": float(done.loss.sum() - done.inflow_heat.sum()),
                "water": float(draw.sum()),
            },
            violations={"temperature": self.tank.violations(done.temperature)},
        )

    def stored(self, state: Values) -> Mapping[str, float]:
        """Return the heat above 0 degC. [kWh]."""
        return {"energy": float(self.tank.energy(state["temperature"]).sum())}


@dataclass(frozen=True, kw_only=True)
class StratifiedTankModule(Module):
    """A tank in layers, the top first.

    ``heating`` balances a thermal bus and goes into one layer. Each pair of pipes and each
    exchanger has ``<name>.flow`` and ``<name>.inlet``, disturbances that links may feed, and gives
    ``<name>.outlet`` and ``<name>.heat``: the heat that the tank takes from a thermal bus, below 0
    where water carries it out.

    Attributes
    ----------
    tank
        One tank.
    pipes, exchangers
        Names of the tank's ports and exchangers, in their order.
    heated_layer
        From 0 at the top.
    initial
        Temperatures after a reset that says nothing else, one or shape (layers,); None when a
        reset must say it. [degC]
    """

    tank: StratifiedTank
    pipes: tuple[str, ...] = ()
    exchangers: tuple[str, ...] = ()
    heated_layer: int = 0
    initial: npt.ArrayLike | None = None

    def __post_init__(self) -> None:
        for names, parts, what in (
            (self.pipes, self.tank.ports, "ports"),
            (self.exchangers, self.tank.exchangers, "exchangers"),
        ):
            if len(names) != len(parts):
                raise ParameterError(
                    f"the tank has {len(parts)} {what} and {len(names)} names for them; give one "
                    "for each"
                )
        if not 0 <= self.heated_layer < self.tank.layers:
            raise ParameterError(
                f"the heated layer is {self.heated_layer}; give 0 (top) to {self.tank.layers - 1}"
            )
        if units_of(self.tank):
            raise ParameterError("the tank stands for several units; give each a module of its own")

    @property
    def ports(self) -> tuple[Port, ...]:
        """Heat, flows of water, and the temperatures of the layers."""
        return (
            balance("heating", "thermal", way="takes"),
            disturbance("ambient", "degC", "thermal", default=20.0),
            observation("temperature", "degC", "thermal", instant=True, shape=(self.tank.layers,)),
            *(
                port
                for name in (*self.pipes, *self.exchangers)
                for port in (
                    disturbance(f"{name}.flow", "kg/s", "water", default=0.0),
                    disturbance(f"{name}.inlet", "degC", "thermal"),
                    observation(f"{name}.outlet", "degC", "thermal"),
                    output(f"{name}.heat", "thermal", way="takes"),
                )
            ),
        )

    @property
    def states(self) -> tuple[State, ...]:
        """The temperatures of the layers."""
        shape = (self.tank.layers,)
        return (State(name="temperature", unit="degC", shape=shape, initial=self.initial),)

    def step(self, state: Values, inputs: Values, step_hours: float) -> Outcome:
        """Return the layers after the period; the loss leaves."""
        heat = np.zeros(self.tank.layers)
        heat[self.heated_layer] = float(inputs["heating"])
        done = self.tank.step(
            state["temperature"],
            step_hours=step_hours,
            flows=[inputs[f"{name}.flow"] for name in self.pipes],
            inlets=[inputs[f"{name}.inlet"] for name in self.pipes],
            exchanger_flows=[inputs[f"{name}.flow"] for name in self.exchangers],
            exchanger_inlets=[inputs[f"{name}.inlet"] for name in self.exchangers],
            heat=heat,
            ambient=inputs["ambient"],
        )
        names = (*self.pipes, *self.exchangers)
        outlets = (*done.outlets, *done.exchanger_outlets)
        heats = (*done.port_heat, *done.exchanger_heat)
        return Outcome(
            state={"temperature": done.temperature},
            outputs={
                **{f"{name}.outlet": value for name, value in zip(names, outlets, strict=True)},
                **{f"{name}.heat": value for name, value in zip(names, heats, strict=True)},
            },
            left={"energy": float(done.loss)},
        )

    def stored(self, state: Values) -> Mapping[str, float]:
        """Return the heat above 0 degC. [kWh]."""
        return {"energy": float(self.tank.energy(state["temperature"]))}
