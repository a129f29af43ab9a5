"""CPLEX LP files: text to a model, every error with its line and column.

Read are sums of terms, ranges, bounds, kinds of columns and a quadratic objective. HiGHS's own
reader, tried on the same files, takes ``x y >= 4`` for a sum, drops the constant of ``x + 3 >= 4``
and knows neither ranges nor names such as ``x[1,2]``; so it is not used.
"""

import re
from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

import numpy as np

from engiagent.errors import InputError
from engiagent.formulations.exchange.model import (
    INFINITE,
    Collector,
    Column,
    LinearModel,
    Pair,
    Row,
    SourceText,
    unlimited,
)

_FLIPPED: Final = {"<=": ">=", ">=": "<=", "=": "="}
_SECTIONS: Final = (
    ("minimize", r"minimi[sz]e|minimum|min"),
    ("maximize", r"maximi[sz]e|maximum|max"),
    ("constraints", r"subject\s+to|such\s+that|s\.t\.|st\.|st|lazy\s+constraints?|user\s+cuts?"),
    ("unknown", r"general\s+constraints?|gencons(?:tr)?|semi-integers?|sos[12]?|pwlobj|pwl"),
    ("bounds", r"bounds?"),
    ("generals", r"generals?|gen|integers?|int"),
    ("binaries", r"binary|binaries|bin"),
    ("semi-continuous", r"semi-continuous|semis?"),
    ("end", r"end"),
)
_SECTION: Final = re.compile(
    r"\s*(?:" + "|".join(f"(?P<s{k}>{words})" for k, (_, words) in enumerate(_SECTIONS)) + r")"
    r"(?=\s|$)(?!\s*(?:[:<>=*^+-]|free\b))",
    re.IGNORECASE,
)
# A bracket that follows a name at once belongs to it, with whatever it holds: x[1,2], x(t-1).
_HEAD: Final = r"""[^\W\d]|[_!"#$%&,;?@'`{}|~]"""
_TOKEN: Final = re.compile(
    rf"""\s*(?:(?P<name>(?:{_HEAD})(?:{_HEAD}|[\d./]|\[[^\[\]\s]*\]|\([^()\s]*\)|[()])*)
    |(?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)
    |(?P<relation><=|=<|>=|=>|<(?!-)|>|=)|(?P<sign>->|[-+*^:/\[\]]))""",
    re.VERBOSE,
)


class Token(NamedTuple):
    """A word: ``kind`` is ``number``, ``name``, ``relation`` or the sign itself."""

    kind: str
    text: str
    line: int
    column: int


class Sum(NamedTuple):
    """A constant, coefficients of columns, and of products of two columns."""

    constant: float
    terms: dict[int, float]
    products: dict[Pair, float]


def parse_lp(source: SourceText) -> LinearModel:
    """Return the model in the text of an LP file.

    Raises
    ------
    InputError
        With the line, what was found there and what was expected.
    """
    collector, started, keyword = Collector(source), False, ""
    for keyword, line, tokens in _sections(source):
        if keyword == "unknown":
            known = ", ".join(name for name, _ in _SECTIONS if name != "unknown")
            found = source.lines[line - 1].strip()
            raise source.error(line, "this kind of section is not read", found, f"one of {known}")
        if (keyword in ("minimize", "maximize")) == started:
            expected = "Subject To, Bounds, …" if started else "Minimize or Maximize"
            raise source.error(line, "this section cannot stand here", keyword, expected)
        started = True
        _READERS[keyword](_Section(collector, keyword, line, tokens))
    if keyword != "end":
        last = len(source.lines)
        raise source.error(last, "the file is cut off", None, "End on a line of its own")
    collector.name = collector.objective.name
    return collector.model()


def _sections(source: SourceText) -> Iterator[tuple[str, int, list[Token]]]:
    keyword, begin, tokens = "", 1, list[Token]()
    for line, text in enumerate(source.lines, 1):
        content = text.partition("\\")[0].rstrip()
        if not content.strip():
            continue
        found, start = _SECTION.match(content), 0
        if found is not None and found.lastgroup:
            if keyword:
                yield keyword, begin, tokens
            keyword, begin, tokens = _SECTIONS[int(found.lastgroup[1:])][0], line, []
            start = found.end()
        if not keyword:
            expected = "Minimize or Maximize (the CPLEX LP format; lp_solve's own is another one)"
            raise source.error(line, "this is no LP file", content.strip(), expected)
        if keyword == "end" and content[start:].strip():
            raise source.error(line, "text after the end", content[start:].strip())
        tokens.extend(_tokens(source, line, content, start) if keyword != "unknown" else ())
    if not keyword:
        raise source.error(1, "the file is empty", None, "Minimize or Maximize")
    yield keyword, begin, tokens


