"""The audit of a problem, of a blueprint, or of both together."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Final

from engiagent.blueprint import Blueprint
from engiagent.errors import EngiagentError, InputError
from engiagent.explain.audit.blueprints import blueprint_gaps, missing_files
from engiagent.explain.audit.findings import Audit, Finding, ordered
from engiagent.explain.audit.proportions import components_of, odd_parameters, odd_ratios
from engiagent.explain.conflicts import Statements
from engiagent.explain.places import Place, Text
from engiagent.explain.relaxed import without_gaps
from engiagent.formulations.compile import compile_blueprint
from engiagent.formulations.expansion import expand
from engiagent.formulations.program import Program
from engiagent.readings import Reading
from engiagent.run.inputs import name_of, problem_beside, problem_folder_of
from engiagent.solvers.iis import Conflict, irreducible_set, without
from engiagent.text import Problem

SECONDS: Final = 30.0
"""For each search for requirements that cannot hold together."""
MOST_CONFLICTS: Final = 4


def audit_path(
    path: Path | str,
    blueprint: Path | str | None = None,
    overrides: Mapping[str, str] | None = None,
    seconds: float = SECONDS,
) -> Audit:
    """Audit a problem file or folder, a blueprint, or a problem with a given blueprint.

    Raises InputError when something cannot be read. A data file that a problem lists and that is
    absent is a finding and no error.
    """
    given = Path(path)
    if blueprint is None and Blueprint.is_in(given):
        found = Blueprint.load(given)
        folder, problem = problem_folder_of(given), problem_beside(given)
        name = problem.id if problem is not None else name_of(given)
        return audit_blueprint(found, folder, problem, name=name, seconds=seconds)
    try:
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

    ``overrides``: values of the user, as for a run. ``seconds``: how long each search for
    requirements that cannot hold together may take.
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

    ``understood``: whether the blueprint stands for all of the text. If not, requirements that
    clash with a balance could be resolved by what was not understood, and are only noted.
    """
    text = Text(problem, folder=folder)
    findings = [*blueprint_gaps(blueprint, folder, text), *_proportions(blueprint, folder, text)]
    notes = list(_assumptions(blueprint))
    try:
        for found, rests_on_balance in _clashes(blueprint, folder, text, seconds):
            if understood or not rests_on_balance:
                findings.append(found)
            else:
                notes.append(f"as far as the text was understood, {found.explanation}")
    except EngiagentError as error:
        notes.append(f"whether the requirements can hold was not examined in full: {error}")
    return Audit(problem=name, findings=ordered(findings), notes=tuple(notes))


def _clashes(
    blueprint: Blueprint, folder: Path, text: Text, seconds: float
) -> Iterator[tuple[Finding, bool]]:
    """Yield sets of requirements that cannot hold together, and whether one is a balance.

    The blueprint is compiled without its objective and without what rests on missing values. The
    smallest set of constraints and bounds that has no solution is found; then what it states is
    left out, and the next one is looked for.
    """
    if blueprint.kind == "definitions":
        return
    demands = without_gaps(expand(blueprint))
    program: Program = compile_blueprint(demands, folder)
    statements = Statements(demands, folder, text)
    for _ in range(MOST_CONFLICTS):
        conflict = irreducible_set(program, seconds=seconds)
        if conflict is None:
            return
        balance = any(statements.is_balance(m.family) for m in conflict.members)
        yield _clash(statements, conflict, balance=balance), balance
        stated = [m.family for m in conflict.members if statements.is_stated(m.family)]
        if not stated:
            return
        program = without(program, stated)


def _clash(statements: Statements, conflict: Conflict, *, balance: bool) -> Finding:
    parts, proof = statements.parts(conflict), statements.proof(conflict)
    component, quantity = statements.subject(conflict.members)
    numbered = "; ".join(f"({number}) {part.text}" for number, part in enumerate(parts, 1))
    explanation = f"these {len(parts)} requirements cannot all hold: {numbered}"
    if len(parts) == 1:
        explanation = f"this cannot hold: {parts[0].text}"
    single = len({statements.variable_of(m.family) for m in conflict.members}) == 1
    return Finding(
        code="limits-clash" if single and not balance else "infeasible",
        severity="contradictory" if proof["checked"] else "suspicious",
        component=component,
        quantity=quantity,
        explanation=explanation,
        suggestion="relax one of these: correct the number that is wrong, or say "
        "which requirement may be broken",
        places=tuple(dict.fromkeys(place for part in parts for place in part.places)),
        parts=parts,
        proof=proof,
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
