from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Literal, cast
from zoneinfo import ZoneInfo

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engiagent.models.ranges import Floats, ParameterError
from engiagent.models.tariffs import (
    BillHistory,
    DemandCharge,
    DemandTier,
    EnergyCharge,
    EnergyTier,
    FixedCharge,
    MeterTimes,
    NetBilling,
    NetMetering,
    PriceSeries,
    Ratchet,
    Rule,
    Schedule,
    Tariff,
    Tax,
    bill,
)

By = Literal["period", "total", "share"]
BERLIN = ZoneInfo("Europe/Berlin")
PEAK = Schedule.of(Rule(period=1, start_hour=8, end_hour=20, days="weekday"))


def times(start: datetime, count: int, step: float = 1.0) -> MeterTimes:
    return MeterTimes(start=start, step_hours=step, count=count)


@pytest.mark.parametrize(
    ("zone", "year"),
    [
        ("Europe/Berlin", 2026),
        ("America/New_York", 2025),
        ("Australia/Lord_Howe", 2026),
        ("Asia/Kolkata", 2026),
        ("Asia/Kathmandu", 2024),
        ("Africa/Casablanca", 2025),
    ],
)
def test_the_wall_clock_is_that_of_python_on_every_period_of_a_year(zone: str, year: int) -> None:
    start = datetime(year, 1, 1, tzinfo=ZoneInfo(zone))
    clock = times(start, 8760 * 2, 0.5)
    rng = np.random.default_rng(0)
    jumps = np.flatnonzero(np.diff(clock.local_seconds) != 1800)
    places = np.unique(np.concatenate((rng.integers(0, clock.count, 300), jumps, jumps + 1)))
    for place in places.tolist():
        moment = (start.astimezone(UTC) + timedelta(hours=place / 2)).astimezone(ZoneInfo(zone))
        assert clock.local[place] == np.datetime64(moment.replace(tzinfo=None))
        assert clock.weekday[place] == moment.weekday()
        assert clock.month[place] == moment.month


def test_the_days_of_23_and_25_hours_pay_for_the_hours_that_they_have() -> None:
    night = Schedule.of(Rule(period=1, start_hour=2, end_hour=3))
    tariff = Tariff(energy=(EnergyCharge.time_of_use((0.0, 1.0), night),))
    for day, paid in (((2026, 3, 29), 0.0), ((2026, 7, 1), 10.0), ((2026, 10, 25), 20.0)):
        hours = {3: 23, 7: 24, 10: 25}[day[1]]
        clock = times(datetime(*day, tzinfo=BERLIN), hours)
        result = bill(tariff, clock, np.full(hours, 10.0))
        assert (result.total, result.imported.sum()) == (paid, 10.0 * hours)


def test_a_fixed_charge_by_day_counts_wall_clock_days() -> None:
    tariff = Tariff(fixed=(FixedCharge(per_day=1.0, per_month=5.0),))
    hours = (datetime(2026, 4, 2, tzinfo=BERLIN) - datetime(2026, 3, 29, tzinfo=BERLIN)).days * 24
    result = bill(
        tariff, times(datetime(2026, 3, 29, tzinfo=BERLIN), hours - 1), np.zeros(hours - 1)
    )
    assert result.by_month.tolist() == [5.0 + 3.0, 5.0 + 1.0]


def naive(
    energy_charges: Sequence[EnergyCharge],
    demand_charges: Sequence[DemandCharge],
    clock: MeterTimes,
    power: Floats,
) -> float:
    """A second route: one period after another, with Python's own calendar."""
    total = 0.0
    filled: dict[tuple[object, ...], float] = {}
    peaks: dict[tuple[int, int, int, int], float] = {}
    for place in range(clock.count):
        moment = clock.start.astimezone(UTC) + timedelta(seconds=place * clock.step_seconds)
        local = moment.astimezone(clock.zone)
        energy = power[place] * clock.step_hours
        for charge in energy_charges:
            grid = charge.schedule.weekend if local.weekday() > 4 else charge.schedule.weekday
            period = grid[local.month - 1][local.hour]
            group = (local.year, local.month)
            key = (charge.name, group, period if charge.tiers_by == "period" else "all")
            left, low = energy, filled.get(key, 0.0)
            for tier in charge.periods[period]:
                inside = min(left, max(tier.limit - low, 0.0))
                total, left, low = total + inside * tier.price, left - inside, low + inside
            filled[key] = filled.get(key, 0.0) + energy
        for number, part in enumerate(demand_charges):
            grid = part.schedule.weekend if local.weekday() > 4 else part.schedule.weekday
            when = (number, local.year, local.month, grid[local.month - 1][local.hour])
            peaks[when] = max(peaks.get(when, 0.0), power[place])
    for (number, _, _, period), peak in peaks.items():
        low = 0.0
        for step in demand_charges[number].periods[period]:
            total += max(min(peak, step.limit) - low, 0.0) * step.price
            low = step.limit
    return total


