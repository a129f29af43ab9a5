"""Needs of cold in lists, 'the milk needs 60, 180 and 40 kW of cooling', and cold for power."""

import re
from dataclasses import replace
from typing import Final

from engiagent.agents.offline.draft import Draft, Reading, Value, amount_value
from engiagent.agents.offline.plant.cold.duties import only_of
from engiagent.agents.offline.plant.units import Instance, Plant, pattern_of

_COLD: Final = r"of (?:cooling|cold|chilled water|refrigeration)"
_NEED: Final = re.compile(
    r"(?:^|[,;] |> )(?P<who>(?:(?:the|our|this|all) )?[a-z'-]+(?: [a-z'-]+){0,4}?)"
    r" (?:needs?|requires?|takes?|(?:has|have) to be given|(?:is|are) to be cooled with)"
    rf" <list_power#(?P<list>\d+)>(?P<cold> {_COLD})?(?= ?[,;.]|$)"
)
_RESTRICTS: Final = re.compile(
    r"(?<![a-z-])(?:if|when|whenever|unless|except|only|until|before|after|least|most|or|another"
    r"|other|additional|further|half|each|every|either|may|can|might|not|never)(?![a-z-])"
)
_FOR_EVERY: Final = re.compile(
    r"(?:needs?|draws?|takes?|uses?) (?:<power#(?P<one>\d+)>|one kw|a kw|one kilowatt)"
    r"(?: of (?:electricity|electric power))? for (?:every|each) <power#(?P<cold>\d+)>"
    rf"(?: {_COLD})?(?: (?:that )?(?:it|they) (?:makes?|gives?))?(?: in (?:both|either) cases?)?"
)


def take_needed_lists(draft: Draft, plant: Plant) -> tuple[Plant, list[int]]:
    """Return the plant with the load of a list of needs, and the lengths of such lists."""
    lengths: list[int] = []
    cools = any("cooling" in i.unit.card.get("supplies", {}) for i in plant.instances)
    others = any({"heat", "electricity"} & set(i.unit.card.get("supplies", {}))
                 for i in plant.instances)  # fmt: skip
    for n, line in enumerate(draft.lines):
        match = _NEED.search(line.line)
        if match is None or line.sentence.is_heading or n in draft.table_lines or not cools:
            continue
        i = int(match["list"])
        token = line.tokens[i]
        units = {a.unit for a in token.amounts}
        clear = bool(match["cold"]) or not others
        machine = any(u.finder.search(match["who"]) for u in plant.instances)
        if draft.is_taken(n, i) or len(units) != 1 or not clear or machine:
            continue
        if _RESTRICTS.search(match[0]) or lengths:
            continue
        plant = _loaded(plant)
        name = plant.of("cooling_load")[0].name
        sources = [{"kind": "text", "span": list(a.span), "quote": a.quote} for a in token.amounts]
        values = tuple(a.value for a in token.amounts)
        draft.series.setdefault((name, "cooling"), Value(units.pop(), sources, numbers=values))
        first = line.token_at(match.start("who"))
        draft.take(n, [k for k in line.covered(*match.span()) if k >= first])
        lengths.append(len(values))
    return plant, lengths


def _loaded(plant: Plant) -> Plant:
    if plant.of("cooling_load"):
        return plant
    unit = plant.units["cooling_load"]
    added = Instance("cooling_load", unit, pattern_of(unit.nouns))
    return replace(plant, instances=(*plant.instances, added))


def take_cold_for_power(draft: Draft, plant: Plant) -> None:
    """Read 'one kW for every 2.7 kW of cold' as the COP of the only chiller."""
    chiller = only_of(plant, ("chiller",))
    for n, line in enumerate(draft.lines):
        match = _FOR_EVERY.search(line.line)
        if match is None or chiller is None or line.sentence.is_heading:
            continue
        cold = line.tokens[int(match["cold"])].amount
        one = line.tokens[int(match["one"])].amount if match["one"] else None
        if cold is None or (one is not None and (one.value, one.unit) != (1.0, cold.unit)):
            continue
        if one is None and cold.unit != "kW":
            continue
        value = replace(amount_value(cold, draft.source(n, cold)), unit="1")
        slot, span = chiller.unit.slots["cop"], line.sentence.span
        draft.readings.append(Reading(chiller.name, slot, value, "value", n, span))
        draft.take(n, list(line.covered(*match.span())))
        if one is not None:
            reason = "the unit of electricity that the cold is given for"
            draft.unused.append({"span": list(one.span), "quote": one.quote, "reason": reason})
