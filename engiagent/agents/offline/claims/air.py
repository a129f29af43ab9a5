"""Air handlers: whether a text is on one, and what it says."""

import re
from typing import TYPE_CHECKING, Final

from engiagent.agents.offline.claims.air_model import build
from engiagent.agents.offline.claims.card import domain
from engiagent.agents.offline.claims.study import Opened, named_units, understand
from engiagent.agents.offline.engine import Understanding

if TYPE_CHECKING:
    from engiagent.problems.problem import Problem

_AIR: Final = re.compile(
    r"(?<![a-z])(?:supply air|return air|air handl\w+|mixed air|outdoor air|outside air)"
)
_OTHERS: Final = re.compile(
    r"(?<![a-z])(?:heat pumps?|chillers?|boilers?|turbines?|generators?|batter(?:y|ies)"
    r"|cooling towers?|ice|solar|pv|photovoltaics?|walls?|heat capacity of|thermal mass|kwh/k"
    r"|humidifiers?|heat recovery|enthalpy wheel)(?![a-z])"
)


def understand_air(problem: "Problem") -> Understanding | None:
    """Read a problem on an air handler; None where the text is on something else."""
    opened = Opened(problem)
    lines = [line.line for line in opened.draft.lines if not line.sentence.is_heading]
    spoken = sum(bool(_AIR.search(line)) for line in lines)
    if spoken < 2 or any(_OTHERS.search(line) for line in lines):
        return None
    card = domain("air")
    return understand(opened, card, named_units(opened, card), build)
