"""Electric vehicles: batteries on wheels, that may be there for a part of the horizon only."""

import re
from datetime import datetime, timedelta
from typing import Final

from engiagent.agents.offline.draft import Cell, Draft
from engiagent.agents.offline.plant.language.discourse import Discourse
from engiagent.agents.offline.plant.system import LOGIC, System, lacking
from engiagent.agents.offline.plant.units import Instance
from engiagent.agents.offline.results import Missing
from engiagent.agents.offline.storage import constrain
from engiagent.agents.offline.timing import Axis


def park(system: System, instance: Instance) -> None:
    """Fill what a vehicle gives back: nothing, unless the text says that its charger can."""
    filled, name = system.filled[instance.name], instance.name
    draft = system.builder.draft
    _connected(system, instance)
    _needs(system, instance)
    _stay(system, instance)
    _part_of_need(system, instance)
    if not _gives_back(system):
        filled["discharge_power_max"] = "0[kW]"
        filled["discharge_efficiency"] = "1"
        draft.assume(f"{name}: it is charged, and gives nothing back")
        return
    filled.setdefault("discharge_power_max", filled["charge_power_max"])
    if "discharge_efficiency" not in filled:
        filled["discharge_efficiency"] = lacking(system, instance, "discharge_efficiency")


def _gives_back(system: System) -> bool:
    """Whether vehicles, or their chargers, are said to work in both directions."""
    reader, draft = system.reader, system.builder.draft
    told: dict[bool, int] = {}
    for n, line in enumerate(draft.lines):
        said = reader.marked(n).said()
        both = "twoway" in said or ("@vehicle" in said and said & {"eachway", "discharge"})
        if both and not line.sentence.is_heading:
            told.setdefault("not" not in said, n)
    if len(told) == 2:
        draft.doubt(told[False], "may vehicles give back, or may they not?")
    return True in told


def _connected(system: System, instance: Instance) -> None:
    """Let a charger that can use all of the connection give as much as that."""
    filled, draft, name = system.filled[instance.name], system.builder.draft, instance.name
    lines = system.reader.facts.get("whole_connection", [])
    gaps = [m for m in draft.missing if (m.component, m.slot) == (name, "charge_power_max")]
    limits = [
        r for r in draft.readings
        if r.slot.component == "grid" and r.slot.name in ("connection_power", "import_power_max")
    ]  # fmt: skip
    if not lines or not gaps:
        return
    if len(limits) != 1:
        draft.doubt(lines[0], "how much the connection gives is not clear")
        return
    builder = system.builder
    gone = filled["charge_power_max"]
    builder.parameters[:] = [p for p in builder.parameters if p["name"] != gone]
    draft.missing.remove(gaps[0])
    filled["charge_power_max"] = builder.value(
        f"{name}_charge_power_max", limits[0].value, "power of the connection"
    )


def _needs(system: System, instance: Instance) -> None:
    """Report a vehicle of which what it needs is not given, where that of others is."""
    draft, name = system.builder.draft, instance.name
    given = {r.owner for r in draft.readings if r.slot.name in ("final_energy", "final_fraction")}
    told = "needs_met" in system.reader.facts or "untold" in system.reader.facts
    if name in given or "*" in given or not (told or given):
        return
    gap = Missing(name, "final_energy", f"vehicle '{name}': what it has to have when it leaves is "
                  f'not given; add it or use --set {name}.final_energy="40 kWh"')  # fmt: skip
    if gap not in draft.missing:
        draft.missing.append(gap)


def _stay(system: System, instance: Instance) -> None:
    """Let a vehicle be charged only while it is there; it leaves with what it needs."""
    name, axis = instance.name, system.builder.axis
    stay = system.reader.stays.get(name, {})
    if not stay:
        for line in system.reader.facts.get("comes_and_goes", [])[:1]:
            system.builder.draft.doubt(line, f"when {name} comes and goes is not given")
        return
    for stamp, _ in stay.values():
        if not _on_grid(stamp, axis):
            system.builder.draft.doubt(0, f"{name}: it comes or goes within a step, or outside")
    away = []
    for edge, relation in (("from", "<"), ("until", ">=")):
        if edge in stay:
            cell = stay[edge][1]
            away.append(f"t {relation} {_times(system, cell)}['{cell.label}']")
    system.row(f"{name} is not there", f"{name}_charge[t] + {name}_discharge[t] <= 0[kW]", LOGIC,
               -1, where=" or ".join(away))  # fmt: skip


