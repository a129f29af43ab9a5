"""Energy communities: members by columns, trade among neighbours, fees, fuses, one battery."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import linprog

from engiagent.agents.offline.communities.analyse import understand_community
from engiagent.agents.offline.results import Analysis
from engiagent.problems import Problem
from tests.agents.support import solved

NAMES = ("Ash", "Elm", "Oak")
USE = np.array([[1.0, 2.0, 0.5], [3.0, 1.5, 1.0], [2.5, 2.0, 4.0], [4.0, 3.0, 3.5]])
SUN = np.array([[4.0, 0.0, 1.0], [6.0, 0.0, 2.0], [1.0, 0.0, 0.5], [0.0, 0.0, 0.0]])


def table(values: np.ndarray) -> str:
    """Return a file with a column for each member."""
    rows = [f"2025-07-01 {10 + t}:00," + ",".join(map(str, row)) for t, row in enumerate(values)]
    return "\n".join(["hour," + ",".join(NAMES), *rows, ""])


FILES = {"use.csv": table(USE), "sun.csv": table(SUN)}
PARTS = {
    "who": "Ash, Elm and Oak are three houses that have founded an energy community. Two have"
    " panels, Elm has none, and Ash has a battery. We plan 1 July 2025.",
    "files": "* `use.csv`: what each house needs, kW\n* `sun.csv`: what its panels make, kW;"
    " nothing is ever thrown away",
    "prices": "A house may buy from its supplier at 30 ct/kWh and sell to the network at 8 ct/kWh"
    " (euro cents).",
    "trade": "Or it gives to the neighbours and takes from them; within the hour, what all houses"
    " give must be what all houses take.",
    "fee": "The network operator charges 5 ct/kWh on what is taken from neighbours; money between"
    " neighbours cancels out.",
    "fuse": "Each house is fused at 5 kW, for what comes in (supplier and neighbours together) and"
    " likewise for what goes out.",
    "battery": "The battery of Ash has 6 kWh and 2 kW both ways. It stores 90 % of what it takes"
    " and gives back all that it has stored; it is empty at the start.",
    "goal": "Minimise the sum of the three bills in EUR.",
}


def read(folder: Path, changes: Mapping[str, str] | None = None) -> Analysis:
    """Return what the reader of communities makes of the text with other parts."""
    body = "\n\n".join({**PARTS, **(changes or {})}.values())
    (folder / "problem.md").write_text(f"# Neighbours\n\n{body}\n", encoding="utf-8")
    for name, content in FILES.items():
        (folder / name).write_text(content, encoding="utf-8")
    found = understand_community(Problem.load(folder / "problem.md"))
    assert found is not None
    return found.analysis


def cheapest() -> float:
    """Return the least sum of the bills, by matrices of houses and hours."""
    n, t = 3, 4
    flows, size = 4 * n * t, 4 * n * t + 2 * t
    cost = np.zeros(size)
    cost[: n * t], cost[n * t : 2 * n * t], cost[3 * n * t : flows] = 0.30, -0.08, 0.05
    equal, right, rows, most = [], [], [], []
    for hour in range(t):
        for house in range(n):
            line, k = np.zeros(size), hour * n + house
            line[k] = line[3 * n * t + k] = 1.0
            line[n * t + k] = line[2 * n * t + k] = -1.0
            if house == 0:
                line[flows + hour], line[flows + t + hour] = -1.0, 1.0
            equal.append(line)
            right.append(USE[hour, house] - SUN[hour, house])
            for a, b in ((0, 3), (1, 2)):
                line = np.zeros(size)
                line[a * n * t + k] = line[b * n * t + k] = 1.0
                rows.append(line)
                most.append(5.0)
        line = np.zeros(size)
        line[2 * n * t + hour * n : 2 * n * t + hour * n + n] = 1.0
        line[3 * n * t + hour * n : 3 * n * t + hour * n + n] = -1.0
        equal.append(line)
        right.append(0.0)
        line = np.zeros(size)
        line[flows : flows + hour + 1], line[flows + t : flows + t + hour + 1] = 0.9, -1.0
        rows += [line, -line]
        most += [6.0, 0.0]
    bounds = [(0, None)] * flows + [(0, 2.0)] * (2 * t)
    found = linprog(cost, A_ub=np.array(rows), b_ub=most, A_eq=np.array(equal), b_eq=right,
                    bounds=bounds)  # fmt: skip
    assert found.success
    return float(found.fun)


def test_the_sum_of_the_bills_is_the_least(tmp_path: Path) -> None:
    analysis = read(tmp_path)
    assert analysis.complete, (analysis.missing, analysis.not_understood, analysis.ambiguous)
    assert solved(analysis, tmp_path)[1] == pytest.approx(cheapest())


WORDINGS = [
    {"who": "Three neighbours, Ash, Elm and Oak, share their solar power on 1 July 2025."},
    {"files": "`sun.csv` holds the solar power of each house in kW, `use.csv` the load of each"
     " house in kW. The panels are never curtailed."},
    {"prices": "From the supplier a kWh costs 30 ct; feeding in earns 8 ct/kWh (euro cents)."},
    {"prices": "Each house sells to the public grid at 0.08 EUR/kWh and buys from it at"
     " 0.30 EUR/kWh."},
    {"trade": "The houses can trade energy with each other."},
    {"trade": "Every house may sell power to its neighbours and buy power from them."},
    {"fee": "For the use of the wires 5 ct/kWh are due on what is taken from neighbours."},
    {"fee": "Among neighbours the internal price is 15 ct/kWh; what one house pays, the other gets."
     " The network operator charges 5 ct/kWh on what is taken from neighbours."},
    {"fuse": "At each house, what comes in must not exceed 5 kW. What goes out must not exceed 5 kW"
     " either."},
    {"battery": "Ash has a battery. The battery of Ash has 6 kWh and 2 kW both ways. Charging"
     " efficiency is 90 %, nothing is lost on the way out, and it starts empty."},
    {"goal": "The sum of all three bills is to be as small as possible, in EUR."},
    {"goal": "Which exchange gives the least total cost for the three houses together, in EUR?"},
]  # fmt: skip


@pytest.mark.parametrize("changes", WORDINGS)
def test_other_words_give_the_same_community(changes: dict[str, str], tmp_path: Path) -> None:
    analysis = read(tmp_path, changes)
    assert analysis.complete, (analysis.missing, analysis.not_understood, analysis.ambiguous)
    assert analysis.blueprint is not None
    core = analysis.blueprint.core
    assert [c.expression for c in core.constraints] == [
        "bought[h, t] + taken[h, t] <= " + core.constraints[0].expression.split(" <= ")[1],
        "sold[h, t] + given[h, t] <= " + core.constraints[1].expression.split(" <= ")[1],
        "bought[h, t] + taken[h, t] + member_pv[h, t] + (battery_discharge[t] if h == 'Ash' else"
        " 0[kW]) == sold[h, t] + given[h, t] + member_load[h, t] + (battery_charge[t] if h =="
        " 'Ash' else 0[kW])",
        "sum(given[h, t] for h in H) == sum(taken[h, t] for h in H)",
    ]
    goal = core.objective_function
    assert goal is not None
    assert str(goal.expression).count("sum(") == 3


def inline(values: np.ndarray) -> str:
    """Return a table of the text with a column for each member."""
    rows = [f"| {10 + t}:00 | " + " | ".join(map(str, row)) + " |" for t, row in enumerate(values)]
    head = ["| Hour | " + " | ".join(NAMES) + " |", "|---|---|---|---|"]
    return "\n".join([*head, *rows])


def test_tables_in_the_text_say_the_same_as_files(tmp_path: Path) -> None:
    files = (
        f"What each house needs (kW):\n\n{inline(USE)}\n\nWhat the panels make"
        f" (kW):\n\n{inline(SUN)}"
        "\n\nNothing is ever thrown away."
    )
    analysis = read(tmp_path, {"files": files})
    assert analysis.complete, (analysis.missing, analysis.not_understood, analysis.ambiguous)
    assert solved(analysis, tmp_path)[1] == pytest.approx(cheapest())


NOT_THIS = [
    {"who": PARTS["who"].replace("Two have", "Three have")},
    {"who": PARTS["who"].replace("Elm has none", "Oak has none")},
    {"who": PARTS["who"].replace("three houses", "four houses")},
    {"who": PARTS["who"].replace("Ash has a battery", "Oak has a battery")},
    {"files": PARTS["files"].replace("nothing is ever thrown away", "some may be lost")},
    {"who": PARTS["who"] + " Oak has one too."},
    {"who": PARTS["who"] + " The panels of Oak are under repair."},
    {
        "who": PARTS["who"].replace("Ash has a battery", "Ash and Oak have a battery"),
        "battery": PARTS["battery"].replace("The battery of Ash", "Their battery"),
    },
    {"battery": PARTS["battery"].replace("The battery of Ash has", "The batteries have")},
    {"trade": ""},
    {"trade": PARTS["trade"] + " Elm may not give to Oak."},
    {"trade": "Ash and Elm can trade energy with each other."},
    {"trade": PARTS["trade"] + " Nobody may take more than 2 kW from neighbours."},
    {"trade": PARTS["trade"].replace("what all houses take", "half of what all houses take")},
    {"fee": "The network operator charges 5 ct/kWh on everything."},
    {"fee": PARTS["fee"] + " The network fee also holds for what is bought from the supplier."},
    {"fee": PARTS["fee"] + " Nothing may be bought after 12:00."},
    {"fee": PARTS["fee"] + " From 12:00 on the fees are halved."},
    {"fee": PARTS["fee"] + " Ash pays 3 ct/kWh on what is taken from neighbours."},
    {"fuse": "Each house is fused at 5 kW."},
    {"fuse": PARTS["fuse"].replace("Each house", "Oak")},
    {"fuse": PARTS["fuse"] + " The transformer of the street carries 9 kW."},
    {"prices": PARTS["prices"].replace("may buy from its supplier at 30 ct/kWh and", "may")},
    {"prices": PARTS["prices"].replace("8 ct/kWh", "38 ct/kWh")},
    {"battery": PARTS["battery"] + " Only the sun of Ash may charge it."},
    {"goal": "Minimise the bill of Elm in EUR."},
    {"goal": "Minimise the largest of the three bills in EUR."},
]


@pytest.mark.parametrize("changes", NOT_THIS)
def test_other_meanings_are_not_read_so(changes: dict[str, str], tmp_path: Path) -> None:
    analysis = read(tmp_path, changes)
    assert not analysis.complete


@pytest.mark.parametrize(
    "files",
    [
        {"use.csv": FILES["use.csv"].replace("Oak", "Fir")},
        {"sun.csv": FILES["sun.csv"].replace("2025-07-01", "2025-07-02")},
    ],
)
def test_tables_that_do_not_agree_are_reported(files: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "problem.md").write_text("\n\n".join(PARTS.values()), encoding="utf-8")
    for name, content in {**FILES, **files}.items():
        (tmp_path / name).write_text(content, encoding="utf-8")
    found = understand_community(Problem.load(tmp_path / "problem.md"))
    assert found is None or not found.analysis.complete
