"""Level 1: whether the numbers of the blueprint are the numbers of the problem."""

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from engiagent.blueprint.document import Blueprint, ObjectiveDef, ParameterDef
from engiagent.blueprint.grammar import Ref, parse, walk
from engiagent.blueprint.units import Unit, UnitError, parse_unit
from engiagent.blueprint.values import FileColumn
from engiagent.errors import EngiagentError, InputError
from engiagent.files import open_inside
from engiagent.tabular import TableColumn, TableFile
from engiagent.verify import arithmetic, values
from engiagent.verify.alignment import at_periods
from engiagent.verify.columns import read_again
from engiagent.verify.documents import Bench, Declarations
from engiagent.verify.evaluate import Evaluator
from engiagent.verify.figures import Figure, figures, lone_units, only_currency, without_counts
from engiagent.verify.findings import Report
from engiagent.verify.frames import Environment, EvaluationError, Symbol
from engiagent.verify.levels.coverage import uncovered, used_names, written_in
from engiagent.verify.levels.literals import Tracing, check_literals, close_to
from engiagent.verify.levels.sources import (
    ProblemLike,
    Source,
    all_leaves,
    misquotation,
    read_sources,
    words_of,
)
from engiagent.verify.requirements import squeezed
from engiagent.verify.stampcolumns import text_stamps
from engiagent.verify.tolerances import TOLERANCES
from engiagent.verify.values import Floats


def check_data(
    problem: ProblemLike, blueprint: Blueprint, bench: Bench
) -> tuple[Report, list[str]]:
    """Return the outcome of level 1, and the requirement sentences nobody accounted for."""
    tracing = Tracing(problem)
    sources = {p.name: p.source_reference for p in blueprint.core.parameters}
    for definition in blueprint.core.parameters:
        _check_quotes(tracing, definition.name, definition.source_reference)
        try:
            _trace(tracing, definition, bench.declarations)
        except EngiagentError as error:
            tracing.open.append(f"{definition.name}: {error}")
    for name, reference, texts in _other_expressions(blueprint):
        _check_quotes(tracing, name, reference)
        for text in texts:
            check_literals(tracing, name, text, reference, sources)
    used = used_names(blueprint)
    tracing.open += [
        f"{p.name} is written down but used nowhere"
        for p in blueprint.core.parameters
        if p.name not in used and p.status != "missing"
    ]
    tracing.listed += [
        f"{c.constraint_id}: the constraint names no source in the text"
        for c in blueprint.core.constraints
        if c.source_reference is None and c.category != "Physical Laws"
    ]
    if blueprint.core.objective_function is not None:
        _check_sense(tracing, blueprint.core.objective_function)
    numbers, sentences = uncovered(problem, blueprint)
    tracing.open += numbers
    status = "fail" if tracing.violations else "unchecked" if tracing.open or sentences else "pass"
    body = {
        "findings": [*tracing.open, *[f"not accounted for: {s!r}" for s in sentences]],
        "assumptions": tracing.listed,
        "parameters": len(blueprint.core.parameters),
    }
    return Report(status, body, tuple(tracing.violations)), sentences


def _check_quotes(tracing: Tracing, name: str, reference: Any) -> None:
    for leaf in all_leaves(reference):
        wrong = misquotation(leaf, tracing.problem.text)
        if leaf.kind == "file" and leaf.quote is not None:
            wrong = _misquoted_file(leaf, tracing.problem.folder)
        if wrong is not None:
            tracing.accuse(name, wrong)


def _misquoted_file(leaf: Source, folder: Path) -> str | None:
    """Return what is wrong with words quoted from a line of a file beside the text."""
    file, row = str(leaf.fields.get("file")), leaf.fields.get("row")
    try:
        lines = open_inside(folder, file).decode("utf-8-sig", errors="replace").splitlines()
    except InputError as error:
        return f"its source cannot be read: {error}"
    first = row - 1 if isinstance(row, int) and row > 0 else 0
    count = str(leaf.quote).count("\n") + 1
    there = squeezed(" ".join(lines[first : first + count]))
    if squeezed(str(leaf.quote)) in there:
        return None
    return f"line {row} of {file} says {there[:60]!r}, not {squeezed(str(leaf.quote))[:60]!r}"


