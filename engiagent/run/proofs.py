"""What may be asked of a certificate beyond the plain check, and what that needs of solvers.

A second, independent solver solves what a problem states; the checker weighs what it says. It gets
the arrays that the checker reads off the stated requirements, so that neither the first solver nor
the compiler has a hand in them; where these are not linear, the compiled blueprint. Of anybody's
schedule it is told how far it is from the best plan that a solver finds.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from engiagent.blueprint import Blueprint
from engiagent.errors import EngiagentError
from engiagent.formulations.compile import compile_blueprint
from engiagent.formulations.program import Program
from engiagent.run.certify import source_of
from engiagent.run.stages import solve_program
from engiagent.solvers.registry import is_available
from engiagent.solvers.result import SolveOptions
from engiagent.solvers.solution import load_arrays
from engiagent.solvers.solving import solve
from engiagent.text import Problem
from engiagent.verify.case import case_of
from engiagent.verify.levels.stated import StatedArrays, stated_arrays
from engiagent.verify.opinions import STATUSES, Opinion
from engiagent.verify.requirements import Requirements


@dataclass(frozen=True)
class Proofs:
    """What is asked beyond the plain check."""

    exact: bool = False  # rational arithmetic beside doubles
    second_solver: str | None = None  # who is to solve what is stated once more; None for nobody

    def asked(self) -> dict[str, Any]:
        """Return what a run's record says of it; nothing where nothing was asked."""
        found = {"exact": self.exact or None, "second_solver": self.second_solver}
        return {name: value for name, value in found.items() if value is not None}

    def opinion(
        self,
        problem: Problem | None,
        solution: Any,
        blueprint: Blueprint | None,
        options: SolveOptions,
        **given: Any,
    ) -> Opinion | None:
        """Return what the second solver says, None where none is asked; see ``second_opinion``."""
        computed = blueprint is not None and blueprint.kind == "definitions"
        if self.second_solver is None or computed:
            return None
        return second_opinion(problem, solution, blueprint, self.second_solver, options, **given)


PLAIN: Final = Proofs()
"""Nothing beyond the plain check."""


def proof_lines(certificate: Mapping[str, Any]) -> list[str]:
    """Return what a certificate says beyond the plain check, a line for each."""
    levels = certificate.get("levels") or {}
    algebra, best = (levels.get(name) or {} for name in ("algebra", "optimality"))
    lines = []
    rows, exact = algebra.get("exact") or {}, best.get("exact") or {}
    if rows.get("arithmetic") == "exact":
        kept = "without any violation" if rows["zero_violation"] else "within tolerance"
        kept = f"{rows['broken']} broken" if rows["broken"] else kept
        lines.append(f"{rows['rows']} rows in exact arithmetic: {kept}")
    if exact.get("gap") is not None:
        weak = ", weak without the rows that have no exact form" if exact.get("left_out") else ""
        lines.append(f"{exact['method']}: gap {exact['gap_float']:.3g}{weak}")
    elif "proven" in exact:
        shown = "contradicts the bounds" if exact["proven"] else "proves nothing"
        lines.append(f"a ray in exact arithmetic {shown}")
    elif exact.get("reason"):
        lines.append(f"no exact bound: {exact['reason']}")
    second = best.get("second_solver")
    if second is not None:
        said = {True: "agrees", False: "contradicts", None: "settles nothing"}
        lines.append(f"{second['solver']} over {second['over']} {said[second['agrees']]}")
    return lines


def second_opinion(
    problem: Problem | None,
    solution: Any,
    blueprint: Blueprint | None,
    solver: str,
    options: SolveOptions,
    *,
    folder: Path,
    name: str,
    mapping: Any = None,
    requirements: Requirements | None = None,
) -> Opinion:
    """Have another backend solve what is stated; refuse the one that made the plan."""
    first = _first_solver(solution)
    if first is not None and first.lower().partition(" ")[0] == solver:
        other = "scip" if solver == "highs" else "highs"
        said = f"{solver} is no second opinion: {first} made the plan; ask another, as {other}"
        raise EngiagentError(said)
    source, expanded = source_of(problem, blueprint, folder, name)
    stated = None if source.expert is not None else requirements
    arrays = stated_arrays(case_of(source, solution, expanded, stated, mapping))
    if isinstance(arrays, str):
        return _of_the_blueprint(blueprint, folder, solver, options, arrays)
    if not arrays.complete and blueprint is not None:
        return _of_the_blueprint(blueprint, folder, solver, options, f"not {arrays.over}")
    return _by_backend(_as_program(arrays), solver, options, arrays.over, arrays.complete)


def another_solver(solution: Any) -> str | None:
    """Return a global solver of another make than the one that made a plan; None without one."""
    first = (_first_solver(solution) or "").lower()
    other = "scip" if first.startswith("highs") else "highs"
    return other if is_available(other) else None


def _first_solver(solution: Any) -> str | None:
    """Return who made the plan, as far as it says so."""
    found = getattr(solution, "attrs", {}).get("solver")
    if found is None and isinstance(solution, str | Path) and str(solution).endswith(".nc"):
        found = load_arrays(solution).attrs.get("solver")
    return None if found is None else str(found)


def _of_the_blueprint(
    blueprint: Blueprint | None, folder: Path, solver: str, options: SolveOptions, why: str
) -> Opinion:
    if blueprint is None:
        raise EngiagentError(f"there is nothing linear that {solver} could be asked: {why}")
    program = compile_blueprint(blueprint, folder)
    over = f"the blueprint as compiled ({why})"
    return _by_backend(program, solver, options, over, complete=True)


def _by_backend(
    program: Program, solver: str, options: SolveOptions, over: str, complete: bool
) -> Opinion:
    result = solve(program, replace(options, backend=solver))
    if result.status == "interrupted":
        raise KeyboardInterrupt
    return Opinion(
        solver=solver,
        version=str(result.solver_version),
        status=result.status if result.status in STATUSES else "error",
        objective=result.objective,
        bound=result.bound,
        unit=program.objective_unit,
        over=over,
        complete=complete,
        reason=result.reason if result.status != "optimal" else None,
    )


def _as_program(arrays: StatedArrays) -> Program:
    return Program(
        sense="minimize" if arrays.sense == "minimize" else "maximize",
        cost=arrays.cost,
        column_lower=arrays.column_lower,
        column_upper=arrays.column_upper,
        integrality=arrays.integrality,
        row_starts=arrays.row_starts,
        row_columns=arrays.row_columns,
        row_values=arrays.row_values,
        row_lower=arrays.row_lower,
        row_upper=arrays.row_upper,
        offset=arrays.offset,
        objective_unit=arrays.unit,
    )


BEST_WITHIN: Final = 60.0
"""How long the best is looked for beside somebody's schedule, where no limit is given. [s]"""


@dataclass(frozen=True)
class Best:
    """The best plan that a solver finds, and whether it claims that there is none better."""

    value: float
    proven: bool

    def beside(self, goal: Mapping[str, Any]) -> dict[str, Any]:
        """Return how far an objective is from it, as a share of the best where that is not 0."""
        worse = (goal["value"] - self.value) * (-1.0 if goal["sense"] == "maximize" else 1.0)
        share = worse / abs(self.value) if self.value else None
        return {"value": self.value, "proven": self.proven, "worse_by": worse, "share": share}


def find_best(blueprint: Blueprint | None, folder: Path, options: SolveOptions) -> Best | None:
    """Return the best plan of a blueprint; None where a solver finds none in time."""
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
