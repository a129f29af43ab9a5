"""What is to be small, in sentences that name no cost: 'which gives the smallest total?'."""

import re
from typing import Final

from engiagent.agents.offline.draft import Draft
from engiagent.agents.offline.goals import Goal, read_goal

_SMALL: Final = (
    r"(?:as (?:small|low|little) as (?:possible|it gets|can be)|smallest|lowest|minimal|least)"
)
_IS: Final = r"(?:is|are|be|becomes?|is to be|are to be|should be|shall be|has to be|must be)"
_PARTS: Final = r"(?:two|both|these|all|them|<number#\d+>)"
_SUM: Final = rf"(?:the )?(?:sum|total)(?: of (?:the )?(?:{_PARTS}|all of them|them all))?"
_COSTS: Final = "(?:heating|electricity|energy|costs?|bill|cooling|gas|heat|power)(?![a-z])"
_LEAST: Final = (
    re.compile(rf"{_SUM} {_IS} {_SMALL}"),
    re.compile(
        rf"(?:the )?{_SMALL} (?:total|sum)(?: of (?:the )?{_PARTS})?(?![a-z])"
        rf"(?! of (?!(?:the )?{_COSTS}))"
    ),
    re.compile(
        r"^(?:and )?what (?:does|will|would|must|do) (?:the|this|that|one|it) ?(?:whole |entire )?"
        r"(?:(?:day|night|week|month|year|heating|cooling|plan|operation|morning|evening) )?"
        r"(?:then )?cost(?: us)? (?:at (?:the )?(?:very )?least|at a minimum)(?= ?[,(]|$)"
    ),
)
_MONEY: Final = re.compile(
    r"(?:burns?|costs?|spends?|uses?|takes?|needs?)(?: us)? as little (?:[a-z]+ ){0,2}money as"
    r" (?:possible|it gets|can be|we can)"
)
_DIFFERENCE: Final = re.compile(
    r"(?P<what>electricity|energy|power|costs?|bill)(?: costs?| bill)?"
    rf" (?:less|minus|net of|plus|and) (?:[a-z]+ ){{1,4}}(?P<small>{_IS} {_SMALL})"
)


_MACHINES: Final = "(?:units?|machines?|pumps?|fans?|one|chillers?|coolers?|heaters?|of them)"
_WHICH: Final = re.compile(
    rf"(?:and |, )?which (?:of the |of them )?{_MACHINES}(?: of them)?"
    r" (?:runs?|is on|are on|should run) (?:in which|when)(?: of the| of these)?"
    r"(?: hours?(?! <))?(?![a-z])"
    rf"|how many (?:of the )?{_MACHINES} (?:should|shall|must|have to|are to|do we|can) ?"
    r"(?:run|be on|be switched on)?(?: in (?:each|every|which) (?:hour|half-hour|step))?"
    r"(?= (?:so|to|give|gives|,)|$| [?])"
)


def _settle(draft: Draft, goal: Goal) -> None:
    """Account for what the sentence of an objective asks beside it, and 'at' in 'at least cost'."""
    line = draft.lines[goal.line]
    for match in _WHICH.finditer(line.line):
        draft.take(goal.line, list(line.covered(*match.span())))
    for i in range(len(line.tokens) - 1):
        small = line.tokens[i + 1].text in ("least", "lowest", "minimum", "minimal")
        if line.tokens[i].text == "at" and small and draft.is_taken(goal.line, i + 1):
            draft.take(goal.line, [i])


_SUMMED: Final = re.compile(
    r"(?P<small>minimi[sz]e) (?:the )?(?:sum of )?(?:the )?(?:costs? of )?"
    r"(?:electricity|energy|heating|cooling|bill|power)(?: costs?| bill)? (?:plus|and) (?:the )?"
    r"(?:costs? of |price of )?(?:discomfort|deviations|comfort)(?![a-z])"
)


def _summed(draft: Draft) -> Goal | None:
    """Return 'minimise electricity plus discomfort', which is one cost and no two objectives."""
    for n, line in enumerate(draft.lines):
        match = None if line.sentence.is_heading else _SUMMED.search(line.line)
        if match is None:
            continue
        span = line.sentence.span
        draft.not_understood[:] = [e for e in draft.not_understood if e.span != span]
        draft.take(n, list(line.covered(*match.span("small"))))
        return Goal("cost", n)
    return None


def asked(draft: Draft) -> Goal | None:
    """Return the objective, also where it is a total or a question."""
    found = read_goal(draft)
    found = _summed(draft) or found
    for n, line in enumerate(draft.lines):
        if line.sentence.is_heading or n in draft.table_lines:
            continue
        match = next((m for p in (*_LEAST, _MONEY) if (m := p.search(line.line))), None)
        sums = _DIFFERENCE.search(line.line) if match is None else None
        if match is None and sums is None:
            continue
        if found is not None and found.target != "cost":
            continue
        span = match.span() if match is not None else sums.span("small") if sums else (0, 0)
        draft.take(n, list(line.covered(*span)))
        found = found or Goal("cost", n)
    if found is not None:
        _settle(draft, found)
    return found
