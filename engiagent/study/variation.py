"""What a sweep varies: names, values, and the points of a grid.

``battery.energy_capacity=100..400:7`` is seven values from 100 to 400, ``wear=1,2,5`` a list, and
``price=*0.8..1.2:5`` factors on the values as they stand, which is what series are varied by. A
unit follows in brackets, as ``E_max=1..4:4[MWh]``; without one, numbers are in the parameter's own.
"""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, Final

import numpy as np

from engiagent.errors import InputError

MOST: Final = 100_000
"""Points of one study; a grid of many parameters grows beyond any use."""
EXPECTED: Final = "NAME=LOW..HIGH:COUNT or NAME=V1,V2,…, as battery.energy_capacity=100..400:7[kWh]"
_SPEC = re.compile(r"(?P<factor>\*)?(?P<body>[^\[\]]+?)\s*(?:\[(?P<unit>[^\[\]]*)\])?")
_RANGE = re.compile(r"(?P<low>[^:]+?)\.\.(?P<high>[^:]+?)(?::(?P<count>\d+))?")


@dataclass(frozen=True)
class Variation:
    """A parameter with the values that it takes."""

    name: str  # a parameter, or a slot of a component
    # in order; for a range without a count its two ends, for a factor without ends none
    values: tuple[float, ...] = ()
    unit: str | None = None  # in which the values are; None for the parameter's own
    factor: bool = False  # whether they multiply what stands there

    @classmethod
    def parse(cls, text: str) -> "Variation":
        """Read ``NAME=SPEC``; InputError when it is none, or a number is not finite."""
        name, equals, spec = (part.strip() for part in text.partition("="))
        match = _SPEC.fullmatch(spec)
        if not (equals and name and match):
            raise InputError("this varies nothing", found=repr(text), expected=EXPECTED)
        span = _RANGE.fullmatch(match["body"].strip())
        if span is None:
            values = tuple(_number(part, text) for part in match["body"].split(","))
        else:
            values = _spaced(span, text)
        if len(set(values)) != len(values):
            raise InputError("a value stands twice", found=repr(text), expected=EXPECTED)
        unit = match["unit"].strip() if match["unit"] is not None else None
        if match["factor"] and unit is not None:
            raise InputError("a factor has no unit", found=repr(text), expected="price=*0.8..1.2:5")
        return cls(name, values, unit, bool(match["factor"]))

    def to_json(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        return {
            "name": self.name,
            "values": list(self.values),
            "unit": self.unit,
            "factor": self.factor,
        }


def parse_factor(text: str) -> Variation:
    """Read ``NAME``, whose range is the study's, or ``NAME=LOW..HIGH`` with two ends of its own.

    Raises InputError when it does not give two ends.
    """
    if "=" not in text:
        return Variation(text.strip())
    found = Variation.parse(text)
    if len(found.values) != 2:
        raise InputError("a factor has two ends", found=repr(text), expected="E=80..120[kWh]")
    return found


def _spaced(span: re.Match[str], text: str) -> tuple[float, ...]:
    low, high = _number(span["low"], text), _number(span["high"], text)
    if low == high:
        raise InputError("both ends of a range are the same", found=repr(text), expected=EXPECTED)
    count = int(span["count"] or 2)
    if not 2 <= count <= MOST:
        raise InputError(f"a range takes 2 to {MOST} values", found=str(count), expected=EXPECTED)
    return tuple(float(value) for value in np.linspace(low, high, count))


def _number(text: str, whole: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise InputError(f"{text.strip()!r} is no number", found=repr(whole), expected=EXPECTED)
    return value


def points_of(variations: Sequence[Variation]) -> list[tuple[float, ...]]:
    """Return every combination of values, the last name fastest.

    Raises InputError when nothing varies, a name comes twice, or there are too many points.
    """
    names = [item.name for item in variations]
    if not names:
        raise InputError("nothing is varied", expected=EXPECTED)
    if len(set(names)) != len(names):
        raise InputError("a name is varied twice", found=", ".join(names))
    count = math.prod(len(item.values) for item in variations)
    if not 1 <= count <= MOST:
        raise InputError(f"a study takes 1 to {MOST} points", found=str(count))
    return list(product(*(item.values for item in variations)))
