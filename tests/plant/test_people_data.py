"""Data as people have them: other steps and countries, clocks that change, spreadsheets."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import numpy as np
import pytest
from click.testing import CliRunner

from engiagent.cli.app import app
from engiagent.errors import InputError
from engiagent.notebook.solution import Solution
from engiagent.text import Problem

BERLIN = ZoneInfo("Europe/Berlin")
PLANT = """\
horizon: {{step: 15 min, zone: Europe/Berlin, start: {day}, days: 1}}
components:
  grid: {{model: grid, import_price: "{price} + 45 EUR/MWh", import_power_max: 200 kW}}
  bakery: {{model: load, power: "{load}"}}
  battery: {{model: battery, energy_capacity: 100 kWh, charge_power_max: 50 kW,
            discharge_power_max: 50 kW, initial_energy: 50 %}}
goal: {{minimize: cost}}
"""


def clock(day: str, count: int, minutes: int) -> list[datetime]:
    """Return local stamps of a day, an hour of which may come twice or not at all."""
    first = datetime.fromisoformat(day).replace(tzinfo=BERLIN).astimezone(UTC)
    return [(first + k * timedelta(minutes=minutes)).astimezone(BERLIN) for k in range(count)]


def solved(folder: Path, day: str, price: str, load: str) -> Solution:
    (folder / "plant.yaml").write_text(PLANT.format(day=day, price=price, load=load), "utf-8")
    solution: Solution = Problem.load(folder / "plant.yaml").solve(progress=False)
    return solution


@pytest.mark.parametrize(
    ("day", "hours"), [("2026-10-25", 25), ("2026-03-29", 23), ("2026-06-01", 24)]
)
def test_german_hourly_prices_beside_american_quarter_hours(
    tmp_path: Path, day: str, hours: int
) -> None:
    price = 60 + 30 * np.sin(np.arange(hours) / 3)
    rows = [
        f"{t:%d.%m.%Y %H:%M};{p:.2f}" for t, p in zip(clock(day, hours, 60), price, strict=True)
    ]
    commas = [row[:16] + row[16:].replace(".", ",") for row in rows]
    text = "\n".join(["Datum;Preis [EUR/MWh]", *commas])
    (tmp_path / "preise.csv").write_text(text, "utf-8")
    quarters = clock(day, 4 * hours, 15)
    lines = [
        f"{t.month}/{t.day}/{t.year} {t:%I:%M %p},{40 + k % 5}" for k, t in enumerate(quarters)
    ]
    (tmp_path / "load.csv").write_text("Time,Load (kW)\n" + "\n".join(lines), "utf-8")
    solution = solved(tmp_path, day, "preise.csv#Preis", "load.csv#Load")
    certificate = solution.certificate
    assert certificate.verdict == "certified"
    assert "aligned with the periods by 'hold'" in certificate.to_json()
    # The price of a quarter hour is that of its hour, and the surcharge comes on top.
    held = np.repeat(np.round(price, 2), 4) + 45
    bill = float(held @ solution["grid.import"].values) * 0.25 / 1000
    assert solution.objective == pytest.approx(bill, rel=1e-9)


def test_cents_under_a_name_with_blanks_in_the_only_file(tmp_path: Path) -> None:
    rows = [f"01.06.2026 {hour:02}:00;{20 + hour},5" for hour in range(3)]
    text = "\n".join(["Zeit;Preis Strom [ct/kWh]", *rows])
    (tmp_path / "preise.csv").write_text(text, "utf-8")
    plant = """\
horizon: {{step: 1 h, zone: Europe/Berlin}}
components:
  grid: {{model: grid, import_price: 'preise.csv#{name}'}}
  shop: {{model: load, power: 10 kW}}
goal: {{minimize: cost}}
"""
    path = tmp_path / "plant.yaml"
    path.write_text(plant.format(name='"Preis Strom" + 10 ct/kWh'), "utf-8")
    plan: Solution = Problem.load(path).solve(progress=False)
    assert plan.objective == pytest.approx(10 * (0.305 + 0.315 + 0.325))
    path.write_text(plant.format(name="Preis Strom + 10 ct/kWh"), "utf-8")
    with pytest.raises(InputError, match=r'import_price: no value.*data.csv#"load in kW"'):
        Problem.load(path).solve(progress=False)


def test_a_spreadsheet_is_data_and_a_schedule(tmp_path: Path) -> None:
    openpyxl = pytest.importorskip("openpyxl")
    stamps = [t.replace(tzinfo=None) for t in clock("2026-06-01", 96, 15)]

    def sheet(name: str, header: list[str], rows: list[list[object]]) -> None:
        book = openpyxl.Workbook()
        for row in [header, *rows]:
            book.active.append(row)
        book.save(tmp_path / name)

    data = [[t, 60.5 + k % 7, 40 + k % 5] for k, t in enumerate(stamps)]
    sheet("day.xlsx", ["Zeit", "Preis [EUR/MWh]", "Last [kW]"], data)
    solution = solved(tmp_path, "2026-06-01", "day.xlsx#Preis", "day.xlsx#Last")
    assert solution.certificate.verdict == "certified"
    names = {"grid.import": "Bezug (kW)"}
    names |= {"battery.charge": "Laden", "battery.discharge": "Entladen"}
    series = [solution[name].values.tolist() for name in names]
    rows = [[t, *values, 1.0] for t, *values in zip(stamps, *series, strict=True)]
    sheet("plan.xlsx", ["Zeit", *names.values(), "Wind [m/s]"], rows)
    plan = ["check", str(tmp_path / "plant.yaml"), "--solution", str(tmp_path / "plan.xlsx")]
    units = ["--unit", "Laden=kW", "--unit", "Entladen=kW"]
    maps = [word for item in names.items() for word in ("--map", "=".join(item))]
    found = CliRunner().invoke(app, [*plan, *maps, *units])
    assert found.exit_code == 0, found.output
    assert "not used: Wind" in found.output  # no column is dropped in silence
    wrong = CliRunner().invoke(app, [*plan, "--map", "grid.import=Bezug (MW)"])
    assert wrong.exit_code == 2
    assert "did you mean 'Bezug'" in wrong.output


def test_a_sheet_that_is_no_table_is_refused_with_its_place(tmp_path: Path) -> None:
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    for row in (["Last [kW]"], [1.0], ["viel"], [3.0]):
        book.active.append(row)
    book.save(tmp_path / "day.xlsx")
    (tmp_path / "problem.md").write_text("---\ndata: [day.xlsx]\n---\nText.\n", "utf-8")
    with pytest.raises(InputError, match=r"day\.xlsx:3:1: .*'viel'"):
        Problem.load(tmp_path)
    book.create_sheet("zwei").append(["x"])
    book.save(tmp_path / "day.xlsx")
    with pytest.raises(InputError, match="only sheet; found Sheet, zwei"):
        Problem.load(tmp_path)


def test_gaps_are_named_with_their_stamps(tmp_path: Path) -> None:
    stamps = [t for k, t in enumerate(clock("2026-06-01", 96, 15)) if k not in (17, 18, 40)]
    text = "time,load [kW]\n" + "\n".join(f"{t:%Y-%m-%d %H:%M},40" for t in stamps)
    (tmp_path / "load.csv").write_text(text, "utf-8")
    said = r"a gap of 2 time stamp\(s\) after 2026-06-01 04:00, and 1 more gap"
    with pytest.raises(InputError, match=said):
        solved(tmp_path, "2026-06-01", "100 EUR/MWh", "load.csv#load")
