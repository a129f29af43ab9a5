"""Closing the loop: plan, apply, let the plant answer, and keep a log."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from engiagent.control.horizon import Floats
from engiagent.control.runner import Control, RecedingHorizon
from engiagent.control.series import Series
from engiagent.errors import InputError

if TYPE_CHECKING:
    import xarray


@dataclass(frozen=True, eq=False)
class ClosedLoop:
    """What a closed loop did.

    Attributes
    ----------
    controls
        The control of every step.
    log
        Dataset over ``step``: controls (``<variable>``), states as measured at its start
        (``<parameter>``), disturbances as they came, ``stage_cost``, ``outcome``,
        ``relaxed__<limit>`` (the largest amount by which the plan is beyond a limit). The same
        inputs give the same log; times are not in it.
    state
        The state after the last step, by parameter.
    cost
        Sum of the stage costs, in ``unit``.
    seconds
        Time of every step, shape (steps,).
    """

    controls: tuple[Control, ...]
    log: "xarray.Dataset"
    state: Mapping[str, Floats]
    cost: float
    unit: str
    seconds: Floats


def close(
    runner: RecedingHorizon,
    steps: int,
    measured: Mapping[str, npt.ArrayLike],
    truth: Mapping[str, Series],
    forecast: Callable[[int], Mapping[str, npt.ArrayLike]] | None,
) -> ClosedLoop:
    """Run a loop; see :meth:`RecedingHorizon.run`."""
    if steps < 1:
        raise InputError(f"steps is {steps}; give at least 1")
    names = [s.parameter for s in runner.states]
    absent = [name for name in names if name not in measured]
    if absent:
        raise InputError(f"no measurement of {', '.join(absent)}")
    state = {name: _shaped(runner, name, measured[name]) for name in names}
    controls, states, came = [], [], []
    for number in range(steps):
        now = {
            name: series.at(number * runner.applied, runner.end) for name, series in truth.items()
        }
        control = runner.step({**state, **now}, forecast(number) if forecast else None)
        disturbances = {
            name: _applied(runner, name, number, truth.get(name)) for name in runner.axes
        }
        controls.append(control)
        states.append(state)
        came.append(disturbances)
        if runner.plant is None:
            state = dict(control.predicted)
        else:
            answer = runner.plant(state, control.values, disturbances)
            state = {name: _shaped(runner, name, answer[name]) for name in names}
    cost = float(sum(c.stage_cost for c in controls))
    log = _log(runner, controls, states, came)
    seconds = np.array([c.seconds for c in controls])
    return ClosedLoop(tuple(controls), log, state, cost, runner.program.objective_unit, seconds)


def _applied(runner: RecedingHorizon, name: str, number: int, truth: Series | None) -> Floats:
    """Return what comes in the applied periods: (others …), or (periods, others …) of several."""
    axis = runner.axes[name][1]
    window = runner.parametric.value(name)
    if truth is not None:
        window = truth.window(number * runner.applied, runner.end)
    first = np.moveaxis(window, axis, 0)[: runner.applied]
    return np.asarray(first[0] if runner.applied == 1 else first)


def _shaped(runner: RecedingHorizon, name: str, value: npt.ArrayLike) -> Floats:
    array = np.asarray(value, dtype=np.float64)
    shape = runner.parametric.shape(name)
    if array.shape not in ((), shape) or not np.isfinite(array).all():
        raise InputError(
            f"the state {name} has a wrong shape or a value that is not finite",
            found=str(array.shape),
            expected=str(shape),
        )
    return np.array(np.broadcast_to(array, shape))


def _log(
    runner: RecedingHorizon,
    controls: list[Control],
    states: list[dict[str, Floats]],
    came: list[dict[str, Any]],
) -> "xarray.Dataset":
    import xarray

    program, horizon = runner.program, runner.horizon
    series: dict[str, Any] = {}
    for block in runner.controls:
        others = tuple(s for s in block.sets if s != horizon.periods)
        dims = ["step", *(["period"] if runner.applied > 1 else []), *others]
        attrs = {"units": block.unit, "quantity": block.quantity, "long_name": block.description}
        present = {key: item for key, item in attrs.items() if item is not None}
        series[block.name] = (dims, np.stack([c.values[block.name] for c in controls]), present)
    for state in runner.states:
        block = program.column_block(state.variable)
        others = tuple(s for s in block.sets if s != horizon.instants)
        values = np.stack([s[state.parameter] for s in states])
        dims = ["step", *others[: values.ndim - 1]]
        attrs = {"units": runner.parametric.unit(state.parameter), "state": state.variable}
        series[state.parameter] = (dims, values, attrs)
    for name in runner.axes:
        others = runner.other_sets(name)
        attrs = {"units": runner.parametric.unit(name)}
        dims = ["step", *(["period"] if runner.applied > 1 else []), *others]
        series[name] = (dims, np.stack([d[name] for d in came]), attrs)
    unit = {"units": program.objective_unit}
    series["stage_cost"] = ("step", np.array([c.stage_cost for c in controls]), unit)
    series["outcome"] = ("step", np.array([c.outcome for c in controls], dtype=object), {})
    series |= _relaxed(controls)
    used = {dim for dims, *_ in series.values() if not isinstance(dims, str) for dim in dims}
    coordinates = {name: c.values for name, c in program.coordinates.items() if name in used}
    return xarray.Dataset(series, coords={"step": np.arange(len(controls)), **coordinates})


def _relaxed(controls: list[Control]) -> dict[str, Any]:
    units = {r.limit: r.unit for c in controls for r in c.relaxations}
    found = {}
    for limit, unit in units.items():
        worst = [
            max((r.amount for r in c.relaxations if r.limit == limit), default=0.0)
            for c in controls
        ]
        found[f"relaxed__{limit}"] = ("step", np.array(worst), {"units": unit})
    return found
