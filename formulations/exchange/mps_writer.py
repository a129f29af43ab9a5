"""A program as a free MPS file with long names.

Numbers are written so that reading them gives the same doubles. A range is a difference to the
right-hand side; where no difference gives back the other side exactly, the row is written twice,
the second time under its name and ``~upper``.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np

from engiagent.formulations.exchange.flat import UPPER_PART, FlatModel
from engiagent.formulations.exchange.flatten import flatten
from engiagent.formulations.exchange.lp_writer import number
from engiagent.formulations.program import OBJECTIVE, Program

_RHS: Final = "RHS"
_RANGES: Final = "RNG"
_BOUNDS: Final = "BND"
_MARKERS: Final = {True: " MARKER 'MARKER' 'INTORG'", False: " MARKER 'MARKER' 'INTEND'"}


def write_mps(program: Program) -> str:
    """Return a program in free MPS.

    Raises
    ------
    EngiagentError
        When it has functions or objectives that the format cannot say.
    """
    model = flatten(program, "MPS")
    rows = list(_rows(model))
    lines = [f"NAME {model.name}"]
    if model.sense == "maximize":
        lines += ["OBJSENSE", "    MAX"]
    lines += ["ROWS", f" N {model.objective_name}"]
    lines += [f" {row.letter} {row.name}" for row in rows]
    lines += ["COLUMNS", *_columns(model, rows)]
    lines += ["RHS", *_right_hand_sides(model, rows)]
    sections = {
        "RANGES": [f" {_RANGES} {r.name} {number(r.range)}" for r in rows if r.range is not None],
        "BOUNDS": list(_bounds(model)),
        "SOS": list(_sos(model)),
        "QUADOBJ": list(_quadratic_objective(model)),
    }
    for title, entries in sections.items():
        lines += [title, *entries] if entries else []
    lines += [*_quadratic_rows(model, rows), *_indicators(model, rows), "ENDATA"]
    return "\n".join(lines) + "\n"


@dataclass(frozen=True)
class _Row:
    """A row as MPS says it: ``number`` is that of the model's row."""

    number: int
    name: str
    letter: str
    right: float
    range: float | None = None


def _rows(model: FlatModel) -> Iterator[_Row]:
    sides = zip(model.row_lower.tolist(), model.row_upper.tolist(), strict=True)
    for row, (name, (lower, upper)) in enumerate(zip(model.row_names, sides, strict=True)):
        if lower == upper:
            yield _Row(row, name, "E", lower)
        elif lower == -np.inf and upper == np.inf:
            yield _Row(row, name, "N", 0.0)
        elif lower == -np.inf:
            yield _Row(row, name, "L", upper)
        elif upper == np.inf:
            yield _Row(row, name, "G", lower)
        else:
            yield from _two_sides(row, name, lower, upper)


def _two_sides(row: int, name: str, lower: float, upper: float) -> Iterator[_Row]:
    width = upper - lower
    if width > 0.0:
        for candidate in (width, np.nextafter(width, np.inf), np.nextafter(width, 0.0)):
            if lower + candidate == upper:
                yield _Row(row, name, "G", lower, float(candidate))
                return
            if upper - candidate == lower:
                yield _Row(row, name, "L", upper, float(candidate))
                return
    yield _Row(row, name, "G", lower)
    yield _Row(row, f"{name}{UPPER_PART}", "L", upper)


def _columns(model: FlatModel, rows: list[_Row]) -> Iterator[str]:
    counts = np.diff(model.row_starts)
    row_of = np.repeat(np.arange(model.row_count), counts)
    order = np.lexsort((row_of, model.row_columns))
    ends = np.searchsorted(model.row_columns[order], np.arange(model.column_count + 1)).tolist()
    entry_rows, values = row_of[order].tolist(), model.row_values[order].tolist()
    names: list[list[str]] = [[] for _ in model.row_names]
    for row in rows:
        names[row.number].append(row.name)
    whole = False
    for k, column in enumerate(model.column_names):
        if bool(model.integrality[k]) != whole:
            whole = not whole
            yield _MARKERS[whole]
        entries = range(ends[k], ends[k + 1])
        if model.cost[k] != 0.0 or not entries:
            yield f" {column} {model.objective_name} {number(float(model.cost[k]))}"
        for entry in entries:
            for name in names[entry_rows[entry]]:
                yield f" {column} {name} {number(values[entry])}"
    if whole:
        yield _MARKERS[False]


def _right_hand_sides(model: FlatModel, rows: list[_Row]) -> Iterator[str]:
    if model.offset:
        yield f" {_RHS} {model.objective_name} {number(-model.offset)}"
    yield from (f" {_RHS} {row.name} {number(row.right)}" for row in rows if row.right)


def _bounds(model: FlatModel) -> Iterator[str]:
    implied = (model.column_lower == 0.0) & (model.column_upper == np.inf) & ~model.integrality
    binary = model.binary
    for k in np.flatnonzero(~implied).tolist():
        name = f"{_BOUNDS} {model.column_names[k]}"
        lower, upper = float(model.column_lower[k]), float(model.column_upper[k])
        if binary[k]:
            yield f" BV {name}"
        elif lower == upper:
            yield f" FX {name} {number(lower)}"
        elif lower == -np.inf and upper == np.inf:
            yield f" FR {name}"
        else:
            # Both sides, since readers differ in what they take for the one left out.
            yield f" MI {name}" if lower == -np.inf else f" LO {name} {number(lower)}"
            yield f" PL {name}" if upper == np.inf else f" UP {name} {number(upper)}"


def _sos(model: FlatModel) -> Iterator[str]:
    for entry in model.sos:
        yield f" S{entry.order} {entry.name}"
        for k, weight in zip(entry.columns.tolist(), entry.weights.tolist(), strict=True):
            yield f"    {model.column_names[k]} {number(weight)}"


def _products(model: FlatModel, row: int) -> Iterator[tuple[str, str, bool, float]]:
    """Yield the products in a row: the names of the two columns, whether equal, the coefficient."""
    entries, names = model.products, model.column_names
    for k in np.flatnonzero(entries.rows == row).tolist():
        first, second = int(entries.first[k]), int(entries.second[k])
        yield names[first], names[second], first == second, float(entries.values[k])


def _quadratic_objective(model: FlatModel) -> Iterator[str]:
    """Yield the lower triangle of Q in 1/2 x'Qx."""
    for first, second, square, value in _products(model, OBJECTIVE):
        yield f" {second} {first} {number(2.0 * value if square else value)}"


def _quadratic_rows(model: FlatModel, rows: list[_Row]) -> Iterator[str]:
    """Yield the whole of Q in x'Qx for every quadratic row."""
    quadratic = set(model.products.of_rows().rows.tolist())
    for row in rows:
        if row.number not in quadratic:
            continue
        yield f"QCMATRIX {row.name}"
        for first, second, square, value in _products(model, row.number):
            if square:
                yield f" {first} {first} {number(value)}"
            else:
                yield f" {first} {second} {number(value / 2.0)}"
                yield f" {second} {first} {number(value / 2.0)}"


def _indicators(model: FlatModel, rows: list[_Row]) -> Iterator[str]:
    entries = model.indicators
    if not len(entries.rows):
        return
    yield "INDICATORS"
    names: dict[int, list[str]] = {}
    for row in rows:
        names.setdefault(row.number, []).append(row.name)
    for number_, column, active in zip(
        entries.rows.tolist(), entries.columns.tolist(), entries.active.tolist(), strict=True
    ):
        for name in names[number_]:
            yield f" IF {name} {model.column_names[column]} {active:g}"
