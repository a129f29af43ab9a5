"""Sums of terms in LP files."""

from dataclasses import dataclass, field
from typing import Final

import numpy as np

from engiagent.errors import InputError
from engiagent.formulations.exchange.collecting import INFINITE, Collector
from engiagent.formulations.exchange.lp_tokens import Token
from engiagent.formulations.exchange.source import SourceText

_INFINITY: Final = ("inf", "infinity")
Pair = tuple[int, int]


@dataclass
class Expression:
    """A constant, coefficients of columns, and coefficients of products of two columns."""

    constant: float = 0.0
    terms: dict[int, float] = field(default_factory=dict)
    products: dict[Pair, float] = field(default_factory=dict)

    def minus(self, other: "Expression") -> dict[int, float]:
        """Return the coefficients of the difference."""
        result = dict(self.terms)
        for column, value in other.terms.items():
            result[column] = result.get(column, 0.0) - value
        return result

    def products_minus(self, other: "Expression") -> dict[Pair, float]:
        """Return the coefficients of the products of the difference."""
        result = dict(self.products)
        for pair, value in other.products.items():
            result[pair] = result.get(pair, 0.0) - value
        return result


class Cursor:
    """A place among the tokens of a section."""

    def __init__(
        self, source: SourceText, collector: Collector, tokens: list[Token], line: int
    ) -> None:
        self.source = source
        self.collector = collector
        self.tokens = tokens
        self.at = 0
        self.line = line

    def peek(self, ahead: int = 0) -> Token | None:
        """Return a token that is still to come, None after the last."""
        place = self.at + ahead
        return self.tokens[place] if place < len(self.tokens) else None

    def next(self, expected: str | None = None) -> Token:
        """Return the next token and go on."""
        token = self.peek()
        if token is None:
            raise self.error("the section ends too early", None, expected=expected)
        self.at += 1
        self.line = token.line
        return token

    def expect(self, kind: str) -> Token:
        """Return the next token, which must be of a kind."""
        token = self.next(repr(kind))
        if token.kind != kind:
            raise self.error("another word is needed here", token, expected=repr(kind))
        return token

    def error(
        self,
        message: str,
        token: Token | None,
        line: int | None = None,
        expected: str | None = None,
    ) -> InputError:
        """Return an error at a token, or at a line."""
        if token is None:
            return self.source.error(line or self.line, message, expected=expected)
        return self.source.error(
            token.line, message, column=token.column, found=repr(token.text), expected=expected
        )

    def label(self) -> Token | None:
        """Return the name before a colon, and go on behind it."""
        if not self.starts_label():
            return None
        token = self.next()
        self.next()
        return token

    def starts_label(self) -> bool:
        """Whether a name and a colon come next."""
        first, second = self.peek(), self.peek(1)
        if first is None or second is None or second.kind != ":":
            return False
        return first.kind == "name"

    def has_weight(self) -> bool:
        """Whether a number follows the name and the colon that come next."""
        third = self.peek(2)
        return third is not None and third.kind in ("number", "+", "-")

    def is_infinity(self, token: Token) -> bool:
        """Whether a word means infinity."""
        return token.text.lower() in _INFINITY

    def sign(self) -> float:
        """Return the product of the signs that come next."""
        result = 1.0
        while (token := self.peek()) is not None and token.kind in ("+", "-"):
            result = -result if token.kind == "-" else result
            self.next()
        return result

    def number(self) -> float:
        """Return a number with its signs, which may be infinite."""
        sign = self.sign()
        token = self.next("a number")
        if token.kind == "number":
            return sign * float(token.text)
        if token.kind == "name" and self.is_infinity(token):
            return sign * np.inf
        raise self.error("a number is needed here", token, expected="as 3.5 or -inf")

    def expression(self, halves: bool = False, one_line: bool = False) -> Expression:
        """Return a sum of terms.

        Parameters
        ----------
        halves
            Whether ``/ 2`` may follow a quadratic part, as it does in objectives.
        one_line
            Whether the sum ends where its line ends: a sign on the next line then starts another
            constraint.
        """
        result = Expression()
        first = True
        while (token := self.peek()) is not None:
            if not first and (
                token.kind not in ("+", "-") or (one_line and token.line != self.line)
            ):
                break
            sign = self.sign()
            self._term(result, sign, halves, one_line)
            first = False
        if first:
            raise self.error("a term is needed here", None, expected="a number or a variable")
        return result

    def _term(self, result: Expression, sign: float, halves: bool, one_line: bool) -> None:
        token = self.next("a number or a variable")
        if token.kind == "[":
            self._quadratic(result, sign, halves)
            return
        if token.kind == "name" and self.is_infinity(token):
            result.constant += sign * np.inf
            return
        value = 1.0
        if token.kind == "number":
            value = float(token.text)
            follower = self.peek()
            if follower is not None and follower.kind == "*":
                follower = self._after_star()
            if follower is None or follower.kind != "name" or self.starts_label():
                result.constant += sign * value
                return
            if one_line and follower.line != token.line:
                result.constant += sign * value
                return
            self._refuse_large(value, token)
            token = self.next()
        if token.kind != "name":
            raise self.error("a term is needed here", token, expected="a number or a variable")
        self._refuse_power()
        column = self.collector.column(token.text, token.line)
        result.terms[column] = result.terms.get(column, 0.0) + sign * value

    def _after_star(self) -> Token:
        self.next()
        follower = self.peek()
        if follower is None or follower.kind != "name":
            raise self.error("a variable is needed here", follower, expected="as 3 * x")
        return follower

    def _refuse_large(self, value: float, token: Token) -> None:
        if abs(value) >= INFINITE:
            raise self.error("this coefficient is infinite", token, expected="less than 1e20")

    def _refuse_power(self) -> None:
        follower = self.peek()
        if follower is not None and follower.kind in ("^", "*", "/"):
            raise self.error(
                "quadratic terms stand in square brackets",
                follower,
                expected="as [ 2 x ^2 + 3 x * y ]",
            )

    def _quadratic(self, result: Expression, sign: float, halves: bool) -> None:
        found: list[tuple[Pair, float]] = []
        while (token := self.peek()) is not None and token.kind != "]":
            if found and token.kind not in ("+", "-"):
                raise self.error("this cannot follow a quadratic term", token, expected="+, - or ]")
            found.append(self._quadratic_term())
        self.expect("]")
        factor = sign
        slash = self.peek()
        if slash is not None and slash.kind == "/":
            self.next()
            two = self.next("2")
            if two.kind != "number" or float(two.text) != 2.0 or not halves:
                raise self.error("only an objective's brackets are halved", two, expected="/ 2")
            factor = sign / 2.0
        for pair, value in found:
            result.products[pair] = result.products.get(pair, 0.0) + factor * value

    def _quadratic_term(self) -> tuple[Pair, float]:
        value = self.sign()
        token = self.next("a variable")
        if token.kind == "number":
            self._refuse_large(float(token.text), token)
            value *= float(token.text)
            if (star := self.peek()) is not None and star.kind == "*":
                self.next()
            token = self.next("a variable")
        if token.kind != "name":
            raise self.error("a quadratic term needs a variable", token, expected="x ^2 or x * y")
        first = self.collector.column(token.text, token.line)
        joint = self.next("^2 or * and a variable")
        other = self.next("2 or a variable")
        if joint.kind == "^" and other.kind == "number" and float(other.text) == 2.0:
            return (first, first), value
        if joint.kind == "*" and other.kind == "name":
            second = self.collector.column(other.text, other.line)
            return (max(first, second), min(first, second)), value
        wrong = other if joint.kind in ("^", "*") else joint
        raise self.error("this is no quadratic term", wrong, expected="x ^2 or x * y")
