"""Exit codes of the command line: one table."""

from collections.abc import Iterable
from enum import IntEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from engiagent.running import RunOutcome


class ExitCode(IntEnum):
    """What the exit code of a command says."""

    FEASIBLE = 0
    VIOLATED = 1
    USAGE = 2
    INFEASIBLE = 3
    UNDECIDED = 4
    LIMIT = 5
    ENDPOINT = 6
    SANDBOX = 7
    INTERNAL = 70
    INTERRUPTED = 130


MEANINGS = {
    ExitCode.FEASIBLE: "certified or feasible",
    ExitCode.VIOLATED: "violated: the schedule breaks a requirement",
    ExitCode.USAGE: "wrong usage or unreadable input",
    ExitCode.INFEASIBLE: "proven infeasible",
    ExitCode.UNDECIDED: "undecided, or data is missing",
    ExitCode.LIMIT: "a limit was hit before a checked schedule was found",
    ExitCode.ENDPOINT: "the model endpoint failed",
    ExitCode.SANDBOX: "this machine cannot confine a script; none was run",
    ExitCode.INTERNAL: "internal error, please report it",
    ExitCode.INTERRUPTED: "interrupted",
}

VERDICTS = {
    "certified": ExitCode.FEASIBLE,
    "feasible": ExitCode.FEASIBLE,
    "reproduced": ExitCode.FEASIBLE,
    "violated": ExitCode.VIOLATED,
    "proven infeasible": ExitCode.INFEASIBLE,
    "undecided": ExitCode.UNDECIDED,
}

LIMITED = ("limit", "feasible")
"""Statuses of a solver that stopped before it was done."""

# From bad to worse: a corpus in which anything is interrupted, unreadable, wrong … is just that.
_WORST_LAST = (
    ExitCode.FEASIBLE,
    ExitCode.INFEASIBLE,
    ExitCode.UNDECIDED,
    ExitCode.LIMIT,
    ExitCode.VIOLATED,
    ExitCode.ENDPOINT,
    ExitCode.SANDBOX,
    ExitCode.USAGE,
    ExitCode.INTERNAL,
    ExitCode.INTERRUPTED,
)


def worst(codes: Iterable[ExitCode]) -> ExitCode:
    """Return the worst of several exit codes; 0 for none."""
    return max(codes, key=_WORST_LAST.index, default=ExitCode.FEASIBLE)


def of_verdict(verdict: str | None, solver_status: str | None = None) -> ExitCode:
    """Return the exit code of a verdict; an unknown one counts as undecided."""
    code = VERDICTS.get(verdict or "", ExitCode.UNDECIDED)
    if code is ExitCode.UNDECIDED and solver_status in LIMITED:
        return ExitCode.LIMIT
    return code


def of_error(error: Exception) -> ExitCode:
    """Return the exit code of an error that ended a command."""
    from engiagent.errors import EngiagentError
    from engiagent.running import InternalError
    from engiagent.sandbox import SandboxError

    if isinstance(error, SandboxError):
        return ExitCode.SANDBOX
    if isinstance(error, InternalError) or not isinstance(error, EngiagentError):
        return ExitCode.INTERNAL
    return ExitCode.USAGE


def of_outcome(outcome: "RunOutcome") -> ExitCode:
    """Return the exit code of a run."""
    if outcome.state == "interrupted":
        return ExitCode.INTERRUPTED
    if outcome.error is not None:
        return of_error(outcome.error)
    return of_verdict(outcome.verdict, outcome.solver_status)


def table() -> str:
    """Return the table as text for help pages."""
    lines = [f"  {int(code):>3}  {meaning}" for code, meaning in MEANINGS.items()]
    return "Exit codes:\n\n\b\n" + "\n".join(lines)
