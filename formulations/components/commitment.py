r"""Units that switch on and off: states, starts and stops, least times up and down.

.. math::
    u_t - u_{t-1} &= v_t - w_t, \qquad v_t \le u_t, \qquad w_t \le n - u_t, \\
    \sum_{s \in W^{up}_t} v_s &\le u_t, \qquad \sum_{s \in W^{down}_t} w_s \le n - u_t

with the number of running units :math:`u` of :math:`n` alike, those that start and stop
:math:`v, w`, and the periods :math:`W_t` that begin less than the least time before :math:`t`.
Units alike are counted and not named, so that no two plans differ in names only; the counts split
into single units by letting the one stop that has run the longest.
"""

from dataclasses import dataclass
from typing import Final, Literal

import numpy as np

from engiagent.formulations.components.fragment import CAPACITY, OPERATION
from engiagent.formulations.components.reader import Reader

ROUNDING = 1e-9
STATES: Final = ("minimum_up_hours", "minimum_down_hours", "start_cost", "initially_on")
"""The slots that make sense only for a unit that switches, whatever it is."""


@dataclass(frozen=True)
class Running:
    """How a unit switches."""

    reader: Reader  # of the unit
    on: str  # how many run in period ``t``, as a factor; ``""`` when it always runs
    count: str  # how many there are, as a factor; ``""`` for one

    def declare(self) -> None:
        """Add the states and their rows; nothing when it always runs."""
        if self.on:
            _declare(self.reader, self.count)

    @property
    def starts(self) -> str:
        """How many start in period ``t``."""
        return self.on.replace("_on[t]", "_start[t]")

    @property
    def stops(self) -> str:
        """How many stop in period ``t``."""
        return self.on.replace("_on[t]", "_stop[t]")

    def times(self, factor: str) -> str:
        """Return a factor times the running units."""
        return f"{factor}*{self.on}" if self.on else self.all(factor)

    def all(self, factor: str) -> str:
        """Return a factor times all units."""
        return f"{factor}*{self.count}" if self.count else factor

    def at_most(self, series: str, limit: str, of: str, words: str, suffix: str = "") -> None:
        """Add the row by which a series is at most a limit of each that runs."""
        text = f"{self.reader.name}_{series}[t] <= {self.times(limit)}"
        self.reader.row(suffix or f"{series}_max", text, words, CAPACITY, of=of)

    def at_least(self, series: str, limit: str, of: str, words: str) -> None:
        """Add the row by which a series is at least a limit of each that runs."""
        text = f"{self.reader.name}_{series}[t] >= {self.times(limit)}"
        self.reader.row(f"{series}_min", text, words, OPERATION, of=of)


def running(reader: Reader, because: tuple[str, ...], *, always: bool = False) -> Running:
    """Return how a unit switches; it does when one of some slots or of the above is filled.

    ``because``: the slots of the unit itself that make sense only for one that switches.
    ``always``: whether it switches whatever is filled.
    """
    count = reader.text("count") if reader.given("count") else ""
    switches = any(reader.component.parameters.get(slot, 0) != 0 for slot in (*STATES, *because))
    if not switches and not always and reader.option("switching", False) is not True:
        return Running(reader, "", count)
    return Running(reader, f"{reader.name}_on[t]", count)


def _declare(reader: Reader, count: str) -> None:
    name, on, many = reader.name, f"{reader.name}_on", count or "1"
    start, stop = f"{name}_start[t]", f"{name}_stop[t]"
    whole: Literal["integer", "continuous"] = "integer" if count else "continuous"
    words = "units that run" if count else "1 while it runs, state"
    kind: Literal["integer", "binary"] = "integer" if count else "binary"
    reader.variable("on", words, upper=count or 1, kind=kind, of="count")
    for series, words in (("start", "starts"), ("stop", "stops")):
        reader.variable(series, words, upper=count or 1, kind=whole, role="auxiliary")
    before = reader.optional("initially_on") or "0"
    change = f"{on}[t] - prev({on}[t], {before}) == {start} - {stop}"
    reader.row("switch", change, "states, starts and stops", OPERATION, of="initially_on")
    reader.row("start_runs", f"{start} <= {on}[t]", "what starts runs", OPERATION)
    reader.row("stop_stands", f"{stop} <= {many} - {on}[t]", "what stops stands", OPERATION)
    if reader.given("start_cost"):
        text = f"{reader.text('start_cost')}*{start}"
        reader.expression("start_cost", text, "cost of starts")
    _least(reader, "up", f"{name}_start", f"{on}[t]")
    _least(reader, "down", f"{name}_stop", f"{many} - {on}[t]")
    _begun(reader)


def _least(reader: Reader, way: str, events: str, state: str) -> None:
    """Add the rows of a least time: what began lately still lasts."""
    slot = f"minimum_{way}_hours"
    if not reader.given(slot):
        return
    least, hours = reader.number(slot), reader.hours()
    starts = np.concatenate(([0.0], np.cumsum(hours)))[:-1]
    first = np.searchsorted(starts, starts - least + ROUNDING, side="right")
    first = np.minimum(first, np.arange(len(starts)))
    if (first == np.arange(len(first))).all():
        return
    if np.all(hours == hours[0]):
        window = _lately(reader.text(slot), least / hours[0])
    else:
        words = f"first period whose events still bind, least time {way}"
        window = f"{reader.derived(f'{way}_from', '1', first, words, of=slot)} <= pos(s)"
    text = f"sum({events}[s] for s in {reader.time} if {window} and pos(s) <= pos(t)) <= {state}"
    reader.row(f"minimum_{way}", text, f"least time {way}", OPERATION, of=slot)


def _lately(least: str, periods: float) -> str:
    """Return the condition that period ``s`` began less than the least time before period ``t``.

    It names the least time, so that the row has no number of its own. Where that is a whole number
    of periods, both sides are doubled and meet half a period away, out of reach of rounding.
    """
    if abs(periods - round(periods)) < ROUNDING:
        return f"(pos(t) - pos(s) + pos(t) - pos(s) + 1)*dt(s) < {least} + {least}"
    return f"(pos(t) - pos(s))*dt(s) < {least}"


def _begun(reader: Reader) -> None:
    """Add the rows of a state that began before the horizon and has to last into it."""
    if not reader.given("initial_hours"):
        return
    if reader.given("count") and reader.number("count") != 1:
        raise reader.wrong("initial_hours is for a single unit", expected="no count, or 1")
    was = reader.evaluated(reader.text("initially_on"), "1") > 0
    slot = f"minimum_{'up' if was else 'down'}_hours"
    if not reader.given(slot):
        return
    left = reader.number(slot) - reader.number("initial_hours")
    starts = np.concatenate(([0.0], np.cumsum(reader.hours())))[:-1]
    bound = int((starts < left - ROUNDING).sum())
    if bound:
        text, where = f"{reader.name}_on[t] == {int(was)}", f"pos(t) < {bound}"
        words, of = "a state that has to last", (slot, "initial_hours")
        reader.row("begun", text, words, OPERATION, where=where, of=of)
