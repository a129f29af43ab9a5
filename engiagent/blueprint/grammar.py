"""The expression grammar: text to a small typed tree, nothing ever evaluated as Python.

Expressions are a subset of Python's own expression syntax, so :mod:`ast` does the parsing and a
whitelist here does the reading. What is not in the whitelist does not exist: no attribute walks,
no comprehensions but :data:`REDUCTIONS`, no calls but :data:`FUNCTIONS`.

>>> node = parse("sum(price[t] * grid[t] for t in T if hour(t) >= 17) <= 40[EUR]")
>>> type(node).__name__, node.span
('Compare', (0, 62))
"""

import ast
import keyword
import re
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields
from difflib import get_close_matches
from functools import lru_cache
from typing import Any, Final

from engiagent.blueprint.functions import ELEMENTARY
from engiagent.errors import EngiagentError

_PYTHON_PARSES: Final = threading.RLock()
"""One thread parses at a time: up to CPython 3.11.7 two at once fail (python/cpython#106905)."""

MAX_LENGTH: Final = 4000
MAX_DEPTH: Final = 150
LONG_SUM: Final = 60
"""Terms beyond which a sum is no chain of additions, one within the other."""

REDUCTIONS: Final = ("sum", "min", "max", "sumsq", "expect", "first_index")
LOGICAL: Final = ("complements", "either", "exclusive", "implies")
"""Functions that state a constraint and have no value."""
_ARGUMENTS: Final[dict[tuple[int, int], str]] = {
    (1, 1): "abs clock dt first hour last len pos prob weekday " + " ".join(ELEMENTARY),
    (2, 2): "at complements implies prev within",
    (2, 64): "either exclusive max min",
    (3, 3): "piecewise where",
}
FUNCTIONS: Final = dict(
    sorted((name, counts) for counts, names in _ARGUMENTS.items() for name in names.split())
)
"""By name the fewest and the most arguments."""

Span = tuple[int, int]
"""First column and the column after the last, both counted from 0."""


class ExpressionError(EngiagentError):
    """Something in an expression is wrong, at a column counted from 1.

    ``docs/diagnostics.md`` explains each code; ``suggestion`` is what to write instead.
    """

    def __init__(
        self, message: str, column: int, suggestion: str | None = None, code: str = "EB001"
    ) -> None:
        self.message, self.column, self.suggestion, self.code = message, column, suggestion, code
        super().__init__(f"column {column}: {message}" + (f"; {suggestion}" if suggestion else ""))


class GrammarError(ExpressionError):
    """An expression is not in the language."""


@dataclass(frozen=True, slots=True)
class Node:
    """Any part of an expression, with the columns it stands in."""

    span: Span


@dataclass(frozen=True, slots=True)
class Number(Node):
    """A literal, with its unit when one is written: ``40[degC]``."""

    value: float
    unit: str | None


@dataclass(frozen=True, slots=True)
class Text(Node):
    """A label or a clock time in quotes."""

    value: str


@dataclass(frozen=True, slots=True)
class Ref(Node):
    """A name, with its indices if any. A dotted name is a quantity: ``battery.charge[t]``."""

    name: str
    indices: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Unary(Node):
    """``-x``, ``+x`` or ``not x``."""

    op: str
    operand: Node


@dataclass(frozen=True, slots=True)
class Binary(Node):
    """Arithmetic: ``+ - * / ** % //``."""

    op: str
    left: Node
    right: Node


@dataclass(frozen=True, slots=True)
class Compare(Node):
    """A chain of comparisons: ``0 <= x[t] <= 5``, ``g in Fast``.

    ``zero`` is how far the zero of the operands' scale lies from the absolute one, in their unit,
    once that is known: of temperatures, not of amounts.
    """

    ops: tuple[str, ...]
    operands: tuple[Node, ...]
    zero: float = 0.0


@dataclass(frozen=True, slots=True)
class Logic(Node):
    """``and`` or ``or`` over conditions."""

    op: str
    operands: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Members(Node):
    """A listed collection, as on the right of ``g in ("G1", "G2")``."""

    items: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Call(Node):
    """A call of one of :data:`FUNCTIONS`."""

    function: str
    args: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Binder(Node):
    """``t in T``, or ``(i, j) in A`` over a tuple set."""

    names: tuple[str, ...]
    set: str


