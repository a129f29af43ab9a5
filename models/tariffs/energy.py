r"""Energy charges: tiers filled by period or by time, and net metering.

A tier :math:`k` from :math:`l_{k-1}` to :math:`l_k` holds :math:`\min(E, l_k) - l_{k-1}` of the
energy :math:`E`, at least 0.
"""

import numpy as np

from engiagent.models.ranges import Floats, ParameterError, over_time
from engiagent.models.tariffs.charges import EnergyCharge, NetMetering, PriceSeries
from engiagent.models.tariffs.metering import Metered
from engiagent.models.tariffs.times import Ints


def energy_cost(
    charge: EnergyCharge | PriceSeries,
    metered: Metered,
    energy: Floats,
    before: Floats | None = None,
) -> Floats:
    """Return what an energy of each part costs by billing month, shape (months,). [currency].

    ``before`` is energy by period that has filled tiers before the horizon, shape (periods,).
    """
    if isinstance(charge, PriceSeries):
        prices = over_time(
            charge.prices, (metered.times.count // metered.parts,), f"the prices of {charge.name!r}"
        )
        return metered.by_month(np.repeat(prices, metered.parts) * energy)
    group, month_of_group = tier_groups(charge, metered)
    period = charge.schedule.at(metered.times)
    upper, price = tier_limits(charge, metered, month_of_group)
    if charge.tiers_by != "total":
        amount = np.zeros((len(month_of_group), len(charge.periods)))
        np.add.at(amount, (group, period), energy)
        start = np.zeros_like(amount)
        start[0] = 0.0 if before is None else before
        cost = _cost(charge, start + amount, upper, price) - _cost(charge, start, upper, price)
        return np.asarray(np.bincount(month_of_group, cost, metered.months), dtype=np.float64)
    total = np.cumsum(energy)
    first = np.flatnonzero(np.diff(group, prepend=-1))
    # The sum before each group starts from the energy of that group alone, for its digits' sake.
    before_group = np.concatenate(([0.0], total))[first][group]
    after = total - before_group + np.where(group == 0, 0.0 if before is None else before.sum(), 0)
    portion = _portions(after, upper[group, period]) - _portions(
        np.maximum(after - energy, 0.0), upper[group, period]
    )
    return metered.by_month((portion * price[period]).sum(axis=1))


def period_energy(charge: EnergyCharge, metered: Metered, energy: Floats) -> Floats:
    """Return energy by billing month and period, shape (months, periods). [kWh]."""
    amount = np.zeros((metered.months, len(charge.periods)))
    np.add.at(amount, (metered.month, charge.schedule.at(metered.times)), energy)
    return amount


def tier_cost(amount: Floats, upper: Floats, price: Floats) -> Floats:
    """Return what amounts of at least 0 cost, of their shape: (groups, periods)."""
    return np.asarray((_portions(amount, upper) * price).sum(axis=-1))


def _cost(charge: EnergyCharge, amount: Floats, upper: Floats, price: Floats) -> Floats:
    """Return what energy by group and period costs, shape (groups,)."""
    if charge.tiers_by == "period":
        return np.asarray(tier_cost(amount, upper, price).sum(axis=1))
    total = amount.sum(axis=1, keepdims=True)
    share = np.divide(amount, total, out=np.zeros_like(amount), where=total != 0)
    first = np.argmax(amount != 0, axis=1)
    portion = _portions(total[:, 0], upper[np.arange(len(amount)), first])
    return np.asarray(((share @ price) * portion).sum(axis=1))


def net_metering(
    charge: EnergyCharge, metered: Metered, rule: NetMetering
) -> tuple[Floats, Floats, Floats]:
    """Return cost, paid surplus and carried energy of each billing month, shape (months,).

    The cost may be below 0 only when money is carried. [currency], [currency], [kWh]
    """
    if charge.tiers_by == "total" or charge.tiers_reset != "month":
        raise ParameterError(
            f"{charge.name!r} has tiers that fill in the order of time or by day; net metering "
            "needs tiers by period or share, and by month"
        )
    net = period_energy(charge, metered, metered.imported - metered.exported)
    month = np.arange(metered.months, dtype=np.int64)
    upper, price = tier_limits(charge, metered, month)
    none = np.zeros(metered.months)
    if rule.carry == "money":
        taken, given = (np.maximum(sign * net, 0.0) for sign in (1.0, -1.0))
        credit = _cost(charge, given, upper, price)
        return _cost(charge, taken, upper, price) - credit, none, none
    if rule.carry == "none":
        surplus = np.maximum(-net, 0.0).sum(axis=1)
        cost = _cost(charge, np.maximum(net, 0.0), upper, price)
        return cost, rule.surplus_price * surplus, none
    billed, carried, settled = _carry(net, rule, metered.calendar_month)
    cost = _cost(charge, billed, upper, price)
    return cost, rule.surplus_price * settled, carried


def _carry(net: Floats, rule: NetMetering, calendar: Ints) -> tuple[Floats, Floats, Floats]:
    """Run the account of kWh from month to month; only months are stepped through."""
    bank = np.zeros(net.shape[1])
    billed = np.zeros_like(net)
    carried, settled = np.zeros(len(net)), np.zeros(len(net))
    for month, amount in enumerate(net):
        bank = bank + np.maximum(-amount, 0.0)
        wanted = np.maximum(amount, 0.0)
        if rule.pool:
            used = min(float(bank.sum()), float(wanted.sum()))
            paid = wanted * (used / wanted.sum()) if used > 0 else np.zeros_like(wanted)
            bank = bank * (1.0 - used / bank.sum()) if used > 0 else bank
        else:
            paid = np.minimum(bank, wanted)
            bank = bank - paid
        billed[month] = wanted - paid
        if calendar[month] == rule.settlement_month:
            settled[month] = bank.sum()
            bank = np.zeros_like(bank)
        carried[month] = bank.sum()
    return billed, carried, settled


def tier_groups(charge: EnergyCharge, metered: Metered) -> tuple[Ints, Ints]:
    """Return the group of each part, in which tiers fill, and the billing month of each group."""
    if charge.tiers_reset == "month":
        return metered.month, np.arange(metered.months, dtype=np.int64)
    day = metered.times.date.astype(np.int64)
    group = day - day[0]
    first = np.searchsorted(group, np.arange(group[-1] + 1))
    return group, metered.month[first]


def tier_limits(charge: EnergyCharge, metered: Metered, month: Ints) -> tuple[Floats, Floats]:
    """Return limits in kWh, shape (groups, periods, tiers), and prices, shape (periods, tiers)."""
    days = _days(metered.labels)[month]
    by_unit = {
        "kWh": np.ones(len(month)),
        "kWh/day": days if charge.tiers_reset == "month" else np.ones(len(month)),
        "kWh/kW": metered.peak[month],
    }
    by_unit["kWh/kW/day"] = by_unit["kWh/day"] * by_unit["kWh/kW"]
    count = max(len(tiers) for tiers in charge.periods)
    upper = np.full((len(month), len(charge.periods), count), np.inf)
    price = np.zeros((len(charge.periods), count))
    for period, tiers in enumerate(charge.periods):
        for place, tier in enumerate(tiers):
            price[period, place] = tier.price
            if np.isfinite(tier.limit):
                upper[:, period, place] = tier.limit * by_unit[tier.unit]
    # A tier that ends before the one below it, as units may have it, holds nothing.
    return np.maximum.accumulate(upper, axis=2), price


def _days(labels: Ints) -> Floats:
    months = np.concatenate((labels, labels[-1:] + 1)).astype("datetime64[M]")
    return np.diff(months.astype("datetime64[D]").astype(np.int64)).astype(np.float64)


def _portions(amount: Floats, upper: Floats) -> Floats:
    """Return how much of each amount lies in each tier, one axis more than the amount."""
    lower = np.concatenate((np.zeros_like(upper[..., :1]), upper[..., :-1]), axis=-1)
    # A padded tier above an unlimited one would be infinity less infinity.
    lower = np.where(np.isinf(lower), np.finfo(np.float64).max, lower)
    return np.maximum(np.minimum(amount[..., None], upper) - lower, 0.0)