def _other_expressions(blueprint: Blueprint) -> Iterator[tuple[str, Any, list[str]]]:
    """Yield what else may hide a number: its name, its source and its expressions."""
    core = blueprint.core
    for constraint in core.constraints:
        texts = [t for t in (constraint.expression, constraint.where) if t is not None]
        texts += [] if constraint.penalty is None else [str(constraint.penalty.weight)]
        yield constraint.constraint_id, constraint.source_reference, texts
    if core.objective_function is not None:
        goal = core.objective_function
        yield "objective", goal.source_reference, written_in(goal)
        for term in goal.terms:
            yield f"objective {term.name}", term.source_reference, written_in(term)
    for variable in core.decision_variables:
        bounds = [str(b) for b in (variable.lower, variable.upper) if b is not None]
        yield variable.name, variable.source_reference, bounds
    for component in core.components:
        walls = component.connections.get("neighbours") if component.connections else None
        texts = [str(v) for v in [*component.parameters.values(), *(walls or {}).values()]]
        yield component.name, component.source_reference, texts
    for index_set in core.sets:
        yield index_set.name, index_set.source_reference, []


_LEAST = re.compile(
    r"\b(minimi[sz]\w*|cheapest|lowest|least|smallest|as (?:low|small|little|cheap) as)\b", re.I
)
_MOST = re.compile(
    r"\b(maximi[sz]\w*|highest|largest|greatest|most|best|as (?:high|large|much|great) as)\b", re.I
)


def _check_sense(tracing: Tracing, goal: ObjectiveDef) -> None:
    """Hold the objective's sense against the words that it rests on, where they say one."""
    words = " ".join(words_of(s, tracing.problem.text) for s in all_leaves(goal.source_reference))
    asks_least, asks_most = _LEAST.search(words), _MOST.search(words)
    if asks_least and not asks_most and goal.sense != "minimize":
        said = asks_least[0]
    elif asks_most and not asks_least and goal.sense != "maximize":
        said = asks_most[0]
    else:
        return
    tracing.open.append(f"the objective is to {goal.sense}, but the text says {said!r}")


# --- one parameter -----------------------------------------------------------------------------


def _trace(tracing: Tracing, definition: ParameterDef, declarations: Declarations) -> None:
    name, sources = definition.name, read_sources(definition.source_reference)
    if definition.status == "missing":
        return
    if definition.unit_override is not None:
        override = definition.unit_override
        tracing.listed.append(f"{name}: read in {override['unit']}, because {override['reason']}")
    if definition.data is not None:
        _trace_file(tracing, definition, declarations)
        return
    if isinstance(definition.value, str):
        _trace_expression(tracing, definition, sources)
        return
    if len(sources) == 1 and sources[0].kind == "file" and sources[0].quote is None:
        fields = sources[0].fields
        file, header = str(fields.get("file")), str(fields.get("column"))
        _compare_column(tracing, definition, declarations, file, header)
        return
    if not sources or any(source.kind == "untraced" for source in sources):
        tracing.open.append(f"{name} is untraced: nothing says where it comes from")
        return
    free = [source for source in sources if source.kind in ("assumption", "user")]
    if free:
        said = free[0].fields.get("reason") or free[0].fields.get("note") or "no reason given"
        tracing.listed.append(f"{name}: {free[0].kind}, {said}")
        return
    symbol = declarations.parameter(name)
    if symbol is None or symbol.value is None:
        return  # labels are not numbers
    related = _relation(sources)
    if related is not None:
        _trace_relation(tracing, name, related, symbol)
        return
    if any(source.kind == "derived" for source in sources):
        if any(name.startswith(f"{c.name}_") for c in declarations.core.components):
            # Executing the plan judges it: with another value the states would drift apart.
            tracing.listed.append(f"{name}: derived from its component, judged by execution")
            return
        tracing.open.append(f"{name} is derived, but no relation says how: unverified")
        return
    _compare_all(tracing, name, sources, symbol)