@settings(deadline=None, max_examples=25)
@given(
    st.integers(0, 2**32 - 1),
    st.sampled_from(["period", "total"]),
    st.sampled_from([1.0, 0.5, 0.25]),
)
def test_a_bill_is_the_sum_over_periods_one_by_one(seed: int, by: By, step: float) -> None:
    rng = np.random.default_rng(seed)
    start = datetime(2026, 3, 20, 7, tzinfo=BERLIN)
    count = int(rng.integers(1, 700))
    clock = times(start, count, step)
    power = rng.uniform(0, 50, count)
    limits = np.sort(rng.uniform(1, 3000, 2))

    def energy_tiers() -> tuple[EnergyTier, ...]:
        low, mid, high = rng.uniform(-0.1, 0.5, 3)
        return (
            EnergyTier(price=low, limit=limits[0]),
            EnergyTier(price=mid, limit=limits[1]),
            EnergyTier(price=high),
        )

    energy = (
        EnergyCharge(periods=(energy_tiers(), energy_tiers()), schedule=PEAK, tiers_by=by),
        EnergyCharge.flat(0.05, name="levy"),
    )
    stepped = (DemandTier(price=2.0, limit=30.0), DemandTier(price=9.0))
    demand = (DemandCharge(periods=((DemandTier(price=3.0),), stepped), schedule=PEAK),)
    result = bill(Tariff(energy=energy, demand=demand), clock, power)
    assert result.total == pytest.approx(naive(energy, demand, clock, power), rel=1e-9)


