"""Whether a problem or a blueprint has all that is needed to solve it, and whether it can hold.

Which numbers of components are usual, alone and in proportion to each other, and why, is the table
``ranges.yaml``.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Final, Literal

import numpy as np

from engiagent.blueprint import Blueprint
from engiagent.blueprint.elaborate import Elaboration
from engiagent.blueprint.elements import ComponentDef
from engiagent.errors import EngiagentError
from engiagent.explain.conflicts import Statements
from engiagent.explain.labels import shown
from engiagent.explain.places import Finding, Part, Place, Severity, Text, as_json
from engiagent.explain.relaxed import without_gaps
from engiagent.formulations.compile import compile_blueprint
from engiagent.formulations.expansion import expand
from engiagent.formulations.program import Program
from engiagent.formulations.values import Floats
from engiagent.io.files import packaged_yaml
from engiagent.io.shows import Shows
from engiagent.io.tabular import SUFFIXES
from engiagent.readings import Reading
from engiagent.run.inputs import name_of, problem_beside, problem_folder_of
from engiagent.solvers.iis import Conflict, irreducible_set, without
from engiagent.text import Problem
from engiagent.units.unit import convert, parse_unit

__all__ = ["Audit", "Finding", "Part", "Place", "audit_blueprint", "audit_path", "audit_problem"]

SCHEMA: Final = "engiagent-audit/1"
SECONDS: Final = 30.0
"""For each search for requirements that cannot hold together."""
MOST_CONFLICTS: Final = 4
_FILE: Final = re.compile(
    r"(?<![\w./\\-])[\w-][\w./-]*?(?:" + "|".join(re.escape(s) for s in SUFFIXES) + r")(?![\w-])",
    re.I,
)

Verdict = Literal["complete", "undecided", "suspicious", "missing", "contradictory"]
ORDER: Final[tuple[Verdict, ...]] = (
    "complete",
    "undecided",
    "suspicious",
    "missing",
    "contradictory",
)
"""From good to bad; an audit is as bad as its worst finding."""


@dataclass(frozen=True, kw_only=True, repr=False)
class Audit(Shows):
    """What an audit found."""

    problem: str
    findings: tuple[Finding, ...] = ()  # the worst first
    # sentences that nothing here can judge; a verdict counts only as far as the rest goes
    not_understood: tuple[str, ...] = ()
    # standard values that apply because the text gives none, and what was not examined
    notes: tuple[str, ...] = ()

    @property
    def verdict(self) -> Verdict:
        """The worst severity; without findings, whether the text was understood in full."""
        nothing: Verdict = "undecided" if self.not_understood else "complete"
        return max((f.severity for f in self.findings), key=ORDER.index, default=nothing)

    def of(self, severity: Severity) -> tuple[Finding, ...]:
        """Return the findings of one severity."""
        return tuple(f for f in self.findings if f.severity == severity)

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON has it; ``parts`` and ``proof`` only where there are any."""
        findings = [
            {k: v for k, v in as_json(f).items() if v or k not in ("parts", "proof")}
            for f in self.findings
        ]
        return {
            "schema": SCHEMA,
            "problem": self.problem,
            "verdict": self.verdict,
            "findings": findings,
            "not_understood": list(self.not_understood),
            "notes": list(self.notes),
        }


def _ordered(findings: Sequence[Finding]) -> tuple[Finding, ...]:
    """Return findings without repeats, the worst first, else in the order of discovery.

    A second finding of the same kind about the same quantity repeats the first, unless it names
    other places.
    """
    found: list[Finding] = []
    for finding in findings:
        same = (f for f in found if (f.code, f.subject) == (finding.code, finding.subject))
        if not any(not finding.places or set(finding.places) <= set(f.places) for f in same):
            found.append(finding)
    return tuple(sorted(found, key=lambda f: -ORDER.index(f.severity)))


