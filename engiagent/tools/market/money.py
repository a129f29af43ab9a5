"""Tools on money: bills of tariffs, agreements on energy, emissions, and flows over years."""

from datetime import datetime
from typing import Final
from zoneinfo import ZoneInfo

import numpy as np

from engiagent.errors import InputError
from engiagent.io.schemawords import (
    COUNT,
    FLAG,
    NUMBER,
    TEXT,
    TEXTS,
    by_name,
    list_of,
    maybe,
    record,
)
from engiagent.models.tariffs import MeterTimes, bill
from engiagent.study.economics import internal_rates, levelised_cost, net_present_value
from engiagent.study.economics.series import same_periods
from engiagent.study.economics.tariffs import read_urdb
from engiagent.text.frontmatter import is_zone
from engiagent.tools.market.data import PACK, SOURCE, series_of
from engiagent.tools.modelling import plain
from engiagent.tools.places import inside
from engiagent.tools.registry import Json, Outcome, State, tool
from engiagent.tools.site.arguments import stated

GROUP: Final = "market"
_BILL: Final = record(
    {"rate": TEXT, "unit": TEXT, "total": NUMBER, "lines": by_name(NUMBER)}
    | {"months": list_of(record({"month": TEXT, "amount": NUMBER, "peak_kw": NUMBER}))}
    | {"imported_kwh": NUMBER, "exported_kwh": NUMBER, "assumptions": TEXTS}
)


# -- bills ----------------------------------------------------------------------------------------


def _billed(state: State, given: Json, rate: str) -> Json:
    """Return the bill of one rate. Powers are at least 0, a month in part is billed as it is."""
    if not is_zone(given["zone"]):
        raise InputError("no time zone", found=given["zone"][:40], expected="as America/New_York")
    zone = ZoneInfo(given["zone"])
    load, _ = series_of(state, given["load"], given.get("load_unit"), zone.key)
    drawn, fed = load.to("kW"), np.zeros(len(load.values))
    if "export" in given:
        export, _ = series_of(state, given["export"], given.get("load_unit"), zone.key)
        same_periods(load, export)
        fed = export.to("kW")
    tariff = read_urdb(inside(state.root, rate))
    start = datetime.fromtimestamp(load.seconds[0], zone)
    times = MeterTimes(start=start, step_hours=load.step_hours, count=len(drawn))
    found = bill(tariff, times, drawn, fed)
    months = [
        {"month": str(month), "amount": float(amount), "peak_kw": float(peak)}
        for month, amount, peak in zip(found.months, found.by_month, found.peak, strict=True)
    ]
    return {
        **{"rate": rate, "unit": found.currency, "total": found.total},
        "lines": {name: float(amounts.sum()) for name, amounts in found.components.items()},
        **{"months": months, "imported_kwh": float(found.imported.sum())},
        **{"exported_kwh": float(found.exported.sum()), "assumptions": list(tariff.assumptions)},
    }


@tool("read", *stated("rate", "meter", pack=PACK), returns=_BILL, outside=True)
def tariff_bill(state: State, given: Json) -> Outcome:
    """Bill a load by a rate of the Utility Rate Database: tiers, time of use, demand, ratchets."""
    return Outcome(plain(_billed(state, given, given["rate"])))


@tool(
    "read",
    *stated("rates", "meter", pack=PACK),
    returns=record({"cheapest": TEXT, "saves": NUMBER, "bills": list_of(_BILL)}),
    outside=True,
)
def tariff_compare(state: State, given: Json) -> Outcome:
    """Bill a load by several rates, the cheapest first; it saves what the dearest costs more."""
    bills = sorted((_billed(state, given, rate) for rate in given["rates"]), key=_total)
    kinds = {found["unit"] for found in bills}
    if len(kinds) > 1:
        raise InputError("the rates are in several currencies", found=", ".join(sorted(kinds)))
    content = {"cheapest": bills[0]["rate"], "saves": _total(bills[-1]) - _total(bills[0])}
    return Outcome(plain({**content, "bills": bills}))


def _total(found: Json) -> float:
    return float(found["total"])


# -- agreements and emissions ---------------------------------------------------------------------

_MONTH: Final = record({"month": TEXT, "energy_mwh": NUMBER, "payment": NUMBER, "income": NUMBER})


