"""Where a blueprint comes from: its problem, its data, and what was not understood on the way."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, TypeVar

from engiagent.errors import InputError
from engiagent.solvers.result import SolveOptions
from engiagent.text import Problem as PlainProblem

T = TypeVar("T")


@dataclass(frozen=True)
class Home:
    """What a blueprint needs besides itself.

    Attributes
    ----------
    folder
        Where its data files lie; None where it holds all its data.
    problem
        The problem whose text it was made from, None for a blueprint alone.
    name
        What to call it.
    missing, not_understood
        What the text does not give, and what of it nobody could read.
    notes
        What was assumed on the way.
    edits
        What was changed by hand since, a line each.
    """

    folder: Path | None = None
    problem: PlainProblem | None = None
    name: str = "blueprint"
    missing: tuple[str, ...] = ()
    not_understood: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    edits: tuple[str, ...] = ()

    @property
    def data(self) -> Path:
        """The folder of the data files; one that is never read where there are none."""
        return Path() if self.folder is None else self.folder

    @property
    def stated(self) -> PlainProblem | None:
        """The problem that a plan is checked against: none once the blueprint was edited."""
        return None if self.edits else self.problem


def dressed(kind: type[T], plain: Any) -> T:
    """Return a frozen object as one of a kind that adds ways to show it and no fields."""
    return kind(**{field.name: getattr(plain, field.name) for field in fields(plain)})


def solve_options(given: Mapping[str, Any]) -> SolveOptions:
    """Return limits and settings of a solve from keywords.

    Raises
    ------
    InputError
        For a keyword that is none of them.
    """
    known = [field.name for field in fields(SolveOptions)]
    unknown = [name for name in given if name not in known]
    if unknown:
        raise InputError(f"solve has no {unknown[0]!r}", expected=", ".join(known))
    return SolveOptions(**given)
