"""Helpers of the agents' tests: analyse a text in a folder, and read numbers back."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from engiagent.agents.offline import Analysis, analyse
from engiagent.agents.offline.plant.analyse import understand_plant
from engiagent.blueprint.document import Blueprint
from engiagent.blueprint.elaborate import Elaboration
from engiagent.blueprint.units import conversion, parse_unit
from engiagent.formulations import compile_blueprint
from engiagent.problems import Problem
from engiagent.solvers import solve

Floats = npt.NDArray[np.float64]
UNITS = {
    "energy_capacity": "kWh", "charge_power_max": "kW", "discharge_power_max": "kW",
    "initial_energy": "kWh", "minimum_energy": "kWh", "maximum_energy": "kWh",
    "capacitance": "kWh/K", "resistance": "K/kW", "initial_temperature": "degC",
    "ambient_temperature": "degC", "gains": "kW", "electric_power_max": "kW",
    "import_power_max": "kW", "export_power_max": "kW", "power": "kW", "available_power": "kW",
    "self_discharge": "1/h",
}  # fmt: skip


def analysed(
    folder: Path, body: str, files: Mapping[str, str] = {}, overrides: Mapping[str, str] = {}
) -> Analysis:
    """Return the analysis of a text that lies in a folder with its data."""
    (folder / "problem.md").write_text(body, encoding="utf-8")
    for name, content in files.items():
        (folder / name).write_text(content, encoding="utf-8")
    return analyse(Problem.load(folder / "problem.md"), overrides)


def planted(folder: Path, body: str, files: Mapping[str, str] = {}) -> Analysis:
    """Return the analysis of a text by the reader of plants alone."""
    (folder / "problem.md").write_text(body, encoding="utf-8")
    for name, content in files.items():
        (folder / name).write_text(content, encoding="utf-8")
    return understand_plant(Problem.load(folder / "problem.md")).analysis


def parameter_values(blueprint: Blueprint, folder: Path) -> dict[str, Floats]:
    """Return every slot of every component as numbers, in kW, kWh, K/kW, kWh/K, degC and 1."""
    elaboration = Elaboration(blueprint.core, folder)
    values = {}
    for component in blueprint.core.components:
        for slot, name in component.parameters.items():
            if name == "0[kW]":
                values[f"{component.name}.{slot}"] = np.zeros(())
                continue
            factor, shift = conversion(elaboration.unit(name), parse_unit(UNITS.get(slot, "1")))
            values[f"{component.name}.{slot}"] = elaboration.table(name).values * factor + shift
    return values


def passed_over(analysis: Analysis, plain: Analysis) -> bool:
    """Whether a reading is complete, and the very model of the text without what was added."""
    assert plain.blueprint is not None
    if not analysis.complete or analysis.blueprint is None:
        return False
    models = [_model(a.blueprint.to_dict()) for a in (analysis, plain) if a.blueprint is not None]
    return bool(models[0] == models[1])


def _model(node: Any) -> Any:
    """Return a document without what says where its parts come from."""
    if isinstance(node, Mapping):
        left_out = ("source_reference", "description", "modeling_context")
        return {k: _model(v) for k, v in node.items() if k not in left_out}
    return [_model(item) for item in node] if isinstance(node, list | tuple) else node


def solved(analysis: Analysis, folder: Path) -> tuple[str, float | None]:
    """Return status and objective of the optimum of an analysis."""
    assert analysis.blueprint is not None
    result = solve(compile_blueprint(analysis.blueprint, folder), isolate=False)
    return result.status, result.objective
