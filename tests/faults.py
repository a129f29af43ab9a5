"""Wrong schedules and wrong blueprints, made from right ones: one function per fault.

Every fault is stated in quantities (``battery.charge``, ``*.temperature``), never in the names of a
problem, so that it applies to whatever run has such a quantity. A function yields each wrong copy
with a word on what was changed.
"""

import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from engiagent.blueprint.document import Blueprint, FrozenMap, ParameterDef, VariableDef
from engiagent.blueprint.elaborate import Elaboration
from engiagent.errors import EngiagentError
from engiagent.formulations import compile_blueprint, expand
from engiagent.formulations.program import Program
from engiagent.problems import Problem
from engiagent.solvers import SolveOptions, solve, to_dataset
from engiagent.verify import Certificate, check

CORPUS = Path(__file__).parents[1] / "problems"
POWER = ("W", "kW", "MW")
ENERGY = ("Wh", "kWh", "MWh")


@dataclass(frozen=True, eq=False)
class Run:
    """A problem with its reference blueprint, compiled and solved."""

    name: str
    problem: Problem
    blueprint: Blueprint
    program: Program
    schedule: xr.Dataset

    def having(self, word: str) -> Iterator[VariableDef]:
        """Yield the variables that stand for a quantity ending in ``.word``."""
        for definition in self.blueprint.core.decision_variables:
            if (definition.quantity or "").endswith(f".{word}"):
                yield definition


@lru_cache(maxsize=16)
def run_of(folder: Path) -> Run:
    """Compile and solve the reference blueprint of a corpus problem."""
    blueprint = expand(Blueprint.load(folder / "expert" / "blueprint.json"))
    program, schedule = solved(blueprint, folder)
    return Run(folder.name, Problem.load(folder), blueprint, program, schedule)


def solved(blueprint: Blueprint, folder: Path) -> tuple[Program, xr.Dataset]:
    """Return a blueprint's program and its schedule."""
    program = compile_blueprint(blueprint, folder)
    return program, to_dataset(program, solve(program, SolveOptions(gap=0.0), isolate=False))


@lru_cache(maxsize=1)
def certified() -> tuple[Run, ...]:
    """Return the runs of all corpus problems that have a certified answer."""
    runs = []
    for path in sorted(CORPUS.glob("*/*/expert/answer.json")):
        if '"certified"' in path.read_text(encoding="utf-8"):
            runs.append(run_of(path.parents[1]))
    return tuple(runs)


def failed(certificate: Certificate) -> set[str]:
    """Return the levels that do not pass, or accuse."""
    levels = {name for name, level in certificate.levels.items() if level["status"] != "pass"}
    return levels | {violation["level"] for violation in certificate.violations}


# --- wrong schedules -----------------------------------------------------------------------------

Schedules = Iterator[tuple[str, xr.Dataset]]


def _copy(run: Run) -> xr.Dataset:
    return run.schedule.copy(deep=True)


def _upper(run: Run, name: str) -> np.ndarray[Any, np.dtype[np.float64]]:
    block = run.program.column_block(name)
    return run.program.column_upper[block.start : block.stop]


def one_hour_over_power(run: Run) -> Schedules:
    """Put one hour of every limited power 5 % above its limit."""
    for definition in run.blueprint.core.decision_variables:
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
            _number(run, component.parameters[f"{word}_efficiency"])
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
    from engiagent.blueprint.units import parse_unit

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
    other = replace(
        run.program,
        cost=np.zeros_like(run.program.cost),
    )
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


# --- wrong blueprints ----------------------------------------------------------------------------

Blueprints = Iterator[tuple[str, Blueprint]]


def _with_parameter(run: Run, changed: ParameterDef) -> Blueprint:
    parameters = tuple(
        changed if p.name == changed.name else p for p in run.blueprint.core.parameters
    )
    return run.blueprint.with_core(parameters=parameters)


def number_altered(run: Run) -> Blueprints:
    """Alter every number that is written in the blueprint by 3 %."""
    for definition in run.blueprint.core.parameters:
        if isinstance(definition.value, int | float) and definition.value != 0:
            yield (
                definition.name,
                _with_parameter(run, replace(definition, value=definition.value * 1.03)),
            )
        if isinstance(definition.value, tuple | FrozenMap) and not definition.type:
            yield (
                definition.name,
                _with_parameter(run, replace(definition, value=_first(definition.value))),
            )


def _first(value: Any) -> Any:
    """Return a value in which the first number is 3 % larger."""
    if isinstance(value, int | float):
        return value * 1.03
    if isinstance(value, tuple):
        return (_first(value[0]), *value[1:])
    key = next(iter(value))
    return FrozenMap({k: _first(v) if k == key else v for k, v in value.items()})


