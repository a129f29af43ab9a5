"""Sentences that say more of what has been read: 'the deviation counts double after 16:00'.

A wish, an event, a tier or a machine in stages is read from the sentence that states it. Another
sentence that names it and holds a word that could change it is not passed over.
"""

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from engiagent.agents.offline.plant.engine import Reader

_OF_WISHES: Final = r"deviations?|discomfort|complaints?|wish|wishes|penalty|penalties"
_OF_EVENTS: Final = r"events?|credits?|baseline|premiums?|aggregator|flexibility"
_OF_TIERS: Final = r"tiers?|bill"
_OF_STAGES: Final = r"pumps?|units?|fans?|coolers?|machines?|stages?|blowers?"
_CHANGES: Final = re.compile(
    r"(?<![a-z-])(?:double|doubles|doubled|twice|half|halved|thrice|triple|only|not|never|no|none|if"
    r"|unless|except|when|whenever|while|until|after|before|from|each|every|first|last|second|third"
    r"|more|less|fewer|most|least|both|together|instead|cancelled|cancel|must|may|shall|can|cannot"
    r"|limited|counts?|counted|rises?|falls?|paid|pays|squared|cubed|free|reduced|increased|then)"
    r"(?![a-z-])"
)


def guard(reader: "Reader") -> None:
    """Report sentences that may change wishes, events, tiers or stages and that nothing took."""
    named = [
        words for there, words in (
            (reader.wishes, _OF_WISHES),
            ([e for e in reader.events if e.cap or e.baseline], _OF_EVENTS),
            (reader.tiers, _OF_TIERS),
            (reader.staged, _OF_STAGES),
            (reader.wishes and reader.flags, "|".join(reader.flags) or "(?!)"),
        ) if there
    ]  # fmt: skip
    if not named:
        return
    pattern = re.compile(rf"(?<![a-z-])(?:{'|'.join(named)})(?![a-z-])")
    goal = reader.goal.line if reader.goal is not None else -1
    for n, line in enumerate(reader.draft.lines):
        if line.sentence.is_heading or n == goal or n in reader.draft.table_lines:
            continue
        left = " ".join(
            t.text for i, t in enumerate(line.tokens)
            if not reader.draft.is_taken(n, i) and t.kind == "word"
        )  # fmt: skip
        times = any(
            t.period is not None and not reader.draft.is_taken(n, i)
            for i, t in enumerate(line.tokens)
        )
        if pattern.search(left) and (times or _CHANGES.search(left)):
            reader.draft.refuse(n, "this may change what another sentence says of it")
