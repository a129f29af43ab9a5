"""Rates of the Utility Rate Database (URDB, versions 7 and 8, and charges as older ones name them).

Every field of a rate is either used, known to describe only, or refused by its name, so that no
bill leaves a charge out unnoticed. Names are read without regard to case (the database's own pages
write ``lookbackPercent``).

What a rate leaves open and its bill depends on is chosen as follows and stated in
:attr:`Tariff.assumptions`:

* Tiers that several periods of a month share are filled in the order of time with net billing, and
  by the periods' shares of the month's net energy with net metering or no rule: so SAM bills both.
* A surplus of net metering goes on to later months in kWh, for its own period, without an end and
  without payment; a credit of net billing counts in its own month, whose bill it may turn negative.
* One meter is billed; ``fixedchargeeaaddl``, for further meters, is not.
"""

from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from typing import Any, Final, Literal

from engiagent.models.ranges import ParameterError
from engiagent.models.tariffs.calendar import Schedule
from engiagent.models.tariffs.tariff import (
    DemandCharge,
    DemandTier,
    EnergyCharge,
    EnergyTier,
    FixedCharge,
    NetBilling,
    NetMetering,
    Ratchet,
    Tariff,
)

REFUSED: Final = ("coincidentratestructure", "demandreactivepowercharge")
_USED: Final = """
items energyratestructure energyweekdayschedule energyweekendschedule fueladjustmentsmonthly
flatdemandstructure flatdemandmonths flatdemandunit demandratestructure demandweekdayschedule
demandweekendschedule demandrateunit demandunits demandratchetpercentage lookbackpercent
lookbackrange lookbackmonths demandwindow fixedchargefirstmeter fixedchargeunits
fixedmonthlycharge mincharge minchargeunits minmonthlycharge annualmincharge dgrules
usenetmetering
"""
_DESCRIPTIVE: Final = """
label utility name uri approved startdate enddate effectivedate supercedes supersedes sector
description source sourceparent servicetype basicinformationcomments voltagecategory phasewiring
voltageminimum voltagemaximum peakkwcapacitymin peakkwcapacitymax peakkwcapacityhistory
peakkwhusagemin peakkwhusagemax peakkwhusagehistory demandcomments demandattrs energycomments
energyattrs fixedattrs fixedchargeeaaddl coincidentrateschedule coincidentrateunit country
is_default eiaid eia revisions latest_update version zipcode address openei_url rateid getpage
demandratcheting
"""
USED: Final = (*_USED.split(), *REFUSED)
DESCRIPTIVE: Final = frozenset(_DESCRIPTIVE.split())
TIER_FIELDS: Final = ("rate", "adj", "max", "unit", "sell")
_TIER_UNITS: Final = {
    "kwh": "kWh",
    "kwh daily": "kWh/day",
    "kwh/kw": "kWh/kW",
    "kwh/kw daily": "kWh/kW/day",
}


def from_urdb(rate: Mapping[str, Any]) -> Tariff:
    """Return the tariff of a rate of the database.

    ``rate``: one rate as JSON gives it, or an answer of the database with one rate in ``items``.
    Rates are in USD.

    Examples
    --------
    >>> rate = {"energyratestructure": [[{"rate": 0.1, "adj": 0.02, "unit": "kWh"}]],
    ...         "energyweekdayschedule": [[0] * 24] * 12, "energyweekendschedule": [[0] * 24] * 12}
    >>> from_urdb(rate).energy[0].periods[0][0].price
    0.12000000000000001
    """
    given = _fields(_one(rate))
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
        assumptions=tuple(_assumptions(given, energy, export)),
    )


