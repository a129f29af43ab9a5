"""A check of somebody's schedule, kept as a folder that can be verified again anywhere."""

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
from engiagent.run.proofs import Proofs, kept_exact, stored_solver
from engiagent.text import Problem
from engiagent.verify.certificate import Certificate
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
    """Write a check into a new folder: problem, blueprint, schedule and certificate.

    ``out``: the folder. ``schedule``: the schedule where it lies now; it is copied. ``folder``:
    where the blueprint's data files lie. Raises InputError when the folder holds something already
    or cannot be written to.
    """
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
    """Return the schedule that a run folder holds, its own or somebody's; None without one.

    Raises InputError when the record names a schedule in a way that nothing here writes.
    """
    asked = read_record(run).get("asked") or {}
    name, record, taken = asked.get("schedule"), str(run / "run.json"), _taken(run)
    exact, solver = kept_exact(asked, record), stored_solver(asked, record)
    reading, unclear = asked.get("reading") or {}, asked.get("not_understood") or []
    if name is None:
        path = run / SOLUTION
        kept = KeptSchedule(path, None, _texts(unclear, run), exact, solver, None, taken)
        return kept if path.is_file() else None
    if not (isinstance(name, str) and Path(name).stem == SCHEDULE and Path(name).name == name):
        raise InputError("no name of a stored schedule", str(run / "run.json"), found=repr(name))
    if (run / name).is_symlink():  # a folder that travels may not lead out of itself
        raise InputError("the stored schedule is a link", str(run / name), expected="a plain file")
    read = Reading.from_dict(reading, str(run / "run.json")) if reading else None
    unread = _texts(unclear, run)
    return KeptSchedule(run / name, read, unread, exact, solver, None, taken)


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
