"""The bill: every component of a tariff by billing month, from import and export of a meter."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from engiagent.models.ranges import Floats, ParameterError
from engiagent.models.tariffs.charges import NetBilling, NetMetering, PriceSeries
from engiagent.models.tariffs.demand import DemandBill, coincident_cost, demand_bill
from engiagent.models.tariffs.energy import energy_cost, net_metering
from engiagent.models.tariffs.metering import Metered, measure
from engiagent.models.tariffs.tariff import EXPORT, MINIMUM, SETTLED, BillHistory, Tariff
from engiagent.models.tariffs.times import MeterTimes


@dataclass(frozen=True, kw_only=True, eq=False)
class Bill:
    """A bill by billing month and component; arrays have the shape (months,).

    Attributes
    ----------
    months
        The billing months.
    components
        Amounts by name, credits below 0; not rounded. [currency]
    demand
        Measured and billed demand of each demand charge.
    imported, exported
        Energy, after netting within blocks where the tariff has it. [kWh]
    peak
        Highest demand of any hour. [kW]
    carried_credit, carried_energy
        What goes on to the next month; energy by the periods of the first energy charge.
        [currency], [kWh]
    currency
        Its name.
    """

    months: npt.NDArray[np.datetime64]
    components: Mapping[str, Floats]
    demand: Mapping[str, DemandBill]
    imported: Floats
    exported: Floats
    peak: Floats
    carried_credit: Floats
    carried_energy: Floats
    currency: str

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

    Parameters
    ----------
    tariff
        What is charged.
    times
        The clock of the meter.
    import_power, export_power
        Mean powers of the periods, shape (N,). At least 0. [kW]
    history
        What happened before the horizon.

    Examples
    --------
    >>> from datetime import datetime, timezone
    >>> from engiagent.models.tariffs.charges import DemandCharge, EnergyCharge
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
    lines.update({part.name: coincident_cost(part, metered) for part in tariff.coincident})
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
