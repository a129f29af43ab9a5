"""From a problem to the blueprint of a domain of claims."""

import re
from calendar import month_name, monthrange
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from engiagent.agents.offline.amounts import kind_of
from engiagent.agents.offline.assembly import blueprint_of
from engiagent.agents.offline.builder import Builder
from engiagent.agents.offline.claims.card import Domain
from engiagent.agents.offline.claims.facts import Facts
from engiagent.agents.offline.claims.naming import name_units
from engiagent.agents.offline.claims.reader import ClaimReader
from engiagent.agents.offline.draft import Draft, Json
from engiagent.agents.offline.engine import Understanding, currency_of_text, open_draft
from engiagent.agents.offline.files import file_columns
from engiagent.agents.offline.grids import Column
from engiagent.agents.offline.horizons import dated_span, dates_in
from engiagent.agents.offline.owners import Owners
from engiagent.agents.offline.phrases import TIME_FACTS, apply_rules, relined, take_definitions
from engiagent.agents.offline.plant.analyse import _labels
from engiagent.agents.offline.plant.columns import _unit_before
from engiagent.agents.offline.plant.times.clocklists import take_clock_lists
from engiagent.agents.offline.timing import Axis, over_midnight, read_axis
from engiagent.agents.offline.tokens import Period, Token

if TYPE_CHECKING:
    from engiagent.problems.problem import Problem

Model = Callable[[Facts], Json | None]


class Opened:
    """A problem whose sentences, tables and times are read, and nothing else yet."""

    def __init__(self, problem: "Problem") -> None:
        self.problem = problem
        self.currency = currency_of_text(problem)
        self.draft, self.grids = open_draft(problem, self.currency)
        percents(self.draft, problem)
        timed = take_clock_lists(self.draft)
        plain_words(self.draft, self.currency)
        apply_rules(self.draft, frozenset(TIME_FACTS))
        take_definitions(self.draft)
        files = file_columns(problem, self.currency)
        self.columns: list[Column] = [c for g in self.grids for c in g.columns] + list(files[0])
        times = [g.times for g in self.grids if g.times is not None]
        block = blocks(self.draft)
        lengths = [] if times or timed or files[1] else list_lengths(self.draft)
        stamps = [*times, *timed, *files[1]]
        self.axis: Axis | None = block or read_axis(self.draft, stamps, lengths)
        self.axis = dated(self.draft, self.axis or counted(self.draft, lengths))
        give_back(self.draft)
        spelled(self.draft)
        numbered(self.draft)
        over_midnight(self.draft, self.axis)
        self.tabled = _labels(self.draft, self.grids)


def understand(
    opened: Opened,
    domain: Domain,
    names: Mapping[str, Mapping[str, re.Pattern[str]]],
    model: Model,
    timeless: bool = False,
) -> Understanding:
    """Read an opened problem by a domain's claims, and build its model."""
    draft, axis = opened.draft, opened.axis
    labels = _row_labels(opened.problem)
    reader = ClaimReader(draft, domain, axis, names, labels, opened.currency)
    reader.read_all(opened.columns)
    blueprint = None
    if axis is None and not timeless:
        draft.lacks_axis()
    else:
        builder = Builder(opened.problem, draft, axis or Axis("00:00", 60.0, 1, None, False))
        facts = Facts(reader, builder)

        def parts() -> Json | None:
            objective = model(facts)
            facts.nothing_lost()
            return objective

        blueprint = blueprint_of(
            opened.problem, builder, parts, "mixed-integer programme", timeless
        )
    if not any(s.claim.startswith("goal_") for s in reader.found):
        draft.lacks_goal()
    analysis = draft.analysis(blueprint)
    owners = Owners(frozenset(names), {k: dict(v) for k, v in names.items()})
    return Understanding(analysis, draft, owners, axis)


def named_units(opened: Opened, domain: Domain) -> dict[str, dict[str, re.Pattern[str]]]:
    """Return the units of every kind that a text speaks of."""
    found = {}
    for kind, nouns in domain.units.items():
        others = [text for other, text in domain.units.items() if other != kind]
        names = name_units(kind, nouns, opened.draft.lines, opened.tabled, others)
        if names:
            found[kind] = names
    return found


def _row_labels(problem: "Problem") -> list[tuple[int, int]]:
    spans = (row[0].span for table in problem.tables for row in table.rows)
    return [(a, b) for a, b in spans]


_PERCENT_HEAD = re.compile(r"[(\[]\s*(?:in )?%[^()\[\]]*[)\]]|\bpercent\b")


