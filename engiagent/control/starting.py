"""A closed loop from a plant alone: its horizon, its states and its forecasts are found in it."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from engiagent.blueprint.document import Blueprint
from engiagent.blueprint.elaborate import Elaboration
from engiagent.blueprint.elements import ConstraintDef, Core, ParameterDef, freeze
from engiagent.blueprint.grammar import Call, Compare, Node, Ref, tree_of, walk
from engiagent.blueprint.periods import find_moving, with_periods
from engiagent.blueprint.timeaxis import TimeAxis
from engiagent.blueprint.values import as_written
from engiagent.control.closedloop import ClosedLoop, close
from engiagent.control.horizon import End, Floats, forecasts_that_err, read_series
from engiagent.control.linked import LinkedPlant
from engiagent.control.runner import Plant, RecedingHorizon
from engiagent.environment.environment import Environment
from engiagent.environment.exceeding import unserved
from engiagent.environment.interface import Runs, amount, is_place, of_user
from engiagent.environment.running import read_series_by_name
from engiagent.environment.signals import Connected, Signals, opened
from engiagent.errors import InputError
from engiagent.formulations.expansion import expand
from engiagent.plant.horizon import aligned, usual_rule
from engiagent.plant.sizing import open_sizes
from engiagent.plant.source import nearest
from engiagent.slots import COMPONENTS
from engiagent.solvers.result import SolveOptions
from engiagent.text.datafile import DataFile
from engiagent.text.timestamps import read_times
from engiagent.units.unit import convert, parse_unit

DAY: Final = 24.0
MODEL: Final = "model"
ENVIRONMENT: Final = "environment"
HISTORY: Final = ("initially_on", "initial_hours", "initial_power")
"""Slots about the time before a horizon that a loop does not measure back."""


def control(
    blueprint: Blueprint,
    steps: int | None = None,
    *,
    horizon: int | None = None,
    plant: Plant | Runs | str = MODEL,
    signals: str | Path | None = None,
    actual: str | Path | Mapping[str, npt.ArrayLike] | None = None,
    forecast_errors: Mapping[str, str] | None = None,
    measured: Mapping[str, npt.ArrayLike] | None = None,
    limits: Sequence[Sequence[str]] | None = None,
    end: End = "refuse",
    folder: Path | None = None,
    options: SolveOptions | None = None,
    certify: bool = False,
    blocks: Sequence[int] | None = None,
    floor_area: float | str | None = None,
    on_step: Callable[[int, int], None] | None = None,
) -> ClosedLoop:
    """Close the loop of a plant: plan, apply the first period, measure, plan again.

    States are the variables that the blueprint fixes at the first instant; forecasts are its own
    series, of which each plan sees the next ``horizon`` periods.

    ``steps``: how many periods are applied; by default as many as the data allow. ``horizon``: how
    many periods a plan looks ahead; by default a day, at most half of the data. ``plant``: what
    answers: ``model``, which is the plan's own prediction; ``environment``, the physics of the
    plant itself, or another plant file; ``fmu:FILE``; anything with ``initialize``, ``reset`` and
    ``step``; a function ``(state, controls, disturbances) -> state`` or its place as
    ``module:function``. States and controls go by their quantities, as ``battery.state_of_charge``,
    disturbances by their slots, as ``bakery.power``, each in its own unit. Beside the controls
    stand the planned states at the end of the period. ``signals``: a file that says which of a
    plant's signals is which of these. ``actual``: what really comes, where it is not what is
    forecast: a file with columns, or series, by slot, parameter or the column that is forecast. All
    others come as forecast. ``forecast_errors``: by slot how far forecasts of it are off, as
    ``1 K`` or ``10 %``, by the seed of ``options``. ``measured``: states at the start by quantity,
    where they are not the plant's own. ``limits``, ``end``, ``options``, ``blocks``: as
    :class:`RecedingHorizon`.
    ``folder``: where the data files of the blueprint lie. ``certify``: whether to keep the plan of
    each step, for :mod:`engiagent.control.certificate`. ``floor_area``: of what is controlled, for
    key figures per area. [m²] ``on_step``: is told the number of steps
    done, and of all. Raises InputError when there is no state, data do not suffice, or a name leads
    nowhere; ControlError when there is no control for the first step; later ones end the loop and
    say so in ``stopped``.
    """
    more: dict[str, Any] = {"end": end, "limits": limits, "options": options}
    more["blocks"] = blocks
    area = None if floor_area is None else amount(floor_area, "floor_area", "m2")[0]
    if area is not None and not 0.0 < area < np.inf:
        raise InputError("the floor area is no area", found=str(floor_area), expected="192 m2")
    runner, names, whole, steps = _prepared(blueprint, folder, steps, horizon, **more)
    begins = begins_of(whole)
    if isinstance(plant, str):
        function = load_plant(plant, signals, begins, blueprint, folder)
    else:
        function = plant
    start: dict[str, npt.ArrayLike] = {}
    start |= {s.parameter: runner.parametric.value(s.parameter) for s in runner.states}
    linked = None
    if function is not None and not callable(function):
        function = linked = LinkedPlant(
            function, runner, names.states, names.controls, names.disturbances
        )
        names.results = linked.results
        start |= linked.reset(start)
    runner.plant = None if function is None else names.answering(function)
    start |= {names.of(name, names.states, "state"): v for name, v in (measured or {}).items()}
    came = names.series(actual, whole, steps) if actual is not None else {}
    truth = read_series(came, runner.axes)
    seed = options.seed if options else 0
    given = forecast_errors or {}
    errors = {names.of(name, names.disturbances, "series"): given[name] for name in given}
    forecast = forecasts_that_err(runner, errors, steps, seed) if given else None
    loop = close(runner, steps, start, truth, forecast, keep=True, plans=certify, on_step=on_step)
    notes = [*_notes(runner, blueprint.core), *(linked.notes() if linked is not None else ())]
    log = None if linked is None else linked.log(begins)
    notes += () if log is None else unserved(log)
    notes += [f"forecasts of {name} err by {size}, seed {seed}" for name, size in given.items()]
    if linked is not None and isinstance(linked.plant, Connected):
        linked.plant.close()
    return replace(loop, notes=tuple(notes), plant=log, floor_area=area)


def read_actual(actual: Sequence[Path], *given: Any, end: End) -> None:
    """Read files as :func:`control` does, before the first of several loops; else an InputError."""
    _, names, whole, steps = _prepared(*given, end=end)
    for path in actual:
        names.series(path, whole, steps)


def _prepared(
    blueprint: Blueprint, folder: Path | None, steps: int | None, horizon: int | None, **more: Any
) -> "tuple[RecedingHorizon, Names, Elaboration, int]":
    """Return what plans, its names, the whole of the data, and how many steps there are."""
    sizes = open_sizes(blueprint.core)
    if sizes:
        raise InputError(
            "a size is to be chosen, and each plan would choose another",
            found=", ".join(sizes.values()),
            expected="one value, as a sizing finds it",
        )
    whole = Elaboration(expand(blueprint).core, folder)
    periods, count = _periods(whole)
    axis = whole.index_set(periods).axis
    assert axis is not None  # it is a set of time
    ahead = max(round(DAY / float(axis.steps[0])), 1) if axis.step_unit == "h" else count
    size = horizon or max(min(ahead, count // 2), 1)
    steps = max(count - size + 1, 1) if steps is None else steps
    if more["end"] == "refuse" and steps + size - 1 > count:
        raise InputError(
            f"{steps} steps that look {size} periods ahead need data of {steps + size - 1} periods",
            found=f"{count} periods",
            expected=f"at most {max(count - size + 1, 0)} steps, a shorter horizon, or an end that "
            "says what comes after the data: hold or repeat",
        )
    series = {name: np.asarray(whole.table(name).values) for name in find_moving(whole)}
    own = {p.name for p in blueprint.core.parameters}
    cut = {name: v for name, v in series.items() if name in own}
    short = with_periods(blueprint, folder, periods, size, _first(whole, cut, size))
    ready, states = with_states(expand(short), folder)
    if not states:
        raise InputError(
            "nothing in it is measured, so that every plan would be the same",
            expected="a store or a zone: a variable over instants with its value at the first",
        )
    runner = RecedingHorizon(ready, folder, state=states, fixed=[*series], **more)
    runner.forecasts = read_series({n: series[n] for n in runner.axes if n in series}, runner.axes)
    return runner, Names(runner, blueprint.core), whole, steps


def _notes(runner: RecedingHorizon, core: Core) -> Iterator[str]:
    """Yield what each plan takes anew from the plant although the loop has gone on."""
    for component in core.components:
        given = [slot for slot in HISTORY if slot in component.parameters]
        if given:
            yield f"{component.name}: {', '.join(given)} is not measured back; each plan begins so"
    program = runner.program
    own = {runner.horizon.periods, runner.horizon.instants}
    if any(program.cost[b.start : b.stop].any() for b in program.columns if not own & {*b.sets}):
        yield "what is paid for once over a horizon, as its peak, is counted anew in each plan"


def _periods(whole: Elaboration) -> tuple[str, int]:
    """Return the set of periods and how many it has."""
    found = [s.name for s in whole.core.sets if s.kind == "time"]
    if len(found) != 1:
        known = ", ".join(found) or "none"
        raise InputError("a loop needs one set of kind time", found=known)
    return found[0], whole.index_set(found[0]).size


def _first(whole: Elaboration, series: Mapping[str, Floats], size: int) -> dict[str, Floats]:
    """Return the beginnings of series, as long as a horizon."""
    found = {}
    for name, values in series.items():
        for axis, over in enumerate(whole.table(name).sets):
            if over.root is over and over.kind in ("time", "instants"):
                length = size + (over.kind == "instants")
                values = np.take(values, range(length), axis=axis)
        found[name] = values
    return found


# -- states ---------------------------------------------------------------------------------------


def with_states(blueprint: Blueprint, folder: Path | None) -> tuple[Blueprint, dict[str, str]]:
    """Return a blueprint in which each state begins at a parameter of its own, and these by state.

    A state is a variable over instants that a constraint makes equal to what is given at the first
    of them. What else is asked with that value, as of the end, stays as it is.
    """
    core = blueprint.core
    instants = {s.name for s in core.sets if s.kind == "instants"}
    over = {v.name: v for v in core.decision_variables if instants & _sets(v.index)}
    unknown = {v.name for v in core.decision_variables} | {e.name for e in core.expressions}
    starts: dict[str, list[tuple[int, Ref, Node]]] = {}
    for place, constraint in enumerate(core.constraints):
        for ref, given in _starts(constraint, instants):
            if ref.name in over and not unknown & {
                n.name for n in walk(given) if isinstance(n, Ref)
            }:
                starts.setdefault(ref.name, []).append((place, ref, given))
    constraints, parameters, states = list(core.constraints), list(core.parameters), {}
    for name, found in starts.items():
        variable, own = over[name], f"{name}__measured"
        others = tuple(text for text in variable.index if not instants & _sets((text,)))
        values = _values(core, folder, [(constraints[k], r, g) for k, r, g in found], variable.unit)
        sets = [Elaboration(core, folder).index_set(*_sets((text,))) for text in others]
        shape = tuple(s.size for s in sets)
        if values is None or values.size != int(np.prod(shape)):
            continue
        for place, ref, _ in found:
            text = constraints[place].expression
            at = [text[slice(*n.span)] for n in ref.indices if not _is_first(n, instants)]
            right = f"{own}[{', '.join(at)}]" if at else own
            left = text[slice(*ref.span)]
            constraints[place] = replace(constraints[place], expression=f"{left} == {right}")
        value = freeze(as_written(values.reshape(shape), tuple(sets)) if shape else values.item())
        parameters = [p for p in parameters if p.name != own]  # of a loop that was written
        parameters.append(ParameterDef(name=own, index=others, value=value, unit=variable.unit))
        states[name] = own
    changed = {"parameters": tuple(parameters), "constraints": tuple(constraints)}
    return blueprint.with_core(**changed), states


def _sets(index: Sequence[str]) -> set[str]:
    return {text.rpartition(" in ")[2].strip() for text in index}


def _starts(constraint: ConstraintDef, instants: set[str]) -> Iterator[tuple[Ref, Node]]:
    """Yield the sides of an equation of which one is a variable at the first instant."""
    tree = tree_of(constraint.expression)
    if constraint.where is not None or not isinstance(tree, Compare) or tree.ops != ("==",):
        return
    left, right = tree.operands
    for ref, given in ((left, right), (right, left)):
        if isinstance(ref, Ref) and any(_is_first(n, instants) for n in ref.indices):
            yield ref, given


def _is_first(node: Node, instants: set[str]) -> bool:
    if not isinstance(node, Call) or node.function != "first" or len(node.args) != 1:
        return False
    return isinstance(node.args[0], Ref) and node.args[0].name in instants


def _values(
    core: Core, folder: Path | None, found: Sequence[tuple[ConstraintDef, Ref, Node]], unit: Any
) -> Floats | None:
    """Return what a state is given at the first instant, one element after another."""
    texts = [(c.expression[slice(*given.span)], c.forall) for c, _, given in found]
    if len(found) > 1 and any(over for _, over in texts):
        return None  # given in parts
    added = tuple(
        ParameterDef(name=f"start__{k}", index=over, value=text, unit=unit)
        for k, (text, over) in enumerate(texts)
    )
    elaboration = Elaboration(replace(core, parameters=(*core.parameters, *added)), folder)
    parts = [np.asarray(elaboration.table(p.name).values, dtype=np.float64) for p in added]
    return np.concatenate([part.reshape(-1) for part in parts])


# -- names ----------------------------------------------------------------------------------------


class Names:
    """What states, controls and disturbances are called outside a runner: by quantity and slot."""

    def __init__(self, runner: RecedingHorizon, core: Core) -> None:
        self.runner = runner
        quantity = {b.name: b.quantity or b.name for b in runner.program.columns}
        self.states = {quantity[s.variable]: s.parameter for s in runner.states}
        self.results: dict[str, str] = {}
        self.controls = {quantity[b.name]: b.name for b in runner.controls}
        slots = {
            value: f"{component.name}.{slot}"
            for component in core.components
            for slot, value in component.parameters.items()
            if isinstance(value, str)
        }
        self._models = {component.name: component.model for component in core.components}
        self.disturbances = {slots.get(name, name): name for name in runner.axes}
        self.still = {slots[p.name]: p for p in core.parameters if p.name in slots and not p.index}

    def of(self, name: str, known: Mapping[str, str], what: str) -> str:
        """Return the runner's own name of something; an InputError names the nearest."""
        if name in known:
            return known[name]
        if name in known.values():
            return name
        raise InputError(f"there is no {what} {name!r}", expected=nearest(name, known))

    def answering(self, plant: Plant) -> Plant:
        """Return a plant for the runner, from one that goes by outside names."""
        tables = Elaboration(self.runner.blueprint.core, self.runner.folder)
        still = {name: _plain(tables.table(p.name).values) for name, p in self.still.items()}

        def answer(state: Any, controls: Any, disturbances: Any) -> dict[str, Any]:
            told, states, driven = (
                {name: _plain(values[own]) for name, own in known.items()}
                for values, known in (
                    (controls, {**self.results, **self.controls, **self.states}),
                    (state, self.states),
                    (disturbances, self.disturbances),
                )
            )
            with of_user(plant):
                found = plant(states, told, {**still, **driven})
            if not isinstance(found, Mapping) or set(found) != set(self.states):
                shown = ", ".join(map(str, found)) if isinstance(found, Mapping) else repr(found)
                raise InputError(
                    "the plant does not answer with its states",
                    found=shown or "nothing",
                    expected=f"a mapping with {', '.join(self.states)}",
                )
            return {own: found[name] for name, own in self.states.items()}

        return answer

    def _refuse_range(self, own: str, values: Floats) -> None:
        """Refuse a series that its slot does not take, as a factor below 0."""
        name = next(n for n, known in self.disturbances.items() if known == own)
        owner, _, word = name.rpartition(".")
        slot = COMPONENTS[self._models[owner]].slots.get(word) if owner in self._models else None
        unit = self.runner.parametric.unit(own)
        if slot is not None and slot.counts(unit) == 0:
            for number in np.unique(values).tolist():
                if not slot.allows(convert(number, parse_unit(unit), parse_unit(slot.unit))):
                    said = f"what really comes of {name} is out of range"
                    raise InputError(said, found=f"{number:g} {unit}", expected=slot.range)

    def series(
        self, actual: str | Path | Mapping[str, npt.ArrayLike], whole: Elaboration, steps: int
    ) -> dict[str, Floats]:
        """Return what really comes by parameter; behind the steps it is as forecast."""
        known = dict(self.disturbances)
        for definition in whole.core.parameters:
            source = definition.source_reference
            column = source.get("column") if isinstance(source, Mapping) else None
            if definition.name in self.runner.axes and column and column not in known:
                known[str(column)] = definition.name
        if isinstance(actual, Mapping):
            given = {self.of(n, known, "series"): np.asarray(v) for n, v in actual.items()}
        else:
            units = {name: self.runner.parametric.unit(own) for name, own in known.items()}
            zone = next(s.zone for s in whole.core.sets if s.kind == "time")
            told = "none of the series that are forecast"
            file, columns = read_series_by_name(Path(actual), units, zone, told)
            given = {
                known[n]: _aligned(file, v, whole, units[n], steps) for n, v in columns.items()
            }
        found = {}
        for name, values in given.items():
            self._refuse_range(name, values)
            series = self.runner.forecasts[name]
            at, own = series.axis, min(steps, values.shape[0])
            joined = np.moveaxis(np.array(series.values), at, 0)
            if len(joined) < steps:
                joined = np.stack([series.at(k, self.runner.end) for k in range(steps)])
            joined[:own] = values[:own]
            found[name] = np.moveaxis(joined, 0, at)
        return found


