"""Ways to cool that exclude each other: modes in tables, the tower or the chiller, changes."""

from pathlib import Path

import pytest

from tests.agents.support import analysed, solved

PRICE = (40.0, 30.0, 20.0, 60.0, 80.0, 50.0, 40.0, 30.0)
WET = (44.0, 47.0, 45.5, 50.0, 54.0, 56.0, 45.0, 44.0)
FILES = {
    "weather.csv": "hour,wet_bulb_degF\n"
    + "".join(f"2026-10-20 {k:02d}:00,{WET[k]}\n" for k in range(8)),
    "market.csv": "hour,price\n" + "".join(f"2026-10-20 {k:02d}:00,{PRICE[k]}\n" for k in range(8)),
}
POWERS = (0.3, 0.8, 1.3)


def cheapest(hold: int = 3, change: float = 18.0) -> float:
    """Return the least cost by trying every sequence of modes."""
    limits = (45.5, 54.0, 1e9)
    best = {(m, 1): POWERS[m] * PRICE[0] for m in range(3) if WET[0] <= limits[m]}
    for t in range(1, 8):
        then: dict[tuple[int, int], float] = {}
        for (m, run), cost in best.items():
            for k in range(3):
                if WET[t] > limits[k] or (k != m and run < hold):
                    continue
                total = cost + POWERS[k] * PRICE[t] + (change if k != m else 0.0)
                state = (k, min(run + 1, hold) if k == m else 1)
                then[state] = min(then.get(state, 1e9), total)
        best = then
    return min(best.values())


BY_ROWS = """
| Mode | Wet bulb up to (°F) | Power (MW) |
|---|---|---|
| Free | 45.5 | 0.3 |
| Mixed | 54 | 0.8 |
| Chillers | any | 1.3 |
"""
IN_KILOWATTS = """
| Regime | Electric draw (kW) | Highest wet bulb temperature (°C) |
|---|---|---|
| Tower | 300 | 7.5 |
| Half | 800 | 12.222222222222 |
| Machines | 1300 | any |
"""
TEXT = """
Site Hillsboro, 20 October 2026, 00:00 to 08:00. {load}

{count}
{table}
The wet bulb temperatures are in `weather.csv`, prices in $/MWh in `market.csv`, both by the hour.
{allowed} {hold} {start} {cost}

{goal}
"""
PARTS = {
    "load": "The servers give off 6.5 MW of heat, flat all day.",
    "count": "Chilled water can be made in three modes, one per hour:",
    "table": BY_ROWS,
    "allowed": "A mode is not available in an hour whose wet bulb is above its limit.",
    "hold": "A mode, once entered, is kept for at least 3 hours;",
    "start": "at midnight any mode may be entered.",
    "cost": "Every change of mode costs 18 USD.",
    "goal": "What is the least we pay for electricity and changes, in USD?",
}
SAME = {
    "load": ("The data hall needs 6500 kW of cooling day and night.", "The room needs 6.5 MW round"
             " the clock."),
    "count": ("The load can be served in one of three modes.", "There are three modes."),
    "table": (IN_KILOWATTS, BY_ROWS),
    "allowed": ("No mode may be used in hours when the wet bulb is over its limit.", ""),
    "hold": (
        "Each mode must be kept for at least 180 minutes;",
        "Once chosen, a mode stays on for no less than 3 hours;",
        "The shortest stay in a mode is 3 h;",
        "A mode that has been entered must remain for at least three hours or until the end of the"
        " day;",
        "No mode may be left before 3 hours have passed;",
    ),
    "start": ("any mode may be chosen at the start.", "initially, any mode may be entered."),
    "cost": ("A change from one mode to another costs $18.", "18 USD for each change of mode.",
             "Each mode change costs 18 USD for the lost water."),
    "goal": ("Minimise the cost of electricity and mode changes in USD.",),
}  # fmt: skip


def written(**changes: str) -> str:
    return TEXT.format(**{**PARTS, **changes})


def test_the_best_sequence_of_modes(tmp_path: Path) -> None:
    analysis = analysed(tmp_path, written(), FILES)
    assert analysis.complete, (analysis.missing, analysis.not_understood, analysis.ambiguous)
    assert solved(analysis, tmp_path)[1] == pytest.approx(cheapest(), rel=1e-9)
    assert cheapest() > cheapest(hold=1) > cheapest(hold=1, change=0.0)


@pytest.mark.parametrize("k", range(5))
def test_modes_in_other_words(tmp_path: Path, k: int) -> None:
    changes = {part: texts[k % len(texts)] for part, texts in SAME.items()}
    analysis = analysed(tmp_path, written(**changes), FILES)
    assert analysis.complete, (analysis.missing, analysis.not_understood, analysis.ambiguous)
    assert solved(analysis, tmp_path)[1] == pytest.approx(cheapest(), rel=1e-6)


