"""The way through the house: from a problem file, or a blueprint, to a run folder with a verdict.

The verdict is the certificate's and nobody else's. Whatever ends a run, its folder says so.
"""

from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any, Final

from engiagent.agents.coordinator import ALONE, Guidance
from engiagent.agents.engines.asking import Asking
from engiagent.agents.engines.offline import OfflineEngine
from engiagent.agents.protocol import Budget, Engine
from engiagent.agents.running import Run, RunOutcome
from engiagent.blueprint import Blueprint
from engiagent.errors import EngiagentError
from engiagent.plant import read_plant
from engiagent.run.folder import OnEvent, RunFolder, read_record
from engiagent.run.inputs import (
    PROBLEM_SUFFIXES,
    name_of,
    problem_beside,
    problem_folder_of,
    stored_problem,
)
from engiagent.run.proofs import PLAIN, Proofs
from engiagent.solvers.result import OnProgress, SolveOptions
from engiagent.text import Problem

ENGINES: Final = ("offline", "anthropic")


def run_problem(
    problem_path: Path | str,
    engine: str = "offline",
    out: Path | str | None = None,
    overrides: Mapping[str, str] | None = None,
    options: SolveOptions | None = None,
    *,
    force: bool = False,
    proofs: Proofs = PLAIN,
    asking: Asking | None = None,
    guidance: Guidance = ALONE,
    on_event: OnEvent | None = None,
    on_progress: OnProgress | None = None,
) -> RunOutcome:
    """Take a problem through every stage.

    ``engine``: who writes the blueprint. ``out``: the run's folder; None for a new one below
    ``runs/``. ``overrides``: values that the user gives, by name, as
    ``{"battery.charge_efficiency": "0.95"}``. ``force``: allow ``out`` to hold an earlier run,
    which is replaced. ``asking``: whom the engine ``anthropic`` asks; None for what its cards say.
    ``guidance``: how agents work together, what they may take, and what they remember.

    Returns the outcome, also when a stage fails or Ctrl-C ends the run. Raises EngiagentError when
    the problem cannot be read or the folder cannot be used; there is no run then.
    """
    if engine not in ENGINES:
        known = ", ".join(ENGINES)
        raise EngiagentError(f"the engine {engine!r} is not available; available: {known}")
    asking = _ready(engine, asking)
    problem = Problem.load(problem_path)
    options = options or SolveOptions()
    asked = {
        "problem": str(problem_path),
        "engine": engine,
        "overrides": dict(overrides or {}),
        **_asked(options),
        **proofs.asked(),
        **({} if asking is None else asking.asked()),
        **guidance.asked(),
    }
    folder = RunFolder.create(out, problem.id, asked, force=force, on_event=on_event)
    run = Run(folder, problem, options, on_progress, proofs, guidance)
    return run.guarded(
        lambda: run.from_problem(dict(overrides or {}), _engine(asking, run, resumed=False))
    )


def resume_run(
    path: Path | str,
    *,
    asking: Asking | None = None,
    guidance: Guidance | None = None,
    on_event: OnEvent | None = None,
    on_progress: OnProgress | None = None,
) -> RunOutcome:
    """Go on with a run where it was cut: what was answered is not asked again.

    ``asking`` and ``guidance`` take the place of what the run was asked with. A folder that is no
    run of a problem, or a run that is still under way, is an ``EngiagentError``.
    """
    folder_path = Path(path)
    asked = read_record(folder_path)["asked"]
    if "problem" not in asked:
        raise EngiagentError(f"{path}: the run was of a blueprint; solve that again")
    engine = str(asked.get("engine"))
    asking = _ready(engine, asking or Asking.of_record(asked))
    guidance = guidance or Guidance.of_record(asked)
    limits = {name: asked[name] for name in _OPTIONS if asked.get(name) is not None}
    options = SolveOptions(**limits)
    proofs = Proofs(bool(asked.get("exact")), asked.get("second_solver"))
    folder = RunFolder.reopen(folder_path, on_event)
    run = Run(folder, stored_problem(folder_path), options, on_progress, proofs, guidance)
    overrides = dict(asked.get("overrides") or {})
    return run.guarded(lambda: run.from_problem(overrides, _engine(asking, run, resumed=True)))


def _ready(engine: str, asking: Asking | None) -> Asking | None:
    """Return whom a run asks, after making sure that somebody is there; None offline."""
    if engine == "offline":
        return None
    asking = asking or Asking()
    asking.ready()
    return asking


def _engine(asking: Asking | None, run: Run, *, resumed: bool) -> Engine:
    if asking is None:
        return OfflineEngine()
    budget = run.guidance.budget or Budget()
    return asking.engine(run.folder.path, budget, run.problem, resumed=resumed)


def solve_blueprint(
    path: Path | str, out: Path | str | None = None, options: SolveOptions | None = None, **how: Any
) -> RunOutcome:
    """Take a blueprint through the stages after analysis; ``how`` as :func:`solve_given` has it.

    The problem that the blueprint belongs to is found beside it: in its own folder, in the folder
    above ``expert/``, or in the run that it came from. A plant file, or a text with a plant block,
    is a problem and its blueprint at once.
    """
    is_text = Path(path).suffix.lower() in PROBLEM_SUFFIXES and not Blueprint.is_in(path)
    given = is_text or Path(path).is_dir()
    if given:
        stated = Problem.load(path)
        problem: Problem | None = stated
        reading = read_plant(stated)
        if reading is None or reading.blueprint is None:
            raise EngiagentError(f"{path}: there is no plant block in this text; 'run' reads texts")
        blueprint = reading.blueprint
    else:
        blueprint = Blueprint.load(path)
        problem = problem_beside(Path(path))
    name = problem.id if problem is not None else name_of(Path(path))
    data = problem.folder if problem is not None and given else problem_folder_of(Path(path))
    return solve_given(blueprint, data, problem, name, out, options, source=str(path), **how)


def solve_given(
    blueprint: Blueprint,
    data: Path,
    problem: Problem | None,
    name: str,
    out: Path | str | None = None,
    options: SolveOptions | None = None,
    *,
    source: str = "",
    force: bool = False,
    proofs: Proofs = PLAIN,
    on_event: OnEvent | None = None,
    on_progress: OnProgress | None = None,
) -> RunOutcome:
    """Take a blueprint whose data lie in ``data`` through the same stages, as from ``source``."""
    options = options or SolveOptions()
    asked = {"blueprint": source or name, **_asked(options), **proofs.asked()}
    folder = RunFolder.create(out, name, asked, force=force, on_event=on_event)
    run = Run(folder, problem, options, on_progress, proofs)
    return run.guarded(lambda: run.from_blueprint_file(blueprint, data))


_OPTIONS: Final = tuple(item.name for item in fields(SolveOptions) if item.name != "start")


def _asked(options: SolveOptions) -> dict[str, Any]:
    return {name: getattr(options, name) for name in _OPTIONS}
