"""The page of all commands, written from the commands themselves: ``docs/command-line.md``."""

import inspect
from collections.abc import Iterator

import click

from engiagent.cli.app import app
from engiagent.cli.help import EXAMPLES, tree

_HEAD = """\
# The command line

Every command shows its options and examples with `--help`. Results go to standard output, what is
said to people to standard error; a line that moves while something is under way shows on a
terminal only.

* `--json`: exactly one JSON object on standard output, of a form with a version
  ([json-schemas.md](json-schemas.md)).
* `-q`, `--quiet`: nothing but errors on standard error. `-v`, `--verbose`: every stage as it goes.
  Both work before and after the command's name.
* `--dry-run`, where a command has it: what would be done, and nothing is.
* The exit code says how it went: [exit-codes.md](exit-codes.md).
* A problem of the corpus is called by its name, as `battery/merchant_day`; your own by its path.

Any option can come from the environment: `ENGIAGENT_RUN_TIME_LIMIT=60` is `--time-limit 60` of
`run`. `ENGIAGENT_MEMORY` names the memory of repairs, `ENGIAGENT_DEBUG=1` shows the traceback of
an internal error. Completion is click's: `eval "$(_ENGIAGENT_COMPLETE=bash_source engiagent)"`, or
`zsh_source` and `fish_source`.

## Commands

This page is written from the commands by `python -m engiagent.cli.page`.
"""


def page() -> str:
    """Return the page."""
    return _HEAD + "\n" + "\n".join(_commands())


def _commands() -> Iterator[str]:
    for path, command in tree(app):
        if not path:
            continue
        words = " ".join(path)
        yield f"### {words}\n"
        yield inspect.cleandoc(command.help or "") + "\n"
        lines = [f"# {said}\n{shown}" for said, shown in EXAMPLES.get(words, ())]
        yield "```text\n" + "\n".join(lines) + "\n```\n"
        if not isinstance(command, click.Group):
            yield from _options(command, words)


def _options(command: click.Command, words: str) -> Iterator[str]:
    context = click.Context(command, info_name=f"engiagent {words}")
    yield f"`engiagent {words} {' '.join(command.collect_usage_pieces(context))}`\n"
    records = [
        record
        for param in command.params
        if isinstance(param, click.Option)
        and param.name not in ("quiet", "verbose")
        and (record := param.get_help_record(context)) is not None
    ]
    if records:
        yield "| option | what it does |\n|---|---|"
        yield "\n".join(f"| `{_cell(names)}` | {_cell(said)} |" for names, said in records) + "\n"


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


if __name__ == "__main__":
    print(page(), end="")
