"""The receding-horizon runner: what a step gives, what a plant takes, and step after step."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from engiagent.blueprint.document import Blueprint
from engiagent.blueprint.elaborate import Elaboration
from engiagent.blueprint.periods import find_moving, start_after
from engiagent.control.elastic import Relaxation, find_limits, relaxations, relaxed
from engiagent.control.horizon import (
    Bools,
    ControlError,
    End,
    Floats,
    Ints,
    asks_for_clock,
    at_stage,
    find_horizon,
    find_states,
    held,
    moved_by,
    pick,
    read_series,
    stage_columns,
    stage_cost,
)
from engiagent.errors import InputError
from engiagent.formulations.expansion import expand
from engiagent.formulations.parametric import compile_parametric
from engiagent.formulations.program import ColumnBlock, Program
from engiagent.solvers.result import SolveOptions, SolverResult
from engiagent.solvers.session import Session

if TYPE_CHECKING:
    from engiagent.control.closedloop import ClosedLoop


Values = Mapping[str, Floats]
Plant = Callable[[Values, Values, Values], Mapping[str, npt.ArrayLike]]
"""``(state, controls, disturbances) -> state`` after the applied periods; all by name, each in its
own unit: states by parameter, controls by variable, disturbances by parameter. Beside the controls
stand the planned states at the end of these periods, by parameter."""

Outcome = Literal["optimal", "feasible", "relaxed", "previous plan"]


@dataclass(frozen=True, eq=False, kw_only=True)
class Control:
    """What to do now."""

    step: int  # number of the step, from 0
    # outcome, reason: ``optimal``: the best plan, which keeps all limits; ``feasible``: one that
    # keeps them, but a limit of the solver came before the proof that it is the best; ``relaxed``:
    # it goes beyond some that may give way, as little as is possible; ``previous plan``: none was
    # found in time, so that the last one goes on
    outcome: Outcome
    reason: str
    # controls by variable: its value in the first period, of the shape of its other sets, or of
    # (periods, others …) when several periods are applied at once
    values: Values
    # units, quantities: by variable
    units: Mapping[str, str]
    quantities: Mapping[str, str | None]
    # states at the end of the applied periods as the plan sees them, by parameter
    predicted: Values
    # applied, ends: by variable along the horizon: what the plan has in the applied periods, of the
    # shape (periods, others …), or at the instants that begin them; and those at the last instant
    applied: Values
    ends: Values
    # of the expressions that a plant is told of, by name: the values in the first period
    results: Values
    # limits that the whole plan does not keep, with the exact amounts
    relaxations: tuple[Relaxation, ...]
    # objective, stage_cost: of the plan; and of it the share of the applied periods
    objective: float | None
    stage_cost: float
    result: SolverResult  # the solver's own account
    seconds: float  # time of the step: update, solve and read-out. No decision rests on it.


class RecedingHorizon:
    """Plans over a horizon again and again, each time from the measured state.

    ``blueprint``, ``folder``: the plan over one horizon; what it has to fulfil stands in
    :mod:`engiagent.control.horizon`. ``state``: for each state variable or quantity the parameter
    that holds its measured value. ``forecasts``: for parameters along the horizon their longer
    series, in the parameter's own unit, of its shape but longer along the horizon. ``fixed``:
    parameters along the horizon that are right to stay as they are. ``step``: how many periods are
    applied before the next plan. ``plant``: what the world does with a control (see
    :data:`Plant`); None for the plan's own prediction. ``limits``: what may be relaxed when there
    is no plan, by classes, the first to be given up first: ids of constraints, names of variables
    for their bounds; None stands for the limits of states. ``end``: what to do where a series ends
    before the horizon: ``refuse``, ``hold``, ``repeat``. ``options``: limits and settings of each
    solve. ``blocks``: numbers of periods over which what moves a state is held, the last again and
    again. Raises InputError when the blueprint does not fulfil the contract.
    """

    def __init__(
        self,
        blueprint: Blueprint,
        folder: Path | str | None = None,
        *,
        state: Mapping[str, str],
        forecasts: Mapping[str, npt.ArrayLike] | None = None,
        fixed: Sequence[str] = (),
        step: int = 1,
        plant: Plant | None = None,
        limits: Sequence[Sequence[str]] | None = None,
        end: End = "refuse",
        options: SolveOptions | None = None,
        blocks: Sequence[int] | None = None,
    ) -> None:
        self.blueprint = self.planned = full = expand(blueprint)
        self.folder = Path(folder) if folder is not None else None
        if not state:
            raise InputError("no state is named; without one every plan would be the same")
        elaboration = Elaboration(full.core, self.folder)
        along = find_moving(elaboration, set(state.values()))
        needed = [*state.values(), *along]
        self.parametric = compile_parametric(blueprint, folder, needed, structure="recompile")
        self._core = full.core
        self._has_clock = asks_for_clock(full.core)
        program = self.program
        self.states = find_states(program, state, self.parametric.unit)
        self.horizon = find_horizon(full.core, elaboration, program, self.states)
        if not 1 <= step <= self.horizon.size:
            raise InputError(f"step is {step}; give 1 to {self.horizon.size} periods")
        self.applied, self.end, self.plant = step, end, plant
        self.axes = self._axes(elaboration, along)
        self.forecasts = read_series(forecasts or {}, self.axes)
        # What differs along the horizon and has no series to move along.
        self._required = tuple(
            name
            for name, (_, axis) in self.axes.items()
            if name not in {*self.forecasts, *fixed}
            and np.ptp(self.parametric.value(name), axis=axis).any()
        )
        self._classes = limits
        self._read(program)
        if blocks:
            moving = moved_by(program, self.states, [b.name for b in self.controls])
            self.planned = held(full, moving, self.horizon, blocks)
            rows = self.planned.core.constraints[len(full.core.constraints) :]
            with_rows = blueprint.with_core(constraints=(*blueprint.core.constraints, *rows))
            self.parametric = compile_parametric(with_rows, folder, needed, structure="recompile")
            self._read(self.program)
        self._options = options or SolveOptions()
        self._session = Session(self.parametric, self._options)
        self.told: tuple[str, ...] = ()
        self._count = 0
        self._last: SolverResult | None = None
        self._age = 0

    @property
    def program(self) -> Program:
        """The program of one horizon, as it stands now."""
        program: Program = self.parametric.program
        return program

    # -- set-up ---------------------------------------------------------------------------------

    def _axes(
        self, elaboration: Elaboration, along: Sequence[str]
    ) -> dict[str, tuple[tuple[int, ...], int]]:
        """Return shape and horizon's axis of every parameter along the horizon."""
        found = {}
        self._sets = {}
        for name in along:
            sets = self._sets[name] = tuple(s.name for s in elaboration.table(name).sets)
            axes = [
                k for k, s in enumerate(sets) if s in (self.horizon.periods, self.horizon.instants)
            ]
            if len(axes) == 1:
                found[name] = (self.parametric.shape(name), axes[0])
        return found

    def other_sets(self, name: str) -> tuple[str, ...]:
        """Return the sets of a parameter along the horizon without the horizon itself."""
        axis = self.axes[name][1]
        return tuple(s for k, s in enumerate(self._sets[name]) if k != axis)

    def _read(self, program: Program) -> None:
        """Find in a program what is needed of it; anew whenever it is compiled anew."""
        self._known = program
        states = frozenset(s.variable for s in self.states)
        self.limits = find_limits(program, self._classes, states)
        self.controls = tuple(
            block
            for block in program.columns
            if self.horizon.periods in block.sets
            and not block.generated
            and block.name not in states
            and block.role in ("decision", None)
        )
        if not self.controls:
            raise InputError(f"no decision variable stands on {self.horizon.periods}")
        self._stages: dict[int, Bools] = {}
        self._places: dict[tuple[str, int], Ints] = {}

    # -- one step -------------------------------------------------------------------------------

    def step(
        self,
        measurement: Mapping[str, npt.ArrayLike],
        forecast: Mapping[str, npt.ArrayLike] | None = None,
    ) -> Control:
        """Return the control for now.

        ``measurement``: measured states by parameter; and of parameters along the horizon the
        values of the current period, where they are measured (they replace the forecast's first).
        ``forecast``: windows by parameter, of the parameter's own shape, in place of those of the
        longer series. Raises InputError when a value is missing or wrong; ControlError when there
        is no plan even without the limits that may give way, and no previous one.
        """
        started = time.perf_counter()
        inputs = self._inputs(measurement, forecast or {})
        if self._has_clock and self._count:
            periods, ahead = self.horizon.periods, self._count * self.applied
            self.parametric.restart(periods, start_after(self._core, periods, ahead))
        self.parametric.update(**inputs)
        if self.program is not self._known:
            self._read(self.program)
        if self._count and self._last is not None:
            self._session.shift(self.applied)
        result = self._session.solve()
        outcome: Outcome = "optimal" if result.status == "optimal" else "feasible"
        if result.x is None:
            result, outcome = self._fallback(result)
        moved = relaxations(self.program, self.limits, result) if outcome == "relaxed" else ()
        self._age = self._age + self.applied if outcome == "previous plan" else 0
        if outcome != "previous plan":
            self._last = result
        control = self._control(result, outcome, moved, started)
        self._count += 1
        return control

    def _inputs(
        self, measurement: Mapping[str, npt.ArrayLike], forecast: Mapping[str, npt.ArrayLike]
    ) -> dict[str, Any]:
        states = {s.parameter for s in self.states}
        absent = states - set(measurement)
        if absent:
            raise InputError(f"no measurement of {', '.join(sorted(absent))}")
        still = set(self._required) - set(forecast)
        if still:
            raise InputError(
                f"{', '.join(sorted(still))} differs along the horizon and would not move with it; "
                "give its longer series in forecasts, a window at each step, or name it in fixed"
            )
        new: dict[str, Any] = {
            name: series.window(self._count * self.applied, self.end)
            for name, series in self.forecasts.items()
        }
        new.update(forecast)
        for name, value in measurement.items():
            if name in states:
                new[name] = value
            else:
                new[name] = self._with_first(name, new, value)
        return new

    def _with_first(self, name: str, new: Mapping[str, Any], value: npt.ArrayLike) -> Floats:
        if name not in self.axes:
            raise InputError(f"{name!r} is neither a state's parameter nor one along the horizon")
        shape, axis = self.axes[name]
        given = new[name] if name in new else self.parametric.value(name)
        window = np.array(np.broadcast_to(np.asarray(given, dtype=np.float64), shape))
        first = np.moveaxis(window, axis, 0)
        try:
            first[0] = np.asarray(value, dtype=np.float64)
        except (TypeError, ValueError):
            raise InputError(
                f"the measurement of {name} is not the value of one period",
                found=f"the shape {np.shape(value)}",
                expected="one number" if first[0].ndim == 0 else f"the shape {first[0].shape}",
            ) from None
        return window

    def _fallback(self, failed: SolverResult) -> tuple[SolverResult, Outcome]:
        """Return a plan with limits moved, else the rest of the previous plan."""
        if failed.status == "infeasible":
            wider = relaxed(self.program, self.limits, self._outside(), self._options)
            if wider is not None:
                result = Session(wider, self._options).solve()
                if result.x is not None:
                    objective = self.program.objective_at(result.x)
                    return replace(result, objective=objective, reason=failed.reason), "relaxed"
        if self._last is not None and self._age + self.applied < self.horizon.size:
            return replace(self._last, reason=failed.reason), "previous plan"
        raise ControlError(
            f"step {self._count}: no control: {failed.reason}; "
            "name in limits what may be relaxed, or check the measurement"
        )

    def _outside(self) -> Ints:
        """Return columns of states whose measured value lies outside their bounds."""
        program, found = self.program, [np.zeros(0, dtype=np.int64)]
        for state in self.states:
            block = program.column_block(state.variable)
            numbers = at_stage(block, block.sets.index(self.horizon.instants), 0).reshape(-1)
            columns = block.start + numbers
            value = (self.parametric.value(state.parameter) - state.shift) / state.factor
            measured = np.broadcast_to(value.reshape(-1), columns.shape)
            bad = (measured < program.column_lower[columns]) | (
                measured > program.column_upper[columns]
            )
            found.append(columns[bad & (numbers >= 0)])
        return np.concatenate(found)

    def _control(
        self, result: SolverResult, outcome: Outcome, moved: tuple[Relaxation, ...], started: float
    ) -> Control:
        assert result.x is not None
        first = self._age
        stop = first + self.applied
        applied = dict(self._applied(result.x, first, stop))
        ends = {
            b.name: self._values_at(result.x, b, self.horizon.instants, stop)
            for b in self.program.columns
            if self.horizon.instants in b.sets and not b.generated
        }
        values = {b.name: applied[b.name] for b in self.controls}
        if self.applied == 1:
            values = {name: periods[0] for name, periods in values.items()}
        predicted = {s.parameter: ends[s.variable] * s.factor + s.shift for s in self.states}
        return Control(
            step=self._count,
            outcome=outcome,
            reason=result.reason,
            values=MappingProxyType(values),
            units=MappingProxyType({b.name: b.unit for b in self.controls}),
            quantities=MappingProxyType({b.name: b.quantity for b in self.controls}),
            predicted=MappingProxyType(predicted),
            applied=MappingProxyType(applied),
            ends=MappingProxyType(ends),
            results=MappingProxyType({n: self._result(result.x, n, first) for n in self.told}),
            relaxations=moved,
            objective=result.objective if outcome != "previous plan" else None,
            stage_cost=stage_cost(self.program, result.x, self._stage(first)),
            result=result,
            seconds=time.perf_counter() - started,
        )

    def _stage(self, first: int) -> Bools:
        if first not in self._stages:
            stages = range(first, first + self.applied)
            self._stages[first] = stage_columns(self.program, self.horizon, stages)
        return self._stages[first]

    def _result(self, x: Floats, name: str, first: int) -> Floats:
        block = self.program.expression_block(name)
        axis = block.sets.index(self.horizon.periods)
        return pick(block.evaluate(x), block, at_stage(block, axis, first))

    def _applied(self, x: Floats, first: int, stop: int) -> Iterator[tuple[str, Floats]]:
        """Yield the variables along the horizon with what they are from one period to another."""
        for block in self.program.columns:
            sets = (self.horizon.periods, self.horizon.instants)
            along = next((name for name in sets if name in block.sets), None)
            if along is not None and not block.generated:
                found = [self._values_at(x, block, along, k) for k in range(first, stop)]
                yield block.name, np.stack(found)

    def _values_at(self, x: Floats, block: ColumnBlock, along: str, position: int) -> Floats:
        key = (block.name, position)
        numbers = self._places.get(key)
        if numbers is None:
            numbers = at_stage(block, block.sets.index(along), position)
            self._places[key] = numbers
        return pick(x, block, numbers)

    # -- many steps -----------------------------------------------------------------------------

    def run(
        self,
        steps: int,
        measured: Mapping[str, npt.ArrayLike],
        *,
        disturbances: Mapping[str, npt.ArrayLike] | None = None,
        forecast: Callable[[int], Mapping[str, npt.ArrayLike]] | None = None,
    ) -> "ClosedLoop":
        """Close the loop for some steps.

        ``steps``: how many controls to apply. ``measured``: the state at the start, by parameter.
        ``disturbances``: what really comes, by parameter: series as in ``forecasts``. The current
        value is measured and known to each plan; what lies ahead is forecast. Without them what
        really comes is what was forecast. ``forecast``: windows for a step, by its number.

        Returns :class:`engiagent.control.ClosedLoop`: the controls, the log as a dataset, the cost.
        """
        from engiagent.control.closedloop import close

        truth = read_series(disturbances or {}, self.axes)
        return close(self, steps, measured, truth, forecast)
