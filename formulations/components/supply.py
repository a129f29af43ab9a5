"""Supply, demand and their flexibility as an optimiser sees them."""

import numpy as np

from engiagent.formulations.components.fragment import OPERATION, REQUIREMENT, balance
from engiagent.formulations.components.machines import plain
from engiagent.formulations.components.reader import Reader
from engiagent.formulations.components.tables import tables
from engiagent.models.renewables import PVWATTS_LOSS
from engiagent.slots import yes_or_no

# -- grids ----------------------------------------------------------------------------------------


def grid(reader: Reader) -> None:
    r"""Add a connection to a grid: import and export as two non-negative powers.

    .. math:: 0 \le P^\mathrm{in}_t \le P^{\mathrm{in},\max}, \qquad
        0 \le P^\mathrm{out}_t \le P^{\mathrm{out},\max}

    Where one limit is not stated, the balance of the bus implies one whenever everything else on
    the bus is limited: import cannot exceed all demands and the export together, export cannot
    exceed all supplies and the import. With ``exclusive_on`` a binary variable on that set keeps
    one of the two at zero, and the other one then no longer counts in these limits. With prices the
    connection declares what import costs and what export earns, the latter as a negative cost, and
    with a factor what import emits.
    """
    over = reader.exclusive_set()
    stated = {way: reader.optional(f"{way}_power_max") for way in ("import", "export")}
    alone = over is not None and over == reader.time
    others = {"import": stated["export"], "export": stated["import"]}
    limits = {
        way: most or _implied(reader, way, others[way], alone) for way, most in stated.items()
    }
    for way, words in (("import", "power drawn from {}"), ("export", "power fed into {}")):
        power = reader.variable(way, words, upper=limits[way], of=f"{way}_power_max")
        reader.terminal(power, limits[way], supplies=way == "import")
    for way, sign, meaning in (("import", "", "cost"), ("export", "-", "revenue, negative,")):
        if reader.given(f"{way}_price"):
            text = f"{sign}{reader.text(f'{way}_price')}*{reader.name}_{way}[t]*dt(t)"
            reader.expression(f"{way}_cost", text, meaning)
    if reader.given("emission_factor"):
        emitted = f"{reader.text('emission_factor')}*{reader.name}_import[t]"
        reader.expression("emissions", emitted, "carbon dioxide of import from {}")
    if over is None:
        return
    into, out = (most or _implied(reader, way, None, True) for way, most in stated.items())
    if into is None or out is None:
        raise reader.wrong("exclusive_on needs import_power_max and export_power_max")
    reader.exclusive(over, "importing", ("import", into), ("export", out))


def _implied(reader: Reader, way: str, other_way: str | None, alone: bool) -> str | None:
    """Return the limit that the balance implies for one direction, None when there is none.

    Supplies feed the export, demands the import. ``alone`` says that the other direction is at zero
    when this one is not.
    """
    bus = reader.connection("bus")
    if bus is None or (other_way is None and not alone):
        return None
    members = [t for t in reader.around.terminals if t.bus == bus]
    seen = set(reader.around.over.get(reader.name, ()))
    limits, floors = [], []
    for t in members:
        within = {*t.scenarios} <= seen
        if t.supplies != (way == "export"):
            floors += [t.floor] if t.floor is not None and within else []
        elif t.limit is None or not within:
            return None
        else:
            limits.append(t.limit)
    if not alone and other_way is not None:
        limits.append(other_way)
    # Never below 0: where the balance cannot be met at all, the balance is what should say so.
    return f"max({balance(limits, floors)}, 0[kW])"


