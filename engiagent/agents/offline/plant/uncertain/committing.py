"""A commitment in the model: what is sold or bought in advance, and what settles the difference."""

import re
from typing import Final

import numpy as np
import numpy.typing as npt

from engiagent.agents.offline.builder import for_owner
from engiagent.agents.offline.draft import Json
from engiagent.agents.offline.plant.market.site import price_grid
from engiagent.agents.offline.plant.system import System
from engiagent.agents.offline.plant.uncertain.commitments import (
    OWN,
    SHORTAGE,
    SURPLUS,
    Commitment,
    Rate,
)
from engiagent.agents.offline.plant.units import Instance, pattern_of
from engiagent.agents.offline.storage import parameters

_MARKET: Final = re.compile(r"(?:day-?ahead|spot|wholesale|auction|exchange|market)(?![a-z])")
MARKET = "balancing"
"""The name of what settles a difference once it is known."""


def add_settlement(system: System, grid: Instance) -> bool:
    """Add the commitment of a text; return whether it stands in place of the grid."""
    ahead = system.reader.ahead
    if ahead is None or ahead.commitment is None:
        return False
    _limits(system)
    replaces = ahead.commitment.carrier == "electricity"
    _doubts(system, ahead.commitment)
    if not replaces:
        add_commitment(system, ahead.commitment, None)
        return False
    readings = price_grid(system, grid)
    filled = system.filled[grid.name]
    for slot, found in readings.items():
        if slot not in ("import_price", "both_price"):
            system.builder.draft.doubt(max(found[0].line, 0), "does this hold for the commitment?")
    if "export_price" in filled and filled.get("import_price") != filled["export_price"]:
        system.builder.draft.doubt(0, "which of two prices is that of what is committed to?")
    add_commitment(system, ahead.commitment, filled.get("import_price"))
    return True


def _doubts(system: System, commitment: Commitment) -> None:
    """Report what a text leaves open on a commitment."""
    draft, reader = system.builder.draft, system.reader
    line = min(commitment.lines, default=0)
    texts = [*(other.line for other in draft.lines), *system.builder.problem.data]
    spoken = any(_MARKET.search(text) for text in texts)
    if OWN not in commitment.rates and not spoken:
        draft.doubt(line, "at what price is paid what is committed to?")
    stores = [i for i in reader.plant.instances if i.unit.component == "battery"]
    told = (reader.marked(n).said() for n in range(len(draft.lines)))
    draws = any("import" in said and "may" in said and "not" not in said for said in told)
    if commitment.sells and stores and not draws and "source_only" not in reader.facts:
        draft.doubt(line, "may the battery draw from the grid?")
    settled = {rate.line for rate in commitment.rates.values()}
    read = [*draft.readings, *(r for r, _ in reader.priced), *(t.reading for t in reader.timed)]
    for reading in read:  # its subject may stand among the words that a clause of settlement took
        if reading.line in settled and "@" not in reading.words:
            draft.doubt(reading.line, f"of what is this the {reading.slot.said}?")
    if "power_min" not in system.filled["commitment"]:
        draft.assume("what is committed to is not negative")


def never_burns(system: System) -> bool:
    """Whether energy is always worth something, so that nothing is gained by losing it."""
    ahead = system.reader.ahead
    if ahead is None or ahead.commitment is None or ahead.commitment.carrier != "electricity":
        return False
    names = {v["name"] for v in system.builder.variables}
    numbers = system.builder.numbers
    prices = [numbers[p["name"]] for p in system.builder.parameters
              if p["name"] in (f"{SURPLUS}_price", "import_price")]  # fmt: skip
    return f"{MARKET}_{SURPLUS}" in names and bool(prices) and all(np.all(p >= 0) for p in prices)


