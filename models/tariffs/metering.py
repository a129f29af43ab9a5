"""What the meter measured under the windows of a tariff: energy of each part, demand of windows."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from engiagent.models.ranges import Floats, ParameterError, not_negative, series
from engiagent.models.tariffs.calendar import HOUR, Ints, MeterTimes
from engiagent.models.tariffs.tariff import (
    DemandCharge,
    EnergyCharge,
    NetBilling,
    PriceSeries,
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
