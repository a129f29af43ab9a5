"""Two readings of one text that meet: names, normalisation, solve, comparison. No language model."""

from engiagent.readings.meeting.meeting import Difference, Meeting, Solved, Statement, meet
from engiagent.readings.meeting.nomenclature import Entry, IndexName, Nomenclature, nomenclature
from engiagent.readings.meeting.normalising import normalise
from engiagent.readings.meeting.plans import Side, solve_reading
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
