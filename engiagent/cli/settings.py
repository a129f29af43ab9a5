"""Settings that stand for options: engiagent.toml, the environment, and ``engiagent config``."""

import os
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Final, Literal, cast

import click

from engiagent.cli.help import tree
from engiagent.cli.output import clean, print_json, say
from engiagent.errors import InputError

Kind = Literal["number", "count", "text", "flag"]
Value = float | int | str | bool
PREFIX: Final = "ENGIAGENT_"
_KINDS: Final[Mapping[Kind, tuple[click.ParamType[Any], tuple[type, ...], str]]] = {
    "number": (click.FLOAT, (int, float), "a number"),
    "count": (click.INT, (int,), "a whole number"),
    "text": (click.STRING, (str,), "a text in quotes"),
    "flag": (click.BOOL, (bool,), "true or false"),
}
"""By kind: what reads it from text, its types in TOML, and how to write it."""


@dataclass(frozen=True)
class Setting:
    """One setting: where it stands in a file, what it is, and what it does, with its unit.

    The name is also that of the option's value. Only the user's own file and the environment may
    give one that is ``own``, since a folder from elsewhere must not.
    """

    section: str
    name: str
    kind: Kind
    said: str
    own: bool = False

    @property
    def place(self) -> str:
        """Its section and name."""
        return f"{self.section}.{self.name}"

    @property
    def variable(self) -> str:
        """The environment variable that gives it."""
        return PREFIX + self.name.upper()

    def of_toml(self, value: Any, file: str, line: int | None) -> Value:
        """Return a value from a file; one of another kind is an error."""
        _, types, example = _KINDS[self.kind]
        if isinstance(value, types) and isinstance(value, bool) == (self.kind == "flag"):
            return cast(Value, value)
        raise InputError(
            f"{self.place} is of the wrong kind", file, line, found=repr(value), expected=example
        )

    def of_text(self, text: str) -> Value:
        """Return a value from the environment; one of another kind is an error."""
        reader, _, example = _KINDS[self.kind]
        try:
            return cast(Value, reader.convert(text, None, None))
        except click.BadParameter:
            raise InputError(
                f"{self.variable} is of the wrong kind", found=repr(text), expected=example
            ) from None


SETTINGS: Final = (
    Setting("engine", "engine", "text", "who reads a problem: offline or anthropic"),
    Setting("engine", "model", "text", "which language model answers"),
    Setting("engine", "base_url", "text", "the server that is asked", own=True),
    Setting("engine", "prices", "text", "a file of what tokens cost"),
    Setting("engine", "exemplars", "count", "how many solved problems to show it"),
    Setting("budget", "max_cost", "number", "of all replies of a run [USD]"),
    Setting("budget", "max_tokens", "count", "of all prompts and replies of a run"),
    Setting("budget", "max_minutes", "number", "of a run, solver included [min]"),
    Setting("solver", "backend", "text", "the solver, as highs, scip or pyomo:ipopt"),
    Setting("solver", "time_limit", "number", "wall-clock limit of a solve [s]"),
    Setting("solver", "memory_limit", "number", "beyond the process itself [MB]"),
    Setting("solver", "gap", "number", "relative gap that ends a branch and bound"),
    Setting("solver", "threads", "count", "the most threads to use"),
    Setting("solver", "seed", "count", "of the solver's random choices"),
    Setting("solver", "speed", "flag", "let a faster method answer, with a larger proven gap"),
    Setting("proofs", "exact", "flag", "also check in rational arithmetic"),
    Setting("proofs", "second_solver", "text", "who also solves what is stated"),
    Setting("output", "quiet", "flag", "say nothing but errors"),
    Setting("output", "verbose", "flag", "tell every stage as it goes"),
    Setting("output", "explain", "flag", "print which solver was chosen, and why"),
)
"""An option given on the command line always wins."""


FILE: Final = "engiagent.toml"
_MOST: Final = 1_000_000


def project_file(start: Path) -> Path | None:
    """Return the nearest ``engiagent.toml`` in a folder or above it."""
    here = start.resolve()
    return next((file for f in (here, *here.parents) if (file := f / FILE).is_file()), None)


def user_file() -> Path:
    """Return where a user's own settings lie, whether or not there are any."""
    if sys.platform == "win32" and os.environ.get("APPDATA"):
        return Path(os.environ["APPDATA"]) / "engiagent" / FILE
    home = os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config"
    return Path(home) / "engiagent" / FILE


