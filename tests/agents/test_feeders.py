"""Radial feeders: line tables, laws in words and symbols, what must not be passed over."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from engiagent.agents.offline.feeders.analyse import understand_feeder
from engiagent.agents.offline.feeders.laws import laws_in
from engiagent.agents.offline.results import Analysis
from engiagent.problems import Problem
from tests.agents.support import solved

LINES = "from,to,r [ohm],x [ohm],limit [kW]\n"
LINES += "Plant,Elm,0.3,0.2,800\nElm,Oak,0.5,0.4,400\nElm,Ash,0.7,0.5,600\n"
LOADS = "hour,Elm,Oak,Ash\n" + "".join(
    f"2025-05-04 {10 + k}:00,{90 + k},{120 - k},{40 + 2 * k}\n" for k in range(4)
)
SUN = "hour,Ash\n" + "".join(
    f"2025-05-04 {10 + k}:00,{x}\n" for k, x in enumerate((300, 520, 560, 410))
)
FILES = {"lines.csv": LINES, "loads.csv": LOADS, "sun.csv": SUN}
LAW = (
    "what enters a section leaves it, and the square of the voltage falls along a section by twice"
    " resistance times active power plus twice reactance times reactive power"
)
BODY = f"""# A feeder

A radial line leaves the plant and serves three nodes. `lines.csv` has resistance, reactance and
limit of the active power of each section, `loads.csv` the active load of each node in kW for the
four hours from 10:00 of 4 May 2025, and `sun.csv` what the panels at Ash could give, in kW.

Every load draws 0.25 kvar for each kW; the panels give active power only. Use the linearised
equations for a radial line without losses: {LAW}. The voltage at the plant is 6.3 kV. At every node
it must stay between 6.1 kV and 6.5 kV.

