"""Formulas in the running text whose coefficients stand in a table, as 'a + b·P + c·P²'.

A formula is found where at least two symbols that head columns of a table are joined by operators
with one further symbol, the variable. What it gives follows from the units of its terms, which
must agree.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from engiagent.agents.offline.amounts import Span, currency_of
from engiagent.agents.offline.draft import Draft, Value, amount_value
from engiagent.blueprint.units import UnitError, parse_unit

Dimension = dict[str, int]

_SPACE: Final = re.compile(r"[ \t\n]*")
_NUMBER: Final = re.compile(r"\d+(?:\.\d+)?")
_FUNCTION: Final = re.compile(r"(sin|cos|exp|log|sqrt|abs)\s*\(")
_POWER: Final = re.compile(r"(?:\^|\*\*)\s*(\d)")
_RAISED: Final = {"²": 2, "³": 3}
_TIMES: Final = "·⋅*×"
_NAME: Final = r"[A-Za-z](?:\d|_?(?:min|max)|_[A-Za-z0-9]+)?"
_SYMBOL: Final = re.compile(rf"{_NAME}(?![A-Za-z0-9_])")
_HEAD: Final = re.compile(rf"\s*[`*_$]*({_NAME})[`*_$]*\s*(?:$|[(\[,])")


@dataclass(frozen=True)
class Term:
    """A summand of a formula.

    Attributes
    ----------
    text
        In the language, with symbols in braces: ``{b}*{P}``.
    symbols
        How often each symbol is a factor; None where the term is more than a product.
    """

    text: str
    symbols: Mapping[str, int] | None


@dataclass(frozen=True)
class Formula:
    """A sum of terms in one variable."""

    terms: tuple[Term, ...]
    variable: str
    span: Span


@dataclass(frozen=True)
class Curve:
    """A formula with the coefficients of one unit, and what it gives.

    Attributes
    ----------
    gives
        ``money``, ``volume`` or ``mass``, each per time, or ``power``.
    of
        The dimension of its variable.
    """

    formula: Formula
    coefficients: Mapping[str, Value]
    gives: str
    of: Mapping[str, int]
    line: int


class _Parser:
    """Reads the longest formula at a place; gives up quietly where there is none."""

    def __init__(self, text: str, position: int, known: frozenset[str]) -> None:
        self.text, self.at, self.known = text, position, known
        self.seen: list[str] = []
        self.operators = 0

    def terms(self) -> tuple[Term, ...] | None:
        found = []
        sign = ""
        while (term := self._term()) is not None:
            found.append(Term(sign + term.text, term.symbols))
            mark = self._operator("+-−–")
            if mark is None:
                return tuple(found)
            sign = "-" if mark != "+" else ""
        return None  # an operator with nothing behind it

    def _skip(self) -> int:
        return _SPACE.match(self.text, self.at).end()  # type: ignore[union-attr]

    def _operator(self, marks: str) -> str | None:
        place = self._skip()
        mark = self.text[place : place + 1]
        if not mark or mark not in marks or self.text[place : place + 2] == "**":
            return None
        self.at = place + 1
        self.operators += 1
        return mark

    def _term(self) -> Term | None:
        first = self._factor()
        if first is None:
            return None
        text, symbols = first
        while True:
            mark = self._operator(_TIMES + "/")
            before = self.at, len(self.seen)
            following = self._factor()
            if following is None:
                self.at = before[0]
                return Term(text, symbols) if mark is None else None
            self.operators += mark is None
            text += f"{'/' if mark == '/' else '*'}{following[0]}"
            plain = symbols is not None and following[1] is not None and mark != "/"
            symbols = _joined(symbols or {}, following[1] or {}) if plain else None

    def _factor(self) -> tuple[str, Mapping[str, int] | None] | None:
        base = self._base()
        if base is None:
            return None
        text, symbols = base
        raised = _POWER.match(self.text, self.at)
        power = _RAISED.get(self.text[self.at : self.at + 1])
        if raised is not None:
            power, self.at = int(raised[1]), raised.end()
        elif power is not None:
            self.at += 1
        if power is None:
            return text, symbols
        self.operators += 1
        more = {k: v * power for k, v in symbols.items()} if symbols is not None else None
        return f"{text}**{power}", more

    def _base(self) -> tuple[str, Mapping[str, int] | None] | None:
        place = self._skip()
        rest = self.text[place:]
        if rest[:1] in ("(", "|"):
            return self._inside(place + 1, ")" if rest[0] == "(" else "|", "abs" * (rest[0] == "|"))
        call = _FUNCTION.match(self.text, place)
        if call is not None:
            return self._inside(call.end(), ")", call[1])
        number = _NUMBER.match(self.text, place)
        if number is not None:
            self.at = number.end()
            return number[0], {}
        symbol = _SYMBOL.match(self.text, place)
        if symbol is None:
            return None
        self.at = symbol.end()
        self.seen.append(symbol[0])
        return f"{{{symbol[0]}}}", {symbol[0]: 1}

    def _inside(self, place: int, close: str, function: str) -> tuple[str, None] | None:
        start = self.at
        self.at = place
        terms = self.terms()
        end = self._skip()
        if terms is None or self.text[end : end + 1] != close:
            self.at = start
            return None
        self.at = end + 1
        return f"{function}({_sum(terms)})", None


def _sum(terms: Sequence[Term]) -> str:
    return " + ".join(t.text for t in terms).replace("+ -", "- ")


def _joined(a: Mapping[str, int], b: Mapping[str, int]) -> dict[str, int]:
    return {k: a.get(k, 0) + b.get(k, 0) for k in (*a, *b)}


def formulas_in(text: str, start: int, end: int, known: frozenset[str]) -> Iterator[Formula]:
    """Yield the formulas between two offsets that join symbols of ``known`` with one other."""
    position = start
    while position < end:
        word = re.compile(r"(?<![A-Za-z0-9_])[A-Za-z(|]|[(|]").search(text, position, end)
        if word is None:
            return
        parser = _Parser(text[:end], word.start(), known)
        terms = parser.terms()
        coefficients = {s for s in parser.seen if s in known}
        others = {s for s in parser.seen if s not in known}
        if terms and len(coefficients) > 1 and len(others) == 1 and parser.operators > 1:
            yield Formula(terms, others.pop(), (word.start(), parser.at))
            position = parser.at
        else:
            position = word.end()


def take_curves(draft: Draft, owners: frozenset[str]) -> dict[str, Curve]:
    """Return the curve of every unit for which a formula of the text has its coefficients.

    ``owners`` are the units of the plant. The words of the formula and the cells of coefficients
    that are nothing else are accounted for; a formula that does not fit is reported.
    """
    cells = _coefficients(draft, owners)
    known = frozenset(symbol for _, symbol in cells)
    if len(known) < 2:
        return {}
    found: list[tuple[int, Formula]] = []
    for n, line in enumerate(draft.lines):
        if n not in draft.table_lines and not line.sentence.is_heading:
            found += [(n, f) for f in formulas_in(draft.text, *line.sentence.span, known)]
    curves: dict[str, Curve] = {}
    for n, formula in found:
        if len(found) > 1:
            draft.doubt(n, "there are several formulas")
        for owner in dict.fromkeys(o for o, _ in cells):
            own = {s: cells[owner, s] for s in known if (owner, s) in cells}
            curve = _curve(formula, {s: v for s, (v, _) in own.items()}, n)
            if isinstance(curve, str):
                draft.refuse(n, curve)
                return {}
            curves[owner] = curve
            used = set(re.findall(r"\{(\w+)\}", _sum(formula.terms)))
            for symbol, (_, row) in own.items():
                if symbol in used and not re.search(r"min|max", symbol):
                    draft.take(row, range(len(draft.lines[row].tokens)))
        tokens = draft.lines[n].tokens
        inside = [i for i, t in enumerate(tokens)
                  if formula.span[0] <= t.span[0] and t.span[1] <= formula.span[1]]  # fmt: skip
        draft.take(n, inside)
    return curves


def _coefficients(draft: Draft, owners: frozenset[str]) -> dict[tuple[str, str], tuple[Value, int]]:
    """Return the cells of columns that a symbol heads, with their lines, by unit and symbol."""
    found = {}
    for n, cell in draft.table_lines.items():
        owner, sources = str(cell.get("owner")), cell.get("cells", ())
        head = _HEAD.match(str(sources[0].get("column", ""))) if len(sources) == 1 else None
        amounts = [t.amount for t in draft.lines[n].tokens if t.amount is not None]
        if owner not in owners or head is None or len(amounts) != 1:
            continue
        value = amount_value(amounts[0], draft.source(n, amounts[0]))
        found[owner, head[1]] = (value, n)
    return found


def _curve(formula: Formula, values: Mapping[str, Value], line: int) -> Curve | str:
    """Return the curve of a unit; what is wrong with it where there is none."""
    used = set(re.findall(r"\{(\w+)\}", _sum(formula.terms))) - {formula.variable}
    if not used <= set(values):
        return f"the table has no {', '.join(sorted(used - set(values)))} for this formula"
    try:
        dims = {s: dict(parse_unit(values[s].unit).dimension) for s in used}
    except UnitError as error:
        return f"the formula: {error}"
    products = [t.symbols for t in formula.terms if t.symbols is not None]
    bare = [_product(p, dims) for p in products if not p.get(formula.variable)]
    moving = [(p[formula.variable], _product(p, dims)) for p in products if p.get(formula.variable)]
    if not bare or not moving:
        return "what this formula gives does not follow from its terms"
    result, of = bare[0], None
    for power, own in moving:
        gap = {k: result.get(k, 0) - own.get(k, 0) for k in (*result, *own)}
        if any(v % power for v in gap.values()):
            return "the units of the terms of this formula do not agree"
        variable = {k: v // power for k, v in gap.items() if v}
        if of is not None and of != variable:
            return "the units of the terms of this formula do not agree"
        of = variable
    if any(_plain(b) != _plain(result) for b in bare):
        return "the units of the terms of this formula do not agree"
    gives = _gives(result, [v.unit for v in values.values()])
    if gives is None or of is None:
        return "what this formula gives is nothing that the engine knows"
    return Curve(formula, {s: values[s] for s in used}, gives, of, line)


def _product(symbols: Mapping[str, int], dims: Mapping[str, Dimension]) -> Dimension:
    total: Dimension = {}
    for symbol, power in symbols.items():
        for name, own in dims.get(symbol, {}).items():
            total[name] = total.get(name, 0) + own * power
    return _plain(total)


def _plain(dimension: Mapping[str, int]) -> Dimension:
    return {k: v for k, v in dimension.items() if v}


def _gives(dimension: Dimension, units: Sequence[str]) -> str | None:
    money = next((c for u in units if (c := currency_of(u)) is not None), "EUR")
    for kind, unit in (("money", f"{money}/h"), ("volume", "L/h"), ("mass", "kg/h"),
                       ("power", "kW")):  # fmt: skip
        if dict(parse_unit(unit).dimension) == dimension:
            return kind
    return None
