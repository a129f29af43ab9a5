"""A sentence cut into pieces of which each makes one claim; None where no cutting does that."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import permutations
from typing import Final

from engiagent.agents.offline.amounts import Amount
from engiagent.agents.offline.claims.card import Claim, Domain
from engiagent.agents.offline.plant.language.reading import bound_of
from engiagent.agents.offline.plant.language.words import Marked

_CUTS: Final = {
    ";": 0, ".": 0, ":": 2, ",": 1, "(": 1, ")": 2, "and": 3, "but": 1, "while": 2, "which": 3,
    "whose": 3, "that": 4, "or": 4, "with": 4, "at": 5, "who": 4, "then": 3, "so": 3, "because": 1,
    "nor": 2, "needs": 6, "draws": 6, "takes": 6, "consumes": 6, "uses": 6,
    "since": 2, "as": 4, "when": 4, "where": 4, "if": 4, "it": 4, "for": 5, "of": 6, "the": 6,
    "to": 6, "from": 6, "in": 6, "by": 6,
}  # fmt: skip
BAND: Final = frozenset({"between"})
_TIMES: Final = ("clock", "period", "period_open", "rest")
_SENSES: Final = frozenset({"must", "may", "keep", "always", "limit", "each", "question"})
"""Words that ask without saying what: they fit beside every claim with a number."""


@dataclass(frozen=True)
class Scope:
    """What surrounds a piece.

    Attributes
    ----------
    subject
        The kind of unit that was spoken of before, empty for none.
    place
        ``text``, ``table`` or ``column``.
    edges
        Which clock tokens are the start or the end of the horizon.
    whole
        Tokens of periods that are all of the horizon.
    taken
        Tokens that are accounted for.
    """

    subject: str
    place: str
    edges: dict[int, str]
    whole: frozenset[int]
    taken: frozenset[int]


@dataclass(frozen=True)
class Piece:
    """A claim with its amounts.

    Attributes
    ----------
    claim
        None for a piece that says nothing.
    clocks
        The tokens of the times beside it.
    """

    claim: Claim | None
    first: int
    last: int
    amounts: tuple[tuple[str, Amount], ...] = ()
    bound: str = "value"
    said: frozenset[str] = frozenset()
    clocks: tuple[int, ...] = ()
    series: tuple[Amount, ...] = ()
    score: int = 0


def cut(marked: Marked, domain: Domain, scope: Scope) -> list[Piece] | str:
    """Return the pieces of a line; what is wrong with it where there are none."""
    tokens = marked.line.tokens
    places = [0, *(i for i in range(1, len(tokens)) if tokens[i].text in _CUTS), len(tokens)]
    best: dict[int, tuple[tuple[int, int, int], list[Piece], str, bool]] = {
        0: ((0, 0, 0), [], scope.subject, False)
    }
    for k, end in enumerate(places[1:], 1):
        for start in places[:k]:
            if start not in best:
                continue
            cost, before, subject, twin = best[start]
            price = _CUTS.get(tokens[start].text, 0) if start else 0
            here = replace(scope, subject=subject)
            found = list(_readings(marked, domain, here, start, end))
            found = found or list(_continued(marked, before, start, end, here, domain))
            for piece in found:
                dear = price + (piece.claim is None)
                total = (cost[0] + dear, cost[1] - piece.score, cost[2] + 1)
                known = best.get(end)
                behind = _subject(marked, start, end) or subject
                if known is None or total < known[0]:
                    best[end] = (total, [*before, piece], behind, twin)
                elif total == known[0] and not _alike([*before, piece], known[1]):
                    best[end] = (*known[:3], True)
    done = best.get(len(tokens))
    if done is None:
        return _why(marked, domain, scope)
    if done[3]:
        return "this can be read in two ways"
    return done[1]


def _continued(
    marked: Marked, before: Sequence[Piece], start: int, end: int, scope: Scope, domain: Domain
) -> Iterator[Piece]:
    """Yield what an amount without words is behind another: ', 19 °C at 08:00', 'and 22 kW'."""
    last = before[-1] if before else None
    tokens = marked.line.tokens
    inside = [i for i in range(start, end) if i not in scope.taken]
    amounts = [a for i in inside if (a := tokens[i].amount) is not None]
    clocks = tuple(i for i in inside if tokens[i].kind in _TIMES)
    said = marked.said(start, end)
    if last is None or last.claim is None or not last.claim.numbers or len(amounts) != 1:
        return
    if "?" in marked.concepts[start:end] or any(tokens[i].kind == "list" for i in inside):
        return
    bound = bound_of(said)
    for claim in domain.claims if bound is not None and not bound[1] else ():
        known = claim.bare or (claim is last.claim and claim.points and last.clocks)
        name, kinds = claim.numbers[0] if len(claim.numbers) == 1 else ("", frozenset())
        fits = known and amounts[0].kind in kinds and bound is not None
        same = claim.about == last.claim.about and bound is not None and bound[0] in claim.bounds
        if fits and same and (claim.points or not clocks):
            named = ((name, amounts[0]),)
            assert bound is not None
            yield Piece(claim, start, end, named, bound[0], said, clocks, (), 1)


def _alike(a: Sequence[Piece], b: Sequence[Piece]) -> bool:
    def key(pieces: Sequence[Piece]) -> list[tuple[object, ...]]:
        return [(p.claim.name, p.amounts, p.bound, p.clocks) for p in pieces if p.claim]

    return key(a) == key(b)


def _subject(marked: Marked, start: int, end: int) -> str:
    named = [c[1:] for c in marked.concepts[start:end] if c.startswith("@")]
    return named[0] if named else ""


def _readings(
    marked: Marked, domain: Domain, scope: Scope, start: int, end: int
) -> Iterator[Piece]:
    """Yield what a piece may be: the best claims that fit, or nothing at all."""
    tokens = marked.line.tokens
    inside = [i for i in range(start, end) if i not in scope.taken]
    amounts = [(i, a) for i in inside if (a := tokens[i].amount) is not None]
    lists = [i for i in inside if tokens[i].kind == "list"]
    clocks = tuple(i for i in inside if tokens[i].kind in _TIMES)
    unknown = [i for i in inside if marked.concepts[i] == "?"]
    said = marked.said(start, end)
    if not amounts and not lists:
        free = said - domain.loose
        told = unknown and (_measures(marked, start, end) or not _clause(marked, start, end))
        if not free and set(clocks) <= scope.whole and not told:
            yield Piece(None, start, end, score=0)
    if unknown and (amounts or lists or said - domain.loose):
        unknown = [i for i in unknown if not _describes(marked, i)]
    found: list[Piece] = []
    for claim in domain.claims:
        if unknown and not (claim.strange and _subject_only(marked, unknown, start, end)):
            continue
        if claim.asks and "ask" not in said and not _is_question(marked):
            continue
        piece = _fits(marked, claim, domain, scope, (start, end), amounts, lists, clocks, said)
        if piece is not None:
            found.append(piece)
    if found:
        top = max(p.score for p in found)
        yield from (p for p in found if p.score == top)


def _subject_only(marked: Marked, unknown: Sequence[int], start: int, end: int) -> bool:
    """Whether unknown words are the subject of a piece: they stand before all that is known."""
    known = [i for i in range(start, end) if marked.concepts[i] not in ("?", "~", "#")]
    first = marked.line.tokens[start]
    article = first.text in ("the", "our", "a", "an", "its", "their", "and", ",")
    return bool(known) and max(unknown) < min(known) and article and len(unknown) <= 3


def _is_question(marked: Marked) -> bool:
    return marked.line.sentence.text.rstrip().endswith("?")


_OPENS: Final = frozenset(
    (",", ";", ":", "(", "but", "because", "since", "which", "who", "so", "while", "as", "whose")
)  # fmt: skip
_CLOSES: Final = frozenset({",", ";", ":", ")", "(", "but", "and"})


def _clause(marked: Marked, start: int, end: int) -> bool:
    """Whether a piece is a clause of its own, and no words out of the middle of another."""
    tokens = marked.line.tokens
    opens = start == 0 or tokens[start].text in _OPENS or tokens[start - 1].text in (",", ";")
    return opens and (end == len(tokens) or tokens[end].text in _CLOSES)


def _measures(marked: Marked, start: int, end: int) -> bool:
    """Whether a piece on unknown things speaks of quantities: it may say what a number means."""
    from engiagent.agents.offline.plant.language.background import scenery

    words = {t.text for t in marked.line.tokens[start:end] if t.kind == "word"}
    return bool(words & scenery().quantities)


def _describes(marked: Marked, i: int) -> bool:
    """Whether an unknown word only describes the unit that is named behind it."""
    from engiagent.agents.offline.plant.language.background import scenery

    tokens = marked.line.tokens
    before = tokens[i - 1].text if i else ""
    nextby = marked.concepts[i + 1] if i + 1 < len(tokens) else ""
    plain = tokens[i].text not in scenery().doubtful and not tokens[i].text.endswith("s'")
    return (
        before in ("the", "our", "a", "an", "my", "this", "one")
        and nextby.startswith("@")
        and plain
    )


def _fits(
    marked: Marked,
    claim: Claim,
    domain: Domain,
    scope: Scope,
    span: tuple[int, int],
    amounts: Sequence[tuple[int, Amount]],
    lists: Sequence[int],
    clocks: tuple[int, ...],
    said: frozenset[str],
) -> Piece | None:
    if claim.only and scope.place not in claim.only:
        return None
    tokens = marked.line.tokens
    if not claim.points or lists:
        clocks = tuple(i for i in clocks if i not in scope.whole)
    edges = frozenset() if claim.points else {scope.edges[i] for i in clocks if i in scope.edges}
    if not claim.points and any(i not in scope.edges for i in clocks):
        return None
    said = said | edges
    values: Sequence[Amount] = [a for _, a in amounts]
    series: tuple[Amount, ...] = ()
    if lists:
        if len(lists) > 1 or amounts or clocks or not claim.points or len(claim.numbers) != 1:
            return None
        series = tokens[lists[0]].amounts
        values = series[:1]
    between = _between(marked, amounts) if len(amounts) == 2 and len(claim.numbers) == 1 else False
    named = _assigned(claim, values[:1] if between else values, marked, span)
    if named is None or (between and not _of_kind(claim, values[1], marked, span)):
        return None
    bound = bound_of(said) if claim.numbers and not between else ("value", said)
    if between:
        bound = ("between", said - {"least", "most", "limit"})
        named = (*named, ("upper", values[1]))
    score = _score(claim, domain, scope, said, bound)
    if score is None or bound is None or (claim.numbers and _loose_bound(marked, *span, said)):
        return None
    if bound[0] == "lower" and "may" in said and not said & {"not", "must"}:
        return None  # 'can hold at least' says how large it is
    used = clocks if claim.points else ()
    return Piece(claim, *span, named, bound[0], said, used, series, score)


def _loose_bound(marked: Marked, start: int, end: int, said: frozenset[str]) -> bool:
    """Whether 'more than' is behind its amount, as in '5 m3 more than', or bounds it twice."""
    if said & {"least", "most"} and said & {"above", "below"}:
        return True
    tokens = marked.line.tokens
    for i in range(start, end):
        if marked.concepts[i] in ("above", "below"):
            ahead = tokens[i + 1 : min(end, i + 7)]
            if not any(t.amount is not None for t in ahead):
                return True
    return False


def _between(marked: Marked, amounts: Sequence[tuple[int, Amount]]) -> bool:
    """Whether two amounts are the ends of a range."""
    tokens = marked.line.tokens
    (a, first), (b, second) = amounts
    link = [t.text for t in tokens[a + 1 : b]]
    before = [t.text for t in tokens[max(0, a - 2) : a]]
    if first.kind != second.kind or first.value >= second.value:
        return False
    return (link == ["and"] and "between" in before) or link in (["to"], ["-"], ["up", "to"])


def _of_kind(claim: Claim, amount: Amount, marked: Marked, span: tuple[int, int]) -> bool:
    return amount.kind in claim.numbers[0][1]


def _assigned(
    claim: Claim, values: Sequence[Amount], marked: Marked, span: tuple[int, int]
) -> tuple[tuple[str, Amount], ...] | None:
    """Return amounts by the names that a claim has for them, by what they measure."""
    if len(values) != len(claim.numbers):
        return None
    ways = []
    for order in permutations(values):
        if all(a.kind in kinds for a, (_, kinds) in zip(order, claim.numbers, strict=True)):
            ways.append(tuple((n, a) for a, (n, _) in zip(order, claim.numbers, strict=True)))
    same = len({kinds for _, kinds in claim.numbers}) < len(claim.numbers)
    # Amounts of one kind are told apart by their order alone.
    return ways[0] if len(ways) == 1 or (ways and same) else None


def _score(
    claim: Claim,
    domain: Domain,
    scope: Scope,
    said: frozenset[str],
    bound: tuple[str, frozenset[str]] | None,
) -> int | None:
    """Return how many concepts a claim explains; None where it does not explain them all."""
    if bound is None or (claim.numbers and bound[0] not in (*claim.bounds, "between")):
        return None
    if bound[0] == "between" and not ({"lower", "upper"} <= claim.bounds or BAND & claim.bounds):
        return None
    named = {c[1:] for c in said if c.startswith("@")}
    anywhere = claim.sure and not named
    if claim.about and claim.about not in (named or {scope.subject, ""}) and not anywhere:
        return None
    left = bound[1] if claim.numbers else said
    own = {f"@{claim.about}"} if claim.about else set()
    there = left | (own if claim.about in (*named, scope.subject) else set())
    best: int | None = None
    for need in claim.needs:
        if not need <= there:
            continue
        rest = left - need - own - claim.may
        rest -= _SENSES if claim.numbers else set()
        if not rest:
            score = 2 * len(need) + (claim.about in named and bool(claim.about))
            score += 1 if claim.numbers else 0
            best = score if best is None else max(best, score)
    return best


def _why(marked: Marked, domain: Domain, scope: Scope) -> str:
    """Say what most likely kept a line from being read."""
    unknown = marked.unknown()
    tokens = marked.line.tokens
    shown = sorted(marked.said() - domain.loose)
    words = f"unknown: {', '.join(dict.fromkeys(unknown))}; " if unknown else ""
    number = next((t.text for i, t in enumerate(tokens)
                   if t.amount is not None and i not in scope.taken), "")  # fmt: skip
    what = f"nothing takes the number {number}" if number else "no rule covers what this says"
    return f"{what} ({words}read as: {', '.join(shown)})"


def best_column(marked: Marked, domain: Domain, kind: str) -> Claim | None:
    """Return the claim of which the header of a column speaks; None where that is not clear."""
    if marked.unknown():
        return None
    scope = Scope("", "column", {}, frozenset(), frozenset())
    scored = []
    for claim in domain.claims:
        fits = claim.points and len(claim.numbers) == 1 and kind in claim.numbers[0][1]
        if not fits or (claim.only and "column" not in claim.only):
            continue
        said = frozenset(marked.said())
        score = _score(claim, domain, scope, said, ("value", said))
        if score is not None:
            scored.append((score, claim))
    scored.sort(key=lambda pair: -pair[0])
    if not scored or (len(scored) > 1 and scored[0][0] == scored[1][0]):
        return None
    return scored[0][1]
