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
from engiagent.blueprint.elaborate import Elaboration
from engiagent.formulations.components.fragment import Fragment, Reader, Slot, Surroundings, wrong
from engiagent.formulations.components.parts import (
    REQUIREMENT,
    currency,
    derived,
    expression,
    row,
    variable,
)
from engiagent.formulations.components.tables import tables
from engiagent.formulations.components.thermal_coupling import numbers_of

LOSSES = ("no_load_loss", "proportional_loss", "quadratic_loss", "loss")


def extras(cost: str) -> dict[str, Slot]:
    """Return the slots, with costs in a currency."""
    return {
        "no_load_loss": Slot(
            "kW",
            low=0,
            default="0",
            meaning="loss at any power; with losses the efficiencies are 1",
        ),
        "proportional_loss": Slot("1", low=0, default="0", meaning="loss per power"),
        "quadratic_loss": Slot(
            "1", low=0, default="0", meaning="loss per power squared over the rated power"
        ),
        "rated_power": Slot(
            "kW", low=0, above=True, default="the larger power limit", meaning="of the converter"
        ),
        "loss_power": Slot("kW", table=True, low=0, meaning="powers of a table of losses, from 0"),
        "loss": Slot("kW", table=True, low=0, meaning="losses at these powers"),
        "cycles_max": Slot("1", low=0, meaning="largest number of full discharges in the horizon"),
        "daily_cycles_max": Slot("1", low=0, meaning="the same on each calendar day"),
        "wear_cost": Slot(f"{cost}/kWh", low=0, default="0", meaning="of a kWh discharged"),
        "reserve_up_max": Slot("kW", low=0, default="0", meaning="largest upward reserve"),
        "reserve_down_max": Slot("kW", low=0, default="0", meaning="largest downward reserve"),
        "reserve_hours": Slot("h", low=0, default="1", meaning="how long reserve has to last"),
    }


def losses(reader: Reader) -> tuple[Fragment, str]:
    """Return the loss by power, as a series and as a term [kW]; nothing where there is none."""
    if not any(reader.given(slot) for slot in LOSSES):
        return Fragment(), ""
    for slot in ("charge_efficiency", "discharge_efficiency"):
        if reader.component.parameters.get(slot, 1) != 1:
            raise wrong(
                reader.component,
                f"{slot} is given beside a loss by power",
                expected="one of the two",
            )
    if reader.given("loss") and any(reader.given(slot) for slot in LOSSES[:3]):
        raise wrong(reader.component, "the loss is given by a table and by coefficients")
    name = reader.name
    into, out = f"{name}_charge[t]", f"{name}_discharge[t]"
    helper, terms = Fragment(), []
    if reader.given("loss"):
        found = tables(reader, "loss", ("loss_power", "loss"))
        xs, ys = found.names
        helper = found.fragment
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
    return helper + expression(reader, "loss", "kW", text, "loss"), f"{name}_loss[t]"


def _larger_limit(reader: Reader) -> str:
    """Return the larger of the two power limits, which the converter is rated for."""
    found = [reader.optional(f"{way}_power_max") for way in ("charge", "discharge")]
    numbers = sorted({text for text in found if text is not None and "[t]" not in text})
    if None in found or not numbers or any("[t]" in text for text in found if text):
        raise wrong(
            reader.component,
            "the parameter rated_power is not given",
            expected="a value in kW, for quadratic_loss; it may be left out where both "
            "power limits are single numbers",
        )
    return numbers[0] if len(numbers) == 1 else f"max({', '.join(numbers)})"


def limits(reader: Reader, around: Surroundings) -> Fragment:
    """Return caps of cycles, the cost of wear and reserves, as far as they are given."""
    name, capacity = reader.name, reader.text("energy_capacity")
    result, thrown = Fragment(), f"{name}_discharge[t]*dt(t)"
    if reader.given("wear_cost"):
        result += expression(
            reader,
            "wear_cost",
            currency(around),
            f"{reader.text('wear_cost')}*{thrown}",
            "cost of wear",
        )
    if reader.given("cycles_max"):
        text = f"sum({thrown} for t in {reader.time}) <= {reader.text('cycles_max')}*{capacity}"
        result += row(
            reader, "cycles", text, "cycles", REQUIREMENT, index=(), slots=("cycles_max",)
        )
    if reader.given("daily_cycles_max"):
        result += _daily(reader, thrown, capacity)
    for way in ("up", "down"):
        if reader.given(f"reserve_{way}_max"):
            result += _reserve(reader, way)
    return result


def _daily(reader: Reader, thrown: str, capacity: str) -> Fragment:
    """Return the cap of every calendar day of the horizon's own clock."""
    axis = Elaboration(numbers_of(reader.around.core)).index_set(reader.time).axis
    if axis is None or axis.step_unit != "h":
        raise wrong(reader.component, "daily_cycles_max needs periods of a clock")
    day = axis.local[:-1] // 86400
    number = (day - day[0]).astype(int)
    days = f"{reader.name}_days"
    at = derived(
        reader, "day", "1", tuple(map(float, number)), "day of a period", index=(reader.time,)
    )
    total = f"sum({thrown} for t in {reader.time} if {reader.name}_day[t] == d)"
    text = f"{total} <= {reader.text('daily_cycles_max')}*{capacity}"
    cap = row(
        reader,
        "daily_cycles",
        text,
        "cycles of a day",
        REQUIREMENT,
        index=(f"d in {days}",),
        slots=("daily_cycles_max",),
    )
    points = SetDef(name=days, kind="range", start=0, stop=int(number.max()))
    return Fragment(sets=(points,)) + at + cap


def _reserve(reader: Reader, way: str) -> Fragment:
    """Return reserve in one direction, which power and energy have to be able to give."""
    name, slot = reader.name, f"reserve_{way}_max"
    first, second = ("discharge", "charge") if way == "up" else ("charge", "discharge")
    most = reader.optional(f"{first}_power_max")
    if most is None:
        raise wrong(reader.component, f"{slot} needs {first}_power_max")
    reserve = f"{name}_reserve_{way}[t]"
    hours = reader.optional("reserve_hours") or "1[h]"
    energy = f"{name}_state_of_charge"
    low = reader.optional("minimum_energy") or "0[kWh]"
    high = reader.optional("maximum_energy") or reader.text("energy_capacity")
    factor = reader.optional(f"{first}_efficiency")
    moved = f"{hours}*{reserve}"
    if factor:
        moved = f"{moved}/{factor}" if way == "up" else f"{moved}*{factor}"
    room = f"{energy}[%s] - {low}" if way == "up" else f"{high} - {energy}[%s]"
    return (
        variable(
            reader, f"reserve_{way}", "kW", f"reserve {way}", upper=reader.text(slot), slots=(slot,)
        )
        + row(
            reader,
            f"reserve_{way}_power",
            f"{name}_{first}[t] - {name}_{second}[t] + {reserve} <= {most}",
            f"power for reserve {way}",
            REQUIREMENT,
            slots=(slot,),
        )
        + row(
            reader,
            f"reserve_{way}_before",
            f"{moved} <= {room % 't'}",
            f"energy for reserve {way} at first",
            REQUIREMENT,
            slots=(slot,),
        )
        + row(
            reader,
            f"reserve_{way}_after",
            f"{moved} <= {room % 't+1'}",
            f"energy for reserve {way} at last",
            REQUIREMENT,
            slots=(slot,),
        )
    )
