"""Scenarios: series of which one will come, how likely each is, and what a text says of them.

A group of columns of one file or table is a set of scenarios where the text gives each of them a
probability, or says that they are equally likely. What is said of one of them alone is refused.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from engiagent.agents.offline.amounts import Amount, Span
from engiagent.agents.offline.draft import Draft, Json
from engiagent.agents.offline.grids import Column, Grid
from engiagent.agents.offline.owners import identifier
from engiagent.agents.offline.plant.language.words import UNKNOWN, Marked
from engiagent.agents.offline.plant.uncertain.scenariolists import (
    alike,
    equal_list,
    mentioned_in,
    parts_of,
    plain_name,
    range_of,
    share_of,
    weighed_list,
    words,
)
from engiagent.agents.offline.series import _unit_in, description

_COMES: Final = re.compile(
    r"(?:will|can|may) (?:come|happen|occur|turn up|materiali[sz]e|be reali[sz]ed)(?: true)?"
    r"|comes true|(?:is|are) possible"
)
_KNOWN: Final = re.compile(
    r"(?<![a-z-])(?:knows?|knew|known|unknown|learns?|learn(?:ed|t)|reveal(?:s|ed)?|observ(?:es?|ed)"
    r"|find(?:s)? out|clear(?:er)?|updates?|updated|gradually|step by step|little by little"
    r"|news|informed|foresight)(?![a-z-])"
)
_PER: Final = re.compile(
    r"(?<![a-z])(?:per|each|every|one|single|an?|by) (?:turbine|panel|module|building|house|unit"
    r"|machine|hall|inverter|kwp?|mwp?|car|vehicle|hectare|household|flat)s?(?![a-z])"
)
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

    def weights_in_order(self, mentions: Sequence[tuple[int, int, str]]) -> tuple[Amount, ...]:
        """Return the probabilities in the order in which a line names the scenarios."""
        by_name = dict(zip(self.names, self.weights, strict=True)) if self.weights else {}
        return tuple(by_name[m[2]] for m in mentions if m[2] in by_name)

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


def take_scenarios(
    draft: Draft, grids: Sequence[Grid], files: Sequence[Column], currency: str | None
) -> tuple[Scenarios | None, list[Column]]:
    """Find the scenarios of a text and account for the words that list them.

    Parameters
    ----------
    draft
        The reading so far; words and numbers of the lists are taken.
    grids, files
        The columns of tables and of files.
    currency
        The one of the text.

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
        for columns in (part for some in alike(group) for part in parts_of(draft, some)):
            found = weighed_list(draft, columns) or equal_list(draft, columns)
            if found is None:
                continue
            names, weights, n = found
            if len({identifier(name) for name in names}) < len(names):
                continue
            return _made(draft, names, weights, n, groups, currency)
    return None, plain


# --- what follows --------------------------------------------------------------------------------


def _made(
    draft: Draft,
    names: Sequence[str],
    weights: Sequence[Amount],
    n: int,
    groups: Sequence[Sequence[Column]],
    currency: str | None,
) -> tuple[Scenarios, list[Column]]:
    merged: list[Group] = []
    columns: list[Column] = []
    for group in groups:
        for some in alike(group):
            by_name = {plain_name(c): c for c in some}
            if set(names) <= by_name.keys():
                merged.append(_group(draft, [by_name[name] for name in names], currency))
        inside = {id(c) for g in merged for c in g.columns}
        columns += [c for c in group if id(c) not in inside]
    spans = [draft.lines[n].sentence.span] if n >= 0 else []
    found = Scenarios(tuple(names), tuple(weights), tuple(merged), tuple(spans))
    _account(draft, found)
    return found, [*columns, *(g.merged for g in merged)]


def _group(draft: Draft, columns: Sequence[Column], currency: str | None) -> Group:
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
    told = "; ".join((*description(draft, first), *_sentences(draft, file)))
    merged = Column(
        name,
        " ".join(said[:1]),
        first.unit or _unit_in(told, currency),
        source,
        first.numbers,
        first.data,
        first.count,
    )
    return Group(tuple(columns), merged)


