# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # What does a fouled condenser cost, and when is it repaired?
#
# A chiller whose condenser fouls, made from a seed so that the truth is known. With a register of your own
# sensors, leave out the first cell.

# %%
from pathlib import Path
from tempfile import mkdtemp

from engiagent import Site
from engiagent.tools import Session

root = Path(mkdtemp())
session = Session(root)


def call(tool, **given):
    seen = session.call(tool, given)
    assert seen.status == "done", seen.content
    return seen.content


given = {"fault": "condenser_fouling", "severity": 0.6}
truth = call("asset_synthetic", seed=3, days=100, **given, folder="campus")
print(truth["truth"])

# %% [markdown]
# Is what the sensors show possible at all?

# %%
register = {"sensors": "campus/sensors.csv"}
quality = call("iot_quality", **register, stuck=6)
print(quality["readings"], quality["used"], quality["not_judged"])

# %% [markdown]
# What has failed? All was sound until the end of February; what the sensors show must fit the failure.

# %%
since = {"reference_last": "2026-02-23", "recent_first": "2026-04-01"}
drivers = ["ch1_cooling", "outdoor"]
found = call("fmsr_diagnose", **register, **since, drivers=drivers, rate=0.05)
for mode in found["candidates"][:2]:
    print(mode["asset"], mode["mode"], f"explains {mode['explains']:.0%}", mode["seen"])
assert found["candidates"][0]["mode"] == "condenser fouling"

# %% [markdown]
# By how much, for the same load and weather?

# %%
drift = call(
    "asset_drift", **register, output="ch1_cooling", input="ch1_power", drivers=drivers, **since
)
print({name: round(drift[name], 3) for name in ("factor", "least", "most")})
assert drift["drifted"]

# %% [markdown]
# The plant is planned with the chiller as it was and as it is. Each plan is executed by the checker.

# %%
(root / "day.csv").write_text(
    "time,price [EUR/kWh],cold [kW]\n"
    "2026-06-01T00:00,0.20,60\n2026-06-01T06:00,0.15,130\n"
    "2026-06-01T12:00,0.12,160\n2026-06-01T18:00,0.45,90\n"
)
(root / "plant.yaml").write_text("""
title: Cooling plant
horizon: {step: 6 h}
components:
  grid: {model: grid, bus: site, import_price: day.csv#price, import_power_max: 200 kW}
  demand: {model: load, bus: cold, power: day.csv#cold}
  chiller: {model: chiller, bus: site, cooling_bus: cold, rated_capacity: 300 kW, rated_cop: 5}
  ice: {model: ice_tank, cooling_bus: cold, energy_capacity: 900 kWh, initial_energy: 900 kWh, charge_power_max: 250 kW, discharge_power_max: 250 kW}
requirements:
  full: ice.energy[end] >= 900 kWh
goal: {minimize: cost}
""")
plant = {"plant": "plant.yaml", "slot": "chiller.rated_cop"}
interval = {name: drift[name] for name in ("factor", "least", "most")}
cost = call("asset_derate", **plant, **interval, repair_cost=300)
print(f"{cost['loss_by_day']:.2f} {cost['currency']} a day, {cost['derated']['verdict']}")
print(f"a repair pays back in {cost['pays_back_days']:.0f} days")

# %% [markdown]
# Which six hours can the plant do without it? Every start is planned and checked.

# %%
work = call(
    "asset_maintenance_window",
    **plant,
    factor=drift["factor"],
    quantity="chiller.electric_power",
    duration=6,
)
print(work["best"], [window["extra_cost"] for window in work["windows"]])

# %%
Site.load(root / "plant.yaml").solve(progress=False).plot()
