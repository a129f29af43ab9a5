"""Closing the loop: plan, apply, let the plant answer, and keep a log."""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt

from engiagent.control.applied import Applied, AppliedPlan, applied_plan, applied_schedule
from engiagent.control.assessment import (
    assess,
    broken_limits,
    computing_time,
    prediction_errors,
    shown,
)
from engiagent.control.horizon import ControlError, Floats, Series
from engiagent.control.runner import Control, RecedingHorizon
from engiagent.environment.exceeding import Exceeded, exceeded
from engiagent.errors import InputError
from engiagent.plant.cluster import Cluster
from engiagent.run.keyfigures import Figure, KeyFigures, key_figures
from engiagent.run.scenarios import Scenario

if TYPE_CHECKING:
    import xarray

    from engiagent.notebook.solution import Solution

SCHEMA: Final = "engiagent-loop/1"


@dataclass(frozen=True, eq=False, repr=False)
class ClosedLoop:
    """What a closed loop did."""

    controls: tuple[Control, ...]  # the control of every step
    # dataset over ``step``: controls (``<variable>``), states as measured at its start
    # (``<parameter>``), disturbances as they came, ``stage_cost``, ``outcome``,
    # ``relaxed__<limit>`` (the largest amount by which the plan is beyond a limit). The same inputs
    # give the same log; times are not in it.
    log: "xarray.Dataset"
    state: Mapping[str, Floats]  # the state after the last step, by parameter
    cost: float  # sum of the stage costs, in ``unit``
    unit: str
    seconds: Floats  # time of every step, shape (steps,)
    runner: RecedingHorizon  # what planned it
    stopped: str = ""  # why it ended before its last step; empty where it did not
    notes: tuple[str, ...] = ()  # what each plan takes anew although the loop has gone on
    # what a plant that is not a function was told and showed, as a run of it is recorded
    plant: "xarray.Dataset | None" = None
    # the plan of each step, where they were to be certified; None where an earlier one goes on
    plans: tuple[AppliedPlan | None, ...] = ()
    cluster: Cluster | None = None  # of which buildings it is the loop; None where it is of none
    floor_area: float | None = None  # of what is controlled, for figures per area. [m²]

    def __repr__(self) -> str:
        counts = ", ".join(f"{count} {name}" for name, count in self.outcomes.items())
        return f"ClosedLoop({len(self.controls)} steps: {counts})"

    def _repr_html_(self) -> str:
        return str(self.plot()._repr_html_())

    @cached_property
    def schedule(self) -> Applied:
        """What was applied as one schedule, with the blueprint and the data of its periods."""
        return applied_schedule(self)

    @cached_property
    def figures(self) -> KeyFigures:
        """The key figures of what was applied, as a plan has them."""
        return key_figures(self.schedule.elaboration, self.schedule.solution)

    @cached_property
    def assessment(self) -> tuple[Figure, ...]:
        """The figures by which any controller of this plant is judged, from what it showed."""
        return (*assess(self, self.plant), computing_time(self))

    @cached_property
    def exceeded(self) -> tuple[Exceeded, ...]:
        """The limits of components that what the plant showed exceeds, whatever was planned."""
        blueprint, folder = self.schedule.blueprint, self.runner.folder
        return () if self.plant is None else tuple(exceeded(blueprint, folder, self.plant))

    def scenario(self, name: str) -> Scenario:
        """Return what the plant showed, or else what was applied, as one of several scenarios."""
        return Scenario.of(name, self.schedule.elaboration, shown(self, self.plant))

    @property
    def outcomes(self) -> dict[str, int]:
        """How many steps ended in which way."""
        return dict(Counter(control.outcome for control in self.controls))

    @cached_property
    def times(self) -> tuple[str, ...]:
        """When each step begins, as a blueprint writes it."""
        axis = self.schedule.elaboration.index_set(self.runner.horizon.periods).axis
        assert axis is not None  # a horizon is a set of time
        return tuple(axis.labels[:: self.runner.applied][: len(self.controls)])

    @property
    def relaxed(self) -> tuple[Control, ...]:
        """The controls that do not keep all limits, or go on with an earlier plan."""
        return tuple(c for c in self.controls if c.outcome not in ("optimal", "feasible"))

    def relaxed_limits(self, control: Control) -> str:
        """Return in words what a plan relaxes: by how much at most, and how long ahead."""
        parts = []
        for limit in dict.fromkeys(item.limit for item in control.relaxations):
            mine = [item for item in control.relaxations if item.limit == limit]
            worst, hours = max(mine, key=lambda item: item.amount), self.runner.horizon.hours
            last = max((item.ahead or 0 for item in mine), default=0) * hours
            until = f", until {last:g} h ahead" if last else ""
            parts.append(f"{limit} by {worst.amount:.3g} {worst.unit}{until}")
        return "; ".join(parts)

    def reason(self, control: Control) -> str:
        """Return why a control is not the best that keeps all limits."""
        if control.outcome != "relaxed":
            return control.reason
        k, found = control.step - self.controls[0].step, []
        for state in self.runner.states:
            block = self.runner.program.column_block(state.variable)
            values = np.atleast_1d(self.log[state.parameter].values[k])
            unit = self.log[state.parameter].attrs["units"]
            shown = ", ".join(f"{value:.5g}" for value in values.reshape(-1)[:4])
            found.append(f"{block.quantity or block.name} = {shown} {unit}")
        return f"no plan keeps all limits from {', '.join(found)}"

    def rows(self) -> list[dict[str, Any]]:
        """Return a row for each step: when, how it ended and why, its cost, states and controls."""
        names = [n for n in self.log.data_vars if n != "outcome"]
        rows = []
        for k, (control, time) in enumerate(zip(self.controls, self.times, strict=True)):
            row: dict[str, Any] = {"time": time, "outcome": control.outcome}
            for name in map(str, names):
                item = self.log[name]
                label = item.attrs.get("quantity") or item.attrs.get("state") or name
                unit = item.attrs.get("units", "1")
                for place, value in np.ndenumerate(item.values[k]):
                    at = f"[{', '.join(map(str, place))}]" if place else ""
                    row[f"{label}{at} [{unit}]"] = float(value)
            rows.append(row | {"relaxed": self.relaxed_limits(control)})
        return rows

    def to_dict(self) -> dict[str, Any]:
        """Return key figures, the times of the steps, and those with relaxed limits, as JSON."""
        return {
            "schema": SCHEMA,
            "steps": len(self.controls),
            "horizon": self.runner.horizon.size,
            "step_hours": self.runner.horizon.hours * self.runner.applied,
            "outcomes": self.outcomes,
            "stopped": self.stopped or None,
            "notes": list(self.notes),
            "objective": {
                "value": self.figures.cost and self.figures.cost.value,
                "unit": self.unit,
                "sense": self.runner.program.sense,
            },
            "figures": self.figures.to_dict()["figures"],
            "floor_area": self.floor_area and {"value": self.floor_area, "unit": "m2"},
            "assessment": [figure.to_dict() for figure in self.assessment],
            "prediction": [asdict(item) for item in prediction_errors(self)],
            "broken": [asdict(item) for item in broken_limits(self)],
            "exceeded": [asdict(item) for item in self.exceeded],
            "seconds": {
                "median": float(np.median(self.seconds)),
                "largest": float(self.seconds.max()),
            },
            "relaxed": [
                {
                    "step": control.step,
                    "time": time,
                    "outcome": control.outcome,
                    "reason": self.reason(control),
                    "limits": [asdict(item) for item in control.relaxations],
                }
                for control in self.relaxed
                for time in [self.times[control.step - self.controls[0].step]]
            ],
        }

    @cached_property
    def solution(self) -> "Solution":
        """What was applied as a plan: ``to_dataframe``, ``to_netcdf``, ``plot``, ``figures``."""
        from engiagent.notebook.blueprints import applied

        return applied(self)

    def plot(self, which: str | None = None) -> Any:
        """Draw what was applied and measured, as :meth:`Solution.plot` draws a plan."""
        return self.solution.plot(which)

    def report(self, path: "str | Path") -> "Path":
        """Write the page of the loop, one file of HTML, and return its path."""
        from engiagent.notebook.blueprints import write_page

        return write_page(self, path)


