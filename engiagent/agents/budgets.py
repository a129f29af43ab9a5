"""Budgets of a run: what ends it with the best it has."""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from engiagent.agents.protocol import Usage
from engiagent.errors import InputError

STEPS: Final = 24
"""Agents' turns, unless the user says otherwise; the main way takes five."""


@dataclass(frozen=True)
class Budget:
    """What a run may take, in turns, tokens in and out, USD and minutes; None for no limit."""

    steps: int = STEPS
    tokens: int | None = None
    cost: float | None = None
    minutes: float | None = None

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            # A limit that is no number compares with nothing, and so would never end a run.
            if value is not None and not (math.isfinite(value) and value >= 0):
                raise InputError(f"--max-{name} is no amount", found=repr(value))


@dataclass
class Meter:
    """What a run has taken so far."""

    budget: Budget
    clock: Callable[[], float] = time.monotonic
    steps: int = 0
    usage: Usage = field(default_factory=Usage)
    begun: float = field(init=False)

    def __post_init__(self) -> None:
        self.begun = self.clock()

    def count(self, usage: Usage) -> None:
        """Count one turn of an agent."""
        self.steps += 1
        self.usage += usage

    @property
    def minutes(self) -> float:
        """Minutes since the run began."""
        return (self.clock() - self.begun) / 60.0

    def spent(self) -> str | None:
        """Return which budget is used up, in words; None while there is some of each left."""
        used = self.usage.input_tokens + self.usage.output_tokens
        budget = self.budget
        if self.steps >= budget.steps:
            return f"{self.steps} turns of agents are used up"
        if budget.tokens is not None and used >= budget.tokens:
            return f"{used} of {budget.tokens} tokens are used up"
        if budget.cost is not None and (self.usage.cost or 0.0) >= budget.cost:
            return f"{self.usage.cost:.2f} of {budget.cost:.2f} USD are used up"
        if budget.cost is not None and self.usage.cost is None:
            return "the price file has no price for the model, so that no cost can be kept"
        if budget.minutes is not None and self.minutes >= budget.minutes:
            return f"{self.minutes:.1f} of {budget.minutes:g} minutes are used up"
        return None
