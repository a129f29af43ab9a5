"""Checks stored as folders that can be verified again anywhere, and what differs when they are."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from engiagent.blueprint import Blueprint
from engiagent.errors import InputError
from engiagent.io.files import open_inside
from engiagent.io.jsontext import dumps_canonical
from engiagent.run.folder import (
    BLUEPRINT,
    CERTIFICATE,
    OPINION,
    REQUIREMENTS,
    SOLUTION,
    RunFolder,
    read_record,
)
from engiagent.run.inputs import copy_data, copy_problem
from engiagent.run.proofs import Proofs
from engiagent.text import Problem
from engiagent.verify.certificate import SEAL, Certificate, read_certificate, seal_of
from engiagent.verify.foreign import Reading
from engiagent.verify.opinions import Opinion
from engiagent.verify.requirements import Requirements, parse_requirements

SCHEDULE: Final = "schedule"
"""The name, without its ending, under which somebody's schedule is kept."""


@dataclass(frozen=True)
class KeptSchedule:
    """A run folder's schedule and how it was read."""

    path: Path  # the file
    reading: Reading | None = None  # how it is to be read; None where nobody said anything
    # what the engine had not understood of the text when the schedule was checked
    not_understood: tuple[str, ...] = field(default=())
    # exact, second_solver: whether it was checked exactly, and which second solver was asked: it is
    # asked again
    exact: bool = False
    second_solver: str | None = None
    opinion: Opinion | None = None  # what it answered, for the folder; it is never read back
    # what an engine took from the text, which the schedule was held to as well
    requirements: Requirements | None = None


def keep_check(
    out: Path,
    certificate: Certificate,
    schedule: KeptSchedule,
    problem: Problem | None,
    blueprint: Blueprint | None,
    folder: Path,
) -> None:
    """Write a check into a new folder: problem, blueprint, a copy of the schedule, certificate."""
    name = SCHEDULE + schedule.path.suffix.lower()
    real = schedule.path.resolve()  # the user's own link may be followed
    content = open_inside(real.parent, real.name)
    asked: dict[str, Any] = {
        "schedule": name,
        "reading": {} if schedule.reading is None else schedule.reading.to_dict(),
        "not_understood": list(schedule.not_understood),
        **Proofs(schedule.exact, schedule.second_solver).asked(),
    }
    run = RunFolder.create(out, certificate.problem, asked)
    with run.stage("keep"):
        if problem is not None:
            copy_problem(problem, run)
        if blueprint is not None:
            run.write(BLUEPRINT, blueprint.to_json())
            copy_data(blueprint, folder, run)
        if schedule.opinion is not None:
            run.write(OPINION, dumps_canonical(schedule.opinion.to_dict()))
        run.write(name, content)
        run.write(CERTIFICATE, certificate.to_json())
    run.finish("done", certificate.verdict, None)


def kept_schedule(run: Path) -> KeptSchedule | None:
    """Return the schedule that a run folder holds, its own or somebody's; None without one."""
    asked = read_record(run).get("asked") or {}
    name, record, taken = asked.get("schedule"), str(run / "run.json"), _taken(run)
    exact, solver = asked.get("exact", False), asked.get("second_solver")
    if not isinstance(exact, bool):
        raise InputError("neither true nor false", record, found=repr(exact))
    if not isinstance(solver, str | None):
        raise InputError("no name of a solver", record, found=repr(solver))
    unclear = _texts(asked.get("not_understood") or [], run)
    if name is None:
        kept = KeptSchedule(run / SOLUTION, None, unclear, exact, solver, None, taken)
        return kept if kept.path.is_file() else None
    if not (isinstance(name, str) and Path(name).stem == SCHEDULE and Path(name).name == name):
        raise InputError("no name of a stored schedule", record, found=repr(name))
    if (run / name).is_symlink():  # a folder that travels may not lead out of itself
        raise InputError("the stored schedule is a link", str(run / name), expected="a plain file")
    reading = Reading.from_dict(asked["reading"], record) if asked.get("reading") else None
    return KeptSchedule(run / name, reading, unclear, exact, solver, None, taken)


def _texts(value: Any, run: Path) -> tuple[str, ...]:
    if isinstance(value, list) and all(isinstance(text, str) for text in value):
        return tuple(value)
    raise InputError("no list of texts", str(run / "run.json"))


def _taken(run: Path) -> Requirements | None:
    """Return the requirements that an engine took from the text of a run; None without any."""
    if not (run / REQUIREMENTS).exists():
        return None
    text = open_inside(run, REQUIREMENTS).decode("utf-8", errors="replace")
    return parse_requirements(text, REQUIREMENTS)


ROUNDING: Final = 1e-9
"""How far numbers of a sealed certificate may lie apart, relative to them: another processor or
another numpy adds in another order."""
MOST_SHOWN: Final = 60


@dataclass(frozen=True)
class Difference:
    """A place in which two certificates say different things."""

    place: str  # JSON path, as ``$.objective.value``
    # stored, found: what the stored certificate says and what the check says now; None for nothing
    stored: Any
    found: Any
    # whether the certificate holds all the same: other versions, or rounding under a whole seal
    allowed: bool = False

    def __str__(self) -> str:
        return f"{self.place}: the certificate says {_short(self.stored)}, now {_short(self.found)}"

    def to_dict(self) -> dict[str, Any]:
        """Return the difference as JSON."""
        return dict(vars(self))


def compare(text: str, again: Mapping[str, Any], file: str) -> tuple[Difference, ...]:
    """Return where the text of a stored certificate and one that was made again differ."""
    stored = read_certificate(text, file)
    found = []
    content = {key: value for key, value in stored.items() if key != SEAL}
    sealed = stored[SEAL] == seal_of(content)
    if not sealed:
        found.append(Difference(f"$.{SEAL}", stored[SEAL], seal_of(content)))
    if text != dumps_canonical(stored):
        found.append(Difference("$", "another layout", "the canonical form"))
    now = {key: value for key, value in again.items() if key != SEAL}
    found += _differing(content, now, "$", sealed)
    return tuple(found)


def _differing(stored: Any, now: Any, place: str, sealed: bool) -> Iterator[Difference]:
    if isinstance(stored, Mapping) and isinstance(now, Mapping):
        for key in dict.fromkeys([*stored, *now]):
            inner = f"{place}.{key}" if key.isidentifier() else f"{place}[{key!r}]"
            yield from _differing(stored.get(key), now.get(key), inner, sealed)
    elif isinstance(stored, list) and isinstance(now, list) and len(stored) == len(now):
        for k, (one, two) in enumerate(zip(stored, now, strict=True)):
            yield from _differing(one, two, f"{place}[{k}]", sealed)
    elif type(stored) is not type(now) or stored != now:
        allowed = place.startswith("$.versions") or (sealed and _rounding(stored, now))
        yield Difference(place, stored, now, allowed)


def _rounding(one: Any, two: Any) -> bool:
    if not isinstance(one, float) or not isinstance(two, float):
        return False
    return abs(one - two) <= ROUNDING * max(1.0, abs(one), abs(two))


def _short(value: Any) -> str:
    text = "nothing" if value is None else dumps_canonical(value).strip()
    text = " ".join(text.split())
    return text if len(text) <= MOST_SHOWN else text[: MOST_SHOWN - 1] + "…"
