"""Arguments that name a problem: a path, or a problem of the corpus."""

import os
from pathlib import Path

import click
from click.shell_completion import CompletionItem

from engiagent.errors import InputError
from engiagent.text import locate
from engiagent.text.corpus import corpus_root, find_problems


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
        try:
            return locate(str(value))
        except InputError:
            return path

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        """Return problems of the corpus whose name begins so, and let the shell add files."""
        root = corpus_root()
        names = [place.relative_to(root).as_posix() for place in find_problems(root)]
        found = [CompletionItem(name) for name in names if name.startswith(incomplete)]
        return [*found, CompletionItem(incomplete, type="file")]


PROBLEM = ProblemPath(path_type=Path)


class RunPath(click.Path):
    """The folder of a run; a shell completes those below ``runs/``."""

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        """Return runs whose path begins so, and let the shell add folders."""
        records = sorted(Path("runs").glob("*/run.json"), reverse=True)
        names = [record.parent.as_posix() for record in records]
        found = [CompletionItem(name) for name in names if name.startswith(incomplete)]
        return [*found, CompletionItem(incomplete, type="dir")]


RUN = RunPath(exists=True, file_okay=False, path_type=Path)
