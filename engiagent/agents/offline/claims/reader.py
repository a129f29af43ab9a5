"""Reads the lines, tables and columns of a draft as the claims of one domain."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from engiagent.agents.offline.amounts import Amount, kind_of
from engiagent.agents.offline.claims.card import Domain
from engiagent.agents.offline.claims.pieces import Piece, Scope, best_column, cut
from engiagent.agents.offline.draft import Draft, Fact, Value, amount_value
from engiagent.agents.offline.grids import Column
from engiagent.agents.offline.passages import Sentence
from engiagent.agents.offline.plant.columns import _unit_before
from engiagent.agents.offline.plant.language.background import demanded
from engiagent.agents.offline.plant.language.reading import plain_text
from engiagent.agents.offline.plant.language.words import NEUTRAL, Marked, Vocabulary, mark
from engiagent.agents.offline.results import NotUnderstood
from engiagent.agents.offline.schedules import period_of
from engiagent.agents.offline.series import description
from engiagent.agents.offline.timing import Axis
from engiagent.agents.offline.tokens import Line, Period, Token, tokenise
from engiagent.blueprint.units import convert, parse_unit

ALL: Final = "*"
_UNIVERSAL: Final = re.compile(
    r"(?:^|[^a-z])(?:no|none of the|neither|any|all|all the|every|each|an?|one|both|each of the)"
    r"(?: [a-z-]+)? $"
)
_TAKEN_UP: Final = re.compile(
    r"(?:^|[^a-z])(?:it|its|the (?:[a-z]+ )?(?:pump|unit|machine|well|box|zone|room|tank))(?![a-z])"
)
_HOURS: Final = {
    "hours": 60.0, "hour": 60.0, "minutes": 1.0, "days": 1440.0, "day": 1440.0, "half-hours": 30.0,
    "quarter-hours": 15.0,
}  # fmt: skip
_PERIODS: Final = frozenset(
    (*("blocks", "block", "periods", "period", "intervals", "interval"),
     *("steps", "step", "slots", "slot", "stages", "stretches", "stretch"))
)  # fmt: skip


@dataclass(frozen=True)
class Said:
    """A claim that the text makes.

    Attributes
    ----------
    owner
        The unit that it is about, ``*`` for all of a kind.
    values
        Its amounts by name; one that is a series has as many numbers as there are periods.
    clock
        The time of the day for which it holds, where it names one.
    """

    claim: str
    owner: str
    values: Mapping[str, Value]
    bound: str
    line: int
    said: frozenset[str]
    clock: float | None = None
    period: Period | None = None
    span: tuple[int, int] = (0, 0)


@dataclass
class ClaimReader:
    """Reads a draft; what it finds is in :attr:`found`."""

    draft: Draft
    domain: Domain
    axis: Axis | None
    names: Mapping[str, Mapping[str, re.Pattern[str]]]
    labels: Sequence[tuple[int, int]] = ()
    currency: str | None = None
    found: list[Said] = field(default_factory=list)

    def __post_init__(self) -> None:
        own = tuple(
            (f"@{kind}", re.compile(rf"(?:(?<![a-z])the )?{finder.pattern}"))
            for kind, names in self.names.items() if len(names) > 1
            for finder in names.values()
        )  # fmt: skip
        words = self.domain.words
        self.words = Vocabulary((*own, *words.phrases), words.neutral)

    def read_all(self, columns: Sequence[Column]) -> None:
        """Read every line and column; report those that are not understood."""
        for column in columns:
            self._column(column)
        # A text on choices is on its rows from the start.
        subject = "item" if "item" in self.domain.units else ""
        first, owner, passage, heading = subject, ALL, -9, ""
        for n, line in enumerate(self.draft.lines):
            if line.sentence.is_heading or self._done(n):
                continue
            sentence = line.sentence
            if n not in self.draft.table_lines:
                if sentence.passage != passage and not sentence.is_item:
                    subject = subject if sentence.heading == heading else first
                    owner = ALL
                passage, heading = sentence.passage, sentence.heading
            subject, owner = self._line(n, subject, owner)

    def _done(self, n: int) -> bool:
        tokens = self.draft.lines[n].tokens
        return all(self.draft.is_taken(n, i) or t.kind == "mark" for i, t in enumerate(tokens))

    def _line(self, n: int, subject: str, owner: str) -> tuple[str, str]:
        """Read one line; return what it leaves as the subject of the next."""
        line = self.draft.lines[n]
        cell = self.draft.table_lines.get(n)
        tabled = str(cell.get("owner", "")) if cell is not None else ""
        kind = next((k for k, names in self.names.items() if tabled in names), "")
        self._counts(n)
        self.draft.take(n, _file_notes(line))
        taken = frozenset(i for i in range(len(line.tokens)) if self.draft.is_taken(n, i))
        marked = self.marked(n, taken, bool(tabled))
        if cell is None and (_leads(line, marked, taken) or _describes_file(line, marked, taken)):
            self._nothing(line.tokens)
            return subject, owner
        edges, whole = self._times(line, taken)
        place = "table" if cell is not None else "text"
        scope = Scope(kind or (subject if cell is None else ""), place, edges, whole, taken)
        pieces = cut(marked, self.domain, scope)
        if isinstance(pieces, str):
            self.draft.refuse(n, pieces)
            named = [c[1:] for c in marked.concepts if c.startswith("@")]
            return (named[0] if named else subject), owner
        # What an earlier sentence named counts for a pronoun, or 'the pump', alone.
        known = owner if _TAKEN_UP.search(line.line) else ALL
        for piece in pieces:
            named = self._named(line, piece)
            mine = tabled if kind else self._owner(marked, piece, named, known)
            if named and cell is None:
                known = owner = mine
            self._take(n, piece, mine)
        if cell is not None:
            return subject, owner
        heads = [c[1:] for c in marked.concepts if c.startswith("@")]
        heads += [p.claim.about for p in pieces if p.claim is not None and p.claim.sure]
        return (heads[0] if heads else subject), owner

    def marked(self, n: int, taken: frozenset[int], tabled: bool = False) -> Marked:
        """Return a line with its concepts; taken words and labels of rows say nothing."""
        line = self.draft.lines[n]
        extra = {
            i: NEUTRAL for i, t in enumerate(line.tokens)
            if t.kind == "word" and (i in taken or (tabled and self._label(t)))
        }  # fmt: skip
        found = demanded(mark(line, self.words, extra), 0, len(line.tokens))
        concepts = list(found.concepts)
        for i, concept in enumerate(concepts):
            # 'one air handler', where there is one
            ahead = next((c for c in concepts[i + 1 : i + 3] if c.startswith("@")), "")
            if concept == "oneword" and len(self.names.get(ahead[1:], ())) == 1:
                concepts[i] = NEUTRAL
        return Marked(line, tuple(concepts), found.joints)

    def _label(self, token: Token) -> bool:
        return any(a <= token.span[0] and token.span[1] <= b for a, b in self.labels)

    def _times(self, line: Line, taken: frozenset[int]) -> tuple[dict[int, str], frozenset[int]]:
        """Return which times are the edges of the horizon, and which periods are all of it."""
        edges: dict[int, str] = {}
        whole: set[int] = set()
        if self.axis is None:
            return edges, frozenset()
        start, end = self.axis.start_clock, self.axis.end_clock
        for i, token in enumerate(line.tokens):
            if token.kind == "clock" and token.clock is not None:
                first = abs(token.clock - start) < 1e-9
                last = abs(token.clock % 24 - end % 24) < 1e-9
                if first or last:
                    edges[i] = "start" if first else "end"
            elif token.kind == "period_open" and token.clock is not None:
                before = token.text.lower().startswith(("before", "until", "till"))
                since = token.text.lower().startswith("from")
                at_start = abs(token.clock - start) < 1e-9
                edges |= {i: "start"} if (before or since) and at_start else {}
            elif token.kind == "period" and _is_all(token.period, self.axis):
                whole.add(i)
        return edges, frozenset(whole | taken)

    # -- owners -------------------------------------------------------------------------------

    def _named(self, line: Line, piece: Piece) -> list[str]:
        """Return the units that a piece names itself."""
        a = line.starts[piece.first] if line.starts else 0
        b = line.starts[piece.last] if piece.last < len(line.starts) else len(line.line)
        kind = piece.claim.about if piece.claim is not None else ""
        kinds = [kind] if kind in self.names else list(self.names)
        places = {
            name: match.start() for k in kinds if len(self.names[k]) > 1
            for name, finder in self.names[k].items()
            if (match := finder.search(line.line[a:b])) is not None
        }  # fmt: skip
        return sorted(places, key=lambda name: places[name])

    def _owner(self, marked: Marked, piece: Piece, named: list[str], before: str) -> str:
        if piece.claim is None or not piece.claim.about:
            return ALL
        names = self.names.get(piece.claim.about, {})
        if len(names) == 1:
            return next(iter(names))
        if len(named) == 1:
            return named[0]
        if named:
            return " ".join(named)
        line = marked.line
        noun = next(
            (i for i in range(piece.first, piece.last)
             if marked.concepts[i] == f"@{piece.claim.about}"), None,
        )  # fmt: skip
        if noun is not None:
            lead = line.line[: line.starts[noun]]
            plural = line.tokens[noun].text.endswith("s")
            return ALL if plural or _UNIVERSAL.search(lead) else before
        words = {t.text for t in line.tokens[piece.first : piece.last]}
        raw = " ".join(t.text for t in line.tokens[piece.first : piece.last])
        nouns = self.domain.units[piece.claim.about]
        if re.search(rf"(?<![a-z])(?:an?|any|every|each|no|all) (?:[a-z]+ )?(?:{nouns})", raw):
            return ALL
        return ALL if words & {"both", "they", "each", "all", "them", "their"} else before

    # -- numbers ------------------------------------------------------------------------------

    def _counts(self, n: int) -> None:
        """Account for numbers that say how many units or periods there are."""
        line = self.draft.lines[n]
        if n in self.draft.table_lines:
            return
        for i, token in enumerate(line.tokens):
            amount = token.amount
            if amount is None or (amount.unit and amount.kind != "duration"):
                continue
            if self.draft.is_taken(n, i):
                continue
            reason = self._count_of(line, i, amount)
            if reason:
                self.draft.take(n, [i])
                if not amount.unit:
                    entry = {"span": list(amount.span), "quote": amount.quote, "reason": reason}
                    self.draft.unused.append(entry)

    def _count_of(self, line: Line, i: int, amount: Amount) -> str:
        behind = line.line[line.starts[i] :].split("> ", 1)
        text = behind[1] if len(behind) > 1 else ""
        for kind, names in self.names.items():
            noun = re.match(
                rf"(?:[a-z-]+ ){{0,3}}(?:{self.domain.units[kind]})(?![a-z0-9'-])", text
            )
            if noun is not None and not amount.unit and amount.value == len(names):
                return "counts units"
        if self.axis is None:
            return ""
        words = text.split(" ")
        unit = amount.unit or words[0]
        if not amount.unit and words[0] in _PERIODS and amount.value == self.axis.periods:
            return "counts the periods"
        typical = len(words) > 1 and words[1] in (*_PERIODS, *_HOURS)
        if not amount.unit and typical and amount.value == self.axis.periods:
            return "counts the periods"
        minutes = {"h": 60.0, "min": 1.0, "d": 1440.0, **_HOURS}.get(unit)
        named = {self.axis.step_minutes, 60 * self.axis.hours}
        if minutes is not None and amount.value * minutes in named and _tells_times(line, i):
            return "the length of the horizon or of a step"
        return ""

    def _take(self, n: int, piece: Piece, owner: str) -> None:
        line = self.draft.lines[n]
        self.draft.take(n, range(piece.first, piece.last))
        tokens = line.tokens[piece.first : piece.last]
        if piece.claim is None:
            self._nothing(tokens)
            return
        values = self._values(n, piece)
        if values is None:
            return
        clock = next((line.tokens[i].clock for i in piece.clocks
                      if line.tokens[i].kind == "clock"), None)  # fmt: skip
        period = period_of(line, [i for i in piece.clocks if line.tokens[i].kind != "clock"])
        span = (tokens[0].span[0], tokens[-1].span[1])
        bound = "lower" if piece.bound == "between" else piece.bound
        upper = {"value": values.pop("upper")} if "upper" in values else {}
        name = piece.claim.name
        said = piece.said
        self.found.append(Said(name, owner, values, bound, n, said, clock, period, span))
        if upper:
            self.found.append(Said(name, owner, upper, "upper", n, said, clock, period, span))
        if not values:
            shown = "background" if piece.claim.name in ("ask", "holds", "point") else name
            self.draft.facts.append(Fact(shown, n, span, {}, ""))

    def _values(self, n: int, piece: Piece) -> dict[str, Value] | None:
        values = {
            name: amount_value(amount, self.draft.source(n, amount))
            for name, amount in piece.amounts
        }
        if piece.series and piece.claim is not None:
            name = piece.claim.numbers[0][0]
            unit = piece.series[0].unit
            before = self.draft.text[self.draft.lines[n].sentence.span[0] : piece.series[0].span[0]]
            unit = unit or _unit_before(before, self.currency)
            if not unit or (self.axis is not None and len(piece.series) != self.axis.periods):
                self.draft.refuse(n, "a list whose unit or length is not that of the periods")
                return None
            sources = [{"kind": "text", "span": list(a.span), "quote": a.quote}
                       for a in piece.series]  # fmt: skip
            values[name] = Value(unit, sources, numbers=tuple(a.value for a in piece.series))
        return values

    def _nothing(self, tokens: Sequence[Token]) -> None:
        words = [t for t in tokens if t.kind == "word"]
        if len(words) < 2:
            return
        span = (tokens[0].span[0], tokens[-1].span[1])
        quote = self.draft.text[span[0] : span[1]]
        reason = "speaks of no unit, no quantity and no limit of the model"
        self.draft.unused.append({"span": list(span), "quote": quote, "reason": reason})

    # -- columns ------------------------------------------------------------------------------

    def _column(self, column: Column) -> None:
        behind, around = description(self.draft, column)
        for text in (plain_text(column.name), behind, around, column.words):
            unit = column.unit
            if not unit or not text.strip():
                continue
            plain = re.sub(r"`", " ", text.lower())
            line = tokenise(plain, Sentence((0, len(plain)), plain, 0, "", "", False), None)
            claim = best_column(mark(line, self.domain.words), self.domain, kind_of(unit))
            if claim is None:
                continue
            per_step = kind_of(unit) in ("volume", "energy", "mass")
            value = Value(
                unit, column.source, numbers=column.numbers, data=column.data,
                expression="x0/dt(t)" if per_step else "x0",
            )  # fmt: skip
            name = claim.numbers[0][0]
            self.found.append(Said(claim.name, ALL, {name: value}, "value", -1, frozenset()))
            return
        first = column.source[0] if isinstance(column.source, list) else column.source
        a, b = first.get("span", [0, 0])
        what = f"column {column.data or column.name}"
        self.draft.not_understood.append(NotUnderstood(what, (a, b), "nothing takes this column"))


_ASKING: Final = frozenset(
    ("must", "not", "only", "cond", "least", "most", "exact", "same", "above", "below")
)  # fmt: skip


def _data(line: Line, taken: frozenset[int]) -> bool:
    return any(
        (t.amount is not None or t.kind in ("list", "clock")) and i not in taken
        for i, t in enumerate(line.tokens)
    )


def _leads(line: Line, marked: Marked, taken: frozenset[int]) -> bool:
    """Whether a sentence only leads into a table or a list, and sets no limit itself."""
    ends = line.sentence.text.rstrip().endswith(":")
    return ends and not _data(line, taken) and not marked.said() & _ASKING


def _describes_file(line: Line, marked: Marked, taken: frozenset[int]) -> bool:
    """Whether a sentence only says what stands in a file."""
    files = any(t.kind == "code" for t in line.tokens)
    return files and not _data(line, taken) and not marked.said() & {*_ASKING, "ask"}


def _file_notes(line: Line) -> list[int]:
    """Return the words in brackets that name a file and say what its columns are."""
    found: list[int] = []
    start = None
    for i, token in enumerate(line.tokens):
        if token.text == "(":
            start = i
        elif token.text == ")" and start is not None:
            inside = line.tokens[start : i + 1]
            words = {t.text for t in inside}
            plain = not words & {"must", "not", "only", "least", "most", "if", "never", "no"}
            if any(t.kind == "code" for t in inside) and plain:
                found += [k for k in range(start, i + 1) if line.tokens[k].amount is None]
            start = None
    return found


def _is_all(period: Period | None, axis: Axis) -> bool:
    """Whether a period of the day is all of a horizon of a day at most."""
    if period is None or axis.hours > 24:
        return False
    return all(any(a <= clock < b for a, b in period.ranges) for clock in axis.clocks())


def _tells_times(line: Line, i: int) -> bool:
    """Whether a duration stands where horizons and steps are told, and in no rule of a unit."""
    before = line.tokens[i - 1].text if i else ","
    if i > 1 and before == "of" and line.tokens[i - 2].text in _PERIODS:
        return True  # 'four stretches of two hours'
    return before in ("the", "these", "those", "all", ",", "(", ";", "plan", "whole", "our")


def minutes_of(value: Value) -> float:
    """Return a duration in minutes."""
    assert value.number is not None
    return convert(value.number, parse_unit(value.unit), parse_unit("min"))