def percents(draft: Draft, problem: "Problem") -> None:
    """Read numbers below a header such as 'least flow (% of rated)' as percent."""
    heads = {
        (k, name): bool(_PERCENT_HEAD.search(cell.text))
        for k, table in enumerate(problem.tables)
        for name, cell in zip(table.names, table.header, strict=True)
    }
    for n, about in draft.table_lines.items():
        cells: Any = about.get("cells", ())
        if len(cells) != 1 or not heads.get((cells[0]["table"], cells[0]["column"])):
            continue
        line = draft.lines[n]
        tokens = [
            replace(t, amount=replace(t.amount, unit="%", kind="percent"))
            if t.amount is not None and not t.amount.unit else t
            for t in line.tokens
        ]  # fmt: skip
        draft.lines[n] = relined(line, tokens)


_A_MONTH = re.compile(
    rf"(?P<month>{'|'.join(m.lower() for m in month_name[1:])}) <number#(?P<year>\d+)>"
)


def dated(draft: Draft, axis: Axis | None) -> Axis | None:
    """Return an axis with the start that a month, or a date with its hours beside it, gives."""
    if axis is None:
        return None
    dates = dates_in(draft)
    for n, line in enumerate(draft.lines):
        match = _A_MONTH.search(line.line) if not line.sentence.is_heading else None
        year = line.tokens[int(match["year"])].amount if match is not None else None
        if match is not None and year is not None and re.fullmatch(r"(?:19|20)\d\d", year.quote):
            month = list(month_name).index(match["month"].capitalize())
            draft.take(n, list(line.covered(*match.span())))
            entry = {"span": list(year.span), "quote": year.quote, "reason": "a year"}
            draft.unused.append(entry)
            whole = axis.hours == 24 * monthrange(int(year.value), month)[1]
            if whole and not axis.known_start and not dates:
                start = f"{int(year.value):04d}-{month:02d}-01T00:00"
                axis = replace(axis, start=start, known_start=True)
        spans = [t.period for t in line.tokens if t.kind == "period" and t.period is not None]
        told = any(t.kind == "date" for t in line.tokens) and len(spans) == len(dates) == 1
        if told and not axis.known_start and len(spans[0].ranges) == 1:
            a, b = spans[0].ranges[0]
            if abs(b - a - axis.hours) < 1e-9:
                clock = f"{int(a):02d}:{round(a % 1 * 60):02d}"
                axis = replace(axis, start=f"{dates[0]}T{clock}", known_start=True)
    first = "the first period begins at midnight"
    if axis.known_start and first in draft.assumptions:
        draft.assumptions.remove(first)
    return axis


_OF_THE_AXIS = ("horizon", "horizon_hours", "step")


def give_back(draft: Draft) -> None:
    """Give back words such as 'per hour', which tell the steps and may limit something as well."""
    for fact in [f for f in draft.facts if f.name not in _OF_THE_AXIS]:
        tokens = draft.lines[fact.line].tokens
        a, b = fact.span
        inside = [i for i, t in enumerate(tokens) if a <= t.span[0] < b]
        draft.taken.difference_update((fact.line, i) for i in inside)
        draft.facts.remove(fact)


_STEPS = (15.0, 30.0, 60.0, 120.0, 180.0, 240.0, 360.0)


def counted(draft: Draft, lengths: list[int]) -> Axis | None:
    """Return the axis of lists whose values fill the hours that stand beside the one date."""
    span, dates = dated_span(draft), dates_in(draft)
    if span is None or len(dates) != 1 or len(set(lengths)) != 1:
        return None
    step = (span[1] - span[0]) * 60 / lengths[0]
    if step not in _STEPS:
        return None
    draft.assume(f"{lengths[0]} values fill these hours: a period lasts {step:g} minutes")
    clock = f"{int(span[0]):02d}:{round(span[0] % 1 * 60):02d}"
    return Axis(f"{dates[0]}T{clock}", step, lengths[0], None, True)


def list_lengths(draft: Draft) -> list[int]:
    """Return how many values the lists in the text have."""
    return [
        len(t.amounts) for line in draft.lines if not line.sentence.is_heading
        for t in line.tokens if t.kind == "list"
    ]  # fmt: skip


_NUMBERED = frozenset(
    ("pump", "well", "tank", "reservoir", "zone", "room", "hall", "fan", "coil", "box", "machine")
)  # fmt: skip


