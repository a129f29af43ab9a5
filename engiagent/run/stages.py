"""Single stages of a run that are not the checker's: what was read, static analysis, the solve."""

import math
import threading
from dataclasses import dataclass
from pathlib import Path

from engiagent.blueprint import Blueprint
from engiagent.blueprint.analysis import analyse
from engiagent.blueprint.definitions import check_definitions, evaluate_definitions
from engiagent.blueprint.diagnostics import BlueprintError, MissingDataError
from engiagent.blueprint.elaborate import Elaboration
from engiagent.errors import EngiagentError
from engiagent.formulations.program import Program
from engiagent.solvers.arrays import SolutionArrays
from engiagent.solvers.exclusivity import recognise
from engiagent.solvers.result import OnProgress, Progress, SolveOptions, SolverResult
from engiagent.solvers.selection import explain, select
from engiagent.solvers.solution import to_arrays
from engiagent.solvers.solving import solve


@dataclass(frozen=True)
class StaticFindings:
    """What static analysis found: warnings as text, errors as one exception."""

    warnings: tuple[str, ...]
    error: EngiagentError | None
    elaboration: Elaboration | None


def static_findings(expanded: Blueprint, folder: Path) -> StaticFindings:
    """Return the warnings and the errors of an expanded blueprint."""
    found = analyse(expanded, folder)
    warnings = tuple(str(d) for d in found.diagnostics if d.severity == "warning")
    if found.missing:
        return StaticFindings(warnings, MissingDataError(found.missing), found.elaboration)
    error = BlueprintError(found.errors) if found.errors else None
    return StaticFindings(warnings, error, found.elaboration)


def solve_program(
    program: Program,
    options: SolveOptions,
    on_progress: OnProgress | None = None,
    *,
    isolate: bool = True,
    cancel: threading.Event | None = None,
) -> tuple[SolutionArrays, SolverResult]:
    """Solve, in a child process unless told otherwise, and return schedule and account."""
    result = solve(program, options, isolate=isolate, on_progress=on_progress, cancel=cancel)
    return to_arrays(program, result), result


def progress_text(progress: Progress) -> str:
    """Return a line on how far the solver has come."""
    parts = [f"solve … {progress.elapsed:.0f} s"]
    if progress.nodes:
        parts.append(f"{progress.nodes} nodes")
    elif progress.iterations:
        parts.append(f"{progress.iterations} iterations")
    for name in ("objective", "bound"):
        value = getattr(progress, name)
        if value is not None and math.isfinite(value):
            parts.append(f"{'best' if name == 'objective' else name} {value:,.10g}")
    if progress.gap is not None and math.isfinite(progress.gap):
        parts.append(f"gap {100 * progress.gap:.3g} %")
    return ", ".join(parts)


def computed(blueprint: Blueprint, folder: Path) -> SolutionArrays:
    """Return what a blueprint of definitions says; BlueprintError when something in it is wrong."""
    found = check_definitions(blueprint, folder)
    errors = tuple(finding for finding in found if finding.severity == "error")
    if errors:
        raise BlueprintError(errors)
    return SolutionArrays.of(evaluate_definitions(blueprint, folder).to_dataset())


def choice_of(program: Program, options: SolveOptions) -> str:
    """Return what kind of program it is, its structure, and which solver gets it and why."""
    found = recognise(program)
    lines = list(found.lines())
    if found.chain is not None and options.backend is None:
        lines.append("the exact method for storage chains answers, if it can prove its answer")
    return "\n".join([*lines, explain(select(program, options))])
