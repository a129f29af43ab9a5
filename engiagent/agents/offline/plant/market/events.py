"""Times at which a unit is to draw less: demand response with a cap, a baseline and a credit.

'During these hours the unit may draw no more than 4 kW, and for each kWh that it stays below its
baseline of 9 kW we get 0.55 EUR/kWh.' A credit that is promised and not given is missing.
"""

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from engiagent.agents.offline.draft import Draft, Json, Value, amount_value
from engiagent.agents.offline.plant.language.remarks import account
from engiagent.agents.offline.plant.units import Instance, Plant
from engiagent.agents.offline.results import Missing
from engiagent.agents.offline.storage import constrain
from engiagent.agents.offline.tariffs import aligned, condition
from engiagent.agents.offline.tokens import Line, Period

if TYPE_CHECKING:
    from engiagent.agents.offline.plant.system import System

_KWH: Final = r"(?:kwh|mwh|kilowatt[- ]hours?|megawatt[- ]hours?)"
_WHO: Final = r"(?:(?:it|we|they|the|our|its|their)(?: [a-z-]+){0,4}?)"
_OWN: Final = r"(?:(?:its|the|a|an|their|our|this) )?"
_BASE: Final = (
    rf"{_OWN}(?:(?:agreed |usual |normal |contractual )?(?:baseline|base line|reference|level"
    r"|usual load|normal load)(?: load)?(?: of| ,| :| \(| at)? )?<power#(?P<base>\d+)>(?: \))?"
)
_EACH: Final = rf"for (?:each|every) {_KWH} "
_STAYS: Final = (
    rf"(?:that |by which )?(?P<who>{_WHO}) (?:stays?|is|are|remains?"
    rf"|keeps?|lies?|draws?|takes?|uses?)(?: in it)? (?:below|under|less than) {_BASE}"
)
_GET: Final = (
    r"(?:(?:(?:we|it|they|the [a-z]+) )?(?:get|gets|receive|receives|earn|earns|are paid|is paid"
    r"|are credited|is credited|are given|have|has)"
    r"|the (?:[a-z]+ )?(?:aggregator|utility|operator|supplier|provider|retailer)"
    r" (?:pays|credits)(?: us)?(?: with)?)"
)
_PAY: Final = r"(?:(?:a |an |the )?(?:credit|premium|payment|bonus|reward|compensation)(?: of)? )?"
_CREDIT: Final = "<price#(?P<credit>\\d+)>"
_TIME: Final = (
    r"(?:,? ?<period#(?P<when>\d+)> ,? ?|(?P<these>(?:during|in|at|for) (?:these|those|the event)"
    r" (?:hours|times)|during (?:it|the event)) ,? ?)"
)
_AFTER: Final = r"(?: ,? ?<period#(?P<after>\d+)>)?"
_STATED: Final = (
    re.compile(rf"(?:{_TIME})?{_EACH}{_STAYS} ,? ?{_GET} {_PAY}{_CREDIT}(?= ?[.,;]|$)"),
    re.compile(rf"(?:{_TIME})?{_GET} {_PAY}{_CREDIT} (?:{_EACH})?{_STAYS}{_AFTER}"
               r"(?= ?[.,;]|$)"),
    re.compile(rf"(?:{_TIME})?{_GET} (?:paid|money|a premium|a credit|a bonus|paid money)"
               rf" {_EACH}{_STAYS}(?= ?[.,;]|$)"),
)  # fmt: skip
_CAP: Final = re.compile(
    rf"(?:{_TIME})(?P<who>{_WHO}) (?:may|must|can|shall|should|is to|are to)(?P<not> not)?"
    r"(?: then)? (?:draw|take|use|consume|be run at|run at|be at)"
    r"(?P<how> no more than| not more than| at most| up to| more than| over)"
    r" <power#(?P<cap>\d+)>(?= ?[.,;]|$| and)"
)
_CALLED: Final = re.compile(
    r"(?:(?:the |our )?[a-z]+(?: [a-z]+)? (?:has|have) )?(?:called|announced|declared|scheduled"
    r"|requested) (?:an?|the|one) (?:[a-z-]+ ){0,3}?event (?:for|on|at) (?:<date#\d+> ?,? ?)?"
    r"<period#(?P<when>\d+)>|(?:the |an |one )?(?:[a-z-]+ ){0,3}?event (?:is|lasts|runs"
    r"|takes place) (?:on |for )?(?:<date#\d+> ?,? ?)?<period#(?P<when2>\d+)>"
)