def _plain(value: Floats) -> Any:
    array = np.asarray(value)
    return float(array) if array.ndim == 0 else array


def _aligned(file: DataFile, values: Floats, whole: Elaboration, unit: str, steps: int) -> Floats:
    periods, _ = _periods(whole)
    axis = whole.index_set(periods).axis
    assert axis is not None  # it is a set of time
    if file.axis is None or file.time_column is None or not axis.dated:
        return values
    times = read_times(file.columns[file.time_column].source, axis.zone)
    edges = axis.edges[: steps + 1]
    first = replace(axis, edges=edges)
    try:
        return aligned(values, times, first, usual_rule(times, first, unit))
    except ValueError as error:
        raise InputError(f"it does not cover the steps: {error}", file.name) from None


# -- plants ---------------------------------------------------------------------------------------


def begins_of(whole: Elaboration) -> TimeAxis | None:
    """Return the axis of a horizon, which says when it begins."""
    return whole.index_set(_periods(whole)[0]).axis


def load_plant(
    place: str,
    signals: str | Path | None,
    begins: TimeAxis | None,
    blueprint: Blueprint,
    folder: Path | None,
) -> Plant | Runs | None:
    """Return the plant that a place names; None for the model.

    ``signals``: the file of its signals. ``begins``: when the plan does. ``blueprint``, ``folder``:
    of the plan, which ``environment`` executes. Raises InputError when there is no such module,
    function or file.
    """
    if place == MODEL:
        return None
    named = None if signals is None else Signals.load(signals)
    other: Runs | None = None
    if place == ENVIRONMENT:
        other = Environment(blueprint, folder)
    elif Path(place).suffix in (".yaml", ".yml", ".md") or Path(place).is_dir():
        other = Environment.load(place)
    if other is not None:
        return other if named is None else Connected(other, named)
    if not is_place(place):
        expected = "model, environment, a plant file, fmu:FILE, energyplus:FILE, or module:name"
        raise InputError("this names no plant", found=place, expected=expected)
    date = np.datetime64(int(begins.local[0]), "s") if begins and begins.dated else None
    return opened(place, named and named.beginning(date))  # type: ignore[no-any-return]
