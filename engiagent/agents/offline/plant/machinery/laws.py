"""What a machine draws as a polynomial of what it makes: '0.19·q + 0.00031·q², q being the cold'.

The coefficients stand in the text itself. What the variable means, and in which units both sides
are, has to be said beside it; an example is held against the formula.
"""

import re
from dataclasses import dataclass
from typing import Final

from engiagent.agents.offline.amounts import Amount, kind_of, read_unit
from engiagent.agents.offline.draft import Draft, Value
from engiagent.agents.offline.plant.cold.duties import only_of
from engiagent.agents.offline.plant.units import Instance, Plant
from engiagent.agents.offline.tokens import Line
from engiagent.blueprint.units import convert, parse_unit

_NUMBER: Final = r"\d+(?:\.\d+)?(?:[eE]-?\d+)?"
_POWERS: Final = {"": 1, "²": 2, "^2": 2, "**2": 2, "³": 3, "^3": 3, "**3": 3}
_TERM: Final = re.compile(
    rf"\s*(?P<sign>[-+−–])?\s*(?P<number>{_NUMBER})(?:\s*[·⋅*×]?\s*(?P<variable>[A-Za-z])"
    r"(?![A-Za-z])\s*(?P<power>²|³|\^[23]|\*\*[23])?)?(?![\w.])"
)
_COLD: Final = (
    r"(?:cold|cooling|chilled water|load|output|cooling (?:load|output|power)|cold output)"
)
_MEANT: Final = (
    r"(?:where|with|when) {v}(?: is| stands for| denotes| means| =)?(?: the)? (?P<what>{cold})"
    r"(?: (?:that )?(?:it|they) (?:makes?|gives?|delivers?))? in (?P<unit>[^\s,;.()]+)"
    r"|{v} (?:being|is|=) (?:the )?(?P<what2>{cold})(?: (?:that )?(?:it|they) (?:makes?|gives?))?"
    r" in (?P<unit2>[^\s,;.()]+)"
)
_DRAWN: Final = re.compile(
    r"(?:(?:their|its|the|his) )?(?:(?:total|whole) )?(?:electric(?:al)? )?(?:power|input|draw"
    r"|consumption)(?: of (?:the )?(?:plant|compressors?|machines?|chillers?|plant))? in"
    r" (?P<unit>[^\s,;.()=]+)(?: is| are|:| =| equals| follows)?\s*$"
    r"|(?:draws?|takes?|needs?|uses?)\s*$",
    re.I,
)
_UNIT_BEHIND: Final = re.compile(r"\s*(?P<unit>[kM]W)(?![\w])(?: of electric(?:ity| power))?")
_LED: Final = re.compile(
    r"^(?:fitted|according) (?:to|from|with) (?:the |our |its |their )?[a-z' -]{2,40}? , "
)
_EXAMPLE: Final = re.compile(
    r"(?:, )?\(? ?(?:(?:so|thus|hence|that is|for example|for instance|e g) ,? ?)?(?:for )?"
    r"<power#(?P<made>\d+)> of (?:cold|cooling) (?:takes?|needs?|draws?|uses?)"
    r" <power#(?P<drawn>\d+)>(?: of electric(?:ity| power))? ?\)?"
)
_BENT: Final = re.compile(
    r"(?:the |our |these )?(?:[a-z]+ ){1,5}(?:loses? efficiency|(?:becomes?|gets?|is|are) less"
    r" efficient|works? (?:worse|less efficiently)) (?:the (?:harder|more|higher) (?:it|they)"
    r" (?:works?|runs?|(?:is|are) loaded)|(?:at|under) (?:high|higher|full) load"
    r"|when (?:it|they) works? hard(?:er)?)"
)


@dataclass(frozen=True)
class Law:
    """The electric power of a machine: a polynomial of its cooling.

    Attributes
    ----------
    coefficients
        By power of the cooling, which is counted in ``unit``; the power comes in ``gives``.
    line
        Where it stands.
    """

    coefficients: tuple[tuple[int, Value], ...]
    unit: str
    gives: str
    line: int

    def bent(self) -> bool:
        """Whether it is no straight line."""
        return any(power > 1 for power, _ in self.coefficients)


def take_laws(draft: Draft, plant: Plant) -> dict[str, Law]:
    """Return the law of the only machine that makes cold, and account for the words of it."""
    machine = only_of(plant, ("chiller",))
    if machine is None:
        return {}
    for n, line in enumerate(draft.lines):
        if line.sentence.is_heading or n in draft.table_lines:
            continue
        law = _law(draft, n, line)
        if law is not None:
            _explained(draft, machine, law)
            return {machine.name: law}
    return {}