def audit_path(
    path: Path | str,
    blueprint: Path | str | None = None,
    overrides: Mapping[str, str] | None = None,
    seconds: float = SECONDS,
) -> Audit:
    """Audit a problem file or folder, a blueprint, or a problem with a given blueprint.

    Raises InputError when something cannot be read, as a data file that a problem lists.
    """
    given = Path(path)
    if blueprint is None and Blueprint.is_in(given):
        found = Blueprint.load(given)
        folder, problem = problem_folder_of(given), problem_beside(given)
        name = problem.id if problem is not None else name_of(given)
        return audit_blueprint(found, folder, problem, name=name, seconds=seconds)
    loaded = Problem.load(given)
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
    findings = [*_missing_files(problem, text), *_stated(reading, problem, text)]
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
        findings=_ordered(findings),
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
    findings = [*_gaps(blueprint, folder, text), *odd_numbers(blueprint, folder, text)]
    extended = blueprint.extended_analysis_and_robustness
    notes = [
        str(item["content"])
        for item in (extended.key_assumptions if extended is not None else ())
        if item.get("content") and item.get("source_reference") is None
    ]
    try:
        for found, rests_on_balance in _clashes(blueprint, folder, text, seconds):
            if understood or not rests_on_balance:
                findings.append(found)
            else:
                notes.append(f"as far as the text was understood, {found.explanation}")
    except EngiagentError as error:
        notes.append(f"whether the requirements can hold was not examined in full: {error}")
    return Audit(problem=name, findings=_ordered(findings), notes=tuple(notes))


# -- what clashes ----------------------------------------------------------------------------------


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
        component = item.component or "parameter"
        yield _missing("value", component, item.quantity, item.reason, "add it to the problem")
    for gap in reading.contradictions:
        starts = [(problem.text.find(quote), len(quote)) for quote in gap.quotes]
        yield Finding(
            code="contradiction",
            severity="contradictory",
            component="text",
            quantity="",
            explanation=str(gap),
            suggestion="correct the one that is wrong",
            places=text.spans([(start, start + size) for start, size in starts if start >= 0]),
        )


# -- what is missing -------------------------------------------------------------------------------


def _missing(
    what: str,
    component: str,
    quantity: str,
    explanation: str,
    suggestion: str,
    places: tuple[Place, ...] = (),
) -> Finding:
    return Finding(
        code=f"missing-{what}",
        severity="missing",
        component=component,
        quantity=quantity,
        explanation=explanation,
        suggestion=suggestion,
        places=places,
    )


def _gaps(blueprint: Blueprint, folder: Path, text: Text) -> Iterator[Finding]:
    """Yield what keeps a blueprint from being solved because it is not there.

    Sets that cannot be built are the business of static analysis.
    """
    core = blueprint.core
    slots = {
        name: (component.name, slot)
        for component in core.components
        for slot, name in component.parameters.items()
        if isinstance(name, str)
    }
    for parameter in core.parameters:
        subject = slots.get(parameter.name, ("parameter", parameter.name))
        if parameter.status == "missing":
            explanation = f"{parameter.description or parameter.name} has no value"
            suggestion = f"give {parameter.name} a value in {parameter.unit or '1'}"
            places = text.of(parameter.source_reference)
            yield _missing("value", *subject, explanation, suggestion, places)
        elif parameter.data is not None:
            try:
                Elaboration(core, folder).table(parameter.name)
            except EngiagentError as error:
                file, _, column = str(parameter.data).partition("#")
                yield _missing(
                    "series" if (folder / file).is_file() else "file",
                    *subject,
                    f"{parameter.name} cannot be read from {file}: {error}",
                    "complete the file, or correct its name, column or length",
                    tuple(text.cells(file, column or None, ())),
                )
    if blueprint.kind == "programme" and core.objective_function is None:
        explanation = "the blueprint has no objective"
        suggestion = "add an objective_function, or a constant one if any schedule will do"
        yield _missing("objective", "objective", "sense", explanation, suggestion)


def _missing_files(problem: Problem, text: Text) -> Iterator[Finding]:
    """Yield the data files that the text names and that do not lie beside it."""
    seen = {problem.path.name}
    for match in _FILE.finditer(problem.text, problem.body_start):
        name = match[0]
        if name in problem.data or name in seen or (problem.folder / name).is_file():
            continue
        seen.add(name)
        explanation = f"the file {name} does not lie beside the problem"
        at = (text.at(match.span()),)
        yield _missing("file", "data", name, explanation, "put it there, or correct its name", at)


LISTED: Final = 6
_QUANTITY: Final = re.compile(r"\s*([-+]?[\d.]+(?:[eE][-+]?\d+)?)\s*\[([^\]]+)\]\s*")
"""A number with its unit in the slot itself, as ``200[kWh]``."""


@dataclass(frozen=True)
class _Known:
    """A parameter of a component with its numbers in ``unit``, flattened."""

    component: ComponentDef
    slot: str
    source: Any
    values: Floats
    unit: str


@lru_cache(maxsize=1)
def _table() -> Any:
    return packaged_yaml("engiagent.explain", "ranges.yaml")


