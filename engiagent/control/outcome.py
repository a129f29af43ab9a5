"""What a step gives, and what a plant takes."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

import numpy.typing as npt

from engiagent.control.elastic import Relaxation
from engiagent.control.horizon import Floats
from engiagent.solvers.result import SolverResult

Values = Mapping[str, Floats]
Plant = Callable[[Values, Values, Values], Mapping[str, npt.ArrayLike]]
"""``(state, controls, disturbances) -> state`` after the applied periods; all by name, each in its
own unit: states by parameter, controls by variable, disturbances by parameter."""

Outcome = Literal["optimal", "feasible", "relaxed", "previous plan"]


@dataclass(frozen=True, eq=False, kw_only=True)
class Control:
    """What to do now.

    Attributes
    ----------
    step
        Number of the step, from 0.
    outcome, reason
        ``optimal``: the best plan, which keeps all limits; ``feasible``: one that keeps them, but a
        limit of the solver came before the proof that it is the best; ``relaxed``: it goes beyond
        some that may give way, as little as is possible; ``previous plan``: none was found in time,
        so that the last one goes on.
    values
        Controls by variable: its value in the first period, of the shape of its other sets, or of
        (periods, others …) when several periods are applied at once.
    units, quantities
        By variable.
    predicted
        States at the end of the applied periods as the plan sees them, by parameter.
    relaxations
        Limits that the whole plan does not keep, with the exact amounts.
    objective, stage_cost
        Of the plan; and of it the share of the applied periods.
    result
        The solver's own account.
    seconds
        Time of the step: update, solve and read-out. No decision rests on it.
    """

    step: int
    outcome: Outcome
    reason: str
    values: Values
    units: Mapping[str, str]
    quantities: Mapping[str, str | None]
    predicted: Values
    relaxations: tuple[Relaxation, ...]
    objective: float | None
    stage_cost: float
    result: SolverResult
    seconds: float
