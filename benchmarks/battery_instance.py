r"""The benchmark's problem: a battery that trades hour by hour at known prices.

.. math::
    \max \sum_t \Delta t\,\bigl(p_t (d_t - c_t) - w\,d_t\bigr) \quad\text{with}\quad
    E_{t+1} = E_t + \Delta t\,(\eta_c c_t - d_t/\eta_d), \;
    E_0 = E^\mathrm{start}, \; E_T \ge E^\mathrm{start}

Every price is positive, so that charging and discharging at once never pays and the problem is a
linear programme. The prices come from a fixed seed: every tool in every process gets the same.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

SEED = 20250101
START = "2025-01-01T00:00"
ENERGY = 4.0
"""Energy when full. [MWh]"""
POWER = 1.0
"""Largest power in either direction. [MW]"""
EFFICIENCY = 0.94
"""One-way efficiency, the same in both directions. [1]"""
ENERGY_START = 2.0
"""Energy at the start, and the least at the end. [MWh]"""
WEAR = 6.0
"""Wear of delivered energy. [EUR/MWh]"""

TEXT = """\
---
id: battery_lp
title: Trading with a battery
family: battery
data: [prices.csv]
---

# Trading with a battery

The plan covers {periods} hours from 1 January 2025, 00:00 UTC; the prices are in `prices.csv`.

- The battery stores 4 MWh.
- It draws and delivers at most 1 MW.
- The efficiency is 94 % in each direction.
- It holds 2 MWh at the start and must hold at least as much at the end.
- Wear is booked at 6 EUR for every MWh delivered.

We want the plan with the largest profit in EUR: sales less purchases less wear.
"""


def prices(periods: int) -> Floats:
    """Return hourly prices [EUR/MWh], shape (periods,): days, seasons and persistent noise."""
    draws = np.random.default_rng(SEED).normal(0.0, 6.0, periods)
    hours = np.arange(periods)
    noise = _persistent(draws, 0.8)
    day = 18.0 * np.sin(2 * np.pi * (hours % 24 - 13) / 12) * np.sin(2 * np.pi * (hours % 24) / 48)
    season = 12.0 * np.cos(2 * np.pi * hours / 8760)
    floored: Floats = np.maximum(62.0 + day + season + noise, 2.0)
    return floored.round(2)


def _persistent(draws: Floats, memory: float) -> Floats:
    # A plain loop: scipy's filter would add its import to the memory of the hand-written floor.
    level, result = 0.0, []
    for draw in draws.tolist():
        level = memory * level + draw
        result.append(level)
    return np.array(result)


def blueprint(periods: int) -> dict[str, Any]:
    """Return the blueprint as plain JSON; its prices are a column of ``prices.csv``."""
    return {
        "schema": "engiagent-blueprint/1",
        "kind": "programme",
        "modeling_context": {"problem_essence": "Trading with a battery at known prices"},
        "core_model_elements": {
            "sets": [
                {
                    "name": "T",
                    "kind": "time",
                    "start": START,
                    "step": "1 h",
                    "periods": periods,
                    "zone": "UTC",
                },
                {"name": "I", "kind": "instants", "of": "T"},
            ],
            "parameters": _parameters(periods),
            "decision_variables": [],
            "components": [
                {
                    "name": "battery",
                    "model": "battery",
                    "index": "T",
                    "parameters": {
                        "energy_capacity": "E_max",
                        "charge_power_max": "P_max",
                        "discharge_power_max": "P_max",
                        "charge_efficiency": "eta",
                        "discharge_efficiency": "eta",
                        "initial_energy": "E_start",
                    },
                }
            ],
            "objective_function": {
                "name": "profit",
                "sense": "maximize",
                "unit": "EUR",
                "expression": "sum((price[t]*(battery_discharge[t] - battery_charge[t])"
                " - wear*battery_discharge[t])*dt(t) for t in T)",
            },
            "constraints": [
                {
                    "constraint_id": "end",
                    "name": "energy at the end",
                    "hard": True,
                    "expression": "battery_state_of_charge[last(I)] >= E_start",
                    "category": "Strategic Requirements",
                }
            ],
        },
    }


def _parameters(periods: int) -> list[dict[str, Any]]:
    text = TEXT.format(periods=periods)
    values = (
        ("E_max", ENERGY, "MWh", "4 MWh"),
        ("P_max", POWER, "MW", "1 MW"),
        ("eta", 100 * EFFICIENCY, "%", "94 %"),
        ("E_start", ENERGY_START, "MWh", "2 MWh"),
        ("wear", WEAR, "EUR/MWh", "6 EUR for every MWh"),
    )
    listed: list[dict[str, Any]] = [
        {
            "name": "price",
            "index": ["T"],
            "data": "prices.csv#price",
            "unit": "EUR/MWh",
            "source_reference": {"kind": "file", "file": "prices.csv", "column": "price"},
        }
    ]
    for name, value, unit, quote in values:
        place = text.index(quote)
        source = {"kind": "text", "span": [place, place + len(quote)], "quote": quote}
        listed.append({"name": name, "value": value, "unit": unit, "source_reference": source})
    return listed


REQUIREMENTS = """\
schema: engiagent-requirements/1
sets:
  - {{name: T, kind: time, start: "{start}", step: 1 h, periods: {periods}, zone: UTC}}
  - {{name: I, kind: instants, of: T}}
