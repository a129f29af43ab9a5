"""Rules over whole phrases, and the words that name times of the day."""

import re
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Final

from engiagent.agents.offline.cards import lexicon
from engiagent.agents.offline.draft import Draft, Fact
from engiagent.agents.offline.tokens import Line, Period, Token

_REST: Final = (
    r"(?:at |in |during |for |all )*(?:all )?(?:the )?(?:other|remaining) (?:times?|hours|periods|"
    r"half hours|quarter hours|intervals|steps)(?: of the day)?|otherwise|"
    r"(?:for |at |during |in )?(?:the )?(?:rest|remainder) of (?:the )?(?:day|time|night|hours)|"
    r"(?:at |during |in )?all the rest|(?:at |during |in )?any other (?:time|hour)|"
    r"from then on|after that|thereafter|"
    r"(?<=> )after(?:wards)?(?= ?(?:[,;.()]|$))|"
    r"else(?= <)|outside (?:of )?(?:these|those|this|that) (?:hours|times|periods?|windows?)|"
    r"(?<!does )(?<!do )(?<!serves )(?<!covers )(?<!makes )(?<!gives )(?<!supplies )(?<!provides )"
    r"(?:at |during |in )?(?<!does the )(?<!do the )(?<!serves the )(?<!covers the )(?<!makes the )"
    r"(?<!gives the )(?<!supplies the )(?<!provides the )(?:the )?(?:rest|remainder)(?= |$)"
    r"(?! (?:of (?:the|our|its|this)|for|at least) )"
    r"|else(?= <)|{elsewhen}"
)
_WHEN: Final = r"(?:during|in|within|at|over|throughout|for|on|by)"
_OPPOSITE: Final = {
    "night": "day", "day": "night", "peak": "off-peak", "off-peak": "peak", "high": "low",
    "low": "high", "high-tariff": "low-tariff", "low-tariff": "high-tariff",
}  # fmt: skip
_DEFINED: Final = re.compile(
    r"(?<![a-z])(?:the )?(?P<name>(?:[a-z-]+ ){0,2}[a-z-]+?)"
    r"(?: hours| period| window| time| tariff)?"
    r" (?:(?:(?<=event )for|lasts?|runs?|is|are|means?|stands for|hours are|comprises?|covers?"
    r"|extends?|goes|:|=)(?: the (?:time|period|hours))?|\()"
    r" (?P<periods>(?:<period#\d+>(?: (?:and|,|, and) )?)+)"
)
_NAMES: Final = frozenset(
    [
        "shift",
        "peak",
        "on-peak",
        "peaks",
        "day",
        "night",
        "daytime",
        "nighttime",
        "night-time",
        "occupied",
        "occupancy",
        "occupation",
        "working",
        "office",
        "business",
        "opening",
        "school",
        "opening-hours",
        "high-tariff",
        "low-tariff",
        "off-peak",
        "high",
        "low",
        "standard",
        "shoulder",
        "mid-peak",
        "evening",
        "morning",
        "work",
        "use",
        "lesson",
        "teaching",
        "operating",
        "service",
        "trading",
        "production",
        "peak-hours",
        "core",
        "event",
        "school-day",
        "day-time",
        "working-hours",
        "office-hours",
    ]
)
_SYNONYMS: Final = {
    "peaks": "peak", "on-peak": "peak", "occupation": "occupied", "occupancy": "occupied",
    "nighttime": "night", "night-time": "night", "daytime": "day", "day-time": "day",
    "work": "working",
}  # fmt: skip


def defined_names(lines: Sequence[Line]) -> dict[str, Period]:
    """Return the names that the text gives to times of the day, as 'the shift'."""
    names: dict[str, Period] = {}
    for line in lines:
        for match in _DEFINED.finditer(line.line):
            words = match["name"].split()
            known = [w for w in words if w in _NAMES]
            if not known:
                continue
            places = [int(n) for n in re.findall(r"#(\d+)", match["periods"])]
            ranges = tuple(
                r for i in places if (p := line.tokens[i].period) is not None for r in p.ranges
            )
            spans = tuple(line.tokens[i].span for i in places)
            name = _SYNONYMS.get(known[-1], known[-1])
            names.setdefault(name, Period(ranges, name=name, spans=spans))
    return names


def take_definitions(draft: Draft) -> None:
    """Account for sentences that give a name to times of the day."""
    for n, line in enumerate(draft.lines):
        for match in _DEFINED.finditer(line.line):
            if any(word in _NAMES for word in match["name"].split()):
                covered = line.covered(*match.span())
                opens = match["name"].split()[0]
                before = line.tokens[covered[0] - 1].text if covered[0] else ""
                if before in ("where", "whereby"):
                    covered = range(covered[0] - 1, covered[-1] + 1)
                own = "where" in (opens, before) or before in ("whereby", ";", "(")
                if own or not any(t.amount is not None for t in line.tokens):
                    draft.take(n, covered)
                    first, last = line.tokens[covered[0]], line.tokens[covered[-1]]
                    span = (first.span[0], last.span[1])
                    draft.facts.append(Fact("named_times", n, span, {}, match[0]))
        for token in line.tokens:
            if token.kind == "period" and "includ" in token.text:
                draft.facts.append(Fact("inclusive", n, line.sentence.span, {}, token.text))


