"""Every JSON form of engiagent by name: what commands print, and what files hold.

A form is named ``engiagent-NAME/VERSION`` in its own field ``schema``. Within a version fields are
only added, so what is published allows further ones; whatever else changes makes a new version.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from functools import partial
from importlib.resources import files
from typing import Any, Final

from engiagent.blueprint.document import schema as blueprint_schema
from engiagent.errors import InputError
from engiagent.io.schemawords import NUMBER, TEXT, Json, fields, maybe, output, record
from engiagent.readings.stored import reading_schema
from engiagent.tools.supervision import graph_schema
from engiagent.verify.certificate import certificate_schema
from engiagent.verify.verdicts import VERDICTS

_WORDS: Final[Mapping[str, Json]] = {
    "verdict": {"enum": [*VERDICTS, None]},
    "objective": record({"value": maybe(NUMBER), "unit": maybe(TEXT), "sense": maybe(TEXT)}),
}


@dataclass(frozen=True)
class Form:
    """One JSON form: who makes its schema, and the commands that print it or files that hold it."""

    make: Callable[[], Json]
    where: str


def _listed(text: str) -> Iterator[tuple[str, Form]]:
    """Yield the forms of a part of ``forms.txt`` by name."""
    for part in text.split("\n== ")[1:]:
        head, _, lines = part.partition("\n")
        name, title, where = head.split(" | ")
        yield name.split("/")[0], Form(partial(_made, name, title, lines), where)


def _made(name: str, title: str, lines: str) -> Json:
    words = dict(_WORDS)
    if "run-summary" in lines:
        words["run-summary"] = PRINTED["run-summary"].make()
    return output(name, title, *fields("\n".join(_written_out(lines)), words))


def _written_out(lines: str) -> Iterator[str]:
    """Yield lines with what blocks stand for in place of their names."""
    for line in lines.splitlines():
        bare = line.strip()
        if bare.startswith("("):
            indent = line[: len(line) - len(bare)]
            yield from (indent + below for below in _BLOCKS[bare.strip("()")])
        else:
            yield line


def _plant() -> Json:
    from engiagent.plant import schema  # here, for it brings all models of components

    return schema.plant()


_TEXT: Final = files("engiagent.tools.schemas").joinpath("forms.txt").read_text("utf-8")
_BLOCKS: Final = {
    block.partition("\n")[0]: block.partition("\n\n")[0].splitlines()[1:]
    for block in _TEXT.split("\n-- ")[1:]
}
_COMMANDS, _FILES = _TEXT.split("\n== --\n")
PRINTED: Final[Mapping[str, Form]] = dict(_listed(_COMMANDS))
STORED: Final[Mapping[str, Form]] = {
    "blueprint": Form(blueprint_schema, "blueprint.json"),
    "certificate": Form(certificate_schema, "certificate.json"),
    "calls": Form(graph_schema, "calls of tools, of engiagent.tools and mcp"),
    "plant": Form(_plant, "plant.yaml, and plant blocks of problems"),
    **dict(_listed(_FILES)),
    "reading": Form(reading_schema, "reading.json, which accept writes"),
}


def schema_of(name: str) -> Json:
    """Return the JSON Schema of a form, by its name with or without its version."""
    short = name.removeprefix("engiagent-").split("/")[0]
    known = {**PRINTED, **STORED}
    if short not in known:
        close = get_close_matches(short, known, n=3, cutoff=0.4)
        expected = " or ".join(close) or "a name of 'engiagent schema --list'"
        raise InputError(f"there is no JSON form {name!r}", expected=expected)
    return _open(known[short].make()) if short in PRINTED else known[short].make()


def _open(schema: Any) -> Any:
    """Return a schema that passes over fields which it does not know."""
    if isinstance(schema, list):
        return [_open(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    closed = ("additionalProperties", False)
    return {key: _open(value) for key, value in schema.items() if (key, value) != closed}
