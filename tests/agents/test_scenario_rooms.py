"""Heat-pump power that is bought before the weather is known, and near misses of each part."""

from pathlib import Path

import pytest

from tests.agents.support import analysed, solved

TEXT = """---
data: [weather.csv, dayahead.csv]
---
# Power

Our utility runs the heat pump of a new quarter and has to buy its electricity on the day-ahead
market, hour by hour and never more than the heat pump can take, before it knows how cold 9 January
2026 will be. Forecasters give three courses for 06:00 to 10:00, see `weather.csv` (degC): mild with
25 %, usual with 55 %, frost with 20 %. `dayahead.csv` has the prices in EUR/MWh.

When the day comes, the heat pump (at most 0.42 MW electric) is run knowing the weather. What it
takes beyond the purchase is bought at the day-ahead price plus 60 EUR/MWh, what it leaves is given
back at the day-ahead price less 45 EUR/MWh.

Quarter: 1.9 MWh/K, 31 kW/K to the outdoors; COP 2.8; inner gains of 120 kW; 20.6 °C at 06:00;
temperature of the next hour by an explicit step. In every course the temperature must be between
20 °C and 22 °C on the hour, and 20.4 °C or more at 10:00.

Which hourly purchase has the least expected cost, purchase and settlement together, in EUR?
"""
HOURS = [f"2026-01-09 {6 + t:02d}:00" for t in range(4)]
COURSES = ((4, 1, -4), (4.5, 1, -5), (5, 1.5, -5), (5, 2, -5))
FILES = {
    "weather.csv": "hour,mild,usual,frost\n"
    + "".join(f"{h},{','.join(map(str, c))}\n" for h, c in zip(HOURS, COURSES, strict=True)),
    "dayahead.csv": "hour,price [EUR/MWh]\n"
    + "".join(f"{h},{p}\n" for h, p in zip(HOURS, (94, 131, 118, 80), strict=True)),
}


def cost(folder: Path, text: str) -> float:
    analysis = analysed(folder, text, FILES)
    assert analysis.complete, (analysis.missing, analysis.not_understood, analysis.ambiguous)
    status, objective = solved(analysis, folder)
    assert status == "optimal"
    assert objective is not None
    return objective


def test_what_is_known_later_is_worth_something(tmp_path: Path) -> None:
    waits = cost(tmp_path, TEXT)
    blind = cost(tmp_path, TEXT.replace("is run knowing the weather",
                                        "is run without knowing the weather"))  # fmt: skip
    lost = cost(tmp_path, TEXT.replace("is given\nback at the day-ahead price less 45 EUR/MWh",
                                       "is lost"))  # fmt: skip
    worst = cost(tmp_path, TEXT.replace("least expected cost", "least cost in the worst course"))
    assert waits < blind
    assert waits < lost
    assert waits < worst


NEAR = (
    ("In every course the temperature", "In the mild course the temperature"),
    ("In every course the temperature", "In two of the three courses the temperature"),
    ("In every course the temperature", "In most courses the temperature"),
    ("is run knowing the weather", "is run as planned"),
    ("than the heat pump can take", "than half of what the heat pump can take"),
    ("before it knows how cold", "when it knows how cold"),
    ("frost with 20 %.", "frost with 20 %. Each hour another course may come."),
    ("frost with 20 %.", "frost with 20 %. The course becomes clear little by little."),
    ("takes beyond the purchase is bought", "takes beyond the purchase is given back"),
    ("price plus 60 EUR/MWh", "price plus 60 EUR/MWh in the morning"),
)


@pytest.mark.parametrize("k", range(len(NEAR)))
def test_what_says_something_else_is_never_passed_over(tmp_path: Path, k: int) -> None:
    said, other = NEAR[k]
    assert said in TEXT
    assert not analysed(tmp_path, TEXT.replace(said, other), FILES).complete, other
