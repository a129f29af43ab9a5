r"""Expressions of the language as LaTeX mathematics.

>>> printer = Printer({})
>>> printer.text("P_max * sum(x[t] for t in T) <= 3[kW]")
'P_{\\mathrm{max}} \\cdot \\sum_{t \\in T} x_{t} \\le 3\\,\\text{kW}'
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

from engiagent.blueprint.functions import ELEMENTARY
from engiagent.blueprint.grammar import (
    Binary,
    Binder,
    Call,
    Choice,
    Compare,
    Convert,
    Logic,
    Members,
    Node,
    Number,
    Reduce,
    Ref,
    Text,
    Unary,
    children,
    parse,
    parse_binder,
)
from engiagent.formulations.latex.precedence import Level, level, needed
from engiagent.formulations.latex.text import escaped, number, symbol, unit

WIDTH: Final = 78
"""About how many letters of mathematics fit on a line."""

RELATIONS: Final = {
    "<=": r"\le",
    ">=": r"\ge",
    "==": "=",
    "!=": r"\ne",
    "<": "<",
    ">": ">",
    "in": r"\in",
    "not in": r"\notin",
}
_SIGNS: Final = {"+": "+", "-": "-", "*": r"\cdot"}
_BREAK: Final = r" \\ "
_COMMANDS: Final = {"max": r"\max", "min": r"\min"} | {n: f.latex for n, f in ELEMENTARY.items()}
_REDUCTIONS: Final = {
    "sum": r"\sum",
    "sumsq": r"\sum",
    "min": r"\min",
    "max": r"\max",
    "expect": r"\mathbb{E}",
}


class Printer:
    """Prints expressions with the symbols that names are given."""

    def __init__(self, symbols: Mapping[str, str | None]) -> None:
        self.symbols = symbols

    def text(self, expression: str) -> str:
        """Return an expression.

        Raises
        ------
        GrammarError
            When it is not in the language.
        """
        return self.node(parse(expression))

    def name(self, name: str, indices: Sequence[str] = ()) -> str:
        """Return a name with indices."""
        return symbol(name, self.symbols.get(name), indices)

    def binder(self, text: str) -> str:
        """Return a binder such as ``t in T``; a set alone stands for itself."""
        return self.name(text) if text.isidentifier() else self._binder(parse_binder(text))

    def lines(self, expression: str) -> list[str]:
        """Return an expression in lines that fit on a page, broken at relations and sums."""
        tree = parse(expression)
        whole = self.node(tree)
        if width(whole) <= WIDTH:
            return [whole]
        if not isinstance(tree, Compare):
            return list(_packed(self._summands(tree, "")))
        lines: list[str] = []
        for place, operand in enumerate(tree.operands):
            sign = f"{RELATIONS[tree.ops[place - 1]]} " if place else ""
            pieces = list(_packed(self._summands(operand, sign)))
            joint = f"{lines[-1]} {pieces[0]}" if lines else ""
            if lines and width(joint) <= WIDTH:
                lines[-1] = joint
                pieces = pieces[1:]
            lines += pieces
        return lines

    def _summands(self, node: Node, sign: str) -> Iterator[str]:
        """Yield the terms of a sum, each with the sign before it."""
        chain: list[tuple[str, Node, Level]] = []
        while isinstance(node, Binary) and node.op in "+-":
            _, right = needed(node)
            chain.append((f"{node.op} ", node.right, right))
            node = node.left
        chain.append((sign, node, Level.SUM))
        for before, part, least in reversed(chain):
            yield before + self.node(part, least)

    def node(self, node: Node, least: Level = Level.LOOSE) -> str:
        """Return a part of an expression, in brackets where it binds less than ``least``."""
        writer = _WRITERS.get(type(node))
        if writer is None:
            inner = ", ".join(self.node(child) for child in children(node))
            return self._function(type(node).__name__.lower(), inner)
        inner = writer(self, node)
        return inner if level(node) >= least else f"\\left({inner}\\right)"

    # -- leaves ---------------------------------------------------------------------------------

    def _number(self, node: Number) -> str:
        shown, of = number(node.value), unit(node.unit)
        return f"{shown}\\,\\text{{{of}}}" if of else shown

    def _text(self, node: Text) -> str:
        return rf"\text{{``{escaped(node.value)}''}}"

    def _ref(self, node: Ref) -> str:
        return self.name(node.name, [self.node(index) for index in node.indices])

    def _convert(self, node: Convert) -> str:
        return self.node(node.operand)

    # -- operators ------------------------------------------------------------------------------

    def _unary(self, node: Unary) -> str:
        if node.op == "not":
            return rf"\lnot {self.node(node.operand, Level(Level.NOT + 1))}"
        return f"{node.op}{self.node(node.operand, Level.SIGN)}"

    def _binary(self, node: Binary) -> str:
        if node.op == "/":
            return rf"\frac{{{self.node(node.left)}}}{{{self.node(node.right)}}}"
        if node.op == "//":
            inner = rf"\frac{{{self.node(node.left)}}}{{{self.node(node.right)}}}"
            return rf"\left\lfloor{inner}\right\rfloor"
        if node.op == "**":
            return f"{self._base(node.left)}^{{{self.node(node.right)}}}"
        least = needed(node)
        left, right = self.node(node.left, least[0]), self.node(node.right, least[1])
        if node.op == "%":
            return rf"{left} \bmod {right}"
        return f"{left} {_SIGNS[node.op]} {right}"

    def _base(self, node: Node) -> str:
        """Return what is raised to a power, in brackets unless it is a plain name or number."""
        inner = self.node(node)
        plain = isinstance(node, Ref | Number) and "^" not in inner and "\\," not in inner
        return f"{{{inner}}}" if plain else f"\\left({inner}\\right)"

    def _compare(self, node: Compare) -> str:
        least = Level(Level.COMPARE + 1)
        text = self.node(node.operands[0], least)
        if isinstance(node.operands[0], Members):
            text = self._tuple(node.operands[0])
        for op, operand in zip(node.ops, node.operands[1:], strict=True):
            text += f" {RELATIONS[op]} {self.node(operand, least)}"
        return text

    def _logic(self, node: Logic) -> str:
        least = Level(level(node) + 1)
        sign = r" \land " if node.op == "and" else r" \lor "
        return sign.join(self.node(part, least) for part in node.operands)

    def _members(self, node: Members) -> str:
        return rf"\{{{', '.join(self.node(part) for part in node.items)}\}}"

    def _tuple(self, node: Members) -> str:
        return rf"\left({', '.join(self.node(part) for part in node.items)}\right)"

    # -- functions ------------------------------------------------------------------------------

    def _function(self, name: str, inner: str) -> str:
        shown = _COMMANDS.get(name) or rf"\operatorname{{{escaped(name)}}}"
        return rf"{shown}\left({inner}\right)"

    def _call(self, node: Call) -> str:
        inner = [self.node(part) for part in node.args]
        if node.function == "dt":
            return rf"\Delta_{{{inner[0]}}}"
        if node.function == "prob":
            return rf"\pi_{{{inner[0]}}}"
        if node.function == "sqrt":
            return rf"\sqrt{{{inner[0]}}}"
        if node.function in ("abs", "len"):
            return rf"\left|{inner[0]}\right|"
        if node.function in _LOGICAL:
            return _LOGICAL[node.function].join(inner)
        return self._function(node.function, ", ".join(inner))

    def _binder(self, node: Binder) -> str:
        names = [self.name(name) for name in node.names]
        left = names[0] if len(names) == 1 else f"({', '.join(names)})"
        return rf"{left} \in {self.name(node.set)}"

    def _reduce(self, node: Reduce) -> str:
        below = [self._binder(binder) for binder in node.binders]
        if node.where is not None:
            below.append(self.node(node.where))
        name = node.function
        sign = _REDUCTIONS.get(name, rf"\operatorname*{{{escaped(name)}}}")
        under = rf"\substack{{{_BREAK.join(below)}}}" if len(below) > 1 else below[0]
        if name == "sumsq":
            return f"{sign}_{{{under}}} \\left({self.node(node.body)}\\right)^2"
        if name == "expect":
            return f"{sign}_{{{under}}}\\left[{self.node(node.body)}\\right]"
        return f"{sign}_{{{under}}} {self.node(node.body, Level.PRODUCT)}"

    def _choice(self, node: Choice) -> str:
        then, otherwise = self.node(node.then), self.node(node.otherwise)
        rows = (
            rf"{then} & \text{{if }} {self.node(node.condition)}",
            rf"{otherwise} & \text{{otherwise}}",
        )
        return rf"\begin{{cases}} {_BREAK.join(rows)} \end{{cases}}"


_LOGICAL: Final = {
    "implies": r" \;\Rightarrow\; ",
    "either": r" \;\lor\; ",
    "complements": r" \;\perp\; ",
}

_WRITERS: Final[dict[type[Node], Callable[[Printer, Any], str]]] = {
    Binary: Printer._binary,
    Binder: Printer._binder,
    Call: Printer._call,
    Choice: Printer._choice,
    Compare: Printer._compare,
    Convert: Printer._convert,
    Logic: Printer._logic,
    Members: Printer._members,
    Number: Printer._number,
    Reduce: Printer._reduce,
    Ref: Printer._ref,
    Text: Printer._text,
    Unary: Printer._unary,
}


def width(text: str) -> int:
    """Return about how many letters wide some mathematics is."""
    return len(re.sub(r"\\[A-Za-z]+|[{}_^\\ ]", "", text))


def _packed(pieces: Iterator[str]) -> Iterator[str]:
    line = ""
    for piece in pieces:
        if line and width(line) + width(piece) > WIDTH:
            yield line
            line = ""
        line = f"{line} {piece}".strip()
    yield line