def _times(system: System, cell: Cell) -> str:
    """Return the parameter of a column of times; it has no unit."""
    made = system.builder.table(cell, type="element of I")
    entry = next(p for p in system.builder.parameters if p["name"] == made)
    entry.pop("unit", None)
    return made


def _on_grid(stamp: str, axis: Axis) -> bool:
    """Whether a time stamp lies on the axis, at the beginning of a step or at the end of all."""
    if "T" not in axis.start:
        return False
    passed = datetime.fromisoformat(stamp) - datetime.fromisoformat(axis.start)
    steps = passed.total_seconds() / 60 / axis.step_minutes
    return 0 <= steps <= axis.periods and abs(steps - round(steps)) < 1e-9


_SHARES: Final = {
    "half": 1 / 2, "a third": 1 / 3, "a quarter": 1 / 4, "two thirds": 2 / 3,
    "three quarters": 3 / 4,
}  # fmt: skip
_SHARE: Final = re.compile(
    r"at <clock#(?P<clock>\d+)> (?:each|every) [a-z]+(?: that is (?:there|here|present|plugged in"
    r"|connected|(?:in|at) the [a-z]+))? (?:must|has to|shall) (?:hold|have|contain) "
    r"(?:at least|no less than|not less than) "
    rf"(?:(?P<share>{'|'.join(_SHARES)})|<percent#(?P<percent>\d+)>) of what it needs"
)
_PREFACE: Final = re.compile(r"\b(?:uncharged|empty|last moment|last minute|too late)\b")


def take_shares(draft: Draft, reader: Discourse) -> tuple[tuple[float, float, int], ...]:
    """Return the times at which every vehicle must have a share of what it needs, and the lines."""
    found = []
    for n, line in enumerate(draft.lines):
        match = _SHARE.search(line.line)
        if match is None or "@vehicle" not in reader.marked(n).said():
            continue
        before = line.line[: match.start()]
        preface = before.rstrip().endswith(":") and "<" not in before and _PREFACE.search(before)
        if (before.strip() and not preface) or line.line[match.end() :].strip(" ,;"):
            continue
        clock = line.tokens[int(match["clock"])].clock
        amount = line.tokens[int(match["percent"])].amount if match["percent"] else None
        share = amount.value / 100 if amount is not None else _SHARES[match["share"]]
        if clock is not None:
            found.append((clock, share, n))
            draft.take(n, range(len(line.tokens)))
            reader.cache.pop(n)
            if amount is not None:
                entry = {"span": list(amount.span), "quote": amount.quote, "reason": "a share"}
                draft.unused.append(entry)
    return tuple(found)


def _part_of_need(system: System, instance: Instance) -> None:
    """Require a share of what a vehicle needs at a time of the day, if it is there then."""
    name, builder, axis = instance.name, system.builder, system.builder.axis
    stay = system.reader.stays.get(name, {})
    for clock, share, line in system.reader.shares:
        needs = builder.draft.find(name, "final_energy") or builder.draft.find("*", "final_energy")
        if needs is None or axis.hours > 24 or "T" not in axis.start:
            builder.draft.doubt(line, f"a share of what {name} needs, which is not given")
            continue
        begin = datetime.fromisoformat(axis.start)
        stamp = begin + timedelta(hours=(clock - axis.start_clock) % 24)
        there = [datetime.fromisoformat(stay[e][0]) for e in ("from", "until") if e in stay]
        if len(there) == 2 and not there[0] <= stamp <= there[1]:
            continue
        if not _on_grid(stamp.isoformat(), axis):
            builder.draft.doubt(line, "a moment within a step")
        made = builder.value(f"{name}_needed", needs.value, "what it needs")
        constrain(
            builder, f"share of what {name} needs",
            f"{name}_state_of_charge[i] >= {share!r}*{made}", "Strategic Requirements", line,
            ["i in I"], f"clock(i) == {clock:g}[h]",
        )  # fmt: skip
