r"""Bills: what the meter measured, energy by tiers, demand by peaks, and every line by month.

What the meter measured under the windows of a tariff: energy of each part, demand of windows.

Bills: energy by tiers, demand by peaks, and every line by month.

A tier :math:`k` from :math:`l_{k-1}` to :math:`l_k` holds :math:`\min(E, l_k) - l_{k-1}` of the
energy :math:`E`, at least 0. Billed demand is

.. math:: P^{bill}_m = \max\left(P_m, \; \max_{m' \in L(m)} f_{m'} P_{m'}\right)

with the measured peak :math:`P_m` and the months :math:`L(m)` that a ratchet looks back upon.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from engiagent.models.ranges import Floats, ParameterError, not_negative, series
from engiagent.models.tariffs.calendar import HOUR, Ints, MeterTimes
from engiagent.models.tariffs.tariff import (
    EXPORT,
    MINIMUM,
    BillHistory,
    DemandCharge,
    EnergyCharge,
    NetBilling,
    NetMetering,
    PriceSeries,
    Ratchet,
    Tariff,
)


@dataclass(frozen=True, kw_only=True)
class Metered:
    """Energy and demand of a horizon."""

    times: MeterTimes  # the parts, each a whole fraction of a period
    parts: int  # number of parts in a period
    month: Ints  # billing month of each part, 0 for the first one, shape (parts · N,)
    first_month: int  # the first billing month, in months since January 1970
    months: int  # number of billing months
    # imported, exported: energy of each part, after netting within blocks where the tariff has it.
    # [kWh]
    imported: Floats
    exported: Floats
    # demand, demand_at: mean power of each demand window [kW], and the part in which it starts
    demand: Floats
    demand_at: Ints

    @property
    def labels(self) -> Ints:
        """The billing months, in months since January 1970, shape (months,)."""
        return self.first_month + np.arange(self.months, dtype=np.int64)

    @property
    def peak(self) -> Floats:
        """Highest demand of each billing month, shape (months,). [kW]."""
        highest = np.zeros(self.months)
        np.maximum.at(highest, self.month[self.demand_at], self.demand)
        return highest

    def by_month(self, values: Floats) -> Floats:
        """Return sums of a value of each part over billing months, shape (months,)."""
        return np.asarray(np.bincount(self.month, values, self.months), dtype=np.float64)


def measure(
    tariff: Tariff, times: MeterTimes, import_power: npt.ArrayLike, export_power: npt.ArrayLike
) -> Metered:
    """Return what the meter measured under the windows of a tariff."""
    power_in, power_out = (
        series(not_negative(power, what, "kW"), times.count, what)
        for power, what in ((import_power, "the import"), (export_power, "the export"))
    )
    second = times.common_second(*_boundaries(tariff))
    parts = times.step_seconds // second
    fine = times.refined(second)
    taken, given = (np.repeat(power, parts) * second / HOUR for power in (power_in, power_out))
    # Netting is a rule for energy; demand is what the import register saw.
    demand, at = _demand(tariff, times, fine, taken)
    if isinstance(tariff.export, NetBilling) and tariff.export.netting_hours is not None:
        taken, given = _netted(taken, given, fine, _seconds(tariff.export.netting_hours))
    label = fine.billing_month(tariff.billing_day)
    return Metered(
        times=fine,
        parts=parts,
        month=label - label[0],
        first_month=int(label[0]),
        months=int(label[-1] - label[0]) + 1,
        imported=taken,
        exported=given,
        demand=demand,
        demand_at=at,
    )


def _seconds(hours: float) -> int:
    seconds = round(hours * HOUR)
    if seconds < 1 or abs(seconds - hours * HOUR) > 1e-6:
        raise ParameterError(f"a window lasts {hours} h; give whole seconds, as 0.25 h")
    return seconds


def _boundaries(tariff: Tariff) -> list[int]:
    charges: list[EnergyCharge | PriceSeries | DemandCharge] = [*tariff.energy, *tariff.demand]
    windows = [tariff.demand_window_hours]
    if isinstance(tariff.export, NetBilling):
        charges.append(tariff.export.credit)
        windows.append(tariff.export.netting_hours)
    schedules = [charge.schedule for charge in charges if not isinstance(charge, PriceSeries)]
    return [
        *(_seconds(window) for window in windows if window is not None),
        *(schedule.resolution for schedule in schedules),
    ]


def _blocks(times: MeterTimes, second: int) -> Ints:
    """Return the block of the wall clock of each part; the change of the clocks cuts none."""
    wall = times.seconds + (times.local_seconds[0] - times.seconds[0])
    block = wall // second
    return np.asarray(block - block[0])


def _netted(taken: Floats, given: Floats, times: MeterTimes, second: int) -> tuple[Floats, Floats]:
    block = _blocks(times, second)
    size = np.bincount(block)
    net = np.bincount(block, taken - given) / size
    # What is left of a block counts evenly in its parts, which lie in one price mostly.
    return np.maximum(net, 0.0)[block], np.maximum(-net, 0.0)[block]


def _demand(
    tariff: Tariff, times: MeterTimes, fine: MeterTimes, taken: Floats
) -> tuple[Floats, Ints]:
    power = taken * HOUR / fine.step_seconds
    window = times.step_seconds
    if tariff.demand_window_hours is not None:
        window = _seconds(tariff.demand_window_hours)
    if tariff.demand_sliding:
        length = min(max(window // fine.step_seconds, 1), len(power))
        total = np.concatenate(([0.0], np.cumsum(power)))
        # A mean of powers that are at least 0 is so too; the difference of sums may round below.
        means = np.maximum((total[length:] - total[:-length]) / length, 0.0)
        step = times.step_seconds // fine.step_seconds
        return means[::step], np.arange(0, len(means), step, dtype=np.int64)
    if tariff.demand_window_hours is None:
        block = np.arange(fine.count, dtype=np.int64) // (window // fine.step_seconds)
    else:
        block = _blocks(fine, window)
    first = np.flatnonzero(np.diff(block, prepend=-1))
    return np.asarray(np.bincount(block, power) / np.bincount(block)), first.astype(np.int64)


# -- energy ---------------------------------------------------------------------------------------


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
        prices = charge.at(metered.times.count // metered.parts)
        return metered.by_month(np.repeat(prices, metered.parts) * energy)
    month, period = metered.month, charge.schedule.at(metered.times)
    upper, price = tier_limits(charge, metered)
    if charge.tiers_by != "total":
        amount = np.zeros((metered.months, len(charge.periods)))
        np.add.at(amount, (month, period), energy)
        start = np.zeros_like(amount)
        start[0] = 0.0 if before is None else before
        return _cost(charge, start + amount, upper, price) - _cost(charge, start, upper, price)
    # The sum starts from the energy of each month alone, for its digits' sake.
    first = np.flatnonzero(np.diff(month, prepend=-1))
    total = np.cumsum(energy)
    after = total - np.concatenate(([0.0], total))[first][month]
    after += np.where(month == 0, 0.0 if before is None else before.sum(), 0.0)
    limits = upper[month, period]
    portion = _portions(after, limits) - _portions(np.maximum(after - energy, 0.0), limits)
    return metered.by_month((portion * price[period]).sum(axis=1))


def _cost(charge: EnergyCharge, amount: Floats, upper: Floats, price: Floats) -> Floats:
    """Return what energy by month and period costs, shape (months,)."""
    if charge.tiers_by == "period":
        return np.asarray((_portions(amount, upper) * price).sum(axis=(1, 2)))
    total = amount.sum(axis=1, keepdims=True)
    share = np.divide(amount, total, out=np.zeros_like(amount), where=total != 0)
    first = np.argmax(amount != 0, axis=1)
    portion = _portions(total[:, 0], upper[np.arange(len(amount)), first])
    return np.asarray(((share @ price) * portion).sum(axis=1))


def net_metering(charge: EnergyCharge, metered: Metered) -> tuple[Floats, Floats]:
    """Return cost and carried energy of each billing month, shape (months,). [currency], [kWh]."""
    if charge.tiers_by == "total":
        raise ParameterError(
            f"{charge.name!r} has tiers that fill in the order of time; net metering needs tiers "
            "by period or share"
        )
    net = np.zeros((metered.months, len(charge.periods)))
    place = (metered.month, charge.schedule.at(metered.times))
    np.add.at(net, place, metered.imported - metered.exported)
    bank, billed, carried = np.zeros(net.shape[1]), np.zeros_like(net), np.zeros(len(net))
    for month, amount in enumerate(net):
        bank = bank + np.maximum(-amount, 0.0)
        wanted = np.maximum(amount, 0.0)
        billed[month] = np.maximum(wanted - bank, 0.0)
        bank = np.maximum(bank - wanted, 0.0)
        carried[month] = bank.sum()
    return _cost(charge, billed, *tier_limits(charge, metered)), carried


def tier_limits(charge: EnergyCharge, metered: Metered) -> tuple[Floats, Floats]:
    """Return limits in kWh, shape (months, periods, tiers), and prices, shape (periods, tiers)."""
    starts = np.concatenate((metered.labels, metered.labels[-1:] + 1)).astype("datetime64[M]")
    days = np.diff(starts.astype("datetime64[D]").astype(np.int64)).astype(np.float64)
    by_unit = {"kWh": np.ones(metered.months), "kWh/day": days, "kWh/kW": metered.peak}
    by_unit["kWh/kW/day"] = days * metered.peak
    count = max(len(tiers) for tiers in charge.periods)
    upper = np.full((metered.months, len(charge.periods), count), np.inf)
    price = np.zeros((len(charge.periods), count))
    for period, tiers in enumerate(charge.periods):
        for place, tier in enumerate(tiers):
            price[period, place] = tier.price
            if np.isfinite(tier.limit):
                upper[:, period, place] = tier.limit * by_unit[tier.unit]
    # A tier that ends before the one below it, as units may have it, holds nothing.
    return np.maximum.accumulate(upper, axis=2), price


def _portions(amount: Floats, upper: Floats) -> Floats:
    """Return how much of each amount lies in each tier, one axis more than the amount."""
    lower = np.concatenate((np.zeros_like(upper[..., :1]), upper[..., :-1]), axis=-1)
    # A padded tier above an unlimited one would be infinity less infinity.
    lower = np.where(np.isinf(lower), np.finfo(np.float64).max, lower)
    return np.maximum(np.minimum(amount[..., None], upper) - lower, 0.0)


# -- demand ---------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class DemandBill:
    """Demand of a charge by billing month and period, shape (months, periods); NaN for none."""

    # measured, billed: demand. [kW]
    measured: Floats
    billed: Floats
    cost: Floats  # by billing month, shape (months,). [currency]


def demand_bill(charge: DemandCharge, metered: Metered, history: BillHistory) -> DemandBill:
    """Return measured and billed demand and its cost."""
    measured = np.full((metered.months, len(charge.periods)), -1.0)
    period = charge.schedule.at(metered.times)[metered.demand_at]
    np.maximum.at(measured, (metered.month[metered.demand_at], period), metered.demand)
    for number, peak in history.peak_so_far.get(charge.name, {}).items():
        if number not in range(len(charge.periods)):
            raise ParameterError(
                f"the peak so far of {charge.name!r} names period {number}; it has "
                f"{len(charge.periods)}, from 0 on"
            )
        measured[0, number] = max(measured[0, number], peak)
    billed = np.maximum(measured, charge.minimum_demand)
    if charge.ratchet is not None:
        earlier = np.asarray(history.previous_peaks.get(charge.name, []), dtype=np.float64)
        floor = ratchet_floor(charge.ratchet, measured, metered, earlier, charge.name)
        billed = np.maximum(billed, floor)
    occurs = measured >= 0
    upper, price = demand_tiers(charge)
    due = np.where(occurs, billed, 0.0)
    portions = _portions(due, np.broadcast_to(upper, (*due.shape, upper.shape[1])))
    return DemandBill(
        measured=np.where(occurs, measured, np.nan),
        billed=np.where(occurs, billed, np.nan),
        cost=(portions * price).sum(axis=(1, 2)),
    )


def demand_tiers(charge: DemandCharge) -> tuple[Floats, Floats]:
    """Return where tiers of each period end [kW] and their prices, shape (periods, tiers)."""
    shape = (len(charge.periods), max(len(tiers) for tiers in charge.periods))
    upper, price = np.full(shape, np.inf), np.zeros(shape)
    for period, tiers in enumerate(charge.periods):
        for place, tier in enumerate(tiers):
            upper[period, place], price[period, place] = tier.limit, tier.price
    return np.maximum.accumulate(upper, axis=1), price


def ratchet_floor(
    ratchet: Ratchet, measured: Floats, metered: Metered, earlier: Floats, name: str
) -> Floats:
    """Return the demand that peaks of all hours leave to be billed, shape (months, 1). [kW]."""
    peaks = np.maximum(measured, 0.0).max(axis=1)
    if earlier.ndim != 1:
        raise ParameterError(
            f"the earlier peaks of {name!r} have the shape {earlier.shape}; give one for each month"
        )
    labels = np.arange(metered.first_month - len(earlier), metered.first_month + len(peaks))
    counts = np.isin(labels % 12 + 1, ratchet.seasons)
    fraction = np.broadcast_to(np.asarray(ratchet.fraction, dtype=np.float64), (12,))
    known = np.where(counts, fraction[labels % 12], 0.0) * np.concatenate((earlier, peaks))
    if ratchet.months is None:
        return np.full((len(peaks), 1), known.max())
    # Each month sees those before it, as far as they are known.
    seen = np.concatenate((np.zeros(ratchet.months), known))[:-1]
    windows = np.lib.stride_tricks.sliding_window_view(seen, ratchet.months)
    return np.asarray(windows.max(axis=1)[-len(peaks) :, None])


# -- bills ----------------------------------------------------------------------------------------


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
    carried_energy: Floats  # that net metering carries on, by the first energy charge. [kWh]
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
    _refuse_unknown(past, tariff)
    metered = measure(tariff, times, import_power, export_power)
    lines: dict[str, Floats] = {}
    for fixed in tariff.fixed:
        lines[fixed.name] = fixed.per_month + fixed.per_day * _days_touched(metered)
    carried = np.zeros(metered.months)
    for place, charge in enumerate(tariff.energy):
        if not isinstance(tariff.export, NetMetering):
            before = None if isinstance(charge, PriceSeries) else past.energy_before(charge)
            lines[charge.name] = energy_cost(charge, metered, metered.imported, before)
            continue
        if isinstance(charge, PriceSeries):
            raise ParameterError(
                f"{charge.name!r} is a series of prices; net metering needs periods of a schedule"
            )
        lines[charge.name], energy = net_metering(charge, metered)
        carried = energy if place == 0 else carried
    demand = {part.name: demand_bill(part, metered, past) for part in tariff.demand}
    lines.update({name: part.cost for name, part in demand.items()})
    if isinstance(tariff.export, NetBilling):
        lines[EXPORT] = -energy_cost(tariff.export.credit, metered, metered.exported)
    _add_minimum(tariff, lines, metered.months)
    charged = dict(lines)
    for tax in tariff.taxes:
        names = charged if tax.on is None else [name for name in tax.on if name in charged]
        base = sum((charged[name] for name in names), np.zeros(metered.months))
        lines[tax.name] = tax.rate * np.maximum(base, 0.0)
    return Bill(
        months=metered.labels.astype("datetime64[M]"),
        components=lines,
        demand=demand,
        imported=metered.by_month(metered.imported),
        exported=metered.by_month(metered.exported),
        peak=metered.peak,
        carried_energy=carried,
        currency=tariff.currency,
    )


def _refuse_unknown(history: BillHistory, tariff: Tariff) -> None:
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
    first: Ints = np.flatnonzero(np.diff(day, prepend=day[0] - 1))
    return np.bincount(metered.month[first], minlength=metered.months).astype(np.float64)


def _add_minimum(tariff: Tariff, lines: dict[str, Floats], months: int) -> None:
    """Add the line that raises months, and the last for the year, to their least cost."""
    if tariff.minimum_per_month == tariff.minimum_per_year == float("-inf"):
        return
    due = sum(lines.values(), np.zeros(months))
    raised = np.maximum(tariff.minimum_per_month - due, 0.0)
    lacking = tariff.minimum_per_year * months / 12 - float((due + raised).sum())
    raised[-1] += max(lacking, 0.0)
    lines[MINIMUM] = raised
