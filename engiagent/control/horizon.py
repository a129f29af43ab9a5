"""What recedes: the time set of a blueprint, its states, its series, and what periods cost.

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

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

import numpy as np
import numpy.typing as npt

from engiagent.blueprint.document import Blueprint
from engiagent.blueprint.elaborate import Elaboration
from engiagent.blueprint.elements import ConstraintDef, Core
from engiagent.blueprint.grammar import Call, ExpressionError, parse, walk
from engiagent.environment.interface import amount
from engiagent.errors import EngiagentError, InputError
from engiagent.formulations.program import OBJECTIVE, Block, ColumnBlock, Program
from engiagent.units.unit import UnitError, conversion, parse_unit

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]
End = Literal["refuse", "hold", "repeat"]
MEMORY: Final = 6.0
"""After what lead the error of a forecast has forgotten all but 1/e of what it began with. [h]"""
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


def moved_by(program: Program, states: Sequence[State], controls: Sequence[str]) -> list[str]:
    """Return the controls that stand in the equations of states; what balances them does not."""
    rows = np.repeat(np.arange(program.row_count), np.diff(program.row_starts))
    owner = np.searchsorted([b.start for b in program.columns], program.row_columns, "right") - 1
    names = np.array([b.name for b in program.columns])[owner]
    equal = (program.row_lower == program.row_upper)[rows]
    laws = rows[equal & np.isin(names, [s.variable for s in states])]
    return [name for name in controls if np.isin(laws, rows[names == name]).any()]


def held(
    blueprint: Blueprint, names: Sequence[str], horizon: Horizon, blocks: Sequence[int]
) -> Blueprint:
    """Return a blueprint whose variables are held over blocks of periods; the last repeats."""
    if min(blocks) < 1 or not names:
        found = ",".join(map(str, blocks)) if names else "no control that moves a state"
        raise InputError("nothing is held", found=found, expected="blocks of periods, as 1,1,2,4")
    size, core, rows = horizon.size, blueprint.core, []
    begins = {0, *np.cumsum(blocks).tolist(), *range(sum(blocks), size, blocks[-1])}
    for variable in (v for v in core.decision_variables if v.name in names):
        pairs = [(f"held{k}", text.rpartition(" in ")[2]) for k, text in enumerate(variable.index)]
        place = f"{variable.name}[{', '.join(own for own, _ in pairs)}]"
        period = next(own for own, over in pairs if over == horizon.periods)
        free = [f"pos({period}) != {k}" for k in sorted(begins) if k < size]
        row = ConstraintDef(
            constraint_id=f"{variable.name}__held",
            forall=tuple(f"{own} in {over}" for own, over in pairs),
            where=" and ".join(free),
            expression=f"{place} == prev({place}, {place})",
        )
        rows.append(row)
    return blueprint.with_core(constraints=(*core.constraints, *rows))


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
    parts = (
        core.decision_variables,
        core.parameters,
        core.expressions,
        core.constraints,
        core.sets,
    )
    for item in (*(item for part in parts for item in part), core.objective_function):
        for key in ("lower", "upper", "value", "expression", "where"):
            if isinstance(text := getattr(item, key, None), str):
                yield text


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


def stage_columns(program: Program, horizon: Horizon, stages: range) -> Bools:
    """Return which columns stand on some periods, or on the instants at their starts."""
    mask = np.zeros(program.column_count, dtype=bool)
    for block in program.columns:
        for axis, name in enumerate(block.sets):
            for position in stages if name in (horizon.periods, horizon.instants) else ():
                numbers = at_stage(block, axis, position).reshape(-1)
                mask[block.start + numbers[numbers >= 0]] = True
    return mask


def stage_cost(program: Program, x: Floats, stage: Bools) -> float:
    """Return the share of some periods in the objective, in its unit.

    It is the sum of the terms all of whose variables are columns of the ``stage``; what stands on
    no period (a peak, a sum over the horizon) belongs to none.
    """
    value, products = float(program.cost[stage] @ x[stage]), program.products
    if len(products.rows):
        inside = stage[products.first] & stage[products.second]
        value += float(products.at(x)[inside & (products.rows == OBJECTIVE)].sum())
    return value


# -- longer series --------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Series:
    """A longer series of a parameter."""

    name: str
    values: Floats  # of the parameter's shape, but longer along ``axis``, the horizon's
    axis: int
    length: int  # how long a window is

    def window(self, start: int, end: End) -> Floats:
        """Return the window that begins at a step.

        ``start``: number of the step, from 0. ``end``: what to do beyond the end of the series:
        ``refuse``, ``hold`` the last value, or ``repeat`` the series from its beginning. Raises
        InputError when the series is too short and the end is to be refused.
        """
        have = self.values.shape[self.axis]
        places = np.arange(start, start + self.length)
        if places[-1] >= have:
            if end == "refuse":
                raise InputError(
                    f"the series of {self.name} ends before the horizon does at step {start}",
                    found=f"{have} values",
                    expected=f"{start + self.length}, or end='hold' or 'repeat'",
                )
            places = np.minimum(places, have - 1) if end == "hold" else places % have
        found: Floats = np.take(self.values, places, axis=self.axis)
        return found

    def at(self, step: int, end: End) -> Floats:
        """Return the value of one step, without the horizon's axis."""
        return np.asarray(np.take(self.window(step, end), 0, axis=self.axis))