Power from the plant costs 80 EUR/MWh; power sent back to the plant earns 30 EUR/MWh. The panels can
be throttled. Minimise net cost over the four hours, in EUR.
"""


def analysed(folder: Path, body: str, files: Mapping[str, str] | None = None) -> Analysis:
    """Return what the reader of feeders makes of a text with its files."""
    (folder / "problem.md").write_text(body, encoding="utf-8")
    for name, content in (files or {}).items():
        (folder / name).write_text(content, encoding="utf-8")
    found = understand_feeder(Problem.load(folder / "problem.md"))
    assert found is not None
    return found.analysis


def swapped(*pairs: tuple[str, str]) -> str:
    """Return the text with other words."""
    text = " ".join(BODY.split(" "))
    flat = "\n\n".join(" ".join(part.split()) for part in text.split("\n\n"))
    for old, new in pairs:
        assert old in flat, old
        flat = flat.replace(old, new)
    return flat


def model(analysis: Analysis) -> dict[str, Any]:
    """Return what a blueprint says, places and descriptions aside."""
    assert analysis.blueprint is not None
    core = analysis.blueprint.to_dict()["core_model_elements"]
    aside = {"source_reference", "description", "param_id"}
    return {
        kind: [{k: v for k, v in entry.items() if k not in aside} for entry in core[kind]]
        for kind in ("sets", "parameters", "decision_variables", "constraints")
    } | {"objective": core["objective_function"]["expression"]}


WORDINGS = [
    ((f"Use the linearised equations for a radial line without losses: {LAW}.",
      "Use the LinDistFlow equations."),),
    ((LAW, "what goes into a line comes out of it, and v drops by 2(rP + xQ), with the active power"
      " P, the reactive power Q and the squared voltage v"),),
    (("twice resistance times active power plus twice reactance times reactive power",
      "two times the reactance times the reactive power plus two times the resistance times the"
      " active power"),),
    (("At every node it must stay between 6.1 kV and 6.5 kV.",
      "At all nodes the voltage has to lie between 6.1 kV and 6.5 kV."),),
    (("At every node it must stay between 6.1 kV and 6.5 kV.",
      "The voltage must not fall below 6.1 kV at any node. It must not exceed 6.5 kV either."),),
    (("The voltage at the plant is 6.3 kV.", "The plant keeps its voltage at 6.3 kV."),),
    (("Power from the plant costs 80 EUR/MWh; power sent back to the plant earns 30 EUR/MWh.",
      "Energy sold back earns 3 ct/kWh, energy from the plant costs 8 ct/kWh."),),
    (("Every load draws 0.25 kvar for each kW; the panels give active power only.",
      "The solar power has unity power factor. All loads draw 0.25 kvar per kW."),),
    (("The panels can be throttled.", "The solar power may be curtailed."),),
]  # fmt: skip


@pytest.mark.parametrize("pairs", WORDINGS)
def test_other_words_give_the_same_feeder(
    pairs: tuple[tuple[str, str], ...], tmp_path: Path
) -> None:
    plain, other = tmp_path / "a", tmp_path / "b"
    plain.mkdir()
    other.mkdir()
    wanted = model(analysed(plain, BODY, FILES))
    analysis = analysed(other, swapped(*pairs), FILES)
    assert analysis.complete, (analysis.missing, analysis.not_understood, analysis.ambiguous)
    found = model(analysis)
    if "ct/kWh" in pairs[0][1]:
        wanted.pop("parameters")
        found.pop("parameters")
    assert found == wanted


NOT_THIS = [
    ((LAW, LAW.replace("by twice", "by three times")),),
    ((LAW, LAW.replace("plus twice", "less twice")),),
    ((LAW, LAW.replace("the square of the voltage", "the voltage")),),
    ((LAW, LAW + " plus a tenth of the current"),),
    ((f"Use the linearised equations for a radial line without losses: {LAW}.", ""),),
    (("Every load draws 0.25 kvar for each kW; ", ""),),
    (("The panels can be throttled.",
      "The panels can be throttled. A capacitor bank at Oak gives 50 kvar."),),
    (("The panels can be throttled.",
      "The panels can be throttled. A battery of 100 kWh stands at Oak."),),
    (("The panels can be throttled.",
      "The panels can be throttled. The tap changer may lower the voltage in two steps."),),
    (("The panels can be throttled.", "The panels can be throttled. No power may be sent back."),),
    (("The panels can be throttled.", "The voltage at Oak should be close to that at Ash."),),
    (("The panels can be throttled. ", ""),),
    (("power sent back to the plant earns 30 EUR/MWh", "power sent back to the plant is allowed"),),
    (("The voltage at the plant is 6.3 kV.", ""),),
    (("it must stay between 6.1 kV and 6.5 kV", "it must stay between 6.4 kV and 6.5 kV"),),
    (("serves three nodes", "serves five nodes"),),
    (("The panels can be throttled.",
      "The panels can be throttled. Nothing may be bought after 12:00."),),
    (("The panels can be throttled.",
      "The panels can be throttled. From 12:00 on the prices are halved."),),
    (("The panels can be throttled.",
      "The panels can be throttled. The figures in the files are for quarter hours."),),
    (("Minimise net cost over the four hours, in EUR.", "Minimise the losses of the four hours."),),
]  # fmt: skip


@pytest.mark.parametrize("pairs", NOT_THIS)
def test_other_meanings_are_not_read_as_this_feeder(
    pairs: tuple[tuple[str, str], ...], tmp_path: Path
) -> None:
    assert not analysed(tmp_path, swapped(*pairs), FILES).complete


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("lines.csv", LINES.replace("Elm,Oak", "Ash,Oak").replace("Elm,Ash", "Oak,Ash")),
        ("lines.csv", LINES.replace("limit [kW]", "limit [kW],closed")
         .replace("800", "800,1").replace("400", "400,0").replace("600", "600,1")),
        ("lines.csv", LINES.replace("r [ohm]", "r")),
        ("loads.csv", LOADS.replace("Oak", "Fir")),
        ("sun.csv", SUN.replace("hour,Ash", "hour,Plant")),
    ],
)  # fmt: skip
def test_tables_that_do_not_fit_are_reported(name: str, content: str, tmp_path: Path) -> None:
    assert not analysed(tmp_path, BODY, {**FILES, name: content}).complete


def test_missing_reactive_load_is_named(tmp_path: Path) -> None:
    text = swapped(("Every load draws 0.25 kvar for each kW; ", ""))
    analysis = analysed(tmp_path, text, FILES)
    assert [(m.component, m.slot) for m in analysis.missing] == [("load", "reactive_power")]


TABLES = """# A street at its peak

