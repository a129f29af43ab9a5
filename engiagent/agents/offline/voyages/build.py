"""A vessel with its legs and stops as a blueprint."""

from engiagent.agents.offline.builder import Builder, for_owner, single
from engiagent.agents.offline.draft import Json
from engiagent.agents.offline.goals import Goal, wanted_currency
from engiagent.agents.offline.plant.engine import Reader
from engiagent.agents.offline.plant.market.site import add_prices
from engiagent.agents.offline.plant.system import System
from engiagent.agents.offline.results import Missing
from engiagent.agents.offline.storage import constrain
from engiagent.agents.offline.voyages.timetable import Timetable
from engiagent.blueprint.units import convert, parse_unit

PHYSICS, CAPACITY = "Physical Laws", "Resource Capacity"


def build(
    builder: Builder, reader: Reader, timetable: Timetable, goal: Goal | None, currency: str
) -> Json | None:
    """Add the content, the legs, the stops and the price; return the objective."""
    filled = _values(builder, reader)
    reach = _reach(builder, reader, filled, timetable)
    builder.sets.append({"name": "Stops", "kind": "subset", "of": "T",
                         "elements": _starts(builder, timetable),
                         "source_reference": builder.draft.quote(timetable.line)})  # fmt: skip
    most, low = filled["energy_capacity"], filled.get("minimum_energy", "0[kWh]")
    builder.variables += [
        {"name": "taken", "index": ["t in Stops"], "type": "continuous", "lower": 0, "upper": reach,
         "unit": "kWh", "quantity": "vessel.taken", "role": "decision",
         "description": "energy taken from the charger at a stop"},
        {"name": "content", "index": ["i in I"], "type": "continuous", "lower": low, "upper": most,
         "unit": "kWh", "quantity": "vessel.content", "role": "auxiliary",
         "description": "content at the beginning of a leg"},
    ]  # fmt: skip
    gain = f"{filled['charge_efficiency']}*" if "charge_efficiency" in filled else ""
    leg = filled["leg_energy"]
    rows = (
        ("legs and stops", f"content[t+1] == content[t] - {leg} + ({gain}taken[t] if t in Stops"
         f" else"
         " 0[kWh])", ["t in T"], PHYSICS, "leg_energy"),
        ("content on arrival", f"content[t] - {leg} >= {low}", ["t in T"], CAPACITY,
         "minimum_energy"),
        ("content at the start", f"content[first(I)] == {filled['initial_energy']}", None, PHYSICS,
         "initial_energy"),
    )  # fmt: skip
    for name, text, forall, category, slot in rows:
        constrain(builder, name, text, category, _line(reader, slot), forall)
    if "final_energy" in filled:
        text = f"content[last(I)] >= {filled['final_energy']}"
        if timetable.legs in timetable.stops:
            text = f"content[last(T)] - {leg} >= {filled['final_energy']}"
            builder.draft.doubt(_line(reader, "final_energy"), "before or after the last charging?")
        constrain(builder, "content at the end", text, "Strategic Requirements",
                  _line(reader, "final_energy"))  # fmt: skip
    elif "no_terminal" not in reader.facts:
        builder.draft.assume("nothing is required of the content at the end")
    return _objective(builder, reader, goal, currency)


def _starts(builder: Builder, timetable: Timetable) -> list[str]:
    from datetime import datetime, timedelta

    begin = datetime.fromisoformat(builder.axis.start)
    step = timedelta(minutes=builder.axis.step_minutes)
    return [(begin + (k - 1) * step).isoformat(timespec="minutes") for k in timetable.stops]


def _line(reader: Reader, slot: str) -> int:
    return next((r.line for r in reader.draft.readings if r.slot.name == slot), -1)


def _values(builder: Builder, reader: Reader) -> dict[str, str]:
    """Return a parameter for every slot; report those that are missing."""
    slots = reader.plant.units["vessel"].slots
    readings = for_owner(builder.draft, "vessel", "vessel")
    filled: dict[str, str] = {}
    for name, found in readings.items():
        if name != "under_way":
            reading = single(builder, found)
            filled[name] = builder.value(name, reading.value, reading.slot.said)
    for name, slot in slots.items():
        if slot.required and name not in filled:
            lack = Missing("vessel", name, f"the {slot.said} is not given")
            filled[name] = builder.missing(name, slot.unit, slot.said, lack)
    lossless = "no_loss" in reader.facts
    if lossless and "charge_efficiency" in filled:
        builder.draft.doubt(
            reader.facts["no_loss"][0], "nothing is lost, and an efficiency is given"
        )
    if not lossless and "charge_efficiency" not in filled:
        lack = Missing("vessel", "charge_efficiency", "the charging efficiency is not given")
        filled["charge_efficiency"] = builder.missing("charge_efficiency", "1", "efficiency", lack)
    return filled


def _reach(builder: Builder, reader: Reader, filled: dict[str, str], timetable: Timetable) -> str:
    """Return the most that a stop can give: its power over the time that the vessel is there."""
    readings = for_owner(builder.draft, "vessel", "vessel")
    power = filled["charge_power_max"]
    away = single(builder, readings["under_way"]) if "under_way" in readings else None
    rest = None
    if away is not None and away.value.number is not None:
        minutes = convert(away.value.number, parse_unit(away.value.unit), parse_unit("min"))
        rest = (timetable.minutes or 0.0) - minutes
    if "stop_time" not in filled:
        if away is None or rest is None or rest <= 0:
            lack = Missing("vessel", "stop_time", "how long a stop lasts is not given")
            filled["stop_time"] = builder.missing("stop_time", "min", "time at a stop", lack)
        else:
            made = builder.value("under_way", away.value, away.slot.said)
            length = builder.axis.step_text.replace(" ", "[") + "]"
            filled["stop_time"] = builder.derived(
                "stop_time", f"{length} - {made}", "min", "time at a stop", [made],
                note="the rest of each period",
            )  # fmt: skip
        return f"{power}*{filled['stop_time']}"
    if away is not None and rest is not None:
        builder.used.append(away.value.source)
        place = away.value.source["span"]
        quote = builder.draft.text[place[0] : place[1]]
        builder.draft.unused.append({"span": place, "quote": quote,
                                     "reason": "agrees with the time at a stop"})  # fmt: skip
        stated = single(builder, readings["stop_time"]).value
        number = convert(stated.number or 0.0, parse_unit(stated.unit), parse_unit("min"))
        if number > rest + 1e-9:
            builder.draft.doubt(away.line, "a stop is longer than what is left of a period")
    return f"{power}*{filled['stop_time']}"


def _objective(builder: Builder, reader: Reader, goal: Goal | None, currency: str) -> Json | None:
    system = System(builder, reader)
    system.filled["grid"] = {}
    add_prices(system, reader.plant.of("grid")[0])
    filled = system.filled["grid"]
    if "import_price" not in filled:
        filled["import_price"] = builder.missing(
            "import_price", "EUR/kWh", "price of electricity",
            Missing("site", "import_price", "the price of electricity is not given"),
        )  # fmt: skip
    if goal is None:
        return None
    asked = set(reader.marked(goal.line).concepts)
    if goal.target != "cost" or asked & {"most", "least", "peak"}:
        builder.draft.refuse(goal.line, "the engine has no such objective for a vessel")
        return None
    return {
        "name": "cost",
        "sense": "minimize",
        "expression": f"sum({builder.at(filled['import_price'])}*taken[t] for t in Stops)",
        "unit": wanted_currency(builder.draft, goal, currency),
        "source_reference": builder.draft.quote(goal.line),
    }
