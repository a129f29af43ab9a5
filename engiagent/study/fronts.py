"""The goals of a front, and programs of one objective made from them."""

from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from engiagent.blueprint.document import Blueprint, GoalDef, ObjectiveDef
from engiagent.errors import InputError
from engiagent.formulations.program import OBJECTIVE, Goal, Program
from engiagent.formulations.values import Floats
from engiagent.solvers.goals import kept, only

EXPECTED: Final = "NAME=min:EXPRESSION or NAME=max:EXPRESSION, as co2=min:emissions"
SENSES: Final = {"min": "minimize", "max": "maximize"}
MOST: Final = 3


def parse_goal(text: str) -> GoalDef:
    """Read ``NAME=min:EXPRESSION``.

    Raises
    ------
    InputError
        When it is none.
    """
    name, _, rest = (part.strip() for part in text.partition("="))
    sense, _, expression = (part.strip() for part in rest.partition(":"))
    if not (name and expression) or sense not in SENSES:
        raise InputError("this is no goal", found=repr(text), expected=EXPECTED)
    return GoalDef(
        name=name, sense="minimize" if sense == "min" else "maximize", expression=expression
    )


def with_goals(blueprint: Blueprint, more: tuple[GoalDef, ...]) -> Blueprint:
    """Return a blueprint with the goals of its objective and further ones, as a front.

    Raises
    ------
    InputError
        When these are not two or three, or have one name.
    """
    objective = blueprint.core.objective_function
    goals = (*(_own(objective) if objective is not None else ()), *more)
    names = [goal.name for goal in goals]
    if not 2 <= len(goals) <= MOST:
        raise InputError(
            f"a front is between two or {MOST} goals",
            found=", ".join(names) or "none",
            expected=f"--goal {EXPECTED}",
        )
    if len(set(names)) != len(names):
        raise InputError("two goals have one name", found=", ".join(names))
    base = objective or ObjectiveDef(sense="minimize")
    changed = replace(
        base, name=names[0], expression=None, unit=None, combination="frontier", terms=goals
    )
    return blueprint.with_core(objective_function=changed)


def _own(objective: ObjectiveDef) -> tuple[GoalDef, ...]:
    """Return the goals of an objective, without their weights, limits and tolerances."""
    if objective.terms:
        return tuple(
            replace(goal, weight=None, limit=None, tolerance=None) for goal in objective.terms
        )
    if objective.expression is None:
        return ()
    return (
        GoalDef(
            name=objective.name or "objective",
            sense=objective.sense,
            expression=objective.expression,
            unit=objective.unit,
        ),
    )


def refuse_curved(program: Program) -> None:
    """Refuse a goal that is not linear: no row could keep it.

    Raises
    ------
    InputError
        Naming the goal.
    """
    curved = bool(np.any(program.products.rows == OBJECTIVE)) or any(
        bool(np.any(part.row_numbers() < 0)) for part in program.nonlinear
    )
    if curved:
        raise InputError(
            f"the goal {program.goals[0].name} is not linear",
            expected="goals that are linear in the variables; piecewise(...) bends one",
        )


@dataclass(frozen=True, eq=False)
class Stage:
    """A program of one objective with a row for each goal, whose numbers change in place.

    Attributes
    ----------
    goals
        Those that a row keeps, in the order of the last rows of ``program``.
    """

    program: Program
    goals: tuple[Goal, ...]

    @classmethod
    def of(cls, program: Program, first: Goal, others: tuple[Goal, ...]) -> "Stage":
        """Return the program of a goal with rows for others, which hold nothing yet."""
        return cls._with_rows(only(program, first), others)

    @classmethod
    def weighted(cls, program: Program, others: tuple[Goal, ...]) -> "Stage":
        """Return a program that minimises weighted goals, with rows for some of them."""
        stage = replace(only(program, program.goals[0]), sense="minimize", offset=0.0)
        return cls._with_rows(stage, others)

    @classmethod
    def _with_rows(cls, stage: Program, others: tuple[Goal, ...]) -> "Stage":
        for goal in others:
            stage = kept(stage, goal, goal.offset)
        found = cls(_owned(stage), others)
        found.limit([np.inf if g.sense == "minimize" else -np.inf for g in others])
        return found

    def limit(self, values: list[float]) -> None:
        """Keep each goal at least as good as a value."""
        start = self.program.row_count - len(self.goals)
        for k, (goal, value) in enumerate(zip(self.goals, values, strict=True)):
            ends = self.program.row_upper if goal.sense == "minimize" else self.program.row_lower
            ends[start + k] = value - goal.offset

    def weigh(self, goals: tuple[Goal, ...], weights: list[float]) -> None:
        """Minimise the sum of goals times their weights, a maximised one with a minus."""
        cost: Floats = np.zeros_like(self.program.cost)
        for goal, weight in zip(goals, weights, strict=True):
            cost += sign_of(goal) * weight * goal.cost
        self.program.cost[:] = cost


def sign_of(goal: Goal) -> float:
    """Return what makes a goal one that is minimised."""
    return 1.0 if goal.sense == "minimize" else -1.0


def _owned(program: Program) -> Program:
    """Return a program whose changing arrays are nobody else's."""
    return replace(
        program,
        cost=program.cost.copy(),
        row_lower=program.row_lower.copy(),
        row_upper=program.row_upper.copy(),
    )
