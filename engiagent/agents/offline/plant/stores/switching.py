"""Stores whose converter switches: a least power, what it takes while it runs, costs of a start."""

from collections.abc import Mapping

from engiagent.agents.offline.draft import Json, Reading
from engiagent.agents.offline.plant.system import CAPACITY, LOGIC, System
from engiagent.agents.offline.plant.units import Instance

_SLOTS = ("switch_min_power", "switch_start_cost", "switch_auxiliary")


def add_switching(
    system: System, instance: Instance, readings: Mapping[str, list[Reading]]
) -> None:
    """Add the states of a converter where a text gives it a least power, or costs of running."""
    found = {slot: readings[slot][0] for slot in _SLOTS if slot in readings}
    if not found:
        return
    builder, name = system.builder, instance.name
    line = next(iter(found.values())).line
    for way, said in (("taking", "charging"), ("giving", "discharging")):
        entry: Json = {
            "name": f"{name}_{way}", "index": ["t in T"], "type": "binary", "unit": "1",
            "quantity": f"{name}.{way}", "role": "decision", "description": f"1 while {said}",
        }  # fmt: skip
        builder.variables.append(entry)
    charging, discharging = f"{name}_taking[t]", f"{name}_giving[t]"
    system.row("one direction at a time", f"{charging} + {discharging} <= 1", LOGIC, line)
    filled = system.filled[name]
    least = found.get("switch_min_power")
    made = None if least is None else builder.value(
        f"{name}_min_power", least.value, least.slot.said)  # fmt: skip
    for flow, state in (("charge", charging), ("discharge", discharging)):
        most = builder.at(filled[f"{flow}_power_max"])
        system.row(f"{flow} while it runs", f"{name}_{flow}[t] <= {most}*{state}", CAPACITY, line)
        if made is not None:
            text = f"{name}_{flow}[t] >= {made}*{state}"
            system.row(f"least {flow} power", text, CAPACITY, least.line if least else line)
    own = found.get("switch_auxiliary")
    if own is not None:
        taken = builder.value(f"{name}_auxiliary", own.value, own.slot.said)
        system.demand("electricity", f"{taken}*({charging} + {discharging})", taken)
    if "switch_start_cost" in found:
        _starts(system, instance, found["switch_start_cost"])


def _starts(system: System, instance: Instance, cost: Reading) -> None:
    """Add what a start costs; the state before the first period has to be known."""
    builder, name = system.builder, instance.name
    off = system.said("units_off", name, instance.unit.component) is not None
    on = system.said("units_on", name, instance.unit.component) is not None
    if off is on:
        builder.draft.doubt(cost.line, f"{name}: whether it runs before the first period?")
    builder.variables.append({
        "name": f"{name}_started", "index": ["t in T"], "type": "continuous", "lower": 0,
        "upper": 1, "unit": "1", "quantity": f"{name}.started", "role": "auxiliary",
        "description": "1 where it goes from standstill to running",
    })  # fmt: skip
    before = 1 if on else 0
    now = f"{name}_taking[t] + {name}_giving[t]"
    earlier = f"prev({name}_taking[t], {before}) - prev({name}_giving[t], 0)"
    system.row("starts", f"{name}_started[t] >= {now} - {earlier}", LOGIC, cost.line)
    made = builder.value(f"{name}_start_cost", cost.value, cost.slot.said)
    system.costs.append(("+", f"sum({made}*{name}_started[t] for t in T)"))