def demand_response(reader: Reader) -> None:
    r"""Add events in which a grid's import has to fall, or is paid for falling, below a baseline.

    .. math:: 0 \le d_t \le B_t - P^{in}_t + P^{out}_t \;\text{ in events, else } d_t = 0, \qquad
        d_t \ge d^{\min}

    The connection ``grid`` names the component of model ``grid`` that is metered.
    """
    metered = reader.neighbour("grid", "grid", "it is connected to no grid").name
    event, baseline = reader.text("event"), reader.text("baseline")
    most = f"{event}*{reader.optional('reduction_max') or f'max({baseline}, 0[kW])'}"
    slots, where = "event reduction_max baseline", f"{event} > 0"
    fall = reader.variable("reduction", "reduction", upper=most, of=slots)
    text = f"{fall} <= {baseline} - {metered}_import[t] + {metered}_export[t]"
    words = "import below the baseline"
    reader.row("below_baseline", text, words, REQUIREMENT, where=where, of="baseline")
    if reader.given("reduction_min"):
        text, slot = f"{fall} >= {event}*{reader.text('reduction_min')}", "reduction_min"
        reader.row("least", text, "least reduction", REQUIREMENT, where=where, of=slot)
    if reader.given("reward"):
        text = f"-{reader.text('reward')}*{fall}*dt(t)"
        reader.expression("reward_cost", text, "reward, negative,")


# -- sources that the weather drives --------------------------------------------------------------


def generator_profile(reader: Reader) -> None:
    r"""Add a source that weather drives, as PV or wind.

    .. math:: 0 \le P_t \le P^\mathrm{available}_t, \qquad P^\mathrm{curtailed}_t =
        P^\mathrm{available}_t - P_t

    With the option ``curtailable: false`` all that is available has to be taken.
    """
    _delivered(reader, reader.text("available_power"))


def pv(reader: Reader) -> None:
    r"""Add a photovoltaic array: the power that weather makes available, less what is curtailed.

    .. math::
        T_c = T_a + \frac{G}{u_0 + u_1 v}, \qquad
        P_{dc} = P_{dc0}\,\frac{G}{1000}\,\max(0, 1 + \gamma (T_c - 25))(1 - L), \qquad
        0 \le P_t \le P_{ac}(P_{dc})

    The available power is a parameter that follows from the weather, so that a file of weather, a
    table and numbers in the text serve alike; the inverter's curve is that of PVWatts where it has
    a rating.
    """
    sun, air = reader.text("irradiance"), reader.text("air_temperature")
    cooled = f"{reader.text('heat_loss')} + {reader.text('heat_loss_by_wind')}"
    text = f"{air} + {sun}/({cooled}*{reader.text('wind_speed')})"
    slots = "irradiance air_temperature"
    cell = reader.derived("cell_temperature", "degC", text, "temperature of the cells", of=slots)
    change = f"{reader.text('temperature_coefficient')}*1[K]*({plain(cell)} - 25)"
    losses = reader.optional("losses") or repr(PVWATTS_LOSS)
    text = f"{reader.text('dc_capacity')}*{sun}/1000[W/m2]*max(0, 1 + {change})*(1 - {losses})"
    of = "irradiance dc_capacity"
    direct = reader.derived("dc_power", "kW", text, "power of the cells", of=of)
    nominal = reader.text("inverter_efficiency")
    text = f"{nominal}*{direct}"
    if reader.given("ac_capacity"):
        most = reader.text("ac_capacity")
        rating = f"{most}/{nominal}"
        curve = f"(0.9858 - 0.0162*{direct}/({rating}))*{direct} - 0.0059*{rating}"
        text = f"min(max(0[kW], {nominal}/0.9637*({curve})), {most})"
    words = "power by irradiance and temperature"
    of = f"{slots} wind_speed"
    _delivered(reader, reader.derived("available_power", "kW", text, words, of=of))


