"""What no solver may be given: NaN, misplaced infinities, coefficients that it would drop.

HiGHS takes a NaN without a word and may call the result optimal, drops tiny coefficients with a
mere warning, and reads a bound of 1e20 as none. All of these are refused here, by name.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from engiagent.errors import EngiagentError
from engiagent.formulations.program import OBJECTIVE, Block, Program
from engiagent.formulations.values import KINKED, Atom, Floats

SMALLEST_COEFFICIENT = 1e-12
LARGEST_COEFFICIENT = 1e15
INFINITE = 1e20
LARGEST_INDEX = 2**31 - 1


class ProgramError(EngiagentError):
    """The numbers of a program are such that no solver can be trusted with them."""


def place_of(program: Program, blocks: Sequence[Block], index: int) -> str:
    """Return the name of a row or column, as ``charge[2025-07-01T03:00]``."""
    for block in blocks:
        if block.start <= index < block.stop:
            return _element(program, block, index - block.start)
    return f"number {index}"


def _element(program: Program, block: Block, offset: int) -> str:
    name = getattr(block, "constraint_id", block.name)
    if not block.sets:
        return name
    flat = offset if block.positions is None else int(block.positions[offset])
    labels = []
    for set_name, position in zip(block.sets, np.unravel_index(flat, block.shape), strict=True):
        coordinate = program.coordinates.get(set_name)
        label = position if coordinate is None else coordinate.values[position]
        if isinstance(label, np.datetime64):
            label = np.datetime_as_string(label, unit="m")
        labels.append(str(label))
    return f"{name}[{', '.join(labels)}]"


def check_program(program: Program) -> None:
    """Refuse a program that a solver would misread.

    Raises ProgramError naming the variable or constraint, its element and the number.
    """
    _check_shapes(program)
    columns, rows = program.columns, program.rows
    cost = program.cost
    _refuse(program, ~np.isfinite(cost), cost, columns, "the objective's coefficient of {}")
    _refuse(program, np.abs(cost) >= INFINITE, cost, columns, "the objective's coefficient of {}")
    if not np.isfinite(program.offset):
        raise ProgramError(f"the objective's constant is {program.offset}; it must be finite")
    _check_bounds(program, program.column_lower, program.column_upper, columns, "bound of {}")
    _check_bounds(program, program.row_lower, program.row_upper, rows, "right-hand side of {}")
    _check_repeats(program)
    size = np.abs(program.row_values)
    bad = ~(size < LARGEST_COEFFICIENT) | ((size > 0) & (size <= SMALLEST_COEFFICIENT))
    if bad.any():
        entry = int(np.argmax(bad))
        row = int(np.searchsorted(program.row_starts, entry, side="right")) - 1
        column = int(program.row_columns[entry])
        raise ProgramError(
            f"the coefficient of {place_of(program, columns, column)} in "
            f"{place_of(program, rows, row)} is {program.row_values[entry]:g}; a solver needs "
            f"sizes above {SMALLEST_COEFFICIENT:g} and below {LARGEST_COEFFICIENT:g}: "
            "choose units in which the numbers are of similar size"
        )
    _check_curved(program)
    _check_choices(program)


def _check_curved(program: Program) -> None:
    """Refuse products and functions with numbers that are not finite or columns that are not there.

    HiGHS and SCIP both take NaN for a coefficient and may call the result optimal.
    """
    products = program.products
    size = np.abs(products.values)
    if not bool(np.all(size < LARGEST_COEFFICIENT)):
        place = int(np.argmax(~(size < LARGEST_COEFFICIENT)))
        names = [
            place_of(program, program.columns, int(column[place]))
            for column in (products.first, products.second)
        ]
        raise ProgramError(
            f"the coefficient of {' * '.join(names)} is {products.values[place]:g}; it must be a "
            f"number below {LARGEST_COEFFICIENT:g} in size"
        )
    _check_places(program, products.rows, (products.first, products.second))
    for part in program.nonlinear:
        _check_finite(part.coefficients, part.atom)
        _check_places(program, part.row_numbers(), ())
        _check_atom(program, part.atom)


def _check_atom(program: Program, atom: Atom) -> None:
    if atom.function in KINKED:
        where = f" in {atom.origin}" if atom.origin else ""
        raise ProgramError(
            f"{atom.function}{where} has a kink; compile it, or put it into linear rows, as "
            "engiagent.formulations.lowering does, before it is solved"
        )
    for numbers in atom.numbers:
        _check_finite(numbers, atom)
    for form in atom.args:
        _check_finite(form.constant, atom)
        for term in form.terms:
            _check_finite(term.coefficients, atom)
            _check_places(program, np.zeros(0, np.int64), (term.columns,))
        for part in form.parts:
            _check_finite(part.coefficients, part.atom)
            _check_atom(program, part.atom)


def _check_finite(values: npt.NDArray[np.float64], atom: Atom) -> None:
    if not bool(np.all(np.abs(values) < INFINITE)):
        where = f" in {atom.origin}" if atom.origin else ""
        raise ProgramError(
            f"a number of the function {atom.function}{where} is not finite or not below 1e20"
        )


def _check_places(
    program: Program,
    rows: npt.NDArray[np.integer[Any]],
    columns: Sequence[npt.NDArray[np.integer[Any]]],
) -> None:
    inside = bool(np.all((rows >= OBJECTIVE) & (rows < program.row_count))) and all(
        bool(np.all((places >= 0) & (places < program.column_count))) for places in columns
    )
    if not inside:
        raise ProgramError("a product or a function names a row or a column that is not there")


def _check_choices(program: Program) -> None:
    """Refuse conditions on columns that are no binaries, and groups of columns not there."""
    given = program.indicators
    for columns in (given.columns, *program.sos1):
        _check_places(program, np.zeros(0, np.int64), (columns,))
    _check_places(program, given.rows, ())
    if len(given.rows) and not (
        given.rows.min() >= 0
        and bool(np.all(program.integrality[given.columns]))
        and bool(np.all(program.column_lower[given.columns] >= 0))
        and bool(np.all(program.column_upper[given.columns] <= 1))
        and bool(np.all((given.active == 0) | (given.active == 1)))
        and len(np.unique(given.rows)) == len(given.rows)
    ):
        raise ProgramError("a row depends on a column that is not 0 or 1, or on two of them")


def _check_repeats(program: Program) -> None:
    """Refuse a column that stands twice in one row; HiGHS would, without saying which."""
    rows = np.repeat(np.arange(program.row_count), np.diff(program.row_starts))
    keys = rows * program.column_count + program.row_columns
    if np.all(keys[1:] > keys[:-1]):
        return
    keys = np.sort(keys)
    twice = keys[1:][keys[1:] == keys[:-1]]
    if len(twice):
        row, column = divmod(int(twice[0]), program.column_count)
        raise ProgramError(
            f"{place_of(program, program.columns, column)} stands twice in "
            f"{place_of(program, program.rows, row)}"
        )


def _check_shapes(program: Program) -> None:
    n, m = program.column_count, program.row_count
    starts = program.row_starts
    fits = (
        len(program.column_lower) == len(program.column_upper) == len(program.integrality) == n
        and len(program.row_upper) == m
        and len(starts) == m + 1
        and len(program.row_columns) == len(program.row_values) == starts[-1]
        and starts[0] == 0
        and bool(np.all(np.diff(starts) >= 0))
    )
    if not fits:
        raise ProgramError(f"the arrays of the program ({n} columns, {m} rows) do not fit together")
    if max(n, m, program.nonzero_count) > LARGEST_INDEX:
        raise ProgramError("the program has more than 2147483647 rows, columns or coefficients")
    indices = program.row_columns
    if len(indices) and not (indices.min() >= 0 and indices.max() < n):
        raise ProgramError(f"the matrix names a column outside 0..{n - 1}")


def _check_bounds(
    program: Program,
    lower: npt.NDArray[np.float64],
    upper: npt.NDArray[np.float64],
    blocks: Sequence[Block],
    what: str,
) -> None:
    _refuse(program, ~(lower < np.inf), lower, blocks, "the lower " + what)
    _refuse(program, ~(upper > -np.inf), upper, blocks, "the upper " + what)
    for side, values in (("lower", lower), ("upper", upper)):
        huge = np.isfinite(values) & (np.abs(values) >= INFINITE)
        _refuse(program, huge, values, blocks, f"the {side} " + what)


def _refuse(
    program: Program,
    bad: npt.NDArray[np.bool_],
    values: npt.NDArray[np.float64],
    blocks: Sequence[Block],
    what: str,
) -> None:
    if bad.any():
        index = int(np.argmax(bad))
        place = what.format(place_of(program, blocks, index))
        raise ProgramError(f"{place} is {values[index]}; it must be a number below 1e20 in size")


ROUNDING = 1e-12
"""Crossing of bounds, relative to them and to 1, that is rounding: 0.1 + 0.2 is more than 0.3."""


def settled(program: Program) -> Program:
    """Return the program with bounds that cross by rounding alone made equal, at their middle."""
    if not np.any(program.column_lower > program.column_upper) and not np.any(
        program.row_lower > program.row_upper
    ):
        return program
    column_lower, column_upper = _uncrossed(program.column_lower, program.column_upper)
    row_lower, row_upper = _uncrossed(program.row_lower, program.row_upper)
    return replace(
        program,
        column_lower=column_lower,
        column_upper=column_upper,
        row_lower=row_lower,
        row_upper=row_upper,
    )


def _uncrossed(lower: Floats, upper: Floats) -> tuple[Floats, Floats]:
    places = np.flatnonzero(lower > upper)
    low, high = lower[places], upper[places]
    near = low - high <= ROUNDING * np.maximum(1.0, np.abs(high))
    lower, upper = lower.copy(), upper.copy()
    lower[places[near]] = upper[places[near]] = (0.5 * (low + high))[near]
    return lower, upper


def find_crossing(program: Program) -> str | None:
    """Return a sentence about the first pair of bounds that cross, or None.

    Such a program is infeasible without any solver.
    """
    sides = (
        (program.column_lower, program.column_upper, program.columns, "bounds"),
        (program.row_lower, program.row_upper, program.rows, "right-hand sides"),
    )
    for lower, upper, blocks, what in sides:
        crossed = lower > upper
        if crossed.any():
            index = int(np.argmax(crossed))
            place = place_of(program, blocks, index)
            return (
                f"the {what} of {place} contradict each other: "
                f"at least {lower[index]:g} and at most {upper[index]:g}"
            )
    return None
