"""The files that hold settings: where they lie, and what they say."""

import os
import re
import sys
from collections.abc import Iterator
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Final

from engiagent.cli.settings.settings import SETTINGS, Value
from engiagent.errors import InputError

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
    """Return what a file sets, by name.

    Parameters
    ----------
    own
        Whether it is the user's own, which may set everything.

    Raises
    ------
    InputError
        When it is no TOML, or sets what there is not, what it may not, or to what cannot be.
    """
    import tomllib  # most have no such file, and every command starts by looking for one

    shown = str(file)
    try:
        raw = file.read_bytes()
        text = raw[:_MOST].decode("utf-8")
        data = tomllib.loads(text)
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"cannot read the settings: {error}", shown) from None
    except tomllib.TOMLDecodeError as error:
        place = re.search(r"\(at line (\d+), column (\d+)\)", str(error))
        line, column = (int(place[1]), int(place[2])) if place else (None, None)
        said = str(error).split(" (at ")[0]
        raise InputError(f"this is no TOML: {said}", shown, line, column) from None
    return dict(_values(data, text, shown, own=own))


def _values(
    data: dict[str, Any], text: str, file: str, *, own: bool
) -> Iterator[tuple[str, Value]]:
    known = {(setting.section, setting.name): setting for setting in SETTINGS}
    for section, content in data.items():
        if not isinstance(content, dict):
            line = _line(text, None, section)
            raise InputError(
                f"{section!r} stands outside a section",
                file,
                line,
                expected="[solver] or another section above it",
            )
        for name, value in content.items():
            line = _line(text, section, name)
            setting = known.get((section, name))
            if setting is None:
                raise InputError(
                    f"there is no setting {section}.{name}",
                    file,
                    line,
                    expected=_near(section, name),
                )
            if setting.own and not own:
                elsewhere = f"it in {user_file()}, or {setting.variable}"
                raise InputError(
                    f"{section}.{name} may not be set by a project", file, line, expected=elsewhere
                )
            yield name, setting.of_toml(value, file, line)


def _near(section: str, name: str) -> str:
    """Return the settings that somebody may have meant."""
    full = [f"{setting.section}.{setting.name}" for setting in SETTINGS]
    same = [place for place in full if place.endswith(f".{name}")]
    close = same or get_close_matches(f"{section}.{name}", full, n=3, cutoff=0.5)
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
