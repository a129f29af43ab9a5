"""Yearly arbitrage against hand sums and a dynamic programme, and what a battery may cost."""

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from scipy.optimize import Bounds, LinearConstraint, milp

from engiagent.cli.finance import finance
from engiagent.errors import InputError
from engiagent.study.economics import annuity_factor, internal_rates
from engiagent.study.economics.arbitrage import Storage, arbitrage, read_prices


def test_one_cycle_by_hand() -> None:
    # 1 kW for 2 h, 90 % each way: 2 kWh stored take 2/0.9 kWh and give 1.8 kWh, in three hours.
    prices = [0.02, 0.02, 0.02, 0.10, 0.10]
    found = arbitrage(prices, Storage(power=1.0, hours=2.0, round_trip=0.81))
    assert found.earnings == pytest.approx(1.8 * 0.10 - 2 / 0.9 * 0.02, abs=1e-9)


def test_wear_and_limits_of_content() -> None:
    prices = [0.02, 0.02, 0.02, 0.10, 0.10]
    half = Storage(power=1.0, hours=2.0, round_trip=0.81, least=0.25, most=0.75, wear=0.03)
    found = arbitrage(prices, half)
    assert found.earnings == pytest.approx(0.9 * (0.10 - 0.03) - 1 / 0.9 * 0.02, abs=1e-9)
    assert arbitrage(prices, Storage(power=1, hours=2, round_trip=0.1)).earnings == 0.0


def by_dynamic_programme(prices: np.ndarray, levels: int) -> float:
    """Return the most earned when every hour fills or empties one of some levels, or none."""
    value = np.zeros(levels + 1)
    for price in prices[::-1]:
        stay = value
        up = np.append(value[1:] - price, -np.inf)
        down = np.insert(value[:-1] + price, 0, -np.inf)
        value = np.maximum(stay, np.maximum(up, down))
    return float(value[0])


def test_a_dynamic_programme_agrees_also_below_zero() -> None:
    # Without losses an optimum of the linear programme fills or empties whole kWh.
    rng = np.random.default_rng(4)
    prices = rng.normal(0.02, 0.05, 200)
    found = arbitrage(prices, Storage(power=1.0, hours=3.0))
    assert found.earnings == pytest.approx(by_dynamic_programme(prices, 3), abs=1e-9)


def test_energy_is_not_burnt_at_negative_prices() -> None:
    """Against binaries in every period, written by hand for scipy."""
    prices = np.array([-0.05, -0.02, -0.05, 0.01, -0.03, -0.05, -0.01, 0.02, -0.05, -0.04])
    count, eta = len(prices), 0.9
    # charge, discharge, switch: content stays within 0 and 1, one direction at a time
    content = np.tril(np.ones((count, count)))
    eye, zero = np.eye(count), np.zeros((count, count))
    rows = [
        LinearConstraint(np.hstack([eta * content, -content / eta, zero]), 0, 1),
        LinearConstraint(np.hstack([eye, zero, -eye]), -np.inf, 0),
        LinearConstraint(np.hstack([zero, eye, eye]), -np.inf, 1),
    ]
    whole = np.repeat([0, 0, 1], count)
    cost = np.concatenate([prices, -prices, np.zeros(count)])
    best = milp(cost, constraints=rows, integrality=whole, bounds=Bounds(0, 1))
    found = arbitrage(prices, Storage(power=1.0, hours=1.0, round_trip=0.81))
    assert found.earnings == pytest.approx(-best.fun, abs=1e-9)


def write_prices(folder: Path, years: tuple[int, ...]) -> Path:
    lines = ["time,price [USD/MWh]"]
    for year in years:
        stamps = np.arange(f"{year}-01-01T00", f"{year + 1}-01-01T00", dtype="datetime64[h]")
        hour = np.arange(len(stamps)) % 24
        prices = np.where(
            hour < 4, 20.0, np.where((hour >= 17) & (hour < 21), 20.0 + year % 100, 30)
        )
        lines += [f"{s},{p}" for s, p in zip(stamps, prices, strict=True)]
    path = folder / "hub.csv"
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


def test_what_a_battery_may_cost(tmp_path: Path) -> None:
    path = write_prices(tmp_path, (2023, 2024))
    asked = f"battery {path}#price --hours 4 --round-trip 0.81 --target 0.13 --years 15 --json"
    ran = CliRunner().invoke(finance, asked.split(), catch_exceptions=False)
    record = json.loads(ran.stdout)
    # 3.6 kWh out of 4 kWh stored a day at most; in four hours only 4 kWh can go in, which give
    # 4 · 0.9 · 0.9 kWh; the third price lets it go on, so the solve can only be above one cycle.
    for year, days, high in (("2023", 365, 43.0), ("2024", 366, 44.0)):
        cycle = (3.24 * high - 4 * 20.0) / 1000 * days
        assert record["years"][year] >= cycle - 1e-9
        assert record["years"][year] <= 1.2 * cycle + 4 * (high - 20) / 1000 * days
    earnings = [record["years"][("2023", "2024")[k % 2]] for k in range(15)]
    flows = [-record["capital_per_kw"], *earnings]
    assert internal_rates(flows).rate == pytest.approx(0.13, rel=1e-9)
    assert min(earnings) * annuity_factor(0.13, 15) < record["capital_per_kw"]
    assert record["proven"]
    assert record["currency"] == "USD"


def test_prices_that_are_no_years_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "p.csv"
    path.write_text("price\n1\n2\n", encoding="utf-8")
    with pytest.raises(InputError, match="no unit"):
        read_prices(path, "price")
    with pytest.raises(InputError, match="no time stamps"):
        read_prices(path, "price", unit="EUR/MWh")
    path.write_text("time,price\n2023-01-01,1\n2023-01-02,2\n", encoding="utf-8")
    with pytest.raises(InputError, match="no price of energy"):
        read_prices(path, "price", unit="kW")
    path.write_text("time,price [EUR/MWh]\n2023-01-01,1\n2023-01-02,2\n", encoding="utf-8")
    with pytest.raises(InputError, match="cover 48 h"):
        read_prices(path, "price")


def test_cents_become_money(tmp_path: Path) -> None:
    path = write_prices(tmp_path, (2023,))
    path.write_text(path.read_text("utf-8").replace("[USD/MWh]", "[ct_EUR/kWh]"), "utf-8")
    read = read_prices(path, "price")
    assert read.currency == "EUR"
    assert read.years["2023"][0] == pytest.approx(0.2)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["irr", "--", "-100", "230", "-132"], "0.1"),
        (["npv", "--rate", "0.1", "--", "-100", "60", "60"], "4.13223"),
        (["annuity", "--rate", "0.05", "--years", "20", "1000"], "80.2425"),
    ],
)
def test_commands(arguments: list[str], said: str) -> None:
    ran = CliRunner().invoke(finance, arguments, catch_exceptions=False)
    assert ran.exit_code == 0
    assert said in ran.output