def _trace_file(tracing: Tracing, definition: ParameterDef, declarations: Declarations) -> None:
    """Read the column again and compare element by element."""
    name = definition.name
    file, _, header = str(definition.data).partition("#")
    for source in read_sources(definition.source_reference):
        other = source.fields.get("file"), source.fields.get("column")
        if source.kind == "file" and other != (file, header):
            tracing.accuse(name, f"its data are {definition.data}, its source says {other}")
    symbol = declarations.parameter(name)
    if symbol is None or symbol.value is None or declarations.folder is None:
        return
    again = read_again(definition, symbol.dims, symbol.value.unit, declarations.folder)
    _compare_arrays(tracing, name, symbol, again, str(definition.data))


def _compare_column(
    tracing: Tracing, definition: ParameterDef, declarations: Declarations, file: str, header: str
) -> None:
    from engiagent.tabular import read_table

    name = definition.name
    symbol = declarations.parameter(name)
    if symbol is None or symbol.value is None or declarations.folder is None:
        return
    table = read_table(declarations.folder, file)
    column = table.column(header)
    unit = symbol.value.unit
    if definition.unit_override is None and column.unit_text:
        unit = parse_unit(column.unit_text)
        if unit.dimension != symbol.value.unit.dimension:
            tracing.accuse(
                name, f"{file}#{header} is in {unit}, the blueprint reads {symbol.value.unit}"
            )
            return
    numbers, where = np.asarray(column.numbers(), dtype=np.float64), f"{file}#{header}"
    rule = read_sources(definition.source_reference)[0].fields.get("relation")
    if rule is not None:
        numbers = _at_periods(tracing, name, (table, column), numbers, symbol, str(rule))
        where += f", aligned by {rule!r},"
        tracing.listed.append(f"{name}: {file}#{header} is aligned with the periods by {rule!r}")
    again = values.constant(numbers, unit).data
    _compare_arrays(tracing, name, symbol, again, where)


def _at_periods(
    tracing: Tracing,
    name: str,
    source: tuple[TableFile, TableColumn],
    numbers: Floats,
    symbol: Symbol,
    rule: str,
) -> Floats:
    """Align a column with the periods once more, from its own time stamps."""
    stamps = FileColumn.of(*source).stamps
    axis = symbol.dims[0].root.axis if len(symbol.dims) == 1 else None
    found = None if stamps is None else text_stamps(
        stamps.texts(), lambda row, what: stamps.error(row, what), None
    )  # fmt: skip
    if found is None or axis is None:
        tracing.open.append(f"{name}: it is aligned with no periods that {source[0].name} has")
        return numbers
    return at_periods(numbers, found, axis, rule)


def _compare_arrays(
    tracing: Tracing, name: str, symbol: Symbol, source: Floats, where: str
) -> None:
    assert symbol.value is not None
    here = symbol.value.data
    if here.shape != source.shape:
        tracing.accuse(name, f"{here.size} values, but {where} has {source.size}")
        return
    off = ~(np.abs(here - source) <= TOLERANCES["parameter"] * np.maximum(abs(here), abs(source)))
    if off.any():
        row = int(np.argmax(off))
        unit = symbol.value.unit
        shown = symbol.value.shown
        there = unit.from_si(source[row])
        tracing.accuse(
            name, f"value {row + 1} is {shown[row]:.10g} {unit}, {where} says {there:.10g} {unit}"
        )


def _trace_expression(
    tracing: Tracing, definition: ParameterDef, sources: Sequence[Source]
) -> None:
    """Trace a parameter made of other parameters: its own numbers need a source, the rest has."""
    reference = definition.source_reference
    check_literals(tracing, definition.name, str(definition.value), reference, {})
    for source in sources:
        if source.kind in ("assumption", "user"):
            said = source.fields.get("reason") or source.fields.get("note") or "no reason given"
            tracing.listed.append(f"{definition.name}: {source.kind}, {said}")


# --- numbers of parameters ---------------------------------------------------------------------


def _compare_all(tracing: Tracing, name: str, sources: Sequence[Source], symbol: Symbol) -> None:
    """Compare one value with its sources, or many values with one source each."""
    assert symbol.value is not None
    shown, unit = symbol.value.shown, symbol.value.unit
    leaves = [leaf for source in sources for leaf in source.leaves()]
    if len(leaves) == 1 and len(shown) > 1 and leaves[0].kind == "table":
        leaves = _column_leaves(tracing.problem, leaves[0])
    if len(shown) > 1 and len(leaves) == len(shown):
        ordered = _by_label(leaves, symbol)
        for row, leaf in enumerate(ordered):
            _compare(tracing, f"{name}[{row + 1}]", float(shown[row]), unit, [leaf])
        return
    if len(shown) > 1 and not (shown == shown[0]).all():
        tracing.open.append(f"{name}: {len(shown)} values, but {len(leaves)} sources: unverified")
        return
    _compare(tracing, name, float(shown[0]), unit, leaves)


