"""A building operator: another set point, the report's figures, last week's log of another tool."""

import json
import math
import re
from html import unescape
from pathlib import Path

from tests.doors.conftest import Door

HEAT_CAPACITY, RESISTANCE, COP, LARGEST, START = 14.0, 2.1, 3.4, 6.0, 19.0
DATA = [
    (2.0 + 4 * math.sin((k - 9) / 3.8), 0.9 * (8 <= k < 18), 0.2 + 0.1 * (k > 15))
    for k in range(24)
]
"""Of each hour: outdoors [°C], gains [kW], price [EUR/kWh]."""
PLANT = """
title: School
horizon: {start: 2026-11-02, days: 1, step: 1 h, zone: Europe/Berlin}
components:
  meter: {model: grid, import_price: day.csv#price_EUR_per_kWh}
  room:
    model: thermal_zone
    capacitance: 14 kWh/K
    resistance: 2.1 K/kW
    initial_temperature: 19 °C
    ambient_temperature: day.csv#outdoor_degC
    gains: day.csv#gains_kW
  heat_pump: {model: heater, zone: room, electric_power_max: 6 kW, cop: 3.4}
requirements:
  comfort: {for: i in I, where: 7 <= hour(i) <= 17, must: "20 °C <= room.temperature[i] <= 24 °C"}
  night: {for: i in I, must: "room.temperature[i] >= 16 °C"}
goal: {minimize: cost}
"""


def write_plant() -> None:
    Path("plant.yaml").write_text(PLANT, "utf-8")
    rows = [
        f"2026-11-02T{k:02}:00,{out},{gain},{price}" for k, (out, gain, price) in enumerate(DATA)
    ]
    header = "time,outdoor_degC,gains_kW,price_EUR_per_kWh"
    Path("day.csv").write_text("\n".join([header, *rows]), "utf-8")


def log_of_thermostat(path: str, day: float, night: float) -> float:
    """Write what a thermostat did, hour by hour, as its tool does, and return the energy in kWh."""
    stays, temperature, rows, total = math.exp(-1 / (HEAT_CAPACITY * RESISTANCE)), START, [], 0.0
    for hour, (outdoor, gain, _) in enumerate(DATA):
        idle = outdoor + RESISTANCE * gain
        idle += (temperature - idle) * stays
        wanted = (day if 2 <= hour < 18 else night) - idle
        heat = wanted / (RESISTANCE * (1 - stays))
        power = round(min(max(heat / COP, 0.0), LARGEST), 3)
        temperature = idle + RESISTANCE * (1 - stays) * COP * power
        total += power
        rows.append(f"02.11.2026 {hour:02}:00;" + f"{power:.3f}".replace(".", ","))
    Path(path).write_text("\n".join(["Zeit;WP Leistung [kW]", *rows]) + "\n", "utf-8")
    return total


def figure(report: str, name: str) -> float:
    """Return a key figure as the report shows it."""
    words = " ".join(unescape(re.sub(r"<[^>]+>", " ", report)).split())
    found = re.search(rf"{name}\D{{0,40}}?([\d.,]+)", words[words.index("Key figures") :])
    assert found is not None, name
    return float(found[1].replace(",", ""))


def test_a_warmer_room_costs_more(door: Door) -> None:
    write_plant()
    assert "plant: certified" in door.types("engiagent run plant.yaml --out runs/usual")
    text = Path("plant.yaml").read_text("utf-8")
    Path("plant.yaml").write_text(text.replace('must: "20 °C', 'must: "21.5 °C'), "utf-8")
    assert "plant: certified" in door.types("engiagent run plant.yaml --out runs/warmer")
    with door.step("read both reports"):
        usual, warmer = (
            Path(f"runs/{n}/report.html").read_text("utf-8") for n in ("usual", "warmer")
        )
        for heading in ("Certified", "Schedule", "What to do, and when", "Is it safe?"):
            assert heading in warmer
        assert figure(warmer, "Import") > figure(usual, "Import")
    said = door.types("engiagent check --certificate runs/warmer/certificate.json")
    assert "the stored certificate holds" in said
    said = door.types(
        'engiagent check runs/warmer --disturb "room.ambient_temperature=0.5 K, runs=20, seed=1"'
    )
    assert "limits hold in" in said


def test_last_week_from_another_tool(door: Door) -> None:
    write_plant()
    energy = log_of_thermostat("week.csv", day=20.5, night=17)
    door.types("engiagent check plant.yaml --solution week.csv", code=2)
    how = '--map "heat_pump.electric_power=WP Leistung" --decimal ,'
    said = door.types(f"engiagent check plant.yaml --solution week.csv {how} --json")
    found = json.loads(said[said.index("\n{") if "\n{" in said else 0 :])
    figures = {(f["name"], f["component"]): f["value"] for f in found["figures"]}
    assert abs(figures["import", "meter"] - energy) < 1e-6
    assert found["best"]["worse_by"] > 0

    log_of_thermostat("week.csv", day=19, night=17)
    said = door.types(f"engiagent check plant.yaml --solution week.csv {how}", code=1)
    assert "violated" in said
    assert re.search(r"comfort.* by [\d.]+ K at ", said)
    log_of_thermostat("week.csv", day=0, night=0)  # it does nothing, and costs nothing
    said = door.types(f"engiagent check plant.yaml --solution week.csv {how}", code=1)
    assert "this schedule comes out better, as no plan that holds can" in said
