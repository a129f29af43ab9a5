"""How a run ended."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from engiagent.run.folder import State
from engiagent.run.keyfigures import KeyFigures


@dataclass(frozen=True, kw_only=True)
class RunOutcome:
    """How a run ended.

    Attributes
    ----------
    state
        ``done``, ``failed`` (an error stopped it) or ``interrupted``.
    verdict
        The certificate's; ``undecided`` where a run ends without one, None when it failed.
    reason
        What led to a verdict other than certified, or to the state.
    solver_status
        The solver's own status, None when nothing was solved.
    choice
        Which solver was chosen and why, as text of several lines.
    objective, bound
        As the certificate has them: value, unit and sense, and the bound's value.
    missing, contradictions, not_understood, violations
        What the problem does not give, statements of it that clash, sentences that were not
        understood, broken requirements.
    cases
        The base and the cases of the blueprint's report as solved: case, status, objective.
    figures
        The key figures of the plan; none without one.
    why_missing
        Why each of ``missing`` is needed, by name.
    error
        The error behind the state ``failed``.
    """

    problem: str
    folder: Path
    state: State
    verdict: str | None
    reason: str | None = None
    solver_status: str | None = None
    choice: str | None = None
    objective: Mapping[str, Any] | None = None
    bound: float | None = None
    missing: tuple[str, ...] = ()
    contradictions: tuple[str, ...] = ()
    not_understood: tuple[str, ...] = ()
    violations: tuple[Any, ...] = ()
    why_missing: Mapping[str, str] = field(default_factory=dict)
    certificate: Mapping[str, Any] | None = None
    error: Exception | None = None
    notes: tuple[str, ...] = ()
    cases: tuple[Mapping[str, Any], ...] = ()
    figures: KeyFigures = field(default_factory=KeyFigures)
