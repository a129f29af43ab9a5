"""Needs of cold in lists, cold for each kW, empty stores, and problems put together of all that."""

from pathlib import Path

import pytest

from tests.agents.support import analysed, solved

CREAMERY = """
The refrigeration plant of a creamery delivers up to 120 kW of cold{ratio}

The ice bank stores up to 500 kWh; {empty}, and what is left in it at 04:00 has no value. Losses can
be ignored. From 22:00 on 3 May 2026 to 04:00 on 4 May 2026, hour by hour, {need}. Electricity
costs 9 ct/kWh until 02:00 and 24 ct/kWh from then on (euro cents).

What does the cooling cost at least in EUR?
"""
PARTS = {
    "ratio": " and needs 1 kW of electricity for every 3 kW of cold.",
    "empty": "at 22:00 it is empty",
    "need": "the milk needs 0, 0, 0, 60, 180 and 210 kW of cooling",
}
SAME = {
    "ratio": (", and draws one kW for each 3 kW of cold that it makes.", ". Its COP is 3."),
    "empty": ("the tank is empty at 22:00", "it is empty at the start"),
    "need": ("the dairy requires 0, 0, 0, 60, 180 and 210 kW of cold",
             "the cooling load is 0, 0, 0, 60, 180 and 210 kW"),
}  # fmt: skip
# 450 kWh: as much as can be made until 02:00, cheap; no hour has to be served beyond the plant.
COST = 450 / 3 * 0.09


def written(**changes: str) -> str:
    return CREAMERY.format(**{**PARTS, **changes})


@pytest.mark.parametrize("k", range(-1, 2))
def test_a_creamery_in_several_words(tmp_path: Path, k: int) -> None:
    changes = {} if k < 0 else {part: texts[k] for part, texts in SAME.items()}
    analysis = analysed(tmp_path, written(**changes))
    assert analysis.complete, (analysis.missing, analysis.not_understood, analysis.ambiguous)
    assert solved(analysis, tmp_path)[1] == pytest.approx(COST, rel=1e-9)


@pytest.mark.parametrize(
    ("part", "text"),
    [
        ("ratio", " and needs 2 kW of electricity for every 3 kW of cold."),
        ("ratio", " and needs 1 kW of electricity for every 3 kW of cold at night."),
        ("empty", "at 23:00 it is empty"),
        ("empty", "at 22:00 it is nearly empty"),
        ("need", "the milk needs at least 0, 0, 0, 60, 180 and 210 kW of cooling"),
        ("need", "the milk needs 0, 0, 0, 60, 180 and 210 kW of cooling if it is hot"),
        ("need", "the milk needs 0, 0, 60, 180 and 210 kW of cooling"),
        ("need", "each tank of milk needs 0, 0, 0, 60, 180 and 210 kW of cooling"),
    ],
)
def test_near_misses(tmp_path: Path, part: str, text: str) -> None:
    assert not analysed(tmp_path, written(**{part: text})).complete, text


def test_a_law_with_a_constant_and_a_buffer_without_losses(tmp_path: Path) -> None:
    text = """
Our plant draws 12 + 0.21·Q + 0.0004·Q² kW, Q being the cold in kW. It never stops and makes between
80 kW and 400 kW of cold. The cold demand from 06:00 to 10:00 on 5 May 2026 is 150, 220, 310 and
260 kW, hourly. A buffer takes 200 kWh of cold in all; at 06:00 there are 50 kWh in it; at 10:00 at
least 50 kWh must be in it. Electricity: 0.12 EUR/kWh until 08:00, 0.24 EUR/kWh afterwards.

What is the least cost in EUR?
"""
    analysis = analysed(tmp_path, text)
    assert analysis.complete, (analysis.missing, analysis.not_understood, analysis.ambiguous)
    made = (260.0, 260.0, 210.0, 210.0)  # as much as the buffer holds is made while it is cheap
    prices = (0.12, 0.12, 0.24, 0.24)
    least = sum(p * (12 + 0.21 * q + 0.0004 * q * q) for p, q in zip(prices, made, strict=True))
    assert solved(analysis, tmp_path)[1] == pytest.approx(least, rel=1e-4)


def test_a_dry_cooler_or_compressors(tmp_path: Path) -> None:
    text = """
The load of the laser hall is 420 kW around the clock. On 12 November 2026 from 00:00 to 06:00
either the dry cooler serves it or the compressors do; changes are made on the hour, at most twice
in each direction. While the dry cooler works alone, its fans draw 22 kW; when the compressors run,
all together takes 118 kW. The dry cooler suffices whenever the outdoor temperature plus the
approach of 4 K does not exceed 12 °C.

| Hour | Outdoor (°C) |
|---|---|
| 00:00 | 9 |
| 01:00 | 8 |
| 02:00 | 7.5 |
| 03:00 | 8.2 |
| 04:00 | 6 |
| 05:00 | 8 |

What is the lowest electricity consumption in kWh?
"""
    analysis = analysed(tmp_path, text)
    assert analysis.complete, (analysis.missing, analysis.not_understood, analysis.ambiguous)
    assert solved(analysis, tmp_path)[1] == pytest.approx(4 * 22 + 2 * 118, rel=1e-9)
