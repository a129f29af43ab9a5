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
# # Bring your own schedule
#
# You have a plan from a spreadsheet, another tool or a language model. Does it hold? The checker
# takes anybody's numbers; it never asks how they were found.

# %%
import numpy as np
import pandas as pd

from engiagent import Problem

problem = Problem.load("merchant_day")
prices = pd.read_csv(problem.folder / "day_ahead.csv")
prices.head(3)

# %% [markdown]
# A rule of thumb: charge in the cheapest hours, discharge in the dearest. Columns may have names and
# units of your own.

# %%
price = prices.iloc[:, -1].to_numpy()
order = np.argsort(price)
mine = pd.DataFrame({"time": prices.iloc[:, 0], "P_ch [MW]": 0.0, "P_dis [MW]": 0.0})
mine.loc[order[:3], "P_ch [MW]"] = 8.0
mine.loc[order[-2:], "P_dis [MW]"] = 10.0

# %%
names = {"battery.charge": "P_ch", "battery.discharge": "P_dis"}
problem.check(mine, names)

# %% [markdown]
# The rule forgets what the battery holds and when. Everything that is broken is named with its
# place and its amount. A careful hand gives way where the certificate points: less, and in the
# right order.

# %%
careful = mine.copy()
careful[["P_ch [MW]", "P_dis [MW]"]] = 0.0
hours = np.arange(len(price))
cheap = order[order < 16][:1]
dear = hours[hours > cheap.max()][np.argsort(price[hours > cheap.max()])[-1:]]
careful.loc[cheap, "P_ch [MW]"] = 5.0
careful.loc[dear, "P_dis [MW]"] = 4.5
certificate = problem.check(careful, names)
certificate

# %% [markdown]
# It holds, and the certificate also knows what it leaves on the table: compare the objective with
# the best plan.

# %%
best = problem.solve()
mine_earns, best_earns = certificate.objective["value"], best.objective
print(f"{mine_earns:.0f} of {best_earns:.0f} {best.unit}: {100 * mine_earns / best_earns:.0f} %")

# %%
best.plot("state_of_charge")
