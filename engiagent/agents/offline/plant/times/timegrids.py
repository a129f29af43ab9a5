"""Two time grids: hours over quarter-hours, four-hour blocks over the hours of a day."""

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from engiagent.agents.offline.amounts import kind_of
from engiagent.agents.offline.draft import Blocks, Draft, Fact, Value
from engiagent.agents.offline.grids import Times
from engiagent.agents.offline.results import NotUnderstood
from engiagent.agents.offline.timing import STEP_WORDS
from engiagent.blueprint.units import convert, parse_unit

_KINDS: Final = ("price", "power", "percent", "number", "capacity_price", "intensity")
_NAMED: Final = re.compile(
    r"(?:(?:each|all|every one) of )?(?:the |these )?<number#(?P<n>\d+)> (?:[a-z-]+ )?"
    r"(?:blocks?|products?)(?![a-z])"
)


def coarse_grids(draft: Draft, times: Sequence[Times]) -> tuple[list[Times], list[Blocks]]:
    """Return the times of the finest grid, and the grids of blocks that cover the same span.

    Parameters
    ----------
    draft
        The reading; phrases that only tell how many blocks there are, and how long, are taken.
    times
        The times of all tables and files.

    Returns
    -------
    fine, blocks
        Times that do not cover the same span in whole periods stay among the fine ones, where
        they contradict each other.
    """
    stepped = [t for t in times if t.step_minutes is not None and t.start is not None]
    steps = sorted({t.step_minutes for t in stepped if t.step_minutes is not None})
    if len(steps) < 2:
        return list(times), []
    finest = next(t for t in stepped if t.step_minutes == steps[0])
    fine: list[Times] = []
    blocks: list[Blocks] = []
    for found in times:
        made = _over(found, finest, len(blocks)) if found in stepped else None
        if made is None:
            fine.append(found)
        else:
            blocks.append(made)
    for entry in blocks:
        _told(draft, entry)
    return fine, blocks


def _over(times: Times, finest: Times, k: int) -> Blocks | None:
    """Return a grid as blocks of the periods of the finest; None where it does not fit."""
    assert times.step_minutes is not None
    assert finest.step_minutes is not None
    assert times.start is not None
    assert finest.start is not None
    ratio = times.step_minutes / finest.step_minutes
    whole = abs(ratio - round(ratio)) < 1e-9 and ratio > 1.5
    dated = "T" in times.start and "T" in finest.start
    same = (times.start if dated else times.start[-5:]) == (
        finest.start if dated else finest.start[-5:]
    ) and (times.zone or finest.zone) == (finest.zone or times.zone)
    spans = abs(times.step_minutes * times.count - finest.step_minutes * finest.count) < 1e-6
    if not (whole and same and spans):
        return None
    name = "B" if not k else f"B{k + 1}"
    start = times.start if "T" in times.start else finest.start
    zone = times.zone or finest.zone
    return Blocks(name, start, times.step_minutes, times.count, zone, times.origin)


def _told(draft: Draft, blocks: Blocks) -> None:
    """Account for how many blocks there are, and how long they are."""
    for n, line in enumerate(draft.lines):
        for match in _NAMED.finditer(line.line):
            amount = line.tokens[int(match["n"])].amount
            if amount is not None and amount.value == blocks.periods:
                draft.take(n, list(line.covered(*match.span())))
    draft.facts[:] = [fact for fact in draft.facts if not _of_blocks(fact, blocks)]


def _of_blocks(fact: Fact, blocks: Blocks) -> bool:
    """Whether a phrase on the time axis is about blocks: their number, or their length."""
    if fact.name == "step_word":
        lengths = {STEP_WORDS[k] for k in fact.groups if k in STEP_WORDS}
        return lengths == {blocks.step_minutes}
    if fact.name not in ("horizon", "step"):
        return False
    for name in ("count", "total", "step", "step2", "step3", "step4"):
        token = fact.groups.get(name)
        amount = token.amount if token is not None else None
        if amount is None:
            continue
        if amount.kind == "number" and amount.value == blocks.periods:
            return re.search(r"blocks?|products?", fact.words) is not None
        if amount.kind == "duration":
            minutes = convert(amount.value, parse_unit(amount.unit), parse_unit("min"))
            return abs(minutes - blocks.step_minutes) < 1e-9
    return False


def on_blocks(draft: Draft, blocks: Sequence[Blocks]) -> None:
    """Put the series of files with blocks on their own grid."""
    for key, value in list(draft.series.items()):
        grid = grid_of(value, blocks)
        if grid is None:
            continue
        if kind_of(value.unit) not in _KINDS:
            where = value.data or ""
            reason = "what a value for a whole block means in each of its periods is not clear"
            draft.not_understood.append(NotUnderstood(where, (0, 0), reason))
        draft.series[key] = replace(value, blocks=grid)


def grid_of(value: Value, blocks: Sequence[Blocks]) -> Blocks | None:
    """Return the grid of the file or table that a series comes from; None for the finest."""
    source = value.source[0] if isinstance(value.source, list) else value.source
    table = source.get("table") if isinstance(source, dict) else None
    origin = (value.data or "").split("#", 1)[0] if value.data else f"table {table}"
    return next((b for b in blocks if b.origin == origin), None)
