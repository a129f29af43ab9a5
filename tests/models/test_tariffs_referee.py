"""Bills to the cent against SAM's Utilityrate5 and the ratchets that REopt publishes."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Literal

import numpy as np
import pytest

from engiagent.models.ranges import Floats
from engiagent.models.tariffs import (
    Bill,
    BillHistory,
    DemandCharge,
    DemandTier,
    EnergyCharge,
    EnergyTier,
    FixedCharge,
    MeterTimes,
    NetBilling,
    NetMetering,
    Ratchet,
    Rule,
    Schedule,
    Tariff,
    bill,
    from_urdb,
)
from engiagent.models.tariffs.tariff import TierUnit

HOURS = np.arange(8760)
Rows = list[tuple[float, ...]]
# SAM's year starts on a Monday and has no leap day, as 2018.
YEAR = MeterTimes(start=datetime(2018, 1, 1, tzinfo=UTC), step_hours=1.0, count=8760)
NONE = 1e38
TIMES_OF_USE = Schedule.of(
    Rule(period=1, start_hour=8, end_hour=22, days="weekday"),
    Rule(period=2, start_hour=16, end_hour=21, days="weekday", months=range(6, 10)),
)
AFTERNOON = Schedule.of(Rule(period=1, start_hour=12, end_hour=18, days="weekday"))
BUY, SELL = (0.10, 0.18, 0.35), (0.03, 0.05, 0.08)
ENERGY = EnergyCharge.time_of_use(BUY, TIMES_OF_USE)
CREDIT = EnergyCharge.time_of_use(SELL, TIMES_OF_USE, "sell")
FIXED = (FixedCharge(per_month=30.0),)
EARLIER = [150.0 + month for month in range(12)]


def load() -> Floats:
    day = 25 * np.sin(2 * np.pi * (HOURS % 24 - 9) / 24)
    season = 12 * np.cos(2 * np.pi * HOURS / 8760)
    return np.asarray(60 + day + season + 0.2 * ((37 * HOURS) % 101))


def peaky_load() -> Floats:
    power = load()
    power[5000], power[100] = 300.0, 180.0
    return power


def sun(size: float) -> Floats:
    season = 1 - 0.4 * np.cos(2 * np.pi * HOURS / 8760)
    cloud = 0.4 + 0.6 * ((53 * HOURS) % 97) / 96
    height = np.maximum(np.sin(2 * np.pi * (HOURS % 24 - 6) / 24), 0)
    return np.asarray(size * height * season * cloud)


def tiers(limit: float, unit: TierUnit = "kWh") -> tuple[tuple[EnergyTier, ...], ...]:
    prices = ((0.10, 0.20), (0.18, 0.25), (0.35, 0.50))
    return tuple(
        (EnergyTier(price=low, limit=limit, unit=unit), EnergyTier(price=high))
        for low, high in prices
    )


def net(tariff: Tariff, size: float) -> Bill:
    return bill(tariff, YEAR, np.maximum(load() - sun(size), 0), np.maximum(sun(size) - load(), 0))


def tiered(by: Literal["total", "share"]) -> Bill:
    charge = EnergyCharge(periods=tiers(15000), schedule=TIMES_OF_USE, tiers_by=by)
    return bill(Tariff(energy=(charge,)), YEAR, load())


def tiered_unit(limit: float, unit: TierUnit) -> Bill:
    return bill(Tariff(energy=(EnergyCharge(periods=tiers(limit, unit)[:1]),)), YEAR, load())


def demand() -> Bill:
    flat = DemandCharge(
        name="all hours",
        schedule=Schedule.by_month(range(12)),
        periods=tuple(
            (DemandTier(price=5.0 + m, limit=80.0), DemandTier(price=9.0 + m)) for m in range(12)
        ),
    )
    window = DemandCharge(
        name="afternoon",
        schedule=AFTERNOON,
        periods=(
            (DemandTier(price=1.5),),
            (DemandTier(price=4.0, limit=60.0), DemandTier(price=7.5)),
        ),
    )
    tariff = Tariff(
        energy=(EnergyCharge.flat(0.1),), demand=(flat, window), minimum_per_month=7200.0
    )
    return bill(tariff, YEAR, load())


def least_of_a_year() -> Bill:
    tariff = Tariff(energy=(EnergyCharge.flat(0.1),), fixed=FIXED, minimum_per_year=90000.0)
    return bill(tariff, YEAR, load())


SEASONAL = (0.6, 0.6, 0.6, 0.8, 0.8, 0.9, 0.5, 0.5, 0.5, 0.7, 0.7, 0.95)


def ratchet(fraction: float | tuple[float, ...] = 0.75, months: int = 4) -> Bill:
    charge = DemandCharge.flat(10.0, ratchet=Ratchet(fraction=fraction, months=months))
    tariff = Tariff(energy=(EnergyCharge.flat(0.1),), demand=(charge,))
    return bill(tariff, YEAR, peaky_load(), history=BillHistory(previous_peaks={"demand": EARLIER}))


def metered(energy: EnergyCharge, size: float) -> Bill:
    return net(Tariff(fixed=FIXED, energy=(energy,), export=NetMetering()), size)


def billed_both_ways() -> Bill:
    tariff = Tariff(fixed=FIXED, energy=(ENERGY,), export=NetBilling(credit=CREDIT))
    return bill(tariff, YEAR, load(), sun(250.0))


STEPS: Rows = [
    row
    for p, (low, high) in enumerate(((0.10, 0.20), (0.18, 0.25), (0.35, 0.50)), start=1)
    for row in ((p, 1, 15000, 0, low, 0), (p, 2, NONE, 0, high, 0))
]


SOLD: Rows = [
    (p, tier, limit, unit, buy, sell)
    for (p, tier, limit, unit, buy, _), sell in zip(
        STEPS, (0.03, 0.01, 0.06, 0.02, 0.09, 0.03), strict=True
    )
]
# The same rate as the database has it.
STEPPED = from_urdb(
    {
        "energyratestructure": [
            [
                {"rate": row[4], "sell": row[5]} | ({"max": 15000} if row[1] == 1 else {})
                for row in SOLD[2 * k : 2 * k + 2]
            ]
            for k in range(3)
        ],
        "energyweekdayschedule": TIMES_OF_USE.weekday,
        "energyweekendschedule": TIMES_OF_USE.weekend,
        "dgrules": "Net Billing Instantaneous",
    }
)


CASES: dict[str, Callable[[], Bill]] = {
    "time of use": lambda: bill(Tariff(fixed=FIXED, energy=(ENERGY,)), YEAR, load()),
    "tiers shared": lambda: tiered("share"),
    "tiers in time": lambda: tiered("total"),
    "kWh/day": lambda: tiered_unit(900.0, "kWh/day"),
    "kWh/kW": lambda: tiered_unit(200.0, "kWh/kW"),
    "kWh/kW/day": lambda: tiered_unit(7.0, "kWh/kW/day"),
    "demand": demand,
    "minimum of a year": least_of_a_year,
    "ratchet": ratchet,
    "ratchet by month of the peak": lambda: ratchet(SEASONAL, 6),
    "net billing": lambda: net(
        Tariff(fixed=FIXED, energy=(ENERGY,), export=NetBilling(credit=CREDIT)), 250.0
    ),
    "net billing, tiers in time": lambda: net(STEPPED, 250.0),
    "net metering, tiers shared": lambda: metered(
        EnergyCharge(periods=tiers(15000), schedule=TIMES_OF_USE, tiers_by="share"), 250.0
    ),
    "buy all, sell all": billed_both_ways,
    "net metering, times of use": lambda: metered(ENERGY, 400.0),
}


# What PySAM 7.1.1.post1 bills for the cases above in each month, rounded to 1e-4.
SAM_BILLS = """
time of use: 8522.3249 7352.4591 7618.7045 6756.5912 6557.5073 7269.8081 7542.7301 8052.296
8046.5427 7673.6159 7927.8552 8313.1441;
tiers shared: 12364.0196 10547.2204 10970.6522 9577.9904 9138.3593 9959.1257 10362.8955
11097.0635 11323.4243 10970.6143 11417.4849 12214.9498;
tiers in time: 12360.2353 10556.0666 10976.0087 9566.3084 9156.2463 9972.5566 10369.5081
11097.4754 11340.8201 10982.2675 11418.9515 12204.9107;
kWh/day: 9326.8572 8028.7407 8131.4751 6979.3624 6406.6151 5739.7395 5913.2344 6363.4446
6923.0319 8066.4094 8581.8462 9328.6035;
kWh/kW: 9797.2094 8275.7611 8723.0078 7609.2981 7241.3539 6574.8336 6830.6514 7211.8931
7547.6795 8677.6152 9020.5284 9801.2149;
kWh/kW/day: 9600.0394 8321.2207 8536.1381 7505.7948 7075.1567 6481.5883 6671.4819 7046.8612
7443.9118 8492.4177 8907.4625 9604.2369;
demand: 7614.642 7200 7200 7200 7200 7200 7200 7200 7200 7839.2329 8275.8791 8888.7842;
minimum of a year: 6088.4286 5304.3704 5490.7375 4869.6812 4628.3076 4249.8698 4381.6172
4606.7223 4841.516 5458.2047 5670.9231 34409.6217;
ratchet: 7870.3665 6624.3704 6810.7375 6189.6812 5948.3076 5152.3227 7375.9675 6826.7223
7061.516 7678.2047 7890.9231 7217.996;
ratchet by month of the peak: 7870.3665 6803.8704 6990.2375 6369.1812 6127.8076 5749.3698
7375.9675 6076.7223 6311.516 6928.2047 7140.9231 7559.3017;
net billing: 4770.878 3718.3217 3185.8587 2181.0309 1523.8776 1856.2651 1892.3642 2441.4595
3084.3579 3127.8573 3986.8507 4704.6753;
net billing, tiers in time: 6727.7546 5035.4017 4345.2906 2964.7913 2335.7329 2690.725 2823.428
3427.5657 4031.7587 4237.9331 5483.673 6675.6998;
net metering, tiers shared: 6321.265 4272.3157 2211.2486 1087.5682 740.2996 1800.9908 1830.3747
2471.2063 2991.0673 1754.9348 2475.1504 3325.1633;
buy all, sell all: 7393.5358 6192.2605 6012.7228 4861.6754 4234.9989 4763.4823 4921.1409
5593.1978 6079.7577 6014.158 6657.2425 7226.1589;
net metering, times of use: 2112.2508 1428.5466 990.719 233.4829 30 677.9842 618.0697 991.8189
1296.7489 30 676.4771 1898.4314
"""
SAM: dict[str, list[float]] = {
    name.strip(): [float(number) for number in numbers.split()]
    for name, _, numbers in (row.partition(":") for row in SAM_BILLS.split(";"))
}


@pytest.mark.parametrize("name", CASES)
def test_bills_equal_those_of_sam_to_the_cent(name: str) -> None:
    ours = CASES[name]()
    assert ours.by_month == pytest.approx(SAM[name], abs=0.001)
    assert ours.total == pytest.approx(sum(SAM[name]), abs=0.005)


# REopt.jl, test set "Lookback Demand Charges": an even load of 100 kW with four peaks, monthly
# prices, a fraction of 0.75; its published billed demands and costs.
PRICES = (10.0, 10.0, 20.0, 50.0, 20.0, 10.0, 20.0, 20.0, 20.0, 20.0, 20.0, 5.0)


@pytest.mark.parametrize(
    ("rule", "earlier", "billed", "cost"),
    [
        (
            Ratchet(fraction=0.75, months=None, seasons=(1, 4, 12)),
            [],
            [300, 300, 300, 400, 300, 500, 300, 300, 300, 300, 300, 300],
            74_500.0,
        ),
        (
            Ratchet(fraction=0.75, months=6),
            [100, 100, 100, 100, 100, 300],  # the end of the year before, as in this one
            [225, 225, 225, 400, 300, 500, 375, 375, 375, 375, 375, 375],
            79_375.0,
        ),
    ],
)
def test_ratchets_published_by_reopt(
    rule: Ratchet, earlier: list[float], billed: list[float], cost: float
) -> None:
    power = np.full(8760, 100.0)
    power[[21, 2402, 4087, 8332]] = 200.0, 400.0, 500.0, 300.0
    year = MeterTimes(start=datetime(2022, 1, 1, tzinfo=UTC), step_hours=1.0, count=8760)
    monthly = Schedule.by_month(range(12))
    periods = tuple((DemandTier(price=price),) for price in PRICES)
    tariff = Tariff(demand=(DemandCharge(periods=periods, schedule=monthly, ratchet=rule),))
    result = bill(tariff, year, power, history=BillHistory(previous_peaks={"demand": earlier}))
    assert np.nanmax(result.demand["demand"].billed, axis=1).tolist() == billed
    assert result.total == cost
