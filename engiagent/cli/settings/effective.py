"""Which settings hold, and where each comes from: environment, project, user, or nowhere."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from engiagent.cli.settings.files import project_file, read_file, user_file
from engiagent.cli.settings.settings import PREFIX, SETTINGS, Setting, Value
from engiagent.errors import InputError

SELECTED: Final = PREFIX + "CONFIG"
"""Names the project's file in place of the nearest; ``none`` lets no file count at all."""
NO_FILES: Final = "none"
OTHERS: Final = (SELECTED, PREFIX + "DEBUG", PREFIX + "MEMORY")
"""Variables that are read elsewhere."""


@dataclass(frozen=True)
class Effective:
    """A setting as it holds.

    Attributes
    ----------
    value
        None where nobody set it, and the command's own default holds.
    source
        ``default``, the path of a file, or the name of a variable.
    """

    setting: Setting
    value: Value | None
    source: str


def effective(
    folder: Path | None = None, environment: Mapping[str, str] | None = None
) -> tuple[Effective, ...]:
    """Return all settings as they hold in a folder, by default the current one.

    The environment goes before the project's file, and that before the user's own.

    Raises
    ------
    InputError
        When a file or a variable cannot be understood.
    """
    given = os.environ if environment is None else environment
    layers: list[tuple[str, dict[str, Value]]] = []
    for file, own in _files(folder or Path.cwd(), given.get(SELECTED)):
        layers.append((str(file), read_file(file, own=own)))
    return tuple(_holding(setting, layers, given) for setting in SETTINGS)


def _files(folder: Path, selected: str | None) -> list[tuple[Path, bool]]:
    """Return the files that count, the strongest first, and whether each is the user's own."""
    if selected == NO_FILES:
        return []
    if selected:
        if not Path(selected).is_file():
            raise InputError(f"{SELECTED} names no file", selected)
        project: Path | None = Path(selected)
    else:
        project = project_file(folder)
    user = user_file()
    found = [] if project is None or project == user else [(project, bool(selected))]
    return [*found, (user, True)] if user.is_file() else found


def _holding(
    setting: Setting, layers: list[tuple[str, dict[str, Value]]], given: Mapping[str, str]
) -> Effective:
    text = given.get(setting.variable)
    if text:
        return Effective(setting, setting.of_text(text), setting.variable)
    for source, values in layers:
        if setting.name in values:
            return Effective(setting, values[setting.name], source)
    return Effective(setting, None, "default")


def strangers(environment: Mapping[str, str] | None = None) -> tuple[str, ...]:
    """Return variables that begin as ours do and mean nothing: slips, most likely."""
    given = os.environ if environment is None else environment
    known = {*OTHERS, *(setting.variable for setting in SETTINGS)}
    return tuple(sorted(n for n in given if n.startswith(PREFIX) and n not in known))
