"""How long a plan is and when it begins, where sentences say it beside other things.

'We need ten half-hourly powers', 'in twelve blocks of two hours', 'at 05:00 it is 8 °C inside'; and
times that are counted in steps: 'in the first six blocks and in the last six'.
"""

import re
from dataclasses import replace
from typing import Final

from engiagent.agents.offline.draft import Draft, Fact
from engiagent.agents.offline.horizons import dated_span
from engiagent.agents.offline.phrases import relined, with_names
from engiagent.agents.offline.plant.language.remarks import account
from engiagent.agents.offline.timing import Axis
from engiagent.agents.offline.tokens import Line, Period, Token

_RHYTHM: Final = "hourly|half-hourly|quarter-hourly"
_SETTINGS: Final = (
    "powers|outputs|heat outputs|heating powers|cooling powers|settings|set points|values|levels"
)
_COUNTED: Final = re.compile(
    rf"<number#(?P<count>\d+)> (?P<word>{_RHYTHM}) (?:{_SETTINGS})(?![a-z])"
)
_BLOCKS: Final = re.compile(
    r"<number#(?P<count>\d+)> (?:equal )?(?:blocks?|steps?|periods?|intervals?|slices?)"
    r" (?:of|each|lasting|,? each of)(?: each)? (?:<duration#(?P<step>\d+)>"
    r"|<number#(?P<hours>\d+)> hours?)"
)
_INSIDE: Final = r"(?:inside|indoors|in the [a-z]+)"
_SINCE: Final = re.compile(
    rf"(?:at|by) <clock#(?P<a>\d+)> (?:it|the [a-z]+) (?:is|will be) (?:at )?<temperature#\d+>"
    rf"|(?:it|the [a-z]+) (?:is|will be) (?:at )?<temperature#\d+>(?: {_INSIDE})? at"
    rf" <clock#(?P<b>\d+)>|<temperature#\d+>(?: {_INSIDE})? at <clock#(?P<c>\d+)>"
)


def take_spans(draft: Draft) -> None:
    """Note how many steps of which length a plan has, and when it begins."""
    for n, line in enumerate(draft.lines):
        if line.sentence.is_heading or n in draft.table_lines:
            continue
        for match in _BLOCKS.finditer(line.line):
            _blocks(draft, n, line, match)
        for match in _COUNTED.finditer(line.line):
            count = line.tokens[int(match["count"])]
            span = (count.span[0], line.tokens[line.covered(*match.span())[-1]].span[1])
            draft.facts.append(Fact("horizon", n, span, {"count": count}, "steps"))
            words = {"h": "hourly", "f": "half-hourly", "q": "quarter-hourly"}
            key = next(k for k, word in words.items() if word == match["word"])
            groups = {key: Token("word", match["word"], span)}
            draft.facts.append(Fact("step_word", n, span, groups, match["word"]))
            draft.take(n, list(line.covered(*match.span())))
    _give_back(draft)
    _begins(draft)


_NO_START: Final = re.compile(
    r"(?:(?:not|never|cannot)(?: be)?|nothing|no (?:sooner|earlier)|only) "
    r"(?:start|starts|started|begin|begins|run|on)?(?: again)? ?(?:<period_open#\d+>|at <clock)"
)


def _give_back(draft: Draft) -> None:
    """Take 'may not start before 06:00' for what it is: a rule, and no beginning of the plan."""
    for fact in [f for f in draft.facts if f.name == "start_clock"]:
        line = draft.lines[fact.line]
        if _NO_START.search(line.line):
            draft.facts.remove(fact)
            inside = [i for i, t in enumerate(line.tokens)
                      if fact.span[0] <= t.span[0] < fact.span[1]]  # fmt: skip
            draft.taken.difference_update((fact.line, i) for i in inside)


def _blocks(draft: Draft, n: int, line: Line, match: re.Match[str]) -> None:
    """Note 'twelve blocks of two hours' in place of what single words of it were taken for."""
    covered = list(line.covered(*match.span()))
    span = (line.tokens[covered[0]].span[0], line.tokens[covered[-1]].span[1])
    count, step = line.tokens[int(match["count"])], None
    if match["hours"]:
        step = line.tokens[int(match["hours"])]
        if step.amount is None or step.amount.unit:
            return
        step = replace(step, amount=replace(step.amount, unit="h", kind="duration"))
    elif match["step"]:
        step = line.tokens[int(match["step"])]
    if step is None:
        return
    times = ("horizon", "horizon_hours", "step")
    draft.facts[:] = [
        f for f in draft.facts
        if not (f.line == n and f.name in times and span[0] <= f.span[0] < span[1])
    ]  # fmt: skip
    draft.facts.append(Fact("horizon", n, span, {"count": count, "step": step}, match[0]))
    draft.take(n, covered)


def _begins(draft: Draft) -> None:
    """Let a plan begin at the time of its temperature at the start, where nothing else says so."""
    clocks: dict[float, Fact] = {}
    for n, line in enumerate(draft.lines):
        for match in _SINCE.finditer(line.line):
            if line.sentence.is_heading or n in draft.table_lines or _asks(match, line):
                continue
            token = line.tokens[int(match["a"] or match["b"] or match["c"])]
            if token.clock is not None:
                fact = Fact("start_clock", n, token.span, {"clock": token}, match[0])
                clocks[token.clock] = fact
    known = [f for f in draft.facts if f.name == "start_clock" and _of_plan(f.words)]
    whole = any(t.kind == "allday" for line in draft.lines for t in line.tokens)
    if whole or dated_span(draft) is not None:
        return
    if len(clocks) == 1 and not known and not draft.has("first_hour"):
        draft.facts.insert(0, next(iter(clocks.values())))