def _fields(rate: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a rate by their names in lower case; unknown ones are refused."""
    found: dict[str, Any] = {}
    for written, value in rate.items():
        name = str(written).lower()
        if name in found:
            raise ParameterError(f"the rate has {name} twice, in upper and lower case; give one")
        if name not in USED and name not in DESCRIPTIVE:
            near = get_close_matches(name, USED, n=1, cutoff=0.6)
            raise ParameterError(
                f"the rate has the field {written!r}, which the database does not know; "
                + (f"did you mean {near[0]}?" if near else "leave it out if it charges nothing")
            )
        found[name] = value
    for name in ("energyratestructure", "flatdemandstructure", "demandratestructure"):
        for tier in (tier for tiers in found.get(name) or () for tier in tiers):
            odd = next((key for key in tier if key not in TIER_FIELDS), None)
            if odd is not None:
                raise ParameterError(
                    f"a tier of {name} has the field {odd!r}; it takes {', '.join(TIER_FIELDS)}"
                )
    return found


def _assumptions(
    given: Mapping[str, Any],
    energy: Sequence[EnergyCharge],
    export: NetBilling | NetMetering | None,
) -> Iterator[str]:
    """Yield what was chosen where the rate leaves it open."""
    if any(charge.tiers_by == "total" for charge in energy):
        yield "tiers that periods share are filled in the order of time, as SAM bills net billing"
    if any(charge.tiers_by == "share" for charge in energy):
        yield "tiers that periods share are filled by their shares of the month's net energy"
    if isinstance(export, NetMetering):
        yield "a surplus goes on to later months in kWh for its own period, without end or payment"
    elif isinstance(export, NetBilling):
        yield "a credit for export counts in its own month, whose bill may be negative"
    elif energy:
        yield "power fed in is given away: the rate has no rule and no price for it"
    if not energy:
        yield "energy costs nothing: the rate has no energyratestructure"
    if _number(given, "fixedchargeeaaddl"):
        yield "there is one meter; fixedchargeeaaddl is not charged"


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
    schedule = _schedule(given, "energy")
    by: Literal["period", "share", "total"] = "period"
    if any(len(tiers) > 1 for tiers in periods) and schedule.periods > 1:
        by = "total" if _net_billing(given) else "share"
    return (EnergyCharge(periods=periods, schedule=schedule, name=name, tiers_by=by),)


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
    for structure, name in (
        ("flatdemandstructure", "demand"),
        ("demandratestructure", "demand by time"),
    ):
        tiers = given.get(structure)
        if not tiers:
            continue
        for field in ("flatdemandunit" if name == "demand" else "demandrateunit", "demandunits"):
            if str(given.get(field) or "kW").lower() != "kw":
                raise ParameterError(f"{field} is {given[field]!r}; a tariff has demand in kW")
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
    older = _number(given, "fixedmonthlycharge")
    unit = str(given.get("fixedchargeunits") or "$/month")
    if older and amount and (older, "$/month") != (amount, unit):
        raise ParameterError(
            f"fixedmonthlycharge is {older:g} and fixedchargefirstmeter {amount:g} {unit}; give one"
        )
    if not amount:
        return (FixedCharge(per_month=older),) if older else ()
    if unit == "$/month":
        return (FixedCharge(per_month=amount),)
    if unit == "$/day":
        return (FixedCharge(per_day=amount),)
    if unit == "$/year":
        return (FixedCharge(per_month=amount / 12),)
    raise ParameterError(f"fixedchargeunits is {unit!r}; give $/month, $/day or $/year")


def _minimum(given: Mapping[str, Any], span: str) -> float:
    older = _number(given, "minmonthlycharge" if span == "month" else "annualmincharge")
    amount = _number(given, "mincharge")
    unit = str(given.get("minchargeunits") or "$/month")
    if amount and unit not in ("$/month", "$/year"):
        raise ParameterError(f"minchargeunits is {unit!r}; give $/month or $/year")
    # Two rules of one span: the higher minimum keeps both.
    return max(older or float("-inf"), amount if amount and unit == f"$/{span}" else float("-inf"))


def _net_billing(given: Mapping[str, Any]) -> bool:
    """Whether export is credited at prices of its own."""
    rules = given.get("dgrules")
    return rules in ("Net Billing Instantaneous", "Net Billing Hourly") or (
        rules is None and not given.get("usenetmetering") and _sells(given)
    )


def _sells(given: Mapping[str, Any]) -> bool:
    structure = given.get("energyratestructure") or ()
    return any(tier.get("sell") for tiers in structure for tier in tiers)


def _export(given: Mapping[str, Any]) -> NetBilling | NetMetering | None:
    rules = given.get("dgrules")
    if rules is None:
        rules = "Net Metering" if given.get("usenetmetering") else None
    if rules == "Net Metering":
        return NetMetering()
    if rules is None and not _sells(given):
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
