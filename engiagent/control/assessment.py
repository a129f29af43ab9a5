"""How a plant was run, whoever ran it, and how far it was from what a plan predicted."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from engiagent.control.elastic import Relaxation, find_limits, relaxations
from engiagent.control.linked import element_labels
from engiagent.environment.interface import element_name
from engiagent.environment.records import as_solution
from engiagent.run.keyfigures import Figure, KeyFigures, key_figures
from engiagent.run.scenarios import energy_costs
from engiagent.solvers.arrays import AnySolution

if TYPE_CHECKING:
    import xarray

    from engiagent.control.closedloop import ClosedLoop

COMPARED: Final = (
    *("energy_cost", "import", "export", "peak_import", "discomfort_below", "discomfort_above"),
    *("emissions", "computing_time_ratio"),
)
"""The key figures of BOPTEST, which any controller of any plant has."""


NOTHING: Final = 1e-6
"""By how much a limit may be exceeded, in its unit, before it counts as broken."""


@dataclass(frozen=True)
class PredictionError:
    """How far a state was from its prediction of a step before; ``at`` begins the worst step."""

    state: str
    unit: str
    mean: float
    worst: float
    at: str


@dataclass(frozen=True)
class BrokenLimit:
    """A limit that plans kept and the plant broke: how often, the worst amount and its place."""

    limit: str
    times: int
    worst: float
    unit: str
    place: str


def assess(loop: "ClosedLoop", record: "xarray.Dataset | None") -> tuple[Figure, ...]:
    """Return the key figures of a run of the loop's plant.

    They follow from the quantities of the plan that the record has, and from the prices and comfort
    limits of the plan. None stands for the run of the loop itself, where the plan's own prediction
    or a function answered.
    """
    elaboration, solution = loop.schedule.elaboration, shown(loop, record)
    found = [*energy_costs(elaboration, solution), *key_figures(elaboration, solution).physical]
    if record is None or record is loop.plant:
        length = loop.runner.horizon.hours * loop.runner.applied * 3600.0
        found.append(Figure("computing_time_ratio", float(loop.seconds.mean()) / length, "1"))
    return KeyFigures(physical=tuple(f for f in found if f.name in COMPARED)).all


def shown(loop: "ClosedLoop", record: "xarray.Dataset | None") -> AnySolution:
    """Return what a record shows of the quantities of the plan; the plan itself without one."""
    schedule = loop.schedule
    return schedule.solution if record is None else as_solution(schedule.elaboration, record)


def prediction_errors(loop: "ClosedLoop") -> tuple[PredictionError, ...]:
    """Return of each state how far the plant was from the prediction of the step before."""
    found = []
    for state in loop.runner.states:
        came = [*loop.log[state.parameter].values[1:], loop.state[state.parameter]]
        said = [control.predicted[state.parameter] for control in loop.controls]
        block = loop.runner.program.column_block(state.variable)
        off = np.abs(np.stack(came) - np.stack(said)).reshape(len(said), -1)
        unit = loop.log[state.parameter].attrs["units"]
        labels = element_labels(loop.runner, state.parameter)
        for label, values in zip(labels, off.T, strict=True):
            worst = int(values.argmax())
            name = element_name(block.quantity or block.name, label)
            unit = "K" if unit == "degC" else unit  # a difference
            mean, at = float(values.mean()), loop.times[worst]
            found.append(PredictionError(name, unit, mean, float(values[worst]), at))
    return tuple(found)


def broken_limits(loop: "ClosedLoop") -> tuple[BrokenLimit, ...]:
    """Return the limits of states that what was measured broke, although the plan kept them."""
    program, runner = loop.schedule.program, loop.runner
    limits = find_limits(program, None, frozenset(s.variable for s in runner.states))
    found: dict[str, list[Relaxation]] = {}
    for item in relaxations(program, limits, loop.schedule.result):
        step = ((item.ahead or 0) - 1) // runner.applied
        if item.ahead and item.amount > NOTHING:  # what is measured first was never planned
            given_up = {r.limit for r in loop.controls[step].relaxations}
            if item.limit not in given_up and loop.controls[step].outcome != "previous plan":
                found.setdefault(item.limit, []).append(item)
    return tuple(
        BrokenLimit(name, len(items), worst.amount, worst.unit, worst.place)
        for name, items in found.items()
        for worst in [max(items, key=lambda item: item.amount)]
    )
