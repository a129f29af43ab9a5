"""Pumps, reservoirs and mains: paraphrases read alike, near misses read otherwise or not at all."""

from pathlib import Path

import pytest

from tests.agents.claims_texts import read, shape
from tests.agents.support import solved

HOURS = ((5, 260, 0.11), (6, 420, 0.24), (7, 560, 0.28), (8, 390, 0.16))
TABLE = "| Hour | Village takes (m3/h) | Electricity price (EUR/kWh) |\n|---|---|---|\n" + "".join(
    f"| {h:02d}:00 | {q} | {p} |\n" for h, q, p in HOURS
)

FILL = "A water tower is filled by two fixed-speed pumps on 2 July 2026 from 05:00 to 09:00."
PUMPS = (
    "The big pump draws 90 kW and lifts 410 m3/h, the small pump draws 50 kW and lifts 235 m3/h."
)
START = "There are 700 m3 in the tower at 05:00."
LOW = "It must always hold at least 500 m3."
HIGH = "It must never contain more than 1500 m3."
END = "At 09:00 at least 700 m3 have to be in the tower again."
STARTS = "The big pump must not start more than two times; it is off before 05:00."
GOAL = "Minimise the electricity costs in EUR."


def tower(**parts: str) -> str:
    """Return the text of a water tower with some sentences in other words."""
    known = {"fill": FILL, "pumps": PUMPS, "start": START, "low": LOW, "high": HIGH, "end": END,
             "starts": STARTS, "goal": GOAL}  # fmt: skip
    said = {**known, **parts}
    words = " ".join(said[k] for k in known if k not in ("fill", "goal"))
    return f"{said['fill']}\n\n{TABLE}\n{words}\n\n{said['goal']}\n"


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> tuple[object, ...]:
    return shape(read(tmp_path_factory.mktemp("plain"), tower()))


SAME = (
    {"fill": "Two pumps of fixed speed fill a water tower, 2 July 2026, 05:00 to 09:00."},
    {"fill": "Two pumps fill a tower on 2 July 2026, 05:00 to 09:00; each is on or off."},
    {"pumps": "The big pump lifts 410 m3/h and takes 90 kW, the small one 235 m3/h at 50 kW."},
    {"pumps": "The big one lifts 410 m3/h at 90 kW. The small pump needs 50 kW for 235 m3/h."},
    {"start": "The tower contains 700 m3 at the start."},
    {"start": "At 05:00 the tower holds 700 m3 of water."},
    {"low": "The fire brigade requires 500 m3 in it at all times."},
    {"low": "The content of the tower must not fall below 500 m3."},
    {"low": "No less than 500 m3 must be kept in the tower."},
    {"high": "It overflows above 1500 m3, which must not happen."},
    {"high": "The capacity of the tower is 1500 m3."},
    {"high": "At most 1500 m3 may be in it."},
    {"end": "At the end it must hold at least 700 m3."},
    {"end": "No less than 700 m3 must be in the tower at 09:00."},
    {"starts": "At most two starts are allowed for the big pump. It is at rest before 05:00."},
    {"starts": "The big pump is switched on no more than two times. Before 05:00 it is idle."},
    {"goal": "When should which pump run so that the bill, in EUR, is as small as possible?"},
    {"goal": "Find the cheapest plan in EUR."},
    {"goal": "What is the least electricity cost in EUR?"},
)  # fmt: skip


@pytest.mark.parametrize("parts", SAME, ids=lambda p: next(iter(p.values()))[:40])
def test_other_words_read_alike(
    tmp_path: Path, plain: tuple[object, ...], parts: dict[str, str]
) -> None:
    assert shape(read(tmp_path, tower(**parts))) == plain


OTHER = (
    {"high": "It spills above 1500 m3."},
    {"low": "About half of the time it must hold at least 500 m3."},
    {"low": "It must hold at least 500 m3 from 06:00 to 07:00."},
    {"low": "If the big pump runs it must hold at least 500 m3."},
    {"low": "A second tower must always hold at least 500 m3."},
    {"low": "The neighbouring tower must always hold at least 500 m3."},
    {"end": "At 08:00 at least 700 m3 have to be in the tower again."},
    {"end": "At 09:00 at least 700 m3 should be there if it rains."},
    {"starts": "The big pump must not start more than two times."},
    {"starts": "The big pump must not start more than two times per hour; it is off before 05:00."},
    {"starts": "The pumps must not start more than two times together; they are off before 05:00."},
    {"starts": STARTS + " It must not run after 08:00 unless it rains."},
    {"starts": STARTS + " Only one of the pumps can run."},
    {"starts": STARTS + " The small pump must not run while the big pump runs."},
    {"starts": STARTS + " Together they deliver only 600 m3/h."},
    {"starts": STARTS + " The small pump is being repaired until 07:00."},
    {"starts": STARTS + " The pumps lose a tenth of the water."},
    {"starts": STARTS + " A demand charge of 12 EUR/kW is due on the peak."},
    {"pumps": PUMPS.replace("draws 50 kW and ", "")},
    {"pumps": PUMPS + " The pumps can be throttled."},
    {"pumps": PUMPS + " The small pump draws 55 kW."},
    {"fill": FILL.replace("fixed-speed ", "")},
    {"goal": "Minimise the energy and the number of starts."},
    {"goal": "Minimise the costs in EUR, but not those of the small pump."},
    {"start": ""},
    {"goal": ""},
)


@pytest.mark.parametrize("parts", OTHER, ids=lambda p: next(iter(p.values()))[-40:] or "nothing")
def test_other_meanings_are_never_passed_over(tmp_path: Path, parts: dict[str, str]) -> None:
    assert not read(tmp_path, tower(**parts)).complete


def test_what_is_missing_is_named(tmp_path: Path) -> None:
    gaps = read(tmp_path, tower(start="")).missing
    assert [(m.component, m.slot) for m in gaps] == [("reservoir", "initial_volume")]


def test_more_rules_of_switching(tmp_path: Path) -> None:
    """Enumerates all plans of two pumps by hand."""
    from itertools import product

    rules = (
        "Once started, each pump must run for at least two hours. "
        "Every start of a pump costs 3 EUR. Both pumps are off before 05:00."
    )
    analysis = read(tmp_path, tower(starts=rules))
    best = float("inf")
    for big in product((0, 1), repeat=4):
        for small in product((0, 1), repeat=4):
            best = min(best, _cost(big, small))
    assert solved(analysis, tmp_path)[1] == pytest.approx(best, rel=1e-7)


def _cost(big: tuple[int, ...], small: tuple[int, ...]) -> float:
    content, cost = 700.0, 0.0
    for k, (_, taken, price) in enumerate(HOURS):
        content += 410 * big[k] + 235 * small[k] - taken
        cost += price * (90 * big[k] + 50 * small[k])
        if not 500 <= content <= 1500:
            return float("inf")
    for plan in (big, small):
        for k, on in enumerate(plan):
            started = on and not (k and plan[k - 1])
            cost += 3 * started
            if started and k + 1 < len(plan) and not plan[k + 1]:
                return float("inf")
    return cost if content >= 700 else float("inf")
