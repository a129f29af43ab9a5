"""What nothing took: numbers, times of the day, requirement words, things without a component."""

import re
from dataclasses import replace
from itertools import pairwise
from typing import Final

from engiagent.agents.offline.cards import lexicon
from engiagent.agents.offline.draft import Draft
from engiagent.agents.offline.tokens import Line

_NEGATED: Final = re.compile(
    r"(?:no|not|without|neither|nor|none|never|isn't|former|old|removed|lacks?|not considered)"
    r"(?: [a-z-]+){0,3} $"
)
_CLAUSE_MARKS: Final = frozenset({",", ";", "and", "but", "while", "(", ")"})
_INTEGRATION: Final = frozenset({"euler", "implicit", "exact"})
_FRACTIONS: Final = frozenset(
    [
        "half",
        "third",
        "quarter",
        "fifth",
        "tenth",
        "twice",
        "double",
        "triple",
        "other",
        "another",
        "changes",
        "change",
        "if",
        "unless",
        "while",
        "whenever",
        "until",
        "except",
        "provided",
    ]
)
_LIMITS: Final = frozenset(
    ["emptyword", "fullword", "halfword", "timeword", "always", "must", "only", "cond", "keep",
     "exclusive", "least", "most", "below", "above", "end", "loss", "standing"]
)  # fmt: skip
_ALONE: Final = frozenset({"uncounted", "untold", "ratchet"})
_PIECES: Final = frozenset({",", ";", ":"})
_JOINTS: Final = _PIECES | {"and", "but"}
_NEVER_BACKGROUND: Final = frozenset(
    {"price", "heat_capacity", "resistance", "conductance", "cycles", "daily_cycles", "rate"}
)
_YEAR: Final = re.compile(r"(?:19|20)\d\d")


def account(draft: Draft, goal: int | None = None) -> None:
    """Report every sentence in which something stays without a meaning.

    ``goal`` is the line of the objective, which other rules read.
    """
    for n, line in enumerate(draft.lines):
        if line.sentence.is_heading:
            continue
        if _obeys_no_command(draft, n, line):
            continue
        _numbers(draft, n, line)
        _times(draft, n, line)
        _requirements(draft, n, line)
        _foreign(draft, n, line)
        _unknown(draft, n, line)
        if n != goal:
            _weighed(draft, n, line)


def _weighed(draft: Draft, n: int, line: Line) -> None:
    """Report what nothing took of a sentence where a word of it may change the problem."""
    from engiagent.agents.offline.plant.language.background import gives_reason, says_nothing
    from engiagent.agents.offline.plant.language.statements import stated
    from engiagent.agents.offline.plant.language.weight import bearing_word, weighty_word
    from engiagent.agents.offline.plant.language.words import (
        NEUTRAL,
        UNKNOWN,
        card_words,
        group,
        mark,
        vocabulary,
    )
    from engiagent.agents.offline.plant.units import nouns

    refused = any(e.span == line.sentence.span for e in draft.not_understood)
    if n in draft.table_lines or refused or not line.tokens:
        return
    known = {i: NEUTRAL for i, t in enumerate(line.tokens) if t.text in card_words(scope=False)}
    found, last = mark(line, vocabulary(nouns())), len(line.tokens)
    found = replace(
        found,
        concepts=tuple(known[i] if c == UNKNOWN and i in known else c
                       for i, c in enumerate(found.concepts)),
    )  # fmt: skip
    if says_nothing(found, 0, last) or gives_reason(found, 0, last):
        return
    solved = any(f.line == n and f.name in _INTEGRATION for f in draft.facts)
    edges = [0, *(i for i in range(1, last) if line.tokens[i].text in _PIECES), last]
    for a, b in pairwise(edges):
        if solved and line.tokens[a].text == ":":
            return  # what a rule of integration is, in words
        start = next((i for i in range(a, b) if line.tokens[i].text not in _JOINTS), b)
        if start < b and (says_nothing(found, start, b) or gives_reason(found, start, b)):
            continue
        taken = any(draft.is_taken(n, i) for i in range(a, b))
        judge = weighty_word if taken else bearing_word
        done = {i for i in range(a, b) if draft.is_taken(n, i)}
        done |= {i for i in known if taken and line.tokens[i].text not in _FRACTIONS}
        word = judge(found, a, b, done.__contains__)
        said = found.said(a, b)
        limits = said & _ALONE or (said & _LIMITS and said - group("triggers") - _LIMITS)
        if word is None and not taken and limits and stated(said) is None:
            word = next(t.text for t, c in zip(line.tokens[a:b], found.concepts[a:b], strict=True)
                        if c in _LIMITS | _ALONE)  # fmt: skip
        word = word or _spelled(draft, n, line, range(a, b))
        if word is not None:
            draft.refuse(n, f"nothing covers this, and '{word}' may matter")
            return


def _spelled(draft: Draft, n: int, line: Line, piece: range) -> str | None:
    """Return a number in words that nothing took, as in 'two of these' and 'ten per cent'."""
    for i in piece[:-1]:
        amount = line.tokens[i].amount
        parts = line.tokens[i + 1].text in ("of", "per", "times")
        if amount is None or draft.is_taken(n, i) or not parts:
            continue
        if not re.search(r"\d", amount.quote) and amount.value > 1:
            return amount.quote
    return None


