"""What a check yields: violations with place, amount and unit, and the record of each check."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Violation:
    """Something that is not as it must be."""

    level: str  # ``data``, ``algebra``, ``physics`` or ``optimality``
    check: str  # the id of the requirement, the constraint or the test
    name: str
    message: str
    where: Mapping[str, str] = field(default_factory=dict)  # labels by index or set
    amount: float | None = None  # how much it is off; None when that is no number
    unit: str | None = None
    tolerance: float | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the violation as JSON."""
        return {
            "level": self.level,
            "check": self.check,
            "name": self.name,
            "where": dict(self.where),
            "amount": finite_or_none(self.amount),
            "unit": self.unit,
            "tolerance": finite_or_none(self.tolerance),
            "message": self.message,
        }


@dataclass(frozen=True)
class Report:
    """The outcome of one level."""

    status: str  # ``pass``, ``fail`` or ``unchecked``
    # what the certificate says about the level, as JSON
    body: Mapping[str, Any] = field(default_factory=dict)
    violations: tuple[Violation, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return the level as JSON."""
        return {"status": self.status, **self.body}


def finite_or_none(value: float | None) -> float | None:
    """Return a number that JSON can hold, without negative zero."""
    if value is None or not math.isfinite(value):
        return None
    return float(value) + 0.0


def whole_name(name: str) -> str:
    """Return the name of a parameter, without the element that a finding is about."""
    return name.partition("[")[0]
