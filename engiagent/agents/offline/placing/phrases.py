"""The statements of a placement under chance constraints, as pieces that sentences are made of."""

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

_THING: Final = (
    r"(?:servers|racks|machines|computers|equipment|loads?|power|heat|it load|nominal power"
    r"|consumers|chargers|heaters)"
)
_WHAT: Final = r"(?:heat|load|power|draws?|consumption|demand)"
_MUST: Final = r"(?:must|has to|have to|shall|may)"
_WITHIN: Final = r"(?:stay within|not exceed|remain within|be within|keep within|stay below)"
_PLACED: Final = r"(?:placed|installed|put|connected)"
PIECES: Final = {
    "wish": r"(?:an? |the |our )?[a-z]+ (?:wants?|wish(?:es)?|would like) to (?:put|place|install"
            r"|house|connect) as (?:many|much) {thing} as possible (?:in|into|to|on|at) "
            r"(?:our |the |these |all )*(?:<number#(?P<count>\d+)> )?{ps}",
    "free": r"(?:we|it|they|the {thing}) (?:may|can|could) "
            r"(?:spread|distribute|divide|be spread|be distributed|be divided)"
            r"(?: (?:them|it|this|the {thing}))?(?: out)? (?:in any proportion|in any way|freely"
            r"|as (?:we|they) like|at will)(?: among the {ps})?",
    "uncertain": r"what (?:the |these )?{thing} (?:really |actually )?(?:draws?|takes?|uses?|needs?"
                 r"|gives? off) is (?:uncertain|not known|random|not certain)",
    "normal": r"(?:in (?:every|each) {p} |for (?:every|each) {p} )?(?:it|the {what}|this)"
              r"(?: of (?:every|each) {p})? is normally distributed",
    "mean": r"(?:its|the) mean (?:is|equals) (?:the )?(?:nominal )?(?:power|load) (?:that is )?"
            r"{placed} (?:there|in it)",
    "sigma": r"(?:its|the) standard deviation is (?:proportional to (?:it|this|the mean)"
             r"|the (?:given |stated )?(?:share|percentage) of (?:it|the mean)"
             r"(?: (?:given |stated )?in the table)?)",
    "independent": r"(?:the )?(?:{ps}|deviations(?: of the {ps})?|{what}(?: of the {ps})?) "
                   r"(?:vary|are|fluctuate|deviate) (?:independent(?:ly)?|uncorrelated)"
                   r"(?: of (?:each other|one another))?",
    "together": r"(?:the )?{ps} (?:rise and fall|vary|deviate) (?:all )?together"
                r"|(?:the )?{ps} are (?:fully|perfectly) correlated",
    "main": r"all (?:the )?{ps} (?:hang on|depend on|are connected to|sit on|draw from) (?:one|an?"
            r"|the same|a single|one common) (?:[a-z-]+ ){1,4}?with <power#(?P<main>\d+)> "
            r"(?:left|free|available|to spare|of capacity)",
    "joint": r"(?:the )?sum of (?:the )?{what} of (?:all|the|all the) {ps} {must} {within} "
             r"(?:it|this|that|its (?:capacity|limit)) with a probability of (?:at least )?"
             r"<percent#(?P<joint>\d+)>",
    "jointz": r"for which <number#(?P<z>\d+)> standard deviations of (?:the|this) sum {must} "
              r"(?:fit|be left|be kept free)(?: free)? above its mean",
    "each": r"in (?:each|every) {p} (?:by itself |alone |on its own )?the mean plus "
            r"<number#(?P<own>\d+)> (?:of its )?standard deviations {must} {within} its "
            r"(?:free |own |cooling )*(?:capacity|limit)",
    "eachp": r"(?:in )?(?:each|every) {p} (?:by itself |alone |on its own )?{must} {within} its "
             r"(?:free |own |cooling )*(?:capacity|limit) with a probability of (?:at least )?"
             r"<percent#(?P<ownp>\d+)>",
    "budget": r"the [a-z]+ (?:leaves?|allows?|gives?|has)(?: us)? <power#(?P<budget>\d+)> "
              r"(?:left )?for (?P<of>[a-z ]+?) ?, which the mean of all (?:the )?(?:{ps}|of them)"
              r"(?: together)? {must} (?:respect|stay within|keep|not exceed)",
    "ask": r"how (?:many|much)(?: kw| mw| power)?(?: ,? ?nominal(?: power)?)?(?: ,)? can be "
           r"{placed}(?: there)?(?: (?:in all|in total|altogether|together))?"
           r"(?: at (?:the )?most)?",
    "fairly": r"(?:make |we want )?the smallest (?:of the )?(?:nominal )?(?:powers?|shares?) "
              r"(?:of (?:a|any|the) {p}s? )?(?:to be |is to be )?as large as possible",
    "fill": r"[,;:.]|and|but|likewise|also|then|moreover|besides|for this",
}  # fmt: skip


@dataclass(frozen=True)
class Piece:
    """A statement in a line: its name, the tokens of its numbers by name, and what it is of."""

    name: str
    numbers: dict[str, int]
    of: str
    line: int
    span: tuple[int, int]


@lru_cache(maxsize=16)
def _compiled(place: str) -> tuple[tuple[str, re.Pattern[str]], ...]:
    words = {
        "p": place, "ps": rf"(?:{place}s)", "thing": _THING, "what": _WHAT, "must": _MUST,
        "within": _WITHIN, "placed": _PLACED,
    }  # fmt: skip
    found = []
    for name, text in PIECES.items():
        for word, meant in words.items():
            text = text.replace(f"{{{word}}}", meant)
        found.append((name, re.compile(rf"(?:{text})(?![a-z0-9-])")))
    return tuple(found)


def pieces_of(text: str, place: str, n: int) -> list[Piece] | None:
    """Return the statements of a line; None where a part of it is none.

    Parameters
    ----------
    text
        The line as rules match it.
    place
        What the places are called, in the singular.
    n
        The number of the line.
    """
    found: list[Piece] = []
    at = 0
    while at < len(text):
        if text[at] == " ":
            at += 1
            continue
        matches = [
            (name, m) for name, p in _compiled(place) if (m := p.match(text, at)) is not None
        ]
        if not matches:
            return None
        name, match = max(matches, key=lambda pair: pair[1].end())
        groups = match.groupdict()
        numbers = {k: int(v) for k, v in groups.items() if v is not None and k != "of"}
        if name != "fill":
            found.append(Piece(name, numbers, (groups.get("of") or "").strip(), n, match.span()))
        at = match.end()
    return found
