"""Columns of files and tables, and lists in the text, as the series that components need."""

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from engiagent.agents.offline.amounts import Amount, currency_of, kind_of, read_unit
from engiagent.agents.offline.cards import lexicon
from engiagent.agents.offline.draft import Draft, Json, Value
from engiagent.agents.offline.grids import Column, Grid
from engiagent.agents.offline.tokens import Token
from engiagent.blueprint.units import CURRENCIES

_OWN: Final = {
    "import_price": ("site", "import_price"),
    "export_price": ("site", "export_price"),
    "price": ("site", "price"),
    "load": ("load", "power"),
    "pv": ("pv", "available_power"),
    "ambient": ("zone", "ambient_temperature"),
    "cop": ("heater", "cop"),
    "gains": ("zone", "gains"),
}
_UNIT_WORDS: Final = re.compile(r"(?:\bin\s+|[(\[,:]\s*|\bunit:?\s+)(?=\S)")
_UNUSED: Final = re.compile(
    r"(?:not (?:needed|used|relevant|required)|ignore|irrelevant|for information|no role|unused)"
)


def read_columns(draft: Draft, columns: list[Column], currency: str | None) -> None:
    """Give every column a meaning, or report that it has none."""
    for column in columns:
        words = _plain(column.name)
        after, told = description(draft, column)
        unit = column.unit or _unit_in(after, currency)
        named = _role(words, unit)
        if not unit and named != "cop":
            unit = _unit_in(told, currency) or _unit_in(column.words, currency)
        role = named if named == "cop" else _role(words, unit)
        role = role or _role(_plain(told), unit) or _role(_plain(column.words), unit)
        prices = [c for c in columns if c.unit and kind_of(c.unit) == "price"]
        if role is None and unit and kind_of(unit) == "price" and len(prices) < 2:
            role = "price"
        other = _other_currency(draft, column.unit)
        if other is not None:
            _report(draft, column, f"its prices are in {column.unit}, the text speaks of {other}")
            continue
        if role is None:
            _unknown(draft, column, told, unit)
            continue
        unit = unit or {"cop": "1"}.get(role, "")
        if not unit:
            draft.notes.append(f"column {column.name}: its unit is not given")
            _report(draft, column, "the unit of this column is not given")
            continue
        value = Value(
            unit,
            column.source,
            numbers=column.numbers,
            data=column.data,
            expression="x0/dt(t)" if kind_of(unit) == "energy" else "x0",
        )
        add(draft, role, value, column)


def _other_currency(draft: Draft, unit: str) -> str | None:
    """Return another currency in which the text gives prices than the one of a column."""
    if not unit or kind_of(unit) != "price":
        return None
    for line in draft.lines:
        if "price" in line.line or "tariff" in line.line:
            found = re.findall(
                rf"(?<![A-Za-z])({'|'.join(CURRENCIES)})(?![A-Za-z])", line.sentence.text
            )
            wrong = [str(name) for name in found if name != currency_of(unit)]
            if wrong:
                return wrong[0]
    return None


def add(draft: Draft, role: str, value: Value, column: Column) -> None:
    """Note a series, or report that there are two for one thing."""
    key = _OWN[role]
    if key in draft.series and draft.series[key] != value:
        _report(draft, column, f"there are two series for {key[1].replace('_', ' ')}")
        return
    draft.series[key] = value


def _plain(text: str) -> str:
    spaced = re.sub(r"([a-z])([A-Z])", r"\1 \2", text)
    return re.sub(r"[_\W]+", " ", spaced).lower().strip()


def _role(words: str, unit: str) -> str | None:
    """Return what a series is by its words and its unit, None when that is not clear."""
    kind = kind_of(unit) if unit else None
    hits = [
        role
        for role, (kinds, regex) in lexicon().series.items()
        if (kind is None or kind in kinds) and regex.search(words)
    ]
    if "import_price" in hits and "export_price" in hits:
        return None
    for special in ("import_price", "export_price"):
        if special in hits and (kind == "price" or "price" in hits):
            return special
    hits = [h for h in hits if h not in ("import_price", "export_price")]
    if "price" in hits and kind is None and len(hits) > 1:
        hits = ["price"]
    if "gains" in hits and "pv" in hits and re.search(r"gain", words):
        return "gains"
    return hits[0] if len(hits) == 1 else None


def description(draft: Draft, column: Column) -> tuple[str, str]:
    """Return what the text says about a column: behind its name, and around it or its file's."""
    behind: list[str] = []
    near: list[str] = []
    wide: list[str] = []
    file = str(column.data or "").split("#")[0]
    for n, line in enumerate(draft.lines):
        codes = [i for i, t in enumerate(line.tokens) if t.kind == "code"]
        for k, i in enumerate(codes):
            name = line.tokens[i].text
            after = codes[k + 1] if k + 1 < len(codes) else len(line.tokens)
            before = codes[k - 1] + 1 if k else 0
            if name in (column.name, bare_name(column.name)):
                # 'the outdoor temperature (`t_out`)' stands before the name, '`t_out`: …' behind.
                first = i > 0 and line.tokens[i - 1].text == "("
                inside = _closing(line.tokens, i, after) if first else after
                text = _source_text(draft, n, i + 1, inside)
                if k and line.tokens[codes[k - 1] - 1].text == "(":
                    before = min(_closing(line.tokens, codes[k - 1], i) + 1, i - 1)
                behind.append(f"{_source_text(draft, n, before, i - 1)} {text}" if first else text)
                near.append(_source_text(draft, n, before, i))
                draft.take(n, [i])
            elif file and name == file:
                behind += _piece_of(_source_text(draft, n, i + 1, after), column.name)
                wide.append(_source_text(draft, n, i + 1, after))
                wide.append(_source_text(draft, n, before, i))
                draft.take(n, [i])
    return "; ".join(behind), "; ".join([*behind, *near, *wide])


