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
# # Solar power at the end of a weak feeder
#
# Distributed resources meet the grid: how much may the panels feed in before the voltage at the end
# of the line is too high?

# %%
from engiagent import Problem

problem = Problem.load("valley_feeder_voltage")
problem

# %% [markdown]
# The reference blueprint of the corpus has the linearised equations of a radial line.

# %%
blueprint = problem.analyse("expert")
solution = blueprint.solve()
print(solution.certificate.verdict)
solution.plot("voltage along")

# %% [markdown]
# The lowest and the highest voltage of the six hours at every bus, along the branches: at Orchard
# the limit binds, so its panels are throttled.

# %%
solution.plot("solar")

# %% [markdown]
# What would a wider band give? Limits of the text are parameters of the blueprint.

# %%
for highest in (4.25, 4.29, 4.33, 4.37):
    plan = blueprint.set("highest", highest, "kV").solve(progress=False)
    energy = float(plan["node.solar_power"].sum())  # hours of one hour: kW are kWh
    print(
        f"up to {highest} kV: {energy:7.1f} kWh of solar power, {plan.objective:8.2f} {plan.unit}"
    )

# %% [markdown]
# The plan as a table, with units in its heads and the time in the problem's own clock:

# %%
solution.to_dataframe().round(2)
