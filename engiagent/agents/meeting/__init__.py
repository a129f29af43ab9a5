"""Two readings of one text that meet: names, normalisation, solve, comparison."""

from engiagent.agents.meeting.meeting import meet
from engiagent.agents.meeting.nomenclature import Entry, IndexName, Nomenclature, nomenclature
from engiagent.agents.meeting.normalising import normalise
from engiagent.agents.meeting.plans import Side, solve_reading
from engiagent.agents.meeting.record import Difference, Meeting, Solved, Statement
from engiagent.agents.meeting.settling import Settled

__all__ = [
    "Difference",
    "Entry",
    "IndexName",
    "Meeting",
    "Nomenclature",
    "Settled",
    "Side",
    "Solved",
    "Statement",
    "meet",
    "nomenclature",
    "normalise",
    "solve_reading",
]
