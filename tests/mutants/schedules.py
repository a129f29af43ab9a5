"""Wrong schedules, made from right ones: one function per operator.

Each is stated in quantities (``battery.charge``, ``*.temperature``), never in the names of a
problem, so that it applies to whatever run has such a quantity. A function yields each wrong copy
with a word on what was changed.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import xarray as xr

from engiagent.blueprint.elaborate import Elaboration
from engiagent.solvers.result import SolveOptions
from engiagent.solvers.solution import to_dataset
from engiagent.solvers.solving import solve
from tests.mutants.runs import Run

POWER = ("W", "kW", "MW")

Schedules = Iterator[tuple[str, xr.Dataset]]


def _copy(run: Run) -> xr.Dataset:
    return run.schedule.copy(deep=True)


def _upper(run: Run, name: str) -> np.ndarray[Any, np.dtype[np.float64]]:
    block = run.program.column_block(name)
    return run.program.column_upper[block.start : block.stop]


def one_hour_over_power(run: Run) -> Schedules:
    """Put one hour of every limited power 5 % above its limit."""
    for definition in run.series():
        unlimited = not np.isfinite(_upper(run, definition.name)).any()
        if definition.unit not in POWER or definition.role == "state" or unlimited:
            continue
        wrong = _copy(run)
        hour = int(np.argmax(wrong[definition.name].values))
        wrong[definition.name][hour] = 1.05 * _upper(run, definition.name)[hour] + 0.01
        yield f"{definition.quantity} in hour {hour}", wrong


def state_of_charge_off(run: Run) -> Schedules:
    """Tell a state of charge 1 % too high after the first instant."""
    for definition in run.having("state_of_charge"):
        wrong = _copy(run)
        wrong[definition.name][1:] = wrong[definition.name][1:] * 1.01
        yield str(definition.quantity), wrong


def energy_from_nowhere(run: Run) -> Schedules:
    """Raise the stored energy from the middle of the horizon on without charging."""
    for definition in run.having("state_of_charge"):
        wrong = _copy(run)
        middle = wrong[definition.name].size // 2
        capacity = float(np.nanmax(_upper(run, definition.name)))
        wrong[definition.name][middle:] = wrong[definition.name][middle:] + 0.03 * capacity
        yield f"3 % of the capacity at instant {middle}", wrong


def both_directions_at_once(run: Run) -> Schedules:
    """Charge and discharge in one hour so that the state and the bus do not notice."""
    for charge, discharge in zip(run.having("charge"), run.having("discharge"), strict=True):
        if charge.quantity is None or discharge.quantity is None:
            continue
        wrong = _copy(run)
        hours = np.flatnonzero(wrong[charge.name].values < 1e-6)
        hour = int(hours[len(hours) // 2])
        component = next(
            c for c in run.blueprint.core.components if c.name == charge.quantity.split(".")[0]
        )
        eta = [
            _number(run, component.parameters.get(f"{word}_efficiency", 1))
            for word in ("charge", "discharge")
        ]
        amount = 0.2 * float(np.max(_upper(run, charge.name)))
        wrong[charge.name][hour] = wrong[charge.name][hour] + amount
        wrong[discharge.name][hour] = wrong[discharge.name][hour] + amount * eta[0] * eta[1]
        for bought in run.having("import"):
            wrong[bought.name][hour] = wrong[bought.name][hour] + amount * (1 - eta[0] * eta[1])
        yield f"hour {hour}", wrong


def _number(run: Run, text: Any) -> float:
    """Return a component's scalar parameter as a pure number."""
    from engiagent.blueprint.grammar import parse
    from engiagent.blueprint.grid import EMPTY_GRID
    from engiagent.units.unit import parse_unit

    elaboration = Elaboration(run.blueprint.core, run.problem.folder)
    typed = elaboration.checker().number(parse(str(text)), {}, parse_unit("1"))
    return float(np.ravel(elaboration.evaluator.number(typed.node, EMPTY_GRID))[0])


def temperature_told_too_low(run: Run) -> Schedules:
    """Tell a temperature 0.2 K below its lowest value of the day."""
    for definition in run.having("temperature"):
        wrong = _copy(run)
        inner = wrong[definition.name].values[1:]
        place = int(np.argmin(inner)) + 1
        wrong[definition.name][place] = wrong[definition.name][place] - 0.2
        yield f"{definition.quantity} at instant {place}", wrong


def temperature_missed(run: Run) -> Schedules:
    """Heat a little less in one hour than the told temperatures need: 0.2 K and more is missing."""
    for definition in run.having("electric_power"):
        wrong = _copy(run)
        hour = int(np.argmax(wrong[definition.name].values))
        wrong[definition.name][hour] = wrong[definition.name][hour] * 0.5
        yield f"half of {definition.quantity} in hour {hour}", wrong


