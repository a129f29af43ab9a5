"""Times in words: 'three hours', 'or until 18:00', 'what was before 06:00 is long ago'."""

import re
from collections.abc import Collection
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from engiagent.agents.offline.amounts import Amount
from engiagent.agents.offline.draft import Draft
from engiagent.agents.offline.phrases import relined
from engiagent.agents.offline.plant.language.remarks import account
from engiagent.agents.offline.timing import Axis
from engiagent.agents.offline.tokens import Line, Token
from engiagent.blueprint.units import convert, parse_unit

if TYPE_CHECKING:
    from engiagent.problems.problem import Problem

_HOURS: Final = {"hour": "h", "hours": "h", "minutes": "min", "minute": "min"}
_BOUND: Final = frozenset({"least", "most", "for", "than", "within"})
_LONG_AGO: Final = re.compile(
    r"(?:for (?:both|all|these)(?: of)?(?: these)? (?:rules|limits) )?"
    r"what(?:ever)? (?:was|happened|went on|ran) <period_open#\d+> (?:is long (?:ago|past)"
    r"|does not (?:matter|count)|is of no account|no longer (?:matters|counts|binds))"
)


def take_run_ends(draft: Draft, axis: Axis) -> None:
    """Account for 'or until 18:00' where the horizon ends then: a run that it cuts is allowed.

    So is one that began long before the horizon.
    """
    for n, line in enumerate(draft.lines):
        for match in _LONG_AGO.finditer(line.line):
            draft.take(n, list(line.covered(*match.span())))
        for i, token in enumerate(line.tokens):
            until = token.kind == "period_open" and token.text.lower().startswith(("until", "till"))
            if not until or i == 0 or line.tokens[i - 1].text != "or" or token.clock is None:
                continue
            if abs(token.clock % 24 - axis.end_clock % 24) < 1e-9:
                draft.take(n, [i - 1, i])


_ROWS: Final = re.compile(r"(?i)(?:one|a (?:row|line|value)) (?:per|for each|for every) (.+)")


def take_row_counts(problem: "Problem", draft: Draft, axis: Axis) -> None:
    """Account for 'one per hour', which says how the rows of a file follow each other."""
    for quantity in problem.quantities:
        match = _ROWS.fullmatch(quantity.text)
        step = " ".join(match[1].lower().replace("-", " ").split()) if match else ""
        minutes = {"hour": 60.0, "half hour": 30.0, "quarter hour": 15.0}.get(step)
        if minutes == axis.step_minutes:
            entry = {"span": list(quantity.span), "quote": quantity.text,
                     "reason": "says how the rows follow each other"}  # fmt: skip
            draft.unused.append(entry)


_FROM_NOTHING: Final = re.compile(
    r"(?:(?<=draws )|(?<=takes )|(?<=uses )|(?<=consumes )|(?<=needs ))"
    r"(?:between|anything between|from) <(?:power|number)#(?P<low>\d+)> (?:and|to|up to)"
    r"(?= <power#\d+>)"
)


def take_from_nothing(draft: Draft, signed: Collection[int] = ()) -> None:
    """Account for the 0 of 'draws between 0 and 5 kW', which limits nothing.

    ``signed`` are lines on what may be negative otherwise.
    """
    for n, line in enumerate(draft.lines):
        if n in signed:
            continue
        for match in _FROM_NOTHING.finditer(line.line):
            amount = line.tokens[int(match["low"])].amount
            if amount is not None and amount.value == 0 and n not in draft.table_lines:
                account(draft, n, line, match, "a least power of nothing limits nothing")


_ROW_RANGE: Final = re.compile(
    r"(?:hours?|rows?|periods?|steps?|intervals?|quarter hours?) (?:no |number )?"
    r"<number#(?P<a>\d+)> (?:to|-|until|through|up to) <number#(?P<b>\d+)>"
)


def take_row_range(draft: Draft, axis: Axis) -> None:
    """Account for 'hour 1 to 8760', which numbers the rows of a file."""
    for n, line in enumerate(draft.lines):
        for match in _ROW_RANGE.finditer(line.line):
            amounts = [line.tokens[int(match[key])].amount for key in ("a", "b")]
            values = [a.value for a in amounts if a is not None and not a.unit]
            whole = len(values) == 2 and values[1] - values[0] + 1 == axis.periods
            if whole and values[0] in (0, 1):
                draft.take(n, list(line.covered(*match.span())))
                draft.unused += [
                    {"span": list(a.span), "quote": a.quote, "reason": "numbers the rows"}
                    for a in amounts if a is not None
                ]  # fmt: skip


_ON_RESULTS: Final = re.compile(
    r"which (?:makes|turns|gives) (?:the|this|our) (?:answer|result|figure|price|value)(?: into)?"
    r" an? (?:upper|lower) (?:limit|bound|estimate)"
    r"|(?:so (?:that )?)?the (?:answer|result) is an? (?:upper|lower) (?:limit|bound|estimate)"
)


def take_remarks_on_results(draft: Draft) -> None:
    """Account for 'which makes the answer an upper limit': it is about the result."""
    for n, line in enumerate(draft.lines):
        for match in _ON_RESULTS.finditer(line.line):
            account(draft, n, line, match, "says what the result is worth")


_ROW_LASTS: Final = re.compile(
    r"(?:each|every|one) (?:row|value|line|entry|block|period)"
    r" (?:holds|is valid|applies|stands|lasts|covers|counts)(?: for)?"
    r" (?:<duration#(?P<long>\d+)>|<number#(?P<count>\d+)> hours)"
)


