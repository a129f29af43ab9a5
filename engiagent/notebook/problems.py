"""The verbs of a problem that need more than its text; its methods say what they do."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from engiagent.agents.engines.asking import Asking
from engiagent.agents.runs import run_problem
from engiagent.blueprint import Blueprint
from engiagent.errors import EngiagentError, InputError
from engiagent.explain.audit import audit_problem
from engiagent.notebook.home import Home, solve_options
from engiagent.notebook.progress import Shown
from engiagent.notebook.run import Run, run_in
from engiagent.readings.read import read
from engiagent.run.certify import certify
from engiagent.run.folder import is_run_folder
from engiagent.run.inputs import EXPERT
from engiagent.text import Problem
from engiagent.verify.certificate import Certificate

__all__ = ["analyse", "audit_problem", "check", "run"]


def analyse(problem: Problem, engine: str, values: Mapping[str, str] | None) -> Blueprint:
    """Return the blueprint of a problem: its plant block or stored reading, or the experts'."""
    if engine == "expert":
        if values:
            raise InputError("the experts' blueprint takes no values", expected="Blueprint.set")
        path = problem.folder / EXPERT / "blueprint.json"
        if not path.is_file():
            said = "there is no experts' blueprint beside the problem"
            raise InputError(said, str(problem.folder))
        blueprint = Blueprint.load(path)
        return blueprint.at_home(replace(blueprint.home, problem=problem, name=problem.id))
    if engine != "offline":
        expected = "offline, expert; Problem.run asks a language model"
        raise InputError("there is no such engine", found=engine, expected=expected)
    found = read(problem, values)
    if found.blueprint is None:
        reasons = "; ".join([*(f"missing: {item}" for item in found.lacking), *found.unclear])
        raise EngiagentError(f"{problem.id} could not be modelled: {reasons or 'no answer'}")
    home = Home(problem.folder, problem, problem.id, found.lacking, found.unclear)
    return found.blueprint.at_home(home)


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
