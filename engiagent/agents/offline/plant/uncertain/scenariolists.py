"""How a text lists scenarios: names with their probabilities, or names that are equally likely."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from engiagent.agents.offline.amounts import Amount
from engiagent.agents.offline.cards import load_card
from engiagent.agents.offline.draft import Draft
from engiagent.agents.offline.grids import Column
from engiagent.agents.offline.tokens import Line

_UNIT: Final = re.compile(r"\s*[(\[].*$")
_NAMED: Final = ("word", "code")
Listed = tuple[list[str], list[Amount], int]
"""Names, their probabilities (none: all alike), and the line that lists them (-1: a table)."""


@dataclass(frozen=True)
class Words:
    """The phrases by which a text speaks of scenarios; see ``scenarios.yaml``."""

    nouns: re.Pattern[str]
    equally: re.Pattern[str]
    chance: re.Pattern[str]
    beside: frozenset[str]
    between: frozenset[str]
    plain: frozenset[str]
    unsure: re.Pattern[str]
    columns: re.Pattern[str]
    of: re.Pattern[str]
    these: re.Pattern[str]


@lru_cache(maxsize=1)
def words() -> Words:
    """Return the phrases of the card."""
    card = load_card("scenarios")["sets"]

    def pattern(name: str) -> re.Pattern[str]:
        text = str(card[name]).replace("{noun}", f"(?:{card['nouns']})")
        return re.compile(rf"(?<![a-z0-9-])(?:{text})(?![a-z0-9-])")

    return Words(
        pattern("nouns"),
        pattern("equally"),
        pattern("chance"),
        frozenset(str(card["beside"]).split()),
        frozenset(str(card["between"]).split()),
        frozenset(str(card["plain"]).split()),
        pattern("unsure"),
        pattern("columns"),
        pattern("of"),
        pattern("these"),
    )


def share_of(amount: Amount) -> float:
    """Return a probability as a number."""
    return round(amount.value / 100, 12) if amount.kind == "percent" else amount.value


def plain_name(column: Column) -> str:
    """Return a column's name without its unit, as the text would call it."""
    return _UNIT.sub("", column.name).strip().lower()


def alike(columns: Sequence[Column]) -> list[list[Column]]:
    """Return the columns of a file or table in one unit, where there are several."""
    units: dict[str, list[Column]] = {}
    for column in columns:
        units.setdefault(column.unit, []).append(column)
    return [some for some in units.values() if len(some) > 1]


def mentioned_in(line: Line, names: Sequence[str]) -> list[tuple[int, int, str]]:
    """Return where names stand in a line: first token, token behind, name."""
    found: list[tuple[int, int, str]] = []
    texts = [t.text.lower() if t.kind in _NAMED else "" for t in line.tokens]
    for name in names:
        parts = re.findall(r"[^\W_]+(?:['-][^\W_]+)*|\d+", name)
        for i in range(len(texts) - len(parts) + 1):
            if texts[i] == name:
                found.append((i, i + 1, name))
            elif parts and texts[i : i + len(parts)] == parts:
                found.append((i, i + len(parts), name))
    return sorted(set(found))


def range_of(line: Line, names: Sequence[str]) -> range | None:
    """Return the tokens of 's1 to s4', which stands for all columns from the first to the last."""
    ends = mentioned_in(line, (names[0], names[-1]))
    if len(ends) != 2 or len(names) < 3 or [e[2] for e in ends] != [names[0], names[-1]]:
        return None
    between = [t.text for t in line.tokens[ends[0][1] : ends[1][0]]]
    return (
        range(ends[0][0], ends[1][1])
        if between in (["to"], ["through"], ["-"], ["until"])
        else None
    )


def parts_of(draft: Draft, columns: Sequence[Column]) -> list[list[Column]]:
    """Return columns of one unit: all of them, and those that a sentence on chance names."""
    known = words()
    found = [list(columns)]
    names = [plain_name(c) for c in columns]
    for n, line in enumerate(draft.lines):
        if line.sentence.is_heading or n in draft.table_lines:
            continue
        if any(p.search(line.line) for p in (known.nouns, known.chance, known.equally)):
            there = {m[2] for m in mentioned_in(line, names)}
            some = [c for c in columns if plain_name(c) in there]
            if len(some) > 1 and some not in found:
                found.append(some)
    return found


