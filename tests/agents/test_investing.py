"""What a battery may cost to earn a return: many wordings, one defined quantity."""

from pathlib import Path

import pytest

from engiagent.agents.offline import Analysis
from engiagent.economics import annuity_factor
from tests.agents.support import analysed

YEAR = "hour,price [EUR/MWh]\n" + "".join(
    f"{h + 1},{40 + 30 * ((h // 6) % 4 == 3) + h % 7}\n" for h in range(8760)
)
ASK = "We ask what a battery may cost per kW so that it still earns 8 % a year."
LIFE = "The year repeats for 20 years, the running costs are 9 EUR/kW per year."
GOAL = "Maximise it and report it in EUR/kW."
BODY = """# Storage

{ask} `year.csv` has the hourly prices in EUR/MWh at which it buys and sells, hour 1 to 8760.

The battery has 50 MW in both directions and 100 MWh. Charging has an efficiency of 90 %,
discharging has none to speak of. It starts the year empty and may end it empty; standing losses are
ignored.

{life}

{goal}
"""


def asked(folder: Path, ask: str = ASK, life: str = LIFE, goal: str = GOAL,
          year: str = YEAR) -> Analysis:  # fmt: skip
    return analysed(folder, BODY.format(ask=ask, life=life, goal=goal), {"year.csv": year})


def objective(found: Analysis, folder: Path) -> tuple[str, str, float]:
    """Return expression, unit and annuity of the objective."""
    from engiagent.blueprint.elaborate import Elaboration

    assert found.complete, (found.missing, found.not_understood, found.ambiguous)
    assert found.blueprint is not None
    goal = found.blueprint.core.objective_function
    assert goal is not None
    assert goal.sense == "maximize"
    annuity = Elaboration(found.blueprint.core, folder).table("annuity").values
    return str(goal.expression), str(goal.unit), float(annuity)


INCOME = "sum(import_price[t]*grid_export[t]*dt(t) for t in T) - "
INCOME += "sum(import_price[t]*grid_import[t]*dt(t) for t in T)"
SIZE = "battery_power_max"


@pytest.mark.parametrize(
    ("changes", "rate", "life"),
    [
        ({}, 0.08, 20),
        ({"ask": "How much may a battery cost per kilowatt if it is to earn 8 % a year?",
          "goal": ""}, 0.08, 20),
        ({"ask": "What may a kilowatt of storage cost at a discount rate of 5 %?", "goal": ""},
         0.05, 20),
        ({"life": "Its life is 12 years; the operating costs are 9 EUR/kW and year. Every year is"
          " like this one, and there is no residual value."}, 0.08, 12),
        ({"life": "It lasts for 20 years. Fixed costs: 9 EUR/(kW*yr). All years are alike.",
          "goal": "Maximise this price in EUR/kW."}, 0.08, 20),
        ({"goal": "The acceptable price is the annual surplus per kW, income less running costs,"
          " times the present value of an annuity of 1 at 8 % over the 20 years, payments at the"
          " ends of the years. Maximise it and report it in EUR/kW."}, 0.08, 20),
        ({"goal": "The price is the yearly profit per kW times the annuity factor. Maximise it.",
          "life": "It lasts for 20 years."}, 0.08, 20),
    ],
)  # fmt: skip
def test_wordings_of_the_question(
    tmp_path: Path, changes: dict[str, str], rate: float, life: float
) -> None:
    text, unit, annuity = objective(asked(tmp_path, **changes), tmp_path)
    costs = f" - running_costs*{SIZE}*1[yr]" if "9 EUR" in changes.get("life", LIFE) else ""
    assert text == f"annuity*({INCOME}{costs})/{SIZE}"
    assert unit == "EUR/kW"
    assert annuity == pytest.approx(annuity_factor(rate, life))


def test_what_it_is_behind_the_question(tmp_path: Path) -> None:
    body = BODY.replace("The battery has 50 MW", "It has 50 MW")
    text = body.format(ask=ASK, life=LIFE, goal=GOAL)
    assert objective(analysed(tmp_path, text, {"year.csv": YEAR}), tmp_path)[1] == "EUR/kW"


def test_a_price_for_energy(tmp_path: Path) -> None:
    found = asked(tmp_path, ASK.replace("kW", "kWh"), goal="Maximise it and report it in EUR/kWh.")
    text, unit, _ = objective(found, tmp_path)
    assert text == (f"annuity*({INCOME} - running_costs*{SIZE}*1[yr])/battery_energy_capacity")
    assert unit == "EUR/kWh"


@pytest.mark.parametrize(
    "changes",
    [
        {"ask": "We ask what a battery may cost per kW."},
        {"life": "The running costs are 9 EUR/kW per year."},
        {"life": f"{LIFE} Its capacity falls by 2 % a year."},
        {"life": f"{LIFE} Prices rise by 1 % a year."},
        {"life": f"{LIFE} After ten years the cells are replaced for 50 EUR/kWh."},
        {"life": f"{LIFE} A tenth of the price is left at the end."},
        {"life": LIFE.replace("9 EUR/kW per year", "2 % of the price per year")},
        {"life": LIFE.replace("9 EUR/kW per year", "9 EUR/kW")},
        {"life": f"{LIFE} The life is 15 years."},
        {"goal": f"The interest rate is 6 %. {GOAL}"},
        {"goal": "Maximise it and report it in EUR/kWh."},
        {"goal": "Maximise the profit in EUR."},
        {"goal": "The acceptable price is the annual surplus per kW times 20. Maximise it."},
        {"goal": "The acceptable price is the annual surplus per kW times the present value of an"
         " annuity of 1 at 8 % over the 20 years. Maximise it."},
        {"goal": "The price is the yearly surplus times the annuity factor. Maximise it."},
        {"year": "\n".join(YEAR.splitlines()[:721])},
    ],
)  # fmt: skip
def test_near_misses_of_the_question(tmp_path: Path, changes: dict[str, str]) -> None:
    assert not asked(tmp_path, **changes).complete


def test_no_standing_loss_is_no_lossless_discharge(tmp_path: Path) -> None:
    body = BODY.replace("discharging has none to speak of", "the other way is not known")
    body = body.replace("standing losses are\nignored", "it has no standing losses")
    text = body.format(ask=ASK, life=LIFE, goal=GOAL)
    found = analysed(tmp_path, text, {"year.csv": YEAR})
    assert not found.complete
