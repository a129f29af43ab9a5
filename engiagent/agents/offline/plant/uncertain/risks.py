"""How an objective weighs scenarios: the mean, the worst, or the mean of the worst."""

import re
from dataclasses import dataclass

from engiagent.agents.offline.amounts import Amount
from engiagent.agents.offline.draft import Draft, Json
from engiagent.agents.offline.goals import Goal
from engiagent.agents.offline.plant.uncertain.scenariolists import share_of
from engiagent.agents.offline.plant.uncertain.scenarios import Scenarios
from engiagent.agents.offline.plant.uncertain.stages import phrases, take_words


@dataclass(frozen=True)
class Risk:
    """A measure of an uncertain outcome: ``expected``, ``worst`` or ``cvar`` with its level."""

    measure: str
    alpha: float | None
    line: int

    def to_json(self) -> Json:
        """Return it as a blueprint has it."""
        return {"measure": self.measure} | ({"alpha": self.alpha} if self.alpha is not None else {})


def take_risk(draft: Draft, goal: Goal | None, scenarios: Scenarios) -> Risk | None:
    """Return how the objective weighs the scenarios; None, with the reason reported, if unclear."""
    if goal is None:
        return None
    _denied(draft, goal)
    n = goal.line
    found = [r for r in (_tail(draft, n, scenarios), _level(draft, n), _worst(draft, n, scenarios))
             if r is not None]  # fmt: skip
    mean = _mean(draft, n)
    if mean is not None and not found:
        take_words(draft, n, mean)
        return Risk("expected", None, n)
    kinds = {(r.measure, r.alpha if r.alpha is None else round(r.alpha, 9)) for r in found}
    if len(kinds) == 1 and mean is None:
        return found[0]
    clear = "the objective weighs the scenarios in several ways" if found else (
        "is the mean over the scenarios meant, or the worst of them?"
    )  # fmt: skip
    draft.doubt(n, clear)
    return None


def _mean(draft: Draft, n: int) -> re.Match[str] | None:
    """Return the words of a line that ask for the mean, other than those of a tail."""
    line = draft.lines[n]
    for match in phrases()["expected"].finditer(line.line):
        if not draft.is_taken(n, line.token_at(match.start())):
            return match
    return None


def _denied(draft: Draft, goal: Goal) -> None:
    """Take 'we do not want the best average', where the objective says what is wanted."""
    for n, line in enumerate(draft.lines):
        for match in phrases()["denied"].finditer(line.line):
            draft.take(n, line.covered(*match.span()))
            if n == goal.line:
                draft.doubt(n, "what is wanted and what is not stand in one sentence")


def _amount(draft: Draft, n: int, match: re.Match[str], group: str) -> Amount | None:
    place = match[group]
    return None if place is None else draft.lines[n].tokens[int(place)].amount


def _tail(draft: Draft, n: int, scenarios: Scenarios) -> Risk | None:
    """Return the mean of the worst few of scenarios that are equally likely."""
    match = phrases()["tail"].search(draft.lines[n].line)
    if match is None:
        return None
    few = _amount(draft, n, match, "few")
    count = few.value if few is not None else 0.0
    every = _amount(draft, n, match, "all")
    total = len(scenarios.names)
    if scenarios.weights or not 0 < count < total or (every is not None and every.value != total):
        draft.doubt(n, "the mean of the worst of scenarios that are not equally likely, or counted")
        return None
    _take(draft, n, match)
    return Risk("cvar", 1 - count / total, n)


def _level(draft: Draft, n: int) -> Risk | None:
    match = phrases()["cvar"].search(draft.lines[n].line)
    if match is None:
        return None
    level = _amount(draft, n, match, "level")
    alpha = share_of(level) if level is not None else 0.0
    _take(draft, n, match)
    if not 0.5 <= alpha < 1:
        draft.doubt(n, "is this level the share of the tail, or of what lies before it?")
        return None
    return Risk("cvar", alpha, n)


def _worst(draft: Draft, n: int, scenarios: Scenarios) -> Risk | None:
    for match in phrases()["worst"].finditer(draft.lines[n].line):
        covered = draft.lines[n].covered(*match.span())
        if all(draft.is_taken(n, i) for i in covered):
            continue
        every = _amount(draft, n, match, "all2")
        if every is not None and every.value != len(scenarios.names):
            draft.doubt(n, "the worst of how many scenarios?")
        _take(draft, n, match)
        return Risk("worst", None, n)
    return None


def _take(draft: Draft, n: int, match: re.Match[str]) -> None:
    """Take a measure with its numbers, which say how the scenarios count."""
    take_words(draft, n, match, "weighs scenarios")
    line = draft.lines[n]
    for i in line.covered(*match.span()):
        amount = line.tokens[i].amount
        if amount is not None:
            entry = {"span": list(amount.span), "quote": amount.quote,
                     "reason": "says how the scenarios count together"}  # fmt: skip
            if entry not in draft.unused:
                draft.unused.append(entry)
