r"""Bills: energy by tiers, demand by peaks, and every line by month.

A tier :math:`k` from :math:`l_{k-1}` to :math:`l_k` holds :math:`\min(E, l_k) - l_{k-1}` of the
energy :math:`E`, at least 0. Billed demand is

.. math:: P^{bill}_m = \max\left(P_m, \; \max_{m' \in L(m)} f_{m'} P_{m'}\right)

with the measured peak :math:`P_m` and the months :math:`L(m)` that a ratchet looks back upon.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from engiagent.models.ranges import Floats, ParameterError, over_time
from engiagent.models.tariffs.calendar import Ints, MeterTimes
from engiagent.models.tariffs.metering import Metered, measure
from engiagent.models.tariffs.tariff import (
    EXPORT,
    MINIMUM,
    SETTLED,
    BillHistory,
    DemandCharge,
    EnergyCharge,
    NetBilling,
    NetMetering,
    PriceSeries,
    Ratchet,
    Tariff,
)


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


def _cost(charge: EnergyCharge, amount: Floats, upper: Floats, price: Floats) -> Floats:
    """Return what energy by group and period costs, shape (groups,)."""
    if charge.tiers_by == "period":
        return np.asarray((_portions(amount, upper) * price).sum(axis=(1, 2)))
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
    net = np.zeros((metered.months, len(charge.periods)))
    place = (metered.month, charge.schedule.at(metered.times))
    np.add.at(net, place, metered.imported - metered.exported)
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


@dataclass(frozen=True, kw_only=True)
class DemandBill:
    """Demand of a charge by billing month and period, shape (months, periods); NaN for none."""

    # measured, billed: demand. [kW]
    measured: Floats
    billed: Floats
    cost: Floats  # by billing month, shape (months,). [currency]


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
    upper, price = demand_tiers(charge)
    due = np.where(occurs, billed, 0.0)
    portions = _portions(due, np.broadcast_to(upper, (*due.shape, upper.shape[1])))
    cost = (portions * price).sum(axis=(1, 2))
    return DemandBill(
        measured=np.where(occurs, measured, np.nan),
        billed=np.where(occurs, billed, np.nan),
        cost=cost,
    )


def demand_tiers(charge: DemandCharge) -> tuple[Floats, Floats]:
    """Return where tiers of each period end [kW] and their prices, shape (periods, tiers)."""
    shape = (len(charge.periods), max(len(tiers) for tiers in charge.periods))
    upper, price = np.full(shape, np.inf), np.zeros(shape)
    for period, tiers in enumerate(charge.periods):
        for place, tier in enumerate(tiers):
            upper[period, place], price[period, place] = tier.limit, tier.price
    return np.maximum.accumulate(upper, axis=1), price


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
    """Return the demand that peaks of all hours leave to be billed, shape (months, 1). [kW]."""
    peaks = np.maximum(measured, 0.0).max(axis=1)
    before = _earlier(ratchet, earlier, peaks, name)
    labels = np.arange(metered.first_month - len(before), metered.first_month + len(peaks))
    known = np.concatenate((before, peaks))
    counts = np.isin(labels % 12 + 1, ratchet.seasons)
    fraction = np.broadcast_to(np.asarray(ratchet.fraction, dtype=np.float64), (12,))
    known = np.where(counts, fraction[labels % 12], 0.0) * known
    if ratchet.months is None:
        return np.full((len(peaks), 1), known.max())
    floor = np.zeros(len(peaks))
    for lag in range(1, ratchet.months + 1):
        start = len(before) - lag
        shifted = known[max(start, 0) : start + len(peaks)] if start + len(peaks) > 0 else known[:0]
        floor[len(floor) - len(shifted) :] = np.maximum(floor[len(floor) - len(shifted) :], shifted)
    return floor[:, None]


def _earlier(ratchet: Ratchet, earlier: Floats, peaks: Floats, name: str) -> Floats:
    if ratchet.cyclic:
        if len(peaks) % 12:
            raise ParameterError(
                f"the ratchet of {name!r} repeats the year, and the horizon has {len(peaks)} "
                "billing months; give whole years, or cyclic=False with earlier peaks"
            )
        wanted = 0 if ratchet.months is None else ratchet.months
        repeats = -(-wanted // len(peaks))
        return np.tile(peaks, repeats)[len(peaks) * repeats - wanted :]
    if earlier.ndim != 1:
        raise ParameterError(
            f"the earlier peaks of {name!r} have the shape {earlier.shape}; give one for each month"
        )
    return earlier


@dataclass(frozen=True, kw_only=True, eq=False)
class Bill:
    """A bill by billing month and component; arrays have the shape (months,)."""

    months: npt.NDArray[np.datetime64]  # the billing months
    components: Mapping[str, Floats]  # amounts by name, credits below 0; not rounded. [currency]
    demand: Mapping[str, DemandBill]  # measured and billed demand of each demand charge
    # imported, exported: energy, after netting within blocks where the tariff has it. [kWh]
    imported: Floats
    exported: Floats
    peak: Floats  # highest demand of any hour. [kW]
    # carried_credit, carried_energy: what goes on to the next month; energy by the periods of the
    # first energy charge. [currency], [kWh]
    carried_credit: Floats
    carried_energy: Floats
    currency: str  # its name

    @property
    def by_month(self) -> Floats:
        """The amount due in each billing month. [currency]."""
        return np.asarray(np.sum(list(self.components.values()), axis=0)) + 0.0 * self.peak

    @property
    def total(self) -> float:
        """The amount due over the horizon. [currency]."""
        return float(self.by_month.sum())

    def of(self, name: str) -> float:
        """Return the sum of one component over the horizon. [currency]."""
        if name not in self.components:
            raise ParameterError(
                f"the bill has no line {name!r}; it has {', '.join(self.components) or 'none'}"
            )
        return float(self.components[name].sum())


def bill(
    tariff: Tariff,
    times: MeterTimes,
    import_power: npt.ArrayLike,
    export_power: npt.ArrayLike = 0.0,
    history: BillHistory | None = None,
) -> Bill:
    """Return the bill of a horizon; months that it touches only in part are billed as they are.

    ``tariff``: what is charged. ``times``: the clock of the meter. ``import_power``,
    ``export_power``: mean powers of the periods, shape (N,). At least 0. [kW] ``history``: what
    happened before the horizon.

    Examples
    --------
    >>> from datetime import datetime, timezone
    >>> from engiagent.models.tariffs import DemandCharge, EnergyCharge
    >>> start = datetime(2026, 1, 1, tzinfo=timezone.utc)
    >>> times = MeterTimes(start=start, step_hours=1.0, count=744)
    >>> tariff = Tariff(energy=(EnergyCharge.flat(0.2),), demand=(DemandCharge.flat(10.0),))
    >>> bill(tariff, times, [50.0] + [10.0] * 743).by_month.round(6).tolist()
    [1996.0]
    """
    past = history or BillHistory()
    _known(past, tariff)
    metered = measure(tariff, times, import_power, export_power)
    lines: dict[str, Floats] = {}
    for fixed in tariff.fixed:
        lines[fixed.name] = fixed.per_month + fixed.per_day * _days_touched(metered)
    paid, carried_energy = _energy(tariff, metered, past, lines)
    demand = {part.name: demand_bill(part, metered, past) for part in tariff.demand}
    lines.update({name: part.cost for name, part in demand.items()})
    carried = _credits(tariff, metered, lines, paid, past.carried_credit)
    _minimum(tariff, lines, metered.months)
    _taxes(tariff, lines, metered.months)
    return Bill(
        months=metered.labels.astype("datetime64[M]"),
        components=lines,
        demand=demand,
        imported=metered.by_month(metered.imported),
        exported=metered.by_month(metered.exported),
        peak=metered.peak,
        carried_credit=carried,
        carried_energy=carried_energy,
        currency=tariff.currency,
    )


def _energy(
    tariff: Tariff, metered: Metered, past: BillHistory, lines: dict[str, Floats]
) -> tuple[Floats, Floats]:
    """Add the lines for energy; return what net metering pays and carries, shape (months,)."""
    paid, carried = np.zeros(metered.months), np.zeros(metered.months)
    for place, charge in enumerate(tariff.energy):
        if not isinstance(tariff.export, NetMetering):
            before = None if isinstance(charge, PriceSeries) else past.energy_before(charge)
            lines[charge.name] = energy_cost(charge, metered, metered.imported, before)
            continue
        if isinstance(charge, PriceSeries):
            raise ParameterError(
                f"{charge.name!r} is a series of prices; net metering needs periods of a schedule"
            )
        lines[charge.name], surplus, energy = net_metering(charge, metered, tariff.export)
        # Every charge nets the same energy by its own periods, and a surplus is sold but once.
        if place == 0:
            paid, carried = surplus, energy
    return paid, carried


def _known(history: BillHistory, tariff: Tariff) -> None:
    demand = {charge.name for charge in tariff.demand}
    energy = {part.name for part in tariff.energy if not isinstance(part, PriceSeries)}
    peaks = {*history.previous_peaks, *history.peak_so_far}
    for kind, given, names in (
        ("demand", peaks, demand),
        ("energy", history.energy_so_far, energy),
    ):
        unknown = set(given) - names
        if unknown:
            raise ParameterError(
                f"the history names {', '.join(sorted(unknown))}, which no {kind} charge is "
                f"called; there are {', '.join(sorted(names)) or 'none'}"
            )
    if history.energy_so_far and isinstance(tariff.export, NetMetering):
        raise ParameterError(
            "the history has energy so far, which net metering nets with export; start the horizon "
            "with a billing month instead"
        )


def _days_touched(metered: Metered) -> Floats:
    day = metered.times.date.astype(np.int64)
    first = np.flatnonzero(np.diff(day, prepend=day[0] - 1))
    return np.bincount(metered.month[first], minlength=metered.months).astype(np.float64)


def _credits(
    tariff: Tariff, metered: Metered, lines: dict[str, Floats], paid: Floats, start: float
) -> Floats:
    """Add the lines for export; return the carried money."""
    rule = tariff.export
    none = np.zeros(metered.months)
    if rule is None:
        return none
    if isinstance(rule, NetBilling):
        earned = energy_cost(rule.credit, metered, metered.exported)
        same_month = rule.same_month
        if not rule.carry:
            lines[EXPORT] = -earned
            return none
    elif rule.carry == "money":
        names = [charge.name for charge in tariff.energy]
        energy = sum((lines[name] for name in names), none)
        earned, same_month = np.maximum(-energy, 0.0), True
        # A month below 0 gives its credit to the account and owes nothing for energy.
        for name in names:
            lines[name] = np.where(energy < 0, 0.0, lines[name])
    else:
        lines[EXPORT] = -paid
        return none
    names = [charge.name for charge in tariff.energy] if rule.offsets == "energy" else list(lines)
    charges = np.maximum(sum((lines[name] for name in names), none), 0.0)
    used, settled, carried = _account(charges, earned, start, rule, same_month, metered)
    lines[EXPORT], lines[SETTLED] = -used, -settled
    return carried


def _account(
    charges: Floats,
    earned: Floats,
    start: float,
    rule: NetBilling | NetMetering,
    same_month: bool,
    metered: Metered,
) -> tuple[Floats, Floats, Floats]:
    """Carry money from month to month: what is used, paid out and carried on, shape (months,)."""
    bank = start
    used, settled, carried = (np.zeros(len(charges)) for _ in range(3))
    for place, (due, credit) in enumerate(zip(charges.tolist(), earned.tolist(), strict=True)):
        used[place] = min(bank + credit if same_month else bank, due)
        bank += credit - used[place]
        if metered.calendar_month[place] == rule.settlement_month:
            settled[place], bank = rule.payout_fraction * bank, 0.0
        carried[place] = bank
    return used, settled, carried


def _minimum(tariff: Tariff, lines: dict[str, Floats], months: int) -> None:
    if tariff.minimum_per_month == tariff.minimum_per_year == float("-inf"):
        return
    due = sum(lines.values(), np.zeros(months))
    raised = np.maximum(tariff.minimum_per_month - due, 0.0)
    lacking = tariff.minimum_per_year * months / 12 - float((due + raised).sum())
    raised[-1] += max(lacking, 0.0)
    lines[MINIMUM] = raised


def _taxes(tariff: Tariff, lines: dict[str, Floats], months: int) -> None:
    before = dict(lines)
    for tax in tariff.taxes:
        names = before if tax.on is None else [name for name in tax.on if name in before]
        base = sum((before[name] for name in names), np.zeros(months))
        lines[tax.name] = tax.rate * np.maximum(base, 0.0)
