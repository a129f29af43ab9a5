"""What is decided before it is known which scenario comes, and what afterwards."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Final

from engiagent.agents.offline.cards import load_card
from engiagent.agents.offline.draft import Draft, Fact
from engiagent.agents.offline.tokens import Line

_REFERENCES: Final = re.compile(r"\{(it|noun|made|whatever|after|target)\}")
_STEPWISE: Final = re.compile(
    r" (?:,? )?(?:[(]|hour|hourly|step|stepwise|period|quarter|for|in|up|until|every|each|at|within"
    r"|one|two|only|by|from|during)(?![a-z-])"
)
_TARGETS: Final = (
    r"(?:(?:total|daily|overall|yearly|electricity|energy|operating|spot|market|net|heating) )*"
    r"(?:costs?|bills?|incomes?|profits?|margins?|revenues?|earnings|proceeds|expenses?|spending)"
)


Clause = tuple[int, int, int]


@dataclass
class Stages:
    """What a text says of when things are decided.

    Attributes
    ----------
    first, later
        Clauses of which the units are decided before, or after, it is known which scenario comes:
        line, first token, token behind the last one.
    ahead
        Clauses that say that something is decided before, as a commitment is.
    rest, whole
        The line that says so of everything else, and that says that all is decided before.
    """

    first: list[Clause] = field(default_factory=list)
    ahead: list[Clause] = field(default_factory=list)
    later: list[Clause] = field(default_factory=list)
    rest: int | None = None
    whole: int | None = None


@lru_cache(maxsize=1)
def phrases() -> dict[str, re.Pattern[str]]:
    """Return the phrases of the card as texts, references between them put in place."""
    card = load_card("scenarios")
    known = {
        "noun": str(card["sets"]["nouns"]),
        "made": str(card["commitments"]["nouns"]),
        "target": _TARGETS,
    }
    stages = card["stages"]

    def text(raw: Any) -> str:
        joined = "|".join(map(str, raw)) if isinstance(raw, list) else str(raw)
        return _REFERENCES.sub(lambda m: f"(?:{known[m[1]]})", joined)

    for name in ("it", "whatever", "after"):
        known[name] = text(stages[name])
    found = {name: text(raw) for name, raw in {**stages, **card["risks"]}.items()}
    return {name: re.compile(rf"(?<![a-z0-9-])(?:{found[name]})(?![a-z0-9-])") for name in found}


def _found(draft: Draft, name: str) -> Iterator[tuple[int, Line, re.Match[str]]]:
    for n, line in enumerate(draft.lines):
        if line.sentence.is_heading or n in draft.table_lines:
            continue
        for match in phrases()[name].finditer(line.line):
            yield n, line, match


def take_words(draft: Draft, n: int, match: re.Match[str], fact: str = "decided when") -> None:
    """Account for a phrase."""
    line = draft.lines[n]
    covered = line.covered(*match.span())
    draft.take(n, covered)
    first, last = line.tokens[covered[0]], line.tokens[covered[-1]]
    draft.facts.append(Fact(fact, n, (first.span[0], last.span[1]), {}, match[0]))


def take_stages(draft: Draft) -> Stages:
    """Take the phrases on what is decided when, and on what holds in every scenario."""
    stages = Stages()
    for n, _, match in _found(draft, "rest"):
        stages.rest = n
        take_words(draft, n, match)
    for n, _, match in _found(draft, "same"):
        stages.first.append(_clause(draft, n, match))
        take_words(draft, n, match)
        _joint(draft, n)
    for n, line, match in _found(draft, "before"):
        take_words(draft, n, match)
        whole = phrases()["whole"].search(line.line)
        fixed = phrases()["fixed"].search(line.line, 0, match.start())
        if whole is not None:
            take_words(draft, n, whole)
            stages.whole = n
            continue
        if fixed is not None:
            take_words(draft, n, fixed)
            stages.first.append(_clause(draft, n, match))
        stages.ahead.append(_clause(draft, n, match))
    for n, _, match in _found(draft, "balance"):
        take_words(draft, n, match)
    for n, line, match in _found(draft, "after"):
        if n == stages.rest:
            continue
        take_words(draft, n, match)
        stages.later.append(_clause(draft, n, match))
        if _STEPWISE.match(line.line, match.end()):
            draft.refuse(n, "when it becomes known, and for how long")
        lead = phrases()["lead"].search(line.line, match.end())
        if lead is not None:
            take_words(draft, n, lead)
            stages.later += _items(draft, n)
    for n, _, match in _found(draft, "whatever"):
        if not all(draft.is_taken(n, i) for i in draft.lines[n].covered(*match.span())):
            take_words(draft, n, match)
    return stages


def _joint(draft: Draft, n: int) -> None:
    """Take the 'and' or 'that' between two phrases that say that something is fixed."""
    tokens = draft.lines[n].tokens
    for i, token in enumerate(tokens[1:-1], 1):
        beside = draft.is_taken(n, i - 1) and draft.is_taken(n, i + 1)
        if beside and token.text in ("and", "that", "which", ","):
            draft.take(n, [i])


def _clause(draft: Draft, n: int, match: re.Match[str]) -> Clause:
    """Return the clause between semicolons in which a phrase stands."""
    line = draft.lines[n]
    place = line.token_at(match.start())
    cuts = [0, *(i + 1 for i, t in enumerate(line.tokens) if t.text == ";"), len(line.tokens)]
    first = max(c for c in cuts if c <= place)
    return n, first, min(c for c in cuts if c > place)


def _items(draft: Draft, n: int) -> list[Clause]:
    """Return the lines of the list that follows a line."""
    found: list[Clause] = []
    for k in range(n + 1, len(draft.lines)):
        if not draft.lines[k].sentence.is_item or k in draft.table_lines:
            break
        found.append((k, 0, len(draft.lines[k].tokens)))
    return found
