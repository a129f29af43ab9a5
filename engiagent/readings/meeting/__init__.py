"""Two readings of one text that meet: names, normalisation, solve, comparison."""

from engiagent.readings.meeting.meeting import meet
from engiagent.readings.meeting.nomenclature import Entry, IndexName, Nomenclature, nomenclature
from engiagent.readings.meeting.normalising import normalise
from engiagent.readings.meeting.plans import Side, solve_reading
from engiagent.readings.meeting.record import Difference, Meeting, Solved, Statement
from engiagent.readings.meeting.settling import Settled

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
