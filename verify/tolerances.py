"""How far off still counts as right. Nothing loosens these at run time; certificates hash them."""

import hashlib
from collections.abc import Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import Final

import numpy as np

from engiagent.blueprint.units import Unit, parse_unit
from engiagent.jsontext import dumps_canonical
from engiagent.verify.values import Floats, Value, blocks, thin, wide

TOLERANCES: Final[Mapping[str, float]] = MappingProxyType(
    {
        "of_scale": 1e-6,  # of the largest sum of absolute terms of a requirement
        "of_terms": 1e-9,  # of the sum of absolute terms of the row itself
        "floor_kW": 1e-6,
        "floor_kWh": 1e-6,
        "floor_K": 1e-5,
        "floor_other": 1e-6,
        "integrality": 1e-9,
        "both_directions": 1e-3,  # of the rating
        "drift": 1e-4,  # of the capacity
        "drift_K": 1e-3,
        "step_of_capacity": 1e-6,
        "objective": 1e-6,
        "gap": 1e-6,
        "parameter": 1e-9,
    }
)

_KELVIN: Final = parse_unit("K").dimension
_FLOORS: Final = tuple((parse_unit(u), f"floor_{u}") for u in ("kW", "kWh", "K"))


def tolerances_sha256() -> str:
    """Return the hash that a certificate carries."""
    return hashlib.sha256(dumps_canonical(dict(TOLERANCES)).encode()).hexdigest()


@lru_cache(maxsize=256)
def floor_of(unit: Unit) -> float:
    """Return the smallest absolute tolerance of a dimension, in SI."""
    for known, key in _FLOORS:
        if known.dimension == unit.dimension:
            return TOLERANCES[key] * known.scale
    return TOLERANCES["floor_other"] * unit.scale


def _summed(left: Value, right: Value, rows: int) -> Floats:
    """Return the sum of the sizes, as an array of its own; of one element where all are alike."""
    if rows and thin(left.data).size == 1 and thin(right.data).size == 1:
        return np.array(thin(left.size) + thin(right.size))
    found = np.empty(rows)
    for stretch in blocks(rows):
        np.add(left.size_of(stretch), right.size_of(stretch), out=found[stretch])
    return found


def row_tolerance(left: Value, right: Value, stated: float | None) -> Floats:
    """Return the tolerance of every row of a comparison, in SI.

    Parameters
    ----------
    stated
        The absolute part that the requirement itself states, in SI.
    """
    counts = left.data.size, right.data.size
    rows = max(counts) if min(counts) else 0  # beside no rows one number is on none
    size = _summed(left, right, rows)
    absolute = stated
    if absolute is None:
        # How far a temperature lies above absolute zero says nothing about its own scale.
        kelvin = left.unit.dimension == _KELVIN
        scale = 0.0 if kelvin or not rows else max(float(size.max()), 0.0)
        absolute = max(floor_of(left.unit), TOLERANCES["of_scale"] * scale)
    size *= TOLERANCES["of_terms"]
    size += absolute
    return wide(size, rows)