def price_changed(run: Run) -> Blueprints:
    """Write a series of a file into the blueprint, with one value changed."""
    table = Elaboration(run.blueprint.core, run.problem.folder).table
    for definition in run.blueprint.core.parameters:
        if definition.data is not None:
            values = table(definition.name).values.copy()
            values[len(values) // 2] += 1.0 + 0.1 * abs(values[len(values) // 2])
            changed = replace(definition, data=None, value=tuple(values.tolist()))
            yield definition.name, _with_parameter(run, changed)


def requirement_dropped(run: Run) -> Blueprints:
    """Drop every constraint in turn."""
    constraints = run.blueprint.core.constraints
    for dropped in constraints:
        rest = tuple(c for c in constraints if c is not dropped)
        yield dropped.constraint_id, run.blueprint.with_core(constraints=rest)


def limit_dropped(run: Run) -> Blueprints:
    """Drop every bound that a parameter gives to a variable."""
    variables = run.blueprint.core.decision_variables
    for definition in variables:
        loose = {
            "lower": replace(definition, lower=-1e6),
            "upper": replace(definition, upper=1e6),
        }
        for side, wide in loose.items():
            if isinstance(getattr(definition, side), str):
                changed = tuple(wide if v is definition else v for v in variables)
                yield (
                    f"{side} bound of {definition.quantity}",
                    run.blueprint.with_core(decision_variables=changed),
                )


def sense_turned(run: Run) -> Blueprints:
    """Minimise what is to be maximised, and the other way round."""
    objective = run.blueprint.core.objective_function
    if objective is not None:
        turned = replace(objective, sense="maximize")
        if objective.sense == "maximize":
            turned = replace(objective, sense="minimize")
        yield turned.sense, run.blueprint.with_core(objective_function=turned)


def units_swapped(run: Run) -> Blueprints:
    """Read a power as an energy, an energy as a power, and kilo as mega."""
    swap = {"kW": "kWh", "MW": "MWh", "kWh": "kW", "MWh": "MW"}
    mega = {"kW": "MW", "MW": "kW", "kWh": "MWh", "MWh": "kWh"}
    for definition in run.blueprint.core.parameters:
        if definition.data is not None or isinstance(definition.value, str):
            continue  # a column or an expression carries its own unit and is converted: no fault
        for other in (swap, mega):
            if definition.unit in other:
                changed = replace(definition, unit=other[definition.unit])
                yield f"{definition.name} in {changed.unit}", _with_parameter(run, changed)


# --- the table -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Fault:
    """A fault with the levels of which at least one has to catch it."""

    name: str
    make: Callable[[Run], Iterator[tuple[str, Any]]]
    levels: frozenset[str]


def _fault(make: Callable[[Run], Iterator[tuple[str, Any]]], *levels: str) -> Fault:
    return Fault(make.__name__.replace("_", " "), make, frozenset(levels))


SCHEDULE_FAULTS = (
    _fault(one_hour_over_power, "algebra"),
    _fault(state_of_charge_off, "physics"),
    _fault(energy_from_nowhere, "physics"),
    _fault(both_directions_at_once, "algebra", "physics"),
    _fault(temperature_told_too_low, "algebra", "physics"),
    _fault(temperature_missed, "physics"),
    _fault(false_objective, "algebra"),
    _fault(worse_plan, "optimality"),
    _fault(part_of_a_whole, "algebra"),
    _fault(one_more, "algebra"),
    _fault(no_number, "algebra", "input"),
)
# What the language refuses never reaches the checker: its level is "units".
BLUEPRINT_FAULTS = (
    _fault(number_altered, "data"),
    _fault(price_changed, "data"),
    _fault(requirement_dropped, "data", "algebra", "physics"),
    _fault(limit_dropped, "data", "algebra", "physics"),
    _fault(sense_turned, "data", "algebra", "physics"),
    _fault(units_swapped, "data", "units"),
)


def caught_at(fault: Fault, run: Run, wrong: Any) -> tuple[str, set[str]]:
    """Return the verdict on a wrong schedule or blueprint, and the levels that caught it."""
    try:
        if isinstance(wrong, Blueprint):
            _, schedule = solved(wrong, run.problem.folder)
            certificate = check(run.problem, schedule, wrong)
        else:
            certificate = check(run.problem, wrong, run.blueprint)
    except EngiagentError as error:
        level = "units" if "EB00" in str(error) else "input"
        return f"refused: {str(error).splitlines()[0]}", {level}
    return certificate.verdict, failed(certificate)


@dataclass(frozen=True)
class Row:
    """One line of the table of faults."""

    problem: str
    fault: str
    what: str
    verdict: str
    levels: tuple[str, ...]
    caught: bool


def without_experts(run: Run, folder: Path) -> Run:
    """Return the run of a copy of the problem that nobody has annotated."""
    copy = folder / run.name
    shutil.copytree(run.problem.folder, copy, ignore=shutil.ignore_patterns("expert"))
    return replace(run, problem=Problem.load(copy))


def rows(run: Run, faults: tuple[Fault, ...] = SCHEDULE_FAULTS + BLUEPRINT_FAULTS) -> Iterator[Row]:
    """Yield what the checker says to every fault that applies to a run."""
    for fault in faults:
        for what, wrong in fault.make(run):
            verdict, levels = caught_at(fault, run, wrong)
            caught = verdict != "certified" and bool(levels & fault.levels)
            yield Row(run.name, fault.name, what, verdict, tuple(sorted(levels)), caught)


def table(lines: list[Row]) -> str:
    """Return the rows as text, one line each."""
    head = f"{'problem':22}{'fault':28}{'where':46}{'caught at':30}verdict"
    body = [
        f"{r.problem:22}{r.fault:28}{r.what[:44]:46}"
        f"{', '.join(r.levels) if r.caught else 'MISSED':30}{r.verdict[:60]}"
        for r in lines
    ]
    return "\n".join([head, "-" * len(head), *body])
