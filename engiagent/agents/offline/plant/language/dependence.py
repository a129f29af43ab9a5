"""Sentences without numbers that make a quantity depend on something, or take a part out of use.

'The efficiency is lower at high power' asks for nothing and yet changes the problem. So does 'the
line is down from 10:00 to 11:00'. Neither may be passed over.
"""

import re
from typing import Final

from engiagent.agents.offline.draft import Draft
from engiagent.agents.offline.plant.language.background import scenery
from engiagent.agents.offline.plant.language.words import Marked, group, mark, vocabulary
from engiagent.agents.offline.plant.units import nouns

_QUANTITY: Final = (
    r"(?:efficienc(?:y|ies)|loss(?:es)?|capacit(?:y|ies)|cop|leakage|self-discharge|wear"
    r"|power|output|content|energy)"
)
_DIFFERS: Final = (
    r"(?:(?:is|are|becomes?|gets?|will be|may be|can be)(?: [a-z]+)? (?:lower|higher|smaller|larger"
    r"|worse|better|less|greater|poorer|reduced|halved|doubled)"
    r"|falls?|drops?|declines?|decreases?|increases?|depends?|degrades?|fades?|shrinks?|suffers?"
    r"|doubles?|halves)"
)
_WHEN: Final = (
    r"(?:at|when|while|with|if|in|during|on|as|by|over|after|above|below|for|every|each|near|the)"
)
_DEPENDS: Final = re.compile(
    rf"(?<![a-z-]){_QUANTITY}(?: [a-z-]+){{0,3}}? {_DIFFERS} {_WHEN} [a-z<]"
)
_DOWN: Final = re.compile(
    r"(?:is|are|goes?|will be|stays?) (?:down|out of (?:use|order|service|action)|dead|closed|shut"
    r"|disconnected|off line|offline|unavailable|not available)(?![a-z-])"
)


SALE_COSTS: Final = re.compile(
    r"(?<![a-z-])(?:(?:sales?|selling|exports?|exporting|sold|feed-in|feeding in|fed in) "
    r"(?:[a-z]+ ){0,2}(?:costs?|is charged|are charged)|(?:fee|commission|levy)"
    r" (?:of|is|:) <price)"
)
_SHED: Final = frozenset({"canstop", "swoff", "curtail"})


def sheds_a_load(marked: Marked, first: int, last: int) -> bool:
    """Whether a clause lets consumers, and no unit, be switched off: 'the wards can be shed'.

    Parameters
    ----------
    marked
        The line.
    first, last
        The tokens of the clause.
    """
    said = marked.said(first, last)
    units = any(c.startswith("@") and c != "@load" for c in said) or "excess" in said
    words = {token.text for token in marked.line.tokens[first:last]}
    consumers = "@load" in said or bool(words & group("consumers"))
    return bool(said & _SHED) and consumers and not units and "not" not in said


def refuse_dependent(draft: Draft) -> None:
    """Report the sentences of a reading, numbers or not, that make it depend on more."""
    words = vocabulary(nouns())
    for n, line in enumerate(draft.lines):
        if line.sentence.is_heading or n in draft.table_lines or not line.tokens:
            continue
        marked, last = mark(line, words), len(line.tokens)
        if SALE_COSTS.search(line.line):
            draft.refuse(n, "does what is sold earn this, or cost it?")
        elif all(t.amount is None for t in line.tokens) and (
            changes_something(marked, 0, last) or sheds_a_load(marked, 0, last)
        ):
            draft.refuse(n, "what a quantity depends on, or a part that is out of use")


def changes_something(marked: Marked, first: int, last: int) -> bool:
    """Whether a clause says what a quantity depends on, or that a nameless part is out of use.

    Parameters
    ----------
    marked
        The line.
    first, last
        The tokens of the clause.
    """
    tokens = marked.line.tokens[first:last]
    start = marked.line.starts[first]
    end = marked.line.starts[last - 1] + len(tokens[-1].text) + 24
    text = marked.line.line[start:end]
    match = _DEPENDS.search(text)
    if match is not None:
        return True
    down = _DOWN.search(text)
    if down is None:
        return False
    before = re.findall(r"[a-z-]+", text[: down.start()])
    return bool(before) and before[-1] in scenery().generic
