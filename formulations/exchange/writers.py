"""Programs as files in the CPLEX LP format and in free MPS with long names.

Written is what all readers know: a linear objective, linear rows, bounds and whole numbers.
Numbers are written so that reading them gives the same doubles; HiGHS's own writer keeps 15 digits.
Readers of LP files disagree about rows with two sides, and not every pair of sides has a range in
MPS that gives it back; such a row is written twice, the second time under its name and ``~upper``.
The order of the columns is no part of the LP format; their names are.
"""

from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

import numpy as np

from engiagent.errors import EngiagentError
from engiagent.formulations.exchange.model import UPPER_PART, number
from engiagent.formulations.exchange.names import column_names, head_of, row_names
from engiagent.formulations.program import OBJECTIVE, Program

WIDTH: Final = 200
_MARKERS: Final = {True: " MARKER 'MARKER' 'INTORG'", False: " MARKER 'MARKER' 'INTEND'"}


class _Row(NamedTuple):
    """A row as it is written: ``place`` is the number of the program's row."""

    place: int
    name: str
    relation: str
    side: float


class _Named:
    """A program with a legal name for every row and column, and with rows of one side."""

    def __init__(self, program: Program, form: str) -> None:
        _refuse(program, form)
        self.program = program
        self.objective, self.columns = head_of(program.objective_name), column_names(program)
        names = enumerate(row_names(program, self.objective))
        self.rows = [row for place, name in names for row in _sided(program, place, name)]

    def bounds(self) -> Iterator[tuple[str, float, float]]:
        """Yield the name and the bounds of columns, but where every reader takes 0 and infinity."""
        p = self.program
        implied = (p.column_lower == 0.0) & (p.column_upper == np.inf) & ~p.integrality
        for k in np.flatnonzero(~implied).tolist():
            yield self.columns[k], float(p.column_lower[k]), float(p.column_upper[k])


def _sided(program: Program, place: int, name: str) -> Iterator[_Row]:
    lower, upper = float(program.row_lower[place]), float(program.row_upper[place])
    if lower == upper:
        yield _Row(place, name, "=", lower)
    else:
        if lower > -np.inf or upper == np.inf:
            yield _Row(place, name, ">=", lower)
        if upper < np.inf:
            yield _Row(place, f"{name}{UPPER_PART}" if lower > -np.inf else name, "<=", upper)


def _refuse(program: Program, form: str) -> None:
    if not program.column_count:
        raise EngiagentError(f"the blueprint has no variables, so {form} has nothing to say")
    if len(program.goals) > 1:
        names = ", ".join(goal.name for goal in program.goals)
        raise EngiagentError(
            f"{form} files have one objective, but the blueprint has several: {names}; "
            "write it with one of them, or with a weighted sum"
        )
    limit = f"{form} files say linear rows and a linear objective only, but"
    advice = "emit it as a script, or bound the variables so that linear rows can say it"
    for what, rows in (
        *((f"the function {p.atom.function!r}", p.row_numbers()) for p in program.nonlinear),
        ("a product of variables", program.products.rows),
        ("a condition that no bound puts into linear rows", program.indicators.rows),
    ):
        for row in rows[:1].tolist():
            owners = (b.constraint_id for b in program.rows if b.start <= row < b.stop)
            goal = f"the objective {program.objective_name!r}"
            owner = goal if row == OBJECTIVE else f"the constraint {next(owners)!r}"
            raise EngiagentError(f"{limit} {owner} has {what}; {advice}")
    for group in program.sos1[:1]:
        inside = (b for b in program.columns if np.any((b.start <= group) & (group < b.stop)))
        names = ", ".join(block.name for block in inside)
        raise EngiagentError(f"{limit} at most one of {names} may differ from zero; {advice}")


# --- LP ----------------------------------------------------------------------------------------


def write_lp(program: Program) -> str:
    """Return a program in the CPLEX LP format; EngiagentError when that cannot say it."""
    m, p = _Named(program, "LP"), program
    names = np.array(m.columns, dtype=object)
    binary = (p.column_lower == 0.0) & (p.column_upper == 1.0)
    lines = ["Minimize" if p.sense == "minimize" else "Maximize", *_wrapped(_lp_objective(m))]
    lines += ["Subject To", *(line for row in m.rows for line in _wrapped(_lp_row(m, row)))]
    for title, entries in (
        ("Bounds", (f"{number(low)} <= {name} <= {number(up)}" for name, low, up in m.bounds())),
        ("Generals", names[p.integrality & ~binary]),
        ("Binaries", names[p.integrality & binary]),
    ):
        listed = [f" {entry}" for entry in entries]
        lines += [title, *listed] if listed else []
    return "\n".join([*lines, "End"]) + "\n"


