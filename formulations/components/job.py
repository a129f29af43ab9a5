r"""A job that runs once as a whole: a power for some hours, begun within a window.

.. math:: \sum_t b_t = n, \qquad P_t = p \sum_{s:\,t - k < s \le t} b_s

with the beginnings :math:`b` and the number :math:`k` of periods that it takes; jobs that are begun
more than once do not overlap.
"""

import numpy as np

from engiagent.formulations.components.fragment import OPERATION, REQUIREMENT
from engiagent.formulations.components.reader import Reader


def declare(reader: Reader) -> None:
    """Add the algebra of a job."""
    hours = reader.hours()
    length = reader.number("duration") / hours[0]
    count = round(length)
    if not np.allclose(hours, hours[0]) or abs(length - count) > 1e-6 or count > len(hours):
        whole = f"whole periods of one length, {hours[0]:g} h, within the horizon"
        raise reader.wrong(f"its duration is {length * hours[0]:g} h", expected=whole)
    early = reader.number("earliest") if reader.given("earliest") else 0.0
    end = hours[0] * len(hours)
    late = reader.number("latest") if reader.given("latest") else end
    first = int(np.ceil(early / hours[0] - 1e-9))
    last = int(np.floor(late / hours[0] + 1e-9)) - count
    if last < first:
        raise reader.wrong(
            f"it does not fit between {early:g} h and {late:g} h",
            expected=f"a window of at least {length * hours[0]:g} h",
        )
    name, power = reader.name, reader.text("power")
    on = f"sum({name}_begin[s] for s in {reader.time} if pos(t) - {count} < pos(s) <= pos(t))"
    runs = reader.text("runs")
    total = f"sum({name}_begin[t] for t in {reader.time})"
    reader.variable("begin", "1 where it begins,", upper=1, kind="binary")
    reader.row(
        "window",
        f"{name}_begin[t] == 0",
        "its window",
        REQUIREMENT,
        where=f"pos(t) < {first} or pos(t) > {min(last, len(hours) - count)}",
        of="earliest latest",
    )
    reader.row("done", f"{total} == {runs}", "it is done", REQUIREMENT, index=(), of="runs")
    reader.expression("power", f"{power}*({on})", "power")
    if reader.given("runs"):
        reader.row("one_at_a_time", f"{on} <= 1", "one run at a time", OPERATION)
    reader.terminal(f"{name}_power[t]", power, supplies=False)
