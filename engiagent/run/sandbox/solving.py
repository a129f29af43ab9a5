"""From a script to a certificate: its schedule passes the checker that every schedule passes."""

import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from engiagent.blueprint import Blueprint
from engiagent.errors import InputError
from engiagent.io.jsontext import dumps_canonical
from engiagent.run.certify import certify
from engiagent.run.inputs import data_files
from engiagent.run.sandbox.answer import OBJECTIVE, RESULT
from engiagent.run.sandbox.limits import Limits
from engiagent.run.sandbox.running import SCRIPT, Isolation, ScriptResult, run_script
from engiagent.text import Problem
from engiagent.verify.certificate import Certificate
from engiagent.verify.foreign import Reading
from engiagent.verify.requirements import Requirements

LAYERS: Final = "sandbox"
"""The key among a certificate's versions under which the layers in force stand."""


@dataclass(frozen=True, eq=False)
class ScriptSolution:
    """What became of a script."""

    result: ScriptResult  # how it ended
    certificate: Certificate | None  # of its schedule; None where it left none
    answer: str | None  # the schedule as JSON text, as any schedule file; None without one


def run_text(
    text: str,
    folder: Path | None,
    files: tuple[str, ...],
    limits: Limits | None = None,
    isolation: Isolation = "auto",
) -> ScriptResult:
    """Run a script's text in the sandbox with copies of some files of a folder.

    Raises SandboxError when the machine lacks a layer; nothing was run then.
    """
    with tempfile.TemporaryDirectory(prefix="engiagent-") as place:
        path = Path(place) / SCRIPT
        path.write_text(text, encoding="utf-8", errors="replace")
        return run_script(path, folder, limits, files=files, isolation=isolation)


def solve_by_script(
    script_text: str,
    problem: Problem | None,
    *,
    blueprint: Blueprint | None = None,
    folder: Path | None = None,
    name: str = "script",
    requirements: Requirements | None = None,
    mapping: Mapping[str, str] | Reading | None = None,
    limits: Limits | None = None,
    isolation: Isolation = "auto",
) -> ScriptSolution:
    """Run a script in the sandbox and have its schedule certified.

    ``script_text``: the Python text; nothing of what it claims is believed. ``problem``: the
    problem, whose data files the script finds beside itself. ``blueprint``, ``requirements``,
    ``mapping``: what the schedule is checked against, and how it is read, as
    :func:`engiagent.run.certify.certify` takes them. ``folder``, ``name``: of a blueprint without a
    problem. ``limits``, ``isolation``: as :func:`engiagent.run.sandbox.run_script` takes them.
    Raises SandboxError when the machine lacks a layer; nothing was run then; InputError when there
    is neither a problem nor a blueprint, or the schedule cannot be read as one.
    """
    if problem is None and blueprint is None:
        raise InputError("a script's schedule is checked against a problem or a blueprint")
    source, files = _data(problem, blueprint, folder)
    result = run_text(script_text, source, files, limits, isolation)
    if result.status != "done":
        return ScriptSolution(result, None, None)
    text = answer_text(result)
    with tempfile.TemporaryDirectory(prefix="engiagent-") as place:
        answer = Path(place) / RESULT
        answer.write_text(text, encoding="utf-8")
        certificate = certify(
            problem,
            answer,
            blueprint,
            folder=source or Path(place),
            name=name,
            mapping=mapping,
            requirements=requirements,
        )
    return ScriptSolution(result, with_layers(certificate, result), text)


def with_layers(certificate: Certificate, result: ScriptResult) -> Certificate:
    """Return a certificate that says which guarantees held while the script ran."""
    return replace(certificate, versions={**certificate.versions, LAYERS: str(result.layers)})


def answer_text(result: ScriptResult) -> str:
    """Return a script's schedule as the text of a schedule file."""
    columns: dict[str, Any] = {k: values.tolist() for k, values in result.schedule.items()}
    if result.objective is not None:
        columns[OBJECTIVE] = result.objective
    return dumps_canonical(columns)


def _data(
    problem: Problem | None, blueprint: Blueprint | None, folder: Path | None
) -> tuple[Path | None, tuple[str, ...]]:
    """Return where the data lie and which files a script may see; never an expert's answers."""
    if problem is not None:
        return problem.folder, tuple(problem.data)
    assert blueprint is not None
    return folder, tuple(dict.fromkeys(data_files(blueprint))) if folder is not None else ()
