"""Modes of cooling in a blueprint: which one is used, what it draws, what a change costs."""

import math
from dataclasses import replace

from engiagent.agents.offline.plant.cold.modes import Mode, Modes
from engiagent.agents.offline.plant.system import LOGIC, PHYSICS, System, weather_series
from engiagent.agents.offline.plant.units import Plant
from engiagent.agents.offline.results import Missing
from engiagent.agents.offline.storage import constrain

_MACHINES = frozenset({"chiller", "cooling_load"})
_OTHER = frozenset(
    ["cold_store", "heat_store", "heat_pump", "zone", "heat_load", "boiler", "genset", "chp",
     "electric_heater", "absorption_chiller", "vehicle"]
)  # fmt: skip
_MINUTES = {"hour": 60.0, "half hour": 30.0, "quarter hour": 15.0}


def without_machines(plant: Plant, modes: Modes | None) -> Plant:
    """Leave out the machines that the modes stand for."""
    if modes is None:
        return plant
    kept = tuple(i for i in plant.instances if i.unit.component not in _MACHINES)
    return replace(plant, instances=kept)


def add_modes(system: System) -> None:
    """Add the choice of a mode in every period, its power, and the rules for changes."""
    modes = system.reader.modes
    if modes is None:
        return
    builder, draft = system.builder, system.builder.draft
    if system.plant_has(*_OTHER):
        draft.doubt(modes.line, "modes of cooling beside stores, rooms or heat")
    minutes = _MINUTES.get(modes.step, builder.axis.step_minutes)
    if minutes != builder.axis.step_minutes:
        draft.doubt(modes.line, "a mode for each hour, with other steps")
    powers = []
    for mode in modes.modes:
        builder.variables.append(
            {"name": _on(mode), "index": ["t in T"], "type": "binary", "unit": "1",
             "quantity": f"plant.{mode.name}", "role": "decision",
             "description": f"1 where the mode is {mode.name}"}
        )  # fmt: skip
        power = builder.value(f"{mode.name}_power", mode.power, f"power in the mode {mode.name}")
        powers.append(power)
        _weathered(system, modes, mode)
    total = " + ".join(f"{_on(mode)}[t]" for mode in modes.modes)
    system.row("one mode at a time", f"{total} == 1", LOGIC, modes.line)
    drawn = " + ".join(f"{p}*{_on(m)}[t]" for p, m in zip(powers, modes.modes, strict=True))
    most = None
    if system.plant_has("grid"):
        most = builder.derived(
            "modes_power_most", " + ".join(powers), "kW", "more than any mode takes", powers
        )
    system.demand("electricity", drawn, most)
    _changes(system, modes)


def _on(mode: Mode) -> str:
    return f"mode_{mode.name}"


def _weathered(system: System, modes: Modes, mode: Mode) -> None:
    """Allow a mode in weather that is cold enough only."""
    builder = system.builder
    if mode.limit is None:
        return
    weather = weather_series(system, modes.measure)
    limit = builder.value(f"{mode.name}_limit", mode.limit, f"limit of the mode {mode.name}")
    if weather is None:
        builder.missing(
            f"{modes.measure}_temperature", "degC", "temperature of the weather",
            Missing("weather", modes.measure, f"the {modes.measure.replace('_', ' ')} temperature "
                    "that limits a mode is not given"), True,
        )  # fmt: skip
        return
    inputs, sign = [weather, limit], "<" if mode.strict else "<="
    warmest = f"{weather}[t]"
    if modes.wanted:
        inputs.append(_approach(system, modes))
        warmest += f" + {inputs[-1]}"
    known = next(p["unit"] for p in builder.parameters if p["name"] == weather)
    if modes.wanted or known != mode.limit.unit:
        # 45 °F and an approach of 9 °F are the 54 °F of a limit, whatever rounding makes of them.
        inputs.append(
            builder.assumed("rounding", 1e-9, "K", "rounding of temperatures",
                            "temperatures are equal that differ by rounding")
        )  # fmt: skip
        limit += f" {'-' if mode.strict else '+'} {inputs[-1]}"
    text = f"{warmest} {sign} {limit}"
    allowed = builder.derived(
        f"{mode.name}_allowed", f"1 if {text} else 0", "1",
        f"1 where the weather allows the mode {mode.name}", inputs, series=True,
        note="by the temperature of the same period",
    )  # fmt: skip
    line = modes.line if modes.allowed is None else modes.allowed
    system.row(f"weather for the mode {mode.name}", f"{_on(mode)}[t] <= {allowed}[t]", PHYSICS,
               line)  # fmt: skip