def numbered(draft: Draft) -> None:
    """Read the number behind 'pump 2' as a name."""
    for n, line in enumerate(draft.lines):
        tokens = list(line.tokens)
        for i, token in enumerate(tokens[1:], 1):
            amount = token.amount
            plain = amount is not None and not amount.unit and amount.quote.isdigit()
            if plain and tokens[i - 1].text in _NUMBERED and len(token.text) < 3:
                tokens[i] = Token("word", token.text, token.span)
        if tuple(tokens) != line.tokens:
            draft.lines[n] = relined(line, tokens)


_LENGTHS = {"hours": "h", "hour": "h", "minutes": "min", "days": "d"}


def spelled(draft: Draft) -> None:
    """Read 'two hours' as a duration; 'an hour' stays in words."""
    for n, line in enumerate(draft.lines):
        tokens: list[Token] = []
        taken: list[int] = []
        for i, token in enumerate(line.tokens):
            last = tokens[-1] if tokens else None
            amount = last.amount if last is not None else None
            unit = _LENGTHS.get(token.text)
            if last is None or amount is None or amount.unit or unit is None:
                tokens.append(token)
                taken += [len(tokens) - 1] if draft.is_taken(n, i) else []
                continue
            span = (last.span[0], token.span[1])
            text = draft.text[span[0] : span[1]]
            length = replace(amount, unit=unit, kind="duration", span=span, quote=text)
            tokens[-1] = replace(last, text=text, span=span, amount=length)
        if len(tokens) != len(line.tokens):
            draft.lines[n] = relined(line, tokens)
            draft.taken.difference_update((n, i) for i in range(len(line.tokens)))
            draft.take(n, taken)


def plain_words(draft: Draft, currency: str | None) -> None:
    """Give lists the unit that stands before them, and let 'at rest' be no time of the day."""
    for n, line in enumerate(draft.lines):
        tokens = list(line.tokens)
        for i, token in enumerate(tokens):
            if token.kind == "rest" and token.text.lower() == "at rest":
                tokens[i] = Token("word", "at rest", token.span)
            behind = tokens[i + 1].text if i + 1 < len(tokens) else ""
            if token.kind == "rest" and token.text.lower() == "the rest" and behind != "of":
                tokens[i] = Token("word", "the rest", token.span)  # of the air, not of the day
            later = token.text in ("afterwards", "thereafter", "then on")
            if later and i and tokens[i - 1].amount is not None:
                tokens[i] = Token("rest", token.text, token.span, period=Period(rest=True))
            if token.kind == "list" and not token.amounts[0].unit:
                before = draft.text[line.sentence.span[0] : token.span[0]]
                unit = _unit_before(before, currency)
                if unit:
                    amounts = tuple(
                        replace(a, unit=unit, kind=kind_of(unit)) for a in token.amounts
                    )
                    tokens[i] = replace(token, amounts=amounts)
        if tuple(tokens) != line.tokens:
            draft.lines[n] = relined(line, tokens)


_BLOCKS = re.compile(
    r"<number#(?P<count>\d+)> (?:equal |consecutive )?"
    r"(?:blocks|periods|intervals|steps|slots|shifts|stretches) (?:of |lasting |, each |each )+"
    r"(?:(?:<number#(?P<hours>\d+)> hours)|<duration#(?P<length>\d+)>)"
)


def blocks(draft: Draft) -> Axis | None:
    """Return the axis of a text that speaks of 'three blocks of four hours from 00:00 to 12:00'."""
    from engiagent.agents.offline.claims.reader import minutes_of
    from engiagent.agents.offline.draft import amount_value

    for n, line in enumerate(draft.lines):
        match = _BLOCKS.search(line.line)
        if match is None:
            continue
        count = line.tokens[int(match["count"])].amount
        if match["hours"]:
            hours = line.tokens[int(match["hours"])].amount
            minutes = 60 * hours.value if hours is not None else 0.0
        else:
            length = line.tokens[int(match["length"])].amount
            assert length is not None
            minutes = minutes_of(amount_value(length, {}))
        span, dates = dated_span(draft), dates_in(draft)
        if count is None or span is None or len(dates) != 1:
            return None
        if abs((span[1] - span[0]) * 60 - count.value * minutes) > 1e-6:
            draft.clash(n, "lengths", ("time", "periods"), "the blocks do not fill the horizon", ())
            return None
        draft.take(n, list(line.covered(*match.span())))
        clock = f"{int(span[0]):02d}:{round(span[0] % 1 * 60):02d}"
        return Axis(f"{dates[0]}T{clock}", minutes, round(count.value), None, True)
    return None
