"""From a problem on how much fits where to its blueprint."""

import re
from dataclasses import dataclass, field
from statistics import NormalDist
from typing import TYPE_CHECKING, Any, Final

from engiagent.agents.offline.amounts import Amount, kind_of, number_of
from engiagent.agents.offline.draft import Draft, Fact, Value, amount_value
from engiagent.agents.offline.engine import Understanding, currency_of_text, open_draft
from engiagent.agents.offline.grids import _bracketed, clean_unit
from engiagent.agents.offline.owners import Owners
from engiagent.agents.offline.placing.phrases import Piece, pieces_of
from engiagent.agents.offline.results import Analysis

if TYPE_CHECKING:
    from engiagent.problems.problem import Problem

_CHANCE: Final = re.compile(r"(?i)standard deviations?|normally distributed")
_RATIO: Final = re.compile(r"(?i)(?:k?W|MW)(?: per |/)(?:k?W|MW)(?: of [a-z ]+)?")
_PERCENT: Final = re.compile(r"(?i)(?:%|percent)(?: of (?:the )?[a-z ]+)?")
_ONCE: Final = frozenset(
    ["wish", "normal", "mean", "sigma", "independent", "together", "main", "joint", "jointz",
     "each", "eachp", "ask", "fairly"]
)  # fmt: skip


@dataclass(frozen=True)
class Head:
    """A column of the table: what it holds of every place.

    Attributes
    ----------
    role
        ``sigma`` (a share of the mean), ``room`` (a limit of each), ``rate`` (use for each kW).
    """

    role: str
    name: str
    unit: str
    values: tuple[float, ...]
    sources: tuple[Any, ...]


@dataclass
class Placing:
    """What was read of a placement."""

    draft: Draft
    labels: tuple[str, ...]
    heads: dict[str, list[Head]]
    said: dict[str, list[Piece]] = field(default_factory=dict)

    def has(self, name: str) -> bool:
        """Whether something was said."""
        return name in self.said

    def value(self, name: str, number: str) -> Value | None:
        """Return a number of a statement with its place."""
        for piece in self.said.get(name, ()):
            if number in piece.numbers:
                amount = self.draft.lines[piece.line].tokens[piece.numbers[number]].amount
                if amount is not None:
                    return amount_value(amount, self.draft.source(piece.line, amount))
        return None

    def line(self, name: str) -> int:
        """Return the line of a statement."""
        return self.said[name][0].line if name in self.said else 0


def understand_placing(problem: "Problem") -> Understanding | None:
    """Read a problem whose table gives deviations of places; None for others."""
    text = problem.text[problem.body_start :]
    if problem.data or len(problem.tables) != 1 or not _CHANCE.search(text):
        return None
    currency = currency_of_text(problem)
    draft, _ = open_draft(problem, currency)
    table = problem.tables[0]
    heads = _heads(table, currency)
    place = re.sub(r"s$", "", str(table.names[0]).strip().lower())
    if heads is None or "sigma" not in heads or not re.fullmatch(r"[a-z][a-z-]+", place):
        return None
    placing = Placing(draft, tuple(row[0].text.strip() for row in table.rows), heads)
    for n, line in enumerate(draft.lines):
        if line.sentence.is_heading:
            continue
        if n in draft.table_lines:
            draft.take(n, range(len(line.tokens)))
            continue
        found = pieces_of(line.line, place, n)
        if found is None:
            draft.refuse(n, "no statement on a placement under chance")
            continue
        draft.take(n, range(len(line.tokens)))
        for piece in found:
            placing.said.setdefault(piece.name, []).append(piece)
            span = (line.tokens[0].span[0], line.tokens[-1].span[1])
            draft.facts.append(Fact(piece.name, n, span, {}, ""))
    _held(placing)
    return Understanding(
        _analysis(problem, placing), draft, Owners(frozenset({"placing"}), {}), None
    )


