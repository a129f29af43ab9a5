"""Run folders as ``docs/architecture.md`` describes them, made by hand and not by a run."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import xarray

from tests.blueprints import EDGES, constraint, variable

MakeRun = Callable[..., Path]

TEXT = """---
id: shop
title: "A <b>shop</b> & its battery"
---
# Shop

The battery stores 200 kWh.
"""


def blueprint(periods: int, start: str = "2025-03-30T00:00") -> dict[str, Any]:
    """A battery under a price, on a day on which the clocks change."""
    assumed = {"kind": "assumption", "reason": "the text gives no efficiency <i>"}
    quoted = {"kind": "text", "span": [40, 47], "quote": "200 kWh"}
    parameters = [
        {"name": "E_max", "value": 200, "unit": "kWh", "source_reference": quoted},
        {"name": "P_max", "value": 50, "unit": "kW", "description": "limit of the converter"},
        {"name": "eta", "value": 0.95, "unit": "1", "source_reference": assumed},
        {
            "name": "price",
            "index": ["T"],
            "data": "prices.csv#price",
            "unit": "EUR/MWh",
            "source_reference": {"kind": "file", "file": "prices.csv", "column": "price"},
        },
    ]
    variables = [
        variable(n, "t in T", upper="P_max", quantity=f"battery.{n}", role="decision")
        for n in ("charge", "discharge")
    ]
    state = {"quantity": "battery.state_of_charge", "role": "state"}
    variables.append(variable("soc", "i in I", upper="E_max", unit="kWh", **state))
    zone = {"zone": "Europe/Berlin"} if "T" in start else {}
    return {
        "schema": "engiagent-blueprint/1",
        "kind": "programme",
        "modeling_context": {"problem_essence": "arbitrage"},
        "core_model_elements": {
            "sets": [
                {"name": "T", "kind": "time", "start": start, "step": "1 h", "periods": periods}
                | zone,
                EDGES,
            ],
            "parameters": parameters,
            "decision_variables": variables,
            "objective_function": {
                "sense": "minimize",
                "unit": "EUR",
                "expression": "sum(price[t]*(charge[t] - discharge[t])*dt(t) for t in T)",
            },
            "constraints": [
                constraint(
                    "soc[t+1] == soc[t] + (eta*charge[t] - discharge[t]/eta)*dt(t)",
                    "t in T",
                    name="energy balance",
                ),
                constraint(
                    "soc[t] >= 0.2*E_max",
                    "t in T",
                    constraint_id="C2",
                    name="reserve in the evening",
                    where="hour(t) >= 17",
                    source_reference={"kind": "text", "span": [1, 5], "quote": "keep a fifth"},
                ),
            ],
        },
        "extended_analysis_and_robustness": {
            "key_assumptions": [{"content": "the price is known", "justification": "day ahead"}]
        },
    }


def solution(periods: int, start: str = "2025-03-29T23:00") -> xarray.Dataset:
    """A made-up schedule; ``start`` is UTC."""
    rng = np.random.default_rng(3)
    power = np.round(rng.uniform(0, 50, periods), 3)
    stored = np.round(rng.uniform(0, 200, periods + 1), 3)
    instants = pd.date_range(start, periods=periods + 1, freq="h").to_numpy("datetime64[ns]")
    dual = np.zeros(periods)
    dual[18 % periods] = 0.125
    units = {"units": "kW", "role": "decision"}
    return xarray.Dataset(
        {
            "charge": ("T", power, {**units, "quantity": "battery.charge"}),
            "discharge": ("T", 50 - power, {**units, "quantity": "battery.discharge"}),
            "soc": (
                "I",
                stored,
                {"units": "kWh", "role": "state", "quantity": "battery.state_of_charge"},
            ),
            "dual__C1": ("T", dual * 5, {"units": "EUR/kWh"}),
            "dual__C2": ("T", dual, {"units": "EUR/kWh"}),
            "reduced_cost__charge": ("T", -2 * dual, {"units": "EUR/kW"}),
        },
        coords={
            "T": ("T", instants[:-1], {"zone": "Europe/Berlin"}),
            "I": ("I", instants, {"zone": "Europe/Berlin"}),
        },
        attrs={
            "status": "optimal",
            "objective": -12.5,
            "objective_unit": "EUR",
            "sense": "minimize",
            "bound": -12.5,
            "gap": 0.0,
            "solver": "HiGHS",
            "solver_version": "1.15.1",
            "seconds": 0.01,
            "is_mip": 0,
        },
    )


def certificate(verdict: str = "certified") -> dict[str, Any]:
    check = {
        "id": "R1",
        "name": "R1",
        "text": "battery.charge[t] <= 50[kW]",
        "quote": "at most 50 kW",
        "rows": 24,
        "worst": {"where": {"T": "2025-03-30T03:00"}, "slack": 0.25, "unit": "kW"},
        "tolerance": 1e-6,
        "status": "pass",
    }
    claim = "no plan" if verdict == "proven infeasible" else "plan"
    return {
        "schema": "engiagent-certificate/2",
        "verdict": verdict,
        "plan": {"claim": claim, "holds": "pass", "optimum": "recomputed"},
        "reading": {"grade": "annotated", "by": "experts", "what": "requirements.yaml", "open": []},
        "overrides": [],
        "problem": "shop",
        "inputs": {"problem.md": "ab" * 32},
        "objective": {"value": -12.5, "unit": "EUR", "sense": "minimize", "claimed": -12.5},
        "bound": {"value": -12.5, "gap": 0.0, "method": "dual bound"},
        "levels": {
            "data": {"status": "pass", "findings": []},
            "algebra": {"status": "pass", "source": "annotated", "checks": [check]},
            "physics": {"status": "pass", "largest_gap": {"value": 1e-9, "unit": "kWh"}},
            "optimality": {"status": "pass"},
        },
        "violations": [],
        "missing": [],
        "contradictions": [],
        "not_understood": [],
        "versions": {"engiagent": "0.1.0"},
    }


@pytest.fixture(name="blueprint")
def blueprint_of() -> Callable[..., dict[str, Any]]:
    return blueprint


@pytest.fixture(name="solution")
def solution_of() -> Callable[..., xarray.Dataset]:
    return solution


@pytest.fixture(name="certificate")
def certificate_of() -> Callable[..., dict[str, Any]]:
    return certificate


@pytest.fixture
def make_run(tmp_path: Path) -> MakeRun:
    """Return a function that writes a run folder; a part given as None is left out."""

    def make(periods: int = 24, **parts: Any) -> Path:
        given: dict[str, Any] = {
            "blueprint": blueprint(periods),
            "solution": solution(periods),
            "certificate": certificate(),
            "record": {"state": "done", "verdict": "certified", "problem": "shop"},
            "text": TEXT,
        } | parts
        folder = tmp_path / "run"
        (folder / "problem").mkdir(parents=True)
        for key, name in (
            ("blueprint", "blueprint.json"),
            ("certificate", "certificate.json"),
            ("record", "run.json"),
        ):
            if given[key] is not None:
                (folder / name).write_text(json.dumps(given[key]), encoding="utf-8")
        if given["solution"] is not None:
            given["solution"].to_netcdf(folder / "solution.nc", engine="netcdf4")
        if given["text"] is not None:
            (folder / "problem" / "problem.md").write_text(given["text"], encoding="utf-8")
        prices = "\n".join(f"{40 + 30 * np.sin(k / 4):.2f}" for k in range(periods))
        (folder / "problem" / "prices.csv").write_text(f"price\n{prices}\n", encoding="utf-8")
        return folder

    return make
