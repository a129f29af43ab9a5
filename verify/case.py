"""Everything that one check has at hand: documents, the schedule, and what can be added to it."""

import hashlib
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np

from engiagent.blueprint.document import Blueprint
from engiagent.errors import EngiagentError, InputError
from engiagent.io.jsontext import loads_strict
from engiagent.units.unit import parse_unit
from engiagent.verify.claims import AUTHOR_ONLY
from engiagent.verify.claims import Reading as TextReading
from engiagent.verify.documents import Bench
from engiagent.verify.foreign import Reading
from engiagent.verify.levels.execution import Plant, grid_series, recomputed_series
from engiagent.verify.levels.repeated import dynamics_of, joined
from engiagent.verify.levels.sources import ProblemLike
from engiagent.verify.naming import Known, known_of
from engiagent.verify.plants.run import Result, Trajectory
from engiagent.verify.requirements import Dynamics, Requirements, load_requirements, squeezed
from engiagent.verify.schedule import Schedule, read_schedule
from engiagent.verify.series import Series
from engiagent.verify.vocabulary import SERIES, STARTS

LARGE: Final = 1_000_000
"""Bytes of a schedule from which on it is hashed beside everything else."""


def begun(work: Callable[[], str]) -> Callable[[], str]:
    """Begin some work in a thread; return how to get what it gives."""
    pool = ThreadPoolExecutor(max_workers=1)
    try:
        return pool.submit(work).result
    except RuntimeError:
        return work  # there may be no more threads
    finally:
        pool.shutdown(wait=False)


@dataclass
class Case:
    """Everything that one check has at hand."""

    problem: ProblemLike
    blueprint: Blueprint | None
    requirements: Requirements | None
    known: Known
    schedule: Schedule
    series: dict[str, Series]
    notes: list[str] = field(default_factory=list)
    reading: TextReading = AUTHOR_ONLY
    generated: Collection[str] = ()
    overrides: Mapping[str, str] | None = None
    _digest: Callable[[], str] | None = None

    def hash_beside(self) -> None:
        """Begin to hash a large schedule, while everything else is checked."""
        if sum(series.data.nbytes for series in self.schedule.series.values()) > LARGE:
            self._digest = begun(self.schedule.sha256)

    def digest(self) -> str:
        """Return the hash of the schedule."""
        return (self._digest or self.schedule.sha256)()

    def bench(self, annotated: bool) -> Bench | None:
        """Return the requirements' or the blueprint's view of the schedule."""
        document = self.requirements if annotated else self.blueprint
        if document is None:
            return None
        return Bench(self.known.declared(document.core), self.series)


def find_requirements(
    problem: ProblemLike, given: Requirements | str | Path | None
) -> Requirements | None:
    """Return the requirements that were given, or those among the problem's expert files.

    Annotations of another text than there is now are not used: their numbers are those of that
    text, and they would hold a plan for the new one against the old values.
    """
    if isinstance(given, Requirements):
        return given
    if given is not None:
        return load_requirements(Path(given))
    if problem.expert is None or annotated_otherwise(problem) is not None:
        return None
    path = Path(problem.expert) / "requirements.yaml"
    return load_requirements(path) if path.is_file() else None


def case_of(
    problem: ProblemLike,
    solution: Any,
    blueprint: Blueprint | None,
    requirements: Requirements | str | Path | None,
    reading: Reading | Mapping[str, str] | None,
) -> Case:
    """Return the case of what :func:`engiagent.verify.checking.check` is given."""
    return build_case(
        problem, solution, blueprint, find_requirements(problem, requirements), reading
    )


def annotated_otherwise(problem: ProblemLike) -> str | None:
    """Return why the annotations of a problem are not of its text and data as they stand now.

    The stored reading beside them holds the text and the shape of the data that were annotated;
    None where all that is alike, or where nothing says what was annotated.
    """
    if problem.expert is None or not (Path(problem.expert) / "requirements.yaml").is_file():
        return None
    path = Path(problem.expert) / "reading.json"
    if not path.is_file():
        return None
    try:
        stored = loads_strict(path.read_text(encoding="utf-8"), path.name)
        known, data = squeezed(stored["text"]), stored["data"]
    except (OSError, UnicodeDecodeError, KeyError, TypeError, AttributeError):
        raise InputError("no stored reading", str(path)) from None
    if known != squeezed(problem.text):
        return "the annotated requirements are of another text and are not used"
    for name, shape in data.items():
        file, columns = getattr(problem, "data", {}).get(name), shape["columns"]
        texts = [c["digest"] for c in columns if c["kind"] == "text"]
        before = shape["rows"], shape["first"], [c["header"] for c in columns], texts
        if file is None or (file.sha256 != shape["sha256"] and _shape(file) != before):
            return f"the annotated requirements are of another {name} and are not used"
    return None