@dataclass
class Event:
    """A time at which drawing less is asked for, or paid.

    Attributes
    ----------
    unit
        The instance that is to draw less; None for all that the site takes.
    cap
        What it may draw at most then.
    baseline, credit
        What is paid for each unit of energy below the baseline; a ``credit`` of None is missing.
    """

    period: Period
    unit: str | None
    line: int
    cap: Value | None = None
    baseline: Value | None = None
    credit: Value | None = None


def take_events(draft: Draft, plant: Plant) -> list[Event]:
    """Return the events of a text, and account for the words that state them."""
    called: list[tuple[int, Period]] = []
    events: list[Event] = []
    for n, line in enumerate(draft.lines):
        if line.sentence.is_heading or n in draft.table_lines:
            continue
        match = _CALLED.search(line.line)
        if match is not None:
            period = line.tokens[int(match["when"] or match["when2"])].period
            called += [(n, period)] if period is not None else []
        _stated(draft, plant, n, called, events)
    for n, period in called:
        match = _CALLED.search(draft.lines[n].line)
        if match is None:
            continue
        if any(event.period == period for event in events):
            account(draft, n, draft.lines[n], match, "")
        elif match.end() == len(draft.lines[n].line):
            draft.doubt(n, "what is asked for, or paid, during this event?")
    return events


def _stated(
    draft: Draft, plant: Plant, n: int, called: list[tuple[int, Period]], events: list[Event]
) -> None:
    line = draft.lines[n]
    match = _CAP.search(line.line)
    if match is not None:
        cap = _cap(draft, n, line, match)
        place = _place(draft, plant, n, match, called)
        if cap is not None and place is not None:
            events.append(Event(*place, n, cap=cap))
            account(draft, n, line, match, "")
    for pattern in _STATED:
        match = pattern.search(line.line)
        if match is None:
            continue
        same = events[-1] if events and events[-1].line == n else None
        timed = match["when"] or match["these"] or match.groupdict().get("after")
        place = _place(draft, plant, n, match, called) if timed or same is None else None
        if place is None and same is None:
            return
        base = line.tokens[int(match["base"])].amount
        assert base is not None
        if same is None or (place is not None and place != (same.period, same.unit)):
            assert place is not None
            same = Event(*place, n)
            events.append(same)
        same.baseline = amount_value(base, draft.source(n, base))
        token = match.groupdict().get("credit")
        credit = line.tokens[int(token)].amount if token else None
        same.credit = None if credit is None else amount_value(credit, draft.source(n, credit))
        account(draft, n, line, match, "")
        return


def _cap(draft: Draft, n: int, line: Line, match: re.Match[str]) -> Value | None:
    denied, more = bool(match["not"]), match["how"].strip() in ("more than", "over")
    amount = line.tokens[int(match["cap"])].amount
    if denied is not more or amount is None:
        return None
    return amount_value(amount, draft.source(n, amount))


def _place(
    draft: Draft, plant: Plant, n: int, match: re.Match[str], called: list[tuple[int, Period]]
) -> tuple[Period, str | None] | None:
    """Return when and for which unit a sentence speaks of an event; None where that is open."""
    line = draft.lines[n]
    after = match.groupdict().get("after")
    if match["when"] and after:
        return None
    if after:
        period = line.tokens[int(after)].period
    elif match["when"]:
        period = line.tokens[int(match["when"])].period
    else:
        near = [p for k, p in called if k in (n - 1, n) or "event" in (match["these"] or "")]
        period = near[0] if len(near) == 1 else None
    who = match["who"]
    made = [i for i in plant.instances if "electricity" in i.unit.card.get("demands", {})
            and not i.unit.card.get("site")]  # fmt: skip
    named = [i for i in made if i.finder.search(who)]
    if who in ("we", "it", "they") or re.fullmatch(r"(?:the|our) (?:site|building|meter)", who):
        named = made if len(made) == 1 else named
        everything = who == "we" or " " in who
        loads = plant.of("load")
        if everything and (loads or len(made) != 1):
            return (period, None) if period is not None else None
    return (period, named[0].name) if period is not None and len(named) == 1 else None


