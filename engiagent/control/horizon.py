"""What recedes: the time set of a blueprint, its states, and what its first periods cost.

The contract of a blueprint that can be controlled:

* one evenly stepped set of kind ``time`` (the horizon) and its ``instants``;
* every state is a variable over the instants, and a parameter holds its measured value at the
  first one (the blueprint's own constraint or bound says so), indexed by the variable's other sets;
* every parameter along the horizon moves: it has a longer series, or is given anew at each step,
  or is the same in all periods, or is named as fixed.

Where expressions ask for the clock or the calendar (``clock``, ``hour``, ``weekday``, ``at``,
``within``) the time set starts anew at each step and the program is compiled anew; the same holds
where a moving parameter decides on structure. That costs milliseconds to tenths of a second a step;
a series in place of the clock keeps the program in place.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from engiagent.blueprint.document import Core
from engiagent.blueprint.elaborate import Elaboration
from engiagent.blueprint.grammar import Call, ExpressionError, parse, walk
from engiagent.errors import EngiagentError, InputError
from engiagent.formulations.program import OBJECTIVE, Block, ColumnBlock, Program
from engiagent.units.unit import UnitError, conversion, parse_unit

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
CLOCK: Final = ("clock", "hour", "weekday", "at", "within")


class ControlError(EngiagentError):
    """No control can be given, not even with all limits that may give way."""


@dataclass(frozen=True)
class State:
    """A state: its variable and the parameter that holds its measured value."""

    variable: str
    parameter: str
    # factor, shift: a measured value is ``factor * x + shift`` of the variable, as their units say
    factor: float
    shift: float


@dataclass(frozen=True, eq=False)
class Horizon:
    """The time set along which a horizon recedes."""

    # periods, instants: names of the set of periods and of its edges
    periods: str
    instants: str
    size: int  # number of periods
    hours: float  # length of one period. [h]


def find_states(
    program: Program, wanted: Mapping[str, str], unit_of: Callable[[str], str]
) -> tuple[State, ...]:
    """Return the states for a mapping from variable or quantity to parameter.

    ``unit_of``: gives the unit in which a parameter is held. Raises InputError when a name is
    neither that of a variable nor of a quantity, or the units of a variable and its parameter
    measure different things.
    """
    found = []
    for key, parameter in wanted.items():
        block = find_variable(program, key)
        try:
            factor, shift = conversion(parse_unit(block.unit), parse_unit(unit_of(parameter)))
        except UnitError as error:
            raise InputError(f"{parameter} cannot hold the state {block.name}: {error}") from None
        found.append(State(block.name, parameter, factor, shift))
    return tuple(found)


def find_variable(program: Program, key: str) -> ColumnBlock:
    """Return the variable of a name or, if there is none, of a quantity."""
    for field in ("name", "quantity"):
        for block in program.columns:
            if getattr(block, field) == key and not block.generated:
                return block
    known = ", ".join(b.name for b in program.columns if not b.generated)
    raise InputError(f"no variable and no quantity {key!r}; variables are {known}")


def find_horizon(core: Core, elaboration: Elaboration, program: Program, states: Any) -> Horizon:
    """Return the horizon on whose instants all states stand.

    Raises InputError when there is not exactly one, or its steps are not all of one length.
    """
    instants = set()
    for state in states:
        block = program.column_block(state.variable)
        names = [s for s in block.sets if program.coordinates[s].kind == "instants"]
        if len(names) != 1:
            raise InputError(f"the state {state.variable} does not stand on the instants of a set")
        instants |= set(names)
    if len(instants) != 1:
        raise InputError("the states stand on different sets of instants; one horizon is needed")
    name = instants.pop()
    definition = next(s for s in core.sets if s.name == name)
    periods = definition.of if isinstance(definition.of, str) else (definition.of or ("",))[0]
    axis = elaboration.index_set(periods).root.axis
    steps = np.diff(axis.edges) if axis is not None else np.zeros(0)
    if not len(steps) or np.any(np.abs(steps - steps[0]) > 1e-6):
        raise InputError(f"the periods of {periods} differ in length; a horizon needs even steps")
    return Horizon(periods, name, len(steps), float(steps[0]) / 3600.0)


def asks_for_clock(core: Core) -> bool:
    """Return whether any expression depends on where the horizon stands in time."""
    for text in _texts(core):
        try:
            nodes = list(walk(parse(text)))
        except ExpressionError:
            continue  # whoever compiles it says what is wrong
        if any(isinstance(node, Call) and node.function in CLOCK for node in nodes):
            return True
    return False


def _texts(core: Core) -> Iterator[str]:
    for variable in core.decision_variables:
        yield from _only_text(variable.lower, variable.upper, variable.where)
    for parameter in core.parameters:
        if isinstance(parameter.value, str):
            yield parameter.value
    for expression in core.expressions:
        yield from _only_text(expression.expression, expression.where)
    for constraint in core.constraints:
        yield from _only_text(constraint.expression, constraint.where)
    for definition in core.sets:
        if isinstance(definition.where, str):
            yield definition.where
    if core.objective_function is not None and core.objective_function.expression is not None:
        yield core.objective_function.expression


def _only_text(*values: object) -> Iterator[str]:
    yield from (value for value in values if isinstance(value, str))


def at_stage(block: Block, axis: int, position: int) -> Ints:
    """Return element numbers of a block at one position of one of its sets.

    Returns shape of the other sets; -1 where a filter leaves the element out.
    """
    numbers = np.full(int(np.prod(block.shape, dtype=np.int64)), -1, dtype=np.int64)
    kept = np.arange(block.size) if block.positions is None else block.positions
    numbers[kept] = np.arange(block.size)
    found: Ints = np.take(numbers.reshape(block.shape), position, axis=axis)
    return found


def pick(x: Floats, block: Block, numbers: Ints) -> Floats:
    """Return values of elements of a block, NaN where there is none."""
    values = x[block.start + np.maximum(numbers, 0)]
    return np.where(numbers >= 0, values, np.nan)


class StageCost:
    """The share of the applied periods in the objective.

    Without a named expression it is the sum of the objective's terms all of whose variables stand
    on the applied periods or on the instants at their starts; what stands on no period (a peak, a
    sum over the horizon) belongs to none.

    ``periods``: how many periods are applied. ``expression``: name of an expression along the
    horizon, or None. Raises InputError when there is no such expression along the horizon.
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
