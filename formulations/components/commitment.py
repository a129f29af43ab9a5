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
from typing import Literal

import numpy as np

from engiagent.formulations.components.fragment import OPERATION
from engiagent.formulations.components.reader import Reader

ROUNDING = 1e-9


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

    def times(self, factor: str, state: str | None = None) -> str:
        """Return a factor times the running units, or times another of their states."""
        state = self.on if state is None else state
        return f"{factor}*{state}" if state else self.all(factor)

    def all(self, factor: str) -> str:
        """Return a factor times all units."""
        return f"{factor}*{self.count}" if self.count else factor


def running(reader: Reader, because: tuple[str, ...], *, always: bool = False) -> Running:
    """Return how a unit switches; it does when one of some slots or of the above is filled.

    ``because``: the slots of the unit itself that make sense only for one that switches.
    ``always``: whether it switches whatever is filled.
    """
    own = {"minimum_up_hours", "minimum_down_hours", "start_cost", "initially_on", *because}
    count = reader.text("count") if reader.given("count") else ""
    switches = any(reader.component.parameters.get(slot, 0) != 0 for slot in own)
    if not switches and not always and reader.option("switching", False) is not True:
        return Running(reader, "", count)
    return Running(reader, f"{reader.name}_on[t]", count)


def _declare(reader: Reader, count: str) -> None:
    on, many = f"{reader.name}_on", count or "1"
    whole: Literal["integer", "continuous"] = "integer" if count else "continuous"
    before = reader.optional("initially_on") or "0"
    reader.variable(
        "on",
        "units that run" if count else "1 while it runs, state",
        upper=count or 1,
        kind="integer" if count else "binary",
        of="count",
    )
    reader.variable("start", "starts", upper=count or 1, kind=whole, role="auxiliary")
    reader.variable("stop", "stops", upper=count or 1, kind=whole, role="auxiliary")
    name = reader.name
    reader.row(
        "switch",
        f"{on}[t] - prev({on}[t], {before}) == {name}_start[t] - {name}_stop[t]",
        "states, starts and stops",
        OPERATION,
        of="initially_on",
    )
    reader.row("start_runs", f"{name}_start[t] <= {on}[t]", "what starts runs", OPERATION)
    reader.row("stop_stands", f"{name}_stop[t] <= {many} - {on}[t]", "what stops stands", OPERATION)
    if reader.given("start_cost"):
        text = f"{reader.text('start_cost')}*{name}_start[t]"
        reader.expression("start_cost", text, "cost of starts")
    _least(reader, "up", f"{name}_start", f"{on}[t]")
    _least(reader, "down", f"{name}_stop", f"{many} - {on}[t]")
    _begun(reader)


def _least(reader: Reader, way: str, events: str, state: str) -> None:
    """Add the rows of a least time: what began lately still lasts."""
    slot = f"minimum_{way}_hours"
    if not reader.given(slot):
        return
    least = reader.number(slot)
    hours = reader.hours()
    starts = np.concatenate(([0.0], np.cumsum(hours)))[:-1]
    first = np.searchsorted(starts, starts - least + ROUNDING, side="right")
    first = np.minimum(first, np.arange(len(starts)))
    lag = int((np.arange(len(first)) - first).max(initial=0))
    if lag == 0:
        return
    name = f"{way}_from"
    window = _lately(reader.text(slot), least / hours[0])
    if not np.all(hours == hours[0]):
        reader.derived(
            name, "1", first, f"first period whose events still bind, least time {way}", of=slot
        )
        window = f"{reader.name}_{name}[t] <= pos(s)"
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
    if bound == 0:
        return
    reader.row(
        "begun",
        f"{reader.name}_on[t] == {int(was)}",
        "a state that has to last",
        OPERATION,
        where=f"pos(t) < {bound}",
        of=(slot, "initial_hours"),
    )
