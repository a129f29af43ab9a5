"""Names of rows and columns that the formats allow and a person recognises.

The element ``charge[2025-07-01T00:00]`` is called ``charge(2025_07_01T00.00)``: brackets, signs
and colons mean something in LP files. Two elements whose names would be the same are told apart by
``~2``, ``~3`` …
"""

import re
import unicodedata
from collections.abc import Container, Iterable, Iterator
from datetime import UTC, datetime
from typing import Final
from zoneinfo import ZoneInfo

import numpy as np

from engiagent.formulations.program import Block, Coordinate, Program

MAX_LENGTH: Final = 240
"""Readers cut names at 255 characters."""

_KEYWORD_LIST: Final = """
    max maximum maximize maximise min minimum minimize minimise st s.t. st. subject such bounds
    bound free inf infinity infinite nan gen general generals int integer integers bin binary
    binaries semi semis semi-continuous sos sos1 sos2 s1 s2 pwlobj lazy user end endata name rows
    columns rhs ranges objsense objective
"""
KEYWORDS: Final = frozenset(_KEYWORD_LIST.split())
_ILLEGAL = re.compile(r"[^A-Za-z0-9_.,#$%&!?@{}~']")
_EXPONENT = re.compile(r"[eE](?![A-DF-Za-df-z_])")


def column_names(program: Program) -> list[str]:
    """Return a legal name for every column, unique among them."""
    blocks = ((block.name, block) for block in program.columns)
    return unique(name for head, block in blocks for name in _elements(program, head, block))


def row_names(program: Program, taken: str) -> list[str]:
    """Return a legal name for every row, unique among them and other than ``taken``."""
    blocks = ((block.constraint_id, block) for block in program.rows)
    rows = (name for head, block in blocks for name in _elements(program, head, block))
    return unique([taken, *rows])[1:]


def unique(names: Iterable[str]) -> list[str]:
    """Return names, each told apart from those before it."""
    chosen: dict[str, None] = {}
    for name in names:
        chosen[unused(name[:MAX_LENGTH], chosen)] = None
    return list(chosen)


def unused(wanted: str, taken: Container[object], mark: str = "~") -> str:
    """Return a name that is not taken, as much like the one that is wanted as can be."""
    chosen, count = wanted, 2
    while chosen in taken:
        chosen, count = f"{wanted}{mark}{count}", count + 1
    return chosen


def legal(text: str) -> str:
    """Return a text with every character replaced that a name may not have."""
    plain = unicodedata.normalize("NFKD", text)
    kept = "".join(c for c in plain if not unicodedata.combining(c))
    return _ILLEGAL.sub("_", kept.replace(":", "."))


def head_of(name: str) -> str:
    """Return a name as it may begin: no keyword, no digit, nothing that reads as an exponent."""
    text = legal(name).replace(",", "_") or "_"
    plain = text.lower() not in KEYWORDS and (text[0].isalpha() or text[0] == "_")
    return text if plain and not _EXPONENT.match(text) else f"_{text}"


def texts(coordinate: Coordinate) -> list[str]:
    """Return the labels of a set as people write them, times on the clock of their zone."""
    values = coordinate.values
    if values.dtype.kind != "M":
        return [str(value) for value in values]
    clock = [str(value)[:19] for value in values]
    if coordinate.zone is not None:
        zone = ZoneInfo(coordinate.zone)
        seconds = values.astype("M8[s]").astype(np.int64).tolist()
        clock = [datetime.fromtimestamp(s, UTC).astimezone(zone).isoformat()[:19] for s in seconds]
    whole = all(text.endswith(":00") for text in clock)
    return [text[:-3] for text in clock] if whole else clock


def _elements(program: Program, name: str, block: Block) -> Iterator[str]:
    """Yield the names of a block's elements, in their order."""
    head = head_of(name)
    if not block.sets:
        yield from [head] * block.size
        return
    axes = [np.array([legal(t) for t in texts(program.coordinates[s])]) for s in block.sets]
    flat = np.arange(block.size) if block.positions is None else block.positions
    places = np.unravel_index(flat, block.shape)
    columns = [axis[place].tolist() for axis, place in zip(axes, places, strict=True)]
    for parts in zip(*columns, strict=True):
        yield f"{head}({','.join(parts)})"
