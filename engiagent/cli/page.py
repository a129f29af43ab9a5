"""The page of all commands, written from the commands themselves: ``docs/command-line.md``."""

import inspect
from collections.abc import Iterator

import click

from engiagent.cli.app import app
from engiagent.cli.help import EXAMPLES, tree
from engiagent.cli.settings import SETTINGS

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

## Completion

`engiagent completion bash`, `zsh` and `fish` print a script that completes commands, options,
problems and runs:

```text
eval "$(engiagent completion bash)"                                          # in ~/.bashrc
engiagent completion zsh > ~/.zfunc/_engiagent                               # a folder of $fpath
engiagent completion fish > ~/.config/fish/completions/engiagent.fish
```

## Settings

What you would otherwise say again and again stands in `engiagent.toml`, beside your problems or in
a folder above them, or in your own file (`~/.config/engiagent/engiagent.toml`; on Windows below
`%APPDATA%`):

```toml
[solver]
time_limit = 60
backend = "highs"

[budget]
max_cost = 0.5
```

An option on the command line goes before an environment variable, that before the nearest
`engiagent.toml`, and that before your own file. `engiagent config show` says what holds and where
it comes from. A setting stands for every option of its name that has no default of its own; a run
that goes on does so as it was asked for. `ENGIAGENT_CONFIG=FILE` names the project's file,
`ENGIAGENT_CONFIG=none` lets no file count.

"""
_AFTER = """
`base_url` cannot come from a project's file: a folder from elsewhere must not send your key to a
server of its choice. `ENGIAGENT_MEMORY` names the memory of repairs, `ENGIAGENT_DEBUG=1` shows the
traceback of an internal error.

## Commands

This page is written from the commands by `python -m engiagent.cli.page`.
"""


def page() -> str:
    """Return the page."""
    return _HEAD + "\n".join([*_settings(), _AFTER, *_commands()])


def _settings() -> Iterator[str]:
    yield "| setting | variable | what it does |\n|---|---|---|"
    for setting in SETTINGS:
        name = f"`{setting.section}.{setting.name}`"
        yield f"| {name} | `{setting.variable}` | {setting.said} |"


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
