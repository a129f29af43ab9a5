"""Why a solve ended as it did, as a run stores and states it."""

from pathlib import Path
from typing import Final

from engiagent.blueprint import Blueprint
from engiagent.explain import Explanation, Given, explain_result
from engiagent.explain.text import clash_sentence
from engiagent.formulations.program import Program
from engiagent.solvers.result import SolverResult
from engiagent.text import Problem

EXPLAIN_SECONDS: Final = 10.0
"""For what is solved again to explain why there is no plan or no best one."""


def explained(
    blueprint: Blueprint,
    program: Program,
    result: SolverResult,
    folder: Path,
    problem: Problem | None,
    *,
    name: str,
    choice: str | None = None,
) -> Explanation:
    """Return why a solve ended as it did; of a plan only what its multipliers say."""
    given = Given(blueprint=blueprint, folder=folder, problem=problem, name=name)
    seconds = 0.0 if result.status == "optimal" else EXPLAIN_SECONDS
    return explain_result(given, program, result, seconds=seconds, choice=choice)


def reasons(found: Explanation) -> tuple[str, ...]:
    """Return the demands that cannot hold, or what grows without end, a sentence each."""
    if found.unbounded is not None:
        return tuple(growth.text for growth in found.unbounded.growths)
    return tuple(clash_sentence(clash) for clash in found.clashes)
