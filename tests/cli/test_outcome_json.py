"""What ``--json`` says of a run that ends without a plan."""

from pathlib import Path
from typing import Any

import pytest

from engiagent.agents.analyzer import Analyzer
from engiagent.agents.protocol import Answer, Board, Question, Usage
from engiagent.solvers.result import SolveOptions
from engiagent.text import Problem
from tests.blueprints import constraint, goal, variable
from tests.cli import blueprints
from tests.cli.asking import answer, invoke


def solved(tmp_path: Path, rule: str) -> Path:
    return blueprints.write(
        tmp_path / "plan.json",
        decision_variables=[variable("x", upper=5)],
        constraints=[constraint(rule)],
        objective_function=goal("x", "kW"),
    )


@pytest.mark.parametrize("rule", ["x >= 7[kW]", "x >= 7[kWh]", "sin(x/1[kW]) >= 2"])
def test_solve_names_nobody_who_took_no_part(tmp_path: Path, rule: str) -> None:
    result = invoke("solve", solved(tmp_path, rule), "--out", tmp_path / "run", "--json")
    found = answer(result)
    assert found["reason"]
    assert "engine" not in result.output
    assert found["contradictions"] == []


def test_why_something_is_missing_and_what_clashes_reach_the_board(tmp_path: Path) -> None:
    text = "The store holds 4 kWh. The store holds 5 kWh."
    (tmp_path / "problem.md").write_text(text)
    problem = Problem.load(tmp_path / "problem.md")
    clash = {"quotes": text.split(". ")[:1], "why": "4 kWh or 5 kWh"}
    value: dict[str, Any] = {
        "sufficiency": "contradictory",
        "missing": [{"component": "store", "quantity": "power", "why": "bounds what it takes"}],
        "contradictions": [clash],
        "not_understood": [],
        "blueprint": None,
        "notes": [],
    }

    class Reader:
        name, judges = "reader", True

        def ask(self, question: Question) -> Answer:
            return Answer(value, Usage(), None)

    board = Board(problem=problem, data=tmp_path, name="store", options=SolveOptions())
    changes = Analyzer(Reader()).run(board).changes
    assert changes["why_missing"] == {"store.power": "bounds what it takes"}
    assert changes["contradictions"] == ("The store holds 4 kWh (4 kWh or 5 kWh)",)
