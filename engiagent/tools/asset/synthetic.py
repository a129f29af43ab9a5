r"""A chiller and an air handler with one known fault, from a seed: histories to try tools on.

Each seed draws a plant: the share of Carnot's COP :math:`\eta\,T_c/(T_h - T_c)`, the condenser's
approach, the damper's curve and leakage, the coil, the fan's heat, offsets of sensors, the season.
What no sensor explains wanders by days (2 % of the COP, 0.3 K of air), and one reading in 500 is
-999. A fault begins after five to seven tenths of the time, with a size from its range: fouling and
drift grow until the end, leak and damper are at once what they are.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np

from engiagent.io.files import write_atomic
from engiagent.io.plainyaml import dump_yaml
from engiagent.study.economics.cashflow import Floats
from engiagent.tools.asset.history import HOUR, asset_tool, stamp_of
from engiagent.tools.asset.modes import lines
from engiagent.tools.modelling import plain
from engiagent.tools.places import files_below, new_folder, write_rows
from engiagent.tools.registry import Json, Outcome, State

SIZES: Final = {
    "condenser_fouling": (0.02, 0.25),  # share of the COP that is lost at the end
    "leaking_valve": (0.02, 0.35),  # share of the full flow that passes a closed valve
    "drifting_sensor": (0.2, 4.0),  # K that the mixed temperature reads too high or low at the end
    "stuck_damper": (0.0, 1.0),  # position in which it stays
    "none": (0.0, 0.0),
}
_START: Final = 1_767_571_200.0  # 2026-01-05T00:00, a Monday


@dataclass(frozen=True, eq=False)
class Made:
    """What sensors show by hour, and the truth."""

    shown: dict[str, Floats]  # by sensor
    fault: str
    begins: int  # hour
    size: float  # within the range of the fault
    cop: Floats  # what the chiller's COP is multiplied by


def simulated(
    seed: int, days: int, fault: str | None = None, severity: float | None = None
) -> Made:
    """Return a plant; ``severity``: place within the range of the fault's size, drawn without."""
    draw = np.random.default_rng([seed, 1])
    drawn = list(SIZES)[int(draw.integers(4))]
    fault, begin = fault or drawn, draw.uniform(0.5, 0.7)
    place, sign = draw.uniform() if severity is None else severity, float(draw.choice([-1, 1]))
    size = float(np.interp(place, (0, 1), SIZES[fault])) * (sign if "drift" in fault else 1.0)

    rng = np.random.default_rng(seed)
    hours = np.arange(24 * days)
    clock, weekday = hours % 24, hours // 24 % 7 < 5
    wander = np.repeat([_smooth(rng, days) for _ in range(3)], 24, axis=1)
    (share, full, least, curve, heat, coil, bias) = rng.uniform(
        (0.45, 2, 0.0, 0.7, 0.3, 0.8, -0.3), (0.55, 4, 0.15, 1.5, 1.0, 1.25, 0.3)
    )
    outdoor = 21 + 3 * np.sin(2 * np.pi * hours / 8760) + 2.7 * wander[0]
    outdoor += 5 * np.sin((clock - 9) / 12 * np.pi)
    busy = np.where(weekday & (clock >= 7) & (clock < 19), 1.0, 0.35)
    cooling = np.clip(60 + 120 * busy + 9 * (outdoor - 18), 30, 550)
    since = np.clip((hours / (24 * days) - begin) / (1 - begin), 0, 1)
    began = hours >= begin * 24 * days

    supply = np.full(len(hours), 7.0)
    cold, warm = supply + 273.15 - 2, outdoor + 273.15 + 8
    part = cooling / 350
    cop = 1 - size * since * (fault == "condenser_fouling")
    efficiency = share * (1 - 0.15 * (1 - part) ** 2) * (1 + 0.02 * wander[1]) * cop
    power = cooling / (cold / (warm - cold) * efficiency)

    returned = 23.5 + 0.5 * busy
    damper = np.clip(1 - np.abs(outdoor - 16) / 12, 0.2, 1.0)
    position = np.where(began & (fault == "stuck_damper"), size, damper)
    fraction = least + (1 - least) * position**curve
    mixed = fraction * outdoor + (1 - fraction) * returned + 0.3 * wander[2]
    valve = np.clip((mixed - 15.0) / 12, 0, 1) * (busy > 0.5)
    leak = size * (began & (fault == "leaking_valve"))
    handled = mixed + heat - (leak + (1 - leak) * valve**coil) * 0.7 * (mixed - 6)
    shown = {
        **{"ch1_cooling": cooling, "ch1_power": power, "ch1_supply": supply},
        "ch1_approach": full * part**0.9 * (1 + 4 * (1 - cop)),
        "ahu1_mixed": mixed + bias + size * since * (fault == "drifting_sensor"),
        **{"ahu1_supply": handled, "ahu1_return": returned, "ahu1_damper": damper},
        **{"ahu1_valve": valve, "outdoor": outdoor},
    }
    for sensor in lines("synthetic.csv"):
        values = shown[sensor["sensor"]] + float(sensor["noise"]) * rng.normal(size=len(hours))
        shown[sensor["sensor"]] = np.where(rng.random(len(hours)) < 0.002, -999, values)
    return Made(shown, fault, int(np.argmax(began)), size, cop)


def _smooth(rng: np.random.Generator, days: int) -> Floats:
    """Return a deviation of 1 by day that lasts about five days."""
    return np.asarray(np.convolve(rng.normal(size=days + 4), np.ones(5), "valid") / np.sqrt(5))


@asset_tool(
    "synthetic", "folder: text; files: list of text; truth: object", access="write", outside=False
)
def asset_synthetic(state: State, given: Json) -> Outcome:
    """Make a plant with a known fault from a seed: register, hourly histories, and the truth."""
    made = simulated(given["seed"], given["days"], given.get("fault"), given.get("severity"))
    fault, sound = made.fault, made.fault == "none"
    truth: Json = {"fault": fault.replace("_", " "), "size": made.size, "seed": given["seed"]}
    truth["begins"] = None if sound else stamp_of(_START + made.begins * HOUR)
    truth["asset"] = None if sound else "chiller-1" if "foul" in fault else "ahu-1"
    truth["cop_factor_at_end"] = float(made.cop[-1])
    with new_folder(state.root, given["folder"]) as folder:
        sensors, data = lines("synthetic.csv"), f"{given['folder']}/history.csv"
        head = ["time", *(f"{s['sensor']} [{s['unit']}]" for s in sensors)]
        stamps = [stamp_of(_START + k * HOUR) for k in range(24 * given["days"])]
        columns = (made.shown[s["sensor"]].round(4).tolist() for s in sensors)
        write_rows(folder, "history.csv", head, zip(stamps, *columns, strict=True))
        rows = [[*s.values(), f"{data}#{s['sensor']}", "campus"] for s in sensors]
        write_rows(folder, "sensors.csv", [*sensors[0], "data", "site"], rows)
        write_atomic(folder / "truth.yaml", dump_yaml(truth))
    files = files_below(state.root, given["folder"])
    content = {"folder": given["folder"], "files": list(files), "truth": truth}
    return Outcome(plain(content), {}, files)
