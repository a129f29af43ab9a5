"""What has to stay the same through every block of several periods: 'one power for a full hour'."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from engiagent.agents.offline.cards import load_card
from engiagent.agents.offline.draft import Blocks, Draft
from engiagent.agents.offline.plant.language.words import NEUTRAL, THING, Marked, mark, vocabulary
from engiagent.agents.offline.plant.system import LOGIC, System
from engiagent.agents.offline.plant.units import Plant, nouns
from engiagent.agents.offline.timing import Axis
from engiagent.agents.offline.tokens import Line
from engiagent.blueprint.units import convert, parse_unit

_SAME: Final = re.compile(
    r"(?:(?:one|an?|the|a single|one single) )?(?:constant|flat|steady|uniform|unchanged)"
    r"(?: (?:power|quantity|amount|output|delivery|level|volume))?"
    r"|(?:one|the|a single|one and the)(?: single)? same (?:power|quantity|amount|output|volume)"
    r"|one (?:power|quantity|amount|volume)"
    r"|without (?:any |a )?(?:deviations?|changes?|variations?)"
    r"|(?:must|may|can|is) (?:not|never) (?:to )?(?:change|vary|deviate)"
)
_OVER: Final = re.compile(
    r"(?:for|over|during|throughout|within|in|through|of|per)(?: (?:an?|one|each|every|the|any)"
    r" (?:full |whole |entire |single |clock |delivery |complete )*"
    r"(?:(?P<what>half hour|half-hour|hour|block|product)|<duration#(?P<length>\d+)>)"
    r"| <duration#(?P<bare>\d+)>)"
    r"(?: blocks?| products?)?(?![a-z-])"
)
_PARTS: Final = re.compile(
    r"in (?:each|every|all|any)(?: one)? of (?:its|the|these|their) <number#(?P<n>\d+)>"
    r" (?:quarters?(?: of an hour| hours?)?|halves|half hours|periods|parts|steps|hours)(?![a-z])"
)
_MINUTES: Final = {"hour": 60.0, "half hour": 30.0, "half-hour": 30.0}


@dataclass(frozen=True)
class Constant:
    """A flow of the connection that is the same through every block.

    Attributes
    ----------
    flow
        ``export`` or ``import``.
    blocks
        The blocks.
    line
        The sentence.
    """

    flow: str
    blocks: Blocks
    line: int


@lru_cache(maxsize=4)
def _known(name: str) -> frozenset[str]:
    """Return words or concepts of the card of blocks."""
    return frozenset(str(load_card("blocks")[name]).split())


def take_constants(
    draft: Draft, plant: Plant, axis: Axis | None, blocks: Sequence[Blocks]
) -> list[Constant]:
    """Return what a text keeps constant through blocks; the words of these sentences are taken."""
    if axis is None:
        return []
    words = vocabulary(nouns(plant), plant.concepts)
    found = []
    for n, line in enumerate(draft.lines):
        if line.sentence.is_heading or n in draft.table_lines:
            continue
        made = _read(line, mark(line, words), n, axis, blocks)
        if made is not None:
            draft.take(n, range(len(line.tokens)))
            found.append(made)
    return found


def _read(
    line: Line, marked: Marked, n: int, axis: Axis, blocks: Sequence[Blocks]
) -> Constant | None:
    """Return what one sentence keeps constant; None where it says more, or nothing of it."""
    same, over = list(_SAME.finditer(line.line)), list(_OVER.finditer(line.line))
    parts = list(_PARTS.finditer(line.line))
    grids = {_grid(line, match, axis, blocks) for match in over}
    if not same or len(grids) != 1 or len(parts) > 1:
        return None
    grid = grids.pop()
    if grid is None or not _counts(line, parts, grid, axis):
        return None
    covered = {i for match in (*same, *over, *parts) for i in line.covered(*match.span())}
    rest = [i for i in range(len(line.tokens)) if i not in covered]
    if any(line.tokens[i].kind not in ("word", "mark") for i in rest):
        return None
    strange = [
        i for i in rest
        if marked.concepts[i] not in (NEUTRAL, THING, *_known("concepts"))
        and line.tokens[i].text not in _known("words")
    ]  # fmt: skip
    flows = {"export", "import"} & {marked.concepts[i] for i in rest}
    return Constant(flows.pop(), grid, n) if len(flows) == 1 and not strange else None


def _grid(line: Line, match: re.Match[str], axis: Axis, blocks: Sequence[Blocks]) -> Blocks | None:
    """Return the blocks that words such as 'a full hour' or 'each block' mean."""
    if match["what"] in ("block", "product"):
        return blocks[0] if len(blocks) == 1 else None
    minutes = _MINUTES.get(match["what"] or "")
    place = match["length"] or match["bare"]
    if place is not None:
        amount = line.tokens[int(place)].amount
        assert amount is not None
        minutes = convert(amount.value, parse_unit(amount.unit), parse_unit("min"))
    if minutes is None:
        return None
    known = [b for b in blocks if abs(b.step_minutes - minutes) < 1e-9]
    if known:
        return known[0]
    ratio, count = minutes / axis.step_minutes, axis.periods * axis.step_minutes / minutes
    whole = all(abs(x - round(x)) < 1e-9 for x in (ratio, count)) and ratio > 1.5
    clock = abs(axis.start_clock * 60 % min(minutes, 60.0)) < 1e-9
    if not (whole and clock):
        return None
    return Blocks(f"B{len(blocks) + 1}", axis.start, minutes, round(count), axis.zone)


def _counts(line: Line, parts: Sequence[re.Match[str]], grid: Blocks, axis: Axis) -> bool:
    """Whether 'each of its four quarters' are as many periods as a block has."""
    amounts = [line.tokens[int(match["n"])].amount for match in parts]
    each = round(grid.step_minutes / axis.step_minutes)
    return all(a is not None and a.value == each for a in amounts)


def add_constants(system: System) -> None:
    """Hold flows of the connection to one value in each block."""
    builder = system.builder
    grid = next((c for c in builder.components if c["model"] == "grid"), None)
    for k, constant in enumerate(system.reader.constants):
        other = "import" if constant.flow == "export" else "export"
        if grid is None or grid["parameters"].get(f"{other}_power_max") != "0[kW]":
            builder.draft.doubt(constant.line, "is it the net of both directions that is constant?")
            continue
        builder.use_blocks(constant.blocks)
        name = f"{grid['name']}_{constant.flow}_of_block{k + 1 if k else ''}"
        builder.variables.append({
            "name": name, "index": [f"b in {constant.blocks.name}"], "type": "continuous",
            "lower": 0, "unit": "kW", "quantity": f"grid.{constant.flow}_of_block",
            "role": "decision", "description": f"{constant.flow} of a block",
        })  # fmt: skip
        text = f"{grid['name']}_{constant.flow}[t] == {name}[at(t, {constant.blocks.name})]"
        system.row("the same through each block", text, LOGIC, constant.line)
