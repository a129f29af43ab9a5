r"""Expressions, names and texts of the language in LaTeX.

Nothing that a blueprint says is ever run as a command.

>>> printer = Printer({})
>>> printer.text("P_max * sum(x[t] for t in T) <= 3[kW]")
'P_{\\mathrm{max}} \\cdot \\sum_{t \\in T} x_{t} \\le 3\\,\\text{kW}'
"""

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar, Final

from engiagent.blueprint.elements import FrozenMap
from engiagent.blueprint.functions import ELEMENTARY
from engiagent.blueprint.grammar import Compare, Node, Number, Ref, parse, parse_binder
from engiagent.formulations.formulas import Formulas

_GREEK_NAMES: Final = """
    alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi pi rho sigma tau
    upsilon phi chi psi omega Gamma Delta Theta Lambda Xi Pi Sigma Upsilon Phi Psi Omega
"""
GREEK: Final = tuple(_GREEK_NAMES.split())
_LETTERS: Final = {
    unicodedata.lookup(
        f"GREEK {'CAPITAL' if n[0].isupper() else 'SMALL'} LETTER "
        f"{n.upper().replace('LAMBDA', 'LAMDA')}"
    ): n
    for n in GREEK
}
_SPECIAL: Final = {
    "\\": r"\textbackslash{}",
    **{c: rf"\{c}" for c in "{}$&#_%"},
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\textquotedbl{}",
    "°": r"\textdegree{}",
    "€": r"\texteuro{}",
    "²": r"\textsuperscript{2}",
    "³": r"\textsuperscript{3}",
    "µ": r"\textmu{}",
    "·": r"\textperiodcentered{}",
    "≤": r"$\le$",
    "≥": r"$\ge$",
    "≠": r"$\ne$",
    "×": r"$\times$",
    "−": "$-$",
    "–": "--",
    "—": "---",
    **dict(zip("\u2018\u2019\u201c\u201d", ("`", "'", "``", "''"), strict=True)),
    "\u00a0": "~",
    "\u202f": "~",
    "→": r"$\to$",
    "±": r"$\pm$",
}


def escaped(text: str) -> str:
    r"""Return a text that LaTeX prints as it is.

    >>> print(escaped("50 % of E_max & more"))
    50 \% of E\_max \& more
    """
    return "".join(_character(c) for c in text)


def _character(char: str) -> str:
    if char in _SPECIAL:
        return _SPECIAL[char]
    if char in _LETTERS:
        return rf"$\{_LETTERS[char]}$"
    if char.isspace():
        return " "
    if char.isascii():
        return char if char.isprintable() else ""
    if char.isalpha() and ord(char) < 0x180:
        return char  # Latin letters with accents, which every LaTeX reads as UTF-8
    plain = unicodedata.normalize("NFKD", char)
    kept = "".join(c for c in plain if c.isascii() and c.isprintable())
    return escaped(kept) if kept else rf"\texttt{{U+{ord(char):04X}}}"


def symbol(name: str, given: str | None, indices: Sequence[str] = ()) -> str:
    r"""Return a name in mathematics, with its indices: as given, or made from the name.

    A symbol that is given is a name too, as ``E_max`` or ``η_c``; any other is set as text.

    >>> symbol("P_max", None, ["t"]), symbol("eta", None), symbol("soc", "E", ["t"])
    ('P_{\\mathrm{max},t}', '\\eta', 'E_{t}')
    """
    spelled = "".join(_LETTERS.get(c, c) for c in (given or name).strip().strip("$"))
    if given and not re.fullmatch(r"[A-Za-z][A-Za-z0-9]*(_[A-Za-z0-9]+)*", spelled):
        base, below = rf"\text{{{escaped(given)}}}", list[str]()
    else:
        base, below = _made(spelled)
    subscripts = ",".join([*below, *indices])
    return f"{base}_{{{subscripts}}}" if subscripts else base


def _made(name: str) -> tuple[str, list[str]]:
    head, *tail = name.split("_") if name.strip("_") else [name]
    words = [rf"\{part}" if part in GREEK else escaped(part) for part in tail if part]
    if words and not words[0].startswith("\\"):
        words = [r"\mathrm{" + r"\ ".join(words) + "}"]
    if (head or name) in GREEK:
        return rf"\{head}", words
    parts = (
        rf"\mathit{{{escaped(part)}}}" if len(part) > 1 else escaped(part)
        for part in (head or name).split(".")
    )
    return ".".join(parts), words


def number(value: Any, digits: int = 12) -> str:
    """Return a number in mathematics.

    >>> number(1e-06), number(2.5), number(12000.0)
    ('10^{-6}', '2.5', '12000')
    """
    text = f"{value:.{digits}g}"
    mantissa, exponent, power = text.partition("e")
    if not exponent:
        return text.replace("inf", r"\infty")
    tens = f"10^{{{int(power)}}}"
    return tens if mantissa == "1" else f"{mantissa} \\cdot {tens}"


def unit(text: Any) -> str:
    """Return a unit as text; nothing for a pure number."""
    if not isinstance(text, str) or text in ("", "1", "-"):
        return ""
    shown = text.replace("degC", "\u00b0C").replace("*", "\u00b7")
    shown = re.sub(r"\*\*|\^", "", shown)
    return re.sub(r"(?<=[A-Za-z])(\d)\b", r"\\textsuperscript{\1}", escaped(shown))


def units_text(value: Any) -> str:
    """Return a unit, or units by label."""
    if isinstance(value, FrozenMap):
        return ", ".join(f"{escaped(k)}: {unit(v) or '1'}" for k, v in value.items())
    return unit(value)


