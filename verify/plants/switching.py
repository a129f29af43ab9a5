"""Machines alike: how many run, starts and stops, and what part load takes."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from engiagent.models.engines import Genset, GensetState
from engiagent.models.ranges import increasing
from engiagent.verify.frames import EvaluationError
from engiagent.verify.plants.run import Excess, Result
from engiagent.verify.plants.unit import Unit
from engiagent.verify.tolerances import TOLERANCES
from engiagent.verify.values import Floats

SWITCHING: Final = (
    "initially_on",
    "initial_hours",
    "minimum_up_hours",
    "minimum_down_hours",
    "start_cost",
    "start_fuel",
    "minimum_load",
)
ONLY_WITH: Final = dict.fromkeys(("on", "start", "stop"), SWITCHING)
"""By which slots a unit is one that switches; others may cycle within a period."""


@dataclass(frozen=True)
class Switched:
    """How units alike run."""

    on: Floats  # how many run in each period
    count: float  # how many there are
    # was, lasted: how many ran before the horizon, and for how long. [h]
    was: float
    lasted: float
    stated: bool  # whether it switches: what runs then does so for whole periods
    results: tuple[Result, ...]
    excesses: tuple[Excess, ...]
    swapped: Floats | float = 0.0  # how many end in each period for as many that begin

    @property
    def starts(self) -> Floats:
        """How many begin to run in each period."""
        return np.maximum(np.diff(self.on, prepend=self.was), 0.0) + self.swapped

    @property
    def stops(self) -> Floats:
        """How many end in each period."""
        return np.maximum(-np.diff(self.on, prepend=self.was), 0.0) + self.swapped

    def each(self, total: Floats) -> Floats:
        """Return what one running unit has of a total; 0 where none runs."""
        return np.where(self.on > 0, total / np.where(self.on > 0, self.on, 1.0), 0.0)


def switched(unit: Unit, used: Floats, floor: float) -> Switched:
    """Return how a unit runs.

    ``used``: what it gives, by which it runs where the plan does not say so. ``floor``: up to which
    that is nothing.
    """
    counted = unit.single("count")
    count = 1.0 if counted is None else counted
    claimed = unit.claimed("on")
    excesses = []
    if claimed is None:
        if count > 1:
            raise EvaluationError(f"the plan does not say how many of {unit.name} run")
        on = np.where(used > floor, 1.0, 0.0)
    else:
        on = np.clip(np.round(claimed), 0.0, count)
        words, allowed = f"not a whole number from 0 to {count:g},", TOLERANCES["integrality"]
        excesses.append(unit.excess("whole", "on", np.abs(claimed - on), 1.0, words, allowed))
    was = unit.single("initially_on") or 0.0
    lasted = unit.single("initial_hours")
    stated = claimed is not None or unit.given(*SWITCHING)
    state = Switched(on, count, was, np.inf if lasted is None else lasted, stated, (), ())
    begun = unit.claimed("start")
    if count > 1 and begun is not None:  # one of those alike may give way to another
        able = np.minimum(on - state.starts, count - on - state.stops)
        state = replace(state, swapped=np.clip(np.round(begun - state.starts), 0.0, able))
    short = _too_short(unit, state)
    results = (
        unit.result("on", on, "what the unit gives"),
        unit.result("start", state.starts, "its states"),
        unit.result("stop", state.stops, "its states"),
    )
    return replace(state, results=results if stated else (), excesses=(*excesses, *short))


def _too_short(unit: Unit, state: Switched) -> tuple[Excess, ...]:
    up, down = (unit.single(f"minimum_{way}_hours") or 0.0 for way in ("up", "down"))
    if up == 0.0 and down == 0.0:
        return ()
    hours = unit.hours
    if state.count == 1:
        clock = Genset(
            rated_power=1.0, fuel_slope=1.0, minimum_up_hours=up, minimum_down_hours=down
        )
        begun = GensetState(running=state.was > 0, hours=state.lasted)
        short = clock.excess(0.0 * state.on, state.on, hours, begun).too_short
        name, words = f"times of {unit.name}", "it runs or stands for too short a time, short"
        return (unit.fault("times", name, short, "h", 1.0, words),)
    edges = np.concatenate(([0.0], np.cumsum(hours)))[:-1]
    found = []
    for way, least, changes, room in (
        ("up", up, state.starts, state.on),
        ("down", down, state.stops, state.count - state.on),
    ):
        total = np.concatenate(([0.0], np.cumsum(changes)))
        # Events whose least time has not gone by when period t begins: those after t - least.
        first = np.searchsorted(edges, edges - least + 1e-9 * max(least, 1.0), side="right")
        recent = total[1:] - total[first]
        name, words = f"least time {way} of {unit.name}", "fewer units than have to, short"
        found.append(unit.fault("times", name, recent - room, "1", 1.0, words, part=f".{way}"))
    return tuple(found)


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
    if chords is not None and machine.least < machine.most:
        knots = np.linspace(machine.least, machine.most, int(chords) + 1)
        table = [machine.input_at(np.full(held.shape, knot)) for knot in knots]
        own = between(held, knots, table)
        declared = state.on * own + state.count * machine.standing
    held_low = machine.least > 0 and (state.stated or not machine.cycles)
    low = machine.least * machine.capacity if held_low else None
    ends = low, machine.most * machine.capacity
    limits = running_limits(unit, state, word, output, scale, ends)
    return Operated(state, declared, exact, (*limits, *state.excesses))


def running_limits(
    unit: Unit,
    state: Switched,
    word: str,
    given: Floats,
    scale: float,
    ends: tuple[Floats | float | None, Floats | float],
) -> Iterator[Excess]:
    """Yield how far a series leaves the ends of one running machine, times their number."""
    least, most = ends
    yield unit.sign(word, given, scale)
    over = given - state.on * most
    yield unit.excess("capacity", word, over, scale, "above the capacity of what runs")
    if least is not None:
        below = state.on * least - np.maximum(given, 0.0)
        yield unit.excess("least", word, below, scale, "below the least load of what runs")


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