def _unknown(draft: Draft, n: int, line: Line) -> None:
    """Report words that nothing knows beside a number that found its place."""
    from engiagent.agents.offline.plant.language.words import card_words, mark, vocabulary
    from engiagent.agents.offline.plant.units import nouns

    if not any(t.amount is not None and draft.is_taken(n, i) for i, t in enumerate(line.tokens)):
        return
    found = mark(line, vocabulary(nouns()))
    known = card_words() | {t.text for i, t in enumerate(line.tokens) if draft.is_taken(n, i)}
    strange = [word for word in dict.fromkeys(found.unknown()) if word not in known]
    if strange:
        draft.refuse(n, f"unknown words beside a number: {', '.join(strange)}")


def _free(draft: Draft, n: int, line: Line, match: re.Match[str]) -> bool:
    return any(not draft.is_taken(n, i) for i in line.covered(*match.span()))


def _obeys_no_command(draft: Draft, n: int, line: Line) -> bool:
    for match in lexicon().scope["command"].finditer(line.line):
        if _free(draft, n, line, match):
            draft.refuse(n, f"'{match[0]}' tells the reader what to do; that is no requirement")
            return True
    return False


def _numbers(draft: Draft, n: int, line: Line) -> None:
    for i, token in enumerate(line.tokens):
        if draft.is_taken(n, i):
            continue
        if token.kind == "list":
            draft.refuse(n, f"the list {token.text!r} has no place")
        amount = token.amount
        if amount is None:
            continue
        reason = _background(draft, n, line, i)
        if reason is not None:
            draft.unused.append(
                {"span": list(amount.span), "quote": amount.quote, "reason": reason}
            )
        elif amount.unit or re.search(r"\d", amount.quote) or _of_time(line, i):
            draft.refuse(n, f"nothing takes the number {amount.quote}")


def _of_time(line: Line, i: int) -> bool:
    """Whether a number in words counts hours or days."""
    behind = line.tokens[i + 1].text if i + 1 < len(line.tokens) else ""
    return behind in ("hours", "minutes", "days", "nights", "weeks")


def _background(draft: Draft, n: int, line: Line, i: int) -> str | None:
    """Return why a number plainly belongs to the background, None when it may matter."""
    amount = line.tokens[i].amount
    assert amount is not None
    if n in draft.table_lines:
        return None
    if amount.value == 0 and re.search(r"(?:between|from) $", line.line[: line.starts[i]]):
        return "the lower end of a range that begins at nothing"
    asks = lexicon().scope["requirement"].search(line.line)
    if amount.kind == "number" and _YEAR.fullmatch(amount.quote) and not asks:
        return "a year"
    strong = amount.kind in ("power", "energy", "percent", "temperature")
    which = "strong_background" if strong else "background_words"
    words = lexicon().scope[which].search(line.line)
    if words is not None and not asks and amount.kind not in _NEVER_BACKGROUND:
        return f"background ('{words[0]}'); enters no equation"
    if amount.kind in lexicon().background_kinds and not asks:
        return "nothing in the model is measured in this unit"
    return None


def _times(draft: Draft, n: int, line: Line) -> None:
    for i, token in enumerate(line.tokens):
        if token.kind in ("period", "period_open", "rest") and not draft.is_taken(n, i):
            busy = any(
                draft.is_taken(n, k) and line.tokens[k].amount for k in range(len(line.tokens))
            )
            asks = lexicon().scope["requirement"].search(line.line)
            if token.kind != "rest" or busy or asks:
                draft.refuse(n, f"the times '{token.text}' belong to nothing")
        if token.kind == "clock" and not draft.is_taken(n, i) and _busy_clause(draft, n, line, i):
            draft.refuse(n, f"the time '{token.text}' belongs to nothing")


def _requirements(draft: Draft, n: int, line: Line) -> None:
    scope = lexicon().scope
    asks = False
    for match in scope["requirement"].finditer(line.line):
        asks = True
        if not _free(draft, n, line, match) or _explained(draft, n, line, match):
            continue
        draft.refuse(n, f"no rule covers the requirement '{match[0]}'")
    bears = asks or any(
        t.amount is not None and draft.is_taken(n, i) for i, t in enumerate(line.tokens)
    )
    for match in scope["condition"].finditer(line.line):
        if bears and _free(draft, n, line, match):
            draft.refuse(n, f"no rule covers the condition '{match[0]}'")


def _busy_clause(draft: Draft, n: int, line: Line, i: int) -> bool:
    """Whether a number, or a requirement that no rule took, stands in the clause of a time."""
    clause = _clause(line, i, i + 1)
    if any(draft.is_taken(n, k) and line.tokens[k].amount for k in clause):
        return True
    return any(
        _free(draft, n, line, match) and set(line.covered(*match.span())) & set(clause)
        for match in lexicon().scope["requirement"].finditer(line.line)
    )


def _explained(draft: Draft, n: int, line: Line, match: re.Match[str]) -> bool:
    """Whether a number that found its place stands in the same clause."""
    tokens = line.covered(*match.span())
    clause = _clause(line, tokens[0], tokens[-1] + 1)
    return any(draft.is_taken(n, i) and line.tokens[i].amount for i in clause)


def _clause(line: Line, start: int, stop: int) -> range:
    while start > 0 and line.tokens[start - 1].text not in _CLAUSE_MARKS:
        start -= 1
    while stop < len(line.tokens) and line.tokens[stop].text not in _CLAUSE_MARKS:
        stop += 1
    return range(start, stop)


def _foreign(draft: Draft, n: int, line: Line) -> None:
    for match in lexicon().scope["foreign"].finditer(line.line):
        if _free(draft, n, line, match) and not _NEGATED.search(line.line[: match.start()]):
            draft.refuse(n, f"the engine knows nothing of '{match[0]}'")
