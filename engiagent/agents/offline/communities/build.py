"""An energy community as a blueprint: what every member buys, sells, gives and takes."""

import re
from typing import TYPE_CHECKING

import numpy as np

from engiagent.agents.offline.builder import Builder, for_owner, single
from engiagent.agents.offline.draft import Json
from engiagent.agents.offline.feeders.loads import NodeData
from engiagent.agents.offline.goals import Goal, wanted_currency
from engiagent.agents.offline.plant.engine import Reader
from engiagent.agents.offline.plant.market.site import add_prices
from engiagent.agents.offline.plant.stores.storing import add_store
from engiagent.agents.offline.plant.system import BALANCE, CAPACITY, System, fill_slots
from engiagent.agents.offline.results import Missing
from engiagent.agents.offline.storage import constrain, parameters

if TYPE_CHECKING:
    from engiagent.agents.offline.communities.analyse import Scene

FLOWS = {
    "bought": "bought from the supplier", "sold": "sold to the network",
    "given": "given to neighbours", "taken": "taken from neighbours",
}  # fmt: skip


def build(
    scene: "Scene", builder: Builder, reader: Reader, goal: Goal | None, currency: str
) -> Json | None:
    """Add the members with their flows, the store, and what all pay; return the objective."""
    draft, system = scene.draft, System(builder, reader)
    if "trade" not in reader.facts:
        draft.doubt(0, "may the members give to and take from one another?")
    builder.sets.append({
        "name": "H", "kind": "labels", "elements": list(scene.members),
        "source_reference": scene.data["load"].sheet.source(scene.data["load"].columns[0])
        if "load" in scene.data else {"kind": "assumption", "reason": "the members"},
    })  # fmt: skip
    limits = _limits(system)
    for flow, said in FLOWS.items():
        most = limits.get("import" if flow in ("bought", "taken") else "export")
        entry: Json = {
            "name": flow, "index": ["h in H", "t in T"], "type": "continuous", "lower": 0,
            "upper": most, "unit": "kW", "quantity": f"member.{flow}", "role": "decision",
            "description": said,
        }  # fmt: skip
        builder.variables.append({k: v for k, v in entry.items() if v is not None})
    _fuses(system, limits)
    given, taken = _members(scene, system)
    constrain(
        builder, "balance of a member", f"bought[h, t] + taken[h, t]{given} == sold[h, t]"
        f" + given[h, t]{taken}", BALANCE, -1, ["h in H", "t in T"],
    )  # fmt: skip
    constrain(
        builder, "balance among neighbours",
        "sum(given[h, t] for h in H) == sum(taken[h, t] for h in H)", BALANCE,
        reader.facts.get("trade", [-1])[0], ["t in T"],
    )  # fmt: skip
    _prices(scene, system)
    return _objective(system, goal, currency)


def _limits(system: System) -> dict[str, str]:
    """Return the limits of what comes in and goes out at a member."""
    readings = for_owner(system.builder.draft, "house", "house")
    wanted = {"import_power_max": "kW", "export_power_max": "kW"}
    known = {k: v for k, v in readings.items() if k in (*wanted, "connection_power")}
    filled = parameters(system.builder, "house", "house", known, wanted)
    return {slot.split("_")[0]: name for slot, name in filled.items()}


def _fuses(system: System, limits: dict[str, str]) -> None:
    for side, flows, said in (
        ("import", "bought[h, t] + taken[h, t]", "what comes in"),
        ("export", "sold[h, t] + given[h, t]", "what goes out"),
    ):
        if side in limits:
            slots = (f"{side}_power_max", "connection_power")
            line = system.line_of("house", *slots)
            constrain(system.builder, said, f"{flows} <= {limits[side]}", CAPACITY, line,
                      ["h in H", "t in T"])  # fmt: skip


def _members(scene: "Scene", system: System) -> tuple[str, str]:
    """Add what the members need and make, and the store; return the terms of a member."""
    draft, builder, given, taken = scene.draft, system.builder, "", ""
    if "load" not in scene.data:
        draft.missing.append(Missing("load", "power", "what the members need is not given"))
    for role, data in scene.data.items():
        name, term = _of_members(builder, data, scene.members)
        if role == "load":
            taken += f" + {term}"
            continue
        may = "curtailable" in system.reader.facts
        if may is ("not_curtailable" in system.reader.facts):
            draft.doubt(0, "may the panels be throttled?")
        if may:
            builder.variables.append({
                "name": "made", "index": ["h in H", "t in T"], "type": "continuous", "lower": 0,
                "upper": term, "unit": "kW", "quantity": "member.made", "role": "decision",
                "description": f"power that is used of {name}",
            })  # fmt: skip
            term = "made[h, t]"
        given += f" + {term}"
    for instance in scene.plant.of("battery"):
        fill_slots(system, instance)
        add_store(system, instance)
        owner = _owner(scene)
        if "pv" in scene.data:
            builder.components[-1].setdefault("options", {})["exclusive_on"] = "T"
            draft.assume("a battery does not charge and discharge in the same period")
        given += f" + (battery_discharge[t] if h == '{owner}' else 0[kW])"
        taken += f" + (battery_charge[t] if h == '{owner}' else 0[kW])"
    return given, taken