@pytest.mark.parametrize(
    ("part", "text"),
    [
        ("load", "The servers give off up to 6.5 MW of heat."),
        ("load", "The servers give off 6.5 MW of heat when all of them run."),
        ("count", "Chilled water can be made in two modes, one per hour:"),
        ("count", "Chilled water can be made in three modes, one per half hour:"),
        ("table", BY_ROWS.replace("up to", "from")),
        ("table", BY_ROWS.replace("Wet bulb", "Price")),
        ("table", BY_ROWS.replace("Power (MW)", "Cooling (MW)")),
        ("allowed", "A mode is not available in an hour whose wet bulb is below its limit."),
        ("hold", "A mode, once entered, is kept for at most 3 hours;"),
        ("hold", "The free mode, once entered, is kept for at least 3 hours;"),
        ("hold", "A mode, once entered, is kept for at least 3 hours when it is cold;"),
        ("start", "at midnight the free mode is in use."),
        ("start", "at 03:00 any mode may be entered."),
        ("start", ""),
        ("cost", "Every change to the free mode costs 18 USD."),
        ("cost", "Every change of mode costs 18 USD except at night."),
        ("cost", "Every change of mode costs 18 USD. The free mode is not used after 06:00."),
        ("cost", "Every change of mode costs 18 USD. A tank stores 3 MWh of cold."),
    ],
)
def test_what_is_said_otherwise_of_modes_is_not_passed_over(
    tmp_path: Path, part: str, text: str
) -> None:
    assert not analysed(tmp_path, written(**{part: text}), FILES).complete, text


def test_modes_of_something_else_are_no_modes_of_cooling(tmp_path: Path) -> None:
    text = """
A pump runs in one of three modes on 20 October 2026, 00:00 to 08:00, hour by hour.

| Mode | Power (kW) |
|---|---|
| Slow | 30 |
| Fast | 80 |
| Full | 130 |

Prices in $/MWh are in `market.csv`. At midnight any mode may be entered. Every change of mode
costs 18 USD. Minimise the cost of electricity and changes in USD.
"""
    assert not analysed(tmp_path, text, {"market.csv": FILES["market.csv"]}).complete


TOWER = """
{load} On 3 March 2026, 06:00 to 14:00, {either}{changes} {free} {made}

| Hour | Wet bulb (°F) |
|---|---|
| 06:00 | 21 |
| 07:00 | 25 |
| 08:00 | 30 |
| 09:00 | 36 |
| 10:00 | 41 |
| 11:00 | 45 |
| 12:00 | 46 |
| 13:00 | 43 |

{enough} {approach}

{goal}
"""
ALONE = {
    "load": "Our server room needs 310 kW day and night.",
    "either": "either the tower cools it through the plate heat exchanger, or the chiller does",
    "changes": "; the change is made on the hour, and at most once in either direction.",
    "free": "With the tower alone, fan and pump take 14 kW.",
    "made": "With the chiller on, everything together takes 79 kW.",
    "enough": "The tower alone suffices when the wet bulb plus the approach of tower and heat"
    " exchanger does not exceed the supply of 54 °F.",
    "approach": "The approach is 9 °F.",
    "goal": "How many kWh does the room's cooling take at least?",
}


@pytest.mark.parametrize(
    ("changes", "energy"),
    [
        ({}, 7 * 14 + 79),
        ({"approach": "The approach was measured as 5 K."}, 7 * 14 + 79),
        ({"approach": "The approach is 15 °F."}, 4 * 14 + 4 * 79),
        ({"enough": "Free cooling by the tower alone is possible: the tower is enough whenever the"
          " wet bulb is at most 45 °F.", "approach": ""}, None),
        ({"enough": "The tower is enough whenever the wet bulb is at most 45 °F.", "approach": ""},
         7 * 14 + 79),
        ({"enough": "The tower can be used if the wet bulb plus the approach of 9 °F is at most"
          " 54 °F.", "approach": ""}, 7 * 14 + 79),
        ({"changes": "; we may change over at most twice in each direction.",
          "either": "either the dry cooler serves the hall or the compressors do",
          "free": "While the dry cooler works alone, the fans draw 14 kW.",
          "made": "When the compressors run, everything together takes 79 kW.",
          "enough": "The dry cooler suffices if the wet bulb does not exceed 45 °F.",
          "approach": ""}, 7 * 14 + 79),
        ({"goal": "What is the least electric energy in kWh?"}, 7 * 14 + 79),
    ],
)  # fmt: skip
def test_the_tower_or_the_chiller(
    tmp_path: Path, changes: dict[str, str], energy: float | None
) -> None:
    analysis = analysed(tmp_path, TOWER.format(**{**ALONE, **changes}))
    assert analysis.complete is (energy is not None), (
        analysis.missing, analysis.not_understood, analysis.ambiguous)  # fmt: skip
    if energy is not None:
        assert solved(analysis, tmp_path)[1] == pytest.approx(energy, rel=1e-9)


@pytest.mark.parametrize(
    "changes",
    [
        {"enough": "The tower alone suffices when the wet bulb plus the approach exceeds 54 °F."},
        {"free": "With the tower alone, fan and pump take 14 kW, in the morning 10 kW."},
        {"made": "With the chiller on, everything together takes up to 79 kW."},
        {"changes": "; the change is made at most once."},
        {"load": "Our server room needs 310 kW day and night, at noon 400 kW."},
        {"goal": "How many kWh does the tower take at least when the chiller is off?"},
    ],
)
def test_alternatives_that_are_said_otherwise(tmp_path: Path, changes: dict[str, str]) -> None:
    assert not analysed(tmp_path, TOWER.format(**{**ALONE, **changes})).complete


def test_an_approach_that_is_not_given_is_missing(tmp_path: Path) -> None:
    text = TOWER.format(**{**ALONE, "approach": "The record of the approach is lost."})
    analysis = analysed(tmp_path, text)
    assert [(m.component, m.slot) for m in analysis.missing] == [("tower", "approach")]
