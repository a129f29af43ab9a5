"""A plant that runs, as a closed loop asks for it: the plan's names and units, all its states.

States that the plant does not show are what the plan predicts of them, corrected by a Kalman filter
with the plan's own linear step ``A``, which is read from its rows, and with the deviations of noise
that the file of signals states; without them a step adds the same to what is not known of each.
"""

from collections.abc import Iterator, Mapping
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from engiagent.blueprint.timeaxis import TimeAxis
from engiagent.control.filtering import Kalman
from engiagent.control.horizon import Floats, at_stage
from engiagent.control.runner import RecedingHorizon
from engiagent.environment.interface import Runs, Values, between, element_name
from engiagent.environment.running import in_steps, recorded
from engiagent.environment.signals import Connected, Output, Signals
from engiagent.errors import InputError
from engiagent.units.unit import UnitError, parse_unit

if TYPE_CHECKING:
    import xarray

PLANNED = ".planned"
"""Behind the name of a state: what it is to be at the end of the period, a set point."""
Given = Mapping[str, Any]


class LinkedPlant:
    """A plant for :func:`engiagent.control.control`, by outside names.

    ``plant``: what runs. ``runner``: that plans. ``states``, ``controls``, ``disturbances``: the
    plan's own names by outside name. Raises InputError when no control reaches the plant, it shows
    no state, or units do not fit.
    """

    def __init__(
        self,
        plant: Runs,
        runner: RecedingHorizon,
        states: Mapping[str, str],
        controls: Mapping[str, str],
        disturbances: Mapping[str, str],
    ) -> None:
        self.plant, self.runner = plant, runner
        unit = runner.parametric.unit
        of_control = {block.name: block.unit for block in runner.controls}
        self._states = {
            name: (own, [element_name(name, label) for label in labels], unit(own))
            for name, own in states.items()
            for labels in [element_labels(runner, own)]
        }
        self._units = {n: u for _, names, u in self._states.values() for n in names}
        shown, signals = list(self._units), plant.signals
        inputs = [n for n, s in signals.items() if s.role in ("action", "disturbance")]
        self._sent = {name: of_control[own] for name, own in controls.items()}
        self._sent |= {name: unit(own) for name, own in disturbances.items()}
        # What follows from the controls, as the heat of a heater, can be a signal as well.
        results = {
            e.quantity: e.name
            for e in runner.program.expressions
            if e.quantity is not None and e.sets == (runner.horizon.periods,)
        }
        self.results = {name: own for name, own in results.items() if name in inputs}
        self._sent |= {
            name: runner.program.expression_block(own).unit for name, own in self.results.items()
        }
        runner.told = tuple(self.results.values())
        self.unreached = [name for name in controls if name not in inputs]
        wanted = {n + PLANNED for n in shown}
        if not {*inputs} & {*controls, *wanted, *self.results}:
            raise InputError(
                "no control of the plan reaches the plant",
                found=f"inputs {', '.join(inputs) or 'none'}",
                expected=f"some of {', '.join((*controls, *results))}",
            )
        self._read = [n for n in shown if n in signals and n not in inputs]
        if not self._read:
            raise InputError(
                "the plant shows no state of the plan",
                found=", ".join(n for n in signals if n not in inputs) or "none",
                expected=f"some of {', '.join(shown)}",
            )
        self._inputs = inputs
        # What the plant shows of what drives the plan, which has forecasts of it.
        known = (name for name in disturbances if name in signals and name not in inputs)
        self._misses: dict[str, list[float]] = {name: [] for name in known}
        self.held = [name for name in shown if name not in self._read]
        self._begins = np.zeros(len(shown))
        self._gain = np.zeros((len(shown), len(self._read)))
        self._filter = self._kalman(shown)
        self.rows: list[Values] = []
        self.sent: list[Values] = []
        plant.initialize(runner.horizon.hours * 3600.0)

    def log(self, begins: TimeAxis | None) -> "xarray.Dataset":
        """Return what the plant was told and showed, as a run of it is recorded."""
        seconds = self.runner.horizon.hours * 3600.0
        axis = in_steps(begins, len(self.sent), seconds)
        return recorded(self.plant.signals, self.rows[0], self.rows[1:], self.sent, axis)

    def reset(self, own: Mapping[str, npt.ArrayLike]) -> dict[str, Floats]:
        """Return the states at its start, by parameter: what it does not show is the plan's own."""
        seen, found = self.plant.reset(), {}
        self.rows, self.sent = [seen], []
        if self._filter is not None:
            # What is read is off by its noise, and the rest as far as the plan's beginning may be.
            sizes = dict(zip(self._units, self._begins, strict=True))
            noise = zip(self._read, np.diag(self._filter.noise), strict=True)
            sizes |= {name: size for name, size in noise if name in seen}
            self._filter.spread = np.diag([*sizes.values()])
        for parameter, names, _ in self._states.values():
            values = np.array(own[parameter], dtype=np.float64)
            for k, name in enumerate(names):
                if name in self._read and name in seen:
                    values.flat[k] = self._measured(name, seen)
            found[parameter] = values
        return found

    def __call__(self, state: Given, controls: Given, disturbances: Given) -> dict[str, Floats]:
        """Apply a period and return all states at its end."""
        given: dict[str, float] = {}
        for values in (disturbances, controls):
            for name, value in values.items():
                if name in self._states:  # as planned
                    names = self._states[name][1]
                    flat = np.asarray(value, dtype=np.float64).reshape(-1)
                    given |= {
                        n + PLANNED: self._sendable(v, self._units[n], n + PLANNED)
                        for n, v in zip(names, flat, strict=True)
                        if n + PLANNED in self._inputs
                    }
                elif name in self._inputs and name in self._sent:
                    given[name] = self._sendable(float(value), self._sent[name], name)
        seen = self.plant.step(given)
        self.sent.append(given)
        self.rows.append(seen)
        for name, misses in self._misses.items():
            shows = _converted(seen[name], self.plant.signals[name].unit, self._sent[name], name)
            misses.append(shows - float(disturbances[name]))
        predicted = np.concatenate(
            [np.asarray(controls[name], dtype=np.float64).reshape(-1) for name in self._states]
        )
        found, shown = predicted.copy(), list(self._units)
        read = [shown.index(name) for name in self._read]
        measured = np.array([self._measured(name, seen) for name in self._read])
        if self._filter is None:
            found[read] = measured
        else:
            self._gain = self._filter.gain()
            found += self._gain @ (measured - predicted[read])
        answer, at = {}, 0
        for name, (own, names, _) in self._states.items():
            shape = self.runner.parametric.shape(own)
            answer[name] = found[at : at + len(names)].reshape(shape)
            at += len(names)
        return answer

    def notes(self) -> Iterator[str]:
        """Yield what a reader has to know of the plant."""
        if self.unreached:
            yield f"the plant takes no {', '.join(self.unreached)}: the plan decides them alone"
            known = self.plant.signals
            odd = [n for n in self.unreached if n in known and known[n].role == "state"]
            if odd:
                yield f"{', '.join(odd)} is read at instants and does not count: say 'mean: yes'"
        told = {name for name, row in zip(self._units, self._gain, strict=True) if row.any()}
        for how, is_told in (("estimated", True), ("as planned", False)):
            names = [n for n in self.held if (n in told) == is_told]
            if names:
                yield f"the plant does not show {', '.join(names)}: {how}"
        for name, misses in self._misses.items():
            off, unit = np.abs(misses), parse_unit(self._sent[name]).difference()
            amounts = f"{off.mean():.3g} {unit} in the mean, {off.max():.3g} {unit} at worst"
            yield f"{name} as the plan has it is off what the plant shows by {amounts}"
        if not self.held and isinstance(self.plant, Connected) and self._filter is not None:
            noisy = [n for n in self._read if self.plant.file.outputs[n].deviation[0]]
            shown = f"from readings and the plan: {', '.join(noisy)}"
            yield f"estimated {shown if noisy else 'nothing: no reading has a deviation'}"
        notes = getattr(self.plant, "notes", None)
        yield from () if notes is None else notes()

    def _sendable(self, value: float, unit: str, name: str) -> float:
        return _converted(value, unit, self.plant.signals[name].unit, name)

    def _measured(self, name: str, seen: Values) -> float:
        return _converted(seen[name], self.plant.signals[name].unit, self._units[name], name)

    def _spread(self, name: str, size: tuple[float, str | None]) -> float:
        """Return a deviation in the unit of a state."""
        own, wanted = (str(parse_unit(u or "1").difference()) for u in (size[1], self._units[name]))
        return size[0] if size[1] is None else _converted(size[0], own, wanted, name)

    def _kalman(self, shown: list[str]) -> Kalman | None:
        """Return the filter of all states; None where nothing is estimated."""
        file = self.plant.file if isinstance(self.plant, Connected) else Signals()
        stated = {"estimated": file.estimated, "initial_deviation": file.initial_deviation}
        for key, sizes in stated.items():
            if odd := [name for name in sizes if name not in shown]:
                raise InputError(f"{odd[0]} in {key} is no state", expected=", ".join(shown))
        if not file.estimated and not self.held:
            return None
        read = (file.outputs.get(name, Output("")).deviation for name in self._read)
        deviations = [self._spread(*each) for each in zip(self._read, read, strict=True)]
        try:
            step = transition(self.runner)
        except InputError:
            if any(stated.values()):
                raise
            return None  # nobody asked, and the plan goes on as it is
        # Where nothing is known of noise a step adds as much to each state as a reading has.
        sizes = file.estimated or dict.fromkeys(shown, (max(deviations) or 1.0, None))
        added = np.diag([self._spread(n, sizes.get(n, (0.0, None))) ** 2 for n in shown])
        # What a state may be off after a whole horizon without a reading is what it may be off at
        # the beginning, where nothing is stated of that.
        reached = added
        for _ in range(self.runner.horizon.size):
            reached = step @ reached @ step.T + added
        begins = {n: self._spread(n, size) ** 2 for n, size in file.initial_deviation.items()}
        self._begins = np.array([begins.get(n, reached[k, k]) for k, n in enumerate(shown)])
        # What the plan is said to know exactly is corrected by nothing: it is taken as it is read.
        places = [shown.index(name) for name in self._read]
        exact = [
            k for k, size in zip(places, deviations, strict=True) if not size or not reached[k, k]
        ]
        noise, measures = np.diag(np.square(deviations)), np.eye(len(shown))[places]
        return Kalman(step, added, measures, noise, exact, np.diag(self._begins))