The source Head feeds three nodes in a row. We look at the hour of 3 March 2026, 17:00 to 18:00,
with losses.

| Line | Resistance (ohm) | Reactance (ohm) | Rating (A) |
|---|---|---|---|
| Head - Kiln | 0.4 | 0.3 | 150 |
| Kiln - Mill | 0.5 | 0.4 | 120 |

| Node | Reactive load (kvar) | Load (kW) |
|---|---|---|
| Kiln | 120 | 400 |
| Mill | 150 | 500 |

Branch flow equations of the single-phase equivalent. A diesel engine of 600 kW stands at Mill and
gives between -200 kvar and 200 kvar; its energy costs 150 EUR/MWh. Energy from Head costs
90 EUR/MWh, nothing is sold back. The voltage at Head is 10.2 kV; everywhere else it must lie
between 9.8 kV and 10.6 kV.

Minimise the cost in EUR.
"""


def test_losses_are_those_of_the_currents(tmp_path: Path) -> None:
    analysis = analysed(tmp_path, TABLES)
    assert analysis.complete, (analysis.missing, analysis.not_understood, analysis.ambiguous)
    status, cost = solved(analysis, tmp_path)
    # A second route: sweeps back and forth with the engine's largest reactive power.
    v, lost = [10.2**2] * 3, [0.0, 0.0]
    for _ in range(50):
        p2, q2 = 0.5, 0.15 - 0.2
        p2, q2 = p2 + 0.5 * lost[1], q2 + 0.4 * lost[1]
        p1, q1 = 0.4 + p2 + 0.4 * lost[0], 0.12 + q2 + 0.3 * lost[0]
        lost = [(p1**2 + q1**2) / v[0], (p2**2 + q2**2) / v[1]]
        v[1] = v[0] - 2 * (0.4 * p1 + 0.3 * q1) + (0.16 + 0.09) * lost[0]
    assert status in ("optimal", "feasible")
    assert cost == pytest.approx(90 * p1, rel=2e-3)
    assert cost is not None
    assert cost <= 90 * p1 + 1e-6


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("of the single-phase equivalent", ""),
        ("stands at Mill", "stands somewhere"),
        (",\nwith losses", ""),
        ("nothing is sold back", "what is sold back earns nobody knows what"),
        ("Branch flow equations", "Linearised branch flow equations"),
    ],
)
def test_what_a_feeder_with_losses_lacks_is_reported(old: str, new: str, tmp_path: Path) -> None:
    text = TABLES.replace(old, new)
    if "losses" in old:
        text = text.replace("Branch flow equations of the single-phase", "Single-phase")
    assert text != TABLES
    assert not analysed(tmp_path, text).complete


SYMBOLS = (
    "with the active power P, the reactive power Q, the squared current l, the squared voltage v: "
)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("v falls by 2rP + 2xQ", "linear"),
        ("v drops by 2(xQ + rP)", "linear"),
        ("v falls by 2(rP + xQ) less (r² + x²) l", "lossy"),
        ("v falls by 2(rP + xQ) - (r² + x²)l", "lossy"),
        ("l times v equals P² + Q²", "lossy"),
        ("P² + Q² = v l", "lossy"),
        ("v falls by 2(rP + xQ) less (r² - x²) l", None),
        ("v falls by rP + xQ", None),
        ("v rises by 2(rP + xQ)", None),
        ("l times v equals P² - Q²", None),
    ],
)
def test_a_law_is_known_by_its_values(text: str, name: str | None) -> None:
    whole = SYMBOLS + text
    found = {law.name for law in laws_in(whole, 0, len(whole))} - {"symbols"}
    assert found == ({name} if name else set())


PER_UNIT = """# A feeder per unit

The feeder has a nominal voltage of 12.66 kV and a base power of 10 MVA. `branches.csv` lists the
branches with resistance and reactance per unit and the rating in kVA; `buses.csv` the active and
reactive load of each bus. We look at the peak hour of 3 June 2025, 18:00 to 19:00. Use the
LinDistFlow equations.

The voltage at bus B1 is 1.02 pu. At all buses it must stay between 0.95 pu and 1.05 pu. A diesel
generator of up to 600 kW at B3 gives active power only; its energy costs 160 EUR/MWh. Energy from
B1 costs 120 EUR/MWh. No power may flow back.

