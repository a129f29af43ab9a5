"""Values of slots: quantities with units, columns of files, and expressions over these."""

import re
from dataclasses import dataclass
from typing import Final

from engiagent.units.unit import Unit, UnitError, parse_unit
from engiagent.units.words import Conventions, resolve_unit

NUMBER: Final = r"(?:\d{1,3}(?:[   ]\d{3})+(?!\d)|\d+)(?:\.\d+)?(?:[eE][-+]?\d+)?"
UNIT: Final = r"[A-Za-z%°€$£µΩ][^\s+\-()\[\],<>=!]*(?:\([^()\s]*\))?"
_QUANTITY: Final = re.compile(rf"(?P<number>[-+−]?\s*{NUMBER})(?:\s*(?P<unit>\D.*))?")
_TOKEN: Final = re.compile(
    r"(?P<space>\s+)"
    r"|(?P<column>(?P<file>[\w./-]+\.(?:csv|parquet|nc))#"
    r"(?:\"(?P<quoted>[^\"]+)\"|(?P<name>[^\s\[\]\"+*()]+))(?:\s*\[(?P<bracket>[^\]]*)\])?)"
    rf"|(?P<number>{NUMBER})(?:\s*(?P<unit>{UNIT}))?"
    r"|(?P<operator>[-+*/()−])"
)


class ValueFormError(Exception):
    """What is wrong with a value, at which character, and what was expected."""

    def __init__(self, message: str, at: int = 0, expected: str | None = None) -> None:
        super().__init__(message)
        self.message, self.at, self.expected = message, at, expected


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
            raise ValueFormError(
                f"cannot read the unit {text[:40]!r}: {error}", at, "a unit such as kWh or EUR/MWh"
            ) from None
    return found


def _number(text: str) -> float:
    return float(re.sub(r"\s", "", text).replace("−", "-"))


def pieces(text: str, conventions: Conventions) -> list[Piece]:
    """Return the parts of a value: one quantity or column, or an expression over several.

    Raises
    ------
    ValueFormError
        At the character that is none of these.
    """
    whole = _QUANTITY.fullmatch(text)
    if whole is not None:
        written = whole["unit"]
        if written is None:
            return [Quantity(_number(whole["number"]), None)]
        if re.match(r",\d", written):
            raise ValueFormError("a decimal comma", whole.start("unit"), "a decimal point, as 1.5")
        if resolve_unit(written, conventions) is not None or not re.search(
            r"[-+*#]|\s/\s", written
        ):
            unit = unit_in(written, conventions, whole.start("unit"))
            return [Quantity(_number(whole["number"]), unit)]
    found: list[Piece] = []
    place = 0
    while place < len(text):
        match = _TOKEN.match(text, place)
        if match is None:
            raise ValueFormError(
                "no value",
                place,
                "a quantity as '20 kWh', a column as 'data.csv#load', or an expression over these",
            )
        if match["column"]:
            bracket = match["bracket"]
            beside: Unit | None = None
            if bracket is not None:
                beside = unit_in(bracket.strip(), conventions, match.start("bracket"))
            found.append(Column(match["file"], match["quoted"] or match["name"], beside, place))
        elif match["number"]:
            behind = match["unit"]
            own = unit_in(behind, conventions, match.start("unit")) if behind else None
            found.append(Quantity(_number(match["number"]), own))
        elif match["operator"]:
            found.append(match["operator"].replace("−", "-"))
        place = match.end()
    return found


def literal(quantity: Quantity) -> str:
    """Return a quantity as the blueprint language writes it."""
    shown = f"{quantity.number:.15g}"
    return shown if quantity.unit is None else f"{shown}[{quantity.unit}]"
