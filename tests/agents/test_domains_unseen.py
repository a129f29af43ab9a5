"""Texts in other hands than those of the cards: what they come to, by a count of our own."""

from itertools import product
from pathlib import Path

import pytest

from tests.agents.claims_texts import read
from tests.agents.support import solved
from tests.agents.test_air import PRICE, hall
from tests.agents.test_choice import COUNT, school
from tests.agents.test_water import STARTS, tower

FARM = """A farm fills its tank of 90 m³ with one well pump (12 kW, 30 m³/h) that can only be
switched on and off. On 1 June 2026 the tank holds 40 m³ at 00:00. The animals and the fields take
10 m³/h from 00:00 to 04:00 and 25 m³/h from 04:00 to 08:00. The tank must never contain less than
15 m³. Electricity: 0.10 EUR/kWh before 04:00, 0.25 EUR/kWh afterwards. Plan these eight hours at
the lowest cost in EUR.
"""


def test_a_tank_of_a_farm(tmp_path: Path) -> None:
    best = float("inf")
    for plan in product((0, 1), repeat=8):
        content, cost, fits = 40.0, 0.0, True
        for hour, on in enumerate(plan):
            content += 30 * on - (10 if hour < 4 else 25)
            cost += 12 * on * (0.10 if hour < 4 else 0.25)
            fits = fits and 15 <= content <= 90
        best = min(best, cost) if fits else best
    analysis = read(tmp_path, FARM)
    assert analysis.complete, analysis
    assert solved(analysis, tmp_path)[1] == pytest.approx(best, rel=1e-7)


POND = """Two pumps fill a pond. Pump 1 delivers 120 m3/h at 35 kW; pump 2 delivers 80 m3/h at
20 kW. Both run at a constant speed. They can run alone or in parallel. The schedule is for
10 July 2026, hour by hour from 20:00 to 24:00. The power price is 0.20, 0.18, 0.12 and
0.10 EUR/kWh. In these four hours the pond must receive at least 500 m3. Pump 1 is limited to three
hours of operation. What is the cheapest plan in EUR?
"""


def test_a_pond(tmp_path: Path) -> None:
    prices = (0.20, 0.18, 0.12, 0.10)
    best = min(
        sum(p * (35 * a + 20 * b) for p, a, b in zip(prices, one, two, strict=True))
        for one in product((0, 1), repeat=4) for two in product((0, 1), repeat=4)
        if sum(one) <= 3 and 120 * sum(one) + 80 * sum(two) >= 500
    )  # fmt: skip
    analysis = read(tmp_path, POND)
    assert analysis.complete, analysis
    assert solved(analysis, tmp_path)[1] == pytest.approx(best, rel=1e-7)


TOWER = """The municipal water tower stores up to 1200 m³. At midnight it contains 500 m³, and the
level may never fall below 300 m³. At the end of the day it should hold no less than it did at
midnight. Three identical pumps, each rated at 60 m³/h and 22 kW, lift water into it; a pump is
either on or off. Electricity costs 0.14 EUR/kWh from 00:00 to 06:00 and 0.27 EUR/kWh at all other
times. Every start of a pump costs 1.50 EUR; all pumps are off at midnight.

| Hour | Demand (m³/h) |
|---|---|
| 00:00 | 40 |
| 01:00 | 35 |
| 02:00 | 90 |
| 03:00 | 140 |

Plan the pumps for 3 March 2026 from 00:00 to 04:00 so that electricity and starts together cost as
little as possible.
"""


def test_three_pumps_alike(tmp_path: Path) -> None:
    """Running counts of three pumps: what is above the count before is started."""
    best = float("inf")
    for counts in product(range(4), repeat=4):
        content, cost, before = 500.0, 0.0, 0
        for count, demand in zip(counts, (40, 35, 90, 140), strict=True):
            content += 60 * count - demand
            cost += 0.14 * 22 * count + 1.5 * max(0, count - before)
            before = count
            cost = cost if 300 <= content <= 1200 else float("inf")
        best = min(best, cost) if content >= 500 else best
    analysis = read(tmp_path, TOWER)
    assert analysis.complete, analysis
    assert solved(analysis, tmp_path)[1] == pytest.approx(best, rel=1e-7)


def test_an_amount_of_several_pumps_is_not_clear(tmp_path: Path) -> None:
    assert not read(tmp_path, TOWER.replace("identical pumps, each", "pumps,")).complete


MACHINES = """A workshop wants to replace machines. The budget is 90 kEUR.

| Machine | Price (EUR) | Yearly saving (EUR/yr) | Floor area (m2) |
|---|---|---|---|
| Lathe | 32000 | 6100 | 6 |
| Mill | 41000 | 8300 | 9 |
| Press | 27000 | 4700 | 5 |
| Oven | 18000 | 3900 | 4 |

Each machine is bought once or not at all. Together they may take no more than 18 m2 of floor. The
mill and the lathe cannot both be bought. Maximise the total yearly saving in EUR/yr.
"""


