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
# # What would a battery have earned in 2019?
#
# A megawatt in the German day-ahead market: two hours, a year of prices, and what knowing only the next
# day costs. Prices come with the package; another file is named as `prices.csv#price`.

# %%
from pathlib import Path
from tempfile import mkdtemp

from engiagent.tools import Session

session = Session(Path(mkdtemp()))
statistics = session.call("market_statistics", {"prices": "de_2019#price"}).content
print({name: statistics[name] for name in ("mean", "negative_periods", "mean_daily_spread")})

# %%
import numpy as np  # noqa: E402

from engiagent.notebook.figures import Figure  # noqa: E402
from engiagent.report.charts import Axis, Curve, Panel  # noqa: E402

hours = np.arange(24.0)
axis = Axis("hour", "number", hours, tuple(f"{hour:g}" for hour in hours))
mean = np.array(statistics["mean_by_hour"])
Figure((Panel("Mean price", "EUR/MWh", axis, (Curve("price", np.arange(25.0), mean, "step"),)),))

# %% [markdown]
# The plan of the year is exact, and the checker has executed it.

# %%
battery = {"power": 1000, "duration": 2, "round_trip": 0.85, "wear": 0.005}
revenue = session.call("battery_revenue", {"prices": "de_2019#price", **battery}).content
year = revenue["years"][0]
print(
    f"{year['earnings']:.0f} {revenue['unit']}, {year['cycles']:.0f} cycles, {year['verdict']}"
)
assert year["status"] == "optimal"

# %% [markdown]
# With the prices of a day at a time it captures nearly all of that.

# %%
day = session.call(
    "battery_revenue", {"prices": "de_2019#price", "foresight": "day", **battery}
).content
print(f"capture rate {day['capture_rate']:.3f}")
assert 0.9 < day["capture_rate"] < 1

# %% [markdown]
# At which price does it pay back? What it earns each year against what it costs at 5 %.

# %%
flows = [-60_000, *[year["earnings"]] * 15]
print(session.call("npv", {"flows": flows, "rate": 0.05}).content)
print(session.call("irr", {"flows": flows}).content)
