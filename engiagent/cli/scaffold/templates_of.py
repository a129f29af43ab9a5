"""The templates: what each asks for, and what it may be."""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from functools import cache
from importlib.resources import files
from typing import Any, Final, Literal

from engiagent.errors import InputError
from engiagent.io.files import packaged_yaml

Kind = Literal["number", "text", "date"]
PACKAGE: Final = "engiagent.cli.scaffold"
_LONGEST: Final = 200


@dataclass(frozen=True)
class Value:
    """Something that a template asks for.

    Attributes
    ----------
    value
        What it is when nobody says anything, as text.
    unit
        Of a number; empty for others. ``currency`` in it stands for the value of that name.
    """

    name: str
    kind: Kind
    value: str
    unit: str
    said: str

    def checked(self, text: str) -> str:
        """Return a value as it goes into the text.

        Raises
        ------
        InputError
            When it is none of its kind.
        """
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
        """Return every value: those that are given, the others as they are.

        Raises
        ------
        InputError
            When a name means nothing, or a value is none of its kind.
        """
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
