"""A sentence as tokens: words, amounts, clock times, periods of the day, dates, file names.

The tokens are also written out as one line, ``the battery can hold <energy#3> .``, on which the
rules of the cards are matched; the number behind # is the token's place in the sentence.
"""

import re
from dataclasses import dataclass, field, replace
from typing import Final

from engiagent.agents.offline.amounts import Amount, Span, amounts_in, kind_of
from engiagent.agents.offline.passages import Sentence


@dataclass(frozen=True)
class Period:
    """Times of the day, as hours from midnight; ``rest`` stands for all other times.

    ``shown`` is the condition on ``t`` where the text counts from the beginning of the horizon.

    ``spans`` are the places in the text that give the times.
    """

    ranges: tuple[tuple[float, float], ...] = ()
    rest: bool = False
    name: str = ""
    spans: tuple[Span, ...] = field(default=(), compare=False)
    shown: str = field(default="", compare=False)


@dataclass(frozen=True)
class Token:
    """A word or a thing in a sentence."""

    kind: str
    text: str
    span: Span
    amount: Amount | None = None
    amounts: tuple[Amount, ...] = ()
    period: Period | None = None
    clock: float | None = None


@dataclass(frozen=True)
class Line:
    """A sentence with its tokens and the line on which rules match."""

    sentence: Sentence
    tokens: tuple[Token, ...]
    line: str
    starts: tuple[int, ...]

    def token_at(self, position: int) -> int:
        """Return which token covers an offset in :attr:`line`."""
        for i in range(len(self.starts) - 1, -1, -1):
            if self.starts[i] <= position:
                return i
        return 0

    def covered(self, start: int, end: int) -> range:
        """Return the tokens that lie in a piece of :attr:`line`."""
        last = self.token_at(max(start, end - 1))
        return range(self.token_at(start), last + 1)


