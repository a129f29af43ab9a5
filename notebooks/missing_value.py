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
# # A value that is missing
#
# What a problem does not give is asked for, never guessed.

# %%
from engiagent import Problem

problem = Problem.load("missing_efficiency")
problem.audit()

# %% [markdown]
# The efficiencies of the battery are missing. Only you can give them, by name, with a unit of their
# dimension or as plain numbers.

# %%
blueprint = problem.analyse()
print(blueprint.home.missing)

# %%
given = {name: "95 %" for name in blueprint.home.missing}
blueprint = problem.analyse(values=given)
solution = blueprint.solve()
solution

# %%
solution.certificate

# %% [markdown]
# Look at the parameters: each has the words it was taken from, or says that you gave it.

# %%
for parameter in blueprint.core.parameters:
    source = parameter.source_reference
    said = source.get("quote") or source.get("note") or source.get("file") if source else None
    print(f"{parameter.name:32} {parameter.unit or '':8} {said}")