def _of_members(builder: Builder, data: NodeData, members: tuple[str, ...]) -> tuple[str, str]:
    """Add a table of the members as a parameter; return it, and its value for a member."""
    among, sheet = "H", data.sheet
    if set(data.nodes) != set(members):
        among = f"H_{data.role}"
        builder.sets.append({"name": among, "kind": "subset", "of": "H",
                             "elements": list(data.nodes)})  # fmt: skip
    fields: Json = {"index": [among, "T"]}
    if sheet.file:
        fields |= {"data": f"{sheet.file}#*", "keys": [sheet.names[data.keys]],
                   "source_reference": {"kind": "file", "file": sheet.file,
                                        "column": "*"}}  # fmt: skip
    else:
        pairs = zip(data.nodes, data.columns, strict=True)
        values = {n: list(sheet.numbers(c) or ()) for n, c in pairs}
        sources = [s for c in data.columns for s in sheet.source(c)]
        fields |= {"value": values, "source_reference": sources}
    made = builder.parameter(f"member_{data.role}", data.unit, f"{data.role} of a member", **fields)
    shown = f"{made}[h, t]"
    return made, shown if among == "H" else f"({shown} if h in {among} else 0[kW])"


def _owner(scene: "Scene") -> str:
    """Return the member with the battery: the one that is said to have it, and no other."""
    names = "|".join(re.escape(m.lower()) for m in scene.members)
    has = re.compile(
        rf"(?<![a-z])(?P<who>{names}) (?:has|owns|keeps) (?:a|an|the|one|the only)(?: [a-z-]+)?"
        rf" battery"
        rf"|battery (?:of|at|in the (?:house|cellar) of|belongs to) (?P<of>{names})(?![a-z-])"
        rf"|(?<![a-z])(?P<whose>{names})(?:'s)? (?:[a-z-]+ )?battery(?! too)"
    )
    several = re.compile(rf"(?:{names}) and (?:{names}) (?:each )?(?:have|own)|batteries(?! are)")
    found: set[str] = set()
    for n, line in enumerate(scene.draft.lines):
        if line.sentence.is_heading or n in scene.draft.table_lines:
            continue
        if "batter" in line.line and several.search(line.line):
            scene.draft.doubt(n, "one battery is recognised; the text speaks of several")
        for match in has.finditer(line.line):
            found.add(match["who"] or match["of"] or match["whose"])
    if len(found) != 1:
        scene.draft.missing.append(Missing("battery", "member", "whose battery is it?"))
        return scene.members[0]
    name = found.pop()
    return next(m for m in scene.members if m.lower() == name)


def _prices(scene: "Scene", system: System) -> None:
    """Add what the members pay to the supplier and for the use of the network."""
    builder, draft = system.builder, scene.draft
    grid = scene.plant.of("grid")[0]
    filled = system.filled.setdefault("grid", {})
    add_prices(system, grid)
    for slot, flow, sign in (("import_price", "bought", "+"), ("export_price", "sold", "-")):
        if slot not in filled:
            said = grid.unit.slots[slot].said
            filled[slot] = builder.missing(
                slot, "EUR/kWh", said, Missing("site", slot, f"the {said} is not given")
            )
        price = builder.at(filled[slot])
        system.costs.append((sign, f"sum({price}*{flow}[h, t]*dt(t) for h in H for t in T)"))
    buy, sell = (builder.numbers.get(filled[s]) for s in ("import_price", "export_price"))
    if buy is not None and sell is not None and np.any(sell > buy):
        draft.doubt(0, "selling earns more than buying costs: is there a limit to both at once?")
    readings = for_owner(draft, "house", "house")
    for slot, flow in (("trade_fee", "taken"), ("give_fee", "given")):
        if slot in readings:
            reading = single(builder, readings[slot])
            made = builder.value(slot, reading.value, reading.slot.said)
            system.costs.append(("+", f"sum({made}*{flow}[h, t]*dt(t) for h in H for t in T)"))
    for reading in readings.get("trade_price", []):
        builder.used.append(reading.value.source)
        place = reading.value.source["span"]
        draft.unused.append({"span": place, "quote": draft.text[place[0] : place[1]],
                             "reason": "what one member pays another one gets"})  # fmt: skip


def _objective(system: System, goal: Goal | None, currency: str) -> Json | None:
    if goal is None:
        return None
    draft = system.builder.draft
    asked = set(system.reader.marked(goal.line).concepts)
    if goal.target != "cost" or asked & {"most", "least", "peak"}:
        draft.refuse(goal.line, "the engine has no such objective for a community")
        return None
    signed = sorted(system.costs, key=lambda pair: pair[0] != "+")
    text = "".join(f" {sign} {term}" for sign, term in signed).strip()
    return {
        "name": goal.target,
        "sense": "minimize",
        "expression": text.removeprefix("+ "),
        "unit": wanted_currency(draft, goal, currency),
        "source_reference": draft.quote(goal.line),
    }
