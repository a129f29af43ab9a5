"""Machines that are on or off and nothing between: 'three pumps, each takes 11 kW out of it'.

Units that are alike are counted; where a rule is on each of them, as that it rests an hour in any
four, each is a binary of its own.
"""

import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from engiagent.agents.offline.draft import Draft, Json, Value, amount_value
from engiagent.agents.offline.plant.language.remarks import account
from engiagent.agents.offline.plant.units import Plant
from engiagent.agents.offline.storage import constrain
from engiagent.agents.offline.timing import Axis
from engiagent.agents.offline.tokens import Line

if TYPE_CHECKING:
    from engiagent.agents.offline.plant.system import System

_NOUN: Final = (
    r"(?:pumps?|units?|fans?|coolers?|machines?|stages?|chillers?|heaters?|burners?|compressors?"
    r"|blowers?|air[- ]conditioners?|radiators?|coils?)"
)
_ADJ: Final = r"(?:(?!of |and |or |is |are )[a-z-]+ ){0,2}"
_OWN: Final = rf"(?:{_NOUN}|one(?: of them)?)"
_SINGLE: Final = r"(?:single |running |such )?"
_ALIKE: Final = r"(?: of (?:equal|the same|one|identical) size| alike| that are alike)"
_NAMED: Final = (
    r"(?: \( (?:call them |called |we call them |named )?[a-z](?: ,| and) [a-z](?: and [a-z])? \))"
)
_COUNT: Final = rf"<number#(?P<count>\d+)> {_ADJ}{_NOUN}{_NAMED}?"
_ON: Final = (
    r"(?:(?:while|when|as long as) (?:it is |they are |it |they )?"
    r"(?:on|running|runs?|switched on|in operation)|that (?:runs?|is on|is running|is switched on)"
    r"|running|in operation)"
)
_OFF: Final = r"(?: ,? ?(?:and )?nothing (?:while|when)(?: it is| they are)? (?:off|standing))?"
_KIND: Final = r"(?: of (?P<{0}>heat|cooling|cold|refrigeration))?"
_FROM: Final = r"(?:out of|from|away from) (?:the|our) [a-z]+(?: [a-z]+)?"
_TO: Final = r"(?:to|into) (?:the|our) [a-z]+(?: [a-z]+)?"
_ELECTRIC: Final = (
    r"<power#(?P<power>\d+)>(?: of (?:electricity|electric power|power))?"
    r"(?: (?:from|out of) the (?:mains|grid))?"
)
_ALIKE_COUNT: Final = re.compile(
    rf"(?<![a-z]){_COUNT}{_ALIKE}(?= ?[.,;]|$)"
    rf"|<number#(?P<same>\d+)> (?:identical|equal|equally large|equally sized) {_ADJ}{_NOUN}"
    r"(?: (?:cool|ventilate|serve|heat) (?:the|an?|our) [a-z]+(?: [a-z]+)?)?(?= ?[.,;]|$)"
)
_EACH: Final = re.compile(
    rf"(?:every|each|any|one) {_SINGLE}{_OWN}(?: {_ON})? (?:takes|removes|draws|extracts|carries)"
    rf" <power#(?P<heat>\d+)>{_KIND.format('what')} {_FROM}(?: {_ON})?"
    rf"(?: , and| and| ,)(?: it)?(?: takes| draws| uses| needs)? {_ELECTRIC}{_OFF}(?= ?[.,;]|$)"
)
_WARMS: Final = re.compile(
    rf"(?:every|each|any|one) {_SINGLE}{_OWN}(?: {_ON})? (?:gives|adds|delivers|puts)"
    rf" <power#(?P<heat>\d+)>{_KIND.format('what')} {_TO}(?: {_ON})?(?: , and| and| ,)(?: it)?"
    rf" (?:takes|draws|uses|needs) {_ELECTRIC}{_OFF}(?= ?[.,;]|$)"
)
_WORK: Final = re.compile(
    rf"{_COUNT}{_ALIKE}? (?P<verb>cool|heat|warm)s? (?:the|our|this) [a-z]+(?: [a-z]+)? ,?"
    rf"(?: with| by)? ?<power#(?P<heat>\d+)>{_KIND.format('what')} each {_ON}{_OFF}(?= ?[.,;]|$)"
)
_RATIO: Final = re.compile(
    rf"(?:every|each|a|one|any) {_SINGLE}{_OWN} (?:takes|draws|uses|needs)(?: {_ON})?"
    rf" <power_per_cold#(?P<ratio>\d+)>(?: {_ON})?(?= ?[.,;]|$)"
)
_SWITCHED: Final = re.compile(
    r"(?:we|they|it|these|all|the [a-z]+) (?:are |is |(?:can|may) (?:only )?be )?"
    r"(?:switch|switched|turned|run)(?: (?:on|off)(?: (?:and|or) (?:on|off))?)? (?:only )?on the"
    r" (?P<step>hour|half-hour|quarter-hour)(?: only)?(?= ?[.,;]|$)"
)
_CHOICE: Final = re.compile(
    r"(?:and )?how many(?: of them)?(?: [a-z]+)? (?:run|runs|are on) is (?:all|the only thing|what)"
    r"(?: that)? (?:we can|can be) (?:choose|decide|set|chosen|decided)"
)
_REST: Final = re.compile(
    rf"(?:the [a-z]+ (?:wants|asks|requires|demands) (?:every|each|any) {_NOUN} to"
    r" (?:rest|<rest#\d+>) : )?"
    r"in any <(?:number|duration)#(?P<window>\d+)> (?:consecutive |successive )?hours(?: in a row)?"
    rf",? (?:a|an|each|every|any|no) ?{_NOUN} (?P<may>may|must|can|shall)(?P<not> not)?"
    r" (?:be on|run|be running) (?:for )?"
    r"(?P<more>more than |at most |no more than |longer than |up to )?"
    r"<(?:number|duration)#(?P<most>\d+)>(?: hours)?(?P<atmost> at the most| at most)?(?= ?[.,;]|$)"
)