def wind_turbine(reader: Reader) -> None:
    r"""Add a wind turbine, or a farm of equal ones: the power that the wind makes available.

    .. math:: 0 \le P_t \le (1 - L)\,P\!\left(v_t (\rho_t/\rho_0)^{1/3}\right)
        \;\text{ for } v_{in} \le v_t \le v_{out}, \text{ else } 0

    with the power curve straight between its points, and the speed corrected by the density of air.
    """
    found, wind = tables(reader, "curve", ("speeds", "powers")), reader.text("wind_speed")
    speeds, powers = found.names
    low, high = (f"{speeds}[{end}({found.over})]" for end in ("first", "last"))
    corrected = wind
    if reader.given("air_density"):
        ratio = f"{reader.text('air_density')}/({reader.text('reference_density')})"
        corrected = f"{wind}*({ratio})**0.3333333333333333"
    # Off the curve after the correction the power at its end holds.
    made = f"piecewise(min(max({corrected}, {low}), {high}), {speeds}, {powers})"
    made = f"(1 - {reader.text('losses')})*{made}" if reader.given("losses") else made
    text = f"{made} if {low} <= {wind} <= {high} else 0[kW]"
    slots = "wind_speed speeds powers"
    words = "power by the wind"
    _delivered(reader, reader.derived("available_power", "kW", text, words, of=slots))


def _delivered(reader: Reader, available: str) -> None:
    """Add the power that is used of what is available [kW] in period ``t``."""
    power = f"{reader.name}_power[t]"
    value = reader.option("curtailable", reader.component.parameters.get("curtailable", True))
    found = yes_or_no(value)
    if found is None:
        raise reader.wrong("cannot read curtailable", repr(value), "true or false")
    if not found:
        reader.expression("power", available, "power")
        reader.terminal(power, available, supplies=True, floor=available)
        return
    reader.variable("power", "power that is used", upper=available, of="available_power")
    reader.expression("curtailed", f"{available} - {power}", "curtailed")
    reader.terminal(power, available, supplies=True)


# -- loads ----------------------------------------------------------------------------------------


def load(reader: Reader) -> None:
    """Add a demand that has to be met: its power is data and takes part in the bus's balance."""
    power = reader.text("power")
    served = reader.expression("power", power, "demand")
    reader.terminal(served, power, supplies=False, floor=power)


def curtailable_load(reader: Reader) -> None:
    r"""Add a demand of which a part may be left unserved, at a price.

    .. math:: P_t = D_t - s_t, \qquad 0 \le s_t \le \kappa_t D_t, \qquad
        \sum_t s_t \Delta t \le S
    """
    demand, share = reader.text("power"), reader.optional("curtailable_share")
    most, slots = f"{share}*{demand}" if share else demand, "power curtailable_share"
    unmet = reader.variable("unmet", "demand left unserved", upper=most, of=slots)
    served = reader.expression("power", f"{demand} - {unmet}", "demand that is served")
    if reader.given("unmet_energy_max"):
        text = f"sum({unmet}*dt(t) for t in {reader.time}) <= {reader.text('unmet_energy_max')}"
        words, of = "energy left unserved", "unmet_energy_max"
        reader.row("unmet_energy", text, words, REQUIREMENT, index=(), of=of)
    if reader.given("lost_load_value"):
        text = f"{reader.text('lost_load_value')}*{unmet}*dt(t)"
        reader.expression("unmet_cost", text, "cost of lost load")
    reader.terminal(served, demand, supplies=False)


def shiftable_load(reader: Reader) -> None:
    r"""Add a demand that may be served earlier or later, as a store of work done ahead.

    .. math::
        P_t = D_t + u_t - d_t, \qquad S_{t+1} = S_t + (u_t - d_t) \Delta t, \qquad
        -S^- \le S \le S^+, \quad S_0 = S_N = 0

    so that all of it is served within the horizon. With ``shift_hours`` what is moved is made up
    for within that time: :math:`S^\pm` then cannot stay away from zero longer.
    """
    demand, up, down = (reader.text(s) for s in ("power", "shift_up_max", "shift_down_max"))
    low, high = (reader.optional(s) for s in ("delayed_energy_max", "ahead_energy_max"))
    shifted, least = f"{reader.name}_shifted_energy", f"-{low}" if low else None
    net = f"({reader.name}_shift_up[t] - {reader.name}_shift_down[t])"
    reader.variable("shift_up", "rise", upper=up, of="shift_up_max")
    reader.variable("shift_down", "fall", upper=f"min({down}, {demand})", of="shift_down_max")
    words, slots = "energy ahead of its time", "ahead_energy_max delayed_energy_max"
    reader.variable("shifted_energy", words, lower=least, upper=high, of=slots)
    served = reader.expression("power", f"{demand} + {net}", "demand that is served")
    reader.row("dynamics", f"{shifted}[t+1] == {shifted}[t] + {net}*dt(t)", "energy balance")
    reader.row("initial", f"{shifted}[first({reader.instants})] == 0", "start", index=())
    end = f"{shifted}[last({reader.instants})] == 0"
    reader.row("all_served", end, "all is served", REQUIREMENT, index=())
    if reader.given("shift_hours"):
        _made_up(reader, reader.number("shift_hours"))
    reader.terminal(served, f"{demand} + {up}", supplies=False)


