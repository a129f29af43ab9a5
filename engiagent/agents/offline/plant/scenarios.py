"""Scenarios: series of which one will come, how likely each is, and what a text says of them.

A group of columns of one file or table is a set of scenarios where the text gives each of them a
probability, or says that they are equally likely. What is said of one of them alone is refused.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

from engiagent.agents.offline.amounts import Amount, Span
from engiagent.agents.offline.cards import lexicon, load_card
from engiagent.agents.offline.draft import Draft, Json
from engiagent.agents.offline.grids import Column, Grid
from engiagent.agents.offline.owners import identifier
from engiagent.agents.offline.tokens import Line

_UNIT: Final = re.compile(r"\s*[(\[].*$")
_NAMED: Final = ("word", "code")
_SOME: Final = (
    r"(?:most|some|few|fewer|many|several|half|parts?|shares?|certain|one|either|neither|worst|best"
    r"|[a-z]+est|others?|remaining|only|last|first|single|none|no|not)(?: (?:of|out of))?"
    r"(?: (?:the|these|those|our|all))?(?: <number#\d+>)?(?: [a-z-]+)? "
)


@dataclass(frozen=True)
class Group:
    """The columns of one file or table: the same quantity, once for each scenario."""

    columns: tuple[Column, ...]
    merged: Column


@dataclass(frozen=True)
class Scenarios:
    """What may come.

    Attributes
    ----------
    names
        As the columns are called.
    weights
        The probabilities with their places; empty where all are equally likely.
    groups
        The series that differ from scenario to scenario, their columns in the order of the names.
    spans
        Where the text speaks of them.
    """

    names: tuple[str, ...]
    weights: tuple[Amount, ...]
    groups: tuple[Group, ...]
    spans: tuple[Span, ...]

    @property
    def labels(self) -> tuple[str, ...]:
        """The names as parts of names of variables."""
        return tuple(identifier(name) for name in self.names)

    def probabilities(self) -> list[float]:
        """Return how likely each is."""
        if not self.weights:
            return [1 / len(self.names)] * len(self.names)
        return [share_of(amount) for amount in self.weights]

    def declared(self, draft: Draft) -> Json:
        """Return the set of a blueprint."""
        entry: Json = {"name": "S", "kind": "scenario", "elements": list(self.labels)}
        entry["probabilities"] = self.probabilities() if self.weights else "uniform"
        places = [*(amount.span for amount in self.weights), *self.spans]
        entry["source_reference"] = draft.quoted(*dict.fromkeys(places))
        return entry


@dataclass(frozen=True)
class Words:
    """The phrases by which a text speaks of scenarios; see ``scenarios.yaml``."""

    nouns: re.Pattern[str]
    equally: re.Pattern[str]
    chance: re.Pattern[str]
    beside: frozenset[str]
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
        pattern("columns"),
        pattern("of"),
        pattern("these"),
    )


def share_of(amount: Amount) -> float:
    """Return a probability as a number."""
    return round(amount.value / 100, 12) if amount.kind == "percent" else amount.value


def take_scenarios(
    draft: Draft, grids: Sequence[Grid], files: Sequence[Column]
) -> tuple[Scenarios | None, list[Column]]:
    """Find the scenarios of a text and account for the words that list them.

    Parameters
    ----------
    draft
        The reading so far; words and numbers of the lists are taken.
    grids, files
        The columns of tables and of files.

    Returns
    -------
    scenarios, columns
        None where there are none; the columns, those of scenarios as one for each group.
    """
    groups = [list(grid.columns) for grid in grids]
    by_file: dict[str, list[Column]] = {}
    for column in files:
        by_file.setdefault(str(column.data).split("#")[0], []).append(column)
    groups += list(by_file.values())
    plain = [column for group in groups for column in group]
    for group in groups:
        for columns in _alike(group):
            found = _weighed(draft, columns) or _equal(draft, columns)
            if found is None:
                continue
            names, weights, n = found
            if len({identifier(name) for name in names}) < len(names):
                continue
            return _made(draft, names, weights, n, groups)
    return None, plain


def plain_name(column: Column) -> str:
    """Return a column's name without its unit, as the text would call it."""
    return _UNIT.sub("", column.name).strip().lower()


def _alike(columns: Sequence[Column]) -> list[list[Column]]:
    """Return the columns of a file or table in one unit, where there are several."""
    units: dict[str, list[Column]] = {}
    for column in columns:
        units.setdefault(column.unit, []).append(column)
    return [some for some in units.values() if len(some) > 1]


# --- lists ---------------------------------------------------------------------------------------


def _mentions(line: Line, names: Sequence[str]) -> list[tuple[int, int, str]]:
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


def _weighed(draft: Draft, columns: Sequence[Column]) -> tuple[list[str], list[Amount], int] | None:
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
            for _, _, name in _mentions(line, names):
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
    mentions = _mentions(line, names)
    if len(mentions) != len(names) or {m[2] for m in mentions} != set(names):
        return None
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


