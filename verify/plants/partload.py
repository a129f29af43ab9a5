"""Machines that turn an input into an output by part load: how their plan is executed.

The output is kept and shared evenly by the machines that run; the input follows from the curve of
:mod:`engiagent.models`. A formulation that replaces the curve by chords declares these: the gap to
the curve itself is then reported.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from engiagent.models.ranges import increasing
from engiagent.verify.frames import EvaluationError
from engiagent.verify.plants.run import Excess
from engiagent.verify.plants.switching import Switched, switched
from engiagent.verify.plants.unit import Unit
from engiagent.verify.values import Floats

FLOOR = 1e-6
"""Below this share of its capacity a machine gives nothing; it is what solvers leave of 0."""


@dataclass(frozen=True)
class Machine:
    """One machine."""

    capacity: Floats  # output at a part-load ratio of 1, by period
    # input of a running machine at part-load ratios by period, standing input apart. [kW]
    input_at: Callable[[Floats], Floats]
    # least, most: part-load ratios between which it may run
    least: float = 0.0
    most: float = 1.0
    standing: float = 0.0  # input that never stops. [kW]
    cycles: bool = True  # whether below the least ratio it runs for a part of the period


@dataclass(frozen=True)
class Operated:
    """What machines alike do: their state, the declared and the exact input, excesses."""

    state: Switched
    declared: Floats
    exact: Floats
    excesses: tuple[Excess, ...]


def operated(unit: Unit, machine: Machine, output: Floats, word: str) -> Operated:
    """Return what machines do for an output of the plan, called ``word``."""
    scale = float(np.max(machine.capacity))
    state = switched(unit, output, FLOOR * scale)
    ratio = state.each(output) / machine.capacity
    held = np.clip(ratio, 0.0, machine.most)
    exact = state.on * machine.input_at(held) + state.count * machine.standing
    chords = unit.single("segments")
    declared = exact
    if chords is not None:
        knots = np.linspace(machine.least, machine.most, int(chords) + 1)
        table = [machine.input_at(np.full(held.shape, knot)) for knot in knots]
        own = between(held, knots, table)
        declared = state.on * own + state.count * machine.standing
    top = machine.most * machine.capacity
    excesses = [
        unit.sign(word, output, scale),
        unit.excess(
            "capacity", word, output - state.on * top, scale, "above the capacity of what runs"
        ),
    ]
    if machine.least > 0 and (state.stated or not machine.cycles):
        low = state.on * machine.least * machine.capacity - output
        excesses.append(
            unit.excess("least", word, low, scale, "below the least part load of what runs")
        )
    return Operated(state, declared, exact, (*excesses, *state.excesses))


def between(at: Floats, knots: Floats, table: Sequence[Floats]) -> Floats:
    """Return values straight between knots, each with values of its own by period."""
    left = np.clip(np.searchsorted(knots, at, side="right") - 1, 0, len(knots) - 2)
    rows = np.arange(len(at))
    values = np.stack(table)
    low, high = values[left, rows], values[left + 1, rows]
    return np.asarray(low + (high - low) * (at - knots[left]) / (knots[left + 1] - knots[left]))


def by_table(unit: Unit, full: Floats) -> Callable[[Floats], Floats] | None:
    """Return the input by a table of part load, None when there is none.

    ``full``: input at full load, by period. [kW]
    """
    ratios, powers = unit.table("part_load"), unit.table("part_load_power")
    if ratios is None and powers is None:
        return None
    if ratios is None or powers is None or len(ratios) != len(powers):
        raise EvaluationError(
            f"{unit.name}: part_load and part_load_power are no table; give one of each for each"
        )
    increasing(ratios, f"part_load of {unit.name}")
    return lambda ratio: np.asarray(full * np.interp(ratio, ratios, powers))
