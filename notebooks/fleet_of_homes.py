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
# # Homes with batteries behind one transformer
#
# A fleet is a template site and a table with a row for each asset. Each gets a plan and a
# certificate; a requirement that holds for all of them together is kept by prices, with a proven
# bound.

# %%
from pathlib import Path
from tempfile import mkdtemp

import numpy as np
import pandas as pd

from engiagent import Site
from engiagent.fleet import Fleet, open_plans, run_fleet, verify_fleet

folder = Path(mkdtemp())
hours = pd.date_range("2026-06-15", periods=12, freq="h", tz="Europe/Berlin")
home = Site.over(hours, title="Home with a battery")
home.add("grid", "grid", import_price=list(0.2 + 0.15 * np.sin(np.arange(12) / 2)))
home.add("house", "load", power=[1.0, 1.5, 2.0, 2.5] * 3)
home.add(
    "battery",
    "battery",
    energy_capacity="10 kWh",
    charge_power_max="5 kW",
    discharge_power_max="5 kW",
    charge_efficiency=0.95,
    initial_energy="2 kWh",
)
home.require("grid.import[t] <= 30 kW", name="street")
home.minimise_cost()
(folder / "home.yaml").write_text(home.to_yaml())
home.solve(progress=False).plot()

# %% [markdown]
# The table names places of the template; with `*` a column is a factor on what stands there.

# %%
random = np.random.default_rng(1)
homes = pd.DataFrame(
    {
        "asset": [f"home{k}" for k in range(12)],
        "battery.energy_capacity [kWh]": random.uniform(6, 14, 12).round(1),
        "house.power*": random.uniform(0.7, 1.3, 12).round(2),
    }
)
homes.to_parquet(folder / "homes.parquet")
(folder / "free.yaml").write_text("template: home.yaml\nassets: homes.parquet\n")
free = run_fleet(Fleet.load(folder / "free.yaml"), folder / "free")
free["counts"], free["objective"]

# %% [markdown]
# All of them charge when power is cheap. Behind one transformer that does not do.

# %%
alone = open_plans(folder / "free")["grid_import"].sum("asset")
(folder / "shared.yaml").write_text(
    "template: home.yaml\nassets: homes.parquet\nshared_limit: street\n"
)
shared = run_fleet(Fleet.load(folder / "shared.yaml"), folder / "shared")
together = open_plans(folder / "shared")["grid_import"].sum("asset")
print(f"alone up to {float(alone.max()):.1f} kW, together up to {float(together.max()):.1f} kW")
print(f"{shared['objective']['value']:.3f} EUR, gap {shared['bound']['gap']:.2%}")
assert float(together.max()) <= 30.00003 < float(alone.max())

# %% [markdown]
# What the folder holds can be verified again without solving anything.

# %%
assert verify_fleet(folder / "shared") == []
