"""Air handlers: paraphrases read alike, near misses read otherwise or not at all."""

from pathlib import Path

import pytest

from tests.agents.claims_texts import read, shape
from tests.agents.support import solved

HOURS = ((9, 18, 19), (10, 22, 24), (11, 28, 29), (12, 31, 33))
TABLE = "| Hour | Outdoor air (°C) | Gains (kW) |\n|---|---|---|\n" + "".join(
    f"| {h:02d}:00 | {t} | {q} |\n" for h, t, q in HOURS
)
FLOW = (
    "An air handler serves the hall with a constant flow of 14,000 m3/h (1.2 kg/m3, "
    "1.006 kJ/(kg·K)). Plan 24 July 2026, 09:00 to 13:00."
)
ROOM = (
    "The hall is kept at 25 °C or below: what the air takes up between its supply temperature "
    "and 25 °C has to be no less than the gains."
)
SHARE = "At least 30 % of the supply air is outdoor air."
COIL = "The coil cools the mixture to the supply temperature; it cannot heat."
LOW = "The supply air must never be colder than 13 °C."
HIGH = "The supply air must at no time be warmer than 19 °C."
PRICE = "The cold costs 74 EUR/MWh."
GOAL = "What is the least cost in EUR?"


def hall(**parts: str) -> str:
    """Return the text of an air handler with some sentences in other words."""
    known = {"flow": FLOW, "room": ROOM, "share": SHARE, "coil": COIL, "low": LOW, "high": HIGH,
             "price": PRICE, "goal": GOAL}  # fmt: skip
    said = {**known, **parts}
    rest = "\n".join(said[k] for k in known if k not in ("flow", "goal"))
    return f"{said['flow']}\n\n{TABLE}\n{rest}\n\n{said['goal']}\n"


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> tuple[object, ...]:
    return shape(read(tmp_path_factory.mktemp("plain"), hall()))


SAME = (
    {"room": ROOM.replace("kept at 25 °C or below", "kept at 25 °C or colder")},
    {"room": ROOM.replace("no less than", "at least")},
    {"share": "The share of outdoor air must always be at least 30 %."},
    {"share": "Rules for the dampers: never less than 30 % outdoor air."},
    {"share": "No less than 30 % of the air has to come from outside."},
    {"share": "At least 30 % of the supply air, and up to all of it, is fresh air."},
    {"low": "At no time may the supply air be colder than 13 °C."},
    {"low": "The supply temperature must stay at 13 °C or above."},
    {"low": "The temperature of the supply air has to be at least 13 °C."},
    {"high": "The supply air must not exceed 19 °C."},
    {"high": "The supply temperature may be 19 °C at most."},
    {"low": "The supply temperature may be set between 13 °C and 19 °C.", "high": ""},
    {"coil": "The coil cools the mixed air down to the supply temperature."},
    {"price": "Chilled water is billed at 7.4 ct/kWh (all in euro cents)."},
    {"price": "The price of the cold is 74 EUR/MWh."},
    {"goal": "Find the cheapest supply temperatures and shares of outdoor air, in EUR."},
    {"goal": "Minimise the cost in EUR."},
)


@pytest.mark.parametrize("parts", SAME, ids=lambda p: next(iter(p.values()))[:44])
def test_other_words_read_alike(
    tmp_path: Path, plain: tuple[object, ...], parts: dict[str, str]
) -> None:
    found = shape(read(tmp_path, hall(**parts)))
    if "ct/kWh" in parts.get("price", ""):
        assert found[0:2] == plain[0:2]
        assert found[3:] == plain[3:]
    else:
        assert found == plain


OTHER = (
    {"low": "The supply air must not be colder than 13 °C while people are in the hall."},
    {"low": "The supply air must not be colder than 13 °C from 09:00 to 10:00."},
    {"low": "The supply air should on average not be colder than 13 °C."},
    {"low": "The outdoor air must never be colder than 13 °C."},
    {"high": "The supply air must be as close as possible to 19 °C."},
    {"high": "If the gains exceed 30 kW, the supply air must not exceed 19 °C."},
    {"share": "At least 30 % of the supply air is return air."},
    {"share": "If it is hot, at most 30 % of the supply air is outdoor air."},
    {"share": SHARE + " The outdoor air must not change by more than 10 % in an hour."},
    {"share": "At least 30 % of the gains are due to people."},
    {"room": ROOM.replace("has to be no less than the gains", "has to be half of the gains")},
    {"room": ROOM.replace("and 25 °C", "and 24 °C")},
    {"room": "The hall is kept at 25 °C or below."},
    {"room": ROOM + " The fan takes 6 kW."},
    {"room": ROOM + " Heat recovery saves 60 % of the heat."},
    {"coil": "The coil dries the mixture."},
    {"price": ""},
    {"price": PRICE + " The first 100 kWh are free."},
    {"price": PRICE + " A peak costs 10 EUR/kW."},
    {"flow": FLOW.replace("1.2 kg/m3, ", "")},
    {"flow": FLOW.replace("constant flow of", "flow between 4,000 m3/h and")},
    {"goal": "What is the least cost in EUR without that of the first hour?"},
    {"goal": ""},
)


@pytest.mark.parametrize("parts", OTHER, ids=lambda p: next(iter(p.values()))[-44:] or "nothing")
def test_other_meanings_are_never_passed_over(tmp_path: Path, parts: dict[str, str]) -> None:
    from engiagent.agents.offline.claims.domains import understand_domain
    from engiagent.problems import Problem

    (tmp_path / "problem.md").write_text(hall(**parts), encoding="utf-8")
    found = understand_domain(Problem.load(tmp_path / "problem.md"))
    assert found is None or not found.analysis.complete


def test_the_cheapest_mixture(tmp_path: Path) -> None:
    """Hour by hour: outdoor air as far as it is colder, and supply air no colder than it must."""
    analysis = read(tmp_path, hall())
    stream = 14000 / 3600 * 1.2 * 1.006
    cost = 0.0
    for _, outdoor, gains in HOURS:
        supply = min(19.0, 25 - gains / stream)
        share = min(1.0, (25 - supply) / (25 - outdoor)) if outdoor < 25 else 0.3
        mixture = 25 + max(0.3, share) * (outdoor - 25)
        cost += 0.074 * stream * max(0.0, mixture - supply)
    assert solved(analysis, tmp_path)[1] == pytest.approx(cost, rel=1e-6)
