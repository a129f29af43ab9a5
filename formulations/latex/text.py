"""Text and names in LaTeX: nothing that a blueprint says is ever run as a command."""

import re
import unicodedata
from collections.abc import Sequence
from typing import Any, Final

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
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "&": r"\&",
    "#": r"\#",
    "^": r"\textasciicircum{}",
    "_": r"\_",
    "~": r"\textasciitilde{}",
    "%": r"\%",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    "\u00b0": r"\textdegree{}",
    "\u20ac": r"\texteuro{}",
    "\u00b2": r"\textsuperscript{2}",
    "\u00b3": r"\textsuperscript{3}",
    "\u00b5": r"\textmu{}",
    "\u00b7": r"\textperiodcentered{}",
    "\u2264": r"$\le$",
    "\u2265": r"$\ge$",
    "\u2260": r"$\ne$",
    "\u00d7": r"$\times$",
    "\u2212": r"$-$",
    "\u2013": "--",
    "\u2014": "---",
    "\u2018": "`",
    "\u2019": "'",
    "\u201c": "``",
    "\u201d": "''",
    "\u2026": r"\dots{}",
    "\u00a0": "~",
    "\u202f": "~",
    "\u2192": r"$\to$",
    "\u2208": r"$\in$",
    "\u2211": r"$\sum$",
    "\u221e": r"$\infty$",
    "\u00b1": r"$\pm$",
    '"': r"\textquotedbl{}",
}
_COMMAND_NAMES: Final = """
    varepsilon vartheta varphi varrho bar hat tilde dot ddot overline underline mathrm
    mathit mathbf mathcal mathbb mathsf text max min prime star ast circ ell infty left
    right vec widehat widetilde cdot times pm to operatorname
"""
_COMMANDS: Final = frozenset([*GREEK, *_COMMAND_NAMES.split()])
_MATH: Final = re.compile(r"(?:\\[A-Za-z]+|\\[,;! ]|[A-Za-z0-9_^{}(),.;:+*/=' -])+")
_COMMAND: Final = re.compile(r"\\([A-Za-z]+)")


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

    >>> symbol("P_max", None, ["t"]), symbol("eta", None), symbol("soc", "E", ["t"])
    ('P_{\\mathrm{max},t}', '\\eta', 'E_{t}')
    """
    base, below = _given(given) if given else _made(name)
    subscripts = ",".join([*below, *indices])
    return f"{base}_{{{subscripts}}}" if subscripts else base


def _made(name: str) -> tuple[str, list[str]]:
    head, *tail = name.split("_") if name.strip("_") else [name]
    words = [rf"\{part}" if part in GREEK else escaped(part) for part in tail if part]
    if words and not words[0].startswith("\\"):
        words = [r"\mathrm{" + r"\ ".join(words) + "}"]
    return _word(head or name), words


def _word(word: str) -> str:
    if word in GREEK:
        return rf"\{word}"
    parts = [
        rf"\mathit{{{escaped(part)}}}" if len(part) > 1 else escaped(part)
        for part in word.split(".")
    ]
    return ".".join(parts)


def _given(text: str) -> tuple[str, list[str]]:
    """Return a symbol as written: as mathematics when it is harmless, else as text."""
    spelled = "".join(rf"\{_LETTERS[c]} " if c in _LETTERS else c for c in text.strip().strip("$"))
    spelled = spelled.strip()
    commands = set(_COMMAND.findall(spelled))
    if not (_MATH.fullmatch(spelled) and commands <= _COMMANDS and _balanced(spelled)):
        return rf"\text{{{escaped(text)}}}", []
    if re.fullmatch(r"[A-Za-z][A-Za-z0-9]*(_[A-Za-z0-9]+)*", spelled):
        return _made(spelled)
    base, _, below = spelled.partition("_")
    simple = re.fullmatch(r"(?:\\[A-Za-z]+|[A-Za-z0-9]+)(?: ?)", base)
    inner = below[1:-1] if below.startswith("{") and below.endswith("}") else below
    if simple and inner and not re.search(r"[_^{}]", inner):
        return base.strip(), [inner]
    # The empty group keeps TeX from taking a lone accent out of its braces, subscripts and all.
    return f"{{{spelled}{{}}}}", []


def _balanced(text: str) -> bool:
    depth = 0
    for char in text:
        depth += {"{": 1, "}": -1}.get(char, 0)
        if depth < 0:
            return False
    double = re.search(r"[_^]\s*(?:[_^]|$)", text)
    return depth == 0 and double is None and text.count(r"\left") == text.count(r"\right") == 0


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
