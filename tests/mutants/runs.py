"""Right runs of the corpus, from which mutants are made, and what is true of a schedule.

The truth is told by the matrices of the reference blueprint and a solver, so that the checker is
compared with something that shares no code with it.
"""

import json
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

import numpy as np
import xarray as xr

from engiagent.blueprint.document import Blueprint
from engiagent.blueprint.elements import VariableDef
from engiagent.formulations.classify import classify
from engiagent.formulations.compile import compile_blueprint
from engiagent.formulations.expansion import expand
from engiagent.formulations.program import ColumnBlock, Program
from engiagent.formulations.values import Floats
from engiagent.solvers.result import SolveOptions
from engiagent.solvers.solution import to_dataset
from engiagent.solvers.solving import solve
from engiagent.text import Problem
from engiagent.units.unit import UnitError, conversion, parse_unit

CORPUS = Path(__file__).parents[2] / "problems"
NEAR = 1e-6
"""How near to its limits and its optimum a schedule counts as right, relative to their size."""


@dataclass(frozen=True, eq=False)
class Run:
    """A problem with its reference blueprint, compiled and solved.

    Attributes
    ----------
    written, blueprint
        The blueprint as it stands in its file, and with its components written out.
    """

    name: str
    problem: Problem
    written: Blueprint
    blueprint: Blueprint
    program: Program
    schedule: xr.Dataset

    def having(self, word: str) -> Iterator[VariableDef]:
        """Yield the series that stand for a quantity ending in ``.word``."""
        for definition in self.series():
            if (definition.quantity or "").endswith(f".{word}"):
                yield definition

    def series(self) -> Iterator[VariableDef]:
        """Yield the variables with one index and a value for each element of it."""
        for definition in self.blueprint.core.decision_variables:
            if definition.where is None and self.schedule[definition.name].ndim == 1:
                yield definition

    @property
    def best(self) -> float:
        """The best objective."""
        return float(self.schedule.attrs["objective"])


@lru_cache(maxsize=128)
def run_of(folder: Path) -> Run:
    """Compile and solve the reference blueprint of a corpus problem."""
    written = Blueprint.load(folder / "expert" / "blueprint.json")
    blueprint = expand(written)
    program, schedule = solved(blueprint, folder)
    return Run(folder.name, Problem.load(folder), written, blueprint, program, schedule)


def solved(blueprint: Blueprint, folder: Path) -> tuple[Program, xr.Dataset]:
    """Return a blueprint's program and its schedule."""
    program = compile_blueprint(blueprint, folder)
    return program, schedule_of(program)


def schedule_of(program: Program) -> xr.Dataset:
    """Return the schedule of a program; its search ends at the optimum."""
    return to_dataset(
        program, solve(program, SolveOptions(gap=0.0, time_limit=20.0), isolate=False)
    )


LARGEST = 4_000
"""Columns of a program beyond which thousands of mutants would take hours."""
JUDGED = ("LP", "MILP")
"""Classes in which HiGHS alone can say what is true of a schedule, to nine digits."""


def certified(of_each_family: int | None = None) -> tuple[Run, ...]:
    """Return runs of corpus problems that have a certified answer, by name.

    Parameters
    ----------
    of_each_family
        How many of each family, the smallest; None for all that :func:`judged` has.
    """
    return tuple(
        run_of(folder) for rank, folder in in_turn() if rank < (of_each_family or rank + 1)
    )


def in_turn() -> list[tuple[int, Path]]:
    """Return the problems by their rank in their family, the smallest of every family first."""
    families: dict[str, list[tuple[int, Path]]] = {}
    for folder, size in judged():
        families.setdefault(folder.parent.name, []).append((size, folder))
    ranked = [
        (rank, folder)
        for found in families.values()
        for rank, (_, folder) in enumerate(sorted(found))
    ]
    return sorted(ranked)


def judged() -> list[tuple[Path, int]]:
    """Return the problems whose mutants can be judged, with their columns."""
    return [(f, size) for f, size, kind in sizes() if size <= LARGEST and kind in JUDGED]


@lru_cache(maxsize=1)
def sizes() -> tuple[tuple[Path, int, str], ...]:
    """Return the problems with a certified answer: folder, columns and class of each."""
    found = []
    for path in sorted(CORPUS.glob("*/*/expert/answer.json")):
        blueprint = path.parent / "blueprint.json"
        if json.loads(path.read_text(encoding="utf-8"))["verdict"] == "certified":
            program = compile_blueprint(expand(Blueprint.load(blueprint)), path.parents[1])
            found.append((path.parents[1], program.column_count, classify(program).problem_class))
    return tuple(found)


