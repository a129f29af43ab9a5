"""What a loop applied, as one schedule: the plan of all its periods, under the data that came."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from engiagent.blueprint.document import Blueprint
from engiagent.blueprint.elaborate import Elaboration
from engiagent.blueprint.elements import FrozenMap
from engiagent.blueprint.periods import has_start, with_periods
from engiagent.control.horizon import Floats
from engiagent.formulations.compile import compile_blueprint
from engiagent.formulations.program import ColumnBlock, Program
from engiagent.solvers.arrays import SolutionArrays
from engiagent.solvers.result import SolveOptions, SolverResult
from engiagent.solvers.solution import to_arrays, to_dataset
from engiagent.solvers.solving import solve

if TYPE_CHECKING:
    import xarray

    from engiagent.control.closedloop import ClosedLoop
    from engiagent.control.runner import Control, RecedingHorizon

STARTS: Final = ("initial_energy", "initial_fraction", "initial_temperature")
"""Slots of a state at the start."""


@dataclass(frozen=True, eq=False)
class Applied:
    """A schedule that was applied, with the blueprint of its periods and the data that came."""

    solution: "xarray.Dataset"
    blueprint: Blueprint
    elaboration: Elaboration
    program: Program
    result: SolverResult


@dataclass(frozen=True, eq=False)
class AppliedPlan:
    """The plan of a step with the blueprint that it is the plan of; both stand alone."""

    blueprint: Blueprint
    solution: SolutionArrays


def applied_plan(runner: "RecedingHorizon", control: "Control") -> AppliedPlan | None:
    """Return the plan of a step, with the states and the data that it was made from.

    None where an earlier plan goes on. A state begins where it is measured, not where its component
    says, and a plan with relaxed limits has no proof of what would be best within them.
    """
    if control.outcome == "previous plan":
        return None
    horizon, result = runner.horizon, control.result
    names = (*runner.axes, *(s.parameter for s in runner.states))
    values = {name: runner.parametric.value(name) for name in names}
    dated = has_start(runner.blueprint.core, horizon.periods)
    ahead = control.step * runner.applied if dated else 0
    blueprint = with_periods(
        runner.planned, runner.folder, horizon.periods, horizon.size, values, ahead=ahead
    )
    if control.outcome == "relaxed":
        result = replace(result, row_dual=None, column_dual=None, bound=None, gap=None)
    solution = to_arrays(runner.program, result)
    states = " ".join(s.variable for s in runner.states)
    axes = {"periods": horizon.periods, "instants": horizon.instants}
    solution = solution.assign_attrs({"states": states, **axes})
    return AppliedPlan(_measured(blueprint), replace(solution, coords={}))


def _measured(blueprint: Blueprint) -> Blueprint:
    """Return a blueprint whose components do not say where their states begin."""
    components = (
        replace(c, parameters=FrozenMap({k: v for k, v in c.parameters.items() if k not in STARTS}))
        for c in blueprint.core.components
    )
    return blueprint.with_core(components=tuple(components))


def applied_schedule(loop: "ClosedLoop") -> Applied:
    """Return what a loop applied as one schedule.

    What stands on no period, as a peak that is paid for, is chosen at its best for that schedule.
    """
    runner, horizon = loop.runner, loop.runner.horizon
    count, log = len(loop.controls) * runner.applied, loop.log
    values = {
        name: _along(log[name].values, runner, axis) for name, (_, axis) in runner.axes.items()
    }
    for name, (shape, axis) in runner.axes.items():
        if shape[axis] > horizon.size:  # over the instants there is one more, at the end
            last = np.take(values[name], [-1], axis)
            values[name] = np.concatenate([values[name], last], axis)
    values |= {s.parameter: log[s.parameter].values[0] for s in runner.states}
    ahead = loop.controls[0].step * runner.applied
    blueprint = with_periods(
        runner.blueprint, runner.folder, horizon.periods, count, values, ahead=ahead
    )
    program = compile_blueprint(blueprint, runner.folder)
    x = np.full(program.column_count, np.nan)
    for block in program.columns:
        found = _recorded(loop, block)
        if found is not None:
            grid = found.reshape(-1)
            x[block.start : block.stop] = grid if block.positions is None else grid[block.positions]
    elaboration = Elaboration(blueprint.core, runner.folder)
    result = _result(program, x, loop)
    return Applied(to_dataset(program, result), blueprint, elaboration, program, result)


def _along(values: Floats, runner: "RecedingHorizon", axis: int) -> Floats:
    """Return logged values of each step, (steps, [periods,] others …), along a parameter's axis."""
    joined = values.reshape(-1, *values.shape[2:]) if runner.applied > 1 else values
    return np.moveaxis(joined, 0, axis)


def _recorded(loop: "ClosedLoop", block: ColumnBlock) -> Floats | None:
    """Return what was applied or measured of a variable; None of one that stands on no period."""
    runner, horizon = loop.runner, loop.runner.horizon
    if block.generated or {horizon.periods, horizon.instants} <= {*block.sets}:
        return None
    state = next((s for s in runner.states if s.variable == block.name), None)
    if state is not None and runner.applied == 1:
        measured = [*loop.log[state.parameter].values, loop.state[state.parameter]]
        values = (np.stack(measured) - state.shift) / state.factor
        return np.moveaxis(values, 0, block.sets.index(horizon.instants))
    rows: Sequence[Any] = [c.applied.get(block.name) for c in loop.controls]
    if any(row is None for row in rows):
        return None
    joined = np.concatenate(rows)
    along = horizon.periods
    if horizon.instants in block.sets:
        along = horizon.instants
        joined = np.concatenate([joined, loop.controls[-1].ends[block.name][None]])
    return np.moveaxis(joined, 0, block.sets.index(along))


def _result(program: Program, x: Floats, loop: "ClosedLoop") -> SolverResult:
    known = ~np.isnan(x)
    if not known.all():
        x = _completed(program, x, known)
    objective = program.objective_at(x) if not np.isnan(x).any() else loop.cost
    return replace(
        loop.controls[-1].result,
        status="feasible",
        reason="applied in a closed loop",
        x=x,
        objective=float(objective),
        row_dual=None,
        column_dual=None,
        bound=None,
        gap=None,
        seconds=float(loop.seconds.sum()),
    )


def _completed(program: Program, x: Floats, known: "np.ndarray[Any, np.dtype[np.bool_]]") -> Floats:
    """Return the point with its unknown columns at their best; as it is where there is no best.

    Rows of known columns alone are left out: a loop may have broken them.
    """
    rows = np.repeat(np.arange(program.row_count), np.diff(program.row_starts))
    open_rows = np.zeros(program.row_count, dtype=bool)
    open_rows[rows[~known[program.row_columns]]] = True
    rest = replace(
        program,
        column_lower=np.where(known, x, program.column_lower),
        column_upper=np.where(known, x, program.column_upper),
        row_lower=np.where(open_rows, program.row_lower, -np.inf),
        row_upper=np.where(open_rows, program.row_upper, np.inf),
    )
    found = solve(rest, SolveOptions(), isolate=False).x
    return x if found is None else np.where(known, x, found)