def _by_label(leaves: Sequence[Source], symbol: Symbol) -> list[Source]:
    """Put table cells into the order of the labels that their rows name."""
    if len(symbol.dims) != 1:
        return list(leaves)
    rows = {str(leaf.fields.get("row")): leaf for leaf in leaves}
    labels = [str(label) for label in symbol.dims[0].labels]
    return [rows[label] for label in labels] if set(rows) == set(labels) else list(leaves)


def _column_leaves(problem: ProblemLike, source: Source) -> list[Source]:
    table, header = source.fields.get("table"), source.fields.get("column")
    if not isinstance(table, int) or header is None or not 0 <= table < len(problem.tables):
        return [source]
    place = header if isinstance(header, int) else problem.tables[table].column(str(header))
    if place is None:
        return [source]
    cells = [row[place] for row in problem.tables[table].rows]
    fields = {"table": table, "column": header}
    return [Source("table", cell.span, cell.text, fields) for cell in cells]


def _compare(
    tracing: Tracing, name: str, value: float, unit: Unit, leaves: Sequence[Source]
) -> None:
    found: list[Figure] = []
    for leaf in leaves:
        beside = (
            _table_unit(tracing.problem, leaf)
            or _quantity_unit(tracing.problem, leaf)
            or _sentence_unit(tracing.problem, leaf, unit)
            or _cents(tracing.problem, leaf, unit)
        )
        for figure in figures(words_of(leaf, tracing.problem.text)):
            found.append(figure if figure.unit is not None else Figure(figure.value, beside))
    if not found:
        tracing.open.append(f"{name}: its source holds no number that can be read")
        return
    if any(_agrees(value, unit, figure) for figure in found):
        return
    bare = [f for f in found if f.unit is None and close_to(f.value, value)]
    if bare and not without_counts(unit.dimension):
        return
    if bare:
        tracing.open.append(f"{name}: no unit stands beside the number that is read in {unit}")
        return
    partly = [f for f in found if close_to(f.value, value) and _is_part(f.unit, unit)]
    if partly:
        tracing.open.append(f"{name}: {partly[0].unit} beside the number, read in {unit}")
        return
    said = ", ".join(f"{f.value:g} {f.unit or ''}".strip() for f in found)
    tracing.accuse(name, f"{value:.10g} {unit} in the blueprint, the problem says {said}")


def _agrees(value: float, unit: Unit, figure: Figure) -> bool:
    if figure.unit is None:
        return unit.is_dimensionless and close_to(value * unit.scale, figure.value)
    if without_counts(unit.dimension) != without_counts(figure.unit.dimension):
        return False
    if unit.is_point != figure.unit.is_point:  # "2 °C warmer" is a difference
        return close_to(value * unit.scale, figure.value * figure.unit.scale)
    return close_to(unit.to_si(value), figure.unit.to_si(figure.value))


def _is_part(found: Unit | None, wanted: Unit) -> bool:
    """Whether the text's unit is the money of a price whose other half stands elsewhere."""
    if found is None or len(found.dimension) != 1:
        return False
    money = found.dimension[0]
    return len(money[0]) == 3 and money[0].isupper() and money in wanted.dimension


def _table_unit(problem: ProblemLike, leaf: Source) -> Unit | None:
    """Return the unit of a table's cell: from its row, or from its column's header."""
    if leaf.kind != "table" or leaf.span is None:
        return None
    for table in problem.tables:
        for row in table.rows:
            for place, cell in enumerate(row):
                if tuple(cell.span) == leaf.span or (
                    cell.span[0] <= leaf.span[0] and leaf.span[1] <= cell.span[1]
                ):
                    if table.unit_column is not None and table.unit_column != place:
                        try:
                            return parse_unit(row[table.unit_column].text)
                        except UnitError:
                            return None
                    unit: Unit | None = table.units[place]
                    return unit
    return None


