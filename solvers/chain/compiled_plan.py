"""The best plan of a chain by compiled passes, step after step; the same plan as by arrays."""

from typing import Any

import numpy as np

from engiagent.solvers.chain import compiled, compiled_local, compiled_rows
from engiagent.solvers.chain.local import Local
from engiagent.solvers.chain.model import Model, UnsuitableError, short_steps, spread
from engiagent.solvers.chain.numbers import Bounds, limit_states
from engiagent.solvers.chain.plan import Plan
from engiagent.solvers.structure.entries import Floats, Shorts


def plan_by_steps(model: Model, bounds: Bounds) -> Plan | None:
    """Return the best plan, or None when these bounds allow none.

    Raises
    ------
    UnsuitableError
        When the method does not apply to these numbers.
    """
    rows, units, count = model.rows, model.units, model.chain.steps
    places = short_steps(model.chain)
    columns = model.columns.astype(np.int32, copy=False)
    # Few large blocks instead of many arrays: the system hands them out in large pages.
    inflow, low, high, demand, least, most, states, *rest = np.empty((11, count))
    lows, highs, leaps, prices = rest
    low, high, lower, upper = _bounds(model, bounds, places, columns, (inflow, low, high, demand))
    part = model.cost, lower, upper, rows.alpha, rows.beta
    scaling = units.factor, units.holding
    starts = np.empty(count + 1, np.int64)
    stuck, room = count, columns.size + 4 * len(columns) ** 2
    while stuck == count:
        slopes, lengths, levels = np.empty((3, room))
        found = starts, least, most, slopes, lengths
        stuck = compiled_local.segments(columns, part, places[1], demand, scaling, *found)
        room *= 2
    if stuck >= 0:
        return None
    steps = rows.ratio, inflow, low, high, least, most
    timing = units.factor, units.begins, units.jumps, units.syncs
    if compiled.value_levels(starts, slopes, lengths, steps, timing, levels) >= 0:
        return None
    x, y = np.split(np.zeros(model.total + model.program.row_count), [model.total])
    compiled.plan(starts, lengths, levels, steps, timing, states, places[2], rows.turn, x)
    below, above, begins = np.empty((3, count), np.bool_)
    runs, first = (lows, highs, below, above, begins, leaps), starts[:count]
    size = compiled_local.split(
        columns, part, places[1], demand, scaling, steps, timing, states, x, runs, first
    )
    compiled.price(*(run[:size] for run in (*runs, prices)))
    ties = *places[:2], rows.scale
    compiled_local.multipliers(columns, part, scaling, ties, x, first[:size], prices[:size], y)
    return Plan(x, y)


def _bounds(
    model: Model, bounds: Bounds, places: Any, columns: Shorts, parts: Any
) -> tuple[Floats, Floats, Floats, Floats]:
    """Return finite bounds of the states and of all columns; fill ``parts``.

    These are inflow and bounds of the states, and what every balance has to meet.
    """
    program, rows = model.program, model.rows
    compiled_rows.numbers(
        places,
        program.row_lower,
        program.row_upper,
        bounds.constant,
        rows.scale,
        rows.turn,
        (model.lower, model.upper),
        *parts,
    )
    inflow, low, high, demand = parts
    lower, upper = bounds.lower, bounds.upper
    if not model.finite or model.total > program.column_count:
        if not (np.isfinite(low.min()) and np.isfinite(high.max())):
            tables = *model.tables, spread(lower, columns), spread(upper, columns)
            low, high = limit_states(Local(*tables, demand), rows.ratio, inflow, low, high)
        if lower is model.lower:  # else made for these values of the couplers
            lower, upper = lower.copy(), upper.copy()
        states = rows.ratio, inflow, low, high, demand
        sides = rows.alpha, rows.beta, lower, upper
        if not compiled_rows.limit_columns(columns, *sides, *states):
            raise UnsuitableError("nothing limits a column")
    return low, high, lower, upper
