"""Lists of words that belong to a package: ``spellings.txt`` of units, ``words.txt`` of texts.

A file has parts, ``[name]`` above each. A part is a table with lines ``unit: spelling | spelling``,
or a list of words with blanks between them.
"""

from functools import cache
from importlib.resources import files
from typing import Final

_FILES: Final = {"units": "spellings.txt", "text": "words.txt"}


@cache
def _parts(package: str) -> dict[str, list[str]]:
    text = files(f"engiagent.{package}").joinpath(_FILES[package]).read_text("utf-8")
    found: dict[str, list[str]] = {}
    for part in text.split("\n[")[1:]:
        name, _, lines = part.partition("]\n")
        found[name] = [line for line in lines.splitlines() if line]
    return found


def listed(package: str, name: str) -> tuple[str, ...]:
    """Return the words of a list, in order."""
    return tuple(" ".join(_parts(package)[name]).split())


def table(package: str, name: str) -> list[tuple[str, str]]:
    """Return the lines of a table: what stands before and after the colon."""
    pairs = (line.partition(": ") for line in _parts(package)[name])
    return [(key, text) for key, _, text in pairs]


def spelt(package: str, name: str) -> dict[str, str]:
    """Return the units of a table by their spellings."""
    found: dict[str, str] = {}
    for unit, spellings in table(package, name):
        found |= dict.fromkeys((text.strip() for text in spellings.split("|")), unit)
    return found
