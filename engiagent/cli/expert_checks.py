"""Checking a problem of a corpus: its blueprint, its answer and its stored schedules agree."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from engiagent.blueprint import Blueprint
from engiagent.blueprint.diagnostics import MissingDataError
from engiagent.cli.annotations import (
    ANSWER,
    MAPPING,
    absent_files,
    numbers_astray,
    stored_schedules,
)
from engiagent.cli.answers import against_bound, against_schedule, quotes_astray
from engiagent.cli.checked import CheckResult, read_offline, without_plan
from engiagent.cli.exit_codes import ExitCode
from engiagent.cli.judging import Judge
from engiagent.io.files import open_inside
from engiagent.io.jsontext import loads_strict
from engiagent.run.answers import against_answer
from engiagent.run.folder import BLUEPRINT
from engiagent.run.inputs import EXPERT, REQUIREMENTS, slots_of
from engiagent.text import Problem
from engiagent.verify.case import annotated_otherwise
from engiagent.verify.foreign import Reading, load_mapping
from engiagent.verify.requirements import load_requirements


def expert_result(
    judge: Judge, path: Path, problem: Problem, expert: Path, taken: Iterable[str]
) -> CheckResult:
    """Check that blueprint and answer of a corpus problem agree with the certificate."""
    other = annotated_otherwise(problem)
    if other is not None:
        result = _of_another_text(judge, path, problem, other)
        astray = [f"the expert files are of another text: {other}"]
        if (expert / BLUEPRINT).is_file():
            astray += quotes_astray(Blueprint.load(expert / BLUEPRINT), problem.text)
        return replace(result, code=ExitCode.VIOLATED, disagreements=tuple(astray))
    disagreements: list[str] = []
    if (expert / BLUEPRINT).is_file():
        blueprint = Blueprint.load(expert / BLUEPRINT)
        disagreements += quotes_astray(blueprint, problem.text)
        try:
            result = judge.solved(path, problem, blueprint)
        except MissingDataError as error:
            missing = tuple(slots_of(blueprint, error.names))
            result = without_plan(path, problem.id, str(error), missing)
    else:
        result = read_offline(path, problem)
    disagreements += absent_files(expert)
    disagreements += taken
    if (expert / REQUIREMENTS).is_file():
        stated = load_requirements(expert / REQUIREMENTS)
        disagreements += numbers_astray(stated, problem)
    if (expert / ANSWER).is_file():
        content = open_inside(expert, ANSWER).decode("utf-8", errors="replace")
        answer = loads_strict(content, f"{EXPERT}/{ANSWER}")
        disagreements += against_answer(
            result.verdict,
            result.certified("objective") or {},
            result.missing or result.certified("missing") or (),
            answer,
        )
        disagreements += against_bound(result.verdict, result.certified("bound"), answer)
        disagreements += stored(judge, path, problem, expert, answer)
    code = ExitCode.VIOLATED if disagreements else ExitCode.FEASIBLE
    return replace(result, code=code, disagreements=tuple(disagreements))


def _of_another_text(judge: Judge, path: Path, problem: Problem, reason: str) -> CheckResult:
    """Check what the stored reading makes of a text that the experts did not annotate.

    Neither their requirements nor their answer belong to it.
    """
    from engiagent.readings.stored import reread

    found = reread(problem)
    assert found is not None  # it says what was annotated
    if found.blueprint is None or found.not_understood:
        gap = found.not_understood[0]
        said = "; ".join(filter(None, (reason, " | ".join(gap.quotes), gap.reason)))
        return without_plan(path, problem.id, said)
    try:
        result = judge.solved(path, problem, found.blueprint)
    except MissingDataError as error:
        missing = tuple(slots_of(found.blueprint, error.names))
        return without_plan(path, problem.id, f"{reason}; {error}", missing)
    return replace(result, reason=reason)


def stored(judge: Judge, path: Path, problem: Problem, expert: Path, answer: Any) -> Iterator[str]:
    """Yield what is wrong with the schedules that are kept beside the answer."""
    files = stored_schedules(expert)
    if not files:
        return
    reading: Reading | None = None
    if (expert / MAPPING).is_file():
        reading = load_mapping(expert / MAPPING)
    blueprint = expert / BLUEPRINT
    given = Blueprint.load(blueprint) if blueprint.is_file() else None
    for file in files:
        again = replace(judge, solution=file, reading=reading, out=None)
        found = again.schedule(path, problem, given)
        yield from (f"{file.name}: {text}" for text in against_schedule(found, answer))
