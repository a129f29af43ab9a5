"""What every command has in common: examples in its help, and how much it says."""

from collections.abc import Iterator, Mapping
from importlib.resources import files
from typing import Final

import click

from engiagent.cli.output import LOUDNESS

Example = tuple[str, str]


def _examples() -> Iterator[tuple[str, tuple[Example, ...]]]:
    text = files("engiagent.cli").joinpath("examples.txt").read_text("utf-8")
    for part in text.split("\n[")[1:]:
        command, _, lines = part.partition("]\n")
        pairs = [line.strip() for line in lines.splitlines() if line]
        yield command, tuple(zip(pairs[::2], pairs[1::2], strict=True))


EXAMPLES: Final[Mapping[str, tuple[Example, ...]]] = dict(_examples())


def dress(command: click.Command, path: tuple[str, ...] = ()) -> None:
    """Give a command, and those below it, examples and the options --quiet and --verbose."""
    parts = [] if command.epilog is None else [command.epilog]
    if examples := EXAMPLES.get(" ".join(path)):
        lines = [line for said, shown in examples for line in (f"  # {said}", f"  {shown}")]
        parts.insert(0, "Examples:\n\n\b\n" + "\n".join(lines))
    command.epilog = "\n\n".join(parts) or None
    if not isinstance(command, click.Group) or not path:
        command.params += [
            _loudness(["-q", "--quiet"], "quiet", "Say nothing but errors; results still come."),
            _loudness(["-v", "--verbose"], "verbose", "Tell every stage as it goes."),
        ]
    if isinstance(command, click.Group):
        for name, below in command.commands.items():
            dress(below, (*path, name))


def tree(
    group: click.Group, above: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    """Yield a group and every command below it, with the words that call it."""
    yield above, group
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        if isinstance(command, click.Group):
            yield from tree(command, (*above, name))
        else:
            yield (*above, name), command


def _loudness(names: list[str], word: str, said: str) -> click.Option:
    def choose(context: click.Context, option: click.Parameter, given: bool) -> None:
        if given and context.meta.setdefault(LOUDNESS, word) != word:
            raise click.UsageError("--quiet and --verbose exclude each other", context)

    return click.Option(names, is_flag=True, expose_value=False, callback=choose, help=said)
