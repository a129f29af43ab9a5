"""Numbers with their units as engineers write them, and the kind of thing that they measure."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Final

from engiagent.blueprint.units import CURRENCIES, Unit, UnitError, parse_unit

Span = tuple[int, int]


@dataclass(frozen=True)
class Amount:
    """A number of the text.

    Attributes
    ----------
    value
        As it is written, in ``unit``.
    unit
        A text that ``parse_unit`` reads; empty for a bare number.
    kind
        What it measures: ``energy``, ``power``, ``price``, ``temperature``, ``percent`` …
    span, quote
        The number with its unit in the text of the problem.
    """

    value: float
    unit: str
    kind: str
    span: Span
    quote: str


NUMBER: Final = (
    r"(?:\d{1,3}(?:[ \u00a0\u202f]\d{3})+(?:\.\d+)?(?![\d])"
    r"|[1-9]\d{0,2}(?:,\d{3})+(?:\.\d+)?(?![\d,])|\d+,\d{1,2}(?![\d,])|0,\d+(?![\d,])|\d+(?:\.\d+)?)"
)
_SIGNED = re.compile(rf"(?<![\w.])(?:(?P<sign>[-−–])(?=\d))?(?P<number>{NUMBER})(?![\d:])")
_PREFIX = re.compile(
    r"(?P<unit>€|\$|£|US\$|(?:" + "|".join(CURRENCIES) + r")\b)\s?"
    rf"(?P<sign>[-−–])?(?P<number>{NUMBER})"
)
_ATOM = re.compile(r"[A-Za-zµ°º€$£%¢Ω℃℉][A-Za-z²³_°]*[23]?")
_JOIN = re.compile(
    r"\s?/\s?|\s?[·⋅*]\s?|\s+per\s+|\s+(?:for|on)\s+(?:every|each)\s+|\s+an?\s+(?=[kM]?W|kilo|mega|h)"
)
_OF_FUEL: Final = re.compile(
    r"\s+of\s+(?:diesel|fuel|heating oil|fuel oil|oil|petrol|natural gas|gas|biogas)"
    r"(?=\s+(?:per|for)\s)"
)
_WORDS: Final = {
    "degrees celsius": "degC", "degree celsius": "degC", "deg c": "degC", "degrees c": "degC",
    "°c": "degC", "ºc": "degC", "° c": "degC", "celsius": "degC", "°f": "degF", "ºf": "degF",
    "degrees fahrenheit": "degF", "degrees f": "degF", "deg f": "degF",
    "kilowatt hours": "kWh", "kilowatt hour": "kWh", "kilowatthour": "kWh",
    "megawatt hours": "MWh", "megawatt hour": "MWh", "megawatthours": "MWh", "megawatthour": "MWh",
    "kilowatt-hour": "kWh", "kilowatt-hours": "kWh", "mw h": "MWh", "kw h": "kWh",
    "percent": "%", "per cent": "%", "kelvin": "K", "kelvins": "K", "euro cents": "ct_EUR",
    "euro cent": "ct_EUR", "eurocents": "ct_EUR", "kilowatt": "kW", "kilowatts": "kW",
    "€-ct": "ct_EUR", "mj": "MJ", "megajoules": "MJ", "kilojoules": "kJ", "joules": "J",
    "kws": "kW*s", "megawatt": "MW", "megawatts": "MW", "btu/hr": "BTU/h",
    "months": "month", "full cycles": "cycle", "equivalent full cycles": "cycle",
    "full equivalent cycles": "cycle", "ct": "ct", "cent": "ct", "cents": "ct", "¢": "ct",
    "pence": "ct_GBP", "p": "ct_GBP", "minute": "min", "hour": "h", "day": "d", "week": "week",
    "ton-hours": "TR*h", "ton-hour": "TR*h", "ton hours": "TR*h", "ton-hrs": "TR*h",
    "kelvin difference": "K", "watt": "W", "watts": "W", "watt-hours": "Wh", "m²": "m2",
    "quarter hours": "quarter_hour", "quarter-hours": "quarter_hour",
    "cubic metres": "m3", "cubic metre": "m3", "cubic meters": "m3", "cubic meter": "m3",
}  # fmt: skip
_REFUSED: Final = frozenset(
    [
        "a",
        "in",
        "at",
        "to",
        "on",
        "A",
        "V",
        "N",
        "L",
        "l",
        "m",
        "t",
        "g",
        "s",
        "d",
        "C",
        "F",
        "M",
        "p",
        "start",
        "starts",
        "unit",
        "units",
        "person",
        "persons",
        "people",
        "item",
        "items",
        "piece",
        "pieces",
        "-",
        "pu",
    ]
)
_TWO_WORDS = re.compile(r"[A-Za-z°€]+[ -][A-Za-z-]+(?: cycles)?")
_TIME_UNITS: Final = frozenset({"h", "min", "s", "d", "week", "yr"})


def read_unit(text: str, start: int, currency: str | None) -> tuple[str, int] | None:
    """Return the unit that begins at ``start`` and where it ends, None when there is none."""
    atom = _atom(text, start, currency)
    if atom is None:
        return None
    unit, end = atom
    while True:
        fuel = _OF_FUEL.match(text, end) if kind_of(unit) == "volume" else None
        join = _JOIN.match(text, end if fuel is None else fuel.end())
        if join is None or (kind_of(unit) == "temperature" and "every" in join[0]):
            return unit, end  # 'at most 80 °F on every hour mark' is no rate
        divides = join[0].strip() not in {"·", "⋅", "*"}
        group = text.startswith("(", join.end())
        after = _atom(text, join.end() + group, currency, below=True)
        if after is None and kind_of(unit) == "power" and divides:
            after = _ton(text, join.end())
        if after is None:
            return unit, end
        above = _in_product(unit, below=True)
        longer = f"{above}{'/' if divides else '*'}{after[0]}"
        stop = after[1]
        if group:
            inner = re.compile(r"\s?[·⋅* ]\s?([A-Za-z0-9²°]+)\s?\)").match(text, stop)
            if inner is None:
                return unit, end
            longer += f"/{inner[1].replace('²', '2').replace('°C', 'K').replace('°F', 'degF_diff')}"
            stop = inner.end()
        if not _known(longer):
            return unit, end
        unit, end = longer, stop


def _atom(
    text: str, start: int, currency: str | None, below: bool = False
) -> tuple[str, int] | None:
    two = _TWO_WORDS.match(text, start)
    if two is not None:
        words = two[0]
        for candidate in (words, words.rsplit(" ", 1)[0]):
            if candidate.lower() in _WORDS and re.search(r"[ -]", candidate):
                unit = _WORDS[candidate.lower()]
                if unit not in ("ct", "month", "quarter_hour"):
                    return _in_product(unit, below), start + len(candidate)
    match = _ATOM.match(text, start)
    if match is None:
        return None
    word = match[0]
    unit = _WORDS.get(word.lower() if word.lower() in _WORDS and len(word) > 2 else word, word)
    unit = _WORDS.get(word.lower(), unit) if "°" in word or "º" in word else unit
    if unit in ("ct", "¢"):
        if currency is None:
            return None
        unit = f"ct_{currency}"
    litres = word in {"l", "L"} and (below or text.startswith("/kWh", match.end()))
    tons = word == "t" and (
        re.match(r"(?:/| per )(?:yr|year|a)(?![a-z])|\s+of\s+CO2", text[match.end() :]) is not None
    )
    grams = word == "g" and re.match(r"(?:/| per )[kM]Wh", text[match.end() :]) is not None
    pence = word == "p" and re.match(r"\s?(?:/|per )\s?[kM]Wh", text[match.end() :]) is not None
    unit = "ct_GBP" if pence else unit
    allowed = litres or grams or tons or pence or (below and word in {"d", "s", "a"})
    if (word in _REFUSED and not allowed) or not _known(unit):
        return None
    if unit == "%" or _known(unit):
        return _in_product(unit, below), match.end()
    return None


def _ton(text: str, start: int) -> tuple[str, int] | None:
    """Return the ton of refrigeration, which 'ton' is below a power and nowhere else."""
    match = re.compile(r"ton(?![\w-])").match(text, start)
    return None if match is None else ("TR", match.end())


def _in_product(unit: str, below: bool) -> str:
    """Return the unit for a denominator, where a temperature is a difference: kWh/K."""
    return (
        {"degC": "K", "°C": "K", "degF": "degF_diff", "°F": "degF_diff"}.get(unit, unit)
        if below
        else unit
    )


@lru_cache(maxsize=4096)
def _known(unit: str) -> bool:
    try:
        parse_unit(unit)
    except UnitError:
        return False
    return True


def number_of(text: str) -> float:
    """Return the value of a number as it is written, with thousands separators."""
    plain = re.sub(r"[ \u00a0\u202f]", "", text).replace("−", "-").replace("–", "-")
    if re.fullmatch(r"-?[1-9]\d{0,2}(?:,\d{3})+(?:\.\d+)?", plain):
        return float(plain.replace(",", ""))
    return float(plain.replace(",", "."))


_KINDS: Final[Mapping[str, str]] = {
    "kWh": "energy", "kW": "power", "h": "duration", "K": "difference", "kWh/K": "heat_capacity",
    "K/kW": "resistance", "kW/K": "conductance", "1/h": "rate", "cycle": "cycles",
    "cycle/d": "daily_cycles", "kW/h": "ramp", "m2": "area", "m3": "volume", "m": "length",
    "kg": "mass", "kg/kWh": "intensity", "m3/kWh": "specific_volume", "K/h": "temperature_rate",
    "m3/h": "volume_flow", "kg/s": "mass_flow", "kg/m3": "density", "kJ/(kg*K)": "specific_heat",
}  # fmt: skip


@lru_cache(maxsize=4096)
def kind_of(unit: str) -> str:
    """Return what a unit measures, ``other`` when nothing here is measured in it."""
    if not unit:
        return "number"
    parsed = parse_unit(unit)
    if parsed.is_point:
        return "temperature"
    if parsed.is_dimensionless:
        return "percent" if unit in ("%", "percent") else _ratio_kind(unit)
    for name, kind in _KINDS.items():
        if parse_unit(name).dimension == parsed.dimension:
            return kind
    return _money_kind(parsed)


_COLD: Final = re.compile(r"(?:[kM]?BTU|TR|tons?|MBH)(?![a-z])", re.I)


def _ratio_kind(unit: str) -> str:
    """Return whether a ratio is of electricity to cold, as kW/ton, or of cold to electricity."""
    above, _, below = unit.partition("/")
    cold = (_COLD.match(above) is not None, _COLD.match(below) is not None)
    return {(False, True): "power_per_cold", (True, False): "cold_per_power"}.get(cold, "number")


def currency_of(unit: str) -> str | None:
    """Return the currency in a unit, None when there is none."""
    for name, _ in parse_unit(unit).dimension:
        if name in CURRENCIES:
            return name
    return None


def _money_kind(unit: Unit) -> str:
    currency = next((name for name, power in unit.dimension if name in CURRENCIES), None)
    if currency is None:
        return "other"
    for name, kind in (
        ("", "money"),
        ("/kWh", "price"),
        ("/m3", "volume_price"),
        ("/kg", "mass_price"),
        ("/kW", "capacity_price"),
        ("/kW/d", "capacity_price"),
        ("/cycle", "cycle_price"),
        ("/h", "timed_money"),
    ):
        if parse_unit(currency + name).dimension == unit.dimension:
            return kind
    return "other"


def amounts_in(text: str, start: int, end: int, currency: str | None) -> list[Amount]:
    """Return every number between two offsets with its unit, in order."""
    found: list[Amount] = []
    position = start
    while position < end:
        prefix, plain = _PREFIX.search(text, position, end), _SIGNED.search(text, position, end)
        if prefix is not None and (plain is None or prefix.start() <= plain.start()):
            amount = _prefixed(text, prefix, currency)
        elif plain is not None:
            amount = _suffixed(text, plain, currency)
        else:
            break
        found.append(amount)
        position = amount.span[1]
    return _inherit(text, found)


def _prefixed(text: str, match: re.Match[str], currency: str | None) -> Amount:
    unit = parse_unit(match["unit"]).text
    end = match.end()
    join = _JOIN.match(text, end)
    if join is not None and join[0].strip() != "*":
        below = _atom(text, join.end(), currency, below=True)
        if below is not None and _known(f"{unit}/{below[0]}"):
            unit, end = f"{unit}/{below[0]}", below[1]
    value = number_of((match["sign"] or "") + match["number"])
    return Amount(value, unit, kind_of(unit), (match.start(), end), text[match.start() : end])


def _suffixed(text: str, match: re.Match[str], currency: str | None) -> Amount:
    value = number_of((match["sign"] or "") + match["number"])
    rate = _PER_HOUR.match(text, match.end())
    if rate is not None:
        place = (match.start(), rate.end())
        return Amount(value, "1/h", kind_of("1/h"), place, text[slice(*place)])
    space = re.compile(r"[ \u00a0\u202f-]?\s?").match(text, match.end())
    read = read_unit(text, space.end() if space else match.end(), currency)
    unit, end = read if read is not None else ("", match.end())
    if unit == "h" and re.match(r"\s+by\s+hour", text[end:]):
        unit, end = "", match.end()  # 'covers 2025 hour by hour'
    return Amount(value, unit, kind_of(unit), (match.start(), end), text[match.start() : end])


_PER_HOUR = re.compile(r"\s+(?:per|an|each)\s+hour(?![\w-])|\s?/\s?h(?![\w/])")
_LINK = re.compile(r"\s*(?:to|and|or|–|-|…|,|/|, and|,\s*and)\s*")


def _inherit(text: str, found: list[Amount]) -> list[Amount]:
    """Give numbers of a range or a list the unit that stands after its last one."""
    result = list(found)
    for i in range(len(found) - 2, -1, -1):
        here, after = result[i], result[i + 1]
        between = text[here.span[1] : after.span[0]]
        if here.unit or not after.unit or not _LINK.fullmatch(between):
            continue
        if kind_of(after.unit) in ("duration", "number", "cycles", "other", "area"):
            continue
        value = here.value
        result[i] = replace(here, value=value, unit=after.unit, kind=after.kind)
    return result
