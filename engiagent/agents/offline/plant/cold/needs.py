"""Needs that never change: 'the cleanrooms need 640 kW of cooling all night'."""

import re
from dataclasses import replace
from typing import Final

from engiagent.agents.offline.amounts import Amount
from engiagent.agents.offline.draft import Draft, Fact, Reading, amount_value
from engiagent.agents.offline.plant.cold.duties import lasts
from engiagent.agents.offline.plant.cold.modes import Modes
from engiagent.agents.offline.plant.units import Instance, Plant, nouns, pattern_of
from engiagent.agents.offline.timing import Axis
from engiagent.agents.offline.tokens import Line

_EVER: Final = (
    r"(?:(?:flat|constant|constantly|steadily|evenly) )?(?:all (?P<part>day|night)(?: long)?"
    r"|day and night|(?:a)?round the clock|at all times|at any time|all the time|constantly"
    r"|continuously|throughout|in every hour|in each hour|every hour|each hour|always|<allday#\d+>"
    r"|without (?:a )?(?:pause|break|interruption)|flat|constant)"
)
_COLD: Final = r"of (?:cooling|cold|chilled water|refrigeration)"
_NEED: Final = re.compile(
    r"(?:^|[,;] )(?P<who>(?:[a-z'-]+ ){1,8}?)"
    r"(?:(?P<needs>needs?|requires?|takes?|demands?|(?:has|have) to be given|must be given)"
    r"|(?P<gives>gives?(?: off)?|releases?|produces?|makes?|dissipates?))"
    r" (?:an? (?:constant|steady|flat) )?<power#(?P<power>\d+)>"
    rf"(?: (?P<cold>{_COLD})| (?P<heat>of (?:waste )?heat))?"
    rf"(?P<ever>(?: ,)? {_EVER}(?: ,? ?{_EVER.replace('?P<part>', '?:')})?)?"
    r"(?= ?[,;.]|$| and (?!<))"
)
_LOAD: Final = re.compile(
    r"(?:^|[,;] )(?P<who>(?:the |our )?(?:cooling |heat )?(?:load|need|demand)(?: of (?:the |our )?"
    r"[a-z-]+(?: [a-z-]+)?)?) (?P<needs>is)(?P<gives>(?!))? <power#(?P<power>\d+)>"
    rf"(?: (?P<cold>{_COLD})|(?P<heat>(?!)))?(?P<ever>(?: ,)? {_EVER})(?= ?[,;.]|$)"
)
_RESTRICTS: Final = re.compile(
    r"(?<![a-z-])(?:if|when|whenever|while|unless|except|only|until|before|after|during|may|can|might"
    r"|no|not|never|another|further|additional|other|some|part|half|each|every|either|neither|or"
    r"|last|next|usually|normally|often)(?![a-z-])"
)


def take_needs(draft: Draft, plant: Plant, modes: Modes | None, axis: Axis | None) -> Plant:
    """Return the plant with a load for a need of cold that never changes, if there is one.

    The words are accounted for. Where the plant is a choice of modes that each serve the load,
    the need itself enters nothing.
    """
    machines = pattern_of(
        "|".join(text for name, text in nouns(plant).items() if _makes(plant, name))
        or "(?!)x"
    )  # fmt: skip
    for n, line in enumerate(draft.lines):
        if line.sentence.is_heading or n in draft.table_lines:
            continue
        match = _NEED.search(line.line) or (_LOAD.search(line.line) if modes is not None else None)
        amount = line.tokens[int(match["power"])].amount if match is not None else None
        if match is None or amount is None or draft.is_taken(n, int(match["power"])):
            continue
        numbers = [t for t in line.tokens if t.amount is not None or t.period or t.kind == "clock"]
        known = _RESTRICTS.search(line.line) or machines.search(match["who"])
        if known or len(numbers) != 1 or not lasts(match["part"], axis):
            continue
        if modes is not None and _of_cold(match):
            _aside(draft, n, line, match, amount)
            if match.re is _LOAD and ("load", "power") not in draft.series:
                # 'The load of the hall' is that of cooling; any other load stays unread.
                kept = tuple(i for i in plant.instances if i.unit.component != "load")
                plant = replace(plant, instances=kept)
        elif match["needs"] and match["cold"] and _cools(plant):
            plant = _loaded(draft, plant, n, amount)
            draft.take(n, list(line.covered(*match.span())))
    return plant


def _makes(plant: Plant, name: str) -> bool:
    unit = plant.units.get(name)
    return unit is not None and bool(unit.card.get("output")) and bool(plant.of(name))


def _cools(plant: Plant) -> bool:
    return any("cooling" in i.unit.card.get("supplies", {}) for i in plant.instances)


def _of_cold(match: re.Match[str]) -> bool:
    """Whether a need, or the heat that is given off, has to be met by cooling all the time."""
    if match["gives"]:
        return bool(match["heat"])
    return not match["heat"] and bool(match["cold"] or match["ever"])


def _aside(draft: Draft, n: int, line: Line, match: re.Match[str], amount: Amount) -> None:
    draft.take(n, list(line.covered(*match.span())))
    reason = "the load, which every mode serves in full"
    draft.unused.append({"span": list(amount.span), "quote": amount.quote, "reason": reason})


def _loaded(draft: Draft, plant: Plant, n: int, amount: Amount) -> Plant:
    """Add the load of a need, and what it is."""
    unit = plant.units["cooling_load"]
    if not plant.of("cooling_load"):
        added = Instance("cooling_load", unit, pattern_of(unit.nouns))
        plant = replace(plant, instances=(*plant.instances, added))
    name = plant.of("cooling_load")[0].name
    value = amount_value(amount, draft.source(n, amount))
    span = draft.lines[n].sentence.span
    draft.readings.append(Reading(name, unit.slots["cooling"], value, "value", n, span, "demand"))
    return plant


_CAN: Final = re.compile(
    r"(?:(?:the )?(?:most |largest )?(?:heat|steam|power|energy) )?(?:that|which|what)"
    r" (?:the |our )?(?:[a-z-]+ ){1,4}(?:can|may) (?:give|deliver|supply|provide|spare)"
    r"(?: at (?:the )?most)?"
    r"(?= ?[,;.]|$| and )"
)
_TOPS: Final = frozenset({"heat_max", "available_power"})


def take_described(draft: Draft) -> None:
    """Account for 'what the incinerator can give at most' behind a column that is just that."""
    tops = {
        value.data.split("#", 1)[1] for (_, slot), value in draft.series.items()
        if slot in _TOPS and value.data is not None
    }  # fmt: skip
    for n, line in enumerate(draft.lines):
        for match in _CAN.finditer(line.line):
            before = [t.text for t in line.tokens[: line.token_at(match.start())]
                      if t.kind == "code"]  # fmt: skip
            if before and before[-1] in tops:
                covered = list(line.covered(*match.span()))
                span = (line.tokens[covered[0]].span[0], line.tokens[covered[-1]].span[1])
                draft.facts.append(Fact("background", n, span, {}, match[0]))
                draft.take(n, covered)
