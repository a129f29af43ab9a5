"""Events that may be accepted or not: a table of times and fees, and what an accepted one asks for.

Whoever accepts an event draws no more than a limit while it lasts, and gets its fee.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Final

from engiagent.agents.offline.amounts import Amount, kind_of, number_of
from engiagent.agents.offline.draft import Draft, Json, amount_value
from engiagent.agents.offline.grids import clean_unit
from engiagent.agents.offline.owners import identifier
from engiagent.agents.offline.plant.system import LOGIC, System
from engiagent.agents.offline.storage import constrain
from engiagent.agents.offline.tokens import Line, clock_value

if TYPE_CHECKING:
    from engiagent.problems.problem import Problem

_CLOCK: Final = re.compile(r"(?:[01]?\d|2[0-4]):[0-5]\d")
_FROM: Final = re.compile(r"(?i)(?:from|start|begin|begins|starts|beginning)(?: time)?")
_UNTIL: Final = re.compile(r"(?i)(?:until|till|to|end|ends)(?: time)?")
_PAID: Final = r"(?:fees?|premiums?|payments?|rewards?|price|money|remuneration)"
_EVENT: Final = (
    r"(?:(?:flexibility|demand[- ]response|curtailment|flex|load[- ]reduction) )?events?"
)
_COUNT: Final = re.compile(rf"<number#(?P<n>\d+)> (?:such )?{_EVENT}")
_ACCEPTS: Final = (
    r"(?:who(?:ever)? accepts (?:one|an event|it|any of them)"
    r"|if (?:we|you|it|they) accepts? (?:one|an event|it|any of them)"
    r"|(?:in|during|for) (?:an?|each|every|any) (?:accepted event"
    r"|event (?:that|which) (?:we|you|it) accepts?|event (?:that|which) is accepted))"
)
_LASTS: Final = (
    r"(?: in any hour of it| in (?:each|any) of its hours| during it| throughout(?: it)?| in it"
    r"| while it lasts| at any time of it)?"
)
_CAP: Final = re.compile(
    rf"{_ACCEPTS} ?,? ?(?:(?:we|you|they|it) )?(?:must|may|can|has to|is to|are to)"
    r"(?: not (?:draw|take|use) more than| (?:draw|take|use) (?:at most|no more than|up to)"
    rf"| not exceed) <power#(?P<cap>\d+)>{_LASTS}"
    rf"(?: ?,? ?(?:and )?(?:(?:we|you|they|it) )?(?:receives?|gets?|earns?|(?:is|are) paid)"
    rf" (?:the|its|this|that) {_PAID})?"
)
_GETS: Final = re.compile(
    rf"(?:for (?:each|every) (?:accepted event|event (?:that|which) (?:we|you) accept) ?,? ?)?"
    rf"(?:we|you) (?:receive|get|earn|are paid) (?:the|its) {_PAID}"
)
_MANY: Final = re.compile(
    r"(?:we|you|it|they) (?:may|can|are free to) accept (?:(?:as many(?: of them)? as"
    r" (?:we|you|it|they) (?:like|want|wish|can)|any(?: number)?(?: of them)?|all of them)"
    r"|at most <number#(?P<most>\d+)>(?: of them| events?)?)"
)
_ONCE: Final = re.compile(
    r"(?:,? ?(?:except that|but|however|only|as long as|provided that) ?,? ?)?"
    r"(?:no hour (?:may|can|must) be (?:sold|accepted|covered|used|paid|counted) twice"
    r"|(?:accepted )?events (?:must|may|can)(?:not| not) overlap"
    r"|(?:two )?events that overlap (?:cannot|can not|must not|may not) both be accepted)"
)
_OPEN: Final = re.compile(
    r"[(]? ?(?:an|each|every|the) events? (?:lasts?|runs?|is|goes) from (?:its|the) first hour ,? ?"
    r"(?:until|to|up to) ,? ?(?:but )?(?:not including|excluding|without) ,? (?:the|its)(?: last)?"
    r" hour(?: in the column \"?[a-z]+\"?)? ?[)]?"
)


_ASKS: Final = re.compile(r"(?:what|which|how)(?: [a-z]+){0,2} (?:should|shall|do|to)")


@dataclass(frozen=True)
class Offered:
    """An event: its name, its times in hours, its fee."""

    name: str
    begin: tuple[float, Json]
    end: tuple[float, Json]
    fee: Amount
    source: Json


@dataclass(frozen=True)
class Acceptance:
    """All events that may be accepted, the limit while one lasts, and how they go together.

    Attributes
    ----------
    once
        Whether events that overlap exclude each other; None where the text does not say.
    most
        How many may be accepted at most.
    """

    events: tuple[Offered, ...]
    cap: Amount
    line: int
    once: int | None
    most: tuple[Amount, int] | None


def take_acceptance(draft: Draft, problem: "Problem", currency: str | None) -> Acceptance | None:
    """Return the events of a text that may be accepted; their table and sentences are taken."""
    table, events = _table(problem, currency)
    if table is None:
        return None
    lines = [(n, line) for n, line in enumerate(draft.lines)
             if not line.sentence.is_heading and n not in draft.table_lines]  # fmt: skip
    caps = [(n, m) for n, line in lines if (m := _CAP.search(line.line))]
    gets = [n for n, line in lines if _GETS.search(line.line)]
    if len(caps) != 1 or not (gets or re.search(_PAID, caps[0][1][0])):
        return None
    cap = draft.lines[caps[0][0]].tokens[int(caps[0][1]["cap"])].amount
    assert cap is not None
    once, most = None, None
    for n, line in lines:
        for match in _COUNT.finditer(line.line):
            amount = line.tokens[int(match["n"])].amount
            if amount is not None and amount.value == len(events):
                draft.take(n, list(line.covered(*match.span())))
                draft.unused.append({"span": list(amount.span), "quote": amount.quote,
                                     "reason": "counts the events"})  # fmt: skip
        many = _MANY.search(line.line)
        if many is not None:
            limit = line.tokens[int(many["most"])].amount if many["most"] else None
            most = (limit, n) if limit is not None else most
        once = n if _ONCE.search(line.line) else once
        for pattern in (_CAP, _GETS, _MANY, _ONCE, _OPEN):
            for found in pattern.finditer(line.line):
                draft.take(n, list(line.covered(*found.span())))
    _unread(draft, lines, events)
    a, b = table
    for n in draft.table_lines:
        if a <= draft.lines[n].sentence.span[0] < b:
            draft.take(n, range(len(draft.lines[n].tokens)))
    return Acceptance(tuple(events), cap, caps[0][0], once, most)


def _unread(draft: Draft, lines: Sequence[tuple[int, Line]], events: Sequence[Offered]) -> None:
    """Report sentences that name events, or speak of accepting, beyond what was read of them."""
    names = "|".join(re.escape(e.name.lower()) for e in events)
    about = re.compile(rf"(?<![a-z-])(?:{names}|accept[a-z]*|overlap[a-z]*|events?)(?![a-z-])")
    for n, line in lines:
        for match in about.finditer(line.line):
            free = any(not draft.is_taken(n, i) for i in line.covered(*match.span()))
            asks = re.search(
                r"(?:what|which|how)(?: [a-z]+){0,2} (?:should|shall|do|to)", line.line
            )
            if free and asks is None:
                draft.refuse(n, "what this says of the events is not understood")


def _table(
    problem: "Problem", currency: str | None
) -> tuple[tuple[int, int] | None, Sequence[Offered]]:
    """Return the place of a table with a name, two times and a fee in each row, and its events."""
    for k, table in enumerate(problem.tables):
        heads = [name.strip() for name in table.names]
        first = [c for c, head in enumerate(heads) if _FROM.fullmatch(head)]
        last = [c for c, head in enumerate(heads) if _UNTIL.fullmatch(head)]
        units = [clean_unit(t or "", currency) for t in table.unit_texts]
        fees = [c for c, unit in enumerate(units) if unit and kind_of(unit) == "money"]
        if len(heads) != 4 or not (len(first) == len(last) == len(fees) == 1):
            continue
        names = [c for c in range(4) if c not in (*first, *last, *fees)]
        events = [
            _row(k, table, r, names[0], (first[0], last[0], fees[0]), units[fees[0]])
            for r in range(len(table.rows))
        ]
        known = [e for e in events if e is not None]
        if len(known) == len(events) and len({e.name for e in known}) == len(known) > 0:
            return table.span, known
    return None, ()


def _row(
    k: int, table: "object", r: int, name: int, columns: tuple[int, int, int], unit: str
) -> Offered | None:
    row = table.rows[r]  # type: ignore[attr-defined]
    begin, end, fee = (row[c] for c in columns)

    def source(c: int) -> Json:
        return {"kind": "table", "span": list(row[c].span), "quote": row[c].text, "table": k,
                "row": r, "column": table.names[c]}  # type: ignore[attr-defined]  # fmt: skip

    clocks = [cell.text.strip() for cell in (begin, end)]
    plain = re.fullmatch(r"\d+(?:\.\d+)?", fee.text.strip())
    if plain is None or not all(_CLOCK.fullmatch(c) for c in clocks):
        return None
    a, b = (clock_value(c) for c in clocks)
    if a >= (b or 24.0):
        return None
    amount = Amount(number_of(fee.text), unit, kind_of(unit), fee.span, fee.text)
    label = row[name].text.strip()
    label = label if re.fullmatch(r"[A-Za-z]\w*", label) else identifier(label)
    return Offered(
        label, (a, source(columns[0])), (b or 24.0, source(columns[1])), amount, source(columns[2])
    )


def add_acceptance(system: System) -> None:
    """Add whether each event is accepted, its limit while it lasts, and its fee."""
    found, builder = system.reader.acceptance, system.builder
    if found is None:
        return
    grid = next((c for c in builder.components if c["model"] == "grid"), None)
    draft, filled = builder.draft, system.filled.get("grid", {})
    most = filled.get("import_enough") or filled.get("import_power_max")
    axis = builder.axis
    if grid is None or not most or axis.hours > 24 or axis.start_clock:
        draft.doubt(found.line, "what is the most that is drawn without an event?")
        return
    overlap = any(a.begin[0] < b.end[0] and b.begin[0] < a.end[0]
                  for a, b in combinations(found.events, 2))  # fmt: skip
    if overlap and found.once is None:
        draft.doubt(found.line, "may events that overlap both be accepted?")
    step = axis.step_minutes / 60
    edges = [x for e in found.events for x in (e.begin[0], e.end[0])]
    if any(abs(x / step - round(x / step)) > 1e-9 for x in edges):
        draft.doubt(found.line, "events that begin or end within a step")
    _columns(system, found)
    cap = builder.value("event_limit", amount_value(found.cap, draft.source(found.line, found.cap)),
                        "largest draw in an accepted event")  # fmt: skip
    builder.variables.append({
        "name": "accept", "index": ["e in events"], "type": "binary", "unit": "1",
        "quantity": "event.accepted", "role": "decision",
        "description": "1 where an event is accepted",
    })  # fmt: skip
    top, lasts = builder.at(most), "event_begin[e] <= clock(t) < event_end[e]"
    constrain(
        builder, "limit in an event",
        f"{grid['name']}_import[t] <= {top} - ({top} - {cap})*accept[e]", LOGIC, found.line,
        ["e in events", "t in T"], lasts,
    )  # fmt: skip
    if found.once is not None:
        text = f"sum(accept[e] for e in events if {lasts}) <= 1"
        constrain(builder, "no hour twice", text, LOGIC, found.once, ["t in T"])
    if found.most is not None:
        amount, line = found.most
        limit = builder.value("most_events", amount_value(amount, draft.source(line, amount)),
                              "most events that may be accepted")  # fmt: skip
        constrain(builder, "number of events", f"sum(accept[e] for e in events) <= {limit}", LOGIC,
                  line)  # fmt: skip
    system.costs.append(("-", "sum(event_fee[e]*accept[e] for e in events)"))


def _columns(system: System, found: Acceptance) -> None:
    """Add the events with their times and fees."""
    builder = system.builder
    builder.sets.append(
        {"name": "events", "kind": "labels", "elements": [e.name for e in found.events]}
    )
    begins, ends = [e.begin for e in found.events], [e.end for e in found.events]
    columns: Mapping[str, tuple[str, list[float], list[Json]]] = {
        "event_begin": ("h", [x for x, _ in begins], [source for _, source in begins]),
        "event_end": ("h", [x for x, _ in ends], [source for _, source in ends]),
        "event_fee": (found.events[0].fee.unit, [e.fee.value for e in found.events],
                      [e.source for e in found.events]),
    }  # fmt: skip
    for name, (unit, values, sources) in columns.items():
        made = builder.parameter(
            name, unit, name.replace("_", " "), index=["events"],
            value={e.name: v for e, v in zip(found.events, values, strict=True)},
            source_reference=sources,
        )  # fmt: skip
        builder.indexed.discard(made)
