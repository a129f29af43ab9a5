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
# # Two chillers and an ice tank
#
# A cooling load, a tariff with an expensive afternoon, and ice that is made at night. The plant is
# put together from components; each brings its algebra, and the buses are balanced by themselves.

# %%
import numpy as np

from engiagent.plant.site import Site

hours = np.arange(24)
load = 120 + 260 * np.clip(np.sin((hours - 7) / 12 * np.pi), 0, None)  # kW of cold
price = np.where((hours >= 13) & (hours < 19), 0.42, 0.16)  # EUR/kWh

site = Site(
    start="2025-07-21T00:00",
    step="1 h",
    periods=24,
    zone="Europe/Rome",
    title="Cold for an office tower",
)
site.add("grid", "grid", bus="site", import_power_max="160 kW", export_power_max=0)
site.add("offices", "load", bus="cold", power=load.round(1).tolist())
site.add("old", "chiller", bus="site", cooling_bus="cold", rated_capacity="260 kW", rated_cop=3.4)
site.add("new", "chiller", bus="site", cooling_bus="cold", rated_capacity="180 kW", rated_cop=5.2)
site.add(
    "ice",
    "ice_tank",
    cooling_bus="cold",
    energy_capacity="900 kWh",
    initial_energy=0,
    charge_power_max="150 kW",
    discharge_power_max="200 kW",
    self_discharge=0.002,
)
site.minimise_cost({"grid": price.tolist()})

# %%
blueprint = site.blueprint()
solution = blueprint.solve()
print(solution.certificate.verdict, round(solution.objective, 2), solution.unit)

# %% [markdown]
# Above the line what feeds the bus of cold, below it what takes from it. Both sides are equal in
# every hour, which is what a balance says.

# %%
solution.plot("balance")

# %% [markdown]
# The ice is made at night, when power is cheap, and melts in the expensive hours:

# %%
solution.plot("ice")

# %% [markdown]
# What does the tank earn? Make it small and compare.

# %%
small = blueprint.set("ice.energy_capacity", 1, "kWh").solve()
print(f"without ice {small.objective:.2f}, with ice {solution.objective:.2f} {solution.unit}")
solution.diff(small)

# %% [markdown]
# The model as a script that runs without engiagent, for whoever wants to read it or go on with it
# in Pyomo:

# %%
print("\n".join(blueprint.to_pyomo().splitlines()[:25]))
