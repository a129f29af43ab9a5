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
# From a problem file to a certified schedule with the public functions, stage by stage. Everything
# here works from files and without a key or a network.

# %%
import json
from pathlib import Path
from tempfile import mkdtemp

from engiagent.problems import Problem
from engiagent.runs import run_problem

corpus = Path(__file__).parents[1] if "__file__" in globals() else Path("..").resolve()
path = corpus / "problems" / "battery" / "merchant_day"

# %% [markdown]
# The problem is text, tables and data. Every number in it is found with its unit and its place.

# %%
problem = Problem.load(path)
print(problem.title)
for quantity in problem.quantities[:8]:
    print(f"  {quantity.text!r} at characters {quantity.span}")

# %% [markdown]
# One call goes the whole way: read, model, solve, check, report.

# %%
folder = Path(mkdtemp()) / "merchant_day"
outcome = run_problem(path, out=folder)
print(outcome.verdict, outcome.objective)

# %% [markdown]
# The schedule is an `xarray.Dataset`: series with coordinates and units.

# %%
from engiagent.solvers.solution import load_solution  # noqa: E402

schedule = load_solution(folder / "solution.nc")
for name, series in schedule.data_vars.items():
    if "quantity" in series.attrs:
        low, high = float(series.min()), float(series.max())
        print(f"{series.attrs['quantity']}: {low:g} to {high:g} {series.attrs['units']}")

# %% [markdown]
# The certificate says what was checked and how far each requirement is from its limit.

# %%
certificate = json.loads((folder / "certificate.json").read_text("utf-8"))
for level, found in certificate["levels"].items():
    print(f"{level}: {found['status']}")
for check in certificate["levels"]["algebra"]["checks"]:
    worst = check["worst"]
    print(f"  {check['id']}: least margin {worst['slack']:g} {worst['unit']}")

# %% [markdown]
# The report is one HTML file that a browser opens without a network.

# %%
print((folder / "report.html").name)
