r"""An electric vehicle that is plugged in during sessions, charged and, if it can, discharged.

.. math::
    E_{t+1} = E_t + \Delta t\,(\eta_c P^c_t - P^d_t/\eta_d), \qquad
    0 \le P^c_t \le a_t P^{c,\max}, \quad 0 \le P^d_t \le a_t P^{d,\max}, \qquad
    E_{\text{departure}} \ge E_r

where :math:`a` is the part of the period in which it is plugged in. A session begins with the
energy on arrival; between sessions the content stays as it was on departure. A session that lasts
beyond the horizon must still be able to reach its energy at full power. With the option ``soft``
the energy may fall short by the quantity ``shortfall``, whose price belongs into the objective.
"""

import numpy as np

from engiagent.formulations.components.fragment import REQUIREMENT
from engiagent.formulations.components.reader import Reader
from engiagent.models.ev import EvFleet, Sessions
from engiagent.models.ranges import ParameterError

SESSION = ("arrival", "departure", "arrival_energy", "required_energy")


def declare(reader: Reader) -> None:
    """Add the algebra of a vehicle."""
    name = reader.name
    plugged = f"{name}_plugged_in[t]"
    most = {"charge": f"{reader.text('charge_power_max')}*{plugged}"}
    if reader.given("discharge_power_max"):
        most["discharge"] = f"{reader.text('discharge_power_max')}*{plugged}"
    _sessions(reader)
    for way, limit in most.items():
        reader.variable(way, f"power at the plug, {way}", upper=limit, of=f"{way}_power_max")
        reader.terminal(f"{name}_{way}[t]", limit, supplies=way == "discharge")
    over = reader.exclusive_set()
    if over is not None and "discharge" in most:
        reader.exclusive(over, "charging", *most.items())
    _energy(reader, "discharge" in most)


def _energy(reader: Reader, both: bool) -> None:
    """Add content, its step and what has to be there on departure."""
    name, energy = reader.name, f"{reader.name}_state_of_charge"
    into, out = reader.optional("charge_efficiency"), reader.optional("discharge_efficiency")
    net = f"{into}*{name}_charge[t]" if into else f"{name}_charge[t]"
    if both:
        net += f" - {name}_discharge[t]" + (f"/{out}" if out else "")
    before = f"({name}_arrived[t] if {name}_arrives[t] > 0 else {energy}[t])"
    comes = f"{name}_comes[t] > 0"
    soft = reader.option("soft", False) is True
    lack = f" - {name}_shortfall[t]" if soft else ""
    wanted = f"{name}_wanted[t]"
    reader.variable(
        "state_of_charge", "content", upper=reader.text("energy_capacity"), of="energy_capacity"
    )
    reader.expression(
        "content_after", f"{before} + dt(t)*({net})", "content at the end of a period"
    )
    reader.row(
        "initial",
        f"{energy}[first({reader.instants})] == {name}_first",
        "content at the start",
        index=(),
        of="arrival_energy",
    )
    reader.row(
        "dynamics",
        f"{energy}[t+1] == ({name}_next[t] if {comes} else {name}_content_after[t])",
        "energy balance",
        of="charge_efficiency discharge_efficiency",
    )
    reader.row(
        "content",
        f"{name}_floor[t] <= {name}_content_after[t] <= {reader.text('energy_capacity')}",
        "limits of the content",
        of="minimum_energy energy_capacity",
    )
    reader.row(
        "departure",
        f"{name}_content_after[t] >= {wanted}{lack}",
        "energy on departure",
        REQUIREMENT,
        where=f"{wanted} > 0",
        of="required_energy",
    )
    if soft:
        reader.variable(
            "shortfall", "energy that lacks on departure", upper=wanted, of="required_energy"
        )


def _sessions(reader: Reader) -> None:
    """Add the sessions as parameters of the periods."""
    hours = reader.hours()
    if not np.allclose(hours, hours[0], rtol=1e-9):
        raise reader.wrong("its sessions need periods of one length")
    step, count = float(hours[0]), len(hours)
    fleet, sessions = _fleet(reader)
    try:
        owner, begin, end = fleet.periods_of(sessions, count, step)
        plugged = sessions.availability(count, 1, step)[:, 0]
    except ParameterError as error:
        raise reader.wrong(f"its sessions do not fit: {error}") from None
    owner = owner[:, 0]
    here = np.flatnonzero((begin < count) & (end > 0))
    arrived, departure = np.asarray(sessions.arrival_energy), np.asarray(sessions.departure)
    series = {
        key: np.zeros(count) for key in ("arrives", "arrived", "comes", "next", "wanted", "floor")
    }
    least = float(np.asarray(fleet.minimum_energy))
    gain = float(np.asarray(fleet.charge_power_max) * np.asarray(fleet.charge_efficiency))
    for session in here:
        first, final = max(int(begin[session]), 0), min(int(end[session]), count) - 1
        series["arrives"][first], series["arrived"][first] = 1, arrived[session]
        if first > 0:
            series["comes"][first - 1], series["next"][first - 1] = 1, arrived[session]
        later = max(float(departure[session]) - count * step, 0.0)
        required = float(np.asarray(sessions.required_energy)[session]) - gain * later
        series["wanted"][final] = max(required, 0.0)
        series["floor"][owner == session] = min(least, arrived[session])
    order = here[np.argsort(begin[here])]
    start = float(arrived[order[0]]) if len(order) and begin[order[0]] <= 0 else 0.0
    units = {"arrives": "1", "comes": "1"}
    reader.derived(
        "plugged_in",
        "1",
        plugged,
        "part of a period in which it is plugged in",
        of="arrival departure",
    )
    reader.derived("first", "kWh", start, "content at the start", index=(), of="arrival_energy")
    for key, values in series.items():
        reader.derived(key, units.get(key, "kWh"), values, f"{key}, by the sessions", of=SESSION)


def _fleet(reader: Reader) -> tuple[EvFleet, Sessions]:
    columns = {slot: np.array(reader.values(slot)) for slot in SESSION if reader.given(slot)}
    for slot, values in columns.items():
        if not len(values):
            given = str(reader.component.parameters[slot])
            wanted = "numbers in brackets, as (7, 31), or a parameter"
            raise reader.wrong(f"{slot} is no table", given, wanted)
    counts = {slot: len(values) for slot, values in columns.items()}
    if len(set(counts.values())) > 1:
        shown = ", ".join(f"{slot}: {size}" for slot, size in counts.items())
        raise reader.wrong("sessions differ in number", found=shown)

    sizes = {
        slot: reader.number(slot)
        for slot in (
            "charge_power_max",
            "discharge_power_max",
            "charge_efficiency",
            "discharge_efficiency",
            "minimum_energy",
        )
    }
    try:
        fleet = EvFleet(energy_capacity=[reader.number("energy_capacity")], **sizes)
        vehicle = np.zeros(len(columns["arrival"]), dtype=int)
        return fleet, Sessions(vehicle=vehicle, **columns)
    except ParameterError as error:
        raise reader.wrong(str(error)) from None
