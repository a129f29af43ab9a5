r"""The best plan of the first reading that keeps the rows of the second too.

Columns of the second reading that both share are those of the first, in its unit,
:math:`x_B = f\,x_A + s`; the others are added.
"""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from engiagent.agents.meeting.plans import Mapped, Side, Values, mapped, on_grid, series_of
from engiagent.errors import EngiagentError
from engiagent.formulations.program import ColumnBlock, Program
from engiagent.formulations.values import Floats, Ints
from engiagent.solvers.result import SolveOptions
from engiagent.solvers.solving import solve
from engiagent.units.unit import conversion, parse_unit
from engiagent.verify.series import Series


def joint_plan(
    first: Side, second: Side, there: Mapped, options: SolveOptions
) -> Mapping[str, Series] | None:
    """Return the first reading's best plan under the rows of both, in the first's names.

    None where a row of the second is not linear or no plan is found.
    """
    if not second.program.is_linear or len(first.program.goals):
        return None
    place, factor, shift = _columns(first, second, there)
    program = _joined(first.program, second.program, place, factor, shift)
    try:
        found = solve(program, replace(options, backend=None), isolate=first.isolated)
    except EngiagentError:
        return None
    if found.status != "optimal" or found.x is None:
        return None
    return series_of(first, found.x)


def _columns(first: Side, second: Side, there: Mapped) -> tuple[Ints, Floats, Floats]:
    """Return for each column of the second the first's column, -1 for none, factor and shift."""
    n = second.program.column_count
    place, factor, shift = np.full(n, -1), np.ones(n), np.zeros(n)
    numbers = {}
    for v in first.core.decision_variables:
        block = first.program.column_block(v.name)
        numbered = on_grid(block, np.arange(block.start, block.stop, dtype=np.float64))
        dims, _ = first.declarations.dims(v.index)
        numbers[v.quantity or v.name] = Values(dims, numbered, parse_unit(v.unit or "1"))
    units = second.units
    for block in second.program.columns:
        key = there.pairs.get(block.name)
        if block.generated or key not in numbers:
            continue
        found = mapped({key: numbers[key]}, second).shared.get(block.name)
        if found is None:
            continue
        part = found if block.positions is None else found[block.positions]
        span = slice(block.start, block.stop)
        place[span] = np.where(np.isnan(part), -1, part).astype(np.int64)
        factor[span], shift[span] = conversion(numbers[key].unit, units[block.name])
    return place, factor, shift


def _joined(one: Program, two: Program, place: Ints, factor: Floats, shift: Floats) -> Program:
    n, own = one.column_count, place < 0
    target = np.where(own, n + np.cumsum(own) - 1, place)
    shared = np.flatnonzero(~own)
    lower, upper = one.column_lower.copy(), one.column_upper.copy()
    np.maximum.at(lower, place[shared], ((two.column_lower - shift) / factor)[shared])
    np.minimum.at(upper, place[shared], ((two.column_upper - shift) / factor)[shared])
    whole = one.integrality.copy()
    whole[place[shared]] |= two.integrality[shared]
    rows = np.repeat(np.arange(two.row_count), np.diff(two.row_starts))
    columns = two.row_columns
    moved = np.bincount(rows, two.row_values * shift[columns], two.row_count)
    added, m = int(own.sum()), one.row_count
    more = ColumnBlock(name="second__", start=n, stop=n + added, unit="1", generated=True)
    later = (replace(r, start=r.start + m, stop=r.stop + m, generated=True) for r in two.rows)
    return replace(
        one,
        cost=np.concatenate((one.cost, np.zeros(added))),
        column_lower=np.concatenate((lower, two.column_lower[own])),
        column_upper=np.concatenate((upper, two.column_upper[own])),
        integrality=np.concatenate((whole, two.integrality[own])),
        row_starts=np.concatenate((one.row_starts, one.row_starts[-1] + two.row_starts[1:])),
        row_columns=np.concatenate((one.row_columns, target[columns])),
        row_values=np.concatenate((one.row_values, two.row_values * factor[columns])),
        row_lower=np.concatenate((one.row_lower, two.row_lower - moved)),
        row_upper=np.concatenate((one.row_upper, two.row_upper - moved)),
        columns=(*one.columns, *([more] if added else [])),
        rows=(*one.rows, *later),
    )