def _wrapped(pieces: Iterable[str]) -> Iterator[str]:
    """Yield the pieces joined to lines that readers with short lines take too."""
    line = ""
    for piece in pieces:
        if line and len(line) + len(piece) + 1 > WIDTH:
            yield line
            line = "  "
        line += f" {piece}"
    yield line


def _terms(terms: Iterable[tuple[float, str]]) -> Iterator[str]:
    """Yield terms with their signs, of which the first has none when it is positive."""
    plus = ""
    for value, name in terms:
        factor = "" if abs(value) == 1.0 else f"{number(abs(value))} "
        yield f"{'- ' if value < 0 else plus}{factor}{name}"
        plus = "+ "


def _lp_objective(m: _Named) -> Iterator[str]:
    p = m.program
    yield f"{m.objective}:"
    used = np.zeros(p.column_count, dtype=np.bool_)
    used[p.row_columns] = True
    # A column that stands nowhere else would be lost to readers without a term of its own.
    listed = np.flatnonzero((p.cost != 0.0) | ~used).tolist()
    yield from _terms((float(p.cost[k]), m.columns[k]) for k in listed)
    if p.offset:
        yield f"{'-' if p.offset < 0 else '+'} {number(abs(p.offset))}"


def _lp_row(m: _Named, row: _Row) -> Iterator[str]:
    p = m.program
    span = slice(p.row_starts[row.place], p.row_starts[row.place + 1])
    names = [m.columns[k] for k in p.row_columns[span].tolist()]
    yield f"{row.name}:"
    yield from (
        _terms(zip(p.row_values[span].tolist(), names, strict=True))
        if names
        else [f"0 {m.columns[0]}"]
    )
    yield f"{row.relation} {number(row.side)}"


# --- MPS ---------------------------------------------------------------------------------------


def write_mps(program: Program) -> str:
    """Return a program in free MPS; EngiagentError when that cannot say it."""
    m = _Named(program, "MPS")
    lines = [f"NAME {m.objective}"]
    if program.sense == "maximize":
        lines += ["OBJSENSE", "    MAX"]
    lines += ["ROWS", f" N {m.objective}", *(f" {_letter(r)} {r.name}" for r in m.rows)]
    lines += ["COLUMNS", *_mps_columns(m), "RHS"]
    if program.offset:
        lines.append(f" RHS {m.objective} {number(-program.offset)}")
    lines += [
        f" RHS {row.name} {number(row.side)}"
        for row in m.rows
        if row.side and np.isfinite(row.side)
    ]
    entries = list(_mps_bounds(m))
    lines += ["BOUNDS", *entries] if entries else []
    return "\n".join([*lines, "ENDATA"]) + "\n"


def _letter(row: _Row) -> str:
    """Return the kind of a row; one without a limit is free."""
    return {"=": "E", "<=": "L", ">=": "G"}[row.relation] if np.isfinite(row.side) else "N"


def _mps_columns(m: _Named) -> Iterator[str]:
    from scipy.sparse import csr_array  # a third of a second, for every command

    p = m.program
    shape = (p.row_count, p.column_count)
    matrix = csr_array((p.row_values, p.row_columns, p.row_starts), shape)
    matrix = matrix[[row.place for row in m.rows]].tocsc()
    whole = False
    for k, column in enumerate(m.columns):
        if bool(p.integrality[k]) != whole:
            whole = not whole
            yield _MARKERS[whole]
        span = slice(matrix.indptr[k], matrix.indptr[k + 1])
        entries = list(zip(matrix.indices[span].tolist(), matrix.data[span].tolist(), strict=True))
        if p.cost[k] != 0.0 or not entries:
            yield f" {column} {m.objective} {number(float(p.cost[k]))}"
        for row, value in entries:
            yield f" {column} {m.rows[row].name} {number(value)}"
    if whole:
        yield _MARKERS[False]


def _mps_bounds(m: _Named) -> Iterator[str]:
    for column, lower, upper in m.bounds():
        # Both sides, since readers differ in what they take for the one left out.
        yield f" MI BND {column}" if lower == -np.inf else f" LO BND {column} {number(lower)}"
        yield f" PL BND {column}" if upper == np.inf else f" UP BND {column} {number(upper)}"
