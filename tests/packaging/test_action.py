"""The GitHub action from its first step that runs anything: it installs, analyses and checks."""

from importlib.metadata import requires
from pathlib import Path

import pytest

from tests.action import steps_of_action
from tests.packaging.conftest import copy_of_source, environment

PLANT = """\
title: Shop
horizon: {start: 2026-05-04, step: 1 h, periods: 3}
components:
  grid: {model: grid, import_price: [0.1 EUR/kWh, 0.3 EUR/kWh, 0.2 EUR/kWh]}
  shop: {model: load, power: 5 kW}
  battery: {model: battery, energy_capacity: 4 kWh, charge_power_max: 4 kW,
            discharge_power_max: 4 kW, initial_energy: 0 kWh}
goal: {minimize: cost}
"""


def test_it_installs_itself_and_judges_a_repository(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """GitHub gives a checkout of the action and a Python; packages here come from no network."""
    clean, shop = tmp_path / "python", tmp_path / "repository" / "problems" / "shop"
    declared = [text for text in requires("engiagent") or [] if "extra ==" not in text]
    environment(clean, [*declared, "pip", "setuptools"])
    around = {
        "HOME": str(tmp_path),
        "PATH": f"{clean / 'bin'}:/usr/bin:/bin",
        "PIP_NO_INDEX": "1",
        "PIP_NO_BUILD_ISOLATION": "0",  # pip reads it as the value of build isolation
        "GITHUB_STEP_SUMMARY": str(tmp_path / "summary.md"),
    }
    shop.mkdir(parents=True)
    (shop / "plant.yaml").write_text(PLANT, encoding="utf-8")
    monkeypatch.chdir(shop.parents[1])
    install, lint, check = steps_of_action(copy_of_source(tmp_path / "action"))
    done = install.run(**around)
    assert done.returncode == 0, done.stdout + done.stderr
    for step in (lint, check):
        done = step.run(**around)
        assert done.returncode == 0, done.stdout + done.stderr
    reports = {path.name for path in Path("engiagent-reports").iterdir()}
    assert reports == {"junit.xml", "lint.sarif", "summary.md"}
    assert "certified" in (tmp_path / "summary.md").read_text("utf-8")
    (shop / "schedule.csv").write_text("t,battery.charge [kW]\n0,9\n1,0\n2,0\n", encoding="utf-8")
    assert lint.run(**around).returncode == 0
    assert check.run(**around).returncode != 0
