"""What batteries earn: against a programme by hand, and what can be said of any prices."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize, sparse

from engiagent.errors import InputError
from engiagent.tools import Session
from engiagent.tools.market.data import SHIPPED, series_of
from engiagent.tools.registry import State

BATTERY = {"power": 1000.0, "duration": 2.0, "round_trip": 0.85, "wear": 0.004}


def called(root: Path, tool: str, **given: Any) -> dict[str, Any]:
    seen = Session(root).call(tool, given)
    assert seen.status == "done", seen.content
    return seen.content


def real_prices() -> np.ndarray[Any, Any]:
    series, _ = series_of(State(Path()), f"{next(iter(SHIPPED))}#price")
    return series.prices()[0]


def written(path: Path, prices: Any, first: str = "2019-01-01T00:00") -> str:
    stamps = np.datetime64(first, "m") + 60 * np.arange(len(prices))
    rows = [
        f"{stamp},{price * 1e3!r}" for stamp, price in zip(stamps, map(float, prices), strict=True)
    ]
    path.write_text("\n".join(["time,price [EUR/MWh]", *rows]), encoding="utf-8")
    return f"{path.name}#price"


def by_hand(prices: Any, hours: float = 2.0) -> float:
    """Solve the same arbitrage as a mixed-integer programme written out."""
    count, power, way = len(prices), BATTERY["power"], BATTERY["round_trip"] ** 0.5
    lower = sparse.tril(np.ones((count, count)), format="csr")  # content after each hour
    eye = sparse.eye(count, format="csr")
    rows = sparse.bmat(
        [
            [lower * way, lower * (-1 / way), None],
            [eye, None, -power * eye],
            [None, eye, power * eye],
        ]
    )
    cost = np.r_[prices, -(prices - BATTERY["wear"]), np.zeros(count)]
    low = np.r_[np.zeros(count), np.full(2 * count, -np.inf)]
    high = np.r_[np.full(count, power * hours), np.zeros(count), np.full(count, power)]
    found = optimize.milp(
        cost,
        constraints=optimize.LinearConstraint(rows, low, high),
        bounds=optimize.Bounds(0.0, np.r_[np.full(2 * count, power), np.ones(count)]),
        integrality=np.r_[np.zeros(2 * count), np.ones(count)],
        options={"mip_rel_gap": 0.0},
    )
    return float(-found.fun)


@pytest.mark.parametrize("first", [0, 3700])  # a winter week, and June with prices below 0
def test_revenue_is_that_of_a_programme_by_hand(tmp_path: Path, first: int) -> None:
    prices = real_prices()[first : first + 240]
    found = called(
        tmp_path, "battery_revenue", prices=written(tmp_path / "p.csv", prices), **BATTERY
    )
    assert found["total"] == pytest.approx(by_hand(prices), rel=1e-9)
    assert found["years"][0]["status"] == "optimal"
    assert found["years"][0]["verdict"] in ("certified", "feasible")


def test_a_day_ahead_earns_what_each_day_earns_by_hand(tmp_path: Path) -> None:
    prices = real_prices()[504:744]
    assert prices.min() > 0  # so that nothing is stored overnight
    column = written(tmp_path / "p.csv", prices)
    found = called(tmp_path, "battery_revenue", prices=column, foresight="day", **BATTERY)
    assert found["total"] == pytest.approx(sum(map(by_hand, prices.reshape(10, 24))), rel=1e-9)
    assert 0.5 < found["capture_rate"] < 1.0
    assert found["years"][0]["verdict"] == "feasible"


def test_at_its_break_even_capital_a_battery_earns_the_rate(tmp_path: Path) -> None:
    prices = written(tmp_path / "p.csv", real_prices())
    asked = {**BATTERY, "prices": prices, "rate": 0.06, "years": 12}
    found = called(tmp_path, "battery_revenue", **asked)
    flows = [-found["break_even_capital"], *[found["total"]] * 12]
    assert called(tmp_path, "irr", flows=flows)["rates"] == [pytest.approx(0.06)]
    size = BATTERY["power"] * BATTERY["duration"]
    assert found["break_even_capital_energy"]["value"] == pytest.approx(
        found["break_even_capital"] / size
    )
    alone = {**BATTERY, "prices": prices, "rate": 0.06}
    refused = Session(tmp_path).call("battery_revenue", alone)
    assert refused.status == "failed"
    assert "rate and years belong together" in refused.content["error"]


@given(
    prices=st.lists(st.integers(-80, 200), min_size=24, max_size=72),
    duration=st.sampled_from([0.5, 1.0, 4.0]),
)
@settings(max_examples=15)
def test_what_is_known_later_never_costs(
    tmp_path_factory: pytest.TempPathFactory, prices: list[int], duration: float
) -> None:
    folder = tmp_path_factory.mktemp("prices")
    column = written(folder / "p.csv", np.array(prices) / 1e3)
    asked = {**BATTERY, "duration": duration, "prices": column}
    whole, day = (called(folder, "battery_revenue", foresight=f, **asked) for f in ("all", "day"))
    assert day["total"] + 1e-6 >= 0
    assert day["total"] <= whole["total"] + 1e-6
    for year in (*whole["years"], *day["years"]):
        assert year["verdict"] in ("certified", "feasible")
        balance = year["sales"] - year["purchases"] - year["wear_cost"]
        assert year["earnings"] == pytest.approx(balance, abs=1e-6)


def test_no_other_size_pays_more(tmp_path: Path) -> None:
    column = written(tmp_path / "p.csv", real_prices()[: 24 * 28])
    price = {"capital_power": 20.0, "capital_energy": 40.0, "rate": 0.05, "years": 15}
    found = called(
        tmp_path,
        "battery_sizing",
        prices=column,
        power=1000.0,
        round_trip=0.85,
        wear=0.004,
        **price,
    )
    assert found["profit_by_year"] <= found["profit_bound"] * (1 + 1e-9)
    assert found["profit_by_year"] == pytest.approx(found["profit_bound"], rel=1e-6)
    span = 24 * 28 / 8760
    factor = (1 - 1.05**-15) / 0.05
    for hours in (found["duration_h"] * 0.9, found["duration_h"] * 1.1):
        earned = called(
            tmp_path, "battery_revenue", prices=column, **{**BATTERY, "duration": hours}
        )["total"]
        cost = (20.0 * 1000 + 40.0 * 1000 * hours) / factor
        assert earned / span - cost <= found["profit_by_year"] + 1e-6


def test_days_that_stand_for_a_year_are_named(tmp_path: Path) -> None:
    prices = np.tile([0.01, 0.09], 12 * 14)
    asked = {**BATTERY, "rate": 0.0, "years": 10}
    column = written(tmp_path / "p.csv", prices)
    found = called(tmp_path, "battery_revenue", prices=column, least=0.1, **asked)
    assert "14 days of prices stand for a year" in found["notes"]
    assert any("between the least and the most" in note for note in found["notes"])
    assert found["break_even_capital"] == pytest.approx(found["total"] * 365 / 14 * 10)
    usable = 0.9 * BATTERY["power"] * BATTERY["duration"]
    year = found["years"][0]
    assert year["cycles"] * usable == pytest.approx(year["discharged_kwh"] / 0.85**0.5)
    column = written(tmp_path / "days.csv", prices[:48])
    seen = Session(tmp_path).call("battery_revenue", {"prices": column, **asked})
    assert "less than a week of prices" in seen.content["error"]


def test_no_battery_is_sold_that_does_not_pay(tmp_path: Path) -> None:
    column = written(tmp_path / "p.csv", np.full(200, 0.05))
    given = {"capital_power": 1.0, "capital_energy": 1.0, "rate": 0.05, "years": 10}
    seen = Session(tmp_path).call(
        "battery_sizing", {"prices": column, "power": 10, "round_trip": 0.9, **given}
    )
    assert "no size earns its cost" in seen.content["error"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("time,price\n2019-01-01T00:00,1\n2019-01-01T01:00,2\n", "has no unit"),
        ("price [EUR/MWh]\n1\n2\n", "no time stamps"),
        ("time,price [EUR/MWh]\n2019-01-01T00:00,1\n2019-01-01T01:00,\n", "an empty cell"),
        (
            "time,price [EUR/MWh]\n2019-01-01T00:00,1\n2019-01-01T01:00,2\n2019-01-01T03:00,2\n",
            "a gap of 1 time stamp",
        ),
        ("time,price [kW]\n2019-01-01T00:00,1\n2019-01-01T01:00,2\n", "no price of energy"),
    ],
)
def test_prices_that_are_none_are_refused(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "p.csv").write_text(text, encoding="utf-8")
    seen = Session(tmp_path).call("battery_revenue", {"prices": "p.csv#price", **BATTERY})
    assert seen.status == "failed"
    assert message in seen.content["error"]


def test_a_table_of_a_european_office_is_read(tmp_path: Path) -> None:
    rows = [f"01.06.2026 {hour:02d}:00;{5 + hour % 12},5" for hour in range(24)]
    (tmp_path / "p.csv").write_text("\n".join(["Zeit;Preis [ct/kWh]", *rows]), encoding="utf-8")
    asked = {**BATTERY, "prices": "p.csv#Preis"}
    seen = Session(tmp_path).call("battery_revenue", asked)
    assert "cents of which currency" in seen.content["error"]
    found = called(tmp_path, "battery_revenue", prices_unit="ct_EUR/kWh", **asked)
    prices = np.array([5.5 + hour % 12 for hour in range(24)]) / 100
    assert found["total"] == pytest.approx(by_hand(prices), rel=1e-9)
    assert found["unit"] == "EUR"
    query = called(tmp_path, "market_query", sql='SELECT max("Preis [ct/kWh]") AS most FROM p')
    assert query["rows"] == [{"most": 16.5}]


def test_a_series_is_a_file_and_a_column() -> None:
    with pytest.raises(InputError, match="a file and a column"):
        series_of(State(Path()), "prices.csv")
