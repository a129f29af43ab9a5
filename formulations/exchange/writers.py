"""Programs as files in the CPLEX LP format and in free MPS with long names.

Numbers are written so that reading them gives the same doubles; HiGHS's own writer keeps 15 digits
and knows neither conditions nor quadratic rows. Readers of LP files disagree about rows with two
sides, and not every pair of sides has a range in MPS that gives it back; such a row is written
twice, the second time under its name and ``~upper``. The order of the columns is no part of the LP
format; their names are.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np

from engiagent.errors import EngiagentError
from engiagent.formulations.exchange.model import UPPER_PART, Bools, number
from engiagent.formulations.exchange.names import column_names, objective_name, row_names
from engiagent.formulations.program import OBJECTIVE, Program

WIDTH: Final = 200
_MARKERS: Final = {True: " MARKER 'MARKER' 'INTORG'", False: " MARKER 'MARKER' 'INTEND'"}


class Product(NamedTuple):
    """A term of two columns."""

    first: str
    second: str
    value: float


@dataclass(frozen=True, eq=False)
class _Named:
    """A program with a legal name for every row and column.

    ``products`` and ``conditions`` (column and 0 or 1) are by row; -1 is the objective.
    """

    program: Program
    objective: str
    columns: list[str]
    rows: list[str]
    products: dict[int, list[Product]]
    conditions: dict[int, tuple[str, int]]

    @property
    def binary(self) -> Bools:
        """Which columns are 0 or 1."""
        p = self.program
        found: Bools = p.integrality & (p.column_lower == 0.0) & (p.column_upper == 1.0)
        return found

    def sets(self) -> Iterator[tuple[str, list[str]]]:
        """Yield the names of the special ordered sets and of their columns, in their order."""
        for k, columns in enumerate(self.program.sos1, 1):
            yield f"sos{k}", [self.columns[column] for column in columns.tolist()]


def _named(program: Program, form: str) -> _Named:
    """Return a program with its names.

    Raises
    ------
    EngiagentError
        When the program has no columns, or nonlinear functions or several objectives, which no LP
        or MPS file can say; the constraint is named.
    """
    if not program.column_count:
        raise EngiagentError(f"the blueprint has no variables, so {form} has nothing to say")
    _refuse(program, form)
    objective, columns = objective_name(program), column_names(program)
    products: dict[int, list[Product]] = {}
    p, i = program.products, program.indicators
    for row, first, second, value in zip(
        p.rows.tolist(), p.first.tolist(), p.second.tolist(), p.values.tolist(), strict=True
    ):
        products.setdefault(row, []).append(Product(columns[first], columns[second], value))
    triples = zip(i.rows.tolist(), i.columns.tolist(), i.active.tolist(), strict=True)
    conditions = {row: (columns[k], int(active)) for row, k, active in triples}
    rows = row_names(program, objective)
    return _Named(program, objective, columns, rows, products, conditions)


def _refuse(program: Program, form: str) -> None:
    if len(program.goals) > 1:
        names = ", ".join(goal.name for goal in program.goals)
        raise EngiagentError(
            f"{form} files have one objective, but the blueprint has several: {names}; "
            "write it with one of them, or with a weighted sum"
        )
    for part in program.nonlinear:
        for row in part.row_numbers()[:1].tolist():
            owner = f"the objective {program.objective_name!r}"
            if row != OBJECTIVE:
                found = next(b for b in program.rows if b.start <= row < b.stop)
                owner = f"the constraint {found.constraint_id!r}"
            raise EngiagentError(
                f"{form} files say linear and quadratic terms only, but {owner} has the function "
                f"{part.atom.function!r}; emit it as a script, or bound the variables so that it "
                "can be written in linear rows"
            )


# --- LP ----------------------------------------------------------------------------------------


def write_lp(program: Program) -> str:
    """Return a program in the CPLEX LP format.

    Raises
    ------
    EngiagentError
        When it has functions or objectives that the format cannot say.
    """
    return "\n".join(_lp_lines(_named(program, "LP"))) + "\n"


def _lp_lines(m: _Named) -> Iterator[str]:
    p = m.program
    yield "Minimize" if p.sense == "minimize" else "Maximize"
    yield from _wrapped(_lp_objective(m))
    yield "Subject To"
    for row in _lp_rows(m):
        yield from _wrapped(row)
    names = np.array(m.columns, dtype=object)
    sets = (
        f"{name}: S1:: {' '.join(f'{column}:{k}' for k, column in enumerate(columns, 1))}"
        for name, columns in m.sets()
    )
    for title, lines in (
        ("Bounds", _lp_bounds(m)),
        ("Generals", names[p.integrality & ~m.binary]),
        ("Binaries", names[m.binary]),
        ("SOS", sets),
    ):
        listed = [f" {line}" for line in lines]
        yield from [title, *listed] if listed else []
    yield "End"


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


def _lp_objective(m: _Named) -> Iterator[str]:
    p = m.program
    yield f"{m.objective}:"
    used = np.zeros(p.column_count, dtype=np.bool_)
    used[p.row_columns] = True
    used[p.products.first] = used[p.products.second] = True
    # A column that stands nowhere else would be lost to readers without a term of its own.
    listed = np.flatnonzero((p.cost != 0.0) | ~used)
    for place, k in enumerate(listed.tolist()):
        yield _term(float(p.cost[k]), m.columns[k], not place)
    yield from _quadratic(m.products.get(OBJECTIVE, []), 2.0, not len(listed), "] / 2")
    if p.offset:
        yield f"{'-' if p.offset < 0 else '+'} {number(abs(p.offset))}"


def _quadratic(terms: list[Product], scale: float, first: bool, end: str) -> Iterator[str]:
    if terms:
        yield "[" if first else "+ ["
        for place, (one, other, value) in enumerate(terms):
            text = f"{one} ^2" if one == other else f"{other} * {one}"
            yield _term(scale * value, text, not place)
        yield end


def _lp_rows(m: _Named) -> Iterator[Iterable[str]]:
    p = m.program
    starts, columns, values = p.row_starts.tolist(), p.row_columns.tolist(), p.row_values.tolist()
    for row, name in enumerate(m.rows):
        span = range(starts[row], starts[row + 1])
        body = [_term(values[k], m.columns[columns[k]], k == starts[row]) for k in span]
        body += _quadratic(m.products.get(row, []), 1.0, not body, "]")
        if row in m.conditions:
            column, active = m.conditions[row]
            body = [f"{column} = {active} ->", *body]
        lower, upper = float(p.row_lower[row]), float(p.row_upper[row])
        sides = [("", ">=", lower), (UPPER_PART, "<=", upper)]
        if lower == upper:
            sides = [("", "=", lower)]
        elif np.isinf(lower) or np.isinf(upper):
            sides = [("", ">=", lower) if upper == np.inf else ("", "<=", upper)]
        for suffix, relation, value in sides:
            full = body or [f"0 {m.columns[0]}"]
            yield [f"{name}{suffix}:", *full, f"{relation} {number(value)}"]


def _lp_bounds(m: _Named) -> Iterator[str]:
    p = m.program
    implied = (p.column_lower == 0.0) & (p.column_upper == np.inf) | m.binary
    for k in np.flatnonzero(~implied).tolist():
        name, lower, upper = m.columns[k], float(p.column_lower[k]), float(p.column_upper[k])
        if lower == -np.inf and upper == np.inf:
            yield f"{name} free"
        elif lower == upper:
            yield f"{name} = {number(lower)}"
        elif upper == np.inf:
            yield f"{name} >= {number(lower)}"
        else:
            yield f"{number(lower)} <= {name} <= {number(upper)}"


# --- MPS ---------------------------------------------------------------------------------------


class _Row(NamedTuple):
    """A row as MPS says it: ``place`` is the number of the program's row."""

    place: int
    name: str
    letter: str
    right: float
    range: float | None = None