@dataclass
class Staged:
    """Machines that are alike, each of them on or off.

    Attributes
    ----------
    heat, power
        What each takes away, or gives, and draws while it is on.
    ratio
        Electricity for a unit of cooling, where ``power`` is not given.
    rests
        Hours of a window, hours of it that each may be on at most, and the line that says so.
    """

    count: Value
    heat: Value
    power: Value | None
    ratio: Value | None
    cools: bool
    line: int
    rests: list[tuple[float, Value, int]] = field(default_factory=list)


def take_staged(draft: Draft) -> Staged | None:
    """Return the machines that are on or off, and account for the words that state them."""
    lines = {n: line for n, line in enumerate(draft.lines)
             if not line.sentence.is_heading and n not in draft.table_lines}  # fmt: skip
    found = _whole(draft, lines) or _in_parts(draft, lines)
    if found is None:
        return None
    for n, line in lines.items():
        for match in _REST.finditer(line.line):
            window = _rest(line, match)
            if window is not None:
                found.rests.append((window, _hours(draft, n, match["most"]), n))
                account(draft, n, line, match, "")
                span = line.tokens[int(match["window"])].span
                entry = {"span": list(span), "quote": draft.text[slice(*span)],
                         "reason": "the length of a window"}  # fmt: skip
                draft.unused.append(entry)
        choice = _CHOICE.search(line.line)
        if choice is not None:
            account(draft, n, line, choice, "they are on or off, and alike")
    return found


def without_cooler(plant: Plant, staged: Staged | None) -> Plant:
    """Return a plant without the chiller that words for these machines were taken for."""
    gone = "" if staged is None else "chiller" if staged.cools else "electric_heater"
    rest = tuple(i for i in plant.instances if i.unit.component != gone)
    return replace(plant, instances=rest)


def take_switched(draft: Draft, axis: Axis) -> None:
    """Account for 'they are switched on the hour' where that is the step of the plan."""
    minutes = {"hour": 60.0, "half-hour": 30.0, "quarter-hour": 15.0}
    for n, line in enumerate(draft.lines):
        match = None if line.sentence.is_heading else _SWITCHED.search(line.line)
        if match is not None and minutes[match["step"]] == axis.step_minutes:
            account(draft, n, line, match, "as every decision of the plan")


def _whole(draft: Draft, lines: dict[int, Line]) -> Staged | None:
    """Return 'two units cool the room, 9 tons each while on', with a ratio said elsewhere."""
    found = [(n, m) for n, line in lines.items() if (m := _WORK.search(line.line))]
    ratios = [(n, m) for n, line in lines.items() if (m := _RATIO.search(line.line))]
    if len(found) != 1 or len(ratios) != 1 or found[0][1]["verb"] != "cool":
        return None
    (n, match), (k, told) = found[0], ratios[0]
    values = [_value(draft, n, match["count"]), _value(draft, n, match["heat"])]
    ratio = _value(draft, k, told["ratio"])
    account(draft, n, draft.lines[n], match, "")
    account(draft, k, draft.lines[k], told, "")
    return Staged(values[0], values[1], None, ratio, True, n)