def _heads(table: Any, currency: str | None) -> dict[str, list[Head]] | None:
    """Return the columns of a table by what they hold; None where one of them is unknown."""
    found: dict[str, list[Head]] = {}
    for c in range(1, len(table.header)):
        text = table.header[c].text
        unit_text = _bracketed(text) or (table.unit_texts[c] or "")
        name = re.sub(r"\s*[(\[].*", "", text).strip().lower()
        unit = clean_unit(unit_text, currency)
        if _RATIO.fullmatch(unit_text.strip()):
            role, unit = "rate", "1"
        elif _PERCENT.fullmatch(unit_text.strip()) and re.search(r"standard deviation", name):
            role, unit = "sigma", "%"
        elif unit and kind_of(unit) == "power" and re.search(r"capacity|limit|room", name):
            role = "room"
        else:
            return None
        cells = [row[c] for row in table.rows]
        if not all(re.fullmatch(r"\d+(?:\.\d+)?", cell.text.strip()) for cell in cells):
            return None
        sources = tuple(
            {"kind": "table", "span": list(cell.span), "quote": cell.text, "table": 0, "row": r,
             "column": table.names[c]}
            for r, cell in enumerate(cells)
        )  # fmt: skip
        values = tuple(number_of(cell.text) for cell in cells)
        found.setdefault(role, []).append(Head(role, name, unit, values, sources))
    return found


def _held(placing: Placing) -> None:
    """Hold what was said against what a placement needs; report gaps and contradictions."""
    draft, said = placing.draft, placing.said
    for name in _ONCE & said.keys():
        if len(said[name]) > 1:
            draft.doubt(said[name][1].line, "this is said twice")
    for name, why in (("normal", "how the deviations are distributed"),
                      ("sigma", "what the standard deviations are a share of")):  # fmt: skip
        if name not in said:
            draft.doubt(0, f"{why} is not said")
    if ("joint" in said) and ("independent" in said) is ("together" in said):
        draft.doubt(placing.line("joint"), "do the places deviate independently of each other?")
    if ("joint" in said) is not ("main" in said):
        draft.doubt(placing.line("joint"), "within what must the sum stay?")
    if "jointz" in said and "joint" not in said:
        draft.doubt(placing.line("jointz"), "the sum of what?")
    if not {"wish", "ask", "fairly"} & said.keys():
        draft.doubt(0, "what is to be as large as possible?")
    if len(placing.heads["sigma"]) > 1 or len(placing.heads.get("room", ())) > 1:
        draft.doubt(0, "a table with two columns of one kind")
    limited = bool({"each", "eachp"} & said.keys())
    if limited is not ("room" in placing.heads):
        draft.doubt(placing.line("each"), "is the capacity of each place a limit, and which?")
    rates = {head.name for head in placing.heads.get("rate", ())}
    asked = {piece.of for piece in said.get("budget", ())}
    if rates != asked:
        draft.doubt(placing.line("budget"), "of which column is this the limit?")
    _counted(placing)
    _likely(placing)


def _counted(placing: Placing) -> None:
    """Account for how many places there are."""
    value = placing.value("wish", "count")
    if value is None:
        return
    if value.number != len(placing.labels):
        placing.draft.doubt(placing.line("wish"), "the table has another number of places")
    entry = {**value.source, "reason": "counts the places"}
    placing.draft.unused.append({k: entry[k] for k in ("span", "quote", "reason")})


def _likely(placing: Placing) -> None:
    """Hold a probability against the number of deviations that stands for it."""
    for name, key, by, number in (("joint", "joint", "jointz", "z"), ("eachp", "ownp", "", "")):
        likely = placing.value(name, key)
        deviations = placing.value(by, number) if by else None
        if likely is None or likely.number is None:
            continue
        if not 50 < likely.number < 100:
            placing.draft.doubt(placing.line(name), "a probability that is no safe one")
            continue
        stands = deviations.number if deviations is not None else None
        if stands is not None and abs(NormalDist().cdf(stands) - likely.number / 100) > 5e-4:
            placing.draft.doubt(placing.line(by), "so many deviations have another probability")
        reason = "the number of standard deviations stands for it"
        entry = {**likely.source, "reason": reason}
        placing.draft.unused.append({k: entry[k] for k in ("span", "quote", "reason")})


def quantile(share: float) -> Amount:
    """Return how many standard deviations above the mean a probability in percent stands for."""
    value = NormalDist().inv_cdf(share / 100)
    return Amount(value, "1", "number", (0, 0), f"{value:.6g}")


def _analysis(problem: "Problem", placing: Placing) -> Analysis:
    from engiagent.agents.offline.placing.build import blueprint_of

    draft = placing.draft
    whole = not (draft.not_understood or draft.ambiguous)
    blueprint = blueprint_of(problem, placing) if whole else None
    return draft.analysis(blueprint)