def bare_name(header: str) -> str:
    """Return the name in a header without the unit in brackets behind it."""
    return re.sub(r"\s*[\[(][^\[\]()]*[\])]\s*$", "", header)


def _closing(tokens: Sequence[Token], i: int, stop: int) -> int:
    """Return where the bracket that holds a token closes, ``stop`` at the latest."""
    return next((k for k in range(i + 1, stop) if tokens[k].text == ")"), stop)


def _piece_of(text: str, name: str) -> list[str]:
    """Return the one item of a list behind a file's name that shares a word with a column's name.

    'day.csv holds the outdoor temperature (°C), the price (ct/kWh)' says which unit is whose.
    """
    words = [w for w in re.split(r"[^a-z]+", name.lower()) if len(w) > 3]
    parts = re.split(r"[,;:](?!\d)| and (?=the |a |an |its |what )", text)
    pieces = [p for p in parts if p.strip()]
    fits = [p for p in pieces if any(re.search(rf"\b{w}", p.lower()) for w in words)]
    return fits if len(fits) == 1 and len(pieces) > 1 else []


def _source_text(draft: Draft, line: int, start: int, stop: int) -> str:
    tokens = draft.lines[line].tokens
    if start >= stop or start >= len(tokens):
        return ""
    end = tokens[stop].span[0] if stop < len(tokens) else draft.lines[line].sentence.span[1]
    return draft.text[tokens[start].span[0] : end].replace("`", " ").replace("\n", " ")


def with_unit_above(grid: Grid, above: str, currency: str | None) -> Grid:
    """Give the only column without a unit that of the sentence right above the table.

    'The prices are (in ct/kWh):' says it where one column has none and the sentence names one unit.
    """
    bare = [column for column in grid.columns if not column.unit]
    unit = _unit_in(above, currency)
    words = (match.start() for match in re.finditer(r"(?<![\w/])(?=[^\W\d_]|[€$£%°])", above))
    named = {
        found[0]
        for start in words
        if (found := read_unit(above, start, currency)) is not None
        and kind_of(found[0]) not in ("duration", "number", "other")
    }
    if len(bare) != 1 or named != {unit}:
        return grid
    columns = tuple(replace(c, unit=unit) if c is bare[0] else c for c in grid.columns)
    return replace(grid, columns=columns)


def _unit_in(text: str, currency: str | None) -> str:
    """Return the first unit that stands in a text after 'in', a bracket or a comma."""
    for match in _UNIT_WORDS.finditer(text):
        found = read_unit(text, match.end(), currency)
        if found is not None and kind_of(found[0]) not in ("duration", "number", "other", "money"):
            return found[0]
    return ""


def _unknown(draft: Draft, column: Column, told: str, unit: str) -> None:
    kind = kind_of(unit) if unit else ""
    if _UNUSED.search(told.lower()):
        draft.notes.append(f"column {column.name} is not used: the text says so")
        return
    if kind in ("price", "power", "energy", "temperature", "number", "percent", ""):
        _report(draft, column, "nothing in the engine takes this column")
        return
    draft.notes.append(f"column {column.name} is not used: nothing here is measured in {unit}")


def _report(draft: Draft, column: Column, reason: str) -> None:
    from engiagent.agents.offline.results import NotUnderstood

    first = column.source[0] if isinstance(column.source, list) else column.source
    span = first.get("span", [0, 0])
    draft.not_understood.append(
        NotUnderstood(f"column {column.data or column.name}", (span[0], span[1]), reason)
    )


# --- lists in the text ---------------------------------------------------------------------------


def read_lists(draft: Draft, currency: str | None) -> dict[int, int]:
    """Read lists such as 'prices are 20, 18, 25 EUR/MWh'; return their lengths by line."""
    lengths: dict[int, int] = {}
    for n, line in enumerate(draft.lines):
        for i, token in enumerate(line.tokens):
            if token.kind != "list" or draft.is_taken(n, i):
                continue
            unit = token.amounts[0].unit
            here = draft.text[line.sentence.span[0] : token.span[0]]
            context = " ".join((line.sentence.heading, line.sentence.lead, here))
            unit = unit or _last_unit(here, currency) or _last_unit(context, currency)
            role = _role(_plain(_clause(here)), unit) or _role(_plain(context), unit)
            if role is None or not unit:
                continue
            value = _listed(token, unit)
            column = Column(role, "", unit, value.source, count=len(token.amounts))
            add(draft, role, value, column)
            draft.take(n, [i])
            lengths[n] = len(token.amounts)
    return lengths


def _clause(text: str) -> str:
    return re.split(r"[;.]", text)[-1]


def _last_unit(text: str, currency: str | None) -> str:
    found = ""
    for match in _UNIT_WORDS.finditer(text):
        unit = read_unit(text, match.end(), currency)
        if unit is not None and kind_of(unit[0]) not in ("duration", "number", "other", "money"):
            found = unit[0]
    return found


def _listed(token: Token, unit: str) -> Value:
    def source(amount: Amount) -> Json:
        return {"kind": "text", "span": list(amount.span), "quote": amount.quote}

    return Value(
        unit,
        [source(a) for a in token.amounts],
        numbers=tuple(a.value for a in token.amounts),
    )
