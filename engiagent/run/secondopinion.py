"""A second, independent solver for what a problem states; the checker weighs what it says.

It gets the arrays that the checker reads off the stated requirements, so that neither the first
solver nor the compiler has a hand in them; where these are not linear, the compiled blueprint.
"""

from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import numpy as np

from engiagent.blueprint import Blueprint
from engiagent.errors import EngiagentError
from engiagent.formulations.compile import compile_blueprint
from engiagent.formulations.program import Program
from engiagent.run.certify import source_of
from engiagent.solvers.registry import is_available
from engiagent.solvers.result import SolveOptions
from engiagent.solvers.solution import load_arrays
from engiagent.solvers.solving import solve
from engiagent.text import Problem
from engiagent.verify.linear_arrays import StatedArrays, stated_arrays
from engiagent.verify.opinions import STATUSES, Opinion
from engiagent.verify.requirements import Requirements

SCIPY: Final = "scipy"
"""The name under which ``scipy.optimize.milp`` can be asked."""


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
    """Solve what is stated with another solver and return what it says of the optimum.

    ``problem``, ``solution``, ``blueprint``, ``folder``, ``name``, ``mapping``, ``requirements``:
    as for :func:`engiagent.run.certify.certify`. ``solver``: a backend, as ``highs`` or ``scip``,
    or ``scipy``. ``options``: limits; the backend is ``solver``. Raises EngiagentError when the
    solver is unknown or has solved the plan itself.
    """
    _other_than(_first_solver(solution), solver)
    source, expanded = source_of(problem, blueprint, folder, name)
    stated = None if source.expert is not None else requirements
    arrays = stated_arrays(source, solution, expanded, stated, mapping)
    if isinstance(arrays, str):
        return _of_the_blueprint(blueprint, folder, solver, options, arrays)
    if not arrays.complete and blueprint is not None and solver != SCIPY:
        return _of_the_blueprint(blueprint, folder, solver, options, f"not {arrays.over}")
    if solver == SCIPY:
        return _by_scipy(arrays, options)
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


def _other_than(first: str | None, solver: str) -> None:
    """Refuse to ask the same solver twice: ``scipy`` has HiGHS inside."""
    families = {SCIPY: "highs"}
    own = families.get(solver, solver)
    if first is not None and first.lower().partition(" ")[0] == own:
        raise EngiagentError(
            f"{solver} is no second opinion: {first} made the plan; ask another, as "
            f"{'scip' if own == 'highs' else 'highs'}"
        )


def _of_the_blueprint(
    blueprint: Blueprint | None, folder: Path, solver: str, options: SolveOptions, why: str
) -> Opinion:
    if blueprint is None or solver == SCIPY:
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


def _by_scipy(arrays: StatedArrays, options: SolveOptions) -> Opinion:
    import scipy
    from scipy.optimize import Bounds, LinearConstraint, milp

    sign = 1.0 if arrays.sense == "minimize" else -1.0
    size = arrays.cost.size
    matrix = scipy.sparse.csr_matrix(
        (arrays.row_values, arrays.row_columns, arrays.row_starts),
        shape=(arrays.row_lower.size, size),
    )
    rows = [LinearConstraint(matrix, arrays.row_lower, arrays.row_upper)] if matrix.nnz else []
    limits = {"time_limit": options.time_limit, "mip_rel_gap": options.gap or 0.0}
    found = milp(
        sign * arrays.cost,
        integrality=arrays.integrality.astype(np.int64),
        bounds=Bounds(arrays.column_lower, arrays.column_upper),
        constraints=rows,
        options={key: value for key, value in limits.items() if value is not None},
    )
    status = {0: "optimal", 1: "limit", 2: "infeasible", 3: "unbounded"}.get(found.status, "error")
    bound = getattr(found, "mip_dual_bound", None)
    if bound is None and status == "optimal":
        bound = found.fun
    return Opinion(
        solver=SCIPY,
        version=scipy.__version__,
        status=status,
        objective=None if found.fun is None else sign * float(found.fun) + arrays.offset,
        bound=None if bound is None else sign * float(bound) + arrays.offset,
        unit=arrays.unit,
        over=arrays.over,
        complete=arrays.complete,
        reason=None if status == "optimal" else str(found.message),
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