def _tokens(source: SourceText, line: int, text: str, place: int) -> Iterator[Token]:
    while place < len(text):
        match = _TOKEN.match(text, place)
        if match is None:
            place += len(text[place:]) - len(text[place:].lstrip())
            what = "this character has no meaning here"
            raise source.error(line, what, text[place], None, place + 1)
        kind = match.lastgroup or ""
        word, place = match[kind], match.end()
        if kind == "relation":
            word = "<=" if "<" in word else ">=" if ">" in word else "="
        yield Token(word if kind == "sign" else kind, word, line, match.start(kind) + 1)


class _Section:
    """The tokens of a section, and a place among them."""

    def __init__(self, collector: Collector, keyword: str, line: int, tokens: list[Token]) -> None:
        self.collector, self.keyword, self.tokens = collector, keyword, tokens
        self.at, self.line = 0, line

    def kind(self, ahead: int = 0) -> str:
        """Return the kind of a token that is still to come, empty after the last."""
        place = self.at + ahead
        return self.tokens[place].kind if place < len(self.tokens) else ""

    def next(self, expected: str, *kinds: str) -> Token:
        """Return the next token, which must be of one of some kinds, and go on."""
        if self.at >= len(self.tokens):
            raise self.collector.source.error(
                self.line, "the section ends too early", None, expected
            )
        token = self.tokens[self.at]
        if kinds and token.kind not in kinds:
            raise self.error(f"{expected} is needed here", token)
        self.at, self.line = self.at + 1, token.line
        return token

    def error(self, message: str, token: Token, expected: str | None = None) -> InputError:
        """Return an error at a token."""
        return self.collector.source.error(token.line, message, token.text, expected, token.column)

    def label(self) -> Token | None:
        """Return the name before a colon, and go on behind it."""
        if (self.kind(), self.kind(1)) != ("name", ":"):
            return None
        self.at += 2
        return self.tokens[self.at - 2]

    def sign(self) -> float:
        """Return the product of the signs that come next."""
        result = 1.0
        while self.kind() in ("+", "-"):
            result = -result if self.next("a sign").kind == "-" else result
        return result

    def number(self) -> float:
        """Return a number with its signs, which may be infinite."""
        sign = self.sign()
        token = self.next("a number")
        if token.kind == "number":
            return sign * float(token.text)
        if token.text.lower() in ("inf", "infinity"):
            return sign * np.inf
        raise self.error("a number is needed here", token, "as 3.5 or -inf")

    def column(self, expected: str = "a variable") -> Column:
        """Return the column that comes next."""
        token = self.next(expected, "name")
        self.collector.column(token.text, token.line)
        return self.collector.columns[token.text]

    def sum(self, one_line: bool = False) -> Sum:
        """Return a sum of terms; with ``one_line`` it ends where its line ends.

        A sign on the line after a relation's right side starts another constraint.
        """
        terms: dict[int, float] = {}
        products: dict[Pair, float] = {}
        constant, first = 0.0, True
        while first or (
            self.kind() in ("+", "-") and not (one_line and self.tokens[self.at].line != self.line)
        ):
            value, first = self.sign(), False
            token = self.next("a term", "number", "name", "[")
            if token.kind == "[":
                for pair, factor in self._quadratic(token).items():
                    products[pair] = products.get(pair, 0.0) + value * factor
                continue
            if token.kind == "number":
                value *= float(token.text)
                star = self.kind() == "*"
                self.at += star
                labels = self.kind(1) == ":" and not star
                next_line = one_line and self.kind() and self.tokens[self.at].line != token.line
                if not star and (self.kind() != "name" or labels or next_line):
                    constant += value
                    continue
                self._refuse_large(value, token)
                token = self.next("a variable", "name")
            if token.text.lower() in ("inf", "infinity"):
                constant += value * np.inf
                continue
            if self.kind() in ("^", "*", "/"):
                raise self.error(
                    "quadratic terms stand in square brackets", self.tokens[self.at], "[ 2 x ^2 ]"
                )
            column = self.collector.column(token.text, token.line)
            terms[column] = terms.get(column, 0.0) + value
        return Sum(constant, terms, products)

    def _refuse_large(self, value: float, token: Token) -> None:
        if abs(value) >= INFINITE:
            raise self.error("this coefficient is infinite", token, "less than 1e20")

    def _quadratic(self, opening: Token) -> dict[Pair, float]:
        if self.keyword == "constraints":
            raise self.error("quadratic constraints are not read", opening, "linear terms")
        found: dict[Pair, float] = {}
        while not found or self.kind() in ("+", "-"):
            value = self.sign()
            if self.kind() == "number":
                token = self.next("a number")
                value *= float(token.text)
                self._refuse_large(value, token)
                self.at += self.kind() == "*"
            name = self.next("a variable", "name")
            first = second = self.collector.column(name.text, name.line)
            joint = self.next("^2 or * and a variable", "^", "*")
            other = self.next("2 or a variable", "number" if joint.kind == "^" else "name")
            if joint.kind == "*":
                second = self.collector.column(other.text, other.line)
            elif float(other.text) != 2.0:
                raise self.error("this is no quadratic term", other, "x ^2 or x * y")
            pair = max(first, second), min(first, second)
            found[pair] = found.get(pair, 0.0) + value
        self.next("+, - or ]", "]")
        if self.kind() != "/":
            return found
        self.at += 1
        two = self.next("2", "number")
        if float(two.text) != 2.0:
            raise self.error("an objective's brackets are halved", two, "/ 2")
        return {pair: value / 2.0 for pair, value in found.items()}


