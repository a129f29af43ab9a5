"""Tools on what batteries earn: arbitrage on prices of a table, and the size that pays."""

from pathlib import Path
from typing import Any, Final

import numpy as np

from engiagent.errors import InputError
from engiagent.io.schemawords import COUNT, NUMBER, TEXT, TEXTS, list_of, maybe, record
from engiagent.run.certify import certify
from engiagent.solvers.arrays import SolutionArrays
from engiagent.study.economics.arbitrage import YEAR_HOURS, Storage, YearOfArbitrage, arbitrage
from engiagent.study.economics.cashflow import Floats, annuity_factor, annuity_payment
from engiagent.study.economics.series import Series
from engiagent.tools.market.data import PACK, SOURCE, series_of
from engiagent.tools.modelling import plain
from engiagent.tools.registry import Json, Outcome, State, tool
from engiagent.tools.site.arguments import stated

GROUP: Final = "market"
_MONEY: Final = ("earnings", "sales", "purchases", "wear_cost", "most_with_hindsight")
_PRICE: Final = maybe(NUMBER)
_YEAR: Final = record(
    {"year": TEXT, "status": TEXT, "verdict": TEXT, **dict.fromkeys(_MONEY, NUMBER)}
    | {"capture_rate": maybe(NUMBER), "charged_kwh": NUMBER, "discharged_kwh": NUMBER}
    | {"cycles": NUMBER, "mean_prices": record({"unit": TEXT, "sold": _PRICE, "bought": _PRICE})}
)
_BREAK_EVEN: Final = record({"unit": TEXT, "value": _PRICE})
"""What a kWh of rated energy may cost."""


@tool(
    "read",
    *stated("prices", "battery", "foresight", "payback", pack=PACK),
    returns=record(
        {"source": SOURCE, "unit": TEXT, "foresight": TEXT, "years": list_of(_YEAR)}
        | {"total": NUMBER, "capture_rate": maybe(NUMBER), "notes": TEXTS}
        | {"break_even_capital": maybe(NUMBER), "break_even_capital_energy": _BREAK_EVEN}
    ),
)
def battery_revenue(state: State, given: Json) -> Outcome:
    """Find what a battery earns by arbitrage, exactly and checked, with its cycles and wear.

    It takes prices and changes none. With the foresight of a day it plans each day by itself; the
    capture rate is the share of what it could have earned knowing all prices of the year. With
    ``rate`` and ``years``: what the whole battery, and a kWh of it, may cost to pay back.
    """
    if ("rate" in given) != ("years" in given):
        raise InputError("rate and years belong together", expected="both, or neither")
    series, source = series_of(state, given["prices"], given.get("prices_unit"))
    prices, currency = series.prices()
    storage = _storage(given, given["duration"])
    years, names = [], series.parts(4)
    for name in dict.fromkeys(names.tolist()):
        state.watch.tell(f"arbitrage of {name}")
        own = names == name
        about: dict[str, Any] = {"step_hours": series.step_hours, "year": name}
        found = best = arbitrage(prices[own], storage, **about)
        if given.get("foresight") == "day":
            days = series.parts(10)[own]
            found = _by_day(best, prices[own], storage, days, series.step_hours)
        years.append(_year(found, best, prices[own], storage, series.step_hours, currency))
    most = sum(year["most_with_hindsight"] for year in years)
    total = sum(year["earnings"] for year in years)
    notes = ["each year starts at the least state of charge, and what is stored at its end is lost"]
    if given.get("foresight") == "day":
        notes.append("a day ends without regard for the next; what is stored then is carried over")
    if (storage.least, storage.most) != (0, 1):
        notes.append("a cycle is of the energy between the least and the most")
    content = {"source": source, "unit": currency, "foresight": given.get("foresight", "all")}
    content |= {"years": years, "total": total, "capture_rate": total / most if most > 0 else None}
    worth = each = None
    if "rate" in given:
        span, short = _years(series)
        notes += short
        worth = total / span * annuity_factor(given["rate"], given["years"])
        each = worth / (storage.power * storage.hours)
        notes.append("paid back by what these prices earn by year, each year the same")
    content["break_even_capital"] = worth
    content["break_even_capital_energy"] = {"unit": f"{currency}/kWh", "value": each}
    return Outcome(plain({**content, "notes": notes}))


def _storage(given: Json, hours: float) -> Storage:
    about = {name: given[name] for name in ("round_trip", "least", "most", "wear") if name in given}
    return Storage(power=given["power"], hours=hours, **about)


def _years(series: Series) -> tuple[float, list[str]]:
    """Return how many years prices cover, and a note where they stand for a longer time."""
    span = len(series.values) * series.step_hours / YEAR_HOURS
    if span < 1 / 52:
        raise InputError("less than a week of prices stands for a year", series.file)
    return span, [f"{span * 365:.0f} days of prices stand for a year"] if span < 0.99 else []


