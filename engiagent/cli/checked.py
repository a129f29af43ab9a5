"""The result of checking one path."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from engiagent.cli import exit_codes
from engiagent.cli.annotations import ANSWER
from engiagent.cli.exit_codes import ExitCode
from engiagent.cli.output import summary
from engiagent.run.folder import CERTIFICATE, is_run_folder
from engiagent.run.reverify import Difference
from engiagent.text import Problem
from engiagent.verify.certificate import Certificate
from engiagent.verify.claims import verdict_line


@dataclass(frozen=True, kw_only=True)
class CheckResult:
    """What a check of one path found.

    Attributes
    ----------
    disagreements
        With the stored answer.
    differences
        From the stored certificate; None when there was none to compare with.
    """

    path: str
    code: ExitCode
    problem: str | None = None
    certificate: Mapping[str, Any] | None = None
    verdict: str | None = None
    reason: str | None = None
    missing: tuple[str, ...] = ()
    disagreements: tuple[str, ...] = ()
    differences: tuple[Difference, ...] | None = None
    error: str | None = None

    def certified(self, key: str) -> Any:
        """Return an entry of the certificate; None without one."""
        return (self.certificate or {}).get(key)

    @property
    def violations(self) -> list[Any]:
        """Broken requirements, then what the stored answer and the stored certificate say else."""
        found = list(self.certified("violations") or ())
        found += [
            {"level": "answer", "check": ANSWER, "message": text} for text in self.disagreements
        ]
        if self.differences is not None and not self.verified:
            worst = next(d for d in self.differences if not d.allowed)
            text = f"the stored certificate is not what the check gives now: {worst}"
            found.append({"level": "certificate", "check": CERTIFICATE, "message": text})
        return found

    @property
    def line(self) -> str | None:
        """The verdict with the values that the user changed or gave."""
        return verdict_line(self.certificate) if self.certificate is not None else self.verdict

    @property
    def open_points(self) -> list[str]:
        """What is missing, what clashes, and what of the text nobody else has read."""
        found = [*self.missing, *(self.certified("missing") or ())]
        found += self.certified("contradictions") or ()
        found += (self.certified("reading") or {}).get("open") or ()
        return list(dict.fromkeys(map(str, found)))

    @property
    def disturbance(self) -> Mapping[str, Any] | None:
        """What the runs with disturbances found; None where there were none."""
        levels = self.certified("levels") or {}
        found: Mapping[str, Any] | None = levels.get("physics", {}).get("disturbance")
        return found

    @property
    def verified(self) -> bool:
        """Whether there is a stored certificate that holds."""
        return self.differences is not None and all(d.allowed for d in self.differences)

    def to_json(self) -> dict[str, Any]:
        """Return the object that ``--json`` prints for one path."""
        bound = self.certified("bound")
        found = summary(
            problem=self.problem,
            verdict=self.verdict,
            objective=self.certified("objective"),
            bound=bound.get("value") if isinstance(bound, Mapping) else None,
            missing=self.certified("missing") or self.missing,
            not_understood=self.certified("not_understood") or (),
            violations=self.violations,
            certificate=self.certificate,
            run=self.path if is_run_folder(Path(self.path)) else None,
            error=self.error,
            schema="engiagent-check/1",
        )
        if self.differences is not None:
            found["verified"] = self.verified
            found["differences"] = [difference.to_dict() for difference in self.differences]
        return found


def of_certificate(path: Path, certificate: Certificate) -> CheckResult:
    """Return the result that a certificate is."""
    return CheckResult(
        path=str(path),
        code=exit_codes.of_verdict(certificate.verdict),
        problem=certificate.problem,
        certificate=certificate.to_dict(),
        verdict=certificate.verdict,
    )


def without_plan(
    path: Path, problem: str | None, reason: str, missing: tuple[str, ...] = ()
) -> CheckResult:
    """Return the result of a path without a plan: ill-posed where data are missing."""
    verdict = "ill-posed" if missing else "undecided"
    return CheckResult(
        path=str(path),
        code=exit_codes.of_verdict(verdict),
        problem=problem,
        verdict=verdict,
        reason=reason,
        missing=missing,
    )


def read_offline(path: Path, problem: Problem) -> CheckResult:
    """Return what the plant block of a problem without a blueprint leaves open."""
    from engiagent.readings.read import read

    found = read(problem)
    unclear = "undecided" if found.not_understood else None
    posed = "ill-posed" if found.missing or found.contradictions else None
    verdict = unclear or posed
    return CheckResult(
        path=str(path),
        code=exit_codes.of_verdict(verdict),
        problem=problem.id,
        verdict=verdict,
        missing=found.lacking,
        reason="no blueprint of the experts; read by the offline engine",
    )