def _objective(section: _Section) -> None:
    collector, label = section.collector, section.label()
    collector.sense = "minimize" if section.keyword == "minimize" else "maximize"
    objective = collector.objective
    objective.line = section.line
    if label is not None:
        objective.name = label.text
    if not section.kind():
        return
    found = section.sum()
    if section.kind():
        raise section.error("this cannot follow a term", section.tokens[section.at], "+ or -")
    if abs(found.constant) >= INFINITE:
        raise collector.source.error(objective.line, "the constant is infinite")
    objective.terms, collector.products = found.terms, found.products
    collector.offset = found.constant


def _constraints(section: _Section) -> None:
    collector = section.collector
    while section.kind():
        token, label = section.tokens[section.at], section.label()
        name = label.text if label is not None else f"R{len(collector.rows) + 1}"
        while label is None and name in collector.rows:
            name += "_"
        collector.add_row(_row(section, name, token))


def _row(section: _Section, name: str, token: Token) -> Row:
    left = section.sum()
    op = section.next("a relation", "relation").text
    middle = section.sum(one_line=bool(left.terms))
    if section.kind() == "->":
        arrow = section.tokens[section.at]
        raise section.error("conditions are not read", arrow, "a linear constraint")
    error = section.collector.source.error
    if section.kind() == "relation":
        second = section.next("a relation").text
        right = section.sum(one_line=True)
        if left.terms or right.terms or op != second or op == "=":
            what = "a range has numbers on both ends and one direction"
            raise error(token.line, what, None, "as -5 <= x + y <= 8")
        sides = [(_FLIPPED[op], left.constant), (op, right.constant)]
        terms, constant = middle.terms, middle.constant
    else:
        if not left.terms:  # the number may come first
            left, middle, op = middle, left, _FLIPPED[op]
        terms, constant = dict(left.terms), left.constant
        for column, value in middle.terms.items():
            terms[column] = terms.get(column, 0.0) - value
        sides = [(op, middle.constant)]
    if not terms:
        raise section.error("this constraint has no variable", token)
    row = Row(name, token.line, terms=terms)
    if not np.isfinite(constant):
        raise error(token.line, "an infinite number cannot stand in a sum")
    for op, limit in sides:
        value = unlimited(limit - constant)
        if value == (np.inf if op == ">=" else -np.inf) or (op == "=" and np.isinf(value)):
            raise error(token.line, "this side is infinite on the wrong side")
        if op in (">=", "="):
            row.lower = value
        if op in ("<=", "="):
            row.upper = value
    return row


def _bounds(section: _Section) -> None:
    while section.kind():
        if section.kind() == "name" and section.tokens[section.at].text.lower() not in (
            "inf",
            "infinity",
        ):
            column = section.column()
            if section.kind() == "name" and section.tokens[section.at].text.lower() == "free":
                section.at += 1
                _bound(section, column, ">=", -np.inf)
                _bound(section, column, "<=", np.inf)
                continue
        else:
            value = section.number()
            op = section.next("a relation", "relation").text
            column = section.column()
            _bound(section, column, _FLIPPED[op], value)
            if section.kind() != "relation":
                continue
        op = section.next("a relation", "relation").text
        _bound(section, column, op, section.number())


def _bound(section: _Section, column: Column, op: str, value: float) -> None:
    for side, kinds in (("lower", (">=", "=")), ("upper", ("<=", "="))):
        if op in kinds:
            section.collector.bound(column, side, value, section.line)


def _kinds(section: _Section) -> None:
    while section.kind():
        column = section.column()
        if section.keyword == "semi-continuous":
            column.semicontinuous = True
            continue
        column.integral = True
        if section.keyword == "binaries":
            column.lower, column.upper = max(column.lower, 0.0), min(column.upper, 1.0)


_READERS: Final[dict[str, Callable[[_Section], None]]] = {
    "minimize": _objective,
    "maximize": _objective,
    "constraints": _constraints,
    "bounds": _bounds,
    "generals": _kinds,
    "binaries": _kinds,
    "semi-continuous": _kinds,
    "end": lambda section: None,
}
