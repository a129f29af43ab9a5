"""Faults of synthetic plants, found by the public tools from their histories alone.

Each seed is a plant with a fault of a drawn kind and size, and once more without a fault; the tools
see the register and the histories, never the truth. The first half of the record is stated as
sound, the last 14 days are judged. A fault is detected where its own asset raises an alarm. Rates
have Clopper-Pearson intervals of 95 %. Of a chiller that is found fouled, ``asset_drift`` says by
how much, and ``asset_derate`` plans a plant with that.

    python benchmarks/asset_faults.py --plants 100 --json
"""

import argparse
import json
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import binomtest

from engiagent.tools import Session
from engiagent.tools.asset.synthetic import SIZES, simulated

DAYS, JUDGED = 100, 14
RATE = 0.05
LAST, RECENT = "2026-02-23T23:00", "2026-04-01"
REGISTER = {"sensors": "plant/sensors.csv"}
DRIVERS = ["ch1_cooling", "outdoor"]
MODES = {
    "condenser_fouling": ("chiller-1", "condenser fouling"),
    "leaking_valve": ("ahu-1", "leaking cooling valve"),
    "drifting_sensor": ("ahu-1", "drifting sensor"),
    "stuck_damper": ("ahu-1", "stuck damper"),
}
"""What the table of failure modes calls the faults of the plants."""
PLANT = """title: Cooling plant
horizon: {start: 2026-06-01T00:00, step: 6 h, periods: 4}
components:
  grid: {model: grid, bus: site, import_power_max: 200 kW,
         import_price: [0.20 EUR/kWh, 0.15 EUR/kWh, 0.12 EUR/kWh, 0.45 EUR/kWh]}
  demand: {model: load, bus: cold, power: [60 kW, 130 kW, 160 kW, 90 kW]}
  chiller: {model: chiller, bus: site, cooling_bus: cold, rated_capacity: 300 kW, rated_cop: 5}
  ice: {model: ice_tank, cooling_bus: cold, energy_capacity: 900 kWh, initial_energy: 900 kWh,
        charge_power_max: 250 kW, discharge_power_max: 250 kW}
requirements: {full: "ice.energy[end] >= 900 kWh"}
goal: {minimize: cost}
"""


def called(session: Session, tool: str, **given: Any) -> dict[str, Any]:
    """Return the answer of a tool."""
    seen = session.call(tool, given)
    if seen.status != "done":
        raise RuntimeError(f"{tool}: {seen.content}")
    return dict(seen.content)


def diagnosed(seed: int, fault: str | None) -> dict[str, Any]:
    """Return what the tools find in the histories of a plant, beside what is true."""
    with tempfile.TemporaryDirectory() as folder:
        session = Session(Path(folder))
        given = {} if fault is None else {"fault": fault}
        called(session, "asset_synthetic", seed=seed, days=DAYS, folder="plant", **given)
        about = {**REGISTER, "reference_last": LAST, "recent_first": RECENT}
        found = called(session, "fmsr_diagnose", **about, drivers=DRIVERS, rate=RATE)
        named = [(c["asset"], c["mode"]) for c in found["candidates"]]
        alarms = [a["asset"] for a in found["assets"] if a["alarm"]]
        row: dict[str, Any] = {"alarms": alarms, "named": named[:2]}
        if named[:1] == [MODES["condenser_fouling"]]:
            row |= consequence(session, Path(folder), about)
    made = simulated(seed, DAYS, fault)  # the truth, after all calls
    row |= {"seed": seed, "fault": made.fault, "size": round(made.size, 4)}
    row["cop"] = round(float(np.exp(np.log(made.cop[-24 * JUDGED :]).mean())), 4)
    place = named.index(MODES[made.fault]) + 1 if MODES.get(made.fault) in named else None
    return {**row, "place": place}


