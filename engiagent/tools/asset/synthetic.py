r"""A chiller and an air handler with one known fault, from a seed: histories to try tools on.

The load follows day and weather; the chiller's COP is :math:`\eta\,T_c/(T_h - T_c)` with constant
approaches (a part of Carnot's), the mixed air a mean of outdoor and return air by the damper.
Faults begin after three fifths of the time: fouling lowers the COP by up to 15 %, a leaking valve
cools the supply by 2.5 K when closed, a sensor drifts by up to 3 K, a damper stops at 30 %.
"""

from typing import Final

import numpy as np

from engiagent.io.files import write_atomic
from engiagent.io.plainyaml import dump_yaml
from engiagent.study.economics.cashflow import Floats
from engiagent.tools.asset.history import HOUR, PACK, stamp_of
from engiagent.tools.modelling import plain
from engiagent.tools.places import files_below, new_folder, write_rows
from engiagent.tools.registry import Json, Outcome, State, shape, tool
from engiagent.tools.site.arguments import stated

GROUP: Final = "asset"
FAULTS: Final = ("condenser_fouling", "leaking_valve", "drifting_sensor", "stuck_damper", "none")
_START: Final = 1_767_571_200.0  # 2026-01-05T00:00, a Monday
_SHARE: Final = 0.6
_SENSORS: Final = (
    # name, asset, kind, what it measures, unit, noise, least, most
    ("ch1_cooling", "chiller-1", "chiller", "cooling", "kW", 2.0, 0, 600),
    ("ch1_power", "chiller-1", "chiller", "electric power", "kW", 0.5, 0, 200),
    ("ch1_supply", "chiller-1", "chiller", "chilled water temperature", "degC", 0.1, 2, 20),
    ("ahu1_mixed", "ahu-1", "ahu", "mixed temperature", "degC", 0.1, -20, 50),
    ("ahu1_supply", "ahu-1", "ahu", "supply temperature", "degC", 0.1, 0, 50),
    ("ahu1_return", "ahu-1", "ahu", "return temperature", "degC", 0.1, 10, 40),
    ("ahu1_damper", "ahu-1", "ahu", "damper command", "1", 0.0, 0, 1),
    ("ahu1_valve", "ahu-1", "ahu", "cooling valve command", "1", 0.0, 0, 1),
    ("outdoor", "weather", "weather", "outdoor temperature", "degC", 0.1, -30, 50),
)


def simulated(seed: int, days: int, fault: str) -> tuple[dict[str, Floats], float]:
    """Return by hour what all sensors show, and by what the chiller's COP is multiplied at last."""
    rng = np.random.default_rng(seed)
    hours = np.arange(24 * days)
    clock, weekday = hours % 24, hours // 24 % 7 < 5
    weather = np.repeat(np.convolve(rng.normal(size=days + 4), np.ones(5), "valid"), 24)
    outdoor = 22 + 1.2 * weather + 5 * np.sin((clock - 9) / 12 * np.pi)
    busy = np.where(weekday & (clock >= 7) & (clock < 19), 1.0, 0.35)
    cooling = np.clip(60 + 120 * busy + 9 * (outdoor - 18), 30, 550)
    since = np.clip((hours / (24 * days) - _SHARE) / (1 - _SHARE), 0, 1)
    began = hours >= _SHARE * 24 * days

    supply = np.full(len(hours), 7.0)
    cold, warm = supply + 273.15 - 2, outdoor + 273.15 + 8
    efficiency = np.ones(len(hours))
    if fault == "condenser_fouling":
        efficiency = 1 - 0.15 * since
    power = cooling / (0.5 * cold / (warm - cold) * efficiency)

    returned = 23.5 + 0.5 * busy
    damper = np.clip(1 - np.abs(outdoor - 16) / 12, 0.2, 1.0)
    position = np.where(began & (fault == "stuck_damper"), 0.3, damper)
    mixed = position * outdoor + (1 - position) * returned
    valve = np.clip((mixed - 15.0) / 12, 0, 1) * (busy > 0.5)
    leak = np.where(began & (fault == "leaking_valve"), 2.5, 0.0)
    handled = mixed - valve * 12 - leak * (valve < 0.2)
    shown = {
        **{"ch1_cooling": cooling, "ch1_power": power, "ch1_supply": supply},
        "ahu1_mixed": mixed + 3 * since * (fault == "drifting_sensor"),
        **{"ahu1_supply": handled, "ahu1_return": returned, "ahu1_damper": damper},
        **{"ahu1_valve": valve, "outdoor": outdoor},
    }
    noise = {name: rng.normal(size=len(hours)) * line for name, *_, line, _, _ in _SENSORS}
    return {name: values + noise[name] for name, values in shown.items()}, float(efficiency[-1])


@tool(
    "write",
    *stated("synthetic", pack=PACK),
    returns=shape("folder: text; files: list of text; truth: object"),
    repeatable=False,
)
def asset_synthetic(state: State, given: Json) -> Outcome:
    """Make a plant with a known fault from a seed: register, hourly histories, and the truth."""
    seed, days = given["seed"], given["days"]
    drawn = FAULTS[int(np.random.default_rng([seed, 1]).integers(4))]
    fault = given.get("fault", drawn)
    found, factor = simulated(seed, days, fault)
    begin = None if fault == "none" else stamp_of(_START + round(_SHARE * days * 24) * HOUR)
    truth: Json = {"fault": fault.replace("_", " "), "begins": begin, "seed": seed}
    truth["cop_factor_at_end"] = factor
    truth["asset"] = None if fault == "none" else "chiller-1" if "foul" in fault else "ahu-1"
    with new_folder(state.root, given["folder"]) as folder:
        data = f"{given['folder']}/history.csv"
        head = ["time", *(f"{line[0]} [{line[4]}]" for line in _SENSORS)]
        stamps = [stamp_of(_START + k * HOUR) for k in range(24 * days)]
        rows = zip(stamps, *(found[line[0]].round(4).tolist() for line in _SENSORS), strict=True)
        write_rows(folder, "history.csv", head, rows)
        names = ("site", "asset", "kind", "sensor", "measures", "unit", "data", "least", "most")
        lines = (
            ("campus", asset, kind, name, measures, unit, f"{data}#{name}", low, high)
            for name, asset, kind, measures, unit, _, low, high in _SENSORS
        )
        write_rows(folder, "sensors.csv", names, lines)
        write_atomic(folder / "truth.yaml", dump_yaml(truth))
    files = files_below(state.root, given["folder"])
    content = {"folder": given["folder"], "files": list(files), "truth": truth}
    return Outcome(plain(content), {}, files)