def write_mps(program: Program) -> str:
    """Return a program in free MPS.

    Raises
    ------
    EngiagentError
        When it has functions or objectives that the format cannot say.
    """
    m = _named(program, "MPS")
    rows = [part for k, name in enumerate(m.rows) for part in _mps_row(program, k, name)]
    lines = [f"NAME {m.objective}"]
    if program.sense == "maximize":
        lines += ["OBJSENSE", "    MAX"]
    lines += ["ROWS", f" N {m.objective}", *(f" {row.letter} {row.name}" for row in rows)]
    lines += ["COLUMNS", *_mps_columns(m, rows), "RHS"]
    if program.offset:
        lines.append(f" RHS {m.objective} {number(-program.offset)}")
    lines += [f" RHS {row.name} {number(row.right)}" for row in rows if row.right]
    triangle = [
        f" {second} {first} {number(2.0 * value if first == second else value)}"
        for first, second, value in m.products.get(OBJECTIVE, [])
    ]
    conditions = [
        f" IF {row.name} {m.conditions[row.place][0]} {m.conditions[row.place][1]}"
        for row in sorted(rows, key=lambda r: r.place)
        if row.place in m.conditions
    ]
    sections: dict[str, list[str]] = {
        "RANGES": [f" RNG {row.name} {number(row.range)}" for row in rows if row.range is not None],
        "BOUNDS": list(_mps_bounds(m)),
        "SOS": [
            line
            for name, columns in m.sets()
            for line in (f" S1 {name}", *(f"    {c} {k}" for k, c in enumerate(columns, 1)))
        ],
        "QUADOBJ": triangle,
    }
    sections |= {f"QCMATRIX {row.name}": list(_whole_matrix(m, row)) for row in rows}
    for title, entries in (sections | {"INDICATORS": conditions}).items():
        lines += [title, *entries] if entries else []
    return "\n".join([*lines, "ENDATA"]) + "\n"


