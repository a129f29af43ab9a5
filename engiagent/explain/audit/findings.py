"""What an audit says: findings with their places, and the verdict that follows from them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from engiagent.explain.places import Part, Place, as_json
from engiagent.io.shows import Shows

SCHEMA: Final = "engiagent-audit/1"

Verdict = Literal["complete", "undecided", "suspicious", "missing", "contradictory"]
Severity = Literal["suspicious", "missing", "contradictory"]

ORDER: Final[tuple[Verdict, ...]] = (
    "complete",
    "undecided",
    "suspicious",
    "missing",
    "contradictory",
)
"""From good to bad; an audit is as bad as its worst finding."""


@dataclass(frozen=True, kw_only=True)
class Finding:
    """One thing that is missing, clashes or looks like a slip."""

    code: str  # a stable name, as ``missing-value`` or ``infeasible``
    severity: Severity
    # component, quantity: of what; ``time`` and ``objective`` count as components
    component: str
    quantity: str
    explanation: str
    suggestion: str
    # where the text or the data speaks of it; empty where nothing does
    places: tuple[Place, ...] = ()
    parts: tuple[Part, ...] = ()  # the members of a set that clashes
    # how it is known that they clash: ``method``, ``checked`` (whether the checker, or an
    # evaluation of multipliers here, confirmed it), ``margin``
    proof: Mapping[str, Any] | None = None

    @property
    def subject(self) -> str:
        """The quantity with its component, as ``battery.energy_capacity``."""
        return f"{self.component}.{self.quantity}" if self.quantity else self.component

    @property
    def proven(self) -> bool:
        """Whether a proof was checked."""
        return self.proof is not None and bool(self.proof.get("checked"))

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON has it; ``parts`` and ``proof`` only where there are any."""
        whole = as_json(self)
        return {k: v for k, v in whole.items() if v or k not in ("parts", "proof")}


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
        """Return it as JSON has it."""
        return {
            "schema": SCHEMA,
            "problem": self.problem,
            "verdict": self.verdict,
            "findings": [finding.to_dict() for finding in self.findings],
            "not_understood": list(self.not_understood),
            "notes": list(self.notes),
        }


def ordered(findings: Sequence[Finding]) -> tuple[Finding, ...]:
    """Return findings without repeats, the worst first, else in the order of discovery.

    A second finding of the same kind about the same quantity repeats the first, unless it names
    other places.
    """
    kept: list[Finding] = []
    for finding in findings:
        same = [
            f
            for f in kept
            if (f.code, f.subject) == (finding.code, finding.subject)
            and (not finding.places or set(finding.places) <= set(f.places))
        ]
        if not same:
            kept.append(finding)
    return tuple(sorted(kept, key=lambda f: -ORDER.index(f.severity)))
