"""How far off still counts as right. Nothing loosens these at run time; certificates hash them."""

import hashlib
from collections.abc import Callable, Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import Final

import numpy as np

from engiagent.errors import EngiagentError
from engiagent.io.jsontext import dumps_canonical
from engiagent.units.unit import Unit, parse_unit
from engiagent.verify.values import Bools, Floats, Value, blocks, thin, wide

TOLERANCES: Final[Mapping[str, float]] = MappingProxyType(
    {
        "of_scale": 1e-6,  # of the sum of absolute terms of a row, as declared: see DeclaredBench
        "of_terms": 1e-9,  # of the sum of absolute terms of the row in the schedule
        "share": 1e-3,  # of the declared terms: beyond it, what rounding may hide is no check
        "floor_kW": 1e-6,
        "floor_kWh": 1e-6,
        "floor_K": 1e-5,
        "floor_other": 1e-6,
        "cap_of_floor": 1e6,  # the part of the scale never exceeds so many times the floor
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


Pair = tuple[Value, Value]


def row_tolerance(
    left: Value, right: Value, stated: float | None, declared: Callable[[], Pair] | None = None
) -> Floats:
    """Return the tolerance of every row of a comparison, in SI.

    ``stated``: the absolute part that the requirement itself states, in SI. ``declared``: how to
    get both sides at the magnitudes that are declared for their variables, which set the scale;
    without it each row has the scale of its own numbers.
    """
    counts = left.data.size, right.data.size
    rows = max(counts) if min(counts) else 0  # beside no rows one number is on none
    size = _summed(left, right, rows)
    absolute: Floats | float | None = stated
    if absolute is None:
        absolute = _absolute(left.unit, size, rows, declared)
    size *= TOLERANCES["of_terms"]
    size = size + absolute
    return wide(size, rows)


def _absolute(
    unit: Unit, size: Floats, rows: int, declared: Callable[[], Pair] | None
) -> Floats | float:
    """Return the part of a tolerance that rests on what is declared of the row."""
    floor = floor_of(unit)
    # How far a temperature lies above absolute zero says nothing about its own scale.
    largest = 0.0 if unit.dimension == _KELVIN or not rows else max(float(size.max()), 0.0)
    if not TOLERANCES["of_scale"] * largest > floor:
        return floor
    scale = thin(np.minimum(size, largest))
    if declared is not None:
        reach = _reached(declared, rows)
        scale = np.where(np.isfinite(reach), np.minimum(reach, largest), scale)
    absolute = np.minimum(TOLERANCES["of_scale"] * scale, TOLERANCES["cap_of_floor"] * floor)
    return np.asarray(np.maximum(absolute, floor))


def _reached(declared: Callable[[], Pair], rows: int) -> Floats:
    """Return the sum of the absolute terms at what is declared; not finite where there is none."""
    try:
        left, right = declared()
    except EngiagentError:
        return np.full(1, np.nan)
    with np.errstate(all="ignore"):
        return thin(_summed(left, right, rows))


def hidden(left: Value, right: Value, declared: Callable[[], Pair]) -> Bools | None:
    """Return the rows in which rounding may hide a share of what is declared; None for none.

    Such a row says nothing: two free variables of 2e9 kW hide any heat that is not delivered.
    """
    counts = left.data.size, right.data.size
    rows = max(counts) if min(counts) else 0
    size = _summed(left, right, rows)
    size *= TOLERANCES["of_terms"]
    if not rows or left.unit.dimension == _KELVIN or not size.max() > floor_of(left.unit):
        return None
    reach = _reached(declared, rows)
    with np.errstate(invalid="ignore"):
        found = (size > floor_of(left.unit)) & (reach > 0) & (size > TOLERANCES["share"] * reach)
    return wide(found, rows) if found.any() else None
