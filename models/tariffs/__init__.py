"""Electricity tariffs and their bills, itemised by month and component.

A :class:`Tariff` holds what a rate sheet says: fixed charges, energy by time of use and tier,
demand by window, tier and ratchet, export by net billing or net metering, minimum bill, taxes.
:func:`bill` applies it to the import and export of a meter whose clock knows its time zone.
"""

from engiagent.models.tariffs.billing import Bill, bill
from engiagent.models.tariffs.charges import (
    CoincidentCharge,
    DemandCharge,
    DemandTier,
    EnergyCharge,
    EnergyTier,
    FixedCharge,
    NetBilling,
    NetMetering,
    PriceSeries,
    Ratchet,
    Tax,
)
from engiagent.models.tariffs.demand import DemandBill
from engiagent.models.tariffs.schedules import Rule, Schedule
from engiagent.models.tariffs.tariff import BillHistory, Tariff
from engiagent.models.tariffs.times import MeterTimes

__all__ = [
    "Bill",
    "BillHistory",
    "CoincidentCharge",
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
]
