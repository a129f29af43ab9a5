r"""What a battery may have beyond a constant efficiency: losses by power, cycles, wear, reserve.

.. math::
    \dot Q_t &= l_0 + p_1 (P^c_t + P^d_t) + \frac{p_2}{P_r}\big((P^c_t)^2 + (P^d_t)^2\big)
    \quad\text{or by a table}, \\
    \sum_t P^d_t \Delta t &\le n\,E^{\max} \quad\text{over the horizon or each day}, \\
    P^d_t - P^c_t + r^+_t &\le P^{d,\max}, \quad h\,r^+_t/\eta_d \le \min(E_t, E_{t+1}) - E^{\min}

and likewise down. The square of the power makes the energy balance quadratic; a table keeps it
linear with binaries.
"""

from engiagent.blueprint.document import SetDef
from engiagent.formulations.components.fragment import REQUIREMENT
from engiagent.formulations.components.reader import Reader
from engiagent.formulations.components.tables import tables

LOSSES = ("no_load_loss", "proportional_loss", "quadratic_loss", "loss")


def losses(reader: Reader) -> str:
    """Return the loss by power, as a series and as a term [kW]; nothing where there is none."""
    if not any(reader.given(slot) for slot in LOSSES):
        return ""
    for slot in ("charge_efficiency", "discharge_efficiency"):
        if reader.component.parameters.get(slot, 1) != 1:
            raise reader.wrong(f"{slot} is given beside a loss by power", expected="one of the two")
    if reader.given("loss") and any(reader.given(slot) for slot in LOSSES[:3]):
        raise reader.wrong("the loss is given by a table and by coefficients")
    name = reader.name
    into, out = f"{name}_charge[t]", f"{name}_discharge[t]"
    terms = []
    if reader.given("loss"):
        found = tables(reader, "loss", ("loss_power", "loss"))
        xs, ys = found.names
        terms = [
            f"piecewise({into}, {xs}, {ys})",
            f"piecewise({out}, {xs}, {ys})",
            f"-{found.first(1)}",
        ]
    if reader.given("no_load_loss"):
        terms.append(reader.text("no_load_loss"))
    if reader.given("proportional_loss"):
        terms.append(f"{reader.text('proportional_loss')}*({into} + {out})")
    if reader.given("quadratic_loss"):
        rated = reader.optional("rated_power") or _larger_limit(reader)
        terms.append(f"{reader.text('quadratic_loss')}/{rated}*({into}**2 + {out}**2)")
    text = " + ".join(terms).replace("+ -", "- ")
    reader.expression("loss", text, "loss")
    return f"{name}_loss[t]"


def _larger_limit(reader: Reader) -> str:
    """Return the larger of the two power limits, which the converter is rated for."""
    found = [reader.optional(f"{way}_power_max") for way in ("charge", "discharge")]
    numbers = sorted({text for text in found if text is not None and "[t]" not in text})
    if None in found or not numbers or any("[t]" in text for text in found if text):
        raise reader.wrong(
            "the parameter rated_power is not given",
            expected="a value in kW, for quadratic_loss; it may be left out where both "
            "power limits are single numbers",
        )
    return numbers[0] if len(numbers) == 1 else f"max({', '.join(numbers)})"


def limits(reader: Reader) -> None:
    """Add caps of cycles, the cost of wear and reserves, as far as they are given."""
    name, capacity = reader.name, reader.text("energy_capacity")
    thrown = f"{name}_discharge[t]*dt(t)"
    if reader.given("wear_cost"):
        reader.expression("wear_cost", f"{reader.text('wear_cost')}*{thrown}", "cost of wear")
    if reader.given("cycles_max"):
        text = f"sum({thrown} for t in {reader.time}) <= {reader.text('cycles_max')}*{capacity}"
        reader.row("cycles", text, "cycles", REQUIREMENT, index=(), of="cycles_max")
    if reader.given("daily_cycles_max"):
        _daily(reader, thrown, capacity)
    for way in ("up", "down"):
        if reader.given(f"reserve_{way}_max"):
            _reserve(reader, way)


def _daily(reader: Reader, thrown: str, capacity: str) -> None:
    """Add the cap of every calendar day of the horizon's own clock."""
    axis = reader.axis("daily_cycles_max needs periods of a clock")
    day = axis.local[:-1] // 86400
    number = (day - day[0]).astype(int)
    days = f"{reader.name}_days"
    reader.derived("day", "1", number, "day of a period")
    total = f"sum({thrown} for t in {reader.time} if {reader.name}_day[t] == d)"
    text = f"{total} <= {reader.text('daily_cycles_max')}*{capacity}"
    reader.row(
        "daily_cycles",
        text,
        "cycles of a day",
        REQUIREMENT,
        index=(f"d in {days}",),
        of="daily_cycles_max",
    )
    points = SetDef(name=days, kind="range", start=0, stop=int(number.max()))
    reader.added.append(points)


def _reserve(reader: Reader, way: str) -> None:
    """Add reserve in one direction, which power and energy have to be able to give."""
    name, slot = reader.name, f"reserve_{way}_max"
    first, second = ("discharge", "charge") if way == "up" else ("charge", "discharge")
    most = reader.optional(f"{first}_power_max")
    if most is None:
        raise reader.wrong(f"{slot} needs {first}_power_max")
    reserve = f"{name}_reserve_{way}[t]"
    hours = reader.text("reserve_hours")
    energy = f"{name}_state_of_charge"
    low = reader.text("minimum_energy")
    high = reader.optional("maximum_energy") or reader.text("energy_capacity")
    factor = reader.optional(f"{first}_efficiency")
    moved = f"{hours}*{reserve}"
    if factor:
        moved = f"{moved}/{factor}" if way == "up" else f"{moved}*{factor}"
    room = f"{energy}[%s] - {low}" if way == "up" else f"{high} - {energy}[%s]"
    reader.variable(f"reserve_{way}", f"reserve {way}", upper=reader.text(slot), of=slot)
    reader.row(
        f"reserve_{way}_power",
        f"{name}_{first}[t] - {name}_{second}[t] + {reserve} <= {most}",
        f"power for reserve {way}",
        REQUIREMENT,
        of=slot,
    )
    reader.row(
        f"reserve_{way}_before",
        f"{moved} <= {room % 't'}",
        f"energy for reserve {way} at first",
        REQUIREMENT,
        of=slot,
    )
    reader.row(
        f"reserve_{way}_after",
        f"{moved} <= {room % 't+1'}",
        f"energy for reserve {way} at last",
        REQUIREMENT,
        of=slot,
    )