def add_commitment(system: System, commitment: Commitment, spot: str | None) -> None:
    """Add what is committed to, hour by hour, and the energy that settles the difference.

    ``spot`` is the parameter of the price of the market, None where no unit has one.
    """
    builder, carrier = system.builder, commitment.carrier
    filled = system.filled["commitment"]
    power, most = "commitment_power", _most(system, commitment)
    entry: Json = {"name": power, "index": ["t in T"], "type": "continuous",
                   "lower": filled.get("power_min", 0)}  # fmt: skip
    if most is not None:
        entry["upper"] = builder.at(most)
    entry |= {"unit": "kW", "quantity": "commitment.power", "role": "decision",
              "description": "power committed to in advance"}  # fmt: skip
    builder.variables.append(entry)
    prices = {OWN: _priced(system, OWN, commitment.rates.get(OWN, Rate("spot", None, -1)), spot)}
    _cost(system, power, prices[OWN], not commitment.sells)
    if commitment.sells:
        system.demand(carrier, f"{power}[t]", most)
    else:
        system.supply(carrier, f"{power}[t]")
    flows: list[tuple[str, str]] = []
    for side in (SHORTAGE, SURPLUS):
        rate = commitment.rates.get(side)
        free = side == SURPLUS and commitment.wasted is not None
        if rate is None and not free:
            continue
        prices[side] = _priced(system, side, rate, spot) if rate is not None else None
        capped = rate is not None and rate.cap is not None
        _flow(system, side, rate, None if capped else _enough(system, side, carrier))
        _cost(system, f"{MARKET}_{side}", prices[side], side == SHORTAGE)
        text = f"{MARKET}_{side}[t]"
        flows.append((side, text))
    for side, text in flows:
        if side == SHORTAGE:
            system.supply(carrier, text)
        else:
            system.demand(carrier, text)
    if not commitment.sells and SURPLUS not in prices:
        line = next((r.line for r in commitment.rates.values() if r.line >= 0), 0)
        builder.draft.doubt(line, "what becomes of what is bought in advance and not needed?")
    _consistent(system, commitment, prices, most)


def _most(system: System, commitment: Commitment) -> str | None:
    """Return what bounds a commitment: a number, or the largest power of a unit."""
    builder, filled = system.builder, system.filled["commitment"]
    if commitment.limit_of is None:
        return filled.get("power_max")
    name, line = commitment.limit_of
    units = [i for i in system.reader.plant.instances
             if pattern_of(i.unit.nouns).fullmatch(name) and i.name in system.filled]  # fmt: skip
    slots = ("power_most", "power_max", "import_power_max")
    limits = [system.filled[i.name][s] for i in units for s in slots if s in system.filled[i.name]]
    if not limits or len(units) != 1 or "power_max" in filled:
        builder.draft.doubt(line, "what bounds that which is committed to is not clear")
        return filled.get("power_max")
    return limits[0]


def _priced(system: System, side: str, rate: Rate, spot: str | None) -> str | None:
    """Return a price as a term over the periods; None for nothing."""
    builder = system.builder
    if rate.form == "nothing":
        return None
    if rate.form == "flat" and rate.value is not None:
        return builder.value(f"{side}_price", rate.value, f"price of {side}")
    if spot is None:
        builder.draft.doubt(max(rate.line, 0), "the price of the market is not given")
        return None
    if rate.value is None:
        return spot
    made = builder.value(f"{side}_price_stated", rate.value, f"price of {side}")
    operator = {"plus": "+", "minus": "-", "share": "*"}[rate.form]
    numbers = [builder.numbers.get(name) for name in (spot, made)]
    text = f"{builder.at(spot)} {operator} {made}"
    derived = builder.derived(
        f"{side}_price", text, system.reader.plant.units["grid"].slots["import_price"].unit
        if _currency(system, spot) is None else f"{_currency(system, spot)}/kWh",
        f"price of {side}", [spot, made], spot in builder.indexed,
    )  # fmt: skip
    if numbers[0] is not None and numbers[1] is not None:
        builder.numbers[derived] = (
            numbers[0] * numbers[1] if operator == "*"
            else numbers[0] + numbers[1] if operator == "+" else numbers[0] - numbers[1]
        )  # fmt: skip
    return derived


