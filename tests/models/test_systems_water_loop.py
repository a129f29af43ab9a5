"""A chiller plant with its tower, closed over electricity, heat and water."""

import numpy as np
import pytest

from engiagent.models.hvac.chiller import Chiller
from engiagent.models.hvac.cooling_tower import CoolingTower
from engiagent.models.hvac.curves import Biquadratic, Polynomial
from engiagent.models.hvac.moist_air import wet_bulb
from engiagent.models.ranges import ParameterError
from engiagent.models.systems import (
    Bus,
    ChillerModule,
    ControllerModule,
    CoolingTowerModule,
    GridModule,
    Link,
    Record,
    RoomsModule,
    System,
    WaterStoreModule,
    WaterSupplyModule,
)
from engiagent.models.thermal import ThermalNetwork, ThermalZone

# 6 % more power for each kelvin of warmer condenser water above 29 degC.
WARMER = Biquadratic((1.0 - 0.06 * 29.0, 0.0, 0.0, 0.06, 0.0, 0.0))
EVEN = Biquadratic((1.0, 0.0, 0.0, 0.0, 0.0, 0.0))
CHILLER = Chiller(
    rated_capacity=400.0,
    rated_cop=5.0,
    capacity_curve=EVEN,
    eir_curve=WARMER,
    part_load_curve=Polynomial((0.1, 0.9)),
    minimum_part_load=0.1,
)
TOWER = CoolingTower(coefficient=2.0, rated_air_flow=20.0, rated_fan_power=15.0)
HALL = ThermalNetwork(
    (ThermalZone(name="hall", capacitance=300.0, resistance=0.2, initial_temperature=26.0),)
)


def plant() -> System:
    def cool(read: dict[str, float]) -> dict[str, float]:
        return {"load": min(max(100.0 * (read["temperature"] - 23.0), 0.0), 400.0)}

    return System(
        modules={
            "hall": RoomsModule(HALL),
            "rule": ControllerModule(
                reads={"temperature": "degC"},
                commands={"load": "kW"},
                rule=cool,  # type: ignore[arg-type]
            ),
            "chiller": ChillerModule(CHILLER, condenser_bus=True),
            "tower": CoolingTowerModule(tower=TOWER, water_flow=20.0),
            "grid": GridModule(),
            "tank": WaterStoreModule(capacity=20000.0, initial=15000.0),
            "mains": WaterSupplyModule(),
        },
        buses=(
            Bus(name="cold", domain="thermal", members=("chiller.cooling", "hall.cooling")),
            Bus(name="loop", domain="thermal", members=("chiller.heat_rejected", "tower.heat")),
            Bus(
                name="pipe", domain="water", members=("tower.makeup", "tank.filling", "mains.flow")
            ),
            Bus(
                name="power",
                domain="electrical",
                members=("chiller.electric_power", "tower.electric_power", "grid.exchange"),
            ),
        ),
        links=(
            Link("hall.temperature", "rule.temperature"),
            Link("rule.load", "chiller.load"),
            Link("tower.water", "chiller.entering"),
        ),
    )


def summer(speed: float, periods: int = 6) -> Record:
    hours = np.arange(periods)
    return (
        plant()
        .initialize(1.0)
        .replay(
            {"tower.speed": speed, "mains.flow": 0.1},
            {
                "hall.ambient": 30.0 + 3.0 * np.sin(hours / 3),
                "hall.gains": 150.0,
                "chiller.leaving": 7.0,
                "tower.air_temperature": 30.0,
                "tower.humidity_ratio": 0.0135,
            },
        )
    )


def test_a_chiller_plant_closes_over_electricity_heat_and_water() -> None:
    record = summer(0.8)
    assert record.worst_imbalance() <= 1e-9 * 400.0
    assert record.worst_residual() <= 1e-9
    assert record["tower.heat"] == pytest.approx(
        record["chiller.cooling"] + record["chiller.electric_power"]
    )
    assert (record["hall.temperature"][4:] < 26.0).all()
    # No tower cools below the wet bulb. The latent heat alone would evaporate 1 kg for 2500 kJ;
    # here the air is warmer than the water and gives heat of its own.
    wet = wet_bulb(30.0, 0.0135)
    assert (record["tower.basin"] > wet).all()
    per_heat = record["tower.evaporation"] / record["tower.heat"]
    assert (per_heat > 1 / 2500).all()
    assert (per_heat < 0.55e-3).all()
    assert record["tower.makeup"] == pytest.approx(record["tower.evaporation"] * 4 / 3)
    used = 3600.0 * (0.1 - record["tower.makeup"]).cumsum()
    assert record["tank.content"][1:] == pytest.approx(15000.0 + used)
    # The chiller reads the basin of the period before.
    assert record["chiller.entering"][1:] == pytest.approx(record["tower.basin"][:-1])


def test_a_faster_fan_saves_power_at_the_chiller() -> None:
    slow, fast = summer(0.5), summer(1.0)
    assert (fast["tower.basin"] < slow["tower.basin"]).all()
    assert fast["chiller.electric_power"][1:].sum() < slow["chiller.electric_power"][1:].sum()
    assert fast["tower.electric_power"][0] == pytest.approx(15.0)


def test_a_standing_fan_without_draught_carries_nothing() -> None:
    with pytest.raises(ParameterError, match="period 0: tower: the water entering the tower does"):
        summer(0.0)
