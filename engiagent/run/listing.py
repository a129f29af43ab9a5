"""The runs below a folder: what each was asked, how far it came and what it found.

Only ``run.json`` and ``certificate.json`` are read, so that a list of many runs stays quick; of a
simulation or a closed loop what it has in place of the first.
"""

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from pathlib import Path
from typing import Any, Final

from engiagent.errors import EngiagentError, InputError
from engiagent.io.files import open_inside
from engiagent.io.jsontext import loads_strict
from engiagent.run.folder import CERTIFICATE, LOOP, RECORD, SCHEMA, SIMULATION, is_under_way

SUMMARY: Final = "engiagent-run-summary/1"
DEPTH: Final = 4
"""How many folders below the first are looked into."""
MAX_RUNS: Final = 10_000
_RECORDED: Final = ("stage", "verdict", "reason", "started", "finished")
UNREADABLE: Final = "unreadable"
STOPPED: Final = "stopped"
"""The state of a run whose record says ``running`` and whose process is gone."""


@dataclass(frozen=True)
class RunSummary:
    """One run on one line."""

    # folder, name: where it is, and its path below the folder that was looked into, with ``/``;
    # ``.`` when that folder is the run
    folder: Path
    name: str
    # problem, engine: the problem's id, and who read it; None for a blueprint that came as it is
    problem: str
    state: str  # ``running``, ``done``, ``failed``, ``interrupted``, ``stopped`` or ``unreadable``
    engine: str | None = None
    stage: str | None = None  # the last stage that began
    # verdict, reason: as the run recorded them; the reason of an unreadable record is why
    verdict: str | None = None
    reason: str | None = None
    # started, finished: in ISO 8601, UTC
    started: str | None = None
    finished: str | None = None
    # objective, unit, sense, bound, gap: from the certificate; the gap is relative to the bound
    objective: float | None = None
    unit: str | None = None
    sense: str | None = None
    bound: float | None = None
    gap: float | None = None

    @property
    def seconds(self) -> float | None:
        """How long the run took in seconds; None while it has not ended."""
        if self.started is None or self.finished is None:
            return None
        try:
            begun, ended = map(datetime.fromisoformat, (self.started, self.finished))
            return (ended - begun).total_seconds()
        except (TypeError, ValueError):  # with and without a zone, or no time at all
            return None

    def to_json(self) -> dict[str, Any]:
        """Return the summary as an object of the schema ``engiagent-run-summary/1``."""
        goal = {"value": self.objective, "unit": self.unit, "sense": self.sense}
        own = ("folder", "name", "unit", "sense")
        known = {key: value for key, value in vars(self).items() if key not in own}
        found = {"schema": SUMMARY, "run": self.name, **known}
        return {**found, "seconds": self.seconds, "objective": goal}


def find_runs(root: Path | str, depth: int = DEPTH) -> tuple[RunSummary, ...]:
    """Return every run in a folder or below it, the latest first, at most ten thousand."""
    base = Path(root)
    if not base.is_dir():
        raise InputError("there is no such folder", str(base), expected="a folder of runs")
    found = [summarise(folder, base) for folder in islice(run_folders(base, depth), MAX_RUNS)]
    return tuple(sorted(found, key=lambda run: (run.started or "", run.name), reverse=True))


def summarise(folder: Path, root: Path | None = None) -> RunSummary:
    """Return one run on one line; a record that cannot be read is said so and raises nothing."""
    name = folder.relative_to(root).as_posix() if root is not None else folder.name
    try:
        record = _object(folder, RECORD)
        if record.get("schema") != SCHEMA:
            raise InputError("this is no record of a run", RECORD, expected=f'schema "{SCHEMA}"')
    except EngiagentError as error:
        unreadable = RunSummary(folder, name, folder.name, UNREADABLE, reason=str(error))
        return _of_a_plant(folder, name) or unreadable
    certificate = _object_if_any(folder, CERTIFICATE)
    asked = _mapping(record.get("asked"))
    goal, bound = _mapping(certificate.get("objective")), _mapping(certificate.get("bound"))
    return RunSummary(
        folder=folder,
        name=name,
        problem=str(record.get("problem") or folder.name),
        state=_state(record),
        engine=_text(asked.get("engine")),
        **{key: _text(record.get(key)) for key in _RECORDED},
        objective=_number(goal.get("value")),
        unit=_text(goal.get("unit")),
        sense=_text(goal.get("sense")),
        bound=_number(bound.get("value")),
        gap=_number(bound.get("gap")),
    )


def _of_a_plant(folder: Path, name: str) -> RunSummary | None:
    """Return what a simulation or a closed loop came to; None of any other folder."""
    simulation, loop = (_object_if_any(folder, file) for file in (SIMULATION, LOOP))
    if not simulation and not loop:
        return None
    goal = _mapping(loop.get("objective") if loop else simulation.get("cost"))
    return RunSummary(
        folder=folder,
        name=name,
        problem=str(simulation.get("plant") or loop.get("problem") or folder.name),
        state="stopped" if loop.get("stopped") else "done",
        reason=_text(loop.get("stopped")),
        verdict=_text(_object_if_any(folder, CERTIFICATE).get("verdict")),
        objective=_number(goal.get("value")),
        unit=_text(goal.get("unit")),
        sense=_text(goal.get("sense") or "minimize"),
    )


def run_folders(base: Path, depth: int = DEPTH) -> Iterator[Path]:
    """Yield every folder with the record of a run; see :func:`find_runs`."""
    if (base / RECORD).is_file():
        yield base
        return
    if depth < 0:
        return
    try:
        with os.scandir(base) as entries:
            names = sorted(
                entry.name
                for entry in entries
                if not entry.name.startswith(".") and entry.is_dir(follow_symlinks=False)
            )
    except OSError:
        return
    for name in names:
        yield from run_folders(base / name, depth - 1)


def _state(record: Mapping[str, Any]) -> str:
    state = str(record.get("state"))
    return STOPPED if state == "running" and not is_under_way(record) else state


def _object(folder: Path, name: str) -> Mapping[str, Any]:
    text = open_inside(folder, name).decode("utf-8", errors="replace")
    return _mapping(loads_strict(text, name))


def _object_if_any(folder: Path, name: str) -> Mapping[str, Any]:
    try:
        return _object(folder, name)
    except EngiagentError:
        return {}


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None


def _number(value: Any) -> float | None:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if is_number else None
