"""Tools that run the active configuration, and look at what runs left in ``results/``."""

import shutil
from datetime import datetime
from pathlib import Path
from typing import Any, Final

import numpy as np

from engiagent.control import control
from engiagent.environment.environment import BALANCE, Environment
from engiagent.environment.running import SCHEMA, write_record
from engiagent.environment.wear import wear
from engiagent.errors import InputError
from engiagent.io.files import write_atomic
from engiagent.io.jsontext import loads_strict
from engiagent.io.schemawords import (
    COUNT,
    NUMBER,
    OBJECT,
    TEXT,
    TEXTS,
    by_name,
    list_of,
    maybe,
    record,
)
from engiagent.run.folder import SIMULATED, SIMULATION
from engiagent.solvers.solution import load_arrays
from engiagent.tools.graph import digest
from engiagent.tools.modelling import plain
from engiagent.tools.places import files_below, new_folder
from engiagent.tools.registry import Held, Json, Outcome, State, declare_part, tool
from engiagent.tools.site.arguments import stated
from engiagent.tools.site.document import Site
from engiagent.tools.site.plants import Plant, write_plant

GROUP: Final = "simulation"
RESULTS: Final = "results"


def save_name(name: str, folder: Path) -> None:
    """Write the name of a folder that is a part of a session."""
    write_atomic(folder / "name", name)


def load_name(folder: Path) -> str:
    """Read what :func:`save_name` wrote."""
    return (folder / "name").read_text("utf-8")


declare_part("simulation", Held("simulation_run", (), save_name, load_name))

_MOST: Final = 2_000
_SUMMARY: Final = {
    **{"name": TEXT, "configuration": TEXT, "steps": COUNT, "step_seconds": NUMBER},
    **{"cost": maybe(OBJECT), "controllers": TEXTS, "notes": TEXTS},
}


def result_of(state: State, name: str | None) -> tuple[str, Path]:
    """Return a result's name and folder: the one named, else the latest of the session.

    Raises
    ------
    InputError
        When there is none of that name, with those there are.
    """
    chosen = state.get("simulation") if name is None else name
    known = results(state.root)
    if chosen not in known:
        expected = ", ".join(known) or "none is there yet; call simulation_run"
        raise InputError(f"there is no result {chosen!r}", expected=expected)
    return chosen, state.root / RESULTS / chosen


def results(root: Path) -> list[str]:
    """Return the names of all results, the earliest first."""
    found = [path.parent for path in (root / RESULTS).glob(f"*/{SIMULATION}")]
    shown = [path for path in found if not path.name.startswith(".")]
    return [path.name for path in sorted(shown, key=lambda p: (summary(p)["made"], p.name))]


def summary(folder: Path) -> Json:
    """Return what a result says of itself."""
    found: Json = loads_strict((folder / SIMULATION).read_text(encoding="utf-8"), SIMULATION)
    return {"made": "", **found}


@tool(
    "write",
    *stated("simulation_run"),
    returns=record({**_SUMMARY, "energy_imbalance": NUMBER, "batteries": by_name(OBJECT)}),
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
    free = (f"run{k}" for k in range(1, len(known) + 2) if f"run{k}" not in known)
    name = given.get("name") or next(free)
    if name in known:
        raise InputError(
            f"there is a result {name!r}", expected=f"a name beside {', '.join(known)}"
        )
    plant = Plant(document, state.root)
    with new_folder(state.root, f"{RESULTS}/{name}") as folder:
        environment = write_plant(plant, folder)
        data, notes = _run(plant, environment, folder, given.get("seed", 0), state)
        cost = environment.cost(data)
        content: Json = {
            **{"name": name, "configuration": configuration, "steps": plant.periods},
            **{"step_seconds": environment.seconds, "cost": cost, BALANCE: environment.imbalance},
            **{"controllers": sorted(_used(plant)), "notes": notes},
            "batteries": wear(environment.built.units, data, {}),
        }
        about = {"schema": SCHEMA, "plant": configuration, **content}
        about |= {"made": datetime.now().isoformat(), "document": digest(document)}
        write_record(folder, data, plain(about), environment.blueprint_over(plant.periods))
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
        return site.run(plant.controller(site), plant.periods, seed=seed, on_step=on_step), []
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


@tool(
    "read", returns=record({"results": list_of(record({**_SUMMARY, "made": TEXT}))}), outside=True
)
def simulation_list_results(state: State, given: Json) -> Outcome:
    """List all results in the session's folder, the earliest first."""
    rows = [_shown(state.root / RESULTS / name, "made") for name in results(state.root)]
    return Outcome({"results": rows})


def _shown(folder: Path, *more: str) -> Json:
    about = summary(folder)
    return {key: about.get(key) for key in (*_SUMMARY, *more)}


@tool(
    "read",
    *stated("result"),
    returns=record({**_SUMMARY, "state": TEXT, "latest": {}}),
    uses=("simulation", "site"),
    outside=True,
)
def simulation_get_status(state: State, given: Json) -> Outcome:
    """Say of a result how it was made, and whether the active configuration is still that one."""
    name, folder = result_of(state, given.get("name"))
    about = summary(folder)
    site: Site = state.get("site") if state.has("site") else Site()
    now = site.configurations.get(about["configuration"])
    same = now is not None and digest(now) == about["document"]
    shown = {"state": "up to date" if same else "the configuration has changed since"}
    latest = name == state.get("simulation") if state.has("simulation") else False
    return Outcome({**_shown(folder), **shown, "latest": latest})


_SERIES: Final = record({"unit": TEXT, "role": TEXT, "values": list_of(maybe(NUMBER))})


@tool(
    "read",
    *stated("result", "simulation_query"),
    returns=record(
        {"name": TEXT, "signals": by_name(OBJECT)}, {"series": by_name(_SERIES), "times": TEXTS}
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
        str(n): {
            "unit": data[n].attrs.get("units"),
            "least": float(np.min(data[n].values)),
            "mean": float(np.mean(data[n].values)),
            "greatest": float(np.max(data[n].values)),
        }
        for n in data.data_vars
    }
    wanted = given.get("signals", [])
    odd = [n for n in wanted if n not in about]
    if odd:
        raise InputError(f"there is no signal {odd[0]!r}", expected=", ".join(about))
    content: Json = {"name": name, "signals": {n: about[n] for n in wanted or about}}
    if wanted:
        every = given.get("every", 1)
        content["times"] = [str(t)[:19] for t in data.coords["time"].values[::every]]
        content["series"] = {
            n: {
                "unit": data[n].attrs.get("units", "1"),
                "role": data[n].attrs.get("role", ""),
                "values": data[n].values[::every].tolist(),
            }
            for n in wanted
        }
        size = sum(len(s["values"]) for s in content["series"].values())
        if size > _MOST:
            raise InputError(
                f"{size} values", expected=f"at most {_MOST}; fewer signals or 'every'"
            )
    return Outcome(plain(content))


@tool(
    "write",
    *stated("simulation_save"),
    returns=record({"name": TEXT, "folder": TEXT, "files": TEXTS}),
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
    returns=record({"removed": TEXT, "left": TEXTS}),
    outside=True,
    repeatable=False,
    destructive=True,
)
def simulation_remove(state: State, given: Json) -> Outcome:
    """Remove a result with its files."""
    name, folder = result_of(state, given["name"])
    shutil.rmtree(folder)
    return Outcome({"removed": name, "left": results(state.root)})
