"""What a check of one path found."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from engiagent.cli import exit_codes
from engiagent.cli.exit_codes import ExitCode
from engiagent.cli.output import number, summary
from engiagent.cli.targets import ANSWER
from engiagent.run.folder import CERTIFICATE, is_run_folder
from engiagent.run.keyfigures import KeyFigures
from engiagent.run.proofs import Best
from engiagent.run.stored import Difference
from engiagent.verify.certificate import Certificate
from engiagent.verify.claims import verdict_line


@dataclass(frozen=True, kw_only=True)
class CheckResult:
    """What a check of one path found."""

    path: str
    code: ExitCode
    problem: str | None = None
    certificate: Mapping[str, Any] = field(default_factory=dict)  # as JSON; at most ``missing``
    verdict: str | None = None
    reason: str | None = None
    disagreements: tuple[str, ...] = ()  # with the stored answer
    # from the stored certificate; None when there was none to compare with
    differences: tuple[Difference, ...] | None = None
    error: str | None = None
    # left out, as no solver that is installed takes it or it is no problem; ``error`` says why
    skipped: bool = False
    seconds: float = 0.0
    source: Path | None = None  # what was checked
    schedule: Path | None = None  # an external schedule for it
    best: Best | None = None  # what a solver finds for the same problem beside that schedule
    # how to find the key figures of the plan; None where there is none, or no blueprint
    figures: Callable[[], KeyFigures] | None = field(default=None, compare=False, repr=False)

    @classmethod
    def of(cls, path: Path, certificate: Certificate) -> "CheckResult":
        """Return the result that a certificate is."""
        return cls(
            path=str(path),
            code=exit_codes.of_verdict(certificate.verdict),
            problem=certificate.problem,
            certificate=certificate.to_dict(),
            verdict=certificate.verdict,
        )

    @classmethod
    def without_plan(
        cls, path: Path, problem: str | None, reason: str, missing: Sequence[str] = ()
    ) -> "CheckResult":
        """Return the result of a path without a plan: ill-posed where data are missing."""
        verdict = "ill-posed" if missing else "undecided"
        return cls(
            path=str(path),
            code=exit_codes.of_verdict(verdict),
            problem=problem,
            certificate={"missing": tuple(missing)},
            verdict=verdict,
            reason=reason,
        )

    @property
    def distance(self) -> Mapping[str, Any] | None:
        """How far an external schedule is from the best; None where that is not known."""
        goal = self.objective or {}
        known = self.best is not None and goal.get("value") is not None
        return self.best.beside(goal) if self.best is not None and known else None

    @property
    def violations(self) -> list[Any]:
        """Broken requirements, then where the stored answer and the stored certificate differ."""
        found = list(self.certificate.get("violations") or ())
        found += [
            {"level": "answer", "check": ANSWER, "message": text} for text in self.disagreements
        ]
        if self.differences is not None and not self.verified:
            worst = next(d for d in self.differences if not d.allowed)
            text = f"the stored certificate is not what the check gives now: {worst}"
            found.append({"level": "certificate", "check": CERTIFICATE, "message": text})
        return found

    @property
    def objective(self) -> Mapping[str, Any] | None:
        """Value, unit and sense."""
        found: Mapping[str, Any] | None = self.certificate.get("objective")
        return found

    @property
    def amount(self) -> str:
        """The objective for people; empty without one."""
        goal = self.objective or {}
        return "" if goal.get("value") is None else number(goal["value"], goal.get("unit"))

    @property
    def bound(self) -> float | None:
        """The bound of the objective, in its unit."""
        return (self.certificate.get("bound") or {}).get("value")

    @property
    def missing(self) -> Sequence[str]:
        """What the problem does not give."""
        return self.certificate.get("missing") or ()

    @property
    def not_understood(self) -> Sequence[str]:
        """Sentences that nothing could judge."""
        return self.certificate.get("not_understood") or ()

    @property
    def line(self) -> str | None:
        """The verdict with the values that the user changed or gave."""
        return verdict_line(self.certificate) if "verdict" in self.certificate else self.verdict

    @property
    def word(self) -> str:
        """The verdict, or what there is in its place."""
        if self.skipped:
            return "skipped"
        return self.verdict or ("error" if self.error else "no verdict")

    @property
    def open_points(self) -> list[str]:
        """What is missing, what clashes, and what of the text only the author has read."""
        found = [*self.missing, *(self.certificate.get("contradictions") or ())]
        found += (self.certificate.get("reading") or {}).get("open") or ()
        return list(dict.fromkeys(map(str, found)))

    @property
    def verified(self) -> bool:
        """Whether there is a stored certificate that holds."""
        return self.differences is not None and all(d.allowed for d in self.differences)

    @property
    def notes(self) -> Sequence[str]:
        """How an external schedule was read, with the columns that are not used."""
        return [] if self.schedule is None else self.certificate.get("notes") or []

    def to_json(self) -> dict[str, Any]:
        """Return the object that ``--json`` prints for one path."""
        run = self.path if is_run_folder(Path(self.path)) else None
        found = summary(self, run=run, error=self.error, schema="engiagent-check/1")
        if self.distance is not None:
            found["best"] = dict(self.distance)
        if self.notes:
            found["notes"] = list(self.notes)
        if self.figures is not None:
            found["figures"] = self.figures().to_dict()["figures"]
        if self.differences is not None:
            found["verified"] = self.verified
            found["differences"] = [difference.to_dict() for difference in self.differences]
        return found


def tally(results: Sequence[CheckResult]) -> str:
    """Return in a line how many results are as they should be, and how many were left out."""
    judged = [result for result in results if not result.skipped]
    good = sum(result.code is ExitCode.FEASIBLE for result in judged)
    left = len(results) - len(judged)
    more = f"; {left} skipped, named above" if left else ""
    return f"{good} of {len(judged)} as they should be{more}"
