"""The audit of a problem text, of a blueprint, or of both together."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from engiagent.audit import absences, clashes, flows, gaps, opposed, slips
from engiagent.audit.blueprints import blueprint_gaps
from engiagent.audit.evidence import Evidence, evidence_of
from engiagent.audit.findings import Audit, Finding, ordered
from engiagent.audit.infeasible import examine
from engiagent.audit.proportions import components_of, odd_parameters, odd_ratios
from engiagent.blueprint import Blueprint
from engiagent.errors import EngiagentError, InputError
from engiagent.explain.places import Place, Span, Text

if TYPE_CHECKING:
    from engiagent.agents.offline import Conflict, Understanding
    from engiagent.problems import Problem

SECONDS: Final = 30.0
"""For each search for demands that cannot hold together."""


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
    from engiagent.runinputs import name_of, problem_beside, problem_folder_of

    given = Path(path)
    if blueprint is None and given.suffix.lower() == ".json":
        found = Blueprint.load(given)
        folder, problem = problem_folder_of(given), problem_beside(given)
        name = problem.id if problem is not None else name_of(given)
        return audit_blueprint(found, folder, problem, name=name, seconds=seconds)
    try:
        from engiagent.problems import Problem

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
    problem: "Problem", overrides: Mapping[str, str] | None = None, *, seconds: float = SECONDS
) -> Audit:
    """Audit a problem as the offline engine reads it.

    Parameters
    ----------
    overrides
        Values of the user, as for a run.
    seconds
        How long each search for demands that cannot hold together may take.
    """
    from engiagent.agents.offline import understand

    found = understand(problem, overrides)
    return _Problem(problem, found).audit(seconds)


def quick_audit(problem: "Problem", found: "Understanding") -> Audit:
    """Audit what a text says without solving anything; for a run, which solves anyway."""
    return _Problem(problem, found).audit(None)


def audit_blueprint(
    blueprint: Blueprint,
    folder: Path,
    problem: "Problem | None" = None,
    *,
    name: str = "blueprint",
    seconds: float = SECONDS,
) -> Audit:
    """Audit a blueprint with its data; words come from the problem where there is one."""
    text = Text(problem, folder=folder)
    findings = list(blueprint_gaps(blueprint, folder, text))
    findings += _proportions(blueprint, folder, text)
    examined = examine(blueprint, folder, text, understood=True, seconds=seconds)
    assumed = _assumptions(blueprint)
    return Audit(
        problem=name,
        findings=ordered([*findings, *examined.findings]),
        notes=(*assumed, *examined.notes),
    )


@dataclass(frozen=True)
class _Problem:
    """A problem and what the engine understood of it."""

    problem: "Problem"
    found: "Understanding"

    def audit(self, seconds: float | None) -> Audit:
        """Return the audit; without ``seconds`` nothing is solved."""
        text, analysis = Text(self.problem, folder=self.problem.folder), self.found.analysis
        findings = list(self._told(text))
        unknown, evidence = self._unread()
        nouns = [noun for _, noun in unknown]
        left_open = list(gaps.open_values(self.found, evidence, nouns))
        notes = [*analysis.assumptions, *analysis.notes, *left_open]
        if seconds is not None:
            examined = self._examined(text, seconds, notes)
            proven = {f.component for f in examined if f.code == "limits-clash"}
            findings = [
                f for f in findings if f.code != "outside-limits" or f.component not in proven
            ]
            findings += examined
        kept = ordered(list(self._without_echoes(findings)))
        return Audit(
            problem=self.problem.id,
            findings=kept,
            not_understood=tuple(self._unclear(kept)) or (() if kept else tuple(left_open)),
            notes=tuple(dict.fromkeys(notes)),
        )

    def _told(self, text: Text) -> Iterator[Finding]:
        """Yield what needs no solver."""
        found, problem = self.found, self.problem
        unknown, evidence = self._unread()
        nouns = [noun for _, noun in unknown]
        yield from clashes.stated_clashes(found, text, evidence)
        yield from slips.implausible_values(found, text, evidence)
        yield from slips.confused_units(found, text, evidence)
        yield from slips.reversed_bands(found, problem, text)
        yield from slips.unusual_values(found, problem, text, evidence)
        missing = list(gaps.missing_values(found, text, evidence, nouns))
        yield from missing
        yield from absences.stated_absences(unknown, missing, text)
        yield from absences.missing_cells(problem, text)
        yield from gaps.missing_files(problem, text)
        yield from gaps.missing_columns(found, problem, text)
        yield from gaps.short_series(found, problem, text, evidence)
        yield from gaps.unknown_limits(found, problem, text, evidence)
        if not found.analysis.complete:
            yield from flows.flow_clashes(found, problem, text)
            yield from opposed.opposed_limits(found, text)
        if found.analysis.blueprint is not None:
            yield from _proportions(found.analysis.blueprint, problem.folder, text, alone=False)

    def _unread(self) -> tuple[list[tuple[Span, str]], Evidence]:
        """Return what the text says to be unknown, and what else was not understood."""
        unknown = list(absences.unknown_values(self.found, self.problem))
        if self.found.analysis.complete:
            return unknown, Evidence()
        return unknown, evidence_of(self.found, self.problem, [span for span, _ in unknown])

    def _examined(self, text: Text, seconds: float, notes: list[str]) -> list[Finding]:
        """Return the demands that cannot hold together, apart from ranges turned round."""
        analysis = self.found.analysis
        if analysis.blueprint is None:
            notes.append("whether the requirements can hold was not examined: no blueprint")
            return []
        result = examine(
            analysis.blueprint, self.problem.folder, text,
            understood=not analysis.not_understood, doubtful=self._doubtful(), seconds=seconds,
        )  # fmt: skip
        notes += result.notes
        turned = self._turned()
        return [
            finding
            for finding in result.findings
            if not turned or len(finding.parts) > 1 or not self._within(finding, turned)
        ]

    def _doubtful(self) -> list[Span]:
        """Return the places that were read in one way and could be read in another.

        A number that is outside its range spoils nothing around it, and what is said twice is
        doubtful only where it stands.
        """
        analysis = self.found.analysis
        spans = [e.span for e in analysis.not_understood if _HARMLESS not in e.reason]
        said = {c.message for c in analysis.conflicts}
        spans += [e.span for e in analysis.ambiguous if e.message not in said]
        twice = [c.spans for c in analysis.conflicts if c.code == "two-values"]
        return [*spans, *(span for places in twice for span in places)]

    def _turned(self) -> list[Span]:
        found = self.found.draft.bands
        return [b.span for b in found if slips.reversed_range(b, self.problem) is not None]

    def _within(self, finding: Finding, spans: Iterable[Span]) -> bool:
        lines = [(self.problem.place(a), self.problem.place(b)) for a, b in spans]
        return all(
            any(start <= (p.line, p.column) <= end for start, end in lines) for p in finding.places
        )

    def _without_echoes(self, findings: list[Finding]) -> Iterator[Finding]:
        """Yield findings but those that only follow from another.

        A value is neither missing nor given twice where a number stands for it that cannot be
        right, and a start lies outside a range because the range is turned round.
        """
        slipped = {
            (f.component, target)
            for f in findings
            if f.code in ("implausible-value", "confused-unit")
            for target in _settled(f.quantity)
        }
        kinds = {(_kind(component), quantity) for component, quantity in slipped}
        turned = {f.component for f in findings if f.code == "band-reversed"}
        confused = {p for f in findings if f.code == "confused-unit" for p in f.places}
        absent = any(f.code == "missing-column" for f in findings)
        for finding in findings:
            lacks = (_kind(finding.component), finding.quantity)
            if finding.code == "missing-value" and lacks in kinds:
                continue
            if finding.code == "outside-limits" and finding.component in turned:
                continue
            if finding.code == "two-values" and confused & set(finding.places):
                continue
            # Without the column that the text names, another one was taken for it.
            if absent and finding.code == "unusual-value" and _in_files(finding, self.problem):
                continue
            yield finding

    def _unclear(self, findings: tuple[Finding, ...]) -> Iterator[str]:
        """Yield the sentences that stay unclear beside what the findings say."""
        places = {
            (p.line, p.column)
            for f in findings
            for p in f.places
            if p.line is not None and p.column is not None
        }
        analysis = self.found.analysis
        entries = [(e.text, e.span, e.reason) for e in analysis.not_understood]
        entries += [(e.text, e.span, e.message) for e in analysis.ambiguous]
        said = {c.message for c in analysis.conflicts if _reported(c, findings)}
        seen: dict[str, None] = {}
        for words, span, reason in entries:
            inside = any(
                self.problem.place(span[0]) <= place <= self.problem.place(span[1])
                for place in places
            )
            if reason in said or (inside and _explained(reason, findings)):
                continue
            seen[f"{' '.join(words.split())} ({reason})"] = None
        if analysis.blueprint is None and not {"battery", "zone"} & self.found.owners.present:
            seen[f"{self.problem.title} (no battery and no heated room is recognised)"] = None
        yield from seen


_HARMLESS: Final = "is outside the plausible range"
_ECHOES: Final = (
    _HARMLESS, "has no place in the model", "nothing takes the number",
    "no rule covers the requirement",
)  # fmt: skip


_INSTEAD: Final = ("limits-clash", "band-reversed", "confused-unit")


def _reported(conflict: "Conflict", findings: tuple[Finding, ...]) -> bool:
    """Whether a finding says what the engine found to clash, or what is behind it."""
    return any(
        f.explanation.startswith(conflict.message)
        or (f.code in _INSTEAD and f.component == conflict.component)
        for f in findings
    )


def _explained(reason: str, findings: tuple[Finding, ...]) -> bool:
    """Whether a reason of the engine says no more than a finding does."""
    if not any(echo in reason for echo in _ECHOES):
        return False
    if "nothing takes the number" in reason:
        number = reason.partition("nothing takes the number ")[2]
        return any(number in p.quote for f in findings for p in f.places)
    return True


def _in_files(finding: Finding, problem: "Problem") -> bool:
    return any(place.file in problem.data for place in finding.places)


def _settled(quantity: str) -> set[str]:
    """Return the model parameters that a slot stands for."""
    from engiagent.agents.offline.cards import lexicon
    from engiagent.agents.offline.overrides import targets

    slots = [c.slots[quantity] for c in lexicon().cards.values() if quantity in c.slots]
    return {quantity, *(name for slot in slots for name in targets(slot))}


def _kind(component: str) -> str:
    """Return the kind of a component; a heat pump is a heater, as is a heater of a zone."""
    from engiagent.agents.offline.cards import lexicon

    if component in ("heat_pump",):
        return "heater"
    return next((k for k in lexicon().cards if component == k or component.endswith(f"_{k}")),
                component)  # fmt: skip


def _proportions(
    blueprint: Blueprint, folder: Path, text: Text, *, alone: bool = True
) -> Iterator[Finding]:
    """Yield odd parameters and proportions; odd parameters only for a blueprint ``alone``."""
    try:
        known = components_of(blueprint, folder)
    except EngiagentError:
        return
    if alone:
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
