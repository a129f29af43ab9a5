"""What depends on a temperature in a straight line: 'a COP of 3.2 at 0 °C that rises by 0.08/K'.

Such a value is a number at one temperature, a slope, and whether it holds on both sides of that
temperature or beyond it only. The temperature is that of a column of weather.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from engiagent.agents.offline.builder import Builder
from engiagent.agents.offline.draft import Draft, Value, amount_value, source_span
from engiagent.agents.offline.tokens import Line
from engiagent.blueprint.units import parse_unit

_NUMBER: Final = r"<(?:number|power_per_cold|power)#(?P<{0}>\d+)>"
_T: Final = r"<temperature#(?P<at>\d+)>"
_MEASURE: Final = (
    r"(?:(?:the )?(?P<which>outdoors?|outside|outdoor air|ambient|wet[- ]bulb|dry[- ]bulb)"
    r"(?: air)?(?: temperature)?|it is)"
)
_EACH: Final = (
    r"(?:per|for (?:each|every)|with (?:each|every)|each|every|/)(?: (?:further|additional|more))?"
    r" (?:k|kelvin|degrees?(?: (?:celsius|fahrenheit|c|f))?|degc|degf|°c|°f)(?![a-z])"
)
_WARM: Final = "(?:colder|cooler|warmer|hotter)"
_TAIL: Final = (
    rf"(?: {_WARM}| of (?:outdoor )?temperature| (?:above|below|over|under) (?:that|it|this))?"
    rf"(?: , {_WARM} (?:being|is|means) (?:worse|better|lower|higher|less|more))?"
)
_BESIDE: Final = r"[^<;]{0,60}?"
_PRODUCT: Final = re.compile(
    rf"{_NUMBER.format('base')} (?P<sign>plus|minus|\+|-) {_NUMBER.format('slope')}"
    rf" (?:times|x|×|\*|·) {_MEASURE}(?: in (?P<scale>degc|degf|c|f|celsius|fahrenheit"
    r"|degrees (?:celsius|fahrenheit)))?(?: outdoors| outside)?"
)
_POINT: Final = re.compile(
    rf"{_NUMBER.format('base')} (?:at|when|for) (?:an? |the )?{_BESIDE}{_T}(?: {_MEASURE})?"
    rf"{_BESIDE}(?P<verb>changes|falls|drops|decreases|sinks|rises|increases|grows|improves|and)"
    rf"(?: by)? {_NUMBER.format('slope')} (?P<more>(?:more|less|better|worse|higher|lower) )?"
    rf"{_EACH}"
    rf"(?P<tail>{_TAIL})"
)
_BEYOND: Final = re.compile(
    rf"(?:up to|below|until) {_T} {_BESIDE}{_NUMBER.format('base')}{_BESIDE} [;,] (?:above|beyond)"
    rf" (?:that|it|this)(?: temperature)? , {_BESIDE}(?P<verb>loses?|falls?|drops?|gains?|rises?)"
    rf"(?: by)? {_NUMBER.format('slope')} {_EACH}(?P<tail>)"
)
_DOWN: Final = re.compile(r"falls|drops|decreases|sinks|loses?|falls?|drops?")
_UP: Final = re.compile(r"rises?|increases|grows|improves|gains?")
_BELOW: Final = re.compile(r"(?:below|under|colder|cooler|less warm)")


@dataclass(frozen=True)
class Slope:
    """A value that a temperature changes.

    Attributes
    ----------
    base, slope
        The value at the reference temperature, and what it changes by per kelvin, without sign.
    sign
        1 where the value grows with the temperature.
    at
        The reference temperature; None for 0 of the scale.
    beyond
        Whether it changes above the reference only.
    scale
        ``K``, or ``degF_diff`` where the slope is per degree Fahrenheit.
    measure
        ``outdoor`` or ``wet_bulb``.
    """

    base: Value
    slope: Value
    sign: int
    at: Value | None
    beyond: bool
    scale: str
    measure: str
    line: int
    kind: str


def take_slopes(draft: Draft, units: Sequence[re.Pattern[str]]) -> list[Slope]:
    """Return what depends on a temperature, and account for the words that say so.

    ``units`` are the nouns of units, which stay: the sentences behind may be about them.
    """
    found = []
    for n, line in enumerate(draft.lines):
        if line.sentence.is_heading or n in draft.table_lines:
            continue
        for pattern in (_PRODUCT, _BEYOND, _POINT):
            match = pattern.search(line.line)
            slope = None if match is None else _slope(draft, n, line, match)
            if match is not None and slope is not None:
                found.append(slope)
                nouns = {i for unit in units for m in unit.finditer(line.line)
                         for i in line.covered(*m.span())}  # fmt: skip
                draft.take(n, [i for i in line.covered(*match.span()) if i not in nouns])
                _explained(draft, n, line, match, slope)
                break
    return found


def _slope(draft: Draft, n: int, line: Line, match: re.Match[str]) -> Slope | None:
    groups = match.groupdict()
    base = line.tokens[int(groups["base"])].amount
    change = line.tokens[int(groups["slope"])].amount
    at = line.tokens[int(groups["at"])].amount if groups.get("at") else None
    if base is None or change is None or base.kind != change.kind:
        return None
    sign = _sign(groups)
    text = line.line
    sided = _SIDED.search(groups.get("tail") or "") is not None
    if sign is None or (sided and _mirror(line, match) is None):
        return None
    wet = re.search(r"wet[- ]bulb", text) is not None
    scale = _scale(groups, at.unit if at is not None else "")
    slope = amount_value(change, draft.source(n, change))
    reference = amount_value(at, draft.source(n, at)) if at is not None else None
    return Slope(
        amount_value(base, draft.source(n, base)), slope, sign, reference,
        match.re is _BEYOND, scale, "wet_bulb" if wet else "outdoor", n, base.kind,
    )  # fmt: skip


def _scale(groups: dict[str, str | None], unit: str) -> str:
    said = f"{groups.get('scale') or ''} {unit}".lower()
    return "degF_diff" if re.search(r"f(?:$| )|fahrenheit|°f|degf", said) else "K"


def _sign(groups: dict[str, str | None]) -> int | None:
    """Return whether a value grows with the temperature; None where the words leave it open."""
    if groups.get("sign"):
        return 1 if groups["sign"] in ("plus", "+") else -1
    verb, more, tail = (groups.get(k) or "" for k in ("verb", "more", "tail"))
    if re.search(r"colder (?:being|is|means) (?:worse|lower|less)", tail):
        return 1
    if re.search(r"(?:colder|cooler) (?:being|is|means) (?:better|higher|more)", tail):
        return -1
    word = f"{verb} {more}"
    if _DOWN.search(word) or re.search(r"less|worse|lower", more):
        sign = -1
    elif _UP.search(word) or re.search(r"more|better|higher", more):
        sign = 1
    else:
        return None
    return -sign if _BELOW.search(tail.split(" ( ")[0].split(" , ")[0]) else sign


_SAME: Final = re.compile(
    r"(?:\( )?(?:less|more|lower|higher|worse|better)(?: than <number#\d+>)?"
    r" (?:below|above|when|if)"
    r"[^;<]{0,60}?(?:slope|rate|it freezes|warmer|colder|amount|it)(?: outside)?(?: \))?"
)


_SIDED: Final = re.compile(r"(?:above|below|over|under|beyond) (?:that|it|this|<)")


def _mirror(line: Line, match: re.Match[str]) -> re.Match[str] | None:
    """Return the words that say that the other side of the reference follows the same line."""
    return _SAME.search(line.line, max(match.start(), match.end() - 80))


def _explained(draft: Draft, n: int, line: Line, match: re.Match[str], slope: Slope) -> None:
    """Account for 'less below it, by the same slope', which a straight line says already."""
    if slope.beyond:
        return
    again = _mirror(line, match)
    if again is None:
        return
    numbers = [line.tokens[i].amount for i in line.covered(*again.span())]
    if all(a is None or a.value == slope.base.number for a in numbers):
        draft.take(n, list(line.covered(*again.span())))
        for amount in numbers:
            if amount is not None:
                entry = {"span": list(amount.span), "quote": amount.quote,
                         "reason": "says again what was said before"}  # fmt: skip
                draft.unused.append(entry)


def weather_role(words: str) -> str | None:
    """Return which temperature of the weather a column holds by its name and what is said of it."""
    if re.search(r"wet[ _-]?bulb", words):
        return "wet_bulb"
    if re.search(r"condenser[ _-]?water|water entering the condensers?", words):
        return "condenser_water"
    return "outdoor" if re.search(r"outdoor|outside|ambient|dry[ _-]?bulb", words) else None


def add_slope(builder: Builder, name: str, slope: Slope, weather: str, said: str) -> str:
    """Add the series of a value that a temperature changes; return the parameter."""
    base = builder.value(f"{name}_base", slope.base, said)
    stated = _per_degree(builder, slope)
    change = builder.value(f"{name}_slope", stated, f"change of the {said}")
    inputs = [base, change, weather]
    if slope.at is not None:
        at = builder.value(f"{name}_reference", slope.at, f"temperature at which the {said} holds")
        inputs.append(at)
    else:
        at = "0[degC]" if slope.scale == "K" else "0[degF]"
    difference = f"({weather}[t] - {at})"
    if slope.beyond:
        difference = f"max({weather}[t] - {at}, 0[K])"
    sign = "+" if slope.sign > 0 else "-"
    if stated is slope.slope:
        difference = f"{difference}/1[{slope.scale}]"
    return builder.derived(
        name, f"{base} {sign} {change}*{difference}", slope.base.unit, said, inputs, series=True,
        note="by the temperature of the same period",
    )  # fmt: skip


def _per_degree(builder: Builder, slope: Slope) -> Value:
    """Return a slope with the unit that its number stands in, where that is one per degree."""
    value, span = slope.slope, source_span(slope.slope.source)
    for quantity in builder.problem.quantities:
        unit = quantity.unit
        if quantity.number_span[0] != (span or (-1, -1))[0] or unit is None:
            continue
        base = parse_unit(slope.base.unit or "1").dimension
        per = parse_unit(f"{slope.base.unit or '1'}/K").dimension
        if unit.dimension == per and unit.dimension != base:
            source = {
                "kind": "text",
                "span": list(quantity.span),
                "quote": builder.draft.text[slice(*quantity.span)],
            }
            return replace(value, unit=unit.text, source=source)
    return value
