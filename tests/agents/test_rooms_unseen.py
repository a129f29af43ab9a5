"""Rooms as somebody else would describe them, held against sums of our own."""

from itertools import product
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import linprog

from engiagent.agents.offline import Analysis, analyse
from engiagent.agents.offline.plant.analyse import understand_plant
from engiagent.problems import Problem
from tests.agents.support import solved

CELLAR = """
A wine cellar is cooled by a chiller from 08:00 to 16:00 on 3 July 2026, hour by hour. Per hour
the temperature must not rise or fall by more than 0.3 K, and it has to remain between 11 °C and
13 °C. It starts at 12.5 °C.

Heat capacity 20 kWh/K; 0.25 kW/K of heat enter through the walls from outside, where it is 26 °C
all day. Lamps give off 1.2 kW.

The chiller has an EER of 3.5 and cools with at most 9 kW. Electricity costs 0.30 EUR/kWh until
12:00 and 0.18 EUR/kWh afterwards. Use explicit Euler steps.

What is the cheapest schedule, in EUR?
"""
SHED = """
Four identical exhaust fans cool a packing shed. Each fan that is on removes 6 kW of heat from the
shed and draws 0.8 kW of electricity. They can only be switched on the hour.

The shed: 12 kWh/K, 0.3 kW/K to the outside, 22 °C at 09:00. Use explicit hourly steps.

| From | Sun (kW) | Outside (°C) |
|---|---|---|
| 09:00 | 10 | 22 |
| 10:00 | 15 | 24 |
| 11:00 | 20 | 26 |
| 12:00 | 24 | 28 |
| 13:00 | 22 | 29 |

At no time may the shed be warmer than 24 °C. Electricity costs 0.25 EUR/kWh. How many fans should
run in each hour so that the electricity cost is as low as possible (in EUR)?
"""
OFFICE = """
A reversible heat pump conditions an office. In heating mode it delivers up to 12 kW of heat with a
COP of 3.5, in cooling mode up to 10 kW of cold with a COP of 3.0.

Office: 6 kWh/K, 0.35 kW/K to the outdoors. At 06:00 it is 20.5 °C inside. On every hour mark the
temperature must be between 20 °C and 23 °C. Use explicit Euler steps.

| Hour | Outside (°C) | Sun (kW) |
|---|---|---|
| 06:00 | 4 | 0 |
| 07:00 | 8 | 2 |
| 08:00 | 20 | 6 |
| 09:00 | 29 | 9 |

{price} Minimise the electricity cost from 06:00 to 10:00 on 4 May 2026 in EUR.
"""


def read(folder: Path, text: str) -> Analysis:
    (folder / "problem.md").write_text(text, encoding="utf-8")
    return understand_plant(Problem.load(folder / "problem.md")).analysis


def march(start: float, keep: float, given: list[float]) -> tuple[np.ndarray, np.ndarray]:
    """Return the temperatures without heating, and how many kelvin a kelvin of it adds."""
    free, response = [start], np.zeros((len(given) + 1, len(given)))
    for t, some in enumerate(given):
        free.append(keep * free[t] + some)
        response[t + 1] = keep * response[t]
        response[t + 1, t] += 1
    return np.array(free), response


def test_a_cellar_that_may_not_change_quickly(tmp_path: Path) -> None:
    found = read(tmp_path, CELLAR)
    assert found.complete, (found.missing, found.not_understood, found.ambiguous)
    free, response = march(12.5, 1 - 0.25 / 20, [(0.25 * 26 + 1.2) / 20] * 8)
    response = -response / 20
    step, rises = np.diff(response, axis=0), np.diff(free)
    best = linprog(
        np.array([0.30] * 4 + [0.18] * 4) / 3.5,
        np.vstack([response, -response, step, -step]),
        np.concatenate([13 - free, free - 11, 0.3 - rises, 0.3 + rises]),
        bounds=[(0, 9)] * 8,
    )
    assert solved(found, tmp_path)[1] == pytest.approx(best.fun, rel=1e-7)


def test_a_grid_that_nothing_known_draws_from_is_no_error(tmp_path: Path) -> None:
    text = SHED.replace("draws 0.8 kW", "hums")
    (tmp_path / "problem.md").write_text(text, encoding="utf-8")
    assert not analyse(Problem.load(tmp_path / "problem.md")).complete


def test_fans_in_whole_numbers(tmp_path: Path) -> None:
    found = read(tmp_path, SHED)
    assert found.complete, (found.missing, found.not_understood, found.ambiguous)
    best = np.inf
    for chosen in product(range(5), repeat=5):
        inside, warmest = 22.0, 22.0
        for n, sun, out in zip(chosen, (10, 15, 20, 24, 22), (22, 24, 26, 28, 29), strict=True):
            inside += (0.3 * (out - inside) + sun - 6 * n) / 12
            warmest = max(warmest, inside)
        best = min(best, 0.25 * 0.8 * sum(chosen)) if warmest <= 24 else best
    assert solved(found, tmp_path)[1] == pytest.approx(best, rel=1e-7)


def test_a_heat_pump_in_two_modes(tmp_path: Path) -> None:
    found = read(tmp_path, OFFICE.format(price="Electricity costs 0.28 EUR/kWh."))
    assert found.complete, (found.missing, found.not_understood, found.ambiguous)
    weather = [(4, 0), (8, 2), (20, 6), (29, 9)]
    free, response = march(20.5, 1 - 0.35 / 6, [(0.35 * out + sun) / 6 for out, sun in weather])
    both = np.hstack([response, -response]) / 6
    best = linprog(
        0.28 * np.array([1 / 3.5] * 4 + [1 / 3.0] * 4),
        np.vstack([both, -both]),
        np.concatenate([23 - free, free - 20]),
        bounds=[(0, 12)] * 4 + [(0, 10)] * 4,
    )
    assert solved(found, tmp_path)[1] == pytest.approx(best.fun, rel=1e-7)


@pytest.mark.parametrize(
    ("text", "said", "instead"),
    [
        (CELLAR, "Per hour", "Per day"),
        (CELLAR, "0.25 kW/K of heat enter", "0.25 kW of heat enter"),
        (CELLAR, "26 °C\nall day", "26 °C at noon"),
        (SHED, "Each fan", "The first fan"),
        (SHED, "switched on the hour", "switched twice a day"),
        (SHED, "At no time may", "Most of the time may not"),
        (OFFICE, "in cooling mode up to", "in emergencies up to"),
        (OFFICE, "conditions an office", "conditions an office at half power"),
    ],
)
def test_what_is_said_otherwise_is_not_read_alike(
    tmp_path: Path, text: str, said: str, instead: str
) -> None:
    assert said in text
    changed = text.replace(said, instead).replace("{price}", "Electricity costs 0.28 EUR/kWh.")
    assert not read(tmp_path, changed).complete