def _mps_row(program: Program, place: int, name: str) -> Iterator[_Row]:
    lower, upper = float(program.row_lower[place]), float(program.row_upper[place])
    if lower == upper:
        yield _Row(place, name, "E", lower)
    elif lower == -np.inf:
        yield _Row(place, name, *(("N", 0.0) if upper == np.inf else ("L", upper)))
    elif upper == np.inf:
        yield _Row(place, name, "G", lower)
    else:
        width = upper - lower
        for candidate in (width, np.nextafter(width, np.inf), np.nextafter(width, 0.0)):
            if candidate > 0.0 and lower + candidate == upper:
                yield _Row(place, name, "G", lower, float(candidate))
                return
            if candidate > 0.0 and upper - candidate == lower:
                yield _Row(place, name, "L", upper, float(candidate))
                return
        yield _Row(place, name, "G", lower)
        yield _Row(place, f"{name}{UPPER_PART}", "L", upper)


def _mps_columns(m: _Named, rows: list[_Row]) -> Iterator[str]:
    p = m.program
    row_of = np.repeat(np.arange(p.row_count), np.diff(p.row_starts))
    order = np.lexsort((row_of, p.row_columns))
    ends = np.searchsorted(p.row_columns[order], np.arange(p.column_count + 1)).tolist()
    entry_rows, values = row_of[order].tolist(), p.row_values[order].tolist()
    names: list[list[str]] = [[] for _ in m.rows]
    for row in rows:
        names[row.place].append(row.name)
    whole = False
    for k, column in enumerate(m.columns):
        if bool(p.integrality[k]) != whole:
            whole = not whole
            yield _MARKERS[whole]
        entries = range(ends[k], ends[k + 1])
        if p.cost[k] != 0.0 or not entries:
            yield f" {column} {m.objective} {number(float(p.cost[k]))}"
        for entry in entries:
            for name in names[entry_rows[entry]]:
                yield f" {column} {name} {number(values[entry])}"
    if whole:
        yield _MARKERS[False]


def _mps_bounds(m: _Named) -> Iterator[str]:
    p = m.program
    implied = (p.column_lower == 0.0) & (p.column_upper == np.inf) & ~p.integrality
    binary = m.binary
    for k in np.flatnonzero(~implied).tolist():
        name = f"BND {m.columns[k]}"
        lower, upper = float(p.column_lower[k]), float(p.column_upper[k])
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


def _whole_matrix(m: _Named, row: _Row) -> Iterator[str]:
    """Yield the whole of Q in x'Qx of a quadratic row."""
    for first, second, value in m.products.get(row.place, []):
        if first == second:
            yield f" {first} {first} {number(value)}"
        else:
            yield f" {first} {second} {number(value / 2.0)}"
            yield f" {second} {first} {number(value / 2.0)}"
