"""What a tariff charges for: its typed charges, all of them together, and the prices they make."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
import numpy.typing as npt

from engiagent.models.ranges import (
    Floats,
    ParameterError,
    not_negative,
    positive,
    series,
    share,
    within,
)
from engiagent.models.tariffs.calendar import MeterTimes, Schedule

TierUnit = Literal["kWh", "kWh/day", "kWh/kW", "kWh/kW/day"]
TIER_UNITS = ("kWh", "kWh/day", "kWh/kW", "kWh/kW/day")


@dataclass(frozen=True, kw_only=True)
class EnergyTier:
    """A price up to a limit."""

    price: float  # may be below 0. [currency/kWh]
    # where the tier ends, counted from 0; infinite for the last tier. Above 0. [unit]
    limit: float = float("inf")
    # ``kWh`` of the billing month; ``kWh/day`` times its days; ``kWh/kW`` times its peak; or both
    unit: TierUnit = "kWh"

    def __post_init__(self) -> None:
        within(self.price, "an energy price", "per kWh")
        positive(self.limit, "the limit of a tier", self.unit, finite=False)
        if self.unit not in TIER_UNITS:
            raise ParameterError(
                f"the unit of a tier is {self.unit!r}; give one of {', '.join(TIER_UNITS)}"
            )


@dataclass(frozen=True, kw_only=True)
class EnergyCharge:
    """Prices for energy by time of use and tier; also the credits for export.

    Examples
    --------
    >>> EnergyCharge.flat(0.25).periods[0][0].price
    0.25
    """

    # for each period number of the schedule its tiers, the last without a limit
    periods: tuple[tuple[EnergyTier, ...], ...]
    schedule: Schedule = field(default_factory=Schedule.constant)  # when which period holds
    name: str = "energy"  # what the bill calls it
    # ``period``: the energy of each period fills tiers of its own. ``total``: all energy in the
    # order of time fills the tiers, and the price is that of the period at that time. ``share``:
    # all energy fills the tiers, and each period has its share of every tier; the periods of a
    # calendar month then have the same limits. Where a billing month spans two calendar months, the
    # limits of its lowest period with energy hold.
    tiers_by: Literal["period", "total", "share"] = "period"

    def __post_init__(self) -> None:
        _covers(self.schedule, self.periods, self.name)
        for tiers in self.periods:
            _ends_open([tier.limit for tier in tiers], self.name)
        if self.tiers_by not in ("period", "total", "share"):
            raise ParameterError(f"tiers go by {self.tiers_by!r}; give period, total or share")
        if self.tiers_by == "share":
            self._shares()

    def _shares(self) -> None:
        for month, rows in enumerate(
            zip(self.schedule.weekday, self.schedule.weekend, strict=True), start=1
        ):
            present = {period for row in rows for period in row}
            limits = {tuple((t.limit, t.unit) for t in self.periods[p]) for p in present}
            if len(limits) > 1:
                raise ParameterError(
                    f"the periods of {self.name!r} in month {month} share tiers and have different "
                    "limits; give each the same limits, or tiers_by='period'"
                )

    @staticmethod
    def flat(price: float, name: str = "energy") -> "EnergyCharge":
        """Return a charge of one price at all times."""
        return EnergyCharge(periods=((EnergyTier(price=price),),), name=name)

    @staticmethod
    def time_of_use(
        prices: tuple[float, ...], schedule: Schedule, name: str = "energy"
    ) -> "EnergyCharge":
        """Return a charge of one price for each period of a schedule."""
        periods = tuple((EnergyTier(price=price),) for price in prices)
        return EnergyCharge(periods=periods, schedule=schedule, name=name)


@dataclass(frozen=True, kw_only=True, eq=False)
class PriceSeries:
    """A price for each period of the meter, as of a spot market."""

    prices: npt.ArrayLike  # shape (N,). [currency/kWh]
    name: str = "energy"  # what the bill calls it

    def __post_init__(self) -> None:
        within(self.prices, "a price of the series", "per kWh")

    def at(self, count: int) -> Floats:
        """Return the prices of a number of periods."""
        return series(self.prices, count, f"the prices of {self.name!r}")


@dataclass(frozen=True, kw_only=True)
class DemandTier:
    """A price up to a limit of the demand. [currency/kW], [kW]."""

    price: float
    limit: float = float("inf")

    def __post_init__(self) -> None:
        within(self.price, "a demand price", "per kW")
        positive(self.limit, "the limit of a demand tier", "kW", finite=False)


@dataclass(frozen=True, kw_only=True)
class Ratchet:
    """A billed demand that is at least a fraction of an earlier peak."""

    # of the highest peak looked back upon; twelve of them when it depends on the calendar month in
    # which the peak was. 0 to 1. [-]
    fraction: float | tuple[float, ...]
    # how many billing months to look back; None for every month of the horizon, those that follow
    # included, as a tariff says that names the months instead
    months: int | None = 11
    seasons: tuple[int, ...] = tuple(range(1, 13))  # calendar months whose peaks count, 1 to 12

    def __post_init__(self) -> None:
        part = share(self.fraction, "the fraction of a ratchet")
        if part.shape not in ((), (12,)):
            raise ParameterError(
                f"a ratchet has {part.size} fractions; give one, or one for each of 12 months"
            )
        if self.months is not None and self.months < 1:
            raise ParameterError(f"a ratchet looks back {self.months} months; give at least 1")
        if not self.seasons or not set(self.seasons) <= set(range(1, 13)):
            raise ParameterError(f"a ratchet counts the months {self.seasons}; give 1 to 12")


@dataclass(frozen=True, kw_only=True)
class DemandCharge:
    """A charge on the highest measured demand of each billing month and period."""

    # for each period number of the schedule its tiers, the last without a limit
    periods: tuple[tuple[DemandTier, ...], ...]
    # when which period holds; one period for a charge on all hours
    schedule: Schedule = field(default_factory=Schedule.constant)
    ratchet: Ratchet | None = None  # what earlier peaks do, if anything
    # demand that is billed at least in each period that occurs. At least 0. [kW]
    minimum_demand: float = 0.0
    name: str = "demand"  # what the bill calls it

    def __post_init__(self) -> None:
        _covers(self.schedule, self.periods, self.name)
        for tiers in self.periods:
            _ends_open([tier.limit for tier in tiers], self.name)
        not_negative(self.minimum_demand, "the minimum demand", "kW")

    @staticmethod
    def flat(price: float, name: str = "demand", ratchet: Ratchet | None = None) -> "DemandCharge":
        """Return a charge of one price on the peak of all hours."""
        return DemandCharge(periods=((DemandTier(price=price),),), name=name, ratchet=ratchet)


@dataclass(frozen=True, kw_only=True)
class FixedCharge:
    """Charges without a measurement; each month and day that the horizon touches counts whole."""

    # per_month, per_day: [currency]
    per_month: float = 0.0
    per_day: float = 0.0
    name: str = "fixed"  # what the bill calls it

    def __post_init__(self) -> None:
        within(self.per_month, "the fixed charge", "per month")
        within(self.per_day, "the fixed charge", "per day")


@dataclass(frozen=True, kw_only=True)
class NetBilling:
    """Export is credited in money at prices of its own, in the month in which it is fed in."""

    credit: EnergyCharge | PriceSeries  # prices for export; its tiers fill with exported energy
    # length over which import and export cancel before they count, as 1 for hourly netting; None
    # for two registers that never cancel. [h]
    netting_hours: float | None = None

    def __post_init__(self) -> None:
        if self.netting_hours is not None:
            positive(self.netting_hours, "the netting time", "h")


@dataclass(frozen=True, kw_only=True)
class NetMetering:
    """Export cancels import within the billing month and period, kWh for kWh.

    A surplus goes on to later months in kWh, for its own period.
    """


@dataclass(frozen=True, kw_only=True)
class Tax:
    """A rate on charges; credits do not lower it below 0."""

    rate: float  # fraction of what it is levied on. At least 0. [-]
    on: tuple[str, ...] | None = None  # names of the charges; None for all before tax
    name: str = "tax"  # what the bill calls it

    def __post_init__(self) -> None:
        not_negative(self.rate, "the rate of a tax", "-")


def _covers(schedule: Schedule, periods: tuple[object, ...], name: str) -> None:
    if schedule.periods > len(periods):
        raise ParameterError(
            f"the schedule of {name!r} names period {schedule.periods - 1}, and there are prices "
            f"for {len(periods)}; give one for each period number from 0 on"
        )


def _ends_open(limits: list[float], name: str) -> None:
    if not limits or not np.isinf(limits[-1]):
        raise ParameterError(
            f"the tiers of {name!r} end at {limits[-1:] or 'none'}; give a last one without limit"
        )


# Lines of a bill that the tariff does not name itself.
EXPORT, MINIMUM = "export", "minimum"


@dataclass(frozen=True, kw_only=True)
class Tariff:
    """What a customer pays; every part may be missing."""

    # fixed, energy, demand: charges, each under a name of its own
    fixed: tuple[FixedCharge, ...] = ()
    energy: tuple[EnergyCharge | PriceSeries, ...] = ()
    demand: tuple[DemandCharge, ...] = ()
    export: NetBilling | NetMetering | None = None  # how export counts; None when it is given away
    # what a month costs at least before tax; minus infinity for no such rule. [currency]
    minimum_per_month: float = float("-inf")
    # what twelve months cost at least before tax, settled in the last month. [currency]
    minimum_per_year: float = float("-inf")
    taxes: tuple[Tax, ...] = ()  # levied in this order on charges before tax
    # length over which demand is averaged; a period of the meter when None. [h]
    demand_window_hours: float | None = None
    # whether the window moves with each period; else windows follow one another on the clock
    demand_sliding: bool = False
    billing_day: int = 1  # day on which a billing month starts. 1 to 28.
    currency: str = "EUR"  # name for reports
    assumptions: tuple[str, ...] = ()  # what its source leaves open and was chosen, in words

    def __post_init__(self) -> None:
        within(self.minimum_per_month, "the minimum per month", "", finite=False)
        within(self.minimum_per_year, "the minimum per year", "", finite=False)
        if self.billing_day not in range(1, 29):
            raise ParameterError(f"the billing day is {self.billing_day}; give 1 to 28")
        if self.demand_window_hours is not None:
            positive(self.demand_window_hours, "the demand window", "h")
        charges = (*self.fixed, *self.energy, *self.demand)
        names = [part.name for part in (*charges, *self.taxes)]
        names += [EXPORT, MINIMUM]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise ParameterError(
                f"two lines of the bill are called {', '.join(twice)}; give each its own name"
            )
        for tax in self.taxes:
            unknown = set(tax.on or ()) - set(names)
            if unknown:
                raise ParameterError(
                    f"the tax {tax.name!r} is on {', '.join(sorted(unknown))}, which no charge is "
                    "called; give names of charges"
                )

    def import_prices(self, times: MeterTimes) -> Floats:
        """Return the energy price of each period, all charges together, shape (N,). [per kWh].

        A period that several prices share has their mean by time, which is exact for power held
        over it. Taxes are not included.
        """
        return sum((_prices(charge, times) for charge in self.energy), np.zeros(times.count))

    def export_prices(self, times: MeterTimes) -> Floats:
        """Return the credit for export in each period, shape (N,). [per kWh].

        Under net metering that is the import price, as long as the month nets to an import.
        """
        if self.export is None:
            return np.zeros(times.count)
        if isinstance(self.export, NetMetering):
            return self.import_prices(times)
        return _prices(self.export.credit, times)


def _prices(charge: EnergyCharge | PriceSeries, times: MeterTimes) -> Floats:
    if isinstance(charge, PriceSeries):
        return charge.at(times.count)
    if any(len(tiers) > 1 for tiers in charge.periods):
        raise ParameterError(
            f"{charge.name!r} has tiers, so that its price depends on the energy of the month; "
            "bill it instead"
        )
    prices = np.array([tiers[0].price for tiers in charge.periods])
    part = times.common_second(charge.schedule.resolution)
    fine = prices[charge.schedule.at(times.refined(part))]
    return np.asarray(fine.reshape(times.count, -1).mean(axis=1))


@dataclass(frozen=True, kw_only=True)
class BillHistory:
    """What happened before the horizon."""

    # by name of a demand charge the peaks of the billing months before the first one, the latest
    # last, shape (H,). [kW]
    previous_peaks: Mapping[str, npt.ArrayLike] = field(default_factory=dict)
    # by name of a demand charge and period the peak of the first billing month before the horizon.
    # The bill shows the demand of that whole month, which nothing below this peak raises. [kW]
    peak_so_far: Mapping[str, Mapping[int, float]] = field(default_factory=dict)
    # by name of an energy charge and period the energy of the first billing month before the
    # horizon. It fills tiers and is not billed again. [kWh]
    energy_so_far: Mapping[str, Mapping[int, float]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name, peaks in self.previous_peaks.items():
            not_negative(peaks, f"an earlier peak of {name!r}", "kW")
        for name, so_far in self.peak_so_far.items():
            not_negative(list(so_far.values()), f"the peak so far of {name!r}", "kW")
        for name, so_far in self.energy_so_far.items():
            not_negative(list(so_far.values()), f"the energy so far of {name!r}", "kWh")

    def energy_before(self, charge: EnergyCharge) -> Floats:
        """Return the energy so far of a charge by period, shape (periods,). [kWh]."""
        before = np.zeros(len(charge.periods))
        for number, energy in self.energy_so_far.get(charge.name, {}).items():
            if number not in range(len(before)):
                raise ParameterError(
                    f"the energy so far of {charge.name!r} names period {number}; it has "
                    f"{len(before)}, from 0 on"
                )
            before[number] = energy
        return before
