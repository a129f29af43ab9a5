"""Two readings of one text that meet: names, normalisation, solve, comparison."""

from engiagent.agents.meeting.meeting import meet
from engiagent.agents.meeting.nomenclature import Nomenclature, nomenclature
from engiagent.agents.meeting.normalising import normalise
from engiagent.agents.meeting.plans import Side, solve_reading
from engiagent.agents.meeting.record import Difference, Meeting, Statement

__all__ = [
    "Difference",
    "Meeting",
    "Nomenclature",
    "Side",
    "Statement",
    "meet",
    "nomenclature",
    "normalise",
    "solve_reading",
]