def transition(runner: RecedingHorizon) -> Floats:
    """Return the matrix by which a plan's states act on those a period later.

    It is read from the equations of the program that join the first two instants.

    Raises InputError when these do not give each state.
    """
    program, columns = runner.program, []
    for instant in (0, 1, 2):
        found = []
        for state in runner.states:
            block = program.column_block(state.variable)
            axis = block.sets.index(runner.horizon.instants)
            place = min(instant, block.shape[axis] - 1)
            found.append(block.start + at_stage(block, axis, place).reshape(-1))
        columns.append(np.concatenate(found))
    before, after, later = columns
    rows = np.repeat(np.arange(program.row_count), np.diff(program.row_starts))
    has = np.zeros((2, program.row_count), dtype=bool)
    has[0, rows[np.isin(program.row_columns, after)]] = True
    if runner.horizon.size > 1:
        has[1, rows[np.isin(program.row_columns, later)]] = True
    equal = program.row_lower == program.row_upper
    chosen = np.flatnonzero(has[0] & ~has[1] & equal)
    one, two = np.zeros((2, len(chosen), len(after)))
    for k, row in enumerate(chosen):
        span = slice(program.row_starts[row], program.row_starts[row + 1])
        own = dict(zip(program.row_columns[span], program.row_values[span], strict=True))
        one[k] = [own.get(column, 0.0) for column in before]
        two[k] = [own.get(column, 0.0) for column in after]
    if len(chosen) != len(after) or np.linalg.matrix_rank(two) < len(after):
        raise InputError(
            "the plan's states cannot be estimated: its equations are not one linear step",
            expected="a signal for every state, or states that are not 'estimated'",
        )
    shape = runner.parametric.shape
    factors = (np.full(shape(s.parameter), s.factor).reshape(-1) for s in runner.states)
    scale = np.concatenate([*factors])
    return np.asarray(-np.linalg.solve(two, one) * scale[:, None] / scale[None, :])


def _converted(value: float, source: str, target: str, name: str) -> float:
    try:
        factor, shift = between(source, target)
    except UnitError as error:
        raise InputError(f"{name}: {error}", expected="units of one quantity") from None
    return factor * value + shift


def element_labels(runner: RecedingHorizon, parameter: str) -> list[str]:
    """Return what tells the elements of a state apart; one empty text for a single number."""
    state = next(s for s in runner.states if s.parameter == parameter)
    block = runner.program.column_block(state.variable)
    others = [s for s in block.sets if s != runner.horizon.instants]
    axes = (np.asarray(runner.program.coordinates[s].values) for s in others)
    return [".".join(map(str, label)) for label in product(*axes)]
