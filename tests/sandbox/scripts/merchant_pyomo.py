"""A model's script for the battery on the day-ahead market, in Pyomo with HiGHS."""

import csv
import json
import sys

import pyomo.environ as pyo
from pyomo.contrib.solver.solvers.highs import Highs

with open("day_ahead.csv") as file:
    price = [float(row["price_eur_per_mwh"]) for row in csv.DictReader(file)]

hours = range(len(price))
model = pyo.ConcreteModel()
model.charge = pyo.Var(hours, bounds=(0, 8))
model.discharge = pyo.Var(hours, bounds=(0, 10))
model.energy = pyo.Var(range(len(price) + 1), bounds=(2, 19))
model.charging = pyo.Var(hours, within=pyo.Binary)
model.rows = pyo.ConstraintList()
model.rows.add(model.energy[0] == 6)
model.rows.add(model.energy[len(price)] >= 6)
for t in hours:
    gain = 0.96 * model.charge[t] - model.discharge[t] / 0.95
    model.rows.add(model.energy[t + 1] == model.energy[t] + gain)
    model.rows.add(model.charge[t] <= 8 * model.charging[t])
    model.rows.add(model.discharge[t] <= 10 * (1 - model.charging[t]))
model.profit = pyo.Objective(
    expr=sum((price[t] - 7.5) * model.discharge[t] - price[t] * model.charge[t] for t in hours),
    sense=pyo.maximize,
)
Highs().solve(model)
charge = [max(0.0, pyo.value(model.charge[t])) for t in hours]
discharge = [max(0.0, pyo.value(model.discharge[t])) for t in hours]
with open(sys.argv[1], "w") as file:
    json.dump(
        {
            "battery.charge [MW]": charge,
            "battery.discharge [MW]": discharge,
            "battery.state_of_charge [MWh]": [pyo.value(v) for v in model.energy.values()],
            "objective": pyo.value(model.profit),
        },
        file,
    )
