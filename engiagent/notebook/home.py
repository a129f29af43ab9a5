"""Where a blueprint comes from: its problem, its data, and what was not understood on the way."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from engiagent.errors import InputError
from engiagent.run.inputs import name_of, problem_beside, problem_folder_of
from engiagent.solvers.result import SolveOptions
from engiagent.text import Problem


@dataclass(frozen=True)
class Home:
    """What a blueprint needs besides itself."""

    folder: Path | None = None  # where its data files lie; None where it holds all its data
    # the problem whose text it was made from, None for a blueprint alone
    problem: Problem | None = None
    name: str = "blueprint"  # what to call it
    # missing, not_understood: what the text does not give, and what of it nobody could read
    missing: tuple[str, ...] = ()
    not_understood: tuple[str, ...] = ()
    edits: tuple[str, ...] = ()  # what was changed by hand since, a line each

    @property
    def data(self) -> Path:
        """The folder of the data files; one that is never read where there are none."""
        return Path() if self.folder is None else self.folder

    @property
    def stated(self) -> Problem | None:
        """The problem that a plan is checked against: none once the blueprint was edited."""
        return None if self.edits else self.problem


def home_of(known: Home | Path | None) -> Home:
    """Return the home of a blueprint that has one, or was read from a file."""
    if not isinstance(known, Path):
        return known or Home()
    problem = problem_beside(known)
    return Home(problem_folder_of(known), problem, problem.id if problem else name_of(known))


def solve_options(given: Mapping[str, Any]) -> SolveOptions:
    """Return limits and settings of a solve from keywords."""
    known = [field.name for field in fields(SolveOptions)]
    unknown = [name for name in given if name not in known]
    if unknown:
        raise InputError(f"solve has no {unknown[0]!r}", expected=", ".join(known))
    return SolveOptions(**given)
