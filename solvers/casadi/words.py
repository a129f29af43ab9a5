"""What happened in a nonlinear solve, in words that name the program's parts."""

import numpy as np

from engiagent.formulations.program import Program
from engiagent.formulations.values import Floats
from engiagent.solvers.result import SolveOptions
from engiagent.solvers.validate import place_of


def words_of(
    name: str, kind: str, status: str, program: Program, x: Floats, options: SolveOptions
) -> str:
    """Return what a solver's ending was, with the row that it failed at where that is known."""
    if kind == "limit" and options.time_limit is not None:
        return f"time limit of {options.time_limit:g} s reached"
    if kind == "interrupted":
        return "interrupted"
    said = f"{name} ended with {status}"
    if kind == "stuck":
        said = (
            f"{name} found no way to a point that satisfies all constraints from where it "
            f"started ({status}); this proves nothing, so start elsewhere or use SCIP"
        )
        worst = _worst_row(program, x)
        return f"{said}; most is missing in {worst}" if worst else said
    if kind == "undefined":
        return f"{said}: {undefined_at(program, x)}"
    return said


def _worst_row(program: Program, x: Floats) -> str | None:
    with np.errstate(all="ignore"):
        activity = program.activity_at(x)
    excess = np.maximum(program.row_lower - activity, activity - program.row_upper)
    if not len(excess) or not np.any(excess > 0):
        return None
    return place_of(program, program.rows, int(np.nanargmax(excess)))


def undefined_at(program: Program, x: Floats) -> str:
    """Return a sentence that names what has no value at or near a point."""
    with np.errstate(all="ignore"):
        activity = program.activity_at(x)
        bad = np.flatnonzero(~np.isfinite(activity))
        if len(bad):
            place = place_of(program, program.rows, int(bad[0]))
        elif not np.isfinite(program.objective_at(x)):
            place = program.objective_name
        else:
            return "a function or its slope has no value near the point reached"
        culprits = [
            part.atom.origin or part.atom.function
            for part in program.nonlinear
            if not np.all(np.isfinite(part.atom.at(x)))
        ]
    what = f" ({', '.join(dict.fromkeys(culprits))})" if culprits else ""
    return (
        f"{place}{what} has no value at the point tried; keep the arguments of log, sqrt, "
        "powers and denominators inside their domain by bounds, or give a start"
    )


def short(error: Exception) -> str:
    """Return the last line of an error of CasADi, which holds the cause."""
    lines = [line for line in str(error).splitlines() if line.strip()]
    return lines[-1][:200] if lines else type(error).__name__