def test_machines_of_a_workshop(tmp_path: Path) -> None:
    rows = ((32, 6100, 6), (41, 8300, 9), (27, 4700, 5), (18, 3900, 4))
    best = max(
        sum(k * row[1] for k, row in zip(plan, rows, strict=True))
        for plan in product((0, 1), repeat=4)
        if sum(k * row[0] for k, row in zip(plan, rows, strict=True)) <= 90
        and sum(k * row[2] for k, row in zip(plan, rows, strict=True)) <= 18
        and plan[0] + plan[1] <= 1
    )  # fmt: skip
    analysis = read(tmp_path, MACHINES)
    assert analysis.complete, analysis
    assert solved(analysis, tmp_path)[1] == pytest.approx(best)


THEATRE = """An air handling unit supplies a theatre. It moves 6 kg/s of air all evening (specific
heat 1.006 kJ/(kg K)). The return air has 24 °C, the supply air is kept at 14 °C. At least 20 % of
the air has to be outdoor air, at most 100 %.

| Hour | Outdoor temperature (°C) |
|---|---|
| 18:00 | 26 |
| 19:00 | 23 |
| 20:00 | 16 |
| 21:00 | 8 |

Chilled water for the coil costs 80 EUR/MWh; when the mixture is colder than 14 °C the heater heats
it at 110 EUR/MWh. Which share of outdoor air is cheapest in each hour of 3 October 2026, and what
does the evening cost in EUR?
"""


def test_the_air_of_a_theatre(tmp_path: Path) -> None:
    stream, cost = 6 * 1.006, 0.0
    for outdoor in (26, 23, 16, 8):
        shares = [0.2 + 0.8 * k / 4000 for k in range(4001)]
        excess = [24 - 14 + share * (outdoor - 24) for share in shares]
        cost += stream * min(0.08 * e if e > 0 else -0.11 * e for e in excess)
    analysis = read(tmp_path, THEATRE)
    assert analysis.complete, analysis
    assert solved(analysis, tmp_path)[1] == pytest.approx(cost, rel=1e-3)


MAIN = """Two variable-speed pumps A and B feed the ring main of a hospital. For 5 May 2026,
06:00 to 10:00, the flow in the main must be 20, 35, 48 and 30 kg/s.

| Pump | Rated flow (kg/s) | Rated power (kW) | Minimum flow (% of rated) |
|---|---|---|---|
| A | 30 | 11 | 25 |
| B | 25 | 9 | 30 |

The power of each pump varies with the cube of its flow relative to its rated flow. While running,
the frequency converter of a pump takes a further 3 % of its rated power. Idle pumps draw nothing.

Minimise the electricity consumption in kWh.
"""


def test_a_ring_main_is_read(tmp_path: Path) -> None:
    analysis = read(tmp_path, MAIN)
    assert analysis.complete, analysis
    assert analysis.blueprint is not None
    core = analysis.blueprint.to_dict()["core_model_elements"]
    values = {p["name"]: p.get("value") for p in core["parameters"]}
    assert values["demand"] == [20, 35, 48, 30]
    assert (values["a_rated_flow"], values["b_least_share"], values["drive"]) == (30, 30, 3)


def _short(part: object) -> str:
    """Return the name of a case: a set has no order that two processes share."""
    return part[:40] if isinstance(part, str) else ""


RULES = (
    ("Only one pump may run at a time.", {"big_pump_on[t] + small_pump_on[t] <= 1"}),
    ("The pumps must never run at the same time.", {"big_pump_on[t] + small_pump_on[t] <= 1"}),
    ("No more than one pump may run at once.", {"big_pump_on[t] + small_pump_on[t] <= 1"}),
    ("The big pump must not run from 07:00 to 08:00.", {"big_pump_on[t] == 0"}),
    ("The small pump must be off between 07:00 and 09:00.", {"small_pump_on[t] == 0"}),
    ("Both pumps must run from 06:00 to 07:00.", {"big_pump_on[t] == 1", "small_pump_on[t] == 1"}),
    ("The small pump may run for at most three hours.",
     {"sum(small_pump_on[t]*dt(t) for t in T) <= small_pump_run_max"}),
)  # fmt: skip


@pytest.mark.parametrize(("rule", "rows"), RULES, ids=_short)
def test_rules_for_pumps(tmp_path: Path, rule: str, rows: set[str]) -> None:
    assert _rows(tmp_path, tower(starts=f"{STARTS} {rule}")) - PLAIN_ROWS == rows


AIR_RULES = (
    ("The supply temperature must not change by more than 2 K from one hour to the next.",
     {"supply[t] - supply[t-1] <= supply_change", "supply[t-1] - supply[t] <= supply_change"}),
    ("At least 5,000 m3/h of outdoor air must be supplied.", {"share[t]*flow >= outdoor_min"}),
    ("If the outdoor air is above 30 °C, at most 40 % may be outdoor air.",
     {"share[t] <= outdoor_share"}),
)  # fmt: skip


@pytest.mark.parametrize(("rule", "rows"), AIR_RULES, ids=_short)
def test_rules_for_air(tmp_path: Path, rule: str, rows: set[str]) -> None:
    before = _rows(tmp_path, hall())
    assert _rows(tmp_path, hall(price=f"{PRICE} {rule}")) - before == rows