def _made_up(reader: Reader, within: float) -> None:
    """Add the rows by which a fall is made up for by rises within the hours around it."""
    ends = np.cumsum(reader.hours())
    starts = np.concatenate(([0.0], ends[:-1]))
    # A delay: all falls up to a time are made up for by rises that end within the hours after it.
    last = np.searchsorted(ends, ends + within + 1e-9, side="right") - 1
    first = np.searchsorted(starts, starts - within - 1e-9, side="left")
    until = reader.derived("until", "1", last, "last period in time", of="shift_hours")
    since = reader.derived("since", "1", first, "first period in time", of="shift_hours")
    rises, falls = (f"{reader.name}_shift_{way}[s]*dt(s)" for way in ("up", "down"))
    for suffix, sign, bound, words in (
        ("caught_up", "<=", until, "falls are made up for in time"),
        ("not_early", ">=", since, "rises come in time before falls"),
    ):
        over = f"for s in {reader.time} if pos(s) {sign}"
        text = f"sum({rises} {over} {bound}) >= sum({falls} {over} pos(t))"
        reader.row(suffix, text, words, REQUIREMENT)


def job(reader: Reader) -> None:
    r"""Add a job that runs once as a whole: a power for some hours, begun within a window.

    .. math:: \sum_t b_t = n, \qquad P_t = p \sum_{s:\,t - k < s \le t} b_s

    with the beginnings :math:`b` and the number :math:`k` of periods that it takes; jobs that are
    begun more than once do not overlap.
    """
    hours = reader.hours()
    step, horizon = hours[0], hours[0] * len(hours)
    duration = reader.number("duration")
    count = round(duration / step)
    uneven = not np.allclose(hours, step) or abs(duration / step - count) > 1e-6
    if uneven or count > len(hours):
        whole = f"whole periods of one length, {step:g} h, within the horizon"
        raise reader.wrong(f"its duration is {duration:g} h", expected=whole)
    early = reader.number("earliest") if reader.given("earliest") else 0.0
    late = reader.number("latest") if reader.given("latest") else horizon
    first = int(np.ceil(early / step - 1e-9))
    last = int(np.floor(late / step + 1e-9)) - count
    if last < first:
        wanted = f"a window of at least {duration:g} h"
        raise reader.wrong(f"it does not fit between {early:g} h and {late:g} h", expected=wanted)
    power, runs = reader.text("power"), reader.text("runs")
    begin = reader.variable("begin", "1 where it begins,", upper=1, kind="binary")
    begun = f"{reader.name}_begin[s] for s in {reader.time}"
    on = f"sum({begun} if pos(t) - {count} < pos(s) <= pos(t))"
    where = f"pos(t) < {first} or pos(t) > {min(last, len(hours) - count)}"
    of = "earliest latest"
    reader.row("window", f"{begin} == 0", "its window", REQUIREMENT, where=where, of=of)
    total = f"sum({begin} for t in {reader.time}) == {runs}"
    reader.row("done", total, "it is done", REQUIREMENT, index=(), of="runs")
    used = reader.expression("power", f"{power}*({on})", "power")
    if reader.given("runs"):
        reader.row("one_at_a_time", f"{on} <= 1", "one run at a time", OPERATION)
    reader.terminal(used, power, supplies=False)