def _approach(system: System, modes: Modes) -> str:
    builder = system.builder
    if modes.approach is not None:
        return builder.value("approach", modes.approach.value, "approach of the cooling water")
    return builder.missing(
        "approach", "K", "approach of the cooling water",
        Missing("tower", "approach", "the approach, by which the water stays warmer than the "
                "weather, is not given"),
    )  # fmt: skip


def _changes(system: System, modes: Modes) -> None:
    """Add what a change costs, how long a mode is kept, and how often it may be entered."""
    builder = system.builder
    if modes.hold is None and modes.change is None and modes.swaps is None:
        return
    _opening(system, modes)
    for mode in modes.modes:
        on, entered = _on(mode), f"{_on(mode)}_entered"
        builder.variables.append(
            {"name": entered, "index": ["t in T"], "type": "continuous", "lower": 0, "upper": 1,
             "unit": "1", "quantity": f"plant.{mode.name}_entered", "role": "auxiliary",
             "description": f"1 where the mode {mode.name} is entered"}
        )  # fmt: skip
        rule = modes.change or modes.hold
        line = rule.line if rule is not None else (modes.swaps or (0, 0))[1]
        system.row(f"the mode {mode.name} is entered", f"{entered}[t] >= {on}[t] - {on}[t-1]",
                   LOGIC, line, where="t != first(T)")  # fmt: skip
        if modes.swaps is not None:
            count, where = modes.swaps
            constrain(builder, f"changes to {mode.name}",
                      f"sum({entered}[t] for t in T if t != first(T)) <= {count}", LOGIC,
                      where)  # fmt: skip
    if modes.hold is not None:
        _held(system, modes)
    if modes.change is not None:
        cost = builder.value("change_cost", modes.change.value, "cost of a change of mode")
        total = " + ".join(f"{_on(m)}_entered[t]" for m in modes.modes)
        system.costs.append(("+", f"sum({cost}*({total}) for t in T if t != first(T))"))


def _held(system: System, modes: Modes) -> None:
    """Keep a mode for its least time once it is entered, at the start of the plan as well."""
    assert modes.hold is not None
    builder = system.builder
    hold = builder.value("mode_hold", modes.hold.value, "least time in a mode")
    for mode in modes.modes:
        on = _on(mode)
        entered = f"{on}_entered"
        system.row(
            f"least time in the mode {mode.name}",
            f"sum({entered}[s] for s in T if s != first(T) and pos(s) <= pos(t) and "
            f"(pos(t) - pos(s))*dt(t) < {hold}) <= {on}[t]", LOGIC, modes.hold.line,
        )  # fmt: skip
        system.row(
            f"least time in the mode {mode.name} from the start",
            f"{on}[first(T)] <= {on}[t]", LOGIC, modes.hold.line,
            where=f"pos(t)*dt(t) < {hold}",
        )  # fmt: skip
    builder.draft.assume("the end of the plan may cut the least time in a mode")


def _opening(system: System, modes: Modes) -> None:
    """Report modes whose changes count where it is not said which one may come first."""
    builder, axis = system.builder, system.builder.axis
    if modes.opening is None:
        if modes.hold is not None or modes.change is not None:
            builder.draft.doubt(modes.line, "which mode is in use before the first period?")
        else:
            builder.draft.assume("the first period may be in any mode")
        return
    if not math.isnan(modes.opening) and abs(modes.opening % 24 - axis.start_clock) > 1e-9:
        builder.draft.doubt(modes.line, "any mode may be entered at a time that is not the start")
