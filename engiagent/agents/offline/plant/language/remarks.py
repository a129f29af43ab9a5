"""Sentences that only say again what holds anyway: offsets of stamps, an end within the limits.

Here too is whose rule a limit is: 'The insurer's condition: at most 24 °C'.
"""

import re
from typing import Final

from engiagent.agents.offline.draft import Draft, Fact
from engiagent.agents.offline.tokens import Line

_END: Final = (
    r"(?:at the end(?: of (?:the|that) (?:day|night|week|month|plan|horizon|period|shift))?"
    r"|when the (?:day|night|week|month|plan) (?:ends|is over)|finally|in the end"
    r"|(?:at|for) <clock#(?P<at>\d+)>(?: at the end)?)"
)
_LIMITS: Final = (
    r"(?:(?:the|these|those|its|their|this|that|all)(?: (?:other|usual|same|hard|general|above))*"
    r" (?:protocol|limits?|band|bands|range|ranges|bounds?|corridor|window))"
    r"(?: (?:above|given above|mentioned(?: above)?|just given|stated(?: above)?))?"
)
_OPEN_END: Final = re.compile(
    r"(?:^|(?<=[;.,] ))(?:and |but )?(?:"
    rf"(?:the )?(?:[a-z-]+ )?temperature {_END.replace('?P<at>', '?P<at1>')}"
    r" (?:may|can|is allowed to|is free to) (?:then )?(?:be|lie|end|end up|stand) anywhere"
    rf" (?:inside|within|in|between) {_LIMITS}"
    rf"|{_END.replace('?P<at>', '?P<at2>')} ,? ?(?:the )?(?:[a-z-]+ )?(?:temperature|it)"
    r" (?:may|can|is allowed to|is free to) (?:be|lie|end|end up|stand) anywhere"
    rf" (?:inside|within|in|between) {_LIMITS}"
    r"|no (?:further |other |more )?(?:condition|requirement|target|demand|temperature)s?"
    r" (?:is|are) (?:set|imposed|made|prescribed|required|demanded|given)"
    rf" (?:for (?:the temperature )?)?{_END.replace('?P<at>', '?P<at3>')}"
    rf" (?:other than|beyond|besides|apart from|except for|except|but) {_LIMITS}"
    r")(?= ?[.,;]|$)"
)
_OFFSETS: Final = re.compile(
    r"(?:the |all |our )?(?:time ?)?(?:stamps|timestamps|times)(?: (?:in|of) (?:the|both|all|these)"
    r" (?:files?|tables?|data))? (?:carry|have|include|contain|show|bear|come with|are given with)"
    r" (?:their|the|an|its)(?: own)?(?: (?:utc|time))? offsets?(?: (?:from|to) utc)?"
    r"(?: ,? ?(?:so that|so|such that|by which|which means that) (?:the|an) hour (?:that|which)"
    r" (?:comes|occurs|appears|happens|exists) twice (?:can be|is) (?:told apart|distinguished"
    r"|unambiguous|clear))?(?=$| ?[.;])"
)
_NOT_HEATED: Final = re.compile(
    r"(?:since|because|as) (?:nothing|the [a-z]+|it|we) (?:was|were|has been|had been)(?: not)?"
    r" (?:heated|cooled|off|shut(?: down)?|closed|empty|unheated|uncooled|switched off)"
    r" (?:the (?:day|night|evening|week|weekend) before|on the previous day|the previous day"
    r"|overnight|yesterday|over night|all weekend)"
)
_PERSON: Final = (
    r"(?:we|i|you|she|he|they|everybody|(?:the|our|my) (?:[a-z-]+ )?[a-z]+(?:or|er|ist|ian|ant|man"
    r"|ee|ess|board|office|owner|team|council|boss|management|neighbours|staff)s?)"
)
_SOON: Final = r"(?:by (?:tomorrow|tonight|noon|monday|friday)|again|exactly)"
_WISHES: Final = (
    rf"{_PERSON}(?: would| do| does)?(?: still| also)? (?:likes?|wants?|wish|wishes|needs?|asks?)"
    r" to (?:see|know|hear|learn|find out|be told)"
)
_QUESTION: Final = re.compile(
    rf"^(?:(?:still|also|now|so) ,? ?)?(?:{_WISHES}|(?:please )?(?:tell|show) (?:us|me))"
    rf"(?: {_SOON})?,? (?:how|what|when|which|whether|by how much) "
)
_ASKS_MORE: Final = re.compile(
    r"(?<![a-z])(?:must|shall|at least|at most|least|most|only|never|not|without|if|unless|until"
    r"|cheapest|smallest|lowest|minimal)(?![a-z])"
)
_FEELS: Final = re.compile(
    r"^(?:the |our |most )?(?:residents|guests|people|patients|visitors|pupils|students|tenants"
    r"|staff|animals|workers|children) (?:feel|dislike|hate|mind|suffer from|complain about"
    r"|cannot bear|are sensitive to) (?:the )?(?:cold|heat|warmth|draughts)"
    r"(?: , (?:so|thus|therefore|hence))?"
)
_NOT_HERE: Final = re.compile(
    r"^(?:the|its|their) (?:rate|price|tariff|amount|figure|premium|credit|fee) (?:is|stands|can be"
    r" found) in (?:an? |the |its )?(?:annex|appendix|attachment|enclosure|schedule|contract|letter"
    r"|mail)(?: [a-z0-9])? ,? ?(?:which|that) (?:was|is|has) (?:not (?:been )?(?:attached|enclosed"
    r"|sent|included|there|available)|missing|lost)(?: (?:to|with|in) (?:the|your|our|their)"
    r" (?:mail|letter|e-mail|message|contract|papers))?$"
)
_REFUSED: Final = re.compile(
    r"(?<![a-z])(?:refuses?|refused|does not want|do not want|is tired of|hates?|dislikes?)"
    r" (?:to be told|to hear|being told|hearing) [\"“'«](?P<said>[^\"”'»]{1,60})[\"”'»]",
    re.I,
)
_RULE: Final = (
    r"(?:(?:climate|comfort|house|operating|temperature) )?"
    r"(?:protocol|conditions?|rules?|requirements?|demands?|orders?|stipulations?|wish|wishes"
    r"|specifications?|regulations?)"
)
_PEOPLE: Final = r"(?:[a-z]+ )?[a-z]+(?:or|er|ist|ian|ant|man|men|mer)s?"
_WHOSE: Final = re.compile(
    rf"^(?:the )?(?:{_PEOPLE}'s? {_RULE}|{_PEOPLE} ' {_RULE}|{_RULE} (?:of|by|from) (?:the|our)"
    rf" {_PEOPLE}) :"
)


