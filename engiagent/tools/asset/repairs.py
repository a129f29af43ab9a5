"""Tools from a fault back to the plan: what it costs, and when it is best repaired.

A copy of the plant file with another value of one slot, or with a window without one component, is
read, solved and checked like any other; each such file can be run by itself.
"""

import tempfile
from functools import cached_property
from pathlib import Path
from typing import Any, Final

import numpy as np

from engiagent.blueprint.elaborate import Elaboration
from engiagent.blueprint.timeaxis import TimeAxis
from engiagent.errors import InputError
from engiagent.formulations.compile import compile_blueprint
from engiagent.io.files import open_inside
from engiagent.io.plainyaml import dump_yaml, loads_yaml
from engiagent.plant.values import Quantity, pieces
from engiagent.readings.read import read
from engiagent.run.certify import certify
from engiagent.run.inputs import data_files
from engiagent.run.stages import solve_program
from engiagent.solvers.result import SolveOptions
from engiagent.text import Problem
from engiagent.tools.asset.history import HOUR, asset_tool, seconds_of
from engiagent.tools.modelling import plain
from engiagent.tools.places import inside
from engiagent.tools.registry import Json, Outcome, State
from engiagent.units.words import Conventions

_MOST_WINDOWS: Final = 200


class Plant:
    """A plant file of which other versions are planned."""

    def __init__(self, root: Path, file: str, seconds: float) -> None:
        path, wrong = inside(root, file), "it is no plant file"
        self.file, self.options = file, SolveOptions(time_limit=seconds)
        try:
            self.document = loads_yaml(path.read_text("utf-8"), file)
        except (UnicodeDecodeError, OSError):
            raise InputError(wrong, file, expected="YAML") from None
        if not isinstance(self.document, dict) or "components" not in self.document:
            raise InputError(wrong, file, expected="components and a goal")
        self.problem = Problem.load(path)
        if (blueprint := read(self.problem).blueprint) is None:
            raise InputError("it states no plant", file)
        self.blueprint = blueprint
        for name in {"weight", "representative"} & set(self.document.get("horizon") or {}):
            said = f"its costs are those of a year, by the entry {name!r} of the horizon"
            raise InputError(said, file, expected=f"a horizon without {name}")
        if (goal := self.document.get("goal")) != {"minimize": "cost"}:
            found, expected = f"goal {goal}", "minimize: cost"
            raise InputError("costs are compared", file, found=found, expected=expected)

    def derated(self, name: str, factor: float, until: int | None = None) -> Json:
        """Return the document with a slot's value multiplied by a factor, or until a period."""
        component, _, slot = name.partition(".")
        entry = self.document["components"].get(component)
        if not isinstance(entry, dict):
            expected = ", ".join(self.document["components"])
            raise InputError(f"there is no component {component!r}", self.file, expected=expected)
        if not isinstance(entry.get(slot), str | int | float) or isinstance(entry[slot], bool):
            stated = ", ".join(name for name in entry if name not in ("model", "bus"))
            said = f"{component} states no single value of {slot!r}"
            raise InputError(said, self.file, expected=f"one of {stated}")
        value: Any = entry[slot] if factor == 1 else f"({entry[slot]}) * {factor!r}"
        if until is not None and factor != 1:
            match pieces(str(entry[slot]), Conventions()):
                case [Quantity(number=number, unit=unit)]:
                    parts = np.where(np.arange(len(self.axis.edges) - 1) < until, factor, 1.0)
                    value = [f"{v!r} {unit or 1}" for v in (number * parts).tolist()]
                case _:
                    said, found = f"{name} is not one quantity", str(entry[slot])
                    raise InputError(said, self.file, found=found, expected="as 5 or 400 kW")
        components = {**self.document["components"], component: {**entry, slot: value}}
        return {**self.document, "components": components}

    def planned(self, document: Json) -> Json:
        """Return status, verdict and cost of the best plan of a document."""
        with tempfile.TemporaryDirectory() as made:
            folder = Path(made)
            for name in {*data_files(self.blueprint), *self.problem.sha256}:
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                (folder / name).write_bytes(open_inside(self.problem.folder, name))
            (folder / "plant.yaml").write_text(dump_yaml(document), encoding="utf-8")
            problem = Problem.load(folder / "plant.yaml")
            blueprint = read(problem).blueprint
            assert blueprint is not None  # the file it was made from has one
            program = compile_blueprint(blueprint, folder)
            schedule, result = solve_program(program, self.options)
            if result.x is None:
                found_none = {"verdict": "no plan", "reason": result.reason, "cost": None}
                return {"status": result.status, **found_none, "unit": None}
            found = certify(problem, schedule, blueprint, folder=folder, name=self.file)
        cost = program.objective_at(result.x)
        about: Json = {"status": result.status, "verdict": found.verdict, "reason": None}
        return {**about, "cost": cost, "unit": found.objective["unit"] if found.objective else None}

    @cached_property
    def axis(self) -> TimeAxis:
        """The periods of the horizon."""
        found = Elaboration(self.blueprint.core, self.problem.folder).index_set("T").axis
        assert found is not None  # a plant has a horizon of time
        return found


