"""Electric vehicles with sessions at a plug as an optimiser sees them."""

from typing import Any, Final

import numpy as np

from engiagent.formulations.components.fragment import REQUIREMENT
from engiagent.formulations.components.reader import Reader
from engiagent.models.ev import Sessions, Vehicle
from engiagent.models.ranges import ParameterError

SESSION: Final = ("arrival", "departure", "arrival_energy", "required_energy")
SIZES: Final = (
    "energy_capacity",
    "charge_power_max",
    "discharge_power_max",
    "charge_efficiency",
    "discharge_efficiency",
    "minimum_energy",
)


def ev(reader: Reader) -> None:
    r"""Add a vehicle that is plugged in during sessions, charged and, if it can, discharged.

    .. math::
        E_{t+1} = E_t + \Delta t\,(\eta_c P^c_t - P^d_t/\eta_d), \qquad
        0 \le P^c_t \le a_t P^{c,\max}, \quad 0 \le P^d_t \le a_t P^{d,\max}, \qquad
        E_{\text{departure}} \ge E_r

    where :math:`a` is the part of the period in which it is plugged in. A session begins with the
    energy on arrival; between sessions the content stays as it was on departure. A session that
    lasts beyond the horizon must still be able to reach its energy at full power. With the option
    ``soft`` the energy may fall short by the quantity ``shortfall``, whose price belongs into the
    objective.
    """
    plugged = f"{reader.name}_plugged_in[t]"
    most = {"charge": f"{reader.text('charge_power_max')}*{plugged}"}
    if reader.given("discharge_power_max"):
        most["discharge"] = f"{reader.text('discharge_power_max')}*{plugged}"
    _sessions(reader)
    for way, limit in most.items():
        words = f"power at the plug, {way}"
        power = reader.variable(way, words, upper=limit, of=f"{way}_power_max")
        reader.terminal(power, limit, supplies=way == "discharge")
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
    soft, full = reader.flag("soft"), reader.text("energy_capacity")
    wanted, lack = f"{name}_wanted[t]", f" - {name}_shortfall[t]" if soft else ""
    reader.variable("state_of_charge", "content", upper=full, of="energy_capacity")
    before = f"({name}_arrived[t] if {name}_arrives[t] > 0 else {energy}[t])"
    text, words = f"{before} + dt(t)*({net})", "content at the end of a period"
    after = reader.expression("content_after", text, words)
    text = f"{energy}[first({reader.instants})] == {name}_first"
    reader.row("initial", text, "content at the start", index=(), of="arrival_energy")
    text = f"{energy}[t+1] == ({name}_next[t] if {name}_comes[t] > 0 else {after})"
    reader.row("dynamics", text, "energy balance", of="charge_efficiency discharge_efficiency")
    text = f"{name}_floor[t] <= {after} <= {full}"
    reader.row("content", text, "limits of the content", of="minimum_energy energy_capacity")
    text, where, words = f"{after} >= {wanted}{lack}", f"{wanted} > 0", "energy on departure"
    reader.row("departure", text, words, REQUIREMENT, where=where, of="required_energy")
    if soft:
        words = "energy that lacks on departure"
        reader.variable("shortfall", words, upper=wanted, of="required_energy")


def _sessions(reader: Reader) -> None:
    """Add the sessions as parameters of the periods."""
    hours = reader.hours()
    if not np.allclose(hours, hours[0], rtol=1e-9):
        raise reader.wrong("its sessions need periods of one length")
    step, count = float(hours[0]), len(hours)
    car, sessions = _read(reader)
    try:
        owner, begin, end = sessions.periods(count, step)
    except ParameterError as error:
        raise reader.wrong(f"its sessions do not fit: {error}") from None
    arrived = sessions.arrival_energy
    series: dict[str, Any] = {
        key: np.zeros(count) for key in ("arrives", "arrived", "comes", "next", "wanted", "floor")
    }
    for session in np.unique(owner[owner >= 0]):
        first, final = max(int(begin[session]), 0), min(int(end[session]), count) - 1
        series["arrives"][first], series["arrived"][first] = 1, arrived[session]
        if first > 0:
            series["comes"][first - 1], series["next"][first - 1] = 1, arrived[session]
        later = max(float(sessions.departure[session]) - count * step, 0.0)
        gained = car.charge_power_max * car.charge_efficiency * later
        series["wanted"][final] = max(float(sessions.required_energy[session]) - gained, 0.0)
        series["floor"][owner == session] = min(car.minimum_energy, arrived[session])
    start = float(arrived[owner[0]]) if owner[0] >= 0 else 0.0
    plugged, of = sessions.availability(count, step), "arrival departure"
    reader.derived("plugged_in", "1", plugged, "part of a period in which it is plugged in", of=of)
    reader.derived("first", "kWh", start, "content at the start", index=(), of="arrival_energy")
    for key, values in series.items():
        unit = "1" if key in ("arrives", "comes") else "kWh"
        reader.derived(key, unit, values, f"{key}, by the sessions", of=SESSION)


def _read(reader: Reader) -> tuple[Vehicle, Sessions]:
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
    try:
        return Vehicle(**{slot: reader.number(slot) for slot in SIZES}), Sessions(**columns)
    except ParameterError as error:
        raise reader.wrong(str(error)) from None
