"""CPLEX LP files: text to a model, every error with its line and column.

Read are sums of terms, ranges, bounds, kinds of columns and a quadratic objective. HiGHS's own
reader, tried on the same files, takes ``x y >= 4`` for a sum, drops the constant of ``x + 3 >= 4``
and knows neither ranges nor names such as ``x[1,2]``; so it is not used.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Final, NamedTuple

import numpy as np

from engiagent.errors import InputError
from engiagent.formulations.exchange.model import INFINITE, FileModel, Pair, Row, SourceText

_FLIPPED: Final = {"<=": ">=", ">=": "<=", "=": "="}
_SECTIONS: Final = {
    "minimize": r"minimi[sz]e|minimum|min",
    "maximize": r"maximi[sz]e|maximum|max",
    "constraints": r"subject\s+to|such\s+that|s\.t\.|st\.|st|lazy\s+constraints?|user\s+cuts?",
    "unknown": r"general\s+constraints?|gencons(?:tr)?|semi-integers?|sos[12]?|pwlobj|pwl",
    "bounds": r"bounds?",
    "generals": r"generals?|gen|integers?|int",
    "binaries": r"binary|binaries|bin",
    "semicontinuous": r"semi-continuous|semis?",
    "end": r"end",
}
_SECTION: Final = re.compile(
    r"\s*(?:" + "|".join(f"(?P<{name}>{words})" for name, words in _SECTIONS.items()) + r")"
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
    """A word: ``kind`` is ``section``, ``number``, ``name``, ``relation`` or the sign itself."""

    kind: str
    text: str
    line: int
    column: int

    @property
    def is_infinity(self) -> bool:
        """Whether it is a word for what has no end."""
        return self.kind == "name" and self.text.lower() in ("inf", "infinity")


@dataclass
class _Sum:
    """A constant and coefficients of columns."""

    begin: Token
    constant: float = 0.0
    terms: dict[str, float] = field(default_factory=dict)


def parse_lp(source: SourceText) -> FileModel:
    """Return the model in the text of an LP file.

    Raises
    ------
    InputError
        With the line, what was found there and what was expected.
    """
    return _Reader(source).read()


def _tokens(source: SourceText) -> Iterator[Token]:
    """Yield the words of a file, the last of which is the section ``end``."""
    section, known = "", ", ".join(name for name in _SECTIONS if name != "unknown")
    for line, text in enumerate(source.lines, 1):
        content = text.partition("\\")[0].rstrip()
        if not content:
            continue
        found, place = _SECTION.match(content) if section != "end" else None, 0
        if found is not None:
            place = found.end()
            section = found.lastgroup or ""
            if section == "unknown":
                what = "this kind of section is not read"
                raise source.error(line, what, content.strip(), f"one of {known}")
            yield Token("section", section, line, found.start(section) + 1)
        if not section:
            expected = "Minimize or Maximize (the CPLEX LP format; lp_solve's own is another one)"
            raise source.error(line, "this is no LP file", content.strip(), expected)
        if section == "end" and content[place:].strip():
            raise source.error(line, "text after the end", content[place:].strip())
        while place < len(content):
            match = _TOKEN.match(content, place)
            if match is None:
                place = len(content) - len(content[place:].lstrip())
                what = "this character has no meaning here"
                raise source.error(line, what, content[place], None, place + 1)
            kind = match.lastgroup or ""
            word, place = match[kind], match.end()
            if kind == "relation":
                word = "<=" if "<" in word else ">=" if ">" in word else "="
            yield Token(word if kind == "sign" else kind, word, line, match.start(kind) + 1)
    if not section:
        raise source.error(1, "the file is empty", None, "Minimize or Maximize")
    if section != "end":
        last = len(source.lines)
        raise source.error(last, "the file is cut off", None, "End on a line of its own")


class _Reader:
    """A place among the words of a file, and the model of those before it."""

    def __init__(self, source: SourceText) -> None:
        self.source, self.model = source, FileModel(source)
        self.tokens, self.at, self.section = list(_tokens(source)), 0, ""

    def read(self) -> FileModel:
        """Return the model."""
        while self.section != "end":
            token, started = self.take("a section", "section"), bool(self.section)
            self.section = token.text
            if (self.section in ("minimize", "maximize")) == started:
                expected = "Subject To, Bounds, …" if started else "Minimize or Maximize"
                what = "this section cannot stand here"
                raise self.source.error(token.line, what, token.text, expected)
            if not started:
                self._objective()
            while self.section != "end" and self.kind != "section":
                _STATEMENTS[self.section](self)
        self.model.name = self.model.objective.name
        return self.model.finished()

    # -- words ----------------------------------------------------------------------------------

    @property
    def kind(self) -> str:
        """The kind of the next token."""
        return self.tokens[self.at].kind

    @property
    def on_new_line(self) -> bool:
        """Whether the next token stands on another line than the last."""
        return self.tokens[self.at].line != self.tokens[self.at - 1].line

    def take(self, expected: str, *kinds: str) -> Token:
        """Return the next token, which must be of one of some kinds, and go on."""
        token = self.tokens[self.at]
        if token.kind not in kinds:
            raise self.error(f"{expected} is needed here", token)
        self.at += 1
        return token

    def accept(self, *kinds: str) -> str:
        """Return the next word and go on if it is of one of some kinds; else nothing."""
        return self.take("", *kinds).text if self.kind in kinds else ""

    def error(self, message: str, token: Token, expected: str | None = None) -> InputError:
        """Return an error at a token."""
        return self.source.error(token.line, message, token.text, expected, token.column)

    # -- sums -----------------------------------------------------------------------------------

    def sign(self) -> float:
        """Return the product of the signs that come next."""
        result = 1.0
        while sign := self.accept("+", "-"):
            result = -result if sign == "-" else result
        return result

    def coefficient(self, token: Token) -> float:
        """Return the number of a token, which must be finite."""
        if float(token.text) >= INFINITE:
            raise self.error("this coefficient is infinite", token, "less than 1e20")
        return float(token.text)

    def column(self) -> str:
        """Return the name of the column that comes next."""
        token = self.take("a variable", "name")
        return self.model.column(token.text, token.line).name

    def sum(self, one_line: bool = False) -> _Sum:
        """Return a sum of terms; with ``one_line`` it ends where its line ends.

        A sign on the line after a relation's right side starts another constraint.
        """
        found = _Sum(self.tokens[self.at])
        self._term(found, one_line)
        while self.kind in ("+", "-") and not (one_line and self.on_new_line):
            self._term(found, one_line)
        return found

    def _term(self, found: _Sum, one_line: bool) -> None:
        value = self.sign()
        token = self.take("a term", "number", "name", "[")
        if token.kind == "[":
            self._quadratic(token, value)
            return
        if token.kind == "number":
            labels = self.kind == "name" and self.tokens[self.at + 1].kind == ":"
            another = labels or self.section == "bounds" or (one_line and self.on_new_line)
            if not self.accept("*") and (self.kind != "name" or another):
                found.constant += value * float(token.text)
                return
            value *= self.coefficient(token)
            token = self.take("a variable", "name")
        if token.is_infinity:
            found.constant += value * np.inf
            return
        name = self.model.column(token.text, token.line).name
        if self.kind in ("^", "*", "/"):
            what = "quadratic terms stand in square brackets"
            raise self.error(what, self.tokens[self.at], "[ 2 x ^2 ]")
        found.terms[name] = found.terms.get(name, 0.0) + value

    def _quadratic(self, opening: Token, outside: float) -> None:
        if self.section not in ("minimize", "maximize"):
            raise self.error("quadratic constraints are not read", opening, "linear terms")
        terms: list[tuple[Pair, float]] = []
        while not terms or self.kind in ("+", "-"):
            value = outside * self.sign()
            if self.kind == "number":
                value *= self.coefficient(self.take("a number", "number"))
                self.accept("*")
            first = second = self.column()
            if self.take("^2 or * and a variable", "^", "*").kind == "*":
                second = self.column()
            else:
                self._two("this is no quadratic term", "x ^2 or x * y")
            terms.append(((first, second), value))
        self.take("+, - or ]", "]")
        if self.accept("/"):
            self._two("an objective's brackets are halved", "/ 2")
            terms = [(pair, value / 2.0) for pair, value in terms]
        for pair, value in terms:
            self.model.add_product(*pair, value)

    def _two(self, message: str, expected: str) -> None:
        two = self.take("2", "number")
        if float(two.text) != 2.0:
            raise self.error(message, two, expected)

    def limits(self, one_line: bool) -> tuple[_Sum, list[tuple[str, float]]]:
        """Return a sum with variables, and the relations and numbers between which it lies."""
        sums, relations = [self.sum(one_line)], list[str]()
        while not relations or (self.kind == "relation" and len(relations) < 2):
            relations.append(self.take("a relation", "relation").text)
            sums.append(self.sum(one_line or any(part.terms for part in sums)))
        middle, (left, right) = sums[len(sums) // 2], (sums[0], sums[-1])
        if len(relations) == 2:
            if left.terms or right.terms or relations[0] != relations[1] or relations[0] == "=":
                what = "a range has numbers on both ends and one direction"
                raise self.source.error(left.begin.line, what, None, "as -5 <= x + y <= 8")
            sides = [(_FLIPPED[relations[0]], left.constant), (relations[1], right.constant)]
        elif left.terms:
            middle, sides = left, [(relations[0], right.constant)]
            for name, value in right.terms.items():
                left.terms[name] = left.terms.get(name, 0.0) - value
        else:  # the number may come first
            sides = [(_FLIPPED[relations[0]], left.constant)]
        values = [(relation, value - middle.constant) for relation, value in sides]
        if not np.isfinite(middle.constant) or any(np.isnan(value) for _, value in values):
            what = "an infinite number cannot stand in a sum"
            raise self.source.error(left.begin.line, what)
        return middle, values

    # -- statements -----------------------------------------------------------------------------

    def label(self) -> Token | None:
        """Return the name before a colon, and go on behind it."""
        token = self.tokens[self.at]
        if token.kind != "name" or self.tokens[self.at + 1].kind != ":":
            return None
        self.at += 2
        return token

    def _objective(self) -> None:
        model, begin, label = self.model, self.tokens[self.at - 1], self.label()
        model.sense = "minimize" if self.section == "minimize" else "maximize"
        model.objective = Row(label.text if label is not None else "objective", begin.line)
        if self.kind == "section":
            return
        found = self.sum()
        if self.kind != "section":
            raise self.error("this cannot follow a term", self.tokens[self.at], "+ or -")
        if not abs(found.constant) < INFINITE:
            raise self.source.error(begin.line, "the constant is infinite")
        model.objective.terms, model.offset = found.terms, found.constant

    def _constraint(self) -> None:
        begin, label = self.tokens[self.at], self.label()
        name = label.text if label is not None else f"R{len(self.model.rows) + 1}"
        while label is None and name in self.model.rows:
            name += "_"
        found, sides = self.limits(one_line=False)
        if self.kind == "->":
            arrow = self.tokens[self.at]
            raise self.error("conditions are not read", arrow, "a linear constraint")
        if not found.terms:
            raise self.error("this constraint has no variable", begin)
        row = Row(name, begin.line, terms=found.terms)
        for relation, value in sides:
            self.model.limit(row, relation, value, begin.line)
        self.model.add_row(row)

    def _bound(self) -> None:
        begin, sides = self.tokens[self.at], [(">=", -np.inf), ("<=", np.inf)]
        free = self.tokens[self.at + 1].text.lower() == "free"
        if free and begin.kind == "name" and not begin.is_infinity:
            terms = {self.column(): 1.0}
            self.at += 1
        else:
            found, sides = self.limits(one_line=True)
            terms = found.terms
            if list(terms.values()) != [1.0] or found.constant:
                raise self.error("a bound has one variable and numbers", begin, "as 1 <= x <= 3")
        for relation, value in sides:
            self.model.limit(self.model.columns[next(iter(terms))], relation, value, begin.line)

    def _kind_of_column(self) -> None:
        column = self.model.columns[self.column()]
        column.semicontinuous |= self.section == "semicontinuous"
        column.integral |= self.section != "semicontinuous"
        if self.section == "binaries":
            column.lower, column.upper = max(column.lower, 0.0), min(column.upper, 1.0)


_STATEMENTS: Final[dict[str, Callable[[_Reader], None]]] = {
    "constraints": _Reader._constraint,
    "bounds": _Reader._bound,
    "generals": _Reader._kind_of_column,
    "binaries": _Reader._kind_of_column,
    "semicontinuous": _Reader._kind_of_column,
}
