"""Electricity tariffs and their bills, itemised by month and component.

A :class:`Tariff` holds what a rate sheet says: fixed charges, energy by time of use and tier,
demand by window, tier and ratchet, export by net billing or net metering, minimum bill, taxes.
:func:`bill` applies it to the import and export of a meter whose clock knows its time zone.

:func:`from_urdb` reads a rate of the Utility Rate Database (URDB).
Tiers that all periods share in a month are ``tiers_by="total"`` with net billing (in the order of
time) and ``"share"`` with net metering (by the month's net energy), as SAM bills both. What a rate
leaves open stands in ``Tariff(assumptions=…)``; fields that are unknown, coincident peaks, reactive
power and demand in kVA are refused.
"""

from engiagent.models.tariffs.bill import Bill, DemandBill, bill
from engiagent.models.tariffs.calendar import MeterTimes, Rule, Schedule
from engiagent.models.tariffs.tariff import (
    BillHistory,
    DemandCharge,
    DemandTier,
    EnergyCharge,
    EnergyTier,
    FixedCharge,
    NetBilling,
    NetMetering,
    PriceSeries,
    Ratchet,
    Tariff,
    Tax,
)
from engiagent.models.tariffs.urdb import from_urdb

__all__ = [
    "Bill",
    "BillHistory",
    "DemandBill",
    "DemandCharge",
    "DemandTier",
    "EnergyCharge",
    "EnergyTier",
    "FixedCharge",
    "MeterTimes",
    "NetBilling",
    "NetMetering",
    "PriceSeries",
    "Ratchet",
    "Rule",
    "Schedule",
    "Tariff",
    "Tax",
    "bill",
    "from_urdb",
]