def odd_numbers(blueprint: Blueprint, folder: Path, text: Text) -> Iterator[Finding]:
    """Yield numbers outside what is usual for their slot, and pairs out of proportion."""
    try:
        known = list(_components(blueprint, folder))
    except EngiagentError:
        return
    for item in known:
        usual = _table()["slots"].get(item.component.model, {}).get(item.slot)
        if usual is not None:
            yield from _odd(item, usual, text)
    by_place = {(item.component.name, item.slot): item for item in known}
    for ratio in _table()["ratios"]:
        for (name, slot), first in by_place.items():
            second = by_place.get((name, ratio["second"]))
            fits = first.component.model == ratio["component"] and slot == ratio["first"]
            if fits and second is not None:
                yield from _disproportion(ratio, first, second, text)


def _components(blueprint: Blueprint, folder: Path) -> Iterator[_Known]:
    """Yield the parameters of all components whose numbers are known."""
    elaboration = Elaboration(blueprint.core, folder)
    named = {p.name: p for p in blueprint.core.parameters}
    for component in blueprint.core.components:
        for slot, given in component.parameters.items():
            parameter = named.get(given) if isinstance(given, str) else None
            inline = _QUANTITY.fullmatch(given) if isinstance(given, str) else None
            try:
                if inline is not None:
                    values, unit = np.array([float(inline[1])]), inline[2]
                elif parameter is None:
                    values, unit = np.array([float(given)]), ""
                elif parameter.status == "missing":
                    continue
                else:
                    values = np.asarray(elaboration.table(parameter.name).values, dtype=float)
                    unit = str(parameter.unit or "1")
            except (EngiagentError, ValueError, TypeError):
                continue
            source = parameter.source_reference if parameter is not None else None
            yield _Known(component, slot, source, values.ravel(), unit)


def _odd(item: _Known, usual: Any, text: Text) -> Iterator[Finding]:
    """Yield a number that is unusual, or impossible, for its slot."""
    unit, numbers = usual["unit"], item.values
    if item.unit:
        try:
            source, target = parse_unit(item.unit), parse_unit(unit)
            numbers = np.array([convert(float(x), source, target) for x in numbers])
        except EngiagentError:
            return
    low, high = map(float, usual["usual"])
    wrong = np.flatnonzero(~((numbers >= low - 1e-12) & (numbers <= high + 1e-12)))
    if not wrong.size:
        return
    worst = float(numbers[wrong[np.argmax(np.abs(numbers[wrong]))]])
    least, most = map(float, usual["possible"])
    words, span = ("is unusual for", "usual are"), f"{shown(low, unit)} to {shown(high, unit)}"
    possible = least - 1e-12 <= worst <= most + 1e-12
    if not possible:
        words, span = ("cannot be", "possible are"), f"{shown(least, unit)} to {shown(most, unit)}"
    yield Finding(
        code="unusual-value" if possible else "implausible-value",
        severity="suspicious",
        component=item.component.name,
        quantity=item.slot,
        explanation=f"{shown(worst, unit)} {words[0]} the {usual['said']}; {words[1]} {span}: "
        f"{usual['because'].strip()}",
        suggestion="check number and unit",
        places=text.of(item.source, [int(k) for k in wrong[:LISTED]]),
    )


def _disproportion(ratio: Any, first: _Known, second: _Known, text: Text) -> Iterator[Finding]:
    """Yield two parameters whose quotient, or product, is out of its usual range."""
    a, b = float(np.max(first.values)), float(np.max(second.values))
    unit, product = ratio["unit"], bool(ratio.get("product"))
    if b == 0.0 and not product:
        return
    try:
        one, other = parse_unit(first.unit or "1"), parse_unit(second.unit or "1")
        measure = one * other if product else one / other
        value = convert(a * b if product else a / b, measure, parse_unit(unit))
    except EngiagentError:
        return
    low, high = map(float, ratio["usual"])
    if low <= value <= high:
        return
    found = f"{value * 3600:.3g} s" if value < low else shown(value, unit)
    yield Finding(
        code="out-of-proportion",
        severity="suspicious",
        component=first.component.name,
        quantity=f"{first.slot}{'*' if product else '/'}{second.slot}",
        explanation=f"{first.slot.replace('_', ' ')} {shown(a, first.unit)} and "
        f"{second.slot.replace('_', ' ')} {shown(b, second.unit)} make a {ratio['said']} of "
        f"{found}; usual are {shown(low, unit)} to {shown(high, unit)}: {ratio['because'].strip()}",
        suggestion="check both numbers and their units, kW against MW and kWh against MWh",
        places=text.of([item.source for item in (first, second) if item.source is not None]),
    )
