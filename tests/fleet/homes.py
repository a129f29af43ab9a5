"""A small fleet of homes with batteries, and the one large programme that it is."""

from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.optimize import linprog

from engiagent.fleet.assets import Planner
from engiagent.fleet.description import Fleet

PLANT = """
title: Home with a battery
horizon: {start: 2026-06-15, periods: PERIODS, step: STEP, zone: Europe/Berlin}
components:
  grid: {model: grid, import_price: day.csv#price_EUR_per_kWh, export_price: 0.05 EUR/kWh}
  home: {model: load, power: day.csv#load_kW}
  battery:
    model: battery
    energy_capacity: 10 kWh
    charge_power_max: 5 kW
    discharge_power_max: 5 kW
    charge_efficiency: 95 %
    discharge_efficiency: 95 %
    initial_energy: 2 kWh
requirements:
  full: battery.state_of_charge[end] >= 2 kWh
  street: {for: t in T, must: "grid.import[t] - grid.export[t] <= LIMIT"}
goal: {minimize: cost}
"""


def write(
    folder: Path, count: int, limit: str = "", rows: str = "", periods: int = 12, step: str = "1 h"
) -> Path:
    """Write a fleet and return its file."""
    random = np.random.default_rng(7)
    plant = PLANT.replace("PERIODS", str(periods)).replace("STEP", step)
    plant = plant.replace("LIMIT", limit or "1 MW")
    (folder / "home.yaml").write_text(plant)
    lines = ["time,load_kW,price_EUR_per_kWh"]
    minutes = 60 if step == "1 h" else 15
    for k in range(periods):
        hour = k * minutes / 60
        stamp = f"2026-06-15T{int(hour):02}:{k * minutes % 60:02}"
        lines.append(f"{stamp},{1 + int(hour) % 4 * 0.5},{0.2 + 0.15 * np.sin(hour / 2):.4f}")
    (folder / "day.csv").write_text("\n".join(lines) + "\n")
    table = ["asset,battery.energy_capacity [kWh],battery.charge_power_max [W],home.power*"]
    for number in range(count):
        size, power, factor = random.uniform((6, 2000, 0.5), (14, 6000, 1.5))
        table.append(f"home{number},{size:.2f},{power:.0f},{factor:.3f}")
    (folder / "homes.csv").write_text("\n".join(table) + "\n" + rows)
    text = "title: Homes\ntemplate: home.yaml\nassets: homes.csv\n"
    (folder / "fleet.yaml").write_text(text + ("shared_limit: street\n" if limit else ""))
    return folder / "fleet.yaml"


def whole(fleet: Fleet, method: str = "highs", seconds: float | None = None) -> float:
    """Return the optimum of all assets and their limit as one linear programme, by scipy.

    TimeoutError when it takes longer.
    """
    planner = Planner(fleet.template)
    assert planner.limit is not None
    rows, scale = np.r_[planner.limit.rows], planner.limit.scale
    blocks, flows, parts = [], [], []
    for values in fleet.values.tolist():
        program, _ = planner.program(tuple(values))
        data: Any = (program.row_values, program.row_columns, program.row_starts)
        matrix = sp.csr_array(data, (program.row_starts.size - 1, program.cost.size)).copy()
        own = np.setdiff1d(np.arange(matrix.shape[0]), rows)
        blocks.append(matrix[own])
        flows.append(scale * matrix[rows])
        limits = [np.array(end)[own] for end in (program.row_lower, program.row_upper)]
        about = (program.cost, program.column_lower, program.column_upper)
        parts.append([*(np.array(part) for part in about), *limits])
    cost, low, high, rows_low, rows_high = (np.concatenate(p) for p in zip(*parts, strict=True))
    matrix, limit = sp.block_diag(blocks, format="csr"), planner.limit.at_most
    above, below = np.isfinite(rows_high), np.isfinite(rows_low)
    upper = sp.vstack([matrix[above], -matrix[below], sp.hstack(flows)])
    ends = np.concatenate([rows_high[above], -rows_low[below], limit])
    bounds, limit_s = np.column_stack([low, high]), {"time_limit": seconds} if seconds else {}
    found = linprog(cost, upper, ends, bounds=bounds, method=method, options=limit_s)
    if found.status == 1:
        raise TimeoutError
    assert found.success, found.message
    return float(found.fun)