def take_row_lengths(draft: Draft, axis: Axis) -> None:
    """Account for 'each row holds for two hours' where that is how long a period lasts."""
    for n, line in enumerate(draft.lines):
        for match in _ROW_LASTS.finditer(line.line):
            amount = line.tokens[int(match["long"] or match["count"])].amount
            if amount is None:
                continue
            unit = amount.unit if match["long"] else "h"
            minutes = convert(amount.value, parse_unit(unit), parse_unit("min"))
            if abs(minutes - axis.step_minutes) < 1e-9:
                draft.take(n, list(line.covered(*match.span())))


_OF_YEARS: Final = frozenset({"covers", "cover", "in", "of", "year", "for", "during"})


_UP_TO_ALL: Final = re.compile(
    r"between <percent#(?P<low>\d+)> (?:and|to) <percent#(?P<all>\d+)>"
    r"(?= (?:of (?:[a-z]+ ){0,2})?(?:capacity|output|power|load)(?![a-z]))"
)


def take_full_ranges(draft: Draft) -> None:
    """Take 'between 40 % and 100 %' of what a unit can do as 'at least 40 %'."""
    for n, line in enumerate(draft.lines):
        for match in _UP_TO_ALL.finditer(line.line):
            low, whole = int(match["low"]), int(match["all"])
            amount = line.tokens[whole].amount
            if amount is None or amount.value != 100.0 or amount.unit != "%":
                continue
            entry = {"span": list(amount.span), "quote": amount.quote, "reason": "all of it"}
            draft.unused.append(entry)
            tokens = list(line.tokens)
            tokens[low - 1] = replace(tokens[low - 1], text="minimum")
            draft.lines[n] = relined(line, [*tokens[: low + 1], *tokens[whole + 1 :]])
            break


_NO_OTHER_LIMIT: Final = re.compile(
    r"(?:, )?(?:<rest#\d+>|at other times) (?:there is|there are|we have|it has) no (?:other )?"
    r"limits?(?: that matters?| to speak of| worth mentioning)?(?= [.,;]|$)"
)


def take_no_limits(draft: Draft) -> None:
    """Account for 'otherwise there is no limit': what limits some hours leaves the others free."""
    for n, line in enumerate(draft.lines):
        for match in _NO_OTHER_LIMIT.finditer(line.line):
            draft.take(n, list(line.covered(*match.span())))


def take_years(draft: Draft) -> None:
    """Account for the number of a year, as in 'the file covers 2025'."""
    for n, line in enumerate(draft.lines):
        for i, token in enumerate(line.tokens):
            amount = token.amount
            if (
                amount is None
                or amount.unit
                or i == 0
                or not re.fullmatch(r"(?:19|20)\d\d", token.text)
            ):
                continue
            if line.tokens[i - 1].text in _OF_YEARS:
                draft.take(n, [i])
                entry = {"span": list(amount.span), "quote": amount.quote, "reason": "a year"}
                draft.unused.append(entry)


_YEARS: Final = re.compile(
    r"<number#(?P<n>\d+)> (?:different |separate |successive )?years(?![a-z])"
)


def take_counted_years(draft: Draft) -> None:
    """Account for 'from two different years' in a sentence that asks for nothing."""
    for n, line in enumerate(draft.lines):
        asks = re.search(r"\b(?:must|at least|at most|may|not|only|if|when|until)\b", line.line)
        for match in _YEARS.finditer(line.line) if asks is None else ():
            amount = line.tokens[int(match["n"])].amount
            if amount is not None and amount.quote.isalpha():
                draft.take(n, line.covered(*match.span()))
                entry = {"span": list(amount.span), "quote": amount.quote, "reason": "counts years"}
                draft.unused.append(entry)


def take_addresses(draft: Draft) -> None:
    """Account for the number of a house, as in 'at 8 Cecil Quay': names follow it."""
    for n, line in enumerate(draft.lines):
        for i, token in enumerate(line.tokens[:-2]):
            amount = token.amount
            if (
                amount is None
                or amount.unit
                or i == 0
                or line.tokens[i - 1].text not in ("at", ",")
            ):
                continue
            behind = line.tokens[i + 1 : i + 3]
            raw = [draft.text[t.span[0]] for t in behind if t.kind == "word"]
            if len(raw) == 2 and all(letter.isupper() for letter in raw):
                draft.take(n, [i])
                entry = {"span": list(amount.span), "quote": amount.quote, "reason": "an address"}
                draft.unused.append(entry)


def spell_durations(draft: Draft) -> None:
    """Give a number in words the unit behind it, as in 'at least three hours' and 'for an hour'."""
    for n, line in enumerate(draft.lines):
        tokens = list(line.tokens)
        for i in range(len(tokens) - 1):
            unit = _HOURS.get(tokens[i + 1].text)
            if unit is None or tokens[i + 1].kind != "word" or draft.is_taken(n, i):
                continue
            spelt = _spelt(line, i, unit)
            if spelt is not None:
                tokens[i] = spelt
        if tuple(tokens) != line.tokens:
            draft.lines[n] = relined(line, tokens)


def _spelt(line: Line, i: int, unit: str) -> Token | None:
    token = line.tokens[i]
    amount = token.amount
    spelt = amount is not None and not any(letter.isdigit() for letter in amount.quote)
    if amount is not None and amount.kind == "number" and not amount.unit and spelt:
        return replace(token, amount=replace(amount, unit=unit, kind="duration"))
    single = token.text in ("a", "an", "one") and line.tokens[i + 1].text in ("hour", "minute")
    if token.kind == "word" and single and i and line.tokens[i - 1].text in _BOUND:
        made = Amount(1.0, unit, "duration", token.span, token.text)
        return Token("amount", token.text, token.span, amount=made)
    return None