_MONTHS = (
    "january|february|march|april|may|june|july|august|september|october|november|december|"
    "jan|feb|mar|apr|jun|jul|aug|sep|sept|oct|nov|dec"
)
_WEEKDAY = r"(?:(?:mon|tues|wednes|thurs|fri|satur|sun)day,?\s+)?(?:the\s+)?"
DATE: Final = re.compile(
    rf"{_WEEKDAY}\b(?:(?P<day>\d{{1,2}})(?:st|nd|rd|th)?(?:\s?(?:to|–|-|and)\s?\d{{1,2}})?(?:\s+of)?"
    rf"\s+(?P<month>{_MONTHS})\.?,?\s+(?P<year>\d{{4}})"
    rf"|(?P<month2>{_MONTHS})\.?\s+(?P<day2>\d{{1,2}})(?:st|nd|rd|th)?,?\s+(?P<year2>\d{{4}})"
    r"|(?P<year3>\d{4})-(?P<month3>\d\d)-(?P<day3>\d\d)(?:[T ](?P<time>\d\d:\d\d)(?::\d\d)?)?"
    r"|(?P<day4>\d{1,2})\.(?P<month4>\d{1,2})\.(?P<year4>\d{4}))",
    re.I,
)
_DAY_ONLY = re.compile(
    rf"(?<!:)\b\d{{1,2}}(?:st|nd|rd|th)?\s+(?:{_MONTHS})\b|\b(?:january|february|march|april|june|july|august|september|october|november|december)\s+\d{{1,2}}(?:st|nd|rd|th)?\b(?!\s*(?:%|k|M))",
    re.I,
)
_CLOCK_TEXT = (
    r"(?:(?:[01]?\d|2[0-4]):[0-5]\d(?:\s?(?:am|pm|a\.m\.|p\.m\.))?(?:\s?(?:h|hrs|o'clock))?\b"
    r"|(?:1[0-2]|0?[1-9])\s?(?:am|pm|a\.m\.|p\.m\.)(?=\W|$)"
    r"|(?:1[0-2]|[1-9]|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve))\s+o'clock"
    r"|\bmidnight\b|\bnoon\b|\bmidday\b)"
)
CLOCK: Final = re.compile(_CLOCK_TEXT, re.I)
_BARE_CLOCK = r"(?:1[0-2]|0?[1-9])"
_RANGE = re.compile(
    rf"(?:\b(?:from|between)\s+)?(?P<a>{_CLOCK_TEXT}|{_BARE_CLOCK}(?=\s?(?:-|–|to)\s?(?:1[0-2]|\d)\s?[ap]\.?m))"
    rf"\s*(?:up\s+to\s+and\s+including|up\s+to|to|and|until|till|through|–|—|-|→)\s*"
    rf"(?:(?:including|and including)\s+)?(?P<b>{_CLOCK_TEXT})",
    re.I,
)
_OPEN = re.compile(
    rf"\b(?:(?P<before>before|until|till)\s+(?P<c>{_CLOCK_TEXT})"
    rf"|(?P<after>after|from)\s+(?P<d>{_CLOCK_TEXT})(?:\s+(?:on(?:wards?)?|onwards?))?)",
    re.I,
)
_COUNTED: Final = (
    r"(?:\d{1,2}|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|eighteen|sixteen)"
)
_EDGE_HOURS = re.compile(
    rf"\b(?:the\s+)?(?:first\s+(?P<n>{_COUNTED})(?:\s+hours?)?(?:\s+and\s+(?:the\s+)?last\s+"
    rf"(?P<m>{_COUNTED}))?\s+hours?\s+of\s+(?:the|each|every)\s+day)\b",
    re.I,
)
_CODE = re.compile(r"`[^`\n]+`|\b[\w-]+\.(?:csv|parquet|nc|txt|json|xlsx)\b")
_UNIT_NAME = re.compile(r"(?<![\w-])[A-Z]{1,4}-\d{1,2}(?![\w.%-])")
_ZONE_NAME = re.compile(r"\b[A-Z][a-z]+/[A-Z][A-Za-z]+(?:_[A-Z][a-z]+)*\b")
_WORD = re.compile(r"[^\W\d_]+(?:['\u2019-][^\W\d_]+)*(?:\d+)?|[^\W\d_]\d*|CO2|R\d*C\d*")
_LABEL_DROPPED = re.compile(r"[(\[][^()\[\]]*[)\]]|[,;]")
_MARK = re.compile(r"[,;:.!?()/\[\]=<>≤≥+&~→–—-]")
_NUMBER_WORDS: Final = {
    "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8,
    "nine": 9, "ten": 10, "eleven": 11, "twelve": 12, "sixteen": 16, "eighteen": 18,
    "twenty": 20, "twenty-four": 24, "thirty": 30, "thirty-six": 36, "forty": 40,
    "forty-eight": 48, "ninety-six": 96,
}  # fmt: skip
_CYCLE_WORDS: Final = {"one": 1, "two": 2, "three": 3, "a single": 1}
_ONE_CYCLE = re.compile(
    r"\b(one|two|three|a single)\s+(?:(?:full|complete|equivalent|charge)\s+){0,2}cycles?\b", re.I
)
_SOC_AT = re.compile(
    r"\b(?:SOC|E|SOE)\s?[(_]\s?(?:(?P<start>0|init(?:ial)?|start)|(?:end|final|T|N))\s?\)?(?![A-Za-z0-9])",
    re.I,
)
_ENERGY_WORDS: Final = {
    "kwh": "kWh", "mwh": "MWh", "kilowatt-hour": "kWh", "megawatt-hour": "MWh",
}  # fmt: skip
_LABEL = re.compile(
    r"(?:\b(?:table|figure|fig\.|section|appendix|no\.|nr\.|case|scenario|version|phase|item|"
    r"step|variant|case|EN|ISO|IEC|DIN|building|site|plant|unit|zone|room|battery|block|hall|"
    r"office|tank|string|rack|bess|storage|feeder|module)\s+|#)$",
    re.I,
)


def clock_value(text: str) -> float:
    """Return a time of day in hours: ``7:30 pm`` is 19.5, ``midnight`` 0, ``24:00`` 24."""
    low = text.lower().strip()
    if low == "midnight":
        return 0.0
    if low in ("noon", "midday"):
        return 12.0
    spelled = low.split()[0]
    if spelled in _NUMBER_WORDS or spelled == "one":
        return float(_NUMBER_WORDS.get(spelled, 1))
    match = re.match(r"(\d{1,2})(?::(\d\d))?", low)
    assert match is not None
    hours = int(match[1]) + int(match[2] or 0) / 60
    if re.search(r"p\.?m", low) and hours < 12:
        hours += 12
    if re.search(r"a\.?m", low) and hours >= 12:
        hours -= 12
    return hours


def tokenise(text: str, sentence: Sentence, currency: str | None) -> Line:
    """Return the tokens of a sentence."""
    start, end = sentence.span
    tokens: list[Token] = []
    position = start
    fixed = sorted(_fixed(text, start, end), key=lambda t: t.span)
    for token in [*fixed, Token("end", "", (end, end))]:
        tokens.extend(_free(text, position, token.span[0], currency))
        if token.kind != "end":
            tokens.append(token)
            position = token.span[1]
    tokens = _lists(text, _of_one_unit(tokens))
    shown, starts = written(tokens)
    return Line(sentence, tuple(tokens), shown, starts)