def _shape(file: Any) -> tuple[Any, ...]:
    """Return what requirements may rest on beside the numbers, which they read from the file."""
    first = None if file.axis is None else file.times[0].strftime("%Y-%m-%dT%H:%M")
    texts = [
        hashlib.sha256("\n".join(c.values).encode()).hexdigest()
        for name, c in file.columns.items()
        if isinstance(c.values, tuple) and name != file.time_column
    ]
    return file.rows, first, [c.header for c in file.columns.values()], texts


def build_case(
    problem: ProblemLike,
    solution: Any,
    blueprint: Blueprint | None,
    requirements: Requirements | None,
    reading: Reading | Mapping[str, str] | None,
) -> Case:
    """Read the schedule and complete it by what physics answers."""
    units, core = declared_units(blueprint, requirements, problem.folder)
    known = known_of(blueprint, requirements, problem.folder)
    first: dict[str, tuple[float, int]] = {}
    if core is not None:
        plant = Plant(Bench(known.declared(core), {}), units)
        first = _known_states(plant)
    schedule = Schedule({})
    if solution is not None:
        schedule = read_schedule(solution, known, reading, first)
    series, notes = dict(schedule.series), list(schedule.notes)
    if requirements is None:
        other = annotated_otherwise(problem)
        notes += [] if other is None else [other]
    case = Case(problem, blueprint, requirements, known, schedule, series, notes)
    planned = any(np.isfinite(s.data).any() for s in schedule.series.values())
    if schedule.status not in (None, "optimal", "feasible") and not planned:
        case.series = {}
    before = frozenset(case.series)
    _complete(case, units)
    recomputed = frozenset(case.series) - before
    if recomputed:
        given, more = (", ".join(sorted(names)) for names in (before, recomputed))
        case.notes.append(f"given in the schedule: {given or 'nothing'}; recomputed: {more}")
    return case


def declared_units(
    blueprint: Blueprint | None, requirements: Requirements | None, folder: Path | None
) -> tuple[Sequence[Dynamics], Any]:
    """Return the declared units and the declarations in which their parameters are read."""
    if requirements is not None and requirements.dynamics:
        return requirements.dynamics, requirements.core
    if blueprint is not None and blueprint.core.components:
        return dynamics_of(blueprint.core, folder), blueprint.core
    return (), None


def _known_states(plant: Plant) -> dict[str, tuple[float, int]]:
    first: dict[str, tuple[float, int]] = {}
    for unit in plant.units:
        for word, slot in STARTS.items():
            if slot not in unit.parameters or word not in SERIES.get(unit.model, ()):
                continue
            try:
                known = plant.of(unit).slot(slot)
            except EngiagentError:
                continue  # the levels say what is wrong with it
            scale = parse_unit(SERIES[unit.model][word].unit)
            if known is not None:
                start = scale.to_si(float(known[0])), len(known)
                first |= dict.fromkeys(plant.of(unit).names(word), start)
    return first


def _complete(case: Case, units: Sequence[Dynamics]) -> None:
    """Add what a schedule leaves out and physics answers: states and results."""
    bench = case.bench(case.requirements is not None and bool(case.requirements.dynamics))
    if bench is None or not case.series:
        return
    plant = Plant(bench, units)
    found: list[Trajectory | Result] = []
    for unit in units:
        if not plant.lacks(unit, case.series):
            continue
        try:
            run = plant.executed(unit)
        except EngiagentError:
            continue  # not recomputable: whoever needs it stays unchecked
        found += [item for item in run.found if item.claimed is None]
    added = recomputed_series(found, units)
    for unit in units:
        for word in SERIES.get(unit.model, ()):
            names = plant.of(unit).names(word)
            known = next((case.series[n] for n in names if n in case.series), None)
            if known is not None:
                case.series = dict.fromkeys(names, known) | case.series
    # What one grid exchanges with its bus is what everything else on it leaves.
    after = Plant(Bench(bench.declarations, case.series | added), units)
    exchanged = joined(dict(grid_series(after)), units)
    added |= {name: one for name, one in exchanged.items() if name not in case.series}
    case.notes += [f"{name} is not in the schedule: recomputed" for name in sorted(added)]
    case.series |= added


def missing_parameters(case: Case) -> list[str]:
    """Return the parameters that the problem does not give, by name."""
    if case.blueprint is None:
        return []
    return sorted(p.name for p in case.blueprint.core.parameters if p.status == "missing")