def false_objective(run: Run) -> Schedules:
    """Claim an objective that is 1 % better."""
    wrong = _copy(run)
    better = 1.01 if run.program.sense == "maximize" else 0.99
    wrong.attrs["objective"] = wrong.attrs["objective"] * better
    yield "1 % better", wrong


def worse_plan(run: Run) -> Schedules:
    """Give an honest plan that is not the best, and call it optimal."""
    other = replace(run.program, cost=np.zeros_like(run.program.cost))
    result = solve(other, SolveOptions(gap=0.0), isolate=False)
    wrong = to_dataset(run.program, result)
    assert result.x is not None
    wrong.attrs["objective"] = run.program.objective_at(result.x)
    wrong.attrs.pop("bound", None)
    if abs(wrong.attrs["objective"] - run.schedule.attrs["objective"]) > 1e-3:
        yield "any feasible plan", wrong


def part_of_a_whole(run: Run) -> Schedules:
    """Take a fraction where only whole numbers count."""
    for definition in run.blueprint.core.decision_variables:
        if definition.type != "continuous":
            wrong = _copy(run)
            wrong[definition.name].values.flat[0] += 0.4
            yield str(definition.quantity), wrong


def one_more(run: Run) -> Schedules:
    """Take one more of what is counted than there is room for."""
    for definition in run.blueprint.core.decision_variables:
        if definition.type == "integer":
            wrong = _copy(run)
            wrong[definition.name].values.flat[int(np.argmax(wrong[definition.name].values))] += 1
            yield str(definition.quantity), wrong


def no_number(run: Run) -> Schedules:
    """Leave one value out of every decision."""
    for definition in run.blueprint.core.decision_variables:
        if definition.role == "decision" and definition.where is None:
            wrong = _copy(run)
            values = wrong[definition.name].values.astype(float)
            values.flat[0] = np.nan
            wrong[definition.name] = (
                wrong[definition.name].dims,
                values,
                wrong[definition.name].attrs,
            )
            yield str(definition.quantity), wrong


def _each(
    run: Run, roles: tuple[str, ...], change: Callable[[np.ndarray[Any, Any]], Any]
) -> Schedules:
    """Change the values of every series whose role is among those given."""
    for definition in run.series():
        if definition.role in roles:
            wrong = _copy(run)
            series = wrong[definition.name]
            values = np.asarray(change(series.values.astype(float).copy()), dtype=float)
            if values.shape != series.shape or np.array_equal(
                values, series.values, equal_nan=True
            ):
                continue
            wrong[definition.name] = (series.dims, values, series.attrs)
            yield str(definition.quantity or definition.name), wrong


ACTED = ("decision",)
ANY = ("decision", "state")


