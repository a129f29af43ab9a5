"""Units that are told apart by numbers: 'chiller 1', 'pump no. 2', 'unit #3'."""

import re
from typing import Final

from engiagent.agents.offline.draft import Draft
from engiagent.agents.offline.phrases import relined
from engiagent.agents.offline.plant.units import catalogue, pattern_of
from engiagent.agents.offline.tokens import Line, Token

_MOST: Final = 20
_BETWEEN: Final = frozenset({"no", "no.", "nr", "nr.", "number", "#"})


def name_numbers(draft: Draft) -> None:
    """Make the numbers that name units words, and account for them.

    A number directly behind the noun of a unit is its name where it is whole, small, without a
    unit, and where another number stands behind the same noun elsewhere.
    """
    found: dict[str, dict[str, list[tuple[int, range]]]] = {}
    patterns = {name: pattern_of(unit.nouns) for name, unit in catalogue().items()}
    for n, line in enumerate(draft.lines):
        for component, pattern in patterns.items():
            for match in pattern.finditer(line.line):
                label = _label_behind(line, match.end())
                if label:
                    text = line.tokens[label[-1]].text
                    found.setdefault(component, {}).setdefault(text, []).append((n, label))
    told_apart = [labels for labels in found.values() if len(labels) > 1]
    places = {p for labels in told_apart for named in labels.values() for p in named}
    for n in sorted({n for n, _ in places}):
        line = draft.lines[n]
        tokens: list[Token | None] = list(line.tokens)
        for label in (label for m, label in places if m == n):
            token = line.tokens[label[-1]]
            for i in label[:-1]:
                tokens[i] = None  # 'pump no. 2' is pump 2
            tokens[label[-1]] = Token("word", token.text, token.span)
            entry = {"span": list(token.span), "quote": token.text, "reason": "names a unit"}
            draft.unused.append(entry)
        draft.lines[n] = relined(line, [token for token in tokens if token is not None])


def _label_behind(line: Line, end: int) -> range:
    """Return the tokens of a label that stands behind a place, the number last; none without."""
    first = line.token_at(end + 1) if end < len(line.line) else len(line.tokens)
    place, tokens = first, line.tokens
    while place < len(tokens) and (
        tokens[place].text in _BETWEEN or (tokens[place].text == "." and place > first)
    ):
        place += 1
    if place == len(tokens) or not re.fullmatch(r"\d{1,2}", tokens[place].text):
        return range(0)
    amount = tokens[place].amount
    if amount is not None and amount.unit:
        return range(0)
    return range(first, place + 1) if 1 <= int(tokens[place].text) <= _MOST else range(0)
