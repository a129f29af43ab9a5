"""The way through the house: from a problem file, or a blueprint, to a run folder with a verdict.

The verdict is the certificate's and nobody else's. Whatever ends a run, its folder says so.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from engiagent.agents.engines.offline import OfflineEngine
from engiagent.blueprint import Blueprint
from engiagent.errors import EngiagentError
from engiagent.proofs import PLAIN, Proofs
from engiagent.runfolder import OnEvent, RunFolder
from engiagent.runinputs import name_of, problem_beside, problem_folder_of
from engiagent.running import Run, RunOutcome
from engiagent.solvers.result import OnProgress, SolveOptions

ENGINES: Final = ("offline",)


def run_problem(
    problem_path: Path | str,
    engine: str = "offline",
    out: Path | str | None = None,
    overrides: Mapping[str, str] | None = None,
    options: SolveOptions | None = None,
    *,
    force: bool = False,
    proofs: Proofs = PLAIN,
    on_event: OnEvent | None = None,
    on_progress: OnProgress | None = None,
) -> RunOutcome:
    """Take a problem through every stage.

    Parameters
    ----------
    problem_path
        A problem file, or the folder of one.
    engine
        Who writes the blueprint.
    out
        The run's folder; None for a new one below ``runs/``.
    overrides
        Values that the user gives, by name, as ``{"battery.charge_efficiency": "0.95"}``.
    options
        Limits and settings of the solver.
    force
        Allow ``out`` to hold an earlier run, which is replaced.
    proofs
        What is asked of the certificate beyond the plain check.
    on_event, on_progress
        Called at the start and end of stages, and while the solver runs.

    Returns
    -------
    The outcome, also when a stage fails or Ctrl-C ends the run.

    Raises
    ------
    EngiagentError
        When the problem cannot be read or the folder cannot be used; there is no run then.
    """
    from engiagent.problems import Problem

    if engine not in ENGINES:
        raise EngiagentError(
            f"the engine {engine!r} is not available; available: {', '.join(ENGINES)}"
        )
    problem = Problem.load(problem_path)
    options = options or SolveOptions()
    asked = {
        "problem": str(problem_path),
        "engine": engine,
        "overrides": dict(overrides or {}),
        **_asked(options),
        **proofs.asked(),
    }
    folder = RunFolder.create(out, problem.id, asked, force=force, on_event=on_event)
    run = Run(folder, problem, options, on_progress, proofs)
    return run.guarded(lambda: run.from_problem(dict(overrides or {}), OfflineEngine()))


def solve_blueprint(
    path: Path | str,
    out: Path | str | None = None,
    options: SolveOptions | None = None,
    *,
    force: bool = False,
    proofs: Proofs = PLAIN,
    on_event: OnEvent | None = None,
    on_progress: OnProgress | None = None,
) -> RunOutcome:
    """Take a blueprint through the stages after analysis; see :func:`run_problem`.

    The problem that the blueprint belongs to is found beside it: in its own folder, in the folder
    above ``expert/``, or in the run that it came from.
    """
    blueprint = Blueprint.load(path)
    source = problem_folder_of(Path(path))
    problem = problem_beside(Path(path))
    options = options or SolveOptions()
    name = problem.id if problem is not None else name_of(Path(path))
    asked = {"blueprint": str(path), **_asked(options), **proofs.asked()}
    folder = RunFolder.create(out, name, asked, force=force, on_event=on_event)
    run = Run(folder, problem, options, on_progress, proofs)
    return run.guarded(lambda: run.from_blueprint_file(blueprint, source))


def _asked(options: SolveOptions) -> dict[str, Any]:
    names = ("time_limit", "memory_limit_mb", "gap", "threads", "seed", "log", "backend", "speed")
    return {name: getattr(options, name) for name in names}
