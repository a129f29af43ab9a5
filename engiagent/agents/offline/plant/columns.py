"""Columns of files and tables, and lists in sentences, as series of units."""

import re
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final

from engiagent.agents.offline.amounts import Amount, kind_of, read_unit
from engiagent.agents.offline.draft import Draft, Value
from engiagent.agents.offline.grids import Column
from engiagent.agents.offline.passages import Sentence
from engiagent.agents.offline.plant.language.reading import plain_text, score_of
from engiagent.agents.offline.plant.language.words import Marked, group, mark, vocabulary
from engiagent.agents.offline.plant.spaces.slopes import weather_role
from engiagent.agents.offline.plant.spaces.zonecolumns import zone_place
from engiagent.agents.offline.plant.units import Instance, Plant, nouns
from engiagent.agents.offline.results import NotUnderstood
from engiagent.agents.offline.series import _unit_in, description
from engiagent.agents.offline.tokens import Line, Token, tokenise


def marked_text(text: str, plant: Plant | None = None) -> Marked:
    """Return the concepts of a header or another text that stands alone."""
    line = tokenise(text, Sentence((0, len(text)), text, 0, "", "", False), None)
    return mark(line, vocabulary(nouns(plant), plant.concepts if plant is not None else None))


def consumes(name: str) -> bool:
    """Whether a header names nothing but consumers, as 'cranes and huts'."""
    words = set(plain_text(name).split()) - {"and", "the", "of"}
    return bool(words) and words <= group("consumers")


def read_series(
    draft: Draft,
    plant: Plant,
    columns: Sequence[Column],
    currency: str | None,
    settled: Mapping[str, tuple[str, str]] = MappingProxyType({}),
) -> None:
    """Give every column a slot, or report that it has none; ``settled`` are known by name."""
    for column in columns:
        unit, texts = _texts(draft, column, currency)
        found = described_place(draft, plant, column, currency)
        if found is None and column.name in settled:
            owner, slot = settled[column.name]
            found = next(i for i in plant.instances if i.name == owner), slot
        if found is None:
            marked = [marked_text(text.lower(), plant) for text in texts]
            found = zone_place(draft, plant, column, unit, marked)
        if found is None:
            found = _bare_price(draft, plant, columns, column, unit)
        role = weather_role(" ".join(texts[:2]).lower()) if unit else None
        if found is None and role is not None and kind_of(unit) == "temperature":
            value = Value(unit, column.source, numbers=column.numbers, data=column.data)
            draft.series.setdefault(("weather", role), value)
            continue
        if found is None or not unit:
            _refuse(draft, column, unit)
            continue
        instance, slot = found
        value = Value(
            unit,
            column.source,
            numbers=column.numbers,
            data=column.data,
            expression="x0/dt(t)" if kind_of(unit) == "energy" else "x0",
        )
        _settle(draft, instance, slot, value, column)


_UNIT_WORDS: Final = frozenset(
    ("eur", "usd", "gbp", "ct", "cent", "cents", "euro", "euros", "dollar", "dollars", "per", "kwh",
     "mwh")
)  # fmt: skip


def _bare_price(
    draft: Draft, plant: Plant, columns: Sequence[Column], column: Column, unit: str
) -> tuple[Instance, str] | None:
    """Return the place of the one column of prices whose head is its unit: what is bought costs it.

    Where the text speaks of selling, or of fuel, it may be the price of that.
    """
    words = set(plain_text(column.name).split())
    prices = [c for c in columns if c is column or (c.unit and kind_of(c.unit) == "price")]
    grids = plant.of("grid")
    if not unit or kind_of(unit) != "price" or not words <= _UNIT_WORDS or len(prices) > 1:
        return None
    lines = (line for line in draft.lines if not line.sentence.is_heading)
    said = frozenset().union(*(marked_text(line.line, plant).said() for line in lines))
    bought = {"price", "electric"} <= said and not said & {"export", "spot", "@fuel"}
    return (grids[0], "import_price") if len(grids) == 1 and bought else None