@pytest.mark.parametrize("step", [7 / 60, 0.25, 0.75, 2.0, 24.0])
def test_steps_that_straddle_a_price_pay_by_time(step: float) -> None:
    seconds = round(step * 3600)
    count = 7 * 24 * 3600 // seconds
    clock = times(datetime(2026, 1, 5, tzinfo=BERLIN), count, step)
    power = np.random.default_rng(4).uniform(0, 20, count)
    tariff = Tariff(energy=(EnergyCharge.time_of_use((0.1, 0.4), PEAK),))
    minutes = np.repeat(power, seconds // 60)
    fine = bill(tariff, times(clock.start, len(minutes), 1 / 60), minutes)
    assert bill(tariff, clock, power).total == pytest.approx(fine.total, rel=1e-9)
    assert (tariff.import_prices(clock) * power).sum() * step == pytest.approx(fine.total, rel=1e-9)


def test_demand_is_the_mean_of_its_window() -> None:
    start = datetime(2026, 1, 1, tzinfo=UTC)
    power = np.array([0.0, 60.0, 60.0, 0.0, 0.0, 0.0, 0.0, 0.0])
    quarter = times(start, 8, 0.25)

    def peak(**more: Any) -> float:
        return bill(Tariff(demand=(DemandCharge.flat(1.0),), **more), quarter, power).total

    assert peak() == 60.0
    assert peak(demand_window_hours=0.5) == 30.0
    assert peak(demand_window_hours=0.5, demand_sliding=True) == 60.0
    assert peak(demand_window_hours=1.0) == 30.0
    # A step longer than the window holds its power.
    assert (
        bill(
            Tariff(demand=(DemandCharge.flat(1.0),), demand_window_hours=0.25),
            times(start, 8),
            power,
        ).total
        == 60.0
    )


def test_a_horizon_within_a_month_knows_what_is_billed_already() -> None:
    clock = times(datetime(2026, 5, 10, tzinfo=UTC), 24)
    charge = DemandCharge(
        periods=((DemandTier(price=10.0),), (DemandTier(price=20.0),)),
        schedule=PEAK,
        ratchet=Ratchet(fraction=0.5, months=2),
    )
    tariff = Tariff(demand=(charge,))
    plain = bill(tariff, clock, np.full(24, 30.0))  # a Sunday: the peak period has no hour
    assert plain.total == 300.0
    so_far = BillHistory(peak_so_far={"demand": {0: 50.0, 1: 40.0}})
    assert bill(tariff, clock, np.full(24, 30.0), history=so_far).total == 500.0 + 800.0
    before = BillHistory(previous_peaks={"demand": [500.0, 100.0, 80.0]})
    assert bill(tariff, clock, np.full(24, 30.0), history=before).total == 500.0


@pytest.mark.parametrize("by", ["period", "total", "share"])
def test_a_horizon_within_a_month_fills_the_tiers_from_where_they_are(by: By) -> None:
    rng = np.random.default_rng(8)
    prices = ((0.1, 0.3), (0.2, 0.5))
    tiers = tuple((EnergyTier(price=a, limit=900.0), EnergyTier(price=b)) for a, b in prices)
    charge = EnergyCharge(periods=tiers, schedule=PEAK, tiers_by=by)
    tariff = Tariff(energy=(charge,))
    power = rng.uniform(0, 10, 31 * 24)
    start = datetime(2026, 1, 1, tzinfo=UTC)
    first, rest = times(start, 200), times(start + timedelta(hours=200), 544)
    period = charge.schedule.at(first)
    so_far = {number: float(power[:200][period == number].sum()) for number in (0, 1)}
    parts = (
        bill(tariff, first, power[:200]).total,
        bill(
            tariff, rest, power[200:], history=BillHistory(energy_so_far={"energy": so_far})
        ).total,
    )
    assert sum(parts) == pytest.approx(bill(tariff, times(start, 744), power).total, rel=1e-12)


def test_a_ratchet_looks_back_upon_its_seasons_only() -> None:
    power = np.concatenate([np.full(24 * d, p) for d, p in ((31, 90.0), (28, 10.0), (31, 20.0))])
    clock = times(datetime(2026, 1, 1, tzinfo=UTC), len(power))
    for seasons, billed in (((1,), [90, 45, 45]), ((2, 3), [90, 10, 20])):
        rule = Ratchet(fraction=0.5, months=11, seasons=seasons)
        result = bill(Tariff(demand=(DemandCharge.flat(1.0, ratchet=rule),)), clock, power)
        assert result.demand["demand"].billed[:, 0].tolist() == billed


def test_billing_months_start_on_their_day() -> None:
    clock = times(datetime(2026, 1, 14, tzinfo=UTC), 48)
    tariff = Tariff(energy=(EnergyCharge.flat(1.0),), billing_day=15)
    result = bill(tariff, clock, np.ones(48))
    assert result.months.astype(str).tolist() == ["2025-12", "2026-01"]
    assert result.by_month.tolist() == [24.0, 24.0]


def test_netting_within_the_hour_cancels_import_and_export() -> None:
    clock = times(datetime(2026, 1, 1, tzinfo=UTC), 4, 0.25)
    tariff = Tariff(energy=(EnergyCharge.flat(1.0),))
    credit = EnergyCharge.flat(0.2, "sell")
    power_in, power_out = [8.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 4.0]

    def total(hours: float | None) -> float:
        rule = NetBilling(credit=credit, netting_hours=hours)
        return bill(Tariff(energy=tariff.energy, export=rule), clock, power_in, power_out).total

    assert total(None) == pytest.approx(2.0 - 0.2)
    assert total(1.0) == pytest.approx(1.0)
    assert bill(tariff, clock, power_in, power_out).total == pytest.approx(2.0)


@settings(deadline=None, max_examples=30)
@given(st.integers(0, 2**32 - 1))
def test_energy_that_is_carried_is_neither_made_nor_lost(seed: int) -> None:
    rng = np.random.default_rng(seed)
    clock = times(datetime(2026, 1, 1, tzinfo=UTC), 24 * 200)
    season = np.sin(np.arange(clock.count) / 300)
    power_in = np.maximum(rng.uniform(0, 10, clock.count) + 6 * season, 0)
    power_out = np.maximum(rng.uniform(0, 10, clock.count) - 6 * season, 0)
    # With equal prices the money is the energy: all import less what export cancelled.
    tariff = Tariff(energy=(EnergyCharge.time_of_use((1.0, 1.0), PEAK),), export=NetMetering())
    result = bill(tariff, clock, power_in, power_out)
    net = power_in.sum() - power_out.sum()
    assert result.total - result.carried_energy[-1] == pytest.approx(net, rel=1e-9, abs=1e-6)
    assert (result.by_month >= 0).all()


def test_minimum_and_taxes_come_last() -> None:
    clock = times(datetime(2026, 1, 1, tzinfo=UTC), 24)
    tariff = Tariff(
        energy=(EnergyCharge.flat(0.5),),
        fixed=(FixedCharge(per_month=4.0),),
        minimum_per_month=30.0,
        taxes=(Tax(rate=0.1), Tax(rate=0.05, on=("energy",), name="levy")),
    )
    result = bill(tariff, clock, np.ones(24))
    assert {name: float(v[0]) for name, v in result.components.items()} == pytest.approx(
        {"fixed": 4.0, "energy": 12.0, "minimum": 14.0, "tax": 3.0, "levy": 0.6}
    )
    assert result.of("tax") == pytest.approx(3.0)
    assert result.total == pytest.approx(33.6)


def test_a_tax_on_a_credit_is_none_and_a_minimum_of_a_year_is_shared_by_its_months() -> None:
    clock = times(datetime(2026, 1, 1, tzinfo=UTC), 59 * 24)
    paid = Tariff(export=NetBilling(credit=EnergyCharge.flat(0.1, "sell")), taxes=(Tax(rate=0.2),))
    assert bill(paid, clock, 0.0, 1.0).total == pytest.approx(-0.1 * 59 * 24)
    least = Tariff(energy=(EnergyCharge.flat(0.1),), minimum_per_year=1200.0)
    assert bill(least, clock, 0.0).by_month.tolist() == [0.0, 200.0]
    assert bill(least, clock, 10.0).of("minimum") == 0.0


def test_a_tier_that_ends_before_the_one_below_it_holds_nothing() -> None:
    clock = times(datetime(2026, 1, 1, tzinfo=UTC), 100)
    tiers = (
        EnergyTier(price=0.1, limit=60.0),
        EnergyTier(price=9.0, limit=50.0, unit="kWh/kW"),
        EnergyTier(price=0.2),
    )
    charge = EnergyCharge(periods=(tiers,))
    assert bill(Tariff(energy=(charge,)), clock, 1.0).total == pytest.approx(6.0 + 8.0)
    assert bill(Tariff(energy=(charge,)), clock, 2.0).total == pytest.approx(
        0.1 * 60 + 9.0 * 40 + 0.2 * 100
    )


def test_seasons_that_share_tiers_have_limits_of_their_own() -> None:
    tiers = tuple(
        (EnergyTier(price=low, limit=limit), EnergyTier(price=1.0))
        for low, limit in ((0.1, 100.0), (0.2, 100.0), (0.3, 500.0))
    )
    winter = Rule(period=2, months=(1,))
    day = Rule(period=1, start_hour=12, end_hour=24, months=(2,))
    charge = EnergyCharge(periods=tiers, schedule=Schedule.of(winter, day), tiers_by="share")
    clock = times(datetime(2026, 1, 1, tzinfo=UTC), 59 * 24)
    due = bill(Tariff(energy=(charge,)), clock, 1.0).by_month
    assert due == pytest.approx([0.3 * 500 + 244, 0.15 * 100 + 572])
    with pytest.raises(ParameterError, match="in month 6 share tiers"):
        EnergyCharge(
            periods=tiers,
            schedule=Schedule.of(Rule(period=2, months=(6,), start_hour=8)),
            tiers_by="share",
        )


def test_a_series_of_prices_is_paid_period_by_period() -> None:
    rng = np.random.default_rng(5)
    prices, power, back = rng.uniform(-0.1, 0.4, (3, 96))
    power, back = np.abs(power), np.abs(back)
    clock = times(datetime(2026, 10, 25, tzinfo=BERLIN), 96, 0.25)
    levy = EnergyCharge.time_of_use((0.1, 0.2), PEAK)
    tariff = Tariff(
        energy=(PriceSeries(prices=prices, name="spot"), levy),
        export=NetBilling(credit=PriceSeries(prices=0.5 * prices, name="sell")),
    )
    result = bill(tariff, clock, power, back)
    energy = 0.25 * (tariff.import_prices(clock) @ power - tariff.export_prices(clock) @ back)
    assert result.total == pytest.approx(energy, rel=1e-12)
    assert result.of("spot") == pytest.approx(0.25 * prices @ power)


def test_rules_over_midnight_and_half_hours() -> None:
    night = Schedule.of(Rule(period=1, start_hour=22.5, end_hour=6))
    clock = times(datetime(2026, 2, 3, tzinfo=UTC), 48, 0.5)
    assert night.at(clock).tolist() == [1] * 12 + [0] * 33 + [1] * 3
    assert len(night.weekday[0]) == 48


@pytest.mark.parametrize(
    ("build", "words"),
    [
        (lambda: times(datetime(2026, 1, 1), 3), "no time zone"),
        (lambda: times(datetime(2026, 1, 1, tzinfo=UTC), 3, 1 / 7), "whole seconds"),
        (lambda: times(datetime(2026, 1, 1, tzinfo=UTC), 0), "at least 1"),
        (lambda: Schedule(weekday=((0,) * 24,), weekend=((0,) * 24,)), "12 rows"),
        (lambda: Schedule.by_month([-1] * 12), "from 0 on"),
        (lambda: Schedule.of(Rule(period=1, start_hour=7.1)), "quarters"),
        (lambda: Schedule.of(Rule(period=1, months=[0])), "1 to 12"),
        (lambda: EnergyCharge.time_of_use((0.1,), PEAK), "names period 1"),
        (lambda: EnergyCharge(periods=((EnergyTier(price=1.0, limit=5.0),),)), "without limit"),
        (lambda: EnergyTier(price=float("nan")), "nan"),
        (lambda: EnergyTier(price=0.1, unit=cast(Any, "MWh")), "kWh/kW"),
        (lambda: Ratchet(fraction=75.0), "at most 1"),
        (lambda: Tariff(energy=(EnergyCharge.flat(1.0), EnergyCharge.flat(2.0))), "its own name"),
        (lambda: Tariff(taxes=(Tax(rate=0.1, on=("energie",)),)), "no charge is called"),
        (lambda: Tariff(billing_day=31), "1 to 28"),
    ],
)
def test_what_means_nothing_is_refused(build: Callable[[], object], words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        build()


def test_powers_and_parts_that_do_not_fit_are_refused() -> None:
    clock = times(datetime(2026, 1, 1, tzinfo=UTC), 3)
    flat = Tariff(energy=(EnergyCharge.flat(0.1),), demand=(DemandCharge.flat(1.0),))
    with pytest.raises(ParameterError, match="the import is -2 kW; give a number at least 0"):
        bill(flat, clock, [1.0, -2.0, 0.0])
    with pytest.raises(ParameterError, match="the import has the shape"):
        bill(flat, clock, [1.0, 2.0])
    with pytest.raises(ParameterError, match="no line 'heat'; it has energy, demand"):
        bill(flat, clock, 1.0).of("heat")
    with pytest.raises(ParameterError, match="no demand charge is called"):
        bill(flat, clock, 1.0, history=BillHistory(previous_peaks={"peak": [3.0]}))
    spot = Tariff(energy=(PriceSeries(prices=[1.0, 2.0, 3.0]),), export=NetMetering())
    with pytest.raises(ParameterError, match="needs periods"):
        bill(spot, clock, 1.0)
    tiers = ((EnergyTier(price=0.1, limit=5.0), EnergyTier(price=0.2)),)
    tiered = Tariff(energy=(EnergyCharge(periods=tiers),))
    with pytest.raises(ParameterError, match="depends on the energy"):
        tiered.import_prices(clock)
