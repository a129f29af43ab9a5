"""Tools that run the active configuration, plan it, and look at ``results/`` and ``plans/``.

A plan is checked by the checker, which trusts no solver.
"""

import shutil
import tempfile
from datetime import datetime
from pathlib import Path
from typing import Any, Final

import numpy as np

from engiagent.blueprint import Blueprint
from engiagent.control import control
from engiagent.environment.environment import BALANCE, Environment
from engiagent.environment.exceeding import exceeded, unserved
from engiagent.environment.running import SCHEMA, stamps_of, write_record
from engiagent.environment.wear import wear
from engiagent.errors import EngiagentError, InputError
from engiagent.formulations.compile import compile_blueprint
from engiagent.io.jsontext import loads_strict
from engiagent.io.schemawords import list_of, record
from engiagent.readings.read import read
from engiagent.report.artefacts import load_run
from engiagent.run.certify import certify as certified
from engiagent.run.folder import BLUEPRINT, CERTIFICATE, SIMULATED, SIMULATION, SOLUTION, RunFolder
from engiagent.run.inputs import stored_problem
from engiagent.run.keyfigures import key_figures
from engiagent.solvers.result import SolveOptions
from engiagent.solvers.solution import load_arrays
from engiagent.text import Problem
from engiagent.tools import planning
from engiagent.tools.files import write_run
from engiagent.tools.modelling import SECONDS, Posed, plain
from engiagent.tools.places import WORDS, files_below, new_folder
from engiagent.tools.registry import REGISTRY, Held, Json, Outcome, State, declare_part, shape, tool
from engiagent.tools.site.arguments import stated
from engiagent.tools.site.document import Site
from engiagent.tools.site.plants import PLANT, Plant, write_plant
from engiagent.tools.supervision import digest

GROUP: Final = "simulation"
RESULTS: Final = "results"


declare_part("simulation", Held.text("simulation_run", "name", str, str))

_MOST: Final = 2_000
_SUMMARY: Final = (
    "name configuration: text; steps: count; step_seconds: number; cost: object or null; "
    "controllers notes: list of text"
)
FIGURE: Final = shape(
    "name: text; component: text or null; value: number or null; unit: text", more=True
)


def result_of(state: State, name: str | None) -> tuple[str, Path]:
    """Return a result's name and folder: the one named, else the latest of the session."""
    chosen = state.get("simulation") if name is None else name
    known = results(state.root)
    if chosen not in known:
        expected = ", ".join(known) or "none is there yet; call simulation_run"
        raise InputError(f"there is no result {chosen!r}", expected=expected)
    return chosen, state.root / RESULTS / chosen


def _free(word: str, known: list[str]) -> str:
    """Return the first of ``word1``, ``word2`` … that is not known."""
    return next(f"{word}{k}" for k in range(1, len(known) + 2) if f"{word}{k}" not in known)


def results(root: Path) -> list[str]:
    """Return the names of all results, the earliest first."""
    found = [path.parent for path in (root / RESULTS).glob(f"*/{SIMULATION}")]
    shown = [path for path in found if not path.name.startswith(".")]
    return [path.name for path in sorted(shown, key=lambda p: (_summary(p)["made"], p.name))]


def _summary(folder: Path) -> Json:
    """Return what a result says of itself."""
    found: Json = loads_strict((folder / SIMULATION).read_text(encoding="utf-8"), SIMULATION)
    return {"made": "", **found}


@tool(
    "write",
    *stated("simulation_run"),
    returns=shape(f"{_SUMMARY}; energy_imbalance: number; batteries: by name object"),
    needs=("site",),
    outside=True,
    repeatable=False,
    writes=("simulation",),
)
def simulation_run(state: State, given: Json) -> Outcome:
    """Run the active configuration in its selected environment under its controllers.

    The result is a snapshot with a name: what is changed afterwards does not change it.
    """
    site: Site = state.get("site")
    configuration, document = site.named()
    known = results(state.root)
    name = given.get("name") or _free("run", known)
    if name in known:
        expected = f"a name beside {', '.join(known)}"
        raise InputError(f"there is a result {name!r}", expected=expected)
    plant = Plant(document, state.root)
    with new_folder(state.root, f"{RESULTS}/{name}") as folder:
        environment = write_plant(plant, folder)
        data, notes = _run(plant, environment, folder, given.get("seed", 0), state)
        cost, ran = environment.cost(data), environment.blueprint_over(plant.periods)
        notes += map(str, exceeded(ran, environment.folder, data))
        content: Json = {
            **{"name": name, "configuration": configuration, "steps": plant.periods},
            **{"step_seconds": environment.seconds, "cost": cost, BALANCE: environment.imbalance},
            **{"controllers": sorted(_used(plant)), "notes": notes},
            "batteries": wear(environment.built.units, data, {}),
        }
        about = {"schema": SCHEMA, "plant": configuration, **content}
        about |= {"made": datetime.now().isoformat(), "document": digest(document)}
        write_record(folder, data, plain(about), ran)
    files = files_below(state.root, f"{RESULTS}/{name}")
    return Outcome(plain(content), {"simulation": name}, files)


def _used(plant: Plant) -> dict[str, Json]:
    optimal = plant.controllers("optimal")
    kinds = ("thermostat", "schedule", "self_consumption")
    return optimal or {n: e for kind in kinds for n, e in plant.controllers(kind).items()}