def without_experts(run: Run, folder: Path) -> Run:
    """Return the run of a copy of the problem that nobody has annotated."""
    copy = folder / run.name
    shutil.copytree(run.problem.folder, copy, ignore=shutil.ignore_patterns("expert"))
    return replace(run, problem=Problem.load(copy))


# --- the truth -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Truth:
    """What a schedule really is: allowed, the best, and honest about its objective."""

    feasible: bool
    optimal: bool
    honest: bool


def truth(run: Run, schedule: xr.Dataset, devices: bool = False) -> Truth:
    """Return what a schedule is worth by the reference program.

    Every decision and state that it names is held at its value, the devices of the model only if
    that is asked for; what is not held may take any value.
    """
    program = run.program
    lower, upper = program.column_lower.copy(), program.column_upper.copy()
    room = NEAR * np.maximum(1.0, scale_of(program))
    for block in program.columns:
        if not _held(block, schedule, devices):
            continue
        values = values_of(block, schedule[block.name])
        span = slice(block.start, block.stop)
        if values is None or not inside(block, values, lower[span], upper[span], room[span]):
            return Truth(False, False, False)
        exact = np.round(values) if block.kind != "continuous" else values
        slack = np.where(block.kind == "continuous", room[span], 0.0)
        lower[span] = np.maximum(lower[span], exact - slack)
        upper[span] = np.minimum(upper[span], exact + slack)
        lower[span] = np.minimum(lower[span], upper[span])
    held = replace(program, column_lower=lower, column_upper=upper)
    result = solve(held, SolveOptions(gap=0.0, time_limit=20.0, backend="highs"), isolate=False)
    if result.x is None or result.objective is None:
        return Truth(False, False, False)
    size = max(1.0, abs(run.best))
    worth = worth_of(run, schedule, result.x, devices)
    claimed = schedule.attrs.get("objective")
    honest = claimed is None or abs(float(claimed) - worth) <= 20 * NEAR * size
    return Truth(True, abs(worth - run.best) <= 20 * NEAR * size, bool(honest))


def _held(block: ColumnBlock, schedule: xr.Dataset, devices: bool) -> bool:
    if block.generated or block.name not in schedule:
        return False
    return devices or block.role in ("decision", "state")


def worth_of(run: Run, schedule: xr.Dataset, x: Floats, devices: bool) -> float:
    """Return the objective at the schedule itself; ``x`` fills in what it leaves out."""
    point = x.copy()
    for block in run.program.columns:
        if _held(block, schedule, devices):
            values = values_of(block, schedule[block.name])
            assert values is not None
            point[block.start : block.stop] = values
    return float(run.program.objective_at(point))


def scale_of(program: Program) -> Floats:
    """Return the size of each column's values: the largest finite bound of its variable."""
    scale = np.ones(program.column_count)
    for block in program.columns:
        span = slice(block.start, block.stop)
        ends = np.concatenate((program.column_lower[span], program.column_upper[span]))
        ends = np.abs(ends[np.isfinite(ends)])
        scale[span] = ends.max(initial=1.0)
    return scale


def values_of(block: ColumnBlock, series: xr.DataArray) -> Floats | None:
    """Return the values of a variable in its own unit, None when they are no such values."""
    numbers = np.asarray(series.values, dtype=np.float64)
    try:
        unit = parse_unit(str(series.attrs.get("units", block.unit)))
        factor, shift = conversion(unit, parse_unit(block.unit))
    except UnitError:
        return None
    if numbers.shape != tuple(block.shape):
        return None
    flat = numbers.reshape(-1) * factor + shift
    chosen = flat if block.positions is None else flat[block.positions]
    return chosen if np.isfinite(chosen).all() else None


def inside(block: ColumnBlock, values: Floats, lower: Floats, upper: Floats, room: Floats) -> bool:
    """Whether values keep the bounds, and are whole where that is asked."""
    whole = block.kind in ("continuous", "semicontinuous")
    if not whole and (np.abs(values - np.round(values)) > NEAR).any():
        return False
    return bool(((values >= lower - room) & (values <= upper + room)).all())
