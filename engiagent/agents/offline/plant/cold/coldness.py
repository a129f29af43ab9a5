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
_DRIVEN: Final = re.compile(r"absorption (?:chill(?:er|ing machine)|machine|plant|unit|cooler)s?")
_OTHER_TANK: Final = re.compile(
    r"(?:fuel|oil|diesel|gas|expansion|header|fire|fish|water supply|drinking water)[- ]$"
)
_HOT: Final = re.compile(r"(?<![a-z])(?:heat|hot|warm|heating|boiler)(?![a-z])")
_COLD: Final = frozenset({"chiller", "absorption_chiller"})
_SOURCES: Final = (
    r"(?:waste )?incinerat(?:ors?|ion plants?)|(?:district )?(?:heat|heating|steam)"
    r" (?:networks?|grids?|mains?|supply)|district heat(?:ing)?|waste heat"
    r"|geothermal (?:well|source)s?"
)
_HEATS: Final = frozenset({"heat_load", "boiler", "chp", "heat_pump", "electric_heater", "zone"})


def cold_nouns(lines: Sequence[Line], chiller: re.Pattern[str]) -> str:
    """Return the nouns of a text for what makes cold, where it speaks of no chiller."""
    text = [_DRIVEN.sub("absorber", line.line) for line in lines if not line.sentence.is_heading]
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
    if not kinds & _COLD or kinds & (_HEATS | {"cold_store", "battery", "vehicle"}):
        return list(instances)
    spoken = [line for line in lines if not line.sentence.is_heading]
    if "absorption_chiller" in kinds:  # heat drives it; of heat is a store that is said to be
        tanks = pattern_of(GENERIC["@store"][0])
        hot = [line for line in spoken if tanks.search(line.line)]
    else:
        hot = spoken
    if any(_HOT.search(line.line) for line in hot):
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


def with_heat_source(known: Mapping[str, Unit], instances: Sequence[Instance]) -> list[Instance]:
    """Add where the heat of absorption machines comes from, if no unit of the plant makes any."""
    kinds = {i.unit.component for i in instances}
    makers = {c for c, unit in known.items() if "heat" in unit.card.get("supplies", {})}
    if "absorption_chiller" not in kinds or kinds & makers:
        return list(instances)
    source = Instance("heat_source", known["heat_source"], pattern_of(_SOURCES), noun=_SOURCES)
    return [*instances, source]


_ADJECTIVE: Final = (
    r"(?:newer|older|larger|smaller|bigger|new|old|large|small|big|left|right|upper|lower)"
)


def told_apart(lines: Sequence[Line], instances: Sequence[Instance]) -> list[Instance]:
    """Return units that are only counted with the names that 'the newer one' gives them."""
    found = list(instances)
    text = [line.line for line in lines if not line.sentence.is_heading]
    for component in {i.unit.component for i in instances}:
        units = [i for i in instances if i.unit.component == component]
        counted = [i for i in units if re.match(r"(?:first|second|third|fourth|fifth)_", i.name)]
        if len(units) < 2 or counted != units:
            continue
        if any(i.finder.search(t) for i in units for t in text):
            continue
        one = rf"the ({_ADJECTIVE}) (?:one|{units[0].unit.nouns})(?![a-z])"
        said = list(dict.fromkeys(m[1] for t in text for m in re.finditer(one, t)))
        if len(said) != len(units):
            continue
        for unit, adjective in zip(units, said, strict=True):
            noun = rf"the {adjective} (?:one|{unit.unit.nouns})"
            found[found.index(unit)] = Instance(f"{adjective}_{component}", unit.unit,
                                                pattern_of(noun), noun=noun)  # fmt: skip
    return found
