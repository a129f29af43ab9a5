"""Stores of energy as an optimiser sees them: batteries, heat and cold by their energy, ice."""

from typing import Final

from engiagent.blueprint.elements import SetDef
from engiagent.formulations.components.fragment import CAPACITY, REQUIREMENT
from engiagent.formulations.components.reader import Reader
from engiagent.formulations.components.tables import coefficients, tables

WAYS: Final = ("charge", "discharge")
LOSSES: Final = ("no_load_loss", "proportional_loss", "quadratic_loss", "loss")
SEGMENTS: Final = 8


def battery(reader: Reader) -> None:
    r"""Add a battery seen from its terminals.

    .. math::
        E_{t+1} &= E_t + \Delta t\,(\eta_c P^c_t - P^d_t/\eta_d)
        \qquad\text{or, with a standing loss } k, \\
        E_{t+1} &= e^{-k\Delta t} E_t
            + \frac{1-e^{-k\Delta t}}{k}\,(\eta_c P^c_t - P^d_t/\eta_d), \\
        E_0 &= E^\mathrm{initial}, \qquad E^{\min} \le E \le E^{\max}, \\
        0 &\le P^c \le P^{c,\max}, \qquad 0 \le P^d \le P^{d,\max}

    Scheme ``euler`` loses :math:`k \Delta t E_t` in a step instead. With ``exclusive_on`` a binary
    variable on that set keeps one of the two powers at zero; elsewhere both may be positive, which
    no cost or price can make worthwhile unless it is negative. Beyond constant efficiencies it may
    have losses by power, cycles, wear and reserve,

    .. math::
        \dot Q_t &= l_0 + p_1 (P^c_t + P^d_t) + \frac{p_2}{P_r}\big((P^c_t)^2 + (P^d_t)^2\big)
        \quad\text{or by a table}, \\
        \sum_t P^d_t \Delta t &\le n\,E^{\max} \quad\text{over the horizon or each day}, \\
        P^d_t - P^c_t + r^+_t &\le P^{d,\max}, \quad
        h\,r^+_t/\eta_d \le \min(E_t, E_{t+1}) - E^{\min}

    and likewise down. The square of the power makes the energy balance quadratic; a table keeps it
    linear with binaries.
    """
    storage(reader, "bus", "state_of_charge", _losses(reader))
    capacity, thrown = reader.text("energy_capacity"), f"{reader.name}_discharge[t]*dt(t)"
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


def thermal_store(reader: Reader) -> None:
    r"""Add a store of heat or of cold by its energy: a battery on a bus of heat or cold.

    It has a loss :math:`k E` in proportion to the content, the coldest temperature in use being
    that of the surroundings; ``tank`` and ``two_zone_tank`` lose by their temperatures.
    """
    storage(reader, port(reader), "energy")


def ice_tank(reader: Reader) -> None:
    r"""Add ice storage whose rates are limited by how much ice there is.

    .. math::
        E_{t+1} = e^{-k\Delta t} E_t + \frac{1-e^{-k\Delta t}}{k}\,(\dot Q^c_t - \dot Q^d_t), \qquad
        \dot Q^c_t \le L_c(E_t/E^{\max}), \qquad \dot Q^d_t \le L_d(E_t/E^{\max})

    at the content of the start of the period. A limit is a straight line between the entries of a
    table over the share of ice (``charge_limit_share`` and ``charge_limit``), or comes from a curve
    of EnergyPlus's form by its six coefficients :math:`c` and the mean temperature difference
    :math:`\Delta`,

    .. math:: L(x) = \frac{E^{\max}}{h}\max\left(0,\; c_0 + c_1 x + c_2 x^2 +
        (c_3 + c_4 x + c_5 x^2)\,\Delta/\Delta_n\right)

    (:math:`x` the share of ice for charging and of water for discharging), which is replaced by
    ``segments`` chords; a chord is off by no more than :math:`|c_2 + c_5 \Delta/\Delta_n|/(4 n^2)`
    of :math:`E^{\max}/h`, to the safe side where the curve is concave. One segment is a linear
    limit.
    """
    storage(reader, "cooling_bus", "energy")
    for way in WAYS:
        groups = ((f"{way}_limit_share", f"{way}_limit"), (f"{way}_curve", f"{way}_difference"))
        for pair in groups:
            if reader.given(pair[0]) != reader.given(pair[1]):
                raise reader.wrong(f"{pair[0]} and {pair[1]} belong together; give both")
        by_table, by_curve = (reader.given(pair[0]) for pair in groups)
        if by_table and by_curve:
            raise reader.wrong(f"the {way} limit is given by a table and by a curve")
        if not (by_table or by_curve):
            continue
        shares, limits = f"{reader.name}_{way}_limit_share", f"{reader.name}_{way}_limit_power[t]"
        if by_table:
            shares, limits = tables(reader, f"{way}_limit", groups[0]).names
        else:
            _ice_curve(reader, way, shares)
        share = f"{reader.name}_energy[t]/{reader.text('energy_capacity')}"
        text = f"{reader.name}_{way}[t] <= piecewise({share}, {shares}, {limits})"
        slots = (f"{way}_limit", f"{way}_curve")
        reader.row(f"{way}_limit", text, f"{way} by the ice there is", CAPACITY, of=slots)


