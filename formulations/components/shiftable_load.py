r"""A demand that may be served earlier or later, as a store of work done ahead.

.. math::
    P_t = D_t + u_t - d_t, \qquad S_{t+1} = S_t + (u_t - d_t) \Delta t, \qquad
    -S^- \le S \le S^+, \quad S_0 = S_N = 0

so that all of it is served within the horizon. With ``shift_hours`` what is moved is made up for
within that time: :math:`S^\pm` then cannot stay away from zero longer.
"""

import numpy as np

from engiagent.formulations.components.fragment import REQUIREMENT
from engiagent.formulations.components.reader import Reader


def declare(reader: Reader) -> None:
    """Add the algebra of a load that may be shifted."""
    name, demand = reader.name, reader.text("power")
    up, down = reader.text("shift_up_max"), reader.text("shift_down_max")
    low = reader.optional("delayed_energy_max")
    shifted = f"{name}_shifted_energy"
    net = f"({name}_shift_up[t] - {name}_shift_down[t])"
    reader.variable("shift_up", "rise", upper=up, of="shift_up_max")
    reader.variable("shift_down", "fall", upper=f"min({down}, {demand})", of="shift_down_max")
    reader.variable(
        "shifted_energy",
        "energy ahead of its time",
        lower=f"-{low}" if low else None,
        upper=reader.optional("ahead_energy_max"),
        of="ahead_energy_max delayed_energy_max",
    )
    reader.expression("power", f"{demand} + {net}", "demand that is served")
    reader.row("dynamics", f"{shifted}[t+1] == {shifted}[t] + {net}*dt(t)", "energy balance")
    reader.row("initial", f"{shifted}[first({reader.instants})] == 0", "start", index=())
    reader.row(
        "all_served",
        f"{shifted}[last({reader.instants})] == 0",
        "all is served",
        REQUIREMENT,
        index=(),
    )
    _recovery(reader)
    most = f"{demand} + {up}"
    reader.terminal(f"{name}_power[t]", most, supplies=False)


def _recovery(reader: Reader) -> None:
    """Add the rows by which a fall is made up for by rises within the hours around it."""
    if not reader.given("shift_hours"):
        return
    within = reader.number("shift_hours")
    ends = np.cumsum(reader.hours())
    starts = np.concatenate(([0.0], ends[:-1]))
    # A delay: all falls up to a time are made up for by rises that end within the hours after it.
    last = np.searchsorted(ends, ends + within + 1e-9, side="right") - 1
    first = np.searchsorted(starts, starts - within - 1e-9, side="left")
    name, time = reader.name, reader.time
    rises, falls = f"{name}_shift_up[s]*dt(s)", f"{name}_shift_down[s]*dt(s)"
    until = f"sum({rises} for s in {time} if pos(s) <= {name}_until[t])"
    since = f"sum({rises} for s in {time} if pos(s) >= {name}_since[t])"
    reader.derived("until", "1", last, "last period in time", of="shift_hours")
    reader.derived("since", "1", first, "first period in time", of="shift_hours")
    reader.row(
        "caught_up",
        f"{until} >= sum({falls} for s in {time} if pos(s) <= pos(t))",
        "falls are made up for in time",
        REQUIREMENT,
    )
    reader.row(
        "not_early",
        f"{since} >= sum({falls} for s in {time} if pos(s) >= pos(t))",
        "rises come in time before falls",
        REQUIREMENT,
    )
