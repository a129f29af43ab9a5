r"""A demand that may be served earlier or later, as a store of work done ahead.

.. math::
    P_t = D_t + u_t - d_t, \qquad S_{t+1} = S_t + (u_t - d_t) \Delta t, \qquad
    -S^- \le S \le S^+, \quad S_0 = S_N = 0

so that all of it is served within the horizon. With ``shift_hours`` what is moved is made up for
within that time: :math:`S^\pm` then cannot stay away from zero longer.
"""

import numpy as np

from engiagent.blueprint.document import ComponentDef
from engiagent.formulations.components.description import Model
from engiagent.formulations.components.fragment import Fragment, Reader, Slot, Surroundings
from engiagent.formulations.components.parts import REQUIREMENT, derived, expression, row, variable
from engiagent.formulations.components.thermal_coupling import number, step_hours

SLOTS = {
    "power": Slot("kW", required=True, series=True, low=0, meaning="the demand as it would be"),
    "shift_up_max": Slot("kW", required=True, series=True, low=0, meaning="largest rise"),
    "shift_down_max": Slot("kW", required=True, series=True, low=0, meaning="largest fall"),
    "ahead_energy_max": Slot("kWh", low=0, default="no limit", meaning="done ahead of its time"),
    "delayed_energy_max": Slot("kWh", low=0, default="no limit", meaning="done after its time"),
    "shift_hours": Slot(
        "h", low=0, above=True, default="the horizon", meaning="within which a fall is made up for"
    ),
}
CONNECTIONS = ("bus",)


def fragment(component: ComponentDef, around: Surroundings) -> Fragment:
    """Return the algebra of a load that may be shifted."""
    reader = Reader(component, around, SLOTS, (), CONNECTIONS)
    name, demand = reader.name, reader.text("power")
    up, down = reader.text("shift_up_max"), reader.text("shift_down_max")
    low = reader.optional("delayed_energy_max")
    shifted = f"{name}_shifted_energy"
    net = f"({name}_shift_up[t] - {name}_shift_down[t])"
    result = (
        variable(reader, "shift_up", "kW", "rise", upper=up, slots=("shift_up_max",))
        + variable(
            reader,
            "shift_down",
            "kW",
            "fall",
            upper=f"min({down}, {demand})",
            slots=("shift_down_max",),
        )
        + variable(
            reader,
            "shifted_energy",
            "kWh",
            "energy ahead of its time",
            lower=f"-{low}" if low else None,
            upper=reader.optional("ahead_energy_max"),
            role="state",
            instants=True,
            slots=("ahead_energy_max", "delayed_energy_max"),
        )
        + expression(reader, "power", "kW", f"{demand} + {net}", "demand that is served")
        + row(reader, "dynamics", f"{shifted}[t+1] == {shifted}[t] + {net}*dt(t)", "energy balance")
        + row(reader, "initial", f"{shifted}[first({reader.instants})] == 0", "start", index=())
        + row(
            reader,
            "all_served",
            f"{shifted}[last({reader.instants})] == 0",
            "all is served",
            REQUIREMENT,
            index=(),
        )
        + _recovery(reader)
    )
    most = f"{demand} + {up}"
    return result + Fragment(terminals=reader.terminal(f"{name}_power[t]", most, supplies=False))


def _recovery(reader: Reader) -> Fragment:
    """Return the rows by which a fall is made up for by rises within the hours around it."""
    if not reader.given("shift_hours"):
        return Fragment()
    within = number(reader, reader.text("shift_hours"), "h")
    ends = np.cumsum(step_hours(reader))
    starts = np.concatenate(([0.0], ends[:-1]))
    # A delay: all falls up to a time are made up for by rises that end within the hours after it.
    last = np.searchsorted(ends, ends + within + 1e-9, side="right") - 1
    first = np.searchsorted(starts, starts - within - 1e-9, side="left")
    name, time = reader.name, reader.time
    rises, falls = f"{name}_shift_up[s]*dt(s)", f"{name}_shift_down[s]*dt(s)"
    until = f"sum({rises} for s in {time} if pos(s) <= {name}_until[t])"
    since = f"sum({rises} for s in {time} if pos(s) >= {name}_since[t])"
    return (
        derived(
            reader,
            "until",
            "1",
            tuple(map(float, last)),
            "last period in time",
            index=(time,),
            slots=("shift_hours",),
        )
        + derived(
            reader,
            "since",
            "1",
            tuple(map(float, first)),
            "first period in time",
            index=(time,),
            slots=("shift_hours",),
        )
        + row(
            reader,
            "caught_up",
            f"{until} >= sum({falls} for s in {time} if pos(s) <= pos(t))",
            "falls are made up for in time",
            REQUIREMENT,
        )
        + row(
            reader,
            "not_early",
            f"{since} >= sum({falls} for s in {time} if pos(s) >= pos(t))",
            "rises come in time before falls",
            REQUIREMENT,
        )
    )


MODEL = Model(
    fragment,
    SLOTS,
    (),
    CONNECTIONS,
    summary="demand that may be served earlier or later",
    quantities={"power": "kW", "shift_up": "kW", "shift_down": "kW", "shifted_energy": "kWh"},
    leaves_out="losses of shifting; processes that run as a whole (see `job`)",
)