def _law(draft: Draft, n: int, line: Line) -> Law | None:
    a, b = line.sentence.span
    for first in re.finditer(rf"(?<![\w.·]){_NUMBER}", draft.text[a:b]):
        terms = _terms(draft.text, a + first.start(), b)
        names = {t["variable"] for t in terms if t["variable"]}
        powers = [_POWERS[t["power"] or ""] if t["variable"] else 0 for t in terms]
        if len(terms) < 2 or len(names) != 1 or len(set(powers)) < len(powers):
            continue
        start, end = terms[0].start("number"), terms[-1].end()
        drawn = _DRAWN.search(" ".join(draft.text[a:start].split()) + " ")
        meant = _meaning(draft.text[end:b], names.pop())
        behind = _UNIT_BEHIND.match(draft.text, end)
        gives = (drawn and drawn["unit"]) or (behind and behind["unit"])
        if drawn is None or meant is None or not gives:
            continue
        units = [_unit(text) for text in (gives, meant[0])]
        if any(kind_of(u) != "power" or not u for u in units):
            continue
        left = a + draft.text[a:start].replace("\n", " ").rfind(drawn[0].strip().split()[0])
        _take(draft, n, line, (left, end + meant[1]))
        return Law(_coefficients(line, terms, powers), units[1], units[0], n)
    return None


def _terms(text: str, start: int, end: int) -> list[re.Match[str]]:
    found: list[re.Match[str]] = []
    place = start
    while (match := _TERM.match(text, place, end)) is not None:
        if bool(found) is not bool(match["sign"]):
            break
        found.append(match)
        place = match.end()
    return found


def _meaning(text: str, name: str) -> tuple[str, int] | None:
    """Return the unit of the variable, and where its definition ends."""
    plain = re.sub(r"\s", " ", text)
    pattern = _MEANT.replace("{v}", re.escape(name)).replace("{cold}", _COLD)
    match = re.search(pattern, plain)
    if match is None or match.start() > 40 or re.search(r"[;.]\s", plain[: match.start()]):
        return None
    return match["unit"] or match["unit2"], match.end()


def _unit(text: str) -> str:
    found = read_unit(text, 0, None)
    return found[0] if found is not None and found[1] == len(text) else ""


def _coefficients(
    line: Line, terms: list[re.Match[str]], powers: list[int]
) -> tuple[tuple[int, Value], ...]:
    found = []
    for term, power in zip(terms, powers, strict=True):
        span, quote = term.span("number"), term["number"]
        sign = "-" if (term["sign"] or "+") in "-−–" else ""
        source = {"kind": "text", "span": list(span), "quote": quote}
        found.append((power, Value("1", source, float(quote), expression=f"{sign}x0")))
    return tuple(found)


def _take(draft: Draft, n: int, line: Line, span: tuple[int, int]) -> None:
    inside = [i for i, t in enumerate(line.tokens) if span[0] <= t.span[0] and t.span[1] <= span[1]]
    draft.take(n, inside)
    led = _LED.match(line.line)
    if led is not None:
        draft.take(n, list(line.covered(*led.span())))


def _explained(draft: Draft, machine: Instance, law: Law) -> None:
    """Account for an example that agrees, and for words that say that the curve is bent."""
    line = draft.lines[law.line]
    match = _EXAMPLE.search(line.line)
    if match is not None:
        amounts = [a for key in ("made", "drawn")
                   if (a := line.tokens[int(match[key])].amount) is not None]  # fmt: skip
        if _agrees(law, *amounts):
            draft.take(law.line, list(line.covered(*match.span())))
            reason = "an example that agrees with the formula"
            draft.unused += [{"span": list(a.span), "quote": a.quote, "reason": reason}
                             for a in amounts]  # fmt: skip
        else:
            draft.doubt(law.line, "the example does not agree with the formula")
    convex = all(v.expression == "x0" for power, v in law.coefficients if power > 1)
    for n, other in enumerate(draft.lines):
        bent = _BENT.fullmatch(other.line)
        if bent is not None and law.bent() and convex and not other.sentence.is_heading:
            draft.take(n, list(range(len(other.tokens))))


def _agrees(law: Law, made: Amount, drawn: Amount) -> bool:
    x = convert(made.value, parse_unit(made.unit), parse_unit(law.unit))
    y = convert(drawn.value, parse_unit(drawn.unit), parse_unit(law.gives))
    total = sum((v.number or 0.0) * (-1 if v.expression[0] == "-" else 1) * x**power
                for power, v in law.coefficients)  # fmt: skip
    return abs(total - y) <= 0.006 * abs(y)
