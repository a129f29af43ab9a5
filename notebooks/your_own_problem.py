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
# # Your own problem
#
# A text in your words, and a table. What the text does not give is asked for, never guessed.

# %%
import pandas as pd

from engiagent import Problem

text = """
# Bakery

The bakery has a battery that stores 60 kWh and charges or discharges with at most 25 kW.
Charging has an efficiency of 96 %. It may be drawn down to 10 % and filled up to 100 % of the
stored energy. At the start of the day it holds 20 kWh, and at the end it must hold at least
20 kWh again.

On 5 March 2025 (Europe/Paris), power is bought and sold for 24 hours at the prices in prices.csv,
one row an hour. Maximise the profit of the day in EUR.
"""
prices = pd.DataFrame(
    {
        "time": pd.date_range("2025-03-05", periods=24, freq="h").strftime("%Y-%m-%d %H:%M"),
        "price_eur_per_mwh": [
            62,
            58,
            55,
            54,
            57,
            70,
            96,
            118,
            104,
            80,
            61,
            48,
            41,
            39,
            45,
            63,
            92,
            131,
            142,
            126,
            101,
            84,
            73,
            66,
        ],
    }
)
problem = Problem.from_text(text, {"prices.csv": prices})
problem.audit()

# %% [markdown]
# The efficiency of discharging is missing. An engine may name it; only you can give it.

# %%
blueprint = problem.analyse()
print(blueprint.home.missing)

# %%
given = {name: "0.95" for name in blueprint.home.missing}
blueprint = problem.analyse(values=given)
solution = blueprint.solve()
solution

# %%
solution.certificate

# %% [markdown]
# A certificate of your own text rests on what was understood of it. Look at the parameters: each
# has the words it was taken from, or says that you gave it.

# %%
for parameter in blueprint.core.parameters:
    source = parameter.source_reference
    said = source.get("quote") or source.get("note") or source.get("file") if source else None
    print(f"{parameter.name:32} {parameter.unit or '':8} {said}")
