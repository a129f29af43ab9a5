"""``engiagent config``: what is set, and where it comes from; and how that reaches commands."""

from pathlib import Path
from typing import Any

import click

from engiagent.cli.dressing import tree
from engiagent.cli.output import clean, print_json, say
from engiagent.cli.settings import (
    SETTINGS,
    Effective,
    effective,
    project_file,
    strangers,
    user_file,
)


@click.group()
def config() -> None:
    """Look at settings: engiagent.toml here or above, your own file, the environment."""


@config.command("show")
@click.option("--all", "everything", is_flag=True, help="Also those that nobody set.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def show(everything: bool, as_json: bool) -> None:
    """Show every setting with its value and where it comes from.

    An option on the command line goes before the environment (ENGIAGENT_TIME_LIMIT), that before
    the nearest engiagent.toml here or above, and that before your own file.
    """
    found = [entry for entry in effective() if everything or entry.value is not None]
    project, user = project_file(Path.cwd()), user_file()
    if as_json:
        rows = [_row(entry) for entry in found]
        files = {"project": None if project is None else str(project), "user": str(user)}
        print_json(
            {
                "schema": "engiagent-config/1",
                "settings": rows,
                "files": files,
                "unknown": list(strangers()),
            }
        )
        return
    width = max((len(_place(entry)) for entry in found), default=0)
    for entry in found:
        value = "-" if entry.value is None else str(entry.value)
        click.echo(clean(f"{_place(entry):<{width}}  {value:<12}  {entry.source}"))
    say(
        f"project: {project or 'no engiagent.toml here or above'}; yours: {user}"
        f"{'' if user.is_file() else ' (not there)'}"
    )
    for name in strangers():
        say(f"{name} stands for no setting", "bold yellow")


def _place(entry: Effective) -> str:
    return f"{entry.setting.section}.{entry.setting.name}"


def _row(entry: Effective) -> dict[str, Any]:
    setting = entry.setting
    return {
        "section": setting.section,
        "name": setting.name,
        "value": entry.value,
        "source": entry.source,
        "variable": setting.variable,
        "option": setting.option,
    }


def defaults(app: click.Group, called: str | None) -> dict[str, Any]:
    """Return what settings give to the options of a command of the app, as click takes it.

    A setting stands for options of its name that have no default of their own.
    """
    values = {entry.setting.name: entry.value for entry in effective() if entry.value is not None}
    result: dict[str, Any] = {}
    command = None if called is None else app.get_command(click.Context(app), called)
    if not values or called is None or command is None:
        return result
    below = tree(command, (called,)) if isinstance(command, click.Group) else [((called,), command)]
    for path, command in below:
        if isinstance(command, click.Group):
            continue
        given = {name: values[name] for name in taken(command) if name in values}
        place = result
        for word in path[:-1]:
            place = place.setdefault(word, {})
        place[path[-1]] = given
    return result


def taken(command: click.Command) -> list[str]:
    """Return the names of a command's options that a setting stands for."""
    flags = {setting.name: setting.kind == "flag" for setting in SETTINGS}
    options = [param for param in command.params if isinstance(param, click.Option)]
    return [
        str(option.name)
        for option in options
        if flags.get(str(option.name)) is bool(option.is_flag)
        and (option.is_flag or option.to_info_dict()["default"] is None)
    ]
