"""A building of EnergyPlus as a plant: signals, overrides, reset, and what is refused."""

import csv
from pathlib import Path

import pytest
from click.testing import CliRunner

from engiagent.cli.app import app
from engiagent.environment.energyplus import EnergyPlus
from engiagent.environment.interface import quiet
from engiagent.environment.signals import Output, Signals, open_simulated
from engiagent.errors import EngiagentError, InputError

with quiet():
    package = pytest.importorskip("pyenergyplus")
DATA = Path(package.__file__).parent / "data"
OFFICE = DATA / "model" / "RefBldgSmallOfficeNew2004_Chicago.idf"
WEATHER = next((DATA / "weather").glob("*Chicago-OHare*.epw"))
CORE = "Zone Mean Air Temperature/CORE_ZN"
SETPOINT = "Schedule:Compact/Schedule Value/HTGSETP_SCH"
GAS = "NaturalGas:Facility"
DAY = 86_400.0


def office() -> EnergyPlus:
    read = {"core": Output(CORE), "gas": Output(GAS, mean=True)}
    return EnergyPlus(OFFICE, Signals(outputs=read, start_time=2 * DAY, weather=WEATHER))


def test_overrides_act_and_end_and_a_reset_begins_anew() -> None:
    plant = office()
    plant.initialize(3600.0)
    first = plant.reset()
    night = [plant.step({}) for _ in range(2)]
    warm = [plant.step({SETPOINT: 24.0}) for _ in range(3)]
    assert warm[-1][CORE] == pytest.approx(24.0, abs=0.5)
    assert night[-1][CORE] < 21.0
    assert warm[0][GAS] > 5 * max(step[GAS] for step in night)  # W, the mean of the hour
    free = [plant.step({}) for _ in range(3)]
    assert free[-1][CORE] < 22.0
    assert plant.reset() == first
    assert [plant.step({}) for _ in range(2)] == night
    plant.close()


def test_names_and_steps_that_do_not_fit_are_refused() -> None:
    plant = office()
    with pytest.raises(InputError, match="no actuator"):
        plant.step({"Schedule:Compact/Schedule Value/HTGSETPSCH": 1.0})
    with pytest.raises(InputError, match="10 min"):
        plant.initialize(700.0)
    plant.close()
    wrong = {"core": Output("Zone Mean Air Temperature/CORE_Z")}
    with pytest.raises(InputError, match="CORE_ZN"):
        EnergyPlus(OFFICE, Signals(outputs=wrong, weather=WEATHER))
    with pytest.raises(EngiagentError, match=r"ended with code|Severe"):
        EnergyPlus(WEATHER, Signals(weather=WEATHER))
    with pytest.raises(InputError, match="no such file"):
        EnergyPlus(OFFICE, Signals(weather=Path("none.epw")))
    with pytest.raises(InputError, match="weather: FILE"):
        open_simulated("energyplus", OFFICE, Signals())


def test_a_building_runs_under_our_names_and_units(tmp_path: Path) -> None:
    (tmp_path / "weather.epw").write_bytes(WEATHER.read_bytes())
    (tmp_path / "signals.yaml").write_text(
        "weather: weather.epw\ntime_zero: 2025-01-01\nstart_time: 2 d\n"
        f"inputs:\n  core.setpoint: {{to: {SETPOINT}, unit: degC}}\n"
        f"outputs:\n  core.temperature: {{from: {CORE}}}\n  gas: {{from: '{GAS}', mean: yes}}\n"
    )
    (tmp_path / "rules.yaml").write_text('core.setpoint: {daily: {"00:00": 18, "06:00": 22}}\n')
    command = ["simulate", f"energyplus:{OFFICE}", "--signals", f"{tmp_path}/signals.yaml"]
    command += ["--controller", f"{tmp_path}/rules.yaml", "--step", "30min", "--steps", "24"]
    called = CliRunner().invoke(app, [*command, "--out", f"{tmp_path}/run"])
    assert called.exit_code == 0, called.output
    rows = list(csv.DictReader((tmp_path / "run" / "data.csv").read_text().splitlines()))
    assert rows[0]["time"].startswith("2025-01-03")
    temperature = [float(row["core.temperature [degC]"]) for row in rows]
    assert temperature[-1] == pytest.approx(22.0, abs=0.5)
    assert min(temperature) > 17.0
    assert max(float(row["gas [kW]"]) for row in rows) > 1.0