def weighed_list(draft: Draft, columns: Sequence[Column]) -> Listed | None:
    """Return scenarios with their probabilities from one list, or from the rows of a table."""
    names = [plain_name(c) for c in columns]
    for n, line in enumerate(draft.lines):
        if line.sentence.is_heading or n in draft.table_lines:
            continue
        known = words()
        likely = any(p.search(line.line) for p in (known.nouns, known.chance, known.equally))
        pairs = _paired(line, names) if likely else None
        if pairs is not None and _add_up(draft, n, list(pairs.values())):
            return names, [pairs[name] for name in names], n
    tabled: dict[str, Amount] = {}
    for n in draft.table_lines:
        line = draft.lines[n]
        amounts = [t.amount for t in line.tokens if t.amount is not None]
        if len(amounts) == 1 and _is_share(amounts[0]) and words().chance.search(line.line):
            for _, _, name in mentioned_in(line, names):
                tabled[name] = amounts[0]
    if set(tabled) != set(names) or not _add_up(draft, 0, list(tabled.values())):
        return None
    for n in draft.table_lines:
        line = draft.lines[n]
        if any(t.amount in tabled.values() for t in line.tokens):
            draft.take(n, range(len(line.tokens)))
    return names, [tabled[name] for name in names], -1


def _is_share(amount: Amount) -> bool:
    return amount.kind == "percent" or (not amount.unit and 0 < amount.value < 1)


def _add_up(draft: Draft, n: int, amounts: Sequence[Amount]) -> bool:
    """Whether probabilities make 1; report those that do not."""
    total = sum(share_of(a) for a in amounts)
    if abs(total - 1) > 1e-9:
        draft.doubt(n, f"the probabilities add up to {100 * total:g} %")
        return False
    return True


def _paired(line: Line, names: Sequence[str]) -> dict[str, Amount] | None:
    """Return names with the probabilities beside them, if they alternate in one order."""
    mentions = mentioned_in(line, names)
    if len(mentions) != len(names) or {m[2] for m in mentions} != set(names):
        return None
    listed = _respective(line, mentions)
    if listed is not None:
        return listed
    shares = [i for i, t in enumerate(line.tokens) if t.amount is not None and _is_share(t.amount)]
    if len(shares) != len(names):
        return None
    first = mentions[0][0] < shares[0]
    order = [*zip(mentions, shares, strict=True)]
    edges = sorted([*(m[0] for m in mentions), *shares])
    kinds = [edge in shares for edge in edges]
    if any(kinds[k] is kinds[k + 1] for k in range(len(kinds) - 1)) or kinds[0] is first:
        return None
    inside = range(edges[0], max(edges[-1] + 1, mentions[-1][1]))
    named = {i for a, b, _ in mentions for i in range(a, b)} | set(shares)
    beside = {line.tokens[i].text for i in inside if i not in named}
    if beside - words().beside:
        return None
    found = {m[2]: line.tokens[i].amount for m, i in order}
    return {name: amount for name, amount in found.items() if amount is not None}


def _respective(line: Line, mentions: Sequence[tuple[int, int, str]]) -> dict[str, Amount] | None:
    """Return names with the probabilities of one list behind all of them, in the same order."""
    last = max(m[1] for m in mentions)
    shares: list[Amount] = []
    place = last
    for i, token in enumerate(line.tokens[last:], last):
        amounts = token.amounts or ((token.amount,) if token.amount is not None else ())
        if amounts and all(_is_share(a) for a in amounts):
            shares += amounts
            place = i
    if len(shares) != len(mentions):
        return None
    inside = range(mentions[0][0], place + 1)
    named = {i for a, b, _ in mentions for i in range(a, b)}
    words_beside = {line.tokens[i].text for i in inside
                    if i not in named and line.tokens[i].kind in ("word", "mark")}  # fmt: skip
    others = any(line.tokens[i].amount is not None for i in range(mentions[0][0], last))
    if others or words_beside - words().beside - words().between:
        return None
    return {m[2]: share for m, share in zip(mentions, shares, strict=True)}


def equal_list(draft: Draft, columns: Sequence[Column]) -> Listed | None:
    """Return scenarios that the text calls equally likely and lists, or counts, as columns."""
    known = words()
    names = [plain_name(c) for c in columns]
    file = str(columns[0].data or "").split("#")[0]
    for n, line in enumerate(draft.lines):
        if line.sentence.is_heading or not known.equally.search(line.line):
            continue
        near = [k for k in (n, n - 1, n + 1) if 0 <= k < len(draft.lines)]
        for k in near:
            other = draft.lines[k]
            listed = {m[2] for m in mentioned_in(other, names)}
            filed = file and any(t.kind == "code" and t.text == file for t in other.tokens)
            counted = [t.amount.value for t in other.tokens if t.amount is not None]
            spoken = known.columns.search(other.line) or known.nouns.search(other.line)
            whole = filed and spoken and not listed
            ranged = range_of(other, names) is not None
            counts = all(c == len(names) for c in counted)
            if listed == set(names) or (counts and (whole or ranged)):
                return names, [], k
    return None
