"""Of which of several rooms something is said: of each, of one that is named, or of some alone."""

import re
from collections.abc import Iterable, Sequence
from typing import Final

from engiagent.agents.offline.plant.language.reading import Found
from engiagent.agents.offline.plant.spaces.links import Feed
from engiagent.agents.offline.plant.units import Plant

_MEAN: Final = re.compile(r"(?<![a-z])(?:means?|averages?|averaged)(?![a-z])")
_SOME_ROOM: Final = re.compile(
    r"(?<![a-z])(?:(?:one|either|some|most|two|half|neither|which|whichever) of (?:the|them|these"
    r"|those|both)|(?:at least one|another|the other|the former|the latter|the (?:larg|small|warm"
    r"|cold|hott|cool|bigg)[a-z]*|some|either|neither)(?: one)? ?(?:rooms?|zones?|halls?|spaces?)?"
    r"(?= |$))"
)
_EACH_ROOM: Final = re.compile(
    r"(?<![a-z])(?:each|every|both|all|no|any|none)(?: of)?(?: the| these)?(?: <number#\d+>)? $"
)


def is_mean(found: Found, text: str) -> bool:
    """Whether a limit of a temperature is one of a mean."""
    vague = found.slot.component == "zone" and "vague" in found.said
    return vague and _MEAN.search(text) is not None


def of_some(text: str) -> bool:
    """Whether a line speaks of some rooms without naming them: 'one of the rooms'."""
    return _SOME_ROOM.search(text) is not None


def of_each_room(text: str, nouns: re.Pattern[str], finders: Iterable[re.Pattern[str]]) -> bool:
    """Whether a line speaks of each room before any number, and names none of several."""
    each = any(_EACH_ROOM.search(text[: m.start()]) for m in nouns.finditer(text))
    return each and not any(finder.search(text) for finder in finders)


def for_one_room(plant: Plant, feeds: Sequence[Feed], text: str, found: Found) -> bool:
    """Whether a power of a unit stands beside some of several rooms that it serves."""
    zones = plant.of("zone")
    kinds = {"power", "energy", "percent"} & set(found.slot.kinds)
    if len(zones) < 2 or found.slot.component == "zone" or not kinds:
        return False
    named = {z.name for z in zones if z.finder.search(text)}
    units = {u.name for u in plant.of(found.slot.component)}
    fed = {z for feed in feeds if feed.unit in units for z in feed.zones}
    return bool(named) and named != {z.name for z in zones} and not (fed and fed <= named)
