"""CPLEX LP files: text to a flat model, every error with its line and column."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import numpy as np

from engiagent.formulations.exchange.collecting import INFINITE, Collector, Row, unlimited
from engiagent.formulations.exchange.flat import FlatModel, SpecialOrderedSet
from engiagent.formulations.exchange.lp_expressions import Cursor, Expression
from engiagent.formulations.exchange.lp_tokens import SECTIONS, Section, Token, sections
from engiagent.formulations.exchange.source import SourceText, read_source

_FLIPPED: Final = {"<=": ">=", ">=": "<=", "==": "=="}
_MEANING: Final = {"<": "<=", "=<": "<=", "<=": "<=", ">": ">=", "=>": ">=", ">=": ">=", "=": "=="}


def read_lp(path: Path) -> FlatModel:
    """Return the model in a CPLEX LP file, which may be packed with gzip.

    Raises
    ------
    InputError
        With the line, what was found there and what was expected.
    """
    return parse_lp(read_source(path))


def parse_lp(source: SourceText) -> FlatModel:
    """Return the model in the text of an LP file; see :func:`read_lp`."""
    return _Reader(source).read()


class _Reader:
    """One file."""

    def __init__(self, source: SourceText) -> None:
        self.source = source
        self.collector = Collector(source)
        self.objective_name = "objective"
        self.unnamed = 0

    def read(self) -> FlatModel:
        started = False
        last = Section("end", 1, [])
        for section in sections(self.source):
            opening = section.keyword in ("minimize", "maximize")
            if opening == started:
                expected = "Subject To, Bounds, …" if started else "Minimize or Maximize"
                raise self.source.error(
                    section.line,
                    "this section cannot stand here",
                    found=section.keyword,
                    expected=expected,
                )
            started = True
            self._section(section)
            last = section
        if last.keyword != "end":
            raise self.source.error(
                len(self.source.lines), "the file is cut off", expected="End on a line of its own"
            )
        return self.collector.model(self.objective_name, self.objective_name)

    def _section(self, section: Section) -> None:
        reader = _READERS.get(section.keyword)
        if reader is None:
            known = ", ".join(name for name, _ in SECTIONS if name in _READERS)
            raise self.source.error(
                section.line,
                "this kind of section is not read",
                found=section.keyword,
                expected=f"one of {known}",
            )
        cursor = Cursor(self.source, self.collector, section.tokens, section.line)
        if section.keyword in ("minimize", "maximize"):
            self.collector.sense = "minimize" if section.keyword == "minimize" else "maximize"
            self.collector.objective.line = section.line
        reader(self, cursor)

    # -- objective and constraints --------------------------------------------------------------

    def _objective(self, cursor: Cursor) -> None:
        label = cursor.label()
        if label is not None:
            self.objective_name = label.text
        if cursor.peek() is None:
            return
        expression = cursor.expression(halves=True)
        trailing = cursor.peek()
        if trailing is not None:
            hint = "one objective" if trailing.kind == "name" else "+ or -"
            raise cursor.error("this cannot follow a term", trailing, expected=hint)
        self._refuse_infinite(cursor, expression)
        objective = self.collector.objective
        objective.terms, objective.products = expression.terms, expression.products
        self.collector.offset = expression.constant

    def _constraints(self, cursor: Cursor) -> None:
        while (token := cursor.peek()) is not None:
            label = cursor.label()
            self.unnamed += 1
            name = label.text if label is not None else self._free_name()
            row = self._row(cursor, name, token.line)
            if not row.terms and not row.products:
                raise cursor.error("this constraint has no variable", token)
            self.collector.add_row(row)

    def _free_name(self) -> str:
        """Return the name that CPLEX gives a row without one: its number after an R."""
        name = f"R{self.unnamed}"
        while name in self.collector.row_lines:
            name += "_"
        return name

    def _row(self, cursor: Cursor, name: str, line: int, conditional: bool = False) -> Row:
        left = cursor.expression()
        first = self._relation(cursor)
        middle = cursor.expression(one_line=bool(left.terms or left.products))
        arrow = cursor.peek()
        if arrow is not None and arrow.kind == "arrow":
            if conditional or arrow.text != "->":
                raise cursor.error("this arrow cannot stand here", arrow)
            condition = self._condition(cursor, left, first, middle)
            cursor.next()
            row = self._row(cursor, name, line, conditional=True)
            row.condition = condition
            return row
        if arrow is None or arrow.kind != "relation":
            return self._two_parts(cursor, name, line, left, first, middle)
        second = self._relation(cursor)
        right = cursor.expression(one_line=True)
        return self._three_parts(cursor, name, line, (left, first, middle, second, right))

    def _relation(self, cursor: Cursor) -> str:
        token = cursor.next("<=, >= or =")
        if token.kind != "relation":
            raise cursor.error("a relation is needed here", token, expected="<=, >= or =")
        return _MEANING[token.text]

    def _condition(
        self, cursor: Cursor, left: Expression, relation: str, right: Expression
    ) -> tuple[int, int]:
        single = list(left.terms.items())
        plain = len(single) == 1 and single[0][1] == 1.0 and not left.products and not right.terms
        if not plain or relation != "==" or right.constant not in (0.0, 1.0):
            raise cursor.error(
                "this is no condition", cursor.peek(), expected="a binary variable = 0 or 1"
            )
        return single[0][0], int(right.constant)

    def _two_parts(
        self, cursor: Cursor, name: str, line: int, left: Expression, op: str, right: Expression
    ) -> Row:
        if not left.terms and not left.products:
            left, right, op = right, left, _FLIPPED[op]
        value = right.constant - left.constant
        if not np.isfinite(left.constant) or np.isnan(value):
            raise cursor.error("an infinite number cannot stand in a sum", None, line)
        row = Row(name, line, -np.inf, np.inf, left.minus(right), left.products_minus(right))
        self._side(cursor, row, op, value)
        return row

    def _three_parts(
        self,
        cursor: Cursor,
        name: str,
        line: int,
        parts: tuple[Expression, str, Expression, str, Expression],
    ) -> Row:
        left, first, middle, second, right = parts
        constant = not (left.terms or left.products or right.terms or right.products)
        if not constant or first != second or first == "==":
            raise cursor.error(
                "a range has numbers on both ends and one direction",
                None,
                line,
                expected="as -5 <= x + y <= 8",
            )
        row = Row(name, line, -np.inf, np.inf, middle.terms, middle.products)
        self._side(cursor, row, _FLIPPED[first], left.constant - middle.constant)
        self._side(cursor, row, second, right.constant - middle.constant)
        return row

    def _side(self, cursor: Cursor, row: Row, op: str, value: float) -> None:
        value = unlimited(value)
        wrong = np.inf if op == ">=" else -np.inf
        if value == wrong or (op == "==" and np.isinf(value)):
            raise cursor.error("this side is infinite on the wrong side", None, row.line)
        if op in (">=", "=="):
            row.lower = value
        if op in ("<=", "=="):
            row.upper = value

    def _refuse_infinite(self, cursor: Cursor, expression: Expression) -> None:
        if abs(expression.constant) >= INFINITE:
            raise cursor.error("the constant is infinite", None, self.collector.objective.line)

    # -- the other sections ---------------------------------------------------------------------

    def _bounds(self, cursor: Cursor) -> None:
        while (token := cursor.peek()) is not None:
            if token.kind == "name" and not cursor.is_infinity(token):
                name = cursor.next()
                follower = cursor.peek()
                if follower is not None and follower.text.lower() == "free":
                    cursor.next()
                    self._bound(name, ">=", -np.inf)
                    self._bound(name, "<=", np.inf)
                    continue
                self._bound(name, self._relation(cursor), cursor.number())
                continue
            value = cursor.number()
            op = self._relation(cursor)
            name = cursor.next("a variable")
            if name.kind != "name":
                raise cursor.error("a bound needs a variable", name, expected="as 0 <= x <= 5")
            self._bound(name, _FLIPPED[op], value)
            follower = cursor.peek()
            if follower is not None and follower.kind == "relation":
                self._bound(name, self._relation(cursor), cursor.number())

    def _bound(self, token: Token, op: str, value: float) -> None:
        column = self._column(token)
        if op in (">=", "=="):
            self.collector.bound(column, "lower", value, token.line)
        if op in ("<=", "=="):
            self.collector.bound(column, "upper", value, token.line)

    def _column(self, token: Token) -> Any:
        self.collector.column(token.text, token.line)
        return self.collector.columns[token.text]

    def _names(self, cursor: Cursor) -> list[Token]:
        names = []
        while cursor.peek() is not None:
            token = cursor.next()
            if token.kind != "name":
                raise cursor.error("only names stand in this section", token, expected="a variable")
            names.append(token)
        return names

    def _generals(self, cursor: Cursor) -> None:
        for token in self._names(cursor):
            self._column(token).integral = True

    def _binaries(self, cursor: Cursor) -> None:
        for token in self._names(cursor):
            column = self._column(token)
            column.integral = True
            column.lower, column.upper = max(column.lower, 0.0), min(column.upper, 1.0)

    def _semicontinuous(self, cursor: Cursor) -> None:
        for token in self._names(cursor):
            self._column(token).semicontinuous = True

    def _semiinteger(self, cursor: Cursor) -> None:
        for token in self._names(cursor):
            self._column(token).semicontinuous = True
            self._column(token).integral = True

    def _sos(self, cursor: Cursor) -> None:
        while cursor.peek() is not None:
            label = cursor.label()
            kind = cursor.next("S1 or S2")
            if kind.text.lower() not in ("s1", "s2"):
                raise cursor.error("the kind of the set is needed", kind, expected="S1:: or S2::")
            cursor.expect(":")
            cursor.expect(":")
            columns, weights = [], []
            while (token := cursor.peek()) is not None and token.kind == "name":
                if cursor.starts_label() and not cursor.has_weight():
                    break
                cursor.next()
                cursor.expect(":")
                columns.append(self.collector.column(token.text, token.line))
                weights.append(cursor.number())
            name = label.text if label is not None else f"sos{len(self.collector.sos) + 1}"
            members = np.array(columns, dtype=np.int64), np.array(weights, dtype=np.float64)
            self.collector.sos.append(SpecialOrderedSet(name, int(kind.text[1]), *members))

    def _end(self, cursor: Cursor) -> None:
        """Nothing stands in the last section."""


_READERS: Final[dict[str, Callable[[_Reader, Cursor], None]]] = {
    "minimize": _Reader._objective,
    "maximize": _Reader._objective,
    "constraints": _Reader._constraints,
    "bounds": _Reader._bounds,
    "generals": _Reader._generals,
    "binaries": _Reader._binaries,
    "semi-continuous": _Reader._semicontinuous,
    "semi-integer": _Reader._semiinteger,
    "sos": _Reader._sos,
    "end": _Reader._end,
}
