"""Filling a template, and writing what comes of it."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from importlib.resources import files
from pathlib import Path
from typing import Any, Final

from engiagent.cli.scaffold.templates_of import PACKAGE, Template
from engiagent.errors import InputError
from engiagent.io.files import write_atomic
from engiagent.io.jsontext import dumps_canonical

TEXT: Final = "problem.md"
BLUEPRINT: Final = "blueprint.json"
_ENDING: Final = ".j2"


@dataclass(frozen=True)
class Scaffold:
    """A problem to begin from.

    Attributes
    ----------
    contents
        Its files by name.
    """

    template: Template
    problem: str
    values: Mapping[str, str]
    contents: Mapping[str, str]

    @property
    def solved_by(self) -> str:
        """The command and the file that take it to a schedule, with ``{}`` for its folder."""
        return "solve {}/" + BLUEPRINT if BLUEPRINT in self.contents else "run {}"


def fill(template: Template, name: str, given: Mapping[str, str]) -> Scaffold:
    """Return a template with values in place.

    Parameters
    ----------
    name
        What the problem is called; its id is made of it.
    given
        Values by name; the others stay as the template has them.

    Raises
    ------
    InputError
        When a value is unknown or none of its kind.
    """
    values = template.filled(given)
    identity = re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_")[:60] or template.name
    place = files(PACKAGE).joinpath("templates", template.name)
    texts = {
        entry.name.removesuffix(_ENDING): _rendered(entry.read_text("utf-8"), identity, values)
        for entry in place.iterdir()
        if entry.name.endswith(_ENDING)
    }
    if BLUEPRINT in texts:
        texts[BLUEPRINT] = _located(texts[BLUEPRINT], texts[TEXT])
    return Scaffold(template, identity, values, dict(sorted(texts.items())))


def write(scaffold: Scaffold, folder: Path) -> tuple[Path, ...]:
    """Write a problem into a new or empty folder and return its files.

    Raises
    ------
    InputError
        When something is there already, or the folder cannot be made.
    """
    if folder.is_symlink() or (folder.exists() and not folder.is_dir()):
        raise InputError("this is a file or a link", str(folder), expected="a new folder")
    if folder.is_dir() and any(folder.iterdir()):
        raise InputError("the folder is not empty", str(folder), expected="a new folder")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"cannot make the folder: {error.strerror}", str(folder)) from None
    for name, text in scaffold.contents.items():
        write_atomic(folder / name, text)
    return tuple(folder / name for name in scaffold.contents)


def _rendered(text: str, identity: str, values: Mapping[str, str]) -> str:
    from jinja2 import Environment, StrictUndefined

    # The result is Markdown, CSV or JSON, never a page, so nothing is escaped.
    engine = Environment(
        undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True
    )
    engine.filters["long"] = _long
    return engine.from_string(text).render(id=identity, **values)


def _long(day: str) -> str:
    """Return a day in words, as ``15 June 2026``, whatever the machine's language is."""
    found = date.fromisoformat(day)
    return f"{found.day} {_MONTHS[found.month - 1]} {found.year}"


_MONTHS: Final = (
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
)


def _located(blueprint: str, text: str) -> str:
    """Return a blueprint in which every quotation says where in the text it stands."""
    return dumps_canonical(_with_spans(json.loads(blueprint), text))


def _with_spans(value: Any, text: str) -> Any:
    if isinstance(value, list):
        return [_with_spans(item, text) for item in value]
    if not isinstance(value, dict):
        return value
    if value.get("kind") != "text" or "quote" not in value:
        return {key: _with_spans(item, text) for key, item in value.items()}
    # A quotation may run over the end of a line.
    words = r"\s+".join(map(re.escape, value["quote"].split()))
    found = re.search(rf"(?<![\d.]){words}", text)
    assert found is not None, value["quote"]
    return {"kind": "text", "span": list(found.span()), "quote": found[0]}
