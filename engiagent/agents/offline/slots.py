"""Numbers into slots: by what they measure, by the words around them, and by what is spoken of."""

import re
from dataclasses import dataclass

from engiagent.agents.offline.amounts import Amount
from engiagent.agents.offline.cards import Card, Pattern, Slot, lexicon
from engiagent.agents.offline.draft import Draft, Reading, amount_value
from engiagent.agents.offline.owners import Owners, component_patterns, topic
from engiagent.agents.offline.results import Implausible
from engiagent.agents.offline.tokens import Line, Token
from engiagent.blueprint.units import UnitError, convert, parse_unit

MARK = "◆"


@dataclass(frozen=True)
class Candidate:
    """A slot that an amount may fill."""

    score: int
    slot: Slot
    match: re.Match[str]


@dataclass(frozen=True)
class Place:
    """An amount in its line, with the amount replaced by ◆."""

    line: int
    token: int
    amount: Amount
    text: str
    position: int
    topic: str | None
    tokens: tuple[Token, ...]
    start_clock: float | None
    end_clock: float | None


def marked(line: Line, token: int) -> tuple[str, int]:
    """Return a line with one token replaced by ◆, and the offset of the mark.

    Times in the labels of a table are left out: they say when a value holds, not what it is.
    """
    start = line.starts[token]
    stop = line.line.find(">", start) + 1
    head = line.line[:start]
    if line.sentence.passage < 0:
        head = re.sub(r"<(?:period|period_open|rest)#\d+> ", "", head)
    return head + MARK + line.line[stop:], len(head)


def modifier(text: str) -> str:
    """Return how the words around ◆ limit it: value, exact, lower or upper."""
    for kind, pattern in lexicon().modifiers:
        match = pattern.search(text)
        if match is not None:
            return kind
    label = text[: text.find(MARK)].split(">")[-1]
    if label.endswith(" : ") or label.endswith("="):
        for kind, pattern in _LABEL_BOUNDS:
            if pattern.search(label):
                return kind
    return "value"


_LABEL_BOUNDS = (
    ("lower", re.compile(r"\b(?:lowest|minimum|min|lower|at least|reserve)\b")),
    ("upper", re.compile(r"\b(?:highest|maximum|max|upper|at most|limit|largest)\b")),
)


def fill(
    draft: Draft,
    owners: Owners,
    clocks: tuple[float | None, float | None],
    kinds: tuple[str, ...] = (),
    without: tuple[str, ...] = (),
) -> None:
    """Fill the slots of all components from the amounts that are still free.

    ``kinds`` restricts the amounts, ``without`` leaves out slots; ``clocks`` are the times of the
    day at which the horizon begins and ends.
    """
    merchant = not owners.present & {"load", "pv", "heater", "cooler", "zone"}
    patterns = component_patterns(owners)
    for n, i, amount in list(draft.free_amounts(*kinds)):
        if draft.lines[n].sentence.is_heading:
            continue
        text, position = marked(draft.lines[n], i)
        place = Place(
            n,
            i,
            amount,
            text,
            position,
            topic(draft.lines, n, position, patterns),
            draft.lines[n].tokens,
            *clocks,
        )
        found = [c for c in _candidates(place, owners, merchant) if c.slot.name not in without]
        if found:
            _decide(draft, owners, place, found)


def _candidates(place: Place, owners: Owners, merchant: bool) -> list[Candidate]:
    bound = modifier(place.text)
    result = []
    for card in lexicon().cards.values():
        if card.component not in owners.present:
            continue
        for slot in card.slots.values():
            if place.amount.kind not in slot.kinds or bound not in slot.bounds:
                continue
            if _of_another(slot, place):
                continue
            best = _best(slot.patterns, place, owners, merchant)
            if best is not None:
                bonus = int(_is_about(card, place))
                result.append(Candidate(2 * best[0] + bonus, slot, best[1]))
    return sorted(result, key=lambda c: -c.score)


def _of_another(slot: Slot, place: Place) -> bool:
    """Whether words in the clause of an amount say that it is no value of the slot.

    What is delivered over a day is no energy that is kept, however much 'at least' it is.
    """
    words = slot.options.get("not_beside")
    if words is None:
        return False
    ends = [m.start() for m in re.finditer(r"[,;]| but | while ", place.text)]
    start = max([end for end in ends if end < place.position], default=0)
    end = min([end for end in ends if end > place.position], default=len(place.text))
    return re.search(words, place.text[start:end]) is not None


def _is_about(card: Card, place: Place) -> bool:
    return place.topic == card.component


def _best(
    patterns: tuple[Pattern, ...], place: Place, owners: Owners, merchant: bool
) -> tuple[int, re.Match[str]] | None:
    best: tuple[int, re.Match[str]] | None = None
    for pattern in patterns:
        if best is not None and pattern.score <= best[0]:
            continue
        if not _holds(pattern.condition, place, owners, merchant):
            continue
        for match in pattern.regex.finditer(place.text):
            if match.start() <= place.position < match.end() and _clocks_fit(match, place):
                best = (pattern.score, match)
                break
    return best


def _holds(condition: str, place: Place, owners: Owners, merchant: bool) -> bool:
    if not condition:
        return True
    about = place.topic
    if condition == "topic":
        return about in (None, "battery") or (about == "grid" and "battery" in place.text)
    tests = {
        "merchant": merchant and about in (None, "battery", "grid"),
        "heaters": bool({"heater", "cooler"} & owners.present),
        "zones": len(owners.instances("zone")) > 1,
        "efficiency": re.search(r"efficien|loss", place.text) is not None,
        "no_end": lexicon().end.search(place.text) is None,
        "no_start": lexicon().start.search(place.text) is None,
        "daily": place.amount.kind == "daily_cycles",
        "nameplate": "pv" in owners.present,
        "heater_topic": about in (None, "heater", "zone"),
        "cooler_topic": about == "cooler",
    }
    return tests[condition]


