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
# # A day of a battery
#
# From a text to a plan that is certified, and from there to "what if". Nothing here needs a key or
# a network.

# %%
from engiagent import Problem

problem = Problem.load("merchant_day")  # a folder, a file, or a name of the corpus
problem

# %% [markdown]
# Is everything there? The audit looks at numbers, data files and requirements before anything is
# solved.

# %%
problem.audit()

# %% [markdown]
# Without a language model the plant block or the stored reading of the problem counts. Every number
# of the blueprint says which words it comes from; what is missing would stand here too.

# %%
blueprint = problem.analyse()
blueprint

# %% [markdown]
# The same as formulas:

# %%
blueprint.equations()

# %% [markdown]
# Solve. Charging, discharging and prices are values of periods and drawn as steps; the state of
# charge is a state at instants and drawn as a line, with its limits dotted.

# %%
solution = blueprint.solve()
solution

# %% [markdown]
# A solver's word is not a proof. The certificate comes from a checker that shares no code with the
# compiler or the solver: it reads the numbers of the text again, executes the plan with the physics
# of a battery, and works out for itself how much better any plan could be.

# %%
solution.certificate

# %% [markdown]
# What holds the plan back, and what would a little more be worth?

# %%
solution.explain()

# %% [markdown]
# ## What if?
#
# An edit names a place and gives a value with its unit; it returns another blueprint. Its plan is
# checked against the blueprint as edited, because it is no plan of the text any more.

# %%
larger = blueprint.set("battery.energy_capacity", 30, "MWh")
blueprint.diff(larger)

# %%
better = larger.solve()
print(solution.certificate.verdict, better.certificate.verdict)
solution.diff(better)

# %% [markdown]
# An edit that makes no sense is refused where it is made:

# %%
from engiagent.errors import EngiagentError  # noqa: E402

try:
    blueprint.set("battery.energy_capacity", 30, "MW")
except EngiagentError as error:
    print(error)

# %% [markdown]
# ## Take it along

# %%
frame = solution.to_dataframe()
frame.head()

# %% [markdown]
# A run keeps everything in a folder: text, blueprint, plan, certificate, report. When this cell is
# run again, the run is opened and not begun anew; one that was cut goes on where it was.

# %%
run = problem.run("runs/battery_day")
print(run.verdict, sorted(path.name for path in run.folder.iterdir()))
run.route()
