"""Choices among the rows of a table: paraphrases read alike, near misses never so."""

from itertools import combinations
from pathlib import Path

import pytest

from tests.agents.claims_texts import read, shape
from tests.agents.support import solved

ROWS = (
    ("LED lights", 40_000, 9_000), ("Insulation", 120_000, 14_000), ("Heat pump", 150_000, 26_000),
    ("New boiler", 60_000, 8_000), ("Solar roof", 90_000, 15_000),
)  # fmt: skip
TABLE = "| Measure | Cost (EUR) | Annual saving (EUR/yr) |\n|---|---|---|\n" + "".join(
    f"| {name} | {cost} | {saving} |\n" for name, cost, saving in ROWS
)
INTRO = "The school can carry out some of five measures."
FULL = "Each measure is carried out in full or not at all."
BUDGET = "The budget is 300,000 EUR."
APART = "The heat pump and the new boiler exclude each other."
NEEDS = "The heat pump requires the insulation."
COUNT = "At most three measures can be carried out."
GOAL = "Which measures give the largest total saving?"


def school(**parts: str) -> str:
    """Return the text of a school's measures with some sentences in other words."""
    known = {"intro": INTRO, "full": FULL, "budget": BUDGET, "apart": APART, "needs": NEEDS,
             "count": COUNT, "goal": GOAL}  # fmt: skip
    said = {**known, **parts}
    words = " ".join(said[k] for k in known if k not in ("intro", "goal"))
    return f"{said['intro']}\n\n{TABLE}\n{words}\n\n{said['goal']}\n"


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> tuple[object, ...]:
    return shape(read(tmp_path_factory.mktemp("plain"), school()))


SAME = (
    {"full": "A measure is either carried out or not."},
    {"full": "Measures are chosen completely or not at all."},
    {"budget": "At most 300,000 EUR can be spent."},
    {"budget": "No more than 300,000 EUR may be spent."},
    {"budget": "The budget must not exceed 300,000 EUR."},
    {"apart": "The heat pump and the new boiler are mutually exclusive."},
    {"apart": "The heat pump and the new boiler cannot both be carried out."},
    {"apart": "Only one of heat pump and new boiler can be chosen."},
    {"needs": "The heat pump is only possible with the insulation."},
    {"needs": "The heat pump can only be built together with the insulation."},
    {"count": "No more than three measures may be chosen."},
    {"count": "Not more than 3 measures can be carried out."},
    {"goal": "Maximise the total savings."},
    {"goal": "Choose the measures with the highest total annual savings."},
)


@pytest.mark.parametrize("parts", SAME, ids=lambda p: next(iter(p.values()))[:44])
def test_other_words_read_alike(
    tmp_path: Path, plain: tuple[object, ...], parts: dict[str, str]
) -> None:
    assert shape(read(tmp_path, school(**parts))) == plain


OTHER = (
    {"full": ""},
    {"full": "Measures may be carried out in part."},
    {"full": FULL + " Each year only one measure can be started."},
    {"budget": "The budget is 300,000 EUR per year."},
    {"budget": "The budget is 300,000 EUR, of which half is a grant."},
    {"budget": "The budget of 300,000 EUR should not be used up."},
    {"budget": BUDGET + " Another 50,000 EUR may be borrowed."},
    {"apart": "The heat pump and the new boiler need the same room."},
    {"apart": "Either the heat pump or the new boiler must be chosen."},
    {"apart": "The heat pump and the new boiler save less together."},
    {"needs": "The heat pump comes after the insulation."},
    {"needs": "The heat pump requires a permit."},
    {"needs": "With the insulation the heat pump saves 20 % more."},
    {"count": "At most three measures can be carried out if the budget is cut."},
    {"count": "At most three measures can be carried out per year."},
    {"count": "At most three firms are available."},
    {"goal": "Maximise the savings without those of the boiler."},
    {"goal": "Minimise the payback time."},
    {"goal": "Which measures give the largest saving per euro?"},
    {"goal": ""},
)


@pytest.mark.parametrize("parts", OTHER, ids=lambda p: next(iter(p.values()))[-44:] or "nothing")
def test_other_meanings_are_never_passed_over(tmp_path: Path, parts: dict[str, str]) -> None:
    assert not read(tmp_path, school(**parts)).complete


def test_the_best_of_all_sets(tmp_path: Path) -> None:
    best = 0
    for size in range(4):
        for chosen in combinations(ROWS, size):
            names = {name for name, _, _ in chosen}
            apart = {"Heat pump", "New boiler"} <= names
            alone = "Heat pump" in names and "Insulation" not in names
            if sum(cost for _, cost, _ in chosen) <= 300_000 and not apart and not alone:
                best = max(best, sum(saving for _, _, saving in chosen))
    assert solved(read(tmp_path, school()), tmp_path)[1] == pytest.approx(best)


ROOF = """Figures as in the file of the owner.

| Module | Rated power (kWp) | Area (m²) | Price (EUR) |
|---|---|---|---|
| Small 300 W | 0.3 | 1.7 | 120 |
| Large 450 W | 0.45 | 2.2 | 190 |

Only whole modules; they may be mixed. {area}

| Rack | Tilt (°) | Specific yield (kWh/kWp per year) |
|---|---|---|
| Flat | 10 | 950 |
| Steep | 35 | 1040 |

Exactly one of the two racks is chosen. The annual energy is the installed capacity times the
specific yield of the rack. It must cover the annual demand of 30 MWh/yr.

{goal}
"""


def test_modules_on_racks(tmp_path: Path) -> None:
    """The best rack yields 1040 kWh/kWp: the counts are tried one by one."""
    text = ROOF.format(area="The modules must not take more than the usable area of 160 m².",
                       goal="Find the lowest investment in EUR.")  # fmt: skip
    best = min(
        120 * a + 190 * b
        for a in range(95) for b in range(74)
        if 1.7 * a + 2.2 * b <= 160 and 1040 * (0.3 * a + 0.45 * b) >= 30_000
    )  # fmt: skip
    assert solved(read(tmp_path, text), tmp_path)[1] == pytest.approx(best)


AREAS = (
    "The roof measures 200 m², of which a share of 0.9 is usable; the modules must not take more "
    "than this usable area of 160 m².",
    "The roof measures 200 m².",
    "The modules must not take more than 160 m² or they must be tilted.",
)


@pytest.mark.parametrize("area", AREAS)
def test_areas_that_do_not_agree(tmp_path: Path, area: str) -> None:
    assert not read(tmp_path, ROOF.format(area=area, goal="Minimise the price.")).complete