def _in_parts(draft: Draft, lines: dict[int, Line]) -> Staged | None:
    """Return machines whose count stands in one sentence, and what each does in another."""
    counts = [(n, m) for n, line in lines.items() if (m := _ALIKE_COUNT.search(line.line))]
    works = [(n, m, p is _EACH) for n, line in lines.items() for p in (_EACH, _WARMS)
             if (m := p.search(line.line))]  # fmt: skip
    if len(counts) != 1 or len(works) != 1:
        return None
    (n, count), (k, match, cools) = counts[0], works[0]
    if match["what"] not in ((None, "heat") if cools else ("heat",)):
        return None
    made = Staged(
        _value(draft, n, count["count"] or count["same"]), _value(draft, k, match["heat"]),
        _value(draft, k, match["power"]), None, cools, k,
    )  # fmt: skip
    account(draft, n, draft.lines[n], count, "")
    account(draft, k, draft.lines[k], match, "")
    return made


def _value(draft: Draft, n: int, token: str) -> Value:
    amount = draft.lines[n].tokens[int(token)].amount
    assert amount is not None
    return amount_value(amount, draft.source(n, amount))


def _hours(draft: Draft, n: int, token: str) -> Value:
    return replace(_value(draft, n, token), unit="h")


def _rest(line: Line, match: re.Match[str]) -> float | None:
    """Return the window of a rule; None where its words make no upper limit."""
    window, most = (line.tokens[int(match[k])].amount for k in ("window", "most"))
    if window is None or most is None or {window.unit, most.unit} - {"", "h", "hour", "hours"}:
        return None
    more = (match["more"] or "").strip()
    upper = bool(match["atmost"]) or more in ("at most", "no more than", "up to")
    denied = bool(match["not"]) or re.search(r"(?:, |hours )no [a-z]", match[0]) is not None
    fits = denied and more in ("more than", "longer than") and not match["atmost"]
    return window.value if fits is not upper and (fits or not denied) else None


def add_staged(system: "System", staged: Staged) -> None:
    """Add machines that are on or off to the balances."""
    builder, draft = system.builder, system.builder.draft
    number = staged.count.number
    if number is None or number != int(number) or not 1 <= number <= 40:
        draft.doubt(staged.line, "how many machines are there?")
        return
    carrier = "cooling" if staged.cools else "heat"
    name = "cooler" if staged.cools else "heater"
    count = builder.value(f"{name}_count", staged.count, "number of machines that are alike")
    heat = builder.value(f"{name}_each", staged.heat, f"{carrier} of a machine while it is on")
    if staged.power is not None:
        power = builder.value(f"{name}_power", staged.power, "electric power of a machine")
    elif staged.ratio is not None:
        ratio = builder.value(f"{name}_ratio", staged.ratio, "electricity for cooling")
        power = builder.derived(f"{name}_power", f"{ratio}*{heat}", "kW",
                                "electric power of a machine", [ratio, heat])  # fmt: skip
    else:
        draft.doubt(staged.line, "what does such a machine draw?")
        return
    on = f"{name}_on"
    entry: Json = {"name": on, "unit": "1", "quantity": f"{name}.on", "role": "decision"}
    if staged.rests:
        names = f"{name}s"
        units = [f"{name}_{k + 1}" for k in range(int(number))]
        builder.sets.append({"name": names, "kind": "labels", "elements": units})
        builder.variables.append(entry | {"index": [f"u in {names}", "t in T"], "type": "binary",
                                          "description": "1 while a machine is on"})  # fmt: skip
        running = f"sum({on}[u, t] for u in {names})"
        _add_rests(system, staged, on, names)
    else:
        many: Json = {"index": ["t in T"], "type": "integer", "lower": 0, "upper": count}
        builder.variables.append(entry | many | {"description": "machines that are on"})
        running = f"{on}[t]"
    system.supply(carrier, f"{heat}*{running}")
    system.demand("electricity", f"{power}*{running}", None)
    system.staged[carrier] = builder.derived(
        f"{name}_most", f"{count}*{heat}", "kW", f"{carrier} of all machines", [count, heat]
    )


def _add_rests(system: "System", staged: Staged, on: str, names: str) -> None:
    """Limit the hours that each machine is on in every window of the plan."""
    builder = system.builder
    hours = builder.axis.step_minutes / 60
    for window, longest, line in staged.rests:
        most = builder.value("hours_on", longest, "most hours that a machine is on in a window")
        steps = window / hours
        if abs(steps - round(steps)) > 1e-9 or steps < 1:
            builder.draft.doubt(line, "a window that is no number of steps")
            continue
        inside = f"pos(t) <= pos(s) <= pos(t) + {round(steps) - 1}"
        constrain(
            builder, "hours on in a window",
            f"sum({on}[u, s]*dt(s) for s in T if {inside}) <= {most}", "Operational Logic",
            line, [f"u in {names}", "t in T"],
        )  # fmt: skip