@tool(
    "read",
    *stated("prices", "agreement", pack=PACK),
    returns=record(
        {"sources": list_of(SOURCE), "unit": TEXT, "form": TEXT, "energy_mwh": NUMBER}
        | {"settled_mwh": NUMBER, "market_value": NUMBER, "payment": NUMBER, "income": NUMBER}
        | {"prices": record({"unit": TEXT, "base": NUMBER, "capture": maybe(NUMBER)})}
        | {"capture_rate": maybe(NUMBER)}
        | {"months": list_of(_MONTH)}
    ),
)
def ppa_settlement(state: State, given: Json) -> Outcome:
    """Settle a power purchase agreement: what buyer pays seller (below 0: the other way) by month.

    The income is the seller's: payments, and where they settle the difference, what the market pays
    for all energy; energy that is not settled is sold on the market.
    """
    series, source = series_of(state, given["prices"], given.get("prices_unit"))
    made, other = series_of(state, given["generation"], given.get("generation_unit"))
    same_periods(series, made)
    price, currency = series.prices()
    price = price * 1e3  # per MWh
    energy = made.to("MW") * made.step_hours
    settled = np.where(price >= given.get("floor", -np.inf), energy, 0.0)
    market = price * energy
    form = given.get("form", "difference")
    if form == "physical":
        payment = given["strike"] * settled
        income = payment + price * (energy - settled)
    else:
        payment = (given["strike"] - price) * settled
        income = payment + market
    months = series.parts(7)
    rows = [
        {"month": name, "energy_mwh": float(energy[own].sum())}
        | {"payment": float(payment[own].sum()), "income": float(income[own].sum())}
        for name in dict.fromkeys(months.tolist())
        for own in [months == name]
    ]
    total, value = float(energy.sum()), float(market.sum())
    base, capture = float(price.mean()), value / total if total else None
    content = {
        **{"sources": [source, other], "unit": currency, "form": form, "energy_mwh": total},
        **{"settled_mwh": float(settled.sum()), "market_value": value},
        **{"payment": float(payment.sum()), "income": float(income.sum()), "months": rows},
        "prices": {"unit": f"{currency}/MWh", "base": base, "capture": capture},
        "capture_rate": None if capture is None or base == 0 else capture / base,
    }
    return Outcome(plain(content))


@tool(
    "read",
    *stated("emissions", pack=PACK),
    returns=record(
        {"sources": list_of(SOURCE), "total_t": NUMBER, "drawn_t": NUMBER, "avoided_t": NUMBER}
        | {"drawn_mwh": NUMBER, "fed_in_mwh": NUMBER, "by_month_t": by_name(NUMBER)}
    ),
)
def emissions(state: State, given: Json) -> Outcome:
    """Return the emissions of a power drawn from the grid, less those that feeding in avoids."""
    power, source = series_of(state, given["power"], given.get("power_unit"))
    sources = [source]
    if ("factors" in given) == ("factor" in given):
        raise InputError("emissions need one factor, or a series", expected="factor=…, factors=…")
    factor = np.full(len(power.values), given.get("factor", 0.0))
    if "factors" in given:
        factors, other = series_of(state, given["factors"])
        same_periods(power, factors)
        factor, sources = factors.to("t/MWh"), [source, other]
    energy = power.to("MW") * power.step_hours
    amount = factor * energy
    months = power.parts(7)
    content = {
        **{"sources": sources, "total_t": float(amount.sum())},
        **{
            "drawn_t": float(amount[energy > 0].sum()),
            "avoided_t": float(-amount[energy < 0].sum()),
        },
        "drawn_mwh": float(energy[energy > 0].sum()),
        "fed_in_mwh": float(-energy[energy < 0].sum()),
        "by_month_t": {m: float(amount[months == m].sum()) for m in dict.fromkeys(months.tolist())},
    }
    return Outcome(plain(content))


# -- flows ----------------------------------------------------------------------------------------


@tool(
    "read",
    *stated("flows", pack=PACK),
    returns=record({"rates": list_of(NUMBER), "unique": FLAG, "sign_changes": COUNT}),
)
def irr(state: State, given: Json) -> Outcome:
    """Return every internal rate of return of yearly flows; several of them decide nothing."""
    found = internal_rates(given["flows"])
    content = {"rates": list(found.rates), "unique": found.is_unique}
    return Outcome(plain({**content, "sign_changes": found.sign_changes}))


@tool(
    "read", *stated("flows", "discount", pack=PACK), returns=record({"net_present_value": NUMBER})
)
def npv(state: State, given: Json) -> Outcome:
    """Return the value today of yearly flows, the first of them today."""
    return Outcome(plain({"net_present_value": net_present_value(given["rate"], given["flows"])}))


@tool(
    "read",
    *stated("levelised", "discount", pack=PACK),
    returns=record({"levelised_cost_per_mwh": NUMBER}),
)
def lcoe(state: State, given: Json) -> Outcome:
    """Return the levelised cost of energy: the price at which it pays for what it costs."""
    found = levelised_cost(given["rate"], given["costs"], given["energy"])
    return Outcome(plain({"levelised_cost_per_mwh": found}))
