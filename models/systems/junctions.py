"""Modules between buses: surroundings, a splitter, a store of water, mains and uses of water."""

from collections.abc import Mapping
from dataclasses import dataclass

from engiagent.models.ranges import ParameterError, not_negative, positive
from engiagent.models.systems.module import Module, Outcome, above
from engiagent.models.systems.ports import (
    QUANTITIES,
    Domain,
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
class SurroundingsModule(Module):
    """Gives or takes whatever a bus leaves, as ambient air, ground or a large network do.

    Attributes
    ----------
    domain, unit
        Of ``exchange``, which is below 0 where the surroundings take.
    """

    domain: Domain
    unit: str = "kW"

    @property
    def ports(self) -> tuple[Port, ...]:
        """One flow."""
        return (balance("exchange", self.domain, way="gives", unit=self.unit),)

    def step(self, state: Values, inputs: Values, step_hours: float) -> Outcome:
        """Let the exchange enter."""
        quantity = QUANTITIES[self.unit][0]
        return Outcome(entered={quantity: float(inputs["exchange"])})


@dataclass(frozen=True, kw_only=True)
class SplitterModule(Module):
    """Divides what is left on one bus among several others in fixed shares.

    Attributes
    ----------
    domain, unit
        Of all flows.
    shares
        By the name of the output. At least 0, 1 together. [-]
    """

    domain: Domain
    shares: Mapping[str, float]
    unit: str = "kW"

    def __post_init__(self) -> None:
        for name, share in self.shares.items():
            not_negative(share, f"the share of {name}", "of the whole")
        if not abs(sum(self.shares.values()) - 1.0) <= 1e-12:
            raise ParameterError(
                f"the shares add up to {sum(self.shares.values())}; give shares that add up to 1"
            )

    @property
    def ports(self) -> tuple[Port, ...]:
        """``whole`` in, the shares out."""
        return (
            balance("whole", self.domain, way="takes", unit=self.unit),
            *(output(name, self.domain, way="gives", unit=self.unit) for name in self.shares),
        )

    def step(self, state: Values, inputs: Values, step_hours: float) -> Outcome:
        """Return the shares of the period."""
        return Outcome(
            outputs={name: share * inputs["whole"] for name, share in self.shares.items()}
        )


@dataclass(frozen=True, kw_only=True)
class WaterStoreModule(Module):
    """A reservoir: takes what is left on one bus, below 0 where it serves it.

    Attributes
    ----------
    capacity
        When full. Above 0. [kg]
    initial
        At the first instant; None when a reset must say it. [kg]
    """

    capacity: float
    initial: float | None = None

    def __post_init__(self) -> None:
        positive(self.capacity, "the capacity of the reservoir", "kg", "5000")

    @property
    def ports(self) -> tuple[Port, ...]:
        """What flows in, and the content at the start of the period."""
        return (
            balance("filling", "water", way="takes", unit="kg/s"),
            observation("content", "kg", "water", instant=True),
        )

    @property
    def states(self) -> tuple[State, ...]:
        """The content."""
        return (State(name="content", unit="kg", initial=self.initial),)

    def step(self, state: Values, inputs: Values, step_hours: float) -> Outcome:
        """Return the content after the period."""
        after = state["content"] + 3600.0 * step_hours * inputs["filling"]
        return Outcome(
            state={"content": after},
            violations={"overfull": above(after, self.capacity), "empty": above(-after)},
        )

    def stored(self, state: Values) -> Mapping[str, float]:
        """Return the content. [kg]."""
        return {"water": float(state["content"])}


@dataclass(frozen=True, kw_only=True)
class WaterSupplyModule(Module):
    """Water from the mains or a pump: ``flow`` is an action and enters from the environment."""

    flow_max: float = float("inf")

    def __post_init__(self) -> None:
        not_negative(self.flow_max, "the largest flow", "kg/s", finite=False)

    @property
    def ports(self) -> tuple[Port, ...]:
        """One flow."""
        return (action("flow", "kg/s", domain="water", way="gives"),)

    def step(self, state: Values, inputs: Values, step_hours: float) -> Outcome:
        """Let the flow enter."""
        flow = inputs["flow"]
        return Outcome(
            entered={"water": float(flow)},
            violations={"flow": above(flow, self.flow_max), "negative_flow": above(-flow)},
        )


@dataclass(frozen=True, kw_only=True)
class WaterUseModule(Module):
    """A use of water: ``flow`` is a disturbance and leaves to the environment."""

    @property
    def ports(self) -> tuple[Port, ...]:
        """One flow."""
        return (disturbance("flow", "kg/s", "water", way="takes"),)

    def step(self, state: Values, inputs: Values, step_hours: float) -> Outcome:
        """Let the flow leave."""
        return Outcome(left={"water": float(inputs["flow"])})
