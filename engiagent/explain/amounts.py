"""Amounts of change as people say them: rounded up, with units, runs of equal ones together."""

import math
from collections.abc import Sequence
from typing import Final

import numpy as np

from engiagent.explain.labels import shown
from engiagent.explain.limits import Limit, Limits
from engiagent.formulations.values import Floats

DIGITS: Final = 4
NEGLIGIBLE: Final = 1e-7
"""A change by less than this, relative to the limit and to 1, is within a solver's tolerance."""


def rounded_up(amount: float, digits: int = DIGITS) -> float:
    """Return an amount rounded away from zero, so that it is still enough.

    >>> rounded_up(0.78341), rounded_up(-12.00001), rounded_up(0.4)
    (0.7835, -12.01, 0.4)
    """
    if amount == 0 or not math.isfinite(amount):
        return amount
    unit = 10.0 ** (math.floor(math.log10(abs(amount))) - digits + 1)
    # What the last bits say is no reason for another digit.
    steps = math.ceil(abs(amount) / unit - 1e-6)
    return math.copysign(float(f"{steps * unit:.{digits + 1}g}"), amount)


def change_text(limit: Limit, amounts: Floats, limits: Limits) -> str:
    """Return how a limit gives way, in words.

    Parameters
    ----------
    amounts
        Signed, in the unit of the quantity, (1,) for a shift of all elements or (k,).
    """
    shift = amounts.size == 1
    first = float(amounts[0]) if shift else 0.0
    at = f" at {limit.where}" if limit.where else ""
    if limit.side == "both" and limit.plain:
        if shift:
            return f"set {limit.title}{at} to {_range(limit, limit.values + first)} " + (
                f"instead of {_range(limit, limit.values)}"
            )
        old = _range(limit, limit.values)
        return f"change {limit.title} from {old} by {told(limit, amounts, limits)}"
    rises = bool(np.any(amounts > 0))
    verb, name = ("raise" if rises else "lower"), f"the {limit.side} limit of {limit.title}{at}"
    if not limit.plain:
        verb, name = "loosen", f"“{limit.subject}”"
    if not shift:
        return f"{verb} {name} only where needed: {told(limit, amounts, limits)}"
    by = f"{verb} {name} by {shown(abs(first), limit.step_unit)}"
    if not limit.plain:
        return by
    on = " while it is switched on" if limit.gated and limit.active else ""
    return f"{by}{on}, from {_range(limit, limit.values)} to {_range(limit, limit.values + first)}"


def told(limit: Limit, amounts: Floats, limits: Limits) -> str:
    """Return amounts by element, runs of equal ones together."""
    pieces = [
        f"{shown(abs(a), limit.step_unit)} {_at(w)}" for w, a in by_amount(limit, amounts, limits)
    ]
    more = f"; and {len(pieces) - 6} more" if len(pieces) > 6 else ""
    return "; ".join(pieces[:6]) + more


def _at(where: str) -> str:
    return f"at {where}" if where else "everywhere"


def by_amount(limit: Limit, amounts: Floats, limits: Limits) -> Sequence[tuple[str, float]]:
    """Return the elements at which a limit moves by each amount, in their order."""
    if amounts.size == 1:
        return [(limit.where, float(amounts[0]))]
    found: dict[float, list[int]] = {}
    for place, amount in zip(limit.places.tolist(), amounts.tolist(), strict=True):
        if amount != 0:
            found.setdefault(amount, []).append(place)
    return [(limits.where(limit, np.array(places)), amount) for amount, places in found.items()]


def _range(limit: Limit, values: Floats) -> str:
    low, high = float(np.min(values)), float(np.max(values))
    if low == high:
        return shown(low, limit.unit)
    return f"{shown(low, None)} to {shown(high, limit.unit)}"