def _by_day(
    best: YearOfArbitrage, prices: Floats, storage: Storage, days: Any, step_hours: float
) -> YearOfArbitrage:
    """Return the year of a battery that knows each day's prices only, as a plan of that year."""
    parts: list[YearOfArbitrage] = []
    content: float | None = None
    for day in dict.fromkeys(days.tolist()):
        own = prices[days == day]
        parts.append(arbitrage(own, storage, step_hours=step_hours, year=day, initial=content))
        content = float(parts[-1].schedule["battery_state_of_charge"].values[-1])
    charge, discharge = (
        np.concatenate([part.power(way) for part in parts]) for way in ("charge", "discharge")
    )
    stored = [part.schedule["battery_state_of_charge"].values for part in parts]
    energy = np.concatenate([stored[0][:1], *(values[1:] for values in stored)])
    changed = {
        "battery_charge": charge,
        "battery_discharge": discharge,
        "battery_state_of_charge": energy,
    }
    if "battery_charging" in best.schedule:
        changed["battery_charging"] = (charge > discharge)[prices < 0].astype(float)
    named = {name: best.schedule[name].copy(data=values) for name, values in changed.items()}
    earnings = sum(part.earnings for part in parts)
    status = "optimal" if all(part.status == "optimal" for part in parts) else "feasible"
    plan = SolutionArrays(named, best.schedule.coords, {})
    return YearOfArbitrage(best.year, earnings, status, best.blueprint, plan)


def _year(
    found: YearOfArbitrage,
    best: YearOfArbitrage,
    prices: Floats,
    storage: Storage,
    step: float,
    currency: str,
) -> Json:
    certificate = certify(None, found.schedule, found.blueprint, folder=Path(), name=found.year)
    sold, bought = (found.power(way) * step for way in ("discharge", "charge"))
    sales, purchases = float(prices @ sold), float(prices @ bought)
    wear = storage.wear * float(sold.sum())
    usable = storage.power * storage.hours * (storage.most - storage.least)
    return {
        **{"year": found.year, "status": found.status, "verdict": certificate.verdict},
        **{"earnings": sales - purchases - wear, "sales": sales, "purchases": purchases},
        **{"wear_cost": wear, "most_with_hindsight": best.earnings},
        "capture_rate": found.earnings / best.earnings if best.earnings > 0 else None,
        **{"charged_kwh": float(bought.sum()), "discharged_kwh": float(sold.sum())},
        "cycles": float(sold.sum()) / np.sqrt(storage.round_trip) / usable,
        "mean_prices": {
            "unit": f"{currency}/kWh",
            "sold": sales / float(sold.sum()) if sold.sum() > 0 else None,
            "bought": purchases / float(bought.sum()) if bought.sum() > 0 else None,
        },
    }


@tool(
    "read",
    *stated("prices", "sizing", pack=PACK),
    returns=record(
        {"source": SOURCE, "unit": TEXT, "energy_kwh": NUMBER, "duration_h": NUMBER}
        | {"status": TEXT, "verdict": TEXT, "earnings_by_year": NUMBER, "cost_by_year": NUMBER}
        | {
            "profit_by_year": NUMBER,
            "profit_bound": NUMBER,
            "capital": NUMBER,
            "net_present_value": NUMBER,
        }
        | {"break_even_capital_energy": _BREAK_EVEN, "days": COUNT, "notes": TEXTS}
    ),
)
def battery_sizing(state: State, given: Json) -> Outcome:
    """Find the rated energy at which a battery of a given power earns most above its cost by year.

    The prices' periods stand for every year of its life; their prices are known to it.
    """
    series, source = series_of(state, given["prices"], given.get("prices_unit"))
    prices, currency = series.prices()
    span, short = _years(series)
    rate, years, power = given["rate"], given["years"], given["power"]
    yearly = annuity_payment(given["capital_energy"], rate, years)
    step = series.step_hours
    bound = arbitrage(prices, _storage(given, 24.0), step_hours=step, energy_cost=yearly * span)
    energy = float(bound.schedule["energy"].values)
    if energy < 1e-6 * power:
        raise InputError("no size earns its cost by year", expected="cheaper energy, wider spreads")
    found = arbitrage(prices, _storage(given, energy / power), step_hours=step)
    certificate = certify(None, found.schedule, found.blueprint, folder=Path(), name="sizing")
    earned = found.earnings / span
    fixed = given.get("fixed", 0.0) * power
    capital = given["capital_power"] * power + given["capital_energy"] * energy
    cost = annuity_payment(capital, rate, years) + fixed if capital else fixed
    factor = annuity_factor(rate, years)
    rest = (earned - fixed) * factor - given["capital_power"] * power
    notes = ["no fade: each year earns the same", "energy is sought up to 24 h of the power"]
    content = {
        **{"source": source, "unit": currency, "energy_kwh": energy},
        **{"duration_h": energy / power, "status": found.status, "verdict": certificate.verdict},
        **{"earnings_by_year": earned, "cost_by_year": cost, "profit_by_year": earned - cost},
        "profit_bound": bound.earnings / span + yearly * energy - cost,
        **{"capital": capital, "net_present_value": (earned - fixed) * factor - capital},
        "break_even_capital_energy": {"unit": f"{currency}/kWh", "value": rest / energy},
        **{"days": round(span * 365), "notes": notes + short},
    }
    return Outcome(plain(content))