def _of_one_unit(tokens: list[Token]) -> list[Token]:
    """Turn money into prices behind 'a kWh costs', 'every MWh sold brings'."""
    result, unit = [], ""
    for i, token in enumerate(tokens):
        before = tokens[i - 1].text if i else ""
        if token.text == ";":
            unit = ""
        if token.kind == "word" and before in ("a", "an", "each", "every", "one", "per"):
            unit = _ENERGY_WORDS.get(token.text, unit)
        amount = token.amount
        if unit and amount is not None and amount.kind == "money":
            priced = f"{amount.unit}/{unit}"
            token = replace(token, amount=replace(amount, unit=priced, kind=kind_of(priced)))
        result.append(token)
    return result


def written(tokens: list[Token]) -> tuple[str, tuple[int, ...]]:
    """Return tokens as the line that rules match, and where each token begins there."""
    parts, starts, length = [], [], 0
    for i, token in enumerate(tokens):
        shown = token.text if token.kind in ("word", "mark") else f"<{_shown(token)}#{i}>"
        starts.append(length)
        parts.append(shown)
        length += len(shown) + 1
    return " ".join(parts), tuple(starts)


def _shown(token: Token) -> str:
    if token.kind == "amount" and token.amount is not None:
        return token.amount.kind
    if token.kind == "list":
        return f"list_{token.amounts[0].kind}"
    return token.kind


def _fixed(text: str, start: int, end: int) -> list[Token]:
    """Find codes, dates and clock times, the first of these claiming its piece of text."""
    taken: list[Token] = []

    def free(span: Span) -> bool:
        return all(span[1] <= t.span[0] or t.span[1] <= span[0] for t in taken)

    for kind, pattern in (
        ("cycles", _ONE_CYCLE), ("soc", _SOC_AT), ("code", _CODE), ("tz", _ZONE_NAME),
        ("name", _UNIT_NAME),
        ("date", DATE), ("date", _DAY_ONLY),
        ("period", _RANGE), ("edges", _EDGE_HOURS), ("period", _OPEN), ("clock", CLOCK),
    ):  # fmt: skip
        for match in pattern.finditer(text, start, end):
            if not free(match.span()):
                continue
            token = _made(kind, match)
            if token is not None:
                taken.append(token)
    return taken


def _made(kind: str, match: re.Match[str]) -> Token | None:
    text, span = match[0], match.span()
    if kind == "cycles":
        amount = Amount(float(_CYCLE_WORDS[match[1].lower()]), "cycle", "cycles", span, text)
        return Token("amount", text, span, amount=amount)
    if kind == "soc":
        return Token("word", "initial-soc" if match["start"] else "final-soc", span)
    if kind == "name":
        return Token("word", text.lower(), span)
    if kind == "edges":
        return Token("period", text, span, period=_edge_hours(match, span))
    if kind == "clock":
        return Token("clock", text.lower(), span, clock=clock_value(text))
    if kind != "period":
        return Token(kind, text.strip("`"), span)
    groups = match.groupdict()
    if groups.get("a") is not None:
        joined = re.sub(r"\band including\b", "", text)
        if re.search(r"\band\b", joined) and not re.match("between", text, re.I):
            return None
        first, last = groups["a"], groups["b"]
        b = clock_value(last)
        if re.fullmatch(r"\d+", first):
            first += "pm" if "p" in last.lower() and int(first) < int(b - 12 + 0.5) else "am"
        a = clock_value(first)
        if a == 0.0 and b in (0.0, 24.0):
            return Token("allday", text, span)
        return Token("period", text, span, period=Period(_wrapped(a, b), spans=(span,)))
    value = clock_value(groups["c"] or groups["d"])
    ranges = ((0.0, value or 24.0),) if groups["before"] is not None else ((value, 24.0),)
    kind = "period_open"
    return Token(kind, text, span, period=Period(ranges, spans=(span,)), clock=value)


def _edge_hours(match: re.Match[str], span: Span) -> Period:
    """Return the first and the last hours of a day: ``the first six and the last two hours``."""
    first, last = (
        float(_NUMBER_WORDS.get(str(text).lower(), text or 0)) for text in (match["n"], match["m"])
    )
    ranges = tuple(r for r in ((0.0, first), (24.0 - last, 24.0)) if r[0] < r[1])
    return Period(ranges, spans=(span,))


