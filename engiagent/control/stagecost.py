"""What the applied periods cost."""

import numpy as np

from engiagent.control.horizon import Floats, Horizon, at_stage, pick
from engiagent.errors import InputError
from engiagent.formulations.program import OBJECTIVE, Program


class StageCost:
    """The share of the applied periods in the objective.

    Without a named expression it is the sum of the objective's terms all of whose variables stand
    on the applied periods or on the instants at their starts; what stands on no period (a peak, a
    sum over the horizon) belongs to none.

    Parameters
    ----------
    periods
        How many periods are applied.
    expression
        Name of an expression along the horizon, or None.

    Raises
    ------
    InputError
        When there is no such expression along the horizon.
    """

    def __init__(
        self, program: Program, horizon: Horizon, periods: int, expression: str | None
    ) -> None:
        self._horizon, self._periods, self._expression = horizon, periods, expression
        self._first: int | None = None
        self._mask = np.zeros(program.column_count, dtype=bool)
        if expression is None:
            return
        known = {e.name: e for e in program.expressions if horizon.periods in e.sets}
        if expression not in known:
            raise InputError(
                f"no expression {expression!r} along {horizon.periods}",
                expected=", ".join(known) or "a named expression with that index",
            )

    def at(self, program: Program, x: Floats, first: int) -> float:
        """Return the cost of the periods from one on, in the objective's unit."""
        if self._expression is not None:
            return self._named(program, x, first)
        if self._first != first:
            self._mask, self._first = self._columns(program, first), first
        value = float(program.cost[self._mask] @ x[self._mask])
        products = program.products
        if len(products.rows):
            inside = self._mask[products.first] & self._mask[products.second]
            value += float(products.at(x)[inside & (products.rows == OBJECTIVE)].sum())
        return value

    def _named(self, program: Program, x: Floats, first: int) -> float:
        block = program.expression_block(str(self._expression))
        values, axis = block.evaluate(x), block.sets.index(self._horizon.periods)
        total = 0.0
        for position in range(first, first + self._periods):
            total += float(np.nansum(pick(values, block, at_stage(block, axis, position))))
        return total

    def _columns(self, program: Program, first: int) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        mask = np.zeros(program.column_count, dtype=bool)
        for block in program.columns:
            for axis, name in enumerate(block.sets):
                if name not in (self._horizon.periods, self._horizon.instants):
                    continue
                for position in range(first, first + self._periods):
                    numbers = at_stage(block, axis, position).reshape(-1)
                    mask[block.start + numbers[numbers >= 0]] = True
        return mask
