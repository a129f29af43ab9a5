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

from engiagent.formulations.components import battery_extras
from engiagent.formulations.components.reader import Reader

WAYS = (
    ("charge", "power into {}, at its terminals"),
    ("discharge", "power out of {}, at its terminals"),
)


def declare(reader: Reader) -> None:
    """Add the algebra of a battery."""
    storage(reader, "bus", "state_of_charge")
    battery_extras.limits(reader)


def storage(reader: Reader, port: str, state: str) -> None:
    """Add the algebra of a store of energy on a bus, its content called ``state``."""
    loss = battery_extras.losses(reader)
    most = {way: reader.optional(f"{way}_power_max") for way, _ in WAYS}
    for way, words in WAYS:
        reader.variable(way, words, upper=most[way], of=f"{way}_power_max")
    highest = "maximum_energy" if reader.given("maximum_energy") else "energy_capacity"
    reader.variable(
        state,
        "energy in {}",
        lower=reader.optional("minimum_energy") or 0,
        upper=reader.text(highest),
        of=("minimum_energy", highest),
    )
    _dynamics(reader, state, loss)
    reader.initial(state, "initial_energy", "energy in {} at the start")
    for way, _ in reversed(WAYS):
        power = f"{reader.name}_{way}[t]"
        reader.terminal(power, most[way], supplies=way == "discharge", port=port)
    over = reader.exclusive_set()
    if over is None:
        return
    into, out = most["charge"], most["discharge"]
    if into is None or out is None:
        raise reader.wrong("exclusive_on needs charge_power_max and discharge_power_max")
    reader.exclusive(over, "charging", ("charge", into), ("discharge", out))


def _dynamics(reader: Reader, state: str, loss: str) -> None:
    name = f"{reader.name}_{state}"
    into = _scaled(f"{reader.name}_charge[t]", "*", reader.optional("charge_efficiency"))
    out = _scaled(f"{reader.name}_discharge[t]", "/", reader.optional("discharge_efficiency"))
    if loss:
        out = f"{out} - {loss}"
    keep, hold = "", "dt(t)"
    scheme = reader.scheme()
    if reader.component.parameters.get("self_discharge", 0) != 0:
        rate = reader.text("self_discharge")
        if scheme == "exact":
            keep = f"exp(-{rate}*dt(t))*"
            hold = f"((1 - exp(-{rate}*dt(t)))/{rate} if {rate} > 0 else dt(t))"
        else:
            keep = f"(1 - {rate}*dt(t))*"
    text = f"{name}[t+1] == {keep}{name}[t] + ({into} - {out})*{hold}"
    reader.row("dynamics", text, "energy balance", of="charge_efficiency discharge_efficiency")


def _scaled(power: str, operator: str, factor: str | None) -> str:
    return power if factor is None else f"{power}{operator}{factor}"