def with_names(line: Line, names: dict[str, Period]) -> Line:
    """Return the line with named times and 'at all other times' turned into periods."""
    pieces = []
    for name, period in names.items():
        said = [name, *(k for k, v in _SYNONYMS.items() if v == name)]
        word = f"(?:{'|'.join(map(re.escape, said))})"
        full = rf"(?:the )?{word}(?:[- ](?:hours|periods?|times?|tariff|window))?"
        pieces.append(
            (
                r"(?:outside|before and after|apart from|except (?:in|during)|not in)"
                rf"(?: of)? {full}",
                replace(period, rest=True),
            )
        )
        pieces.append(
            (
                rf"(?:un|non-?|off[- ]){word}(?:[- ](?:hours|periods?|times?))?",
                replace(period, rest=True),
            )
        )
        pieces.append((rf"{_WHEN} {full}", period))
        pieces.append((rf"{word}[- ](?:hours|periods?|times?)", period))
    for name, period in names.items():
        other = _OPPOSITE.get(name)
        if other is not None and other not in names:
            pieces.append(
                (
                    rf"(?:by|at|during|in) (?:the )?{other}(?:[- ](?:hours|periods?|times?))?"
                    rf"|{other}[- ](?:hours|periods?|times?)",
                    replace(period, rest=True),
                )
            )
    pieces.append((_REST.replace("{elsewhen}", "elsewhere in the day"), Period(rest=True)))
    for pattern, period in pieces:
        line = _replaced(line, re.compile(rf"(?<![a-z0-9-])(?:{pattern})(?![a-z0-9-])"), period)
    return line


def _replaced(line: Line, pattern: re.Pattern[str], period: Period) -> Line:
    tokens = list(line.tokens)
    for match in reversed(list(pattern.finditer(line.line))):
        covered = list(line.covered(*match.span()))
        if any(tokens[i].kind not in ("word", "mark") for i in covered):
            continue
        span = (tokens[covered[0]].span[0], tokens[covered[-1]].span[1])
        kind = "rest" if period.rest else "period"
        tokens[covered[0] : covered[-1] + 1] = [Token(kind, match[0], span, period=period)]
    return relined(line, tokens) if tuple(tokens) != line.tokens else line


def relined(line: Line, tokens: list[Token]) -> Line:
    """Return a line of other tokens for the same sentence."""
    from engiagent.agents.offline.tokens import written

    text, starts = written(tokens)
    return Line(line.sentence, tuple(tokens), text, starts)


TIME_FACTS: Final = (
    "horizon", "horizon_hours", "step", "step_word", "start_clock", "hour_ending", "hour_beginning",
    "first_hour", "numbered",
)  # fmt: skip
_LOSSES: Final = re.compile(r"loss|lost|round|efficien|square root|charg")
_NOT_EQUAL: Final = re.compile(r"\b(?:at least|less|lower|below|more|minimum|emptier|higher)\b")


_SOME_OF_IT: Final = re.compile(
    r"(?:at least|at most|least|most|any|first|last|within|once|only|another|runs?|stays? on"
    r"|rests?)(?: for)?(?: the)? $"
)
_BOUNDED: Final = re.compile(
    r" ?(?:at (?:the )?(?:least|most)|or (?:more|less|longer)|in a row|by (?:hour|step)s?(?![a-z]))"
)


def _part_of_it(line: str, match: re.Match[str]) -> bool:
    """Whether a count of hours is some of the horizon, as in 'runs three hours at the least'."""
    count = re.search(r"<(?:number|duration)#", match[0])
    place = match.start() + (count.start() if count else 0)
    return bool(_SOME_OF_IT.search(line[:place]) or _BOUNDED.match(line, match.end()))


def apply_rules(draft: Draft, facts: frozenset[str] | None = None) -> None:
    """Note the facts that rules recognise, and take their words; ``facts`` restricts them."""
    for n, line in enumerate(draft.lines):
        if line.sentence.is_heading:
            continue
        for fact, match in _recognised(line.line):
            if facts is not None and fact not in facts:
                continue
            covered = line.covered(*match.span())
            groups = {
                name.split("_")[0]: line.tokens[int(value)]
                for name, value in match.groupdict().items()
                if value is not None and value.isdigit()
            }
            words = {
                k: Token("word", v, (0, 0))
                for k, v in match.groupdict().items()
                if v is not None and not v.isdigit()
            }
            span = (line.tokens[covered[0]].span[0], line.tokens[covered[-1]].span[1])
            draft.facts.append(Fact(fact, n, span, {**groups, **words}, match[0]))
            about_time = fact in TIME_FACTS
            free = [i for i in covered if about_time or line.tokens[i].amount is None]
            draft.take(n, free)


@lru_cache(maxsize=1024)
def _recognised(line: str) -> tuple[tuple[str, re.Match[str]], ...]:
    """Return the facts that rules see in a line; every reader of a problem asks for them."""
    return tuple(
        (rule.fact, match)
        for rule in lexicon().rules
        for match in rule.regex.finditer(line)
        if not (
            (rule.fact.startswith("horizon") and _part_of_it(line, match))
            or (rule.fact == "final_equals_initial" and _NOT_EQUAL.search(match[0]))
            or (rule.fact == "sqrt_split" and not _LOSSES.search(line))
        )
    )
