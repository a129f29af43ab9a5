"""Arguments of tools: from the table ``arguments.txt``, and from the tables of slots of models.

Unit, range, default and meaning of an argument that is a slot are those of the slot. What a
configuration holds of their values is written by :func:`filled`.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Any, Final

from engiagent.errors import InputError
from engiagent.io.schemawords import FLAG, Json
from engiagent.plant.slots import YES_NO
from engiagent.plant.source import FormError, nearest
from engiagent.plant.values import Column, Quantity, pieces
from engiagent.slots import COMPONENTS, Slot
from engiagent.tools.registry import Argument
from engiagent.units.unit import convert, parse_unit
from engiagent.units.words import Conventions

ID: Final[Json] = {"type": "string", "pattern": "^[A-Za-z][A-Za-z0-9_]*$", "maxLength": 60}
_TEXT: Final[Json] = {"type": "string", "minLength": 1, "maxLength": 200}
_PAIR: Final[Json] = {"type": "string", "pattern": r"^\w+ ?=.+$"}
_ENTRY: Final[Json] = {"type": "string", "pattern": r"^[\w.-]+ ?= ?.+$"}
_DATE: Final = r"^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d)?)?$"
_SEVERAL: Final[Json] = {"type": "array", "minItems": 1, "maxItems": 200}
_KINDS: Final[dict[str, Json]] = {
    "id": ID,
    "ids": {**_SEVERAL, "items": ID},
    "text": _TEXT,
    "texts": {**_SEVERAL, "items": _TEXT},
    "pairs": {**_SEVERAL, "items": _PAIR},
    "entries": {**_SEVERAL, "items": _ENTRY},
    "sql": {"type": "string", "minLength": 1, "maxLength": 10_000},
    "numbers": {"type": "array", "minItems": 1, "maxItems": 1000, "items": {"type": "number"}},
    "flag": FLAG,
    "date": {"type": "string", "pattern": _DATE},
}
_LINE: Final = re.compile(r"(\w+)(!?): (\S+)(?: (>?)([-\d.]*?)\.\.(<?)(\d*))?; (.+)")


@cache
def _blocks(pack: str) -> dict[str, str]:
    text = files(f"engiagent.tools.{pack}").joinpath("arguments.txt").read_text("utf-8")
    parts = (part.partition("\n") for part in text.split("\n== ")[1:])
    return {name: lines for name, _, lines in parts}


def stated(*blocks: str, pack: str = "site") -> tuple[Argument, ...]:
    """Return the arguments of some blocks of a pack's table."""
    lines = (line for block in blocks for line in _blocks(pack)[block].splitlines() if line)
    return tuple(map(_argument, lines))


def _argument(line: str) -> Argument:
    found = _LINE.fullmatch(line)
    if found is None:
        raise ValueError(f"no argument: {line}")
    name, need, kind, above, least, below, most, about = found.groups()
    if kind in _KINDS or "|" in kind:
        schema = _KINDS.get(kind) or {"enum": kind.split("|")}
        return Argument(name, schema, about, required=bool(need))
    number = int if kind == "count" else float
    limits: Json = {"exclusiveMinimum" if above else "minimum": number(least)} if least else {}
    limits |= {"exclusiveMaximum" if below else "maximum": number(most)} if most else {}
    if kind == "count":
        return Argument(name, {"type": "integer", **limits}, about, required=bool(need))
    return Argument(name, {"type": "number", **limits}, about, kind, bool(need))


def entries(given: Sequence[str] | None) -> dict[str, str]:
    """Return NAME=VALUE entries as a mapping; InputError when a name stands twice."""
    found: dict[str, str] = {}
    for name, _, value in (text.partition("=") for text in given or ()):
        if (known := name.strip().lower()) in found:
            raise InputError(f"{known} stands twice", found="; ".join(given or ()), expected="once")
        found[known] = value.strip()
    return found


