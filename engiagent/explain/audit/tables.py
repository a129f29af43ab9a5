"""What is usual of numbers and of their proportions, from ``ranges.yaml``."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from engiagent.io.files import packaged_yaml


@dataclass(frozen=True)
class Range:
    """What a slot of a component can be and usually is, in ``unit``."""

    unit: str
    said: str
    possible: tuple[float, float]
    usual: tuple[float, float]
    because: str


@dataclass(frozen=True)
class Ratio:
    """Two parameters of a component whose quotient, or product, has a usual range."""

    component: str
    first: str
    second: str
    product: bool
    unit: str
    low: float
    high: float
    said: str
    because: str


@lru_cache(maxsize=1)
def ranges() -> Mapping[tuple[str, str], Range]:
    """Return what is usual, by model and slot."""
    return {
        (model, slot): Range(
            r["unit"], r["said"], _pair(r["possible"]), _pair(r["usual"]), r["because"].strip()
        )
        for model, slots in _table()["slots"].items()
        for slot, r in slots.items()
    }


@lru_cache(maxsize=1)
def ratios() -> tuple[Ratio, ...]:
    """Return the proportions that are usual."""
    return tuple(
        Ratio(
            r["component"],
            r["first"],
            r["second"],
            bool(r.get("product")),
            r["unit"],
            *_pair(r["usual"]),
            r["said"],
            r["because"].strip(),
        )
        for r in _table()["ratios"]
    )


def _pair(ends: Any) -> tuple[float, float]:
    low, high = ends
    return float(low), float(high)


def _table() -> Any:
    return packaged_yaml("engiagent.explain.audit", "ranges.yaml")
