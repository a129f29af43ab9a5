"""How a run ended."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from engiagent.run.folder import State
from engiagent.run.keyfigures import KeyFigures


@dataclass(frozen=True, kw_only=True)
class RunOutcome:
    """How a run ended."""

    problem: str
    folder: Path
    state: State  # ``done``, ``failed`` (an error stopped it) or ``interrupted``
    # the certificate's; ``undecided`` where a run ends without one, None when it failed
    verdict: str | None
    reason: str | None = None  # what led to a verdict other than certified, or to the state
    solver_status: str | None = None  # the solver's own status, None when nothing was solved
    choice: str | None = None  # which solver was chosen and why, as text of several lines
    # objective, bound: as the certificate has them: value, unit and sense, and the bound's value
    objective: Mapping[str, Any] | None = None
    bound: float | None = None
    # missing, contradictions, not_understood, violations: what the problem does not give,
    # statements of it that clash, sentences that were not understood, broken requirements
    missing: tuple[str, ...] = ()
    contradictions: tuple[str, ...] = ()
    not_understood: tuple[str, ...] = ()
    violations: tuple[Any, ...] = ()
    # why each of ``missing`` is needed, by name
    why_missing: Mapping[str, str] = field(default_factory=dict)
    certificate: Mapping[str, Any] | None = None
    error: Exception | None = None  # the error behind the state ``failed``
    notes: tuple[str, ...] = ()
    # the base and the cases of the blueprint's report as solved: case, status, objective
    cases: tuple[Mapping[str, Any], ...] = ()
    # the key figures of the plan; none without one
    figures: KeyFigures = field(default_factory=KeyFigures)
