"""Bills, agreements, emissions, yields: by hand, by identities, by another library."""

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pvlib
import pytest
import windpowerlib

from engiagent.environment.interface import quiet
from engiagent.tools import Session
from tests.market.test_storage import called

WEATHER = Path(pvlib.__file__).parent / "data/723170TYA.CSV"
ALL_DAY = [[0] * 24] * 12
RATE = {
    "energyratestructure": [[{"rate": 0.10}], [{"rate": 0.30}]],
    "energyweekdayschedule": [[0] * 16 + [1] * 4 + [0] * 4] * 12,
    "energyweekendschedule": ALL_DAY,
    "flatdemandstructure": [[{"rate": 12.0}]],
    "flatdemandmonths": [0] * 12,
    "fixedchargefirstmeter": 25.0,
    "fixedchargeunits": "$/month",
}


def series(path: Path, column: str, values: Any, first: str = "2019-01-01T00:00") -> str:
    stamps = np.datetime64(first, "m") + 60 * np.arange(len(values))
    rows = [f"{stamp},{float(value)!r}" for stamp, value in zip(stamps, values, strict=True)]
    path.write_text("\n".join([f"time,{column}", *rows]), encoding="utf-8")
    return f"{path.name}#{column.partition(' ')[0]}"


def test_a_bill_is_right_to_the_cent(tmp_path: Path) -> None:
    (tmp_path / "rate.json").write_text(json.dumps(RATE), "utf-8")
    hours = np.arange(744)  # January 2019 begins on a Tuesday
    load = np.where((hours % 24 >= 16) & (hours % 24 < 20), 10.0, 2.0)
    load[100] = 31.0
    column = series(tmp_path / "load.csv", "load [kW]", load)
    found = called(tmp_path, "tariff_bill", rate="rate.json", load=column, zone="America/New_York")
    weekday = (hours // 24 + 1) % 7 < 5
    peak = load[weekday & (hours % 24 >= 16) & (hours % 24 < 20)].sum()
    rest = load.sum() - peak
    by_hand = 25.0 + 12.0 * 31.0 + 0.30 * peak + 0.10 * rest
    assert found["total"] == pytest.approx(by_hand, abs=0.005)
    assert sum(found["lines"].values()) == pytest.approx(by_hand, abs=0.005)
    tiers = {"energyratestructure": [[{"rate": 0.1, "max": 500, "unit": "kWh"}, {"rate": 0.2}]]}
    both = dict.fromkeys(("energyweekdayschedule", "energyweekendschedule"), ALL_DAY)
    (tmp_path / "tiers.json").write_text(json.dumps({**tiers, **both}), "utf-8")
    found = called(tmp_path, "tariff_bill", rate="tiers.json", load=column, zone="UTC")
    assert found["total"] == pytest.approx(0.1 * 500 + 0.2 * (load.sum() - 500), abs=0.005)
    assert found["months"][0]["peak_kw"] == 31.0


@pytest.mark.parametrize(("first", "days"), [("2026-03-27", 4), ("2026-10-23", 4)])
def test_a_bill_reads_the_stamps_by_the_clocks_of_its_zone(
    tmp_path: Path, first: str, days: int
) -> None:
    begin = pd.Timestamp(first, tz="Europe/Berlin")
    index = pd.date_range(begin, begin + pd.DateOffset(days=days), freq="15min", inclusive="left")
    load = np.random.default_rng(3).uniform(1, 9, len(index)).round(2)
    for name, stamp in (("local", "%d.%m.%Y %H:%M"), ("offset", "%Y-%m-%dT%H:%M%z")):
        rows = [f"{t:{stamp}},{v}" for t, v in zip(index, load, strict=True)]
        (tmp_path / f"{name}.csv").write_text("\n".join(["time,load [kW]", *rows]), "utf-8")
    (tmp_path / "rate.json").write_text(json.dumps(RATE), "utf-8")
    asked = {"rate": "rate.json", "zone": "Europe/Berlin"}
    peak = (index.hour >= 16) & (index.hour < 20) & (index.day_of_week < 5)
    by_hand = 25.0 + 12.0 * load.max() + 0.25 * (0.3 * load[peak].sum() + 0.1 * load[~peak].sum())
    for name in ("local", "offset"):
        found = called(tmp_path, "tariff_bill", load=f"{name}.csv#load", **asked)
        assert found["total"] == pytest.approx(by_hand, abs=0.005)
    # Stamps evenly apart are not those of clocks that change.
    even = pd.date_range(first, periods=len(index), freq="15min")
    rows = [f"{t:%Y-%m-%dT%H:%M},1" for t in even]
    (tmp_path / "even.csv").write_text("\n".join(["time,load [kW]", *rows]), "utf-8")
    seen = Session(tmp_path).call("tariff_bill", {"load": "even.csv#load", **asked})
    assert ("does not exist in Europe/Berlin" if "03" in first else "a gap of") in str(seen.content)


def test_the_cheapest_rate_comes_first(tmp_path: Path) -> None:
    for name, price in (("a.json", 0.3), ("b.json", 0.2)):
        flat = {"energyratestructure": [[{"rate": price}]]}
        both = dict.fromkeys(("energyweekdayschedule", "energyweekendschedule"), ALL_DAY)
        (tmp_path / name).write_text(json.dumps({**flat, **both}), "utf-8")
    column = series(tmp_path / "load.csv", "load [kW]", np.full(744, 5.0))
    asked = {"rates": ["a.json", "b.json"], "load": column, "zone": "UTC"}
    found = called(tmp_path, "tariff_compare", **asked)
    assert found["cheapest"] == "b.json"
    assert found["saves"] == pytest.approx(0.1 * 5 * 744)
    # Of several rates the one that cannot be billed is named.
    (tmp_path / "b.json").write_text(json.dumps({"dgrules": "Buy All Sell All"}), "utf-8")
    seen = Session(tmp_path).call("tariff_compare", asked)
    assert str(seen.content["error"]).startswith("b.json: dgrules is 'Buy All Sell All'")
    (tmp_path / "b.json").write_text(json.dumps({"fixedmonthlycharge": 9}), "utf-8")
    free = called(tmp_path, "tariff_bill", rate="b.json", load=column, zone="UTC")
    assert free["assumptions"] == ["energy costs nothing: the rate has no energyratestructure"]


def test_both_forms_of_an_agreement_give_the_seller_the_strike(tmp_path: Path) -> None:
    made = series(tmp_path / "g.csv", "power [MW]", np.random.default_rng(1).uniform(0, 5, 8760))
    asked = {"prices": "de_2019#price", "generation": made, "strike": 48.0}
    forms = {
        f: called(tmp_path, "ppa_settlement", form=f, **asked) for f in ("physical", "difference")
    }
    for found in forms.values():
        assert found["income"] == pytest.approx(48.0 * found["energy_mwh"])
        assert sum(month["payment"] for month in found["months"]) == pytest.approx(found["payment"])
    # What is not settled below the floor is sold at the market's price.
    floored = called(tmp_path, "ppa_settlement", floor=0.0, **asked)
    assert floored["settled_mwh"] < floored["energy_mwh"]
    assert floored["income"] < forms["difference"]["income"]
    assert floored["capture_rate"] == pytest.approx(1.0, abs=0.02)  # made at any hour alike


def test_emissions_are_drawn_and_avoided(tmp_path: Path) -> None:
    power = series(tmp_path / "p.csv", "power [kW]", [100.0, -50.0, 0.0, 25.0])
    found = called(tmp_path, "emissions", power=power, factor=0.4)
    assert found["drawn_t"] == pytest.approx(0.4 * 0.125)
    assert found["avoided_t"] == pytest.approx(0.4 * 0.05)
    year = series(tmp_path / "y.csv", "power [kW]", np.full(8760, 1000.0))
    found = called(tmp_path, "emissions", power=year, factors="de_2019#emission_factor")
    assert found["total_t"] / found["drawn_mwh"] == pytest.approx(0.36, abs=0.1)


@pytest.mark.parametrize(
    ("tool", "given", "message"),
    [
        ("emissions", {"power": "p.csv#power"}, "one factor, or a series"),
        (
            "emissions",
            {"power": "p.csv#power", "factors": "de_2019#emission_factor"},
            "periods are",
        ),
        ("emissions", {"power": "de_2019#price", "factor": 1}, "is in EUR/MWh"),
        ("tariff_bill", {"rate": "r.json", "load": "p.csv#power", "zone": "Mars"}, "zone"),
        ("wind_yield", {"weather": "w.csv", "hub_height": 80}, "a type or a curve"),
        ("wind_yield", {"weather": "w.csv", "hub_height": 80, "turbine": "E-126"}, "E-126/7580"),
        ("irr", {"flows": [0, 0]}, "any rate would do"),
        ("lcoe", {"costs": [1], "energy": [1, 2], "rate": 0.1}, "costs for 1 years"),
        ("npv", {"flows": [1], "rate": -2}, "minimum"),
    ],
)
def test_what_makes_no_sense_is_refused(
    tmp_path: Path, tool: str, given: dict[str, Any], message: str
) -> None:
    series(tmp_path / "p.csv", "power [kW]", [1.0, 2.0])
    (tmp_path / "r.json").write_text(json.dumps(RATE), "utf-8")
    shutil.copy(WEATHER, tmp_path / "w.csv")
    seen = Session(tmp_path).call(tool, given)
    assert seen.status == "failed"
    assert message in seen.content["error"]


def test_flows(tmp_path: Path) -> None:
    assert called(tmp_path, "irr", flows=[-100, 230, -132])["rates"] == pytest.approx([0.1, 0.2])
    assert called(tmp_path, "npv", flows=[-100, 110], rate=0.1)[
        "net_present_value"
    ] == pytest.approx(0)
    found = called(tmp_path, "lcoe", costs=[1000, 0, 0], energy=[0, 10, 10], rate=0.0)
    assert found["levelised_cost_per_mwh"] == 50.0


def test_an_array_yields_what_pvlib_says(tmp_path: Path) -> None:
    shutil.copy(WEATHER, tmp_path / "w.csv")
    asked = {
        "weather": "w.csv",
        "dc_capacity": 100.0,
        "ac_capacity": 96.0,
        "tilt": 30,
        "azimuth": 180,
    }
    found = called(tmp_path, "pv_yield", file="pv.csv", **asked)
    with quiet():
        data, about = pvlib.iotools.read_tmy3(WEATHER, coerce_year=2001, map_variables=True)
    data.index = data.index - pd.Timedelta(minutes=30)
    place = pvlib.location.Location(about["latitude"], about["longitude"])
    mount = pvlib.pvsystem.FixedMount(30, 180)
    faiman = {"u0": 25.0, "u1": 6.84}
    array = pvlib.pvsystem.Array(
        mount,
        albedo=0.2,
        module_parameters={"pdc0": 100.0, "gamma_pdc": -0.0047},
        temperature_model_parameters=faiman,
    )
    system = pvlib.pvsystem.PVSystem(
        [array], inverter_parameters={"pdc0": 100.0, "eta_inv_nom": 0.96}
    )
    chain = pvlib.modelchain.ModelChain(
        system,
        place,
        transposition_model="perez",
        dc_model="pvwatts",
        ac_model="pvwatts",
        aoi_model="physical",
        spectral_model="no_loss",
        temperature_model="faiman",
        losses_model="pvwatts",
    )
    with quiet():
        chain.run_model(data[["ghi", "dni", "dhi", "temp_air", "wind_speed"]])
    assert found["energy_mwh"] == pytest.approx(float(chain.results.ac.sum()) / 1e3, rel=0.01)
    own = pd.read_csv(tmp_path / "pv.csv")["power [kW]"]
    assert own.sum() / 1e3 == pytest.approx(found["energy_mwh"])
    assert own.max() <= 96.0
    assert found["full_load_hours"] == pytest.approx(own.sum() / 96)
    assert "of 96 kW" in found["notes"][-1]


def test_a_turbine_yields_what_windpowerlib_says(tmp_path: Path) -> None:
    shutil.copy(WEATHER, tmp_path / "w.csv")
    asked = {"weather": "w.csv", "turbine": "E-126/4200", "hub_height": 135.0, "count": 3}
    found = called(tmp_path, "wind_yield", **asked)
    with quiet():
        data, _ = pvlib.iotools.read_tmy3(WEATHER, coerce_year=2001, map_variables=True)
        columns = {
            ("wind_speed", 10): data["wind_speed"],
            ("temperature", 2): data["temp_air"] + 273.15,
            ("pressure", 0): data["pressure"] * 100.0,
            ("roughness_length", 0): 0.15,
        }
        weather = pd.DataFrame(columns)
        turbine = windpowerlib.WindTurbine(hub_height=135, turbine_type="E-126/4200")
        chain = windpowerlib.ModelChain(turbine, density_correction=True).run_model(weather)
    # windpowerlib takes density at the hub, we at the station.
    assert found["energy_mwh"] == pytest.approx(3 * float(chain.power_output.sum()) / 1e6, rel=0.02)
    own = {"weather": "w.csv", "curve": ["3=0", "12=900", "25=900"], "hub_height": 80}
    lossy = called(tmp_path, "wind_yield", losses=0.1, **own)["energy_mwh"]
    assert lossy == pytest.approx(0.9 * called(tmp_path, "wind_yield", **own)["energy_mwh"])


def test_a_yield_is_of_a_whole_year_with_or_without_a_leap_day(tmp_path: Path) -> None:
    head, rows = WEATHER.read_text("utf-8").splitlines()[:2], []
    for row in WEATHER.read_text("utf-8").splitlines()[2:]:
        rows.append(row)
        if row.startswith("02/28/") and ",24:00," in row:
            day = [r for r in rows if r.startswith("02/28/")]
            rows += [r.replace("02/28/", "02/29/") for r in day]
    for name, kept in (("leap.csv", rows), ("part.csv", rows[:5000])):
        (tmp_path / name).write_text("\n".join([*head, *kept]) + "\n", "utf-8")
    shutil.copy(WEATHER, tmp_path / "w.csv")
    sun = {"dc_capacity": 100.0, "tilt": 30, "azimuth": 180}
    wind = {"curve": ["3=0", "12=900", "25=900"], "hub_height": 80}
    for tool, asked in (("pv_yield", sun), ("wind_yield", wind)):
        seen = Session(tmp_path).call(tool, {**asked, "weather": "part.csv"})
        assert "part.csv: the weather is of 5000 hours" in seen.content["error"]
        usual = called(tmp_path, tool, weather="w.csv", file=f"{tool}.csv", **asked)
        leap = called(tmp_path, tool, weather="leap.csv", file=f"{tool}_leap.csv", **asked)
        power = pd.read_csv(tmp_path / f"{tool}.csv").iloc[:, 1]
        more = power[58 * 24 : 59 * 24].sum() / 1e3  # the day that comes twice, about a day later
        assert leap["energy_mwh"] - usual["energy_mwh"] == pytest.approx(more, rel=0.05, abs=0.05)
        whole = called(tmp_path, "market_resample", series=f"{tool}_leap.csv#power", to="year")
        assert whole["starts"] == ["2000"]
    seen = Session(tmp_path).call(
        "wind_yield", {**wind, "weather": "w.csv", "curve": ["3=0", "3=9"]}
    )
    assert "3 stands twice" in seen.content["error"]