@dataclass(frozen=True, slots=True)
class Reduce(Node):
    """``sum(body for t in T if condition)``, and the other :data:`REDUCTIONS` alike."""

    function: str
    body: Node
    binders: tuple[Binder, ...]
    where: Node | None


@dataclass(frozen=True, slots=True)
class Convert(Node):
    """``factor * operand + shift``: a change of unit, put in by the unit check, never written."""

    operand: Node
    factor: float
    shift: float


@dataclass(frozen=True, slots=True)
class Choice(Node):
    """``a if condition else b``; the condition is on indices and parameters only."""

    condition: Node
    then: Node
    otherwise: Node


_FIELDS: dict[type, tuple[str, ...]] = {}
"""The fields of each kind of node that hold nodes of this module, or tuples of them."""


def children(node: Node) -> list[Node]:
    """Return the nodes directly below ``node``, in the order of writing."""
    kind = type(node)
    if kind not in _FIELDS:
        _FIELDS[kind] = tuple(f.name for f in fields(node) if __name__ in str(f.type))
    found: list[Node] = []
    for name in _FIELDS[kind]:
        value = getattr(node, name)
        if isinstance(value, Node):
            found.append(value)
        elif value is not None:
            found.extend(value)
    return found


def walk(node: Node) -> Iterator[Node]:
    """Yield ``node`` and everything below it, in the order of writing."""
    waiting = [node]
    while waiting:
        node = waiting.pop()
        yield node
        waiting += reversed(children(node))


# --- reading -----------------------------------------------------------------------------------

_BINARY = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.Pow: "**",
    ast.Mod: "%",
    ast.FloorDiv: "//",
}
_COMPARE = {
    ast.LtE: "<=",
    ast.GtE: ">=",
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Lt: "<",
    ast.Gt: ">",
    ast.In: "in",
    ast.NotIn: "not in",
}
_UNARY = {ast.USub: "-", ast.UAdd: "+", ast.Not: "not"}
_UNIT_LITERAL = re.compile(
    r"""(?P<text>"[^"]*"|'[^']*')"""  # brackets inside a label are no unit
    r"""|(?<![\w.\]])(?P<number>(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?)\s*\[(?P<unit>[^\[\]]*)\]"""
)
_KEYWORD_PART = re.compile(rf"\.({'|'.join(keyword.kwlist)})\b")
_SINGLE_EQUALS = re.compile(r"(?<![<>=!:])=(?!=)")
_SIGNS = re.compile(r"(?:[-+~]\s*|not\s+){30}")
_HINTS = (
    (re.compile(r"&&|(?<!\|)\|\|"), "write 'and' and 'or'"),
    (re.compile("[\u2264\u2265\u2260\u00b7\u00d7\u2212]"), "write <= >= != * and - in plain ASCII"),
    (re.compile(r"\bforall\b"), "put the binders into the constraint's 'forall' list"),
    (re.compile(r"\bfor\b[^\[\]]*\bin\s+\w+\s*,"), "write 'for g in G for t in T'"),
    (re.compile(r"\d\s*(?!(?:if|else|and|or|for|in)\b)[A-Za-z€%°]"), "write a unit as 3[kW]"),
)


def neighbours(bare: Sequence[bool]) -> list[int]:
    """Return for each part of a comparison the number of the part whose unit it is read in.

    A literal without a unit takes that of the nearest part that has one, of two equally near ones
    that of the part before it.

    >>> neighbours([False, False, True])  # 2000[W] >= x >= 3
    [0, 1, 1]
    """
    known = [place for place, is_bare in enumerate(bare) if not is_bare]

    def nearest(place: int) -> int:
        return min(known, key=lambda other: (abs(other - place), other > place))

    return [nearest(place) if is_bare and known else place for place, is_bare in enumerate(bare)]


@lru_cache(maxsize=8192)
def parse(text: str) -> Node:
    """Return the tree of an expression; GrammarError with column and what to write instead.

    >>> parse("x[t] = 3")
    Traceback (most recent call last):
    engiagent.blueprint.grammar.GrammarError: column 6: a single '=' is no comparison; write ==
    """
    return _Reader(text).read()


@lru_cache(maxsize=8192)
def references(text: str) -> tuple[Ref, ...]:
    """Return every reference of an expression, in the order of writing."""
    return tuple(node for node in walk(parse(text)) if isinstance(node, Ref))