def read_series(
    given: Mapping[str, npt.ArrayLike], shapes: Mapping[str, tuple[tuple[int, ...], int]]
) -> dict[str, Series]:
    """Return longer series, checked.

    ``given``: values by parameter, in its own unit. ``shapes``: of each parameter that moves: its
    shape and which axis is the horizon's. Raises InputError when a name is unknown, a shape does
    not fit or a value is not finite.
    """
    found = {}
    for name, values in given.items():
        if name not in shapes:
            known = ", ".join(shapes) or "none"
            raise InputError(f"{name!r} is no parameter along the horizon; those are {known}")
        shape, axis = shapes[name]
        array = np.asarray(values, dtype=np.float64)
        others = tuple(n for k, n in enumerate(array.shape) if k != axis)
        if array.ndim != len(shape) or others != tuple(n for k, n in enumerate(shape) if k != axis):
            expected = ["n" if k == axis else str(size) for k, size in enumerate(shape)]
            raise InputError(
                f"the series of {name} has a wrong shape",
                found=str(array.shape),
                expected=f"({', '.join(expected)})",
            )
        if not array.size or not np.isfinite(array).all():
            raise InputError(f"the series of {name} is empty or holds a value that is not finite")
        found[name] = Series(name, array, axis, shape[axis])
    return found


def forecasts_that_err(
    runner: Any, sizes: Mapping[str, str], steps: int, seed: int
) -> Callable[[int], dict[str, Floats]]:
    r"""Return what is forecast in a step: what comes, and shocks :math:`w` that come until then.

    :math:`e_{t,h} = \sum_{j=1}^{h} \varphi^{h-j} w_{t+j}`, :math:`w \sim N(0, \sigma^2 (1 -
    \varphi^2))`: nothing is off now, :math:`\sigma` far ahead, and each step takes a shock away.
    ``sizes``: :math:`\sigma` by parameter, as ``1 K`` or as a share of what is forecast.
    """
    size = runner.horizon.size
    lead = np.arange(size)[:, None] - np.arange(size)
    fade = np.exp(-runner.horizon.hours / MEMORY)
    kernel = np.sqrt(1 - fade**2) * np.tril(fade ** np.maximum(lead, 0)) * (np.arange(size) > 0)
    shocks, about = {}, {}
    for name, text in sizes.items():
        series, own = runner.forecasts[name], parse_unit(runner.parametric.unit(name))
        share = text.rstrip().endswith("%")
        unit = str(parse_unit("1") if share else own.difference())
        sigma, _ = amount(text, "a forecast error", unit)
        shape = np.moveaxis(series.values, series.axis, 0).shape[1:]
        chance = np.random.default_rng([seed, *name.encode()])
        shocks[name] = sigma * chance.standard_normal((steps + size, *shape))
        # What is never below zero, as the sun, is not forecast to be; a temperature may.
        about[name] = share, 0.0 if series.values.min() >= 0 and not own.is_point else -np.inf

    def forecast(step: int) -> dict[str, Floats]:
        found = {}
        for name, (share, low) in about.items():
            series = runner.forecasts[name]
            window = np.moveaxis(series.window(step, runner.end), series.axis, 0)
            error = np.tensordot(kernel, shocks[name][step : step + size], 1)
            off = np.maximum(window * (1 + error) if share else window + error, low)
            found[name] = np.moveaxis(off, 0, series.axis)
        return found

    return forecast
