"""The audit of a problem, of a blueprint, or of both together."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Final

from engiagent.blueprint import Blueprint
from engiagent.errors import EngiagentError, InputError
from engiagent.explain.audit.blueprints import blueprint_gaps, missing_files
from engiagent.explain.audit.findings import Audit, Finding, ordered
from engiagent.explain.audit.infeasible import examine
from engiagent.explain.audit.proportions import components_of, odd_parameters, odd_ratios
from engiagent.explain.places import Place, Text
from engiagent.readings import Reading
from engiagent.run.inputs import name_of, problem_beside, problem_folder_of
from engiagent.text import Problem

SECONDS: Final = 30.0
"""For each search for requirements that cannot hold together."""


def audit_path(
    path: Path | str,
    blueprint: Path | str | None = None,
    overrides: Mapping[str, str] | None = None,
    seconds: float = SECONDS,
) -> Audit:
    """Audit a problem file or folder, a blueprint, or a problem with a given blueprint.

    Raises
    ------
    InputError
        When something cannot be read. A data file that a problem lists and that is absent is a
        finding and no error.
    """
    given = Path(path)
    if blueprint is None and given.suffix.lower() == ".json":
        found = Blueprint.load(given)
        folder, problem = problem_folder_of(given), problem_beside(given)
        name = problem.id if problem is not None else name_of(given)
        return audit_blueprint(found, folder, problem, name=name, seconds=seconds)
    try:
        from engiagent.text import Problem

        loaded = Problem.load(given)
    except InputError as error:
        absent = _absent_data(given, error)
        if absent is None:
            raise
        return absent
    if blueprint is not None:
        found = Blueprint.load(blueprint)
        return audit_blueprint(found, loaded.folder, loaded, name=loaded.id, seconds=seconds)
    return audit_problem(loaded, overrides, seconds=seconds)


def audit_problem(
    problem: Problem, overrides: Mapping[str, str] | None = None, *, seconds: float = SECONDS
) -> Audit:
    """Audit the blueprint that a problem's plant block or stored reading gives, and its files.

    Parameters
    ----------
    overrides
        Values of the user, as for a run.
    seconds
        How long each search for requirements that cannot hold together may take.
    """
    from engiagent.readings.read import read

    reading = read(problem, overrides)
    text = Text(problem, folder=problem.folder)
    findings = [*missing_files(problem, text), *_stated(reading, problem, text)]
    notes = reading.notes
    if reading.blueprint is not None:
        found = audit_blueprint(
            reading.blueprint,
            problem.folder,
            problem,
            seconds=seconds,
            understood=not reading.not_understood,
        )
        known = {finding.subject for finding in found.of("missing")}
        findings = [f for f in findings if f.code != "missing-value" or f.subject not in known]
        findings += found.findings
        notes += found.notes
    return Audit(
        problem=problem.id,
        findings=ordered(findings),
        not_understood=tuple(str(gap) for gap in reading.not_understood),
        notes=tuple(dict.fromkeys(notes)),
    )


def audit_blueprint(
    blueprint: Blueprint,
    folder: Path,
    problem: Problem | None = None,
    *,
    name: str = "blueprint",
    understood: bool = True,
    seconds: float = SECONDS,
) -> Audit:
    """Audit a blueprint with its data; words come from the problem where there is one.

    Parameters
    ----------
    understood
        Whether the blueprint stands for all of the text; see
        :func:`~engiagent.explain.audit.infeasible.examine`.
    """
    text = Text(problem, folder=folder)
    findings = list(blueprint_gaps(blueprint, folder, text))
    findings += _proportions(blueprint, folder, text)
    examined = examine(blueprint, folder, text, understood=understood, seconds=seconds)
    assumed = _assumptions(blueprint)
    return Audit(
        problem=name,
        findings=ordered([*findings, *examined.findings]),
        notes=(*assumed, *examined.notes),
    )


def _stated(reading: Reading, problem: Problem, text: Text) -> Iterator[Finding]:
    """Yield what a reading itself names: values that are not there, and words that clash."""
    for item in reading.missing:
        yield Finding(
            code="missing-value",
            severity="missing",
            component=item.component or "parameter",
            quantity=item.quantity,
            explanation=item.reason,
            suggestion="add it to the problem",
        )
    for gap in reading.contradictions:
        starts = [(problem.text.find(quote), len(quote)) for quote in gap.quotes]
        places = text.spans([(start, start + size) for start, size in starts if start >= 0])
        yield Finding(
            code="contradiction",
            severity="contradictory",
            component="text",
            quantity="",
            explanation=str(gap),
            suggestion="correct the one that is wrong",
            places=places,
        )


def _proportions(blueprint: Blueprint, folder: Path, text: Text) -> Iterator[Finding]:
    """Yield parameters that are unusual, alone and in proportion to each other."""
    try:
        known = components_of(blueprint, folder)
    except EngiagentError:
        return
    yield from odd_parameters(known, text)
    yield from odd_ratios(known, text)


def _assumptions(blueprint: Blueprint) -> tuple[str, ...]:
    extended = blueprint.extended_analysis_and_robustness
    found = extended.key_assumptions if extended is not None else ()
    return tuple(
        str(item["content"])
        for item in found
        if item.get("content") and item.get("source_reference") is None
    )


def _absent_data(path: Path, error: InputError) -> Audit | None:
    """Return an audit that says which listed data file is absent; None for any other error."""
    folder = path if path.is_dir() else path.parent
    name = error.file
    listed = name is not None and not (folder / name).exists() and (folder != Path(name))
    if not listed or not path.exists():
        return None
    finding = Finding(
        code="missing-file",
        severity="missing",
        component="data",
        quantity=str(name),
        explanation=str(replace(error, line=None, column=None)),
        suggestion="put the file beside the problem",
        places=(Place(str(name), error.line, error.column, ""),),
    )
    return Audit(
        problem=path.stem,
        findings=(finding,),
        notes=("nothing else was examined: the problem cannot be read without its data",),
    )
