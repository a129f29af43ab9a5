"""States of charge in words: empty, half full, fully charged; the same at the end as before."""

import re
from typing import Final

from engiagent.agents.offline.cards import lexicon
from engiagent.agents.offline.draft import Draft, Reading, Value
from engiagent.agents.offline.owners import Owners, topic
from engiagent.agents.offline.tokens import Line

_AT_LEAST: Final = re.compile(
    r"(?:at least|no less than|not less than|minimum|not below)(?: [a-z]+){0,2} ?$"
)
_ASKS: Final = re.compile(r"\b(?:must|shall|has to|have to|should|needs to|is to|required|again)\b")


def read_states(draft: Draft, owners: Owners) -> None:
    """Read words for the state of charge at the start and at the end."""
    if "battery" not in owners.present:
        return
    for n, line in enumerate(draft.lines):
        if line.sentence.is_heading:
            continue
        for share, pattern in lexicon().shares:
            for match in pattern.finditer(line.line):
                _read(draft, owners, n, line, share, match)


def _read(
    draft: Draft, owners: Owners, n: int, line: Line, share: str, match: re.Match[str]
) -> None:
    start, end = _clause(line.line, match.start())
    clause = line.line[start:end]
    cell = draft.table_lines.get(n)
    first = list(lexicon().start.finditer(clause))
    last = list(lexicon().end.finditer(clause))
    at_start = [m for m in first if _fits(line, m)]
    if not at_start and not last:
        return
    which = "initial_energy" if _nearer(at_start, last, match.start() - start) else "final_energy"
    names = owners.names["battery"]
    owner: str | None = next(iter(names))
    if len(names) > 1:
        owner = topic(draft.lines, n, match.start(), names)
        if cell is not None and cell.get("owner") in names:
            owner = str(cell["owner"])
        if re.search(r"(?<![a-z])(?:each|both|all|every)(?![a-z])", clause):
            owner = "*"
    if owner is None:
        draft.doubt(n, f"which battery is {match[0]}?")
        return
    for k in (*at_start, *last):
        draft.take(n, list(line.covered(start + k.start(), start + k.end())))
    draft.take(n, list(line.covered(*match.span())))
    known = draft.find(owner, which) or draft.find(owner, which.replace("energy", "fraction"))
    if known is not None:
        in_words = known.value.expression.endswith("*energy_capacity")
        if in_words and known.line == n and known.words != clause:
            draft.doubt(n, f"'{match[0]}' stands twice; is the second one required, and when?")
        return
    bound = "lower" if _AT_LEAST.search(line.line[: match.start()]) else "value"
    if bound == "lower":
        draft.take(n, list(line.covered(max(0, match.start() - 16), match.start())))
    slot = lexicon().cards["battery"].slots[which]
    tokens = [line.tokens[i] for i in line.covered(*match.span())]
    span = (tokens[0].span[0], tokens[-1].span[1])
    source = {"kind": "text", "span": list(span), "quote": draft.text[span[0] : span[1]]}
    if cell is not None:
        source = dict(cell["cells"][0])
    value = Value("kWh", source, expression=f"{share}*energy_capacity", said=match[0])
    _take_verbs(draft, n, line, start, end)
    draft.readings.append(
        Reading(owner, slot, value, bound, n, line.sentence.span, line.line[start:end])
    )


def _take_verbs(draft: Draft, n: int, line: Line, start: int, end: int) -> None:
    for match in _ASKS.finditer(line.line, start, end):
        draft.take(n, list(line.covered(*match.span())))


def _clause(line: str, position: int) -> tuple[int, int]:
    marks = list(
        re.finditer(
            r"[,;]| and (?=it |the |must |has |have |needs? |shall |should |is |at |when |again )",
            line,
        )
    )
    start = max([m.end() for m in marks if m.end() <= position], default=0)
    end = min([m.start() for m in marks if m.start() > position], default=len(line))
    return start, end


def _fits(line: Line, match: re.Match[str]) -> bool:
    """Whether a start counts: one that is a clock time only at midnight."""
    return "<clock" not in match[0] or any(
        t.clock == 0.0 for t in line.tokens if t.clock is not None
    )


def _nearer(first: list[re.Match[str]], last: list[re.Match[str]], place: int) -> bool:
    def distance(matches: list[re.Match[str]]) -> int:
        return min(
            (min(abs(m.start() - place), abs(m.end() - place)) for m in matches), default=999
        )

    return distance(first) <= distance(last)
