"""Tools that plan the active configuration, and have the plan checked by who trusts no solver."""

import tempfile
from pathlib import Path
from typing import Any, Final

from engiagent.blueprint import Blueprint
from engiagent.errors import EngiagentError, InputError
from engiagent.formulations.compile import compile_blueprint
from engiagent.readings.read import read
from engiagent.report.artefacts import load_run
from engiagent.run.certify import certify as certified
from engiagent.run.folder import BLUEPRINT, CERTIFICATE, SOLUTION, RunFolder
from engiagent.run.inputs import stored_problem
from engiagent.run.keyfigures import key_figures
from engiagent.run.stages import progress_text, solve_program
from engiagent.solvers.result import Progress, SolveOptions
from engiagent.text import Problem
from engiagent.tools import planning
from engiagent.tools.files import write_run
from engiagent.tools.modelling import SECONDS, Posed, plain
from engiagent.tools.places import WORDS, files_below, new_folder
from engiagent.tools.registry import REGISTRY, Held, Json, Outcome, State, declare_part, shape, tool
from engiagent.tools.site.analysing import FIGURE
from engiagent.tools.site.arguments import stated
from engiagent.tools.site.document import Site
from engiagent.tools.site.plants import PLANT, Plant
from engiagent.tools.site.simulating import load_name, save_name

GROUP: Final = "optimisation"
PLANS: Final = "plans"
declare_part("plan", Held("optimise_schedule", (), save_name, load_name))


@tool(
    "write",
    *stated("optimise_schedule"),
    SECONDS,
    returns=shape(
        "name configuration verdict status: text; reason: text or null; objective: objective; "
        "figures: list of figure; series: list of text",
        {**WORDS, "figure": FIGURE},
    ),
    needs=("site",),
    outside=True,
    repeatable=False,
    writes=("plan",),
)
def optimise_schedule(state: State, given: Json) -> Outcome:
    """Find the schedule of least cost of the active configuration, within its limits of comfort.

    It plans the selected environment as a whole, knowing all of it, and is checked: the verdict is
    the checker's. Controllers do nothing in a plan.
    """
    site: Site = state.get("site")
    configuration, document = site.named()
    known = plans(state.root)
    free = (f"plan{k}" for k in range(1, len(known) + 2) if f"plan{k}" not in known)
    name = given.get("name") or next(free)
    with tempfile.TemporaryDirectory() as made, new_folder(state.root, f"{PLANS}/{name}") as folder:
        Plant(document, state.root).write(Path(made))
        problem = Problem.load(Path(made) / PLANT)
        content = _planned(problem, folder, configuration, given, state)
    content = {"name": name, "configuration": configuration, **content}
    return Outcome(plain(content), {"plan": name}, files_below(state.root, f"{PLANS}/{name}"))


def _planned(problem: Problem, out: Path, name: str, given: Json, state: State) -> Json:
    """Write a run folder of the best plan; return what a caller is told of it."""
    blueprint = read(problem).blueprint
    assert blueprint is not None  # it has a plant file
    options = SolveOptions(time_limit=given.get("time_limit", 60.0))

    def listen(seen: Progress) -> None:
        state.watch.tell(progress_text(seen))

    program = compile_blueprint(blueprint, problem.folder)
    listener = None if state.watch.said is None else listen
    schedule, result = solve_program(program, options, listener, cancel=state.watch.cancel)
    if result.x is None:
        raise EngiagentError(f"there is no plan: {result.status}, {result.reason}")
    certificate = certified(problem, schedule, blueprint, folder=problem.folder, name=name)
    run, posed = RunFolder.create(out, name, {"tools": True}), Posed(problem, problem.folder, name)
    write_run(run, posed, blueprint, schedule, certificate)
    found = load_run(out)
    assert found.elaboration is not None  # it was just written
    return {
        **{"verdict": certificate.verdict, "status": result.status, "reason": result.reason},
        "objective": certificate.objective,
        "figures": [figure.to_dict() for figure in key_figures(found.elaboration, schedule).all],
        "series": sorted(str(n) for n in schedule.data_vars),
    }


def plans(root: Path) -> list[str]:
    """Return the names of all plans in a session's folder."""
    return sorted(path.parent.name for path in (root / PLANS).glob(f"[!.]*/{CERTIFICATE}"))


@tool(
    "read",
    *stated("certify"),
    returns=REGISTRY["check"].returns,
    needs=("plan",),
    outside=True,
    instead="name",
)
def certify(state: State, given: Json) -> Outcome:
    """Have a plan checked again, from its files alone, by the checker: its certificate."""
    name = given["name"] if "name" in given else state.get("plan")
    known = plans(state.root)
    if name not in known:
        expected = ", ".join(known) or "none is there yet; call optimise_schedule"
        raise InputError(f"there is no plan {name!r}", expected=expected)
    folder = state.root / PLANS / name
    problem = stored_problem(folder)
    assert problem is not None  # plans keep theirs
    blueprint: Any = Blueprint.load(folder / BLUEPRINT)
    found = certified(problem, folder / SOLUTION, blueprint, folder=problem.folder, name=problem.id)
    return Outcome(planning.check_content(found.to_dict()))
