"""Plant problems for tests."""

from pathlib import Path

from engiagent.blueprint import Blueprint
from engiagent.plant import read_plant
from engiagent.readings import Reading
from engiagent.text import Problem

SMALL = """\
title: Small site
horizon: {start: 2026-06-01, periods: 4, step: 1 h}
components:
  grid:
    model: grid
    import_price: [0.1 EUR/kWh, 0.1 EUR/kWh, 0.4 EUR/kWh, 0.4 EUR/kWh]
    import_power_max: 20 kW
    export_power_max: 0 kW
  load: {model: load, power: 4 kW}
  battery:
    model: battery
    energy_capacity: 10 kWh
    initial_energy: 0 %
    charge_power_max: 5 kW
    discharge_power_max: 5 kW
    charge_efficiency: 80 %
goal: {minimize: cost}
"""


def problem(folder: Path, yaml: str, *, block: bool = False, **files: str) -> Problem:
    """Write a plant file, or a text with a block, and data files ``NAME_csv``; load it."""
    for name, text in files.items():
        (folder / name.replace("_csv", ".csv")).write_text(text, encoding="utf-8")
    path = folder / ("problem.md" if block else "plant.yaml")
    text = f"# A site\n\nWith words.\n\n```yaml engiagent\n{yaml}```\n" if block else yaml
    path.write_text(text, encoding="utf-8")
    return Problem.load(path)


def reading(folder: Path, yaml: str, *, block: bool = False, **files: str) -> Reading:
    """Return the reading of a plant."""
    found = read_plant(problem(folder, yaml, block=block, **files))
    assert found is not None
    assert found.blueprint is not None
    return found


def stated(folder: Path, yaml: str, *, block: bool = False, **files: str) -> Blueprint:
    """Return the blueprint of a plant."""
    found = reading(folder, yaml, block=block, **files).blueprint
    assert found is not None
    return found


def series(values: "list[float]", minutes: int, header: str, start: str = "2026-06-01") -> str:
    """Return a file with a time stamp in each row."""
    rows = [
        f"{start}T{k * minutes // 60:02d}:{k * minutes % 60:02d},{value}"
        for k, value in enumerate(values)
    ]
    return "\n".join([f"time,{header}", *rows]) + "\n"
