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

from engiagent.blueprint.document import ComponentDef
from engiagent.formulations.components.description import Model
from engiagent.formulations.components.fragment import (
    Fragment,
    Reader,
    Slot,
    Surroundings,
    Terminal,
    exclusive,
    wrong,
)
from engiagent.formulations.components.known import known_values
from engiagent.formulations.components.parts import REQUIREMENT, derived, expression, row, variable
from engiagent.formulations.components.thermal_coupling import number, step_hours
from engiagent.models.ev import EvFleet, Sessions
from engiagent.models.ranges import ParameterError

SESSION = {
    "arrival": Slot(
        "h",
        required=True,
        table=True,
        meaning="when it is plugged in, from the start of the horizon; one a session",
    ),
    "departure": Slot("h", required=True, table=True, meaning="when it leaves; one a session"),
    "arrival_energy": Slot("kWh", required=True, table=True, low=0, meaning="content on arrival"),
    "required_energy": Slot(
        "kWh", table=True, low=0, default="0", meaning="least content on departure"
    ),
}
SLOTS = {
    "energy_capacity": Slot("kWh", required=True, low=0, above=True, meaning="largest content"),
    "charge_power_max": Slot("kW", required=True, low=0, meaning="at the plug"),
    "discharge_power_max": Slot("kW", low=0, default="0", meaning="above 0 when it gives back"),
    "charge_efficiency": Slot(
        "1", low=0, above=True, high=1, default="1", meaning="stored over taken"
    ),
    "discharge_efficiency": Slot(
        "1", low=0, above=True, high=1, default="1", meaning="delivered over given up"
    ),
    "minimum_energy": Slot("kWh", low=0, default="0", meaning="least content while plugged in"),
    **SESSION,
}
OPTIONS = ("soft", "exclusive_on")
CONNECTIONS = ("bus",)


def fragment(component: ComponentDef, around: Surroundings) -> Fragment:
    """Return the algebra of a vehicle."""
    reader = Reader(component, around, SLOTS, OPTIONS, CONNECTIONS)
    name = reader.name
    plugged = f"{name}_plugged_in[t]"
    most = {"charge": f"{reader.text('charge_power_max')}*{plugged}"}
    if reader.given("discharge_power_max"):
        most["discharge"] = f"{reader.text('discharge_power_max')}*{plugged}"
    result = _sessions(reader)
    terminals: tuple[Terminal, ...] = ()
    for way, limit in most.items():
        result += variable(
            reader, way, "kW", f"power at the plug, {way}", upper=limit, slots=(f"{way}_power_max",)
        )
        terminals += reader.terminal(f"{name}_{way}[t]", limit, supplies=way == "discharge")
    over = reader.exclusive_set()
    if over is not None and "discharge" in most:
        pairs = [(f"{name}_{way}", limit) for way, limit in most.items()]
        result += exclusive(reader, over, "charging", pairs[0], pairs[1])
    return result + _energy(reader, "discharge" in most) + Fragment(terminals=terminals)


def _energy(reader: Reader, both: bool) -> Fragment:
    """Return content, its step and what has to be there on departure."""
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
    result = (
        variable(
            reader,
            "state_of_charge",
            "kWh",
            "content",
            upper=reader.text("energy_capacity"),
            role="state",
            instants=True,
            slots=("energy_capacity",),
        )
        + expression(
            reader,
            "content_after",
            "kWh",
            f"{before} + dt(t)*({net})",
            "content at the end of a period",
        )
        + row(
            reader,
            "initial",
            f"{energy}[first({reader.instants})] == {name}_first",
            "content at the start",
            index=(),
            slots=("arrival_energy",),
        )
        + row(
            reader,
            "dynamics",
            f"{energy}[t+1] == ({name}_next[t] if {comes} else {name}_content_after[t])",
            "energy balance",
            slots=("charge_efficiency", "discharge_efficiency"),
        )
        + row(
            reader,
            "content",
            f"{name}_floor[t] <= {name}_content_after[t] <= {reader.text('energy_capacity')}",
            "limits of the content",
            slots=("minimum_energy", "energy_capacity"),
        )
        + row(
            reader,
            "departure",
            f"{name}_content_after[t] >= {wanted}{lack}",
            "energy on departure",
            REQUIREMENT,
            where=f"{wanted} > 0",
            slots=("required_energy",),
        )
    )
    if soft:
        result += variable(
            reader,
            "shortfall",
            "kWh",
            "energy that lacks on departure",
            upper=wanted,
            slots=("required_energy",),
        )
    return result


