"""Units of numbers that have none beside them: from a table, a sentence."""

from typing import Any

from engiagent.units.unit import Unit, parse_unit
from engiagent.units.words import resolve_unit
from engiagent.verify.figures import lone_units, rate_of_things
from engiagent.verify.levels.sources import ProblemLike, Source, Span


def unit_elsewhere(problem: ProblemLike, leaf: Source, wanted: Unit) -> Unit | None:
    """Return the unit of a number that has none beside it."""
    return (
        _table_unit(problem, leaf)
        or _quantity_unit(problem, leaf, wanted)
        or _rate_of_things(problem, leaf)
        or _sentence_unit(problem, leaf, wanted)
    )


def _cell(problem: ProblemLike, span: Span) -> tuple[Any, Any, int] | None:
    """Return table, row and column of the cell in which a place of the text is."""
    for table in problem.tables:
        for row in table.rows:
            for place, cell in enumerate(row):
                if cell.span[0] <= span[0] and span[1] <= max(cell.span[1], cell.span[0] + 1):
                    return table, row, place
    return None


def _table_unit(problem: ProblemLike, leaf: Source) -> Unit | None:
    """Return the unit of a table's cell: from its row, or from its column's header."""
    found = None if leaf.span is None else _cell(problem, leaf.span)
    if leaf.kind != "table" or found is None:
        return None
    table, row, place = found
    if table.unit_column is None or table.unit_column == place:
        unit: Unit | None = table.units[place]
        return unit
    return resolve_unit(row[table.unit_column].text)


def _quantity_unit(problem: ProblemLike, leaf: Source, wanted: Unit) -> Unit | None:
    """Return the unit that stands elsewhere: ``kW`` for the 2 of ``from 2 to 8 kW``.

    A duration in the words before a list, as "kWh in each half hour: 3, 4", says nothing of it.
    """
    if leaf.span is None:
        return None
    timed = wanted.dimension == parse_unit("s").dimension
    for quantity in problem.quantities:
        if not timed and getattr(quantity, "kind", "number") == "duration":
            continue
        start, stop = getattr(quantity, "number_span", quantity.span)
        if start < leaf.span[1] and leaf.span[0] < stop and quantity.unit is not None:
            unit: Unit = quantity.unit
            return unit
    return None


def _rate_of_things(problem: ProblemLike, leaf: Source) -> Unit | None:
    """Return ``1/h`` for the 40 of ``40 points per hour``."""
    if leaf.kind == "table" or leaf.span is None:
        return None
    return rate_of_things(problem.text[leaf.span[1] : leaf.span[1] + 80])


def _sentence_unit(problem: ProblemLike, leaf: Source, wanted: Unit) -> Unit | None:
    """Return the one unit of the wanted kind that the sentence names apart from its numbers."""
    if leaf.span is None:
        return None
    tables = [t.span for t in problem.tables if t.span[0] <= leaf.span[0] < t.span[1]]
    whole = [s.span for s in problem.sentences if s.span[0] <= leaf.span[0] < s.span[1]]
    first, last = next(iter((*tables, *whole)), leaf.span)
    for sentence in problem.sentences:
        start, stop = sentence.span
        above = stop <= first and not problem.text[stop:first].strip()
        led = bool(tables) or problem.text[start:stop].rstrip().endswith(":")
        if (start <= first and last <= stop) or (above and led):
            named = {
                (unit.factor, unit.zero): unit
                for unit in lone_units(problem.text[start:stop], problem.text)
                if unit.dimension == wanted.dimension and unit.dimension
            }
            if len(named) == 1:
                return next(iter(named.values()))
    return None