parameters:
  - {{name: price, index: [T], data: "prices.csv#price", unit: EUR/MWh}}
dynamics:
  - name: battery
    model: battery
    index: T
    scheme: exact
    parameters:
      energy_capacity: "4[MWh]"
      charge_power_max: "1[MW]"
      discharge_power_max: "1[MW]"
      charge_efficiency: "0.94"
      discharge_efficiency: "0.94"
      initial_energy: "2[MWh]"
requirements:
  - id: power_in
    quote: "at most 1 MW"
    forall: ["t in T"]
    expression: "0 <= battery.charge[t] <= 1[MW]"
  - id: power_out
    quote: "at most 1 MW"
    forall: ["t in T"]
    expression: "0 <= battery.discharge[t] <= 1[MW]"
  - id: store
    quote: "The battery stores 4 MWh"
    forall: ["i in I"]
    expression: "0 <= battery.state_of_charge[i] <= 4[MWh]"
  - id: end
    quote: "must hold at least as much at the end"
    expression: "battery.state_of_charge[last(I)] >= 2[MWh]"
objective:
  sense: maximize
  unit: EUR
  quote: "the largest profit in EUR"
  expression: "sum((price[t]*(battery.discharge[t] - battery.charge[t])
    - 6[EUR/MWh]*battery.discharge[t])*dt(t) for t in T)"
"""


def write_problem(folder: Path, periods: int) -> None:
    """Write problem text, prices, requirements and blueprint into an empty folder."""
    (folder / "expert").mkdir()
    (folder / "problem.md").write_text(TEXT.format(periods=periods), encoding="utf-8")
    start = np.datetime64(START, "m")
    stamps = np.datetime_as_string(start + np.arange(periods) * np.timedelta64(60, "m"), unit="m")
    rows = (f"{s}Z,{p:.2f}" for s, p in zip(stamps, prices(periods).tolist(), strict=True))
    lines = "time,price [EUR/MWh]\n" + "\n".join(rows) + "\n"
    (folder / "prices.csv").write_text(lines, encoding="utf-8")
    text = REQUIREMENTS.format(periods=periods, start=START)
    (folder / "expert" / "requirements.yaml").write_text(text, encoding="utf-8")
    document = json.dumps(blueprint(periods), indent=2) + "\n"
    (folder / "expert" / "blueprint.json").write_text(document, encoding="utf-8")
