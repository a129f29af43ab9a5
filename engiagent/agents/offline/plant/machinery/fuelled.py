"""Plants that a text calls by their fuel: 'biogas from 3 MW to 12 MW' behind 'a biogas plant'."""

import re
from dataclasses import replace
from typing import Final

from engiagent.agents.offline.draft import Draft
from engiagent.agents.offline.plant.units import Plant, pattern_of

_FUELS: Final = ("biogas", "biomass", "diesel", "landfill gas", "sewage gas")
_MADE: Final = r"(?:plant|unit|generator|engine|set|station)s?"


def with_fuelled(plant: Plant, draft: Draft) -> Plant:
    """Give the only generator of a plant the name of its fuel, where a power follows that name."""
    units = plant.of("genset")
    lines = [line.line for line in draft.lines if not line.sentence.is_heading]
    for fuel in _FUELS if len(units) == 1 else ():
        bare = re.compile(
            rf"(?<![a-z-]){fuel}(?! {_MADE})(?: (?:from|between|with|of|runs?|gives?|delivers?"
            r"|at most|at least|up to|,|:))* <power#"
        )
        named = any(re.search(rf"(?<![a-z-]){fuel} {_MADE}", text) for text in lines)
        bought = re.compile(rf"(?<![a-z-]){fuel} (?:costs?|prices?|is bought|at <price|for <price)")
        if not named or not any(bare.search(text) for text in lines):
            continue
        if any(bought.search(text) for text in lines):
            continue  # there it is what is burnt
        known = plant.units["fuel"]
        rest = "|".join(noun for noun in known.nouns.split("|") if noun != fuel)
        others = any(pattern_of(rest).search(text) for text in lines)
        instances = tuple(
            replace(i, noun=fuel) if i is units[0] else i
            for i in plant.instances if i.unit.component != "fuel" or others
        )  # fmt: skip
        return replace(
            plant, units={**plant.units, "fuel": replace(known, nouns=rest)}, instances=instances
        )
    return plant
