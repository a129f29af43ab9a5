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
# # How much solar power does a feeder take?
#
# The unbalanced 13-node test feeder of the IEEE, solved by OpenDSS. Another feeder is a `.dss` file in the
# session's folder.

# %%
from pathlib import Path
from tempfile import mkdtemp

from engiagent.tools import Session

folder = Path(mkdtemp())
session = Session(folder)
session.call("grid_counts", {"case": "ieee13"}).content["elements"]

# %%
flow = session.call("grid_power_flow", {"case": "ieee13"}).content
print(f"{flow['lowest']['node']}: {flow['lowest']['magnitude_pu']:.4f} p.u.")
print(f"losses {flow['losses']['active_kw']:.1f} kW of {flow['source']['active_kw']:.0f} kW")

# %% [markdown]
# 400 kW at every load would lift voltages above 1.07 p.u.; what has to be curtailed depends on what is
# fair: as few nodes as possible (L1), or each by as little as possible (Linf).

# %%
asked = {"case": "ieee13", "power": 400, "high": 1.07}
for strategy in ("L1", "Linf"):
    found = session.call(
        "grid_hosting_capacity", {**asked, "strategy": strategy, "file": f"{strategy}.csv"}
    ).content["results"][0]
    nodes = sum(unit["curtailed_kw"] > 0.1 for unit in found["units"])
    print(f"{strategy}: {found['curtailed_kw']:.0f} kW less at {nodes} nodes")
    assert found["executed"]["reproduced"]  # OpenDSS finds the same voltages
    assert found["executed"]["violations"] == []

# %% [markdown]
# The day as it is, with the loads of OpenDSS's daily shape: the lowest and the highest voltage.

# %%
import numpy as np  # noqa: E402

from engiagent.notebook.figures import Figure  # noqa: E402
from engiagent.report.charts import Axis, Curve, Panel  # noqa: E402

day = session.call("grid_time_series", {"case": "ieee13"}).content
edges = np.arange(25.0)
axis = Axis("hour", "number", edges[:-1], tuple(f"{hour:g}" for hour in edges[:-1]))
curves = [
    Curve(name, edges, np.array(day[f"{name}_pu"]), "step") for name in ("lowest", "highest")
]
Figure((Panel("Voltage", "p.u.", axis, tuple(curves)),))
