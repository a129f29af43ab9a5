"""A small fleet of homes with batteries, and the one large programme that it is."""

from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.optimize import linprog

from engiagent.fleet.assets import Asset, Shared, Template
from engiagent.fleet.description import Fleet
from engiagent.solvers.result import SolveOptions

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
goal: {minimize: cost}
"""
LIMITED = "shared_limit: {of: {grid.import: 1, grid.export: -1}, at_most: %s}\n"


def write(
    folder: Path, count: int, limit: str = "", rows: str = "", periods: int = 12, step: str = "1 h"
) -> Path:
    """Write a fleet and return its file."""
    random = np.random.default_rng(7)
    plant = PLANT.replace("PERIODS", str(periods)).replace("STEP", step)
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
    (folder / "fleet.yaml").write_text(text + (LIMITED % limit if limit else ""))
    return folder / "fleet.yaml"


def whole(fleet: Fleet) -> float:
    """Return the optimum of all assets and their limit as one linear programme, by scipy."""
    shared = Shared(
        *(fleet.blueprint, str(fleet.folder), fleet.variations, fleet.limit, SolveOptions())
    )
    template = Template(shared)
    blocks, flows, parts = [], [], []
    assert fleet.limit is not None
    for name, values in zip(fleet.names, fleet.values.tolist(), strict=True):
        program = template.live.program_at(template.numbers(Asset(name, tuple(values))))
        size = program.cost.size
        shape = (program.row_starts.size - 1, size)
        data: Any = (program.row_values, program.row_columns, program.row_starts)
        blocks.append(sp.csr_array(data, shape).copy())
        rows = fleet.limit.rows(program)
        flow = sum(f * sp.eye_array(b.size, size, k=b.start).tocsr() for b, f in rows)
        flows.append(flow)
        fields = ("cost", "column_lower", "column_upper", "row_lower", "row_upper")
        parts.append([np.array(getattr(program, field)) for field in fields])
    cost, low, high, rows_low, rows_high = (np.concatenate(p) for p in zip(*parts, strict=True))
    matrix, limit = sp.block_diag(blocks, format="csr"), fleet.limit.values(program)
    above, below = np.isfinite(rows_high), np.isfinite(rows_low)
    upper = sp.vstack([matrix[above], -matrix[below], sp.hstack(flows)])
    ends = np.concatenate([rows_high[above], -rows_low[below], limit])
    found = linprog(cost, A_ub=upper, b_ub=ends, bounds=np.column_stack([low, high]))
    assert found.success, found.message
    return float(found.fun)