def add_events(system: "System", events: list[Event]) -> None:
    """Limit what is drawn at the times of events, and credit what is not drawn."""
    builder = system.builder
    _in_objective(system, events)
    for k, event in enumerate(events, 1):
        if not aligned(builder, event.period):
            builder.draft.doubt(event.line, "an event that begins or ends within a step")
            continue
        drawn = _drawn(system, event.unit)
        if drawn is None:
            builder.draft.doubt(event.line, "what is it that is to draw less?")
            continue
        name = "event" if len(events) == 1 else f"event_{k}"
        where = condition(event.period, "t")
        cap = None
        if event.cap is not None:
            cap = builder.value(f"{name}_cap", event.cap, "largest power during the event")
            constrain(builder, f"power during the {name}", f"{drawn} <= {cap}", "Operational Logic",
                      event.line, ["t in T"], where, spans=event.period.spans)  # fmt: skip
        if event.baseline is not None:
            _credit(system, event, name, drawn, cap)


CREDITED: Final = frozenset(
    ("credit", "credits", "premium", "premiums", "reward", "rewards", "bonus", "payment",
     "payments", "compensation")
)  # fmt: skip


def _in_objective(system: "System", events: list[Event]) -> None:
    """Report an objective that is spelled out and leaves out what an event earns."""
    goal = system.reader.goal
    if goal is None or all(event.baseline is None for event in events):
        return
    words = {t.text for t in system.builder.draft.lines[goal.line].tokens}
    text = system.builder.draft.lines[goal.line].line
    if re.search(rf"(?:plus|and)(?: the)? (?:{'|'.join(sorted(CREDITED))})(?![a-z])", text):
        system.builder.draft.doubt(goal.line, "is what the event earns added, or taken off?")
    named = words & (CREDITED | {"less", "minus", "net", "total", "sum", "bill", "pays", "paid"})
    if not named and words & {"electricity", "energy", "power"}:
        system.builder.draft.doubt(goal.line, "is what the event earns part of this?")


def _credit(system: "System", event: Event, name: str, drawn: str, cap: str | None) -> None:
    builder = system.builder
    assert event.baseline is not None
    base = builder.value(f"{name}_baseline", event.baseline, "power below which it is credited")
    if event.credit is None:
        credit = builder.missing(
            f"{name}_credit", "EUR/kWh", "credit for a unit of energy not drawn",
            Missing(name, "credit", "what is paid for each unit of energy below the baseline is "
                    f'not given; add it or use --set {name}.credit="0.30 EUR/kWh"'),
        )  # fmt: skip
    else:
        credit = builder.value(f"{name}_credit", event.credit, "credit for energy not drawn")
    where = condition(event.period, "t")
    events = f"T_{name}"
    builder.sets.append(
        {"name": events, "kind": "subset", "of": "T", "binder": "t", "where": where}
    )
    if cap is not None and float(builder.numbers[cap]) <= float(builder.numbers[base]):
        text = f"sum({credit}*({base} - {drawn})*dt(t) for t in {events})"
    else:
        below: Json = {
            "name": f"{name}_below", "index": [f"t in {events}"], "type": "continuous", "lower": 0,
            "upper": base, "unit": "kW", "quantity": f"{name}.below", "role": "auxiliary",
            "description": "power below the baseline that is credited",
        }  # fmt: skip
        builder.variables.append(below)
        constrain(builder, f"credited during the {name}",
                  f"{name}_below[t] <= max({base} - ({drawn}), 0[kW])", "Operational Logic",
                  event.line, [f"t in {events}"])  # fmt: skip
        text = f"sum({credit}*{name}_below[t]*dt(t) for t in {events})"
    system.costs.append(("-", text))


def _drawn(system: "System", unit: str | None) -> str | None:
    """Return the electric power of a unit, or of the whole site."""
    if unit is None:
        return "grid_import[t]" if system.reader.plant.of("grid") else None
    owner = next(i for i in system.reader.plant.instances if i.name == unit)
    return electric_of(system, owner)


def electric_of(system: "System", owner: Instance) -> str | None:
    """Return the electric power of a unit as an expression over the periods."""
    text = owner.unit.card.get("demands", {}).get("electricity")
    return None if text is None else system.text(owner.name, text)