def tree_of(text: object) -> Node | None:
    """Return an expression as a tree, None for numbers and for what cannot be read."""
    try:
        return parse(text) if isinstance(text, str) else None
    except GrammarError:
        return None  # whoever compiles it says what is wrong


def names_in(expression: object) -> frozenset[str]:
    """Return the names in a tree or a text; none for numbers and for what cannot be read."""
    if isinstance(expression, str):
        return _names_in_text(expression)
    tree = walk(expression) if isinstance(expression, Node) else ()
    return frozenset(node.name for node in tree if isinstance(node, Ref))


@lru_cache(maxsize=8192)
def _names_in_text(text: str) -> frozenset[str]:
    return names_in(tree_of(text))


@lru_cache(maxsize=4096)
def parse_binder(text: str) -> Binder:
    """Return the binder that ``text`` spells, as ``t in T`` or ``(i, j) in A``."""
    node = _Reader(text).syntax()
    if isinstance(node, ast.Compare) and len(node.ops) == 1 and isinstance(node.ops[0], ast.In):
        return _binder(node.left, node.comparators[0], (0, len(text)))
    raise GrammarError(f"{text!r} is no binder", 1, "write it as 't in T'")


def python_expression(text: str) -> ast.expr:
    """Return the tree that Python's parser makes of an expression; its errors as they come."""
    with _PYTHON_PARSES:
        return ast.parse(text, mode="eval").body


class _Reader:
    """One expression on its way from text to tree."""

    def __init__(self, text: str) -> None:
        if len(text) > MAX_LENGTH:
            found = f"an expression has at most {MAX_LENGTH} characters, this one has {len(text)}"
            raise GrammarError(found, MAX_LENGTH, "name parts of it under 'expressions'")
        self.units: dict[int, str] = {}
        self.keywords: dict[int, str] = {}
        plain = _KEYWORD_PART.sub(self._hide_keyword, text.replace("\n", " ").replace("\t", " "))
        self.text = _UNIT_LITERAL.sub(self._hide_unit, plain)
        self.depth = 0

    def _hide_keyword(self, match: re.Match[str]) -> str:
        """Swap the case of a part such as ``import`` in ``grid.import``, which Python reserves."""
        self.keywords[match.end()] = match[1]
        return "." + match[1].swapcase()

    def _hide_unit(self, match: re.Match[str]) -> str:
        """Replace a unit by underscores of its length: ``%`` and ``°`` are no Python."""
        if match["text"] is not None:
            return match[0]
        unit = match["unit"]
        if not unit.strip():
            column = match.start("unit") + 1
            raise GrammarError("an empty unit", column, "write 1 for a pure number")
        self.units[match.start("number")] = unit.strip()
        return match[0][: -1 - len(unit)] + "_" * len(unit) + "]"

    def read(self) -> Node:
        return self.node(self.syntax())

    def syntax(self) -> ast.expr:
        """Let Python's parser read the text, with its failures in our words."""
        text = self.text
        if not text.strip():
            raise GrammarError("the expression is empty", 1)
        for index, char in enumerate(text):
            if not (char.isascii() and char.isprintable()):
                found = f"the character {char!r} is not allowed"
                raise GrammarError(found, index + 1, self._hint() or "use ASCII")
        signs = _SIGNS.search(text)
        if signs:
            raise GrammarError("too many signs in a row", signs.start() + 1)
        # Leading blanks would be an indentation to Python; a bracket in their place keeps columns.
        bracketed = "(" + text[1:] + ")" if text[0] == " " else text
        try:
            return python_expression(bracketed)
        except SyntaxError as error:
            raise self._syntax_error(error) from None
        except (RecursionError, MemoryError, ValueError):
            raise GrammarError("the expression is nested too deeply", 1) from None

    def _hint(self) -> str | None:
        return next((hint for pattern, hint in _HINTS if pattern.search(self.text)), None)

    def _syntax_error(self, error: SyntaxError) -> GrammarError:
        single = _SINGLE_EQUALS.search(self.text)
        if single:
            return GrammarError("a single '=' is no comparison", single.start() + 1, "write ==")
        # Python counts an unexpected end as column 0.
        column = min(error.offset or len(self.text) + 1, len(self.text) + 1)
        message = (error.msg or "invalid syntax").split(". Perhaps")[0].split(" (<")[0]
        return GrammarError(f"cannot read this: {message}", column, self._hint())

    def node(self, item: ast.expr) -> Node:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            hint = "name parts of it under 'expressions'"
            raise GrammarError("the expression is nested too deeply", item.col_offset + 1, hint)
        reader = _READERS.get(type(item))
        if reader is None:
            what = "a 'for' outside " + ", ".join(REDUCTIONS)
            if not isinstance(item, ast.GeneratorExp):
                what = "a " + re.sub(r"(?<=[a-z])(?=[A-Z])", " ", type(item).__name__).lower()
            raise GrammarError(f"{what} is not part of the language", item.col_offset + 1)
        result = reader(self, item, (item.col_offset, item.end_col_offset or 0))
        self.depth -= 1
        return result