def _run(
    plant: Plant, site: Environment, folder: Path, seed: int, state: State
) -> tuple[Any, list[str]]:
    """Return the record of a run under rules, or under plans where a controller is optimal."""

    def on_step(done: int, total: int) -> None:
        state.watch.tell(f"step {done} of {total}")

    optimal = plant.controllers("optimal")
    if not optimal:
        data = site.run(plant.controller(site), plant.periods, seed=seed, on_step=on_step)
        return data, [*unserved(data)]
    hours = max(float(entry.get("horizon", 24.0)) for entry in optimal.values())
    loop = control(
        site.blueprint,
        plant.periods,
        horizon=max(1, min(round(hours / plant.hours), plant.periods)),
        plant=site,
        end="repeat",
        folder=folder,
        on_step=on_step,
    )
    if loop.plant is None or loop.stopped:
        raise InputError("the plans of the optimal controller ended early", found=loop.stopped)
    others = sorted(set(plant.document["controllers"]) - set(optimal))
    notes = [f"plans control the whole site; {', '.join(others)} did nothing"] if others else []
    relaxed = f"{len(loop.relaxed)} of {plant.periods} plans relaxed a limit"
    return loop.plant, [*notes, *loop.notes, *([relaxed] if loop.relaxed else [])]


@tool("read", returns=record({"results": list_of(shape(f"{_SUMMARY}; made: text"))}), outside=True)
def simulation_list_results(state: State, given: Json) -> Outcome:
    """List all results in the session's folder, the earliest first."""
    rows = [_shown(state.root / RESULTS / name, "made") for name in results(state.root)]
    return Outcome({"results": rows})


def _shown(folder: Path, *more: str) -> Json:
    about = _summary(folder)
    return {key: about.get(key) for key in (*shape(_SUMMARY)["required"], *more)}


@tool(
    "read",
    *stated("result"),
    returns=shape(f"{_SUMMARY}; state: text; latest: any"),
    uses=("simulation", "site"),
    outside=True,
)
def simulation_get_status(state: State, given: Json) -> Outcome:
    """Say of a result how it was made, and whether the active configuration is still that one."""
    name, folder = result_of(state, given.get("name"))
    about = _summary(folder)
    site: Site = state.get("site") if state.has("site") else Site()
    now = site.configurations.get(about["configuration"])
    same = now is not None and digest(now) == about["document"]
    shown = {"state": "up to date" if same else "the configuration has changed since"}
    latest = name == state.get("simulation") if state.has("simulation") else False
    return Outcome({**_shown(folder), **shown, "latest": latest})


def ranged(values: Any) -> Json:
    """Return the range of a series."""
    found = {"least": np.min(values), "mean": np.mean(values), "greatest": np.max(values)}
    return {name: float(value) for name, value in found.items()}


_SERIES: Final = shape("unit role: text; values: list of number or null")


@tool(
    "read",
    *stated("result", "simulation_query"),
    returns=shape(
        "name: text; signals: by name object; series?: by name series; times?: list of text",
        {"series": _SERIES},
    ),
    needs=("simulation",),
    outside=True,
    instead="name",
)
def simulation_query(state: State, given: Json) -> Outcome:
    """Return the series of a result with units and times, or which there are with their ranges."""
    name, folder = result_of(state, given.get("name"))
    data = load_arrays(folder / SIMULATED)
    about = {
        str(n): {"unit": data[n].attrs.get("units"), **ranged(data[n].values)}
        for n in data.data_vars
    }
    wanted = given.get("signals", [])
    odd = [n for n in wanted if n not in about]
    if odd:
        raise InputError(f"there is no signal {odd[0]!r}", expected=", ".join(about))
    content: Json = {"name": name, "signals": {n: about[n] for n in wanted or about}}
    if wanted:
        every = given.get("every", 1)
        content["times"] = [*stamps_of(data.coords["time"])[::every]]
        content["series"] = {
            n: {
                "unit": data[n].attrs.get("units", "1"),
                "role": data[n].attrs.get("role", ""),
                "values": data[n].values[::every].tolist(),
            }
            for n in wanted
        }
        size = len(wanted) * len(content["times"])
        if size > _MOST:
            expected = f"at most {_MOST}; fewer signals or 'every'"
            raise InputError(f"{size} values", expected=expected)
    return Outcome(plain(content))


@tool(
    "write",
    *stated("simulation_save"),
    returns=shape("name folder: text; files: list of text"),
    needs=("simulation",),
    outside=True,
    repeatable=False,
    instead="name",
)
def simulation_save(state: State, given: Json) -> Outcome:
    """Save a result into a folder: table, signals, summary, plant file and rules of control."""
    name, source = result_of(state, given.get("name"))
    with new_folder(state.root, given["folder"]) as folder:
        shutil.copytree(source, folder, dirs_exist_ok=True)
    files = files_below(state.root, given["folder"])
    return Outcome({"name": name, "folder": given["folder"], "files": list(files)}, artefacts=files)


@tool(
    "write",
    *stated("simulation_remove"),
    returns=shape("removed: text; left: list of text"),
    outside=True,
    repeatable=False,
    destructive=True,
)
def simulation_remove(state: State, given: Json) -> Outcome:
    """Remove a result with its files."""
    name, folder = result_of(state, given["name"])
    shutil.rmtree(folder)
    return Outcome({"removed": name, "left": results(state.root)})


# -- plans ----------------------------------------------------------------------------------------

PLANS: Final = "plans"
declare_part("plan", Held.text("optimise_schedule", "name", str, str))


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
    group="optimisation",
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
    name = given.get("name") or _free("plan", plans(state.root))
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
    program = compile_blueprint(blueprint, problem.folder)
    schedule, result = planning.solve_watched(program, options, state.watch)
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
    group="optimisation",
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
