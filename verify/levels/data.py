"""Level 1: whether the numbers of the blueprint are the numbers of the problem."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, Final

import numpy as np

from engiagent.blueprint.document import Blueprint
from engiagent.blueprint.elements import Core, ParameterDef, VariableDef
from engiagent.blueprint.grammar import Binary, Compare, Number, names_in, tree_of, walk
from engiagent.blueprint.stamps import in_iso
from engiagent.blueprint.values import stamps_of
from engiagent.errors import EngiagentError, InputError
from engiagent.io.files import open_inside
from engiagent.io.tabular import TableColumn, TableFile, read_table
from engiagent.units.currencies import unit_of_column
from engiagent.units.unit import parse_unit
from engiagent.verify import values
from engiagent.verify.alignment import at_periods, text_stamps
from engiagent.verify.documents import Bench, Declarations
from engiagent.verify.figures import figures
from engiagent.verify.findings import Report
from engiagent.verify.frames import Symbol
from engiagent.verify.levels.coverage import uncovered, written_in, written_of
from engiagent.verify.levels.literals import Tracing, check_literals
from engiagent.verify.levels.numbers import compare, compare_all, trace_relation
from engiagent.verify.levels.sources import (
    ProblemLike,
    Source,
    all_leaves,
    is_most_of,
    misquotation,
    read_sources,
    words_of,
)
from engiagent.verify.levels.standing import RULES, Subject
from engiagent.verify.requirements import squeezed
from engiagent.verify.tolerances import TOLERANCES
from engiagent.verify.values import Floats

BY: Final = "by "
"""Before the column that says to which element of the first set a row belongs, in a relation."""


def check_data(
    problem: ProblemLike,
    blueprint: Blueprint,
    bench: Bench,
    generated: Collection[str] = (),
    overrides: Mapping[str, str] | None = None,
    settled: Sequence[str] = (),
) -> tuple[Report, list[str]]:
    """Return the outcome of level 1, and the requirement sentences nobody accounted for.

    ``generated``: parameters, variables and rows that writing out a component has made.
    ``overrides``: the values that the user has set, by name, as recorded; None where nothing does.
    ``settled``: names of numbers and sentences that an independent reading takes likewise.
    """
    tracing = Tracing(problem, steps=frozenset(_steps(bench.declarations)))
    sources = {p.name: p.source_reference for p in blueprint.core.parameters}
    for definition in blueprint.core.parameters:
        _check_quotes(tracing, definition.name, definition.source_reference)
        try:
            _trace(tracing, definition, bench.declarations, generated, overrides)
        except EngiagentError as error:
            tracing.open.append(f"{definition.name}: {error}")
    for name, reference, texts in _other_expressions(blueprint):
        _check_quotes(tracing, name, reference)
        for text in () if name in generated else texts:
            check_literals(tracing, name, text, reference, sources)
    tracing.settle(settled)
    subject = Subject(problem, blueprint, bench)
    for rule in RULES.values():
        for remark in rule(subject):
            if remark.kind == "violated":
                tracing.accuse(remark.name, remark.text)
            else:
                (tracing.open if remark.kind == "open" else tracing.listed).append(remark.text)
    numbers, sentences, repeated, _ = uncovered(problem, blueprint, subject.idle)
    tracing.listed += [
        f"{s!r}: neither reading takes anything from it" for s in sentences if s in settled
    ]
    sentences = [s for s in sentences if s not in settled]
    tracing.listed += [f"{n}: settled by the second reading" for n in numbers if n in settled]
    tracing.open += [finding for finding in numbers if finding not in settled]
    tracing.listed += repeated
    status = "fail" if tracing.violations else "unchecked" if tracing.open or sentences else "pass"
    body = {
        "findings": [*tracing.open, *[f"not accounted for: {s!r}" for s in sentences]],
        "assumptions": tracing.listed,
        "parameters": len(blueprint.core.parameters),
    }
    return Report(status, body, tuple(tracing.violations)), sentences


def _check_quotes(tracing: Tracing, name: str, reference: Any) -> None:
    for leaf in all_leaves(reference):
        if is_most_of(leaf, tracing.problem):
            tracing.open.append(f"{name}: its source is most of the text; point at the words")
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
        texts += _ones(core, constraint.expression)
        texts += [] if constraint.penalty is None else [str(constraint.penalty.weight)]
        yield constraint.constraint_id, constraint.source_reference, texts
    if core.objective_function is not None:
        goal = core.objective_function
        yield "objective", goal.source_reference, written_in(goal)
        for term in goal.terms:
            yield f"objective {term.name}", term.source_reference, written_in(term)
    for variable in core.decision_variables:
        bounds = [_in_unit(b, variable) for b in (variable.lower, variable.upper) if b is not None]
        yield variable.name, variable.source_reference, bounds
    for component in core.components:
        yield component.name, component.source_reference, [*map(str, written_of(component))]
    for index_set in core.sets:
        yield index_set.name, index_set.source_reference, []


def _ones(core: Core, text: str) -> list[str]:
    """Return a bare 1 to which sums of variables are compared as a number of their unit."""
    tree = tree_of(text)
    if not isinstance(tree, Compare):
        return []
    if any(isinstance(n, Binary) and n.op in ("*", "/", "**") for n in walk(tree)):
        return []
    if not any(isinstance(n, Number) and n.unit is None and n.value == 1 for n in tree.operands):
        return []
    names = names_in(tree)
    compared = (v for v in core.decision_variables if v.name in names)
    return [_in_unit(1.0, variable) for variable in islice(compared, 1)]


def _in_unit(bound: Any, variable: VariableDef) -> str:
    """Return a bound as text; a limit of 1 of something with a unit is a number like any other."""
    unit = variable.unit or "1"
    plain = isinstance(bound, int | float) and bound == 1.0
    return f"1[{unit}] >= 0" if plain and not parse_unit(unit).is_dimensionless else str(bound)


# --- one parameter -----------------------------------------------------------------------------


def _trace(
    tracing: Tracing,
    definition: ParameterDef,
    declarations: Declarations,
    generated: Collection[str],
    overrides: Mapping[str, str] | None,
) -> None:
    name, sources = definition.name, read_sources(definition.source_reference)
    if definition.status == "missing":
        return
    if definition.unit_override is not None:
        override = definition.unit_override
        tracing.listed.append(f"{name}: read in {override['unit']}, because {override['reason']}")
    if definition.data is not None:
        _trace_file(tracing, definition)
        return
    if isinstance(definition.value, str):
        if name not in generated:  # numbers of a component's own formula are judged by execution
            # Its own numbers need a source, the parameters in it have theirs.
            reference = definition.source_reference
            check_literals(tracing, name, definition.value, reference, {})
            free = [s for s in sources if s.kind in ("assumption", "user")]
            tracing.listed += [f"{name}: {_why(source)}" for source in free]
        return
    if len(sources) == 1 and sources[0].kind == "file" and sources[0].quote is None:
        fields = sources[0].fields
        file, header = str(fields.get("file")), str(fields.get("column"))
        _compare_column(tracing, definition, declarations, file, header)
        return
    if not sources or any(source.kind == "untraced" for source in sources):
        tracing.open.append(f"{name} is untraced: nothing says where it comes from")
        return
    symbol = declarations.parameter(name)
    free = [source for source in sources if source.kind in ("assumption", "user")]
    if free:
        tracing.listed.append(f"{name}: {_why(free[0])}")
        if symbol is not None and symbol.value is not None:
            _compare_free(tracing, name, free, symbol, overrides)
        return
    if symbol is None or symbol.value is None:
        return  # labels are not numbers
    related = next((s for s in sources if s.fields.get("relation") is not None), None)
    if related is not None:
        trace_relation(tracing, name, related, symbol)
        return
    if any(source.kind == "derived" for source in sources):
        if name in generated:
            # Executing the plan judges it: with another value the states would drift apart.
            tracing.listed.append(f"{name}: derived from its component, judged by execution")
            return
        tracing.open.append(f"{name} is derived, but no relation says how: unverified")
        return
    compare_all(tracing, name, sources, symbol)


def _why(source: Source) -> str:
    said = source.fields.get("reason") or source.fields.get("note") or "no reason given"
    return f"{source.kind}, {said}"


def _compare_free(
    tracing: Tracing,
    name: str,
    sources: Sequence[Source],
    symbol: Symbol,
    overrides: Mapping[str, str] | None,
) -> None:
    """Compare a value that is assumed or the user's own with what is quoted and recorded."""
    assert symbol.value is not None
    unit = symbol.value.unit
    notes = {str(s.fields.get("note", "")).strip() for s in sources if s.kind == "user"}
    set_by_user = bool(notes) and any(
        name == key or f"--set {key}={text}" in notes for key, text in (overrides or {}).items()
    )
    quoted = [leaf for source in sources for leaf in source.leaves() if leaf.quote or leaf.span]
    if quoted and not set_by_user and (symbol.value.data == symbol.value.data[:1]).all():
        if any(figures(words_of(leaf, tracing.problem.text)) for leaf in quoted):
            compare(tracing, name, float(symbol.value.shown[0]), unit, quoted)
        return
    by_user = any(source.kind == "user" for source in sources)
    alike = any(
        q.unit is not None and q.unit.dimension == unit.dimension and unit.dimension
        for q in tracing.problem.quantities
    )
    if by_user and overrides is not None and alike and not set_by_user:
        tracing.open.append(
            f"{name} is called the user's own value, but no override of it is recorded"
        )


