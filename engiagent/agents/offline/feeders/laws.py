"""The laws of flow as a text writes them, in words or in symbols, held against the known ones.

'The square of the voltage falls by twice resistance times active power plus twice reactance times
reactive power' and 'v falls by 2(rP + xQ)' are the same law; both sides are worked out with numbers
drawn at random, so that every way of writing it is one law, and another law is none.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Final

_PHRASES: Final = (
    ("v", r"(?:the )?(?:square of the (?:magnitude of the )?voltage|squared voltage"
          r"|voltage squared)(?: magnitude)?"),
    ("l", r"(?:the )?(?:square of the current|squared current|current squared)"),
    ("P", r"(?:the )?(?:active|real) (?:power|flow)"),
    ("Q", r"(?:the )?reactive (?:power|flow)"),
    ("r", r"(?:the |its )?resistance"),
    ("x", r"(?:the |its )?reactance"),
)  # fmt: skip
_TOKEN: Final = re.compile(
    r"\s*(?:(?P<number>\d+(?:\.\d+)?)|(?P<phrase>"
    + "|".join(f"(?P<p_{name}>{text})" for name, text in _PHRASES)
    + r")(?![a-z])|(?P<twice>(?i:twice|two times|double)(?: the)?(?= ))"
    r"|(?P<square>(?i:the square of))"
    r"|(?P<plus>plus\b|\+|added to\b)|(?P<minus>less\b|minus\b|reduced by\b|[-−–])"
    r"|(?P<times>times\b|multiplied by\b|[·⋅×*])|(?P<open>\()|(?P<close>\))"
    r"|(?P<symbol>[rRxXPQpqlvV])(?![a-z]{2})(?P<power>²|\^2)?)"
)  # fmt: skip
_CASES: Final[tuple[Mapping[str, float], ...]] = (
    {"v": 1.31, "l": 0.37, "P": 2.17, "Q": -0.83, "r": 0.59, "x": 1.73},
    {"v": 0.71, "l": 2.93, "P": -1.19, "Q": 0.47, "r": 1.37, "x": 0.29},
    {"v": 5.03, "l": 1.01, "P": 0.61, "Q": 3.07, "r": 0.13, "x": 0.89},
)
_FALLS: Final = re.compile(
    r"(?P<what>(?:the )?(?:square of the voltage|squared voltage|voltage squared)|(?<![\w])v)"
    r"(?: magnitude)?\s+(?:falls|drops|decreases|sinks|is lowered|is reduced|goes down)"
    r"(?:\s+(?:along|over|across|on|in)\s+(?:a|each|every|the)\s+(?:section|line|branch|cable))?"
    r"\s+by\s+"
)
_RECEIVED: Final = re.compile(
    r"(?:the )?(?:active )?power (?:that arrives )?at the receiving end (?:of a section )?is\s+"
)
_NEXT: Final = re.compile(r"\s*,?\s*and (?:the reactive (?:power|one) is )?")
_EQUALS: Final = re.compile(
    r"(?:\s+at the sending end)?(?: of (?:a|the|each) (?:section|line|branch))?"
    r"\s+(?:equals|is equal to|=|is)\s+"
)
_ENDS: Final = re.compile(
    r"\s*(?:$|[;,.:)]|and(?![a-z])|(?:along|over|across|on|in) (?:a|each|every|the) )"
)
_CONSERVED: Final = re.compile(
    r"what (?:enters|goes into|flows into) (?:a|each|every) (?:section|line|branch)"
    r" (?:leaves it|comes out of it|leaves it again|comes out again)"
    r"|(?:a|each|every) (?:section|line|branch) passes on (?:all|everything) that enters it"
)
_SYMBOLS: Final = re.compile(
    r"(?:with |and |, )*(?:the )?(?P<what>active power|real power|reactive power|squared current"
    r"|squared voltage|square of the current|square of the voltage|resistance|reactance)"
    r"\s+(?P<letter>[PQpqlvrRxX])(?![\w²])"
    r"(?:\s+at the sending end(?: of (?:a|the|each) (?:section|line|branch))?)?"
)
_MEANS: Final = {
    "active power": "P", "real power": "P", "reactive power": "Q", "squared current": "l",
    "square of the current": "l", "squared voltage": "v", "square of the voltage": "v",
    "resistance": "r", "reactance": "x",
}  # fmt: skip


@dataclass(frozen=True)
class Law:
    """A law that a text states: ``conserved``, ``linear``, ``lossy`` or ``symbols``.

    ``falls`` is true of the law of the voltage along a section.
    """

    name: str
    span: tuple[int, int]
    falls: bool = False


def laws_in(text: str, start: int, end: int) -> list[Law]:
    """Return the laws of a piece of a text with their places; what is no known law is left out."""
    piece = re.sub(r"\s", " ", text[start:end])
    found: list[Law] = []
    letters: dict[str, str] = {}
    for match in _SYMBOLS.finditer(piece):
        letters[match["letter"]] = _MEANS[match["what"]]
        found.append(Law("symbols", match.span()))
    found += [Law("conserved", m.span()) for m in _CONSERVED.finditer(piece)]
    found += _drops(piece, letters)
    found += _received(piece, letters)
    found += _currents(piece, letters)
    return [replace(law, span=(start + law.span[0], start + law.span[1])) for law in found]


def _drops(piece: str, letters: Mapping[str, str]) -> list[Law]:
    found = []
    for match in _FALLS.finditer(piece):
        read = _worked_out(piece, match.end(), letters)
        for name, law in (("linear", _linear_drop), ("lossy", _lossy_drop)):
            if read is not None and _same(read[0], law):
                found.append(Law(name, (match.start(), read[1]), True))
    return found


def _received(piece: str, letters: Mapping[str, str]) -> list[Law]:
    """Return the law of what arrives: the power less the losses, for both powers."""
    match = _RECEIVED.search(piece)
    active = _worked_out(piece, match.end(), letters) if match is not None else None
    if match is None or active is None or not _same(active[0], lambda c: c["P"] - c["r"] * c["l"]):
        return []
    behind = _NEXT.match(piece, active[1])
    reactive = _worked_out(piece, behind.end(), letters) if behind is not None else None
    if reactive is None or not _same(reactive[0], lambda c: c["Q"] - c["x"] * c["l"]):
        return []
    return [Law("lossy", (match.start(), reactive[1]))]


def _currents(piece: str, letters: Mapping[str, str]) -> list[Law]:
    """Return the law of the current: its square times that of the voltage is P² + Q²."""
    for match in _EQUALS.finditer(piece):
        right = _worked_out(piece, match.end(), letters)
        if right is None:
            continue
        for begin in range(match.start()):
            if begin and piece[begin - 1].isalnum():
                continue
            left = _worked_out(piece, begin, letters, whole=False)
            if left is None or left[1] != match.start():
                continue
            sides = [a - b for a, b in zip(left[0], right[0], strict=True)]
            if any(_same([sign * s for s in sides], _current) for sign in (1, -1)):
                return [Law("lossy", (begin, right[1]))]
    return []


def _linear_drop(case: Mapping[str, float]) -> float:
    return 2 * (case["r"] * case["P"] + case["x"] * case["Q"])


def _lossy_drop(case: Mapping[str, float]) -> float:
    return _linear_drop(case) - (case["r"] ** 2 + case["x"] ** 2) * case["l"]


def _current(case: Mapping[str, float]) -> float:
    return case["l"] * case["v"] - case["P"] ** 2 - case["Q"] ** 2


def _same(values: list[float], law: Callable[[Mapping[str, float]], float]) -> bool:
    wanted = [law(case) for case in _CASES]
    return all(abs(a - b) < 1e-9 * (1 + abs(b)) for a, b in zip(values, wanted, strict=True))


def _worked_out(
    piece: str, start: int, letters: Mapping[str, str], whole: bool = True
) -> tuple[list[float], int] | None:
    """Return what an expression is worth in all cases, and where it ends; None for none."""
    results = []
    for case in _CASES:
        reading = _Reading(piece, start, letters, case)
        try:
            results.append(reading.sum())
        except ValueError:
            return None
        if whole and _ENDS.match(piece, reading.position) is None:
            return None
    return results, reading.position


@dataclass
class _Reading:
    """Works out an expression from left to right."""

    text: str
    position: int
    letters: Mapping[str, str]
    case: Mapping[str, float]

    def _peek(self) -> re.Match[str] | None:
        return _TOKEN.match(self.text, self.position)

    def _take(self, *names: str) -> str | None:
        match = self._peek()
        found = next((n for n in names if match is not None and match[n]), None)
        if match is not None and found is not None:
            self.position = match.end()
        return found

    def sum(self) -> float:
        total = self.product()
        while True:
            before = self.position
            sign = self._take("plus", "minus")
            if sign is None:
                return total
            try:
                term = self.product()
            except ValueError:
                self.position = before
                return total
            total += term if sign == "plus" else -term

    def product(self) -> float:
        total = self.factor()
        while True:
            before = self.position
            joined = self._take("times")
            match = self._peek()
            starts = match is not None and any(
                match[n] for n in ("phrase", "open", "symbol", "number", "twice", "square")
            )
            words = match is not None and not joined and match["phrase"]
            if not starts or words:
                self.position = before if joined else self.position
                return total
            total *= self.factor()

    def factor(self) -> float:
        match = self._peek()
        if match is None:
            raise ValueError
        self.position = match.end()
        if match["number"]:
            return float(match["number"])
        if match["twice"]:
            return 2 * self.factor()
        if match["phrase"]:
            name = next(n for n, _ in _PHRASES if match[f"p_{n}"])
            return self.case[name]
        if match["square"]:
            return self.factor() ** 2
        if match["symbol"]:
            letter = match["symbol"]
            meant = self.letters.get(letter) or {"R": "r", "X": "x"}.get(letter, letter)
            if letter not in self.letters and meant not in ("r", "x"):
                raise ValueError
            return float(self.case[meant] ** (2 if match["power"] else 1))
        if match["open"]:
            total = self.sum()
            if self._take("close") is None:
                raise ValueError
            return total
        raise ValueError
