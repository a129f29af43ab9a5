"""Arguments that name a problem: a path, or a problem of the corpus."""

import os
from pathlib import Path

import click


class ProblemPath(click.Path):
    """A path; where there is none of that name, the problem of the corpus that has it.

    A name that is neither stays as it is, and the command says what it misses.
    """

    def convert(
        self,
        value: str | os.PathLike[str],
        param: click.Parameter | None,
        ctx: click.Context | None,
    ) -> Path:
        """Return the path of what is named."""
        path = Path(value)
        if path.exists():
            return path
        from engiagent.errors import InputError
        from engiagent.problems import locate

        try:
            return locate(str(value))
        except InputError:
            return path


PROBLEM = ProblemPath(path_type=Path)