def _wrapped(a: float, b: float) -> tuple[tuple[float, float], ...]:
    """Return a period as it is, or as two when it runs over midnight; 00:00 as an end is 24:00."""
    if b == 0.0:
        b = 24.0
    if a == 24.0:
        a = 0.0
    return ((a, b),) if a < b else ((a, 24.0), (0.0, b))


def _free(text: str, start: int, end: int, currency: str | None) -> list[Token]:
    tokens = [
        Token("amount", a.quote, a.span, amount=a)
        for a in amounts_in(text, start, end, currency)
        if not re.fullmatch(r"[A-Za-z_]", text[a.span[0] - 1 : a.span[0]])
    ]
    result: list[Token] = []
    position = start
    for token in [*tokens, Token("end", "", (end, end))]:
        result.extend(_words(text, position, token.span[0]))
        position = token.span[1]
        if token.kind == "end":
            break
        if (
            token.amount is not None
            and not token.amount.unit
            and _LABEL.search(text[max(0, token.span[0] - 24) : token.span[0]])
        ):
            result.append(Token("word", token.text, token.span))
        else:
            result.append(token)
    return result


def _words(text: str, start: int, end: int) -> list[Token]:
    tokens, position = [], start
    while position < end:
        match = _WORD.match(text, position, end)
        if match is not None:
            word = match[0].lower().replace("\u2019", "'")
            tokens.append(_word(word, match[0], match.span()))
            position = match.end()
            continue
        mark = _MARK.match(text, position, end)
        if mark is not None:
            shown = {"–": "-", "—": "-", "[": "(", "]": ")"}.get(mark[0], mark[0])
            if shown not in ".!?":
                tokens.append(Token("mark", shown, mark.span()))
        position += 1
    return tokens


def _word(word: str, quote: str, span: Span) -> Token:
    value = _NUMBER_WORDS.get(word)
    if value is None or word == "one":
        return Token("word", word, span)
    return Token("amount", word, span, amount=Amount(float(value), "", "number", span, quote))


def _lists(text: str, tokens: list[Token]) -> list[Token]:
    """Join three or more amounts that only commas and 'and' divide into one list."""
    result: list[Token] = []
    i = 0
    while i < len(tokens):
        run = _run(tokens, i)
        if len(run) < 3:
            result.append(tokens[i])
            i += 1
            continue
        amounts = tuple(a for j in run if (a := tokens[j].amount) is not None)
        span = (tokens[run[0]].span[0], tokens[run[-1]].span[1])
        result.append(Token("list", text[span[0] : span[1]], span, amounts=amounts))
        i = run[-1] + 1
    return result


def _run(tokens: list[Token], start: int) -> list[int]:
    run: list[int] = []
    i = start
    while i < len(tokens) and (amount := tokens[i].amount) is not None:
        first = tokens[start].amount
        if first is None or tokens[i].kind != "amount" or amount.kind != first.kind:
            break
        run.append(i)
        i += 1
        gap = 0
        while i < len(tokens) and gap < 2 and tokens[i].text in (",", "and", ";", "/"):
            i, gap = i + 1, gap + 1
        if gap == 0:
            break
    return run


def tokenise_cell(
    text: str, labels: tuple[Span, ...], sentence: Sentence, unit: str, currency: str | None
) -> Line:
    """Return a table cell as a line: the words of its labels, a colon, and what stands in it.

    ``unit`` is what numbers without a unit are measured in.
    """
    tokens: list[Token] = []
    for start, end in labels:
        tokens.extend(_label_words(text, start, end))
    tokens.append(Token("mark", ":", (sentence.span[0], sentence.span[0])))
    cell = tokenise(text, sentence, currency)
    for token in cell.tokens:
        amount = token.amount
        if amount is not None and not amount.unit and unit:
            amount = replace(amount, unit=unit, kind=kind_of(unit))
            token = replace(token, amount=amount)
        tokens.append(token)
    shown, starts = written(tokens)
    return Line(sentence, tuple(tokens), shown, starts)


def _label_words(text: str, start: int, end: int) -> list[Token]:
    plain = _LABEL_DROPPED.sub(lambda m: " " * len(m[0]), text[start:end])
    blank = text[:start] + plain + text[end:]
    tokens: list[Token] = []
    position = start
    for token in [*_fixed(blank, start, end), Token("end", "", (end, end))]:
        tokens.extend(t for t in _words(blank, position, token.span[0]) if t.text != ":")
        if token.kind != "end":
            tokens.append(token)
        position = token.span[1]
    return tokens
