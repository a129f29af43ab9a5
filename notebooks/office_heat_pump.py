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
# # Heating an office when it is cheap
#
# A heat pump, a building that stores heat, and a tariff. The plan has to keep the room in a comfort
# band that is narrow only in office hours.

# %%
from engiagent import Problem

problem = Problem.load("office_heat_pump")
print(problem.body.strip()[:600])

# %%
solution = problem.solve()
print(solution.certificate.verdict, round(solution.objective, 2), solution.unit)
solution.plot("zone.temperature")

# %% [markdown]
# The band is what the text allows; the plan preheats before the office opens and lets the room cool
# in the evening. The power of the heat pump, beside the price:

# %%
solution.plot("heat_pump")

# %% [markdown]
# How much would a degree less cost or save? The explanation has the worth of each limit.

# %%
solution.explain()

# %% [markdown]
# Shadow prices hold for small steps only. So let us take the step: one degree less in office hours.

# %%
blueprint = solution.blueprint
cooler = blueprint.set("T_low_day", 19.5, "degC")
plans = {"20.5 °C": solution, "19.5 °C": cooler.solve()}
for name, plan in plans.items():
    print(name, round(plan.objective, 3), plan.unit, plan.certificate.verdict)

# %% [markdown]
# A sweep over the size of the heat pump. Where there is no plan, there is no point.

# %%
sizes = blueprint.sweep("P_max=2,3,3.5,4,4.5,6,8[kW]")
sizes

# %% [markdown]
# And what matters most, each number a tenth up and down:

# %%
blueprint.sensitivity(
    "price",
    "R",
    "C",
    "COP",
    "T_low_day=20..21[degC]",
).plot()

# %% [markdown]
# Below some size there is no plan at all, and then the question is why:

# %%
too_small = blueprint.set("P_max", 1.0, "kW").solve()
print(too_small)
too_small.explain()
