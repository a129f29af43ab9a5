"""Which words of a text mean machines that make cold, and stores of it, where no noun says so."""

import re
from collections.abc import Mapping, Sequence
from typing import Final

from engiagent.agents.offline.plant.units import GENERIC, Instance, Unit, pattern_of
from engiagent.agents.offline.tokens import Line

_NOUNS: Final = (
    r"(?:refrigeration|refrigerating|compression|cooling|glycol|brine)"
    r" (?:machines?|plants?|units?)",
    r"compressors?",
    r"(?<!washing )(?<!coffee )machines?(?! tools?)",
    r"plants?",
)
_MAKES: Final = re.compile(
    r"(?<![a-z])(?:makes?|gives?|delivers?|produces?|provides?|supplies)(?![a-z])[^;.]*<power#\d+>"
    r" of (?:cold|cooling)(?![a-z])"
)
_OTHER_TANK: Final = re.compile(
    r"(?:fuel|oil|diesel|gas|expansion|header|fire|fish|water supply|drinking water)[- ]$"
)
_HOT: Final = re.compile(r"(?<![a-z])(?:heat|hot|warm|heating|boiler)(?![a-z])")
_HEATS: Final = frozenset({"heat_load", "boiler", "chp", "heat_pump", "electric_heater", "zone"})


def cold_nouns(lines: Sequence[Line], chiller: re.Pattern[str]) -> str:
    """Return the nouns of a text for what makes cold, where it speaks of no chiller."""
    text = [line.line for line in lines if not line.sentence.is_heading]
    if any(chiller.search(t) for t in text) or not any(_MAKES.search(t) for t in text):
        return ""
    found = [noun for noun in _NOUNS if any(pattern_of(noun).search(t) for t in text)]
    return "|".join(found)


def with_cold_stores(
    known: Mapping[str, Unit],
    lines: Sequence[Line],
    instances: Sequence[Instance],
    denied: re.Pattern[str],
) -> list[Instance]:
    """Take a buffer or a tank for a store of cold where cold is made and nothing is heated.

    ``denied`` is what stands before a noun of what is not there.
    """
    kinds = {i.unit.component for i in instances}
    if "chiller" not in kinds or kinds & (_HEATS | {"cold_store", "battery", "vehicle"}):
        return list(instances)
    spoken = [line for line in lines if not line.sentence.is_heading]
    if any(_HOT.search(line.line) for line in spoken):
        return list(instances)
    heat = [i for i in instances if i.unit.component == "heat_store"]
    words = heat[0].finder if heat else pattern_of(GENERIC["@store"][0])
    mentions = [
        line.line[: match.start()] for line in spoken for match in words.finditer(line.line)
    ]
    there = [b for b in mentions if not _OTHER_TANK.search(b) and not denied.search(b)]
    if len(heat) > 1 or not there:
        return list(instances)
    noun = known["heat_store"].nouns if heat else ""
    store = Instance("cold_store", known["cold_store"], words, noun=noun)
    return [*(i for i in instances if i not in heat), store]