def _clocks_fit(match: re.Match[str], place: Place) -> bool:
    """Whether a clock time in a pattern is the start or the end of the horizon, as it must be."""
    for name, value in match.groupdict().items():
        if value is None or not value.isdigit():
            continue
        wanted = place.start_clock if name.startswith("start") else place.end_clock
        clock = place.tokens[int(value)].clock
        if wanted is None or clock is None or abs(clock % 24 - wanted % 24) > 1e-9:
            return False
        if name.startswith("start") and clock == 24.0:
            return False
        same = place.start_clock is not None and abs(clock - place.start_clock) < 1e-9
        if name.startswith("end") and same:
            return False
    return True


def _decide(draft: Draft, owners: Owners, place: Place, found: list[Candidate]) -> None:
    line = draft.lines[place.line]
    first = found[0]
    rivals = [c for c in found[1:] if c.score == first.score]
    covered = _tokens(line, place, first.match)
    if rivals:
        names = sorted({f"{c.slot.component}: {c.slot.said}" for c in [first, *rivals]})
        draft.doubt(place.line, f"{place.amount.quote} could be {' or '.join(names)}")
        draft.take(place.line, covered)
        return
    slot = first.slot
    if slot.options.get("ambiguous"):
        draft.doubt(place.line, f"{place.amount.quote}: {slot.options['ambiguous']}")
        draft.take(place.line, covered)
        return
    if not plausible(slot, place.amount):
        draft.refuse(
            place.line,
            f"{place.amount.quote} is outside the plausible range of {slot.said}",
        )
        named = _owner(draft, owners, slot, place) or slot.component
        draft.implausible.append(_implausible(slot, named, place.amount))
        return
    owner = _owner(draft, owners, slot, place)
    if owner is None:
        draft.doubt(
            place.line, f"{place.amount.quote}: of which {slot.component} is the {slot.said}?"
        )
        return
    draft.take(place.line, covered)
    if slot.name.startswith("initial_"):
        same = [i for i, t in enumerate(place.tokens) if t.clock is not None
                and t.kind == "clock" and t.clock == place.start_clock]  # fmt: skip
        draft.take(place.line, same)
    draft.readings.append(
        Reading(
            owner,
            slot,
            amount_value(place.amount, draft.source(place.line, place.amount)),
            modifier(place.text),
            place.line,
            line.sentence.span,
            first.match[0],
        )
    )


def _implausible(slot: Slot, owner: str, amount: Amount) -> Implausible:
    because = str(slot.options.get("because", ""))
    return Implausible(
        slot.component, owner, slot.name, slot.said, amount,
        slot.low, slot.high, slot.range_unit, because,
    )  # fmt: skip


def _owner(draft: Draft, owners: Owners, slot: Slot, place: Place) -> str | None:
    names = owners.names.get(slot.component, {})
    if "coupling" in slot.options:
        return "*"
    named = any(pattern.search(place.text) for pattern in names.values())
    if slot.options.get("shared") and len(names) > 1 and not named:
        return "*"
    return owner_of(draft, owners, slot.component, place)


def _tokens(line: Line, place: Place, match: re.Match[str]) -> list[int]:
    """Return the tokens under a match on the marked text; all of a table's line."""
    if line.sentence.passage < 0:
        return list(range(len(line.tokens)))
    longer = len(line.line) - len(place.text)
    end = match.end() + longer if match.end() > place.position else match.end()
    return list(line.covered(match.start(), end))


def plausible(slot: Slot, amount: Amount) -> bool:
    """Whether an amount lies in the range of its slot."""
    try:
        value = amount.value
        if slot.range_unit:
            value = convert(value, parse_unit(amount.unit), parse_unit(slot.range_unit))
    except UnitError:
        return slot.range_unit in ("", "1", "cycle") and slot.low <= amount.value <= slot.high
    return slot.low - 1e-12 <= value <= slot.high + 1e-12


def owner_of(draft: Draft, owners: Owners, component: str, place: Place) -> str | None:
    """Return the instance that an amount belongs to, None when that is not clear."""
    cell = draft.table_lines.get(place.line)
    names = owners.names.get(component, {})
    if cell is not None and cell.get("owner") in names:
        return str(cell["owner"])
    if len(names) == 1:
        return next(iter(names))
    if cell is not None and component in ("heater", "cooler") and cell.get("owner"):
        return f"{cell['owner']}_{component}"
    if component in ("heater", "cooler"):
        return _converter(draft, owners, component, place)
    if re.search(r"(?<![a-z])(?:each|both|every|all|identical)(?![a-z])", place.text):
        return "*"
    return topic(draft.lines, place.line, place.position, names)


def _converter(draft: Draft, owners: Owners, component: str, place: Place) -> str | None:
    zones = owners.names.get("zone", {})
    if len(zones) == 1:
        return f"{next(iter(zones))}_{component}"
    if re.search(r"(?<![a-z])(?:each|both|every|all|identical)(?![a-z])", place.text):
        return "*"
    zone = topic(draft.lines, place.line, place.position, zones)
    return None if zone is None else f"{zone}_{component}"
