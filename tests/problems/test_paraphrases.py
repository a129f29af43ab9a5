"""One sentence each, as engineers write them: which numbers, in which unit, of which kind."""

from pathlib import Path

import pytest

from engiagent.text import Problem, Quantity

EUR = "All prices in EUR."  # settles whose cents are meant

CASES: list[tuple[str, list[tuple[float, str, str]]]] = [
    ("The battery stores 200 kWh.", [(200, "kWh", "number")]),
    ("A 200-kWh battery is used.", [(200, "kWh", "number")]),
    ("Its capacity (200kWh) is fixed.", [(200, "kWh", "number")]),
    ("Capacity: 200 [kWh] in total.", [(200, "kWh", "number")]),
    ("It holds 1,200 kWh.", [(1200, "kWh", "number")]),
    ("It holds 1 200 kWh.", [(1200, "kWh", "number")]),
    ("It holds 1'200 kWh.", [(1200, "kWh", "number")]),
    ("It holds 1\u202f200\u00a0kWh.", [(1200, "kWh", "number")]),
    ("It holds 12,345.67 kWh.", [(12345.67, "kWh", "number")]),
    ("It holds 1.2 MWh of energy.", [(1.2, "MWh", "number")]),
    ("Efficiency is 0.95. The rest is lost.", [(0.95, "", "number")]),
    ("The efficiency is 95 % each way.", [(95, "%", "percent")]),
    ("The efficiency is 95 per cent.", [(95, "%", "percent")]),
    ("Self-discharge is 0.1 % per day.", [(0.1, "%/d", "percent")]),
    ("Keep it between 10 % and 90 %.", [(10, "%", "percent"), (90, "%", "percent")]),
    ("Keep it at 10–90 %.", [(10, "%", "percent"), (90, "%", "percent")]),
    ("Keep it between 20 and 24 °C.", [(20, "degC", "number"), (24, "degC", "number")]),
    ("Keep it at 20–24 °C.", [(20, "degC", "number"), (24, "degC", "number")]),
    ("Keep it at 20-24 °C.", [(20, "degC", "number"), (24, "degC", "number")]),
    ("From 20 to 24 degrees Celsius.", [(20, "degC", "number"), (24, "degC", "number")]),
    ("It falls from 20 °C to −5 °C.", [(20, "degC", "number"), (-5, "degC", "number")]),
    ("It is -5 °C outside.", [(-5, "degC", "number")]),
    ("It is minus 5 °C outside.", [(-5, "degC", "number")]),
    ("The set point is 21 °C ± 0.5 K.", [(21, "degC", "number"), (0.5, "K", "number")]),
    ("Thermal capacity 30,000 BTU/°F.", [(30_000, "BTU/degF_diff", "number")]),
    ("It gains 1,150 BTU/(h·°F).", [(1150, "BTU/h/degF_diff", "number")]),
    ("The set point is 21 ± 2 °C.", [(21, "degC", "number"), (2, "degC", "number")]),
    ("It cost €16,200 to build.", [(16200, "EUR", "number")]),
    ("It cost 16 200 EUR to build.", [(16200, "EUR", "number")]),
    ("It cost EUR 16,200 to build.", [(16200, "EUR", "number")]),
    ("It cost $1.2 million in all.", [(1200000, "USD", "number")]),
    ("It cost 1.2 million EUR in all.", [(1200000, "EUR", "number")]),
    ("Energy costs $0.12/kWh.", [(0.12, "USD/kWh", "number")]),
    ("Energy costs €80 per MWh today.", [(80, "EUR/MWh", "number")]),
    ("Energy costs 80 EUR per MWh today.", [(80, "EUR/MWh", "number")]),
    ("Energy costs 80 euros per megawatt-hour.", [(80, "EUR/MWh", "number")]),
    ("Wear costs 7.50 EUR for every MWh.", [(7.5, "EUR/MWh", "number")]),
    (f"Energy costs 12 ct/kWh. {EUR}", [(12, "ct_EUR/kWh", "number")]),
    (f"Energy costs 12 cents per kWh. {EUR}", [(12, "ct_EUR/kWh", "number")]),
    ("Energy costs 12 ct/kWh.", [(12, "?ct/kWh", "number")]),
    (
        "Bids lie between -€50/MWh and €100/MWh.",
        [(-50, "EUR/MWh", "number"), (100, "EUR/MWh", "number")],
    ),
    ("The capacity is 2.2 kWh/K.", [(2.2, "kWh/K", "number")]),
    ("The loss is 0.25 kW per K.", [(0.25, "kW/K", "number")]),
    ("The U-value is 1.1 W/m²K.", [(1.1, "W/m2/K", "number")]),
    ("The U-value is 1.1 W/(m² K).", [(1.1, "W/m2/K", "number")]),
    ("The chiller gives 36 000 BTU/h.", [(36000, "BTU/h", "number")]),
    ("The chiller gives 3 tons of refrigeration.", [(3, "TR", "number")]),
    ("The chiller gives 3 tons.", [(3, "?tons", "number")]),
    (
        "Of 90 tons of refrigeration it gives 3 tons at 0.6 kW/ton.",
        [(90, "TR", "number"), (3, "TR", "number"), (0.6, "kW/TR", "number")],
    ),
    (
        "The tank holds 40 ton-hours, the chiller gives 9 tons and saves 2 tons of CO2.",
        [(40, "TRh", "number"), (9, "TR", "number"), (2, "?tons of CO2", "number")],
    ),
    ("The fan moves 2,000 cfm.", [(2000, "cfm", "number")]),
    (
        "The pump moves 600 gpm, the coil gives 85 MBH.",
        [(600, "gpm", "number"), (85, "MBH", "number")],
    ),
    (
        "Power is limited to 5, 10 and 20 kW.",
        [(5, "kW", "number"), (10, "kW", "number"), (20, "kW", "number")],
    ),
    ("Either 10 or 20 kW may be chosen.", [(10, "kW", "number"), (20, "kW", "number")]),
    ("It has an efficiency of 0.9 and 5 kW.", [(0.9, "", "number"), (5, "kW", "number")]),
    ("The flow is 1.5×10^3 kg/h.", [(1500, "kg/h", "number")]),
    ("The flow is 1.5e3 kg/h.", [(1500, "kg/h", "number")]),
    ("The flow is 2 · 10⁻³ m3/s.", [(0.002, "m3/s", "number")]),
    ("At 14:00 it is full.", [(14, "", "clock")]),
    ("At 7 am it starts.", [(7, "", "clock")]),
    ("At 6:30 p.m. it stops.", [(18.5, "", "clock")]),
    ("Open from 14:00 to 19:00.", [(14, "", "clock"), (19, "", "clock")]),
    ("Open from 14:00 to 19:00: it is warm.", [(14, "", "clock"), (19, "", "clock")]),
    ("Open 14:00–19:00.", [(14, "", "clock"), (19, "", "clock")]),
    ("Open from 7 to 9 pm.", [(19, "", "clock"), (21, "", "clock")]),
    ("Open from 9 to 5 pm.", [(9, "", "clock"), (17, "", "clock")]),
    ("Open from noon to midnight.", [(12, "", "clock"), (24, "", "clock")]),
    ("On 2025-07-01 it starts.", [(739433, "", "date")]),
    ("On 1 July 2025 it starts.", [(739433, "", "date")]),
    ("On July 1st, 2025 it starts.", [(739433, "", "date")]),
    ("It was built in 2019 by hand.", [(2019, "", "date")]),
    ("Steps of 15 minutes are used.", [(15, "min", "duration")]),
    ("A 15-minute step is used.", [(15, "min", "duration")]),
    ("It lasts 24 hours.", [(24, "h", "duration")]),
    ("It takes half an hour.", [(0.5, "h", "duration")]),
    ("It takes a quarter of an hour.", [(0.25, "h", "duration")]),
    ("It takes three quarters of an hour.", [(0.75, "h", "duration")]),
    ("It takes two and a half hours.", [(2.5, "h", "duration")]),
    ("It takes 1½ hours.", [(1.5, "h", "duration")]),
    ("There are two batteries.", [(2, "", "word")]),
    ("It starts half full.", [(0.5, "", "word")]),
    ("A third of it is lost.", [(1 / 3, "", "word")]),
    ("Two thirds of it are lost.", [(2 / 3, "", "word")]),
    ("About 1/3 of it is lost.", [(1 / 3, "", "number")]),
    ("It may start twice per day.", [(2, "1/d", "word")]),
    ("Its start value is zero.", [(0, "", "word")]),
    ("Twenty-four panels fit.", [(24, "panel", "word")]),
    ("It needs ten kilowatts.", [(10, "kW", "word")]),
    ("Zone 2 is warm.", [(2, "", "label")]),
    ("Zones 1, 2 and 3 are warm.", [(1, "", "label"), (2, "", "label"), (3, "", "label")]),
    ("See Table 1 and Fig. 3.", [(1, "", "label"), (3, "", "label")]),
    ("Rule R1 binds PV1 only.", [(1, "", "label"), (1, "", "label")]),
    ("The 2nd unit runs.", [(2, "", "label")]),
    ("A 3-phase motor runs.", [(3, "", "label")]),
    ("It runs 24/7 at 5 kW.", [(24, "", "label"), (7, "", "label"), (5, "kW", "number")]),
    ("Ramping is limited to 3 MW per minute.", [(3, "MW/min", "number")]),
    ("It emits 0.4 kg CO2/kWh.", [(0.4, "kg/kWh", "number")]),
    ("Loss is 5 kWh per day.", [(5, "kWh/d", "number")]),
    ("Approx. 40 kW are needed.", [(40, "kW", "number")]),
    ("The load is **50** kW.", [(50, "kW", "number")]),
    (r"The value $\eta = 0.95$ holds.", [(0.95, "", "number")]),
    ("It weighs 0,5 t.", [(0.5, "t", "number")]),
    ("Tilt angle is 30 degrees.", [(30, "deg", "number")]),
    ("The room has 21 degrees.", [(21, "?degrees", "number")]),
    ("The project spans 5 months.", [(5, "?months", "duration")]),
    ("Charge between 8 am and 6 pm.", [(8, "", "clock"), (18, "", "clock")]),
    ("Between 10 kW and 20 kW is fine.", [(10, "kW", "number"), (20, "kW", "number")]),
    ("The stack pays $10–20 per kWh.", [(10, "USD/kWh", "number"), (20, "USD/kWh", "number")]),
    ("Run No. 3 at max. 500 kW.", [(3, "", "label"), (500, "kW", "number")]),
    ("The night from 16 to 17 January 2026 is cold.", [(739632, "", "date"), (739633, "", "date")]),
]


