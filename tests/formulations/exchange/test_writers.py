"""LP and MPS files, read by the readers of HiGHS and SCIP: the same matrix, the same optimum."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

from engiagent.errors import EngiagentError
from engiagent.formulations.compile import compile_blueprint
from engiagent.formulations.exchange import write_lp, write_mps
from engiagent.formulations.program import Goal, Indicators, Products, Program
from tests.blueprints import DAY, EDGES, blueprint, constraint, parameter, variable
from tests.formulations.exchange.programs import highs_of, programs


def rows(name: str, expression: str, *forall: str) -> dict[str, Any]:
    """Return a constraint with an id of its own."""
    return constraint(expression, *forall) | {"constraint_id": name}


def binary(name: str, *index: str) -> dict[str, Any]:
    """Return a binary variable."""
    return {"name": name, "index": list(index), "type": "binary"}


GOLDEN = Path(__file__).parent / "golden"
WRITERS = {"lp": write_lp, "mps": write_mps}
Writer = Callable[[Program], str]
FEW = settings(
    max_examples=30,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


def merged(
    names: list[str], lower: list[float], upper: list[float]
) -> dict[str, tuple[float, float]]:
    """Return the sides of rows by name; what is written twice counts once."""
    sides: dict[str, tuple[float, float]] = {}
    for name, low, high in zip(names, lower, upper, strict=True):
        if name.endswith("~upper"):
            sides[name.removesuffix("~upper")] = (sides[name.removesuffix("~upper")][0], high)
        else:
            sides[name] = (low, high)
    return sides


@pytest.mark.parametrize("form", WRITERS)
@FEW
@given(program=programs(wild=True))
def test_highs_reads_the_very_same_numbers(tmp_path: Path, form: str, program: Program) -> None:
    path = tmp_path / f"model.{form}"
    path.write_text(WRITERS[form](program))
    lp = highs_of(path).getLp()
    names = list(lp.col_names_)
    assert len(set(names)) == len(names) == program.column_count
    assert lp.offset_ == program.offset
    assert (lp.sense_.value == 1) == (program.sense == "minimize")
    mine = sorted(
        zip(
            program.cost.tolist(),
            program.column_lower.tolist(),
            program.column_upper.tolist(),
            program.integrality.tolist(),
            strict=True,
        )
    )
    integral = [kind.value == 1 for kind in lp.integrality_] or [False] * len(names)
    theirs = sorted(
        zip(
            map(float, lp.col_cost_),
            map(float, lp.col_lower_),
            map(float, lp.col_upper_),
            integral,
            strict=True,
        )
    )
    assert mine == theirs
    sides = merged(list(lp.row_names_), list(lp.row_lower_), list(lp.row_upper_))
    assert list(sides.values()) == list(
        zip(program.row_lower.tolist(), program.row_upper.tolist(), strict=True)
    )
    twice = {name for name in lp.row_names_ if name.endswith("~upper")}
    assert sum(program.row_values) == pytest.approx(
        sum(v for r, v in _entries(lp) if lp.row_names_[r] not in twice), abs=1e-6
    )


def _entries(lp: object) -> list[tuple[int, float]]:
    matrix = lp.a_matrix_  # type: ignore[attr-defined]
    return list(zip(map(int, matrix.index_), map(float, matrix.value_), strict=True))


# --- golden files ------------------------------------------------------------------------------

STORE = {
    "sets": [DAY | {"periods": 3}, EDGES],
    "parameters": [parameter("price", [30.0, 80.5, -5.0], "EUR/MWh", "T")],
    "decision_variables": [
        variable("charge", "t in T", upper=50),
        variable("discharge", "t in T", upper=50),
        variable("soc", "i in I", lower=20, upper=200, unit="kWh"),
        binary("charging", "t in T"),
    ],
    "constraints": [
        rows("balance", "soc[t+1] - soc[t] == (0.9*charge[t] - discharge[t]/0.9)*dt(t)", "t in T"),
        rows("one_way", "charge[t] <= 50[kW]*charging[t]", "t in T"),
        rows("ramp", "-20[kW] <= discharge[t] - prev(discharge[t], 0) <= 20[kW]", "t in T"),
        rows("start", "soc[first(I)] == 100[kWh]"),
    ],
    "objective_function": {
        "name": "profit",
        "sense": "maximize",
        "unit": "EUR",
        "expression": "sum(price[t]*(discharge[t] - charge[t])*dt(t) for t in T) - 2[EUR]",
    },
}


@pytest.mark.parametrize("form", WRITERS)
def test_golden_files(form: str) -> None:
    program = compile_blueprint(blueprint(**STORE))
    assert WRITERS[form](program) == (GOLDEN / f"store.{form}").read_text()


# --- names -------------------------------------------------------------------------------------


def _one_column(head: str, label: str | None = None) -> Program:
    index = () if label is None else ("i in L",)
    reference = f"{head}[i]" if index else head
    return compile_blueprint(
        blueprint(
            sets=[{"name": "L", "kind": "labels", "elements": [label]}] if index else [],
            decision_variables=[variable(head, *index, lower=-3, unit="1")],
            constraints=[constraint(f"{reference} <= 4", *index)],
            objective_function={
                "sense": "minimize",
                "expression": f"sum({head}[i] for i in L)" if index else head,
            },
        )
    )


# --- what the formats cannot say ---------------------------------------------------------------


@pytest.mark.parametrize("write", WRITERS.values())
def test_several_objectives_are_refused(write: Writer) -> None:
    goals = tuple(Goal(name, "minimize", np.ones(1), 0.0, "1") for name in ("cost", "comfort"))
    with pytest.raises(EngiagentError, match="cost, comfort"):
        write(replace(_one_column("x"), goals=goals, method="lexicographic"))


@pytest.mark.parametrize("form", WRITERS)
def test_what_not_every_reader_knows_is_refused_by_name(form: str) -> None:
    base = compile_blueprint(
        blueprint(
            decision_variables=[variable(n, upper=9, unit="1") for n in "xy"] + [binary("b")],
            constraints=[rows("C1", "x + y <= 4"), rows("C2", "b >= 0.5")],
            objective_function={"sense": "maximize", "expression": "x + 2*y"},
        )
    )
    one = np.array([0])
    conditions = Indicators(one, np.array([2]), np.array([1]))
    products = Products(one, np.array([1]), np.array([0]), np.array([2.0]))
    for program, message in (
        (replace(base, indicators=conditions), f"{form.upper()} files .*'C1' has a condition"),
        (replace(base, products=products), f"{form.upper()} files .*'C1' has a product"),
        (replace(base, sos1=(np.array([0, 1]),)), "at most one of x, y may differ from zero"),
    ):
        with pytest.raises(EngiagentError, match=message):
            WRITERS[form](program)
