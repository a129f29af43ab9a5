"""Rates of the Utility Rate Database (URDB, versions 7 and 8) as tariffs.

What the database says and no tariff here can is refused by the name of its field, so that no bill
leaves a charge out unnoticed.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from engiagent.models.ranges import ParameterError
from engiagent.models.tariffs.charges import (
    DemandCharge,
    DemandTier,
    EnergyCharge,
    EnergyTier,
    FixedCharge,
    NetBilling,
    NetMetering,
    Ratchet,
)
from engiagent.models.tariffs.schedules import Schedule
from engiagent.models.tariffs.tariff import Tariff

REFUSED: Final = ("coincidentratestructure", "demandreactivepowercharge")
_TIER_UNITS: Final = {
    "kwh": "kWh", "kwh daily": "kWh/day", "kwh/kw": "kWh/kW", "kwh/kw daily": "kWh/kW/day",
}  # fmt: skip


def from_urdb(rate: Mapping[str, Any]) -> Tariff:
    """Return the tariff of a rate of the database.

    Parameters
    ----------
    rate
        One rate as JSON gives it, or an answer of the database with one rate in ``items``.
        Rates are in USD.

    Raises
    ------
    ParameterError
        When a field is missing, wrong, or says what no tariff here can.

    Examples
    --------
    >>> rate = {"energyratestructure": [[{"rate": 0.1, "adj": 0.02, "unit": "kWh"}]],
    ...         "energyweekdayschedule": [[0] * 24] * 12, "energyweekendschedule": [[0] * 24] * 12}
    >>> from_urdb(rate).energy[0].periods[0][0].price
    0.12000000000000001
    """
    given = _one(rate)
    for name in REFUSED:
        if given.get(name):
            raise ParameterError(f"the rate has {name}, which a tariff cannot say")
    export = _export(given)
    energy = _energy(given, "rate", "energy")
    adjustments = given.get("fueladjustmentsmonthly")
    if adjustments and any(adjustments):
        periods = tuple((EnergyTier(price=float(price)),) for price in adjustments)
        schedule = Schedule.by_month(range(12))
        energy = (*energy, EnergyCharge(periods=periods, schedule=schedule, name="fuel adjustment"))
    window = given.get("demandwindow")
    return Tariff(
        fixed=_fixed(given),
        energy=energy,
        demand=_demands(given),
        export=export,
        minimum_per_month=_minimum(given, "month"),
        minimum_per_year=_minimum(given, "year"),
        demand_window_hours=None if not window else float(window) / 60,
        currency="USD",
    )


def _one(rate: Mapping[str, Any]) -> Mapping[str, Any]:
    items = rate.get("items")
    if items is None:
        return rate
    if not isinstance(items, Sequence) or len(items) != 1:
        count = len(items) if isinstance(items, Sequence) else 0
        raise ParameterError(f"the file has {count} rates; give one")
    return dict(items[0])


def _energy(given: Mapping[str, Any], price: str, name: str) -> tuple[EnergyCharge, ...]:
    """Return the energy charge by the field ``rate``, or the credit by the field ``sell``."""
    structure = given.get("energyratestructure")
    if not structure:
        return ()
    periods = tuple(
        tuple(_energy_tier(tier, price, k + 1 == len(tiers)) for k, tier in enumerate(tiers))
        for tiers in structure
    )
    tiered = any(len(tiers) > 1 for tiers in periods)
    schedule = _schedule(given, "energy")
    return (
        EnergyCharge(
            periods=periods,
            schedule=schedule,
            name=name,
            tiers_by="share" if tiered and schedule.periods > 1 else "period",
        ),
    )


def _energy_tier(tier: Mapping[str, Any], price: str, last: bool) -> EnergyTier:
    unit = str(tier.get("unit") or "kWh").lower()
    if unit not in _TIER_UNITS:
        raise ParameterError(f"the unit of a tier is {tier.get('unit')!r}; give kWh or kWh daily")
    amount = _number(tier, price) + (_number(tier, "adj") if price == "rate" else 0.0)
    return EnergyTier(price=amount, limit=_limit(tier, last), unit=_TIER_UNITS[unit])  # type: ignore[arg-type]


def _limit(tier: Mapping[str, Any], last: bool) -> float:
    if tier.get("max") is None or last:
        # Some rates write a large number as the end of their last tier.
        return float("inf")
    return _number(tier, "max")


def _schedule(given: Mapping[str, Any], kind: str) -> Schedule:
    rows = []
    for day in ("weekday", "weekend"):
        name = f"{kind}{day}schedule"
        table = given.get(name)
        if not isinstance(table, Sequence) or len(table) != 12:
            raise ParameterError(f"the rate has no {name} of 12 rows")
        rows.append(tuple(tuple(int(number) for number in row) for row in table))
    return Schedule(weekday=rows[0], weekend=rows[1])


def _demands(given: Mapping[str, Any]) -> tuple[DemandCharge, ...]:
    ratchet = _ratchet(given)
    found = []
    for structure, name in (("flatdemandstructure", "demand"),
                            ("demandratestructure", "demand by time")):  # fmt: skip
        tiers = given.get(structure)
        if not tiers:
            continue
        unit = given.get("flatdemandunit" if name == "demand" else "demandrateunit") or "kW"
        if unit != "kW":
            raise ParameterError(f"demand is in {unit!r}; a tariff has kW")
        if name == "demand":
            months = given.get("flatdemandmonths") or [0] * 12
            schedule = Schedule.by_month(int(number) for number in months)
        else:
            schedule = _schedule(given, "demand")
        periods = tuple(
            tuple(
                DemandTier(
                    price=_number(tier, "rate") + _number(tier, "adj"),
                    limit=_limit(tier, k + 1 == len(row)),
                )
                for k, tier in enumerate(row)
            )
            for row in tiers
        )
        found.append(DemandCharge(periods=periods, schedule=schedule, name=name, ratchet=ratchet))
    return tuple(found)


def _ratchet(given: Mapping[str, Any]) -> Ratchet | None:
    fractions = given.get("demandratchetpercentage")
    if fractions and any(fractions):
        return Ratchet(fraction=tuple(float(part) for part in fractions))
    percent = given.get("lookbackpercent")
    if not percent:
        return None
    part = float(percent)
    if part > 1:
        raise ParameterError(f"lookbackpercent is {part:g}; give a fraction, as 0.8")
    span, months = given.get("lookbackrange"), given.get("lookbackmonths")
    if span:
        return Ratchet(fraction=part, months=int(span))
    seasons = tuple(k for k, used in enumerate(months or [1] * 12, 1) if used)
    return Ratchet(fraction=part, months=None, seasons=seasons)


def _fixed(given: Mapping[str, Any]) -> tuple[FixedCharge, ...]:
    amount = _number(given, "fixedchargefirstmeter")
    if not amount:
        return ()
    unit = str(given.get("fixedchargeunits") or "$/month")
    if unit == "$/month":
        return (FixedCharge(per_month=amount),)
    if unit == "$/day":
        return (FixedCharge(per_day=amount),)
    if unit == "$/year":
        return (FixedCharge(per_month=amount / 12),)
    raise ParameterError(f"fixedchargeunits is {unit!r}; give $/month, $/day or $/year")


def _minimum(given: Mapping[str, Any], span: str) -> float:
    amount = _number(given, "mincharge")
    unit = str(given.get("minchargeunits") or "$/month")
    if amount and unit not in ("$/month", "$/year"):
        raise ParameterError(f"minchargeunits is {unit!r}; give $/month or $/year")
    return amount if amount and unit == f"$/{span}" else float("-inf")


def _export(given: Mapping[str, Any]) -> NetBilling | NetMetering | None:
    rules = given.get("dgrules")
    if rules is None:
        rules = "Net Metering" if given.get("usenetmetering") else None
    if rules == "Net Metering":
        return NetMetering()
    if rules is None and not any(
        tier.get("sell") for tiers in given.get("energyratestructure") or () for tier in tiers
    ):
        return None
    if rules not in (None, "Net Billing Instantaneous", "Net Billing Hourly"):
        raise ParameterError(f"dgrules is {rules!r}, which a tariff cannot say")
    credit = _energy(given, "sell", "credit")
    if not credit:
        return None
    hours = 1.0 if rules == "Net Billing Hourly" else None
    return NetBilling(credit=credit[0], netting_hours=hours)


def _number(fields: Mapping[str, Any], name: str) -> float:
    value = fields.get(name)
    if value is None:
        return 0.0
    try:
        return float(value)
    except (TypeError, ValueError):
        raise ParameterError(f"{name} is {value!r}; give a number") from None