def _quantity_unit(problem: ProblemLike, leaf: Source) -> Unit | None:
    """Return the unit that stands elsewhere: ``kW`` for the 2 of ``from 2 to 8 kW``."""
    if leaf.span is None:
        return None
    for quantity in problem.quantities:
        start, stop = getattr(quantity, "number_span", quantity.span)
        if start < leaf.span[1] and leaf.span[0] < stop and quantity.unit is not None:
            unit: Unit = quantity.unit
            return unit
    return None


def _cents(problem: ProblemLike, leaf: Source, wanted: Unit) -> Unit | None:
    """Return the unit of an amount in cents of the one currency that the text names."""
    cents = re.search(r"\d\s*(ct\S*)$", words_of(leaf, problem.text).strip())
    currency = only_currency(problem.text)
    if cents is None or currency is None:
        return None
    found = list(lone_units(cents[1], currency))
    return found[0] if len(found) == 1 and found[0].dimension == wanted.dimension else None


def _sentence_unit(problem: ProblemLike, leaf: Source, wanted: Unit) -> Unit | None:
    """Return the one unit of the wanted kind that the sentence names apart from its numbers.

    As in "the prices, in $/MWh, are 129.3, 132.6 and 110.5"; to a table belongs the sentence right
    above it, and to a list that stands alone the one that ends with a colon above it.
    """
    if leaf.span is None:
        return None
    tables = [t.span for t in problem.tables if t.span[0] <= leaf.span[0] < t.span[1]]
    whole = [s.span for s in problem.sentences if s.span[0] <= leaf.span[0] < s.span[1]]
    first, last = next(iter((*tables, *whole)), leaf.span)
    currency = only_currency(problem.text)
    for sentence in problem.sentences:
        start, stop = sentence.span
        above = stop <= first and not problem.text[stop:first].strip()
        led = bool(tables) or problem.text[start:stop].rstrip().endswith(":")
        if (start <= first and last <= stop) or (above and led):
            named = {
                (unit.factor, unit.zero): unit
                for unit in lone_units(problem.text[start:stop], currency)
                if unit.dimension == wanted.dimension and unit.dimension
            }
            if len(named) == 1:
                return next(iter(named.values()))
    return None


# --- relations ---------------------------------------------------------------------------------


def _relation(sources: Sequence[Source]) -> Source | None:
    """Return the source that states how the value was made, None when none does."""
    return next((s for s in sources if s.fields.get("relation") is not None), None)


def _trace_relation(tracing: Tracing, name: str, source: Source, symbol: Symbol) -> None:
    """Evaluate ``sqrt(x0)`` or ``x0*x1`` over the numbers of the listed sources."""
    assert symbol.value is not None
    relation = str(source.fields["relation"])
    names = sorted({n.name for n in walk(parse(relation)) if isinstance(n, Ref)})
    candidates: list[Mapping[str, Figure]] = [{}]
    for variable in names:
        place = int(variable[1:]) if variable[1:].isdigit() else -1
        if not 0 <= place < len(source.of):
            raise EvaluationError(f"the relation {relation!r} names {variable}, no listed source")
        choices = list(figures(words_of(source.of[place], tracing.problem.text)))[:4]
        candidates = [{**c, variable: figure} for c in candidates for figure in choices]
    unit = symbol.value.unit
    results = [_evaluate(relation, candidate, unit) for candidate in candidates]
    for result in results:
        if result is not None and all(close_to(float(v), result) for v in symbol.value.data):
            return
    shown = ", ".join(f"{r / unit.scale:.10g} {unit}" for r in results if r is not None)
    if shown:
        mine = float(symbol.value.shown[0])
        tracing.accuse(name, f"{mine:.10g} {unit} in the blueprint, {relation} gives {shown}")
    else:
        tracing.open.append(f"{name}: the relation {relation!r} cannot be verified")


def _evaluate(relation: str, figures_: Mapping[str, Figure], unit: Unit) -> float | None:
    symbols = {
        key: Symbol(key, (), values.constant(np.array([f.value]), f.unit or values.ONE))
        for key, f in figures_.items()
    }
    try:
        value = arithmetic.adopt(Evaluator(Environment({}, symbols)).evaluate(relation), unit)
    except (EvaluationError, InputError):
        return None
    if value.unit.dimension != unit.dimension:
        return None
    return float(value.data[0])