def consequence(session: Session, folder: Path, about: dict[str, Any]) -> dict[str, Any]:
    """Return the factor of the COP, and the verdicts of plans with it."""
    sensors = {"output": "ch1_cooling", "input": "ch1_power", "drivers": DRIVERS}
    drift = called(session, "asset_drift", **about, **sensors, level=0.95)
    (folder / "site.yaml").write_text(PLANT, "utf-8")
    ends = {name: round(drift[name], 4) for name in ("factor", "least", "most")}
    cost = called(session, "asset_derate", plant="site.yaml", slot="chiller.rated_cop", **ends)
    cases = [cost[name]["verdict"] for name in ("sound", "derated", "at_least", "at_most")]
    return {"factor": ends, "verdicts": cases, "loss_by_day": round(cost["loss_by_day"], 4)}


def share(hits: Sequence[bool]) -> dict[str, Any]:
    """Return a share with its interval."""
    if not hits:
        return {"hits": 0, "of": 0, "share": None, "interval": None}
    found = binomtest(sum(hits), len(hits)).proportion_ci(0.95)
    ends = [round(float(end), 4) for end in (found.low, found.high)]
    return {"hits": sum(hits), "of": len(hits), "share": sum(hits) / len(hits), "interval": ends}


def summary(rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return the rates of all plants and by kind of fault."""
    found: dict[str, Any] = {}
    sound = [row for row in rows if row["fault"] == "none"]
    found["false_alarm"] = share([bool(row["alarms"]) for row in sound])
    for kind in ("all", *MODES):
        own = [r for r in rows if r["fault"] in ((kind,) if kind != "all" else tuple(MODES))]
        found[kind] = {
            "detected": share([MODES[row["fault"]][0] in row["alarms"] for row in own]),
            "first": share([row["place"] == 1 for row in own]),
            "first_two": share([row["place"] in (1, 2) for row in own]),
        }
    planned = [row for row in rows if "verdicts" in row and row["fault"] == "condenser_fouling"]
    found["planned"] = share([set(row["verdicts"]) == {"certified"} for row in planned])
    ends = [(row["factor"]["least"], row["cop"], row["factor"]["most"]) for row in planned]
    found["factor_in_interval"] = share([low <= true <= high for low, true, high in ends])
    errors = [abs(row["factor"]["factor"] - row["cop"]) for row in planned]
    found["factor_error"] = float(np.median(errors)) if errors else None
    return found


def main() -> None:
    """Diagnose plants with and without faults; print rates."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--plants", type=int, default=100, help="how many seeds")
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--quick", action="store_true", help="eight seeds")
    parser.add_argument("--json", action="store_true", help="one JSON object")
    given = parser.parse_args()
    seeds = range(given.first, given.first + (8 if given.quick else given.plants))
    rows = [diagnosed(seed, fault) for seed in seeds for fault in (None, "none")]
    found = summary(rows)
    if given.json:
        about = {"days": DAYS, "rate": RATE, "sizes": {k: list(v) for k, v in SIZES.items()}}
        lines = ",\n".join(json.dumps(row) for row in rows)
        print(f'{{"summary": {json.dumps({**about, **found}, indent=1)},\n"rows": [\n{lines}]}}')
        return

    def said(part: dict[str, Any]) -> str:
        if not part["of"]:
            return "none"
        low, high = part["interval"]
        return f"{part['hits']}/{part['of']} = {part['share']:.0%} ({low:.0%} to {high:.0%})"

    print(f"false alarms, stated {RATE:g}: {said(found['false_alarm'])}")
    for kind in ("all", *MODES):
        parts = ", ".join(f"{name} {said(part)}" for name, part in found[kind].items())
        print(f"{kind}: {parts}")
    print(f"plans of fouled chillers certified: {said(found['planned'])}")
    print(f"true factor in its interval: {said(found['factor_in_interval'])}")
    print(f"median error of the factor: {found['factor_error']}")


if __name__ == "__main__":
    main()
