"""The certificate of a closed loop, made from its folder alone.

Its levels ask of a loop what they ask of a plan: *algebra* whether each plan that was applied keeps
its requirements and works when executed, *physics* what the plant made of them: how far it was
from each prediction, and which limits it broke that the plan kept, *optimality* what shows that
each plan is the best. *data* are those of all periods that were applied.
"""

import csv
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

from engiagent.blueprint.document import Blueprint
from engiagent.errors import InputError
from engiagent.io.files import open_inside, sha256_bytes
from engiagent.io.jsontext import loads_strict
from engiagent.run.certify import certify
from engiagent.run.folder import BLUEPRINT, LOOP, SOLUTION
from engiagent.solvers.arrays import SolutionArrays
from engiagent.solvers.solution import load_arrays
from engiagent.verify.certificate import Certificate

PLANS: Final = "plans"
APPLIED: Final = 1e-6
"""How far what was applied may be from its plan, relative to the largest value and 1."""
STEPS: Final = "steps.csv"
RECORD: Final = "plant.csv"
_WEAKEST: Final = ("recomputed", "no goal", "agreed", "reported", "open", "contradicted")


@dataclass(frozen=True)
class _Step:
    """A step of a loop: the plan that was applied, and which of its periods."""

    time: str
    outcome: str
    plan: int
    age: int
    certificate: Certificate
    solution: SolutionArrays

    @property
    def violated(self) -> set[str]:
        """The checks that the plan does not pass."""
        return {str(v["check"]) for v in self.certificate.violations}

    def to_dict(self) -> dict[str, Any]:
        """Return what is said of the step; of the plan its verdict, hashes and claims."""
        found, bound = self.certificate, self.certificate.bound or {}
        return {
            "time": self.time,
            "outcome": self.outcome,
            "plan": self.plan,
            "verdict": found.verdict,
            "holds": found.plan["holds"],
            "optimum": found.plan["optimum"],
            "objective": (found.objective or {}).get("value"),
            "gap": bound.get("gap"),
            "violated": sorted(self.violated),
            "inputs": dict(found.inputs),
        }


def certify_loop(folder: Path) -> Certificate:
    """Return the certificate of the loop that a folder holds, with the plans of its steps.

    Raises InputError when a file is missing or cannot be read.
    """
    record = loads_strict(open_inside(folder, LOOP).decode(), LOOP)
    if not isinstance(record, dict) or not (folder / PLANS).is_dir():
        raise InputError("the loop has no plans", str(folder), expected="control --certify")
    name, blueprint = str(record.get("problem")), Blueprint.load(folder / BLUEPRINT)
    solution = load_arrays(folder / SOLUTION)
    applied = certify(None, solution, blueprint, folder=folder, name=name)
    steps = list(_steps(folder, name))
    broken = list(_broken(applied, blueprint, steps))
    apart = list(_unlike_applied(blueprint, steps, solution))
    worst = {str(v["check"]): v for v in _violations(steps)}
    plant = {key: value for key, value in (record.get("plant") or {}).items() if value}
    weakest = max((s.certificate.plan["optimum"] for s in steps), key=_WEAKEST.index)
    levels = {
        "data": applied.levels["data"],
        "algebra": {
            "status": "fail" if apart else _status(s.certificate.plan["holds"] for s in steps),
            "steps": [step.to_dict() for step in steps],
        },
        "physics": {
            "status": "fail" if broken else "pass",
            "plant": plant,
            "prediction": list(_prediction(steps, solution)),
            "broken": broken,
        },
        "optimality": {
            "status": _status(s.certificate.levels["optimality"]["status"] for s in steps),
            "evidence": weakest,
        },
    }
    files = [file for file in (STEPS, RECORD) if file == STEPS or (folder / file).is_file()]
    own = {file: sha256_bytes(open_inside(folder, file)) for file in files}
    hashed = {"plant": plant["sha256"]} if "sha256" in plant else {}
    return applied.judged(
        inputs={**applied.inputs, **own, **hashed},
        levels=levels,
        violations=(*apart, *worst.values(), *(b["violation"] for b in broken)),
        bound=None,
    )


def _status(statuses: Iterator[str]) -> str:
    known = {*statuses}
    return next((s for s in ("fail", "unchecked") if s in known), "pass")