def _texts(draft: Draft, column: Column, currency: str | None) -> tuple[str, list[str]]:
    """Return a column's unit and the texts that may say what it is, its name first."""
    behind, around = description(draft, column)
    head = "demand" if consumes(column.name) else plain_text(column.name)
    sunny = column.unit and kind_of(column.unit) in ("power", "energy")
    head = "solar" if sunny and head in ("sun", "sunshine") else head
    texts = [head, behind, around, column.words]
    unit = column.unit or _unit_in(behind, currency) or _unit_in(around, currency)
    return ("1" if not unit and "cop" in texts[0].split() else unit), texts


def described_place(
    draft: Draft, plant: Plant, column: Column, currency: str | None
) -> tuple[Instance, str] | None:
    """Return the unit and slot of a column by its name and what the text says of it."""
    unit, texts = _texts(draft, column, currency)
    places = (_place(plant, text.lower(), unit) for text in texts)
    return next((found for found in places if found is not None), None)


def _settle(draft: Draft, instance: Instance, slot: str, value: Value, column: Column) -> None:
    key = (instance.name, slot)
    if key in draft.series:
        _report(draft, column, f"there are two series for {slot.replace('_', ' ')}")
        return
    draft.series[key] = value


_MAKERS: Final = {
    "electric": ("genset", "chp", "pv", "wind", "battery"),
    "heat": ("boiler", "heat_pump", "electric_heater", "chp", "heat_store"),
    "cool": ("chiller", "cold_store"),
}
_TONS: Final = re.compile(r"(?:[kM]?BTU|TR|tons?)(?![a-z])", re.I)


def bare_demand(plant: Plant, unit: str) -> str:
    """Return what a column that is only called load or demand is of: electric, heat or cool.

    It is what the units of the plant make, if they make one thing.
    """
    kinds = {i.unit.component for i in plant.instances}
    made = [what for what, makers in _MAKERS.items() if kinds & set(makers)]
    if unit and _TONS.match(unit) and "cool" in made:
        return "cool"
    return made[0] if len(made) == 1 else "electric"


def _place(plant: Plant, text: str, unit: str) -> tuple[Instance, str] | None:
    """Return the unit and slot that a column's words speak of; None when that is not clear."""
    if not text.strip() or not unit:
        return None
    marked = marked_text(re.sub(r"`", " ", text), plant)
    said = frozenset(marked.said() - {"each", "must", "may", "import"}) | (
        marked.said() & {"import"}
    )
    named = {c[1:] for c in said if c.startswith("@")}
    if "demand" in said and not named and not said & {"heat", "cool", "electric"}:
        said |= {bare_demand(plant, unit)} - {"electric"}
    kind = kind_of(unit)
    if kind == "price" and "peakcharge" in said:
        said = (said - {"peakcharge"}) | {"price"}  # a 'power price' in EUR/MWh
    scored: list[tuple[int, Instance, str]] = []
    for instance in plant.instances:
        component = instance.unit.component
        site = bool(instance.unit.card.get("site"))
        if component not in named and not site and not _alone(plant, instance, named):
            continue
        plain = not site and component not in named and kind == "price"
        if plain and plant.of("grid") and not re.search(r"cost|generat|marginal|fuel", text):
            continue  # a price that is not said to be of a machine is that of the market
        several = component in named and len(plant.of(component)) > 1
        if several and not instance.finder.search(plain_text(text)):
            continue
        for name, slot in instance.unit.slots.items():
            if not slot.options.get("series") or kind not in slot.kinds:
                continue
            says = instance.unit.says[name]
            score = score_of(component, says.needs, says.may, said, "value")
            if score is not None and (score > 0 or component in named):
                scored.append((2 * score + (component in named), instance, name))
    bare = said in ({"heat"}, {"cool"}) and kind in ("power", "energy")
    for load, slot_name in (("heat_load", "heat"), ("cooling_load", "cooling")) if bare else ():
        # A column that is called heat alone is the heat that is wanted, where heat is wanted.
        wanted = {"heat_load": "heat", "cooling_load": "cool"}[load] in said
        scored += [(1, i, slot_name) for i in plant.of(load) if wanted and not scored]
    scored.sort(key=lambda s: -s[0])
    if not scored or (len(scored) > 1 and scored[0][0] == scored[1][0]):
        return None
    return scored[0][1], scored[0][2]


