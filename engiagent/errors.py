"""Errors that are meant for the user: they say where, what was found, and what would be right."""

from dataclasses import dataclass


class EngiagentError(Exception):
    """Any failure that the user can understand and act on; the command line prints it bare."""


@dataclass
class InputError(EngiagentError):
    """Something in a file that a user gave is unreadable or wrong.

    Parameters
    ----------
    message
        What is wrong, in one clause.
    file
        The file's name as the user knows it.
    line, column
        The place, both counted from 1.
    found, expected
        What stands there, and what would be right.
    """

    message: str
    file: str | None = None
    line: int | None = None
    column: int | None = None
    found: str | None = None
    expected: str | None = None

    def __str__(self) -> str:
        place = ":".join(str(p) for p in (self.file, self.line, self.column) if p is not None)
        text = f"{place}: {self.message}" if place else self.message
        if self.found is not None:
            text += f"; found {self.found}"
        if self.expected is not None:
            text += f"; expected {self.expected}"
        return text


class InfeasibleError(EngiagentError):
    """What was asked for is proven to have no solution; says which requirements clash."""


class SolverMissingError(EngiagentError):
    """No solver that is installed takes the program, and another one would; says how to get it."""


class InternalError(EngiagentError):
    """An error that nobody expected; its traceback lies in the run folder."""


class SandboxError(EngiagentError):
    """The machine does not give what a script must not run without; no script was run.

    Attributes
    ----------
    missing
        The layers that are absent.
    """

    def __init__(self, missing: tuple[str, ...], message: str = "") -> None:
        self.missing = missing
        said = message or (
            f"this machine gives no {' and no '.join(missing)}, so that a script could not be held "
            "in its folder; nothing was run (an explicit 'unsafe' runs it all the same)"
        )
        super().__init__(said)