def read_file(file: Path, *, own: bool) -> dict[str, Value]:
    """Return what a file sets, by name; the user's own may set everything.

    It is an error when it is no TOML, or sets what there is not, what it may not, or to what
    cannot be.
    """
    import tomllib  # most have no such file, and every command starts by looking for one

    shown = str(file)
    try:
        text = file.read_bytes()[:_MOST].decode("utf-8")
        data = tomllib.loads(text)
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"cannot read the settings: {error}", shown) from None
    except tomllib.TOMLDecodeError as error:
        place = re.search(r"\(at line (\d+), column (\d+)\)", str(error))
        line, column = (int(place[1]), int(place[2])) if place else (None, None)
        message = str(error).split(" (at ")[0]
        raise InputError(f"this is no TOML: {message}", shown, line, column) from None
    known, values = {setting.place: setting for setting in SETTINGS}, {}
    for section, content in data.items():
        if not isinstance(content, dict):
            problem, expected = (
                f"{section!r} stands outside a section",
                "[solver] or another above it",
            )
            raise InputError(problem, shown, _line(text, None, section), expected=expected)
        for name, value in content.items():
            place_of, line = f"{section}.{name}", _line(text, section, name)
            setting = known.get(place_of)
            if setting is None:
                problem = f"there is no setting {place_of}"
                raise InputError(problem, shown, line, expected=_near(place_of, name))
            if setting.own and not own:
                elsewhere = f"it in {user_file()}, or {setting.variable}"
                problem = f"{place_of} may not be set by a project"
                raise InputError(problem, shown, line, expected=elsewhere)
            values[name] = setting.of_toml(value, shown, line)
    return values


def _near(place: str, name: str) -> str:
    """Return the settings that may have been meant."""
    full = [setting.place for setting in SETTINGS]
    same = [known for known in full if known.endswith(f".{name}")]
    close = same or get_close_matches(place, full, n=3, cutoff=0.5)
    return " or ".join(close or sorted({f"[{setting.section}]" for setting in SETTINGS}))


def _line(text: str, section: str | None, name: str) -> int | None:
    """Return the line on which a key stands, as far as plain tables show it."""
    here: str | None = None
    for number, line in enumerate(text.splitlines(), 1):
        header = re.fullmatch(r"\s*\[\s*([^\[\]]+?)\s*\]\s*(?:#.*)?", line)
        if header is not None:
            here = header[1].strip("\"'")
        elif here == section and re.match(rf"\s*[\"']?{re.escape(name)}[\"']?\s*=", line):
            return number
    return None


SELECTED: Final = PREFIX + "CONFIG"
"""Names the project's file in place of the nearest; ``none`` lets no file count at all."""
NO_FILES: Final = "none"
OTHERS: Final = (SELECTED, PREFIX + "DEBUG", PREFIX + "MEMORY")
"""Variables that are read elsewhere."""


@dataclass(frozen=True)
class Effective:
    """A setting as it holds: ``default``, a file or a variable gives it; None for no value."""

    setting: Setting
    value: Value | None
    source: str


def effective() -> tuple[Effective, ...]:
    """Return all settings as they hold in the current folder.

    The environment goes before the project's file, and that before the user's own.
    """
    files = _files(Path.cwd(), os.environ.get(SELECTED))
    layers = [(str(file), read_file(file, own=own)) for file, own in files]
    return tuple(_holding(setting, layers) for setting in SETTINGS)


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


def _holding(setting: Setting, layers: Sequence[tuple[str, dict[str, Value]]]) -> Effective:
    text = os.environ.get(setting.variable)
    if text:
        return Effective(setting, setting.of_text(text), setting.variable)
    for source, values in layers:
        if setting.name in values:
            return Effective(setting, values[setting.name], source)
    return Effective(setting, None, "default")


def strangers() -> tuple[str, ...]:
    """Return variables that begin as ours do and mean nothing: slips, most likely."""
    known = {*OTHERS, *(setting.variable for setting in SETTINGS)}
    return tuple(sorted(n for n in os.environ if n.startswith(PREFIX) and n not in known))


@click.group()
def config() -> None:
    """Look at settings: engiagent.toml here or above, your own file, the environment."""


@config.command("show")
@click.option("--all", "everything", is_flag=True, help="Also those that are at their defaults.")
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
    width = max((len(entry.setting.place) for entry in found), default=0)
    for entry in found:
        value = "-" if entry.value is None else str(entry.value)
        click.echo(clean(f"{entry.setting.place:<{width}}  {value:<12}  {entry.source}"))
    say(
        f"project: {project or 'no engiagent.toml here or above'}; yours: {user}"
        f"{'' if user.is_file() else ' (not there)'}"
    )
    for name in strangers():
        say(f"{name} stands for no setting", "bold yellow")


def _row(entry: Effective) -> dict[str, Any]:
    setting = entry.setting
    return {
        "section": setting.section,
        "name": setting.name,
        "value": entry.value,
        "source": entry.source,
        "variable": setting.variable,
        "option": "--" + setting.name.replace("_", "-"),
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
