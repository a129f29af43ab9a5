"""What no solver may be given: NaN, misplaced infinities, coefficients that it would drop.

HiGHS takes a NaN without a word and may call the result optimal, drops tiny coefficients with a
mere warning, and reads a bound of 1e20 as none. All of these are refused here, by name.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from engiagent.errors import EngiagentError
from engiagent.formulations.program import Block, Bools, Program
from engiagent.formulations.values import KINKED, Floats, Part

SMALLEST_COEFFICIENT = 1e-12
LARGEST_COEFFICIENT = 1e15
INFINITE = 1e20


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
    """Refuse a program that a solver would misread, by name, element and number."""
    _check_shapes(program)
    columns, rows = program.columns, program.rows
    cost = program.cost
    _refuse(program, ~np.isfinite(cost), cost, columns, "the objective's coefficient of {}")
    _refuse(program, np.abs(cost) >= INFINITE, cost, columns, "the objective's coefficient of {}")
    if not np.isfinite(program.offset):
        raise ProgramError(f"the objective's constant is {program.offset}; it must be finite")
    _check_bounds(program, program.column_lower, program.column_upper, columns, "bound of {}")
    _check_bounds(program, program.row_lower, program.row_upper, rows, "right-hand side of {}")
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


def _check_curved(program: Program) -> None:
    """Refuse products and functions with numbers that are not finite.

    HiGHS and SCIP both take NaN for a coefficient and may call the result optimal.
    """
    products = program.products
    bad = ~(np.abs(products.values) < LARGEST_COEFFICIENT)
    if bad.any():
        place = int(np.argmax(bad))
        pair = (products.first[place], products.second[place])
        names = " * ".join(place_of(program, program.columns, int(column)) for column in pair)
        raise ProgramError(
            f"the coefficient of {names} is {products.values[place]:g}; it must be a "
            f"number below {LARGEST_COEFFICIENT:g} in size"
        )
    for part in program.nonlinear:
        _check_part(part)


def _check_part(part: Part) -> None:
    atom = part.atom
    where = f" in {atom.origin}" if atom.origin else ""
    if atom.function in KINKED:
        raise ProgramError(
            f"{atom.function}{where} has a kink; compile it, or put it into linear rows, as "
            "engiagent.formulations.lowering does, before it is solved"
        )
    numbers = [part.coefficients, *atom.numbers]
    for form in atom.args:
        numbers += [form.constant, *(term.coefficients for term in form.terms)]
        for inner in form.parts:
            _check_part(inner)
    if not all(bool(np.all(np.abs(values) < INFINITE)) for values in numbers):
        raise ProgramError(
            f"a number of the function {atom.function}{where} is not finite or not below 1e20"
        )


def _check_shapes(program: Program) -> None:
    n, m = program.column_count, program.row_count
    starts = program.row_starts
    fits = (
        len(program.column_lower) == len(program.column_upper) == len(program.integrality) == n
        and len(program.row_upper) == m
        and len(starts) == m + 1
        and len(program.row_columns) == len(program.row_values) == starts[-1]
    )
    if not fits:
        raise ProgramError(f"the arrays of the program ({n} columns, {m} rows) do not fit together")


def _check_bounds(
    program: Program, lower: Floats, upper: Floats, blocks: Sequence[Block], what: str
) -> None:
    _refuse(program, ~(lower < np.inf), lower, blocks, "the lower " + what)
    _refuse(program, ~(upper > -np.inf), upper, blocks, "the upper " + what)
    for side, values in (("lower", lower), ("upper", upper)):
        huge = np.isfinite(values) & (np.abs(values) >= INFINITE)
        _refuse(program, huge, values, blocks, f"the {side} " + what)


def _refuse(
    program: Program, bad: Bools, values: Floats, blocks: Sequence[Block], what: str
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
    """Return a sentence about the first pair of bounds that cross, or None."""
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