def _constant(reader: _Reader, item: ast.Constant, span: Span) -> Node:
    value = item.value
    if isinstance(value, str):
        return Text(span, value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise GrammarError(f"{value!r} is not a number or a label", span[0] + 1)
    if not abs(value) < 2**1023:
        raise GrammarError("the number is too large", span[0] + 1)
    return Number(span, float(value), None)


def _name(reader: _Reader, item: ast.expr, span: Span) -> Node:
    return Ref(span, _dotted(reader, item), ())


def _dotted(reader: _Reader, item: ast.expr) -> str:
    parts: list[str] = []
    place = item.col_offset + 1
    while isinstance(item, ast.Attribute) and not item.attr.startswith("_"):
        parts.append(reader.keywords.get(item.end_col_offset or 0, item.attr))
        item = item.value
    if not isinstance(item, ast.Name):
        raise GrammarError("only names may be joined by dots", place)
    if item.id.startswith("__"):
        raise GrammarError(f"{item.id} is not a name", place)
    return ".".join([item.id, *reversed(parts)])


def _subscript(reader: _Reader, item: ast.Subscript, span: Span) -> Node:
    if isinstance(item.value, ast.Constant):
        unit = reader.units.get(item.value.col_offset)
        number = reader.node(item.value)
        if unit is None or not isinstance(number, Number):
            raise GrammarError("only names can be indexed", span[0] + 1)
        return Number(span, number.value, unit)
    if isinstance(item.value, ast.Call):
        reader.node(item.value)  # says first what is wrong with the call itself
    if not isinstance(item.value, ast.Name | ast.Attribute):
        raise GrammarError("only names can be indexed", span[0] + 1, "write x[i, j], not x[i][j]")
    parts = item.slice.elts if isinstance(item.slice, ast.Tuple) else [item.slice]
    return Ref(span, _dotted(reader, item.value), tuple(reader.node(part) for part in parts))


def _unary(reader: _Reader, item: ast.UnaryOp, span: Span) -> Node:
    op = _UNARY.get(type(item.op))
    if op is None:
        raise GrammarError("'~' is not part of the language", span[0] + 1, "write 'not'")
    return Unary(span, op, reader.node(item.operand))


def _binary(reader: _Reader, item: ast.BinOp, span: Span) -> Node:
    op = _BINARY.get(type(item.op))
    if op is None:
        place = item.left.end_col_offset or 0
        place += len(reader.text[place:]) - len(reader.text[place:].lstrip(" )")) + 1
        hint = "write ** for a power" if isinstance(item.op, ast.BitXor) else reader._hint()
        raise GrammarError("this operator is not part of the language", place, hint)
    terms = _terms(item)
    if len(terms) > LONG_SUM:
        return _folded([(sign, reader.node(term)) for sign, term in terms])
    return Binary(span, op, reader.node(item.left), reader.node(item.right))


def _terms(item: ast.expr) -> list[tuple[str, ast.expr]]:
    """Return the terms of a sum with their signs, in order."""
    terms: list[tuple[str, ast.expr]] = []
    while isinstance(item, ast.BinOp) and isinstance(item.op, ast.Add | ast.Sub):
        terms.append((_BINARY[type(item.op)], item.right))
        item = item.left
    return [("+", item), *reversed(terms)]


def _folded(terms: Sequence[tuple[str, Node]]) -> Node:
    """Return the sum of terms as a tree that is as deep as their number has digits."""
    if len(terms) == 1:
        return terms[0][1]
    half = len(terms) // 2
    left, right, sign = terms[:half], terms[half:], terms[half][0]
    if sign == "-":
        right = [("-" if own == "+" else "+", node) for own, node in right]
    span = terms[0][1].span[0], terms[-1][1].span[1]
    return Binary(span, sign, _folded(left), _folded(right))


def _compare(reader: _Reader, item: ast.Compare, span: Span) -> Node:
    ops = tuple(_COMPARE.get(type(op), "") for op in item.ops)
    if "" in ops:
        raise GrammarError("'is' is not part of the language", span[0] + 1, "write ==")
    operands = tuple(reader.node(part) for part in (item.left, *item.comparators))
    return Compare(span, ops, operands)


def _logic(reader: _Reader, item: ast.BoolOp, span: Span) -> Node:
    op = "and" if isinstance(item.op, ast.And) else "or"
    return Logic(span, op, tuple(reader.node(part) for part in item.values))


def _members(reader: _Reader, item: ast.Tuple | ast.List, span: Span) -> Node:
    return Members(span, tuple(reader.node(part) for part in item.elts))


def _choice(reader: _Reader, item: ast.IfExp, span: Span) -> Node:
    return Choice(span, reader.node(item.test), reader.node(item.body), reader.node(item.orelse))


def _call(reader: _Reader, item: ast.Call, span: Span) -> Node:
    if not isinstance(item.func, ast.Name):
        raise GrammarError("only a function's name can be called", span[0] + 1)
    name = item.func.id
    if item.keywords:
        raise GrammarError(f"{name} takes no named arguments", span[0] + 1)
    if name in REDUCTIONS and len(item.args) == 1:
        if isinstance(item.args[0], ast.GeneratorExp):
            return _reduce(reader, name, item.args[0], span)
        raise GrammarError(f"{name} needs its index", span[0] + 1, f"write {name}(x[t] for t in T)")
    if name == "dual":
        text = "a dual value (a shadow price) is known only once the problem is solved"
        hint = "list the constraint under report.duals, or write the rule with complements(...)"
        raise GrammarError(text, span[0] + 1, hint)
    if name not in FUNCTIONS:
        close = get_close_matches(name, [*FUNCTIONS, *REDUCTIONS], n=1)
        known = f"did you mean {close[0]}?" if close else f"known: {', '.join(sorted(FUNCTIONS))}"
        raise GrammarError(f"unknown function {name!r}", span[0] + 1, known)
    fewest, most = FUNCTIONS[name]
    if not fewest <= len(item.args) <= most:
        wanted = str(fewest) if fewest == most else f"{fewest} to {most}"
        text = f"{name} takes {wanted} arguments, here are {len(item.args)}"
        raise GrammarError(text, span[0] + 1)
    return Call(span, name, tuple(reader.node(arg) for arg in item.args))


def _reduce(reader: _Reader, name: str, generator: ast.GeneratorExp, span: Span) -> Node:
    binders = []
    conditions: list[Node] = []
    for part in generator.generators:
        if part.is_async:
            raise GrammarError("async is not part of the language", span[0] + 1)
        place = (part.target.col_offset, part.iter.end_col_offset or 0)
        binders.append(_binder(part.target, part.iter, place))
        conditions += [reader.node(test) for test in part.ifs]
    where = conditions[0] if conditions else None
    if len(conditions) > 1:
        where = Logic(span, "and", tuple(conditions))
    return Reduce(span, name, reader.node(generator.elt), tuple(binders), where)


def _binder(target: ast.expr, source: ast.expr, span: Span) -> Binder:
    parts = target.elts if isinstance(target, ast.Tuple) else [target]
    names = tuple(part.id for part in parts if isinstance(part, ast.Name))
    if len(names) != len(parts) or not isinstance(source, ast.Name):
        raise GrammarError("a binder is a name in a set", span[0] + 1, "write 't in T'")
    return Binder(span, names, source.id)


_READERS: dict[type[ast.expr], Callable[[_Reader, Any, Span], Node]] = {
    ast.Attribute: _name,
    ast.BinOp: _binary,
    ast.BoolOp: _logic,
    ast.Call: _call,
    ast.Compare: _compare,
    ast.Constant: _constant,
    ast.IfExp: _choice,
    ast.List: _members,
    ast.Name: _name,
    ast.Subscript: _subscript,
    ast.Tuple: _members,
    ast.UnaryOp: _unary,
}
