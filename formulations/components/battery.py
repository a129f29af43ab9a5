r"""A battery seen from its terminals.

.. math::
    E_{t+1} &= E_t + \Delta t\,(\eta_c P^c_t - P^d_t/\eta_d)
    \qquad\text{or, with a standing loss } k, \\
    E_{t+1} &= e^{-k\Delta t} E_t
        + \frac{1-e^{-k\Delta t}}{k}\,(\eta_c P^c_t - P^d_t/\eta_d), \\
    E_0 &= E^\mathrm{initial}, \qquad E^{\min} \le E \le E^{\max}, \\
    0 &\le P^c \le P^{c,\max}, \qquad 0 \le P^d \le P^{d,\max}

Scheme ``euler`` loses :math:`k \Delta t E_t` in a step instead. With ``exclusive_on`` a binary
variable on that set keeps one of the two powers at zero; elsewhere both may be positive, which
no cost or price can make worthwhile unless it is negative.
"""

from engiagent.blueprint.document import ComponentDef, ConstraintDef, VariableDef
from engiagent.formulations.components import battery_extras
from engiagent.formulations.components.description import Model
from engiagent.formulations.components.fragment import (
    Fragment,
    Reader,
    Slot,
    Surroundings,
    exclusive,
    wrong,
)
from engiagent.formulations.components.parts import currency

STORAGE = {
    "energy_capacity": Slot("kWh", required=True, meaning="largest content"),
    "charge_power_max": Slot("kW", series=True, default="no limit", meaning="at the terminals"),
    "discharge_power_max": Slot("kW", series=True, default="no limit", meaning="at the terminals"),
    "charge_efficiency": Slot("1", default="1", meaning="stored over taken"),
    "discharge_efficiency": Slot("1", default="1", meaning="delivered over given up"),
    "initial_energy": Slot("kWh", required=True, meaning="content at the start"),
    "minimum_energy": Slot("kWh", default="0", meaning="least content"),
    "maximum_energy": Slot("kWh", default="the capacity", meaning="largest content in use"),
    "self_discharge": Slot("1/h", default="0", meaning="share of the content lost in an hour"),
}
SLOTS = {**STORAGE, **battery_extras.extras("EUR")}
OPTIONS = ("exclusive_on", "scheme")
CONNECTIONS = ("bus",)


def fragment(component: ComponentDef, around: Surroundings) -> Fragment:
    """Return the algebra of a battery."""
    slots = {**SLOTS, **battery_extras.extras(currency(around))}
    reader = Reader(component, around, slots, OPTIONS, CONNECTIONS)
    store = storage(reader, "bus", "state_of_charge")
    return store + battery_extras.limits(reader, around)


def storage(reader: Reader, port: str, state: str) -> Fragment:
    """Return the algebra of a store of energy on a bus, its content called ``state``."""
    charge_max = reader.optional("charge_power_max")
    discharge_max = reader.optional("discharge_power_max")
    charge, discharge = f"{reader.name}_charge[t]", f"{reader.name}_discharge[t]"
    extra, loss = battery_extras.losses(reader)
    result = extra + Fragment(
        variables=_variables(reader, state),
        constraints=(_dynamics(reader, state, charge, discharge, loss), _initial(reader, state)),
        terminals=reader.terminal(discharge, discharge_max, supplies=True, port=port)
        + reader.terminal(charge, charge_max, supplies=False, port=port),
    )
    over = reader.exclusive_set()
    if over is None:
        return result
    if charge_max is None or discharge_max is None:
        raise wrong(reader.component, "exclusive_on needs charge_power_max and discharge_power_max")
    return result + exclusive(
        reader,
        over,
        "charging",
        (f"{reader.name}_charge", charge_max),
        (f"{reader.name}_discharge", discharge_max),
    )


def _variables(reader: Reader, state: str) -> tuple[VariableDef, ...]:
    name = reader.name
    powers = tuple(
        VariableDef(
            name=f"{name}_{series}",
            index=reader.periods,
            lower=0,
            upper=reader.optional(f"{series}_power_max"),
            unit="kW",
            quantity=f"{name}.{series}",
            role="decision",
            description=f"power {direction} {name}, at its terminals",
            source_reference=reader.source(f"{series}_power_max"),
        )
        for series, direction in (("charge", "into"), ("discharge", "out of"))
    )
    highest = "maximum_energy" if reader.given("maximum_energy") else "energy_capacity"
    energy = VariableDef(
        name=f"{name}_{state}",
        index=(f"i in {reader.instants}",),
        lower=reader.optional("minimum_energy") or 0,
        upper=reader.text(highest),
        unit="kWh",
        quantity=f"{name}.{state}",
        role="state",
        description=f"energy in {name}",
        source_reference=reader.source("minimum_energy", highest),
    )
    return (*powers, energy)


def _dynamics(reader: Reader, state: str, charge: str, discharge: str, loss: str) -> ConstraintDef:
    name = f"{reader.name}_{state}"
    into = _scaled(charge, "*", reader.optional("charge_efficiency"))
    out = _scaled(discharge, "/", reader.optional("discharge_efficiency"))
    if loss:
        out = f"{out} - {loss}"
    keep, hold = "", "dt(t)"
    if reader.component.parameters.get("self_discharge", 0) != 0:
        rate = reader.text("self_discharge")
        if reader.scheme(("exact", "euler")) == "exact":
            keep = f"exp(-{rate}*dt(t))*"
            hold = f"((1 - exp(-{rate}*dt(t)))/{rate} if {rate} > 0 else dt(t))"
        else:
            keep = f"(1 - {rate}*dt(t))*"
    reader.scheme(("exact", "euler"))
    return ConstraintDef(
        constraint_id=f"{reader.name}_dynamics",
        name=f"energy balance of {reader.name}",
        forall=reader.periods,
        expression=f"{name}[t+1] == {keep}{name}[t] + ({into} - {out})*{hold}",
        category="Physical Laws",
        hard=True,
        source_reference=reader.source("charge_efficiency", "discharge_efficiency"),
    )


def _scaled(power: str, operator: str, factor: str | None) -> str:
    return power if factor is None else f"{power}{operator}{factor}"


def _initial(reader: Reader, state: str) -> ConstraintDef:
    return ConstraintDef(
        constraint_id=f"{reader.name}_initial",
        name=f"energy in {reader.name} at the start",
        expression=f"{reader.name}_{state}[first({reader.instants})] == "
        f"{reader.text('initial_energy')}",
        category="Physical Laws",
        hard=True,
        source_reference=reader.source("initial_energy"),
    )


MODEL = Model(
    fragment,
    SLOTS,
    OPTIONS,
    CONNECTIONS,
    summary="battery seen from its terminals",
    quantities={
        "charge": "kW",
        "discharge": "kW",
        "state_of_charge": "kWh",
        "loss": "kW",
        "charging": "1",
        "wear_cost": "EUR",
        "reserve_up": "kW",
        "reserve_down": "kW",
    },
    problem_class="LP; MILP with `exclusive_on` or a table of losses; nonconvex QCP with "
    "`quadratic_loss`",
    leaves_out="voltage and temperature; ageing but by the price of wear",
    exact_against="battery.Battery",
)
