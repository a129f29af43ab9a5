"""Physical units: a closed table, exact factors, and temperatures told from differences.

A unit is a product of powers of base dimensions, an exact factor to the coherent SI unit (money
and counts are base dimensions of their own) and, for a temperature scale such as degC, a zero
point. Factors are fractions, so that converting there and back changes nothing.

The table is closed on purpose: a file that is somebody else's must not be able to define units,
and a general parser would read ``5 M`` as five molar.

>>> convert(15.0, parse_unit("kW*min"), parse_unit("kWh"))
0.25
>>> convert(68.0, parse_unit("degF"), parse_unit("degC"))
20.0
"""

import math
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from difflib import get_close_matches
from fractions import Fraction
from functools import cache, lru_cache
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from engiagent.errors import EngiagentError
from engiagent.units.wordlists import listed, spelt, table

if TYPE_CHECKING:
    import numpy.typing as npt

Dimension = tuple[tuple[str, int], ...]
"""Base dimensions with their non-zero exponents, sorted by name."""

Number = TypeVar("Number", float, "npt.NDArray[np.float64]")


class UnitError(EngiagentError):
    """A unit is unknown, ambiguous or does not fit."""


@dataclass(frozen=True, slots=True)
class Unit:
    """A unit of measurement."""

    text: str  # how the unit was written, as ``EUR/MWh``
    dimension: Dimension  # its base dimensions with exponents
    factor: Fraction  # how many coherent SI units one of it is
    # the SI value of its zero; None for every unit but a temperature scale. A unit with a zero
    # measures a *point* on the scale, every other unit an amount or a difference.
    zero: Fraction | None = None
    scale: float = field(init=False, repr=False, compare=False)  # the factor as a float
    origin: float = field(init=False, repr=False, compare=False)  # the zero, 0 where there is none
    is_point: bool = field(init=False, repr=False, compare=False)  # 20 degC, and not 20 K
    is_dimensionless: bool = field(init=False, repr=False, compare=False)  # as 1 or %

    def __post_init__(self) -> None:
        # Units are few and asked for these with every operation on numbers.
        object.__setattr__(self, "scale", _as_float(self))
        object.__setattr__(self, "origin", float(self.zero or 0))
        object.__setattr__(self, "is_point", self.zero is not None)
        object.__setattr__(self, "is_dimensionless", not self.dimension)

    def __hash__(self) -> int:
        return hash(self.text)

    def __str__(self) -> str:
        return self.text or "1"

    def to_si(self, number: Number) -> Number:
        """Return a number, or an array of them, in coherent SI units."""
        converted = number * self.scale
        return converted + self.origin if self.is_point else converted

    def from_si(self, number: Number) -> Number:
        """Return a number of coherent SI units, or an array of them, in this unit."""
        return (number - self.origin) / self.scale

    def difference(self) -> "Unit":
        """Return the unit of the difference of two values: K for degC, itself for an amount."""
        if self.zero is None:
            return self
        return Unit(_DIFFERENCE_NAMES[self.text], self.dimension, self.factor)

    def __mul__(self, other: "Unit") -> "Unit":
        return _product((_amount(self), 1), (_amount(other), 1))

    def __truediv__(self, other: "Unit") -> "Unit":
        return _product((_amount(self), 1), (_amount(other), -1))

    def __pow__(self, exponent: int) -> "Unit":
        return _product((_amount(self), exponent))

    def root(self) -> "Unit":
        """Return the unit of the square root of a value: kW for kW^2, a coherent one for W*kW."""
        if self.is_point or any(exponent % 2 for _, exponent in self.dimension):
            raise UnitError(f"{self} is no square of a unit")
        factors = _factors_of(self.text) if self.dimension else []
        if any(power % 2 for _, power in factors):
            half = tuple((base, exponent // 2) for base, exponent in self.dimension)
            plain = (
                u for u in known_units() if u.dimension == half and u.factor == 1 and not u.is_point
            )
            return next(plain, None) or _product(*((_named(base), e) for base, e in half))
        return _product(*((_named(name), power // 2) for name, power in factors))

    def same_dimension(self, other: "Unit") -> bool:
        """Whether values of both units can be compared at all."""
        return self.dimension == other.dimension


def _amount(unit: Unit) -> Unit:
    """Return a unit of which products are made; refuse one of points on a scale."""
    if unit.is_point:
        raise UnitError(
            f"{unit} is a temperature scale, so it cannot be multiplied, divided or raised "
            f"to a power; take a difference first, as (T - 20[{unit}])"
        )
    return unit


def _as_float(unit: Unit) -> float:
    try:
        scale = float(unit.factor)
    except OverflowError:
        scale = math.inf
    if not 0.0 < scale < math.inf:
        raise UnitError(f"{unit} in SI units is beyond what a number can hold")
    return scale


@lru_cache(maxsize=4096)
def _product(*parts: tuple[Unit, int]) -> Unit:
    exponents: dict[str, int] = {}
    factor = Fraction(1)
    for unit, power in parts:
        factor *= unit.factor**power
        for base, exponent in unit.dimension:
            exponents[base] = exponents.get(base, 0) + exponent * power
    dimension = tuple(sorted((b, e) for b, e in exponents.items() if e))
    return Unit(_product_text(parts, dimension), dimension, factor)


def _product_text(parts: tuple[tuple[Unit, int], ...], dimension: Dimension) -> str:
    """Write a product so that ``kW*h*EUR/kWh`` reads as what it is, cancelling equal factors."""
    powers: dict[str, int] = {}
    for unit, power in parts:
        for name, exponent in _factors_of(unit.text):
            powers[name] = powers.get(name, 0) + exponent * power
    if powers.get("kW", 0) > 0 and powers.get("h", 0) > 0:
        joined = min(powers["kW"], powers["h"])
        powers["kW"] -= joined
        powers["h"] -= joined
        powers["kWh"] = powers.get("kWh", 0) + joined
    return quotient_text(powers.items())


def quotient_text(powers: Iterable[tuple[str, int]]) -> str:
    """Return ``a*b/c^2`` for the names of units with their powers; empty without any."""

    def power(name: str, exponent: int) -> str:
        return name if exponent == 1 else f"{name}^{exponent}"

    above = [power(name, e) for name, e in powers if e > 0]
    below = [power(name, -e) for name, e in powers if e < 0]
    return "/".join(["*".join(above) or "1", *below]) if above or below else ""


def _factors_of(text: str) -> list[tuple[str, int]]:
    return [(name, power) for name, power in _split(text) if name != "1"] if text else []


# --- the table -------------------------------------------------------------------------------


CURRENCIES = list(listed("units", "currencies"))
COUNTS = list(listed("units", "counts"))

_POINTS = {
    "degC": (Fraction(1), Fraction("273.15")),
    "degF": (Fraction(5, 9), Fraction("459.67") * Fraction(5, 9)),
}
_DIFFERENCE_NAMES = {"degC": "K", "degF": "degF_diff"}

# Other spellings of the same unit, as people and spreadsheets write them.
_ALIASES = spelt("units", "aliases")

_AMBIGUOUS = {
    **dict.fromkeys(
        ("ct", "cent", "cents", "¢"), "cents of which currency? write ct_EUR or ct_USD"
    ),
    "ton": "write t for a tonne of mass or TR for a ton of refrigeration",
    "M": "write the whole unit, as MW or MEUR",
    "C": "write degC for a temperature or K for a temperature difference",
    "F": "write degF for a temperature or degF_diff for a temperature difference",
}

_NAME = r"[A-Za-z_%$€£¥°℃℉Ω¢][A-Za-z_%$€£¥°²³.0-9]*|1"
_FACTOR = re.compile(rf"({_NAME})\s*(?:\^\s*(-?\d{{1,3}}))?")
MAX_LENGTH = 60


@lru_cache(maxsize=4096)
def parse_unit(text: str) -> Unit:
    """Return the unit that ``text`` names, as ``kW``, ``EUR/MWh``, ``kWh/K`` or ``W/(m2*K)``.

    Raises UnitError when a name is unknown or ambiguous, or the text is no product of names.

    >>> parse_unit("ct_EUR/kWh").factor == parse_unit("EUR/MWh").factor * 10
    True
    >>> parse_unit("kkW")
    Traceback (most recent call last):
    engiagent.units.unit.UnitError: unknown unit 'kkW'; did you mean kW?
    """
    cleaned = text.strip()
    if len(cleaned) > MAX_LENGTH:
        raise UnitError(f"a unit has at most {MAX_LENGTH} characters, this one {len(cleaned)}")
    if cleaned in _POINTS or _ALIASES.get(cleaned) in _POINTS:
        name = _ALIASES.get(cleaned, cleaned)
        factor, zero = _POINTS[name]
        return Unit(name, (("K", 1),), factor, zero)
    if cleaned in _TABLE or cleaned in _ALIASES or cleaned in _AMBIGUOUS:
        return _named(cleaned)
    parts = [(_named(name, power), power) for name, power in _split(cleaned)]
    return Unit(cleaned, _product(*parts).dimension, _product(*parts).factor)


def known_units() -> tuple[Unit, ...]:
    """Return every unit of the closed table, in its order, without other spellings."""
    return tuple(parse_unit(name) for name in (*_TABLE, *_POINTS))


def spellings() -> dict[str, tuple[str, ...]]:
    """Return for each unit that has any its other spellings, as ``kWh -> (kwh, KWh, …)``."""
    result: dict[str, tuple[str, ...]] = {}
    for spelling, name in _ALIASES.items():
        if spelling:
            result[name] = (*result.get(name, ()), spelling)
    return result


def _split(text: str) -> list[tuple[str, int]]:
    """Split a product into names and powers; ``/(a*b)`` divides by both."""
    flat = text.replace("**", "^").replace("·", "*").replace(" per ", "/").replace("⋅", "*")
    parts: list[tuple[str, int]] = []
    sign, in_group, position = 1, False, 0
    expect_name = True
    while position < len(flat):
        char = flat[position]
        if char.isspace():
            position += 1
        elif char in "*/" and not expect_name:
            if in_group and char == "/":
                hint = "write it as a plain product"
                raise UnitError(f"the unit {text!r} divides inside brackets; {hint}")
            sign = sign if in_group else -1 if char == "/" else 1
            expect_name = True
            position += 1
        elif char == "(" and expect_name and not in_group:
            in_group = True
            position += 1
        elif char == ")" and in_group and not expect_name:
            in_group = False
            position += 1
        else:
            match = _FACTOR.match(flat, position)
            if match is None or not expect_name:
                raise UnitError(f"cannot read the unit {text!r} at {flat[position:]!r}")
            parts.append((match[1], sign * int(match[2] or 1)))
            position = match.end()
            expect_name = False
    if expect_name or in_group:
        raise UnitError(f"the unit {text!r} ends too early")
    return parts


def _named(name: str, power: int = 1) -> Unit:
    if name in _AMBIGUOUS:
        raise UnitError(f"the unit {name!r} is ambiguous: {_AMBIGUOUS[name]}")
    canonical = _ALIASES.get(name, name)
    if canonical in _POINTS and power < 0:  # per degree Celsius means per kelvin
        canonical = _DIFFERENCE_NAMES[canonical]
    if canonical in _POINTS:
        raise UnitError(
            f"{name} is a temperature scale and cannot be part of a product; "
            f"write {_DIFFERENCE_NAMES[canonical]} for a temperature difference"
        )
    if canonical not in _TABLE:
        raise UnitError(f"unknown unit {name!r}{_suggestion(name)}")
    factor, dimension = _TABLE[canonical]
    return Unit("" if canonical == "1" else canonical, dimension, factor)


@lru_cache(maxsize=4096)
def _suggestion(name: str) -> str:
    base = name.rstrip("0123456789")
    if base != name and _ALIASES.get(base, base) in _TABLE:
        return f"; did you mean {base}^{name.removeprefix(base)}?"
    close = get_close_matches(name, [*_TABLE, *_POINTS, *_ALIASES], n=1, cutoff=0.6)
    return f"; did you mean {close[0]}?" if close else ""


def _defined() -> dict[str, tuple[Fraction, Dimension]]:
    """Return every unit of the table with its factor and its dimension, in order.

    A unit may be defined by one that stands below it.
    """
    lines = dict(table("units", "units"))

    @cache
    def unit(name: str) -> tuple[Fraction, Dimension]:
        number, _, product = lines[name].partition(" ")
        if number == "base":
            return Fraction(1), ((name, 1),)
        factor, powers = Fraction(number), Counter[str]()
        for part, power in _split(product) if product else ():
            own, bases = unit(part)
            factor *= own**power
            for base, exponent in bases:
                powers[base] += exponent * power
        return factor, tuple(sorted((base, power) for base, power in powers.items() if power))

    found = {name: unit(name) for name in lines}
    scales = (("", Fraction(1)), ("ct_", Fraction(1, 100)), ("k", Fraction(1000)))
    for currency in CURRENCIES:
        for prefix, factor in (*scales, ("M", Fraction(10**6))):
            found[prefix + currency] = (factor, ((currency, 1),))
    return found | {count: (Fraction(1), ((count, 1),)) for count in COUNTS}


_TABLE = _defined()


def unit_names() -> list[str]:
    """Return every spelling that the table knows, ambiguous ones included."""
    return [*_TABLE, *_POINTS, *_ALIASES, *_AMBIGUOUS]


@lru_cache(maxsize=4096)
def conversion(source: Unit, target: Unit) -> tuple[float, float]:
    """Return ``(factor, shift)`` so that ``value_in_target = factor * value + shift``.

    Raises UnitError when the two differ in dimension, or a point on a scale would become an amount.
    """
    if source.dimension != target.dimension:
        raise UnitError(f"{source} and {target} measure different things")
    if source.is_point != target.is_point:
        raise UnitError(
            f"{source} and {target} do not mix: one is a temperature, the other a difference"
        )
    factor = source.factor / target.factor
    shift = ((source.zero or 0) - (target.zero or 0)) / target.factor
    return float(factor), float(shift)


def convert(value: float, source: Unit, target: Unit) -> float:
    """Return ``value`` of unit ``source`` in unit ``target``; one rounding, at the end.

    >>> convert(1.0, parse_unit("TR"), parse_unit("BTU/h"))
    12000.0
    """
    conversion(source, target)
    exact = Fraction(value) * source.factor + (source.zero or 0) - (target.zero or 0)
    return float(exact / target.factor)