def _steps(folder: Path, name: str) -> Iterator[_Step]:
    """Yield the steps; one without a plan of its own goes on with the last one."""
    rows = csv.DictReader(open_inside(folder, STEPS).decode().splitlines())
    last: tuple[int, Certificate, SolutionArrays] | None = None
    for number, row in enumerate(rows):
        path = folder / PLANS / f"{number:04d}.nc"
        if path.is_file():
            solution, plan = load_arrays(path), Blueprint.load(path.with_suffix(".json"))
            last = number, certify(None, solution, plan, folder=folder, name=name), solution
        if last is None or "time" not in row or "outcome" not in row:
            raise InputError("the first step has no plan", str(path))
        yield _Step(row["time"], row["outcome"], last[0], number - last[0], *last[1:])


def _violations(steps: Sequence[_Step]) -> Iterator[Mapping[str, Any]]:
    """Yield what plans do not keep, the worst of each check last."""
    found = (
        {**violation, "where": {"step": step.time, **violation["where"]}}
        for step in steps
        if not step.age
        for violation in step.certificate.violations
    )
    yield from sorted(found, key=lambda violation: float(violation["amount"] or 0.0))


def _unlike_applied(
    blueprint: Blueprint, steps: Sequence[_Step], solution: SolutionArrays
) -> Iterator[dict[str, Any]]:
    """Yield variables that were not applied as planned, or did not begin a plan as measured."""
    axes = steps[0].solution.attrs
    for variable in blueprint.core.decision_variables:
        name = variable.name
        dims = steps[0].solution[name].dims if name in solution else ()
        along = next((d for d in dims if d in (axes["periods"], axes["instants"])), None)
        if along is None:
            continue
        axis, is_state = dims.index(along), along == axes["instants"]
        came = np.moveaxis(solution[name].values, axis, 0)
        periods = (len(came) - is_state) // len(steps)
        scale = APPLIED * (1.0 + float(np.nanmax(np.abs(came), initial=0.0)))
        for number, step in enumerate(steps):
            if is_state and step.age:
                continue  # what was measured there is not where the plan that goes on began
            count = 1 if is_state else periods
            planned = np.moveaxis(step.solution[name].values, axis, 0)[step.age * periods :][:count]
            off = float(np.nanmax(np.abs(planned - came[number * periods :][:count])))
            if not off <= scale:
                unit = str(solution[name].attrs.get("units"))
                yield {
                    "level": "algebra",
                    "check": f"applied:{name}",
                    "name": f"{name} as planned",
                    "message": f"{name} is {off:.6g} {unit} off its plan at {step.time}",
                    "where": {"step": step.time},
                    "amount": off,
                    "unit": unit,
                    "tolerance": scale,
                }


def _broken(
    applied: Certificate, blueprint: Blueprint, steps: Sequence[_Step]
) -> Iterator[dict[str, Any]]:
    """Yield limits that what was measured breaks, but for the model that the plant took over.

    That a measured state does not follow from the plan's own physics is an error of prediction.
    """
    laws = {c.constraint_id for c in blueprint.core.constraints if c.category == "Physical Laws"}
    times = [step.time for step in steps]
    for violation in applied.violations:
        if violation["level"] != "algebra" or violation["check"] in laws:
            continue
        place = next((str(v) for v in violation["where"].values() if str(v) in times), "")
        # What is measured at the start of a step was planned by the one before.
        step = steps[times.index(place) - 1] if place else steps[-1]
        kept = place != times[0] and violation["check"] not in step.violated
        yield {"check": violation["check"], "kept_by_plan": kept, "violation": violation}


def _prediction(steps: Sequence[_Step], solution: SolutionArrays) -> Iterator[dict[str, Any]]:
    """Yield of each state how far the plant was from the prediction of a step before."""
    first = steps[0].solution
    for name in str(first.attrs.get("states", "")).split():
        axis = first[name].dims.index(str(first.attrs["instants"]))
        came = np.moveaxis(solution[name].values, axis, 0)
        periods = (len(came) - 1) // len(steps)
        said = [s.solution[name].values.take((s.age + 1) * periods, axis) for s in steps]
        apart = [np.abs(a - b).max() for a, b in zip(said, came[periods::periods], strict=True)]
        about = first[name].attrs
        unit = "K" if about.get("units") == "degC" else about.get("units")  # a difference
        worst = int(np.argmax(apart))
        yield {
            "state": about.get("quantity", name),
            "unit": unit,
            "mean": float(np.mean(apart)),
            "worst": float(apart[worst]),
            "at": steps[worst].time,
        }