def storage(reader: Reader, bus: str, state: str, loss: str = "") -> None:
    """Add a store of energy on a bus, its content called ``state``, losing ``loss`` by power."""
    most = {way: reader.optional(f"{way}_power_max") for way in WAYS}
    for way, direction in (("charge", "into"), ("discharge", "out of")):
        words = f"power {direction} {{}}, at its terminals"
        reader.variable(way, words, upper=most[way], of=f"{way}_power_max")
    highest = "maximum_energy" if reader.given("maximum_energy") else "energy_capacity"
    low, high = reader.optional("minimum_energy") or 0, reader.text(highest)
    slots = ("minimum_energy", highest)
    reader.variable(state, "energy in {}", lower=low, upper=high, of=slots)
    text = _step(reader, f"{reader.name}_{state}", loss)
    reader.row("dynamics", text, "energy balance", of="charge_efficiency discharge_efficiency")
    reader.initial(state, "initial_energy", "energy in {} at the start")
    for way in reversed(WAYS):
        power = f"{reader.name}_{way}[t]"
        reader.terminal(power, most[way], supplies=way == "discharge", port=bus)
    over = reader.exclusive_set()
    if over is None:
        return
    into, out = most.values()
    if into is None or out is None:
        raise reader.wrong("exclusive_on needs charge_power_max and discharge_power_max")
    reader.exclusive(over, "charging", ("charge", into), ("discharge", out))


def _step(reader: Reader, content: str, loss: str) -> str:
    """Return the energy balance of a period."""
    into, out = f"{reader.name}_charge[t]", f"{reader.name}_discharge[t]"
    if reader.given("charge_efficiency"):
        into = f"{into}*{reader.text('charge_efficiency')}"
    if reader.given("discharge_efficiency"):
        out = f"{out}/{reader.text('discharge_efficiency')}"
    if loss:
        out = f"{out} - {loss}"
    keep, hold = "", "dt(t)"
    scheme = reader.scheme()
    if reader.component.parameters.get("self_discharge", 0) != 0:
        rate = reader.text("self_discharge")
        keep = f"(1 - {rate}*dt(t))*"
        if scheme == "exact":
            keep = f"exp(-{rate}*dt(t))*"
            hold = f"((1 - exp(-{rate}*dt(t)))/{rate} if {rate} > 0 else dt(t))"
    return f"{content}[t+1] == {keep}{content}[t] + ({into} - {out})*{hold}"


def port(reader: Reader) -> str:
    """Return the port that a store of heat or cold is connected by; heat when it is by none."""
    given = [name for name in ("heat_bus", "cooling_bus") if reader.connection(name) is not None]
    if len(given) > 1:
        raise reader.wrong("it is on a bus of heat and on one of cold; give one")
    return given[0] if given else "heat_bus"


# -- batteries ------------------------------------------------------------------------------------


def _losses(reader: Reader) -> str:
    """Return the loss by power, as a series and as a term [kW]; nothing where there is none."""
    if not any(reader.given(slot) for slot in LOSSES):
        return ""
    for slot in ("charge_efficiency", "discharge_efficiency"):
        if reader.component.parameters.get(slot, 1) != 1:
            raise reader.wrong(f"{slot} is given beside a loss by power", expected="one of the two")
    if reader.given("loss") and any(reader.given(slot) for slot in LOSSES[:3]):
        raise reader.wrong("the loss is given by a table and by coefficients")
    into, out = (f"{reader.name}_{way}[t]" for way in WAYS)
    terms = []
    if reader.given("loss"):
        found = tables(reader, "loss", ("loss_power", "loss"))
        xs, ys = found.names
        terms = [f"piecewise({power}, {xs}, {ys})" for power in (into, out)]
        terms.append(f"-{found.first(1)}")
    if reader.given("no_load_loss"):
        terms.append(reader.text("no_load_loss"))
    if reader.given("proportional_loss"):
        terms.append(f"{reader.text('proportional_loss')}*({into} + {out})")
    if reader.given("quadratic_loss"):
        rated = reader.optional("rated_power") or _larger_limit(reader)
        terms.append(f"{reader.text('quadratic_loss')}/{rated}*({into}**2 + {out}**2)")
    return reader.expression("loss", " + ".join(terms).replace("+ -", "- "), "loss")