def _equal(draft: Draft, columns: Sequence[Column]) -> tuple[list[str], list[Amount], int] | None:
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
            listed = {m[2] for m in _mentions(other, names)}
            filed = file and any(t.kind == "code" and t.text == file for t in other.tokens)
            counted = [t.amount.value for t in other.tokens if t.amount is not None]
            whole = filed and known.columns.search(other.line) and not listed
            if listed == set(names) or (whole and all(c == len(names) for c in counted)):
                return names, [], k
    return None


# --- what follows --------------------------------------------------------------------------------


def _made(
    draft: Draft,
    names: Sequence[str],
    weights: Sequence[Amount],
    n: int,
    groups: Sequence[Sequence[Column]],
) -> tuple[Scenarios, list[Column]]:
    merged: list[Group] = []
    columns: list[Column] = []
    for group in groups:
        for some in _alike(group):
            by_name = {plain_name(c): c for c in some}
            if set(by_name) == set(names):
                merged.append(_group(draft, [by_name[name] for name in names]))
        inside = {id(c) for g in merged for c in g.columns}
        columns += [c for c in group if id(c) not in inside]
    spans = [draft.lines[n].sentence.span] if n >= 0 else []
    found = Scenarios(tuple(names), tuple(weights), tuple(merged), tuple(spans))
    _account(draft, found)
    return found, [*columns, *(g.merged for g in merged)]


def _group(draft: Draft, columns: Sequence[Column]) -> Group:
    """Return the columns as one that is named by what the text, or its file, says of them."""
    known = words()
    first = columns[0]
    file = str(first.data or "").split("#")[0]
    said = [m["what"] for line in draft.lines if not line.sentence.is_heading
            for m in known.of.finditer(line.line)]  # fmt: skip
    tabled = [] if file else [m["what"] for line in draft.lines
                              for m in known.these.finditer(line.line)]  # fmt: skip
    name = file.rsplit(".", 1)[0] if file else next(iter([*tabled, *said]), "")
    source: Any = list(first.source) if isinstance(first.source, list) else dict(first.source)
    merged = Column(
        name, " ".join(said[:1]), first.unit, source, first.numbers, first.data, first.count
    )
    return Group(tuple(columns), merged)


def _account(draft: Draft, found: Scenarios) -> None:
    """Take the words that list scenarios, count them or call them equally likely."""
    known = words()
    for n, line in enumerate(draft.lines):
        if line.sentence.is_heading:
            continue
        mentions = _mentions(line, found.names)
        if {m[2] for m in mentions} == set(found.names):
            shares = [i for i, t in enumerate(line.tokens) if t.amount in found.weights]
            edges = [*(m[0] for m in mentions), *(m[1] - 1 for m in mentions), *shares]
            draft.take(n, list(range(min(edges), max(edges) + 1)))
        near = mentions or known.nouns.search(line.line) or line.sentence.span in found.spans
        for pattern in (known.equally, known.nouns, known.columns, known.chance) if near else ():
            for match in pattern.finditer(line.line):
                draft.take(
                    n, [i for i in line.covered(*match.span()) if line.tokens[i].kind == "word"]
                )
        for i, token in enumerate(line.tokens):
            behind = " ".join(t.text for t in line.tokens[i + 1 : i + 5])
            amount = token.amount
            if amount is None or amount.unit or amount.value != len(found.names):
                continue
            counts = re.match(rf"(?:[a-z-]+ ){{0,2}}?{known.nouns.pattern}", behind)
            if counts or known.columns.match(behind):
                draft.take(n, [i])
                entry = {"span": list(amount.span), "quote": amount.quote,
                         "reason": "counts the scenarios"}  # fmt: skip
                draft.unused.append(entry)


def told_apart(draft: Draft, found: Scenarios) -> None:
    """Refuse sentences that say something of one scenario alone, or of some of them."""
    some = re.compile(rf"(?<![a-z-]){_SOME}{words().nouns.pattern}")
    for n, line in enumerate(draft.lines):
        if line.sentence.is_heading or n in draft.table_lines:
            continue
        for first, last, name in _mentions(line, found.names):
            if not all(draft.is_taken(n, i) for i in range(first, last)):
                draft.refuse(n, f"what is said of '{name}' alone")
        for match in some.finditer(line.line):
            if not _weighs(draft, n, line.covered(*match.span())):
                draft.refuse(n, "what is said of some scenarios alone")


def _weighs(draft: Draft, n: int, covered: range) -> bool:
    """Whether words on some scenarios say how the objective weighs them."""
    a, b = draft.lines[n].tokens[covered.start].span[0], draft.lines[n].tokens[covered[-1]].span[1]
    return any(
        f.name == "weighs scenarios" and f.line == n and f.span[0] <= a and b <= f.span[1]
        for f in draft.facts
    )


def plain_rest(draft: Draft, found: Scenarios) -> None:
    """Account for what is left of the sentences that list scenarios, where it asks for nothing."""
    scope = lexicon().scope
    for n, line in enumerate(draft.lines):
        if line.sentence.span not in found.spans:
            continue
        left = [i for i in range(len(line.tokens)) if not draft.is_taken(n, i)]
        amounts = any(line.tokens[i].amount is not None for i in left)
        text = " ".join(line.tokens[i].text for i in left)
        if not amounts and not any(scope[k].search(text) for k in ("requirement", "condition")):
            draft.take(n, left)
