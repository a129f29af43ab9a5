"""Values of slots, and expressions of requirements, as people write them in a plant file."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from engiagent.plant.source import FormError, nearest
from engiagent.units.unit import Unit, UnitError, parse_unit
from engiagent.units.words import Conventions, resolve_unit

NUMBER: Final = r"(?:\d{1,3}(?:[   ]\d{3})+(?!\d)|\d+)(?:\.\d+)?(?:[eE][-+]?\d+)?"
UNIT: Final = r"[A-Za-z%°€$£µΩ][^\s+\-()\[\],<>=!]*(?:\([^()\s]*\))?"
_QUANTITY: Final = re.compile(rf"(?P<number>[-+−]?\s*{NUMBER})(?:\s*(?P<unit>\D.*))?")
_TOKEN: Final = re.compile(
    r"(?P<space>\s+)"
    r"|(?P<column>(?P<file>[\w./-]+\.(?:csv|xlsx|parquet|nc))#"
    r"(?:\"(?P<quoted>[^\"]+)\"|(?P<name>[^\s\[\]\"+*()]+))(?:\s*\[(?P<bracket>[^\]]*)\])?)"
    rf"|(?P<number>{NUMBER})(?:\s*(?P<unit>{UNIT}))?"
    r"|(?P<operator>[-+*/()−])"
)


@dataclass(frozen=True)
class Quantity:
    """A number with its unit, None for a bare one."""

    number: float
    unit: Unit | None


@dataclass(frozen=True)
class Column:
    """A reference to a column of a file, with the unit in brackets behind it."""

    file: str
    name: str
    unit: Unit | None
    at: int


Piece = Quantity | Column | str
"""A part of an expression; a string is an operator or a bracket."""


def unit_in(text: str, conventions: Conventions, at: int) -> Unit:
    """Return the unit that a text means, as people write it."""
    found = resolve_unit(text, conventions)
    if found is None:
        try:
            found = parse_unit(text)
        except UnitError as error:
            raise FormError(
                f"cannot read the unit {text[:40]!r}: {error}", at, "a unit such as kWh or EUR/MWh"
            ) from None
    return found


def _number(text: str) -> float:
    return float(re.sub(r"\s", "", text).replace("−", "-"))


def pieces(text: str, conventions: Conventions) -> list[Piece]:
    """Return the parts of a value: one quantity or column, or an expression over several."""
    return list(each_piece(text, conventions))


def each_piece(text: str, conventions: Conventions) -> Iterator[Piece]:
    """Yield the parts of a value as far as it can be read."""
    whole = _QUANTITY.fullmatch(text)
    if whole is not None:
        written = whole["unit"]
        if written is None:
            yield Quantity(_number(whole["number"]), None)
            return
        if re.match(r",\d", written):
            raise FormError("a decimal comma", whole.start("unit"), "a decimal point, as 1.5")
        if resolve_unit(written, conventions) is not None or not re.search(
            r"[-+*#]|\s/\s", written
        ):
            unit = unit_in(written, conventions, whole.start("unit"))
            yield Quantity(_number(whole["number"]), unit)
            return
    place = 0
    while place < len(text):
        match = _TOKEN.match(text, place)
        if match is None:
            raise FormError(
                "no value",
                place,
                "a quantity as '20 kWh', a column as 'data.csv#load' or, with blanks in its name, "
                "'data.csv#\"load in kW\"', or an expression over these",
            )
        if match["column"]:
            bracket = match["bracket"]
            beside: Unit | None = None
            if bracket is not None:
                beside = unit_in(bracket.strip(), conventions, match.start("bracket"))
            yield Column(match["file"], match["quoted"] or match["name"], beside, place)
        elif match["number"]:
            behind = match["unit"]
            own = unit_in(behind, conventions, match.start("unit")) if behind else None
            yield Quantity(_number(match["number"]), own)
        elif match["operator"]:
            yield match["operator"].replace("−", "-")
        place = match.end()


def literal(quantity: Quantity) -> str:
    """Return a quantity as the blueprint language writes it."""
    shown = f"{quantity.number:.15g}"
    return shown if quantity.unit is None else f"{shown}[{quantity.unit}]"


_KEYWORDS: Final = frozenset(["and", "or", "not", "in", "if", "else", "for", "t"])
_TERM: Final = re.compile(
    r"(?P<text>'[^']*'|\"[^\"]*\")"
    rf"|(?<![\w.])(?P<number>{NUMBER})(?:(?P<gap>\s*)(?P<unit>{UNIT}))?"
    r"|(?<![\w.])(?P<owner>[A-Za-z_]\w*)\.(?P<what>[A-Za-z_]\w*)(?P<edge>\[\s*(?:start|end)\s*\])?"
)
_EDGES: Final = {"start": "[first(I)]", "end": "[last(I)]"}


@dataclass(frozen=True)
class Term:
    """An expression in the blueprint's language, and where its characters come from."""

    text: str
    origins: tuple[tuple[int, int], ...]

    def origin(self, column: int) -> int:
        """Return the character (from 0) of what was written behind a column (from 1)."""
        begun, written = max(pair for pair in self.origins if pair[0] < column)
        return written + column - 1 - begun


def translated(text: str, names: Mapping[str, Mapping[str, str]], conventions: Conventions) -> Term:
    """Return an expression with its quantities and literals in the blueprint's language.

    ``names`` says by component what its series and slots are called there.
    """
    result, origins, place = "", [(0, 0)], 0
    while match := _TERM.search(text, place):
        new, end = _replaced(match, text, names, conventions)
        result += text[place : match.start()]
        origins.append((len(result), match.start()))
        result += new
        origins.append((len(result), end))
        place = end
    return Term(result + text[place:], tuple(origins))


def _replaced(
    match: re.Match[str],
    text: str,
    names: Mapping[str, Mapping[str, str]],
    conventions: Conventions,
) -> tuple[str, int]:
    """Return what stands for a term, and where the term ends."""
    if match["owner"]:
        return _quantity(match, names), match.end()
    if match["text"] or not match["unit"]:
        return match[0], match.end()
    number = re.sub(r"\s", "", match["number"])
    written = match["unit"]
    if text[match.end() : match.end() + 1] in ("(", "."):  # its last word is no unit
        written = written[: max(written.rfind("*"), written.rfind("/"), 0)]
    if not written or written in _KEYWORDS:
        return f"{number} ", match.start("unit")
    # what follows * or / may be the next factor, as in 5 kW*dt(t)
    possible = (written, re.split(r"\*", written)[0], re.split(r"[*/]", written)[0])
    fitting = next((unit for unit in possible if resolve_unit(unit, conventions)), written)
    unit = unit_in(fitting, conventions, match.start("unit"))
    return f"{number}[{unit}]", match.start("unit") + len(fitting)


def _quantity(match: re.Match[str], names: Mapping[str, Mapping[str, str]]) -> str:
    owner, what = match["owner"], match["what"]
    if owner not in names:
        raise FormError(f"there is no component {owner!r}", match.start(), nearest(owner, names))
    if what not in names[owner]:
        raise FormError(
            f"{owner} has no quantity {what!r}", match.start("what"), nearest(what, names[owner])
        )
    edge = match["edge"]
    return names[owner][what] + (_EDGES[edge.strip("[] ")] if edge else "")