def shown(quantity: Quantity) -> tuple[float, str, str]:
    unit = str(quantity.unit) if quantity.unit else ""
    if quantity.unit is None and quantity.unit_text:
        unit = f"?{quantity.unit_text}"
    return quantity.value, unit, quantity.kind


@pytest.mark.parametrize(("sentence", "expected"), CASES, ids=[case[0][:40] for case in CASES])
def test_paraphrase(sentence: str, expected: list[tuple[float, str, str]], tmp_path: Path) -> None:
    path = tmp_path / "case.md"
    path.write_text(sentence + "\n", "utf-8")
    found = [shown(q) for q in Problem.load(path).quantities]
    assert [(u, k) for _, u, k in found] == [(u, k) for _, u, k in expected]
    assert [v for v, _, _ in found] == pytest.approx([v for v, _, _ in expected], rel=1e-15)


RANGES = [
    "Keep it between 20 and 24 °C.",
    "Keep it at 20–24 °C.",
    "from 10 % to 90 %",
    "from 14:00 to 19:00",
    "5 to 7 kW",
    "between 8 am and 6 pm",
    "1 to 3 July 2025",
]


@pytest.mark.parametrize("sentence", RANGES)
def test_both_ends_share_a_range(sentence: str, tmp_path: Path) -> None:
    path = tmp_path / "case.md"
    path.write_text(sentence, "utf-8")
    low, high = Problem.load(path).quantities
    assert low.range_id is not None
    assert low.range_id == high.range_id


def test_neighbours_that_are_no_range_share_nothing(tmp_path: Path) -> None:
    path = tmp_path / "case.md"
    path.write_text("It charges 5 kW and 7 kW, from 10 to 12 kW and 13 to 14 kW.", "utf-8")
    ids = [q.range_id for q in Problem.load(path).quantities]
    assert ids[:2] == [None, None]
    assert ids[2] == ids[3] != ids[4] == ids[5]
    assert None not in ids[2:]


def test_doubt_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "case.md"
    path.write_text("It holds 1,5 t, and about 7 t on 01/02/2025. And 1,500 kg.", "utf-8")
    comma, about, date, plain = Problem.load(path).quantities
    assert comma.ambiguous == "read with a decimal comma"
    assert about.approximate
    assert not comma.approximate
    assert "day and month" in date.ambiguous
    assert (plain.value, plain.ambiguous) == (1500, "")
