"""What holds at which times of the day: tariffs, temperature limits and heat gains in prose."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

from engiagent.agents.offline.cards import lexicon
from engiagent.agents.offline.draft import Band, Draft, Priced, Value, amount_value
from engiagent.agents.offline.owners import Owners, topic
from engiagent.agents.offline.slots import marked, modifier
from engiagent.agents.offline.tokens import Line, Period

_TIMES = ("period", "period_open", "rest")


@dataclass(frozen=True)
class Item:
    """What a period can belong to: one amount, or the two ends of a band."""

    tokens: tuple[int, ...]


def assign(draft: Draft, n: int, items: Sequence[Item]) -> list[list[int]] | None:
    """Return for each item the tokens of the periods that belong to it, None when unclear.

    Every period goes to the item before or behind it. Nearness decides, where a comma or a
    semicolon between the two counts for more than words. An item may have no period only when it
    is the only one of its kind: it then holds at all other times.
    """
    line = draft.lines[n]
    times = [i for i, t in enumerate(line.tokens) if t.kind in _TIMES and not draft.is_taken(n, i)]
    if not times or not items:
        return [[] for _ in items]
    choices = []
    for place in times:
        before = [k for k, item in enumerate(items) if item.tokens[-1] < place]
        after = [k for k, item in enumerate(items) if item.tokens[0] > place]
        choices.append([*before[-1:], *after[:1]])
    scored = []
    for chosen in product(*choices):
        groups = [
            [t for t, k in zip(times, chosen, strict=True) if k == n] for n in range(len(items))
        ]
        if _sensible(line, groups):
            cost = sum(
                _distance(line, items[k], t, times) for t, k in zip(times, chosen, strict=True)
            )
            scored.append((cost, groups))
    scored.sort(key=lambda s: s[0])
    if not scored or (len(scored) > 1 and scored[1][0] - scored[0][0] < 2):
        return None
    return scored[0][1]


def _sensible(line: Line, groups: list[list[int]]) -> bool:
    empty = sum(not g for g in groups)
    rests = sum(any(line.tokens[t].kind == "rest" for t in g) for g in groups)
    mixed = any(len({line.tokens[t].kind == "rest" for t in g}) > 1 for g in groups)
    return empty + rests <= 1 and not mixed


def _distance(line: Line, item: Item, place: int, times: list[int]) -> int:
    first, last = sorted((min(item.tokens, key=lambda t: abs(t - place)), place))
    cost = 0
    for i in range(first + 1, last):
        text = line.tokens[i].text
        cost += {";": 25, ",": 5, ":": 2, "and": 4, "but": 5, "while": 5}.get(text, 1)
        if i in times:
            cost -= 4
    return cost


def period_of(line: Line, tokens: list[int]) -> Period | None:
    """Return the union of some periods of a line; None when there is none."""
    found = [p for i in tokens if (p := line.tokens[i].period) is not None]
    if not found:
        return None
    ranges = tuple(dict.fromkeys(r for p in found for r in p.ranges))
    spans = tuple(s for p in found for s in p.spans)
    shown = " or ".join(p.shown for p in found) if all(p.shown for p in found) else ""
    return Period(ranges, rest=any(p.rest for p in found), spans=spans, shown=shown)


# --- prices --------------------------------------------------------------------------------------


def read_prices(draft: Draft, present: frozenset[str]) -> None:
    """Read tariffs: every amount of money per energy that is no wear cost."""
    role_before: dict[int, str] = {}
    for n, line in enumerate(draft.lines):
        if line.sentence.is_heading:
            continue
        places = [i for m, i, a in draft.free_amounts("price") if m == n]
        if not places:
            continue
        roles = [_role(draft, n, i) for i in places]
        if any(role is None for role in roles):
            continue
        groups: list[list[int]] | None
        by_role: dict[str, list[int]] = {}
        for i, role in zip(places, roles, strict=True):
            by_role.setdefault(str(role), []).append(i)
        if len(by_role) > 1:
            for role, some in by_role.items():
                _take_split(draft, n, role, some)
            continue
        groups = assign(draft, n, [Item((i,)) for i in places])
        if groups is None:
            draft.doubt(n, "which price holds at which times is not clear")
            draft.take(n, [*places, *(i for i, t in enumerate(line.tokens) if t.kind in _TIMES)])
            continue
        _take(draft, n, str(roles[0]), list(zip(places, groups, strict=True)))
        role_before[n] = str(roles[0])


def _take_split(draft: Draft, n: int, role: str, places: list[int]) -> None:
    """Prices of several roles: in a sentence none of them may depend on the time."""
    times = [i for i, t in enumerate(draft.lines[n].tokens) if t.kind in _TIMES]
    if n in draft.table_lines and len(places) == 1:
        _take(draft, n, role, [(places[0], times)])
        return
    if times or len(places) > 1:
        draft.doubt(n, "which price holds for what and when is not clear")
    _take(draft, n, role, [(i, []) for i in places])


def _take(draft: Draft, n: int, role: str, pairs: list[tuple[int, list[int]]]) -> None:
    line = draft.lines[n]
    cell = draft.table_lines.get(n)
    for place, times in pairs:
        amount = line.tokens[place].amount
        assert amount is not None
        value = amount_value(amount, draft.source(n, amount))
        draft.prices.append(Priced(role, value, period_of(line, times), n, line.sentence.span))
        draft.take(n, [place, *times])
    if cell:
        draft.take(n, range(len(line.tokens)))


def _role(draft: Draft, n: int, token: int) -> str | None:
    """Return what a price is paid for: import, export or both; None when it is neither."""
    text, position = marked(draft.lines[n], token)
    if lexicon().adders.search(text):
        return None
    best: dict[str, int] = {}
    for role, patterns in lexicon().prices.items():
        for pattern in patterns:
            if any(m.start() <= position < m.end() for m in pattern.regex.finditer(text)):
                best[role] = max(best.get(role, 0), pattern.score)
    if not best:
        return None
    context = draft.lines[n].sentence
    words = f"{context.lead} {context.heading}".lower()
    if best.get("export", 0) <= 3 and re.search(r"feed-in|export|sell|sold", words):
        best["export"] = max(best.get("export", 0), 5 if "import" not in words else 0)
    top = max(best.values())
    about = f"{text} {words}"
    if top <= 3 and not re.search(r"price|tariff|electric|energy|cost|rate|grid|buy", about):
        return None
    winners = [role for role, score in best.items() if score == top]
    if len(winners) > 1:
        return "export" if set(winners) == {"import", "export"} and _sold(text, position) else None
    return winners[0]


def _sold(text: str, position: int) -> bool:
    clause = text[max(text.rfind(mark, 0, position) for mark in (",", ";")) + 1 :]
    return re.search(r"(?:sold|sell|export|feed|fed|inject)", clause) is not None


# --- temperatures --------------------------------------------------------------------------------


def read_bands(draft: Draft, owners: Owners) -> None:
    """Read temperature limits with the times at which they hold."""
    for n, line in enumerate(draft.lines):
        if line.sentence.is_heading:
            continue
        free = [i for m, i, _ in draft.free_amounts("temperature") if m == n]
        bounds = {i: modifier(marked(line, i)[0]) for i in free}
        limits = [i for i in free if bounds[i] in ("lower", "upper")]
        if not limits:
            continue
        items = _bands(line, limits, bounds)
        for item in [i for i in items if len(items) > 1 and _is_always(line, i)]:
            _take_band(draft, owners, n, item, [], bounds)
            items.remove(item)
        groups = assign(draft, n, items)
        if groups is None:
            draft.doubt(n, "which temperature limit holds at which times is not clear")
            draft.take(n, [*limits, *(i for i, t in enumerate(line.tokens) if t.kind in _TIMES)])
            continue
        for item, times in zip(items, groups, strict=True):
            _take_band(draft, owners, n, item, times, bounds)


_ALWAYS_BEHIND = re.compile(r"(?:always|at all times|at any time|throughout)")
_ALWAYS_BEFORE = re.compile(
    r"(?:always|at all times|at any time|at no time|never)(?: [a-z]+){0,4} $"
)


def _is_always(line: Line, item: Item) -> bool:
    """Whether a limit is said to hold at all times, beside others that do not."""
    first, last = line.starts[item.tokens[0]], line.starts[item.tokens[-1]]
    behind = line.line[line.line.find(">", last) + 1 :].lstrip()
    before = re.split(r"[;,]", line.line[:first])[-1]
    return bool(_ALWAYS_BEHIND.match(behind)) or bool(
        _ALWAYS_BEFORE.search(before) and "<p" not in behind.split(" and ")[0].split(",")[0]
    )


def _bands(line: Line, limits: list[int], bounds: dict[int, str]) -> list[Item]:
    items: list[Item] = []
    k = 0
    while k < len(limits):
        a = limits[k]
        b = limits[k + 1] if k + 1 < len(limits) else None
        between = line.tokens[a + 1 : b] if b is not None else ()
        joined = (
            b is not None
            and {bounds[a], bounds[b]} == {"lower", "upper"}
            and not any(t.kind in _TIMES or t.text == ";" for t in between)
        )
        if joined and b is not None:
            items.append(Item((a, b)))
            k += 2
        else:
            items.append(Item((a,)))
            k += 1
    return items


def _take_band(
    draft: Draft, owners: Owners, n: int, item: Item, times: list[int], bounds: dict[int, str]
) -> None:
    line = draft.lines[n]
    owner = band_owner(draft, owners, n, item.tokens[0])
    if owner is None:
        draft.doubt(n, "of which zone this is the temperature limit is not clear")
        return
    cell = draft.table_lines.get(n)
    limits = []
    for i in item.tokens:
        amount = line.tokens[i].amount
        assert amount is not None
        limits.append((bounds[i], amount_value(amount, draft.source(n, amount))))
    inclusive = "includ" in line.line or "inclusive" in line.line
    draft.bands.append(
        Band(owner, tuple(limits), period_of(line, times), n, line.sentence.span, inclusive)
    )
    draft.take(n, range(len(line.tokens)) if cell else [*item.tokens, *times])


def band_owner(draft: Draft, owners: Owners, n: int, token: int) -> str | None:
    """Return the zone that a temperature belongs to; ``*`` stands for all zones."""
    names = owners.names.get("zone", {})
    cell = draft.table_lines.get(n)
    if cell is not None and cell.get("owner") in names:
        return str(cell["owner"])
    if len(names) == 1:
        return next(iter(names))
    line = draft.lines[n]
    if re.search(
        r"(?<![a-z])(?:each|both|every|all|no|any|neither)(?: \w+)?"
        r" (?:zones?|rooms?|of them|spaces?)",
        line.line,
    ):
        return "*"
    return topic(draft.lines, n, line.starts[token], names)


# --- gains ---------------------------------------------------------------------------------------


def read_gains(draft: Draft, owners: Owners) -> None:
    """Read heat gains with the times at which they are released."""
    slot = lexicon().cards["zone"].slots["gains"]
    for n, line in enumerate(draft.lines):
        if line.sentence.is_heading or "zone" not in owners.present:
            continue
        free = [i for m, i, _ in draft.free_amounts("power") if m == n]
        places = [i for i in free if _matches(slot.patterns, *marked(line, i))]
        if not places:
            continue
        places = [i for i in free if i in places or _CONTINUED.search(marked(line, i)[0])]
        groups = assign(draft, n, [Item((i,)) for i in places])
        if groups is None:
            draft.doubt(n, "which heat gain holds at which times is not clear")
            continue
        cell = draft.table_lines.get(n)
        for place, times in zip(places, groups, strict=True):
            amount = line.tokens[place].amount
            owner = band_owner(draft, owners, n, place)
            assert amount is not None
            if owner is None:
                draft.doubt(n, f"{amount.quote}: to which zone does this heat go?")
                continue
            value: Value = amount_value(amount, draft.source(n, amount))
            draft.gains.append(Priced(owner, value, period_of(line, times), n, line.sentence.span))
            draft.take(n, range(len(line.tokens)) if cell else [place, *times])


_CONTINUED = re.compile(r"(?:and|but|,) (?:to |with |of |only |by )?◆")


def _matches(patterns: Sequence[object], text: str, position: int) -> bool:
    return any(
        m.start() <= position < m.end()
        for pattern in patterns
        for m in pattern.regex.finditer(text)  # type: ignore[attr-defined]
    )