@asset_tool(
    "plan repair seconds",
    "plant slot: text; currency: text or null; sound derated at_least at_most: object; "
    "horizon_days: number; "
    "loss_by_day loss_by_day_least loss_by_day_most repair_cost: number or null; "
    "pays_back_days pays_back_days_least pays_back_days_most: number or null; notes: list of text",
)
def asset_derate(state: State, given: Json) -> Outcome:
    """Find what a degraded component costs: the plan with a slot multiplied by a factor, checked.

    The plant is planned sound and with the factor and both ends of its interval; each plan has a
    verdict of the checker. Against a repair's cost it says after how many such days it pays back.
    """
    plant = Plant(state.root, given["plant"], given.get("time_limit", 60.0))
    factor = given["factor"]
    ends = (given.get("least", factor), given.get("most", factor))
    if not ends[0] <= factor <= ends[1]:
        found = f"{ends[0]:g} to {ends[1]:g}"
        raise InputError(f"the factor {factor:g} is not in its interval", found=found)
    cases: dict[str, Json] = {}
    names = ("sound", "derated", "at_least", "at_most")
    for name, own in zip(names, (1.0, factor, *ends), strict=True):
        state.watch.tell(f"planning {name}")
        twin = next((c for c in cases.values() if c["factor"] == own), None)
        cases[name] = twin or {"factor": own, **plant.planned(plant.derated(given["slot"], own))}
    base, repair = cases["sound"]["cost"], given.get("repair_cost")
    days = float(np.ptp(plant.axis.edges)) / HOUR / 24
    costs = [cases[name]["cost"] for name in names[1:]]
    losses = [None if None in (base, cost) else (cost - base) / days for cost in costs]
    notes = ["a day costs what the mean day of the horizon does; seasons beyond it are not in it"]
    if None in losses:
        notes.append("without a plan the component is needed as it was: no price tells that")
    ordered = sorted(loss for loss in losses[1:] if loss is not None)
    low, high = ordered if len(ordered) == 2 else (None, None)

    def back(loss: float | None) -> float | None:
        return None if repair is None or loss is None or loss <= 0 else repair / loss

    content: Json = {
        **{"plant": given["plant"], "slot": given["slot"], "currency": cases["sound"]["unit"]},
        **{**cases, "horizon_days": days, "loss_by_day": losses[0], "loss_by_day_least": low},
        **{"loss_by_day_most": high, "repair_cost": repair, "pays_back_days": back(losses[0])},
        **{"pays_back_days_least": back(high), "pays_back_days_most": back(low), "notes": notes},
    }
    return Outcome(plain(content))


@asset_tool(
    "plant windows repair seconds",
    "plant: text; currency best: text or null; saves: number or null; without_work: object; "
    "windows: list of object; notes: list of text",
)
def asset_maintenance_window(state: State, given: Json) -> Outcome:
    """Choose when a repair is made: for each admissible start the plan with the component off.

    With slot and factor the component is worse until the work is done and as stated after it. All
    windows are planned and checked, so that the best one is the best of them.
    """
    plant = Plant(state.root, given["plant"], given.get("time_limit", 60.0))
    slot, factor = given.get("slot"), given.get("factor", 1.0)
    if (factor != 1) > (slot is not None):
        raise InputError("a factor is of a slot", found="no slot", expected="as chiller.rated_cop")

    def worse(until: int | None = None) -> Json:
        return plant.derated(slot, factor, until) if slot else plant.document

    state.watch.tell("planning without work")
    base = plant.planned(worse())
    windows: list[Json] = []
    for first, last in _windows(plant, given):
        start = plant.axis.labels[first][:16]
        state.watch.tell(f"planning work from {start}")
        where = f"pos(t) >= {first} and pos(t) < {last}"
        work = {"for": "t in T", "where": where, "must": f"{given['quantity']}[t] <= 0 kW"}
        further = {**(plant.document.get("requirements") or {}), "maintenance_work": work}
        case = plant.planned({**worse(first), "requirements": further})
        costs = (case["cost"], base["cost"])
        extra = None if None in costs else costs[0] - costs[1]
        windows.append({"start": start, "periods": last - first, "extra_cost": extra, **case})
    able = [w for w in windows if w["cost"] is not None]
    best = min(able, key=lambda w: w["cost"]) if able else {"start": None, "extra_cost": None}
    extra, notes = best["extra_cost"], ["extra_cost is against the plan in which no work is done"]
    if len(windows) < len(given.get("starts", ())):
        notes.append("starts are left out whose work does not lie within horizon and limits")
    if not able:
        notes.append("no start leaves a plan: the plant cannot do without the component so long")
    content = {"plant": given["plant"], "currency": base["unit"], "best": best["start"]}
    content["saves"] = None if extra is None else -extra - given.get("repair_cost", 0.0)
    return Outcome(plain({**content, "without_work": base, "windows": windows, "notes": notes}))


def _windows(plant: Plant, given: Json) -> list[tuple[int, int]]:
    """Return the admissible windows, by the periods that they begin with and end before."""
    edges, clock = plant.axis.edges, plant.axis.local
    firsts = np.arange(len(edges) - 1)
    if "starts" in given:
        asked = [seconds_of(start) for start in given["starts"]]
        firsts = np.array([int(np.argmin(np.abs(clock[:-1] - seconds))) for seconds in asked])
        for start in (given["starts"][k] for k in np.flatnonzero(clock[firsts] != asked)):
            expected = "the stamp of a period within the horizon, by the clock of the plant"
            raise InputError(f"no period starts at {start}", plant.file, expected=expected)
    begin = seconds_of(given["earliest"]) if "earliest" in given else -np.inf
    end = seconds_of(given["latest"]) if "latest" in given else np.inf
    lasts = np.searchsorted(edges, edges[firsts] + given["duration"] * HOUR - 1e-6)
    within = [
        (first, last)
        for first, last in zip(firsts.tolist(), lasts.tolist(), strict=True)
        if last < len(edges) and clock[first] >= begin and clock[last] <= end
    ]
    if not 1 <= len(within) <= _MOST_WINDOWS:
        said, expected = f"{len(within)} windows lie within the horizon", f"1 to {_MOST_WINDOWS}"
        raise InputError(said, plant.file, expected=f"{expected}; state starts, earliest or latest")
    return within