def _alone(plant: Plant, instance: Instance, named: set[str]) -> bool:
    """Whether a column that names no unit may be of this one: the only one that switches or turns.

    A column 'cop' needs no more words in a plant with one heat pump.
    """
    others = [
        i for i in plant.instances if not i.unit.card.get("site") and i.unit.card.get("output")
    ]
    return not named and others == [instance]


def _refuse(draft: Draft, column: Column, unit: str) -> None:
    kind = kind_of(unit) if unit else ""
    if kind in ("price", "power", "energy", "temperature", "number", "percent", "intensity", ""):
        reason = "nothing in the engine takes this column"
        _report(draft, column, reason if unit else "the unit of this column is not given")
        return
    draft.notes.append(f"column {column.name} is not used: nothing here is measured in {unit}")


def _report(draft: Draft, column: Column, reason: str) -> None:
    first = column.source[0] if isinstance(column.source, list) else column.source
    span = first.get("span", [0, 0])
    draft.not_understood.append(
        NotUnderstood(f"column {column.data or column.name}", (span[0], span[1]), reason)
    )


def read_lists(draft: Draft, plant: Plant, currency: str | None) -> list[int]:
    """Read lists such as 'the load is 20, 18, 25 kW' as series; return their lengths."""
    lengths = []
    for n, line in enumerate(draft.lines):
        lists = [i for i, t in enumerate(line.tokens) if t.kind == "list"]
        if not lists or line.sentence.is_heading:
            continue
        start, since = line.sentence.span[0], 0
        for i in lists:
            token = line.tokens[i]
            here = draft.text[start : token.span[0]]
            unit = token.amounts[0].unit or _unit_before(here, currency)
            last = re.split(r"(?:,|;|\band\b|\bwhile\b|\bbut\b)(?=\s+(?:the|our|its|an?)\b)", here)[
                -1
            ]
            open_words = [
                t.text for k, t in enumerate(line.tokens[since:i], since)
                if t.kind in ("word", "mark") and not draft.is_taken(n, k)
            ]  # fmt: skip
            start, since = token.span[1], i + 1
            texts = (here, last, " ".join(open_words), f"{line.sentence.lead} {here}")
            found = next((p for t in texts if (p := _place(plant, t.lower(), unit))), None)
            if found is None:
                continue
            sources = [_source(a) for a in token.amounts]
            value = Value(unit, sources, numbers=tuple(a.value for a in token.amounts))
            column = Column(found[1], "", unit, sources, count=len(token.amounts))
            _settle(draft, found[0], found[1], value, column)
            draft.take(n, _clause(line.tokens, i))
            draft.take(n, _over(line, i))
            lengths.append(len(token.amounts))
    return lengths


def _clause(tokens: Sequence[Token], i: int) -> range:
    first = i
    while (
        first > 0 and tokens[first - 1].kind in ("word", "mark") and tokens[first - 1].text != ";"
    ):
        first -= 1
    return range(first, i + 1)


_OVER: Final = re.compile(
    r" (?:in|over|for|during) (?:the|these|those|all) <number#(?P<n>\d+)> (?:hours|half hours"
    r"|quarter hours|periods|steps)(?![a-z])"
)


def _over(line: Line, i: int) -> range:
    """Return the words behind a list that say for how many periods it is, if they are right."""
    start = line.line.find(">", line.starts[i]) + 1
    match = _OVER.match(line.line, start)
    count = line.tokens[int(match["n"])].amount if match is not None else None
    if match is None or count is None or count.value != len(line.tokens[i].amounts):
        return range(0)
    return line.covered(match.start() + 1, match.end())


def _source(amount: Amount) -> dict[str, object]:
    return {"kind": "text", "span": list(amount.span), "quote": amount.quote}


def _unit_before(text: str, currency: str | None) -> str:
    unit = _unit_in(text, currency)
    if unit:
        return unit
    for match in re.finditer(r"\(([^()]+)\)", text):
        found = read_unit(match[1], 0, currency)
        if found is not None:
            return found[0]
    return ""
