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
# # A site in closed loop
#
# The same site is planned once, then controlled: its stores are measured, its series are the
# forecasts, and nothing else has to be named.

# %%
import numpy as np

from engiagent import Site

hours = np.arange(72)
outside = 3 + 4 * np.sin((hours - 9) / 24 * 2 * np.pi)
price = 0.25 + 0.10 * np.sin((hours - 8) / 24 * 4 * np.pi)

site = Site("2026-01-10", "1 h", 72, "Europe/Berlin", title="A house with a heat pump")
site.add("grid", "grid", import_price=price, import_power_max="12 kW")
site.add(
    "living",
    "thermal_zone",
    capacitance="3 kWh/K",
    resistance="5 K/kW",
    initial_temperature="20.5 degC",
    ambient_temperature=outside,
)
site.add("pump", "heater", zone="living", electric_power_max="2 kW", cop=3)
site.require("living_temperature[i] >= 20[degC]", over="i in I", name="warm")
site.require("living_temperature[i] <= 23[degC]", over="i in I", name="cool")
site.minimise_cost()
site.blueprint().solve().plot("living")

# %% [markdown]
# In closed loop each plan sees the next day, and its first hour is applied.

# %%
loop = site.control(48)
print(loop.figures)
loop.plot("living")

# %% [markdown]
# It really becomes colder than forecast, and the walls lose a quarter more than the plan believes.


# %%
def house(state, controls, disturbances):
    ambient, resistance = disturbances["living.ambient_temperature"], 4.0
    decay = np.exp(-1 / (3.0 * resistance))
    rest = ambient + resistance * 3 * controls["pump.electric_power"]
    return {
        "zone.living.temperature": rest + decay * (state["zone.living.temperature"] - rest)
    }


cold = site.control(48, plant=house, actual={"living.ambient_temperature": outside - 3})
for control in cold.relaxed[:5]:
    print(cold.times[control.step], cold.relaxed_limits(control))
cold.plot("living")

# %% [markdown]
# What it cost in comfort stands among the key figures; the page of the loop has it all.

# %%
for figure in cold.figures.named("discomfort_below"):
    print(f"{figure.value:.1f} {figure.unit} too cold")
cold.report("loop.html")
cold