def _asks(match: re.Match[str], line: Line) -> bool:
    """Whether a temperature at a time is a requirement, as in 'it must be at 20 °C at 08:00'."""
    before = re.split(r"[;,]", line.line[: match.start()])[-1]
    words = r"must|shall|should|has to|have to|needs?|wants?|wanted|least|most|limit|if|when"
    return re.search(rf"(?<![a-z])(?:{words})(?![a-z])", f"{before} {match[0]}") is not None


def _of_plan(words: str) -> bool:
    plain = re.sub(r"<[^>]*>", "", words)
    return re.search(r"day|plan|horizon|hours?|period|night|week|steps?", plain) is not None


_PART: Final = re.compile(
    r"(?:in|for|during|over|throughout) (?:the|these|all) (?P<side>first|last)"
    r" <number#(?P<count>\d+)>(?: (?P<what>blocks?|steps?|periods?|intervals?|hours?))?(?![a-z])"
)


def name_parts(draft: Draft, axis: Axis) -> None:
    """Turn 'in the first six blocks' into times of the day, where the plan is at most a day."""
    if axis.hours > 24 or axis.zone is not None:
        return
    for n, line in enumerate(draft.lines):
        for match in reversed(list(_PART.finditer(line.line))):
            amount = line.tokens[int(match["count"])].amount
            what = match["what"] or _before(line.line[: match.start()])
            if amount is None or amount.unit or what is None:
                continue
            hours = amount.value * (1 if what.startswith("hour") else axis.step_minutes / 60)
            if not 0 < hours < axis.hours:
                continue
            a = 0.0 if match["side"] == "first" else axis.hours - hours
            b = hours if match["side"] == "first" else axis.hours
            line = _put(draft, n, line, match, _clocked(axis.start_clock + a, b - a))


def _before(text: str) -> str | None:
    """Return what the parts that were counted just before were counted in."""
    found = [m["what"] for m in _PART.finditer(text) if m["what"]]
    return found[-1] if found else None


def _clocked(start: float, hours: float) -> tuple[tuple[float, float], ...]:
    a = start % 24
    b = a + hours
    return ((a, b),) if b <= 24 else ((a, 24.0), (0.0, b - 24))


def _put(
    draft: Draft, n: int, line: Line, match: re.Match[str], ranges: tuple[tuple[float, float], ...]
) -> Line:
    """Put a period in place of the words of a match; return the new line."""
    covered = list(line.covered(*match.span()))
    first, last, tokens = covered[0], covered[-1], list(line.tokens)
    span = (tokens[first].span[0], tokens[last].span[1])
    tokens[first : last + 1] = [
        Token("period", match[0], span, period=Period(ranges, spans=(span,)))
    ]
    away = last - first
    here = {i for m, i in draft.taken if m == n}
    draft.taken -= {(n, i) for i in here}
    draft.taken |= {(n, i - away if i > last else i) for i in here if not first <= i <= last}
    draft.lines[n] = relined(line, tokens)
    return draft.lines[n]


_ROW_NAME: Final = re.compile(r"^(?P<name>[a-z]+)(?: ,)? <period#(?P<at>\d+)> ?(?P<more>[a-z ]*):")


def name_rows(draft: Draft) -> None:
    """Let a row of a table name times of the day: 'Training, 16:00 to 22:00'.

    In the other rows 'outside training' then is the rest of these times.
    """
    for n in draft.table_lines:
        match = _ROW_NAME.match(draft.lines[n].line)
        period = draft.lines[n].tokens[int(match["at"])].period if match is not None else None
        if match is None or period is None or period.rest:
            continue
        others = {
            m: found for m in draft.table_lines if m != n
            if (found := with_names(draft.lines[m], {match["name"]: period})) is not draft.lines[m]
            and not any((m, i) in draft.taken for i in range(len(draft.lines[m].tokens)))
        }  # fmt: skip
        if others:
            draft.take(n, [0])
        for m, found in others.items():
            draft.lines[m] = found


_NOT_BEFORE: Final = re.compile(
    r"(?:the |our )?(?:heating|cooling|heaters?|boiler|chiller|heat pump|plant|system|fire|burner)"
    r" (?:may|can|must|shall) (?:not|never) (?:be )?"
    r"(?:start|starts|started|begin|run|on|switched on|turned on|used|operate|fired)"
    r" <period_open#(?P<at>\d+)>"
)


def take_not_before(draft: Draft, axis: Axis) -> None:
    """Account for 'the heating may not start before 05:00' where the plan begins then."""
    for n, line in enumerate(draft.lines):
        match = None if line.sentence.is_heading else _NOT_BEFORE.search(line.line)
        token = line.tokens[int(match["at"])] if match is not None else None
        if match is None or token is None or token.clock is None:
            continue
        before = token.text.lower().startswith("before")
        if before and abs(token.clock % 24 - axis.start_clock) < 1e-9 and axis.hours <= 24:
            account(draft, n, line, match, "the plan begins then")
