"""Ways to cool that exclude each other: a table of modes, or 'either the tower or the chiller'.

A mode draws a power of its own, serves the whole load, and may need weather that is cold enough.
What is said of changing from one to another is read here as well. Whatever is said of modes beyond
that stays for the reader of plants, which reports it.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from engiagent.agents.offline.amounts import Amount, kind_of
from engiagent.agents.offline.draft import Draft, Json, Value, amount_value
from engiagent.agents.offline.goals import Goal
from engiagent.agents.offline.grids import Grid
from engiagent.agents.offline.plant.cold import modewords
from engiagent.agents.offline.plant.spaces.slopes import weather_role
from engiagent.agents.offline.tokens import Line


@dataclass(frozen=True)
class Mode:
    """A way to cool.

    Attributes
    ----------
    limit
        The highest temperature of the weather at which it may be used; None for any.
    strict
        Whether it may not be used at that very temperature.
    """

    name: str
    power: Value
    line: int
    limit: Value | None = None
    strict: bool = False


@dataclass(frozen=True)
class Rule:
    """A number on the use of modes, and its line."""

    value: Value
    line: int


@dataclass(frozen=True)
class Modes:
    """Ways to cool of which one is used in every period, and the rules for changing them.

    Attributes
    ----------
    measure
        The temperature of the weather that limits them: ``wet_bulb`` or ``outdoor``.
    hold
        The least time in a mode.
    change
        What a change costs.
    swaps
        How often each mode may be entered at most, the first period apart.
    approach
        What is added to the temperature of the weather before it is held against the limit;
        ``wanted`` where the text speaks of one, given or not.
    opening
        The time at which any mode may be entered; NaN for the beginning whenever that is.
    step
        What a period is said to be: ``hour``.
    allowed
        The line that says what the limits of the weather mean, or from when on a mode suffices.
    """

    modes: tuple[Mode, ...]
    line: int
    measure: str = ""
    hold: Rule | None = None
    change: Rule | None = None
    swaps: tuple[int, int] | None = None
    approach: Rule | None = None
    wanted: bool = False
    opening: float | None = None
    step: str = ""
    allowed: int | None = None


def take_goal(draft: Draft, goal: Goal | None, modes: Modes | None) -> None:
    """Account for 'and changes' where the objective counts what changes of mode cost."""
    if goal is None or modes is None or modes.change is None:
        return
    line = draft.lines[goal.line]
    for match in modewords.AND_CHANGES.finditer(line.line):
        _take(draft, goal.line, line, match)


def take_modes(draft: Draft, grids: Sequence[Grid]) -> Modes | None:
    """Return the modes of a text and account for the words that say so; None where it has none."""
    found = _tabled(draft, grids) or _alternatives(draft)
    if found is None:
        return None
    for n, line in enumerate(draft.lines):
        if not line.sentence.is_heading and n not in draft.table_lines:
            found = _ruled(draft, n, line, found)
    return found


# --- the modes -----------------------------------------------------------------------------------


def _tabled(draft: Draft, grids: Sequence[Grid]) -> Modes | None:
    """Return the modes of a table whose rows, or columns, are modes."""
    counted = {
        amount.value
        for line in draft.lines
        for match in modewords.COUNTED.finditer(line.line)
        for group in (match["count"] or match["count2"],)
        if group and (amount := line.tokens[int(group)].amount) is not None
    }
    if not any(modewords.COOLS.search(line.line) for line in draft.lines):
        return None  # modes of a battery, or of a heat pump, are others
    for grid in grids:
        if len(grid.owners) < 2 or grid.columns:
            continue
        by_name = modewords.CORNER.fullmatch(grid.corner.strip()) is not None
        if not by_name and float(len(grid.owners)) not in counted:
            continue
        rows = [n for n, cell in draft.table_lines.items() if cell.get("owner") in grid.owners]
        modes = [m for owner in grid.owners if (m := _mode(draft, owner, rows)) is not None]
        measures = {_measure(draft.lines[n]) for n in rows} - {""}
        if len(modes) == len(grid.owners) and len(measures) < 2:
            return Modes(tuple(modes), rows[0], next(iter(measures), ""))
    return None


def _mode(draft: Draft, owner: str, rows: Sequence[int]) -> Mode | None:
    """Return the mode of a row; its cells are accounted for where they are understood."""
    power: tuple[Value, int] | None = None
    limits: list[tuple[Value, bool, int]] = []
    open_ended: list[int] = []
    for n in (n for n in rows if draft.table_lines[n].get("owner") == owner):
        line = draft.lines[n]
        label, _, cell = line.line.partition(" : ")
        words = set(label.split()) - set(re.split(r"[\W_]+", owner)) - {"of", "the"}
        amounts = [a for t in line.tokens if (a := t.amount) is not None]
        upper, below = modewords.UP_TO.search(label), modewords.BELOW.search(label)
        if len(amounts) == 1 and amounts[0].kind == "power" and words and words <= modewords.POWER:
            power = amount_value(amounts[0], draft.source(n, amounts[0])), n
        elif (upper or below) and _measure(line) and _only_weather(label, words):
            if len(amounts) == 1 and amounts[0].kind == "temperature":
                value = amount_value(amounts[0], draft.source(n, amounts[0]))
                limits.append((value, upper is None, n))
            elif not amounts and cell.strip() in modewords.ANY:
                open_ended.append(n)
    if power is None or len(limits) + len(open_ended) > 1:
        return None
    for n in (power[1], *open_ended, *(n for _, _, n in limits)):
        draft.take(n, range(len(draft.lines[n].tokens)))
    limit, strict = limits[0][:2] if limits else (None, False)
    return Mode(owner, power[0], power[1], limit, strict)


def _measure(line: Line) -> str:
    return weather_role(line.line.partition(" : ")[0]) or ""


def _only_weather(label: str, words: set[str]) -> bool:
    """Whether a label names a temperature of the weather and from which side it limits."""
    rest = set(modewords.BELOW.sub("", modewords.UP_TO.sub("", label)).split()) & words
    return rest - {"limit"} <= modewords.WEATHER


def _alternatives(draft: Draft) -> Modes | None:
    """Return two modes that 'either the tower or the chiller' names, with the power of each."""
    for n, line in enumerate(draft.lines):
        match = modewords.EITHER.search(line.line)
        if match is None or line.sentence.is_heading:
            continue
        powers = {
            True: list(_powers(draft, modewords.FREE)),
            False: list(_powers(draft, modewords.MADE)),
        }
        if any(len(found) != 1 for found in powers.values()):
            return None
        draft.take(n, list(line.covered(*match.span())))
        modes = []
        for free, name in ((True, match["free"]), (False, match["made"])):
            (k, place, amount) = powers[free][0]
            draft.take(k, list(draft.lines[k].covered(*place)))
            value = amount_value(amount, draft.source(k, amount))
            modes.append(Mode(re.sub(r"\W+", "_", name), value, k))
        return Modes(tuple(modes), n)
    return None


def _powers(draft: Draft, kind: str) -> Iterator[tuple[int, tuple[int, int], Amount]]:
    for n, line in enumerate(draft.lines):
        for match in modewords.WITH.finditer(line.line):
            amount = line.tokens[int(match["power"])].amount
            if re.fullmatch(kind, match["a"] or match["b"]) and amount is not None:
                yield n, match.span(), amount


# --- the rules on their use ----------------------------------------------------------------------


def _ruled(draft: Draft, n: int, line: Line, modes: Modes) -> Modes:
    """Return modes with what a sentence says on their use."""
    for pattern in modewords.HOLD:
        match = re.search(pattern, line.line)
        rule = _rule(draft, n, line, match, "hold") if match is not None else None
        if match is not None and modes.hold is None and rule is not None:
            modes = replace(modes, hold=rule)
            cut = modewords.CUT.match(line.line, match.end())
            _take(draft, n, line, match, cut.end() if cut else 0)
    for pattern in modewords.COST:
        match = re.search(pattern, line.line)
        if match is not None and modes.change is None:
            modes = replace(modes, change=_rule(draft, n, line, match, "cost"))
            why = modewords.PURPOSE.match(line.line, match.end())
            _take(draft, n, line, match, why.end() if why else 0)
    for pattern in modewords.START:
        match = re.search(pattern, line.line)
        if match is not None:
            clock = match.groupdict().get("clock")
            at = line.tokens[int(clock)].clock if clock else float("nan")
            modes = replace(modes, opening=at)
            _take(draft, n, line, match)
    for pattern in modewords.ALLOWED:
        match = re.search(pattern, line.line)
        if match is not None and any(m.limit is not None for m in modes.modes):
            modes = replace(modes, allowed=n)
            _take(draft, n, line, match)
    modes = _swapped(draft, n, line, modes)
    modes = _counted(draft, n, line, modes)
    return _limited(draft, n, line, modes)


def _swapped(draft: Draft, n: int, line: Line, modes: Modes) -> Modes:
    for pattern in modewords.SWAPS if len(modes.modes) == 2 and modes.swaps is None else ():
        match = re.search(pattern, line.line)
        if match is None:
            continue
        place = re.search(r"\d+", match["times"])
        amount = line.tokens[int(place[0])].amount if place else None
        count = {"once": 1, "twice": 2}.get(match["times"]) or round(amount.value if amount else 0)
        modes = replace(modes, swaps=(count, n))
        if amount is not None:
            draft.unused.append({"span": list(amount.span), "quote": amount.quote,
                                 "reason": "counts the changes"})  # fmt: skip
        _take(draft, n, line, match)
    return modes


def _counted(draft: Draft, n: int, line: Line, modes: Modes) -> Modes:
    match = modewords.COUNTED.search(line.line)
    if match is None:
        return modes
    place = match["count"] or match["count2"]
    amount = line.tokens[int(place)].amount if place else None
    if amount is not None and amount.value != len(modes.modes):
        return modes
    if amount is not None:
        entry: Json = {"span": list(amount.span), "quote": amount.quote,
                       "reason": "counts the modes"}  # fmt: skip
        draft.unused.append(entry)
    _take(draft, n, line, match)
    return replace(modes, step=match["step"] or modes.step)


def _limited(draft: Draft, n: int, line: Line, modes: Modes) -> Modes:
    """Return two modes with the weather in which the free one suffices."""
    given = modewords.APPROACH.search(line.line)
    if given is not None and modes.approach is None:
        modes = replace(modes, approach=_rule(draft, n, line, given, "approach"))
        _take(draft, n, line, given)
    match = modewords.ENOUGH.search(line.line)
    if match is None:
        return modes
    name = re.sub(r"\W+", "_", match["free"])
    if name not in {m.name for m in modes.modes} or modes.measure:
        return modes
    supply = line.tokens[int(match["supply"])].amount
    assert supply is not None
    limit = amount_value(supply, draft.source(n, supply))
    limited = tuple(
        replace(m, limit=limit) if m.name == name else m for m in modes.modes
    )  # fmt: skip
    modes = replace(modes, modes=limited, measure=weather_role(match["measure"]) or "outdoor",
                    wanted=bool(match["plus"]), allowed=n)  # fmt: skip
    if match["approach"]:
        modes = replace(modes, approach=_rule(draft, n, line, match, "approach"))
    _take(draft, n, line, match)
    return modes


def _rule(draft: Draft, n: int, line: Line, match: re.Match[str], group: str) -> Rule | None:
    amount = line.tokens[int(match[group])].amount
    assert amount is not None
    value = amount_value(amount, draft.source(n, amount))
    if group == "hold" and not amount.unit:
        per = match["per"]
        unit = {"hours": "h", "minutes": "min"}.get(per or "")
        if unit is None:
            return None
        value = replace(value, unit=unit)
    if group == "approach" and kind_of(value.unit) == "temperature":
        value = replace(value, unit="degF_diff" if "F" in value.unit else "K")
    return Rule(value, n)


def _take(draft: Draft, n: int, line: Line, match: re.Match[str], end: int = 0) -> None:
    draft.take(n, list(line.covered(match.start(), max(match.end(), end))))