def take_remarks(draft: Draft) -> None:
    """Account for sentences, and pieces of them, that change nothing."""
    take_questions(draft)
    take_refused(draft)
    for n, line in enumerate(draft.lines):
        if line.sentence.is_heading or n in draft.table_lines:
            continue
        for pattern, reason in (
            (_FEELS, "says why"),
            (_NOT_HEATED, "says why it begins as it does"),
            (_OFFSETS, "says what the time stamps hold"),
            (_WHOSE, "says whose rule it is"),
        ):
            match = pattern.search(line.line)
            if match is not None:
                account(draft, n, line, match, reason)


def take_questions(draft: Draft) -> None:
    """Account for what somebody would like to know, where it asks for nothing else."""
    for n, line in enumerate(draft.lines):
        match = None if line.sentence.is_heading else _QUESTION.match(line.line)
        plain = all(t.kind in ("word", "mark", "date") for t in line.tokens)
        if match is None or not plain or _ASKS_MORE.search(line.line[match.end() :]):
            continue
        span = line.sentence.span
        quote = draft.text[slice(*span)]
        draft.unused.append({"span": list(span), "quote": quote, "reason": "asks for a result"})
        draft.take(n, range(len(line.tokens)))


def take_refused(draft: Draft) -> None:
    """Account for what somebody refuses to be told, in quotation marks: it is no requirement."""
    for n, line in enumerate(draft.lines):
        first, last = line.sentence.span
        match = _REFUSED.search(draft.text[first:last])
        if match is None or line.sentence.is_heading:
            continue
        said = (first + match.start("said"), first + match.end("said"))
        amounts = [t for t in line.tokens if t.amount is not None]
        if not all(said[0] <= t.span[0] and t.span[1] <= said[1] for t in amounts):
            continue
        quote = draft.text[slice(*said)]
        draft.unused.append({"span": list(said), "quote": quote, "reason": "is refused"})
        draft.take(n, range(len(line.tokens)))


def take_absent(draft: Draft, lacking: bool) -> None:
    """Account for 'the rate is in annex B, which was not attached' where a rate is missing."""
    for n, line in enumerate(draft.lines):
        match = None if line.sentence.is_heading else _NOT_HERE.search(line.line)
        if match is not None and lacking:
            account(draft, n, line, match, "says that a number is not here")


def take_open_ends(draft: Draft, end_clock: float | None) -> None:
    """Account for an end that only the limits bind, as all moments: 'may be anywhere within them'.

    ``end_clock`` is when the horizon ends; another time of the day is no end.
    """
    for n, line in enumerate(draft.lines):
        match = None if line.sentence.is_heading else _OPEN_END.search(line.line)
        if match is None:
            continue
        places = [int(v) for k, v in match.groupdict().items() if v is not None]
        clocks = [line.tokens[i].clock for i in places]
        same = end_clock is not None and all(
            c is not None and abs(c % 24 - end_clock % 24) < 1e-9 for c in clocks
        )
        if same:
            account(draft, n, line, match, "the limits hold at the end as at all times")
            if "anywhere" in match[0]:
                span = line.sentence.span
                draft.facts.append(Fact("open_end", n, span, {}, match[0]))


def account(draft: Draft, n: int, line: Line, match: re.Match[str], reason: str) -> None:
    """Account for the words of a match; ``reason`` is empty where something came of them."""
    covered = list(line.covered(*match.span()))
    span = (line.tokens[covered[0]].span[0], line.tokens[covered[-1]].span[1])
    if reason:
        quote = draft.text[slice(*span)]
        draft.unused.append({"span": list(span), "quote": quote, "reason": reason})
    draft.take(n, covered)
