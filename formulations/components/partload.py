r"""Machines alike that switch, and what they take at part load.

Units that switch on and off: states, starts and stops, least times up and down.

.. math::
    u_t - u_{t-1} &= v_t - w_t, \qquad v_t \le u_t, \qquad w_t \le n - u_t, \\
    \sum_{s \in W^{up}_t} v_s &\le u_t, \qquad \sum_{s \in W^{down}_t} w_s \le n - u_t

with the number of running units :math:`u` of :math:`n` alike, those that start and stop
:math:`v, w`, and the periods :math:`W_t` that begin less than the least time before :math:`t`.
Units alike are counted and not named, so that no two plans differ in names only; the counts split
into single units by letting the one stop that has run the longest.

Machines that turn an input into an output by a part-load curve, one or several alike.

.. math::
    x_t = \frac{y_t}{Y_t}, \qquad p_t = P_t\, f(x_t)\,u_t, \qquad
    x_{\min} u_t \le x_t \le x_{\max} u_t

with the output :math:`y` of a machine, its capacity :math:`Y`, the input :math:`P` at full load and
a curve :math:`f` of the part-load ratio: straight through nothing unless a polynomial or a table is
given. A polynomial is kept as it is, or replaced by ``segments`` chords, which are off by no more
than :math:`\max|f''|\,h^2/8` of :math:`P` for chords of the width :math:`h`.

Of :math:`n` alike, those that run share the output evenly. Where the curve bends a binary
:math:`z_k` says that :math:`k` of them run,

.. math:: p = \sum_k k\,P\, f\!\left(\frac{y_k}{k Y}\right) z_k, \qquad y = \sum_k y_k, \qquad
    \sum_k z_k \le 1

so that machines that run are counted and never told apart.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np

from engiagent.blueprint.elements import SetDef
from engiagent.formulations.components.fragment import CAPACITY, OPERATION, PHYSICS
from engiagent.formulations.components.reader import Reader
from engiagent.formulations.components.tables import coefficients, tables

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
    if not switches and not always and not reader.flag("switching"):
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


MOST_ALIKE: Final = 20


@dataclass(frozen=True)
class Shape:
    """The input over that of full load."""

    at: Callable[[str, str], str]  # for a ratio and a state (1 while it runs), as expressions
    bends: bool = False  # whether it is no straight line
    top: str | None = None  # its largest value as an expression, None when that is not known
    idle: bool = False  # whether it takes something at no output, so that it has to switch
    proportional: bool = False  # whether the input is in proportion to the output


@dataclass(frozen=True)
class Machine:
    """What a kind of machine is called."""

    # output, input: its two series; the input is in kW
    output: str
    input: str
    # capacity, full_input: the output and the input at full load in period ``t``, as expressions
    capacity: str
    full_input: str
    words: str  # what the output is
    # capacity_slot, least_slot: the slots of its capacity and of the least part-load ratio
    capacity_slot: str = "rated_capacity"
    least_slot: str = "minimum_part_load"
    # output over input at full load, where the plan may choose the capacity
    performance: str | None = None


@dataclass(frozen=True)
class Built:
    """How a machine switches, and the largest input and output of all of its kind."""

    run: Running
    input_limit: str | None
    output_limit: str


def machine(reader: Reader, kind: Machine, shape: Shape, standing: str = "") -> Built:
    """Add the algebra of a machine; ``standing`` is an input [kW] of each that never stops."""
    run = running(reader, (kind.least_slot,), always=shape.idle)
    standing = run.all(standing) if standing else ""
    name, most = f"{reader.name}_{kind.output}", reader.optional("maximum_part_load")
    largest = kind.capacity if most is None else f"{most}*{kind.capacity}"
    limit, slots = run.all(largest), (kind.capacity_slot, "maximum_part_load")
    reader.variable(kind.output, kind.words, upper=limit, of=slots)
    run.declare()
    if run.on:
        run.at_most(kind.output, largest, kind.capacity_slot, "output of what runs")
        if reader.given(kind.least_slot):
            least = f"{reader.text(kind.least_slot)}*{kind.capacity}"
            run.at_least(kind.output, least, kind.least_slot, "least output of what runs")
    if run.count and shape.bends:
        total = _alike(reader, kind, run, shape, largest)
    elif shape.proportional and kind.performance and reader.around.decisions_in(kind.capacity):
        total = f"{name}[t]/{kind.performance}"  # no ratio of it to a capacity that may be 0
    else:
        # Straight curves add up: the ratio is then that of all together, over one capacity.
        total = f"{kind.full_input}*({shape.at(f'{name}[t]/({kind.capacity})', run.on or '1')})"
    text = f"{total} + {standing}" if standing else total
    reader.expression(kind.input, text, kind.input.replace("_", " "))
    input_limit = None if shape.top is None else run.all(f"{kind.full_input}*{shape.top}")
    if input_limit is not None and standing:
        input_limit = f"{input_limit} + {standing}"
    return Built(run, input_limit, limit)


def _alike(reader: Reader, kind: Machine, run: Running, shape: Shape, largest: str) -> str:
    """Return machines alike of a curve that bends, by how many of them run."""
    name, output = reader.name, f"{reader.name}_{kind.output}"
    count = reader.evaluated(run.count, "1")
    if count != int(count) or count > MOST_ALIKE:
        most = f"a whole number up to {MOST_ALIKE} for a curve that bends"
        raise reader.wrong(f"count is {count:g}", expected=most)
    if not run.on:
        raise reader.wrong(
            "machines alike of a curve that bends have to switch",
            expected="the option switching: true, or a minimum_part_load",
        )
    over, of_one = f"{name}_numbers", f"{kind.output}_of"
    index = (f"k in {over}", *reader.periods)
    chosen, given = f"{name}_this_many[k, t]", f"{name}_{of_one}[k, t]"
    words = "1 when k of {} run"
    reader.variable("this_many", words, upper=1, kind="binary", of="count", index=index)
    reader.variable(of_one, "output of k", upper=f"k*{largest}", of="count", index=index)
    reader.row("number", f"{run.on} == sum(k*{chosen} for k in {over})", "how many run", OPERATION)
    reader.row("one_number", f"sum({chosen} for k in {over}) <= 1", "one number", OPERATION)
    reader.row("shares", f"{output}[t] == sum({given} for k in {over})", "shares", PHYSICS)
    most = f"{given} <= k*{largest}*{chosen}"
    reader.row("share_max", most, "output of the number", CAPACITY, index=index)
    if reader.given(kind.least_slot):
        least = f"{given} >= k*{reader.text(kind.least_slot)}*{kind.capacity}*{chosen}"
        reader.row("share_min", least, "least output of the number", OPERATION, index=index)
    each = shape.at(f"{given}/(k*({kind.capacity}))", chosen)
    reader.added.append(SetDef(name=over, kind="range", start=1, stop=int(count)))
    return f"{kind.full_input}*sum(k*({each}) for k in {over})"


def limited(reader: Reader, times: Callable[[str], str]) -> None:
    """Add the row that limits the electric power, ``times`` for those that count; or nothing."""
    most, slot = reader.optional("electric_power_max"), "electric_power_max"
    if most is not None:
        text = f"{reader.name}_electric_power[t] <= {times(most)}"
        reader.row(slot, text, "electric power", CAPACITY, of=slot)


# -- shapes ---------------------------------------------------------------------------------------


def shaped(reader: Reader, slot: str, curve: Callable[[], Shape | None]) -> Shape:
    """Return the input by a table, by the curve in a slot, or straight when neither is given."""
    table = by_table(reader)
    if table and reader.given(slot):
        raise reader.wrong("part load is given by a table and by a curve; give one")
    straight = Shape(lambda ratio, on: ratio, top=_most_load(reader), proportional=True)
    return table or (curve() if reader.given(slot) else None) or straight


def by_table(reader: Reader) -> Shape | None:
    """Return the input by a table of ``part_load_power``, None when there is none."""
    slots = ("part_load", "part_load_power")
    if not any(reader.given(slot) for slot in slots):
        return None
    found = tables(reader, "part_load", slots)
    xs, ys = found.names
    at = _interpolated(xs, ys, found.first(0), found.first(1))
    idle = [reader.values(slot)[:1] for slot in slots] != [(0.0,), (0.0,)]
    return Shape(at, True, f"({found.greatest(1)})", idle)


def by_polynomial(reader: Reader, slot: str, least: str = "minimum_part_load") -> Shape | None:
    """Return the input by the coefficients of a slot, None when it is empty."""
    if not reader.given(slot):
        return None
    terms = coefficients(reader, slot, 2, 6)
    idle = terms[0] not in ("(0)", "(0.0)")
    if len(terms) > 2 and reader.option("segments") is not None:
        return chords(reader, lambda x: polynomial(terms, x), (slot,), least=least, idle=idle)
    bounded = not any("-" in c for c in terms)
    top = f"({polynomial(terms, _most_load(reader))})" if bounded else None
    return Shape(lambda ratio, on: polynomial(terms, ratio, on), len(terms) > 2, top, idle)


def by_performance(
    reader: Reader, factor: Callable[[str], str], slots: tuple[str, ...], *, by_period: bool
) -> Shape:
    """Return the input of a machine whose performance has a factor by part load.

    The input is the ratio over the factor, a quotient of variables unless ``segments`` replaces it.
    """

    def value(ratio: str) -> str:
        return f"{ratio}/({factor(ratio)})"

    if reader.option("segments") is not None:
        return chords(reader, value, slots, by_period=by_period)
    return Shape(lambda ratio, on: value(f"({ratio})"), bends=True)


def polynomial(terms: tuple[str, ...], ratio: str, on: str = "1") -> str:
    """Return a polynomial of a ratio, whose constant counts only in the state ``on``."""
    power = [f"{terms[0]}*{on}", f"{terms[1]}*({ratio})"]
    power += [f"{c}*({ratio})**{k}" for k, c in enumerate(terms[2:], start=2)]
    return " + ".join(power)


def chords(
    reader: Reader,
    value: Callable[[str], str],
    slots: tuple[str, ...],
    *,
    by_period: bool = False,
    least: str = "minimum_part_load",
    idle: bool = False,
) -> Shape:
    """Return a curve by as many chords as the option ``segments`` says.

    They reach from the ratio of the slot ``least`` to the largest one. ``by_period`` says that the
    curve depends on ``t``, ``idle`` that it takes something at no output.
    """
    segments, over = reader.segments(), f"{reader.name}_part_load_points"
    xs, ys = f"{reader.name}_part_load_ratio", f"{reader.name}_part_load_input"
    low, most = reader.optional(least) or "0", _most_load(reader)
    if reader.given(least) and reader.number(least) == reader.evaluated(most, "1"):  # on or off
        return Shape(lambda _, on: f"({value(most)})*{on}", top=f"({value(most)})", idle=idle)
    index: tuple[str, ...] = (f"k in {over}",)
    reader.added.append(SetDef(name=over, kind="range", start=0, stop=segments))
    ratio, words = f"{low} + ({most} - {low})*k/{segments}", "ratios of the chords"
    reader.derived("part_load_ratio", "1", ratio, words, index=index, of=slots)
    here, table = ("t, ", f"{ys}[t]") if by_period else ("", ys)
    index = (*reader.periods, *index) if by_period else index
    curve, words = value(f"{xs}[k]"), "curve at these ratios"
    reader.derived("part_load_input", "1", curve, words, index=index, of=slots)
    at = _interpolated(xs, table, f"{xs}[first({over})]", f"{ys}[{here}first({over})]")
    return Shape(at, True, f"(max({ys}[{here}k] for k in {over}))", idle)


def _interpolated(xs: str, ys: str, first: str, least: str) -> Callable[[str, str], str]:
    """Return a table that is 0 where the machine stands.

    The ratio 0 of a standing machine is moved to the first entry, whose value is taken off again.
    """

    def at(ratio: str, on: str) -> str:
        if on == "1":
            return f"piecewise({ratio}, {xs}, {ys})"
        return f"piecewise({ratio} + {first}*(1 - {on}), {xs}, {ys}) - {least}*(1 - {on})"

    return at


def _most_load(reader: Reader) -> str:
    """Return the largest ratio, 1 for a machine that has no slot for it."""
    return reader.optional("maximum_part_load") or "1"