def _currency(system: System, name: str) -> str | None:
    from engiagent.agents.offline.amounts import currency_of

    unit = next((str(p["unit"]) for p in system.builder.parameters if p["name"] == name), "")
    return currency_of(unit) if unit else None


def _cost(system: System, variable: str, price: str | None, costs: bool) -> None:
    if price is not None:
        text = f"sum({system.builder.at(price)}*{variable}[t]*dt(t) for t in T)"
        system.costs.append(("+" if costs else "-", text))


def _enough(system: System, side: str, carrier: str) -> str | None:
    """Return a bound on what settles a difference: more would be bought and sold at once."""
    builder = system.builder
    taken = system.most.get(carrier, [])
    given = [_bound(system, text) for text in system.supplies.get(carrier, [])]
    names = [n for n in (taken if side == SHORTAGE else given) if n is not None]
    if not names or None in (taken if side == SHORTAGE else given):
        return None
    return builder.derived(
        f"{side}_enough", " + ".join(builder.at(n) for n in names), "kW",
        "what all demands can take together" if side == SHORTAGE
        else "what all sources can give together",
        names, any(n in builder.indexed for n in names),
        note="no limit is stated; more would be bought and sold at once",
    )  # fmt: skip


def _bound(system: System, text: str) -> str | None:
    """Return the parameter that bounds a supply; None where none does."""
    match = re.fullmatch(r"(\w+)\[t\]", text)
    if match is None:
        return None
    upper = next((v.get("upper") for v in system.builder.variables if v["name"] == match[1]), None)
    if upper is not None:
        plain = str(upper).removesuffix("[t]")
        return plain if any(p["name"] == plain for p in system.builder.parameters) else None
    for component in system.builder.components:
        series = match[1].removeprefix(f"{component['name']}_")
        slot = {"discharge": "discharge_power_max", "power": "available_power"}.get(series)
        if slot is not None and series != match[1]:
            found = component["parameters"].get(slot)
            return str(found) if found is not None else None
    return None


def _flow(system: System, side: str, rate: Rate | None, enough: str | None) -> None:
    builder = system.builder
    entry: Json = {"name": f"{MARKET}_{side}", "index": ["t in T"], "type": "continuous",
                   "lower": 0}  # fmt: skip
    if rate is not None and rate.cap is not None:
        entry["upper"] = builder.value(f"{side}_power_max", rate.cap, f"largest {side}")
    elif enough is not None:
        entry["upper"] = builder.at(enough)
    entry |= {"unit": "kW", "quantity": f"{MARKET}.{side}", "role": "decision",
              "description": f"{side} against what was committed to"}  # fmt: skip
    builder.variables.append(entry)


def _consistent(
    system: System, commitment: Commitment, prices: dict[str, str | None], most: str | None
) -> None:
    """Report prices at which it would pay to buy and sell the same energy without end."""
    numbers = system.builder.numbers

    def known(side: str) -> npt.NDArray[np.float64] | None:
        if side not in prices:
            return None
        name = prices[side]
        return np.zeros(()) if name is None else numbers.get(name)

    own, more, less = known(OWN), known(SHORTAGE), known(SURPLUS)
    line = next((r.line for r in commitment.rates.values() if r.line >= 0), 0)
    gains = [
        (less is not None and more is not None and bool(np.any(less > more))),
        (most is None and own is not None
         and (bool(np.any(own > more)) if commitment.sells and more is not None
              else less is not None and bool(np.any(own < less)))),
    ]  # fmt: skip
    if any(gains):
        system.builder.draft.doubt(line, "at these prices it would pay to settle without end")


def _limits(system: System) -> None:
    """Fill the limits of a commitment."""
    readings = for_owner(system.builder.draft, "commitment", "commitment")
    wanted = {"power_max": "kW", "power_min": "kW"}
    system.filled["commitment"] = parameters(
        system.builder, "commitment", "commitment", readings, wanted
    )