def _trace_file(tracing: Tracing, definition: ParameterDef) -> None:
    """Compare the file and the column that are read with those of the source."""
    name = definition.name
    file, _, header = str(definition.data).partition("#")
    for source in read_sources(definition.source_reference):
        other = source.fields.get("file"), source.fields.get("column")
        columns = {header, source.fields.get("column")} if header == "*" else {header}
        if source.kind == "file" and other not in {(file, column) for column in columns}:
            tracing.accuse(name, f"its data are {definition.data}, its source says {other}")


def _compare_column(
    tracing: Tracing, definition: ParameterDef, declarations: Declarations, file: str, header: str
) -> None:
    name = definition.name
    symbol = declarations.parameter(name)
    if symbol is None or symbol.value is None or declarations.folder is None:
        return
    table = read_table(declarations.folder, file)
    column = table.column(header)
    unit = symbol.value.unit
    if definition.unit_override is None and column.unit_text:
        unit = unit_of_column(column.unit_text, unit)
        if unit.dimension != symbol.value.unit.dimension:
            tracing.accuse(
                name, f"{file}#{header} is in {unit}, the blueprint reads {symbol.value.unit}"
            )
            return
    numbers, where = np.asarray(column.numbers(), dtype=np.float64), f"{file}#{header}"
    rule = read_sources(definition.source_reference)[0].fields.get("relation")
    if rule is not None and str(rule).startswith(BY) and symbol.dims:
        names = np.array(table.column(str(rule).removeprefix(BY)).texts())
        rows = [np.flatnonzero(names == str(label)) for label in symbol.dims[0].labels]
        numbers = numbers[np.concatenate(rows)]
    elif rule is not None:
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
    stamps = stamps_of(source[0])
    axis = symbol.dims[0].root.axis if len(symbol.dims) == 1 else None
    found = (
        None
        if stamps is None
        else text_stamps(in_iso(stamps.texts()), lambda row, what: stamps.error(row, what))
    )
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


def _steps(declarations: Declarations) -> Iterator[float]:
    """Yield the lengths of the periods of all time sets of one length throughout, in seconds."""
    for index_set in declarations.sets.values():
        axis = index_set.root.axis
        if index_set.kind == "time" and axis is not None:
            lengths = np.unique(axis.steps)
            if lengths.size == 1:
                yield parse_unit(axis.step_unit).to_si(float(lengths[0]))
