"""A tariff: its charges together, and the prices that an operator sees."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from engiagent.models.ranges import Floats, ParameterError, over_time, within
from engiagent.models.tariffs.charges import (
    CoincidentCharge,
    DemandCharge,
    EnergyCharge,
    FixedCharge,
    NetBilling,
    NetMetering,
    PriceSeries,
    Tax,
)
from engiagent.models.tariffs.times import MeterTimes

# Lines of a bill that the tariff does not name itself.
EXPORT, SETTLED, MINIMUM = "export", "settlement", "minimum"


@dataclass(frozen=True, kw_only=True)
class Tariff:
    """What a customer pays; every part may be missing.

    Attributes
    ----------
    fixed, energy, demand, coincident
        Charges, each under a name of its own.
    export
        How export counts; None when it is given away.
    minimum_per_month
        What a month costs at least before tax; minus infinity for no such rule. [currency]
    minimum_per_year
        What twelve months cost at least before tax, settled in the last month. [currency]
    taxes
        Levied in this order on charges before tax.
    demand_window_hours
        Length over which demand is averaged; a period of the meter when None. [h]
    demand_sliding
        Whether the window moves with each period; else windows follow one another on the clock.
    billing_day
        Day on which a billing month starts. 1 to 28.
    currency
        Name for reports.
    assumptions
        What its source leaves open and was chosen, in words.
    """

    fixed: tuple[FixedCharge, ...] = ()
    energy: tuple[EnergyCharge | PriceSeries, ...] = ()
    demand: tuple[DemandCharge, ...] = ()
    coincident: tuple[CoincidentCharge, ...] = ()
    export: NetBilling | NetMetering | None = None
    minimum_per_month: float = float("-inf")
    minimum_per_year: float = float("-inf")
    taxes: tuple[Tax, ...] = ()
    demand_window_hours: float | None = None
    demand_sliding: bool = False
    billing_day: int = 1
    currency: str = "EUR"
    assumptions: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        within(self.minimum_per_month, "the minimum per month", "", finite=False)
        within(self.minimum_per_year, "the minimum per year", "", finite=False)
        if self.billing_day not in range(1, 29):
            raise ParameterError(f"the billing day is {self.billing_day}; give 1 to 28")
        if self.demand_window_hours is not None:
            within(self.demand_window_hours, "the demand window", "h", low=0.0, above=True)
        charges = (*self.fixed, *self.energy, *self.demand, *self.coincident)
        names = [part.name for part in (*charges, *self.taxes)]
        names += [EXPORT, SETTLED, MINIMUM]
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
        total = np.zeros(times.count)
        for charge in self.energy:
            total += _prices(charge, times)
        return total

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
        return over_time(charge.prices, (times.count,), f"the prices of {charge.name!r}")
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
    """What happened before the horizon.

    Attributes
    ----------
    previous_peaks
        By name of a demand charge the peaks of the billing months before the first one, the
        latest last: shape (H,), or (H, periods) for a ratchet by period. [kW]
    peak_so_far
        By name of a demand charge and period the peak of the first billing month before the
        horizon. The bill shows the demand of that whole month, which nothing below this peak
        raises. [kW]
    energy_so_far
        By name of an energy charge and period the energy of the first billing month (or day, as
        its tiers reset) before the horizon. It fills tiers and is not billed again. [kWh]
    carried_credit
        Money carried into the first month. At least 0. [currency]
    """

    previous_peaks: Mapping[str, npt.ArrayLike] = field(default_factory=dict)
    peak_so_far: Mapping[str, Mapping[int, float]] = field(default_factory=dict)
    energy_so_far: Mapping[str, Mapping[int, float]] = field(default_factory=dict)
    carried_credit: float = 0.0

    def __post_init__(self) -> None:
        within(self.carried_credit, "the carried credit", "", low=0.0)
        for name, peaks in self.previous_peaks.items():
            within(peaks, f"an earlier peak of {name!r}", "kW", low=0.0)
        for name, so_far in self.peak_so_far.items():
            within(list(so_far.values()), f"the peak so far of {name!r}", "kW", low=0.0)
        for name, so_far in self.energy_so_far.items():
            within(list(so_far.values()), f"the energy so far of {name!r}", "kWh", low=0.0)

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