def _sentences(draft: Draft, file: str) -> list[str]:
    """Return the sentences that name a file, from behind its name."""
    return [
        draft.text[t.span[1] : line.sentence.span[1]]
        for line in draft.lines
        for t in line.tokens
        if file and t.kind == "code" and t.text == file
    ]


def _account(draft: Draft, found: Scenarios) -> None:
    """Take the words that list scenarios, count them or call them equally likely."""
    known = words()
    for n, line in enumerate(draft.lines):
        if line.sentence.is_heading:
            continue
        mentions = mentioned_in(line, found.names)
        ranged = range_of(line, found.names)
        if ranged is not None:
            draft.take(n, ranged)
        if {m[2] for m in mentions} == set(found.names):
            ordered = found.weights_in_order(mentions)
            shares = [
                i for i, t in enumerate(line.tokens)
                if t.amount in found.weights or (t.amounts and t.amounts == ordered)
            ]  # fmt: skip
            edges = [*(m[0] for m in mentions), *(m[1] - 1 for m in mentions), *shares]
            draft.take(n, list(range(min(edges), max(edges) + 1)))
        for match in known.unsure.finditer(line.line):
            draft.take(n, line.covered(*match.span()))
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
            counts = re.match(rf"(?:[a-z-]+ ){{0,4}}?{known.nouns.pattern}", behind)
            if counts or known.columns.match(behind):
                draft.take(n, [i])
                entry = {"span": list(amount.span), "quote": amount.quote,
                         "reason": "counts the scenarios"}  # fmt: skip
                draft.unused.append(entry)


def told_apart(draft: Draft, found: Scenarios) -> None:
    """Refuse sentences that say something of one scenario alone, or of some of them.

    Call it before sentences are read: a number takes the words beside it.
    """
    some = re.compile(rf"(?<![a-z-]){_SOME}{words().nouns.pattern}")
    for n, line in enumerate(draft.lines):
        if line.sentence.is_heading or n in draft.table_lines:
            continue
        for first, last, name in mentioned_in(line, found.names):
            if not all(draft.is_taken(n, i) for i in range(first, last)):
                draft.refuse(n, f"what is said of '{name}' alone")
        for match in some.finditer(line.line):
            one = match[0].startswith("one ") and _COMES.search(line.line)
            if not one and not _weighs(draft, n, line.covered(*match.span())):
                draft.refuse(n, "what is said of some scenarios alone")


def told_when(draft: Draft) -> None:
    """Refuse sentences on what is known when that nothing has read."""
    for n, line in enumerate(draft.lines):
        left = [t.text for i, t in enumerate(line.tokens) if not draft.is_taken(n, i)]
        plain = not line.sentence.is_heading and n not in draft.table_lines
        if plain and _KNOWN.search(" ".join(left)):
            draft.refuse(n, "when what is known?")


def _weighs(draft: Draft, n: int, covered: range) -> bool:
    """Whether words on some scenarios say how the objective weighs them."""
    a, b = draft.lines[n].tokens[covered.start].span[0], draft.lines[n].tokens[covered[-1]].span[1]
    return any(
        f.name == "weighs scenarios" and f.line == n and f.span[0] <= a and b <= f.span[1]
        for f in draft.facts
    )


def strange_beside(draft: Draft, found: Scenarios, marks: Callable[[int], Marked]) -> None:
    """Refuse words that nothing knows in the sentences that list scenarios.

    Their numbers are taken, so that nobody else asks what the words beside them mean.
    """
    known = words().plain
    for n, line in enumerate(draft.lines):
        if line.sentence.span not in found.spans:
            continue
        concepts = marks(n).concepts
        strange = [
            t.text for i, t in enumerate(line.tokens)
            if concepts[i] == UNKNOWN and not draft.is_taken(n, i) and t.text not in known
        ]  # fmt: skip
        if strange:
            draft.refuse(n, f"unknown words beside scenarios: {', '.join(strange)}")
        if _PER.search(line.line):
            draft.refuse(n, "of one of how many is this the series?")
