"""The same plan in CasADi with its own HiGHS."""

import csv
import json
import sys

import casadi as ca

with open("day_ahead.csv") as file:
    price = ca.DM([float(row["price_eur_per_mwh"]) for row in csv.DictReader(file)])

n = price.shape[0]
charge, discharge, mode = ca.SX.sym("c", n), ca.SX.sym("d", n), ca.SX.sym("m", n)
energy = ca.SX.sym("e", n + 1)
x = ca.vertcat(charge, discharge, energy, mode)
rows = ca.vertcat(
    energy[1:] - energy[:-1] - 0.96 * charge + discharge / 0.95,
    charge - 8 * mode,
    discharge + 10 * mode,
)
problem = {"x": x, "f": ca.dot(price, charge) - ca.dot(price - 7.5, discharge), "g": rows}
options = {"discrete": [False] * (3 * n + 1) + [True] * n, "highs": {"output_flag": False}}
solve = ca.qpsol("solve", "highs", problem, options)
lower = [0] * (2 * n) + [6] + [2] * (n - 1) + [6] + [0] * n
upper = [8] * n + [10] * n + [6] + [19] * n + [1] * n
found = solve(lbx=lower, ubx=upper, lbg=[0] * n + [-ca.inf] * (2 * n), ubg=[0] * (2 * n) + [10] * n)
values = [max(0.0, float(v)) for v in found["x"].full().reshape(-1)]
with open(sys.argv[1], "w") as file:
    json.dump(
        {
            "battery.charge [MW]": values[:n],
            "battery.discharge [MW]": values[n : 2 * n],
            "battery.state_of_charge [MWh]": values[2 * n : 3 * n + 1],
        },
        file,
    )
