"""Plans without a market of two stages: fixed before the prices or the load are known."""

from pathlib import Path

import pytest

from engiagent.agents.offline import Analysis
from tests.agents.support import analysed, solved

PRICE = (50.0, 40.0, 35.0, 60.0, 90.0, 120.0)


def csv(columns: dict[str, list[float]]) -> str:
    rows = [f"2026-03-03 {t:02d}:00,{','.join(f'{c[t]:g}' for c in columns.values())}"
            for t in range(6)]  # fmt: skip
    return "\n".join([f"hour,{','.join(columns)}", *rows]) + "\n"


def head(file: str) -> str:
    return f"---\ndata: [{file}]\n---\n# Plan\n\n"


BATTERY = (
    "Our battery holds 4 MWh and charges and discharges with up to 2 MW. Charging and discharging "
    "efficiency are 95 % each. It starts with 1 MWh and must end with at least 1 MWh. It trades on "
    "the day-ahead market on 3 March 2026. "
)
LISTS = (
    "`prices.csv` holds four equally likely price scenarios, s1 to s4, in EUR/MWh. ",
    "The four columns of `prices.csv` (EUR/MWh) are scenarios of the price; they are equally "
    "likely. ",
    "Scenarios s1, s2, s3 and s4 of the price in `prices.csv` (EUR/MWh) have probabilities of "
    "25 %, 25 %, 25 % and 25 %. ",
)
FIXED = (
    "The schedule must be fixed before the prices are known. ",
    "The battery is operated with the same schedule in all scenarios. ",
    "The plan has to be decided before we know the prices. ",
)
GOALS = (
    "Find the schedule with the highest expected profit in EUR.",
    "Maximise the mean profit, in EUR.",
)
SPREAD = {f"s{k}": [p * f for p in PRICE] for k, f in enumerate((1.0, 1.4, 0.8, 1.2), 1)}
FILES = {"prices.csv": csv(SPREAD)}


def trading(*picked: int) -> str:
    """Return the text with the given way to say each part."""
    ways = zip((LISTS, FIXED, GOALS), picked, strict=True)
    return head("prices.csv") + BATTERY + "".join(way[k % len(way)] for way, k in ways) + "\n"


def problems(analysis: Analysis) -> object:
    return analysis.missing, analysis.not_understood, analysis.ambiguous


def test_a_schedule_for_all_prices_is_that_for_their_mean(tmp_path: Path) -> None:
    mean = csv({"price [EUR/MWh]": [p * 1.1 for p in PRICE]})
    plain = head("mean.csv") + BATTERY + "Maximise the profit in EUR.\n"
    (tmp_path / "mean").mkdir()
    known = analysed(tmp_path / "mean", plain, {"mean.csv": mean})
    assert known.complete, problems(known)
    wanted = solved(known, tmp_path / "mean")[1]
    for k in range(3):
        analysis = analysed(tmp_path, trading(k, k, k), FILES)
        assert analysis.complete, (trading(k, k, k), problems(analysis))
        status, objective = solved(analysis, tmp_path)
        assert status == "optimal"
        assert objective == pytest.approx(wanted, rel=1e-9)


NEAR = (
    (FIXED[0], ""),
    (FIXED[0], "The schedule must be fixed before the prices are known, except in the last hour. "),
    (LISTS[0], "`prices.csv` holds four price scenarios, s1 to s4, in EUR/MWh. "),
    (LISTS[0], "`prices.csv` holds five equally likely price scenarios, s1 to s4, in EUR/MWh. "),
    (GOALS[0], "Find the schedule with the lowest average cost per MWh in EUR."),
    (GOALS[0], "Find the schedule with the highest profit in s2, in EUR."),
)


@pytest.mark.parametrize("k", range(len(NEAR)))
def test_what_says_something_else_is_never_passed_over(tmp_path: Path, k: int) -> None:
    said, other = NEAR[k]
    plain = trading(0, 0, 0)
    assert said in plain
    assert not analysed(tmp_path, plain.replace(said, other), FILES).complete, other


def test_shares_of_halls_are_no_scenarios(tmp_path: Path) -> None:
    """Columns with percentages beside their names are scenarios only where chance is spoken of."""
    loads = csv({"north": [30.0] * 6, "south": [40.0] * 6})
    said = (
        head("load.csv")
        + "Two halls, north and south, have the loads in `load.csv` (kW). The bill "
        "is shared: north 40 %, south 60 %. Electricity costs 0.25 EUR/kWh on 3 March 2026. The "
        "battery holds 50 kWh, charges and discharges with 20 kW and starts with 10 kWh. Charging "
        "and discharging efficiency are 95 % each. Minimise the cost in EUR.\n"
    )
    analysis = analysed(tmp_path, said, {"load.csv": loads})
    sets = [] if analysis.blueprint is None else [s.kind for s in analysis.blueprint.core.sets]
    assert "scenario" not in sets


def test_a_generator_that_is_fixed_before_the_load_is_known(tmp_path: Path) -> None:
    """It may give what the lowest load takes, for what is more has nowhere to go."""
    low, base, high = [30.0, 32.0, 35.0, 40.0, 38.0, 33.0], [45.0] * 6, [70.0] * 6
    said = head("load.csv") + (
        "A site has a diesel generator that gives 10 kW to 60 kW and costs 0.20 EUR/kWh; it "
        "cannot be switched off. Electricity from the grid costs 0.25 EUR/kWh. The load on 3 March "
        "2026 is not known beforehand: `load.csv` gives the scenarios low (20 %), base (50 %) and "
        "high (30 %) in kW. The generator's output has to be fixed before the load is known; what "
        "is missing is bought from the grid once the load is known. Minimise the "
        "expected cost in EUR."
    )
    files = {"load.csv": csv({"low": low, "base": base, "high": high})}
    analysis = analysed(tmp_path, said, files)
    assert analysis.complete, problems(analysis)
    bought = sum(0.5 * (b - a) + 0.3 * (c - a) for a, b, c in zip(low, base, high, strict=True))
    objective = solved(analysis, tmp_path)[1]
    assert objective == pytest.approx(0.20 * sum(low) + 0.25 * bought, rel=1e-9)