CHOICE_RULES = (
    ("The new boiler must be chosen.", {"new_boiler_chosen == 1"}),
    ("The solar roof must not be built.", {"solar_roof_chosen == 0"}),
    ("Exactly one of heat pump and solar roof must be chosen.",
     {"heat_pump_chosen + solar_roof_chosen == 1"}),
    ("The insulation or the solar roof must be carried out.",
     {"insulation_chosen + solar_roof_chosen >= 1"}),
    ("Neither the LED lights nor the solar roof may be chosen.",
     {"led_lights_chosen == 0", "solar_roof_chosen == 0"}),
)  # fmt: skip


@pytest.mark.parametrize(("rule", "rows"), CHOICE_RULES, ids=_short)
def test_rules_for_choices(tmp_path: Path, rule: str, rows: set[str]) -> None:
    before = _rows(tmp_path, school())
    assert _rows(tmp_path, school(count=f"{COUNT} {rule}")) - before == rows


def _rows(folder: Path, text: str) -> set[str]:
    analysis = read(folder, text)
    assert analysis.complete, analysis
    assert analysis.blueprint is not None
    core = analysis.blueprint.to_dict()["core_model_elements"]
    return {c["expression"] for c in core["constraints"]}


PLAIN_ROWS = {
    "big_pump_started[t] >= big_pump_on[t] - prev(big_pump_on[t], 0)",
    "sum(big_pump_started[t] for t in T) <= big_pump_starts_max",
    "reservoir_content[first(I)] == V_start",
    "reservoir_content[last(I)] >= V_end",
    "reservoir_content[t+1] == reservoir_content[t] + (big_pump_rated_flow*big_pump_on[t] + "
    "small_pump_rated_flow*small_pump_on[t] - demand[t])*dt(t)",
}  # fmt: skip


LETTERS = """A reservoir of 5,000 m3 is filled by three pumps. Pump A delivers 300 m3/h and draws
45 kW, pump B delivers 220 m3/h and draws 31 kW, pump C delivers 150 m3/h and draws 24 kW. They are
switched on or off for whole hours and may run together.

`day.csv` gives the demand of the town in m3/h and the price in EUR/kWh for 2 June 2026.

At the start it holds 3000 m3, at the end it must hold at least 3000 m3 again, and never less than
1500 m3. {rule} All pumps are off before the day begins. Minimise the cost of electricity.
"""
DAY = "hour,demand [m3/h],price [EUR/kWh]\n" + "".join(
    f"{h},{200 + 40 * (h % 5)},{0.1 + 0.02 * (h % 3):.2f}\n" for h in range(24)
)
WHOSE = (
    ("Once a pump has been started it must run for at least three hours.", "abc"),
    ("Once started, each pump must run for at least three hours.", "abc"),
    ("Once pump B has been started it must run for at least three hours.", "b"),
    ("Pump C must run at least three hours after each start.", "c"),
    ("It must run for at least three hours once it is started.", ""),
)


@pytest.mark.parametrize(("rule", "whose"), WHOSE, ids=_short)
def test_whose_rule_it_is(tmp_path: Path, rule: str, whose: str) -> None:
    analysis = read(tmp_path, LETTERS.format(rule=rule), {"day.csv": DAY})
    if not whose:
        assert not analysis.complete
        return
    assert analysis.complete, analysis
    assert analysis.blueprint is not None
    core = analysis.blueprint.to_dict()["core_model_elements"]
    rows = [c["expression"] for c in core["constraints"] if "pos(s)" in c["expression"]]
    assert [row.split("_")[1] for row in rows] == list(whose)


RETROFITS = """A housing company considers the following retrofits.

| Retrofit | Cost (kEUR) | Savings (kEUR/yr) | CO2 avoided (t/yr) |
|---|---|---|---|
| Windows | 220 | 14 | 30 |
| Roof | 150 | 11 | 22 |
| Boiler | 80 | 9 | 35 |
| Pumps | 20 | 4 | 6 |
| PV | 130 | 16 | 40 |

Every retrofit is either done completely or not done. At most 350 kEUR can be invested, at least
70 t/yr of CO2 have to be avoided, and the roof must be done if PV is done. Which selection has the
highest savings per year?
"""


def test_retrofits_of_a_company(tmp_path: Path) -> None:
    rows = ((220, 14, 30), (150, 11, 22), (80, 9, 35), (20, 4, 6), (130, 16, 40))
    best = max(
        sum(k * row[1] for k, row in zip(plan, rows, strict=True))
        for plan in product((0, 1), repeat=5)
        if sum(k * row[0] for k, row in zip(plan, rows, strict=True)) <= 350
        and sum(k * row[2] for k, row in zip(plan, rows, strict=True)) >= 70
        and plan[4] <= plan[1]
    )  # fmt: skip
    analysis = read(tmp_path, RETROFITS)
    assert analysis.complete, analysis
    assert solved(analysis, tmp_path)[1] == pytest.approx(best)