# -- slots of models ------------------------------------------------------------------------------

_NESTED: Final = ("rc_network", "feeder")
"""Models that flat arguments cannot state; a plant file that config_load reads can."""


def _models(*groups: str, beside: Sequence[str] = ()) -> tuple[str, ...]:
    found = (name for name, model in COMPONENTS.items() if model.group in groups)
    return tuple(name for name in found if name not in (*_NESTED, *beside))


_SITE: Final = "Supply, demand and their flexibility"
THERMAL: Final = ("thermal_zone", "zone_5r1c")
ELECTRICAL: Final = ("load", "curtailable_load", "shiftable_load")
WATER: Final = ("hot_water_tank", "load")
HVAC: Final = (*_models("Heat and cold"), *_models("Buildings", beside=THERMAL))
DER: Final = (*_models("Generation"), *_models(_SITE, beside=("grid", *ELECTRICAL)))

_COMMON: Final = frozenset(
    (
        *("cop", "carnot_fraction", "electric_power_max", "power_max", "minimum_part_load"),
        *("source_temperature", "sink_temperature", "leaving_temperature", "entering_temperature"),
        *("heating_power_max", "cooling_power_max", "charge_power_max", "discharge_power_max"),
        *("charge_efficiency", "discharge_efficiency", "self_discharge", "ac_capacity", "losses"),
        *("curtailable", "wear_cost", "start_cost", "import_power_max", "export_power_max"),
        *("resistance", "gains", "internal_gains", "solar_gains"),
    )
)
"""Beside required slots those with an argument of their own; all others are given by `others`."""


# Conversations are recorded without the limits of these, which are kept all the same.
_UNLIMITED: Final = {
    "battery": "charge_power_max discharge_power_max charge_efficiency discharge_efficiency",
    "chiller": "electric_power_max",
    "grid": "import_power_max export_power_max",
    "ice_tank": "initial_energy self_discharge",
    "thermal_store": "initial_energy self_discharge",
    "thermal_zone": "capacitance resistance heating_power_max cooling_power_max",
}


def slot_arguments(models: Sequence[str], *without: str) -> tuple[Argument, ...]:
    """Return the arguments that slots of some models are: those required, and common ones."""
    found: dict[str, list[Slot]] = {}
    for model in models:
        for name, slot in COMPONENTS[model].slots.items():
            found.setdefault(name, []).append(slot)
    chosen = {
        name: slots
        for name, slots in found.items()
        if name not in without
        and not any(slot.table or slot.also for slot in slots)
        and (name in _COMMON or any(slot.required for slot in slots))
    }
    return tuple(_slot_argument(name, slots) for name, slots in chosen.items())


def _slot_argument(name: str, slots: Sequence[Slot]) -> Argument:
    """Return the argument of a slot that several models have; its range is the widest."""
    slot = next((s for s in slots if s.series), slots[0])
    if isinstance(slot.default, bool):
        return Argument(name, {"type": "boolean"}, f"{slot.meaning}; {slot.usual} without it.")
    schema: Json = {"type": "number"}
    recorded = [COMPONENTS[m].slots[n] for m, own in _UNLIMITED.items() for n in own.split()]
    for key, limit, widest in (
        ("minimum", "at_least", min),
        ("exclusiveMinimum", "above", min),
        ("maximum", "at_most", max),
    ):
        limits = [getattr(s, limit) for s in slots]
        if None not in limits and slot not in recorded:
            schema[key] = widest(limits)
    about = slot.meaning
    if slot.series:
        text = {"type": "string", "pattern": "#", "description": "a column, as load.csv#power"}
        schema = {"anyOf": [schema, text]}
        about += ", a number or a column of a file as load.csv#power"
    alike = slot.usual and len({s.usual for s in slots}) == 1
    usual = f"; {slot.usual} without it" if alike else ""
    return Argument(name, schema, f"{about}{usual}.", unit=slot.unit)