def one_hour_negative(run: Run) -> Schedules:
    """Turn the sign of a decision in the hour in which it is largest."""

    def change(values: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        values[int(np.argmax(values))] *= -1.0
        return values

    yield from _each(run, ACTED, change)


def all_thousandfold(run: Run) -> Schedules:
    """Write watts where kilowatts are meant."""
    yield from _each(run, ANY, lambda values: values * 1000.0)


def unit_mislabelled(run: Run) -> Schedules:
    """Call the numbers MW where they are kW, kWh where they are kW, and K where they are degC."""
    swap = {"kW": "MW", "MW": "kW", "kWh": "MWh", "MWh": "kWh", "degC": "degF"}
    for definition in run.series():
        units = run.schedule[definition.name].attrs.get("units")
        if units in swap and np.any(run.schedule[definition.name].values):
            wrong = _copy(run)
            wrong[definition.name].attrs["units"] = swap[units]
            yield f"{definition.name} in {swap[units]}", wrong


def shifted_by_a_step(run: Run) -> Schedules:
    """Do everything one step late."""
    yield from _each(run, ACTED, lambda values: np.roll(values, 1))


def reversed_in_time(run: Run) -> Schedules:
    """Read a series from its end."""
    yield from _each(run, ANY, lambda values: values[::-1])


def rounded(run: Run) -> Schedules:
    """Round a series to whole numbers."""
    yield from _each(run, ACTED, np.round)


def averaged(run: Run) -> Schedules:
    """Spread a decision evenly over the horizon."""
    yield from _each(run, ACTED, lambda values: np.full_like(values, values.mean()))


def swapped_hours(run: Run) -> Schedules:
    """Exchange the hours of the largest and the smallest value."""

    def change(values: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        one, two = int(np.argmax(values)), int(np.argmin(values))
        values[[one, two]] = values[[two, one]]
        return values

    yield from _each(run, ACTED, change)


def one_step_left_out(run: Run) -> Schedules:
    """Leave out the last step of every series."""
    dims = {dim for d in run.series() for dim in run.schedule[d.name].dims}
    for dim in sorted(map(str, dims)):
        yield f"{dim} without its last", _copy(run).isel({dim: slice(None, -1)})


def state_kept(run: Run) -> Schedules:
    """Tell a state that never changes."""
    yield from _each(run, ("state",), lambda values: np.full_like(values, values[0]))


def other_start(run: Run) -> Schedules:
    """Start from another state than the measured one, and follow the decisions from there."""
    yield from _each(run, ("state",), lambda values: values + 0.05 * np.ptp(values) + 0.01)


def free_first_hour(run: Run) -> Schedules:
    """Leave out what the first step does to the state, as a tool does that starts at t > 0."""

    def change(values: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        values[1:] += values[0] - values[1]
        return values

    yield from _each(run, ("state",), change)


def drifting_state(run: Run) -> Schedules:
    """Lose a little of the state in every step, together half a per cent of its range."""

    def change(values: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        return values + np.linspace(0.0, 0.005 * max(np.ptp(values), 1.0), len(values))

    yield from _each(run, ("state",), change)


def lossless_state(run: Run) -> Schedules:
    """Tell the state of charge of a battery without losses."""
    for definition in run.having("state_of_charge"):
        owner = str(definition.quantity).rpartition(".")[0]
        names = {v.quantity: v.name for v in run.blueprint.core.decision_variables}
        charge, discharge = names.get(f"{owner}.charge"), names.get(f"{owner}.discharge")
        if charge is None or discharge is None:
            continue
        wrong = _copy(run)
        net = (wrong[charge] - wrong[discharge]).values
        series = wrong[definition.name]
        hours = _hours(run, str(wrong[charge].dims[0]))
        values = series.values[0] + np.concatenate(([0.0], np.cumsum(net) * hours))
        wrong[definition.name] = (series.dims, values, series.attrs)
        yield str(definition.quantity), wrong


def _hours(run: Run, dim: str) -> float:
    """Return the length of the first step of a time set; an hour where it has no dates."""
    labels = run.program.coordinates[dim].values
    if not np.issubdtype(labels.dtype, np.datetime64):
        return 1.0
    return float((labels[1] - labels[0]) / np.timedelta64(1, "h"))


def power_from_nowhere(run: Run) -> Schedules:
    """Buy a tenth less than is used, in every hour."""
    for word in ("import", "electric_power"):
        for definition in run.having(word):
            wrong = _copy(run)
            wrong[definition.name] = wrong[definition.name] * 0.9
            wrong[definition.name].attrs.update(run.schedule[definition.name].attrs)
            yield str(definition.quantity), wrong


def decision_left_out(run: Run) -> Schedules:
    """Leave a decision out of the schedule altogether."""
    for definition in run.series():
        if definition.role == "decision":
            wrong = _copy(run)
            related = [n for n in wrong.data_vars if str(n).endswith(f"__{definition.name}")]
            yield definition.name, wrong.drop_vars([definition.name, *related])


def idle_plan(run: Run) -> Schedules:
    """Give the plan that does the least: every decision as near to nothing as is allowed."""
    size = np.zeros(run.program.column_count)
    for block in run.program.columns:
        if block.role == "decision":
            size[block.start : block.stop] = 1.0
    yield from _other_plan(run, size, "as little as allowed")


def busy_plan(run: Run) -> Schedules:
    """Give the plan that does the most."""
    size = np.zeros(run.program.column_count)
    for block in run.program.columns:
        if block.role == "decision":
            size[block.start : block.stop] = -1.0
    yield from _other_plan(run, size, "as much as allowed")


def _other_plan(run: Run, cost: np.ndarray[Any, Any], word: str) -> Schedules:
    other = replace(run.program, cost=cost, offset=0.0, sense="minimize")
    result = solve(other, SolveOptions(gap=0.0, time_limit=20.0), isolate=False)
    if result.x is None:
        return
    wrong = to_dataset(run.program, result)
    wrong.attrs |= {"objective": float(run.program.objective_at(result.x))}
    wrong.attrs.pop("bound", None)
    yield word, wrong


def nearly_best_plan(run: Run) -> Schedules:
    """Give a plan on the way from the best to another, one per cent worse, and call it optimal."""
    if run.program.is_mip:
        return
    best = solve(run.program, SolveOptions(gap=0.0), isolate=False)
    other = replace(run.program, cost=np.zeros_like(run.program.cost), offset=0.0)
    away = solve(other, SolveOptions(gap=0.0), isolate=False)
    assert best.x is not None
    assert away.x is not None
    loss = abs(run.program.objective_at(away.x) - run.best)
    if loss > 0.02 * max(abs(run.best), 1.0):
        share = 0.01 * max(abs(run.best), 1.0) / loss
        point = best.x + share * (away.x - best.x)
        wrong = to_dataset(run.program, replace(best, x=point))
        wrong.attrs |= {"objective": float(run.program.objective_at(point))}
        yield "one per cent worse", wrong


def claimed_bound_moved(run: Run) -> Schedules:
    """Give a worse plan with a false bound that makes it look the best."""
    for word, wrong in idle_plan(run):
        wrong.attrs |= {"bound": wrong.attrs["objective"], "gap": 0.0, "status": "optimal"}
        yield word, wrong
