"""A site that runs: a plant file with the physics of its components, in steps of any length."""

from collections.abc import Callable, Mapping
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from engiagent.blueprint.document import Blueprint
from engiagent.blueprint.elaborate import Elaboration
from engiagent.blueprint.indexing import Table
from engiagent.blueprint.periods import find_moving, with_periods
from engiagent.blueprint.timeaxis import TimeAxis
from engiagent.environment.building import build
from engiagent.environment.built import RESIDUAL, Built, Flows
from engiagent.environment.exceeding import NOTHING
from engiagent.environment.interface import (
    Controller,
    Signal,
    Values,
    element_name,
    numbers_of,
    of_user,
)
from engiagent.environment.running import Floats, Forcing, as_solution, run
from engiagent.environment.wear import Ageing, Fading
from engiagent.errors import EngiagentError, InputError
from engiagent.formulations.expansion import expand
from engiagent.models.systems.system import Domain, Simulation
from engiagent.plant.source import nearest
from engiagent.run.scenarios import Scenario

if TYPE_CHECKING:
    import xarray

BALANCE: Final = "energy_imbalance"
"""Of a run: the largest share of what flows in a step that comes from nowhere or goes there."""


class Environment:
    """A plant as it runs; its signals are the quantities and slots of the plant file.

    Actions beyond what is physically possible are replaced by the nearest that are not; what was
    done is in the answer under the name of the action. Machines whose output is not set are asked
    for what their bus leaves, in the order of the file; the grid takes the rest.

    ``blueprint``, ``folder``: the plant, and where its data files lie. ``ageing``: by battery how
    its capacity fades in a run, as :func:`~engiagent.environment.wear.read_ageing` has it.
    ``flows``: of water or air by bus, as ``{"condenser": ["pump.flow", "tower.water_flow"]}``.
    Raises InputError for a component that has no physics that runs, by name.
    """

    def __init__(
        self,
        blueprint: Blueprint,
        folder: Path | None = None,
        ageing: Ageing | None = None,
        flows: Flows | None = None,
    ) -> None:
        self.blueprint, self.folder = blueprint, folder
        self.built: Built = build(blueprint, folder, flows or {})
        self._fading = Fading(self.built.units, ageing or {})
        for name in ageing or {}:
            self.built.seen(f"{name}.capacity_loss", "1", f"{name}.faded")
        self.signals: Mapping[str, Signal] = {n: s.signal for n, s in self.built.names.items()}
        self._names = names = self.built.names
        self._reads = [(n, s.reads) for n, s in names.items() if s.reads is not None]
        driven = {n: s for n, s in names.items() if s.signal.role == "disturbance"}
        self._driven = {name: str(s.writes or s.reads) for name, s in driven.items()}
        # On a bus of cold what takes gives heat, so that what is left over is what lacks.
        self._cold = {unit.connections.get("cooling_bus") for unit in self.built.units}
        self._stated = [name for name, s in driven.items() if s.writes is None]
        self._prices = [*self.built.prices]
        factors = [name for name in self._stated if name.endswith(".emission_factor")]
        self._emitting = [name.partition(".")[0] for name in factors]
        edges = np.concatenate(([0.0], np.cumsum(self.built.units[0].hours))) * 3600.0
        self.duration = float(edges[-1])
        self._forcing = Forcing(edges[:-1], self.built.series)
        self.imbalance = 0.0
        self.number = 0
        self.initialize(min(float(self.built.units[0].hours[0]), 1.0) * 3600.0)

    @classmethod
    def load(cls, path: str | Path) -> "Environment":
        """Read a plant file, or a problem with a plant block."""
        from engiagent.readings.read import read
        from engiagent.text import Problem

        problem = Problem.load(Path(path))
        found = read(problem)
        if found.blueprint is None or not found.complete:
            raise EngiagentError(f"{problem.id} states no plant: {'; '.join(found.unclear[:3])}")
        return cls(found.blueprint, problem.folder)

    def initialize(self, seconds: float) -> None:
        """Set the length of all steps, from a minute to an hour. [s].

        Series of the plant are averaged over longer steps and held over shorter ones.
        """
        if not 1 <= seconds <= 3600:
            raise InputError(f"a step of {seconds:g} s", expected="1 s to an hour")
        self.seconds = seconds
        self.steps = int(self.duration // seconds + 1e-9)
        along = self._forcing.along(self.steps, seconds) if self.steps else {}
        self._series: dict[str, list[float]] = {n: v.tolist() for n, v in along.items()}
        self._simulation = Simulation(self.built.system, seconds / 3600.0)
        self._fading.start(self._simulation.state())
        self.number = 0

    def reset(self, initial: Values | None = None, seed: int = 0) -> dict[str, float]:
        """Return to the first instant and to what is seen there; ``initial`` are states by name.

        Raises InputError for an unknown state, or one that cannot be, as of a store beyond full.
        """
        given = {}
        for name, value in (initial or {}).items():
            known = self._names.get(name)
            if known is None or known.signal.role != "state":
                states = [n for n, s in self.signals.items() if s.role == "state"]
                raise InputError(f"there is no state {name!r}", expected=nearest(name, states))
            low, high = known.signal.lower, known.signal.upper
            if not (np.isfinite(value) and low - NOTHING <= value <= high + NOTHING):
                said = f"{name} cannot be {value:g} {known.signal.unit}"
                raise InputError(said, expected=f"{low:g} to {high:g}")
            given[str(known.reads)] = value
        self.number, self.imbalance = 0, 0.0
        self._simulation.reset(given)
        self._fading.start(self._simulation.state())
        return self._seen(self._simulation.state())

    @property
    def domains(self) -> dict[str, Domain]:
        """The domain of every bus: electrical, thermal and fuel in kW, water and air in kg/s."""
        return {b: d for b, d in self.built.domains.items() if not b.startswith("around_")}

    def ahead(self, steps: int = 0) -> dict[str, float]:
        """Return what drives the plant in the next step, or some steps later, and prices then."""
        k = min(self.number + steps, self.steps - 1)
        return {name: self._series[port][k] for name, port in self._driven.items()}

    def step(self, inputs: Values) -> dict[str, float]:
        """Advance by a step.

        ``inputs``: actions, and disturbances that are not as the plant's own series, by name.

        Returns states at its end, what was done and what was driven, means over the step. Raises
        InputError for an unknown input, or behind the end of the series.
        """
        k = self.number
        if k >= self.steps:
            raise InputError(
                f"step {k} is behind the end of the series", expected=f"{self.steps} steps"
            )
        actions: dict[str, float] = {}
        driven = {name: values[k] for name, values in self._series.items()}
        stated = {name: driven.pop(name) for name in self._stated}
        for name, known in self._names.items():
            signal = known.signal
            if name in inputs and known.writes is not None:
                where = driven if signal.role == "disturbance" else actions
                value = float(inputs[name])
                where[known.writes] = min(max(value, signal.lower), signal.upper)
            elif name in inputs and name in stated:  # as a price, which drives nothing
                stated[name] = float(inputs[name])
            elif signal.role == "action" and signal.default is not None:
                actions[str(known.writes)] = signal.default
        odd = [name for name in inputs if name not in self.signals]
        if odd:
            takes = [n for n, s in self.signals.items() if s.role in ("action", "disturbance")]
            raise InputError(f"there is no input {odd[0]!r}", expected=nearest(odd[0], takes))
        driven |= {f"{name}.faded": share for name, share in self._fading.lost.items()}
        done = self._simulation.step(actions, driven)
        self._fading.follow(done.state, self.seconds / 3600.0)
        self.number += 1
        # The largest imbalance of a module, relative to what enters or leaves, or 1 kW. [-]
        scale = max(1.0, *map(abs, (*done.entered.values(), *done.left.values())))
        self.imbalance = max(self.imbalance, float(max(map(abs, done.imbalances.values())) / scale))
        signs = {bus: 1.0 if bus in self._cold else -1.0 for bus in done.residuals}
        lacks = {f"{RESIDUAL}{b}": signs[b] * float(v) for b, v in done.residuals.items()}
        return self._seen({**done.outputs, **done.state, **lacks, **stated})

    def _seen(self, values: Mapping[str, Any]) -> dict[str, float]:
        return {name: float(values[port]) for name, port in self._reads if port in values}

    def run(
        self,
        controller: Controller | None = None,
        steps: int | None = None,
        seconds: float | None = None,
        *,
        forcing: Controller | None = None,
        initial: Values | None = None,
        seed: int = 0,
        on_step: Callable[[int, int], None] | None = None,
    ) -> "xarray.Dataset":
        """Run for some steps, all that the series have where none are given; see :func:`run`.

        Returns every signal as a series with ``units`` and ``role``; its attribute
        ``energy_imbalance`` is the largest imbalance of a step, relative to what flows in it.
        """
        length = seconds or self.seconds
        count = int(self.duration // length + 1e-9) if steps is None else steps
        given: Any = {"initial": initial, "seed": seed, "on_step": on_step, "forcing": forcing}
        data = run(self, count, length, controller, begins=self.begins, **given)
        return data.assign_attrs({BALANCE: self.imbalance})

    def blueprint_over(self, steps: int) -> Blueprint:
        """Return the blueprint over steps as long as those of the last run, its series in them."""
        whole = Elaboration(self.blueprint.core, self.folder)
        periods = self.built.units[0].periods.root.name
        values = {n: self._along(whole.table(n), steps) for n in find_moving(whole)}
        step = f"{self.seconds / 60.0:.12g} min"
        return with_periods(self.blueprint, self.folder, periods, steps, values, step=step)

    def scenario(self, name: str, record: "xarray.Dataset") -> Scenario:
        """Return a run of this plant, as :meth:`run` records it, for a comparison of scenarios."""
        whole = expand(self.blueprint_over(record.sizes["time"]))
        elaboration = Elaboration(whole.core, self.folder)
        return Scenario.of(name, elaboration, as_solution(elaboration, record))

    def _along(self, table: Table, steps: int) -> Floats:
        """Return a series over steps: means over periods, between instants the last one."""
        axis, over = next((k, s) for k, s in enumerate(table.sets) if s.root.axis is not None)
        rows = np.moveaxis(np.asarray(table.values, dtype=np.float64), axis, 0)
        flat, edges = rows.reshape(len(rows), -1), self._forcing.times
        if over.kind == "instants":
            instants = np.arange(steps + 1) * self.seconds
            found = flat[np.searchsorted([*edges, self.duration], instants + 1e-6) - 1]
        else:
            columns = {str(k): column for k, column in enumerate(flat.T)}
            means = Forcing(edges, columns).along(steps, self.seconds)
            found = np.stack([means[name] for name in columns], axis=1)
        return np.moveaxis(found.reshape(-1, *rows.shape[1:]), 0, axis)

    def cost(self, data: "xarray.Dataset") -> dict[str, Any] | None:
        """Return what a run costs at its prices of energy; None where none is stated."""
        if not self._prices:
            return None
        total = float(np.sum(self.step_cost({n: item.values for n, item in data.items()})))
        return {"value": total, "unit": self.signals[self._prices[0]].unit.partition("/")[0]}

    def emissions(self, data: "xarray.Dataset") -> dict[str, Any] | None:
        """Return what a run emits, at grids and machines; None where no factor is stated."""
        flows = [data[f"{g}.import"] * data[f"{g}.emission_factor"] for g in self._emitting]
        flows += [data[name] for name in self.signals if name.endswith(".emissions")]
        total = self.seconds / 3600.0 * sum(float(flow.sum()) for flow in flows)
        return {"value": total, "unit": "kg"} if flows else None

    def step_cost(self, values: Mapping[Any, Any]) -> Any:
        """Return what the energy of a step costs, from its values by name."""
        total: Any = 0.0
        for name, (quantity, sign) in self.built.prices.items():
            total = total + sign * self.seconds / 3600.0 * values[quantity] * values[name]
        return total

    def series(self, name: str) -> Floats:
        """Return what drives the plant by a name, over all steps."""
        return np.array(self._series[self._driven[name]])

    @property
    def begins(self) -> TimeAxis | None:
        """The axis of its periods, at whose beginning the first step begins."""
        return self.built.units[0].periods.root.axis


class Answered(Environment):
    """A site whose states a function answers; its own physics serves and balances its buses.

    ``function``: ``(state, controls, disturbances) -> state``, as a closed loop asks it. States
    that it does not answer are the site's own.
    """

    def __init__(
        self, blueprint: Blueprint, folder: Path | None, function: Any, ageing: Ageing | None = None
    ) -> None:
        super().__init__(blueprint, folder, ageing)
        self.function, self._elements = function, dict[str, list[str]]()
        elaboration = Elaboration(expand(blueprint).core, folder)
        for item in elaboration.core.decision_variables:
            sets = [elaboration.index_set(binder.set) for binder in elaboration.binders(item.index)]
            others = product(*(s.labels for s in sets if s.kind != "instants"))
            names = [element_name(item.quantity or "", ".".join(map(str, o))) for o in others]
            if any(s.kind == "instants" for s in sets) and self.signals.keys() >= {*names}:
                self._elements[str(item.quantity)] = names

    def step(self, inputs: Values) -> dict[str, float]:
        """Advance by a step; the function is told what was done, and what drove it."""
        seen, driven = self._seen(self._simulation.state()), {**self.ahead(), **inputs}
        state = {name: np.array([seen[n] for n in own]) for name, own in self._elements.items()}
        plain = {name: v if v.size > 1 else float(v[0]) for name, v in state.items()}
        done = super().step(inputs)
        with of_user(self.function):
            answer = dict(self.function(plain, done, driven))
            for name, value in answer.items():
                if name not in self._elements:
                    said = f"the plant has no state {name!r}"
                    raise InputError(said, expected=nearest(name, self._elements))
                own = zip(self._elements[name], np.ravel(value).tolist(), strict=True)
                done |= numbers_of(dict(own))
        self._simulation.put({str(self._names[n].reads): done[n] for n in seen})
        return done
