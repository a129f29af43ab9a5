"""A year of a building of ten zones with heat pump, sun and a battery, in steps of 15 min.

The weather is a sine of the year and of the day, so that no file is needed; a thermostat of each
zone and the rule of self-consumption act. What is timed is the run on its core,
not what reads the plant.

    python benchmarks/environment.py --json
"""

import argparse
import json
from itertools import pairwise
from time import process_time
from typing import Any

import numpy as np

from engiagent import Site
from engiagent.environment.controllers import joined, ruled
from engiagent.environment.environment import Environment

ZONES = 10
HOURS = 8760


def site() -> Site:
    """Return ten rooms in a row, each between its neighbours and the air outside."""
    hour = np.arange(HOURS)
    outside = 9.0 - 10.0 * np.cos(2 * np.pi * hour / HOURS) - 4.0 * np.cos(2 * np.pi * hour / 24)
    sun = np.maximum(-np.cos(2 * np.pi * hour / 24), 0.0) * (
        1.0 - 0.5 * np.cos(hour / HOURS * 6.28)
    )
    made = Site("2026-01-01", "1 h", HOURS)
    made.add("grid", "grid", bus="power", import_price=0.3, export_price=0.08)
    made.add("plugs", "load", bus="power", power=2.0 + np.sin(hour / 24 * 6.28) ** 2)
    made.add("roof", "generator_profile", bus="power", available_power=10.0 * sun)
    store: Any = {"charge_power_max": "10 kW", "discharge_power_max": "10 kW"}
    store |= {"charge_efficiency": 0.95, "discharge_efficiency": 0.95, "initial_energy": "50 %"}
    made.add("battery", "battery", bus="power", energy_capacity="20 kWh", **store)
    made.add(
        "pump",
        "heat_pump",
        bus="power",
        heat_bus="heat",
        rated_capacity="40 kW",
        carnot_fraction=0.45,
        source_temperature=outside,
        sink_temperature="40 degC",
    )
    rooms = [f"room{k}" for k in range(ZONES)]
    links = {
        f"wall{k}": {"one": "outside", "other": room, "resistance": f"{8 + k % 3}[K/kW]"}
        for k, room in enumerate(rooms)
    } | {
        f"door{k}": {"one": one, "other": other, "resistance": "8[K/kW]"}
        for k, (one, other) in enumerate(pairwise(rooms))
    }
    made.add(
        "building",
        "rc_network",
        heat_bus="heat",
        nodes={r: {"capacity": "2[kWh/K]", "initial_temperature": "20[degC]"} for r in rooms},
        links=links,
        boundaries={"outside": made.parameter("outside", outside, "degC")},
        heated=dict.fromkeys(rooms, "5[kW]"),
        comfort={room: {"low": "20[degC]", "high": "22[degC]"} for room in rooms},
    )
    made.minimise_cost()
    return made


def main() -> None:
    """Run the year once and say how long it took."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--step", type=float, default=900.0, help="length of a step [s]")
    parser.add_argument("--json", action="store_true", help="one JSON object instead of lines")
    options = parser.parse_args()
    begun = process_time()
    plant = Environment(site().blueprint())
    rules = joined(ruled("thermostat", plant), ruled("self-consumption", plant))
    read = process_time() - begun
    begun = process_time()
    data = plant.run(rules, seconds=options.step)
    taken = process_time() - begun
    row = {
        "steps": int(data.sizes["time"]),
        "modules": len(plant.built.modules),
        "read_s": read,
        "run_s": taken,
        "step_us": 1e6 * taken / data.sizes["time"],
        "energy_imbalance": plant.imbalance,
        "coldest": min(
            float(data[f"building.room{k}.temperature"].values.min()) for k in range(ZONES)
        ),
        "import_kwh": float(data["grid.import"].values.sum()) * options.step / 3600.0,
    }
    if options.json:
        print(json.dumps({"rows": [row]}))
        return
    for name, value in row.items():
        print(f"{name:17} {value:12.6g}")


if __name__ == "__main__":
    main()