def close(
    runner: RecedingHorizon,
    steps: int,
    measured: Mapping[str, npt.ArrayLike],
    truth: Mapping[str, Series],
    forecast: Callable[[int], Mapping[str, npt.ArrayLike]] | None,
    *,
    keep: bool = False,
    plans: bool = False,
    on_step: Callable[[int, int], None] | None = None,
) -> ClosedLoop:
    """Run a loop; see :meth:`RecedingHorizon.run`.

    ``keep`` returns what there was where a step finds no control, ``plans`` keeps the plan of each
    step, ``on_step`` is told the number of steps done, and of all.
    """
    if steps < 1:
        raise InputError(f"steps is {steps}; give at least 1")
    names = [s.parameter for s in runner.states]
    absent = [name for name in names if name not in measured]
    if absent:
        raise InputError(f"no measurement of {', '.join(absent)}")
    state = {name: _shaped(runner, name, measured[name]) for name in names}
    controls: list[Control] = []
    made: list[AppliedPlan | None] = []
    states, came, stopped = [], [], ""
    for number in range(steps):
        now = {
            name: series.at(number * runner.applied, runner.end) for name, series in truth.items()
        }
        try:
            control = runner.step({**state, **now}, forecast(number) if forecast else None)
        except ControlError as error:
            if not controls or not keep:
                raise
            stopped = str(error)
            break
        disturbances = {
            name: _applied(runner, name, number, truth.get(name)) for name in runner.axes
        }
        controls.append(control)
        made.append(applied_plan(runner, control) if plans else None)
        states.append(state)
        came.append(disturbances)
        if runner.plant is None:
            state = dict(control.predicted)
        else:
            # What a plan means a state to be at the end of the period may be a set point.
            commands = {**control.results, **control.values, **control.predicted}
            answer = runner.plant(state, commands, disturbances)
            absent = [name for name in names if name not in answer]
            if absent:
                raise InputError(f"the plant answers no {', '.join(absent)}", found=str([*answer]))
            state = {name: _shaped(runner, name, answer[name]) for name in names}
        if on_step is not None:
            on_step(number + 1, steps)
    cost = float(sum(c.stage_cost for c in controls))
    log = _log(runner, controls, states, came)
    seconds = np.array([c.seconds for c in controls])
    unit = runner.program.objective_unit
    kept = tuple(made) if plans else ()
    return ClosedLoop(tuple(controls), log, state, cost, unit, seconds, runner, stopped, plans=kept)


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
    for limit, unit_of in {r.limit: r.unit for c in controls for r in c.relaxations}.items():
        amounts = ([r.amount for r in c.relaxations if r.limit == limit] for c in controls)
        worst = np.array([max(found, default=0.0) for found in amounts])
        series[f"relaxed__{limit}"] = ("step", worst, {"units": unit_of})
    used = {dim for dims, *_ in series.values() if not isinstance(dims, str) for dim in dims}
    coordinates = {name: c.values for name, c in program.coordinates.items() if name in used}
    return xarray.Dataset(series, coords={"step": np.arange(len(controls)), **coordinates})
