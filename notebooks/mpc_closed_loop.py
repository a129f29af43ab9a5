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
# # A controller in closed loop
#
# Plan a day ahead, apply the first hour, measure, plan again. The battery in the field is not the
# one in the plan: it loses more. Feedback takes care of that.

# %%
import numpy as np

from engiagent.control import RecedingHorizon
from engiagent.plant.site import Site
from engiagent.models.battery import Battery

hours = np.arange(72)
price = 0.18 + 0.10 * np.sin((hours - 8) / 24 * 4 * np.pi) + 0.03 * np.sin(hours * 1.7)
load = 3.0 + 2.0 * np.clip(np.sin((hours % 24 - 6) / 14 * np.pi), 0, None)

site = Site(start="00:00", step="1 h", periods=24, title="A house with a battery")
site.parameter("stored", 5.0, "kWh")
site.parameter("tariff", price[:24].tolist(), "EUR/kWh")
site.parameter("demand", load[:24].tolist(), "kW")
site.add("grid", "grid", bus="house", import_power_max="12 kW", export_power_max=0)
site.add("load", "load", bus="house", power="demand")
site.add(
    "battery",
    "battery",
    bus="house",
    energy_capacity="10 kWh",
    initial_energy="stored",
    charge_power_max=4,
    discharge_power_max=4,
    charge_efficiency=0.97,
    discharge_efficiency=0.97,
)
site.minimise_cost({"grid": "tariff"})
blueprint = site.blueprint()
blueprint.solve().plot("balance")

# %% [markdown]
# The plant is a battery with worse efficiencies than the plan believes.

# %%
field = Battery(energy_capacity=10.0, charge_efficiency=0.90, discharge_efficiency=0.90)


def plant(state, controls, disturbances):
    """Return what is stored an hour later."""
    powers = (np.atleast_1d(controls[f"battery_{name}"]) for name in ("charge", "discharge"))
    return {"stored": field.simulate(*powers, 1.0, initial_energy=float(state["stored"]))[-1]}


controller = RecedingHorizon(
    blueprint,
    state={"battery.state_of_charge": "stored"},
    forecasts={"tariff": price, "demand": load},
    plant=plant,
)
loop = controller.run(48, {"stored": 5.0})
outcomes = [control.outcome for control in loop.controls]
print({name: outcomes.count(name) for name in sorted(set(outcomes))})
print(f"{loop.cost:.2f} {loop.unit}, {1000 * np.median(loop.seconds):.0f} ms a step")

# %% [markdown]
# The log holds what was applied and what was measured. Any arrays can be drawn like a plan: steps
# for periods, a line for states.

# %%
from engiagent.report.charts import Axis, Curve, Panel  # noqa: E402
from engiagent.notebook.figures import Figure  # noqa: E402

log = loop.log
places = np.arange(49.0)
axis = Axis("hour", "number", places[:-1], tuple(f"{hour:g}" for hour in places[:-1]))
charge, discharge = (log[f"battery_{name}"].values.ravel() for name in ("charge", "discharge"))
stored = np.append(log["stored"].values.ravel(), float(loop.state["stored"]))
Figure(
    (
        Panel(
            "Battery",
            "kW",
            axis,
            (
                Curve("charge", places, -charge, "step", "stack"),
                Curve("discharge", places, discharge, "step", "stack"),
                Curve("price", places, price[:48], "step", side="strip"),
            ),
            strip_unit="EUR/kWh",
        ),
        Panel("Stored", "kWh", axis, (Curve("measured", places, stored, "line"),)),
    ),
    "Closed loop",
)

# %% [markdown]
# A wrong measurement is no reason to stop: a state a little beyond its limit gives a relaxed plan
# that says what gave way, and by how much.

# %%
control = controller.step({"stored": 10.2, "tariff": price[48], "demand": load[48]})
print(control.outcome)
for gave_way in control.relaxations:
    print(f"  {gave_way.limit} by {float(np.max(gave_way.amount)):.3g} {gave_way.unit}")
