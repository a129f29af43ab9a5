"""Exit codes of the command line: one table."""

from collections.abc import Iterable
from enum import IntEnum

from engiagent.errors import EngiagentError, InfeasibleError, InternalError, SandboxError
from engiagent.verify.verdicts import VERDICTS


class ExitCode(IntEnum):
    """What the exit code of a command says."""

    FEASIBLE = VERDICTS["feasible"].exit_code
    VIOLATED = VERDICTS["violated"].exit_code
    USAGE = 2
    INFEASIBLE = VERDICTS["proven infeasible"].exit_code
    ILL_POSED = VERDICTS["ill-posed"].exit_code
    LIMIT = 5
    ENDPOINT = 6
    SANDBOX = 7
    SOLVED = VERDICTS["solved"].exit_code
    UNDECIDED = VERDICTS["undecided"].exit_code
    INTERNAL = 70
    INTERRUPTED = 130


MEANINGS = {
    ExitCode.FEASIBLE: "certified, feasible or reproduced",
    ExitCode.VIOLATED: "violated: the schedule breaks a requirement",
    ExitCode.USAGE: "wrong usage or unreadable input",
    ExitCode.INFEASIBLE: "proven infeasible",
    ExitCode.ILL_POSED: "ill-posed: data are missing, or statements of the problem clash",
    ExitCode.LIMIT: "a limit was hit before a checked schedule was found",
    ExitCode.ENDPOINT: "the model endpoint failed",
    ExitCode.SANDBOX: "this machine cannot confine a script; none was run",
    ExitCode.SOLVED: "solved: the plan holds for the blueprint, the reading of the text is open",
    ExitCode.UNDECIDED: "undecided: something could not be read, checked or solved here",
    ExitCode.INTERNAL: "internal error, please report it",
    ExitCode.INTERRUPTED: "interrupted",
}

# From bad to worse: a corpus in which anything is interrupted, unreadable, wrong … is just that.
_WORST_LAST = (
    *(ExitCode.FEASIBLE, ExitCode.INFEASIBLE, ExitCode.ILL_POSED, ExitCode.SOLVED),
    *(ExitCode.UNDECIDED, ExitCode.LIMIT, ExitCode.VIOLATED, ExitCode.ENDPOINT),
    *(ExitCode.SANDBOX, ExitCode.USAGE, ExitCode.INTERNAL, ExitCode.INTERRUPTED),
)


def worst(codes: Iterable[ExitCode]) -> ExitCode:
    """Return the worst of several exit codes; 0 for none."""
    return max(codes, key=_WORST_LAST.index, default=ExitCode.FEASIBLE)


def of_verdict(verdict: str | None, solver_status: str | None = None) -> ExitCode:
    """Return the exit code of a verdict; an unknown one counts as undecided."""
    known = VERDICTS.get(verdict or "")
    code = ExitCode.UNDECIDED if known is None else ExitCode(known.exit_code)
    stopped = solver_status in ("limit", "feasible")  # before it was done
    return ExitCode.LIMIT if code is ExitCode.UNDECIDED and stopped else code


def of_error(error: Exception) -> ExitCode:
    """Return the exit code of an error that ended a command."""
    if isinstance(error, SandboxError):
        return ExitCode.SANDBOX
    if isinstance(error, InfeasibleError):
        return ExitCode.INFEASIBLE
    if isinstance(error, InternalError) or not isinstance(error, EngiagentError):
        return ExitCode.INTERNAL
    return ExitCode.USAGE


def table() -> str:
    """Return the table as text for help pages."""
    lines = [f"  {int(code):>3}  {meaning}" for code, meaning in MEANINGS.items()]
    return "Exit codes:\n\n\b\n" + "\n".join(lines)
