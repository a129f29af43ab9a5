"""Figures: where a value of an answer has its unit from, and which figures of a prose no call has.

A figure of the prose counts as produced when a call's answer, or an argument that a call was made
with, has it: in the same or another unit of its dimension, rounded to the digits shown, whatever
its sign.
"""

import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from engiagent.ask.rules import follow
from engiagent.text.lexer import Token, tokens_of
from engiagent.tools.registry import Json, tools
from engiagent.units.unit import CURRENCIES, Unit, UnitError, conversion, parse_unit
from engiagent.units.words import Conventions

_SUFFIXES: Final = {
    **{"percent": "%", "rate": "1", "factor": "1", "cycles": "1", "periods": "1"},
    **{"kw": "kW", "kwh": "kWh", "mwh": "MWh", "seconds": "s", "h": "h", "hours": "h"},
}
_PLACEHOLDER: Final = re.compile(r"\{([^{}]+)\}")
_PLAIN: Final = Conventions()
STRUCK: Final = "[struck out]"
_MINUTES: Final = 3
"""Decimals of an hour that tell minutes apart."""


@dataclass(frozen=True)
class Figure:
    """A number with its unit, None where nothing states one."""

    value: float
    unit: Unit | None


def unit_at(trail: Sequence[Any], path: str) -> str | None:
    """Return the unit of the value at the end of a trail through an answer.

    It is what the key itself ends in, as ``peak_kw`` or ``percent``, or ``unit`` of what encloses
    the value.
    """
    names = [name for name in re.split(r"[.\[\]]+", path) if name and not name.isdecimal()]
    by_name = _SUFFIXES.get(names[-1].rsplit("_", 1)[-1]) if names else None
    around = (item.get("unit") for item in reversed(trail[:-1]) if isinstance(item, Mapping))
    return by_name or next((str(unit) for unit in around if unit), None)


def value_at(answer: Any, path: str) -> tuple[Any, str | None]:
    """Return the value at a path of an answer, and its unit."""
    trail = follow(answer, path)
    return trail[-1], unit_at(trail, path)


def figures_of(value: Any, unit: str | None = None) -> Iterator[Figure]:
    """Yield all figures of an answer, also those in texts as ``20 kWh``."""
    if isinstance(value, Mapping):
        own = str(value["unit"]) if value.get("unit") else unit
        for key, item in value.items():
            yield from figures_of(item, _SUFFIXES.get(str(key).rsplit("_", 1)[-1], own))
    elif isinstance(value, list | tuple):
        for item in value:
            yield from figures_of(item, unit)
    elif isinstance(value, str):
        yield from map(_figure, tokens_of(value, _PLAIN, 200))
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield Figure(float(value), _unit(unit))


def given_figures(tool: str, arguments: Json) -> Iterator[Figure]:
    """Yield the figures of the arguments that a call was made with, in the tool's units."""
    for argument in tools()[tool].arguments:
        if argument.name in arguments:
            yield from figures_of(arguments[argument.name], argument.unit)


def _unit(text: str | None) -> Unit | None:
    try:
        return None if text is None else parse_unit(text)
    except UnitError:
        return None


def _figure(token: Token) -> Figure:
    """Return the figure that a token is; a time of the day is its hours."""
    return Figure(float(token.exact), _unit("h") if token.kind == "clock" else token.unit)


def _same(shown: Figure, found: Figure, decimals: int) -> bool:
    """Whether a figure is another one, rounded to the decimals shown."""
    value, unit = found.value, shown.unit
    if unit is not None and found.unit is not None:
        if not _has_money(found.unit):  # as an argument of 1/kWh, "in the currency of the prices"
            amounts = tuple(part for part in unit.dimension if part[0] not in CURRENCIES)
            unit = replace(unit, dimension=amounts)
        if unit.dimension != found.unit.dimension:
            return False
        try:
            factor, offset = conversion(found.unit, unit)
        except UnitError:  # a difference is no point on a scale
            return False
        value = value * factor + offset
    half = 0.5 * 10.0**-decimals
    return abs(abs(value) - abs(shown.value)) <= half * (1 + 1e-9) + 1e-12


def _has_money(unit: Unit) -> bool:
    return any(base in CURRENCIES for base, _ in unit.dimension)


def _decimals(text: str, token: Token) -> int:
    if token.kind == "clock":
        return _MINUTES
    written = text[slice(*token.number)]
    return len(written.rpartition(".")[2]) if "." in written else 0


def placed(prose: str, findings: Sequence[Mapping[str, Any]]) -> str:
    """Return a prose with the findings in the place of ``{label}``, rounded as people read them."""
    known = {finding["label"]: finding for finding in findings}

    def text(match: re.Match[str]) -> str:
        found = known.get(match[1].strip())
        return match[0] if found is None else shown(found["value"], found["unit"])

    return _PLACEHOLDER.sub(text, prose)


def shown(value: Any, unit: str | None) -> str:
    """Return a value with its unit as people read it."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    text = f"{value:.4g}" if abs(value) < 10_000 else f"{value:.0f}"
    return text if unit in (None, "1") else f"{text} {unit}"


def struck(
    prose: str, produced: Sequence[Figure], texts: str, labels: Collection[str] = ()
) -> tuple[str, tuple[Mapping[str, str], ...]]:
    """Return a prose without the figures that no call has, and those figures.

    ``texts`` is all that calls were given and answered, for times and dates. ``labels``: of the
    findings, whose placeholders stay; one that stands for no finding is struck out too.
    """

    def hidden(match: re.Match[str]) -> str:
        return "…" * len(match[0]) if match[1].strip() in labels else match[0]

    written = _PLACEHOLDER.sub(hidden, prose)  # of the same length, without what calls have
    places = [
        (token.start, token.end)
        for token in tokens_of(written, _PLAIN)
        if _has_digits(written, token) and not _known(written, token, produced, texts)
    ]
    places += [match.span() for match in _PLACEHOLDER.finditer(written)]
    found, parts, end = list[Mapping[str, str]](), [], 0
    for first, last in sorted(places):
        context = " ".join(prose[max(0, first - 40) : last + 40].split())
        found.append({"figure": prose[first:last], "context": context})
        parts += [prose[end:first], STRUCK]
        end = last
    return "".join([*parts, prose[end:]]), tuple(found)


def _has_digits(text: str, token: Token) -> bool:
    return any(char.isdigit() for char in text[token.start : token.end])


def _known(prose: str, token: Token, produced: Sequence[Figure], texts: str) -> bool:
    if token.kind in ("clock", "date") and prose[token.start : token.end] in texts:
        return True
    if token.kind in ("date", "label"):
        return token.kind == "label"
    shown_figure, decimals = _figure(token), _decimals(prose, token)
    return any(_same(shown_figure, figure, decimals) for figure in produced)


def unused(question: str, given: Sequence[Figure], texts: str) -> tuple[str, ...]:
    """Return the figures of a question that no argument of a call has.

    A difference of temperature may be stated in °C or °F.
    """
    shifts = [f.value for f in given if f.unit is not None and f.unit.text == "K"]
    given = [*given, *(Figure(v, _unit("degC")) for v in shifts)]
    given += [Figure(1.8 * v, _unit("degF")) for v in shifts]
    return tuple(
        question[token.start : token.end]
        for token in tokens_of(question, _PLAIN)
        if _has_digits(question, token) and not _known(question, token, given, texts)
    )


def text_of(values: Sequence[Any]) -> str:
    """Return all that some values say as one text."""
    return json.dumps(list(values), ensure_ascii=False)
