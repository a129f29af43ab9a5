"""How far anybody's schedule is from the best plan that a solver finds for the same blueprint."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from engiagent.blueprint import Blueprint
from engiagent.errors import EngiagentError
from engiagent.formulations.compile import compile_blueprint
from engiagent.run.stages import solve_program
from engiagent.solvers.result import SolveOptions

BEST_WITHIN: Final = 60.0
"""How long the best is looked for beside somebody's schedule, where no limit is given. [s]"""


@dataclass(frozen=True)
class Best:
    """The best plan that a solver finds for what somebody's schedule was made for.

    ``proven`` says whether the solver claims that there is none better.
    """

    value: float
    proven: bool

    def beside(self, goal: Mapping[str, Any]) -> dict[str, Any]:
        """Return how far an objective is from it, as a share of the best where that is not 0."""
        worse = (goal["value"] - self.value) * (-1.0 if goal["sense"] == "maximize" else 1.0)
        share = worse / abs(self.value) if self.value else None
        return {"value": self.value, "proven": self.proven, "worse_by": worse, "share": share}


def find_best(blueprint: Blueprint | None, folder: Path, options: SolveOptions) -> Best | None:
    """Return the best plan of a blueprint; None where a solver finds none in time.

    Raises KeyboardInterrupt when the solver was interrupted.
    """
    if blueprint is None or blueprint.kind == "definitions":
        return None
    if options.time_limit is None:
        options = replace(options, time_limit=BEST_WITHIN)
    try:
        solution, account = solve_program(compile_blueprint(blueprint, folder), options)
    except EngiagentError:
        return None  # the verdict is about the schedule, whatever a solver can do
    if account.status == "interrupted":
        raise KeyboardInterrupt
    value = solution.attrs.get("objective")
    return None if value is None else Best(float(value), account.status == "optimal")
