"""Problems to begin from: one template for each domain, filled with the user's values."""

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, Final, Literal

from engiagent.errors import InputError
from engiagent.io.files import packaged_yaml, write_atomic
from engiagent.io.jsontext import dumps_canonical

Kind = Literal["number", "text", "date"]
PACKAGE: Final = "engiagent.cli.scaffold"
_LONGEST: Final = 200


@dataclass(frozen=True)
class Value:
    """Something that a template asks for.

    ``value``: what it is when nobody says anything, as text; ``unit``: of a number; empty for
    others. ``currency`` in it stands for the value of that name.
    """

    name: str
    kind: Kind
    value: str
    unit: str
    said: str

    def checked(self, text: str) -> str:
        """Return a value as it goes into the text."""
        words = " ".join(text.split())
        good = {"number": _is_number, "date": _is_date, "text": _is_text}[self.kind](words)
        if not good:
            expected = {
                "number": f"a number as {self.value}",
                "date": "a day as 2026-06-15",
                "text": "a few words",
            }[self.kind]
            raise InputError(
                f"{self.name} cannot be that", found=repr(text[:60]), expected=expected
            )
        return words


@dataclass(frozen=True)
class Template:
    """Something to begin from: texts with places for values."""

    name: str
    said: str
    family: str
    values: tuple[Value, ...]

    def filled(self, given: Mapping[str, str]) -> dict[str, str]:
        """Return every value: those that are given, the others as they are."""
        known = {value.name: value for value in self.values}
        for name in given:
            if name not in known:
                raise InputError(
                    f"the template {self.name} has no value {name!r}", expected=", ".join(known)
                )
        return {name: value.checked(given.get(name, value.value)) for name, value in known.items()}


@cache
def templates() -> Mapping[str, Template]:
    """Return all templates by name."""
    place = files(PACKAGE).joinpath("templates")
    names = sorted(entry.name for entry in place.iterdir() if entry.is_dir())
    return {name: _read(name) for name in names if not name.startswith("_")}


def _read(name: str) -> Template:
    data: Any = packaged_yaml(PACKAGE, f"templates/{name}/template.yaml")
    values = tuple(
        Value(
            entry["name"],
            entry["kind"],
            str(entry["value"]),
            str(entry.get("unit", "")),
            entry["said"],
        )
        for entry in data["values"]
    )
    return Template(name, data["said"], data["family"], values)


def _is_number(text: str) -> bool:
    try:
        return math.isfinite(float(text)) and re.fullmatch(r"-?[\d.]+", text) is not None
    except ValueError:
        return False


def _is_date(text: str) -> bool:
    try:
        return date.fromisoformat(text).isoformat() == text
    except ValueError:
        return False


def _is_text(text: str) -> bool:
    """Whether a text can stand in a title: no mark-up, nothing that ends a line or a quotation."""
    return 0 < len(text) <= _LONGEST and re.search(r"[\x00-\x1f{}<>`\"|#:]", text) is None


TEXT: Final = "problem.md"
BLUEPRINT: Final = "blueprint.json"
_ENDING: Final = ".j2"


@dataclass(frozen=True)
class Scaffold:
    """A problem to begin from.

    ``contents``: its files by name.
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

    ``name``: what the problem is called; its id is made of it; ``given``: values by name; the
    others stay as the template has them.
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
    """Write a problem into a new or empty folder and return its files."""
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
    """Return a day in words, as ``15 June 2026``."""
    found = date.fromisoformat(day)
    return f"{found.day} {found:%B %Y}"


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
