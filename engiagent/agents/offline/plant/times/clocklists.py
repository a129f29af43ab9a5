"""Lists that name the time of every value, as '17:00 820, 18:00 960, 19:00 1090'."""

from dataclasses import replace
from itertools import pairwise

from engiagent.agents.offline.draft import Draft
from engiagent.agents.offline.grids import Times
from engiagent.agents.offline.phrases import relined
from engiagent.agents.offline.tokens import Line, Token

_LINKS = (",", ";", "and", ":", "/")


def take_clock_lists(draft: Draft) -> list[Times]:
    """Turn runs of times and values into lists; return what their times say."""
    found = []
    for n, line in enumerate(draft.lines):
        if line.sentence.is_heading or n in draft.table_lines:
            continue
        run = _run(line)
        if run is None:
            continue
        first, last, pairs = run
        gaps = {round((b - a) % 24, 6) for (a, _), (b, _) in pairwise(pairs)}
        if len(gaps) != 1 or 0.0 in gaps:
            continue
        amounts = [token.amount for _, token in pairs if token.amount is not None]
        unit = next((a for a in amounts if a.unit), None)
        if unit is not None:
            amounts = [replace(a, unit=unit.unit, kind=unit.kind) for a in amounts]
        span = (line.tokens[first].span[0], line.tokens[last].span[1])
        text = draft.text[span[0] : span[1]]
        tokens = list(line.tokens)
        tokens[first : last + 1] = [Token("list", text, span, amounts=tuple(amounts))]
        draft.lines[n] = relined(line, tokens)
        clock = pairs[0][0] % 24
        start = f"{int(clock):02d}:{round(clock % 1 * 60):02d}"
        found.append(Times("text", len(pairs), gaps.pop() * 60, start, "start"))
    return found


def _run(line: Line) -> tuple[int, int, list[tuple[float, Token]]] | None:
    """Return the first and last token of the run, and its times with their values."""
    pairs: list[tuple[float, Token]] = []
    first = last = 0
    tokens = line.tokens
    i = 0
    while i < len(tokens):
        value = _value_behind(line, i)
        if value is not None:
            clock = tokens[i].clock
            assert clock is not None
            first = i if not pairs else first
            pairs.append((clock, tokens[value]))
            last = value
            i = value + 1
        elif pairs and tokens[i].text in _LINKS:
            i += 1
        elif len(pairs) > 2:
            break
        else:
            pairs = []
            i += 1
    units = {token.amount.unit for _, token in pairs if token.amount is not None} - {""}
    return (first, last, pairs) if len(pairs) > 2 and len(units) < 2 else None


def _value_behind(line: Line, i: int) -> int | None:
    """Return the token of the value that stands behind a time, None where none does."""
    tokens = line.tokens
    if tokens[i].kind != "clock":
        return None
    k = i + 1 + (i + 1 < len(tokens) and tokens[i + 1].text in (":", "="))
    return k if k < len(tokens) and tokens[k].amount is not None else None