def described(model: str) -> Iterator[Json]:
    """Yield name, unit, range, default and meaning of the slots, options and buses of a model."""
    known = COMPONENTS[model]
    for name, slot in known.slots.items():
        about: Json = {"name": name, "unit": slot.unit, "range": slot.range, "kind": slot.kind}
        yield {**about, "required": slot.required, "default": slot.usual, "meaning": slot.meaning}
    for name, meaning in known.connections.items():
        yield {"name": name, "kind": "connection", "meaning": meaning}
    for name, words in known.options.items():
        if name not in known.slots:
            yield {"name": name, "kind": "option", "meaning": ", ".join(words)}


def filled(model: str, given: Mapping[str, Any], others: Iterable[str], currency: str) -> Json:
    """Return the entries of a component of a plant file, from arguments and further texts.

    Raises InputError for what the model does not have, is out of its range or of another dimension.
    """
    known = COMPONENTS[model]
    further = (text.partition("=") for text in others)
    pairs = {**given, **{name.strip(): value.strip() for name, _, value in further}}
    names = (*known.slots, *known.connections, *known.options)
    found: Json = {}
    for name, value in pairs.items():
        if name in known.slots:
            found[name] = _value(f"{model}.{name}", known.slots[name].in_currency(currency), value)
        elif name in names:
            found[name] = YES_NO.get(str(value).lower(), value)
        else:
            raise InputError(f"{model} has no slot {name!r}", expected=nearest(name, names))
    return found


def refuse_lacking(model: str, name: str, entry: Mapping[str, Any], driven: Iterable[str]) -> None:
    """Refuse a component without a slot that it has to have, unless something drives it."""
    for slot, known in COMPONENTS[model].slots.items():
        if known.required and slot not in entry and slot not in driven:
            expected = f"{slot}, {known.wanted}: {known.meaning}"
            raise InputError(f"{name} ({model}): {slot} is not given", expected=expected)


def _value(place: str, slot: Slot, value: Any) -> Any:
    """Return what stands in a plant file for a value of a slot."""
    if isinstance(value, bool):
        return value
    if isinstance(value, int | float):
        return _number(place, slot, float(value))
    if slot.table:
        return [_read(place, slot, part) for part in str(value).split(",")]
    return _read(place, slot, str(value))


def _number(place: str, slot: Slot, number: float) -> Any:
    if not slot.allows(number):
        raise InputError(f"{place} is out of its range", found=f"{number:g}", expected=slot.range)
    return _shown(number) if slot.unit == "1" else f"{_shown(number)} {slot.unit}"


def _shown(number: float) -> Any:
    return int(number) if number.is_integer() and abs(number) < 1e15 else number


def _read(place: str, slot: Slot, text: str) -> Any:
    """Return a quantity in the slot's unit, or a column as it is written."""
    if slot.unit == "1" and text.lower() in YES_NO:
        return YES_NO[text.lower()]
    try:
        found = pieces(text.strip(), Conventions())
    except FormError as error:
        said = f"{place}: {error.message}"
        raise InputError(said, found=text, expected=error.expected) from None
    match found:
        case [Quantity(unit=None) as one]:
            return _number(place, slot, one.number)
        case [Quantity(unit=unit) as one] if str(unit) == "%" and slot.unit != "1":
            return f"{_shown(one.number)} %"
        case [Quantity(unit=unit) as one] if unit is not None and slot.counts(str(unit)) == 0:
            return _number(place, slot, convert(one.number, unit, parse_unit(slot.unit)))
        case [Quantity(unit=unit)] if unit is not None and slot.counts(str(unit)) is None:
            said = f"{place}: {unit} is a unit of another dimension"
            raise InputError(said, found=text, expected=slot.wanted)
        case [Column()] if not slot.series:
            raise InputError(f"{place} is one number", found=text, expected=slot.wanted)
    return text