WIDTH: Final = 78
"""About how many letters of mathematics fit on a line."""
_BREAK: Final = r" \\ "
_COMMANDS: Final = {"max": r"\max", "min": r"\min"} | {n: f.latex for n, f in ELEMENTARY.items()}
_REDUCTIONS: Final = {"sum": r"\sum", "min": r"\min", "max": r"\max", "expect": r"\mathbb{E}"}
_SHAPES: Final = {
    "()": r"\left({}\right)",
    "tuple": "({})",
    "[]": r"\left[{}\right]",
    "{}": r"\{{{}\}}",
    "||": r"\left|{}\right|",
    "floor": r"\left\lfloor{}\right\rfloor",
    "fraction": r"\frac{{{}}}{{{}}}",
    "root": r"\sqrt{{{}}}",
    "squared": r"\left({}\right)^2",
    "cases": r"\begin{{cases}} {} & \text{{if }} {} \\ {} & \text{{otherwise}} \end{{cases}}",
    "dt": r"\Delta_{{{}}}",
    "prob": r"\pi_{{{}}}",
}


class Printer(Formulas[str]):
    """Prints expressions with the symbols that names are given."""

    signs: ClassVar = {
        "<=": r"\le",
        ">=": r"\ge",
        "==": "=",
        "!=": r"\ne",
        "in": r"\in",
        "not in": r"\notin",
        "*": r"\cdot",
        "%": r"\bmod",
        "not": r"\lnot ",
        "and": r"\land",
        "or": r"\lor",
        "implies": r"\;\Rightarrow\;",
        "either": r"\;\lor\;",
        "complements": r"\;\perp\;",
    }

    def __init__(self, symbols: Mapping[str, str | None]) -> None:
        self.symbols = symbols

    def text(self, expression: str) -> str:
        """Return an expression; GrammarError when it is not in the language."""
        return self.node(parse(expression))

    def value(self, value: int | float | str | None) -> str:
        """Return a number or an expression; nothing where there is none."""
        if value is None:
            return ""
        return self.text(value) if isinstance(value, str) else number(value)

    def name(self, name: str, indices: Sequence[str] = ()) -> str:
        """Return a name with indices."""
        return symbol(name, self.symbols.get(name), indices)

    def binder(self, text: str) -> str:
        """Return a binder such as ``t in T``; a set alone stands for itself."""
        return self.name(text) if text.isidentifier() else self.binder_of(parse_binder(text))

    def declared(self, name: str, index: Sequence[str] = ()) -> str:
        """Return a name with the indices of its declaration: as binders name them, or by sets."""
        names = []
        for text in index:
            left, separator, _ = text.partition(" in ")
            names += left.strip("() ").split(",") if separator else [text]
        return self.name(name, [self.name(part.strip()) for part in names])

    def for_all(self, index: Sequence[str], where: str | None) -> str:
        """Return the elements that a statement holds for."""
        text = ",\\; ".join(self.binder(item) for item in index)
        return f"{text} : {self.text(where)}" if where else text

    def lines(self, expression: str) -> list[str]:
        """Return an expression in lines that fit on a page, broken at relations and sums."""
        tree = parse(expression)
        whole = self.node(tree)
        if width(whole) <= WIDTH:
            return [whole]
        if not isinstance(tree, Compare):
            return list(_packed(self._pieces(tree, "")))
        lines: list[str] = []
        for place, operand in enumerate(tree.operands):
            sign = self.set_sign(tree.ops[place - 1]) if place else ""
            pieces = list(_packed(self._pieces(operand, sign)))
            joint = f"{lines[-1]} {pieces[0]}" if lines else ""
            if lines and width(joint) <= WIDTH:
                lines[-1] = joint
                pieces = pieces[1:]
            lines += pieces
        return lines

    def _pieces(self, node: Node, sign: str) -> Iterator[str]:
        for before, part in self.summands(node, sign):
            yield f"{before} {part}" if before else part

    # -- the notation ---------------------------------------------------------------------------

    def _number(self, node: Number) -> str:
        shown, of = number(node.value), unit(node.unit)
        return f"{shown}\\,\\text{{{of}}}" if of else shown

    def _quoted(self, text: str) -> str:
        return rf"\text{{``{escaped(text)}''}}"

    def set_sign(self, op: str, before: bool = False) -> str:
        """Return an operator."""
        return self.signs.get(op, op)

    def set_row(self, *parts: str, close: bool = False) -> str:
        """Return parts beside one another."""
        return ("" if close else " ").join(parts)

    def _joined(self, parts: Sequence[str]) -> str:
        return ", ".join(parts)

    def build(self, shape: str, *parts: str) -> str:
        """Return parts put together as a shape."""
        return _SHAPES[shape].format(*parts)

    def _power(self, base: Node, exponent: Node) -> str:
        """Return a power, its base in brackets unless it is a plain name or number."""
        inner = self.node(base)
        plain = isinstance(base, Ref | Number) and "^" not in inner and "\\," not in inner
        below = f"{{{inner}}}" if plain else self.build("()", inner)
        return f"{below}^{{{self.node(exponent)}}}"

    def _function(self, name: str, inner: str) -> str:
        shown = _COMMANDS.get(name) or rf"\operatorname{{{escaped(name)}}}"
        return shown + self.build("()", inner)

    def _big(self, function: str, below: list[str], body: str) -> str:
        sign = _REDUCTIONS.get(function, rf"\operatorname*{{{escaped(function)}}}")
        under = rf"\substack{{{_BREAK.join(below)}}}" if len(below) > 1 else below[0]
        return f"{sign}_{{{under}}}{'' if function == 'expect' else ' '}{body}"


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
