r"""A job that runs once as a whole: a power for some hours, begun within a window.

.. math:: \sum_t b_t = n, \qquad P_t = p \sum_{s:\,t - k < s \le t} b_s

with the beginnings :math:`b` and the number :math:`k` of periods that it takes; jobs that are begun
more than once do not overlap.
"""

import numpy as np

from engiagent.blueprint.document import ComponentDef
from engiagent.formulations.components.description import Model
from engiagent.formulations.components.fragment import Fragment, Reader, Slot, Surroundings, wrong
from engiagent.formulations.components.parts import (
    OPERATION,
    REQUIREMENT,
    expression,
    row,
    variable,
)
from engiagent.formulations.components.thermal_coupling import number, step_hours

SLOTS = {
    "power": Slot("kW", required=True, low=0, above=True, meaning="while it runs"),
    "duration": Slot("h", required=True, low=0, above=True, meaning="whole periods that it takes"),
    "earliest": Slot("h", low=0, default="0", meaning="first beginning, from the start"),
    "latest": Slot("h", low=0, default="the horizon's end", meaning="when it has to be done"),
    "runs": Slot("1", low=1, default="1", meaning="how often it is to be done"),
}
CONNECTIONS = ("bus",)


def fragment(component: ComponentDef, around: Surroundings) -> Fragment:
    """Return the algebra of a job."""
    reader = Reader(component, around, SLOTS, (), CONNECTIONS)
    hours = step_hours(reader)
    length = number(reader, reader.text("duration"), "h") / hours[0]
    count = round(length)
    if not np.allclose(hours, hours[0]) or abs(length - count) > 1e-6 or count > len(hours):
        whole = f"whole periods of one length, {hours[0]:g} h, within the horizon"
        raise wrong(component, f"its duration is {length * hours[0]:g} h", expected=whole)
    early = number(reader, reader.text("earliest"), "h") if reader.given("earliest") else 0.0
    end = hours[0] * len(hours)
    late = number(reader, reader.text("latest"), "h") if reader.given("latest") else end
    first = int(np.ceil(early / hours[0] - 1e-9))
    last = int(np.floor(late / hours[0] + 1e-9)) - count
    if last < first:
        raise wrong(
            component,
            f"it does not fit between {early:g} h and {late:g} h",
            expected=f"a window of at least {length * hours[0]:g} h",
        )
    name, power = reader.name, reader.text("power")
    on = f"sum({name}_begin[s] for s in {reader.time} if pos(t) - {count} < pos(s) <= pos(t))"
    runs = reader.optional("runs") or "1"
    total = f"sum({name}_begin[t] for t in {reader.time})"
    result = (
        variable(reader, "begin", "1", "1 where it begins,", upper=1, kind="binary")
        + row(
            reader,
            "window",
            f"{name}_begin[t] == 0",
            "its window",
            REQUIREMENT,
            where=f"pos(t) < {first} or pos(t) > {min(last, len(hours) - count)}",
            slots=("earliest", "latest"),
        )
        + row(
            reader,
            "done",
            f"{total} == {runs}",
            "it is done",
            REQUIREMENT,
            index=(),
            slots=("runs",),
        )
        + expression(reader, "power", "kW", f"{power}*({on})", "power")
    )
    if reader.given("runs"):
        result += row(reader, "one_at_a_time", f"{on} <= 1", "one run at a time", OPERATION)
    return result + Fragment(terminals=reader.terminal(f"{name}_power[t]", power, supplies=False))


MODEL = Model(
    fragment,
    SLOTS,
    (),
    CONNECTIONS,
    summary="job that runs as a whole within a window",
    quantities={"power": "kW", "begin": "1"},
    problem_class="MILP",
    leaves_out="pauses, and powers that change during the job",
)