def _larger_limit(reader: Reader) -> str:
    """Return the larger of the two power limits, which the converter is rated for."""
    found = [reader.optional(f"{way}_power_max") for way in WAYS]
    numbers = sorted({text for text in found if text is not None and "[t]" not in text})
    if not numbers or any(text is None or "[t]" in text for text in found):
        why = "quadratic_loss; it may be left out where both power limits are single numbers"
        raise reader.missing("rated_power", why)
    return numbers[0] if len(numbers) == 1 else f"max({', '.join(numbers)})"


def _daily(reader: Reader, thrown: str, capacity: str) -> None:
    """Add the cap of every calendar day of the horizon's own clock."""
    axis = reader.axis("daily_cycles_max needs periods of a clock")
    day = axis.local[:-1] // 86400
    number = (day - day[0]).astype(int)
    days, slot = f"{reader.name}_days", "daily_cycles_max"
    reader.derived("day", "1", number, "day of a period")
    total = f"sum({thrown} for t in {reader.time} if {reader.name}_day[t] == d)"
    text = f"{total} <= {reader.text(slot)}*{capacity}"
    index = (f"d in {days}",)
    reader.row("daily_cycles", text, "cycles of a day", REQUIREMENT, index=index, of=slot)
    reader.added.append(SetDef(name=days, kind="range", start=0, stop=int(number.max())))


def _reserve(reader: Reader, way: str) -> None:
    """Add reserve in one direction, which power and energy have to be able to give."""
    name, slot = reader.name, f"reserve_{way}_max"
    first, second = ("discharge", "charge") if way == "up" else ("charge", "discharge")
    most = reader.optional(f"{first}_power_max")
    if most is None:
        raise reader.wrong(f"{slot} needs {first}_power_max")
    reserve, hours = f"{name}_reserve_{way}[t]", reader.text("reserve_hours")
    energy, low = f"{name}_state_of_charge", reader.text("minimum_energy")
    high = reader.optional("maximum_energy") or reader.text("energy_capacity")
    factor = reader.optional(f"{first}_efficiency")
    moved = f"{hours}*{reserve}"
    if factor:
        moved = f"{moved}/{factor}" if way == "up" else f"{moved}*{factor}"
    room = f"{energy}[%s] - {low}" if way == "up" else f"{high} - {energy}[%s]"
    reader.variable(f"reserve_{way}", f"reserve {way}", upper=reader.text(slot), of=slot)
    words = f"for reserve {way}"
    power = f"{name}_{first}[t] - {name}_{second}[t] + {reserve} <= {most}"
    for suffix, text, what in (
        ("power", power, f"power {words}"),
        ("before", f"{moved} <= {room % 't'}", f"energy {words} at first"),
        ("after", f"{moved} <= {room % 't+1'}", f"energy {words} at last"),
    ):
        reader.row(f"reserve_{way}_{suffix}", text, what, REQUIREMENT, of=slot)


# -- ice ------------------------------------------------------------------------------------------


def _ice_curve(reader: Reader, way: str, shares: str) -> None:
    """Add the chords of a curve as parameters by period and breakpoint."""
    segments, slot = reader.segments(SEGMENTS), f"{way}_curve"
    c = coefficients(reader, slot, 6, 6)
    points = f"{reader.name}_{way}_points"
    x = f"{shares}[k]" if way == "charge" else f"(1 - {shares}[k])"
    difference = f"{reader.text(f'{way}_difference')}/{reader.text('nominal_difference')}"
    curve = (
        f"{c[0]} + {c[1]}*{x} + {c[2]}*{x}**2 + ({c[3]} + {c[4]}*{x} + {c[5]}*{x}**2)*{difference}"
    )
    whole = f"{reader.text('energy_capacity')}/{reader.optional('curve_hours') or '1[h]'}"
    over = (f"k in {points}",)
    reader.added.append(SetDef(name=points, kind="range", start=0, stop=segments))
    reader.derived(f"{way}_limit_share", "1", f"k/{segments}", "shares of ice", index=over)
    reader.derived(
        f"{way}_limit_power",
        "kW",
        f"max(0, {curve})*{whole}",
        f"largest {way} by the curve",
        index=(*reader.periods, *over),
        of=(slot, f"{way}_difference"),
    )
