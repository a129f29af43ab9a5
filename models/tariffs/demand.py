r"""Demand charges: peaks by month and period, ratchets, tiers.

.. math:: P^{bill}_m = \max\left(P_m, \; \max_{m' \in L(m)} f_{m'} P_{m'}\right)

with the measured peak :math:`P_m` and the months :math:`L(m)` that are looked back upon.
"""

from dataclasses import dataclass

import numpy as np

from engiagent.models.ranges import Floats, ParameterError
from engiagent.models.tariffs.charges import CoincidentCharge, DemandCharge, Ratchet
from engiagent.models.tariffs.energy import tier_cost
from engiagent.models.tariffs.metering import Metered
from engiagent.models.tariffs.tariff import BillHistory


@dataclass(frozen=True, kw_only=True)
class DemandBill:
    """Demand of a charge by billing month and period, shape (months, periods); NaN where none is.

    Attributes
    ----------
    measured, billed
        Demand. [kW]
    cost
        By billing month, shape (months,). [currency]
    """

    measured: Floats
    billed: Floats
    cost: Floats


def demand_bill(charge: DemandCharge, metered: Metered, history: BillHistory) -> DemandBill:
    """Return measured and billed demand and its cost."""
    measured = _measured(charge, metered, history)
    occurs = measured >= 0
    billed = np.maximum(measured, charge.minimum_demand)
    if charge.ratchet is not None:
        earlier = np.asarray(history.previous_peaks.get(charge.name, []), dtype=np.float64)
        billed = np.maximum(
            billed, ratchet_floor(charge.ratchet, measured, metered, earlier, charge.name)
        )
    count = max(len(tiers) for tiers in charge.periods)
    upper = np.full((len(charge.periods), count), np.inf)
    price = np.zeros_like(upper)
    for period, tiers in enumerate(charge.periods):
        for place, tier in enumerate(tiers):
            upper[period, place], price[period, place] = tier.limit, tier.price
    upper = np.maximum.accumulate(upper, axis=1)
    due = np.where(occurs, billed, 0.0)
    cost = tier_cost(due, np.broadcast_to(upper, (*due.shape, count)), price).sum(axis=1)
    return DemandBill(
        measured=np.where(occurs, measured, np.nan),
        billed=np.where(occurs, billed, np.nan),
        cost=cost,
    )


def coincident_cost(charge: CoincidentCharge, metered: Metered) -> Floats:
    """Return the cost of demand at given moments by billing month, shape (months,). [currency]."""
    start = metered.times.seconds[metered.demand_at]
    end = metered.times.seconds[-1] + metered.times.step_seconds
    moments = np.array([moment.timestamp() for moment in charge.moments])
    inside = moments[(moments >= start[0]) & (moments < end)]
    window = np.searchsorted(start, inside, side="right") - 1
    demand = np.zeros(metered.months)
    month = metered.month[metered.demand_at[window]]
    if charge.combine == "sum":
        np.add.at(demand, month, metered.demand[window])
    else:
        np.maximum.at(demand, month, metered.demand[window])
    return charge.price * demand


def _measured(charge: DemandCharge, metered: Metered, history: BillHistory) -> Floats:
    """Return peaks by month and period, shape (months, periods); -1 where a period has no time."""
    highest = np.full((metered.months, len(charge.periods)), -1.0)
    period = charge.schedule.at(metered.times)[metered.demand_at]
    np.maximum.at(highest, (metered.month[metered.demand_at], period), metered.demand)
    for number, peak in history.peak_so_far.get(charge.name, {}).items():
        if number not in range(len(charge.periods)):
            raise ParameterError(
                f"the peak so far of {charge.name!r} names period {number}; it has "
                f"{len(charge.periods)}, from 0 on"
            )
        highest[0, number] = max(highest[0, number], peak)
    return highest


def ratchet_floor(
    ratchet: Ratchet, measured: Floats, metered: Metered, earlier: Floats, name: str
) -> Floats:
    """Return the demand that peaks leave to be billed, shape (months, 1 or periods). [kW]."""
    peaks = np.maximum(measured, 0.0)
    if ratchet.by == "month":
        peaks = peaks.max(axis=1, keepdims=True)
    before = _earlier(ratchet, earlier, peaks, name)
    labels = np.arange(metered.first_month - len(before), metered.first_month + len(peaks))
    known = np.concatenate((before, peaks))
    counts = np.isin(labels % 12 + 1, ratchet.seasons)
    fraction = np.broadcast_to(np.asarray(ratchet.fraction, dtype=np.float64), (12,))
    known = np.where(counts, fraction[labels % 12], 0.0)[:, None] * known
    if ratchet.months is None:
        return np.asarray(np.broadcast_to(known.max(axis=0), peaks.shape))
    floor = np.zeros_like(peaks)
    for lag in range(1, ratchet.months + 1):
        start = len(before) - lag
        shifted = known[max(start, 0) : start + len(peaks)] if start + len(peaks) > 0 else known[:0]
        floor[len(floor) - len(shifted) :] = np.maximum(floor[len(floor) - len(shifted) :], shifted)
    return floor


def _earlier(ratchet: Ratchet, earlier: Floats, peaks: Floats, name: str) -> Floats:
    if ratchet.cyclic:
        if len(peaks) % 12:
            raise ParameterError(
                f"the ratchet of {name!r} repeats the year, and the horizon has {len(peaks)} "
                "billing months; give whole years, or cyclic=False with earlier peaks"
            )
        wanted = 0 if ratchet.months is None else ratchet.months
        repeats = -(-wanted // len(peaks))
        return np.tile(peaks, (repeats, 1))[len(peaks) * repeats - wanted :]
    if not earlier.size:
        return np.zeros((0, peaks.shape[1]))
    shaped = earlier[:, None] if earlier.ndim == 1 else earlier
    if shaped.ndim != 2 or shaped.shape[1] != peaks.shape[1]:
        raise ParameterError(
            f"the earlier peaks of {name!r} have the shape {earlier.shape}; give (H, "
            f"{peaks.shape[1]}), or (H,) for a ratchet by month"
        )
    return shaped