Minimise the cost of the hour in EUR.
"""
BRANCHES = "line,from bus,to bus,r [pu],x [pu],rating [kVA]\n"
BRANCHES += "1,B1,B2,0.1,0.05,2500\n2,B2,B3,{r},0.2,1500\n"
BUSES = "bus,Pd [kW],Qd [kvar]\nB2,900,300\nB3,800,400\n"


@pytest.mark.parametrize("r", [0.4, 0.9])
def test_impedances_per_unit_rest_on_the_base(r: float, tmp_path: Path) -> None:
    files = {"branches.csv": BRANCHES.format(r=r), "buses.csv": BUSES}
    analysis = analysed(tmp_path, PER_UNIT, files)
    assert analysis.complete, (analysis.missing, analysis.not_understood, analysis.ambiguous)
    # What the engine must give so that the last bus keeps 0.95: 1.02² less what falls on the way.
    rise = 2 * (0.1 + r) / 10
    missing = 0.95**2 - (1.02**2 - 2 * (0.17 + 0.035 + 0.8 * r + 0.08) / 10)
    engine = max(0.0, missing / rise)
    assert solved(analysis, tmp_path)[1] == pytest.approx(120 * (1.7 - engine) + 160 * engine)


LANE = """# A lane

It is a radial feeder with a nominal voltage of 400 V. Its sections:

| From | To | Length (km) | Resistance (ohm/km) | Reactance (ohm/km) | Limit (kW) |
|---|---|---|---|---|---|
| Kiosk | Barn | 0.3 | 0.32 | 0.08 | 120 |
| Barn | House | 0.4 | 0.64 | 0.09 | 60 |

Loads over three hours of 4 June 2025 (kW):

| Hour | Barn | House |
|---|---|---|
| 10:00 | 12 | 5 |
| 11:00 | 15 | 6 |
| 12:00 | 14 | 8 |

The panels of the House can give:

| Hour | House (kW) |
|---|---|
| 10:00 | 30 |
| 11:00 | 44 |
| 12:00 | 48 |

The price at the Kiosk changes with the hour; what is sent back earns 6 ct/kWh (euro cents).

| Hour | Price (ct/kWh) |
|---|---|
| 10:00 | 24 |
| 11:00 | 19 |
| 12:00 | 17 |

The loads have a power factor of 0.95; the panels work at unity power factor and may be curtailed.
The voltage at the Kiosk is 405 V. Everywhere the voltage may deviate by at most 5 % from the
nominal one. Losses may be neglected.

Minimise the total cost in EUR.
"""


def test_tables_over_time_with_prices_and_lengths(tmp_path: Path) -> None:
    analysis = analysed(tmp_path, LANE)
    assert analysis.complete, (analysis.missing, analysis.not_understood, analysis.ambiguous)
    sold = 0.0
    tangent = (1 / 0.95**2 - 1) ** 0.5
    for barn, house, sun in ((12, 5, 30), (15, 6, 44), (14, 8, 48)):
        # 420² at the House: 405² less what falls there; all in V², W and ohm.
        reactive = 2 * tangent * (0.024 * (barn + house) + 0.036 * house) * 1e3
        room = 420**2 - 405**2 + reactive + 2e3 * (0.096 * (barn + house) + 0.256 * house)
        used = min(sun, room / (2e3 * (0.096 + 0.256)))
        sold += used - barn - house
    assert solved(analysis, tmp_path)[1] == pytest.approx(-0.06 * sold)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("The panels of the House can give:", "The panels of the House must not give more than:"),
        ("Loads over three hours", "Loads, of which half may be shifted, over three hours"),
        ("Loads over three hours", "Loads that are given up first over three hours"),
        ("nominal voltage of 400 V", "length of 700 m"),
        ("at most 5 % from the\nnominal one", "at most 5 % from the mean"),
        ("| Hour | Price (ct/kWh) |", "| Hour | Prices |"),
        ("unity power factor and", "a power factor of 0.9 and"),
    ],
)
def test_what_a_lane_lacks_is_reported(old: str, new: str, tmp_path: Path) -> None:
    assert old in LANE
    assert not analysed(tmp_path, LANE.replace(old, new)).complete
