"""The verbs of a problem that need more than its text; its methods say what they do."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

from engiagent.agents.analyzer import Analyzer
from engiagent.agents.budgets import Budget
from engiagent.agents.engines.asking import Asking
from engiagent.agents.engines.offline import OfflineEngine
from engiagent.agents.protocol import Board, Engine
from engiagent.agents.runs import ENGINES, run_problem
from engiagent.blueprint import Blueprint
from engiagent.errors import EngiagentError, InputError
from engiagent.explain.audit import audit_problem
from engiagent.notebook.home import Home, solve_options
from engiagent.notebook.progress import Shown
from engiagent.notebook.run import Run, run_in
from engiagent.run.certify import certify
from engiagent.run.folder import is_run_folder
from engiagent.run.inputs import EXPERT
from engiagent.solvers.result import SolveOptions
from engiagent.text import Problem
from engiagent.verify.certificate import Certificate

__all__ = ["analyse", "audit_problem", "check", "run"]


def analyse(
    problem: Problem, engine: str, values: Mapping[str, str] | None, asking: Asking | None
) -> Blueprint:
    """Return the blueprint of a problem."""
    if engine == "expert":
        return _expert(problem, values)
    board = Board(
        problem=problem,
        data=problem.folder,
        name=problem.id,
        options=SolveOptions(),
        overrides=dict(values or {}),
    )
    found = Analyzer(_engine(problem, engine, asking)).run(board).changes
    missing, unclear = found.get("missing", ()), found.get("not_understood", ())
    blueprint: Blueprint | None = found.get("blueprint")
    if blueprint is None:
        reasons = "; ".join([*(f"missing: {item}" for item in missing), *unclear])
        raise EngiagentError(f"{problem.id} could not be modelled: {reasons or 'no answer'}")
    notes = tuple(found.get("notes", ()))
    home = Home(problem.folder, problem, problem.id, tuple(missing), tuple(unclear), notes)
    return blueprint.at_home(home)


def check(
    problem: Problem, schedule: Any, mapping: Mapping[str, str] | None, *, exact: bool
) -> Certificate:
    """Have an external schedule checked."""
    given: dict[str, Any] = {"folder": problem.folder, "name": problem.id}
    return certify(problem, schedule, None, mapping=mapping, exact=exact, **given)


def run(
    problem: Problem,
    out: str | Path | None,
    engine: str,
    values: Mapping[str, str] | None,
    asking: Asking | None,
    options: Mapping[str, Any],
    *,
    force: bool,
    progress: bool,
) -> Run:
    """Take a problem through every stage, or open the run of it that the folder holds."""
    stored = None if force else run_in(out, problem)
    force = force or (out is not None and is_run_folder(Path(out)))
    if stored is not None:
        return stored.resume(asking=asking, progress=progress) if stored.resumable else stored
    given = solve_options(options)
    with Shown(problem.id) as shown:
        seen = shown.observers if progress else {}
        outcome = run_problem(
            problem.path, engine, out, values, given, force=force, asking=asking, **seen
        )
    return Run.of(outcome)


def _engine(problem: Problem, engine: str, asking: Asking | None) -> Engine:
    if engine == "offline":
        return OfflineEngine()
    if engine not in ENGINES:
        raise InputError(
            "there is no such engine", found=engine, expected=", ".join((*ENGINES, "expert"))
        )
    asking = asking or Asking()
    asking.ready()
    return asking.engine(Path(mkdtemp(prefix="exchanges-")), Budget(), problem)


def _expert(problem: Problem, values: Mapping[str, str] | None) -> Blueprint:
    if values:
        raise InputError("the experts' blueprint takes no values", expected="Blueprint.set")
    path = problem.folder / EXPERT / "blueprint.json"
    if not path.is_file():
        raise InputError("there is no experts' blueprint beside the problem", str(problem.folder))
    blueprint = Blueprint.load(path)
    return blueprint.at_home(replace(blueprint.home, problem=problem, name=problem.id))
