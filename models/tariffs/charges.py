"""What a tariff charges for: the typed parts, without any arithmetic of bills."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

import numpy as np
import numpy.typing as npt

from engiagent.models.ranges import ParameterError, within
from engiagent.models.tariffs.schedules import Schedule

TierUnit = Literal["kWh", "kWh/day", "kWh/kW", "kWh/kW/day"]
TIER_UNITS = ("kWh", "kWh/day", "kWh/kW", "kWh/kW/day")


@dataclass(frozen=True, kw_only=True)
class EnergyTier:
    """A price up to a limit.

    Attributes
    ----------
    price
        May be below 0. [currency/kWh]
    limit
        Where the tier ends, counted from 0; infinite for the last tier. Above 0. [unit]
    unit
        ``kWh`` of the billing month (or day, see :class:`EnergyCharge`); ``kWh/day`` times the
        days of the billing month; ``kWh/kW`` times the peak of the billing month; or both.
    """

    price: float
    limit: float = float("inf")
    unit: TierUnit = "kWh"

    def __post_init__(self) -> None:
        within(self.price, "an energy price", "per kWh")
        within(self.limit, "the limit of a tier", self.unit, low=0.0, above=True, finite=False)
        if self.unit not in TIER_UNITS:
            raise ParameterError(
                f"the unit of a tier is {self.unit!r}; give one of {', '.join(TIER_UNITS)}"
            )


@dataclass(frozen=True, kw_only=True)
class EnergyCharge:
    """Prices for energy by time of use and tier; also the credits for export.

    Attributes
    ----------
    name
        What the bill calls it.
    periods
        For each period number of the schedule its tiers, the last without a limit.
    schedule
        When which period holds.
    tiers_by
        ``period``: the energy of each period fills tiers of its own. ``total``: all energy in the
        order of time fills the tiers, and the price is that of the period at that time.
        ``share``: all energy fills the tiers, and each period has its share of every tier; the
        periods of a calendar month then have the same limits. Where a billing month spans two
        calendar months, the limits of its lowest period with energy hold.
    tiers_reset
        ``month``: tiers start anew with the billing month; ``day``: with each day.

    Examples
    --------
    >>> EnergyCharge.flat(0.25).periods[0][0].price
    0.25
    """

    periods: tuple[tuple[EnergyTier, ...], ...]
    schedule: Schedule = field(default_factory=Schedule.constant)
    name: str = "energy"
    tiers_by: Literal["period", "total", "share"] = "period"
    tiers_reset: Literal["month", "day"] = "month"

    def __post_init__(self) -> None:
        _covers(self.schedule, self.periods, self.name)
        for tiers in self.periods:
            _ends_open([tier.limit for tier in tiers], self.name)
        if self.tiers_by not in ("period", "total", "share"):
            raise ParameterError(f"tiers go by {self.tiers_by!r}; give period, total or share")
        if self.tiers_by == "share":
            self._shares()
        if self.tiers_reset not in ("month", "day"):
            raise ParameterError(f"tiers reset by {self.tiers_reset!r}; give 'month' or 'day'")

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
    """A price for each period of the meter, as of a spot market.

    Attributes
    ----------
    prices
        Shape (N,). [currency/kWh]
    name
        What the bill calls it.
    """

    prices: npt.ArrayLike
    name: str = "energy"

    def __post_init__(self) -> None:
        within(self.prices, "a price of the series", "per kWh")


@dataclass(frozen=True, kw_only=True)
class DemandTier:
    """A price up to a limit of the demand. [currency/kW], [kW]."""

    price: float
    limit: float = float("inf")

    def __post_init__(self) -> None:
        within(self.price, "a demand price", "per kW")
        within(self.limit, "the limit of a demand tier", "kW", low=0.0, above=True, finite=False)


@dataclass(frozen=True, kw_only=True)
class Ratchet:
    """A billed demand that is at least a fraction of an earlier peak.

    Attributes
    ----------
    fraction
        Of the highest peak looked back upon; twelve of them when it depends on the calendar month
        in which the peak was. 0 to 1. [-]
    months
        How many billing months to look back; None for every month of the horizon, those that
        follow included, as a tariff says that names the months instead.
    seasons
        Calendar months whose peaks count, 1 to 12.
    cyclic
        Whether the months before the horizon are those at its end, as in a typical year; else
        they are the earlier peaks that the bill is given, or none.
    by
        ``month``: the peak of all hours of the charge; ``period``: that of the same period.

    Notes
    -----
    With ``months`` the measured peak of the month itself always counts in full.
    """

    fraction: float | tuple[float, ...]
    months: int | None = 11
    seasons: tuple[int, ...] = tuple(range(1, 13))
    cyclic: bool = False
    by: Literal["month", "period"] = "month"

    def __post_init__(self) -> None:
        part = within(self.fraction, "the fraction of a ratchet", "-", low=0.0, high=1.0)
        if part.shape not in ((), (12,)):
            raise ParameterError(
                f"a ratchet has {part.size} fractions; give one, or one for each of 12 months"
            )
        if self.months is not None and self.months < 1:
            raise ParameterError(f"a ratchet looks back {self.months} months; give at least 1")
        if not self.seasons or not set(self.seasons) <= set(range(1, 13)):
            raise ParameterError(f"a ratchet counts the months {self.seasons}; give 1 to 12")
        if self.by not in ("month", "period"):
            raise ParameterError(f"a ratchet goes by {self.by!r}; give 'month' or 'period'")


@dataclass(frozen=True, kw_only=True)
class DemandCharge:
    """A charge on the highest measured demand of each billing month and period.

    Attributes
    ----------
    periods
        For each period number of the schedule its tiers, the last without a limit.
    schedule
        When which period holds; one period for a charge on all hours.
    ratchet
        What earlier peaks do, if anything.
    minimum_demand
        Demand that is billed at least in each period that occurs. At least 0. [kW]
    name
        What the bill calls it.
    """

    periods: tuple[tuple[DemandTier, ...], ...]
    schedule: Schedule = field(default_factory=Schedule.constant)
    ratchet: Ratchet | None = None
    minimum_demand: float = 0.0
    name: str = "demand"

    def __post_init__(self) -> None:
        _covers(self.schedule, self.periods, self.name)
        for tiers in self.periods:
            _ends_open([tier.limit for tier in tiers], self.name)
        within(self.minimum_demand, "the minimum demand", "kW", low=0.0)

    @staticmethod
    def flat(price: float, name: str = "demand", ratchet: Ratchet | None = None) -> "DemandCharge":
        """Return a charge of one price on the peak of all hours."""
        return DemandCharge(periods=((DemandTier(price=price),),), name=name, ratchet=ratchet)

    @staticmethod
    def by_month(
        prices: tuple[float, ...], name: str = "demand", ratchet: Ratchet | None = None
    ) -> "DemandCharge":
        """Return a charge on the peak of all hours with a price for each of the 12 months."""
        return DemandCharge(
            periods=tuple((DemandTier(price=price),) for price in prices),
            schedule=Schedule.by_month(range(12)),
            name=name,
            ratchet=ratchet,
        )


@dataclass(frozen=True, kw_only=True)
class CoincidentCharge:
    """A charge on the demand at moments that the system, not the customer, sets, as its peaks.

    Attributes
    ----------
    price
        [currency/kW]
    moments
        With a time zone; the demand is that of the window in which a moment lies. Moments outside
        the horizon are none of its bill.
    combine
        ``max`` bills the highest demand of a billing month's moments, ``sum`` every one of them.
    name
        What the bill calls it.
    """

    price: float
    moments: tuple[datetime, ...]
    combine: Literal["max", "sum"] = "max"
    name: str = "coincident demand"

    def __post_init__(self) -> None:
        within(self.price, "a coincident price", "per kW")
        if any(moment.utcoffset() is None for moment in self.moments):
            raise ParameterError(f"a moment of {self.name!r} has no time zone; give one to each")
        if self.combine not in ("max", "sum"):
            raise ParameterError(f"moments combine by {self.combine!r}; give 'max' or 'sum'")


@dataclass(frozen=True, kw_only=True)
class FixedCharge:
    """Charges without a measurement; each month and day that the horizon touches counts whole.

    Attributes
    ----------
    per_month, per_day
        [currency]
    name
        What the bill calls it.
    """

    per_month: float = 0.0
    per_day: float = 0.0
    name: str = "fixed"

    def __post_init__(self) -> None:
        within(self.per_month, "the fixed charge", "per month")
        within(self.per_day, "the fixed charge", "per day")


@dataclass(frozen=True, kw_only=True)
class NetBilling:
    """Export is credited in money at prices of its own.

    Attributes
    ----------
    credit
        Prices for export; its tiers fill with exported energy.
    netting_hours
        Length over which import and export cancel before they count, as 1 for hourly netting;
        None for two registers that never cancel. [h]
    carry
        Whether a credit above the month's charges goes on to the next month instead of being paid.
    same_month
        Whether a carried credit may pay charges of the month in which it was earned.
    offsets
        What a carried credit may pay: the ``energy`` charges only or ``all`` charges.
    settlement_month
        Calendar month at whose end the carried credit ends; None for never.
    payout_fraction
        Part of the credit that is paid out when it ends. 0 to 1. [-]
    """

    credit: EnergyCharge | PriceSeries
    netting_hours: float | None = None
    carry: bool = False
    same_month: bool = True
    offsets: Literal["energy", "all"] = "all"
    settlement_month: int | None = None
    payout_fraction: float = 0.0

    def __post_init__(self) -> None:
        if self.netting_hours is not None:
            within(self.netting_hours, "the netting time", "h", low=0.0, above=True)
        _carries(self.offsets, self.settlement_month, self.payout_fraction)


@dataclass(frozen=True, kw_only=True)
class NetMetering:
    """Export cancels import within the billing month and period, kWh for kWh.

    Attributes
    ----------
    carry
        What becomes of a surplus: ``energy`` goes on to later months in kWh, ``money`` goes on at
        the price that as much import would have cost, ``none`` is paid at the surplus price.
    pool
        With carried energy: whether the surplus of one period also cancels import of others, by
        their shares; else it waits for its own period.
    settlement_month
        Calendar month at whose end what was carried ends: energy is paid at the surplus price,
        money by the fraction; None for never.
    surplus_price
        For what the periods of the first energy charge leave over. [currency/kWh]
    offsets, payout_fraction
        For carried money, as in :class:`NetBilling`.
    """

    carry: Literal["energy", "money", "none"] = "energy"
    pool: bool = False
    settlement_month: int | None = None
    surplus_price: float = 0.0
    offsets: Literal["energy", "all"] = "all"
    payout_fraction: float = 0.0

    def __post_init__(self) -> None:
        if self.carry not in ("energy", "money", "none"):
            raise ParameterError(f"a surplus carries {self.carry!r}; give energy, money or none")
        _carries(self.offsets, self.settlement_month, self.payout_fraction)
        within(self.surplus_price, "the surplus price", "per kWh")


@dataclass(frozen=True, kw_only=True)
class Tax:
    """A rate on charges; credits do not lower it below 0.

    Attributes
    ----------
    rate
        Fraction of what it is levied on. At least 0. [-]
    on
        Names of the charges; None for all before tax.
    name
        What the bill calls it.
    """

    rate: float
    on: tuple[str, ...] | None = None
    name: str = "tax"

    def __post_init__(self) -> None:
        within(self.rate, "the rate of a tax", "-", low=0.0)


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


def _carries(offsets: str, month: int | None, payout: float) -> None:
    if offsets not in ("energy", "all"):
        raise ParameterError(f"credits offset {offsets!r}; give 'energy' or 'all'")
    if month is not None and month not in range(1, 13):
        raise ParameterError(f"carried credit settles in month {month}; give 1 to 12")
    within(payout, "the fraction that is paid out", "-", low=0.0, high=1.0)
