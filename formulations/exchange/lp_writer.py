"""A program as a file in the CPLEX LP format.

Numbers are written so that reading them gives the same doubles. Readers disagree about rows with
two sides, so such a row is written twice, the second time under its name and ``~upper``.
"""

from collections.abc import Iterable, Iterator
from typing import Final

import numpy as np

from engiagent.formulations.exchange.flat import UPPER_PART, FlatModel
from engiagent.formulations.exchange.flatten import flatten
from engiagent.formulations.program import OBJECTIVE, Program

WIDTH: Final = 200
_INFINITE = {np.inf: "+inf", -np.inf: "-inf"}


def write_lp(program: Program) -> str:
    """Return a program in the CPLEX LP format.

    Raises
    ------
    EngiagentError
        When it has functions or objectives that the format cannot say.

    Notes
    -----
    The order of the columns is not part of the format; their names are.
    """
    return "\n".join(_lines(flatten(program, "LP"))) + "\n"


def number(value: float) -> str:
    """Return the shortest text that reads as the same double.

    >>> number(40.0), number(0.1), number(-np.inf)
    ('40', '0.1', '-inf')
    """
    if value in _INFINITE:
        return _INFINITE[value]
    text = repr(float(value))
    return text[:-2] if text.endswith(".0") else text


def _lines(model: FlatModel) -> Iterator[str]:
    squares = _products_by_row(model)
    yield "Minimize" if model.sense == "minimize" else "Maximize"
    yield from _wrapped(_objective(model, squares.get(OBJECTIVE, [])))
    yield "Subject To"
    for row in _rows(model, squares):
        yield from _wrapped(row)
    yield from _section("Bounds", _bounds(model))
    names = np.array(model.column_names, dtype=object)
    yield from _section("Generals", names[model.integrality & ~model.binary])
    yield from _section("Binaries", names[model.binary])
    yield from _section("SOS", _sos(model))
    yield "End"


def _section(title: str, lines: Iterable[str]) -> Iterator[str]:
    listed = [f" {line}" for line in lines]
    if listed:
        yield title
        yield from listed


def _wrapped(pieces: Iterable[str]) -> Iterator[str]:
    """Yield the pieces joined to lines that readers with short lines take too."""
    line = ""
    for piece in pieces:
        if line and len(line) + len(piece) + 1 > WIDTH:
            yield line
            line = "  "
        line += f" {piece}"
    yield line


def _term(value: float, name: str, first: bool) -> str:
    sign = "- " if value < 0 else "" if first else "+ "
    size = abs(value)
    return f"{sign}{name}" if size == 1.0 else f"{sign}{number(size)} {name}"


def _objective(model: FlatModel, squares: list[tuple[float, str]]) -> Iterator[str]:
    yield f"{model.objective_name}:"
    used = np.zeros(model.column_count, dtype=np.bool_)
    used[model.row_columns] = True
    used[model.products.first] = used[model.products.second] = True
    # A column that stands nowhere else would be lost to readers without a term of its own.
    listed = np.flatnonzero((model.cost != 0.0) | ~used)
    for first, k in enumerate(listed.tolist()):
        yield _term(float(model.cost[k]), model.column_names[k], not first)
    if squares:
        doubled = [(2.0 * value, name) for value, name in squares]
        yield from _quadratic(doubled, not len(listed), "] / 2")
    if model.offset:
        sign = "-" if model.offset < 0 else "+"
        yield f"{sign} {number(abs(model.offset))}"


def _quadratic(terms: list[tuple[float, str]], first: bool, end: str) -> Iterator[str]:
    yield "[" if first else "+ ["
    for position, (value, name) in enumerate(terms):
        yield _term(value, name, not position)
    yield end


def _products_by_row(model: FlatModel) -> dict[int, list[tuple[float, str]]]:
    """Return the quadratic terms of every row that has any, as coefficient and text."""
    names = model.column_names
    found: dict[int, list[tuple[float, str]]] = {}
    entries = model.products
    for row, i, j, value in zip(
        entries.rows.tolist(),
        entries.first.tolist(),
        entries.second.tolist(),
        entries.values.tolist(),
        strict=True,
    ):
        text = f"{names[i]} ^2" if i == j else f"{names[j]} * {names[i]}"
        found.setdefault(row, []).append((value, text))
    return found


def _rows(model: FlatModel, squares: dict[int, list[tuple[float, str]]]) -> Iterator[Iterable[str]]:
    starts, columns = model.row_starts.tolist(), model.row_columns.tolist()
    values, names = model.row_values.tolist(), model.column_names
    lower, upper = model.row_lower.tolist(), model.row_upper.tolist()
    conditions = _conditions(model)
    for row, name in enumerate(model.row_names):
        span = range(starts[row], starts[row + 1])
        body = [_term(values[k], names[columns[k]], k == starts[row]) for k in span]
        if row in squares:
            body += _quadratic(squares[row], not body, "]")
        body = conditions.get(row, []) + (body or [f"0 {names[0]}"])
        for suffix, relation in _relations(lower[row], upper[row]):
            yield [f"{name}{suffix}:", *body, relation]


def _relations(lower: float, upper: float) -> list[tuple[str, str]]:
    """Return the sides of a row, each with what is added to the row's name."""
    if lower == upper:
        return [("", f"= {number(lower)}")]
    if upper == np.inf:
        return [("", f">= {number(lower)}")]
    if lower == -np.inf:
        return [("", f"<= {number(upper)}")]
    return [("", f">= {number(lower)}"), (UPPER_PART, f"<= {number(upper)}")]


def _conditions(model: FlatModel) -> dict[int, list[str]]:
    entries = model.indicators
    triples = zip(
        entries.rows.tolist(), entries.columns.tolist(), entries.active.tolist(), strict=True
    )
    return {row: [f"{model.column_names[k]} = {active:g} ->"] for row, k, active in triples}


def _bounds(model: FlatModel) -> Iterator[str]:
    implied = (model.column_lower == 0.0) & (model.column_upper == np.inf) | model.binary
    for k in np.flatnonzero(~implied).tolist():
        name = model.column_names[k]
        lower, upper = float(model.column_lower[k]), float(model.column_upper[k])
        if lower == -np.inf and upper == np.inf:
            yield f"{name} free"
        elif lower == upper:
            yield f"{name} = {number(lower)}"
        elif upper == np.inf:
            yield f"{name} >= {number(lower)}"
        else:
            yield f"{number(lower)} <= {name} <= {number(upper)}"


def _sos(model: FlatModel) -> Iterator[str]:
    for entry in model.sos:
        pairs = zip(entry.columns.tolist(), entry.weights.tolist(), strict=True)
        members = " ".join(f"{model.column_names[k]}:{number(w)}" for k, w in pairs)
        yield f"{entry.name}: S{entry.order}:: {members}"