def _sessions(reader: Reader) -> Fragment:
    """Return the sessions as parameters of the periods."""
    hours = step_hours(reader)
    if not np.allclose(hours, hours[0], rtol=1e-9):
        raise wrong(reader.component, "its sessions need periods of one length")
    step, count = float(hours[0]), len(hours)
    fleet, sessions = _fleet(reader)
    try:
        owner, begin, end = fleet.periods_of(sessions, count, step)
        plugged = sessions.availability(count, 1, step)[:, 0]
    except ParameterError as error:
        raise wrong(reader.component, f"its sessions do not fit: {error}") from None
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
    result = derived(
        reader,
        "plugged_in",
        "1",
        tuple(map(float, plugged)),
        "part of a period in which it is plugged in",
        index=(reader.time,),
        slots=("arrival", "departure"),
    )
    result += derived(
        reader, "first", "kWh", start, "content at the start", index=(), slots=("arrival_energy",)
    )
    for key, values in series.items():
        result += derived(
            reader,
            key,
            units.get(key, "kWh"),
            tuple(map(float, values)),
            f"{key}, by the sessions",
            index=(reader.time,),
            slots=tuple(SESSION),
        )
    return result


def _fleet(reader: Reader) -> tuple[EvFleet, Sessions]:
    columns = {}
    for slot, description in SESSION.items():
        given = reader.component.parameters.get(slot)
        if given is None:
            continue
        columns[slot] = np.array(known_values(given, description.unit, reader.around.core))
        if not len(columns[slot]):
            raise wrong(
                reader.component,
                f"{slot} is no table",
                found=str(given),
                expected="numbers in brackets, as (7, 31), or a parameter",
            )
    sizes = {slot: len(values) for slot, values in columns.items()}
    if len(set(sizes.values())) > 1:
        shown = ", ".join(f"{slot}: {size}" for slot, size in sizes.items())
        raise wrong(reader.component, "sessions differ in number", found=shown)

    def value(slot: str, default: float) -> float:
        return (
            number(reader, reader.text(slot), reader.slots[slot].unit)
            if reader.given(slot)
            else default
        )

    try:
        fleet = EvFleet(
            energy_capacity=[value("energy_capacity", 0)],
            charge_power_max=value("charge_power_max", 0),
            discharge_power_max=value("discharge_power_max", 0),
            charge_efficiency=value("charge_efficiency", 1),
            discharge_efficiency=value("discharge_efficiency", 1),
            minimum_energy=value("minimum_energy", 0),
        )
        vehicle = np.zeros(len(columns["arrival"]), dtype=int)
        return fleet, Sessions(vehicle=vehicle, **columns)
    except ParameterError as error:
        raise wrong(reader.component, str(error)) from None


MODEL = Model(
    fragment,
    SLOTS,
    OPTIONS,
    CONNECTIONS,
    summary="electric vehicle with sessions at a plug",
    quantities={
        "charge": "kW",
        "discharge": "kW",
        "state_of_charge": "kWh",
        "shortfall": "kWh",
        "content_after": "kWh",
    },
    problem_class="LP; MILP with `exclusive_on`",
    leaves_out="a least charging power; what it drives between sessions, but by its arrivals",
    exact_against="ev.EvFleet",
)
